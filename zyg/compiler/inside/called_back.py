"""Calls of functions that stay in Python: see `callbacks`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Protocol

import numpy as np

from zyg.compiler.callbacks import HIDDEN, Callee, program_of
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.elementwise import copied
from zyg.compiler.front.kinds import Array, Kind, Scalar, Static, Struct, dense_array, put_together
from zyg.compiler.front.structures import Unknown, described
from zyg.compiler.front.views import Arrayed, dense
from zyg.compiler.inside.inner import refused
from zyg.compiler.ir import Atom, Value, is_buffer, is_number
from zyg.compiler.splice import called


class Find(Protocol):
    """Who knows functions that may stay in Python."""

    def may_stay(self, f: Any) -> bool:
        """Whether a function may, as far as is known before it is called."""

    def __call__(
        self, reader: Any, f: Any, path: Any, kinds: tuple[Kind, ...],
        operands: Sequence[Atom], names: tuple[str, ...],
    ) -> Callee:  # fmt: skip
        """The callee of a function for arguments of these kinds; the last ones have names."""


_KNOWN = (str, bytes, Enum, type, type(None), type(...), np.dtype, complex, np.ufunc)


def call_back(
    reader: Any, find: Find, f: Any, path: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """What a call gives of a function that stays in Python."""
    operands: list[Atom] = []
    kinds = tuple(_argument(reader, x, operands) for x in (*args, *kwargs.values()))
    callee = find(reader, f, path, kinds, operands, tuple(kwargs))
    to = reader.builder
    outs: Any = called(program_of(callee), [*operands, 0], to.block)
    for out in outs:
        if is_buffer(out.type):
            to.born[out] = len(to.born) + 1
    return reader.taken(_made(reader, callee.gives, iter(outs)), "")


def _argument(reader: Any, x: Any, operands: list[Atom]) -> Kind:
    """The kind of an argument, whose operands are appended; arrays are copied."""
    x = reader.settled(reader.handed_out(reader.uncovered(x)))
    if is_number(x) or isinstance(x, _KNOWN):
        return Static(x)
    if isinstance(x, (tuple, list)):
        return Struct(type(x), (), tuple(_argument(reader, part, operands) for part in x))
    if type(x) is dict:
        return Struct(dict, tuple(x), tuple(_argument(reader, p, operands) for p in x.values()))
    if isinstance(x, Arrayed):
        view = copied(x)
        operands += [view.buffer, *view.shape]
        return dense_array(view.element, view.order)
    kind = reader.result(x, operands)
    if not isinstance(kind, Scalar):
        raise refused(
            f"{described(x)} as an argument of what runs in Python",
            "it takes numbers, arrays, and containers of those.",
            "pass those.",
        )
    return kind


def _made(reader: Any, kind: Kind, outs: Iterator[Value]) -> Any:
    """What the function that is read sees of a result."""
    to = reader.builder
    if isinstance(kind, Static) and kind.value is HIDDEN:
        return Unknown("it is of a type that compiled functions do not have")
    if isinstance(kind, Static):
        return kind.value
    if isinstance(kind, Struct):
        return put_together(kind.type, kind.keys, [_made(reader, p, outs) for p in kind.parts])
    if isinstance(kind, Array):
        buffer = next(outs)
        dims = [next(outs) for _ in range(kind.ndim)]
        return dense(to, buffer, dims, kind.element, kind.order)
    if kind.type == "complex":
        return ComplexNumber(to, next(outs), next(outs), kind.python)
    return to.number(next(outs), kind.python)
