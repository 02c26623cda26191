"""Tasks of a map that are one task of Dask's: each has its own value, error and way back."""

import functools
import pickle
import threading
from concurrent.futures import CancelledError, Future

import distributed
import numpy as np
import pytest

import zyg
import zyg.distributed
from tests.clusters import client_of
from zyg.base.config import setting
from zyg.errors import ShippingError
from zyg.tasks import batches, departures, recipes, shipping
from zyg.tasks.batches import Failed, cut, packed

X = np.linspace(0.2, 1.4, 5)
N = 40


@pytest.fixture(scope="module")
def raw():
    with client_of("here", threads=2) as client:
        yield client


@pytest.fixture(params=["worker", "recompute"])
def client(raw, request):
    return zyg.distributed.wrap_client(raw, keep=request.param)


@pytest.fixture
def sizes(raw, monkeypatch):
    """How many tasks the tasks of Dask's have that run now."""
    found, several = [], raw.map

    def counted(f, *columns, **options):
        if f is batches.run_all:
            both = zip(*columns[1:3], strict=True)
            found.extend(len(recipes.loaded(blob, apart, ())[1]) for blob, apart in both)
        return several(f, *columns, **options)

    monkeypatch.setattr(raw, "map", counted)
    return found


class Item:
    """A task that waits to begin, as far as `cut` asks."""

    def __init__(self, *operands, constants=()):
        self._operands, self.request = operands, (None, None, constants)


def lengths(tasks, *args):
    return [len(batch) for batch in cut(tasks, *args)]


def waves(client, x, **options):
    scale = np.cos(x)
    tasks = client.map(
        lambda k, y: np.sum(np.tanh(k * x) * y) * scale, range(N), [x] * N, **options
    )
    return np.sum(sum(client.gather(tasks)) ** 2)


# What a map is cut into


def test_batches_get_smaller_and_single_ones_are_last():
    tasks = [Item(1.0) for _ in range(200)]
    found = lengths(tasks, 2)

    assert sum(found) == 200
    assert found[:3] == [32, 32, 32]
    assert sorted(found, reverse=True) == found
    assert found[-3:] == [1, 1, 1]
    assert [task for batch in cut(tasks, 2) for task in batch] == tasks
    assert lengths(tasks, 2, 5)[0] == 5
    assert lengths(tasks, 1000) == [1] * 200
    assert lengths(tasks, 0) == [1] * 200
    assert lengths([], 2) == []


def test_large_operands_and_values_that_are_there_go_alone():
    large, there = Item(np.ones(2**16)), Item(1.0, constants=(0,))

    assert max(lengths([large] * 100, 2)) == 2
    assert lengths([there] * 100, 2) == [1] * 100
    assert lengths([Item(1.0), there] * 50, 2) == [1] * 100


# What comes of it


def test_no_bit_depends_on_the_batches(client, sizes):
    f = functools.partial(waves, client)
    y, (g,) = zyg.value_and_gradient(f, X)
    together = [*sizes]
    y1, (g1,) = zyg.value_and_gradient(functools.partial(waves, client, batch_size=1), X)

    assert max(together) > 1
    assert set(sizes[len(together) :]) == {1}
    assert (y, g.tobytes()) == (y1, g1.tobytes())
    np.testing.assert_allclose(zyg.hvp(f, X, X), zyg.hvp(_waves_here, X, X), rtol=1e-12)
    np.testing.assert_allclose(
        zyg.pushforward(f, (X,), (X,))[1], zyg.pushforward(_waves_here, (X,), (X,))[1], rtol=1e-12
    )


class _Here:
    def map(self, f, *iterables):
        return [*map(f, *iterables)]

    def gather(self, values):
        return values


_waves_here = functools.partial(waves, _Here())


def test_an_error_is_that_of_its_own_task(client, sizes):
    def odd(x, k):
        if k == 3:
            raise KeyError(k)
        return x * k

    def f(x):
        tasks = client.map(odd, [x] * N, range(N))
        assert max(sizes) > 4
        with pytest.raises(KeyError, match="3") as caught:
            tasks[3].result()
        assert caught.value.__notes__ == ["zyg: raised by odd, submitted by task 'main'"]
        return sum(task.result() for k, task in enumerate(tasks) if k != 3)

    assert zyg.gradient(f, 2.0) == (sum(range(N)) - 3.0,)


def test_an_error_of_an_adjoint_ends_the_gradient(client):
    @zyg.adjoint
    def broken(x, k):
        def broken_pullback(y_bar):
            if k == 5:
                raise KeyError("in reverse")
            return y_bar, None

        return x, broken_pullback

    with pytest.raises(KeyError, match="in reverse") as caught:
        zyg.gradient(lambda x: sum(client.gather(client.map(broken, [x] * N, range(N)))), 1.0)
    assert "while running the adjoint of broken" in "\n".join(caught.value.__notes__)


