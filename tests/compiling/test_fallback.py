"""What is not compiled runs in Python, and its derivatives are traced: right, after one warning."""

import ast
import math
import random
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize
from scipy.spatial.transform import Rotation

import zyg
from zyg.errors import CompileError, KernelError, PerformanceWarning

X = np.array([0.5, -1.2, 2.0, 0.1])
calls = 0
log = []


def scaled(x):
    return math.exp(x) * x


def generates(x):
    def parts():
        yield x
        yield math.sin(x)

    return sum(parts())


def prints(x):
    print("here")
    return x * math.cos(x)


def counts(x):
    global calls
    calls += 1
    return scaled(x) * x


def logs(x):
    log.append("called")
    return np.array([x, x * x]).sum() + np.zeros(2).sum()


def catches(x):
    try:
        y = math.log(x)
    except ValueError:
        y = 0.0
    return y * x


def fills(x):
    buffer = np.zeros(3)
    for k in range(3):
        buffer[k] = x**k
    log.append("filled")
    return np.sum(buffer) * math.sqrt(x)


OUTSIDE = [generates, prints, counts, logs, catches, fills]


@pytest.mark.parametrize("f", OUTSIDE, ids=lambda f: f.__name__)
def test_it_is_right(f):
    x, step = 0.7, 1e-5
    with zyg.config(fallback="silent"):
        compiled = zyg.compile(f)
        slope = (f(x + step) - f(x - step)) / (2 * step)
        assert compiled(x) == f(x)
        assert zyg.gradient(compiled, x) == (pytest.approx(slope, rel=1e-8),)
        assert zyg.pushforward(compiled, (x,), (1.0,))[1] == pytest.approx(slope, rel=1e-8)
        zyg.check_gradient(compiled, x, order=2)


@pytest.mark.parametrize("f", OUTSIDE, ids=lambda f: f.__name__)
def test_it_warns_once_and_names_the_line(f):
    zyg.kernels.clear()
    compiled = zyg.compile(f)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            compiled(0.7)
            zyg.gradient(compiled, 0.7)
    (warning,) = found
    text = str(warning.message)
    assert warning.category is PerformanceWarning
    assert warning.filename == __file__
    assert re.match(r"zyg\.compile: .*test_fallback\.py:\d+: `.+`: .+", text), text
    assert (
        f"{f.__name__} runs in Python, and its derivatives are traced: loops over elements" in text
    )


def test_an_error_in_the_place_of_the_warning():
    with zyg.config(fallback="error"):
        for call in (zyg.compile(prints), lambda x: zyg.gradient(zyg.compile(prints), x)):
            with pytest.raises(CompileError, match="print") as error:
                call(0.7)
            assert "[compile]" in str(error.value)
            assert isinstance(error.value, KernelError)
            assert "fix:" in str(error.value)


def test_effects_happen_as_often_as_in_python(capsys):
    global calls
    calls = 0
    with zyg.config(fallback="silent"):
        zyg.gradient(zyg.compile(counts), 0.7)
        zyg.compile(counts)(0.7)
        assert calls == 2
        zyg.compile(prints)(0.7)
        zyg.value_and_gradient(zyg.compile(prints), 0.7)
    assert capsys.readouterr().out == "here\nhere\n"


def test_the_drop_ins_are_gone_afterwards():
    before = math.exp, np.zeros, dict(globals())
    with zyg.config(fallback="silent"):
        zyg.gradient(zyg.compile(fills), 0.7)
        with pytest.raises(ZeroDivisionError):
            zyg.gradient(zyg.compile(divides), 0.0)
    assert (math.exp, np.zeros) == before[:2]
    assert globals()["math"] is before[2]["math"]
    assert globals()["np"] is before[2]["np"]


def divides(x):
    log.append(x)
    return 1.0 / x


def test_a_helper_that_is_compiled_falls_back_inside_a_traced_program():
    compiled = zyg.compile(logs)
    with zyg.config(fallback="silent"):
        found = zyg.gradient(lambda x: compiled(x * 2.0) * x, 0.7)
    assert found == (pytest.approx(2 * (1.4 + 1.96) / 2 + 0.7 * (1 + 2 * 1.4) * 2 - 0.0, rel=1e-9),)


