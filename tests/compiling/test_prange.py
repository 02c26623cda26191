"""Loops over `prange`: sums in chunks, writes in different places, nothing else handed on."""

import numpy as np
import pytest

import zyg
from tests.programs.threads import ints, numpys
from zyg.base import warned
from zyg.errors import CompileError

X = np.linspace(-1.0, 2.0, 1001)


@pytest.mark.parametrize("n", [0, 1, 5, 63, 64, 65, 1001])
def test_sums_are_those_of_chunks_in_order(n):
    def added(x):
        s = 0.1
        for k in zyg.prange(len(x)):
            s += x[k]
        return s

    x, right, count = X[:n], 0.1, min(n, 64)
    for c in range(count):
        part = 0.0
        for k in range(c * n // count, (c + 1) * n // count):
            part += x[k]
        right += part
    assert zyg.compile(added)(x) == right


@pytest.mark.parametrize("count", [1, 2, 65, 1001])
@pytest.mark.parametrize("f", [ints, numpys])
def test_sums_of_ints_are_those_of_a_range(f, count):
    with zyg.config(fallback="error"):
        found, right = zyg.compile(f)(X[:count], 3), f(X[:count], 3)
    assert found == right
    assert [*map(type, found)] == [*map(type, right)]


def test_sums_of_numpy_s_ints_and_bools():
    def summed(a, b):
        k, n = np.int64(5), 0
        for i in zyg.prange(len(a)):
            k += a[i]
            n += b[i]
        return k, n

    a, b = np.arange(-20, 200) ** 3, np.arange(220) % 7 > 2
    with zyg.config(fallback="error"):
        found, right = zyg.compile(summed)(a, b), summed(a, b)
    assert found == right
    assert [*map(type, found)] == [*map(type, right)]


@pytest.mark.parametrize(("n", "count"), [(2**60, 17), (2**62, 5), (-(2**61), 1001), (2**53, 900)])
def test_an_int_sum_beyond_64_bits_is_python_s(n, count):
    compiled = zyg.compile(ints)
    warned._warned.clear()
    with pytest.warns(zyg.errors.PerformanceWarning, match="an int beyond 64 bits"):
        assert compiled(X[:count], n) == ints(X[:count], n)


def handed_on(x):
    state = 0.0
    for k in zyg.prange(len(x)):
        state = np.sin(state + x[k])
    return state


def left_early(x):
    s = 0.0
    for k in zyg.prange(len(x)):
        if x[k] > 1.0:
            break
        s += x[k]
    return s


def counted(x):
    k = 0
    for _ in zyg.prange(len(x)):
        k += 1 + k % 2
    return k


def used(x):
    s = 0.0
    for k in zyg.prange(len(x)):
        s += x[k] * s
    return s


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (handed_on, "each other through state,"),
        (used, "each other through s,"),
        (counted, "each other through k,"),
        (left_early, "leaving a prange loop early"),
    ],
)
def test_what_rounds_hand_on_is_refused_by_name(f, text):
    with zyg.config(fallback="error"), pytest.raises(CompileError, match=text):
        zyg.compile(f)(X)
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(X) == f(X)