def test_one_task_of_a_batch_is_an_operand_of_others(client):
    def f(x):
        tasks = client.map(np.multiply, [x] * N, range(N))
        late = client.submit(lambda a, b: a * b, tasks[2], tasks[3])
        return late.result() * tasks[1].result()

    assert zyg.gradient(f, 2.0) == (3 * 6.0 * 4.0,)


def test_what_raised_as_an_operand_raises_there(client):
    def odd(x, k):
        if k == 3:
            raise KeyError(k)
        return x * k

    def f(x):
        tasks = client.map(odd, [x] * N, range(N))
        return client.submit(np.sin, tasks[3]).result()

    with pytest.raises(KeyError, match="3"):
        zyg.gradient(f, 2.0)


def test_tasks_of_a_batch_are_cancelled_one_by_one(client, sizes):
    address = "tcp://127.0.0.1:1"  # there is none

    def f(x):
        tasks = client.map(np.multiply, [x] * N, range(N), workers=[address])
        assert max(sizes) > 4
        assert tasks[0].cancel()
        assert tasks[0].cancelled()
        assert not tasks[1].done()
        for task in tasks:
            task.cancel()
        with pytest.raises(CancelledError):
            tasks[1].result()
        return x * x

    assert zyg.gradient(f, 2.0) == (4.0,)


def test_tasks_that_are_tried_again_are_no_batch(client, sizes):
    zyg.gradient(lambda x: sum(client.gather(client.map(np.sin, [x] * N, retries=2))), 1.0)
    assert set(sizes) == {1}


TRIED = []


def at_the_second_time(x, k):
    if k == 3 and not TRIED:
        TRIED.append(k)
        raise distributed.Reschedule
    return x * k


def test_a_task_that_asks_to_run_again_does(client):
    TRIED.clear()

    def total(x):
        return sum(client.gather(client.map(at_the_second_time, [x] * N, range(N))))

    assert zyg.gradient(total, 1.0) == (sum(range(N)),)
    assert TRIED == [3]


# How it goes there, and comes back


def test_what_a_function_and_its_arguments_share_is_one_object_there(client):
    shared = [0.0]

    def f(x, k, given):
        given.append(k * x)
        return sum(shared)

    def total(x):
        return sum(client.gather(client.map(f, [x, x], [2.0, 3.0], [shared, shared])))

    assert zyg.gradient(total, 1.0) == (5.0,)
    assert shared == [0.0]


def test_a_watched_value_of_both_is_one_operand():
    def f(x):
        ships = [*shipping.ship_each(lambda y, k: x * y * k, [(x, 2.0), (x, 3.0)], {})]
        whole = shipping.ship(lambda y, k: x * y * k, (x, 2.0), {})
        assert [len(operands) for _, operands, _ in ships] == [1, 1] == [len(whole[1])] * 2
        assert ships[0][0].parts[0] is ships[1][0].parts[0]
        return x * sum(recipe([3.0], []) for recipe, *_ in ships)

    assert zyg.gradient(f, 1.0) == (45.0,)


def test_what_cannot_be_pickled_is_named(client):
    generator = (k for k in [1])

    def total(x, made, items):
        return sum(client.gather(client.map(made, [x] * 2, items)))

    with pytest.raises(ShippingError, match="argument 1, a generator, cannot be"):
        zyg.gradient(total, 1.0, made=np.multiply, items=[1.0, generator])
    with pytest.raises(ShippingError, match="the variable 'generator', a generator, cannot be"):
        zyg.gradient(total, 1.0, made=lambda x, k: x * next(generator), items=[1.0, 2.0])


def test_large_arrays_stay_out_of_the_pickle():
    large, small = np.ones(2**14), np.ones(3)
    blob, apart = packed([large, small, large])

    assert len(blob) < 1000
    assert apart == [large]
    found = recipes.loaded(blob, apart, ())
    assert found[0] is found[2] is large
    np.testing.assert_array_equal(found[1], small)


def test_what_is_kept_goes_elsewhere_as_its_value():
    def f(x):
        recipe, operands, _ = shipping.ship(np.sin, (x,), {})
        kept = recipes.keep(recipe, [x.primal for x in operands], [])
        assert pickle.loads(pickle.dumps(kept)).value == np.sin(2.0)
        assert kept.back([1.0], recipes.sketch([np.sin(2.0)])) == (np.cos(2.0),)
        return x

    zyg.gradient(f, 2.0)


