"""Plain arrays that were written although an entry that is stepped back through needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from zyg.base.structure import Structure
from zyg.core.entries import inputs_of, outputs_of
from zyg.core.kept import changed
from zyg.core.strand import Strand
from zyg.core.views import ViewSlot, root_of
from zyg.errors import MutationError


def demand_unwritten(strands: Sequence[Strand], seeds: Iterable[tuple[Any, Any]]) -> None:
    """Raise MutationError if an array that strands keep has changed since it was first used.

    On a lone strand, only if an entry uses it on which the value depends whose slots are given.
    """
    for strand in strands:
        memory = strand.known_memory()
        if memory is not None and memory.kept and (found := changed(strand)):
            arrays = {id(root_of(a)) for a, _ in found}
            if len(strands) > 1 or _is_used(strand, arrays, {_whole(slot) for slot, _ in seeds}):
                raise overwritten(*found[0])


def _whole(slot: Any) -> Any:
    return slot.slot if type(slot) is ViewSlot else slot


def _is_used(strand: Strand, arrays: set[int], needed: set[Any]) -> bool:
    """Whether an entry that these slots depend on has memory of these arrays."""
    for k in range(len(strand.tape) - 5, -1, -5):
        entry = strand.tape[k : k + 5]
        made = outputs_of(entry)
        if not made or not needed.isdisjoint(map(_whole, made)):
            needed.update(map(_whole, inputs_of(entry)))
            held = Structure(entry[2:], _is_plain_array).leaves
            if any(id(root_of(a)) in arrays for a in held):
                return True
    return False


def _is_plain_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def overwritten(a: np.ndarray[Any, Any], line: str = "") -> MutationError:
    """The refusal of an array that was written, and of the line that uses it."""
    where = f" It is used at\n    {line}" if line else ""
    return MutationError(
        f"a plain array of shape {a.shape} was written after it had been used.",
        "the derivative needs its contents. It is read-only until then, but that does not stop a "
        f"write through an older view or by ufunc.at.{where}",
        "use a copy of it, or write to a copy; zyg.config(check_operands=True) names the line "
        "that uses it.",
        tag="overwritten",
    )
