"""Reading and writing parts of watched arrays, in both directions.

A read adds its cotangent to the part of the shadow that was read. A write notes what it wrote over;
stepping back through it takes the cotangent of the new contents from the shadow, clears the shadow
there, and puts the old contents back, so that a pullback that keeps an array by reference finds
what it saw; where no pullback keeps it, nothing is saved. `Run.finish` writes again what was
undone. All of it costs what the part costs.

A write happens in the memory of the primal. Where an outer level watches that memory it is a write
of that level, noted there, and so are the undoing and the doing again.
"""

from __future__ import annotations

from _thread import RLock
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from zyg.base.array_types import add_at, array_type, is_array
from zyg.core.cotangents import project, spec_of
from zyg.core.entries import Kind, kinds, note
from zyg.core.exchange import bring
from zyg.core.indices import frozen, is_basic, is_unique
from zyg.core.objects import demand_not_shown, is_given_back
from zyg.core.reverse import Run
from zyg.core.sequences import joined, own_array
from zyg.core.strand import (
    ARRAYS,
    WATCHED,
    Strand,
    exchange_lock,
    has_left,
    local,
    settle,
    strip,
    watch,
)
from zyg.core.tangents import Tangents, tangent_views, tangents_of, writable
from zyg.core.views import (
    IDLE,
    Place,
    ViewSlot,
    adopt,
    base_of,
    buffer,
    copied,
    demand_writeable,
    float_dtype,
    is_given,
    is_spread,
    lay_out,
    like_operands,
    make_writable,
    order_of,
    raise_to,
    view,
)
from zyg.core.ways import part
from zyg.errors import ConversionError, MutationError


def read(x: Any, index: Any, take: Any = None) -> Any:
    """``x[index]`` of a watched array: a view, where NumPy gives one. The index carries nothing.

    ``take(x)`` makes the same value of arrays that are picked, in another order of memory.
    """
    if take is None:
        made = part(x, index)
        if made is not None or (made := _picked(x, index)) is not None:
            return made
    given, index = index, frozen(index)
    if not x.strand.open:
        if has_left(x):  # a look at an element is no use of it
            return watch(x.strand, x.primal[index], x.strand.new_slot())
        rest = settle(x)
        if type(rest) in WATCHED:
            return rest[index] if take is None else take(rest)
    plain = strip(x.primal)[index] if take is None else take(strip(x.primal))
    if type(plain) is np.ndarray and is_basic(index):
        with exchange_lock:  # a write in another thread may give the base other memory
            whole = strip(lay_out(x).primal)
            made = view(x, Place(strip(x.primal)[index], whole))
        made.taken = x, given
        return made
    if not x.strand.open:
        return like_operands(plain, (x,))
    if not x.strand.alone:
        x, index = _bring_part(x, index)
    primal = x.primal
    y = plain
    if type(primal) is not np.ndarray:
        y = primal[index] if take is None else take(primal)
    return note(
        x.strand, y, read_pullback, x.slot, index, is_unique(index), primal.shape, primal.dtype
    )


def _picked(x: Any, index: Any) -> Any:
    """``x[index]`` of an int or an array, where a level has one strand; else None."""
    strand, primal, kind = x.strand, x.primal, type(index)
    if not strand.alone or type(primal) is not np.ndarray:
        return None
    if kind is np.ndarray and index.dtype.kind in "biu":
        index, unique = index.copy(), index.dtype.kind == "b"
    elif kind is int and primal.ndim == 1:
        unique = True
    else:
        return None
    y = primal[index]
    return note(strand, y, read_pullback, x.slot, index, unique, primal.shape, primal.dtype)


def windows(x: Any, shape: Any, axis: Any, writeable: bool) -> Any:
    """np.lib.stride_tricks.sliding_window_view of a watched array."""
    lay_out(x)
    inside = np.lib.stride_tricks.sliding_window_view(strip(x.primal), shape, axis)
    return _overlapping_view(x, inside, writeable)


