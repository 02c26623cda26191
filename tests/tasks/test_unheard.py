"""Refusals where nobody would hear of them: in threads of others, in what sends values away."""

import concurrent.futures
import contextlib
import math
import multiprocessing
import pickle
import threading

import distributed
import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, MissingRuleError, StructureError


@zyg.adjoint
def half_a_rule(x):
    raise MissingRuleError("half_a_rule has none.", "of this test.", "nothing.")


def stored(x):
    a = np.zeros(2)
    a[0] = x
    return a[0]


REFUSED = {
    "float": float,
    "math": math.sin,
    "a plain array": stored,
    "text": lambda x: float(f"{x:.3f}"),
    "a pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "out=": lambda x: np.sin(x * np.ones(2), out=np.zeros(2))[0],
    "a function without a rule": half_a_rule,
}


def in_a_thread(run):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)


def in_a_timer(run):
    timer = threading.Timer(0.0, run)
    timer.start()
    timer.join(60)


def in_a_future(run):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(run)  # nobody asks for its result


def in_a_thread_that_goes_on(run):
    def tried():
        with contextlib.suppress(TypeError, NotImplementedError):
            run()

    in_a_thread(tried)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(
    "elsewhere", [in_a_thread, in_a_timer, in_a_future, in_a_thread_that_goes_on]
)
def test_a_refusal_in_a_thread_of_others_reaches_the_gradient(name, elsewhere, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)

    def f(x):
        found = [0.0]

        def run():
            found[0] = REFUSED[name](x)

        elsewhere(run)
        return x + found[0]

    for verb in (zyg.gradient, lambda f, x: zyg.pushforward(f, (x,), (1.0,)), zyg.hessian):
        with pytest.raises((ConversionError, MissingRuleError), match="caught: "):
            verb(f, 1.0)


def test_a_thread_of_others_may_do_what_is_right():
    def f(x):
        found = []
        in_a_thread(lambda: found.append(np.sin(x) * x))
        return found[0] + x

    assert zyg.gradient(f, 0.5) == pytest.approx((np.sin(0.5) + 0.5 * np.cos(0.5) + 1.0,))


# Messages to other processes. The other side is a thread here, at the far end of a queue of
# multiprocessing's, whose own thread pickles; what it sends travels as bytes all the same.


def through_queues(work, x):
    """What `work` makes of a value that went there through a queue and came back through another"""
    there, back = multiprocessing.Queue(), multiprocessing.Queue()

    def serve():
        try:
            back.put(("gave", work(there.get(timeout=60))))
        except Exception as error:
            back.put(("raised", error))

    thread = threading.Thread(target=serve)
    thread.start()
    there.put(x)
    kind, value = back.get(timeout=60)
    thread.join(60)
    for queue in (there, back):
        queue.close()
        queue.join_thread()
    if kind == "raised":
        raise value
    return value


USES = {
    "arithmetic": lambda x: 2 * x, "a ufunc": np.sin, "float": float, "an attribute": lambda x: x.T,
    "an array": lambda x: np.array(x, float), "a condition": lambda x: 1.0 if x > 0 else 2.0,
    "text": str, "an f-string": lambda x: float(f"{x:.3f}"), "a key": lambda x: {x: 1},
    "a loop": lambda x: sum(x), "an element": lambda x: x[0], "math": math.sin,
    "in place": lambda x: x.__iadd__(1), "a call": lambda x: x(), "numpy": lambda x: np.sum([x, x]),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_a_watched_value_in_a_queue_is_refused_where_it_is_used(name):
    with pytest.raises(ConversionError, match="cannot be pickled") as caught:
        zyg.gradient(lambda x: through_queues(USES[name], x), 1.5)
    assert "where multiprocessing sends a value" in str(caught.value)
    assert "zyg.wrap_executor(ProcessPoolExecutor())" in str(caught.value)


def test_the_line_that_hears_of_a_refusal_is_told():
    def f(x):
        return through_queues(float, x)

    with pytest.raises(ConversionError) as caught:
        zyg.gradient(f, 1.5)
    _, where, lib, *_ = str(caught.value).splitlines()
    assert where.startswith(f"  where: {__file__}:")
    assert lib == "  lib:   in the background, where multiprocessing sends a value"


@pytest.mark.parametrize("f", [lambda x: x, lambda x: [x]])
def test_a_value_that_came_back_unused_is_no_result(f):
    with pytest.raises((StructureError, TypeError)):
        zyg.gradient(lambda x: through_queues(f, x), 1.5)


def test_a_swallowed_refusal_of_what_came_back_is_raised():
    def f(x):
        y = through_queues(lambda y: y, x)
        try:
            return x + 2 * y
        except TypeError:
            return x

    with pytest.raises(ConversionError, match="cannot be pickled"):
        zyg.gradient(f, 1.5)


def twice(x):
    return 2 * x


@pytest.mark.slow
@pytest.mark.parametrize("method", ["map", "apply_async", "executor"])
def test_pools_of_processes_refuse(method):
    context = multiprocessing.get_context("spawn")

    def f(x):
        if method == "executor":
            with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
                return pool.submit(twice, x).result(60)
        with context.Pool(1) as pool:
            if method == "map":
                return pool.map(twice, [x])[0]
            return pool.apply_async(twice, (x,)).get(60)

    with pytest.raises(ConversionError, match="wrap_executor"):
        zyg.gradient(f, 1.5)


class Total:
    value = 0.0

    def add(self, x):
        self.value += x
        return self.value


@pytest.mark.slow
def test_an_actor_of_dasks_refuses_a_watched_value():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=1, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        actor = client.submit(Total, actor=True).result()
        for x in (1.5, np.ones(200_000)):  # which is pickled in another thread
            with pytest.raises(ConversionError, match="wrap_client"):
                zyg.gradient(lambda x: actor.add(np.sum(x) if np.ndim(x) else x).result(60), x)
            with pytest.raises(ConversionError, match="wrap_client"):
                zyg.gradient(lambda x: np.sum(actor.add(x).result(60)), x)
        assert actor.add(1.0).result(60) == 1.0
