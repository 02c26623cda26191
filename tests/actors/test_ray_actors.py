"""Actors of Ray's: their state is watched between calls, and goes back through all of them."""

import contextlib
import functools
import os
import pickle
import threading
import types

import numpy as np
import pytest

import zyg
from zyg.actors.failures import ActorError, ActorLostError, ActorSharedError
from zyg.errors import ConversionError, ShippingError

from . import programs
from .killing import (
    KILL,
    SCHEDULES,
    demand_one_error,
    demand_one_that_ends_itself,
    demand_that_another_value_is_refused,
    demand_the_same_after_each_death,
)
from .killing import killed as ended_at
from .programs import PROGRAMS, Counter, Sequential, X, asked_in_another_order, demand_same

pytestmark = pytest.mark.slow  # processes are begun
pytest.importorskip("ray", reason="needs ray")
from zyg.ray.actors import OfRay  # noqa: E402


class OnRay:
    """Ray, as the programs call it."""

    def __init__(self, ray):
        self.ray = ray
        self.classes = {}

    def make(self, cls, *args):
        if cls not in self.classes:
            self.classes[cls] = self.ray.remote(num_cpus=0)(cls)
        return Methods(self.classes[cls].remote(*args))

    def get(self, refs):
        return self.ray.get(refs)


class Methods:
    """A handle, whose methods are called without `remote`."""

    def __init__(self, handle):
        self.handle = handle

    def __getattr__(self, name):
        if name.startswith("_") or name == "handle":
            raise AttributeError(name)
        return getattr(self.handle, name).remote


class InActor:
    """Ray inside of an actor, which has no classes to send."""

    def get(self, ref):
        from zyg import ray

        return ray.get(ref)


@pytest.fixture(scope="module")
def engine(ray):
    return OnRay(ray)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_objects(engine, program):
    demand_same(engine, program)


def test_an_actor_calls_another_one(ray, engine):
    """Which is a task of the first one's strand."""

    class Both(OnRay):
        def make(self, cls, *args):
            given = [InActor() if x is self else x for x in args]
            given = [x.handle if isinstance(x, Methods) else x for x in given]
            return engine.make(cls, *given)

    class Caller:
        def __init__(self, inside, other):
            self.inside, self.other = inside, other

        def both(self, y):
            first = self.inside.get(self.other.add.remote(np.sin(y)))
            return first["total"] * y

    def program(e, x):
        inner = e.make(Counter)
        outer = e.make(Caller, e, inner) if e is on_ray else Direct(inner)
        y = e.get(outer.both(x[0]))
        return e.get(outer.both(y)) * x[1]

    class Direct:
        def __init__(self, other):
            self.other = other

        def both(self, y):
            return self.other.add(np.sin(y))["total"] * y

    on_ray = Both(ray)
    (g,), (g0,) = (zyg.gradient(functools.partial(program, e), X) for e in (on_ray, Sequential()))
    np.testing.assert_allclose(g, g0, rtol=1e-13)


class Cell:
    """A number that is multiplied by what comes."""

    def __init__(self, value=1.0):
        self.value = value

    def times(self, x):
        self.value = self.value * x
        return self.value

    def apply(self, f):
        return f(self.value)

    def set(self, value):
        self.value = value

    def lives(self):
        """How many gradients the actor keeps something of."""
        from zyg.actors.host import host_of

        return len(host_of(self).lives)

    def pid(self):
        return os.getpid()

    def several(self, x):
        return x, x


@pytest.fixture(scope="module")
def one_cell(ray):
    return ray.remote(num_cpus=0)(Cell).remote()


@pytest.fixture
def cell(ray, one_cell):
    ray.get(one_cell.set.remote(1.0))
    return one_cell


@pytest.fixture
def mortal(ray):
    return ray.remote(num_cpus=0)(Cell).remote()


def test_references_and_functions_are_arguments_of_actors_and_their_results_of_tasks(ray, cell):
    @ray.remote
    def double(x):
        return 2 * x

    def f(x):
        one = cell.times.remote(double.remote(x))  # a task's result, to an actor
        two = double.remote(one)  # the actor's, to a task
        data = cell.times.remote(ray.put(3.0))  # what is not watched
        scale = x * x
        closure = cell.apply.remote(lambda value: value * scale)
        assert ray.wait([one, two, data], num_returns=3)[1] == []
        return sum(ray.get([two, data, closure]))

    assert zyg.gradient(f, 2.0) == (4.0 + 6.0 + 6.0 * 3 * 4.0,)
    assert ray.get(double.remote(cell.pid.remote())) > 0


