"""Object arrays of watched numbers: what NumPy makes of watched values that it cannot ask.

Beside a watched operand such an array is a container, and is stacked first: to NumPy it is plain,
so a rule would take it for a constant. One whose elements are not all numbers of NumPy's is not
stacked; there NumPy asks the elements of all operands.
"""

from __future__ import annotations

import operator
import sys
from typing import Any
from weakref import ref

import numpy as np

from zyg.base.config import setting
from zyg.base.registry import ScalarRule
from zyg.base.remedies import instead_as_told
from zyg.base.scipys import NO_RULE
from zyg.base.warned import warn
from zyg.core.strand import ARRAYS, WATCHED, strip, watch
from zyg.core.views import base_of, once, order_of, root_of, zeros_in
from zyg.errors import ConversionError, MutationError

_NUMBERS = (bool, float, complex, np.bool_, np.number)


def holds_watched_objects(x: Any) -> bool:
    """Whether a plain array holds watched values."""
    if type(x) in WATCHED or not isinstance(x, np.ndarray) or x.dtype.kind != "O":
        return False
    return any(type(v) in WATCHED for v in x.flat)


def is_somebodys(cls: type) -> bool:
    """Whether a subclass of ndarray is not NumPy's own: no masked array, no matrix."""
    return cls is not np.ndarray and cls.__module__.partition(".")[0] != np.__name__


def without_class(x: Any) -> Any:
    """`x`; what watched objects somebody's subclass of ndarray holds as a plain array of them."""
    return x.view(np.ndarray) if holds_watched_objects(x) and is_somebodys(type(x)) else x


def stacked(x: Any) -> Any:
    """An operand whose object arrays are watched arrays: itself, or one in nested lists."""
    if type(x) in (list, tuple):
        parts = [*map(stacked, x)]
        return x if all(map(operator.is_, parts, x)) else type(x)(parts)
    return _stack(x) if holds_watched_objects(x) else x


def _stack(x: np.ndarray[Any, Any]) -> Any:
    elements = [*x.flat]
    if type(x) is not np.ndarray or not all(map(_has_dtype, elements)):
        raise ConversionError(
            "an object array of watched numbers that is no plain array, or holds something that "
            "NumPy has no number type for, has no rule as an operand.",
            "zyg stacks the watched numbers in it, and an array holds numbers of one type.",
            "take the numbers out first: np.stack([a[0], a[1]]).",
        )
    part = once(x)  # the result lies as the array does: NumPy's results go by that
    axes = sorted(range(x.ndim), key=lambda k: -abs(part.strides[k]))
    laid = part.transpose(axes)
    y = np.reshape(np.stack([*laid.flat]), laid.shape)
    if axes != sorted(axes):
        y = np.transpose(y, sorted(axes, key=axes.__getitem__))
    return y if part.shape == x.shape else np.broadcast_to(y, x.shape)


def _has_dtype(x: Any) -> bool:
    """Whether NumPy has a type for a value, a number."""
    x = strip(x)
    if type(x) is int:
        return x.bit_length() < 64
    return isinstance(x, _NUMBERS) or (isinstance(x, np.ndarray) and x.ndim == 0)


def over_objects(rule: ScalarRule, args: tuple[Any, ...]) -> Any:
    """A scalar rule on operands some of which are object arrays that hold watched values."""
    holders = [x for x in args if holds_watched_objects(x)]
    plain = all(type(x) is np.ndarray for x in holders)
    if plain and all(_has_dtype(v) for x in holders for v in x.flat):
        return rule(*map(stacked, args))
    return rule.function(*map(as_objects, args))


def as_objects(x: Any) -> Any:
    """A watched value as an array of objects, which are watched numbers: a copy."""
    if type(x) not in WATCHED:
        return x
    plain = strip(x)
    if type(plain) is np.ndarray:
        return _filled(np.empty_like(plain, object), x)
    return _filled(np.empty(np.shape(x), object), x)


def _filled(made: np.ndarray[Any, Any], x: Any) -> np.ndarray[Any, Any]:
    """An array of objects, whose elements are now those of `x`."""
    if type(x) not in ARRAYS:
        made[()] = _of_numpy(x)
        return made
    flat = np.reshape(x, -1)
    for k, index in enumerate(np.ndindex(made.shape)):
        made[index] = flat[k]
    return made


