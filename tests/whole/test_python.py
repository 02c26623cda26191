"""Python as it is: whatever a program does with numbers, it does with watched ones."""

# ruff: noqa: E501, UP030, UP031, UP032, SIM300 - old and odd spellings must work as well

import copy
import functools
import itertools
import math
import numbers
import operator
import random
import statistics
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import zyg
from zyg import gradient, pullback, value_and_gradient


def slope(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


# Control flow


def test_recursion():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert gradient(power, 2.0, 5)[0] == 80.0


def test_while_with_a_condition_on_a_watched_value():
    def f(x):
        n = 0
        while x < 100:
            x = x * x
            n += 1
        return x + n

    assert gradient(f, 3.0) == (8 * 3.0**7,)


def test_for_else_break_continue():
    def f(x):
        total = 0.0
        for k in range(10):
            if k % 2:
                continue
            if total > 20 * x:
                break
            total += k * x
        else:
            total = total * 1000
        return total

    assert gradient(f, 1.0) == (20_000.0,)


def test_generators_and_comprehensions():
    def f(x):
        powers = (x**k for k in range(1, 5))
        squares = [p * p for p in powers]
        table = {k: s for k, s in enumerate(squares)}  # noqa: C416
        return sum(table.values()) + sum(v for v in table.values() if v > 10)

    assert gradient(f, 2.0)[0] == pytest.approx(slope(f, 2.0), rel=1e-7)


def test_generators_that_are_sent_watched_values():
    def running():
        total = 0.0
        while True:
            x = yield total
            total = total + x * x

    def f(x):
        g = running()
        next(g)
        g.send(x)
        return g.send(2 * x)

    assert gradient(f, 3.0) == (30.0,)


def test_yield_from_and_itertools():
    def f(x):
        def both():
            yield from [x, x * x]
            return x**3

        def outer():
            last = yield from both()
            yield last

        chain = itertools.chain(outer(), itertools.repeat(x, 2))
        return functools.reduce(operator.mul, itertools.accumulate(chain))

    assert gradient(f, 1.1)[0] == pytest.approx(slope(f, 1.1), rel=1e-7)


def test_exceptions_of_python_are_python():
    def f(x):
        try:
            try:
                raise ValueError(x)
            except ValueError as error:
                y = error.args[0] * 2
                raise KeyError(y) from error
            finally:
                y = y + x
        except KeyError as error:
            return error.args[0] * y  # 2x * 3x
        else:
            return 0.0

    assert gradient(f, 2.0) == (24.0,)


def test_division_by_zero_is_as_in_python():
    with pytest.raises(ZeroDivisionError):
        gradient(lambda x: x / 0, 1.0)
    with pytest.raises(ZeroDivisionError):
        gradient(lambda x: 1 / x, 0.0)
    with pytest.raises(ZeroDivisionError):
        gradient(lambda x: x / x, 0.0)
    with pytest.raises(ZeroDivisionError):
        gradient(lambda x: x // 0, 1.0)
    with pytest.raises(ZeroDivisionError):
        gradient(lambda x: x**-1, 0.0)
    with pytest.raises(OverflowError):
        gradient(lambda x: x**1000, 1e10)

    def guarded(x):
        try:
            return 1 / (x - x)
        except ZeroDivisionError:
            return 2 * x

    assert gradient(guarded, 1.0) == (2.0,)


def test_early_return():
    def f(x):
        for k in itertools.count():
            if x * k > 10:
                return x * k
        return None

    assert gradient(f, 3.0) == (4.0,)


def test_default_and_keyword_arguments():
    def f(x, /, y=2.0, *rest, scale=3.0, **more):
        return x * y * scale + sum(rest) * x + sum(more.values()) * x

    assert gradient(f, 1.0) == (6.0,)
    assert gradient(f, 1.0, scale=5.0) == (10.0,)
    assert gradient(f, 1.0, 1.0, 1.0, 1.0, other=7.0) == (3 + 2 + 7.0, 3.0, 1.0, 1.0)


def test_match_statement():
    def f(x):
        match x:
            case float() if x > 100:
                return x
            case 3.0:
                return x * 2
            case float(v):
                return v * 3

    assert gradient(f, 200.0) == (1.0,)
    assert gradient(f, 3.0) == (2.0,)
    assert gradient(f, 4.0) == (3.0,)


def test_match_statement_on_structures():
    def f(p):
        match p:
            case {"kind": "circle", "r": r}:
                return 3 * r * r
            case [x, y]:
                return x * y
            case (x, *_):
                return x

    assert gradient(f, {"kind": "circle", "r": 2.0}) == ({"kind": None, "r": 12.0},)
    assert gradient(f, [2.0, 3.0]) == ([3.0, 2.0],)


def test_walrus_global_nonlocal_and_unpacking():
    def f(x):
        count = 0.0

        def add(v):
            nonlocal count
            count += v

        add(y := x * x)
        first, *middle, last = [x, y, x * y, 1.0]
        add(first * last)
        add(*middle[1:])
        return count  # x**2 + x + x**3

    assert gradient(f, 2.0) == (17.0,)


def test_a_class_with_operators_of_its_own():
    class Vector:
        def __init__(self, *parts):
            self.parts = parts

        def __rmul__(self, scale):
            return Vector(*(scale * p for p in self.parts))

        def __matmul__(self, other):
            return sum(a * b for a, b in zip(self.parts, other.parts, strict=True))

    assert gradient(lambda x: (x * Vector(1.0, 2.0)) @ Vector(3.0, x), 5.0) == (3 + 2 * 2 * 5.0,)


def test_an_operand_that_knows_better_gets_its_turn():
    class Unit:
        def __radd__(self, x):
            return ("radd", x)

        def __rpow__(self, x):
            return ("rpow", x)

        __array_ufunc__ = None

    def f(x):
        name, y = x + Unit()
        other, z = x ** Unit()
        assert (name, other) == ("radd", "rpow")
        return y * z

    assert gradient(f, 3.0) == (6.0,)


# Builtins


def test_sum_max_min_sorted_any_all_abs_round():
    def f(a):
        s = sorted(a, reverse=True)
        assert any(v > 2 for v in a)
        assert not all(a)
        return sum(a) + 2 * max(a) + 3 * min(*a) + s[0] * s[1] + abs(a[0]) + max(a, key=abs)

    a = [-5.0, 0.0, 2.0, 3.0]
    assert gradient(f, a) == ([1 + 3 - 1 + 1, 1.0, 1 + 3.0, 1 + 2 + 2.0],)


def test_sum_with_a_start_and_math_prod_by_reduce():
    assert gradient(lambda a: sum(a, a[0]), [1.0, 2.0]) == ([2.0, 1.0],)
    assert gradient(lambda a: functools.reduce(operator.mul, a), [2.0, 3.0]) == ([3.0, 2.0],)


def test_zip_enumerate_reversed_map_filter_iter():
    def f(a):
        pairs = zip(a, reversed(a), strict=True)
        total = sum(k * u * v for k, (u, v) in enumerate(pairs, 1))
        it = iter(a)
        return total + next(it) * next(it, 0.0) + sum(map(lambda v: v * v, filter(bool, a)))  # noqa: C417

    a = [2.0, 0.0, 3.0]
    (result,) = gradient(f, a)
    for k in range(3):

        def one(v, k=k):
            return f([*a[:k], v, *a[k + 1 :]])

        assert (result[k] or 0.0) == pytest.approx(slope(one, a[k]), abs=1e-5)


def test_statistics_of_the_standard_library_are_right_or_refused():
    for f in (statistics.fmean, statistics.mean, statistics.variance, statistics.median):
        try:
            (result,) = gradient(f, [1.0, 2.0, 4.0])
        except zyg.errors.ZygError:
            continue
        for k in range(3):
            a = [1.0, 2.0, 4.0]

            def one(v, a=a, k=k, f=f):
                return f([*a[:k], v, *a[k + 1 :]])

            assert (result[k] or 0.0) == pytest.approx(slope(one, a[k]), abs=1e-6)


@pytest.mark.filterwarnings("ignore::zyg.errors.TextWarning")
def test_formatting_shows_the_plain_number(capsys):
    def f(x):
        print(x, [x], {"a": x})
        texts = [
            f"{x}", f"{x:.3f}", f"{x!r:>10}", f"{x:e}", f"{x=}", "%.3f" % x, "%s %r" % (x, x),
            "%d" % x, "%(a)g" % {"a": x}, "{:8.2f}".format(x), "{0:g}".format(x), str(x), repr(x),
            format(x, "+.1f"), f"{[x]}", f"{x:,}",
        ]  # fmt: skip
        return x * 2, texts

    (_, traced), _ = value_and_gradient(f, 1234.5678)
    _, plain = f(1234.5678)
    assert traced == plain
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["1234.5678 [1234.5678] {'a': 1234.5678}"] * 2


@pytest.mark.filterwarnings("ignore::zyg.errors.TextWarning")
@pytest.mark.parametrize("x", [np.float64(1.5), np.float32(1.5), 2, Fraction(1, 3), 1 + 2j,
                               Decimal("1.10")], ids=repr)  # fmt: skip
def test_every_number_prints_as_itself(x):
    seen = []
    gradient(lambda x: seen.append((str(x), repr(x), f"{x}")) or abs(x), x)
    assert seen == [(str(x), repr(x), f"{x}")]


def test_arrays_print_as_themselves():
    x = np.array([[1.0, 2.5], [3.0, 1e-9]])
    seen = []
    gradient(lambda x: seen.append((str(x), repr(x), np.array_repr(x), f"{x}")) or np.sum(x), x)
    assert seen == [(str(x), repr(x), np.array_repr(x), f"{x}")]


# What a watched value is


def test_isinstance_and_the_abstract_numbers():
    def f(x):
        assert isinstance(x, float)
        assert isinstance(x, numbers.Real)
        assert isinstance(x, (int, float))
        assert not isinstance(x, (int, np.ndarray, complex))
        assert np.isscalar(x)
        assert not callable(x)
        assert not hasattr(x, "__len__")
        assert x.__class__ is float
        assert np.isrealobj(x)
        assert np.ndim(x) == 0
        assert np.shape(x) == ()
        return x

    gradient(f, 1.0)


def test_isinstance_of_arrays():
    def f(x):
        assert isinstance(x, np.ndarray)
        assert not isinstance(x, float)
        assert not np.isscalar(x)
        assert x.shape == (2, 3)
        assert x.dtype == np.float64
        assert (x.ndim, x.size, len(x)) == (2, 6, 2)
        assert np.shape(x) == (2, 3)
        assert np.size(x) == 6
        return np.sum(x)

    gradient(f, np.ones((2, 3)))


def test_isinstance_of_ints_and_numpy_numbers():
    def f(a):
        assert isinstance(a[0], int)
        assert isinstance(a[1], np.float32)
        assert isinstance(a[1], np.floating)
        assert isinstance(a[2], np.integer)
        assert isinstance(a[3], complex)
        return a[0] * 1.0

    gradient(f, [1, np.float32(1), np.int64(1), 1j, Fraction(1, 2)])


def test_attributes_and_methods_of_numbers():
    def f(x):
        assert x.is_integer()
        assert x.real == 3.0
        assert x.imag == 0.0
        return x.real * x.conjugate()

    assert gradient(f, 3.0) == (6.0,)


def test_unknown_attributes_are_pythons_own_error():
    with pytest.raises(AttributeError, match="object has no attribute 'foo'"):
        gradient(lambda x: x.foo, 1.0)
    with pytest.raises(AttributeError, match="no attribute 'shpae'"):
        gradient(lambda x: x.shpae, np.ones(2))


# Operators

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
    "divmod0": lambda a, b: divmod(a, b)[0], "divmod1": lambda a, b: divmod(a, b)[1],
    "min": min, "max": max,
}  # fmt: skip
UNARY = {
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "round1": lambda a: round(a, 1) + a,
    "round": lambda a: round(a) * a, "floor": lambda a: math.floor(a) * a,
    "ceil": lambda a: math.ceil(a) * a, "trunc": lambda a: math.trunc(a) * a,
    "int": lambda a: int(a) * a, "square": lambda a: a**2, "cube": lambda a: a**3,
    "inverse": lambda a: a**-1, "one": lambda a: a**1, "zero": lambda a: a**0 + a, "x*x": lambda a: a * a,
    "x-x": lambda a: a - a, "x/x": lambda a: a / a,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_binary_operators_on_either_side(name, kind):
    f = BINARY[name]
    a, b = kind(2.7), kind(1.3)
    want_a, want_b = slope(lambda a: f(a, b), a), slope(lambda b: f(a, b), b)
    both = gradient(f, a, b, zeros=True)
    left, right = (
        gradient(lambda a: f(a, b), a, zeros=True),
        gradient(lambda b: f(a, b), b, zeros=True),
    )
    assert both == pytest.approx((want_a, want_b), rel=1e-6, abs=1e-6)
    assert left[0] == pytest.approx(want_a, rel=1e-6, abs=1e-6)
    assert right[0] == pytest.approx(want_b, rel=1e-6, abs=1e-6)
    assert all(type(v) is kind for v in (*both, *left, *right))
    assert pullback(f, a, b)[0] == f(a, b)
    assert type(pullback(f, a, b)[0]) is type(f(a, b))


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "//", "%", "**"])
def test_binary_operators_with_an_int_on_either_side(name):
    f = BINARY[name]
    assert gradient(lambda a: f(a, 3), 2.7, zeros=True)[0] == pytest.approx(
        slope(lambda a: f(a, 3), 2.7), abs=1e-6
    )
    assert gradient(lambda a: f(3, a), 2.7, zeros=True)[0] == pytest.approx(
        slope(lambda a: f(3, a), 2.7), abs=1e-6
    )
    both = gradient(f, 7, 3, zeros=True)
    assert both == pytest.approx(
        (slope(lambda a: f(a, 3), 7), slope(lambda b: f(7, b), 3))
        if name not in ("//", "%")
        else {"//": (0.0, 0.0), "%": (1.0, -2.0)}[name],
        rel=1e-5, abs=1e-6,
    )  # fmt: skip
    assert all(type(v) is float for v in both)
    value = pullback(f, 7, 3)[0]
    assert value == f(7, 3)
    assert type(value) is type(f(7, 3))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_unary_operators(name, kind):
    f = UNARY[name]
    for x in (2.7, -1.4):
        (got,) = gradient(f, kind(x), zeros=True)
        tolerance = 1e-6 if kind is not np.float32 else 1e-4
        assert got == pytest.approx(slope(f, x), rel=tolerance, abs=tolerance)
        assert type(got) is kind