def test_errors_travel_and_what_cannot_be_pickled_as_a_text():
    def raised(error):
        try:
            raise error
        except Exception as caught:
            return Failed(caught)

    class HeldError(Exception):
        def __reduce__(self):
            raise TypeError

    found = pickle.loads(pickle.dumps(raised(KeyError("here")))).error
    assert (type(found), found.args) == (KeyError, ("here",))
    assert "HeldError" in str(pickle.loads(pickle.dumps(raised(HeldError("there")))).error)


def test_nobody_waits_for_what_could_not_depart(raw, monkeypatch):
    client = zyg.distributed.wrap_client(raw)
    _, back = zyg.pullback(functools.partial(waves, client), X)

    def closed(*args, **kwargs):
        raise OSError("the client is closed")

    with monkeypatch.context() as patch:
        patch.setattr(raw, "map", closed)
        with pytest.raises(OSError, match="closed"):
            back(1.0)
    assert back(1.0)[0].shape == X.shape


def test_what_computes_cotangents_is_cancelled_with_the_last_of_them(raw):
    connection = zyg.distributed.wrap_client(raw)._connection
    remote = raw.submit(np.sin, 1.0, workers=["tcp://127.0.0.1:1"], pure=False)  # there is none
    returns = [departures.Return(batches.Member(None, k), [], [], [0], []) for k in range(2)]
    for one in returns:
        one.begin(None, [])
    connection._await(returns, remote, [])

    assert returns[0].cancel()
    assert remote.status == "pending"
    assert returns[1].cancel()
    assert remote.status == "cancelled"


def test_a_pullback_that_is_interrupted_leaves_nothing_to_depart(raw):
    connection = zyg.distributed.wrap_client(raw)._connection
    one = departures.Return(batches.Member(None, 0), [], [], [], [])
    connection.depart(one)
    assert Future.cancel(one)

    connection.send()
    assert connection.waiting == []


def test_what_is_to_depart_is_sent_once(client):
    """A pass with several strands, each of which has something to be sent, has it sent together."""
    connection, sends = client._connection, []
    _, back = zyg.pullback(functools.partial(waves, client), X)
    send = connection.send
    connection.send = lambda: sends.append(send())
    back(1.0)
    assert len(sends) == 1


SEEN = {}  # settings, by what the workers, which are of this process, have been called with
BEGAN, MAY = threading.Event(), threading.Event()


def see(name):
    SEEN[name] = setting("strong_zero")


@zyg.adjoint
def told(x, name):
    def told_pullback(y_bar):
        see(name)
        return y_bar, None

    return x, told_pullback


def test_what_departs_has_the_settings_of_its_own_gradient(client):
    """Though it is another gradient that has it depart, which has others."""
    backs = [
        zyg.pullback(lambda x, name=name: client.submit(told, x, name).result(), 1.0)[1]
        for name in ("waits", "sends")
    ]

    def waiting():
        with zyg.config(strong_zero=False):
            assert backs[0](1.0) == (1.0,)

    connection, ready = client._connection, threading.Event()
    thread, send = threading.Thread(target=waiting), connection.send
    connection.send = lambda: ready.set() if threading.current_thread() is thread else send()
    thread.start()
    assert ready.wait(60)
    assert backs[1](1.0) == (1.0,)
    thread.join()
    assert SEEN == {"waits": False, "sends": True}


def stay():
    BEGAN.set()
    MAY.wait(60)


@zyg.adjoint
def slow(x, at):
    if at == "forward":
        stay()
    return x, lambda y_bar: (stay() if at == "back" else None, y_bar)[1:] + (None,)


@pytest.mark.parametrize("at", ["forward", "back"])
def test_nobody_waits_for_a_client_that_was_closed(at):
    """Neither for what runs, nor for what a thread of ours was to fetch meanwhile.

    Dask says that its future is cancelled, or that its client is closed: what it does first.
    """
    BEGAN.clear()
    MAY.clear()
    heard = []

    def taken(tasks):
        try:
            zyg.gradient(lambda x: sum(f.result() for f in tasks.map(slow, [x] * 3, [at] * 3)), 1.0)
        except BaseException as error:
            heard.append(error)

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, processes=False, **options) as cluster:
        client = distributed.Client(cluster)
        thread = threading.Thread(target=taken, args=(zyg.distributed.wrap_client(client),))
        thread.start()
        assert BEGAN.wait(60)
        client.close()
        thread.join(60)
        MAY.set()
        assert not thread.is_alive()
    (error,) = heard
    assert isinstance(error, (CancelledError, distributed.client.ClosedClientError))