def test_the_state_stays_and_is_a_constant_of_the_next_gradient(ray, cell):
    def f(x):
        return ray.get(cell.times.remote(x))

    assert zyg.gradient(f, 3.0) == (1.0,)
    assert type(ray.get(cell.times.remote(1.0))) is float
    assert zyg.value_and_gradient(f, 2.0) == (6.0, (3.0,))


def test_two_handles_are_one_actor(ray):
    made = ray.remote(num_cpus=0)(Cell).options(name="a cell").remote()

    def f(x):
        ray.get(made.times.remote(x))
        return ray.get(ray.get_actor("a cell").times.remote(x))

    assert ray.get_actor("a cell") == made
    assert zyg.gradient(f, 3.0) == (6.0,)
    assert ray.get(made.__ray_ready__.remote())


def test_nothing_stays_in_the_actor_when_a_gradient_has_been_taken(ray, cell):
    _, back = zyg.pullback(lambda x: ray.get(cell.times.remote(x)), 3.0)
    assert ray.get(cell.lives.remote()) == 1
    assert back(1.0) == (1.0,)
    del back
    while ray.get(cell.lives.remote()):
        pass


def test_an_exception_of_a_method_is_that_of_rays(ray):
    counter = ray.remote(num_cpus=0)(Counter).remote()

    with pytest.raises(KeyError, match="after the write") as caught:
        zyg.gradient(lambda x: ray.get(counter.fail.remote(x)), X)
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert "zyg: raised by Counter.fail, called by task 'main'" in caught.value.__notes__


# What is refused


def test_a_call_of_another_process_meanwhile_is_refused(ray, cell):
    @ray.remote
    def outside(cell):
        return ray.get(cell.set.remote(5.0))

    def f(x):
        y = ray.get(cell.times.remote(x))
        with pytest.raises(ActorSharedError, match=r"Cell.set was called by a program outside"):
            ray.get(outside.remote(cell))
        return y * ray.get(cell.times.remote(x))

    assert zyg.gradient(f, 3.0) == (27.0,)
    ray.get(outside.remote(cell))
    assert ray.get(cell.times.remote(1.0)) == 5.0


def test_so_is_one_of_another_gradient(ray, cell):
    heard = []

    def other(x):
        with pytest.raises(ActorSharedError, match=r"Cell.times was called by another gradient"):
            zyg.gradient(lambda z: ray.get(cell.times.remote(z)), x)
        heard.append(True)

    def f(x):
        y = ray.get(cell.times.remote(x))
        thread = threading.Thread(target=other, args=(2.0,))
        thread.start()
        thread.join()
        return y * ray.get(cell.times.remote(x))

    assert zyg.gradient(f, 3.0) == (27.0,)
    assert heard


def test_a_call_in_a_task_of_the_gradient_is_refused(ray, cell):
    @ray.remote
    def inside(x, cell):
        return ray.get(cell.times.remote(x))

    with pytest.raises(ActorError, match=r"Cell.times cannot be called by a task of a gradient"):
        zyg.gradient(lambda x: ray.get(inside.remote(x, cell)), 3.0)


def test_actors_that_run_several_calls_at_a_time_are_refused(ray):
    class Looping(Cell):
        async def later(self, x):
            return x

    class Together:
        """Threads of an actor that are in it at the same time."""

        def __init__(self):
            self.both = threading.Barrier(2, timeout=2)

        def meet(self, x):
            self.both.wait()
            return x

    def refused_one(refs):
        for ref in refs:  # whichever comes second
            with contextlib.suppress(threading.BrokenBarrierError):
                ray.get(ref)

    looping = ray.remote(num_cpus=0)(Looping).remote()
    together = ray.remote(num_cpus=0, max_concurrency=2)(Together).remote()

    for f in (
        lambda x: ray.get(looping.times.remote(x)),
        lambda x: refused_one([together.meet.remote(x) for _ in range(2)]),
    ):
        with pytest.raises(ActorError, match="runs several calls at a time"):
            zyg.gradient(f, 3.0)


