"""Actors of Dask's: the programs of actors, and what goes wrong with Dask's."""

import os
import signal
import threading

import pytest

import zyg
from zyg.actors.failures import ActorError, ActorSharedError
from zyg.errors import ShippingError

from . import programs
from .programs import PROGRAMS, Counter, X, demand_same

distributed = pytest.importorskip("distributed", reason="needs dask")
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter, which kills there


@pytest.fixture(scope="module", params=["here", pytest.param("processes", marks=pytest.mark.slow)])
def client(request, importable):
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    there = request.param == "processes"
    with (
        distributed.LocalCluster(2 if there else 1, processes=there, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
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


def test_an_actor_whose_worker_dies_is_an_error(engine, client):
    if len(client.nthreads()) < 2:
        pytest.skip("the worker is this process")

    cell = engine.make(Cell)
    _, back = zyg.pullback(lambda x: cell.times(x).result() * x, 3.0)
    os.kill(cell.pid().result(), KILL)

    with pytest.raises(ActorError, match="take the gradient again, with a new actor"):
        back(1.0)
