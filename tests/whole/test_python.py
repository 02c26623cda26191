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

import mpmath
import numpy as np
import pytest
import uncertainties
from hypothesis import given
from hypothesis import strategies as st

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


# Number types


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**2 + 3 * x + 1, Fraction(1, 3), Fraction(11, 3)),
        (lambda x: x**-2, Fraction(2, 3), Fraction(-27, 4)),
        (lambda x: 1 / x, Fraction(2, 3), Fraction(-9, 4)),
        (lambda x: x / (1 - x), Fraction(1, 3), Fraction(9, 4)),
        (lambda x: -x * x - x, Fraction(1, 3), Fraction(-5, 3)),
        (lambda x: abs(x) * x, Fraction(-1, 3), Fraction(2, 3)),
        (lambda x: (10**40 + 1) * x, Fraction(1, 3), Fraction(10**40 + 1)),
        (lambda x: x * (10**40 + 1), Fraction(1, 3), Fraction(10**40 + 1)),
        (lambda x: x % Fraction(1, 4), Fraction(1, 3), Fraction(1)),
        (lambda x: max(x, 1 - x), Fraction(1, 3), Fraction(-1)),
        (lambda x: x**0 + x, Fraction(1, 3), Fraction(1)),
        (lambda x: +x - 2, Fraction(1, 3), Fraction(1)),
        (lambda x: 2 - x, Fraction(1, 3), Fraction(-1)),
        (lambda x: sum([x, x * x, 1]), Fraction(1, 3), Fraction(5, 3)),
        (lambda x: x**2 + 3 * x + 1, Decimal("0.3"), Decimal("3.6")),
        (lambda x: 1 / x, Decimal("0.5"), Decimal(-4)),
        (lambda x: x / (1 - x), Decimal("0.5"), Decimal(4)),
        (lambda x: -x * x, Decimal("0.5"), Decimal(-1)),
        (lambda x: abs(x) * x, Decimal("-0.5"), Decimal(1)),
        (lambda x: x**3, Decimal("0.1"), Decimal("0.03")),
        (lambda x: x**-1, Decimal("0.5"), Decimal(-4)),
        (lambda x: x - 2 - x * x, Decimal("0.1"), Decimal("0.8")),
        (lambda x: Decimal(7) % x, Decimal(3), Decimal(-2)),
        (lambda x: x * Decimal("0.1"), Decimal(3), Decimal("0.1")),
        (lambda x: x**2 + 3 * x + 1, mpmath.mpf("0.3"), mpmath.mpf("3.6")),
        (lambda x: 1 / x, mpmath.mpf(4), mpmath.mpf(-1) / 16),
        (lambda x: abs(x) * x, mpmath.mpf(-3), mpmath.mpf(6)),
        (lambda x: -x / 2, mpmath.mpf(-3), mpmath.mpf("-0.5")),
        (lambda x: x**-2, mpmath.mpf(2), mpmath.mpf("-0.25")),
    ],
)
def test_numbers_keep_their_type_exactly(f, x, expected):
    (result,) = gradient(f, x)
    assert type(result) is type(x)
    assert abs(result - expected) < 1e-15 if isinstance(x, mpmath.mpf) else result == expected
    value = pullback(f, x)[0]
    assert value == f(x)
    assert type(value) is type(f(x))


def test_fractions_in_two_places_and_in_structures():
    f = lambda d: d["a"] ** 2 * d["b"][0] / 3  # noqa: E731
    (result,) = gradient(f, {"a": Fraction(1, 2), "b": [Fraction(3, 5)]})
    assert result == {"a": Fraction(1, 5), "b": [Fraction(1, 12)]}
    assert all(type(v) is Fraction for v in (result["a"], result["b"][0]))