def strided(x: Any, shape: Any, strides: Any, writeable: bool) -> Any:
    """np.lib.stride_tricks.as_strided of a watched array, inside of its memory."""
    before = strip(x.primal).strides
    whole, plain = strip(lay_out(x).primal), strip(x.primal)
    inside = np.lib.stride_tricks.as_strided(plain, shape, strides)
    (low, high), (first, end) = map(np.lib.array_utils.byte_bounds, (whole, inside))
    dense = high - low == whole.nbytes and plain.strides == before
    split = any(step % plain.itemsize for step in inside.strides)
    if not dense or split or first < low or end > high:
        raise ConversionError(
            "np.lib.stride_tricks.as_strided of a watched array leaves its elements.",
            "what lies beside the array, or in gaps between its elements, is not watched.",
            "stay inside of the array; take the strides from those of np.ascontiguousarray(x).",
        )
    return _overlapping_view(x, inside, writeable)


def _overlapping_view(x: Any, inside: np.ndarray[Any, Any], writeable: bool) -> Any:
    """The view of a watched array that lies where a plain one does in its memory."""
    place = Place(inside, strip(base_of(x).primal))
    place.readonly = not writeable
    made = view(x, place)
    place.overlaps = not is_spread(place)
    return made


def _bring_part(x: Any, index: Any) -> tuple[Any, Any]:
    """``x[index]`` as a read on the strand of this task; from another's array, of the element."""
    here = local(x.strand)
    if x.strand is not here and is_basic(index):
        index = index if type(index) is tuple else (index,)
        with exchange_lock:
            whole = strip(lay_out(x).primal)
            x, index = view(x, Place(strip(x.primal)[(*index, ...)], whole)), ()
    return bring(here, x), index


def read_pullback(
    run: Run, y_bar: Any, slot: int | ViewSlot, index: Any, unique: bool, shape: Any, dtype: Any
) -> Any:
    if type(y_bar) not in _COMPUTED and (kind := array_type(y_bar)).lazy:
        whole = partial(_placed_in, shape, dtype, index, unique)
        return ((slot, kind.later(whole, partial(_read_in, index), y_bar, shape)),)
    if slot in run.owned and type(y_bar) not in WATCHED:
        shadow = run.bars[slot]
    elif type(slot) is ViewSlot and slot.repeats():
        c = buffer(np.zeros(shape, float_dtype(dtype)))
        np.add.at(c, index, y_bar)
        return ((slot, settle(c)),)
    else:
        shadow = run.shadow(slot, y_bar, (shape, dtype))
    if unique:
        shadow[index] += y_bar
    else:
        np.add.at(shadow, index, y_bar)
    return ()


_COMPUTED = {float, np.float64, np.ndarray}


def _read_in(index: Any, c: Any) -> Any:
    return np.asarray(c[index])


def _placed_in(shape: Any, dtype: Any, index: Any, unique: bool, c: Any) -> Any:
    """Zeros of this shape, with `c` added at an index."""
    whole = np.zeros(shape, float_dtype(dtype))
    add_at(whole, index, unique, c)
    return whole


def read_pushforward(slot: Any, index: Any, unique: bool, shape: Any, dtype: Any) -> Tangents:
    u = tangent_views(slot)
    return None if u is None else [p[index] for p in u]


kinds[read_pullback] = Kind(lambda slot, *_: [slot], read_pushforward)


class Write(NamedTuple):
    """What the entry of a write keeps: ``target[index] = value``, with `add` ``+=``.

    `before` is what was written over, where a pullback may need it; `slot` and `layout` (shape,
    dtype) are those of the array; `source` is (slot, spec, which elements were written last) of the
    value, where that is watched.
    """

    target: Any
    index: Any
    before: Any
    slot: Any
    layout: Any
    add: bool
    source: Any


def write(x: Any, index: Any, value: Any, *, add: bool = False) -> None:
    """``x[index] = value``, or with `add` what np.add.at(x, index, value) does.

    A buffer that nothing watches is watched from now on by the level of the value.
    """
    if type(x) not in ARRAYS:
        refuse_target(x)
    with exchange_lock:
        try:
            _write(x, index, value, add)
        except ValueError:
            if (own := own_array(value)) is None:
                raise
            _write(x, index, own, add)


