"""Functions with a rule that returns ``y, pullback``: their calls, and the way back."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, is_array
from zyg.base.config import setting
from zyg.base.containers import ATOMS
from zyg.base.registry import Adjoint, Composed
from zyg.base.structure import Searched, Structure, is_number
from zyg.cells import spot
from zyg.core.cotangents import Spec, fits, mended, project, shape_of, spec_of, zeros_of
from zyg.core.entries import Kind, demand_closed, is_result, kinds, lacking, note
from zyg.core.exchange import bring
from zyg.core.kept import keep, keep_parts
from zyg.core.pushes import rule_in_place
from zyg.core.results import applied, copied, of_its_own, read_only, shares
from zyg.core.reverse import Later, Run, all_finite, non_finite
from zyg.core.sequences import as_arrays, is_of_ints
from zyg.core.strand import (
    ARRAYS,
    WATCHED,
    cut,
    innermost,
    is_watched,
    local,
    local_or_none,
    settle,
    strip,
    watched_leaves,
)
from zyg.core.tangents import Tangents, tangents_of
from zyg.core.views import Place, adopt, base_of, lay_out, like_operands, view
from zyg.errors import AdjointError, unknown_call

# (argument, its structure, (slot, spec) of each watched value in it or None)
Active = tuple[int, Structure | None, list[tuple[Any, Spec] | None]]

_PLAIN = {type(None), bool, str, int, float, complex, np.ndarray, slice, type, np.dtype}


def _is_plain_array(x: Any) -> bool:
    return type(x) is np.ndarray


class Operands:
    """The arguments of a call as its rule takes them: values of this call's strand are unwrapped.

    `active` has for each argument that is or holds watched values its place, its structure if it
    holds them, and the slot and spec of each of the strand. `seen` is what the rule has of them.
    """

    __slots__ = ("active", "args", "primals", "seen", "strand", "values")

    def __init__(self, rule: Adjoint, args: Sequence[Any]) -> None:
        self.args = args
        if self._alone(args):
            return
        args = as_arrays(rule, args)
        self.args = args = [array_type(x).enter(x) for x in args]
        places: list[tuple[int, Structure | None, list[Any]]] = []
        for k, x in enumerate(args):
            if type(x) in WATCHED:
                places.append((k, None, [x]))
            elif type(x) not in _PLAIN and (rule.standalone or type(x) in (list, tuple)):
                inside = Searched(x, is_watched)
                if inside.leaves:
                    places.append((k, inside, inside.leaves))
        self.values = [x for _, _, leaves in places for x in leaves]
        strand = self.strand = innermost([settle(x) for x in self.values])
        self.primals = list(args)
        if strand is not None:
            strand = self.strand = strand if strand.alone else local(strand)
            self.values = [adopt(strand, x) for x in self.values]
            held = {k for k, _, _ in places}
            self.primals = [x if k in held else self._kept(rule, x) for k, x in enumerate(args)]
        self.active, self.seen = list[Active](), list[Any]()
        for k, container, leaves in places:
            unwrapped, slots = self._unwrapped(rule, leaves)
            self.primals[k] = unwrapped[0]
            if container:
                ours = {*map(id, unwrapped)}
                self.primals[k] = self._kept(rule, container.rebuild(unwrapped), ours)
            self.active.append((k, container, slots))
            self.seen += unwrapped

    def _alone(self, args: Sequence[Any]) -> bool:
        """The short way: watched arguments of one strand, ours, and others that hold nothing."""
        strand, self.primals, self.values, self.seen, self.active = None, [*args], [], [], []
        for k, x in enumerate(args):
            t = type(x)
            if t in WATCHED:
                if strand is None:
                    strand = x.strand
                    if not (strand.alone or local_or_none(strand) is strand):
                        return False
                if x.strand is not strand:
                    return False
                self.values.append(x)
                self.primals[k] = primal = x.primal
                self.seen.append(primal)
                self.active.append((k, None, [(x.slot, spec_of(primal))]))
            elif x.dtype.hasobject if t is np.ndarray else not (t in _PLAIN or is_of_ints(x)):
                return False
        self.strand = strand
        if strand is None:
            return False
        for k, x in enumerate(args):
            if type(x) is np.ndarray:
                self.primals[k] = keep(strand, x)
        return True

    def _kept(self, rule: Adjoint, x: Any, ours: Container[int] = ()) -> Any:
        """A plain operand, as the pullback may keep it.

        A container without arrays that is given to a rule of one's own may be there to be filled.
        """
        if self.strand is None or type(x) in ATOMS:
            return x
        to_fill = type(x) in (list, dict) and rule.standalone and rule.is_users
        if to_fill and not Structure(x, _is_plain_array).leaves:
            return x
        return keep_parts(self.strand, x, ours)

    def _unwrapped(
        self, rule: Adjoint, leaves: list[Any]
    ) -> tuple[list[Any], list[tuple[Any, Spec] | None]]:
        """What the rule sees of watched values, and the slots of those that are of the strand."""
        strand = self.strand
        unwrapped = [x if strand is None else bring(strand, x) for x in map(settle, leaves)]
        slots: list[tuple[Any, Spec] | None] = []
        for n, x in enumerate(unwrapped):
            ours = type(x) in WATCHED and x.strand is strand
            slots.append((x.slot, spec_of(x.primal)) if ours else None)
            if ours:
                unwrapped[n] = x.primal
            elif type(x) in ARRAYS or (type(x) is np.ndarray and strand is not None):
                unwrapped[n] = np.copy(x)  # others may write to it before the pullback runs
        if rule.is_users:
            unwrapped = [*map(read_only, unwrapped)]
        return unwrapped, slots

    def sharing(self, y: Any) -> Any:
        """The operand of which a result is a view; None if it has memory of its own."""
        if type(y) is np.float64:
            return None
        level = None if self.strand is None else self.strand.level
        for x, seen in zip(self.values, self.seen, strict=True):
            if type(x) in ARRAYS and level in (None, x.strand.level) and shares(y, seen):
                return x
        return None


def call_adjoint(rule: Adjoint, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """`rule` applied: its value, watched, with its pullback noted."""
    if kwargs:
        args, kwargs = _positional(rule, args, kwargs)
    operands = Operands(rule, args)
    args, strand, primals = operands.args, operands.strand, operands.primals
    if rule.is_users:
        primals = [*map(read_only, primals)]
    if strand is None and not rule.standalone:  # buffers, and what outlived its gradient
        y = rule.key(*primals, **kwargs)
        x = operands.sharing(y)  # a view of a buffer is a buffer
        return (
            like_operands(y, operands.values) if x is None else _view_of(x, y, rule, args, kwargs)
        )
    if kwargs and strand is not None:
        kwargs = keep_parts(strand, kwargs)
    moving = {k for k, _, _ in operands.active} if strand is not None and strand.dual else set()
    linear = bool(moving) and rule.push is None and moving <= {*rule.linear}
    y, back = applied(rule, primals, kwargs, linear, bool(moving))
    if strand is None:
        return of_its_own(y, primals)
    if not rule.standalone:
        if _is_integer(y) and not all(map(_is_integer, operands.values)):
            for x in operands.values:  # slope 0, whatever the rule says of floats
                cut(x, f"{rule.name}, which made integers of it")
            return y
        x = operands.sharing(y)
        if x is not None:
            return _view_of(x, y, rule, args, kwargs)
    else:
        demand_closed(rule.name, strand, y)
        y = of_its_own(y, (*primals, *operands.seen))
    for x in operands.values:
        if type(x) in ARRAYS:
            x.unread = False
    if linear or (moving and rule.push):
        if strand.in_place and not rule.standalone:
            watched = rule_in_place(strand, back, operands.active, len(args), y)
            if watched is not None:
                return watched
        return note(strand, y, adjoint_pushforward, rule, back, operands.active, args, y)
    return note(strand, y, adjoint_pullback, rule, back, operands.active, len(args))


def _is_integer(x: Any) -> bool:
    """Whether a value is of integers: a number, or an array by its dtype."""
    if type(x) is np.float64 or type(x) is float:
        return False
    plain = strip(x)
    if is_array(plain) or isinstance(plain, np.generic):
        return bool(plain.dtype.kind in "iub")
    return isinstance(plain, int)


def _view_of(x: Any, y: Any, rule: Adjoint, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What NumPy answers with a view is a view of `x`: it needs no entry and no pullback."""
    if y is x.primal:
        return x  # as np.squeeze does where there is nothing to squeeze
    before = strip(x.primal)
    whole = strip(lay_out(x).primal)
    if strip(x.primal) is not before and base_of(x) is x:  # copied, to be contiguous
        return call_adjoint(rule, args, kwargs)
    if not shares(y, whole):  # of the copy that another task has of `x`
        y = rule.key(*map(strip, args), **kwargs)
    place = Place(strip(y), whole)
    if rule.key in _READ_ONLY:
        place.readonly = True
    return view(x, place)


