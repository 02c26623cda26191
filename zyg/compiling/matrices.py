"""Jacobians and Hessians as programs that run around a derivative, and make all of a matrix.

A Jacobian by columns and one by rows are two programs; where both may be, each looks at the sizes
of arguments and result, and stops if the other is cheaper. They answer for real numbers, arrays and
containers of those; where there is more to an argument or a result, the verb goes its general way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from zyg.base.registry import own_verbs
from zyg.compiler.autodiff.elements import demand_finite
from zyg.compiler.autodiff.jacobians import Matrices, Result
from zyg.compiler.back.native_function import Stopped
from zyg.compiler.builder import REALS
from zyg.compiler.ir import Atom, Value, element_of, is_buffer
from zyg.compiler.kinds import Array, Kind, Scalar, Struct, dense_array, leaves, width
from zyg.compiling.fallback import faster
from zyg.compiling.fast_path import positional  # whose verbs these join
from zyg.compiling.forms import Form
from zyg.compiling.functions import Compiled
from zyg.compiling.operands import NOTHING, Call, Taken, Unlike, tree
from zyg.compiling.operations import Operation, Unbuilt
from zyg.compiling.specialize import FORMS, Specialization
from zyg.errors import TapeError

_WAYS = {"auto": ("columns", "rows"), "forward": ("forward",), "reverse": ("reverse",)}


def jacobian(f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], mode: str) -> Any:
    """What `jacobian` returns."""
    same = positional(f, args, kwargs) if kwargs else None
    if same and (found := jacobian(*same, {}, mode)) is not NotImplemented:
        return found[: len(args)]
    return _found(f, [f"jacobian {way}" for way in _WAYS[mode]], args, kwargs)


def hessian(f: Compiled, x: Any) -> Any:
    """What `hessian` returns."""
    return _found(f, ["hessian"], (x,), {})


def diaghessian(f: Compiled, x: Any) -> Any:
    """What `diaghessian` returns."""
    return _found(f, ["diaghessian"], (x,), {})


def hvp(f: Compiled, x: Any, v: Any) -> Any:
    """What `hvp` returns."""
    return _found(f, ["hvp"], (x,), {}, (v,))


def _found(
    f: Compiled, verbs: list[str], args: tuple[Any, ...], kwargs: dict[str, Any],
    more: tuple[Any, ...] = (),
) -> Any:  # fmt: skip
    """What one of these verbs gives; NotImplemented where that takes the general way."""
    left = [*verbs]
    for verb in () if kwargs else verbs:
        found = f.asked(verb, (*args, *more))
        if found is Ellipsis:
            left.remove(verb)
        elif found is not NotImplemented:
            return found
    for verb in left:
        found, call = f.prepared(verb, args, kwargs, more, left)
        if call is not None and found is NotImplemented:
            found = _computed(f, verb, call, more)
        if found is not Ellipsis:
            return found
    return NotImplemented


def _computed(f: Compiled, verb: str, call: Call, more: tuple[Any, ...]) -> Any:
    """What the program of a verb gives; Ellipsis where another way is to be gone."""
    known, others = call.known, Taken()
    if call.watched or known.written or call.repeats():
        return NotImplemented
    if (form := known.form(verb, f.wrt)) is None:
        return Ellipsis
    kinds = [others.take(x) for x in more]
    if others.watched or others.functions or kinds != [*known.kinds[: len(more)]]:
        return NotImplemented
    count = sum(map(width, known.kinds))
    try:
        outs = form.operation.run(
            [*call.operands[:count], *others.operands, *call.operands[count:]]
        )
    except Unbuilt as error:
        known.refuse(error)
        return Ellipsis
    except (Stopped, TapeError):
        return Ellipsis
    return form.made(outs)


def _jacobian(way: str, read: Specialization, wrt: Sequence[int] | None) -> Form:
    """By columns or by rows; "columns" and "rows" are for where they are cheaper than the other."""
    program, active = read.operation.program, _active(read, wrt)
    found = [(k, leaf) for k, leaf in leaves(read.result) if leaf.element != "bool"]
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
    return _form(read, matrices, Struct(tuple, (), tuple(gives)))


def _demand_cheaper(matrices: Matrices, active: Sequence[int], way: str) -> None:
    fewer = matrices.fewer_columns(active)
    wanted = fewer if way == "columns" else matrices.builder.op("logical_not", fewer)
    if wanted is False:
        raise Unlike
    matrices.builder.check(wanted, "the other way is cheaper")


class _Gradient:
    """The program of a gradient by a single argument, of which derivatives are taken."""

    def __init__(self, read: Specialization, wrt: Sequence[int] | None) -> None:
        self.active = _active(read, wrt)
        if read.loss != "alone":
            raise Unlike
        (self.kind,), self.read = read.kinds, read
        derivative = read.operation.gradient(self.active)
        self.program, moving = derivative.operation.program, derivative.moving
        first = len(self.program.outputs) - len(moving)
        inputs = self.program.inputs
        self.found = [k for k, leaf in leaves(self.kind) if k in moving]
        self.matrices = Matrices(
            self.program,
            [
                _result(first + moving.index(k), leaf, inputs[k + 1 :])
                for k, leaf in leaves(self.kind)
                if k in moving
            ],
        )
        self.columns = _columns(read, self.matrices, self.active)
        self.rows = {k: side._replace(which=None) for k, side in self.columns.items()}
        self.rows.update((k, self.rows[k]._replace(which=m)) for m, k in enumerate(self.found))

    def like_argument(
        self, parts: Mapping[int, Atom], along: Sequence[Value] = (), more: Sequence[Kind] = ()
    ) -> Form:
        """Numbers and arrays like the argument's, zeros where there is none."""

        def part(k: int, leaf: Scalar | Array) -> Kind:
            if leaf.element == "bool":
                return NOTHING
            return _one(self.matrices, parts.get(k), self.columns[k])

        return _form(self.read, self.matrices, tree(self.kind, 0, part), along, more)


