"""Tasks of Ray's: their gradients are those of the same program without Ray."""

import asyncio
import functools
import os
import pathlib
import signal
import time
import types

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, RecomputationError, ShippingError

from . import tasks
from .programs import X
from .tasks import IN_ANOTHER_ORDER, PROGRAMS, Sequential, chained, mapped, shared

pytestmark = pytest.mark.slow  # processes are begun
LARGE = np.linspace(0.2, 1.4, 20_000)  # too large to go with each task


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_sequential_program(ray, program):
    f, f0 = functools.partial(program, ray), functools.partial(program, Sequential())
    y, (g,) = zyg.value_and_gradient(f, X)
    y0, (g0,) = zyg.value_and_gradient(f0, X)

    assert y == y0
    np.testing.assert_allclose(g, g0, rtol=1e-13, atol=1e-13)
    assert program in IN_ANOTHER_ORDER or g.tobytes() == g0.tobytes()
    assert f(X) == y  # Ray's own calls
    zyg.check_gradient(f, X, order=1)


@pytest.mark.parametrize("program", [mapped, shared, chained], ids=lambda f: f.__name__)
def test_both_modes_and_second_order_agree_with_differences(ray, program):
    zyg.check_gradient(functools.partial(program, ray), X[:3])


@pytest.mark.parametrize("program", [shared, chained], ids=lambda f: f.__name__)
def test_cotangents_of_large_arrays_are_added_up_there_and_have_the_same_bits(ray, program):
    f, f0 = functools.partial(program, ray), functools.partial(program, Sequential())
    (g,) = zyg.gradient(f, LARGE)

    np.testing.assert_allclose(g, zyg.gradient(f0, LARGE)[0], rtol=1e-11, atol=1e-11)
    assert zyg.gradient(f, LARGE)[0].tobytes() == g.tobytes()


@pytest.mark.parametrize("program", [shared, chained], ids=lambda f: f.__name__)
def test_second_derivatives_of_large_arrays_and_checks_of_cotangents(ray, program):
    f, f0 = functools.partial(program, ray), functools.partial(program, Sequential())
    with zyg.config(check_nan=True):
        (g,), (g0,) = zyg.gradient(f, LARGE), zyg.gradient(f0, LARGE)
    np.testing.assert_allclose(g, g0, rtol=1e-11, atol=1e-11)

    norm, norm0 = (lambda x, h=h: np.sum(zyg.gradient(h, x)[0] ** 2) for h in (f, f0))
    (g,), (g0,) = zyg.gradient(norm, LARGE), zyg.gradient(norm0, LARGE)
    np.testing.assert_allclose(g, g0, rtol=1e-9, atol=1e-7 * np.max(np.abs(g0)))


def test_a_cotangent_that_is_not_finite_is_named(ray):
    @ray.remote
    def root(w):
        return np.sum(np.sqrt(w))

    def f(x):
        w = x * 1.5
        return sum(ray.get([root.remote(w), root.remote(w)]))

    with (
        np.errstate(all="ignore"),
        zyg.config(check_nan=True),
        pytest.raises(zyg.errors.NonFiniteError, match="the cotangent of an operand of"),
    ):
        zyg.gradient(f, 0 * LARGE)


def test_an_array_that_is_an_argument_of_several_tasks(ray):
    @ray.remote
    def part(w, k):
        return np.sum(np.tanh(w * k) * w[0])

    def f(x):
        w = x * 1.5
        return sum(ray.get([part.remote(w, float(k)) for k in range(1, 6)])) + w[3]

    def f0(x):
        w = x * 1.5
        return sum(np.sum(np.tanh(w * float(k)) * w[0]) for k in range(1, 6)) + w[3]

    np.testing.assert_allclose(zyg.gradient(f, LARGE)[0], zyg.gradient(f0, LARGE)[0], rtol=1e-11)