def _write(x: Any, index: Any, value: Any, add: bool) -> None:
    value, base = joined(settle(value)), base_of(x)
    part = not add and type(value) in ARRAYS and value is not base_of(value)
    if part and is_given_back(x, index, value):
        return
    if base.strand.memory.shown:
        demand_not_shown(base)
    if not base.strand.open and not _opened(x, base, index, value, add):
        return
    index = frozen(index)
    if x is not base and x.place.overlaps:
        x, index = _spread_part(x, index), ...
    strand = _strand_of_write(base, value)
    value = bring(strand, value)
    own_value = type(value) in WATCHED and value.strand is strand
    _demand_room(strip(base.primal).dtype, value)
    make_writable(x)
    contents = settle(value.primal) if own_value else value
    if type(value) in ARRAYS and base_of(value) is base:
        contents = np.copy(contents)  # as meant: NumPy reads some overlaps while it writes them
    if type(contents) in WATCHED and type(base.primal) is np.ndarray:
        base.primal = watch(contents.strand, base.primal, contents.strand.new_slot())
    target = x.primal
    before = None
    if not (strand.dual or x.unread):
        before = target[index]
        if isinstance(before, np.ndarray):
            before = np.copy(before)
    _assign(target, index, contents, add)
    if strand.memory.turn is None:
        strand.memory.turn = RLock()
    source = None
    if own_value:
        last = None if add or strand.dual or is_unique(index) else _last(index, target.shape)
        source = (value.slot, spec_of(value.primal), last)
    layout = target.shape, target.dtype
    written = Write(target, index, before, x.slot, layout, add, source)
    strand.note((None, None, undo_write, None, written))
    if not strand.dual:  # whose slots live as long as their values, and no longer
        strand.memory.written.add(base.slot)


def _opened(x: Any, base: Any, index: Any, value: Any, add: bool) -> bool:
    """Whether a write into an array that no gradient watches any more is to be noted.

    If so, the level of the value watches the array from now on; if not, it has been done.
    """
    demand_writeable(x)
    rest = settle(base)
    outer = type(rest) in WATCHED
    if not outer and type(value) in WATCHED:
        if is_given(base):
            _refuse_given()
        adopt(local(value.strand), x)
        return True
    if base.strand is not IDLE:  # its memory belongs to a pullback that may yet run
        base.primal, base.strand = copied(rest, order_of(strip(rest))), IDLE
    if outer:
        write(settle(x), index, value, add=add)
    else:
        _assign(x.primal, frozen(index), value, add)
    return False


def _spread_part(x: Any, index: Any) -> Any:
    """``x[index]`` of a view whose elements overlap, to be written: refused where these do, too."""
    demand_writeable(x)
    if is_basic(index):
        index = index if type(index) is tuple else (index,)
        place = Place(strip(x.primal)[(*index, *([...] * (... not in index)))], strip(lay_out(x)))
        made = view(x, place)
        if not place.overlaps:
            return made
    raise MutationError(
        "elements of a view that lie in the same memory cannot be written at once.",
        "NumPy does not define which of the values stays, so the derivative is not defined either.",
        "write to the array that it is a view of, or to a part of it without overlaps.",
        tag="overlap",
    )


def _strand_of_write(base: Any, value: Any) -> Strand:
    """The strand that a write is noted on; an inner level's watches the array from now on."""
    strand: Strand = base.strand
    if type(value) not in WATCHED:
        return strand
    strand.memory.constant.discard(base.slot)
    if value.strand.level <= strand.level:
        return strand
    if _made_before(value.strand, base):
        raise MutationError(
            "a value of an inner gradient cannot be written into an array of an outer one.",
            "the inner gradient ends first, and the array would be left with a value that no "
            "gradient watches.",
            "return the value from the inner function, or make the array inside it.",
            tag="inner-value",
        )
    return raise_to(local(value.strand), base)


