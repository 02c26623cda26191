"""zyg's verbs, where a compiled function calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from zyg.base.marks import is_of_users, is_stopping, maker_of, name_of_verb
from zyg.base.registry import CONSTANT, Adjoint, ScalarRule
from zyg.compiler.autodiff import reverse
from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.autodiff.jacobians import Matrices, Result
from zyg.compiler.front.captures import Outside
from zyg.compiler.front.closures import Bound
from zyg.compiler.front.dispatch import is_usual, rule_for
from zyg.compiler.front.elementwise import array, broadcast_shape, mapped, stretched
from zyg.compiler.front.mixed import is_narrow
from zyg.compiler.front.scalars import whose
from zyg.compiler.front.views import Arrayed, ArrayView, dense, fresh, nest
from zyg.compiler.front.whole import WholeInterpreter
from zyg.compiler.inside import derived
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
from zyg.compiler.ir import Atom, Block, is_buffer, type_of
from zyg.compiler.layouts import Order
from zyg.compiler.numbers import Number, atom_of


def is_verb(f: Any) -> bool:
    """Whether a function is one of zyg's, or what `pullback` gives."""
    return isinstance(f, Pullback) or _verb(f) is not None or _maker(f) is not None


def _verb(f: Any) -> str | None:
    f = f.value if isinstance(f, Outside) else f
    return "stop_gradient" if is_stopping(f) else name_of_verb(f)


def _maker(f: Any) -> tuple[str, tuple[Any, ...]] | None:
    return maker_of(f.value if isinstance(f, Outside) else f)


