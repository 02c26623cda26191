"""Jacobians and Hessians as programs that run around a derivative, and make all of a matrix.

A Jacobian by columns and one by rows are two programs; where both may be, each looks at the sizes
of arguments and result, and stops if the other is cheaper. They answer for real numbers, arrays and
containers of those; where there is more to an argument or a result, the verb goes its general way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from zyg.base.registry import own_verbs, rules
from zyg.compiler.back.entry import Direct, Stopped
from zyg.compiler.derive.jacobians import Matrices, Result
from zyg.compiler.front.captures import Outside
from zyg.compiler.front.kinds import Array, Kind, Scalar, Static, Struct, dense_array
from zyg.compiler.ir import Atom, Program, Value, element_of, is_buffer
from zyg.compiler.record import REALS
from zyg.compiling.calls import run
from zyg.compiling.direct import has_repeats  # whose verbs these join
from zyg.compiling.entries import demand_finite, entry_of, guarded
from zyg.compiling.functions import Call, Compiled
from zyg.compiling.operands import Taken, leaves, maker, width
from zyg.compiling.operations import Operation, Unbuilt
from zyg.compiling.reads import Read
from zyg.core.reverse import all_finite
from zyg.errors import TapeError


class Unlike(Exception):  # noqa: N818
    """A kind of which the general way makes the matrices."""


class Plan:
    """A program that makes matrices, of the kind `gives`; before what is captured it takes `more`
    arguments."""

    def __init__(
        self, read: Read, program: Program, gives: Kind, more: Sequence[Kind] = ()
    ) -> None:
        self.read, self.program, self.gives, self.more = read, program, gives, more
        self.operation = Operation(program, again=lambda depth: None)
        self.make = maker(gives)

    def entry(self) -> Direct | None:
        if (takes := self.read.takes) is None:
            return None
        count = len(self.read.kinds)
        takes = [*takes[:count], *self.more, *takes[count:]]
        entry = entry_of(self.program, takes, self.gives, (), tapes=True)
        return guarded(entry, self.read.kinds)

    def operands(self, call: Call, more: tuple[Any, ...]) -> list[Any] | None:
        """What the program takes; None where an argument is of another kind."""
        taken = Taken()
        kinds = [taken.take(x) for x in more]
        if taken.watched or taken.functions or kinds != [*self.more]:
            return None
        count = sum(map(width, self.read.kinds))
        return [*call.operands[:count], *taken.operands, *call.operands[count:]]

    def run(self, operands: list[Any]) -> Any:
        """The matrices; Ellipsis where they take another way."""
        try:
            made = run(self.operation, operands)
        except Unbuilt as error:
            self.read.refuse(error)
            return Ellipsis
        except (Stopped, TapeError):
            return Ellipsis
        return self.make(made) if all_finite(made) else Ellipsis


def jacobian(f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], mode: str) -> Any:
    """What `jacobian` returns."""
    return _found(f, "jacobian", _WAYS[mode], args, kwargs, _jacobian)


def hessian(f: Compiled, x: Any) -> Any:
    """What `hessian` returns."""
    return _found(f, "hessian", _ONE_WAY, (x,), {}, _hessian)


def diaghessian(f: Compiled, x: Any) -> Any:
    """What `diaghessian` returns."""
    return _found(f, "diaghessian", _ONE_WAY, (x,), {}, _diaghessian)


def hvp(f: Compiled, x: Any, v: Any) -> Any:
    """What `hvp` returns."""
    return _found(f, "hvp", _ONE_WAY, (x,), {}, _hvp, (v,))


_ONE_WAY = ("forward",)
_WAYS = {"auto": ("columns", "rows"), "forward": ("forward",), "reverse": ("reverse",)}


def _found(
    f: Compiled,
    verb: str,
    ways: Sequence[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    plan: Callable[[Read, Sequence[int] | None, str], Plan],
    more: tuple[Any, ...] = (),
) -> Any:
    """What an entry gives, or the program of a plan; NotImplemented where neither does."""
    left = [*ways]
    if not kwargs:
        for way in ways:
            found = _entered(f, f"{verb} {way}", (*args, *more))
            if found is Ellipsis:
                left.remove(way)
            elif found is not NotImplemented:
                return found
    call = f.call(args, kwargs) if left else None
    if call is None or call.watched or call.read.written or has_repeats(call.operands):
        return NotImplemented
    read = call.read
    for way in left:
        made = read.once((verb, way, f.wrt), functools.partial(_planned, plan, read, f.wrt, way))
        if made is None:
            continue
        found = NotImplemented
        if call.usual and f.learn(read, f"{verb} {way}", made.entry):
            found = _entered(f, f"{verb} {way}", (*args, *more))
        if found is NotImplemented:
            operands = made.operands(call, more)
            found = NotImplemented if operands is None else made.run(operands)
        if found is not Ellipsis:
            return found  # NotImplemented, too
    return NotImplemented


def _entered(f: Compiled, verb: str, args: tuple[Any, ...]) -> Any:
    """What the entry of a verb gives; Ellipsis where one has stopped."""
    answer: Any = NotImplemented
    for guard, entry, version in f.entries(verb) or ():
        captured = guard(f.__wrapped__)
        if captured is not None and version == rules.version:
            found = entry(*args, *captured)
            if found is Ellipsis:
                answer = found
            elif found is not NotImplemented:
                return found
    return answer


def _planned(
    plan: Callable[[Read, Sequence[int] | None, str], Plan],
    read: Read,
    wrt: Sequence[int] | None,
    way: str,
) -> Plan | None:
    if read.refusal() is not None:
        return None
    try:
        return plan(read, wrt, way)
    except Exception:  # the general way says what is wrong, or does it
        return None


def _jacobian(read: Read, wrt: Sequence[int] | None, way: str) -> Plan:
    """By columns or by rows; "columns" and "rows" are for where they are cheaper than the other."""
    program, active = read.operation.program, _active(read, wrt)
    found = [(k, leaf) for k, leaf in leaves(read.result, 0) if leaf_type(leaf) != "bool"]
    if not all(_is_real(leaf) for _, leaf in found):
        raise Unlike
    matrices = Matrices(program, [_result(k, leaf, program.outputs[k + 1 :]) for k, leaf in found])
    if way in ("columns", "rows"):
        _demand_cheaper(matrices, active, way)
    (matrices.by_columns if way in ("columns", "forward") else matrices.by_rows)(active)
    pairs = enumerate(zip(found, matrices.shapes, strict=True))
    rows = {k: Side(leaf, shape, m) for m, ((k, leaf), shape) in pairs}
    columns = _columns(read, matrices, active)
    gives, start = [], 0
    for kind in read.kinds:
        gives.append(_blocks(matrices, read.result, rows, kind, start, columns))
        start += width(kind)
    return _finished(read, matrices, Struct(tuple, (), tuple(gives)))


def _demand_cheaper(matrices: Matrices, active: Sequence[int], way: str) -> None:
    fewer = matrices.fewer_columns(active)
    wanted = fewer if way == "columns" else matrices.builder.op("logical_not", fewer)
    if wanted is False:
        raise Unlike
    matrices.builder.check(wanted, "the other way is cheaper")


class _Gradient:
    """The program of a gradient by a single argument, of which derivatives are taken."""

    def __init__(self, read: Read, wrt: Sequence[int] | None) -> None:
        self.active = _active(read, wrt)
        if read.loss != "alone":
            raise Unlike
        (self.kind,), self.read = read.kinds, read
        derivative = read.operation.gradient(self.active)
        self.program, moving = derivative.operation.program, derivative.moving
        first = len(self.program.outputs) - len(moving)
        inputs = self.program.inputs
        self.found = [k for k, leaf in leaves(self.kind, 0) if k in moving]
        self.matrices = Matrices(
            self.program,
            [
                _result(first + moving.index(k), leaf, inputs[k + 1 :])
                for k, leaf in leaves(self.kind, 0)
                if k in moving
            ],
        )
        self.columns = _columns(read, self.matrices, self.active)
        self.rows = {k: side._replace(which=None) for k, side in self.columns.items()}
        self.rows.update((k, self.rows[k]._replace(which=m)) for m, k in enumerate(self.found))

    def like_argument(self, parts: Mapping[int, Atom]) -> Plan:
        """Numbers and arrays like the argument's, zeros where there is none."""

        def part(k: int, leaf: Scalar | Array) -> Kind:
            if leaf_type(leaf) == "bool":
                return Static(None)
            return _one(self.matrices, parts.get(k), self.columns[k])

        return _finished(self.read, self.matrices, _tree(self.kind, 0, part))


