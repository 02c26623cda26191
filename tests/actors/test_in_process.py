"""Actors on threads of this process: the engine's part of a gradient, without an engine."""

import functools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.actors.failures import ActorError, ActorSharedError
from zyg.actors.host import host_of

from .in_process import InProcess, Near
from .programs import PROGRAMS, Counter, Kept, Sequential, X, demand_same

pytest.importorskip("cloudpickle", reason="needs cloudpickle")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_objects(program):
    y, g = demand_same(InProcess(), program)
    f = functools.partial(program, InProcess())
    assert zyg.gradient(f, X)[0].tobytes() == g.tobytes()
    assert f(X) == y


def test_a_pullback_may_be_called_again_and_by_threads_at_once():
    f, f0 = (functools.partial(_pair, engine) for engine in (InProcess(), Sequential()))
    _, back = zyg.pullback(f, X)
    _, back0 = zyg.pullback(f0, X)
    seeds = [(1.0, 0.0), (0.0, 2.0), (0.5, -1.0), (3.0, 1.0)]
    found = zyg.threads.map(back, seeds)

    for seed, (g,) in zip(seeds, found, strict=True):
        np.testing.assert_allclose(g, back0(seed)[0], rtol=1e-13, atol=1e-13)


def _pair(engine, x):
    counter = engine.make(Counter)
    first = engine.get(counter.add(x))["total"]
    return first, engine.get(counter.add(x * first))["total"]


def test_exact_zeros_stay_zero():
    class Root:
        def of(self, x):
            self.y = np.where(x > 0.5, np.sqrt(x), 0.0)
            return np.sum(self.y)

    def f(x):
        return InProcess().make(Root).of(x).result()

    np.testing.assert_array_equal(zyg.gradient(f, np.array([0.0, 4.0]))[0], [0.0, 0.25])


def test_settings_are_those_of_the_caller():
    class Root:
        def of(self, x):
            return np.sum(np.where(x > 0.5, np.sqrt(x), 0.0))

    with zyg.config(strong_zero=False), np.errstate(all="ignore"):
        (g,) = zyg.gradient(lambda x: InProcess().make(Root).of(x).result(), np.array([0.0, 4.0]))
    assert np.isnan(g[0])


def test_a_pattern_of_zeros_does_not_go_through_an_actor():
    def f(x):
        return InProcess().make(Counter).add(x).result()["total"]

    with pytest.raises(ActorError, match="where a pattern of zeros is found"):
        zyg.sparse_jacobian(f, np.ones(3))


def test_an_actor_that_calls_another_one():
    class Inner:
        state = 1.0

        def of(self, y):
            self.state = self.state * y
            return self.state**2

    inner = InProcess().make(Inner)

    class Outer:
        kept = 0.0

        def of(self, y):
            self.kept = self.kept + inner_of(np.sin(y))
            return self.kept * y

    def inner_of(y):
        return inner.of(y).result()

    outer = InProcess().make(Outer)

    def f(x):
        first = outer.of(x).result()
        return outer.of(first).result()

    def f0(x):
        state, kept = 1.0, 0.0
        y = x
        for _ in range(2):
            state = state * np.sin(y)
            kept = kept + state**2
            y = kept * y
        return y

    np.testing.assert_allclose(zyg.gradient(f, 0.7), zyg.gradient(f0, 0.7), rtol=1e-13)


def test_the_state_from_before_is_a_constant_and_stays_after():
    counter = InProcess().make(Counter, 2.0)
    assert counter.add(np.zeros(2)).result()["total"] == 2.0

    def f(x):
        return counter.add(x).result()["total"]

    assert zyg.gradient(f, 3.0) == (-2.0 * np.sin(3.0) + 6.0,)
    now = counter.read().result()[0]
    assert type(now) in (float, np.float64)
    assert now == 2 * np.cos(3.0) + 9.0
    assert zyg.gradient(f, 3.0) == (-now * np.sin(3.0) + 6.0,)


