"""Differences, sums and interpolation along an axis; sequences of numbers between two."""

import numpy as np

from zyg.functions.kit import (
    NO,
    add_at,
    adjoint,
    as_array,
    composed,
    conj,
    demand,
    in_order,
    is_complex,
    listed,
    lowering,
    normal_axes,
    numpys,
    raised,
    strip,
    unbroadcast,
)
from zyg.functions.primitives.places import place_in


def _along(axis, ndim, index):
    """The index that is `index` along one axis and everything along the others."""
    return (*[slice(None)] * (axis % ndim), index)


# Differences


@composed(np.diff)
def diff(a, n=1, axis=-1, prepend=NO, append=NO):
    if n == 0:
        return a
    a = as_array(a)
    if n < 0 or not -np.ndim(a) <= axis < np.ndim(a):
        raised(np.diff, a, n, axis)
    parts = [a]
    for place, end in ((0, prepend), (2, append)):
        if end is not NO:
            shape = [1 if k == axis % np.ndim(a) else m for k, m in enumerate(np.shape(a))]
            end = as_array(end)
            parts.insert(place, end if np.ndim(end) else np.broadcast_to(end, shape))
    a = np.concatenate(parts, axis) if len(parts) > 1 else a
    later, sooner = (_along(axis, np.ndim(a), s) for s in (slice(1, None), slice(None, -1)))
    minus = np.not_equal if strip(a).dtype == bool else np.subtract
    for _ in range(n):
        a = minus(a[later], a[sooner])
    return a


