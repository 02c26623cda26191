"""In the process of who calls an actor: the entries of its calls.

A call under a gradient has a strand of its own here, as a task has. On that stands one entry, which
always runs on the way back: it sends the cotangents of the result to the actor, or that there are
none, and waits for those of the operands. The actor has these once it has stepped back through all
of its later calls, so each call asks for itself, and whichever answer comes brings what is known.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary, finalize

from zyg.actors.failures import refused
from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.core.entries import Kind, kinds
from zyg.core.exchange import bring
from zyg.core.questions import is_traced
from zyg.core.reverse import Later, Run
from zyg.core.strand import Strand, active, child, is_watched, local, note_refusal, settle
from zyg.errors import ZygError
from zyg.ranks.cargo import opened, sent
from zyg.ranks.messages import handed_on, taken
from zyg.tasks.executors import fitting, submitter
from zyg.tasks.recipes import in_task
from zyg.tasks.shared import same

_process = uuid4().hex


class Remote(Engine):
    """How an actor is reached: what an engine gives. `key` is the actor's own."""

    key: Any

    def call(self, *args: Any) -> tuple[Any, Future[Any]]:
        """Have `zyg_call` run: what the engine makes of the call, and the future of its reply."""
        raise NotImplementedError

    def back(self, *args: Any) -> Future[Any]:
        """The same of `zyg_back`."""
        raise NotImplementedError

    def close(self, token: str) -> None:
        """The same of `zyg_close`."""
        raise NotImplementedError

    def end(self, token: str) -> None:
        """The same of `zyg_end`."""
        raise NotImplementedError

    def raised(self, name: str, error: BaseException, said: str) -> BaseException:
        """What is raised here for an error of a method."""
        raise NotImplementedError


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
            return found

    def strand_here(self, remote: Remote) -> Strand | None:
        """The strand, among those around this line, of a gradient that has an actor."""
        self.close_ended(remote)
        levels = {level for key, level in [*self.known] if key == remote.key}
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
                remote.end(token)
            del remote


endings = Endings()


class Session(Engine):
    """One gradient, as one actor has it."""

    def __init__(self, remote: Remote, strand: Strand) -> None:
        self.remote, self.root = remote, strand.level_strands()[0]
        self.token = token_of(strand)
        self.calls = 0
        self.started = ""  # by which the actor's process tells itself from one in its place
        self.closed = False
        # By passes, and numbers of calls: what waits, and whether it gave the actor a cotangent.
        self.waiting: dict[tuple[str, int], tuple[Future[Any], bool]] = {}
        self.lock = RLock()
        endings.begin()
        finalize(self, endings.queue.put, (remote, self.token)).atexit = False

    def numbered(self) -> int:
        """The number of a call, the next one."""
        self.calls += 1
        return self.calls - 1

    def close(self) -> None:
        """The function has returned: the actor is free."""
        if not self.closed:
            self.closed = True
            self.remote.close(self.token)

    def ask(self, run: Run, call: ActorCall, bars: list[Any]) -> Future[Any]:
        """Send the cotangents of a result: the future of those of the operands."""
        pass_ = f"{_process}-{os.getpid()}-{run.number}"
        future = Future[Any]()
        self.waiting[pass_, call.number] = future, any(c is not None for c in bars)
        self.closed = True  # what is sent says so
        given = pass_, run.strong, self.calls, call.number, bars
        reply = self.remote.back(self.token, self.started, call.name, *given)
        reply.add_done_callback(functools.partial(self._answered, pass_, call.name))
        return future

    def _answered(self, pass_: str, name: str, reply: Future[Any]) -> None:
        try:
            answers = reply.result()
        except BaseException as error:
            self._failed(pass_, name, error)
            return
        for number, found in answers.items():
            if (waits := self.waiting.pop((pass_, number), None)) is not None:
                _set(waits[0], found)

    def _failed(self, pass_: str, name: str, error: BaseException) -> None:
        """An actor that is gone gives nothing back; an error, where it was given something."""
        refusal = isinstance(error, ZygError)
        if not refusal:
            error.add_note(_LOST.format(name))
        for key in [key for key in [*self.waiting] if key[0] == pass_]:
            if (waits := self.waiting.pop(key, None)) is not None:
                future, given = waits
                _set(future, (), error if given or refusal else None)


def token_of(strand: Strand) -> str:
    """What names a gradient to actors."""
    return f"{_process}-{os.getpid()}-{strand.level}"


def _set(future: Future[Any], value: Any = None, error: BaseException | None = None) -> None:
    """Settle a future, unless the pass that waits for it has been given up."""
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


_LOST = (
    "zyg: raised by the adjoint of {}. What an actor keeps for its adjoint is in its process, and "
    "is gone with that: take the gradient again, with a new actor."
)


