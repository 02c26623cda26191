"""Adjoint tasks step through long stretches of numbers: what may come in between, and after."""

import gc
import itertools
import time

import numpy as np
import pytest
import trio

import zyg
from zyg import trio as zyg_trio
from zyg.core import adjoint_tasks
from zyg.core.strand import active

from ..core.test_pushes import OPERATIONS, A

X = np.array([0.3, 0.8])


def producer(x, *, n=700, every=150):
    """A task whose numbers are used by others in the midst of a long stretch, and at its end."""
    parts = []

    def work():
        y = x
        for k in range(n):
            y = y * 0.999 + 0.001 * x
            if k % every == 0:
                parts.append(y)
            if k % 97 == 0:
                y = y * np.sum(np.sin(y * X))
        parts.append(y)

    zyg.threads.in_strand(work, "producer")()

    def square(k):
        return parts[k] * parts[k] * np.cos(parts[k])

    values = [zyg.threads.in_strand(square, f"square {k}")(k) for k in range(len(parts))]
    return sum(values) + parts[0]


def of_tasks(stretch, slice_, monkeypatch):
    """The gradient with stretches so long, in slices so short that they end anywhere."""
    monkeypatch.setattr(adjoint_tasks, "_STRETCH", stretch)
    monkeypatch.setattr(adjoint_tasks, "_SLICE", slice_)

    async def f(x):
        return producer(x)

    return trio.run(zyg.gradient_async, f, 0.9)[0]


def test_the_gradient_depends_on_no_stretch_and_on_no_slice(monkeypatch):
    expected = zyg.gradient(producer, 0.9)[0]
    cases = itertools.product((1, 2, 7, 256), (1e-5, 5e-3))
    assert {of_tasks(*case, monkeypatch) for case in cases} == {expected}


@pytest.mark.parametrize("every_look", [3, 5, 1000])
def test_time_that_is_up_at_any_look_loses_nothing(monkeypatch, every_look):
    """A clock that jumps: the time is up at each so manyth look, also before the first entry."""
    looks = itertools.count()

    class Clock:
        @staticmethod
        def monotonic():
            return time.monotonic() + (next(looks) // every_look) * 1.0

    expected = zyg.gradient(producer, 0.9)[0]
    monkeypatch.setattr(adjoint_tasks, "time", Clock)
    assert of_tasks(4, 0.5, monkeypatch) == expected


def test_what_a_number_contributes_is_looked_at():
    def work(x):
        return np.sqrt(x - 1.0) * 2.0 + x

    def f(x):
        return zyg.threads.in_strand(work, "root")(x)

    with zyg.config(check_nan=True), pytest.raises(zyg.errors.NonFiniteError, match="sqrt"):
        zyg.gradient(f, 1.0)


def test_nothing_is_left_for_the_cyclic_collector():
    async def tasks(x):
        parts = []

        async def work(k):
            parts.append(np.sum(X * (x * k)))

        async with zyg_trio.open_nursery() as nursery:
            for k in range(30):
                nursery.start_soon(work, k)
        return sum(parts)

    _, back = zyg.pullback(tasks, 1.0)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        back(1.0)
        del back
        gc.collect()
        found = [x for x in gc.garbage if type(x).__module__.startswith("zyg")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert found == []


def test_a_task_of_numbers_knows_nothing_of_memory():
    known = []

    def work(x, a):
        strand = active.get()[-1]
        y = x * x
        known.append(strand.known_memory() is None)
        total = np.sum(np.array([1.0, 2.0]) * a) * y  # a plain operand that is kept
        known.append(strand.known_memory() is strand.memory)
        return total

    def f(x, a):
        return zyg.threads.in_strand(work, "work")(x, a)

    gradients = zyg.gradient(f, 3.0, X)
    assert known == [True, True]
    assert gradients[0] == 2 * 3.0 * (X @ [1.0, 2.0])
    np.testing.assert_array_equal(gradients[1], [9.0, 18.0])


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_in_a_task_do_what_they_do_outside_of_one(name):
    def outside(x):
        return np.real(np.sum(OPERATIONS[name](x * 1.0)))  # of views, a task imports each

    def inside(x):
        return zyg.threads.in_strand(outside, "work")(x)

    def slope(f):
        return lambda x: np.sum(zyg.gradient(f, x, zeros=True)[0] * np.cos(A))

    value, (x_bar,) = zyg.value_and_gradient(outside, A, zeros=True)
    there, (x_there,) = zyg.value_and_gradient(inside, A, zeros=True)
    assert value == there
    assert x_bar.tobytes() == x_there.tobytes()
    # Two levels make two trees of tasks, and sums are grouped by them.
    second, (found,) = (zyg.gradient(slope(f), A, zeros=True) for f in (outside, inside))
    np.testing.assert_allclose(second[0], found, rtol=1e-12, atol=1e-13)
