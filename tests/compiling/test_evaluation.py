"""What a program does is done in Python's order, as often as in Python: by its effects."""

import inspect

import numpy as np
import pytest

import zyg
from tests.compiler.test_language import in_python
from zyg.errors import KernelError
from zyg.kernels.scalar import read_for

# Each is a program of x and y; `s` is a list, an array or an object, into which calls write.


def seen(s, k, v):
    s[0] = 0.5 * s[0] + k * v
    return v


def any_stops(x, y, s):
    found = any(seen(s, 1, v) > 0.5 for v in (x, y, 0.2))
    return (1.0 if found else 2.0) + s[0]


def all_stops(x, y, s):
    found = all(map(lambda v: seen(s, 1, v) < 0.5, [x, y, 0.2]))  # noqa: C417
    return (1.0 if found else 2.0) + s[0]


def in_stops(x, y, s):
    return (1.0 if y in (seen(s, 1, v) for v in (x, y, 0.2)) else 2.0) + s[0]


def elements_wait_for_rounds(x, y, s):
    total = 0.0
    for v in (seen(s, 1, u) for u in (x, y, 0.2)):
        total = total + seen(s, 2, v) * s[0]
    return total


def a_break_leaves_the_rest(x, y, s):
    total = 0.0
    for v in (seen(s, 1, u) for u in (x, y, 0.2) if u != 0.5):
        total = total + v
        if v < x:
            break
    return total + s[0]


def a_return_leaves_the_rest(x, y, s):
    for v in map(lambda u: seen(s, 1, u), (x, y, 0.2)):  # noqa: C417
        if v < x:
            return v + s[0]
    return s[0]


def a_zip_asks_one_after_the_other(x, y, s):
    total = 0.0
    first = (seen(s, 1, u) for u in (x, y, 0.2))
    for u, v in zip(first, (seen(s, 2, v) for v in (y, x))):  # noqa: B905
        total = total + u * v * s[0]
    return total + s[0]


def a_variable_is_read_when_it_is_the_turn(x, y, s):
    w, total = x, 0.0
    for v in (u * w for u in (x, y, 0.2)):
        total, w = total + v, w + 1.0
    return total


def numbered_ones_wait(x, y, s):
    total = 0.0
    for k, v in enumerate(seen(s, 1, u) for u in (x, y) for _ in range(2) if u < 2):
        total = total + k * v * s[0]
    return total


def the_key_is_computed_with_each(x, y, s):
    return max((seen(s, 1, u) for u in (x, y, 0.2)), key=lambda v: -seen(s, 2, v)) + s[0]


def the_key_of_the_first_once(x, y, s):
    return min([x, y, 0.2], key=lambda v: seen(s, 2, v)) + s[0]


def a_list_that_gets_another_name(x, y, s):
    values = [x, y]
    doubled = (2 * v for v in values)
    if x > 0.1:
        values = [y, y]
    return sum(doubled) + values[0]


def a_starred_argument_alone_comes_last(x, y, s):
    def f(u, v, p):
        return u - 2 * v * p

    return f(*(seen(s, 1, v) for v in (x, y)), p=seen(s, 2, x)) + s[0]


def decorators_come_before_defaults(x, y, s):
    def deco(k):
        return lambda f: lambda u: f(u) + seen(s, 3, k)

    @deco(seen(s, 1, x))
    def g(u, v=seen(s, 2, y)):  # noqa: B008
        return u - v

    return g(x) + s[0]


def comparisons_stop(x, y, s):
    found = seen(s, 1, x) < seen(s, 2, y) < seen(s, 3, x)
    return (1.0 if found else 2.0) + s[0]


class Truth:
    def __init__(self, s, v):
        self.s, self.v = s, v

    def __bool__(self):
        return seen(self.s, 1, self.v) > 0.5


def a_truth_is_asked_once(x, y, s):
    test = Truth(s, x)
    total = 1.0 if test or y > 0.9 else 2.0
    if test and y > x:
        total = total + 1.0
    return total + s[0]


