"""Views by the way they were got: slices, transposes and reshapes of arrays in C order."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from zyg.base.registry import short_ways
from zyg.core.strand import ARRAYS, watcher_of
from zyg.core.views import Place, Step, Way, base_of


def part(x: Any, index: Any) -> Any:
    """``x[index]`` as a view; None if it is none, or more is to be done."""
    if type(index) is int and type(x.primal) is np.ndarray and x.primal.ndim == 1:
        return None
    made = _by_step(x, (operator.getitem, index, None, None)) if _is_plain(index) else None
    if made is not None:
        made.taken = x, index
    return made


def _transpose(a: Any, *rest: Any, **others: Any) -> Any:
    if type(a) not in ARRAYS or rest or others:
        return None
    return _by_step(a, (_transposed, None, _transposed, None))


def _reshape(a: Any, shape: Any = None, *rest: Any, **others: Any) -> Any:
    known = type(shape) is int or (type(shape) is tuple and {*map(type, shape)} <= _INT)
    if type(a) not in ARRAYS or not known or rest or others:
        return None
    plain = a.primal
    if type(plain) is not np.ndarray or not plain.flags.c_contiguous:  # it may be a copy
        return None
    return _by_step(a, (_reshaped, plain.reshape(shape).shape, _reshaped, plain.shape))


def _ravel(a: Any, *rest: Any, **others: Any) -> Any:
    return _reshape(a, -1, *rest, **others)


short_ways.update({np.transpose: _transpose, np.reshape: _reshape, np.ravel: _ravel})
_INT = {int}


def _by_step(x: Any, step: Step) -> Any:
    """The view of `x` that a step makes; None if it is none, or needs a place."""
    base = base_of(x)
    whole = base.primal
    if type(whole) is not np.ndarray or not whole.flags.c_contiguous or not x.strand.open:
        return None
    cached = step[0](x.primal, step[1])
    if type(cached) is not np.ndarray:
        return None
    if base is x:
        way, readonly = Way(whole.shape, (step,)), x.locked
    elif x.way is None:
        return None
    else:
        way = Way(x.way.shape, (*x.way.steps, step))
        readonly = x.where is not None and x.where.readonly
    if readonly:
        return None
    made: Any = watcher_of[Place]()
    made.base_array, made.way, made.where, made.taken = base, way, None, (None, None)
    # Another task may have copied the memory meanwhile; then it is looked up when it is needed.
    now = base.primal if base is x else x.whole
    made.cached, made.whole = cached, whole if now is whole else None
    base.viewed = True
    return made


def _is_plain(index: Any) -> bool:
    """Whether an index is basic, of plain ints: there is nothing to be frozen."""
    for k in index if type(index) is tuple else (index,):
        if type(k) is slice:
            if not (type(k.start) in _ENDS and type(k.stop) in _ENDS and type(k.step) in _ENDS):
                return False
        elif type(k) not in _PLAIN:
            return False
    return True


_ENDS = {int, type(None)}
_PLAIN = {int, type(None), type(...)}


def _transposed(a: Any, _: Any) -> Any:
    return a.T


def _reshaped(a: Any, shape: tuple[int, ...]) -> Any:
    return a.reshape(shape)