def _in_place_of(x: Any) -> np.ndarray[Any, Any]:
    """The same, with the strides of the array: for what may be the array itself."""
    part = once(x)
    plain = strip(part)
    made = _filled(zeros_in(plain.shape, np.dtype(object), order_of(plain), np.empty), part)
    return made if plain.shape == x.shape else np.broadcast_to(made, x.shape)


def _of_numpy(x: Any) -> Any:
    """A float or a complex number as an element of an array, for which 1 / 0 is infinite."""
    if type(x) in WATCHED:
        return watch(x.strand, _of_numpy(x.primal), x.slot)
    return np.float64(x) if type(x) is float else np.complex128(x) if type(x) is complex else x


def within_bound(x: Any) -> bool:
    """Whether there may be an object array of `x`, or of the list that it is an element of.

    Numbers that one instruction asks for, while nothing is noted, are those of a list.
    """
    memory, frame = x.strand.memory, sys._getframe(2)
    here = len(x.strand.tape), id(frame), frame.f_lasti
    before, count = memory.asked
    goes_on = here == before and not x.strand.dual  # which keeps no tape
    memory.asked = here, np.size(strip(x)) + (count if goes_on else 0)
    return bool(memory.asked[1] <= setting("object_elements"))


def shown(x: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """What np.asarray(x) answers: an object array, with a warning of what that costs.

    NumPy's answer is `x` itself: unless a copy was asked for, neither may be written meanwhile.
    """
    cure = instead_as_told()
    warn(
        "NumPy made an array of objects from watched values: correct, but each element is "
        f"computed in Python. {'Also, ' if cure.startswith(NO_RULE) else 'Faster: '}{cure}."
    )
    made = as_objects(x) if copy or type(x) not in ARRAYS else _in_place_of(x)
    if type(x) in ARRAYS and not copy:
        made.flags.writeable = False
        base = base_of(x)
        memory = base.strand.memory
        others = [(r, b) for r, b in memory.shown if r() is not None]
        memory.shown = [*others, (ref(root_of(made)), base)]
    memory = x.strand.memory
    if memory.elements is None:
        memory.elements = []
    memory.elements.extend((x, *made.flat))
    return made


def is_shown(x: Any, made: Any) -> bool:
    """Whether an array is, or has a part of, the memory that NumPy takes for that of `x`."""
    if type(x) not in ARRAYS or not isinstance(made, np.ndarray):
        return False
    base = base_of(x)
    arrays = [r() for r, b in base.strand.memory.shown if b is base]
    return any(a is not None and np.may_share_memory(a, made) for a in arrays)


def demand_not_shown(base: Any) -> None:
    """Refuse a write to an array of which NumPy has an object array: the write would be missed."""
    if any(b is base and r() is not None for r, b in base.strand.memory.shown):
        raise MutationError(
            "np.asarray made an object array of a watched array that is now written to.",
            "np.asarray of NumPy shares memory and would see the write; the object array holds "
            "the elements as they were.",
            "use np.array(x), a copy, or write before np.asarray(x).",
        )


def is_given_back(x: Any, index: Any, view: Any) -> bool:
    """Whether ``x[index] = view`` is the second half of x[a:b] += c.

    Python assigns the view that it was given. Another view of `x` may be written by a swap of rows
    in the C code that asked whether `x` is a sequence; that runs in the instruction of the user's
    that asked, whatever that calls it by.
    """
    source, given = view.taken
    if source is not x or given is index:
        return source is x
    if (asker := base_of(x).strand.memory.asker) is not None:
        frame = sys._getframe(4)  # past this, `_write`, `write` and `__setitem__`
        if (frame.f_code, frame.f_lasti) == asker:
            raise MutationError(
                "a random generator cannot shuffle the rows of a watched array.",
                "for arrays that are not NumPy's own it swaps rows by x[i], x[j] = x[j], x[i]. "
                "These are views, so some rows would appear twice.",
                "write x[:] = x[rng.permutation(len(x))] for rng.shuffle(x).",
                tag="write",
            )
    return False
