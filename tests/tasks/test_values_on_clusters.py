"""Values that stay on a cluster: shared by tasks, scattered, computed by graphs of Dask's."""

import functools
import os
import signal
from collections import Counter

import dask
import dask.array
import distributed
import numpy as np
import pytest
from distributed.comm import tcp

import zyg
import zyg.distributed
from tests.clusters import client_of
from zyg.errors import NonFiniteError, RecomputationError
from zyg.tasks import batches, recipes, sums

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter, which kills there
X = np.linspace(0.2, 1.4, 40_000).reshape(200, 200)  # too large to go with each task


@pytest.fixture(scope="module", params=["here", pytest.param("processes", marks=pytest.mark.slow)])
def raw(request):
    with client_of(request.param) as client:
        yield client


@pytest.fixture
def client(raw):
    return zyg.distributed.wrap_client(raw)


class Sequential:
    """What the programs below are compared with: no cluster at all, only copies."""

    def submit(self, f, *args, **kwargs):
        return f(*args, **kwargs)

    def map(self, f, *iterables):
        return [*map(f, *iterables)]

    def scatter(self, x):
        return x

    def gather(self, values):
        return [1 * y for y in values] if isinstance(values, list) else 1 * values

    def compute(self, delayed, sync=False):
        return delayed.compute(scheduler="synchronous")


def loss(w, k):
    return np.sum(np.tanh(w * k) * w[0])


# Programs of a client and an array


def parameters(client, x):
    """The same array in many tasks, and here."""
    w = x * 1.5
    return np.sum(w[3]) * sum(client.gather(client.map(lambda k: loss(w, k), range(1, 8))))


def an_argument(client, x):
    return sum(client.gather([client.submit(loss, x, k) for k in (1.0, 2.0)]))


def some_do_not_depend(client, x):
    tasks = [client.submit(lambda w, k=k: w[k] if k < 2 else np.ones(200), x) for k in range(4)]
    return np.sum(sum(client.gather(tasks)) ** 2)


def written_meanwhile(client, x):
    """Tasks see the array as it was when they were submitted."""
    w = 1 * x
    first = client.gather(client.submit(loss, w, 1.0))
    w[0] = 2 * w[1]
    tasks = [client.submit(loss, w, k) for k in (1.0, 2.0)]
    second = sum(client.gather(tasks))
    w[:, 0] = 0.0
    return first * second + client.gather(client.submit(loss, w, 3.0))


def values_of_others(client, x):
    """Large results in other tasks, and here; of a container, of which some are unused."""
    s = client.submit(np.sin, x)
    parts = [client.submit(lambda a, k: {"a": a * k, "b": np.sum(a)}, s, k) for k in (1, 2, 3)]
    last = client.submit(lambda p, s: np.sum(p[0]["a"] * p[1]["a"] * s) + p[2]["b"], parts, s)
    here = client.gather(s)
    unused = client.submit(lambda a: 3.0, s)
    return client.gather(last) + np.sum(here[3:] * here[2]) + client.gather(unused) * here[0, 0]


def written_values(client, x):
    """What is written to a result here does not reach the result there."""
    s = client.submit(np.sin, x)
    y = client.gather(s)
    y[0] = 5.0
    return client.gather(client.submit(lambda a: np.sum(a * a), s)) + np.sum(y**3)


def scattered(client, x):
    w = client.scatter(x)
    both = client.scatter([x[0], np.cos(x)])
    tasks = [client.submit(loss, w, k) for k in (1.0, 2.0)]
    return sum(client.gather(tasks)) + client.gather(
        client.submit(lambda b: np.sum(b[0] * b[1]), both)
    )


def delayed(client, x):
    u = dask.delayed(np.sin)(x)
    v = dask.delayed(np.multiply)(u, 2.0)
    return client.compute(dask.delayed(lambda a, b: np.sum(a * b["v"]))(u, {"v": v}), sync=True)