def test_second_derivatives_of_fractions_are_exact():
    D = lambda f: lambda x: gradient(f, x)[0]  # noqa: E731, N806
    assert D(D(lambda x: 1 / (1 + x)))(Fraction(1, 2)) == Fraction(2) / Fraction(3, 2) ** 3
    assert type(D(D(lambda x: x**3))(Fraction(1, 2))) is Fraction


def test_powers_of_decimals():
    x, p = Decimal("2"), Decimal("3")
    x_bar, p_bar = gradient(lambda x, p: x**p, x, p)
    assert type(x_bar) is type(p_bar) is Decimal
    assert x_bar == 12
    assert float(p_bar) == pytest.approx(8 * math.log(2), rel=1e-15)


def test_high_precision_stays_high():
    with mpmath.workdps(50):
        x = mpmath.mpf("0.7")
        (result,) = gradient(lambda x, p: x**p, x, mpmath.mpf("2.5"))[:1]
        assert abs(result - mpmath.mpf("2.5") * x ** mpmath.mpf("1.5")) < mpmath.mpf(10) ** -48
        x_bar, p_bar = gradient(lambda x, p: x**p / 3, x, mpmath.mpf("2.5"))
        closed = x ** mpmath.mpf("2.5") * mpmath.log(x) / 3
        assert abs(p_bar - closed) < mpmath.mpf(10) ** -48
        assert isinstance(x_bar, mpmath.mpf)


def test_complex_mpmath():
    z = mpmath.mpc(3, 4)
    (result,) = gradient(lambda z: abs(z), z)
    assert isinstance(result, mpmath.mpc)
    assert abs(result - mpmath.mpc("0.6", "0.8")) < 1e-15


@pytest.mark.parametrize(
    ("f", "nominal"),
    [
        (lambda x: x**2 + 3 * x + 1, 7.0),
        (lambda x: x**3 / (x - 1), 4.0),
        (lambda x: 1 / x, -0.25),
        (lambda x: (x * 2) ** -1, -0.125),
    ],
)
def test_uncertain_numbers(f, nominal):
    x = uncertainties.ufloat(2.0, 0.1)
    (result,) = gradient(f, x)
    assert isinstance(result, uncertainties.UFloat)
    assert result.nominal_value == pytest.approx(nominal)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_modulus_of_an_uncertain_number():
    # A slope that is certain is a plain number: an uncertain one is not made from it alone.
    assert gradient(lambda x: abs(x), uncertainties.ufloat(-2.0, 0.1)) == (-1.0,)


def test_the_uncertainty_of_a_gradient_is_propagated():
    x = uncertainties.ufloat(2.0, 0.1)
    (result,) = gradient(lambda x: x**3, x)  # 3 x**2 has uncertainty 6 x * 0.1
    assert result.std_dev == pytest.approx(1.2)


def test_a_number_type_of_ones_own():
    @functools.total_ordering
    class Tropical(numbers.Number):
        """A wrapped float that refuses to mix with floats."""

        def __init__(self, v):
            assert isinstance(v, (int, float))
            self.v = v

        def _lift(self, other):
            if isinstance(other, int):
                return other
            assert isinstance(other, Tropical), other
            return other.v

        def __add__(self, o):
            return Tropical(self.v + self._lift(o))

        def __mul__(self, o):
            return Tropical(self.v * self._lift(o))

        def __sub__(self, o):
            return Tropical(self.v - self._lift(o))

        def __rsub__(self, o):
            return Tropical(self._lift(o) - self.v)

        def __truediv__(self, o):
            return Tropical(self.v / self._lift(o))

        def __rtruediv__(self, o):
            return Tropical(self._lift(o) / self.v)

        def __pow__(self, o):
            return Tropical(self.v ** self._lift(o))

        def __neg__(self):
            return Tropical(-self.v)

        def __eq__(self, o):
            return self.v == self._lift(o)

        def __lt__(self, o):
            return self.v < self._lift(o)

        def __hash__(self):
            return hash(self.v)

        __radd__, __rmul__ = __add__, __mul__

    (result,) = gradient(lambda x: -x * x * x / (x + 1) + 2 * x**3 - 1, Tropical(2.0))
    assert type(result) is Tropical
    assert result.v == pytest.approx(slope(lambda x: -x * x * x / (x + 1) + 2 * x**3 - 1, 2.0))


