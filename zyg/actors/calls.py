"""In the process of who calls an actor: the entries of its calls.

A call under a gradient has a strand of its own here, as a task has. On that stands one entry, which
always runs on the way back: it sends the cotangents of the result to the actor, or that there are
none, and waits for those of the operands. The actor has these once it has stepped back through all
of its later calls, so each call asks for itself, and whichever answer comes brings what is known.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary, finalize

from zyg.actors.failures import gone, refused
from zyg.actors.host import Method
from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.core.duals import DualStrand
from zyg.core.entries import Kind, kinds
from zyg.core.exchange import bring
from zyg.core.questions import is_traced
from zyg.core.reverse import Later, Run
from zyg.core.strand import Strand, active, child, is_watched, local, note_refusal, settle
from zyg.errors import ZygError
from zyg.ranks.cargo import opened, operand
from zyg.ranks.messages import handed_on, taken, unmoved
from zyg.tasks.arrivals import give
from zyg.tasks.executors import fitting, submitter
from zyg.tasks.recipes import in_task, same
from zyg.tasks.shipping import demand_globals, version

_process = uuid4().hex


class Remote(Engine):
    """How an actor is reached: what an engine gives. `key` is the actor's own."""

    key: Any
    class_name: str

    def ask(self, what: str, *args: Any) -> tuple[Any, Future[Any]]:
        """Have a method of `host` run: what the engine makes of that, and the future of its value.

        They run in the order in which they are asked for.
        """
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
        levels = {level for (key, level), x in known if key == remote.key and x.calls}
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


class Session(Engine):
    """One gradient, as one actor has it."""

    def __init__(self, remote: Remote, strand: Strand) -> None:
        self.remote, self.root = remote, strand.level_strands()[0]
        self.token = token_of(strand)
        self.calls = 0
        self.started = ""  # by which the actor's process tells itself from one in its place
        self.closed = False
        self.passes: dict[str, Asked] = {}
        # By passes, and numbers of calls: what waits, and whether a cotangent was given by then.
        self.waiting: dict[tuple[str, int], tuple[Future[Any], bool]] = {}
        self.lock = RLock()

    def count(self) -> int:
        """The number of a call that has been sent, the next one; the actor has heard of this."""
        if not self.calls:
            endings.begin()
            finalize(self, endings.queue.put, (self.remote, self.token)).atexit = False
        self.calls += 1
        return self.calls - 1

    def close(self) -> None:
        """The function has returned: the actor is free."""
        if not self.closed:
            self.closed = True
            self.remote.ask("zyg_close", self.token)

    def ask(self, run: Run, call: ActorCall, bars: list[Any]) -> Future[Any]:
        """Send the cotangents of a result: the future of those of the operands."""
        pass_ = f"{_process}-{os.getpid()}-{run.number}"
        future, gives = Future[Any](), any(c is not None for c in bars)
        with self.lock:
            asked = self.passes.setdefault(pass_, Asked())
            asked.calls += 1
            asked.gave |= gives
            if asked.calls == self.calls:
                del self.passes[pass_]
            self.waiting[pass_, call.number] = future, asked.gave
        self.closed = True  # what is sent says so
        given = pass_, run.strong, self.calls, call.number, bars
        lost = functools.partial(self._lost, pass_, asked, call.name)
        try:
            if asked.lost is not None:
                raise asked.lost
            _, reply = self.remote.ask("zyg_back", self.token, self.started, call.name, *given)
        except Exception as error:
            lost(error)
        else:
            reply.add_done_callback(functools.partial(self._answered, pass_, call.name, lost))
        return future

    def _answered(self, pass_: str, name: str, lost: Any, done: Future[Any]) -> None:
        try:
            reply = done.result()
        except BaseException as error:
            lost(error)
            return
        if reply.error is not None:
            raised = self.remote.raised(f"the adjoint of {name}", reply.error, reply.said)
            for future, _ in self._waiting(pass_):
                give(future, None, raised)
            return
        with self.lock:
            both = [(self.waiting.pop((pass_, k), None), y) for k, y in reply.value.items()]
        for waits, found in both:
            if waits is not None:
                give(waits[0], found)

    def _lost(self, pass_: str, asked: Asked, name: str, error: BaseException) -> None:
        """An actor that is gone gives nothing back; an error, where it was given something."""
        refusal = isinstance(error, ZygError)
        asked.lost, raised = error, error if refusal else gone(name, error)
        for future, gave in self._waiting(pass_):
            give(future, (), raised if refusal or gave else None)

    def _waiting(self, pass_: str) -> list[tuple[Future[Any], bool]]:
        """What waits in a pass, and does so no longer."""
        with self.lock:
            keys = [key for key in self.waiting if key[0] == pass_]
            return [self.waiting.pop(key) for key in keys]


