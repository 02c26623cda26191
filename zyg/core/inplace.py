"""Writes in NumPy's other spellings: ``x += y``, ``out=x``, ``ufunc.at`` and their kin."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from zyg.base.adoptable import is_adopted, outside
from zyg.base.remedies import remedy
from zyg.core.indexing import refuse_target, write
from zyg.core.indices import frozen, is_unique
from zyg.core.sequences import is_list, joined
from zyg.core.strand import ARRAYS, exchange_lock, is_watched, settle, strip
from zyg.core.views import Place, base_of, buffer, copied, lay_out, make_writable, order_of
from zyg.errors import ConversionError, user_frame


def augment(x: Any, function: Any, ufunc: Any, other: Any) -> Any:
    """``x += other`` and its kin, into the memory of `x`."""
    if type(x) not in ARRAYS:
        refuse_target(x)
    other = joined(settle(other))
    if ufunc in (np.add, np.subtract):
        other = _as_array(other)
        sign = other if ufunc is np.add else -other
        _check_output(x, np.result_type(x.dtype, strip(other)), other, ufunc, (x, other))
        write(x, ..., sign, add=True)
    else:
        rest = settle(x)
        value = function(x if is_watched(rest) else rest, other)
        value = _rounded_in_place(x, value, function, other)
        write_result(x, value, ufunc=ufunc, inputs=(x, other))
    return x


def _rounded_in_place(x: Any, value: Any, function: Any, other: Any) -> Any:
    """The new `value` of a function, rounded as NumPy's in-place operator rounds it.

    NumPy has other loops of powers and of complex products for memory that runs backwards than for
    a new array, and for one complex number. So it computes once more, in the memory of `x`.
    """
    plain = strip(x)
    if function is not operator.pow and plain.dtype.kind != "c":
        return value
    other = strip(other)
    if not (_runs_backwards(plain) or _runs_backwards(other) or plain.size == 1):
        return value
    if np.ndim(value) == 0:
        value = np.reshape(np.atleast_1d(value), ())  # an array even of a number
    made = strip(value)
    if (made.shape, made.dtype) != (plain.shape, plain.dtype) or isinstance(other, (list, tuple)):
        return value  # refused, or rounded by the conversion
    with exchange_lock:
        if x.strand.open:
            make_writable(x)
            plain = strip(x)
        if plain.flags.writeable:
            before = plain.copy()
            with np.errstate(all="ignore"):  # it has warned already
                made[...] = getattr(operator, f"__i{function.__name__}__")(plain, other)
            plain[...] = before
    return value


def _runs_backwards(x: Any) -> bool:
    return isinstance(x, np.ndarray) and min(x.strides, default=0) < 0


def _as_array(x: Any) -> Any:
    x = joined(x)
    return np.asarray(x) if is_list(x) else x


def _check_output(x: Any, dtype: Any, value: Any, ufunc: Any, inputs: tuple[Any, ...]) -> None:
    """Raise what NumPy raises where a result of this dtype and shape does not go into ``out=x``."""
    shape = np.shape(strip(value))
    try:
        fits = np.broadcast_shapes(shape, x.shape) == x.shape
    except ValueError:
        fits = False
    if fits and np.can_cast(dtype, x.dtype, "same_kind"):
        return
    if ufunc is not None:  # NumPy says it best
        ufunc(*map(strip, inputs), out=strip(x).copy())
    elif not fits:
        raise ValueError(f"output of shape {x.shape} does not fit a result of shape {shape}")
    raise TypeError(
        f"Cannot cast output from {dtype!r} to {x.dtype!r} with casting rule 'same_kind'"
    )


def write_result(
    x: Any, value: Any, where: Any = True, *, ufunc: Any = None, inputs: tuple[Any, ...] = ()
) -> None:
    """Write the result of a function into ``out=x``, with NumPy's rules for shapes and casts."""
    if not is_watched(x):
        refuse_store()
    plain = strip(value)
    _check_output(x, np.result_type(plain), value, ufunc, inputs)
    if where is True:
        write(x, ..., value)
        return
    mask = np.broadcast_to(strip(where), x.shape)
    write(x, mask, np.broadcast_to(value, x.shape)[mask])