@pytest.mark.parametrize(
    "x",
    [
        X.astype(np.float16), X.astype(">f8"), np.array([1, 2, 3], np.int32),
        np.array([Fraction(1, 2), Fraction(3)], object),
    ],
    ids=["float16", "big-endian", "int32", "objects"],
)  # fmt: skip
def test_arrays_of_other_dtypes(x):
    f = lambda x: (x * x).sum()  # noqa: E731
    with zyg.config(fallback="silent"):
        found, expected = zyg.gradient(zyg.compile(f), x)[0], zyg.gradient(f, x)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_numbers_of_other_types():
    with zyg.config(fallback="silent"):
        f = zyg.compile(lambda x: x * x + 3 * x)
        assert f(Fraction(1, 3)) == Fraction(10, 9)
        assert zyg.gradient(f, Fraction(1, 3)) == (Fraction(11, 3),)


def test_a_function_without_source():
    space = {}
    exec("def f(x):\n    return x * x * x\n", space)
    with zyg.config(fallback="silent"):
        assert zyg.gradient(zyg.compile(space["f"]), 2.0) == (12.0,)
    with pytest.warns(PerformanceWarning, match="is not available"):
        zyg.compile(space["f"])(2.0)


@pytest.mark.parametrize("second", ["", "# %%\nimport numpy\n"], ids=["without", "with"])
def test_a_file_that_is_run_part_by_part(second, tmp_path):
    """As galleries and editors do; a part is compiled without the imports of those before."""
    file, space = tmp_path / "parts.py", {}
    more = " + numpy.cosh(x)" if second else ""
    parts = "import math\n", f"{second}\ndef f(x):\n    return math.exp(x) * math.log1p(x){more}\n"
    file.write_text("".join(parts))
    for part, line in zip(parts, (0, 1), strict=True):
        exec(compile(ast.increment_lineno(ast.parse(part), line), str(file), "exec"), space)
    assert zyg.compile(space["f"])(0.5) == space["f"](0.5)  # warnings are errors


def test_ints_beyond_64_bits_are_pythons_after_one_warning():
    zyg.kernels.clear()
    cube = zyg.compile(lambda n: n * n * n)
    with pytest.warns(PerformanceWarning, match="an int beyond 64 bits"):
        assert cube(10**9) == 10**27
    assert cube(10**30) == 10**90
    assert cube(3) == 27


def test_an_async_function():
    async def f(x):
        return x * x

    with zyg.config(fallback="silent"):
        assert zyg.gradient(zyg.compile(f), 3.0) == (6.0,)


def test_random_numbers_are_drawn_once():
    state = random.getstate()
    with zyg.config(fallback="silent"):
        draw = zyg.compile(lambda x: x * random.random())
        first = draw(1.0)
        random.setstate(state)
        assert zyg.gradient(draw, 1.0) == (first,)


def test_what_differs_from_numpys_is_refused_by_name():
    z = np.array([1 + 2j, 0.5j])
    with zyg.config(fallback="error"):
        with pytest.raises(CompileError, match="std of complex numbers is not compiled"):
            zyg.compile(lambda z: z.std())(z)
        with pytest.raises(CompileError, match="the attribute nbytes of an array"):
            zyg.compile(lambda x: x.nbytes)(X)
        ints = np.array([1, 2])  # NumPy itself is asked
        assert (zyg.compile(lambda n: np.reciprocal(n))(ints) == np.reciprocal(ints)).all()


@pytest.mark.parametrize("f", [
    lambda x: optimize.brentq(lambda s: s**3 - x, 0.0, 3.0),
    lambda x: Rotation.from_rotvec([0.0, 0.0, x]).magnitude(),
])  # fmt: skip
def test_a_function_of_scipys_is_named_and_not_what_it_calls(f):
    name = "brentq" if "brentq" in f.__code__.co_names else "from_rotvec"
    with pytest.warns(PerformanceWarning, match=f"`: {name} is not compiled"):
        (slope,) = zyg.gradient(zyg.compile(f), 0.8)
    assert slope == pytest.approx((f(0.8 + 1e-5) - f(0.8 - 1e-5)) / 2e-5, rel=1e-6)