_READ_ONLY = (np.broadcast_to, np.diagonal)  # whose views NumPy gives nobody to write to


def adjoint_pullback(
    run: Run,
    y_bar: Any,
    rule: Adjoint,
    pullback: Callable[..., Any],
    active: list[Active],
    count: int,
) -> Any:
    """What a rule's pullback contributes to the slots of its watched operands, now or later."""
    try:
        given = copied(y_bar) if rule.standalone else y_bar
        bars = pullback(given, run.strong) if rule.strong else pullback(given)
        if type(bars) is Later:
            make = bars.make
            return Later(
                bars.future,
                lambda found: _contributions(make(found), run, y_bar, rule, active, count),
                bars.send,
            )
        contributions = _contributions(bars, run, y_bar, rule, active, count)
        if rule.standalone and not (rule.strong or run.strong):
            _note_settled(y_bar, contributions, run)
        return contributions
    except TypeError as error:
        if rule.standalone or not (made := lacking(error, rule.name, [y_bar])):
            raise
        raise made from error


def _contributions(
    bars: Any, run: Run, y_bar: Any, rule: Adjoint, active: list[Active], count: int
) -> list[tuple[int, Any]]:
    if not isinstance(bars, tuple):
        raise _broken(rule, f"its pullback returned {type(bars).__name__}, not a tuple")
    most = count if rule.variadic else len(rule.positional)
    if len(bars) != most:
        _demand_count(rule, len(bars), most, active)
    contributions = []
    strong = run.strong and not rule.strong
    moves = _moves(y_bar) if strong else True
    for k, inside, slots in active:
        c = bars[k] if k < len(bars) else None  # an int that says where, not how much
        if callable(c):
            c = c()
        if c is None:
            continue
        parts = [(0, c)] if inside is None else inside.match(c, f"argument {k} of {rule.name}")
        for place, part in parts:
            if (target := slots[place]) is not None and part is not None:
                slot, spec = target
                if moves is not True and non_finite(part):
                    part = mended(part, moves, spec)
                contributions.append((slot, _checked(rule, k, part, spec)))
    return contributions