PROGRAMS = [
    parameters, an_argument, some_do_not_depend, written_meanwhile, values_of_others,
    written_values, scattered, delayed,
]  # fmt: skip
IN_ANOTHER_ORDER = parameters, an_argument, written_meanwhile, values_of_others, scattered  # sums
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def both(client, program):
    return functools.partial(program, client), functools.partial(program, Sequential())


@every_program
@pytest.mark.parametrize("keep", ["worker", "recompute"])
def test_the_gradient_is_that_of_the_sequential_program(raw, program, keep):
    f, f0 = both(zyg.distributed.wrap_client(raw, keep=keep), program)
    y, (g,) = zyg.value_and_gradient(f, X)
    y0, (g0,) = zyg.value_and_gradient(f0, X)

    assert y == y0
    np.testing.assert_allclose(g, g0, rtol=1e-12, atol=1e-11)
    assert program in IN_ANOTHER_ORDER or g.tobytes() == g0.tobytes()
    assert zyg.gradient(f, X)[0].tobytes() == g.tobytes()


@every_program
def test_so_are_tangents_and_second_derivatives(client, program):
    f, f0 = both(client, program)
    pushed, pushed0 = (zyg.pushforward(h, (X,), (X**2,))[1] for h in (f, f0))
    second, second0 = (zyg.hvp(h, X, np.cos(X)) for h in (f, f0))

    np.testing.assert_allclose(pushed, pushed0, rtol=1e-11)
    np.testing.assert_allclose(second, second0, rtol=1e-11, atol=1e-9)


@every_program
def test_a_pullback_is_differentiated_and_called_again(client, program):
    """With a watched cotangent what is kept is of no use: tasks run again."""
    _, back = zyg.pullback(both(client, program)[0], X)
    g = back(1.0)[0]
    (slope,) = zyg.gradient(lambda s: np.sum(back(s)[0] * X), 2.0)

    assert slope == pytest.approx(np.sum(g * X), rel=1e-12)
    assert back(1.0)[0].tobytes() == g.tobytes()


@pytest.mark.parametrize("place", range(7))
def test_watched_and_plain_cotangents_of_one_value_are_added_up(client, place):
    def several(client, x):
        w, s = 1.5 * x, client.submit(np.sin, x)
        pair = client.submit(lambda a: (np.sin(a), np.sum(a * a)), x)
        used = [(lambda a: np.sum(a**3), w), (lambda a: np.sum(a**3), s), (lambda p: 3.0, pair)]
        tasks = [client.gather(client.submit(*each)) for each in used]
        here = [np.sum(w**2), np.sum(client.gather(s) ** 2), client.gather(pair)[1]]
        return *tasks, *here, client.gather(client.submit(np.sum, w))

    def slope(client):
        _, back = zyg.pullback(functools.partial(several, client), X)

        def of(c):
            bars = [c if k == place else 1.0 for k in range(7)]
            return np.sum(back(tuple(bars))[0] * X * c)

        return zyg.gradient(of, 2.0)[0]

    assert slope(client) == pytest.approx(slope(Sequential()), rel=1e-12)


@every_program
def test_the_gradient_agrees_with_differences_of_the_clients_own_tasks(client, program, raw):
    if program is written_values and raw.scheduler.address.startswith("inproc"):
        pytest.skip("Dask's own value, of this process, would be written to")
    direction = np.cos(3 * X)
    f = both(client, program)[0]
    slope = np.sum(zyg.gradient(f, X)[0] * direction)
    h = 1e-5

    assert slope == pytest.approx((f(X + h * direction) - f(X - h * direction)) / (2 * h), rel=1e-6)


def test_each_cotangent_is_looked_at_where_that_is_asked_for(client):
    f, f0 = both(client, parameters)
    with zyg.config(check_nan=True):
        found = zyg.gradient(f, X)[0]
        with pytest.raises(NonFiniteError, match="a shared operand"):
            zyg.gradient(lambda x: client.submit(lambda a: np.sum(np.sqrt(a - a)), x).result(), X)
    np.testing.assert_allclose(found, zyg.gradient(f0, X)[0], rtol=1e-12, atol=1e-11)


