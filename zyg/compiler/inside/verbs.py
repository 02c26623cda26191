"""zyg's verbs, where a compiled function calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from zyg.base.marks import is_stopping, name_of_verb
from zyg.base.registry import CONSTANT, Adjoint, ScalarRule
from zyg.compiler.derive import reverse
from zyg.compiler.derive.moving import is_real
from zyg.compiler.front.captures import Outside
from zyg.compiler.front.elementwise import array, broadcast_shape, mapped, stretched
from zyg.compiler.front.reader import _is_usual as is_usual
from zyg.compiler.front.reader import _rule_of as rule_for
from zyg.compiler.front.views import Arrayed, ArrayView, counted, fresh, nest, product
from zyg.compiler.inside.inner import (
    Inner,
    apart,
    as_operand,
    demand_finite,
    first_loss,
    loss_of,
    refused,
)
from zyg.compiler.inside.ruled import Ruled, ruled
from zyg.compiler.ir import Atom, Block, Program, Value, is_buffer, type_of
from zyg.compiler.record import Number, atom_of
from zyg.errors import is_users


def called(reader: Any, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a verb gives; NotImplemented for other functions."""
    if isinstance(f, Pullback):
        return f(*args, **kwargs)
    f = f.value if isinstance(f, Outside) else f
    verb = "stop_gradient" if is_stopping(f) else name_of_verb(f)
    if verb is None:
        return NotImplemented
    if verb not in VERBS:
        raise refused(f"zyg.{verb}", "it is not in the language.", "call it outside.")
    return VERBS[verb](reader, *args, **kwargs)