# NumPy's numbers and complex numbers


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_numpy_floats_keep_their_type(kind):
    for f in (lambda x: x * x, lambda x: 2 * x + 1, lambda x: np.exp(x), lambda x: x / 3,
              lambda x: x * np.pi, lambda x: 2.5 * x**2, lambda x: x * np.float64(2),
              lambda x: np.sum(x * np.ones(3))):  # fmt: skip
        assert type(gradient(f, kind(1.5))[0]) is kind


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8])
def test_numpy_ints_get_floats(kind):
    (result,) = gradient(lambda n: n * 1.5, kind(3))
    assert type(result) is float
    assert result == 1.5
    assert gradient(lambda n: n * n, kind(5)) == (10.0,)


def test_int_arrays_get_float64_gradients():
    (result,) = gradient(lambda n: np.sum(n * n), np.array([1, 2, 3], dtype=np.int16))
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, [2, 4, 6])
    seen = []
    gradient(
        lambda n: seen.append((n.dtype, np.arange(5)[n].tolist())) or np.sum(n), np.array([1, 3])
    )
    assert seen == [(np.dtype(int), [1, 3])]


def test_unsigned_gradients_can_be_negative():
    (result,) = gradient(lambda n: -np.sum(n * 1.0), np.array([1, 2], dtype=np.uint8))
    np.testing.assert_array_equal(result, [-1.0, -1.0])


def test_bool_arrays_have_no_gradient():
    b, x = np.array([True, False]), np.array([2.0, 3.0])
    b_bar, x_bar = gradient(lambda b, x: np.sum(x[b]) + np.sum(x * b), b, x)
    assert b_bar is None
    np.testing.assert_array_equal(x_bar, [2.0, 0.0])
    assert gradient(lambda b, x: x * b, True, 2.0) == (None, 1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * np.ones(3)),
        lambda x: np.sum(x * 2.5),
        lambda x: np.sum(np.float64(2.5) * x),
        lambda x: np.sum(x @ np.eye(3)),
        lambda x: np.sum(x.astype(np.float64) ** 2),
        lambda x: np.sum(np.concatenate([x, np.ones(2)])),
        lambda x: np.sum(x + 1j).real,
        lambda x: x[0] * 3.7,
        lambda x: np.mean(x, dtype=np.float64),
        lambda x: np.sum(x[[0, 0, 1]] * np.arange(3)),
        lambda x: np.sum(np.where(np.array([True, False, True]), x, np.pi)),
        lambda x: sum(x) * np.float64(3),
    ],
)
def test_float32_arrays_get_float32_whatever_they_met(f):
    (result,) = gradient(f, np.ones(3, np.float32))
    assert result.dtype == np.float32
    assert result.shape == (3,)


def test_float32_operands_do_not_lower_a_float64_gradient():
    x, w = np.ones(3) / 3, np.ones(3, np.float32)
    x_bar, w_bar = gradient(lambda x, w: np.sum(x * w * x), x, w)
    assert x_bar.dtype == np.float64
    assert w_bar.dtype == np.float32
    np.testing.assert_array_equal(x_bar, 2 * x)


def test_zero_dimensional_arrays():
    x = np.array(3.0)
    (result,) = gradient(lambda x: x * x, x)
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 6.0
    (result,) = gradient(lambda x: np.sum(x[()] * np.ones(2)), x)
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 2.0
    (result,) = gradient(lambda x: x.item() ** 2, x)
    assert result.shape == ()


