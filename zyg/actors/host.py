"""In the process of an actor: the strand of its calls, and the way back through it.

A gradient's first call with watched operands begins a strand, which stays open until the gradient's
function has returned. Each call notes a receipt of its operands before it runs, and afterwards that
its result was sent; what the method leaves in the actor is watched, as in one process.

Going back, a thread steps through the strand, and waits where the result of a call was sent until
its caller has sent the cotangent, or that there is none. So it does not matter in which order these
come. Each that comes is answered by the cotangents of operands that it has set free.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, ContextVar
from threading import Condition, Lock, Thread
from typing import Any
from uuid import uuid4

from zyg.actors.failures import lost, refused, shared
from zyg.base.config import under
from zyg.base.containers import Engine
from zyg.base.quiet import SILENT, errors_now, set_errors
from zyg.core.adjoint_tasks import reverse
from zyg.core.duals import DualStrand
from zyg.core.entries import Kind, kinds
from zyg.core.overwritten import demand_unwritten
from zyg.core.reverse import Later, Run
from zyg.core.running import enter, judge, pause
from zyg.core.strand import active
from zyg.core.trace import Call, Trace
from zyg.errors import ZygError
from zyg.ranks.cargo import Moving, stow, taken
from zyg.ranks.messages import handed_on, unmoved
from zyg.tasks.recipes import own, plain
from zyg.tasks.shipping import demand_version, filled

# The class of an actor


def hosted(cls: type, name: str = "") -> type:
    """A subclass of an actor's class that takes calls of gradients, too.

    With a name, its instances are made by a call of a gradient.
    """
    made: dict[str, Any] = {
        "__slots__": (_HOST,),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        **{f.__name__: f for f in (zyg_call, zyg_back, zyg_close, zyg_end, zyg_read)},
    }
    for key, f in inspect.getmembers(cls, inspect.isfunction):
        static = isinstance(inspect.getattr_static(cls, key), staticmethod)
        if not static and not key.startswith("__") and not inspect.iscoroutinefunction(f):
            made[key] = _generating(f) if inspect.isgeneratorfunction(f) else _guarded(f)
    if name:
        made["__init__"] = zyg_begin
    return type(cls)(cls.__name__, (cls,), made)


_HOST = "_zyg_host"


def _guarded(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        demand_free(self, f.__qualname__)
        return unwatched(self, f(self, *args, **kwargs))

    return method


def _generating(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def method(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        demand_free(self, f.__qualname__)
        for value in f(self, *args, **kwargs):
            yield unwatched(self, value)

    return method


def demand_free(actor: Any, name: str) -> None:
    """Refuse a call that is not one of the gradient that has the actor."""
    host = host_of(actor)
    if host.life is not None and not host.running:
        raise shared(name, "a program outside")


def unwatched(actor: Any, value: Any) -> Any:
    """What a method gives to who is outside, where a gradient that has ended may have left it."""
    host = host_of(actor)
    return plain(value) if host.past and not host.running else value


class Host(Engine):
    """What an actor has of gradients: the one that calls it, and those whose function has ended."""

    def __init__(self) -> None:
        self.life: Life | None = None
        self.lives: dict[str, Life] = {}
        self.past = self.running = False
        self.turn = Lock()

    def life_of(self, token: str, number: int, name: str, operands: Sequence[Any]) -> Life:
        """The part of a gradient that is here, which its first call begins, with operands."""
        life = self.life
        if life is not None and life.token != token:
            raise shared(name, "another gradient")
        if number != (0 if life is None else life.count):
            raise lost(name)
        if life is not None:
            return life
        self.past = True
        dual = any(isinstance(x, Moving) for x in operands)
        self.life = self.lives[token] = Life(token, dual)
        return self.life

    @contextmanager
    def alone(self, actor: Any, name: str) -> Iterator[None]:
        """While one call runs; several at a time, and those of a loop, are refused."""
        looping = inspect.getmembers(type(actor), inspect.iscoroutinefunction)
        if looping or not self.turn.acquire(blocking=False):
            raise refused(
                name,
                "under a gradient",
                "the actor runs several calls at a time, so that their steps are not in one order.",
                "make an actor without async methods, and without max_concurrency.",
            )
        try:
            self.running = True
            yield
        finally:
            self.running = False
            self.turn.release()


def host_of(actor: Any) -> Host:
    """The host of an actor."""
    try:
        return object.__getattribute__(actor, _HOST)  # type: ignore[no-any-return]
    except AttributeError:
        host = Host()
        object.__setattr__(actor, _HOST, host)
        return host


# What callers ask for


class Reply:
    """The answer to a call: the value, whose watched parts are marked, or an error."""

    def __init__(self, started: str, value: Any, error: Any = None) -> None:
        self.started, self.value, self.error = started, value, error
        self.said = "" if error is None else "".join(traceback.format_exception(error))


def zyg_call(self: Any, asked: str, token: str, number: int, *given: Any) -> Reply:
    """Run a method for a gradient."""
    demand_version(asked)
    host, name = host_of(self), given[1].name
    with host.alone(self, name):
        return host.life_of(token, number, name, given[2]).call(self, *given)


def zyg_begin(self: Any, *given: Any) -> None:
    """Make the actor itself, for a gradient."""
    reply = zyg_call(self, *given)
    if reply.error is not None:
        raise reply.error


def zyg_back(self: Any, token: str, started: str, name: str, *given: Any) -> Reply:
    """Take the cotangents of a result; those of operands that are known by then, by calls."""
    zyg_close(self, token)
    life = host_of(self).lives.get(token)
    if life is None or started not in ("", life.started):
        raise lost(name)
    try:
        return Reply(life.started, life.back(name, *given))
    except Exception as error:
        return Reply(life.started, None, _sendable(error))


def zyg_close(self: Any, token: str) -> None:
    """The function of a gradient has returned."""
    host = host_of(self)
    if host.life is not None and host.life.token == token:
        host.life.trace.strand.close()
        host.life = None


def zyg_end(self: Any, token: str) -> None:
    """Let go of what a gradient kept."""
    zyg_close(self, token)
    life = host_of(self).lives.pop(token, None)
    if life is not None:
        life.end()


def zyg_read(self: Any, name: str) -> Any:
    """An attribute of the actor, outside of a gradient."""
    demand_free(self, name)
    return unwatched(self, getattr(self, name))


class Method:
    """The name of a method, in the place of a recipe's function."""

    def __init__(self, name: str, shown: str) -> None:
        self.method, self.__name__ = name, shown


