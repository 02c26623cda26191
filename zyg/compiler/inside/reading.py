"""From the source of a whole function, which may call zyg's verbs, to its program."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MethodType
from typing import Any

from zyg.base.registry import Adjoint
from zyg.base.words import Closed
from zyg.compiler.callbacks import Find, call_back
from zyg.compiler.front import whole
from zyg.compiler.front.captures import Captures, Outside
from zyg.compiler.front.dispatch import name_of, rule_for
from zyg.compiler.front.limits import composed_text
from zyg.compiler.front.sequences import TooLong
from zyg.compiler.front.structures import Dead
from zyg.compiler.front.whole import Whole, WholeCaptures, WholeInterpreter
from zyg.compiler.front.whole_values import WholeCalls
from zyg.compiler.inside import closed, verbs
from zyg.compiler.kinds import Kind
from zyg.errors import KernelError

_UNROLLED = 3000, 0, math.inf  # operations of ranges that are read one by one: what is tried


class Tried:
    """Functions, with what was said when they were read; by identity, methods by their owner's."""

    def __init__(self) -> None:
        self._said: dict[Any, tuple[Any, Exception]] = {}

    def add(self, f: Any, error: Exception) -> None:
        self._said[_identity(f)] = f, error

    def remove(self, f: Any) -> None:
        del self._said[_identity(f)]

    def __contains__(self, f: Any) -> bool:
        return _identity(f) in self._said

    def __iter__(self) -> Iterator[tuple[Any, Exception]]:
        return iter(self._said.values())


def _identity(f: Any) -> Any:
    return (id(f.__self__), id(f.__func__)) if isinstance(f, MethodType) else id(f)


def interpreter(
    captures: Captures, find: Find | None = None, outside: Tried | None = None
) -> tuple[WholeInterpreter, Calls]:
    """What reads whole functions, and its calls, among which are those of zyg's verbs."""
    made = WholeInterpreter(captures)
    made.calls = calls = Calls(made, find, outside or Tried())
    return made, calls


def read_whole(
    f: Callable[..., Any], kinds: Sequence[Kind], keywords: Mapping[str, Kind], captures: Captures
) -> Whole:
    """The program of `f` for arguments of these kinds: see `front.whole`."""
    return whole.read_whole(f, kinds, keywords, captures, interpreter(captures)[0])


def _read_text(f: Callable[..., Any], kinds: Sequence[Kind]) -> Whole:
    """The program of a text of ours, for arrays of any size."""
    return read_whole(f, kinds, {}, WholeCaptures(lambda x: x, assuming=False))


def read_calling_back(
    f: Callable[..., Any],
    kinds: Sequence[Kind],
    keywords: Mapping[str, Kind],
    captures: Callable[[], Captures],
    find: Find,
) -> tuple[Whole, Tried]:
    """The same, and the functions that it calls back.

    What cannot be read stays in Python, if it may: the innermost of the functions in which reading
    has failed. Then all is read again. So it is where short ranges become too long one by one:
    they are loops then, unless the function cannot be read so.
    """
    outside, refused = Tried(), Tried()
    first: Exception | None = None
    limits = iter(_UNROLLED)
    limit = next(limits)
    while True:
        made = captures()
        made.most_unrolled = limit
        reader, calls = interpreter(made, find, outside)
        try:
            return whole.read_whole(f, kinds, keywords, made, reader), outside
        except Exception as error:
            if isinstance(error, TooLong) or limit == 0:
                limit = next(limits)
                continue
            first = first if first or isinstance(error, Stays) else error
            if not _leave_one(calls.failed[:-1], error, find, outside, refused):
                raise first or error from None
            limits = iter(_UNROLLED)
            limit = next(limits)


def _leave_one(
    failed: Sequence[Any], error: Exception, find: Find, outside: Tried, refused: Tried
) -> bool:
    """Leave the first of these functions in Python that may stay there; whether there is one."""
    for g in failed:
        if g in outside:  # it may not
            outside.remove(g)
            refused.add(g, error)
        elif g not in refused and find.may_stay(g):
            outside.add(g, error)
            return True
    return False


class Stays(KernelError):  # noqa: N818 - an answer
    """A function that is never read: it is left in Python from now on."""


class Calls(WholeCalls):
    """What calls give, of zyg's verbs, too, and of what stays in Python."""

    def __init__(self, reader: WholeInterpreter, find: Find | None, outside: Tried) -> None:
        super().__init__(reader)
        self.find, self.outside = find, outside
        self.failed: list[Any] = []  # the calls in which reading fails, the innermost first
        self._level = self._failed_at = 0

    def call(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        value, path = (f.value, f.path) if isinstance(f, Outside) else (f, (("itself", f),))
        self._level += 1
        try:
            if self.find is not None and value in self.outside:
                back = functools.partial(call_back, self.reader, self.find, value, path)
                return self.flow.of_each_kind(back, args, kwargs)
            if verbs.is_verb(f):
                verb = functools.partial(verbs.called, self.reader, f)
                return self.flow.of_each_kind(verb, args, kwargs)
            if self.find is not None and self.find.stays(value):
                raise Stays(f"{name_of(value)} is not compiled here.", "it is called back.",
                            "call it outside.")  # fmt: skip
            if isinstance(value, Closed):
                return closed.call(self.reader, value, args, _read_text)
            return super().call(f, args, kwargs)
        except Dead:
            raise
        except Exception:
            if self._failed_at != self._level + 1:
                self.failed = []
            elif composed_text(value) is not None:  # a primitive in it is left instead
                self.failed = [f for f in self.failed[-1:] if isinstance(rule_for(f), Adjoint)]
            self.failed.append(value)
            self._failed_at = self._level
            raise
        finally:
            self._level -= 1

    def of_rule(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return verbs.of_rule(self.reader, f, args, kwargs)