def test_a_power_of_a_negative_number_is_complex_as_in_python():
    def f(x):
        y = x**0.5
        assert isinstance(y, complex)
        return abs(y) + y.imag**2

    assert gradient(f, -4.0) == pytest.approx((slope(f, -4.0),))
    assert gradient(lambda p: abs((-2.0) ** p), 1.5) == pytest.approx((2**1.5 * math.log(2),))


def test_inplace_operators_on_numbers():
    def f(x):
        y = x
        y += x
        y *= 3
        y -= 1
        y /= 2
        y **= 2
        y %= 100
        y //= 1e9
        return x * x + y

    assert gradient(f, 3.0) == (6.0,)


def test_comparison_and_truth_carry_nothing_and_are_plain():
    def f(x):
        for answer in (x < 4, x <= 3, x == 3, x != 3, x > 4, x >= 3, 4 > x, 3 == x, not x):
            assert type(answer) is bool
        assert [x < 4, x <= 3, x == 3, x != 3, x > 4] == [True, True, True, False, False]
        assert bool(x)
        assert x in [1.0, 3.0]
        assert x != "text"
        assert (x == None) is False  # noqa: E711
        return x if x else 0.0

    assert gradient(f, 3.0) == (1.0,)


def test_int_and_index():
    def f(n, x):
        assert int(n) == 3
        assert type(int(n)) is int
        assert operator.index(n) == 3
        assert hash(n) == hash(3)
        assert {3: "three"}[n] == "three"
        assert [0] * n == [0, 0, 0]
        assert n * "ab" == "ababab"
        assert (1,) * n == (1, 1, 1)
        assert list(range(n)) == [0, 1, 2]
        assert [10, 20, 30, 40][n] == 40
        assert "abcdef"[n] == "d"
        assert [1, 2, 3, 4][:n] == [1, 2, 3]
        assert np.arange(10)[n] == 3
        assert np.arange(10)[n:].size == 7
        assert np.arange(20).reshape(4, 5)[n, 1] == 16
        assert len(np.zeros(n)) == 3
        assert np.zeros((n, 2)).shape == (3, 2)
        assert bin(n) == "0b11"
        assert 1 << n == 8
        assert n & 1 == 1
        assert n | 4 == 7
        assert n ^ 1 == 2
        assert ~n == -4
        assert n >> 1 == 1
        assert math.factorial(n) == 6
        assert round(n) == 3
        assert chr(n + 62) == "A"
        return x[n] * n * x[n - 1]

    n_bar, x_bar = gradient(f, 3, np.arange(5.0))
    assert n_bar == 6.0
    np.testing.assert_array_equal(x_bar, [0, 0, 9, 6, 0])


