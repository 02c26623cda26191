"""np.pad, axis by axis as NumPy does it: a later axis pads what the earlier ones put beside."""

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import (
    as_array,
    at_places,
    cast,
    composed,
    demand,
    demand_read,
    flat_indices,
    in_order,
    like,
    lowering,
    strip,
)


@composed(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    if callable(mode):
        raise MissingRuleError(
            "np.pad with a function as mode has no rule.",
            "the function writes into a plain array.",
            "use one of the named modes, or np.concatenate.",
        )
    array, option = as_array(array), None
    for name, value in kwargs.items():
        option = value
        if name.endswith("_values"):  # which need not be ints, as the indices are
            option = as_array(value)
            kwargs[name] = np.zeros(np.shape(option), int)
    places = np.pad(flat_indices(array), pad_width, mode, **kwargs)  # raises where NumPy does
    odd = kwargs.get("reflect_type") == "odd"
    if mode in ("edge", "wrap", "reflect", "symmetric") and not odd:
        return at_places(array, places)
    dtype, ndim = strip(array).dtype, np.ndim(array)
    if mode in ("constant", "linear_ramp") and option is None:
        option = np.zeros((), dtype, like=like(array))
    for axis, (before, after) in enumerate(_widths(pad_width, ndim)):
        if odd:
            array = _reflected(array, axis, before, after, mode == "symmetric")
        else:
            pair = (None, None) if option is None else np.broadcast_to(option, (ndim, 2))[axis]
            sides = _SIDES[mode](array, axis, before, after, pair)
            array = _beside(array, axis, sides, before, after)
    return in_order(array, places) if ndim else np.copy(array)


def _widths(pad_width, ndim):
    if isinstance(pad_width, dict):
        widths = np.zeros((ndim, 2), int)
        for axis, width in pad_width.items():
            widths[axis] = width
        return widths.tolist()
    return np.broadcast_to(pad_width, (ndim, 2)).tolist()


def _part(x, axis, *bounds):
    return x[(*[slice(None)] * axis, slice(*bounds))]


def _beside(x, axis, sides, before, after):
    """x between its two sides, which take its type."""
    parts = [
        np.broadcast_to(
            cast(side, strip(x).dtype), [n if k == axis else m for k, m in enumerate(np.shape(x))]
        )
        for side, n in zip(sides, (before, after), strict=True)
    ]
    return np.concatenate([parts[0], x, parts[1]], axis)


def _constants(x, axis, before, after, pair):
    return pair


def _ramps(x, axis, before, after, pair):
    edges = np.take(x, 0, axis), np.take(x, -1, axis)
    left, right = (
        np.linspace(end, edge, n, False, dtype=strip(x).dtype, axis=axis)
        for end, edge, n in zip(pair, edges, (before, after), strict=True)
    )
    return left, np.flip(right, axis)


def _statistics(function):
    def sides(x, axis, before, after, pair):
        n = np.shape(x)[axis]
        first, last = (n if k is None else min(int(k), n) for k in pair)
        parts = _part(x, axis, first), _part(x, axis, n - last, n)
        made = [function(part, axis=axis, keepdims=True) for part in parts]
        return [np.round(y) for y in made] if strip(x).dtype.kind in "iu" else made

    return sides


_SIDES = {
    "constant": _constants, "empty": lambda *_: (np.zeros(()), np.zeros(())),
    "linear_ramp": _ramps, "maximum": _statistics(np.max), "minimum": _statistics(np.min),
    "mean": _statistics(np.mean), "median": _statistics(np.median),
}  # fmt: skip


def _reflected(x, axis, before, after, symmetric):
    """x continued by its point reflections at its ends, again and again."""
    n = np.shape(x)[axis]
    if n == 1:
        return np.repeat(x, before + 1 + after, axis)
    period, skip = (n, 0) if symmetric else (n - 1, 1)  # skip: the element at the edge itself
    while before or after:
        length = (np.shape(x)[axis] - skip) // period * period
        m, k = min(length, before), min(length, after)
        back = np.flip(x, axis)
        left = 2 * _part(x, axis, 1) - np.flip(_part(x, axis, skip, skip + m), axis)
        right = 2 * _part(back, axis, 1) - _part(back, axis, skip, skip + k)
        x = np.concatenate([left, x, right], axis)
        before, after = before - m, after - k
    return x


# In loops, for machine code


@lowering(np.pad)
def pad_loops(array, pad_width, mode="constant", constant_values=0):
    demand_read(array.ndim == 1 and mode in ("constant", "edge", "wrap"))
    before = pad_width if isinstance(pad_width, int) else pad_width[0]
    after = pad_width if isinstance(pad_width, int) else pad_width[1]
    n = len(array)
    made = np.full(n + before + after, constant_values, array.dtype)
    made[before : before + n] = array
    demand(n > 0 or mode == "constant")
    if mode == "edge":
        made[:before] = array[0]
        made[before + n :] = array[n - 1]
    elif mode == "wrap":
        for i in range(before):
            made[i] = array[(i - before) % n]
        for i in range(after):
            made[before + n + i] = array[i % n]
    return made