def test_a_task_may_write_to_its_argument(ray):
    """Which Ray itself gives read-only: what runs is a copy, forward and back."""

    @ray.remote
    def write(x):
        x[0] = x[1] * x[2]
        return np.sum(x**2)

    def f0(x):
        x = x.copy()
        x[0] = x[1] * x[2]
        return np.sum(x**2)

    np.testing.assert_allclose(
        zyg.gradient(lambda x: ray.get(write.remote(x)), X)[0], zyg.gradient(f0, X)[0], rtol=1e-13
    )


def test_references_in_containers_are_got_in_the_task(ray):
    @ray.remote
    def double(x):
        return 2 * x

    @ray.remote
    def total(refs, plain):
        ready, left = ray.wait(refs, num_returns=2)
        assert (len(ready), left) == (2, [])
        return np.sum(sum(ray.get(refs)) * ray.get(plain["ref"]))

    data = ray.put(np.arange(5.0))

    def f(x):
        return ray.get(total.remote([double.remote(x), ray.put(x * x)], {"ref": data}))

    np.testing.assert_allclose(zyg.gradient(f, X)[0], np.arange(5.0) * (2 + 2 * X), rtol=1e-14)


def test_a_reference_can_be_awaited_and_is_a_future(ray):
    @ray.remote
    def double(x):
        return 2 * x

    def f(x):
        refs = [double.remote(x), double.remote(x * x)]
        assert len(refs[0].hex()) == 56
        assert ray.get(refs[1], timeout=60) == refs[1].future().result()

        async def main():
            return await refs[0] * await refs[1]

        return asyncio.run(main())

    assert zyg.gradient(f, 3.0) == (4 * 27.0,)


def test_without_a_gradient_or_a_watched_value_calls_are_rays(ray):
    @ray.remote
    def double(x):
        return 2 * x

    import ray as rays

    assert isinstance(double.remote(1), rays.ObjectRef)
    assert ray.get([double.remote(1), ray.put(3)]) == [2, 3]
    assert ray.ObjectRef is rays.ObjectRef
    assert {*dir(ray)} >= {*dir(rays)}
    assert double._function(2) == 4
    with pytest.raises(TypeError, match="cannot be called directly"):
        double(1)

    def f(x):
        ref = double.remote(2)
        assert isinstance(ref, rays.ObjectRef)
        return ray.get(ref) * x

    assert zyg.gradient(f, 3.0) == (4.0,)


def test_options_are_rays(ray):
    @ray.remote(resources={"none": 1})
    def never(x):
        return x

    def f(x):
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get(ref := never.remote(x), timeout=0.01)
        assert ray.wait([ref], timeout=0) == ([], [ref])
        ray.cancel(ref)
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(ref)
        return x * x

    assert zyg.gradient(f, 3.0) == (6.0,)


# What goes wrong


def test_an_exception_of_a_task_is_that_of_rays_with_a_note(ray):
    @ray.remote
    def bad(x):
        raise KeyError("here")

    with pytest.raises(KeyError, match="here") as caught:
        zyg.gradient(lambda x: ray.get(bad.remote(x)), 1.0)

    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert "zyg: raised by bad, submitted by task 'main'" in caught.value.__notes__


def test_a_derivative_that_would_be_lost_is_refused_in_the_worker(ray):
    @ray.remote
    def lossy(x):
        return x * float(x)

    with pytest.raises(ConversionError, match="float"):
        zyg.gradient(lambda x: ray.get(lossy.remote(x)), 1.0)


def test_unseeded_random_numbers_are_noticed(ray):
    @ray.remote
    def noisy(x):
        return x * np.random.default_rng().normal()

    with pytest.raises(RecomputationError, match="run again for its derivative"):
        zyg.gradient(lambda x: ray.get(noisy.remote(x)), 1.0)


