"""What the words mean that texts of array functions have beside NumPy: see `base.words`.

Nothing is watched where machine code runs, and all arrays are NumPy's; their values are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from zyg.compiler import libraries
from zyg.compiler.front.complexes import ComplexNumber, is_complex, number
from zyg.compiler.front.conversions import as_array, kind_of_elements
from zyg.compiler.front.creation import asarray
from zyg.compiler.front.elementwise import array, copied, elementwise, mapped
from zyg.compiler.front.structures import Dead
from zyg.compiler.front.views import Arrayed, ArrayView
from zyg.compiler.kinds import NARROW
from zyg.compiler.numbers import Number, atom_of
from zyg.compiler.routines import routines
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.whole import WholeInterpreter


_SMALL = 16  # LAPACK is slower for matrices of so many rows


class ArrayType(NamedTuple):
    """What `array_type` of an array tells: no other library's, and no values to look at."""

    library: Any = None
    readable: bool = False


def _demand(reader: WholeInterpreter, condition: Any) -> None:
    to = reader.builder
    to.check(to.to("bool", atom_of(condition)), "what a function of NumPy's demands")


def _slopes_hold(reader: WholeInterpreter, condition: Any) -> None:
    reader.builder.slopes_hold(reader.builder.to("bool", atom_of(condition)))


def _demand_read(reader: WholeInterpreter, condition: Any) -> None:
    if condition is not True:
        raise KernelError(
            "a function of NumPy's is not compiled for arguments of these shapes and types.",
            "its text in the compiler's language does not know them.", "call it outside.",
        )  # fmt: skip


def _routine(reader: WholeInterpreter, name: str, *operands: Any) -> Any:
    if name in libraries.LOOPS:
        _demand_read(reader, name in libraries.loops())
    if name in libraries.SORTS:
        _demand_read(reader, bool(libraries.sorts()))
    atoms = [x.buffer if isinstance(x, ArrayView) else atom_of(x) for x in operands]
    made = reader.builder.routine(name, *atoms, outs=routines[name].gives)
    found = (*(reader.builder.number(x, False) for x in made),)
    return found[0] if len(found) == 1 else found


def _by_lapack(reader: WholeInterpreter, n: Any) -> Any:
    return libraries.of_factors() is not None and n > _SMALL


def _lies_like(reader: WholeInterpreter, x: Any, a: Any) -> Any:
    return x if not x.gaps and x.is_dense(a.order) else copied(x, a.order)


def _in_order(reader: WholeInterpreter, y: Any, other: Any) -> Any:
    if not isinstance(y, Arrayed):
        return y
    if isinstance(other, str):
        return asarray(reader.builder, y, order=other)
    return _lies_like(reader, array(y), other) if isinstance(other, Arrayed) else y


WITHOUT_SLOPES = {"int", "bool", *NARROW}


def _constant(reader: WholeInterpreter, x: Any) -> Any:
    """The same without a derivative; what holds no floats is itself."""
    x = reader.values.uncovered(x)
    if isinstance(x, (list, tuple)):
        parts = [_constant(reader, part) for part in x]
        return type(x)._make(parts) if hasattr(x, "_make") else type(x)(parts)
    to = reader.builder
    if isinstance(x, ComplexNumber):
        return number(to, (to.op("constant", x.re), to.op("constant", x.im)), x.python)
    if not isinstance(x, (Arrayed, Number)) or kind_of_elements(x) in WITHOUT_SLOPES:
        return x
    if isinstance(x, Arrayed):
        y = mapped(to, lambda v: _constant(reader, v), [x], x.element)
        y.ranked(x.ranks)  # of what is broadcast, too
        return y
    return x.record("constant", x)


def _as_array(reader: WholeInterpreter, x: Any) -> Any:
    return as_array(reader.builder, reader.values.uncovered(x))


def _moves(reader: WholeInterpreter, x: Any) -> bool:
    """Whether a derivative may be asked for."""
    x = reader.values.uncovered(x)
    return isinstance(x, (Arrayed, Number)) and kind_of_elements(x) not in WITHOUT_SLOPES


def _raises(reader: WholeInterpreter, *args: Any, **kwargs: Any) -> None:
    raise Dead("a function of NumPy's raises")


def _conj(reader: WholeInterpreter, x: Any) -> Any:
    return elementwise(reader.builder, "conjugate", x) if is_complex(x) else x


WORDS: dict[str, Callable[..., Any]] = {
    "demand": _demand, "demand_read": _demand_read, "slopes_hold": _slopes_hold,
    "routine": _routine, "by_lapack": _by_lapack, "lies_like": _lies_like, "in order": _in_order,
    "constant": _constant, "array": _as_array,
    "constant array": lambda reader, x: _constant(reader, _as_array(reader, x)),
    "no": lambda reader, *xs: False, "nothing": lambda reader, *xs, **kwargs: None, "moves": _moves,
    "kind": lambda reader, x: ArrayType(), "is complex": lambda reader, x: is_complex(x),
    "conj": _conj, "raises": _raises, "its derivative": lambda reader, d, y: d,
}  # fmt: skip
