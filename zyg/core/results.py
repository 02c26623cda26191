"""Results of rules, and the memory of their arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.buffers import says_read_only
from zyg.base.containers import ATOMS
from zyg.base.registry import Adjoint
from zyg.base.structure import Structure
from zyg.core.pushes import linear_pushforward
from zyg.core.strand import ARRAYS, WATCHED, is_watched, strip
from zyg.core.views import root_of
from zyg.errors import AdjointError


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


def read_only(x: Any) -> Any:
    """An array as a function may use it that is not followed: NumPy refuses a write to it."""
    if type(x) is np.ndarray:
        x = x.view()
        x.flags.writeable = False
    return np.broadcast_to(x, np.shape(x)) if type(x) in ARRAYS else x


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


_COPY = (
    "zyg: a rule gets its arrays read-only, for zyg does not follow what a rule writes. Write into "
    "a copy of the argument, x.copy(), and return it."
)


def applied(
    rule: Adjoint, primals: list[Any], kwargs: dict[str, Any], linear: bool, moving: bool
) -> tuple[Any, Callable[..., Any]]:
    """What a rule returns in its mode: the value, and its pullback or its pushforward."""
    if linear:
        return linear_pushforward(rule, primals, kwargs)
    try:
        found = (rule.push if moving and rule.push else rule.rule)(*primals, **kwargs)
    except ValueError as error:
        if rule.is_users and says_read_only(error):
            error.add_note(_COPY)
        raise
    if not (isinstance(found, tuple) and len(found) == 2 and callable(found[1])):
        raise AdjointError(
            f"the rule {rule.name} returned {type(found).__name__}, not (y, pullback).",
            "a rule returns the value of its function and the function's pullback.",
            "return y, pullback   (zyg.adjoint(f) gives a rule to a function f of NumPy's).",
        )
    return found
