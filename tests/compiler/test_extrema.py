"""Extrema in eight lanes: the number, the round and what else belongs to it, as one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.compiler.back.extrema import extremum
from zyg.compiler.ir import For, operations
from zyg.compiler.splice import as_run

from .wholes import read

SIZES = [1, 2, 8, 15, 16, 17, 24, 31, 100, 1003]


@pytest.fixture(params=["first", "whole"])
def code(request):
    with zyg.config(compile=request.param, fallback="error"):
        yield request.param


def largest(x):
    return np.max(x)


def least(x):
    return np.min(x)


def the_first(x):
    best, at, beside = x[0], -1, x[0]
    for i in range(len(x)):
        if x[i] > best:
            best, at, beside = x[i], i, x[len(x) - 1 - i]
    return best, at, beside


def the_least_from_outside(x, start):
    best = start
    for y in x:
        best = y * 2 if y * 2 < best else best
    return best


def the_last(x):
    best, at = x[0], -1
    for i in range(len(x)):
        if x[i] >= best:
            best, at = x[i], i
    return best, at


def not_numbers_win(x):
    best = x[0]
    for y in x:
        if not y <= best:
            best = y
    return best


FUNCTIONS = [largest, least, the_first, the_last, not_numbers_win]


def bits(y):
    return [
        (np.asarray(z).dtype, np.asarray(z).tobytes()) for z in (y if type(y) is tuple else [y])
    ]


def drawn(n, dtype, seed):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=n) * 3).astype(dtype)  # many are equal
    if np.dtype(dtype).kind == "f":
        x[rng.random(n) < 0.2] *= -1  # zeros with a sign
    return x


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_the_bits_are_those_of_the_loop(code, f, dtype):
    compiled = zyg.compile(f)
    for n in SIZES:
        for seed in range(3):
            x = drawn(n, dtype, seed)
            if f in (largest, least):  # NumPy says not which of two zeros it takes
                assert compiled(x) == f(x)
                assert bits(compiled(np.abs(x) + 1)) == bits(f(np.abs(x) + 1))
            else:
                assert bits(compiled(x)) == bits(f(x)), (n, seed)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.lists(st.integers(0, 39), max_size=4), st.integers(0, 9))
def test_what_is_no_number(n, places, seed):
    x = drawn(n + 1, float, seed)
    x[[k for k in places if k <= n]] = np.nan
    for f in FUNCTIONS:
        found, right = zyg.compile(f)(x), f(x)
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("start", [5.0, -7.0, np.nan, -np.inf])
def test_what_it_begins_with(code, start):
    compiled = zyg.compile(the_least_from_outside)
    for n in (0, *SIZES):
        x = drawn(n, float, n)
        assert bits(compiled(x, start)) == bits(the_least_from_outside(x, start))


@pytest.mark.parametrize("f", [largest, least, lambda x: the_first(x)[0] * the_first(x)[2]])
def test_the_first_of_equals_has_the_slope(code, f):
    for n in SIZES:
        x = drawn(n, float, n)
        (found,), (right,) = zyg.gradient(zyg.compile(f), x), zyg.gradient(f, x)
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(
    ("f", "found"), [*zip(FUNCTIONS, [True, True, False, False, False], strict=True)]
)
def test_what_is_found_in_any_order(f, found):
    loops = [
        op for op in operations(as_run(read(f, np.ones(9)).program).body) if isinstance(op, For)
    ]
    assert [extremum(loop) is not None for loop in loops] == [found]