def _hessian(read: Specialization, wrt: Sequence[int] | None) -> Form:
    g = _Gradient(read, wrt)
    g.matrices.by_columns(g.active)
    return _form(read, g.matrices, _blocks(g.matrices, g.kind, g.rows, g.kind, 0, g.columns))


def _diaghessian(read: Specialization, wrt: Sequence[int] | None) -> Form:
    g = _Gradient(read, wrt)
    return g.like_argument({k: g.matrices.diagonal(m, k) for m, k in enumerate(g.found)})


def _hvp(read: Specialization, wrt: Sequence[int] | None) -> Form:
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
    return g.like_argument(dict(zip(g.found, tangents, strict=True)), along, (g.kind,))


def _active(read: Specialization, wrt: Sequence[int] | None) -> tuple[int, ...]:
    """The operands by which derivatives are, which are real numbers and arrays of those."""
    active = read.active(wrt)
    kinds = [x.type.removesuffix("[]") for x in read.operation.program.inputs]
    starts = [k for kind, start in read.chosen(wrt) for k, leaf in leaves(kind, start)
              if leaf.element == "complex"]  # fmt: skip
    if active is None or starts or any(kinds[k] not in REALS for k in active):
        raise Unlike
    return active


def _is_real(leaf: Scalar | Array) -> bool:
    return leaf.element in REALS


def _result(place: int, leaf: Scalar | Array, dims: Sequence[Atom]) -> Result:
    return Result(place, tuple(dims[: leaf.ndim]) if isinstance(leaf, Array) else None)


class Side(NamedTuple):
    """A number or an array that matrices are of, or by: its shape, and which it is to `Matrices`,
    None where it does not move."""

    leaf: Scalar | Array
    shape: Sequence[Atom]
    which: int | None


def _columns(read: Specialization, matrices: Matrices, active: Sequence[int]) -> dict[int, Side]:
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
            if leaf.element != "bool":
                raise Unlike
            return NOTHING

        def column(k: int, leaf: Scalar | Array) -> Kind:
            if leaf.element == "bool":
                return NOTHING
            if leaf.element == "complex" or leaf == Scalar("int", False):
                raise Unlike
            found = matrices.blocks.get((rows[place].which, columns[k].which))  # type: ignore[arg-type]
            return _one(matrices, found, columns[k], rows[place])

        return tree(argument, start, column)

    return tree(result, 0, row)


def _one(matrices: Matrices, found: Any, column: Side, row: Side | None = None) -> Kind:
    """The kind of a block, in the precision of its column, with the axes of a row and of that; the
    program is made to yield it, zeros where there is none."""
    more = row.shape if row else ()
    builder, shape = matrices.builder, [*more, *column.shape]
    element = column.leaf.element if _is_real(column.leaf) else "float"
    if isinstance(column.leaf, Scalar) and not more:
        if isinstance(found, Value) and is_buffer(found.type):
            found = builder.load(found, 0)
        found = builder.to(element, 0.0 if found is None else found)
        demand_finite(builder, [found], 1)
        matrices.yields.append(found)
        return Scalar(element, column.leaf.python)
    if found is None:
        matrices.yields += shape
        return Array(element, len(shape), zeros=True)
    if element_of(found.type) != element:
        found = builder.copied(found, matrices.product(shape), element)
    demand_finite(builder, [found], matrices.product(shape))
    matrices.yields += [found, *shape]
    orders = [side.leaf.order if isinstance(side.leaf, Array) else () for side in (row, column)
              if side]  # fmt: skip
    order = (*orders[0], *(len(more) + k for k in orders[-1])) if row else orders[0]
    return dense_array(element, order)


def _form(
    read: Specialization, matrices: Matrices, gives: Kind,
    along: Sequence[Value] = (), more: Sequence[Kind] = (),
) -> Form:  # fmt: skip
    """That of the program, which takes more arguments, its inputs `along`, behind the others."""
    program, count = matrices.finished(), sum(map(width, read.kinds))
    program.inputs[count:count] = along
    takes = [*read.kinds, *more, *read.takes[len(read.kinds) :]]
    return Form(Operation(program, again=lambda depth: None), takes, gives, read.kinds)


def _made(make: Callable[[Specialization, Any], Form]) -> Callable[..., Form | None]:
    """What makes a form of a verb where that can be made."""

    def made(read: Specialization, wrt: Sequence[int] | None) -> Form | None:
        if read.written or read.refusal() is not None:
            return None
        return faster(read.operation.program.name, lambda: make(read, wrt))

    return made


FORMS.update(
    {f"jacobian {way}": _made(functools.partial(_jacobian, way))
     for way in ("columns", "rows", "forward", "reverse")},
    hessian=_made(_hessian), diaghessian=_made(_diaghessian), hvp=_made(_hvp),
)  # fmt: skip
own_verbs[Compiled] |= {
    "jacobian": jacobian, "hessian": hessian, "diaghessian": diaghessian, "hvp": hvp,
}  # fmt: skip