_LARGE = 1 << 14  # elements


def _note_settled(y_bar: Any, contributions: list[tuple[Any, Any]], run: Run) -> None:
    """Note the cotangents that strong products would not change, so that nobody looks at them.

    They would not where that of the result, which is smaller, is finite and moves.
    """
    large = [
        (slot, c)
        for slot, c in contributions
        if type(c) is np.ndarray and c.size > _LARGE and type(slot) is int and slot not in run.owned
    ]
    parts = _plain_leaves(y_bar) if large else []
    if sum(map(np.size, parts)) * 4 <= _LARGE and any(map(np.any, parts)) and all_finite(parts):
        run.finite.update(large)


def _demand_count(rule: Adjoint, count: int, most: int, active: list[Active]) -> None:
    """Refuse fewer cotangents than a call needs: those of defaults may be missing."""
    if not rule.variadic and max(active[-1][0] + 1, most - len(rule.defaults)) <= count < most:
        return
    needed = [k for k, _, slots in active if any(s and s[1] is not int for s in slots)]
    least = most if rule.variadic else max(most - len(rule.defaults), 1 + max(needed, default=0))
    if not least <= count <= most:
        span = f"{least}" if least == most else f"{least} to {most}"
        raise _broken(rule, f"its pullback returned {count} cotangents where {span} are needed")


def _moves(y_bar: Any) -> Any:
    """Whether any part of a cotangent is not zero: an array of no axes where nobody may look."""
    leaves = _plain_leaves(y_bar)
    if all(array_type(c).readable for c in leaves):
        return any(np.any(array_type(c).elements(c)) for c in leaves)
    return functools.reduce(operator.or_, map(np.any, leaves))


def _plain_leaves(y_bar: Any) -> list[Any]:
    return [strip(c) for c in Structure(y_bar, is_result).leaves]