PROGRAMS = [
    f for f in vars().values() if inspect.isfunction(f) and [*inspect.signature(f).parameters] == [
        "x", "y", "s"]
]  # fmt: skip
POINTS = [(0.7, -0.4), (0.3, 0.9)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled(f):
    with zyg.config(fallback="error"):
        g = zyg.compile(f)
        for x, y in POINTS:
            s, t = np.array([0.5]), np.array([0.5])
            assert g(x, y, s) == pytest.approx(f(x, y, t), rel=1e-13)
            np.testing.assert_allclose(s, t, rtol=1e-13)


@pytest.mark.parametrize(
    "f", [f for f in PROGRAMS if f is not a_list_that_gets_another_name], ids=lambda f: f.__name__
)
def test_in_a_kernel(f):
    kernel = read_for(lambda x, y: f(x, y, [0.5]), ("float", "float"), None, tuple, lambda x: x)
    (got,) = in_python(kernel.kernel.program, [*map(np.array, zip(*POINTS, strict=True))])
    np.testing.assert_allclose(got, [f(*p, [0.5]) for p in POINTS], rtol=1e-13)


def test_rounds_that_are_counted():
    def f(a, s):
        for v in (seen(s, 1, u) for u in a):
            a[-1] = v + 1.0
            if s[0] > 2.0:
                break
        found = any(seen(s, 2, u) > 1.5 for u in a) and any(u > 1.5 for u in a)
        for v in filter(lambda u: seen(s, 3, u) > 0.4, a):
            if v > 1.0:
                return v + (3.0 if found else 4.0)
        return s[0]

    with zyg.config(fallback="error"):
        g = zyg.compile(f)
        for n in (1, 5, 9):
            (a, s), (b, t) = ((np.linspace(0.1, 1.9, n), np.array([0.5])) for _ in range(2))
            assert g(a, s) == pytest.approx(f(b, t), rel=1e-13)
            np.testing.assert_allclose(a, b)
            np.testing.assert_allclose(s, t)


def test_an_iterator_has_no_length_and_no_reverse():
    for f in (lambda x: len(zip((x,), (x,), strict=True)), lambda x: sum(reversed(map(abs, (x,))))):
        with pytest.raises(TypeError), zyg.config(fallback="silent"):
            zyg.compile(f)(1.0)


def test_a_list_of_computed_length_is_refused_in_a_kernel():
    def f(x, n):
        return sum([x * k for k in range(n) if k != 1])

    with pytest.raises(KernelError):
        read_for(f, ("float", "int"), None, lambda numbers: numbers, lambda x: x)


@pytest.mark.slow
def test_where_it_may_differ_from_python():
    # What docs/compiled.md lists; sums, matrix products and functions by rounding alone.
    x = np.sin(np.arange(1.0, 1001.0)) * 10.0 ** np.arange(-3, 4).repeat(143)[:1000]
    m = x[:100].reshape(10, 10)
    for f in (lambda x, m: np.sum(x), lambda x, m: np.mean(x), lambda x, m: x @ x,
              lambda x, m: (m @ m)[2, 3], lambda x, m: np.sum(np.exp(-x * x))):  # fmt: skip
        with zyg.config(fallback="error"):
            np.testing.assert_allclose(zyg.compile(f)(x, m), f(x, m), rtol=1e-12)

    def order(x):
        return np.argsort(x)

    with zyg.config(fallback="error"):
        ties = np.array([2.0, 1.0, 1.0, 2.0, 1.0] * 9)
        got = zyg.compile(order)(ties)
        np.testing.assert_array_equal(got, np.argsort(ties))
        assert type(zyg.compile(lambda x, y: np.where(x > y, x, y))(1.0, 2.0)) is not np.ndarray

    ends = np.array([-np.inf, -0.0])
    with zyg.config(fallback="error"):
        assert repr(zyg.compile(lambda x: x**0.5)(ends)) == "array([inf,  0.])"

    def parts(m):
        return m[1:, ::2] * 1.0, np.nonzero(m)[0], (m + 1.0)[:, ::2]

    with zyg.config(fallback="error"):
        got, right = zyg.compile(parts)(m.T), parts(m.T)
    for x, y in zip(got, right, strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.strides == y.copy("K").strides
    assert got[2].strides != right[2].strides


@pytest.mark.slow
def test_loops_in_loops_are_read_once_at_each_depth():
    from tests.searches.scaling import check

    check("loops in loops")
