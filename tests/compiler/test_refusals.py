"""What a kernel cannot hold: it is refused by name, or called for each element, and right."""

import fractions
import math
import re
import warnings

import numpy as np
import pytest

import zyg
from zyg.base import warned
from zyg.broadcasting import calls
from zyg.errors import KernelError, PerformanceWarning, ShapeError

X = np.array([0.5, 2.5])
LOG = []
COUNT = 0


class Counter:
    total = 0


COUNTER = Counter()


def tries(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return 0.0


def asserts(x):
    assert x > -10
    return x * x


def raises(x):
    if x < 0:
        raise ValueError(x)
    return math.sqrt(x)


def formats(x):
    return len(f"{x}") * 0.0 + x


def imports(x):
    import math as m

    return m.sin(x)


def recursion(x):
    return x if x < 1 else 0.5 * recursion(x - 1)


def unknown_function(x):
    return math.fsum([x, x])


def ieee_remainder(x):
    return math.remainder(x, 0.7)


def rounded_to_digits(x):
    return round(x * 1.23456, 2) + x


def of_three(x):
    return math.hypot(x, x, x)


def matches(x):
    match x, 1:
        case 0.5, 1:
            return x
        case _:
            return x * x


def arrays_of_numbers(x):
    return np.sum(np.stack([x, x * x]))


ELSEWHERE = {
    tries: ("try:", "a try"),
    asserts: ("assert x > -10", "an assert"),
    raises: ("raise ValueError(x)", "a raise"),
    formats: ("f'{x}'", "make text outside"),
    imports: ("import math as m", "an import"),
    recursion: ("recursion(x - 1)", "too long"),
    unknown_function: ("math.fsum([x, x])", "fsum has no kernel"),
    ieee_remainder: ("math.remainder(x, 0.7)", "remainder has no kernel"),
    rounded_to_digits: ("round(x * 1.23456, 2)", "number of digits"),
    of_three: ("math.hypot(x, x, x)", "function of 2 numbers"),
    matches: ("match (x, 1):", "Match"),
    arrays_of_numbers: ("np.stack([x, x * x])", "stack has no kernel"),
}


@pytest.fixture(autouse=True)
def _nothing_was_said():
    warned._warned.clear()


@pytest.mark.parametrize("f", ELSEWHERE, ids=lambda f: f.__name__)
def test_the_message_says_what_where_why_and_what_to_do(f):
    expression, what = ELSEWHERE[f]
    with zyg.config(fallback="error"), pytest.raises(KernelError) as found:
        zyg.broadcast(f, X)
    lines = str(found.value).splitlines()
    assert re.match(rf"  where: {re.escape(__file__)}:\d+: ", lines[1])
    assert expression in lines[1]
    assert what in str(found.value)
    assert [line[:9] for line in lines[1:]] == ["  where: ", "  in:    ", "  why:   ", "  fix:   "]
    assert "test_refusals.py" in lines[2]


ROUGH = (formats, unknown_function, ieee_remainder, imports, matches, rounded_to_digits)


@pytest.mark.parametrize("f", ELSEWHERE, ids=lambda f: f.__name__)
def test_without_a_kernel_a_function_is_called_for_each_element(f):
    with pytest.warns(PerformanceWarning, match=rf"(?s)in Python\. .*{__name__[-10:]}") as said:
        y = zyg.broadcast(f, X[:, None])
    assert {warning.filename for warning in said} == {__file__}
    np.testing.assert_array_equal(y, [[f(x)] for x in X])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zyg.broadcast(f, X)  # it was said
    warned._warned.clear()
    with zyg.config(fallback="silent"):
        zyg.broadcast(f, X)
        if f not in ROUGH:
            check_derivatives(f)


def check_derivatives(f):
    def loss(x):
        return zyg.broadcast(f, x).sum()

    h = 1e-5
    right = [(f(x + h) - f(x - h)) / (2 * h) for x in X.tolist()]
    np.testing.assert_allclose(zyg.gradient(loss, X)[0], right, rtol=1e-8)
    second = zyg.jacobian(lambda x: zyg.gradient(loss, x)[0], X)[0]
    bend = [(f(x + 1e-4) - 2 * f(x) + f(x - 1e-4)) / 1e-8 for x in X.tolist()]
    np.testing.assert_allclose(second, np.diag(bend), atol=1e-5)


# Effects


def appends(x):
    LOG.append(x)
    return x


def prints(x):
    print(x)
    return x


def sets_a_global(x):
    global COUNT
    COUNT += 1
    return x


def sets_an_attribute(x):
    COUNTER.total = x
    return x


def adds_to_an_attribute(x):
    COUNTER.total += x
    return x


def sets_an_element(x):
    LOG[0] = x
    return x


def deletes(x):
    del LOG[:]
    return x


def has_effects_in_a_helper(x):
    return appends(x) + 1


def yields(x):
    yield x


EFFECTS = [
    appends, prints, sets_a_global, sets_an_attribute, adds_to_an_attribute, sets_an_element,
    deletes, has_effects_in_a_helper, yields,
]  # fmt: skip


@pytest.mark.parametrize("fallback", ["warn", "silent", "error"])
@pytest.mark.parametrize("f", EFFECTS, ids=lambda f: f.__name__)
def test_39_effects_are_refused_whatever_the_fallback(f, fallback, capsys):
    with zyg.config(fallback=fallback), pytest.raises(KernelError, match=r"in no order|effect"):
        zyg.broadcast(f, X)
    assert not LOG
    assert COUNT == 0
    assert COUNTER.total == 0
    assert not capsys.readouterr().out


# No source, or none that fits


def made_by_exec():
    names = {"math": math}
    exec("def f(x):\n    return math.tanh(x) * 2", names)
    return names["f"]


def test_29_a_function_without_source():
    f = made_by_exec()
    with pytest.warns(PerformanceWarning, match="source of a function"):
        y = zyg.broadcast(f, X)
    np.testing.assert_allclose(y, 2 * np.tanh(X))
    with zyg.config(fallback="silent"):
        (c,) = zyg.gradient(lambda x: zyg.broadcast(f, x).sum(), X)
        np.testing.assert_allclose(c, 2 - 2 * np.tanh(X) ** 2)
        assert zyg.broadcast(f, np.float32(0.5)).dtype == np.float32
        with pytest.raises(KernelError):
            zyg.partials(f, X)


# By element: captures, structures, dtypes


def test_captured_watched_numbers_have_their_gradient_without_a_kernel():
    def loss(a):
        def f(x):
            try:
                return math.tanh(a * x)
            finally:
                pass

        return zyg.broadcast(f, X).sum()

    with zyg.config(fallback="silent"):
        (c,) = zyg.gradient(loss, 1.5)
        np.testing.assert_allclose(c, (X * (1 - np.tanh(1.5 * X) ** 2)).sum())


def helped(x):
    return math.exp(x)


def two_results(x, y, exp=math.exp):
    try:
        return helped(x) * y, exp(x) > y
    finally:
        pass


def test_results_without_a_kernel_are_like_those_of_one():
    with zyg.config(fallback="silent"):
        x = np.array([[0.5], [1.0]], np.float32)
        y, above = zyg.broadcast(two_results, x, np.ones(3, np.float32))
        assert (y.shape, y.dtype, above.dtype) == ((2, 3), np.float32, bool)
        out = np.zeros(2)
        assert zyg.broadcast(tries, X, out=out) is out
        np.testing.assert_array_equal(out, np.sqrt(X))
        with pytest.raises(TypeError, match="one result"):
            zyg.broadcast(two_results, X, X, out=out)
        with pytest.raises(ShapeError, match=r"\(2,\) and \(3,\)"):
            zyg.broadcast(two_results, X, np.ones(3))
        with pytest.raises(ValueError, match="-1"):
            zyg.broadcast(raises, np.array([-1.0]))


@pytest.mark.parametrize(
    "x",
    [
        np.array([1 + 2j, 3j]),
        np.array([0.5, 2.0], np.longdouble),
        np.array([fractions.Fraction(1, 3), fractions.Fraction(2)]),
    ],
)
def test_other_numbers_are_takenfallback(x):
    def f(x):
        return x * x + 2 * x

    with pytest.warns(PerformanceWarning, match="64 bits"):
        y = zyg.broadcast(f, x)
    assert y.dtype == x.dtype
    assert (y == x * x + 2 * x).all()
    with zyg.config(fallback="error"), pytest.raises(KernelError, match="64 bits"):
        zyg.broadcast(f, x)


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="mask"):
        zyg.broadcast(lambda x: x, np.ma.array([1.0, 2.0], mask=[True, False]))


