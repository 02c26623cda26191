"""Copies of memory that is not written any more are that memory; all others stay copies."""

import numpy as np
import pytest

import zyg
from zyg.base import caches
from zyg.compiler.back import native_function
from zyg.compiler.back.copies import without_copies
from zyg.compiler.ir import Alloc, operations

RNG = np.random.default_rng(11)
X, W = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 3, 3))


def accumulated(x, w):
    y = np.zeros_like(x)
    for k in range(len(w)):
        y = y + x @ w[k]
    return np.sum(y**3)


def accumulated_in_two_loops(x, w):
    y = np.zeros_like(x)
    for k in range(len(w)):
        for j in range(2):
            y = x @ w[k - j] + y
    return np.sum(y**3)


def steps(x, w):
    y = x * 1.5
    for k in range(len(w)):
        y = y + 0.1 * np.sin(y) @ w[k]
    return np.sum(y**3)


def used_twice(x, w):
    z = 2.0 * x
    y = z + x @ w[0]
    y = y + np.sin(z)
    return np.sum(y * z)


def copied_for_reading(x, w):
    y = x * w[0, :2]
    z = y.copy()
    return np.sum(z * np.sin(y))


def copied_for_writing(x, w):
    y = x * w[0, :2]
    z = y.copy()
    z[0] += y[1]
    return np.sum(z * y)


def source_written_later(x, w):
    y = x * w[0, :2]
    z = y.copy()
    y[1] = 3.0 * y[0]
    return np.sum(z * y)


def rows_move(x, w):
    y = x * w[0, :2]
    for _ in range(3):
        old = y.copy()
        y[1:] = old[:-1] * old[1:]
    return np.sum(y)


def copies_by_turns(x, w):
    y, total = x * 1.0, 0.0
    for k in range(len(w)):
        z = y.copy()
        if k % 2:
            z[k // 2] = total
        total += np.sum(z * w[k, :2])
        y = z
    return total + np.sum(y**2)


def longer_than_what_is_copied(x, w):
    y = x * w[0, :2]
    z = np.zeros((3, 3))
    for i in range(2):
        for j in range(3):
            z[i, j] += y[i, j]
    return np.sum(z * w[1]) + np.sum(np.cos(y))


STILL = accumulated, used_twice, copied_for_reading


@pytest.mark.parametrize(
    "f",
    [
        *STILL, accumulated_in_two_loops, steps, copied_for_writing, source_written_later,
        rows_move, copies_by_turns, longer_than_what_is_copied,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_is_written_stays_a_copy(f, monkeypatch, tmp_path):
    made = []

    def noted(program):
        made.append((program, without_copies(program)))
        return made[-1][1]

    caches.clear()
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(native_function, "without_copies", noted)
    with zyg.config(fallback="error"):
        compiled = zyg.compile(f)
        assert compiled(X, W) == pytest.approx(f(X, W), rel=1e-12)
        zyg.check_gradient(compiled, X, W)
        fewer = [allocated(after) - allocated(before) for before, after in made]
        zyg.check_gradient(
            lambda x, w: np.sum(np.square(zyg.hvp(lambda v: compiled(v, w), x, x))), X, W
        )

    assert max(fewer) <= 0
    assert (min(fewer) < 0) == (f in STILL)


def allocated(program):
    return sum(isinstance(op, Alloc) for op in operations(program.body))


def test_a_result_is_never_the_memory_of_an_argument_or_of_another_result():
    @zyg.compile
    def f(x):
        y = x.copy()
        z = y.copy()
        return x, y, z, z.copy()

    x = X.copy()
    found = f(x)
    found[1][:] = 1.0
    found[2][:] = 2.0
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(found[3], X)
