"""Actors on threads of this process that die at any of their messages, and are played again."""

import functools
import gc
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.actors import host
from zyg.actors.failures import ActorError, ActorLostError, ActorSharedError
from zyg.actors.sessions import sessions
from zyg.tasks.shipping import version

from .in_process import GoneError, InProcess
from .programs import PROGRAMS, Counter, Kept, Sequential, Written, X

pytest.importorskip("cloudpickle", reason="needs cloudpickle")
COUNTED = "zyg_call", "zyg_back", "zyg_close", "zyg_play"


@dataclass
class Deaths:
    """At which messages an actor dies, by their numbers: before it takes one, or after it ran."""

    at: dict[int, str] = field(default_factory=dict)
    of: tuple[str, ...] = COUNTED
    heard: list[str] = field(default_factory=list)
    died: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, what):
        if what not in self.of:
            return None
        with self.lock:
            self.heard.append(what)
            when = self.at.get(len(self.heard) - 1)
            self.died += when is not None
        return when


def both_ways(program, deaths=None, restarts=3):
    """Value and gradient of a program, as bytes, and its tangent."""
    f = functools.partial(program, InProcess(restarts, deaths))
    y, (g,) = zyg.value_and_gradient(f, X)
    return y, g.tobytes()


def forwards(program, deaths=None, restarts=3):
    """Value and tangent of a program."""
    return zyg.pushforward(
        functools.partial(program, InProcess(restarts, deaths)), (X,), (np.cos(X),)
    )


@pytest.mark.parametrize("take", [both_ways, forwards], ids=lambda f: f.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_death_at_any_message_changes_no_bit(program, take):
    expected, count = take(program), Deaths()
    assert take(program, count) == expected
    for number, what in enumerate(count.heard):
        for when in ("before", "after"):
            deaths = Deaths({number: when})
            assert take(program, deaths) == expected
            # In forward mode nobody waits for what is not used, nor ever for the end.
            assert deaths.died == 1 or what == "zyg_close" or take is forwards


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PROGRAMS),
    st.dictionaries(st.integers(0, 40), st.sampled_from(["before", "after"]), max_size=3),
)
def test_several_deaths_change_none_either(program, at):
    assert both_ways(program, Deaths(at)) == both_ways(program)
    assert forwards(program, Deaths(at)) == forwards(program)


# What is played again


class Cell:
    """A number that is multiplied by what comes, and how often that was."""

    def __init__(self, value=1.0):
        self.value, self.times_called = value, 0

    def times(self, x):
        self.value = self.value * x
        self.times_called += 1
        return self.value

    def now(self):
        return self.value, self.times_called


def test_the_state_from_before_is_the_same_and_so_is_that_afterwards():
    deaths = Deaths({2: "after"}, ("zyg_call",))
    cell = InProcess(3, deaths).make(Cell)
    cell.times(5.0).result()

    def f(x):
        return cell.times(x).result() * cell.times(x).result() * cell.times(x).result()

    assert zyg.value_and_gradient(f, 2.0) == (8000.0, (24000.0,))
    assert cell.now().result() == (40.0, 4)
    deaths.at[len(deaths.heard) + 1] = "before"  # the state has been watched
    assert zyg.value_and_gradient(f, 2.0) == (40.0**3 * 64, (40.0**3 * 192,))
    assert cell.now().result() == (320.0, 7)
    assert type(cell.now().result()[0]) is float
    assert deaths.died == 2


def test_one_that_dies_when_the_function_has_returned_is_played_again_beside_it():
    """Others may have called it since: what they did to it is lost, as without a gradient."""
    deaths = Deaths({0: "before"}, ("zyg_back",))
    cell = InProcess(3, deaths).make(Cell)
    _, back = zyg.pullback(lambda x: cell.times(x).result() * cell.times(x).result(), 2.0)
    cell.times(7.0).result()

    assert back(1.0) == (12.0,)
    assert deaths.died == 1
    with pytest.raises(GoneError):
        cell.now().result()
    assert back(2.0) == (24.0,)  # by the one beside


def test_operands_that_are_written_later_come_again_as_they_were():
    def f(engine, x):
        actor = engine.make(Written, 5)
        y = 1 * x
        actor.begin(y)
        y[:] = 0.0
        y[1] = x[2]
        actor.put(1, y[1])
        y[1] = 7.0
        return np.sum(engine.get(actor.whole())[0] ** 2)

    def on(at):
        return functools.partial(f, InProcess(3, Deaths(at, ("zyg_call", "zyg_back"))))

    f0 = functools.partial(f, Sequential())
    g0, y0_dot = zyg.gradient(f0, X)[0], zyg.pushforward(f0, (X,), (np.cos(X),))[1]
    for number in range(6):
        for when in ("before", "after"):
            g = zyg.gradient(on({number: when}), X)[0]
            assert g.tobytes() == g0.tobytes()
            y_dot = zyg.pushforward(on({number: when}), (X,), (np.cos(X),))[1]
            assert y_dot == y0_dot


