"""Derivatives of long loops take no more memory than `tape_bytes`, and are the same."""

import math
import re

import numpy as np
import pytest

import zyg
from zyg.errors import TapeError

N = 4000


def logistic(x, n):
    for _ in range(n):
        x = 1.2 * x * (1.0 - x) + 0.3 * math.sin(x)
    return x


def stepped(x, n):
    s = 0.0
    for k in range(n, 0, -2):
        x = math.cos(0.5 * x) + 0.1 * x / k
        s += x * x
    return s + x


def stencil(u, n):
    u = u.copy()
    for _ in range(n):
        for i in range(1, len(u) - 1):
            u[i] = u[i] + 0.1 * (u[i + 1] - 2.0 * u[i] + u[i - 1]) - 0.001 * u[i] ** 3
    return np.sum(u * u)


def carried_arrays(x, n):
    a, b = x.copy(), np.zeros(len(x))
    for k in range(n):
        for i in range(len(x)):
            b[i] = math.sin(a[i]) + 0.001 * k
        a, b = b, a
    return np.sum(a * b)


def fresh_arrays(x, n):
    for _ in range(n):
        x = x + 0.01 * np.sin(x) * x[0]
    return np.sum(x)


def in_branch(x, n):
    if x[0] > 0:
        for k in range(n):
            x = x * np.cos(x) + 0.3
            x = x + 0.1 * (k % 3)
    return np.sum(x)


def two_loops(x, n):
    y = np.zeros(8)
    count = np.zeros(2, np.int64)
    for k in range(n):
        y[k % 8] = math.sin(x + 0.3 * y[(k + 3) % 8])
        count[k % 2] += 1
    z = 0.5
    for k in range(n):
        z = 0.5 * math.cos(y[k % 8] * z) + 0.0002 * count[0]
        y[k % 5] = z / 100.0
    return z + np.sum(y * y)


def with_while(x, n):
    for _ in range(n):
        k = 0
        while k < 3 and x < 2.0:
            x = x * 1.1
            k += 1
        x = math.sqrt(x)
    return x


X = np.array([0.5, -1.2, 2.0, 0.1])
PROGRAMS = [
    (logistic, 0.3, N, 4000), (logistic, 0.3, 0, 4000), (logistic, 0.3, 1, 4000),
    (stepped, 0.3, N, 4000), (stepped, 0.3, 4001, 4000), (stencil, X, N, 24_000),
    (carried_arrays, X, N, 32_000), (carried_arrays, X, 1501, 24_000),
    (fresh_arrays, X, 500, 32_000), (in_branch, X, N, 256_000), (two_loops, 0.3, N, 32_000),
    (with_while, 0.7, N, 4000),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "n", "least"), PROGRAMS)
def test_a_loop_in_segments_has_the_same_gradient_in_less_memory(f, x, n, least):
    compiled = zyg.compile(f, wrt=0)
    value, (right, _) = zyg.value_and_gradient(compiled, x, n)
    assert np.isfinite(right).all()

    with zyg.config(tape_bytes=least):
        found, (gradient, _) = zyg.value_and_gradient(compiled, x, n)
        (pulled, _) = zyg.pullback(compiled, x, n)[1](1.0)

    np.testing.assert_array_equal(found, value)
    np.testing.assert_allclose(gradient, right, rtol=1e-12)
    np.testing.assert_allclose(pulled, right, rtol=1e-12)


def test_second_derivatives_in_segments_are_the_same():
    f = zyg.compile(two_loops, wrt=0)

    def slope(x):
        return zyg.gradient(f, x, 600)[0]

    right = zyg.gradient(slope, 0.3)
    with zyg.config(tape_bytes=60_000):
        np.testing.assert_allclose(zyg.gradient(slope, 0.3), right, rtol=1e-11)


def halved(x, least):
    while x > least:
        x = 0.999999 * math.sin(x)
    return x


def test_a_while_loop_that_is_too_long_is_named_with_its_bytes():
    f = zyg.compile(halved, wrt=0)
    here = re.escape(__file__)

    with zyg.config(tape_bytes=10_000), pytest.raises(TapeError) as caught:
        zyg.gradient(f, 1.0, 0.01)

    text = str(caught.value)
    assert re.search(
        r"derivative of halved\S* needs more than [\d,]+ bytes of memory. \[tape\]", text
    )
    assert re.search(rf"where: {here}:\d+: x > least", text)
    assert "zyg.config(tape_bytes=10000)" in text
    assert zyg.gradient(f, 1.0, 0.01)[0] > 0  # the next call works


def test_a_loop_that_cannot_run_again_is_named():
    f = zyg.compile(carried_arrays, wrt=0)

    with zyg.config(tape_bytes=5000), pytest.raises(TapeError, match=r": range\(n\)"):
        zyg.gradient(f, X, N)


def test_what_is_asked_for_beyond_all_memory_is_a_memory_error():
    f = zyg.compile(lambda x, n: np.zeros(n)[n // 2] + x)

    with pytest.raises(MemoryError):
        f(1.0, 1 << 55)
    assert f(1.0, 5) == 1.0