def refuse_store() -> NoReturn:
    frame = outside(user_frame())
    adopted = frame is not None and is_adopted(frame.f_globals)
    made = "where the gradient runs" if adopted else "after import zyg.numpy as np"
    raise ConversionError(
        "a watched value cannot be stored in a plain NumPy array.",
        "the array can hold plain numbers only, so the derivative would be lost; it was made by "
        "plain NumPy, or outside the gradient.",
        remedy(f"make it with np.zeros_like(x), or with np.zeros(n) {made}"),
        tag="plain-buffer",
    )


def at(ufunc: Any, x: Any, index: Any, *operand: Any) -> None:
    """``ufunc.at(x, index, operand)``: repeated elements are each changed in turn."""
    if not is_watched(x):
        refuse_store()
    index = frozen(index)
    if ufunc in (np.add, np.subtract):
        write(x, index, operand[0] if ufunc is np.add else -_as_array(operand[0]), add=True)
        return
    if is_unique(index):
        write(x, index, ufunc(x[index], *operand))
        return
    operand = tuple(map(_as_array, operand))
    places = np.arange(x.size).reshape(x.shape)[index]
    values = [np.broadcast_to(v, places.shape) for v in operand]
    turns = _turns(places.ravel()).reshape(places.shape)
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = turns == turn
        part = np.unravel_index(places[now], x.shape)
        write(x, part, ufunc(x[part], *(v[now] for v in values)))


def _turns(places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How often the same place came before each of these."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    fresh = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: ordered.size]
    start = np.maximum.accumulate(np.where(fresh, np.arange(ordered.size), 0))
    turns = np.empty_like(places)
    turns[order] = np.arange(ordered.size) - start
    return turns


def resize(x: Any, *shape: Any, refcheck: bool = True) -> None:
    """``x.resize(shape)``: the same elements in another shape, cut off or filled up with zeros."""
    if base_of(x) is not x or x.viewed or not strip(x).flags.c_contiguous:
        raise ValueError(
            "cannot resize an array that references or is referenced\n"
            "by another array in this way.\nUse the np.resize function"
        )
    new = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    n, flat = int(np.prod(new)), np.reshape(np.copy(x), -1)
    rest = np.zeros(max(n - x.size, 0), x.dtype)
    made: Any = np.copy(np.reshape(np.concatenate([flat[:n], rest]), new))
    if not is_watched(made):
        made = buffer(made)
    x.primal, x.strand, x.slot, x.unread = made.primal, made.strand, made.slot, False


def set_shape(x: Any, shape: Any) -> None:
    """``x.shape = shape``: the same memory in another shape, or NumPy's AttributeError."""
    strip(x).view().shape = shape
    base = lay_out(x)
    inside = strip(x).view()
    inside.shape = shape
    if base is not x:
        readonly = x.place.readonly
        x.place, x.whole, x.taken = Place(inside, strip(base.primal)), None, (None, None)
        x.place.readonly = readonly
    elif not x.strand.open:
        x.primal = np.reshape(x.primal, inside.shape)
    else:  # a new slot; its views see the new memory, which has the same layout
        made: Any = copied(np.reshape(x, inside.shape), order_of(inside))
        old, new = x.strand.memory, made.strand.memory
        for slots, more in ((old.readonly, new.readonly), (old.entangled, new.entangled)):
            if x.slot in slots:
                more.add(made.slot)
        x.primal, x.strand, x.slot = made.primal, made.strand, made.slot


def sort_in_place(x: Any, order: np.ndarray[Any, Any], axis: int) -> None:
    """Write the elements of `x` into `x` in this order along an axis."""
    index: list[Any] = list(np.ogrid[tuple(slice(n) for n in x.shape)])
    index[axis] = order
    write(x, ..., x[tuple(index)])