class Asked:
    """What has been asked of an actor in one pass."""

    def __init__(self) -> None:
        self.calls = 0  # that have asked
        self.gave = False  # whether one of them gave a cotangent
        self.lost: BaseException | None = None  # the error, if the actor is gone


def token_of(strand: Strand) -> str:
    """What names a gradient to actors."""
    return f"{_process}-{os.getpid()}-{strand.level}"


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


Ship = Callable[..., tuple[Any, list[Any], list[Any]]]


def called(
    remote: Remote, cls: type | None, name: str, ship: Ship, args: Any, kwargs: Any, count: Any = 1
) -> ActorCall | None:
    """The call of a method, if a gradient has to do with it; `ship` is the engine's.

    `count` is how many values the engine was asked for.
    """
    shown = f"{remote.class_name}.{args[0] if name == '__getattribute__' else name}"
    demand_callable(shown)
    if not active.get():
        sessions.close_ended(remote)
        return None
    recipe, operands, constants = ship(Method(name, shown), args, kwargs)
    strand = _strand_of(shown, operands) or sessions.strand_here(remote)
    if strand is None:
        return None
    if count != 1:
        raise refused(
            shown,
            f"with num_returns={count!r} under a gradient",
            "its value is watched as one.",
            "leave that out, and take the value apart.",
        )
    demand_globals(shown, getattr(cls, name, None))
    return ActorCall(remote, shown, *_on_its_own(strand, shown, operands)).begin(recipe, constants)


def born(
    cls: type, ship: Ship, args: Any, kwargs: Any, make: Callable[..., tuple[Any, Remote]]
) -> Any:
    """An actor that is made of watched values, by `make`; None if there are none."""
    name = cls.__name__
    recipe, operands, constants = ship(Method("__init__", name), args, kwargs)
    strand = _strand_of(name, operands)
    if strand is None:
        return None
    demand_callable(name)
    own, values = _on_its_own(strand, name, operands)
    given = token_of(strand), 0, settings(), recipe, [*map(operand, values)], constants
    actor, remote = make(version(), *given)
    ActorCall(remote, name, own, values).begin_life()
    return actor


def _on_its_own(strand: Strand, name: str, operands: Sequence[Any]) -> tuple[Strand, list[Any]]:
    """A strand for a call, and the operands on it."""
    made = child(local(strand), name, False)
    return made, [bring(made, settle(x)) for x in operands]


def _strand_of(name: str, operands: Sequence[Any]) -> Strand | None:
    """The strand that watches operands, if any does; refuses what has no adjoint."""
    operands = [*map(settle, operands)]
    strands = {x.strand.level: x.strand for x in operands if is_watched(x)}
    if len(strands) > 1 or any(is_watched(settle(x.primal)) for x in operands if is_watched(x)):
        raise refused(name, "with values of several gradients", _FIRST, _ONCE)
    strand = next(iter(strands.values()), None)
    if strand is not None and strand.dual and not isinstance(strand, DualStrand):
        raise refused(name, "where a pattern of zeros is found", _FIRST, _ONCE)
    return strand


_FIRST = "an actor's calls have first derivatives only."
_ONCE = "take zyg.gradient, zyg.pullback or zyg.pushforward, once."


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

    def begin(self, recipe: Any, constants: Any) -> ActorCall:
        """Have the actor run it, in the order of the numbers of calls."""
        plain = [*map(operand, self.operands)]
        with self.session.lock:
            given = self.session.token, self.session.calls, settings(), recipe, plain, constants
            self._raw, reply = self.session.remote.ask("zyg_call", version(), *given)
            self._note_begun()
        reply.add_done_callback(self._arrive)
        return self

    def begin_life(self) -> None:
        """It is the call that makes the actor, which has no reply."""
        self._note_begun()
        self.set_result(None)

    def _note_begun(self) -> None:
        """Once the call has been sent: what could not be is none of the gradient."""
        self.number = self.session.count()
        self.strand.note((None, None, call_pullback, None, (self,)))

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
                self.value, self.noted = self._note_value(reply.value), True
        return self.value

    def _note_value(self, value: Any) -> Any:
        leaves, rebuild = opened(value)
        if not leaves:
            return value
        if self.strand.dual:
            return rebuild(
                [x.watched(self.strand) if self.strand.open else x.value for x in leaves]
            )
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
    watched = {k: x for k, x in enumerate(call.operands) if is_watched(x)}
    slots, values = [x.slot for x in watched.values()], [x.primal for x in watched.values()]

    def made(found: Any) -> list[tuple[Any, Any]]:
        return fitting(slots, values, [found[k] for k in watched]) if found else []

    return Later(call.session.ask(run, call, bars), made)


kinds[call_pullback] = Kind(
    lambda call: [x.slot for x in call.operands if is_watched(x)], unmoved, lambda call: call.name
)
