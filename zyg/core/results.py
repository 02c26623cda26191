"""Results of rules, and the memory of their arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.containers import ATOMS
from zyg.base.structure import Structure
from zyg.core.strand import WATCHED, is_watched, strip
from zyg.core.views import root_of


def shares(y: Any, primal: Any) -> bool:
    """Whether a result lies in the memory of an operand."""
    y, primal = strip(y), strip(primal)
    if type(y) is not np.ndarray or type(primal) is not np.ndarray:
        return False
    return y is primal or (y.base is not None and root_of(y) is root_of(primal))


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) or is_watched(x)


def copied(c: Any) -> Any:
    """A cotangent for a pullback of one's own, which may write to it: others may have the same."""
    if type(c) in ATOMS or isinstance(c, (float, complex)):
        return c
    if _is_array(c):
        return np.copy(c)
    found = Structure(c, _is_array)
    return found.rebuild([*map(np.copy, found.leaves)]) if found.leaves else c


def of_its_own(y: Any, seen: Sequence[Any]) -> Any:
    """What a rule of one's own made, which is new, watched or not: arrays in memory of operands, or
    of each other, are copied, since a write to one would be none to the others' derivatives."""
    if type(y) in ATOMS:
        return y
    if type(y) is np.ndarray or type(y) in WATCHED:
        return np.copy(y) if any(shares(y, x) for x in seen) else y
    found, made = Structure(y, _is_array), list[Any]()
    for x in found.leaves:
        made.append(np.copy(x) if any(shares(x, other) for other in (*seen, *made)) else x)
    return y if all(map(operator.is_, made, found.leaves)) else found.rebuild(made)