def of_rule(reader: Any, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a function that has a rule, or is of elements; NotImplemented for others."""
    path = f.path if isinstance(f, Outside) else (("itself", f),)
    f = f.value if isinstance(f, Outside) else f
    arrayed = any(isinstance(x, Arrayed) for x in args)
    if arrayed and not isinstance(f, (FunctionType, type)) and hasattr(f, "scalar"):
        return broadcast(reader, Outside(f.scalar, (*path, ("attr", "scalar"))), *args, **kwargs)
    rule = rule_for(f)
    if isinstance(rule, Adjoint) and _is_users(rule.rule):
        reader.captures.guards[path] = f
        inside = (*path, ("attr", "rule")) if f is rule else (("itself", rule.rule),)
        return ruled(reader, rule, inside, args, kwargs)
    if isinstance(rule, ScalarRule) and arrayed and not kwargs and not is_usual(rule):
        if any(isinstance(x, Arrayed) and x.element == "float32" for x in args):
            raise refused(f"{rule.name} of 32 bits", "its rule is of 64.", "pass float64.")
        reader.captures.guards[path] = f

        def one(*xs: Any) -> Atom:
            return atom_of(reader._call_ruled(rule, path, xs, {}))

        return mapped(reader.builder, one, args, "float")
    if rule is CONSTANT and (inner := getattr(f, "__wrapped__", None)) is not None:
        inside = (*path, ("attr", "__wrapped__"))
        reader.captures.guards[path] = f
        return stop_gradient(reader, reader.plain_call(inner, inside, args, kwargs))
    return NotImplemented


def _is_users(f: Any) -> bool:
    return isinstance(f, FunctionType) and is_users(f.__code__.co_filename)


def broadcast(reader: Any, f: Any, *args: Any, out: Any = None, mode: str = "auto") -> Any:
    to = reader.builder
    args = tuple(array(x) for x in args)
    kinds = {x.element if isinstance(x, ArrayView) else type_of(atom_of(x)) for x in args}
    if out is not None or "float32" in kinds or not any(isinstance(x, ArrayView) for x in args):
        raise refused("zyg.broadcast of numbers alone, of 32 bits, or with out=",
                      "it is not in the language.", "write a loop.")  # fmt: skip
    shape = broadcast_shape(to, [x.shape if isinstance(x, ArrayView) else () for x in args])

    def at(index: Sequence[Atom]) -> list[Any]:
        xs = [stretched(to, x, index) for x in args]
        leaves: list[Any] = []
        y = reader.call(f, [to.number(atom_of(x), False) for x in xs], {})
        makes.append(apart(reader.handed_out(y), leaves))
        return leaves

    makes: list[Any] = []
    with to.inside(Block()):
        kinds_of = [type_of(atom_of(x)) for x in at([0] * len(shape))]
    outs = [fresh(to, kind, shape) for kind in kinds_of]

    def store(index: list[Atom]) -> None:
        for y, x in zip(outs, at(index), strict=True):
            y.store(index, x)

    nest(to, shape, store)
    return reader.taken(makes[0](outs), "")


def hook(reader: Any, g: Any, x: Any) -> Any:
    return Ruled(reader, "hook", lambda x: (x, lambda bar: [reader.call(g, [bar], {})]), (x,), {},
                 only_reverse=_ONLY_REVERSE).call()  # fmt: skip


_ONLY_REVERSE = (
    "zyg.hook has no meaning in forward mode.",
    "a hook acts on cotangents, and forward mode has tangents only.",
    'take the derivative in reverse: jacobian(..., mode="reverse"), or gradient; forward over '
    "that, as hvp and hessian are, works.",
)


def gradient(reader: Any, f: Any, *args: Any, zeros: bool = False, **kwargs: Any) -> Any:
    return Inner(reader, f, args, kwargs, loss_of, ints="floats").gradient(zeros)[1]


def value_and_gradient(reader: Any, f: Any, *args: Any, zeros: bool = False, **kwargs: Any) -> Any:
    value, found = Inner(reader, f, args, kwargs, first_loss).gradient(zeros)
    return reader.taken(value, ""), found


def pullback(reader: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
    inner = Inner(reader, f, args, kwargs)
    inner.keep()
    made = inner.made(iter(inner.run(inner.program, inner.args)))
    return reader.taken(inner.make(made), ""), Pullback(inner, made)


class Pullback:
    """The second result of `pullback`: a function of a cotangent, which runs the program again."""

    def __init__(self, inner: Inner, made: list[Any]) -> None:
        self.inner, self.made, to = inner, made, inner.to
        self.block, self.writes = to.block, len(to.writes)

    def __call__(self, y_bar: Any, zeros: bool = False) -> tuple[Any, ...]:
        inner, to = self.inner, self.inner.to
        buffers = [x for x in inner.around if is_buffer(x.type)]
        written = to.writes[self.writes :]
        if buffers and (
            to.block is not self.block or any(to.may_meet(x, w) for x in buffers for w in written)
        ):
            raise refused("a pullback that is called where arrays may have changed",
                          "it runs the function again.", "pass them as arguments.")  # fmt: skip
        bars: list[Any] = []
        apart(inner.reader.handed_out(array(y_bar)), bars)
        if len(bars) != len(self.made):
            raise refused("a cotangent of another structure than the value", "it has its own.",
                          "pass one like it.")  # fmt: skip
        pairs = zip(self.made, bars, strict=True)
        rows = [as_operand(to, y, bar) for y, bar in pairs if _is_float(y)]
        derived = reverse.vjp(inner.program, [*inner.inputs.values()])
        outs = inner.run(derived.program, [*inner.args, *rows])
        found = dict(zip(derived.moving, outs[len(inner.program.outputs) :], strict=True))
        return inner.by_argument(inner.along(found), zeros)


def _is_float(x: Any) -> bool:
    return is_real(x.element if isinstance(x, Arrayed) else type_of(atom_of(x)))


def pushforward(reader: Any, f: Any, primals: Any, tangents: Any, **kwargs: Any) -> Any:
    inner = Inner(reader, f, reader.elements(primals), kwargs)
    outs = inner.pushed(inner.program, inner.directions(reader.elements(tangents)))
    count = len(inner.program.outputs)
    y = inner.made(iter(outs[:count]))
    y_dot = _dots(inner, y, outs[count:])
    return tuple(reader.taken(inner.make(x), "") for x in (y, y_dot))


def _dots(inner: Inner, y: list[Any], dots: list[Atom]) -> list[Any]:
    """The tangents of results, which are like those."""
    made: list[Any] = []
    rest = iter(dots)
    for x in y:
        if not _is_float(x):
            raise refused("a derivative of an int", "it is none.", "return floats.")
        if isinstance(x, ArrayView):
            made.append(ArrayView(inner.to, next(rest), x.shape))  # type: ignore[arg-type]
        else:
            made.append(inner.to.number(next(rest), getattr(x, "python", True)))
        demand_finite(inner.to, made[-1])
    return made


def hvp(reader: Any, f: Any, x: Any, v: Any) -> Any:
    inner = Inner(reader, f, (x,), {}, loss_of, ints="floats")
    program = inner.gradient_program()
    outs = inner.pushed(program, inner.directions([v]))
    dots = dict(zip(inner.inputs.values(), outs[len(program.outputs) :], strict=True))
    return inner.by_argument(inner.along(dots), True)[0]


def jacobian(reader: Any, f: Any, *args: Any, mode: str = "auto", **kwargs: Any) -> Any:
    inner = Inner(reader, f, args, kwargs)
    inner.keep()
    y = inner.made(iter(inner.run(inner.program, inner.args)))
    if len(y) == 1 and isinstance(y[0], Number) and _is_float(y[0]):
        return inner.gradient(True)[1]
    return columns(inner, inner.program, y, inner.make)


def hessian(reader: Any, f: Any, x: Any) -> Any:
    inner = Inner(reader, f, (x,), {}, loss_of, ints="floats")
    inner.keep()
    program = inner.gradient_program()
    g = [inner.leaves[k] for k in inner.inputs]
    (make,) = inner.makes

    def like_gradient(rows: list[Any]) -> Any:
        every: list[Any] = [None] * len(inner.leaves)
        for k, row in zip(inner.inputs, rows, strict=True):
            every[k] = row
        return make(every)

    return columns(inner, program, g, like_gradient)[0]


def columns(inner: Inner, program: Program, y: list[Any], make: Callable[[list[Any]], Any]) -> Any:
    """The Jacobians of a program by each argument, with what its results are like."""
    blocks = {k: Columns(inner, program, k, y).blocks for k in inner.inputs}
    made = []
    for argument in inner.makes:
        rows = []
        for p in range(len(y)):
            every = [blocks[k][p] if k in blocks else None for k in range(len(inner.leaves))]
            rows.append(argument(every))
        made.append(inner.reader.taken(make(rows), ""))
    return tuple(made)


def along_unit(inner: Inner, program: Program, k: int, y: list[Any], unit: Atom) -> list[Any]:
    """The tangents of results like `y`, along a number or an array among the arguments."""
    outs = inner.pushed(program, {inner.inputs[k]: unit})
    return _dots(inner, y, outs[len(program.outputs) :])


def each_direction(
    inner: Inner, program: Program, k: int, y: list[Any], use: Callable[[Value, list[Any]], None]
) -> None:
    """A loop over the elements of an array among the arguments: tangents along each alone."""
    to, leaf = inner.to, inner.leaves[k]
    unit = fresh(to, leaf.element, leaf.shape, zeroed=True).buffer

    def one(j: Value, _: Any) -> Sequence[Atom]:
        to.store(unit, j, 1.0)
        use(j, along_unit(inner, program, k, y, unit))
        to.store(unit, j, 0.0)
        return ()

    counted(to, product(to, leaf.shape), (), one)


class Columns:
    """The derivatives of all results by one number or array among the inputs, in forward mode."""

    def __init__(self, inner: Inner, program: Program, k: int, y: list[Any]) -> None:
        self.to, leaf = inner.to, inner.leaves[k]
        if not isinstance(leaf, ArrayView):
            unit = self.to.to(type_of(atom_of(leaf)), 1.0)
            self.blocks = along_unit(inner, program, k, y, unit)
            return
        to, n = self.to, product(self.to, leaf.shape)
        self.blocks = [
            fresh(to, leaf.element, (*(x.shape if isinstance(x, ArrayView) else ()), *leaf.shape))
            for x in y
        ]

        def column(j: Value, dots: list[Any]) -> None:
            for dot, block in zip(dots, self.blocks, strict=True):
                if isinstance(dot, ArrayView):
                    self._store(block, dot, n, j)
                else:
                    to.store(block.buffer, j, atom_of(dot))

        each_direction(inner, program, k, y, column)

    def _store(self, block: ArrayView, dot: ArrayView, n: Atom, j: Value) -> None:
        to = self.to

        def row(i: Value, _: Any) -> Sequence[Atom]:
            place = to.op("add", to.op("multiply", i, n), j)
            to.store(block.buffer, place, to.load(dot.buffer, i))
            return ()

        counted(to, product(to, dot.shape), (), row)


def diaghessian(reader: Any, f: Any, x: Any) -> Any:
    inner = Inner(reader, f, (x,), {}, loss_of, ints="floats")
    inner.keep()
    program, to = inner.gradient_program(), inner.to
    g = [inner.leaves[k] for k in inner.inputs]
    found: dict[int, Any] = {}
    for p, k in enumerate(inner.inputs):
        leaf = inner.leaves[k]
        if not isinstance(leaf, ArrayView):
            (*_, found[k]) = Columns(inner, program, k, g).blocks[: p + 1]
            continue
        found[k] = fresh(to, leaf.element, leaf.shape)

        def diagonal(j: Value, dots: list[Any], p: int = p, k: int = k) -> None:
            to.store(found[k].buffer, j, to.load(dots[p].buffer, j))

        each_direction(inner, program, k, g, diagonal)
    return inner.by_argument(found, True)[0]


# Others


def stop_gradient(reader: Any, x: Any) -> Any:
    leaves: list[Any] = []
    make = apart(reader.handed_out(x), leaves)
    return reader.taken(make([_constant(reader.builder, leaf) for leaf in leaves]), "")


def _constant(to: Any, x: Any) -> Any:
    if isinstance(x, Arrayed):
        return array(mapped(to, lambda v: to.op("constant", atom_of(v)), [x], x.element))
    return x.record("constant", x) if isinstance(x, Number) else x


def checkpoint(reader: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
    return reader.call(f, args, kwargs)


def is_traced(reader: Any, x: Any) -> bool:
    return False


VERBS: dict[str, Callable[..., Any]] = {
    "gradient": gradient, "value_and_gradient": value_and_gradient, "pullback": pullback,
    "pushforward": pushforward, "hvp": hvp, "jacobian": jacobian, "hessian": hessian,
    "stop_gradient": stop_gradient, "checkpoint": checkpoint, "is_traced": is_traced,
    "diaghessian": diaghessian, "broadcast": broadcast, "hook": hook,
}  # fmt: skip