def test_threads_of_a_gradient_call_one_that_dies():
    def f(engine, x):
        cell = engine.make(Kept)
        zyg.threads.map(lambda k: engine.get(cell.keep(k * x)), range(1, 9))
        return np.prod(np.stack(engine.get(cell.all()))) / x**7

    expected = zyg.gradient(lambda x: np.exp(36 * x) / x**7, 0.3)
    for number in range(0, 18, 3):
        deaths = Deaths({number: "after", number + 2: "before"})
        (g,) = zyg.gradient(functools.partial(f, InProcess(3, deaths)), 0.3)
        np.testing.assert_allclose(g, expected[0], rtol=1e-12)
        assert deaths.died == 2


def test_pullbacks_of_threads_at_once_share_one_that_is_played_again():
    def f(engine, x):
        counter = engine.make(Counter)
        first = engine.get(counter.add(x))["total"]
        return first, engine.get(counter.add(x * first))["total"]

    _, back0 = zyg.pullback(functools.partial(f, InProcess()), X)
    seeds = [(1.0, 0.0), (0.0, 2.0), (0.5, -1.0), (3.0, 1.0)]
    expected = [back0(seed)[0].tobytes() for seed in seeds]
    for number in range(8):
        deaths = Deaths({number: "after"}, ("zyg_back",))
        _, back = zyg.pullback(functools.partial(f, InProcess(3, deaths)), X)
        assert [g.tobytes() for (g,) in zyg.threads.map(back, seeds)] == expected
        assert deaths.died == 1


class Views:
    """Arrays of one memory, in an order that is not that of rows."""

    def __init__(self):
        self.whole = np.random.default_rng(3).normal(size=(7, 6, 5)).transpose(2, 0, 1)
        self.part = self.whole[::2, 1:, 1:4]
        self.parts = {"part": self.part, "row": self.whole[1]}

    def write(self, x):
        self.part[1:] *= 3.0
        self.parts["row"][2] = 1.0
        return x

    def sums(self, x):
        return np.sum(self.whole * x) + np.sum(self.part) + np.sum(self.parts["row"])


@pytest.mark.parametrize("number", [0, 1, 2])
def test_arrays_of_a_state_that_share_memory_do_so_again(number):
    def f(engine, x):
        actor = engine.make(Views)
        return engine.get(actor.write(x)) * engine.get(actor.sums(x)) + engine.get(actor.sums(x))

    expected = zyg.value_and_gradient(functools.partial(f, Sequential()), 0.3)
    deaths = Deaths({number: "before"}, ("zyg_call",))
    assert zyg.value_and_gradient(functools.partial(f, InProcess(3, deaths)), 0.3) == expected
    assert deaths.died == 1


def test_generators_and_classes_with_slots_and_a_way_of_their_own_to_be_pickled():
    class Slots:
        __slots__ = ("rng",)

        def __init__(self):
            self.rng = np.random.default_rng(5)

        def draw(self, x):
            return x * self.rng.normal()

    class Own:
        def __init__(self):
            self.rng, self.lock = np.random.default_rng(5), threading.Lock()

        def __getstate__(self):
            return self.rng

        def __setstate__(self, state):
            self.rng, self.lock = state, threading.Lock()

        def draw(self, x):
            with self.lock:
                return x * self.rng.normal()

    def f(engine, cls, x):
        actor = engine.make(cls)
        return sum(engine.get(actor.draw(x)) for _ in range(3))

    for cls in (Slots, Own):
        expected = zyg.value_and_gradient(functools.partial(f, Sequential(), cls), 0.3)
        for number in range(6):
            engine = InProcess(3, Deaths({number: "after"}))
            assert zyg.value_and_gradient(functools.partial(f, engine, cls), 0.3) == expected


def test_the_log_ends_with_the_gradient():
    gc.collect()
    gc.disable()
    try:
        before = len(sessions.known)
        cell = InProcess(3).make(Cell)
        _, back = zyg.pullback(lambda x: cell.times(x).result(), 2.0)
        assert len(sessions.known) == before + 1
        assert back(1.0) == (1.0,)
        del back
        zyg.pushforward(lambda x: cell.times(x).result(), (2.0,), (1.0,))
        assert len(sessions.known) == before
    finally:
        gc.enable()


# What is not