def demand_callable(name: str) -> None:
    """Refuse a call where it would be made a second time for its derivative."""
    where = ""
    if in_task.get():
        where = "by a task of a gradient"
    elif any(s.confined is not None for s in active.get()):
        where = "inside of zyg.checkpoint, or of a solver with a rule"
    if where:
        raise refused(
            name,
            where,
            "that may run again for its derivative, and the actor would be called twice.",
            "call it from the function of the gradient, and pass on what it returns.",
        )


def strand_of_call(
    remote: Remote | None, name: str, operands: Sequence[Any]
) -> tuple[Strand, list[Any]] | None:
    """The strand of a call, and its operands on it; None where it is none of a gradient.

    It is one if an operand is watched, or if the actor has been called by that gradient.
    """
    strand = _strand_of(name, [settle(x) for x in operands])
    if strand is None and remote is not None:
        strand = sessions.strand_here(remote)
    if strand is None:
        return None
    made = child(local(strand), name, False)
    return made, [bring(made, settle(x)) for x in operands]


def _strand_of(name: str, operands: Sequence[Any]) -> Strand | None:
    """The strand that watches operands, if any does; refuses what has no adjoint."""
    strands = {x.strand.level: x.strand for x in operands if is_watched(x)}
    if len(strands) > 1 or any(is_watched(settle(x.primal)) for x in operands if is_watched(x)):
        raise refused(name, "with values of several gradients", _FIRST, _ONCE)
    strand = next(iter(strands.values()), None)
    if strand is not None and strand.dual:
        raise refused(name, "in forward mode", _FIRST, _ONCE)
    return strand


_FIRST = "the adjoint of an actor's calls is there for first derivatives in reverse mode."
_ONCE = "take zyg.gradient, or zyg.pullback, once."


class ActorCall(Future[Any], Engine):
    """A call of an actor under a gradient: the future of its value, watched where it is."""

    _raw: Any  # what the engine made of it

    def __init__(self, remote: Remote, name: str, strand: Strand, operands: Sequence[Any]) -> None:
        super().__init__()
        self.name, self.strand, self.operands = name, strand, operands
        self.what = f"{name}, called by {submitter()}"
        self.slots: tuple[Any, ...] = ()
        self.lock = RLock()
        self.noted = self.told = False
        self.value: Any = None
        self.session = sessions.of(remote, strand)
        strand.note((None, None, call_pullback, None, (self,)))

    def begin(self, recipe: Any, constants: Any) -> None:
        """Have the actor run it, in the order of the numbers of calls."""
        session, plain = self.session, [*map(sent, self.operands)]
        with session.lock:
            self.number = session.numbered()
            args = session.token, self.number, settings(), recipe, plain, constants
            self._raw, reply = session.remote.call(*args)
        reply.add_done_callback(self._arrive)

    def begin_life(self) -> None:
        """It is the call that makes the actor, which has no reply."""
        self.number = self.session.numbered()
        self.set_result(None)

    def _arrive(self, done: Future[Any]) -> None:
        try:
            reply = done.result()
        except BaseException as error:
            if not isinstance(error, ZygError):
                error.add_note(f"zyg: raised by {self.what}")
            self.set_exception(error)
        else:
            self.session.started = self.session.started or reply.started
            self.set_result(reply)

    def result(self, timeout: float | None = None) -> Any:
        """As a future's; the value is watched."""
        try:
            reply = super().result(timeout)
            if reply.error is not None:
                raise self.session.remote.raised(self.what, reply.error, reply.said)
        except ZygError as error:
            if self.strand.open:
                note_refusal(error)
            raise
        finally:
            self.told = self.done()
        with self.lock:
            if not self.noted:
                self.value, self.noted = self._note(reply.value), True
        return self.value

    def _note(self, value: Any) -> Any:
        leaves, rebuild = opened(value)
        if not leaves:
            return value
        if not self.strand.open:
            return rebuild(leaves)
        self.slots = tuple([self.strand.new_slot() for _ in leaves])
        return rebuild(handed_on(self.strand, leaves, self.slots))

    def __reduce__(self) -> Any:
        """As an argument: its value, which is waited for."""
        return same, (self.result(),)

    def demand_told(self) -> None:
        """Raise a refusal that nobody has asked for."""
        error = self.exception()
        if error is None and (reply := super().result()) is not None:
            error = reply.error
        if isinstance(error, ZygError) and not self.told:
            raise error


def call_pullback(run: Run, call: ActorCall) -> Any:
    """The cotangents of a result go to the actor, and those of the operands come from there."""
    bars = taken(run, call.slots)
    if any(map(is_traced, bars)):
        raise refused(call.name, "under a second gradient", _FIRST, _ONCE)
    call.demand_told()
    places = [k for k, x in enumerate(call.operands) if is_watched(x)]

    def made(found: Any) -> list[tuple[Any, Any]]:
        return fitting(call.operands, places, [found[k] for k in places]) if found else []

    return Later(call.session.ask(run, call, bars), made)


kinds[call_pullback] = Kind(
    lambda call: [x.slot for x in call.operands if is_watched(x)], None, lambda call: call.name
)