# One gradient


class Life(Engine):
    """The calls of an actor in one gradient, or in forward mode, whose tangents are here."""

    def __init__(self, token: str, dual: bool) -> None:
        self.token, self.started = token, uuid4().hex
        self.trace: Call = (
            Call(DualStrand(), _calls, (), {}, "protected", run=False)
            if dual
            else Trace(_calls, (), {}, run=False)
        )
        self.count = 0
        # What later calls of forward mode raise, as nobody may have asked for it.
        self.refusal: BaseException | None = None
        self.passes: dict[str, Pass] = {}

    def call(
        self,
        actor: Any,
        options: Any,
        recipe: Any,
        operands: Sequence[Any],
        constants: Any,
        *given: Any,
    ) -> Reply:
        """Run a call, with its operands watched; an engine has filled in what is given."""
        strand, number = self.trace.strand, self.count
        self.count += 1
        marked, leaves, error = None, list[Any](), None
        if strand.dual:
            moving = [
                Moving(v, x.tangents)
                for v, x in zip(own([x.value for x in operands]), operands, strict=True)
            ]
            values = [x.watched(strand) for x in moving]
        else:
            slots = tuple([strand.new_slot() for _ in operands])
            strand.note((None, None, operands_pullback, None, (recipe.name, number, slots)))
            values = handed_on(strand, own(operands), slots)
        try:
            if self.refusal is not None:
                raise self.refusal
            with under(options):
                marked, leaves = stow(
                    strand, self._value(actor, recipe, values, filled(constants, given))
                )
        except Exception as raised:
            error = _sendable(raised)
            if strand.dual and isinstance(raised, ZygError):
                self.refusal = error
        sent = recipe.name, number, [x.slot for x in leaves]
        strand.note((None, None, result_pullback, None, sent))
        return Reply(self.started, marked, error)

    def _value(self, actor: Any, recipe: Any, values: Any, constants: Any) -> Any:
        strand, around, errors = self.trace.strand, active.get(), errors_now()
        try:
            enter(strand, around)
            f, args, kwargs = recipe.opened(values, constants)
            run = _maker(actor) if f.method == "__init__" else getattr(actor, f.method)
            value = self.trace.numbers_of(run(*args, **kwargs))
        finally:
            pause(strand, around)
            if errors_now() is SILENT:  # as an interrupted `quiet` may have left it
                set_errors(errors)
        if strand.kin.refused or strand.kin.family or strand.memory.elements:
            judge(strand)
        return value

    def back(
        self, name: str, pass_: str, strong: bool, total: int, number: int, bars: list[Any]
    ) -> dict[int, list[Any]]:
        """Take the cotangents of a result in one pass; what that sets free."""
        if total != self.count:
            raise shared(name, "somebody else")
        going = self.passes.get(pass_)
        if going is None:
            going = self.passes[pass_] = Pass(self.trace.strand, strong)
        answers = going.deliver(number, bars)
        if going.ended:
            del self.passes[pass_]
        return answers

    def end(self) -> None:
        """Let go of the strand; a pass that waits ends."""
        for going in self.passes.values():
            going.abandon()
        self.trace.close()