@composed(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    dtype = as_array(strip(ary)).dtype
    flat = np.ravel(ary)
    parts = [flat[1:] - flat[:-1]]
    for place, end in ((0, to_begin), (2, to_end)):
        if end is not None:
            end = as_array(end)
            if not np.can_cast(strip(end).dtype, dtype, "same_kind"):
                raised(np.ediff1d, ary, end)
            parts.insert(place, np.astype(np.ravel(end), dtype))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@composed(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f, spacings = as_array(f), [*map(listed, varargs)] or [1.0]
    plain = strip(f)
    numpys(np.gradient, plain, *spacings, axis=axis, edge_order=edge_order)  # raises as NumPy
    dtype = plain.dtype if plain.dtype.kind in "fc" else np.dtype(float)
    axes = normal_axes(axis, plain.ndim)
    if len({*axes}) < len(axes) or (plain.ndim == 0 and axis not in (None, ())):
        raised(np.gradient, f, axis=axis)
    if len(spacings) == 1:
        spacings = spacings * len(axes)
    made = []
    for k, h in zip(axes, spacings, strict=True):
        n = plain.shape[k]
        if n <= edge_order or (np.ndim(h) and np.size(h) != n):
            raised(np.gradient, f, h, axis=k, edge_order=edge_order)
        y = np.moveaxis(f if plain.dtype == dtype else np.astype(f, dtype), k, -1)
        slopes = np.moveaxis(np.astype(_slopes(y, h, edge_order), dtype, copy=False), -1, k)
        made.append(in_order(slopes, np.empty_like(plain)))
    return made[0] if len(made) == 1 else tuple(made)


def _slopes(y, h, edge_order):
    """The derivative along the last axis, for one distance or for coordinates."""
    if np.ndim(h) == 0:
        return _even(y, h, edge_order)
    d = np.diff(np.astype(h, np.float64) if strip(h).dtype.kind in "iu" else h)
    if np.any(strip(d) != strip(d)[0]):
        return _uneven(y, d, edge_order)
    even = _even(y, d[0], edge_order)
    if strip(h) is h:
        return even
    # Equal distances each have a derivative of their own: that of `uneven`, at the value of `even`.
    uneven = _uneven(y, d, edge_order)
    return uneven + (strip(even) - strip(uneven))


def _even(y, h, edge_order):
    inner = (y[..., 2:] - y[..., :-2]) / (2.0 * h)
    if edge_order == 1:
        return _ends(y, inner, h, h)
    return _parabolas(y, inner, (-1.5 / h, 2.0 / h, -0.5 / h), (0.5 / h, -2.0 / h, 1.5 / h))


def _uneven(y, h, edge_order):
    d, e = h[:-1], h[1:]
    inner = -e / (d * (d + e)) * y[..., :-2] + (e - d) / (d * e) * y[..., 1:-1]
    inner = inner + d / (e * (d + e)) * y[..., 2:]
    if edge_order == 1:
        return _ends(y, inner, h[0], h[-1])
    (d, e), (u, v) = h[:2], h[-2:]
    return _parabolas(
        y,
        inner,
        (-(2.0 * d + e) / (d * (d + e)), (d + e) / (d * e), -d / (e * (d + e))),
        (v / (u * (u + v)), -(v + u) / (u * v), (2.0 * v + u) / (v * (u + v))),
    )


def _ends(y, inner, first, last):
    return _joined((_at(y, 1) - _at(y, 0)) / first, inner, (_at(y, -1) - _at(y, -2)) / last)


def _parabolas(y, inner, a, b):
    """At the ends the slopes of the parabolas through three points."""
    left = a[0] * _at(y, 0) + a[1] * _at(y, 1) + a[2] * _at(y, 2)
    return _joined(left, inner, b[0] * _at(y, -3) + b[1] * _at(y, -2) + b[2] * _at(y, -1))


def _at(y, k):
    return y[_along(-1, np.ndim(y), k)]


def _joined(left, inner, right):
    left, right = (np.reshape(x, (*np.shape(x), 1)) for x in (left, right))
    return np.concatenate([left, inner, right], axis=-1)


@composed(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, d = as_array(y), dx
    if x is not None:
        x = as_array(x)
        d = np.diff(x, axis=0 if np.ndim(x) == 1 else axis)
        if np.ndim(x) == 1 < np.ndim(y):
            d = np.reshape(d, [-1 if k == axis % np.ndim(y) else 1 for k in range(np.ndim(y))])
    later, sooner = (_along(axis, np.ndim(y), s) for s in (slice(1, None), slice(None, -1)))
    return np.sum(listed(d) * (y[later] + y[sooner]) / 2.0, axis=axis)


@composed(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    return _unwrap(as_array(p), strip(discont), axis, period)


@adjoint
def _unwrap(p, discont, axis, period):
    y = np.unwrap(p, discont, axis, period=period)

    def unwrap_pullback(y_bar):
        turns = np.rint((strip(y) - strip(p)) / strip(period))
        return y_bar, None, None, lambda: np.sum(y_bar * turns)

    return y, unwrap_pullback


# Sequences between two numbers: affine in both, or in their logarithms


@composed(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    made = _linspace(listed(start), listed(stop), num, endpoint, dtype, axis)
    return made if retstep else made[0]


@adjoint
def _linspace(start, stop, num, endpoint, dtype, axis):
    y, step = np.linspace(start, stop, num, endpoint, retstep=True, dtype=dtype, axis=axis)

    def linspace_pullback(bars):
        moves = strip(y).dtype.kind in "fc"  # integers are rounded: slope 0
        y_bar, step_bar = np.moveaxis(bars[0], axis, 0) * moves, bars[1]
        intervals = num - 1 if endpoint else num
        weight = np.reshape(np.arange(num) / max(intervals, 1), (-1, *[1] * (np.ndim(y) - 1)))
        slope = step_bar / intervals if intervals > 0 else 0.0

        def start_bar():
            return unbroadcast(np.sum(y_bar * (1 - weight), axis=0) - slope, np.shape(start))

        def stop_bar():
            return unbroadcast(np.sum(y_bar * weight, axis=0) + slope, np.shape(stop))

        return start_bar, stop_bar, *[None] * 4

    return (y, step), linspace_pullback


@composed(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    start, stop, base = map(listed, (start, stop, base))
    if np.ndim(base):
        ndim = max(map(np.ndim, (start, stop, base)))
        start, stop, base = (
            np.reshape(x, (1,) * (ndim - np.ndim(x)) + np.shape(x)) for x in (start, stop, base)
        )
        base = np.expand_dims(base, axis=axis)
    y = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else np.astype(y, dtype, copy=False)


@composed(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    return _geomspace(listed(start), listed(stop), num, endpoint, dtype, axis)


@adjoint
def _geomspace(start, stop, num, endpoint, dtype, axis):
    y = np.geomspace(start, stop, num, endpoint, dtype, axis)

    def geomspace_pullback(y_bar):
        # y = start^(1 - weight) stop^weight
        bars = np.moveaxis(y_bar * conj(y), axis, 0)
        intervals = max(num - 1 if endpoint else num, 1)
        weight = np.reshape(np.arange(num) / intervals, (-1, *[1] * (np.ndim(y) - 1)))
        return (
            lambda: unbroadcast(np.sum(bars * (1 - weight), axis=0) / conj(start), np.shape(start)),
            lambda: unbroadcast(np.sum(bars * weight, axis=0) / conj(stop), np.shape(stop)),
            *[None] * 4,
        )

    return y, geomspace_pullback


# Interpolation


@composed(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = listed(x), _as_floats(xp), _as_floats(fp)
    if period is not None:
        numpys(np.interp, x, xp, fp, period=period)  # raises and warns as NumPy
        if period == 0 or np.shape(xp) != np.shape(fp):
            raised(np.interp, x, xp, fp, period=period)
        period = np.abs(period)
        x, xp = (np.real(v) if is_complex(v) else v for v in (_as_floats(x), xp))
        x, xp = x % period, xp % period
        order = np.argsort(strip(xp))
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp, left, right = np.concatenate([fp[-1:], fp, fp[:1]]), None, None
    return _interp(x, xp, fp, left, right)


def _as_floats(x):
    """An array of numbers of float64, or of complex128."""
    x = as_array(x)
    return x if x.dtype in (float, complex) else x.astype(complex if x.dtype.kind == "c" else float)


@adjoint
def _interp(x, xp, fp, left, right):
    y = np.interp(x, xp, fp, left, right)
    plain, knots = strip(x), strip(xp)
    n = len(knots)
    # At a knot the slope is that to its right, at the last one that to its left.
    low = np.clip(np.searchsorted(knots, plain, "right") - 1, 0, max(n - 2, 0))
    high = np.minimum(low + 1, n - 1)
    ends = (knots[0], knots[-1]) if n else (0.0, 0.0)  # NumPy 2.5 takes no points, if it is at none
    below, above = np.less(plain, ends[0]), np.greater(plain, ends[1])

    def interp_pullback(y_bar):
        def part(mask):
            return np.where(mask, y_bar, 0.0)

        width = xp[high] - xp[low]
        tied = strip(width) == 0  # at the last knot, where the last of equal knots counts
        width = np.where(tied, 1.0, width)
        t = np.where(below, 0.0, np.where(above | tied, 1.0, (x - xp[low]) / width))
        inside = ~(below | above | tied)
        x_bar = part(inside) * np.where(inside, conj(fp[high] - fp[low]), 0.0) / width

        def fp_bar():
            held = np.logical_or(below & (left is not None), above & (right is not None))
            return _scatter(part(~held) * (1 - t), low, n) + _scatter(part(~held) * t, high, n)

        return (
            x_bar,
            lambda: _scatter(x_bar * (t - 1), low, n) - _scatter(x_bar * t, high, n),
            fp_bar,
            lambda: np.sum(part(below)),
            lambda: np.sum(part(above)),
        )

    return y, interp_pullback


def _scatter(values, places, n):
    """For each of n places the sum of the values that belong there."""
    y = np.zeros_like(values, shape=(n,))
    add_at(y, places, False, values)
    return y


# In loops, for machine code


def demand_finite(x):
    demand(x - x == 0)


def interpolated(x, xp, fp, left, right):
    n = len(xp)
    if x > xp[n - 1]:
        y = fp[n - 1] if right is None else right
    elif x < xp[0]:
        y = fp[0] if left is None else left
    elif x == xp[n - 1]:  # whose slope is that of the last piece
        y = fp[n - 1]
        if n > 1 and xp[n - 1] != xp[n - 2]:
            demand_finite((fp[n - 1] - fp[n - 2]) + (xp[n - 1] - xp[n - 2]))
            y = (fp[n - 1] - fp[n - 2]) / (xp[n - 1] - xp[n - 2]) * (x - xp[n - 1]) + y
    else:
        j = place_in(xp, x, True) - 1
        demand_finite((fp[j + 1] - fp[j]) + (xp[j + 1] - xp[j]))
        y = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]) * (x - xp[j]) + fp[j]
    return np.float64(y)


@lowering(_interp)
def interp_loops(x, xp, fp, left, right):
    demand(len(xp) > 0)
    demand(len(xp) == len(fp))
    if np.ndim(x) == 0:
        demand(x == x)
        return interpolated(x, xp, fp, left, right)
    w = np.asarray(x, float)
    flat = w.ravel()
    made = np.empty(len(flat))
    for i in range(len(flat)):
        demand(flat[i] == flat[i])
        made[i] = interpolated(flat[i], xp, fp, left, right)
    return made.reshape(w.shape)