def test_watched_values_of_globals_and_closures_of_a_class_are_refused(ray, engine, monkeypatch):
    actor = engine.make(programs.Scaled)

    def by_global(x):
        monkeypatch.setattr(programs, "SCALE", x)
        return ray.get(actor.of(x))

    def by_closure(x):
        class Closed:
            def of(self, y):
                return x * y

        return ray.get(ray.remote(num_cpus=0)(Closed).remote().of.remote(x))

    with pytest.raises(ShippingError, match=r"Scaled\.of cannot be sent .* variable 'SCALE'"):
        zyg.gradient(by_global, 3.0)
    with pytest.raises(ConversionError, match="not by what their class holds"):
        zyg.gradient(by_closure, 3.0)


def test_several_values_of_a_method_are_refused(ray, cell):
    with pytest.raises(ActorError, match="cannot be called with num_returns=2 under a gradient"):
        zyg.gradient(lambda x: ray.get(cell.several.options(num_returns=2).remote(x))[0], 3.0)
    assert ray.get(cell.several.options(num_returns=2).remote(1.0)) == [1.0, 1.0]


def test_an_actor_of_rays_own_refuses_and_the_bridge_is_named(ray):
    import ray as rays

    cell = rays.remote(num_cpus=0)(Cell).remote()
    with pytest.raises(ConversionError, match="write from zyg import ray for import ray"):
        zyg.gradient(lambda x: rays.get(cell.times.remote(x)), 3.0)


# Actors that die


def killed(ray, actor):
    """Once its process has ended."""
    os.kill(ray.get(actor.pid.remote()), KILL)
    gone(ray, actor)


def gone(ray, actor):
    """Once its process, which is to end, has ended."""
    while True:
        try:
            ray.get(actor.pid.remote())
        except ray.exceptions.RayActorError:
            return


def test_an_actor_that_dies_in_the_function_is_an_error_of_rays(ray, mortal):
    def f(x):
        first = ray.get(mortal.times.remote(x))
        ray.kill(mortal)
        gone(ray, mortal)
        return first * ray.get(mortal.times.remote(x))

    with pytest.raises(ray.exceptions.RayActorError) as caught:
        zyg.gradient(f, 3.0)
    assert "zyg: raised by Cell.times, called by task 'main'" in caught.value.__notes__


PIDS = {}


def pid_of(remote):
    """The process of an actor, which is asked for once."""
    import ray as rays

    raw = remote.key.raw
    if raw._actor_id not in PIDS:
        PIDS[raw._actor_id] = rays.get(raw.__ray_call__.remote(lambda _: os.getpid()))
    return PIDS[raw._actor_id]


def ended(cell):
    """Once the process of an actor has ended, whichever that is now."""
    PIDS.clear()
    ended_at(pid_of(types.SimpleNamespace(key=cell._place)))


def test_one_that_dies_at_any_message_changes_no_bit(engine, monkeypatch):
    demand_the_same_after_each_death(engine, asked_in_another_order, OfRay, pid_of, monkeypatch)


@pytest.mark.parametrize("program", SCHEDULES, ids=lambda f: f.__name__)
def test_several_that_die_change_none_either(engine, program, monkeypatch):
    schedule = SCHEDULES[program]
    demand_the_same_after_each_death(engine, program, OfRay, pid_of, monkeypatch, schedule)


@pytest.mark.parametrize("name", ["die", "die_back"])
def test_one_that_ends_itself_in_the_midst_of_a_call(engine, tmp_path, name):
    demand_one_that_ends_itself(engine, tmp_path / "died", name)


@pytest.mark.parametrize("name", ["die", "die_back"])
def test_one_that_does_so_each_time_is_one_error(ray, engine, tmp_path, name):
    error = ray.exceptions.RayActorError if name == "die" else ActorLostError
    demand_one_error(engine, tmp_path / "died", name, 4, error, "The actor died unexpectedly")


def test_one_that_gives_another_value_then_is_refused(engine):
    demand_that_another_value_is_refused(engine, lambda actor: ended(actor.handle))


def test_an_actor_that_is_not_to_be_started_again_is_lost(ray):
    """That is Ray's `max_restarts`; also how much may be lost in one gradient."""
    cell = ray.remote(num_cpus=0, max_restarts=0)(Cell).remote()
    _, back = zyg.pullback(lambda x: ray.get(cell.times.remote(x)) * x, 3.0)
    killed(ray, cell)

    with pytest.raises(ActorLostError, match="take the gradient again, with a new actor") as caught:
        back(1.0)
    assert isinstance(caught.value.__cause__, ray.exceptions.RayActorError)