def test_int_values_stay_ints():
    y, back = pullback(lambda n: [n + 1, n * n, n - 1, -n, n**2, n // 2, n % 2, abs(n), n / 2], 5)
    assert y == [6, 25, 4, -5, 25, 2, 1, 5, 2.5]
    assert [type(v) for v in y] == [int] * 8 + [float]
    assert back([1.0] * 9) == (1 + 10 + 1 - 1 + 10 + 0 + 1 + 1 + 0.5,)


def test_huge_ints_do_not_overflow():
    assert gradient(lambda n: n * n // n, 10**30, zeros=True) == (0.0,)
    assert pullback(lambda n: n**3, 10**30)[0] == 10**90
    assert gradient(lambda n: n * n, 10**30) == (2e30,)


def test_random_choices_and_bisect_work_on_plain_parts():
    def f(x):
        rng = random.Random(0)
        k = rng.choice([0, 1, 2])
        return x * k + rng.random() * x

    assert gradient(f, 2.0)[0] == pytest.approx(slope(f, 2.0))


def test_a_watched_value_is_never_a_key_in_silence():
    # A memoised function would answer with the entry of an equal number, whose derivative is lost.
    @functools.lru_cache
    def square(x):
        return x * x

    def call():
        return gradient(lambda x: square(x) + square(3.0), 3.0)

    for _ in range(2):
        try:
            assert call() == (6.0,)
        except zyg.errors.ConversionError as error:
            assert "key" in str(error)  # noqa: PT017


def test_foreign_operands_keep_pythons_errors():
    for f in (lambda x: x + "a", lambda x: "a" + x, lambda x: [] + x, lambda x: x @ x, lambda x: x[0],
              lambda x: len(x), lambda x: x(), lambda x: x < "a", lambda x: next(x),
              lambda x: x + None, lambda x: {}[x:x]):  # fmt: skip
        with pytest.raises(TypeError):
            gradient(f, 1.0)
    for f in (lambda x: [0] * x, lambda x: range(x), lambda x: [1, 2][x], lambda x: x & 1, lambda x: ~x,
              lambda x: operator.index(x)):  # fmt: skip
        with pytest.raises(TypeError):
            gradient(f, 1.0)


def test_copies():
    def f(x, a):
        y, z = copy.copy(x), copy.deepcopy(x)
        b, c = copy.copy(a), copy.deepcopy({"a": [a]})["a"][0]
        return x * y * z + np.sum(a * b * c)

    x_bar, a_bar = gradient(f, 2.0, np.array([1.0, 2.0]))
    assert x_bar == 12.0
    np.testing.assert_array_equal(a_bar, [3.0, 12.0])


def test_deepcopy_of_an_object_that_holds_watched_values():
    class Model:
        def __init__(self, w):
            self.w = w

    def f(w):
        one = Model([w])
        two = copy.deepcopy(one)
        two.w[0] = two.w[0] * 3
        return one.w[0] * two.w[0]

    assert gradient(f, 2.0) == (12.0,)


def test_a_million_operations_in_a_row_need_no_recursion():
    def f(x):
        y = x
        for _ in range(500_000):
            y = y * 0.5 + x
        return y

    assert gradient(f, 1.0)[0] == pytest.approx(2.0)
    assert sys.getrecursionlimit() < 100_000
