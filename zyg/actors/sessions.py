"""In the process of who calls an actor: the gradients that it is called by, and their logs.

A session is one gradient, as one actor has it. It keeps what the actor was before, or what it was
made of, and each call as it was sent; on the way back, the cotangents that were sent in a pass. So
where the actor's process ends, another one is played the same: it is given the state, then all
calls, then all cotangents, each in the order of the first time. Until the function has returned it
takes the place of the actor; afterwards, when others may have called the actor, it is one beside.

A call has one value, and one answer of its adjoint: the first that comes. What is played again
comes to the same bits, and the values say so, by their digests. Whatever an actor that was given up
still answers is not looked at, as a message knows in which play it was sent.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Condition, RLock, Thread
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary, finalize, ref

from zyg.actors.failures import ActorLostError, changed, gone
from zyg.base.containers import Engine
from zyg.core.duals import DualStrand
from zyg.core.reverse import Run
from zyg.core.strand import Strand, active
from zyg.errors import ZygError
from zyg.ranks.failures import quoted
from zyg.tasks.arrivals import give
from zyg.tasks.shipping import version

_process = uuid4().hex
RESTARTS = 3  # how often an actor is played again in a gradient, where nothing else is said


class Remote(Engine):
    """How an actor is reached: what an engine gives. `key` is the actor's own."""

    key: Any
    class_name: str
    restarts: int  # how often it may be played again in a gradient

    def ask(self, what: str, *args: Any) -> tuple[Any, Future[Any]]:
        """Have a method of `host` run: what the engine makes of that, and the future of its value.

        They run in the order in which they are asked for.
        """
        raise NotImplementedError

    def is_lost(self, error: BaseException) -> bool:
        """Whether the engine has said by an error that the actor's process is not there."""
        raise NotImplementedError

    def replace(self, *given: Any) -> None:
        """Have another process take the actor's place, which is told to `zyg_play`."""
        raise NotImplementedError

    def twin(self, *given: Any) -> Remote:
        """An actor beside it, which is told to `zyg_play`."""
        raise NotImplementedError

    def raised(self, name: str, error: BaseException, said: str) -> BaseException:
        """What is raised here for an error of a method: that, with a note."""
        error.add_note(f"zyg: raised by {name}")
        return error


class Sessions(Engine):
    """The gradients of this process that have actors."""

    def __init__(self) -> None:
        self.known: WeakValueDictionary[tuple[Any, int], Session] = WeakValueDictionary()
        self.lock = RLock()

    def of(self, remote: Remote, strand: Strand) -> Session:
        """The gradient of a strand, as an actor has it."""
        with self.lock:
            found = self.known.get((remote.key, strand.level))
            if found is None:
                found = self.known[remote.key, strand.level] = Session(remote, strand)
                if isinstance(strand, DualStrand):
                    strand.held.append(found)
            return found

    def strand_here(self, remote: Remote) -> Strand | None:
        """The strand, among those around this line, of a gradient that has an actor."""
        self.close_ended(remote)
        known = [*self.known.items()]
        levels = {level for (key, level), x in known if key == remote.key and x.log}
        return next((s for s in reversed(active.get()) if s.level in levels and s.open), None)

    def close_ended(self, remote: Remote) -> None:
        """Tell an actor of functions that have returned."""
        for session in [*self.known.values()]:
            if session.remote.key == remote.key and not session.root.open:
                session.close()


sessions = Sessions()


class Endings(Engine):
    """Tells actors of gradients that are garbage, from a thread of its own.

    Garbage may be collected in the midst of the engine's own code, which must not be entered then.
    """

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[Remote, str]] = SimpleQueue()
        self.process = 0

    def begin(self) -> None:
        """Have the thread run, in this process."""
        with sessions.lock:
            if self.process != os.getpid():
                self.process = os.getpid()
                Thread(target=self._tell, name="zyg: gradients that ended", daemon=True).start()

    def _tell(self) -> None:
        while True:
            remote, token = self.queue.get()
            with suppress(Exception):  # the actor, or all of the engine, may be gone
                remote.ask("zyg_end", token)
            del remote


endings = Endings()


class Logged(Engine):
    """A call as it was sent, and what is known of its result."""

    raw: Any = None  # what the engine made of the last time
    digest: int | None = None

    def __init__(self, call: Any, number: int, given: tuple[Any, ...]) -> None:
        self.call, self.name = ref(call), call.name  # which has the session, that has the log
        self.number, self.given = number, given
        self.answered = False


