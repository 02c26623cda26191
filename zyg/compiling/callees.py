"""Functions that compiled ones call back: with the rules of the traced engine.

What a callee is run on are copies of the arguments, which it cannot write to. Its derivatives are
functions in the same sense: of its arguments and of cotangents or tangents, in the order in which
the numbers and arrays of floats are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from zyg.adoption.originals import drop_in, learn
from zyg.base.quiet import quiet
from zyg.base.registry import Adjoint
from zyg.compiler.callbacks import Callee, Held, reals
from zyg.compiler.front.kinds import Array, Kind, Scalar, Struct, put_together
from zyg.compiler.front.kinds import _taken_apart as taken_apart
from zyg.compiler.front.reader import _rule_of as rule_of
from zyg.compiling.fallback import with_drop_ins
from zyg.core.cotangents import project, spec_of
from zyg.core.reverse import non_finite
from zyg.core.strand import strip
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward


class InPython:
    """A function of arguments of these kinds, and its derivatives."""

    strict = False

    def __init__(self, name: str, takes: tuple[Kind, ...], gives: Kind) -> None:
        self.name, self.takes, self.gives = name, takes, gives
        self._leaves, self._bits, bit = reals(*takes), list[int](), 0
        for leaf in self._leaves:
            two = isinstance(leaf, Scalar) and leaf.type == "complex"
            self._bits.append(0b11 << bit if two else 1 << bit)
            bit += 1 + two

    def value(self, held: Held, which: int, args: Sequence[Any]) -> Any:
        """The result for plain arguments."""
        raise NotImplementedError

    def watched(self, args: Sequence[Any]) -> Any:
        """The result, for arguments of which some may be watched."""
        raise NotImplementedError

    def run(
        self, held: Held, call: int, keeps: bool, which: int, args: list[Any]
    ) -> tuple[Any, int]:
        if not keeps or not which:
            return self.value(held, which, args), 0
        y, back = self.derived(args, which)
        return y, held.add(call, back)

    def pullback(self) -> Callee:
        return _Pullback(self)

    def pushforward(self) -> Callee:
        return _Pushforward(self)

    def outside(self) -> Callee:
        return self

    def derived(self, args: Sequence[Any], which: int = -1) -> tuple[Any, Callable[..., Any]]:
        """The result, and the pullback by the leaves that `which` says, of bars in a row."""
        xs = self.real_parts(args)
        moving = [k for k, bits in enumerate(self._bits) if which & bits]
        whole: list[Any] = []

        def function(*those: Any) -> Any:
            whole[:] = [y := self.watched(self.with_parts(args, xs, moving, those))]
            return tuple(_reals_in(self.gives, y))

        found, back = pullback(function, *(xs[k] for k in moving))

        def cotangents(bars: Sequence[Any]) -> tuple[Any, ...]:
            made = dict(zip(moving, back(tuple(bars), zeros=True), strict=True))
            return tuple([made[k] if k in made else _zero(x) for k, x in enumerate(xs)])

        return _with_reals(self.gives, whole[0], iter(found)), cotangents

    def along(self, args: Sequence[Any], dots: Sequence[Any], which: int = -1) -> tuple[Any, ...]:
        """The tangents of the real parts of the result."""
        xs = self.real_parts(args)
        moving = [k for k, bits in enumerate(self._bits) if which & bits]

        def function(*those: Any) -> Any:
            y = self.watched(self.with_parts(args, xs, moving, those))
            return tuple(_reals_in(self.gives, y))

        primals, tangents = ([row[k] for k in moving] for row in (xs, dots))
        return pushforward(function, primals, tangents)[1]  # type: ignore[no-any-return]

    def real_parts(self, args: Sequence[Any]) -> list[Any]:
        pairs = zip(self.takes, args, strict=True)
        return [x for kind, arg in pairs for x in _reals_in(kind, arg)]

    def with_parts(
        self, args: Sequence[Any], xs: Sequence[Any], moving: Sequence[int], those: Sequence[Any]
    ) -> list[Any]:
        """The arguments, with others in the place of those real parts that move."""
        row = [*xs]
        for k, x in zip(moving, those, strict=True):
            row[k] = x
        found = iter(row)
        return [_with_reals(kind, x, found) for kind, x in zip(self.takes, args, strict=True)]


class Function(InPython):
    """A function of the user's, or one of a library that has a rule; `names` of the last arguments.

    `inside` is whether drop-ins are put in while it runs with watched arguments: of a helper.
    """

    strict = True

    def __init__(
        self, f: Any, names: tuple[str, ...], takes: tuple[Kind, ...], gives: Kind, inside: bool
    ) -> None:
        super().__init__(str(getattr(f, "__name__", type(f).__name__)), takes, gives)
        learn()
        self.function, self._names, self._inside = f, names, inside
        self._watched = f if inside else drop_in(f)
        self._rule = None if inside else self._usable(rule_of(f))
        self._real_places = [k for k, kind in enumerate(takes) if reals(kind)]

    def _usable(self, rule: Any) -> Any:
        """The rule, if it takes these arguments, and gives this result, as they are."""
        single = isinstance(self.gives, (Scalar, Array)) and bool(reals(self.gives))
        plain = not self._names and not any(isinstance(kind, Struct) for kind in self.takes)
        return rule if isinstance(rule, Adjoint) and single and plain and not rule.strong else None

    def derived(self, args: Sequence[Any], which: int = -1) -> tuple[Any, Callable[..., Any]]:
        if self._rule is None:
            return super().derived(args, which)
        y, back = self._rule.rule(*args)

        def cotangents(bars: Sequence[Any]) -> tuple[Any, ...]:
            with quiet():
                found = back(bars[0])
            made = self._by_leaf(found, args) if type(found) is tuple else None
            if made is None or any(map(non_finite, made)):  # which exact zeros may turn to zeros
                made = super(Function, self).derived(args, which)[1](bars)
            return made

        return y, cotangents

    def along(self, args: Sequence[Any], dots: Sequence[Any], which: int = -1) -> tuple[Any, ...]:
        if self._rule is not None and self._rule.push is not None:
            row: list[Any] = [None] * len(args)
            for k, dot, bits in zip(self._real_places, dots, self._bits, strict=True):
                row[k] = dot if which & bits else None
            with quiet():
                y_dot = self._rule.push(*args)[1](*row)
            if y_dot is not None and not non_finite(y_dot):
                return (y_dot,)
        return super().along(args, dots, which)

    def _by_leaf(self, found: tuple[Any, ...], args: Sequence[Any]) -> tuple[Any, ...]:
        """What a pullback has returned, in the row of the numbers and arrays of floats."""
        made = []
        for k in self._real_places:
            c, x = found[k] if k < len(found) else None, args[k]
            c = c() if callable(c) else c
            made.append(_zero(x) if c is None else project(c, spec_of(x)))
        return tuple(made)

    def value(self, held: Held, which: int, args: Sequence[Any]) -> Any:
        rule = self._rule
        if rule is not None and rule.standalone:
            return rule.rule(*args)[0]
        return called(self.function, args, self._names)

    def watched(self, args: Sequence[Any]) -> Any:
        around: AbstractContextManager[Any] = (
            with_drop_ins(self.function) if self._inside else nullcontext()
        )
        with around:
            return called(self._watched, args, self._names)

    def outside(self) -> Callee:
        return _Outside(self)


def called(f: Any, args: Sequence[Any], names: tuple[str, ...]) -> Any:
    """What a function gives, the last arguments of which have names."""
    first = len(args) - len(names)
    return f(*args[:first], **dict(zip(names, args[first:], strict=True)))


class _Outside(InPython):
    """The value of a function of which another derivative is taken: a rule is taken once."""

    strict = True

    def __init__(self, base: Function) -> None:
        super().__init__(base.name, base.takes, base.gives)
        self._base = base

    def value(self, held: Held, which: int, args: Sequence[Any]) -> Any:
        return self._base.value(held, which, args)

    def watched(self, args: Sequence[Any]) -> Any:
        return self._base.derived(args)[0]


class _Pullback(InPython):
    """The cotangents of the real parts of arguments, of those and of cotangents of the result."""

    def __init__(self, base: InPython) -> None:
        gives = Struct(tuple, (), tuple(reals(*base.takes)))
        takes = (*base.takes, *reals(base.gives))
        super().__init__(f"{base.name}_pullback", takes, gives)
        self._base = base

    def value(self, held: Held, which: int, args: Sequence[Any]) -> Any:
        if which > 0:
            return held[which](args[len(self._base.takes) :])
        return self.watched(args)

    def watched(self, args: Sequence[Any]) -> Any:
        first = len(self._base.takes)
        return self._base.derived(args[:first])[1](args[first:])


class _Pushforward(InPython):
    """The tangents of the real parts of the result, of arguments and of tangents of their parts."""

    def __init__(self, base: InPython) -> None:
        gives = Struct(tuple, (), tuple(reals(base.gives)))
        takes = (*base.takes, *reals(*base.takes))
        super().__init__(f"{base.name}_pushforward", takes, gives)
        self._base = base

    def value(self, held: Held, which: int, args: Sequence[Any]) -> Any:
        first = len(self._base.takes)
        return self._base.along(args[:first], args[first:], which)

    def watched(self, args: Sequence[Any]) -> Any:
        return self.value(Held(), -1, args)


def _parts_in(kind: Kind, x: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(kind, Struct):
        for part, inside in zip(kind.parts, taken_apart(x)[1], strict=True):
            yield from _parts_in(part, inside)
    elif isinstance(kind, (Scalar, Array)):
        yield kind, x


def _reals_in(kind: Kind, x: Any) -> Iterator[Any]:
    """The numbers and arrays of floats in something of a kind."""
    return (part for leaf, part in _parts_in(kind, x) if reals(leaf))


def _with_reals(kind: Kind, x: Any, found: Iterator[Any]) -> Any:
    """Something with other numbers and arrays of floats; the rest is what it was, plain."""
    if isinstance(kind, Struct):
        pairs = zip(kind.parts, taken_apart(x)[1], strict=True)
        parts = [_with_reals(part, inside, found) for part, inside in pairs]
        return put_together(kind.type, kind.keys, parts)
    is_real = isinstance(kind, (Scalar, Array)) and bool(reals(kind))
    return next(found) if is_real else strip(x)


def _zero(x: Any) -> Any:
    return np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0
