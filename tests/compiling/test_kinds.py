"""Numbers keep their kind where several meet: ints stay ints, numbers of Python's Python's."""

import itertools
import math
import operator

import numpy as np
import pytest
from scipy import special

import zyg
from tests.modules import function
from zyg.base import caches
from zyg.compiler.front.control_flow import ControlFlow

ROW = np.array([0.5, -1.25, 2.0])


def chosen(c, x):
    return 1 if c else x


def total(x):
    s = 0
    for v in x:
        s += v
    return s


def total_of_floats(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def total_where(x, n):
    s = 0
    for i in range(n):
        if x[i] > 0:
            s += x[i]
    return s


def total_of_another(x, n):
    s, t = 0.0, 1
    for _ in range(n):
        x = [0.5, 2.0]
        s += x[0]
        t = t * x[1] if n < 2 else t
    return s, t


def counted_down(x, n):
    s = n // 2
    for i in range(n):
        s = x[i] - s
    return s


def total_of_rows(x, n):
    s = 0.0
    for i in range(n):
        t = 1
        for j in range(i):
            error = x[i] - x[j]
            t = t + error * error
        s -= t
    return s


def largest(x, n):
    best = 0
    for i in range(n):
        if x[i] > best:
            best = x[i]
    return best, best // 2, best / 2, -best, best**2, best + 1


def clipped(x):
    return max(0, x), min(x, True), x and 1.5, x or 2


def in_a_list(x, n):
    row = [0]
    for i in range(n):
        row.append(row[-1] + x[i])
    return row, row[n // 2]


def in_a_dict(c, x):
    d = {"a": 1, "b": x}
    if c:
        d["a"] = x
    return d


def recursive(n, x):
    return 0 if n == 0 else recursive(n - 1, x) + x


def complex_or_real(c, z):
    return z if c else 2.0


def summed_complex(z, n):
    s = 0j
    for _ in range(n):
        s += z
    return s


def beyond_53_bits(c, n, x):
    t = n if c else x
    return t, t + 1, t == x


def while_it_is_zero(x, n):
    t = 0
    while not t and n > 0:
        t = x
        n -= 1
    return t


CALLS = [
    (chosen, (True, 2.0)), (chosen, (False, 2.0)), (chosen, (False, np.float32(2))),
    (total, (ROW,)), (total, (ROW[:0],)), (total_of_floats, (ROW,)), (total_of_floats, (ROW[:0],)),
    (largest, (ROW, 0)), (largest, (ROW, 2)), (largest, (-ROW, 3)), (largest, (-ROW, 1)),
    (clipped, (-1.0,)), (clipped, (0.0,)), (clipped, (0.25,)), (clipped, (np.float64(0.25),)),
    (in_a_list, (ROW, 3)), (in_a_list, (ROW, 1)), (in_a_list, (ROW, 0)),
    (in_a_dict, (True, 2.5)), (in_a_dict, (False, 2.5)), (recursive, (0, 0.5)),
    (recursive, (3, 0.5)), (complex_or_real, (True, 1j)), (complex_or_real, (False, 1j)),
    (summed_complex, (np.complex128(1 + 2j), 0)), (summed_complex, (np.complex128(1 + 2j), 2)),
    (beyond_53_bits, (True, 2**53 + 1, 2.0**53)), (beyond_53_bits, (True, 2**53, 2.0**53)),
    (beyond_53_bits, (False, 3, 0.5)), (while_it_is_zero, (0.5, 3)), (while_it_is_zero, (0.0, 0)),
    *((f, (ROW, n)) for f in (total_where, total_of_another, counted_down, total_of_rows)
      for n in (0, 1, 3)),
]  # fmt: skip


def same(x, y):
    if isinstance(x, dict):
        x, y = [*x.items()], [*y.items()]
    if isinstance(x, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    return type(x) is type(y) and repr(x) == repr(y)


@pytest.mark.filterwarnings("ignore:zyg.compile. beyond_53_bits was run in Python")
@pytest.mark.parametrize(("f", "args"), CALLS)
def test_values_and_types_are_those_of_python(f, args):
    compiled, want = zyg.compile(f), f(*args)

    assert compiled.inspect(*args)["native"]
    for _ in range(2):  # the general way, then the entry
        assert same(compiled(*args), want)


@pytest.mark.parametrize(("f", "rounds"), [(total_of_floats, 1), (total_of_rows, 2)])
def test_a_sum_that_begins_with_pythons_zero_is_read_once(f, rounds, monkeypatch, tmp_path):
    caches.clear()
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    read, one = [], ControlFlow._round
    monkeypatch.setattr(ControlFlow, "_round", lambda *args: read.append(f) or one(*args))

    zyg.compile(f)(*(np.ones(3), 3)[: f.__code__.co_argcount])

    assert len(read) == rounds


def test_what_a_sum_is_of_is_found_in_a_long_chain_of_variables():
    lines = [f"t{k} = t{k - 1} - t{k - 1} * {'+'.join(['1e-3'] * 20)}" for k in range(1, 30)]
    text = "\n  ".join(["for i in range(len(x)):", " t0 = x[i]", *(f" {x}" for x in lines),
                        " s += t29", "return s"])  # fmt: skip
    f = function(f"def f(x):\n  s = 0.0\n  {text}", "f")

    assert type(zyg.compile(f)(np.ones(3))) is np.float64
    assert zyg.compile(f)(np.ones(3)) == pytest.approx(f(np.ones(3)))


@pytest.mark.parametrize("n", [0, 3])
def test_value_and_gradient_of_what_may_be_an_int(n):
    compiled = zyg.compile(total)

    value, (gradient,) = zyg.value_and_gradient(compiled, ROW[:n])
    assert same(value, total(ROW[:n]))
    np.testing.assert_array_equal(gradient, np.ones(n))
    np.testing.assert_array_equal(zyg.gradient(lambda x: 2.0 * compiled(x), ROW[:n])[0], [2.0] * n)


@pytest.mark.parametrize("x", [-1.0, 2.0])
def test_the_text_of_what_may_be_an_int(x):
    names = {}
    exec(zyg.compile(clipped).source(x), names)

    assert same(names["clipped"](x), clipped(x))


def rounds(a, b, step):
    k = 0
    for _ in range(a, b, step):
        k += 1
        if k > 3:
            break
    return k


ENDS = (-(2**63), 2**63 - 1, 1), (-(2**62), 2**62, 2**61), (2**63 - 1, -(2**63), -(2**62)), (
    0, 2**63 - 1, 2**62), (5, 0, 1)  # fmt: skip


@pytest.mark.parametrize("bounds", ENDS)
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_ranges_over_nearly_all_ints(bounds):
    assert zyg.compile(rounds)(*bounds) == rounds(*bounds)


def test_ends_of_functions():
    said = r"domain|positive integer"  # Python before 3.14, and from then on
    with pytest.raises(ValueError, match=said):
        zyg.compile(lambda x: math.gamma(x))(-math.inf)
    assert math.copysign(1, zyg.compile(lambda x: np.sign(x))(-0.0)) == 1
    with np.errstate(all="ignore"):
        got = zyg.compile(lambda x: x / np.complex128(0))(1.0)
    assert repr(got) == "np.complex128(inf+nanj)"


def half_complex(x):
    return np.float32(2) * x


def test_float32_and_a_complex_number_of_pythons_have_32_bits():
    with zyg.config(fallback="silent"):
        assert same(zyg.compile(half_complex)(1j), half_complex(1j))


def stepped(x, k):
    return sum(i * x for i in range(0, 9, k))


def ended(x, k):
    return sum(i * x for i in range(k))


def numbered(x, k):
    return sum(i * x for i, _ in enumerate([1, 2], k))


def shifted(x, k):
    return (k << 1) * x + int(k) * x + round(k) * x


@pytest.mark.parametrize("f", [stepped, ended, numbered, shifted])
def test_what_counts_has_no_slope(f):
    assert zyg.gradient(zyg.compile(f), 1.5, 3) == zyg.gradient(f, 1.5, 3)
    assert zyg.gradient(zyg.compile(f), 1.5, 3)[1] is None


def nearest(x, k):
    return math.remainder(x * k, 2.5)


def test_an_int_that_python_is_called_back_with_has_its_slope():
    assert zyg.gradient(zyg.compile(nearest), 1.5, 3)[1] == pytest.approx(1.5)


@pytest.mark.parametrize("n", range(9))
@pytest.mark.parametrize("text", ["z**{n}", "np.power(z, {n})"])
@pytest.mark.parametrize("kind", [complex, np.complex128, lambda z: np.array([z])])
def test_whole_powers_of_complex_numbers_have_the_sign_of_zero(text, n, kind):
    f = function(f"import numpy as np\n\n\ndef f(z):\n    return {text.format(n=n)}\n", "f")
    compiled = zyg.compile(f)
    parts = [0.0, -0.0, 1.5, -1.5, 2.0]
    if n == 1 and np.lib.NumpyVersion(np.__version__) < "2.3.0":  # an array's is the array itself
        parts = parts[2:]
    with zyg.config(fallback="error"):
        for z in (kind(complex(a, b)) for a in parts for b in parts):
            assert repr(compiled(z)) == repr(f(z)), z


@pytest.mark.parametrize("how", [operator.lshift, operator.rshift])
def test_shifts_of_bools_have_numpys_type(how):
    bools = True, np.True_, np.array([True, False])
    compiled = zyg.compile(lambda a, b: how(a, b))
    with zyg.config(fallback="silent"):
        for a, b in itertools.product((*bools, 3, np.int64(3)), bools):
            found, right = compiled(a, b), how(a, b)
            assert type(found) is type(right)
            assert getattr(found, "dtype", None) == getattr(right, "dtype", None)
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("text", ["k << n", "k >> n", "k * 2**n", "x.astype(int) * (1 << n)"])
def test_powers_of_two_are_pythons_to_the_last_bit_and_beyond(text):
    f = function(f"def f(x, k, n):\n    return {text}\n", "f")
    compiled, x = zyg.compile(f), np.array([1.0, -3.0])
    with zyg.config(fallback="silent"):
        for k in (0, 1, -1, 5):
            for n in (0, 1, 31, 32, 60, 61, 62, 63, 64, 100):
                try:
                    right = f(x, k, n)
                except OverflowError:  # of NumPy: an int beyond 64 bits
                    with pytest.raises(OverflowError):
                        compiled(x, k, n)
                else:
                    np.testing.assert_array_equal(compiled(x, k, n), right)
        with pytest.raises(ValueError, match="negative shift"):
            zyg.compile(lambda k, n: k << n)(1, -1)


def test_powers_of_numpys_two_wrap_around():
    compiled = zyg.compile(lambda n: np.int64(2) ** n)
    for n in (0, 1, 62, 63, 64, 70):
        assert compiled(np.int64(n)) == np.int64(2) ** np.int64(n)


def test_ldexp_by_a_float_raises():
    for x in (True, np.True_, 1.5, np.float64(1.5)):
        compiled = zyg.compile(lambda x, n: np.ldexp(x, n))
        with zyg.config(fallback="silent"), pytest.raises(TypeError):
            compiled(x, 2.0)


def ldexp_of_math(x, n):
    return math.ldexp(x, n)


def beside_a_large_int(x):
    return x == 2**63


def below_a_large_int(x):
    return x < 2**64


def whole(x):
    return math.trunc(x)


def ldexp_by_much(x):
    return np.ldexp(x, 2**53)


@pytest.mark.parametrize(
    ("f", "args", "error"),
    [
        (ldexp_of_math, (1.5, np.int64(2)), TypeError),
        (beside_a_large_int, (np.True_,), OverflowError),
        (below_a_large_int, (np.True_,), OverflowError),
        (whole, (np.int64(3),), TypeError),
        (whole, (np.float32(3.5),), TypeError),
        (ldexp_by_much, (np.float64(1.5),), OverflowError),
    ],
)
def test_what_numpys_numbers_raise_they_raise_compiled(f, args, error):
    with pytest.raises(error):
        f(*args)
    with zyg.config(fallback="silent"), pytest.raises(error):
        zyg.compile(f)(*args)


@pytest.mark.parametrize("name", ["tan", "tanh"])
def test_tangents_of_complex_numbers_keep_the_signs_of_zeros(name):
    f = function(f"import numpy as np\n\n\ndef f(z):\n    return np.{name}(z)\n", "f")
    compiled = zyg.compile(f)
    parts = 0.0, -0.0, 0.5, -1.25, 30.0
    with zyg.config(fallback="error"):
        for z in (complex(a, b) for a in parts for b in parts):
            found, right = compiled(z), f(z)
            np.testing.assert_allclose(found, right, rtol=4e-15)
            for x, y in ((found.real, right.real), (found.imag, right.imag)):
                assert math.copysign(1, x) == math.copysign(1, y), z


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.reshape(x, ()),
        lambda x: np.transpose(x),
        lambda x: np.squeeze(x),
        lambda x: np.sum(x).reshape(()),
        lambda x: np.sum(x).squeeze(),
        lambda x: np.sum(x).copy(),
        lambda x: np.sum(x).transpose(),
    ],
)
@pytest.mark.parametrize("x", [2.5, np.float64(2.5), np.int64(2), np.True_, 1 + 2j, np.array(2.5)])
def test_numbers_of_numpys_stay_numbers_without_axes(f, x):
    with zyg.config(fallback="silent"):
        found, right = zyg.compile(f)(x), f(x)
    assert (type(found), found) == (type(right), right)


def test_large_ints_beside_numbers_of_32_bits():
    for f in (beside_a_large_int, below_a_large_int):
        compiled = zyg.compile(f)
        with zyg.config(fallback="silent"):
            for x in map(np.float32, (0.0, 2.0**63, -(2.0**63), 2.0**64, math.inf, math.nan)):
                assert compiled(x) is f(x), (f, x)


@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_parts_and_reciprocals_of_complex_numbers(kind):
    texts = "np.real(z)", "np.imag(z)", "np.reciprocal(z)"
    f = function(f"import numpy as np\n\n\ndef f(z):\n    return {', '.join(texts)}\n", "f")
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        for z in (kind(complex(a, b)) for a in (1.0, -2.0) for b in (0.0, -0.0, 0.5, -8.0)):
            assert repr(compiled(z)) == repr(f(z))


SINGLE = np.float32(1.5)
ROW = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("np.array([x, 1.0])", (SINGLE,)), ("np.stack([x, 2])", (SINGLE,)),
        ("np.array([x, y])", (SINGLE, SINGLE)),
        ("np.array([(x, 1.0) for _ in range(3)])", (SINGLE,)),
        ("np.dot(x, 2.0)", (ROW,)), ("np.dot(2, x)", (ROW,)), ("x.dot(2.0)", (ROW,)),
        ("x ** 2", (np.array([True, False]),)), ("np.polyval([1, 2], x)", (1.5,)),
        ("np.ldexp(x, 3)", (2,)), ("np.ldexp(x, y)", (2, np.int64(3))),
        ("np.clip(x, y, 2)", (0, SINGLE)), ("np.clip(x, y, 2)", (0.5, SINGLE)),
        ("np.polyval([1, 2], x)", (2,)), ("np.polyval([1, 2], x)", (1.5 + 2j,)),
    ],
)  # fmt: skip
def test_numbers_of_python_beside_those_of_few_bits(text, args):
    names = ", ".join("xy"[: len(args)])
    f = function(f"import numpy as np\n\n\ndef f({names}):\n    return {text}\n", "f")
    with zyg.config(fallback="silent"):
        found, right = zyg.compile(f)(*args), f(*args)
    assert (type(found), found.dtype) == (type(right), right.dtype)
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("text", ["z**{n}", "np.power(z, {n})"])
@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_slopes_of_whole_powers_of_complex_numbers(text, n, kind):
    text = text.format(n=n)
    source = f"import numpy as np\n\n\ndef f(z):\n    return ({text} * (1.3 - 0.4j)).real\n"
    compiled = zyg.compile(function(source, "f"))
    with zyg.config(fallback="error"):
        for z in (0j, 0.5 - 1j, 2j, -3 + 0j):
            right = np.conj(n * z ** max(n - 1, 0) * (1.3 - 0.4j))
            np.testing.assert_allclose(zyg.gradient(compiled, kind(z))[0] or 0.0, right, atol=1e-12)