class Session(Engine):
    """One gradient, as one actor has it."""

    def __init__(self, remote: Remote, strand: Strand) -> None:
        self.remote, self.root = remote, strand.level_strands()[0]
        self.token, self.dual = token_of(strand), strand.dual
        self.first: Future[Any]  # of what the actor is to be before the log
        self.log: list[Logged] = []
        self.plays = 0  # again
        self.playing = self.closed = False
        self.given_up: BaseException | None = None
        self.passes: dict[str, Asked] = {}
        self.changed = Condition(RLock())

    # Forward

    def call(self, call: Any, given: tuple[Any, ...]) -> Logged:
        """Have the actor run a call."""
        with self.changed:
            self._wait()
            if isinstance(self.given_up, ZygError):
                raise self.given_up
            logged = Logged(call, len(self.log), given)
            if not self.log:
                what = version(), self.token, self.dual, self.remote.restarts > 0
                self.first = self.remote.ask("zyg_open", *what)[1]
            try:
                arrives = self._send(logged)
            except BaseException:
                if not self.log:
                    self.remote.ask("zyg_end", self.token)
                raise
            self._log(logged)
        arrives()
        return logged

    def born(self, call: Any, first: Any) -> Logged:
        """A call has made the actor."""
        self.first = Future()
        self.first.set_result((first, None))
        logged = Logged(call, 0, ())
        logged.answered = True
        self._log(logged)
        return logged

    def _log(self, logged: Logged) -> None:
        """A call has been sent; of its gradient's end the actor is to hear."""
        if not self.log:
            endings.begin()
            finalize(self, endings.queue.put, (self.remote, self.token)).atexit = False
        self.log.append(logged)

    def _send(self, logged: Logged) -> Callable[[], None]:
        """Send a call: what has its answer arrive, to be called where nothing is locked."""
        logged.raw, reply = self.remote.ask(
            "zyg_call", version(), self.token, logged.number, *logged.given
        )
        told = functools.partial(self._answered, self.plays, logged)
        return functools.partial(reply.add_done_callback, told)

    def _answered(self, play: int, logged: Logged, done: Future[Any]) -> None:
        try:
            reply = done.result()
        except BaseException as error:
            if not self._is_played_again(play, error):
                self._arrive(logged, None, error)
            return
        with self.changed:
            if play != self.plays:
                return
            differs = logged.answered and logged.digest != reply.digest
            logged.digest = reply.digest
        if differs:
            refused = isinstance(reply.error, ZygError)
            self._give_up(reply.error if refused else changed(logged.name))
        self._arrive(logged, reply)

    def _arrive(self, logged: Logged, reply: Any, error: BaseException | None = None) -> None:
        """Tell a call, the first time."""
        with self.changed:
            call = None if logged.answered else logged.call()
            logged.answered = True
        if call is not None:
            call.arrive(reply, error)

    def close(self) -> None:
        """The function has returned: the actor is free."""
        with self.changed:
            if not self.closed and not self.playing:
                self.remote.ask("zyg_close", self.token)
            self.closed = True

    # Back

    def ask(self, run: Run, call: Any, bars: list[Any]) -> Future[Any]:
        """Send the cotangents of a result: the future of those of the operands."""
        name = f"{_process}-{os.getpid()}-{run.number}"
        future = Future[Any]()
        with self.changed:
            self._wait()
            self.closed = True  # what is sent says so
            asked = self.passes.setdefault(name, Asked(run.strong))
            asked.given[call.logged.number] = call.name, bars
            asked.gave |= any(c is not None for c in bars)
            asked.waiting[call.logged.number] = future, asked.gave
            if (error := self.given_up) is None:
                after = self._send_back(name, asked, call.logged.number)
            else:
                after = functools.partial(self._lose, name, call.name, error)
        after()
        return future

    def _send_back(self, pass_: str, asked: Asked, number: int) -> Callable[[], None]:
        name, bars = asked.given[number]
        what = self.token, len(self.log), name, pass_, asked.strong, number, bars
        try:
            _, reply = self.remote.ask("zyg_back", *what)
        except Exception as error:
            reply = Future()
            reply.set_exception(error)
        told = functools.partial(self._stepped_back, self.plays, pass_, name)
        return functools.partial(reply.add_done_callback, told)

    def _stepped_back(self, play: int, pass_: str, name: str, done: Future[Any]) -> None:
        try:
            reply = done.result()
        except BaseException as error:
            if not self._is_played_again(play, error):
                self._lose(pass_, name, error)
            return
        if play != self.plays:
            return
        if reply.error is not None:
            raised = self.remote.raised(f"the adjoint of {name}", reply.error, reply.said)
            for future, _ in self._waiting(pass_):
                give(future, None, raised)
            return
        with self.changed:
            asked = self.passes.get(pass_)
            waiting = asked.waiting if asked else {}
            both = [(waiting.pop(k, None), y) for k, y in reply.value.items()]
            if asked and not waiting and len(asked.given) == len(self.log):
                del self.passes[pass_]
        for waits, found in both:
            if waits is not None:
                give(waits[0], found)

    def _lose(self, pass_: str, name: str, error: BaseException) -> None:
        """An actor that is gone gives nothing back; an error, where it was given something."""
        refusal = isinstance(error, ZygError)
        raised = error if refusal else gone(name, error)
        for future, gave in self._waiting(pass_):
            give(future, (), raised if refusal or gave else None)

    def _waiting(self, pass_: str) -> Sequence[tuple[Future[Any], bool]]:
        """What waits in a pass, and does so no longer."""
        with self.changed:
            asked = self.passes.get(pass_)
            waiting = [*asked.waiting.values()] if asked else []
            if asked:
                asked.waiting.clear()
        return waiting

    # Again

    def _wait(self) -> None:
        while self.playing:
            self.changed.wait()

    def _is_played_again(self, play: int, error: BaseException) -> bool:
        """Whether what an error has answered is sent again."""
        if not (isinstance(error, ActorLostError) or self.remote.is_lost(error)):
            return play != self.plays
        with self.changed:
            if play != self.plays:
                return True
            if self.given_up is not None:
                return False
            again = self.plays < self.remote.restarts
            self.plays += again
            self.playing = again
        if again:
            what = f"zyg: {self.remote.class_name} again"
            Thread(target=self._play, args=(error,), name=what, daemon=True).start()
        else:
            if self.plays:
                error.add_note(f"zyg: it was made again {self.plays} times in this gradient.")
            self._give_up(error)
        return again

    def _play(self, error: BaseException) -> None:
        """Have another process be what the lost one was."""
        arrives = []
        try:
            first, why = self.first.result()
            if first is None:
                raise RuntimeError(f"its state from before could not be sent here: {why}")
            self._make(version(), self.token, self.dual, True, first)
            with self.changed:
                arrives = [self._send(x) for x in self.log if x.given]
                for name, asked in self.passes.items():
                    arrives += [self._send_back(name, asked, number) for number in asked.given]
        except BaseException as raised:
            error.add_note(f"zyg: it could not be made again: {quoted(raised)}")
            self.given_up = error
        with self.changed:
            self.playing = False
            if self.closed and not self.passes:
                with suppress(Exception):  # which may be gone again
                    self.remote.ask("zyg_close", self.token)
            self.changed.notify_all()
        if self.given_up is not None:
            self._give_up(self.given_up)
        for arrive in arrives:
            arrive()

    def _make(self, *given: Any) -> None:
        """Make another process, in the place of the lost one or beside it."""
        while True:
            try:
                if not self.closed and self.root.open:
                    self.remote.replace(*given)
                else:
                    self.remote, self.closed = self.remote.twin(*given), True
            except Exception as error:
                if not self.remote.is_lost(error) or self.plays == self.remote.restarts:
                    raise
                self.plays += 1
            else:
                return

    def _give_up(self, error: BaseException) -> None:
        """Have whatever waits for the actor hear of an error."""
        with self.changed:
            self.given_up = error
            log, passes = [*self.log], [*self.passes.items()]
        for logged in log:
            self._arrive(logged, None, error)
        for pass_, asked in passes:
            self._lose(pass_, next(reversed(asked.given.values()))[0], error)


class Asked(Engine):
    """What has been asked of an actor in one pass, by the numbers of calls."""

    def __init__(self, strong: bool) -> None:
        self.strong = strong
        self.given: dict[int, tuple[str, list[Any]]] = {}  # cotangents of results
        self.waiting: dict[int, tuple[Future[Any], bool]] = {}  # whether any was given by then
        self.gave = False


def token_of(strand: Strand) -> str:
    """What names a gradient to actors."""
    return f"{_process}-{os.getpid()}-{strand.level}"
