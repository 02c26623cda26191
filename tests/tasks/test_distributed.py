"""Dask clusters: gradients of tasks whose pullbacks stay in the memory of the workers."""

import functools
import gc
import os
import signal
import time
from concurrent import futures

import distributed
import numpy as np
import pytest

import zyg
import zyg.distributed
from tests.clusters import client_of
from zyg.errors import ConversionError, RecomputationError, ShippingError

X = np.linspace(0.2, 1.4, 5)
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter, which kills there


@pytest.fixture(scope="module", params=[pytest.param("processes", marks=pytest.mark.slow)])
def raw(request):
    with client_of(request.param) as client:
        yield client


@pytest.fixture(params=["worker", "recompute"])
def client(raw, request):
    return zyg.distributed.wrap_client(raw, keep=request.param)


class Sequential:
    """What the programs below are compared with: no cluster at all."""

    def submit(self, f, *args, **kwargs):
        return f(*args, **kwargs)

    def map(self, f, *iterables):
        return [*map(f, *iterables)]

    def gather(self, values):
        return values


# Programs of a client and an array


def closures(client, x):
    scale = np.cos(x)

    def f(k):
        return np.sum(np.tanh(k * x) * scale)

    return sum(client.gather(client.map(f, [1.0, 2.0, 3.0])))


def containers(client, x):
    def f(model, *, power):
        u, v = model["w"]
        return {"a": np.sum(u * v) ** power, "n": len(model), "b": [u * v[0], (v, "text")]}

    found = client.gather({"one": client.submit(f, {"w": [x, 2 * x], "name": "m"}, power=2)})["one"]
    assert type(found["n"]) is int
    return found["a"] + np.sum(found["b"][0] * found["b"][1][0] ** 2)


def loaded(client, x):
    """Data is loaded by tasks, and stays on the cluster; only its number comes here."""

    def load(k):
        return {"data": np.random.default_rng(k).normal(size=(4, 5)), "k": k}

    def loss(x, chunk):
        return np.sum((chunk["data"] @ x - chunk["k"]) ** 2)

    chunks = client.map(load, range(3))
    return sum(client.gather([client.submit(loss, x, chunk) for chunk in chunks]))


def chained(client, x):
    parts = [client.submit(np.multiply, x, k) for k in (1.0, 2.0)]
    whole = client.submit(lambda parts: np.sum(parts[0] * parts[1]), parts)
    return client.gather(client.submit(np.multiply, whole, x[0]))


def tree(client, x):
    """A reduction on the cluster: tasks of tasks, one of them used twice, one in a closure."""

    def part(x, k):
        return {"y": np.sin(k * x), "n": 5, "text": "a"}

    def pair(a, b):
        return {"y": a["y"] * b["y"], "n": a["n"] + b["n"], "text": a["text"] + b["text"]}

    parts = [client.submit(part, x, k) for k in (1.0, 2.0, 3.0)]
    pairs = [client.submit(pair, a, parts[0]) for a in parts]
    third = pairs[2]
    last = client.submit(lambda k: k * np.sum(third["y"]) ** 2, 3.0)
    found = client.gather(client.submit(pair, pairs[0], pairs[1]))
    assert (found["n"], found["text"]) == (20, "aaaa")
    return np.sum(found["y"] ** 2) + client.gather(last)


def many(client, x):
    """Tasks of which several are one of Dask's."""
    tasks = client.map(lambda k, y: np.sum(np.tanh(k * x) * y), range(40), [x] * 40)
    return sum(client.gather(tasks)) ** 2


PROGRAMS = [closures, containers, loaded, chained, tree]
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def norm_of_gradient(f):
    return lambda x: np.sum(zyg.gradient(f, x)[0] ** 2)


@every_program
def test_the_gradient_is_that_of_the_sequential_program(client, program):
    f, f0 = functools.partial(program, client), functools.partial(program, Sequential())
    y, (g,) = zyg.value_and_gradient(f, X)
    y0, (g0,) = zyg.value_and_gradient(f0, X)

    assert (y, g.tobytes()) == (y0, g0.tobytes())
    assert zyg.gradient(f, X)[0].tobytes() == g.tobytes()


@pytest.mark.parametrize("program", [f for f in PROGRAMS if f is not tree])
def test_both_modes_agree_with_differences_of_the_clients_own_tasks(client, program):
    """Which know no futures in closures, as `tree` has one."""
    zyg.check_gradient(functools.partial(program, client), X, order=1)


@every_program
def test_so_is_that_of_the_gradient(client, program):
    f, f0 = functools.partial(program, client), functools.partial(program, Sequential())
    g, g0 = zyg.gradient(norm_of_gradient(f), X)[0], zyg.gradient(norm_of_gradient(f0), X)[0]

    np.testing.assert_allclose(g, g0, rtol=1e-12, atol=1e-12)