def _maker(actor: Any) -> Any:
    """What makes an actor, of the user's class: that behind the one that gradients make."""
    ours: Any = next(c for c in type(actor).__mro__ if vars(c).get("__init__") is zyg_begin)
    return super(ours, actor).__init__


def _calls() -> None:
    """The function that the strand is of."""


def _sendable(error: Exception) -> Exception:
    """An error, or one that says the same where it cannot be pickled."""
    try:
        pickle.dumps(error)
    except Exception:
        return RuntimeError("".join(traceback.format_exception_only(error)).strip())
    return error


# The way back

_passing: ContextVar[Pass] = ContextVar("zyg_passing")


class Pass(Engine):
    """One pass back through the strand of an actor, by a thread."""

    def __init__(self, strand: Any, strong: bool) -> None:
        self.strand, self.strong = strand, strong
        self.changed = Condition()
        self.given: dict[int, Future[Any]] = {}  # cotangents of results, by the calls' numbers
        self.answers: dict[int, list[Any]] = {}
        self.waiting: int | None = None  # for the cotangents of which call
        self.thread: Thread | None = None
        self.ended = False
        self.error: BaseException | None = None

    def deliver(self, number: int, bars: list[Any]) -> dict[int, list[Any]]:
        """Go on with the cotangents of a result, as far as others do not lack."""
        self.asked(number).set_result(bars)
        with self.changed:
            if self.waiting == number:
                self.waiting = None
        if self.thread is None:
            self.thread = Thread(target=Context().run, args=(self._run,), daemon=True)
            self.thread.start()
        with self.changed:
            while self.waiting is None and not self.ended:
                self.changed.wait()
            answers, self.answers = self.answers, {}
        if self.error is not None:
            raise self.error
        return answers

    def asked(self, number: int) -> Future[Any]:
        """The future of the cotangents of a result."""
        with self.changed:
            return self.given.setdefault(number, Future())

    def await_(self, number: int) -> Future[Any]:
        """The same, where nothing goes on without it."""
        future = self.asked(number)
        with self.changed:
            if not future.done():
                self.waiting = number
                self.changed.notify_all()
        return future

    def abandon(self) -> None:
        """Nobody will send what is waited for."""
        for future in [*self.given.values()]:
            future.cancel()

    def _run(self) -> None:
        _passing.set(self)
        set_errors(SILENT)  # a warning would name a line that is not the user's
        try:
            demand_unwritten(self.strand.level_strands(), ())
            reverse(self.strand, (), self.strong)
        except BaseException as error:
            self.error = error
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify_all()


def operands_pullback(run: Run, name: str, number: int, slots: Sequence[Any]) -> Any:
    """The cotangents of the operands of a call are answered to its caller."""
    _passing.get().answers[number] = taken(run.bars, slots)
    return ()


def result_pullback(run: Run, name: str, number: int, slots: Sequence[Any]) -> Any:
    """The cotangents of what was sent come from the caller."""
    return Later(_passing.get().await_(number), functools.partial(_arrived, slots))


def _arrived(slots: Sequence[Any], bars: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(slot, c) for slot, c in zip(slots, bars, strict=False) if c is not None]


kinds[operands_pullback] = Kind(lambda *_: [], None, lambda name, *_: f"{name}, of its arguments")
kinds[result_pullback] = Kind(lambda _, __, slots: [*slots], unmoved, lambda name, *_: name)