def _hessian(read: Read, wrt: Sequence[int] | None, way: str) -> Plan:
    g = _Gradient(read, wrt)
    g.matrices.by_columns(g.active)
    return _finished(read, g.matrices, _blocks(g.matrices, g.kind, g.rows, g.kind, 0, g.columns))


def _diaghessian(read: Read, wrt: Sequence[int] | None, way: str) -> Plan:
    g = _Gradient(read, wrt)
    return g.like_argument({k: g.matrices.diagonal(m, k) for m, k in enumerate(g.found)})


def _hvp(read: Read, wrt: Sequence[int] | None, way: str) -> Plan:
    g = _Gradient(read, wrt)
    matrices, places = g.matrices, dict(leaves(g.kind, 0))
    if any(k not in g.active for k in places):
        raise Unlike
    count = width(g.kind)
    along = [Value(x.type) for x in g.program.inputs[:count]]
    for n, m in zip(along, matrices.inputs, strict=False):
        if n.type == "int":
            matrices.builder.check(matrices.builder.op("equal", n, m), "directions of other shapes")
    tangents = matrices.along({k: along[k] for k in g.active})
    plan = g.like_argument(dict(zip(g.found, tangents, strict=True)))
    plan.program.inputs[count:count] = along
    return Plan(read, plan.program, plan.gives, (g.kind,))


