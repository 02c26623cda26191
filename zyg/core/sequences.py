"""Lists and object arrays that hold watched values, given where a function takes an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.registry import Adjoint, Composed
from zyg.core.objects import holds_watched_objects, stacked
from zyg.core.strand import WATCHED

_LISTS = frozenset((list, tuple))


def is_list(x: Any) -> bool:
    """Whether `x` is what NumPy takes for an array, if it can: a list or a tuple."""
    return type(x) in _LISTS


def is_of_ints(x: Any) -> bool:
    """Whether `x` is a tuple of plain ints, as axes and shapes are."""
    return type(x) is tuple and all(type(n) is int for n in x)


def holds_watched(x: Any) -> bool:
    """Whether a value is watched, or one of those in nested lists or in an object array is."""
    if isinstance(x, (list, tuple)):
        kinds = {*map(type, x)}
        return not kinds.isdisjoint(WATCHED) or (
            any(issubclass(t, (list, tuple, np.ndarray)) for t in kinds)
            and any(map(holds_watched, x))
        )
    return type(x) in WATCHED or holds_watched_objects(x)


def joined_lists(x: Any) -> Any:
    """`x`; nested lists that hold watched values as one watched array."""
    if not (is_list(x) and holds_watched(x)):
        return x
    return np.stack([np.asarray(p) if is_list(p) else p for p in map(joined, x)])


def joined(x: Any) -> Any:
    """`x`; lists and object arrays that hold watched values as one watched array."""
    if type(x) in WATCHED:
        return x
    return joined_lists(x) if is_list(x) else stacked(x)


def as_arrays(rule: Adjoint | Composed, args: Sequence[Any]) -> Sequence[Any]:
    """The arguments of a rule: object arrays stacked, and joined what stands for an array."""
    for k, x in enumerate(args):
        if type(x) is np.ndarray:
            if not x.dtype.hasobject:
                continue
            part = stacked(x)
        elif type(x) in _LISTS:
            part = joined(x) if rule.ours and rule.takes_array(k) else stacked(x)
        else:
            continue
        if part is not x:
            args = [*args[:k], part, *args[k + 1 :]]
    return args


def own_array(x: Any) -> Any:
    """The watched array or buffer that the own ``__array__`` of an object answers, or None.

    To NumPy, which asks such an object and has no array, that is a ValueError.
    """
    method = getattr(type(x), "__array__", None)
    own = None if method is None or type(x) in WATCHED else method(x)
    return own if type(own) in WATCHED else None
