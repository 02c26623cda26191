"""In the process of an actor: the strand of its calls, and the way back through it.

A gradient's first call with watched operands begins a strand, which stays open until the gradient's
function has returned. Each call notes a receipt of its operands before it runs, and afterwards that
its result was sent; what the method leaves in the actor is watched, as in one process.

Going back, each cotangent that comes is answered by those of operands that it has set free: see
`passes`. Where a process ends, another one is told to play the same.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from zyg.actors.failures import lost, refused, shared
from zyg.actors.passes import Pass, operands_pullback, result_pullback
from zyg.actors.states import State, digest
from zyg.base.config import under
from zyg.base.containers import Engine
from zyg.base.quiet import SILENT, errors_now, set_errors
from zyg.core.duals import DualStrand
from zyg.core.running import enter, judge, pause
from zyg.core.strand import active
from zyg.core.trace import Call, Trace
from zyg.errors import ZygError
from zyg.ranks.cargo import Moving, stow
from zyg.ranks.failures import quoted
from zyg.ranks.messages import handed_on
from zyg.tasks.recipes import own, plain
from zyg.tasks.shipping import demand_version, filled

# The class of an actor


def hosted(cls: type, name: str = "") -> type:
    """A subclass of an actor's class that takes calls of gradients, too.

    With a name, its instances are made by `zyg_play`.
    """
    made: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        **{f.__name__: f for f in MESSAGES},
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
    if host.running:
        return
    if host.life is not None:
        raise shared(name, "a program outside")
    host.touched = True


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
        self.touched = False  # by a call of a program outside, since the last gradient began
        self.turn = Lock()

    def begin(self, token: str, dual: bool, again: bool = False) -> Life:
        """The part of a gradient that is here from now on."""
        self.past, self.touched = True, False
        self.life = self.lives[token] = Life(token, dual, again)
        return self.life

    def life_of(self, token: str, number: int, name: str) -> Life:
        """That of a gradient whose call comes."""
        life = self.life
        if life is not None and life.token != token:
            raise shared(name, "another gradient")
        if life is None or life.count != number:
            raise lost(name)
        return life

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

    def __init__(self, value: Any, error: Any = None, made: int | None = None) -> None:
        self.value, self.error, self.digest = value, error, made
        self.said = "" if error is None else "".join(traceback.format_exception(error))


def zyg_open(self: Any, asked: str, token: str, dual: bool, keeps: bool) -> tuple[Any, Any]:
    """Begin with a gradient: the state from before, if it is to be kept, or why it cannot be."""
    demand_version(asked)
    host = host_of(self)
    if host.life is not None:
        raise shared(type(self).__name__, "another gradient")
    state = error = None
    if keeps:
        try:
            state = State(self, _HOST)
        except Exception as raised:
            error = quoted(raised)
    host.begin(token, dual)
    return state, error


def zyg_call(self: Any, asked: str, token: str, number: int, *given: Any) -> Reply:
    """Run a method for a gradient."""
    demand_version(asked)
    host, name = host_of(self), given[1].name
    with host.alone(self, name):
        return host.life_of(token, number, name).call(self, *given)


def zyg_play(
    self: Any, asked: str, token: str, dual: bool, again: bool, first: Any, *given: Any
) -> None:
    """Be the actor that a gradient has begun with: by its first call, or by its state.

    Where that is `again`, what has been called of it since comes then.
    """
    demand_version(asked)
    zyg_end(self, token)
    host = host_of(self)
    if host.life is not None or host.touched:  # while it was started again
        raise shared(type(self).__name__, "somebody else")
    life = host.begin(token, dual, again)
    with host.alone(self, type(self).__name__):
        vars(self).clear()
        if isinstance(first, State):
            first.put(self)
        object.__setattr__(self, _HOST, host)
        if isinstance(first, State):
            return
        reply = life.call(self, *first, *given)
    if reply.error is not None:
        raise reply.error


def zyg_begin(self: Any, *given: Any) -> None:
    """Make the actor itself."""
    zyg_play(self, *given)


def zyg_back(self: Any, token: str, total: int, name: str, *given: Any) -> Reply:
    """Take the cotangents of a result; those of operands that are known by then, by calls.

    `total` is how many calls the gradient has made.
    """
    zyg_close(self, token)
    life = host_of(self).lives.get(token)
    if life is None or life.count != total:
        raise lost(name)
    try:
        return Reply(life.back(*given))
    except Exception as error:
        return Reply(None, _sendable(error))


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


MESSAGES = zyg_open, zyg_call, zyg_play, zyg_back, zyg_close, zyg_end, zyg_read


is_made_again: ContextVar[bool] = ContextVar("zyg_is_made_again", default=False)


@contextmanager
def made_again(is_so: bool) -> Iterator[None]:
    """While an actor runs that was lost, and is made again."""
    before = is_made_again.set(is_so)
    try:
        yield
    finally:
        is_made_again.reset(before)


class Method:
    """The name of a method, in the place of a recipe's function."""

    def __init__(self, name: str, shown: str) -> None:
        self.method, self.__name__ = name, shown


# One gradient


class Life(Engine):
    """The calls of an actor in one gradient, or in forward mode, whose tangents are here."""

    def __init__(self, token: str, dual: bool, again: bool) -> None:
        self.token, self.again = token, again
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
            with under(options), made_again(self.again):
                marked, leaves = stow(
                    strand, self._value(actor, recipe, values, filled(constants, given))
                )
        except Exception as raised:
            error = _sendable(raised)
            if strand.dual and isinstance(raised, ZygError):
                self.refusal = error
        sent = recipe.name, number, [x.slot for x in leaves]
        strand.note((None, None, result_pullback, None, sent))
        return Reply(marked, error, digest(marked if error is None else type(error)))

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

    def back(self, pass_: str, strong: bool, number: int, bars: list[Any]) -> dict[int, list[Any]]:
        """Take the cotangents of a result in one pass; what that sets free."""
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
