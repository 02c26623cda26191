"""Random concurrent programs have the gradients of their sequential equivalents (`programs.py`)."""

import numpy as np
import pytest

import zyg

from .programs import COMPUTE, POINT, expected, program, sequential
from .worlds import WORLDS, concurrent, gradient_of

WORKERS = (0, 1, 3, 7)
WRAPPED = {"trio": ("zyg.trio", "zyg.thread"), "threads": ("zyg.thread",)}


pytestmark = pytest.mark.usefixtures("threads_change_often")


def assert_same(found, wanted, what):
    for one, other in zip(found, wanted, strict=True):
        one = np.zeros_like(other) if one is None else one
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("chunk", range(10))
def test_gradients_are_those_of_the_sequential_programs(world, chunk):
    kinds = WORLDS[world].kinds
    for seed in range(20 * chunk, 20 * chunk + 20):
        grown, value, gradients = expected(seed, kinds)
        f = concurrent(world, grown, seed)
        with zyg.config(workers=WORKERS[seed % 4]):
            found, there = gradient_of(world, f, *POINT)
        assert found == value, f"seed {seed}\n{grown}"
        assert_same(there, gradients, f"seed {seed}\n{grown}")


@pytest.mark.parametrize("world", WRAPPED)
@pytest.mark.parametrize("chunk", range(5))
def test_wrapped_programs_have_one_gradient_to_the_last_bit(world, chunk):
    for seed in range(1000 + 12 * chunk, 1012 + 12 * chunk):
        grown, _, gradients = expected(seed, WRAPPED[world])
        found = set()
        for schedule, workers in enumerate(WORKERS):
            with zyg.config(workers=workers):
                f = concurrent(world, grown, schedule)
                _, there = zyg.value_and_gradient(f, *POINT, zeros=True)
            found.add(b"".join(np.asarray(part).tobytes() for part in there))
        assert_same(there, gradients, f"seed {seed}\n{grown}")
        assert len(found) == 1, f"seed {seed}\n{grown}"


@pytest.mark.parametrize("world", ["trio", "threads"])
@pytest.mark.parametrize("chunk", range(5))
def test_second_derivatives_are_those_of_the_sequential_programs(world, chunk):
    kinds = WORLDS[world].kinds
    direction = (0.7, np.array([0.2, -1.0, 0.5]))
    for seed in range(2000 + 8 * chunk, 2008 + 8 * chunk):
        grown = program(seed, kinds, 25)

        def along(f):
            def slope(x, y):
                parts = zyg.gradient(f, x, y, zeros=True)
                return sum(np.sum(u * v) for u, v in zip(parts, direction, strict=True))

            return slope

        f = concurrent(world, grown, seed)
        wanted = zyg.gradient(along(lambda x, y, g=grown: sequential(g, x, y)), *POINT, zeros=True)
        with zyg.config(workers=WORKERS[seed % 4]):
            found = zyg.gradient(along(f), *POINT, zeros=True)
            forward = zyg.pushforward(
                lambda x, y, f=f: zyg.gradient(f, x, y, zeros=True), POINT, direction
            )[1]
        assert_same(found, wanted, f"seed {seed}\n{grown}")
        assert_same(forward, wanted, f"seed {seed}, forward over reverse\n{grown}")


@pytest.mark.parametrize("world", ["trio", "threads"])
def test_pullbacks_of_programs_can_be_called_again(world):
    for seed in range(3000, 3025):
        grown, value, gradients = expected(seed, WORLDS[world].kinds)
        found, back = zyg.pullback(concurrent(world, grown, seed), *POINT)
        assert found == value
        first = back(1.0, zeros=True)
        assert_same(first, gradients, f"seed {seed}\n{grown}")
        again = back(1.0, zeros=True)
        assert [np.asarray(c).tobytes() for c in again] == [np.asarray(c).tobytes() for c in first]


@pytest.mark.parametrize("world", ["trio", "threads"])
def test_forward_mode_goes_through_tasks(world):
    direction = (0.7, np.array([0.2, -1.0, 0.5]))
    for seed in range(4000, 4025):
        grown, value, gradients = expected(seed, WORLDS[world].kinds)
        found, slope = zyg.pushforward(concurrent(world, grown, seed), POINT, direction)
        wanted = sum(np.sum(u * v) for u, v in zip(gradients, direction, strict=True))
        assert found == value, f"seed {seed}\n{grown}"
        np.testing.assert_allclose(slope, wanted, rtol=1e-10, atol=1e-11, err_msg=f"{seed}")


def test_all_kinds_of_actions_and_tasks_occur():
    actions, functions, kinds = set(), set(), set()
    for seed in range(100):
        for task in program(seed, WORLDS["trio"].kinds).tasks:
            kinds.add(task.kind)
            actions.update(action[0] for action in task.actions)
            functions.update(action[2] for action in task.actions if action[0] == "compute")
    assert functions == set(COMPUTE)
    assert kinds == {"main", *WORLDS["trio"].kinds}
    assert actions == {
        "compute", "send", "receive", "start", "wait", "fetch", "pause", "fountain", "failing"
    }  # fmt: skip