def test_a_worker_with_another_version_of_the_code_is_noticed(ray, tmp_path):
    """What the two runs are of: a file that a worker reads anew, as it would import it."""
    path = tmp_path / "code.py"
    path.write_text("def f(x):\n    return x * x\n")

    @ray.remote
    def imported(path, x):
        module = types.ModuleType("code")
        exec(pathlib.Path(path).read_text(), vars(module))
        return module.f(x)

    _, back = zyg.pullback(lambda x: ray.get(imported.remote(str(path), x)), 3.0)
    assert back(1.0) == (6.0,)
    path.write_text("def f(x):\n    return x * x * x\n")
    with pytest.raises(RecomputationError, match="imported gave another value when it was run"):
        back(1.0)


def test_a_worker_with_another_version_of_zyg_is_refused(ray):
    def f(x):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(zyg, "__version__", "0.0.1")
            return ray.get(ray.put(x * x))

    with pytest.raises(
        ShippingError, match=r"a worker has zyg .*, and the program has zyg 0\.0\.1"
    ):
        zyg.gradient(f, 3.0)


def test_a_watched_global_of_a_module_that_workers_import_is_refused(ray, monkeypatch):
    part = ray.remote(tasks.scaled)

    def f(x):
        monkeypatch.setattr(tasks, "SCALE", x)
        return ray.get(part.remote(2.0)) + ray.get(part.remote(x))

    with pytest.raises(ShippingError, match=r"the global variable 'SCALE' of tests\.actors\.tasks"):
        zyg.gradient(f, 3.0)


def test_generators_are_refused(ray):
    @ray.remote
    def stream(x):
        yield x

    with pytest.raises(ShippingError, match="stream cannot be a generator of Ray's"):
        zyg.gradient(lambda x: ray.get(next(stream.remote(x))), 1.0)


def test_a_wrong_number_of_values_is_rays_error(ray):
    @ray.remote(num_returns=3)
    def two(x):
        return x, x

    with pytest.raises(ValueError, match="returned 2 values"):
        zyg.gradient(lambda x: ray.get(two.remote(x))[0], 1.0)


def test_ray_itself_refuses_and_the_bridge_is_named(ray):
    import ray as rays

    @rays.remote
    def double(x):
        return 2 * x

    scale = [1.0]

    @rays.remote
    def closure(k):
        return k * scale[0]

    def by_closure(x):
        scale[0] = x
        return rays.get(closure.remote(2.0))

    for f in (
        lambda x: rays.get(double.remote(x)),
        lambda x: rays.get(rays.put([x])),
        by_closure,
    ):
        with pytest.raises(ConversionError, match="write from zyg import ray for import ray"):
            zyg.gradient(f, 1.5)


@pytest.mark.parametrize("when", ["forward", "back"])
def test_the_gradient_is_the_same_when_workers_die(ray, tmp_path, when):
    """Each worker that gets the task for the first time kills itself."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)

    @ray.remote(max_retries=3)
    def part(w, k):
        traced = zyg.is_traced(w)
        mark = tmp_path / f"{when}-{k}"
        if traced == (when == "back") and not mark.exists():
            mark.write_text("died")
            os.kill(os.getpid(), kill)
        return np.sum(np.tanh(w * k))

    def f(x):
        w = ray.put(x * 2)
        return sum(ray.get([part.remote(w, k) for k in (1, 2)]))

    (g,) = zyg.gradient(f, X)

    assert len([*tmp_path.iterdir()]) == 2
    assert zyg.gradient(f, X)[0].tobytes() == g.tobytes()
    expected = sum(2 * k * (1 - np.tanh(2 * X * k) ** 2) for k in (1, 2))
    np.testing.assert_allclose(g, expected, rtol=1e-12)


def test_nothing_waits_for_a_pass_that_has_failed(ray):
    @ray.remote
    def slow(x):
        if zyg.is_traced(x):
            time.sleep(600)
        return x

    @ray.remote
    def bad(x):
        if zyg.is_traced(x):
            raise KeyError("in reverse")
        return x

    with pytest.raises(KeyError, match="in reverse"):
        zyg.gradient(lambda x: sum(ray.get([slow.remote(x), bad.remote(x)])), 1.0)
