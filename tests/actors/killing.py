"""Processes of actors that are killed at a message of theirs, on any engine."""

import contextlib
import functools
import itertools
import os
import signal
import threading
import time
from concurrent.futures import Future

import numpy as np

import zyg
from zyg.errors import RecomputationError

from .programs import Sequential, X, made_of_parameters, through_two

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter, which kills there
COUNTED = "zyg_call", "zyg_back"


def killed(pid):
    """Once a process has ended."""
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(pid, KILL)
            time.sleep(0.01)


def killed_at(patch, remote, pid_of, at):
    """Have actors die at messages, by their numbers: before one comes, or after it has run.

    `pid_of(remote)` is asked for where no reply is on its way. What has died is counted.
    """
    ask, numbers, died = remote.ask, itertools.count(), []

    def asked(self, what, *args):
        number = next(numbers) if what in COUNTED else None
        when, pid = at.get(number), pid_of(self)
        if when:
            died.append(when)
        if when == "before":
            killed(pid)
        raw, found = ask(self, what, *args)
        if what == "zyg_open":
            found.result()  # what the actor was before is here
        if when != "after":
            return raw, found
        made = Future()

        def die():
            killed(pid)
            ask(self, "zyg_read", "anything")[1].add_done_callback(
                lambda done: made.set_exception(done.exception())
            )

        found.add_done_callback(lambda _: threading.Thread(target=die).start())
        return raw, made

    def known(make):
        def made(self, *given):
            found = make(self, *given)
            pid_of(found or self)
            return found

        return made

    patch.setattr(remote, "ask", asked)
    for name in ("replace", "twin"):
        patch.setattr(remote, name, known(getattr(remote, name)))
    return died


def demand_the_same_after_each_death(engine, program, remote, pid_of, patch, schedule=None):
    """At every message, or at those of a schedule: bit for bit what one process gives."""
    expected = _both(Sequential(), program)
    with patch.context() as one:
        heard = killed_at(one, remote, pid_of, dict.fromkeys(range(1000), "not at all"))
        assert _both(engine, program) == expected
    every = [{k: when} for k in range(len(heard)) for when in ("before", "after")]
    for at in every if schedule is None else schedule:
        with patch.context() as one:
            died = killed_at(one, remote, pid_of, at)
            assert _both(engine, program) == expected
        assert died == [*at.values()]


def _both(engine, program):
    y, (g,) = zyg.value_and_gradient(functools.partial(program, engine), X)
    return y, g.tobytes()


class Mortal:
    """What ends its own process, once or each time."""

    def __init__(self, marker=None):
        self.marker, self.total = marker, 1.0

    def times(self, x):
        self.total = self.total * x
        return self.total

    def die(self, x, again=False):
        """In the midst of a method."""
        self.total = self.total * x
        self._end(again)
        return self.total

    def die_back(self, x, again=False):
        """In the midst of its adjoint, or after that has given its cotangent."""
        self.total = self.total * _dying(x, functools.partial(self._end, again))
        return self.total

    def _end(self, again):
        if again or not os.path.exists(self.marker):
            with open(self.marker, "a") as f:
                f.write("x")
            os.kill(os.getpid(), KILL)


@zyg.adjoint
def _dying(x, end):
    def dying_pullback(y_bar):
        end()
        return y_bar, None

    return x, dying_pullback


def demand_one_that_ends_itself(engine, path, name):
    """Once: nothing is lost, and it was called twice."""

    def f(e, x):
        actor = e.make(Mortal, str(path))
        first = e.get(actor.times(x))
        second = e.get(getattr(actor, name)(first * x))
        return second * e.get(actor.times(x))

    path.write_text("not yet")
    expected = zyg.value_and_gradient(functools.partial(f, Sequential()), 1.3)
    path.unlink()
    assert zyg.value_and_gradient(functools.partial(f, engine), 1.3) == expected
    assert path.read_text() == "x"


def demand_one_error(engine, path, name, times, error, match):
    """Each time: one error, after so many."""

    def f(x):
        actor = engine.make(Mortal, str(path))
        return engine.get(getattr(actor, name)(x, True)) * x

    with np.testing.assert_raises_regex(error, match):
        zyg.gradient(f, 1.3)
    assert len(path.read_text()) == times


def demand_that_another_value_is_refused(engine, kill_actor):
    """Of one that does not depend on its arguments alone."""

    class Process:
        def pid(self, x):
            return os.getpid() * x

        def last(self, x):
            return x

    def f(x):
        actor = engine.make(Process)
        y = engine.get(actor.pid(x))
        kill_actor(actor)
        return y * engine.get(actor.last(x))

    with np.testing.assert_raises_regex(RecomputationError, "Process.pid gave another value"):
        zyg.gradient(f, 1.3)


SCHEDULES = {  # of deaths, some of them in one gradient: of both actors, and in both passes
    made_of_parameters: [{0: "before", 4: "after"}, {3: "after"}, {8: "before"}],
    through_two: [
        {0: "after", 7: "before"},
        {3: "before", 12: "after"},
        {2: "after", 5: "after", 20: "before"},
    ],
}