# Results


def none_sometimes(x):
    if x > 1:
        return None
    return x


def no_return(x):  # noqa: RET503
    if x > 1:
        return x


def another_number_of_results(x):
    if x > 1:
        return x, x
    return x


def unset(x):
    if x > 1:
        y = x
    return y


def set_in_a_loop(x):
    for k in range(int(x)):
        y = k * x
    return y


def text(x):
    return "text"


def sides(x):
    return (x, x) if x > 1 else x


MALFORMED = {
    none_sometimes: "result of none_sometimes",
    no_return: "without a return",
    another_number_of_results: "two different things",
    unset: "one side of a condition",
    set_in_a_loop: "a loop that may not run",
    text: "returned a str",
    sides: "one is a tuple, the other a number",
}


@pytest.mark.parametrize("f", MALFORMED, ids=lambda f: f.__name__)
def test_functions_that_do_not_always_return_as_many_numbers(f):
    with zyg.config(fallback="error"), pytest.raises(KernelError, match=MALFORMED[f]):
        zyg.broadcast(f, X)


def test_python_says_what_is_wrong_with_the_arguments():
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        zyg.broadcast(lambda x, y: x, X)
    with pytest.raises(ValueError, match="mode is"):
        zyg.broadcast(lambda x: x, X, mode="caches")


def test_what_llvm_refuses_runs_as_python(monkeypatch):
    from zyg.compiler.back.compiled import CompilationError

    def refusing(program, operands, outputs, target):
        if target.backend == "llvm":
            raise CompilationError(ValueError("no"), "def f")
        return plan_for(program, operands, outputs, target)

    plan_for = calls.plan_for
    monkeypatch.setattr(calls, "plan_for", refusing)
    with pytest.warns(PerformanceWarning, match="LLVM could not compile it: ValueError: no$"):
        np.testing.assert_array_equal(zyg.broadcast(lambda x: x * 3, X), X * 3)
    with zyg.config(fallback="error"), pytest.raises(CompilationError):
        zyg.broadcast(lambda x: x * 3, X)