def test_one_that_dies_each_time_is_one_error():
    class Deadly:
        def of(self, x):
            return x

    deaths = Deaths(dict.fromkeys(range(100), "after"), ("zyg_call",))
    actor = InProcess(3, deaths).make(Deadly)
    with pytest.raises(GoneError) as caught:
        zyg.gradient(lambda x: sum(y.result() for y in [actor.of(x) for _ in range(5)]), 1.0)
    assert caught.value.__notes__ == [
        "zyg: it was made again 3 times in this gradient.",
        "zyg: raised by Deadly.of, called by task 'main'",
    ]
    assert deaths.died == 4

    deaths = Deaths(dict.fromkeys(range(100), "before"), ("zyg_back", "zyg_play"))
    actor = InProcess(3, deaths).make(Deadly)
    with pytest.raises(ActorLostError, match=r"could not be made again: GoneError"):
        zyg.gradient(lambda x: actor.of(x).result(), 1.0)
    assert deaths.died == 4


def test_a_state_that_has_not_come_is_not_played_again():
    deaths = Deaths({0: "after"}, ("zyg_open",))
    cell = InProcess(3, deaths).make(Cell)
    with pytest.raises(GoneError) as caught:
        zyg.gradient(lambda x: cell.times(x).result(), 1.0)
    assert "zyg: it could not be made again: GoneError: after zyg_open" in caught.value.__notes__


def test_nor_is_one_that_calls_another_one_which_would_be_called_twice():
    inner, deaths = InProcess(3).make(Cell), Deaths({1: "after"}, ("zyg_call",))

    class Outer:
        def of(self, x):
            return inner_of(x)

    def inner_of(x):
        return inner.times(x).result()

    def f(x):
        outer = InProcess(3, deaths).make(Outer)
        return outer.of(x).result() * outer.of(x).result()

    where = "by an actor of a gradient that was lost, and is made again"
    with pytest.raises(ActorError, match=rf"Cell\.times cannot be called {where}"):
        zyg.gradient(f, 2.0)


def test_nor_is_one_that_somebody_has_called_since_it_was_started_again():
    """What that did would be lost."""
    first, again = (host.hosted(Cell)() for _ in range(2))
    state, _ = host.zyg_open(first, version(), "a gradient", False, True)
    again.times(2.0)

    with pytest.raises(ActorSharedError, match="Cell was called by somebody else"):
        host.zyg_play(again, version(), "a gradient", False, True, state)
    assert again.now() == (2.0, 1)


class Locked(Cell):
    """What cannot be pickled."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Listed(list):
    """What is more than its attributes."""

    def times(self, x):
        self.append(x)
        return x * len(self)


class Boxed(Cell):
    """What holds arrays that share memory, in a way that would be lost."""

    def __init__(self):
        super().__init__()
        self.boxes = np.array([None, 1], dtype=object)
        self.box = self.boxes[1:]


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (Locked, "cannot pickle '_thread.lock' object"),
        (Listed, "Listed is more than its attributes"),
        (Boxed, "it holds a view, a ndarray of object"),
    ],
)
def test_nor_is_one_that_cannot_be_sent_and_says_why_where_it_dies(cls, why):
    def f(x):
        return actor.times(x).result() * x

    actor = InProcess(3).make(cls)
    assert zyg.gradient(f, 2.0) == (4.0,)
    actor = InProcess(3, Deaths({0: "before"}, ("zyg_back",))).make(cls)
    with pytest.raises(ActorLostError, match="could not be sent here") as caught:
        zyg.gradient(f, 2.0)
    assert why in str(caught.value)


class Dice:
    """What does something else each time."""

    thrown = iter(range(100))

    def throw(self, x):
        return x * (1.0 + next(Dice.thrown))

    def name(self, x):
        return f"of {next(Dice.thrown)}"

    def fail(self, x):
        if next(Dice.thrown) % 2:
            raise ValueError(x)
        return x

    def last(self, x):
        return x


@pytest.mark.parametrize("name", ["throw", "name", "fail"])
@pytest.mark.parametrize("what", ["zyg_call", "zyg_back"])
def test_an_actor_that_does_something_else_then_is_refused(name, what, monkeypatch):
    monkeypatch.setattr(Dice, "thrown", iter(range(100)))

    def f(x):
        actor = InProcess(3, Deaths({0 if what == "zyg_back" else 1: "after"}, (what,))).make(Dice)
        getattr(actor, name)(x).result()
        return actor.last(x).result()

    with pytest.raises(zyg.errors.RecomputationError, match=f"Dice.{name} gave another value"):
        zyg.gradient(f, 2.0)
    if what == "zyg_call":
        monkeypatch.setattr(Dice, "thrown", iter(range(100)))
        with pytest.raises(zyg.errors.RecomputationError, match=f"Dice.{name} gave another value"):
            zyg.pushforward(f, (2.0,), (1.0,))
