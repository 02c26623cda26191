"""Derivatives of long loops take no more memory than `tape_bytes`, and are the same."""

import contextlib
import gc
import math
import re
import sys
from contextvars import copy_context

import numpy as np
import pytest

import zyg
from zyg.base.config import least_tape
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


def until_small(x, least):
    while x > least:
        x = 0.99999 * math.sin(x)
    return x


def until_settled(u, n):
    u, change, rounds = u.copy(), 1.0, 0
    while change > 1e-9 and rounds < n:
        change = 0.0
        for i in range(1, len(u) - 1):
            before = u[i]
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) + 0.01 * math.sin(u[i])
            change += abs(u[i] - before)
        rounds += 1
    return np.sum(u * u) + 0.001 * rounds


def into_the_argument(u, n):
    k = 0
    while k < n:
        k += 1
        u[k % len(u)] += 0.01 * math.cos(u[(k + 1) % len(u)])
    return np.sum(u)


def exit_of_a_loop(x, n):
    s = 0.0
    for k in range(10 * n):
        if k * k > n * n:
            break
        x = math.sin(x) + 0.2 * x
        s += x * x
    else:
        s = -1.0
    return s + x


def arrays_until(x, n):
    k = 0
    while k < n and x[0] < 100.0:
        x = x + 0.01 * np.sin(x) * x[1]
        k += 2
    return np.sum(x)


def nested_whiles(x, n):
    k = 0
    while k < n:
        j = 0
        while j < 40:
            x = math.sin(x) + 0.1 * x
            j += 1
        k += 1
    return x


X = np.array([0.5, -1.2, 2.0, 0.1])
PROGRAMS = [
    (logistic, 0.3, N, 4000), (logistic, 0.3, 0, 4000), (logistic, 0.3, 1, 4000),
    (stepped, 0.3, N, 4000), (stepped, 0.3, 4001, 4000), (stencil, X, N, 24_000),
    (carried_arrays, X, N, 32_000), (carried_arrays, X, 1501, 24_000),
    (fresh_arrays, X, 500, 32_000), (in_branch, X, N, 256_000), (two_loops, 0.3, N, 32_000),
    (with_while, 0.7, N, 4000), (until_small, 1.0, 0.03, 6000), (until_settled, X, 300, 14_000),
    (exit_of_a_loop, 0.3, N, 9000), (arrays_until, X, 1000, 40_000),
    (nested_whiles, 0.7, 300, 20_000),
]  # fmt: skip


@pytest.mark.slow
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


@pytest.mark.slow
def test_second_derivatives_in_segments_are_the_same():
    f = zyg.compile(two_loops, wrt=0)

    def slope(x):
        return zyg.gradient(f, x, 600)[0]

    right = zyg.gradient(slope, 0.3)
    with zyg.config(tape_bytes=60_000):
        np.testing.assert_allclose(zyg.gradient(slope, 0.3), right, rtol=1e-11)


def collected(x, least):
    found = [x]
    while x > least:
        x = 0.999999 * math.sin(x)
        found.append(x)
    return found[len(found) // 2] + x


@pytest.mark.slow
def test_a_while_loop_that_is_too_long_is_named_with_its_bytes():
    f = zyg.compile(collected, wrt=0)
    here = re.escape(__file__)

    with zyg.config(tape_bytes=10_000), pytest.raises(TapeError) as caught:
        zyg.gradient(f, 1.0, 0.01)

    text = str(caught.value)
    assert re.search(
        r"derivative of collected\S* needs more than [\d,]+ bytes of memory. \[tape\]", text
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


def _least():
    gc.collect()
    return int.from_bytes(least_tape, sys.byteorder)


def test_machine_code_has_the_limit_of_a_block_as_long_as_anything_runs_under_it():
    before = _least()
    with zyg.config(tape_bytes=3000):
        assert _least() == 3000
        with zyg.config(tape_bytes=2000), zyg.config(strong_zero=False):
            assert _least() == 2000
        assert _least() == 3000
        later = copy_context()  # of a task that goes on after the block
    assert _least() == 3000
    del later
    assert _least() == before
    with contextlib.suppress(ValueError), zyg.config(tape_bytes=1000):
        raise ValueError
    assert _least() == before


def test_a_limit_of_the_process_is_one_until_it_is_set_again():
    before = _least()
    try:
        zyg.config(tape_bytes=before // 2)
        assert _least() == before // 2
        zyg.config(tape_bytes=before * 4)
        assert _least() == before * 4
    finally:
        zyg.config(tape_bytes=before)
    assert _least() == before