def test_forward_mode(client):
    f, f0 = functools.partial(closures, client), functools.partial(closures, Sequential())

    np.testing.assert_allclose(
        zyg.pushforward(f, (X,), (X**2,))[1], zyg.pushforward(f0, (X,), (X**2,))[1], rtol=1e-13
    )


def test_a_client_in_a_checkpoint(client):
    data = client.submit(np.arange, 3)

    def f(x):
        return zyg.checkpoint(
            lambda y: client.submit(lambda x, d: np.sum(x * d), y, data).result(), x
        )

    assert zyg.gradient(lambda x: f(x) ** 2, 2.0) == (36.0,)


def test_without_a_gradient_the_client_submits(client):
    future = client.submit(pow, 2, 3)

    assert type(future) is distributed.Future
    assert client.gather([future, {"a": client.map(pow, [2], [4])}]) == [8, {"a": [16]}]
    assert client.nthreads()  # whatever else the client has


def test_options_are_the_clients(client):
    address = min(client.nthreads())

    def where(x):
        return x * x, distributed.get_worker().address

    def f(x):
        y, found = client.submit(where, x, workers=[address], priority=1, key="k").result()
        assert found == address
        return y

    assert zyg.gradient(f, 3.0) == (6.0,)
    assert zyg.gradient(f, 4.0) == (8.0,)


def test_a_task_is_a_future(client):
    def f(x):
        tasks = client.map(np.multiply, [x, x], [2.0, 3.0])
        assert all(isinstance(task, futures.Future) for task in tasks)
        assert sum(task.result() for task in futures.as_completed(tasks)) == 5.0
        assert tasks[0].status == "finished"
        late = client.submit(np.sin, x, workers=["tcp://127.0.0.1:1"])  # there is none
        later = client.submit(np.cos, [late])  # nobody waits for it here
        with pytest.raises(TimeoutError):
            late.result(timeout=0)
        assert not later.done()
        assert late.cancel()
        assert late.cancelled()
        return sum(client.gather(tasks))

    assert zyg.gradient(f, 1.0) == (5.0,)


def test_the_adjoint_runs_where_the_task_ran(raw):
    client = zyg.distributed.wrap_client(raw)

    @zyg.adjoint
    def where(x):
        here = os.getpid()

        def where_pullback(y_bar):
            return (y_bar[0] * (here == os.getpid()),)

        return (x, here), where_pullback

    addresses = [*raw.nthreads()]

    def f(x):
        tasks = [client.submit(where, x * k, workers=[addresses[k % 2]]) for k in range(1, 9)]
        values = client.gather(tasks)
        assert len({pid for _, pid in values}) == 2
        return sum(y for y, _ in values)

    assert zyg.gradient(f, 1.0) == (36.0,)


def test_nothing_stays_in_the_workers_when_a_gradient_has_been_taken(raw):
    client = zyg.distributed.wrap_client(raw)
    y, back = zyg.pullback(functools.partial(closures, client), X)
    assert sum(map(len, raw.has_what().values())) >= 3

    back(y)
    del back
    gc.collect()
    while any(raw.has_what().values()):
        time.sleep(0)


# What goes wrong


def notes(error):
    return "\n".join(error.__notes__)


def test_an_exception_of_a_task_arrives_with_its_type_and_a_note(client):
    def bad(x):
        raise KeyError("here")

    with pytest.raises(KeyError, match="here") as caught:
        zyg.gradient(lambda x: client.submit(bad, x).result(), 1.0)

    assert notes(caught.value) == "zyg: raised by bad, submitted by task 'main'"


def test_an_exception_of_an_adjoint_names_the_task(client):
    @zyg.adjoint
    def broken(x):
        def broken_pullback(y_bar):
            raise KeyError("in reverse")

        return x, broken_pullback

    with pytest.raises(KeyError, match="in reverse") as caught:
        zyg.gradient(lambda x: client.submit(lambda x: broken(x), x).result(), 1.0)

    assert "while running the adjoint of <lambda> recorded by task '<lambda>'" in notes(
        caught.value
    )


def test_a_derivative_that_would_be_lost_is_refused(client):
    with pytest.raises(ConversionError, match="float"):
        zyg.gradient(lambda x: client.submit(lambda x: x * float(x), x).result(), 1.0)


def test_what_cannot_be_pickled_is_named(client):
    generator = (k for k in [1])

    with pytest.raises(ShippingError, match="the variable 'generator', a generator, cannot be"):
        zyg.gradient(lambda x: client.submit(lambda x: x * next(generator), x).result(), 1.0)