def test_functions_of_math_are_computed_once_for_floats_of_either_kind():
    def f(x, n):
        s = 0.5
        for k in range(n):
            s += x[k]
        return (math.log(s), math.log(s, 2.0), math.pow(s, 2), math.atan2(1, s), math.floor(s),
                math.isnan(s), math.hypot(s, s), math.ldexp(s, 2), math.fmod(s, 0.4))  # fmt: skip

    compiled, x = zyg.compile(f), np.array([0.5, 1.25])
    with zyg.config(fallback="error"):
        for n in range(3):
            found, wanted = compiled(x, n), f(x, n)
            assert [*map(type, found)] == [*map(type, wanted)]
            np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert compiled.inspect(x, 2)["value"].count("= log(") == 1


OF_NUMBERS = {
    "expm1": special.expm1, "exp2": special.exp2, "log1p": special.log1p, "exp10": special.exp10,
    "logit": special.logit, "erf": special.erf, "entr": special.entr,
    "xlogy": lambda x: special.xlogy(x, 0.5),
    "kept": lambda x: (special.expm1(x) if x > 0 else 1.0) * 2,
}  # fmt: skip


@pytest.mark.parametrize("x", [0.25, np.float64(0.25), np.float32(0.25)], ids=repr)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers_give_scipys(name, x):
    def f(x):
        return of(x)

    of = OF_NUMBERS[name]
    with zyg.config(fallback="silent"):
        found = zyg.compile(f)(x)
    assert type(found) is type(f(x))
    np.testing.assert_allclose(found, f(x), rtol=1e-6 if x.__class__ is np.float32 else 1e-14)


@pytest.mark.parametrize("x", [-1.0, 1.0, 3.0])
def test_a_bool_of_numpys_or_pythons_is_neither_of_the_others(x):
    def f(a):
        b = a[0] > 0
        if a[0] > 2:
            b = True
        return b is True, b is np.True_, b is not True, b is None, b is False

    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(np.array([x])) == f(np.array([x]))


@pytest.mark.parametrize("x", [0.0, 1.5])
def test_a_constant_beside_32_bits_keeps_its_digits(x):
    found = zyg.compile(lambda x: x if x else 0.1)(np.float32(x))
    assert repr(found) == repr(np.float32(x) if x else 0.1)


def test_a_complex_number_of_constants_is_one():
    def impedance(x):
        loads = [complex(k / 2, 1) for k in range(3)]
        return abs(sum(loads) * complex(0.5) + complex(1, x))

    compiled = zyg.compile(impedance)
    with zyg.config(fallback="error"):
        assert compiled(2.0) == pytest.approx(impedance(2.0), rel=1e-15)
        assert zyg.gradient(compiled, 2.0)[0] == pytest.approx(3.5 / abs(1.75 + 3.5j))