def test_threads_of_a_gradient_call_one_actor():
    def f(x):
        counter = InProcess().make(Kept)
        zyg.threads.map(lambda k: counter.keep(k * x).result(), range(1, 9))
        return np.prod(np.stack(counter.all().result())) / x**7

    expected = lambda x: np.exp(36 * x) / x**7  # noqa: E731
    np.testing.assert_allclose(zyg.gradient(f, 0.3), zyg.gradient(expected, 0.3), rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.booleans(), st.floats(0.3, 1.7)),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_any_order_of_calls_of_two_actors_by_two_callers(steps):
    """A step is a call of one of two actors; of its result it may ask, now or at the end."""

    def program(engine, x):
        actors = {name: engine.make(Counter, 0.3) for name in "ab"}
        y, late = x, []
        for name, kind, asks, k in steps:
            if kind == 0:
                made = actors[name].add(k * y)
                if asks:
                    y = y + 0.1 * engine.get(made)["total"]
                else:
                    late.append(made)
            elif kind == 1:
                actors[name].keep(y[0] * k)
            elif asks:
                y = y * np.cos(engine.get(actors[name].read())[0])
        found = [engine.get(made)["total"] for made in reversed(late)]
        return sum(found) + np.sum(y) + engine.get(actors["a"].read())[0]

    f, f0 = (functools.partial(program, engine) for engine in (InProcess(), Sequential()))
    (g,) = zyg.gradient(f0, X)
    np.testing.assert_allclose(zyg.gradient(f, X)[0], g, rtol=1e-10, atol=1e-10)
    _, y_dot = zyg.pushforward(f, (X,), (np.cos(X),))
    np.testing.assert_allclose(y_dot, g @ np.cos(X), rtol=1e-10, atol=1e-10)


# What is refused


def counted(x):
    return InProcess().make(Counter).add(x).result()["total"]


@pytest.mark.parametrize(
    ("take", "where"),
    [
        (lambda: zyg.hessian(counted, X), "with values of several gradients"),
        (lambda: zyg.hvp(counted, X, X), "with values of several gradients"),
        (lambda: zyg.gradient(lambda x: zyg.checkpoint(counted, x), X), "inside of zyg.checkpoint"),
    ],
    ids=["hessian", "hvp", "checkpoint"],
)
def test_what_would_need_another_adjoint_is_refused(take, where):
    with pytest.raises(ActorError, match=f"Counter.add cannot be called {where}"):
        take()


def test_a_call_from_outside_is_refused_until_the_function_has_returned():
    counter = InProcess().make(Counter)
    heard = []

    def f(x):
        y = counter.add(x).result()["total"]
        thread = threading.Thread(target=lambda: heard.append(counter.read().exception()))
        thread.start()
        thread.join()
        return y

    y, back = zyg.pullback(f, X)
    (error,) = heard
    assert isinstance(error, ActorSharedError)
    assert "Counter.read was called by a program outside while a gradient has" in str(error)
    assert counter.read().result()[0] == y
    assert back(1.0)[0].shape == X.shape


def test_so_is_one_of_another_gradient():
    counter = InProcess().make(Counter)

    def f(x):
        y = counter.add(x).result()["total"]
        return y + zyg.gradient(lambda z: counter.add(z).result()["total"], 1.0)[0]

    with pytest.raises(ActorSharedError, match="by another gradient while a gradient has"):
        zyg.gradient(f, X)


def test_a_refusal_that_is_caught_ends_the_gradient_all_the_same():
    counter = InProcess().make(Counter)

    def f(x):
        y = counter.add(x).result()["total"]
        try:
            zyg.gradient(lambda z: counter.add(z).result()["total"], 1.0)
        except ActorSharedError:
            return y
        return 0.0 * y

    with pytest.raises(ActorSharedError, match="caught: "):
        zyg.gradient(f, X)
    counter = InProcess().make(Counter)
    with pytest.raises(ActorSharedError, match="caught: "):
        zyg.pushforward(f, (X,), (X,))


class Swallows:
    """An actor in which a derivative gets lost."""

    def caught(self, x):
        try:
            return float(x)
        except TypeError:
            return 1.0

    def refused(self, x):
        return float(x) * 2

    def read(self):
        return 3.0


@pytest.mark.parametrize("name", ["caught", "refused"])
@pytest.mark.parametrize("asks", [True, False])
def test_a_derivative_that_an_actor_would_lose_is_refused(name, asks):
    def f(x):
        made = getattr(InProcess().make(Swallows), name)(x)
        return made.result() * x if asks else x * x

    with pytest.raises(zyg.errors.ConversionError, match="float"):
        zyg.gradient(f, 3.0)


@pytest.mark.parametrize("name", ["caught", "refused"])
def test_a_tangent_that_an_actor_has_lost_is_refused_by_later_calls(name):
    """In forward mode there is no later look at a call that nobody has asked for."""

    def f(x):
        actor = InProcess().make(Swallows)
        getattr(actor, name)(x)
        return actor.read().result() * x

    with pytest.raises(zyg.errors.ConversionError, match="float"):
        zyg.pushforward(f, (3.0,), (1.0,))


