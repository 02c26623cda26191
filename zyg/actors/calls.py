"""In the process of who calls an actor: the entries of its calls.

A call under a gradient has a strand of its own here, as a task has. On that stands one entry, which
always runs on the way back: it sends the cotangents of the result to the actor, or that there are
none, and waits for those of the operands. The actor has these once it has stepped back through all
of its later calls, so each call asks for itself, and whichever answer comes brings what is known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import RLock
from typing import Any

from zyg.actors.failures import refused
from zyg.actors.host import Method, is_made_again
from zyg.actors.sessions import Remote, sessions, token_of
from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.core.duals import finds_pattern
from zyg.core.entries import Kind, kinds
from zyg.core.exchange import bring
from zyg.core.questions import is_traced
from zyg.core.reverse import Later, Run
from zyg.core.strand import Strand, active, child, is_watched, local, note_refusal, settle
from zyg.errors import ZygError
from zyg.ranks.cargo import opened, operand, taken
from zyg.ranks.messages import handed_on, unmoved
from zyg.tasks.arrivals import give
from zyg.tasks.executors import fitting, submitter
from zyg.tasks.recipes import in_task, same
from zyg.tasks.shipping import demand_globals, version


def demand_callable(name: str) -> None:
    """Refuse a call where it would be made a second time for its derivative."""
    where = ""
    if in_task.get():
        where = "by a task of a gradient"
    elif any(s.confined is not None for s in active.get()):
        where = "inside of zyg.checkpoint, or of a solver with a rule"
    elif is_made_again.get():
        where = "by an actor of a gradient that was lost, and is made again"
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
    first = settings(), recipe, _sent(own, values), constants
    actor, remote = make(version(), token_of(strand), strand.dual, False, first)
    ActorCall(remote, name, own, values).begin_life(first)
    return actor


def _on_its_own(strand: Strand, name: str, operands: Sequence[Any]) -> tuple[Strand, list[Any]]:
    """A strand for a call, and the operands on it."""
    made = child(local(strand), name, False)
    return made, [bring(made, settle(x)) for x in operands]


def _sent(strand: Strand, operands: Sequence[Any]) -> list[Any]:
    """Operands as they are sent, perhaps again: nobody writes to them."""
    sent = [*map(operand, operands)]
    return copy.deepcopy(sent) if strand.dual else sent


def _strand_of(name: str, operands: Sequence[Any]) -> Strand | None:
    """The strand that watches operands, if any does; refuses what has no adjoint."""
    operands = [*map(settle, operands)]
    strands = {x.strand.level: x.strand for x in operands if is_watched(x)}
    if len(strands) > 1 or any(is_watched(settle(x.primal)) for x in operands if is_watched(x)):
        raise refused(name, "with values of several gradients", _FIRST, _ONCE)
    strand = next(iter(strands.values()), None)
    if strand is not None and finds_pattern(strand):
        raise refused(name, "where a pattern of zeros is found", _FIRST, _ONCE)
    return strand


_FIRST = "an actor's calls have first derivatives only."
_ONCE = "take zyg.gradient, zyg.pullback or zyg.pushforward, once."


class ActorCall(Future[Any], Engine):
    """A call of an actor under a gradient: the future of its value, watched where it is."""

    def __init__(self, remote: Remote, name: str, strand: Strand, operands: Sequence[Any]) -> None:
        super().__init__()
        self.name, self.strand, self.operands = name, strand, operands
        self.what = f"{name}, called by {submitter()}"
        self.slots: tuple[Any, ...] = ()
        self.lock = RLock()
        self.noted = self.told = False
        self.value: Any = None
        self.session = sessions.of(remote, strand)

    @property
    def _raw(self) -> Any:
        """What the engine has made of it."""
        return self.logged.raw

    def begin(self, recipe: Any, constants: Any) -> ActorCall:
        """Have the actor run it, in the order of the numbers of calls."""
        given = settings(), recipe, _sent(self.strand, self.operands), constants
        with self.session.changed:
            self.logged = self.session.call(self, given)
            self._note_begun()
        return self

    def begin_life(self, first: Any) -> None:
        """It is the call that makes the actor, which has no reply."""
        self.logged = self.session.born(self, first)
        self._note_begun()
        self.set_result(None)

    def _note_begun(self) -> None:
        """Once the call has been sent: what could not be is none of the gradient."""
        self.strand.note((None, None, call_pullback, None, (self,)))

    def arrive(self, reply: Any, error: BaseException | None) -> None:
        """Its reply has come, or an error of the engine's."""
        noted = any(note.startswith(_BY) for note in getattr(error, "__notes__", ()))
        if not (error is None or noted or isinstance(error, ZygError)):
            error.add_note(_BY + self.what)
        give(self, reply, error)

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


_BY = "zyg: raised by "


def call_pullback(run: Run, call: ActorCall) -> Any:
    """The cotangents of a result go to the actor, and those of the operands come from there."""
    bars = taken(run.bars, call.slots)
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