def _demand_room(dtype: np.dtype[Any], value: Any) -> None:
    """Refuse a watched value with a fraction in an array of integers."""
    if type(value) not in WATCHED or dtype.kind in "fc":
        return
    if np.result_type(strip(value)).kind not in "iu":
        raise MutationError(
            f"a watched value cannot be written into an array of {dtype}.",
            "the conversion would cut off its fraction and its derivative.",
            "make the array of floats, or write zyg.stop_gradient(value).",
            tag="int-buffer",
        )


def _refuse_given() -> NoReturn:
    raise MutationError(
        "a watched value cannot be written to an array whose memory is also in use as plain "
        "numbers.",
        "np.asarray, a memoryview or C code was given this memory earlier, and would go on to "
        "read numbers without a derivative.",
        "delete what was made from the array before you write to it, or make it from a copy: "
        "x.copy().",
        tag="plain-buffer",
    )


def refuse_target(x: Any) -> NoReturn:
    """Say why a watched value that is no array of NumPy's cannot be written."""
    plain = strip(x)
    if not is_array(plain):
        raise TypeError(f"what is written must be an array, not a number ({type(plain).__name__})")
    raise MutationError(
        "a watched device array cannot be written.",
        "views and overwritten contents are followed in the memory of the host only.",
        "make a new array: x = x + y for x += y, np.where(mask, value, x), np.concatenate.",
        tag="device",
    )


def _made_before(inner: Strand, base: Any) -> bool:
    """Whether an array is older than an inner gradient; one of another task counts as older."""
    began = inner.kin.began_at.get(base.strand)
    if began is None:
        return any(s.level == base.strand.level for s in inner.kin.began_at)
    return bool(base.slot < began)


def undo_write(
    run: Run, target: Any, index: Any, before: Any, slot: Any, layout: Any, add: bool, source: Any
) -> Any:
    if before is not None:
        run.restore(target, index, before)
    if run.bars[slot.slot if type(slot) is ViewSlot else slot] is None:
        return ()
    shadow = run.shadow(slot, None, layout)
    c = shadow[index]
    if isinstance(c, np.ndarray):
        c = np.copy(c)
    if not add:
        shadow[index] = 0.0
    if source is None:
        return ()
    to, spec, last = source
    c = c if last is None else np.where(last, c, 0.0)
    if type(spec) is tuple and len(spec[0]) > c.ndim:  # NumPy drops axes of one element
        c = np.reshape(c, (1,) * (len(spec[0]) - c.ndim) + c.shape)
    return ((to, project(c, spec)),)


def _source_of(*write: Any) -> list[Any]:
    source = Write(*write).source
    return [] if source is None else [source[0]]


def write_pushforward(
    target: Any, index: Any, before: Any, slot: Any, layout: Any, add: bool, source: Any
) -> None:
    """What is written to an array is written to its tangents."""
    new = None if source is None else tangents_of(source[0])
    old = (slot.slot if type(slot) is ViewSlot else slot).tangents
    if new is None:
        if add or old is None:
            return
        new = [0.0] * len(old)
    for shadow, p in zip(writable(slot, layout, new), new, strict=True):
        _assign(shadow, index, np.copy(p) if isinstance(p, np.ndarray) else p, add)


kinds[undo_write] = Kind(_source_of, write_pushforward, lambda *_: "write")


def _assign(target: Any, index: Any, contents: Any, add: bool) -> None:
    if not add:
        target[index] = contents
    elif is_unique(index):
        target[index] += contents
    else:
        np.add.at(target, index, contents)


def _last(index: Any, shape: tuple[int, ...]) -> Any:
    """Which elements of a fancy index are the last to name their place; None where all are."""
    places = np.arange(int(np.prod(shape))).reshape(shape)[index]
    flat = places.ravel()[::-1]
    _, first = np.unique(flat, return_index=True)
    if first.size == flat.size:
        return None
    last = np.zeros(flat.size, bool)
    last[flat.size - 1 - first] = True
    return last.reshape(places.shape)
