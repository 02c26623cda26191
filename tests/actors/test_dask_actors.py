"""Actors of Dask's: the programs of actors, and what goes wrong with Dask's."""

import os
import threading
import time

import pytest

import zyg
from zyg.actors.failures import ActorError, ActorLostError, ActorSharedError
from zyg.errors import ShippingError

from . import programs
from .killing import (
    SCHEDULES,
    demand_one_error,
    demand_one_that_ends_itself,
    demand_that_another_value_is_refused,
    demand_the_same_after_each_death,
)
from .killing import killed as ended_at
from .programs import PROGRAMS, Counter, X, asked_in_another_order, demand_same, made_of_parameters

distributed = pytest.importorskip("distributed", reason="needs dask")
import dask  # noqa: E402 - the same

from tests.clusters import client_of  # noqa: E402 - the same
from zyg.actors.on_dask import OfDask  # noqa: E402 - the same


@pytest.fixture(scope="module", params=["here", pytest.param("processes", marks=pytest.mark.slow)])
def client(request, importable):
    with client_of(request.param) as client:
        yield client


class OnDask:
    """Dask, as the programs call it."""

    def __init__(self, client):
        self.tasks = zyg.distributed.wrap_client(client)

    def make(self, cls, *args):
        return self.tasks.submit(cls, *args, actor=True).result()

    def get(self, future):
        return future.result()


@pytest.fixture(scope="module")
def engine(client):
    return OnDask(client)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_objects(engine, program):
    demand_same(engine, program)


class Cell:
    """A number that is multiplied by what comes."""

    value = 1.0

    def times(self, x):
        self.value = self.value * x
        return self.value

    def pid(self):
        return os.getpid()


def test_attributes_are_read_with_their_derivatives(engine):
    cell = engine.make(Cell)

    def f(x):
        cell.times(x)
        return cell.value * x

    assert zyg.gradient(f, 3.0) == (6.0,)
    assert cell.value == 3.0
    assert type(cell.value) is float
    with pytest.raises(AttributeError):
        _ = cell.nothing


def test_tasks_may_call_an_actor_and_those_of_a_gradient_not(engine):
    cell = engine.tasks.gather(engine.tasks.submit(Cell, actor=True))
    called = lambda cell, x: cell.times(x).result()  # noqa: E731

    assert engine.tasks.submit(called, cell, 2.0).result() == 2.0
    with pytest.raises(ActorError, match=r"Cell\.times cannot be called by a task of a gradient"):
        zyg.gradient(lambda x: engine.tasks.submit(called, cell, x).result(), 3.0)


def test_a_call_from_outside_is_refused(engine):
    cell, heard = engine.make(Cell), []

    def outside(read):
        try:
            heard.append(read())
        except ActorSharedError as error:
            heard.append(str(error).splitlines()[0])

    def f(x):
        y = cell.times(x).result()
        for read in (lambda: cell.value, lambda: cell.times(5.0).result()):
            thread = threading.Thread(target=outside, args=(read,))
            thread.start()
            thread.join()
        return y * cell.value

    assert zyg.gradient(f, 3.0) == (6.0,)
    assert ["by a program outside while a gradient has" in said for said in heard] == [True, True]


def test_a_call_of_another_gradient_is_refused(engine):
    counter = engine.make(Counter)

    def f(x):
        y = counter.add(x).result()["total"]
        return y + zyg.gradient(lambda z: counter.add(z).result()["total"], 1.0)[0]

    with pytest.raises(ActorSharedError, match="by another gradient while a gradient has"):
        zyg.gradient(f, X)


def test_a_watched_global_of_its_module_is_refused(engine, monkeypatch):
    actor = engine.make(programs.Scaled)

    def f(x):
        monkeypatch.setattr(programs, "SCALE", x)
        return actor.of(x).result()

    with pytest.raises(ShippingError, match=r"Scaled\.of cannot be sent .* variable 'SCALE'"):
        zyg.gradient(f, 3.0)


@pytest.fixture
def mortal(engine, client):
    """The engine, if its actors can be killed."""
    if not client.cluster.processes:
        pytest.skip("the worker is this process")
    return engine


PIDS = {}


def pid_of(remote):
    """The process of an actor's worker, which is asked for once."""
    client, address = distributed.default_client(), remote.raw._address
    if address not in PIDS:
        nannies = client.cluster.workers.values()
        while not any((x.worker_address, x.status.name) == (address, "running") for x in nannies):
            time.sleep(0.05)  # one that dies while it starts is not started again
        PIDS.update(client.run(os.getpid, workers=[address]))
    return PIDS[address]


def killed(actor):
    """Once the process of an actor's worker has ended."""
    ended_at(pid_of(actor._remote))


def test_a_worker_that_dies_at_any_message_changes_no_bit(mortal, monkeypatch):
    demand_the_same_after_each_death(mortal, asked_in_another_order, OfDask, pid_of, monkeypatch)


def test_several_that_die_change_none_either(mortal, monkeypatch):
    """Of one actor: two may be on one worker, which dies before the second has been called."""
    program, schedule = made_of_parameters, SCHEDULES[made_of_parameters]
    demand_the_same_after_each_death(mortal, program, OfDask, pid_of, monkeypatch, schedule)


@pytest.mark.parametrize("name", ["die", "die_back"])
def test_one_that_ends_its_worker_in_the_midst_of_a_call(mortal, tmp_path, name):
    demand_one_that_ends_itself(mortal, tmp_path / "died", name)


@pytest.mark.parametrize(("name", "error"), [("die", OSError), ("die_back", ActorLostError)])
def test_one_that_does_so_each_time_is_one_error(mortal, tmp_path, name, error):
    match = "Unable to contact Actor's worker"
    demand_one_error(mortal, tmp_path / "died", name, 4, error, match)


def test_attributes_are_read_of_one_that_is_made_again(mortal):
    cell = mortal.make(Cell)

    def f(x):
        cell.times(x)
        killed(cell)
        return cell.value * x

    assert zyg.gradient(f, 3.0) == (6.0,)
    assert cell.value == 3.0
    assert cell.times(2.0).result() == 6.0


def test_one_that_gives_another_value_then_is_refused(mortal):
    demand_that_another_value_is_refused(mortal, killed)


def test_none_is_made_again_where_dask_may_lose_no_worker(mortal):
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cell = mortal.make(Cell)
        _, back = zyg.pullback(lambda x: cell.times(x).result() * x, 3.0)
        killed(cell)
        with pytest.raises(ActorLostError, match="take the gradient again, with a new actor"):
            back(1.0)