def test_one_of_ours_that_is_not_needed_is_no_error(ray):
    cls = ray.remote(num_cpus=0, max_restarts=0)(Cell)

    def f(x):
        lost, cell = cls.remote(), cls.remote()
        lost.times.remote(x)
        killed(ray, lost)
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(lost.times.remote(x))
        return ray.get(cell.times.remote(x)) ** 2

    assert zyg.gradient(f, 3.0) == (6.0,)


def test_one_that_was_killed_by_the_program_is_dead_and_has_its_adjoint(ray, mortal):
    def f(x):
        y = ray.get(mortal.times.remote(x))
        ray.kill(mortal)
        return y * y

    assert zyg.gradient(f, 3.0) == (6.0,)
    gone(ray, mortal)


def on_its_second_call(ray, cell, x):
    """The product of three, the process of the second of which ends before it comes."""
    y = ray.get(cell.times.remote(x))
    ended(cell)
    return y * ray.get(cell.times.remote(x)) * ray.get(cell.times.remote(x))


def test_in_the_function_it_has_the_place_of_the_lost_one(ray, mortal):
    ray.get(mortal.times.remote(5.0))
    same = pickle.loads(pickle.dumps(mortal))

    assert zyg.gradient(lambda x: on_its_second_call(ray, mortal, x), 2.0) == (125 * 6 * 2.0**5,)
    assert ray.get(mortal.times.remote(1.0)) == 40.0
    assert ray.get(same.times.remote(2.0)) == 80.0
    assert same == mortal
    assert hash(same) == hash(mortal)
    assert pickle.loads(pickle.dumps(mortal)) == mortal
    _, y_dot = zyg.pushforward(lambda x: on_its_second_call(ray, mortal, x), (2.0,), (1.0,))
    assert y_dot == 80.0**3 * 6 * 2.0**5


def test_one_that_ray_starts_again_goes_on_where_it_was(ray):
    """Its name, and all handles of other processes, are good as before."""
    cls = ray.remote(num_cpus=0, max_restarts=2, max_task_retries=2)(Cell)
    cell = cls.options(name="started again").remote()
    ray.get(cell.times.remote(5.0))

    assert zyg.gradient(lambda x: on_its_second_call(ray, cell, x), 2.0) == (125 * 6 * 2.0**5,)
    assert ray.get(ray.get_actor("started again").times.remote(1.0)) == 40.0


def test_so_does_one_that_the_gradient_has_made(ray):
    cls = ray.remote(num_cpus=0, max_restarts=1)(Cell)

    def f(x):
        return on_its_second_call(ray, cls.remote(x), x)

    assert zyg.gradient(f, 2.0) == (9 * 2.0**8,)
    assert zyg.pushforward(f, (2.0,), (1.0,)) == (2.0**9, 9 * 2.0**8)


def test_after_the_function_ray_starts_it_again_as_it_was_made(ray):
    """The tape is played again beside it, for who calls it meanwhile."""
    cell = ray.remote(num_cpus=0, max_restarts=1, max_task_retries=2)(Cell).remote()
    _, back = zyg.pullback(lambda x: ray.get(cell.times.remote(x)) ** 2, 3.0)
    ended(cell)
    ray.get(cell.times.remote(7.0))

    assert back(1.0) == (6.0,)
    assert ray.get(cell.times.remote(1.0)) == 7.0


def test_references_come_again_with_the_calls(ray, mortal):
    data = ray.put(np.arange(4.0))

    def f(x):
        y = ray.get(mortal.times.remote(data))
        z = mortal.apply.remote(lambda value: value * x)
        ended(mortal)
        return np.sum(ray.get(z)) + np.sum(ray.get(mortal.times.remote(x))) + 0 * np.sum(y)

    assert zyg.gradient(f, 3.0) == (12.0,)


@pytest.mark.parametrize(("name", "count"), [("pair", "2"), ("each", "'streaming'")])
def test_several_values_by_its_definition_are_refused(ray, name, count):
    class Several:
        @ray.method(num_returns=2)
        def pair(self, x):
            return x, x

        def each(self, x):
            yield x

    actor = ray.remote(num_cpus=0)(Several).remote()
    with pytest.raises(ActorError, match=f"{name} cannot be called with num_returns={count} under"):
        zyg.gradient(lambda x: getattr(actor, name).remote(x), 3.0)
    assert ray.get([*getattr(actor, name).remote(1.0)])[0] == 1.0