def test_empty_arrays_keep_their_shape():
    for shape in [(0,), (0, 3), (2, 0)]:
        (result,) = gradient(
            lambda x: np.sum(x * 2) + np.sum(np.exp(x)), np.zeros(shape, np.float32)
        )
        assert result.shape == shape
        assert result.dtype == np.float32
    assert gradient(lambda x: sum(x, 0.0), np.zeros(0), zeros=True)[0].shape == (0,)


def test_complex_gradients_point_uphill():
    def loss(z):
        return abs(z - (1 + 2j)) ** 2 + (z * z).real

    z = 0.3 - 0.8j
    (z_bar,) = gradient(loss, z)
    h = 1e-6
    u_bar = (loss(z + h) - loss(z - h)) / (2 * h)
    v_bar = (loss(z + 1j * h) - loss(z - 1j * h)) / (2 * h)
    assert z_bar == pytest.approx(u_bar + 1j * v_bar)
    assert type(z_bar) is complex
    assert loss(z - 0.01 * z_bar) < loss(z)


COMPLEX = {
    "product": lambda z, w: (z * w).real, "quotient": lambda z, w: (z / w).imag,
    "power": lambda z, w: abs(z**w), "int power": lambda z, w: (z**3 * w**-2).real,
    "exp": lambda z, w: np.exp(z * w).imag, "abs": lambda z, w: abs(z) * abs(w),
    "conj": lambda z, w: (z.conjugate() * w * z).real, "mixed": lambda z, w: z.real * w.imag,
    "sum": lambda z, w: (z + w * 2 - 1j).imag, "neg": lambda z, w: (-z * w).real,
    "log": lambda z, w: np.log(z).real * np.sqrt(w).imag, "angle": lambda z, w: np.angle(z * w),
    "pos": lambda z, w: (+z).real + abs(w) ** 2,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("kinds", [(complex, complex), (complex, float), (float, complex),
                                   (np.complex128, np.complex64)])  # fmt: skip
def test_complex_and_real_arguments_mixed(name, kinds):
    f = COMPLEX[name]
    values = [1.2 + 0.7j, 0.4 - 1.1j]
    args = [k(v.real) if k is float else k(v) for k, v in zip(kinds, values, strict=True)]
    results = gradient(f, *args, zeros=True)
    h = 1e-6
    for k, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        assert type(result) is kind

        def at(v, k=k):
            wide = [a if isinstance(a, float) else complex(a) for a in args]
            wide[k] = wide[k] + v
            return f(*wide)

        expected = (at(h) - at(-h)) / (2 * h)
        if kind is not float:
            expected = expected + 1j * (at(1j * h) - at(-1j * h)) / (2 * h)
        tolerance = 1e-5 if np.complex64 in kinds else 1e-7
        assert complex(result) == pytest.approx(complex(expected), rel=tolerance, abs=tolerance)


def test_complex_arrays_and_real_arrays():
    z, x = np.array([1 + 2j, 3 - 1j]), np.array([0.5, 2.0])
    z_bar, x_bar = gradient(lambda z, x: np.sum(np.abs(z * x) ** 2), z, x)
    np.testing.assert_allclose(z_bar, 2 * z * x**2)
    np.testing.assert_allclose(x_bar, 2 * x * np.abs(z) ** 2)
    assert z_bar.dtype == np.complex128
    assert x_bar.dtype == np.float64


def test_gradient_descent_on_a_complex_array_lowers_the_loss():
    a = np.array([[1 + 1j, 2.0], [0.5j, 1 - 1j]])
    b = np.array([1.0, 1j])

    def loss(z):
        return np.sum(np.abs(a @ z - b) ** 2)

    z = np.zeros(2, complex)
    for _ in range(100):
        z = z - 0.05 * gradient(loss, z)[0]
    assert loss(z) < 0.05 * loss(np.zeros(2, complex))


# The short path of watched floats equals the general path

_LEAF = st.one_of(
    st.sampled_from(["x", "y"]),
    st.integers(-4, 4).map(Fraction),
    st.fractions(min_value=-3, max_value=3, max_denominator=7),
)
_TREE = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.just("**"), inner, st.integers(-2, 4)),
        st.tuples(st.sampled_from(["neg", "pos", "abs"]), inner),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner),
    ),
    max_leaves=12,
)


