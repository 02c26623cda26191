"""Texts whose derivatives are texts, too: see `base.words.Closed`.

Both become programs of their own for the kinds of the arguments, the second when it is asked for:
it may call what calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

from zyg.base.caches import remembered
from zyg.base.words import Closed
from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.callbacks import result_of
from zyg.compiler.front.elementwise import array, copied
from zyg.compiler.front.views import Arrayed
from zyg.compiler.front.whole import Whole, WholeInterpreter
from zyg.compiler.ir import Adjoint, Atom, Block, Program, Value, type_of
from zyg.compiler.kinds import Array, Kind, Scalar, dense_array, leaves, width
from zyg.compiler.layouts import in_c
from zyg.compiler.splice import called

Read = Callable[[Callable[..., Any], Sequence[Kind]], Whole]


def call(reader: WholeInterpreter, text: Closed, args: Sequence[Any], read: Read) -> Any:
    """What a text gives of ints, of what is known, and of arrays: of their copies, which nothing
    writes before its adjoint.
    """
    operands: list[Atom] = []
    kinds = tuple(_argument(reader, x, operands) for x in args)
    program, kind = _program(text, kinds, read)
    outs: Any = called(program, operands, reader.builder.block)
    names: dict[Any, Atom] = dict(zip(program.inputs, operands, strict=True))
    found: list[Any] = [names.get(y, out) for y, out in zip(program.outputs, outs, strict=True)]
    reader.builder.bear(outs)
    return reader.objects.taken(result_of(reader, kind, iter(found)), "")


def _argument(reader: WholeInterpreter, x: Any, operands: list[Atom]) -> Kind:
    if not isinstance(x, Arrayed):
        return cast(Kind, reader.interface.result(x, operands))
    element = x.element if x.element in ("int", "complex") else "float"
    view = copied(array(x), in_c(x.ndim), element)
    operands += [view.buffer, *view.shape]
    return dense_array(element, view.order)


@remembered(64)
def _program(text: Closed, kinds: tuple[Kind, ...], read: Read) -> tuple[Program, Any]:
    """What a text does with arrays of such kinds, and the kind of its result."""
    whole = read(text.value, kinds)
    whole.program.adjoint = _ByText(whole, text.bars, kinds, read)
    return whole.program, whole.result


class _ByText(Adjoint):
    """The adjoint of a text, read when it is asked for."""

    stays = True

    def __init__(
        self, whole: Whole, bars: Callable[..., Any], takes: tuple[Kind, ...], read: Read
    ) -> None:
        self._whole, self._bars, self._takes, self._read = whole, bars, takes, read
        self.outside, self.results = whole.program, len(whole.program.outputs)
        self.moving = [k for k, x in enumerate(whole.program.inputs) if is_real(x.type)]
        whole.program.sizes = {**whole.program.sizes, **dict(self._sizes(whole.program.outputs))}

    def _sizes(self, row: Sequence[Any]) -> Iterator[tuple[Any, tuple[Atom, ...]]]:
        """The sizes of the buffers among the operands of a result."""
        for start, leaf in leaves(self._whole.result):
            if isinstance(leaf, Array):
                pair = (2,) * (leaf.element == "complex")
                yield row[start], (*pair, *row[start + 1 : start + width(leaf)])

    @cached_property
    def _row(self) -> list[Any]:
        """The operands of the cotangent of a result."""
        outputs = self._whole.program.outputs
        return [Value(type_of(y)) if is_real(type_of(y)) else y for y in outputs]

    @cached_property
    def bars(self) -> list[Value]:  # type: ignore[override]
        return [x for x in self._row if is_real(type_of(x))]

    @cached_property
    def program(self) -> Program:  # type: ignore[override]
        primal, result = self._whole.program, cast(Kind, self._whole.result)
        whole = self._read(self._bars, (*self._takes, result, result))
        block, given = Block(), [*primal.inputs, *primal.outputs, *self._row]
        made = called(whole.program, given, block)
        block.yields = [x for x in made if is_real(type_of(x))]
        for _, leaf in leaves(whole.result):  # a shadow is added to in this order
            assert isinstance(leaf, Scalar) or leaf.order == in_c(leaf.ndim)
        inputs = [x for x in dict.fromkeys(given) if isinstance(x, Value)]
        sizes = {**primal.sizes, **dict(self._sizes(self._row))}
        return Program("adjoint", inputs, block, sizes=sizes)
