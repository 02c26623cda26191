"""Derivatives of functions that call themselves: what frames keep is on stacks, in order."""

import math
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
from zyg.errors import TapeError

alone = pytest.mark.usefixtures("machine_code_alone")


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def doubled(x, n):  # x ** (2**n)
    if n == 0:
        return x
    return doubled(x, n - 1) * doubled(x, n - 1)


@alone
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 18, 47, 48, 49, 500, 900])
def test_stacks_are_as_long_as_a_function_is_deep(n):
    slope, _ = zyg.gradient(zyg.compile(power), 1.001, n)
    assert slope == pytest.approx(n * 1.001 ** (n - 1), rel=1e-12)


@alone
@pytest.mark.parametrize("n", [0, 1, 2, 5, 11])
def test_derivatives_of_several_calls_a_frame(n):
    f, of, m, x = zyg.compile(doubled, wrt=0), zyg.compile(slope_of_doubled, wrt=0), 2**n, 1.0003

    assert zyg.gradient(f, x, n)[0] == pytest.approx(m * x ** (m - 1), rel=1e-11)
    second = m * (m - 1) * x ** (m - 2)
    for slope in (of, lambda x, n: zyg.gradient(f, x, n)[0]):
        assert zyg.gradient(slope, x, n)[0] == pytest.approx(second, rel=1e-11)
    assert zyg.hessian(zyg.compile(lambda x: doubled(x, n)), x) == pytest.approx(second, rel=1e-11)


def slope_of_doubled(x, n):
    return zyg.gradient(doubled, x, n)[0]


@alone
def test_frames_take_the_memory_of_what_they_keep():
    f, n = zyg.compile(doubled, wrt=0), 13

    with zyg.config(tape_bytes=3 * (2 * 8 << n) + 20_000):  # two numbers for a frame that calls
        assert zyg.gradient(f, 1.0, n)[0] == 2**n
    with zyg.config(tape_bytes=8 << n), pytest.raises(TapeError, match="more than"):
        zyg.gradient(f, 1.0, n)
    assert zyg.gradient(f, 1.0, n)[0] == 2**n


def rooted(x, n):
    if n == 0:
        return math.sqrt(x - 1.0)
    y = math.sin(x)
    return y * rooted(x - 0.5, n - 1) + rooted(x + 0.5, n - 1)


def test_an_exception_of_a_deep_frame_is_pythons_and_leaves_the_next_call_as_it_is():
    f = zyg.compile(rooted, wrt=0)
    right = zyg.gradient(f, 9.0, 5)

    with pytest.raises(ValueError, match=r"math domain error|nonnegative") as caught:
        zyg.gradient(f, 0.3, 5)

    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("rooted", "return math.sqrt(x - 1.0)")
    assert zyg.gradient(f, 9.0, 5) == right


@alone
def test_threads_have_stacks_of_their_own():
    f, g = zyg.compile(rooted, wrt=0), zyg.compile(doubled, wrt=0)
    xs = np.linspace(9.0, 12.0, 16)

    def both(x):
        return zyg.gradient(f, x, 9)[0], zyg.gradient(g, x / 10, 9)[0]

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(both, xs)] == [*map(both, xs)]


def mixed(x, w, k, up, deep):
    """It keeps floats of both kinds, ints, flags and arrays; what it is given goes down."""
    if deep == 0:
        return x * w[k]
    y, at = np.sin(w) * x, int(x * 10) % len(w)
    ends = x > 0.3
    total = y[at]
    for j in range(2):
        part = mixed(total * 0.5, y, j + at - k if up else at, not up, deep - 1)
        total += part * (at if ends else 1) * (2.0 if up else 0.5) + (x if part > 0.1 else x * x)
        x = x * y[j]
    return total


def turned(x, y, n):
    return x if n == 0 else math.sin(back(x, n - 1, y)) + y


def back(x, n, y):
    return x * y if n <= 0 else turned(y, x, n - 1) * turned(x, x * y, n - 2 if n > 1 else 0)


def rows(a, n):
    return a * 2.0 if n == 0 else rows(np.sin(a), n - 1) * a + a[0]


def in_rounds(x, n):
    y = 0.0
    while n > 0:
        for k in range(3):
            y = math.cos(y) * doubled(x + 0.01 * k, n) if y < 0.9 else y * power(x, k)
        n -= 1
    return y


W = np.array([0.4, 0.9, 1.3])


@alone
@pytest.mark.parametrize(
    ("f", "args"),
    [(mixed, (0.35, W, 1, True, 4)), (mixed, (0.35, W.astype(np.float32), 1, False, 4)),
     (turned, (0.6, 0.9, 6)), (back, (0.6, 6, 0.9)), (rows, (W, 5)), (in_rounds, (0.9, 4))],
)  # fmt: skip
def test_derivatives_are_differences(f, args):
    compiled = zyg.compile(f)
    moving = [k for k, x in enumerate(args) if isinstance(x, (float, np.ndarray))]
    y, back = zyg.pullback(compiled, *args)
    bar = np.cos(np.arange(np.size(y))).reshape(np.shape(y)) if np.ndim(y) else 1.0
    found, rough = back(bar), any(np.asarray(x).dtype == np.float32 for x in args)

    for k in moving:
        step = 1e-3 if rough else 1e-6
        along = np.sin(1.0 + np.arange(np.size(args[k]))).reshape(np.shape(args[k]))

        def at(t, k=k, along=along):
            x = args[k] + t * along
            return np.sum(bar * f(*args[:k], x if np.ndim(x) else float(x), *args[k + 1 :]))

        slope = (at(step) - at(-step)) / (2 * step)
        got = np.sum(np.asarray(found[k], float) * along)
        assert got == pytest.approx(slope, rel=1e-3 if rough else 1e-7, abs=1e-8)


def first_end(x, n):
    if n > 0 and x < 9.0:
        return first_end(x * 1.5, n - 1) + 1.0
    return -x


def last_end(x, n):
    return (x, n, True) if n == 0 or x > 9.0 else last_end(x * 1.5, n - 1)


@alone
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_ends_that_are_there_at_once_are_pythons(n):
    for f in (first_end, last_end):
        assert zyg.compile(f)(1.1, n) == f(1.1, n)
    assert zyg.gradient(zyg.compile(first_end), 1.1, n)[0] == pytest.approx(-(1.5 ** min(n, 6)))