def _evaluate(tree, scope, number):
    match tree:
        case str():
            return scope[tree]
        case Fraction():
            return number(tree)
        case ("**", base, n):
            return _evaluate(base, scope, number) ** n
        case (("neg" | "pos" | "abs") as name, inner):
            return UNARY[name](_evaluate(inner, scope, number))
        case (name, left, right):
            return BINARY[name](_evaluate(left, scope, number), _evaluate(right, scope, number))


class Dual:
    """An exact derivative by fractions, written independently: value and derivatives in x and y."""

    def __init__(self, value, *slopes):
        self.value, self.slopes = value, slopes

    def _with(self, value, a, other, b):
        return Dual(value, *(a * p + b * q for p, q in zip(self.slopes, other.slopes, strict=True)))

    def __add__(self, o):
        return self._with(self.value + o.value, 1, o, 1)

    def __sub__(self, o):
        return self._with(self.value - o.value, 1, o, -1)

    def __mul__(self, o):
        return self._with(self.value * o.value, o.value, o, self.value)

    def __truediv__(self, o):
        return self._with(self.value / o.value, 1 / o.value, o, -self.value / o.value**2)

    def __pow__(self, n):
        a = n * self.value ** (n - 1) if n else 0
        return self._with(self.value**n, a, self, 0)

    def __neg__(self):
        return self._with(-self.value, -1, self, 0)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._with(abs(self.value), (self.value > 0) - (self.value < 0), self, 0)

    def __lt__(self, o):
        return self.value < o.value

    def __gt__(self, o):
        return self.value > o.value


def _exact(tree, x, y):
    scope = {"x": Dual(x, Fraction(1), Fraction(0)), "y": Dual(y, Fraction(0), Fraction(1))}
    return _evaluate(tree, scope, lambda v: Dual(v, Fraction(0), Fraction(0)))


_POINT = st.fractions(min_value=-3, max_value=3, max_denominator=9)


@given(_TREE, _POINT, _POINT)
def test_random_programs_of_fractions_are_exact(tree, x, y):
    try:
        exact = _exact(tree, x, y)
    except ZeroDivisionError:
        return

    def f(x, y):
        return _evaluate(tree, {"x": x, "y": y}, lambda v: v) + 0 * x

    assert gradient(f, x, y, zeros=True) == exact.slopes
    assert pullback(f, x, y)[0] == exact.value


@given(_TREE, _POINT, _POINT, st.sampled_from([(float, float), (np.float64, np.float64),
                                               (float, np.float64)]))  # fmt: skip
def test_random_programs_of_floats_are_near_the_exact_derivative(tree, x, y, kinds):
    try:
        exact = _exact(tree, x, y)
    except ZeroDivisionError:
        return
    magnitudes = [abs(v) for v in (exact.value, *exact.slopes)]
    if max(magnitudes) > 1e6:
        return

    def f(x, y):
        return _evaluate(tree, {"x": x, "y": y}, float) + 0.0 * x

    def rounded():
        # Ties of min and max that exact arithmetic sees may be broken by rounding, and the reverse.
        steps = []
        _evaluate_watched(tree, {"x": Dual(x, 0, 0), "y": Dual(y, 0, 0)}, steps)
        return any(abs(float(s)) < 1e-9 for s in steps)

    try:
        got = gradient(f, kinds[0](x), kinds[1](y), zeros=True)
    except (ZeroDivisionError, OverflowError):
        return
    if rounded():
        return
    assert got == pytest.approx([float(v) for v in exact.slopes], rel=1e-6, abs=1e-6)
    assert [type(v) for v in got] == list(kinds)