def test_actors_and_asynchronous_clients_are_refused(client):
    with pytest.raises(ShippingError, match="cannot be an actor under a gradient"):
        zyg.gradient(lambda x: client.submit(np.sin, x, actor=True).result(), 1.0)

    class Asynchronous:
        asynchronous = True

    with pytest.raises(ShippingError, match="an asynchronous client"):
        zyg.distributed.wrap_client(Asynchronous())
    with pytest.raises(ValueError, match='keep is "worker" or "recompute"'):
        zyg.distributed.wrap_client(client, keep="nothing")


def test_unseeded_random_numbers_are_noticed(raw):
    client = zyg.distributed.wrap_client(raw, keep="recompute")

    with pytest.raises(RecomputationError, match="run again for its derivative"):
        zyg.gradient(
            lambda x: client.submit(lambda x: x * np.random.default_rng().normal(), x).result(), 1.0
        )


def test_a_worker_with_another_version_of_zyg_is_refused(raw):
    client = zyg.distributed.wrap_client(raw)
    said = r"a worker has zyg .*, and the program has zyg 0\.0\.1"
    _, back = zyg.pullback(lambda x: client.submit(np.sin, x).result(), 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zyg, "__version__", "0.0.1")
        with pytest.raises(ShippingError, match=said):
            back(1.0)
        with pytest.raises(ShippingError, match=said):
            zyg.gradient(lambda x: client.submit(np.sin, x).result(), 1.0)
    assert back(1.0) == (np.cos(1.0),)


@pytest.mark.parametrize("at", ["forward", "back"])
def test_what_the_cluster_was_made_to_forget_is_an_error(raw, at):
    """As by `restart()`; what the program has cancelled itself is no more than cancelled."""
    client = zyg.distributed.wrap_client(raw)

    def f(x):
        tasks = [client.submit(np.multiply, x, k) for k in (1.0, 2.0)]
        values = client.gather(tasks) if at == "back" else []
        raw.cancel([task._raw.batch.made for task in tasks])
        return np.sum(sum(values or client.gather(tasks)))

    with pytest.raises(zyg.distributed.LostTasksError, match="forgotten a task") as caught:
        zyg.gradient(f, X)
    assert "test_distributed.py" in str(caught.value)

    def g(x):
        task = client.submit(time.sleep, 100 * x)
        task.cancel()
        with pytest.raises(futures.CancelledError) as caught:
            task.result()
        assert type(caught.value) is futures.CancelledError
        return x

    assert zyg.gradient(g, 1.0) == (1.0,)


# Workers that die, last, because the cluster starts others in their place


@pytest.mark.parametrize("program", [loaded, tree, many])
@pytest.mark.parametrize("how_many", [1, 2])
def test_the_gradient_is_the_same_when_workers_were_lost(raw, program, how_many):
    client = zyg.distributed.wrap_client(raw)
    _, back = zyg.pullback(functools.partial(program, client), X)
    before = back(1.0)[0]

    for pid in [*raw.run(os.getpid).values()][:how_many]:
        os.kill(pid, KILL)

    assert back(1.0)[0].tobytes() == before.tobytes()


@pytest.mark.parametrize("when", ["forward", "back"])
def test_the_gradient_is_the_same_when_workers_die_in_their_tasks(client, tmp_path, when):
    """Each worker that gets the task for the first time kills itself."""

    def dies(now, k):
        mark = tmp_path / f"{now}-{k}"
        if now == when and not mark.exists():
            mark.write_text("died")
            os.kill(os.getpid(), KILL)

    @zyg.adjoint
    def mortal(x, k):
        def mortal_pullback(y_bar):
            dies("back", k)
            return y_bar * np.cos(k * x) * k, None

        dies("forward", k)
        return np.sin(k * x), mortal_pullback

    def f(x):
        return sum(client.gather([client.submit(mortal, x, k) for k in (1.0, 2.0)]))

    y, (g,) = zyg.value_and_gradient(lambda x: np.sum(f(x) ** 2), X)
    assert len([*tmp_path.iterdir()]) == 2
    expected, slope = np.sin(X) + np.sin(2 * X), np.cos(X) + 2 * np.cos(2 * X)
    assert y == np.sum(expected**2)
    np.testing.assert_allclose(g, 2 * expected * slope, rtol=1e-13)


def test_a_recomputation_that_gives_another_value_is_noticed(raw):
    client = zyg.distributed.wrap_client(raw)
    _, back = zyg.pullback(
        lambda x: client.submit(lambda x: x * np.random.default_rng().normal(), x).result(), 1.0
    )
    assert back(1.0)

    for pid in raw.run(os.getpid).values():
        os.kill(pid, KILL)

    with pytest.raises(RecomputationError, match="run again for its derivative"):
        back(1.0)