def _active(read: Read, wrt: Sequence[int] | None) -> tuple[int, ...]:
    """The operands by which derivatives are, which are real numbers and arrays of those."""
    active = read.active(wrt)
    kinds = [x.type.removesuffix("[]") for x in read.operation.program.inputs]
    starts = [k for kind, start in read.chosen(wrt) for k, leaf in leaves(kind, start)
              if leaf_type(leaf) == "complex"]  # fmt: skip
    if active is None or starts or any(kinds[k] not in REALS for k in active):
        raise Unlike
    return active


def leaf_type(leaf: Scalar | Array) -> str:
    return leaf.element if isinstance(leaf, Array) else leaf.type


def _is_real(leaf: Scalar | Array) -> bool:
    return leaf_type(leaf) in REALS


def _result(place: int, leaf: Scalar | Array, dims: Sequence[Atom]) -> Result:
    return Result(place, tuple(dims[: leaf.ndim]) if isinstance(leaf, Array) else None)


class Side(NamedTuple):
    """A number or an array that matrices are of, or by: its shape, and which it is to `Matrices`,
    None where it does not move."""

    leaf: Scalar | Array
    shape: Sequence[Atom]
    which: int | None


def _columns(read: Read, matrices: Matrices, active: Sequence[int]) -> dict[int, Side]:
    found, start = {}, 0
    for kind in read.kinds:
        for k, leaf in leaves(kind, start):
            ndim = leaf.ndim if isinstance(leaf, Array) else 0
            shape = matrices.inputs[k + 1 : k + 1 + ndim]
            found[k] = Side(leaf, shape, k if k in active else None)
        start += width(kind)
    return found


def _blocks(
    matrices: Matrices,
    result: Kind,
    rows: dict[int, Side],
    argument: Kind,
    start: int,
    columns: dict[int, Side],
) -> Kind:
    """The kind of all blocks of a result by an argument, which the program is made to yield."""
    if not any(True for _ in leaves(argument, start)) and isinstance(result, Struct):
        raise Unlike

    def row(place: int, leaf: Scalar | Array) -> Kind:
        if place not in rows:
            if leaf_type(leaf) != "bool":
                raise Unlike
            return Static(None)

        def column(k: int, leaf: Scalar | Array) -> Kind:
            if leaf_type(leaf) == "bool":
                return Static(None)
            if leaf_type(leaf) == "complex" or leaf == Scalar("int", False):
                raise Unlike
            return _block(matrices, rows[place], columns[k])

        return _tree(argument, start, column)

    return _tree(result, 0, row)


def _tree(kind: Kind, start: int, leaf: Callable[[int, Any], Kind]) -> Kind:
    """A kind like another, of what a function makes of its leaves."""
    if isinstance(kind, Static):
        if isinstance(kind.value, Outside):
            raise Unlike
        return Static(None)
    if not isinstance(kind, Struct):
        return leaf(start, kind)
    if kind.type not in (tuple, list, dict) and not hasattr(kind.type, "_make"):
        raise Unlike
    parts = []
    for part in kind.parts:
        parts.append(_tree(part, start, leaf))
        start += width(part)
    return Struct(kind.type, kind.keys, tuple(parts))


def _block(matrices: Matrices, row: Side, column: Side) -> Kind:
    found = matrices.blocks.get((row.which, column.which))  # type: ignore[arg-type]
    return _one(matrices, found, column, row)


def _one(matrices: Matrices, found: Any, column: Side, row: Side | None = None) -> Kind:
    """The kind of a block, in the precision of its column, with the axes of a row and of that; the
    program is made to yield it, zeros where there is none."""
    more = row.shape if row else ()
    builder, shape = matrices.builder, [*more, *column.shape]
    element = leaf_type(column.leaf) if _is_real(column.leaf) else "float"
    if isinstance(column.leaf, Scalar) and not more:
        if isinstance(found, Value) and is_buffer(found.type):
            found = builder.load(found, 0)
        found = builder.to(element, 0.0 if found is None else found)
        demand_finite(builder, found, (), element)
        matrices.yields.append(found)
        return Scalar(element, column.leaf.python)
    if found is None:
        matrices.yields += shape
        return Array(element, len(shape), zeros=True)
    if element_of(found.type) != element:
        found = builder.copied(found, matrices.product(shape), element)
    demand_finite(builder, found, shape, element)
    matrices.yields += [found, *shape]
    orders = [side.leaf.order if isinstance(side.leaf, Array) else () for side in (row, column)
              if side]  # fmt: skip
    order = (*orders[0], *(len(more) + k for k in orders[-1])) if row else orders[0]
    return dense_array(element, order)


def _finished(read: Read, matrices: Matrices, gives: Kind) -> Plan:
    return Plan(read, matrices.finished(), gives)


own_verbs[Compiled] |= {
    "jacobian": jacobian, "hessian": hessian, "diaghessian": diaghessian, "hvp": hvp,
}  # fmt: skip