def called(reader: WholeInterpreter, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a verb gives, or what a verb made."""
    if isinstance(f, Pullback):
        return f(*args, **kwargs)
    if (made := _maker(f)) is not None:
        verb, options = made
        f = f if isinstance(f, Outside) else Outside(f, (("itself", f),))
        if f.path and f.path[0][0] != "itself":
            reader.captures.guards[f.path] = f.value
        inner = reader.calls.part(f.value, f.path, "__wrapped__")
        return derived.DERIVED[verb](reader, inner, *options)(*args, **kwargs)
    verb = str(_verb(f))
    if verb in derived.DERIVED:
        return _of_its_arguments(derived.DERIVED[verb], *args, **kwargs)
    if verb not in VERBS:
        raise refused(f"zyg.{verb}", "zyg.compile does not support it.", "call it outside.")
    return VERBS[verb](reader, *args, **kwargs)


def _of_its_arguments(make: Callable[..., Any], f: Any, *options: Any, **named: Any) -> Bound:
    def call(reader: WholeInterpreter, f: Any, *args: Any, **kwargs: Any) -> Any:
        return make(reader, f, *options, **named)(*args, **kwargs)

    return Bound(call, f, native=True)


def of_rule(reader: WholeInterpreter, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a function that has a rule, or is of elements; NotImplemented for others."""
    path = f.path if isinstance(f, Outside) else (("itself", f),)
    f = f.value if isinstance(f, Outside) else f
    arrayed = any(isinstance(x, Arrayed) for x in args)
    if arrayed and not isinstance(f, (FunctionType, type)) and hasattr(f, "scalar"):
        return broadcast(reader, Outside(f.scalar, (*path, ("attr", "scalar"))), *args, **kwargs)
    rule = rule_for(f)
    if isinstance(rule, Adjoint) and (is_of_users(rule.rule) or (rule.ours and rule.standalone)):
        if is_of_users(rule.rule):
            reader.captures.guards[path] = f
        inside = (*path, ("attr", "rule")) if f is rule else (("itself", rule.rule),)
        return ruled(reader, rule, inside, args, kwargs)
    if isinstance(rule, ScalarRule) and arrayed and not kwargs and not is_usual(rule):
        if any(isinstance(x, Arrayed) and x.element == "float32" for x in args):
            raise refused(f"{rule.name} of 32 bits", "its rule is of 64.", "pass float64.")
        reader.captures.guards[path] = f

        def one(*xs: Any) -> Atom:
            return atom_of(reader.calls.call_ruled(rule, path, xs, {}))

        return mapped(reader.builder, one, args, "float")
    if rule is CONSTANT and (inner := getattr(f, "__wrapped__", None)) is not None:
        inside = (*path, ("attr", "__wrapped__"))
        reader.captures.guards[path] = f
        return stop_gradient(reader, reader.calls.plain_call(inner, inside, args, kwargs))
    return NotImplemented


def broadcast(
    reader: WholeInterpreter, f: Any, *args: Any, out: Any = None, mode: str = "auto"
) -> Any:
    to = reader.builder
    args = tuple(array(x) for x in args)
    kinds = {x.element if isinstance(x, ArrayView) else type_of(atom_of(x)) for x in args}
    if out is not None or "float32" in kinds or not any(isinstance(x, ArrayView) for x in args):
        raise refused("zyg.broadcast of numbers alone, of 32 bits, or with out=",
                      "zyg.compile does not support it.", "write a loop.")  # fmt: skip
    shape = broadcast_shape(to, [x.shape if isinstance(x, ArrayView) else () for x in args])

    def at(index: Sequence[Atom]) -> list[Any]:
        xs = [stretched(to, x, index) for x in args]
        leaves: list[Any] = []
        y = reader.calls.call(f, [to.number(atom_of(x), False) for x in xs], {})
        makes.append(apart(reader.objects.handed_out(y), leaves))
        return leaves

    makes: list[Any] = []
    with to.inside(Block()):
        kinds_of = [type_of(atom_of(x)) for x in at([0] * len(shape))]
    outs = [fresh(to, kind, shape) for kind in kinds_of]

    def store(index: list[Atom]) -> None:
        for y, x in zip(outs, at(index), strict=True):
            y.store(index, x)

    nest(to, shape, store)
    return reader.objects.taken(makes[0](outs), "")


def hook(reader: WholeInterpreter, g: Any, x: Any) -> Any:
    def hooked(x: Any) -> Any:
        return x, lambda bar: [reader.calls.call(g, [bar], {})]

    return Ruled(reader, "hook", hooked, (x,), {}, only_reverse=_ONLY_REVERSE).call()


_ONLY_REVERSE = (
    "zyg.hook works in reverse mode only.",
    "a hook acts on cotangents, and forward mode has tangents only.",
    'take the derivative in reverse mode: gradient, or jacobian(..., mode="reverse"); hvp and '
    "hessian work too.",
)


def gradient(
    reader: WholeInterpreter, f: Any, *args: Any, zeros: bool = False, **kwargs: Any
) -> Any:
    return Inner(reader, f, args, kwargs, loss_of, ints="floats").gradient(zeros)[1]


def value_and_gradient(
    reader: WholeInterpreter, f: Any, *args: Any, zeros: bool = False, **kwargs: Any
) -> Any:
    value, found = Inner(reader, f, args, kwargs, first_loss).gradient(zeros)
    return reader.objects.taken(value, ""), found


def pullback(reader: WholeInterpreter, f: Any, *args: Any, **kwargs: Any) -> Any:
    inner = Inner(reader, f, args, kwargs)
    inner.keep()
    made = inner.made(iter(inner.run(inner.program, inner.args)))
    return reader.objects.taken(inner.make(made), ""), Pullback(inner, made)


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
        apart(inner.reader.objects.handed_out(array(y_bar)), bars)
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


def pushforward(
    reader: WholeInterpreter, f: Any, primals: Any, tangents: Any, **kwargs: Any
) -> Any:
    inner = Inner(reader, f, reader.sequences.elements(primals), kwargs)
    outs = inner.pushed(inner.program, inner.directions(reader.sequences.elements(tangents)))
    count = len(inner.program.outputs)
    y = inner.made(iter(outs[:count]))
    y_dot = _dots(inner, y, outs[count:])
    return tuple(reader.objects.taken(inner.make(x), "") for x in (y, y_dot))


def _dots(inner: Inner, y: list[Any], dots: list[Atom]) -> list[Any]:
    """The tangents of results, which are like those."""
    made: list[Any] = []
    rest = iter(dots)
    for x in y:
        if not _is_float(x):
            raise refused("a derivative of an int", "it is none.", "return floats.")
        if isinstance(x, ArrayView):
            made.append(dense(inner.to, next(rest), x.shape, order=x.order))  # type: ignore[arg-type]
        else:
            made.append(inner.to.number(next(rest), getattr(x, "python", True)))
        demand_finite(inner.to, made[-1])
    return made


def hvp(reader: WholeInterpreter, f: Any, x: Any, v: Any) -> Any:
    inner = Inner(reader, f, (x,), {}, loss_of, ints="floats")
    program = inner.gradient_program()
    outs = inner.pushed(program, inner.directions([v]))
    dots = dict(zip(inner.inputs.values(), outs[len(program.outputs) :], strict=True))
    return inner.by_argument(inner.along(dots), True)[0]


def jacobian(
    reader: WholeInterpreter, f: Any, *args: Any, mode: str = "auto", **kwargs: Any
) -> Any:
    inner = Inner(reader, f, args, kwargs)
    outputs = iter(enumerate(inner.program.outputs))
    results = []
    for leaf in inner.kinds:
        place, y = next(outputs)
        if not is_real(type_of(y)):
            raise refused("a derivative of an int", "it is none.", "return floats.")
        shape = None if leaf.shape is None else tuple(next(outputs)[1] for _ in leaf.shape)
        results.append(Result(place, shape))
    if len(results) == 1 and results[0].shape is None:
        return inner.gradient(True)[1]
    matrices = Matrices(inner.program, results)
    return columns(inner, matrices, inner.make, [leaf.order for leaf in inner.kinds])


def hessian(reader: WholeInterpreter, f: Any, x: Any) -> Any:
    inner = Inner(reader, f, (x,), {}, loss_of, ints="floats")
    (make,) = inner.makes

    def like_gradient(rows: list[Any]) -> Any:
        every: list[Any] = [None] * len(inner.leaves)
        for k, row in zip(inner.inputs, rows, strict=True):
            every[k] = row
        return make(every)

    orders = [getattr(inner.leaves[k], "order", ()) for k in inner.inputs]
    return columns(inner, of_gradient(inner), like_gradient, orders)[0]


def of_gradient(inner: Inner) -> Matrices:
    """Matrices of the gradients by all inputs."""
    program = inner.gradient_program()
    inputs = [program.inputs[p] for p in inner.inputs.values()]
    return Matrices(program, [Result(m, program.sizes.get(x)) for m, x in enumerate(inputs)])


def columns(
    inner: Inner, matrices: Matrices, make: Callable[[list[Any]], Any], orders: Sequence[Order]
) -> tuple[Any, ...]:
    """The Jacobians by each argument, in structures that `make` makes of the rows.

    `orders` are those of the results.
    """
    matrices.by_columns([*inner.inputs.values()])
    pairs = [(m, k) for m in range(len(matrices.results)) for k in inner.inputs]
    matrices.yields = [n for shape in matrices.shapes for n in shape]
    matrices.yields += [matrices.block(m, inner.inputs[k]) for m, k in pairs]
    outs = iter(inner.run(matrices.finished(), inner.args))
    shapes = [[next(outs) for _ in shape] for shape in matrices.shapes]
    blocks: dict[tuple[int, int], Any] = {}
    for (m, k), made in zip(pairs, outs, strict=True):
        blocks[m, k] = _block(inner, k, shapes[m], orders[m], made)
        if (m, inner.inputs[k]) not in matrices.checked:
            demand_finite(inner.to, blocks[m, k])
    found, places = [], range(len(inner.leaves))
    for argument in inner.makes:
        rows = [argument([blocks.get((m, k)) for k in places]) for m in range(len(shapes))]
        found.append(inner.reader.objects.taken(make(rows), ""))
    return tuple(found)


def _block(inner: Inner, k: int, shape: Sequence[Atom], order: Order, made: Atom) -> Any:
    """Derivatives of an array of a shape, or of a number, by an argument's leaf."""
    leaf, to = inner.leaves[k], inner.to
    if is_buffer(type_of(made)):
        more, inside = (leaf.shape, leaf.order) if isinstance(leaf, ArrayView) else ((), ())
        whole = (*order, *(len(shape) + k for k in inside))
        return dense(to, made, (*shape, *more), order=whole)  # type: ignore[arg-type]
    return to.number(made, whose(leaf))


def diaghessian(reader: WholeInterpreter, f: Any, x: Any) -> Any:
    inner = Inner(reader, f, (x,), {}, loss_of, ints="floats")
    matrices = of_gradient(inner)
    matrices.yields = [matrices.diagonal(m, p) for m, p in enumerate(inner.inputs.values())]
    outs = inner.run(matrices.finished(), inner.args)
    found = inner.along(dict(zip(inner.inputs.values(), outs, strict=True)))
    return inner.by_argument(found, True)[0]


# Others


def stop_gradient(reader: WholeInterpreter, x: Any) -> Any:
    leaves: list[Any] = []
    make = apart(reader.objects.handed_out(x), leaves)
    return reader.objects.taken(make([_constant(reader.builder, leaf) for leaf in leaves]), "")


def _constant(to: Any, x: Any) -> Any:
    if isinstance(x, Arrayed):

        def one(v: Any) -> Any:
            return v if is_narrow(v) else to.op("constant", atom_of(v))

        return array(mapped(to, one, [x], x.element))
    return x.record("constant", x) if isinstance(x, Number) else x


def checkpoint(reader: WholeInterpreter, f: Any, *args: Any, **kwargs: Any) -> Any:
    return reader.calls.call(f, args, kwargs)


def is_traced(reader: WholeInterpreter, x: Any) -> bool:
    return False


VERBS: dict[str, Callable[..., Any]] = {
    "gradient": gradient, "value_and_gradient": value_and_gradient, "pullback": pullback,
    "pushforward": pushforward, "hvp": hvp, "jacobian": jacobian, "hessian": hessian,
    "stop_gradient": stop_gradient, "checkpoint": checkpoint, "is_traced": is_traced,
    "diaghessian": diaghessian, "broadcast": broadcast, "hook": hook,
}  # fmt: skip
