"""Functions that compiled ones call back, with the rules of the traced engine.

What one gives is found out by calling it once, on arguments of the kinds that it will have.

What a callee is run on are copies, which it cannot write to. Its derivatives are functions in the
same sense, of numbers and arrays: of those that it takes, and of cotangents or tangents of the real
ones.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import MethodType
from typing import Any

import numpy as np

from zyg.base.quiet import quiet
from zyg.base.registry import Adjoint, ScalarRule
from zyg.compiler.callbacks import HIDDEN, Callee, Held, Leaf, leaves_of, reals, whole_of
from zyg.compiler.front.captures import Path
from zyg.compiler.front.dispatch import rule_for as rule_of
from zyg.compiler.front.whole import WholeInterpreter
from zyg.compiler.ir import Atom, Value
from zyg.compiler.kinds import (
    Array,
    Kind,
    Scalar,
    Static,
    Struct,
    Unkind,
    dense_array,
    dtype_of,
    kind_of,
    leaves,
    taken_apart,
    width,
)
from zyg.compiling.fallback import with_drop_ins
from zyg.compiling.operands import floats
from zyg.compiling.staying import computes, is_helper, is_pure, is_ruled, stand_in, used_by
from zyg.core.cotangents import project, spec_of
from zyg.core.results import copied
from zyg.core.reverse import non_finite
from zyg.core.strand import is_watched, strip
from zyg.errors import KernelError
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

Back = Callable[[Sequence[Any]], Sequence[Any]]


class InPython:
    """A function of numbers and arrays, and its derivatives.

    `value` gives the results for plain arguments, `watched` for some that may be watched.
    """

    strict = False
    direct: Any = None
    value: Callable[[Held, int, Sequence[Any]], Sequence[Any]]
    watched: Callable[[Sequence[Any]], Sequence[Any]]

    def __init__(self, name: str, takes: Sequence[Leaf], gives: Sequence[Leaf]) -> None:
        self.name, self.takes, self.gives = name, takes, gives
        self._results = [k for k, leaf in enumerate(gives) if reals([leaf])]
        self.bits: dict[int, int] = {}  # of the real ones that it takes, in `which`
        bit = 1
        for k, leaf in enumerate(takes):
            if reals([leaf]):
                two = isinstance(leaf, Scalar) and leaf.type == "complex"
                self.bits[k] = bit * (3 if two else 1)
                bit <<= 1 + two

    def run(
        self, held: Held, call: int, keeps: bool, which: int, args: list[Any]
    ) -> tuple[Sequence[Any], int]:
        if not keeps or not which:
            return self.value(held, which, args), 0
        ys, back = self.derived(args, which)
        return ys, held.add(call, back)

    def leaves(self, y: Any) -> Sequence[Any]:
        return [y]

    def pullback(self) -> Callee:
        first, takes = len(self.takes), [*self.takes, *reals(self.gives)]

        def bars(held: Held, which: int, xs: Sequence[Any]) -> Sequence[Any]:
            back = held[which] if which > 0 else self.derived(xs[:first])[1]
            return back(xs[first:])

        return _Derivative(f"{self.name}_pullback", takes, reals(self.takes), bars)

    def pushforward(self) -> Callee:
        first, takes = len(self.takes), [*self.takes, *reals(self.takes)]

        def dots(held: Held, which: int, xs: Sequence[Any]) -> Sequence[Any]:
            return self.along(xs[:first], xs[first:], which)

        return _Derivative(f"{self.name}_pushforward", takes, reals(self.gives), dots)

    def outside(self) -> Callee:
        return self

    def derived(self, xs: Sequence[Any], which: int = -1) -> tuple[Sequence[Any], Back]:
        """The results, and the pullback by those that `which` says, of the bars of real results."""
        moving, function, ys = self._moving(xs, which)
        found, back = pullback(function, *(xs[k] for k in moving))

        def cotangents(bars: Sequence[Any]) -> Sequence[Any]:
            made = dict(zip(moving, back(tuple(bars), zeros=True), strict=True))
            return [made[k] if k in made else _zero(xs[k]) for k in self.bits]

        ys = [*map(strip, ys)]
        for k, y in zip(self._results, found, strict=True):
            ys[k] = y
        return ys, cotangents

    def along(self, xs: Sequence[Any], dots: Sequence[Any], which: int = -1) -> Sequence[Any]:
        """The tangents of the real results."""
        moving, function, _ = self._moving(xs, which)
        tangents = [dot for k, dot in zip(self.bits, dots, strict=True) if k in moving]
        return pushforward(function, [xs[k] for k in moving], tangents)[1]  # type: ignore[no-any-return]

    def _moving(self, xs: Sequence[Any], which: int) -> tuple[list[int], Any, list[Any]]:
        """Which arguments move, the function of those, and where it leaves all results."""
        moving, ys = [k for k, bits in self.bits.items() if which & bits], list[Any]()

        def function(*those: Any) -> Any:
            row = [*xs]
            for k, x in zip(moving, those, strict=True):
                row[k] = x
            ys[:] = self.watched(row)
            return tuple([ys[k] for k in self._results])

        return moving, function, ys


class Function(InPython):
    """A function of the user's, or one of a library that has a rule; `names` of the last arguments.

    `inside` is whether drop-ins are put in while it runs with watched arguments: of a helper.
    """

    strict = True

    def __init__(
        self, f: Any, names: tuple[str, ...], kinds: Sequence[Kind], result: Kind, inside: bool
    ) -> None:
        from zyg.adoption.originals import learn  # which much comes with

        takes = [leaf for kind in kinds for _, leaf in leaves(kind)]
        gives = [leaf for _, leaf in leaves(result)]
        super().__init__(str(getattr(f, "__name__", type(f).__name__)), takes, gives)
        learn()
        self._kinds, self._result, self._names = kinds, result, names
        self._alone = takes == [*kinds]  # each argument is a number or an array
        self._function, self._inside = f, inside
        self._watched = f if inside else stand_in(f)
        self._real = [k for k, kind in enumerate(kinds) if floats(kind, 0)]
        self._rule: Any = self._usable(None if inside else rule_of(f))
        rule = self._rule
        self._plain = (lambda *args: rule.rule(*args)[0]) if self._is_standalone() else f
        self.direct = self._plain, kinds, names, result

    def _usable(self, rule: Any) -> Any:
        """A rule that takes and gives these as they are; None otherwise."""
        if self._names or any(isinstance(kind, Struct) for kind in self._kinds):
            return None
        if not self._results:
            return None
        if isinstance(rule, ScalarRule):
            real = len(self._results) == len(self.gives) and all(
                leaf.element != "complex" for leaf in (*self.takes, *self.gives)
            )
            return rule if real and len(rule.partials) == len(self._kinds) else None
        return rule if isinstance(rule, Adjoint) and not rule.strong else None

    def derived(self, xs: Sequence[Any], which: int = -1) -> tuple[Sequence[Any], Back]:
        if self._rule is None:
            return super().derived(xs, which)
        args = self._args(xs)
        if isinstance(self._rule, ScalarRule):
            pairs = zip(self._real, self.bits.values(), strict=True)
            y, back = _of_elements(self._rule, args, [k for k, bits in pairs if which & bits])
        else:
            y, back = self._rule.rule(*args)
        ys = self.leaves(y)

        def cotangents(bars: Sequence[Any]) -> Sequence[Any]:
            row: list[Any] = [None] * len(self.gives)  # of ints there are none
            for k, bar in zip(self._results, bars, strict=True):
                row[k] = bar
            bar = whole_of(self._result, iter(row))
            with quiet():
                found = back(copied(bar) if self._is_standalone() else bar)
            made = self._by_leaf(found, args, which) if type(found) is tuple else None
            if made is None or any(map(non_finite, made)):  # which exact zeros may turn to zeros
                made = super(Function, self).derived(xs, which)[1](bars)
            return made

        return ys, cotangents

    def along(self, xs: Sequence[Any], dots: Sequence[Any], which: int = -1) -> Sequence[Any]:
        if isinstance(self._rule, Adjoint) and self._rule.push and len(self.gives) == 1:
            row: list[Any] = [None] * len(self._kinds)
            for k, dot, bits in zip(self._real, dots, self.bits.values(), strict=True):
                row[k] = dot if which & bits else None
            with quiet():
                y_dot = self._rule.push(*self._args(xs))[1](*row)
            if y_dot is not None and not non_finite(y_dot):
                return (y_dot,)
        return super().along(xs, dots, which)

    def _by_leaf(self, found: tuple[Any, ...], args: Sequence[Any], which: int) -> Sequence[Any]:
        """What a pullback has returned, for the real arguments; zeros for those that stay."""
        made = []
        for k, bits in zip(self._real, self.bits.values(), strict=True):
            c, x = found[k] if k < len(found) and which & bits else None, args[k]
            c = c() if callable(c) else c
            made.append(_zero(x) if c is None else project(c, spec_of(x)))
        return made

    def _args(self, xs: Sequence[Any]) -> Sequence[Any]:
        rest = iter(xs)
        return xs if self._alone else [whole_of(kind, rest) for kind in self._kinds]

    def value(self, held: Held, which: int, xs: Sequence[Any]) -> Sequence[Any]:
        return self.leaves(called(self._plain, self._args(xs), self._names))

    def _is_standalone(self) -> bool:
        return isinstance(self._rule, Adjoint) and self._rule.standalone

    def leaves(self, y: Any) -> Sequence[Any]:
        return [*leaves_of(self._result, y)] if isinstance(self._result, Struct) else [y]

    def watched(self, xs: Sequence[Any]) -> Sequence[Any]:
        with with_drop_ins(self._function) if self._inside else nullcontext():
            return self.leaves(called(self._watched, self._args(xs), self._names))

    def outside(self) -> Callee:
        return _Outside(self)


def _of_elements(rule: ScalarRule, args: Sequence[Any], moving: Sequence[int]) -> tuple[Any, Any]:
    """What an elementwise function gives, and its pullback by the arguments that move."""
    of: Any = rule if any(map(is_watched, args)) else rule.function  # which may not dispatch
    y = of(*args)

    def back(c: Any) -> tuple[Any, ...]:
        made: list[Any] = [None] * len(args)
        for k in moving:
            d = rule.partials[k]
            made[k] = c * (d(*args, y) if callable(d) else d)
        return tuple(made)

    return y, back


def called(f: Any, args: Sequence[Any], names: tuple[str, ...]) -> Any:
    """What a function gives, the last arguments of which have names."""
    if not names:
        return f(*args)
    return f(*args[: -len(names)], **dict(zip(names, args[-len(names) :], strict=True)))


class _Outside(InPython):
    """The value of a function of which another derivative is taken: a rule is taken once."""

    strict = True

    def __init__(self, base: Function) -> None:
        super().__init__(base.name, base.takes, base.gives)
        self.value = base.value
        self._base = base

    def watched(self, xs: Sequence[Any]) -> Sequence[Any]:
        return self._base.derived(xs)[0]


class _Derivative(InPython):
    """A derivative: its value is one of the tracer, of which there are derivatives, too."""

    def __init__(self, name: str, takes: Any, gives: Any, value: Callable[..., Any]) -> None:
        super().__init__(name, takes, gives)
        self.value = value

    def watched(self, xs: Sequence[Any]) -> Sequence[Any]:
        return self.value(Held(), -1, xs)


def _zero(x: Any) -> Any:
    return np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0


# Which may be called


class Callbacks:
    """Finds callees."""

    def may_stay(self, f: Any) -> bool:
        return is_ruled(f) or is_helper(f)

    def stays(self, f: Any) -> bool:
        return computes(f)

    def __call__(
        self, reader: WholeInterpreter, f: Any, path: Path, kinds: tuple[Kind, ...],
        operands: Sequence[Atom], names: tuple[str, ...],
    ) -> tuple[Callee, Kind]:  # fmt: skip
        inside = not is_ruled(f)
        if inside and not all(map(_is_harmless, kinds)):
            raise _refused(f, "it may change, or call, what it is given.")
        guards = reader.captures.guards
        if inside:
            guards.update(used_by(f, path))
        if path and path[0][0] != "itself":
            if isinstance(f, MethodType):  # which is another object each time
                for part in ("__self__", "__func__"):
                    guards[(*path, ("attr", part))] = getattr(f, part)
            else:
                guards[path] = f
        result = _given(f, kinds, operands, names)
        return Function(f, names, kinds, result, inside), result


def _refused(f: Any, why: str) -> KernelError:
    return KernelError(f"{getattr(f, '__name__', f)} cannot be called back.", why, "rewrite it.")


def _is_harmless(kind: Kind) -> bool:
    """Whether a helper can do nothing with an argument that is seen elsewhere."""
    if isinstance(kind, Struct):
        return kind.type is tuple and all(map(_is_harmless, kind.parts))
    return not (isinstance(kind, Static) and isinstance(kind.value, type)) or is_pure(kind.value)


def _given(f: Any, kinds: tuple[Kind, ...], operands: Sequence[Atom], names: Any) -> Kind:
    """The kind of the result, by a call with arguments like those that it will have.

    Arrays of ints are zeros first: what writes where indices say may not look whether they exist.
    """
    error: Exception | None = None
    for size, whole, by in itertools.product((3, 2, 4, 1), (1, 0, 2), (0, 1)):
        left = iter(operands)
        args = [whole_of(kind, _samples(kind, size, whole, by, left)) for kind in kinds]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                y = called(f, args, names)
        except Exception as why:
            error = error or why
            continue
        return _kind_of(f, y)
    raise _refused(f, f"called to see what it gives, it raised {type(error).__name__}: {error}.")


def _samples(kind: Kind, size: int, whole: int, by: int, left: Iterator[Atom]) -> Iterator[Any]:
    """Numbers and arrays for something of a kind; of lengths that are known, if these are.

    Ints are `whole`, and arrays of them numbers times `by`.
    """
    for _, leaf in leaves(kind):
        operands = [next(left) for _ in range(width(leaf))]
        if isinstance(leaf, Scalar):
            x = np.asarray(0.7 if reals([leaf]) else whole).astype(dtype_of(leaf.type))
            yield x.item() if leaf.python else x[()]
            continue
        values = _well_conditioned([size if isinstance(n, Value) else int(n) for n in operands[1:]])
        if not reals([leaf]):
            values = values * by
        made = np.asarray(values).astype(dtype_of(leaf.element))
        made = leaf.shaped(leaf.row(made).copy(), made.shape)
        made.flags.writeable = False
        yield made


def _well_conditioned(shape: Sequence[int]) -> Any:
    """Rising numbers; of matrices, symmetric ones whose diagonal is large."""
    index = np.indices(shape)
    made = (1.0 + sum(index)) if len(shape) else np.asarray(0.7)
    if len(shape) < 2:
        return made
    return np.where(index[-1] == index[-2], 3.0 + index[-1], 0.3 / made)


def _kind_of(f: Any, y: Any) -> Kind:
    if isinstance(y, (tuple, list, dict)):
        keys, parts = taken_apart(y)
        return Struct(type(y), keys, tuple(_kind_of(f, part) for part in parts))
    if isinstance(y, np.ndarray) and not y.flags.writeable:
        raise _refused(f, "what it gives is a view of what it is given.")
    try:
        kind = kind_of(y)
    except Unkind:
        return Static(HIDDEN)
    if isinstance(kind, Array):
        return dense_array(kind.element, kind.order)
    return kind if isinstance(kind, Scalar) or y is None or isinstance(y, str) else Static(HIDDEN)