def test_in_forward_mode_an_actor_is_free_once_the_function_has_returned():
    counter = InProcess().make(Counter)

    def f(x):
        y = counter.add(x).result()["total"]
        heard.append(counter._on_actor(lambda actor: host_of(actor).life is None).result())
        return y

    heard = []
    y, _ = zyg.pushforward(f, (X,), (X,))
    heard.append(counter._on_actor(lambda actor: host_of(actor).life is None).result())
    assert heard == [False, True]
    assert counter.read().result()[0] == y
    assert type(counter.read().result()[0]) is np.float64


def test_an_exception_of_an_adjoint_reaches_the_gradient():
    @zyg.adjoint
    def broken(x):
        def broken_pullback(y_bar):
            raise KeyError("in reverse")

        return x, broken_pullback

    class Broken:
        def of(self, x):
            return broken(x)

    with pytest.raises(KeyError, match="in reverse") as caught:
        zyg.gradient(lambda x: InProcess().make(Broken).of(x).result() ** 2, 3.0)
    assert "raised by the adjoint of Broken.of" in "\n".join(caught.value.__notes__)


def test_an_array_of_the_state_that_is_written_meanwhile_is_noticed():
    class Data:
        def __init__(self):
            self.data = np.arange(1000.0)
            self.view = self.data[:]

        def of(self, x):
            return np.sum(x * self.data)

        def write(self):
            np.add.at(self.view, [1], 5.0)

    def f(x):
        actor = InProcess().make(Data)
        y = actor.of(x * np.ones(1000)).result()
        actor.write().result()
        return y

    with pytest.raises(zyg.errors.MutationError, match="was written after it had been used"):
        zyg.gradient(f, 1.0)


def fails_at(monkeypatch, what, calls):
    """Have an engine fail at some calls of a method of the host's, by their numbers."""
    asked, ask = [], Near.ask

    def failing(self, name, *args):
        asked.append(name)
        if name == what and asked.count(what) - 1 in calls:
            raise OSError("the process is gone\nand said more")
        return ask(self, name, *args)

    monkeypatch.setattr(Near, "ask", failing)


@pytest.mark.parametrize("early", [False, True])
def test_an_actor_that_dies_in_the_midst_of_a_pass_is_an_error(monkeypatch, early):
    """What the first call left in the state is lost, though that call itself gives nothing."""

    def f(x):
        counter = InProcess().make(Counter)
        first = counter.add(x)
        step = 0.0 if early else np.floor(first.result()["total"])  # its adjoint comes last
        return counter.read().result()[0] + step

    (g,) = zyg.gradient(f, X)
    assert np.all(g != 0.0)
    for calls in ([0], [1], [0, 1]):
        with monkeypatch.context() as patch:
            fails_at(patch, "zyg_back", calls)
            with pytest.raises(ActorError, match="is lost, in the adjoint of Counter") as caught:
                zyg.gradient(f, X)
        assert "OSError: the process is gone" in str(caught.value)


def test_one_that_was_given_nothing_is_not_missed(monkeypatch):
    def f(x):
        counter = InProcess().make(Counter)
        for _ in range(3):
            counter.add(x)
        return np.sum(np.sin(x))

    fails_at(monkeypatch, "zyg_back", [0, 1, 2])
    np.testing.assert_array_equal(zyg.gradient(f, X)[0], np.cos(X))


def test_a_call_that_could_not_be_made_is_none_of_the_gradient(monkeypatch):
    def f(x, fails):
        counter = InProcess().make(Counter)
        for k in range(3):
            try:
                counter.add((k + 1) * x)
            except OSError:
                assert k in fails
        return counter.read().result()[0]

    def f0(x):
        counter = Counter()
        counter.add(2 * x)
        return counter.read()[0]

    fails_at(monkeypatch, "zyg_call", [0, 2])
    np.testing.assert_allclose(
        zyg.gradient(f, X, fails=[0, 2])[0], zyg.gradient(f0, X)[0], rtol=1e-13
    )


def test_an_actor_that_was_not_reached_is_none_of_the_gradient(monkeypatch):
    counter, heard = InProcess().make(Counter), []

    def outside():
        heard.append(counter.sizes([1, 2]).result())

    def f(x):
        with pytest.raises(OSError, match="gone"):
            counter.add(x)
        assert counter.sizes([1]).result() == 1
        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()
        return x[0]

    fails_at(monkeypatch, "zyg_call", [0])
    zyg.gradient(f, X)
    assert heard == [2]
