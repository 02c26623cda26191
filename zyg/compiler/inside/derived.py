"""Functions that zyg's verbs make: of gradients by some arguments, and of many examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from zyg.compiler.aliases import Aliases
from zyg.compiler.front.closures import Bound
from zyg.compiler.front.elementwise import array, fill
from zyg.compiler.front.views import Arrayed, ArrayView, counted, demand_equal, fresh
from zyg.compiler.front.whole import WholeInterpreter
from zyg.compiler.inside.inner import Inner, apart, first_loss, loss_of, refused
from zyg.compiler.ir import Atom, is_buffer, type_of
from zyg.compiler.numbers import atom_of

Function = Callable[..., Any]


def grad(
    reader: WholeInterpreter, f: Any, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Function:
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        if not has_aux:
            return _found(reader, f, argnums, args, kwargs, loss_of, "floats")[1]
        value, found = value_and_grad(reader, f, argnums, True)(*args, **kwargs)
        return found, value[1]

    return gradient_of


def value_and_grad(
    reader: WholeInterpreter, f: Any, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Function:
    def value_and_gradient_of(*args: Any, **kwargs: Any) -> Any:
        value, found = _found(reader, f, argnums, args, kwargs, first_loss, "refused")
        if has_aux != (type(value) is tuple) or (has_aux and len(value) != 2):
            raise refused("a value that is not what has_aux says", "with it, it is a pair.",
                          "return (loss, aux), or a number.")  # fmt: skip
        return reader.objects.taken(value, ""), found

    return value_and_gradient_of


def _found(
    reader: WholeInterpreter, f: Any, argnums: int | tuple[int, ...], args: Sequence[Any],
    kwargs: dict[str, Any], loss: Function, ints: str,
) -> tuple[Any, Any]:  # fmt: skip
    """The value, and the gradients by the chosen arguments, or by one."""
    some = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(type(k) is int and -len(args) <= k < len(args) for k in some):
        raise refused(f"argnums={argnums!r} of {len(args)} arguments",
                      "it says which of them to differentiate.", "count from 0.")  # fmt: skip

    def inner(reader: WholeInterpreter, f: Any, *chosen: Any) -> Any:
        whole = [*args]
        for k, x in zip(some, chosen, strict=True):
            whole[k] = x
        return reader.calls.call(f, whole, kwargs)

    read = Inner(reader, Bound(inner, f, native=True), [args[k] for k in some], {}, loss, ints)
    value, found = read.gradient(True)
    if any(x is None for x in found):
        raise refused("a gradient by what holds no floats", "it has none.",
                      "choose another argument.")  # fmt: skip
    return value, found if isinstance(argnums, tuple) else found[0]


# Many examples


def vmap(reader: WholeInterpreter, f: Any, in_axes: Any = 0, out_axes: int = 0) -> Function:
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args) or not all(k is None or type(k) is int for k in axes):
            raise refused(f"vmap of {len(args)} arguments, in_axes={in_axes!r}",
                          "here it is None or an int for each.", "call it outside.")  # fmt: skip
        given = [_Argument(reader, x, axis) for x, axis in zip(args, axes, strict=True)]
        return _Examples(reader, f, given, kwargs).results(out_axes)

    return mapped


class _Argument:
    """What is given for an argument, all along one axis or none."""

    def __init__(self, reader: WholeInterpreter, x: Any, axis: int | None) -> None:
        self.reader, self.x, self.axis = reader, x, axis
        self.leaves: list[ArrayView] = []
        if axis is None:
            return
        self.make = apart(reader.objects.handed_out(array(x)), self.leaves)
        for leaf in self.leaves:
            if not (isinstance(leaf, ArrayView) and -leaf.ndim <= axis < leaf.ndim):
                raise refused(f"vmap along axis {axis} of what has none", "it maps along one.",
                              "pass arrays, or None in in_axes.")  # fmt: skip

    def counts(self) -> Iterator[Atom]:
        return (leaf.shape[self.axis] for leaf in self.leaves)  # type: ignore[index]

    def example(self, k: Atom) -> Any:
        if self.axis is None:
            return self.x
        rows = [self._row(leaf, k, self.axis % leaf.ndim) for leaf in self.leaves]
        return self.reader.objects.taken(self.make(rows), "an argument")

    def _row(self, x: ArrayView, k: Atom, axis: int) -> ArrayView:
        to = x.to
        offset = to.op("add", x.offset, to.op("multiply", k, x.strides[axis]))
        row = x.of_axes([n for n in range(x.ndim) if n != axis], offset)
        row.readonly = True  # what is written to it would be another's, too
        return row


class _Examples:
    """A loop over examples: the first says what all results are like."""

    def __init__(
        self, reader: WholeInterpreter, f: Any, given: list[_Argument], kwargs: dict[str, Any]
    ) -> None:
        self.reader, self.to, self.f, self.given, self.kwargs = (
            reader, reader.builder, f, given, kwargs,
        )  # fmt: skip
        counts = [n for x in given for n in x.counts()]
        if not counts:
            raise refused("vmap of no argument along an axis", "it has to know how many "
                          "examples there are.", "give one an axis.")  # fmt: skip
        self.count = counts[0]
        for n in counts[1:]:
            demand_equal(self.to, self.count, n)
        self.to.demand_at_least(self.count, 1, "no examples")

    def row(self, k: Atom) -> tuple[Inner, list[Any]]:
        """What f gives for an example: how it was read, and its numbers and arrays."""
        mine = [x.example(k) for x in self.given]
        inner = Inner(self.reader, self.f, mine, self.kwargs, ints="left")
        memory = Aliases(inner.program)
        if any(is_buffer(x.type) and memory.is_changed(x) for x in inner.params):
            raise refused("a function that writes to its argument, under vmap,",
                          "it would write to a copy of each example.",
                          "write to a copy, and return it.")  # fmt: skip
        return inner, inner.made(iter(inner.run(inner.program, inner.args)))

    def results(self, out_axes: int) -> Any:
        to = self.to
        inner, first = self.row(0)
        outs = [fresh(to, _element(x), (self.count, *getattr(x, "shape", ()))) for x in first]
        self.store(outs, 0, first)

        def more(k: Atom, _: Any) -> Sequence[Atom]:
            _, found = self.row(k)
            self.store(outs, k, found)
            return ()

        counted(to, self.count, (), more, span=(1, 1))
        moved = [y.of_axes(_placed(y.ndim, out_axes)) for y in outs]
        return self.reader.objects.taken(inner.make(moved), "")

    def store(self, outs: list[ArrayView], k: Atom, found: list[Any]) -> None:
        if [_element(x) for x in found] != [y.element for y in outs]:
            raise refused("a function that returns something else for another example",
                          "vmap puts the results into arrays.", "return the same.")  # fmt: skip
        for y, x in zip(outs, found, strict=True):
            offset = self.to.op("multiply", k, y.strides[0])
            row = y.of_axes([*range(1, y.ndim)], offset)
            if isinstance(x, ArrayView):
                for n, m in zip(row.shape, x.shape, strict=True):
                    demand_equal(self.to, n, m)
                fill(row, x)
            else:
                row.store((), x)


def _element(x: Any) -> str:
    return x.element if isinstance(x, Arrayed) else type_of(atom_of(x))


def _placed(ndim: int, axis: int) -> list[int]:
    """The axes of which the first is put elsewhere."""
    axes = [*range(1, ndim)]
    axes.insert(axis % ndim, 0)
    return axes


DERIVED: dict[str, Callable[..., Function]] = {
    "grad": grad, "value_and_grad": value_and_grad, "vmap": vmap,
}  # fmt: skip