def adjoint_pushforward(
    rule: Adjoint,
    pushforward: Callable[..., Any],
    active: list[Active],
    args: Sequence[Any],
    y: Any,
) -> Tangents:
    """The tangents of a rule's result, from its pushforward and the tangents of its operands."""
    rows: list[list[Any]] = []
    for k, container, slots in active:
        leaves = [None if s is None else tangents_of(s[0]) for s in slots]
        moving = [u for u in leaves if u is not None]
        rows = rows or [[None] * len(args) for _ in moving[0]] if moving else rows
        for d, row in enumerate(rows if moving else ()):
            parts = [None if u is None else u[d] for u in leaves]
            row[k] = container.tangent(parts) if container else parts[0]
    result = Structure(y, is_result)
    return [_pushed(rule, result, pushforward(*row), row) for row in rows] or None


def _pushed(rule: Adjoint, result: Structure, y_dot: Any, row: list[Any]) -> Any:
    """A rule's tangent, of the shapes of its result or refused.

    It is zero where all tangents of the operands are, though a derivative is infinite.
    """
    y = result.root
    alike = type(y_dot) is type(y) and type(y) in (np.ndarray, np.float64)
    if alike and y_dot.shape == y.shape and np.isfinite(np.vdot(y_dot, y_dot)):
        return y_dot  # nothing to refuse or to mend
    tangents = [zeros_of(spec_of(y)) for y in result.leaves]
    moved = rule.strong and rule.linear  # only, from one array to another: there is no product
    suspect = setting("strong_zero") and not moved and any(map(non_finite, _plain_leaves(y_dot)))
    moves = _moves(row) if suspect else True
    for place, c in result.match(y_dot, f"the result of {rule.name}", "tangent"):
        if c is not None:
            y = result.leaves[place]
            got, needed = np.shape(c), np.shape(y)
            if isinstance(c, (list, tuple)) or got != needed:
                kind = f"has shape {got}" if got != needed else f"is a {type(c).__name__}"
                raise _broken(rule, f"the tangent of its result {kind}; the result {needed}")
            tangents[place] = c if moves is True else mended(c, moves, spec_of(y))
    return result.tangent(tangents)


def _slots_of(rule: Adjoint, _: Any, active: list[Any], *__: Any) -> list[Any]:
    return [target[0] for _, _, slots in active for target in slots if target is not None]


def _name_of(rule: Adjoint, *_: Any) -> str:
    return str(rule.name)


kinds[adjoint_pullback] = Kind(_slots_of, None, _name_of)
kinds[adjoint_pushforward] = Kind(_slots_of, adjoint_pushforward, _name_of)


def _checked(rule: Adjoint, k: int, c: Any, spec: Spec) -> Any:
    """A rule's cotangent, of the shape of its argument or refused."""
    if type(spec) is tuple:
        shape, dtype = spec
        if type(c) is np.ndarray and c.shape == shape and c.dtype is dtype:
            return c
    elif type(c) is spec or fits(c, spec):
        return c
    else:
        shape = shape_of(spec)
    if (got := np.shape(c)) != shape:
        raise _broken(rule, f"the cotangent of argument {k} has shape {got}; its argument {shape}")
    if not (is_array(c) or is_number(strip(c))):
        raise _broken(rule, f"the cotangent of argument {k} is a {type(c).__name__}, not a number")
    return project(c, spec)


def _broken(rule: Adjoint, what: str) -> AdjointError:
    code = getattr(rule.rule, "__code__", None)
    place = f" ({spot(code.co_filename, code.co_firstlineno)})" if code else ""
    return AdjointError(
        f"the rule of {rule.name}{place} is wrong: {what}.",
        "a pullback returns a tuple with one cotangent per positional argument: a value of that "
        "argument's shape, None, or a function of no arguments that returns it; a pushforward "
        "returns what has the structure and the shapes of the result.",
        "correct the rule; zyg.check_adjoint(f, *args) tests everything that a rule must do.",
    )


def _positional(
    rule: Adjoint | Composed, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The same call with as few keywords as the rule's signature allows."""
    try:
        args, kwargs = rule.without_keywords(args, kwargs)
    except TypeError:
        unknown = [k for k in kwargs if k not in rule.signature.parameters]
        if not unknown or getattr(rule, "standalone", False):
            raise
        why = f"its rule does not know the keyword {unknown[0]!r}"
        raise unknown_call(rule.name, why) from None
    if kwargs and isinstance(rule, Adjoint) and watched_leaves(kwargs):
        raise unknown_call(rule.name, "a keyword-only argument of it is watched")
    return args, kwargs