def _evaluate_watched(tree, scope, steps):
    """The differences on which abs, min, max, / and ** turn; a tiny one makes floats undecided."""

    def walk(tree):
        match tree:
            case str():
                return scope[tree].value
            case Fraction():
                return tree
            case ("**", base, n):
                v = walk(base)
                steps.append(v if n < 2 else 1)
                return v**n
            case ("abs", inner):
                v = walk(inner)
                steps.append(v)
                return abs(v)
            case ("neg" | "pos", inner):
                return walk(inner)
            case (name, left, right):
                a, b = walk(left), walk(right)
                steps.append({"min": a - b, "max": a - b, "/": b}.get(name, 1))
                return BINARY[name](a, b)

    return walk(tree)


class General(float):
    """A float for which there is no short path: the same operators by the general rules."""

    def _same(name):  # noqa: N805
        method = getattr(float, name)

        def operator_(self, *others):
            y = method(self, *others)
            return General(y) if type(y) is float else y

        return operator_

    for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
        locals()[f"__{_name}__"] = _same(f"__{_name}__")
        locals()[f"__r{_name}__"] = _same(f"__r{_name}__")
    for _name in ("neg", "pos", "abs"):
        locals()[f"__{_name}__"] = _same(f"__{_name}__")


# Nothing tiny: where a power overflows, Python's floats raise and NumPy's are infinite.
_FLOAT = st.one_of(
    st.integers(-3000, 3000).map(lambda n: n / 1001), st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5])
)


@given(_TREE, _FLOAT, _FLOAT)
def test_the_short_path_equals_the_general_path(tree, x, y):
    def f(x, y):
        return _evaluate(tree, {"x": x, "y": y}, float)

    def outcome(kind):
        try:
            return value_and_gradient(f, kind(x), kind(y), zeros=True)
        except (ZeroDivisionError, OverflowError) as error:
            return type(error)
        except zyg.errors.ComplexOutputError as error:
            return type(error)

    short, general = outcome(float), outcome(General)
    if isinstance(short, type):
        assert short is general
        return
    assert short[0] == pytest.approx(float(general[0]), rel=1e-12, abs=1e-12, nan_ok=True)
    assert list(short[1]) == pytest.approx(
        [float(v) for v in general[1]], rel=1e-9, abs=1e-12, nan_ok=True
    )


_KINDS = [float, int, np.float64, np.float32, General, Fraction]
_PAIRS = [(a, b) for a in _KINDS for b in _KINDS if {a, b} != {Fraction, np.float32}]


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "//", "%", "**"])
@pytest.mark.parametrize("kinds", _PAIRS, ids=lambda ks: "-".join(k.__name__ for k in ks))
def test_every_operator_on_every_pair_of_types_as_plain_python_does_it(name, kinds):
    f = BINARY[name]
    a, b = kinds[0](3), kinds[1](2)
    plain = f(a, b)
    # Fraction ** n asks isinstance(n, int), as which a watched n cannot pass: it answers in float.
    inexact = name == "**" and kinds[0] is Fraction
    expected = {
        "+": (1, 1), "-": (1, -1), "*": (2, 3), "/": (0.5, -0.75), "//": (0, 0), "%": (1, -1),
        "**": (6, 9 * math.log(3)),
    }[name]  # fmt: skip
    for g, args, places in (
        (f, (a, b), (0, 1)),
        (lambda a: f(a, b), (a,), (0,)),
        (lambda b: f(a, b), (b,), (1,)),
    ):
        y, back = pullback(g, *args)
        assert y == plain
        assert type(y) is type(plain) or (inexact and type(y) is float)
        for bar, place in zip(back(1, zeros=True), places, strict=True):
            kind = kinds[place]
            assert float(bar) == pytest.approx(float(expected[place]), rel=1e-6)
            assert type(bar) in ({float, kinds[1 - place]} if kind is int else {kind})