def test_a_value_goes_to_the_cluster_once_and_its_cotangents_are_added_up_there(
    client, raw, monkeypatch
):
    counts = Counter()
    submit, several = raw.submit, raw.map

    def counted(f, *args, **kwargs):
        counts[f.__name__] += 1
        counts["bytes"] += sum(x.nbytes for x in args if isinstance(x, np.ndarray))
        return submit(f, *args, **kwargs)

    def counted_map(f, *columns, **kwargs):
        counts[f.__name__] += len(columns[0])
        whole = [x for column in columns for x in column]
        counts["bytes"] += sum(x.nbytes for x in whole if isinstance(x, np.ndarray))
        if f is sums.added:
            counts["sums"] += sum(map(len, columns[2]))
        if f is batches.back_all:
            programs = [recipes.loaded(*both, ())[2] for both in zip(*columns[1:3], strict=True)]
            counts["sums"] += sum(len(made) for turns in programs for _, made in turns)
        return several(f, *columns, **kwargs)

    monkeypatch.setattr(raw, "submit", counted)
    monkeypatch.setattr(raw, "map", counted_map)
    zyg.gradient(both(client, parameters)[0], X)

    assert counts["same"] == 1
    assert counts["bytes"] == X.nbytes
    assert counts["sums"] == 6
    assert counts["back_all"] <= sum(raw.nthreads().values())
    assert counts["picked_all"] == 0


def test_no_more_bytes_leave_client_and_scheduler_than_in_a_step_written_by_hand(
    client, raw, monkeypatch
):
    """The parameters once to a worker, and the sum of the cotangents to the client."""
    demand_two_processes(raw)
    written, write = Counter(), tcp.TCP.write

    async def counted(self, *args, **kwargs):
        count = await write(self, *args, **kwargs)
        written["bytes"] += count
        return count

    def by_hand(x):
        w = raw.submit(np.copy, x, pure=False)
        found = [raw.submit(np.multiply, w, k, pure=False) for k in range(1, 9)]
        while len(found) > 1:
            half = len(found) // 2
            found = raw.map(np.add, found[:half], found[half:], pure=False)
        return found[0].result()

    def by_zyg(x):
        return zyg.gradient(
            lambda x: sum(client.gather([client.submit(loss, x, k) for k in range(1, 9)])), x
        )[0]

    monkeypatch.setattr(tcp.TCP, "write", counted)
    counts = []
    for step in (by_hand, by_zyg):
        written.clear()
        step(X)
        counts.append(written["bytes"])
    assert counts[1] < 1.1 * counts[0]


def test_a_map_is_one_graph_there_and_one_back(client, raw, monkeypatch):
    calls, submit, several = Counter(), raw.submit, raw.map

    def counting(name, f):
        def counted(*args, **kwargs):
            calls[name] += 1
            return f(*args, **kwargs)

        return counted

    monkeypatch.setattr(raw, "submit", counting("submit", submit))
    monkeypatch.setattr(raw, "map", counting("map", several))

    def f(x):
        tasks = client.map(np.multiply, [x, 2 * x, 5.0], [2.0, 3.0, 4.0], pure=False)
        found = {**calls}
        assert found == {"map": 1, "submit": 1}  # of what is not watched
        return sum(client.gather(tasks))

    assert zyg.gradient(f, 1.5) == (8.0,)
    assert calls == {"map": 2, "submit": 1}


def test_an_exception_of_an_adjoint_names_the_task_whose_cotangent_is_added_up(client):
    @zyg.adjoint
    def broken(x):
        def broken_pullback(y_bar):
            raise KeyError("in reverse")

        return np.sum(x), broken_pullback

    def bad(x, k):
        return broken(x) if k else np.sum(x)

    with pytest.raises(KeyError, match="in reverse") as caught:
        zyg.gradient(lambda x: sum(client.gather(client.map(bad, [x, x], [0, 1]))), X)
    assert "zyg: raised by the adjoint of bad" in caught.value.__notes__


# The functions of Dask's that take futures


def test_futures_of_both_kinds_are_waited_for(client, raw):
    def f(x):
        tasks = [client.submit(np.multiply, x, k) for k in (2.0, 3.0)]
        plain = raw.submit(pow, 2, 3, pure=False)
        done, pending = zyg.distributed.wait([*tasks, plain])
        assert done == {*tasks, plain}
        assert not pending
        assert zyg.distributed.wait(plain).done == {plain}
        found = dict(zyg.distributed.as_completed([*tasks, plain], with_results=True))
        assert {*zyg.distributed.as_completed(tasks)} == {*tasks}
        return sum(found[t] for t in tasks) * found[plain]

    assert zyg.gradient(f, 1.5) == (40.0,)


def test_waiting_ends_in_time(client):
    def f(x):
        late = client.submit(np.sin, x, workers=["tcp://127.0.0.1:1"])  # there is none
        soon = client.submit(np.cos, x)
        with pytest.raises(TimeoutError, match="1 of 1 futures"):
            zyg.distributed.wait(late, timeout=0)
        done, pending = zyg.distributed.wait([late, soon], return_when="FIRST_COMPLETED")
        assert (done, pending) == ({soon}, {late})
        late.cancel()
        return soon.result()

    assert zyg.gradient(f, 0.5) == pytest.approx((-np.sin(0.5),))


def test_graphs_of_arrays_and_several_at_once(client, raw):
    def f(x):
        lazy = [dask.delayed(np.multiply)(x, k) for k in (2.0, 3.0)]
        tasks = client.compute(lazy)
        y = dask.array.from_delayed(dask.delayed(np.multiply)(x, np.ones(4)), (4,), dtype=float)
        return sum(client.gather(tasks)) * np.sum(client.compute(y).result())

    assert zyg.gradient(f, 1.5) == pytest.approx((60.0,))
    assert client.compute(dask.delayed(pow)(2, 3)).result() == 8
    assert client.gather(client.scatter([1, 2])) == [1, 2]
    assert zyg.gradient(lambda x: x * client.compute(dask.delayed(pow)(2, 3), sync=True), 1.0) == (
        8.0,
    )


# Workers that die, last, because the cluster starts others in their place


def demand_two_processes(raw):
    """Both are there: one in the place of one that was killed by an earlier test may come late."""
    if raw.scheduler.address.startswith("inproc"):
        pytest.skip("the worker is this process")
    raw.wait_for_workers(2, timeout=100)


@pytest.mark.parametrize("program", [parameters, values_of_others, scattered])
@pytest.mark.parametrize("how_many", [1, 2])
def test_the_gradient_is_the_same_when_workers_were_lost(raw, client, program, how_many):
    demand_two_processes(raw)
    _, back = zyg.pullback(both(client, program)[0], X)
    before = back(1.0)[0]

    for pid in [*raw.run(os.getpid).values()][:how_many]:
        os.kill(pid, KILL)

    assert back(1.0)[0].tobytes() == before.tobytes()


def test_the_gradient_is_the_same_when_a_worker_is_lost_while_sums_are_under_way(
    raw, client, monkeypatch
):
    demand_two_processes(raw)
    _, back = zyg.pullback(both(client, parameters)[0], X)
    before = back(1.0)[0]
    pids, several, lost = [*raw.run(os.getpid).values()], raw.map, []

    def killing(f, *args, **kwargs):
        futures = several(f, *args, **kwargs)
        if f is batches.back_all:
            lost.extend(futures)
            distributed.wait(futures)  # whose sums are lost with their worker
            os.kill(pids[0], KILL)
        return futures

    monkeypatch.setattr(raw, "map", killing)
    assert back(1.0)[0].tobytes() == before.tobytes()
    assert len(lost) <= 2


def test_a_recomputation_that_gives_another_value_is_noticed(raw, client):
    demand_two_processes(raw)
    _, back = zyg.pullback(
        lambda x: client.submit(lambda x: np.sum(x * np.random.default_rng().normal()), x).result(),
        X,
    )
    assert back(1.0)
    for pid in raw.run(os.getpid).values():
        os.kill(pid, KILL)
    with pytest.raises(RecomputationError, match="run again for its derivative"):
        back(1.0)
