"""Reductions. A pullback spreads the cotangent over what was reduced."""

from typing import Any

import numpy as np

from zyg.functions.kit import (
    NO,
    adjoint,
    array_type,
    as_array,
    composed,
    conj,
    count,
    given,
    inverse,
    no_out,
    normal_axes,
    plain_array,
    spread,
    strip,
    unbroadcast,
    without_nan,
)


def _masked(c, where):
    """The cotangent `c` of those elements that the reduction looked at."""
    return c if where is NO or where is True else np.where(where, c, 0.0)


def _called(function, where, *args):
    return function(*given(*args), **({} if where is NO else {"where": where}))


@adjoint(np.sum)
def sum(a, axis=None, dtype=None, out=None, keepdims=NO, initial=NO, where=NO):
    no_out(out)

    def sum_pullback(y_bar):
        a_bar = _masked(spread(y_bar, np.shape(a), axis), where)
        return a_bar, None, None, None, None, lambda: np.sum(y_bar)

    if type(a) is np.ndarray and dtype is None and keepdims is initial is where is NO:
        return np.add.reduce(a, axis), sum_pullback  # what np.sum calls, at a quarter of its price
    return np.sum(*given(a, axis, dtype, None, keepdims, initial, where)), sum_pullback


@sum.pushforward
def sum_push(a, axis=None, dtype=None, out=None, keepdims=NO, initial=NO, where=NO):
    no_out(out)

    def sum_pushforward(a_dot, *others):
        # Affine, where `initial` is given, and not linear.
        a_dot = np.zeros_like(a) if a_dot is None else a_dot
        y_dot = _called(np.sum, where, a_dot, axis, dtype, None, keepdims)
        return y_dot + others[4] if len(others) > 4 and others[4] is not None else y_dot

    return np.sum(*given(a, axis, dtype, None, keepdims, initial, where)), sum_pushforward


def _seen(function, a, where):
    """Which elements a reduction looks at; None means all."""
    if function in (np.nanmean, np.nanvar, np.nanstd):
        number = ~np.isnan(strip(a))
        return number if where is NO else number & where
    return None if where is NO else where


def _number(a, axis, seen):
    """How many elements a reduction makes one of, as a divisor that keeps the dtype of `a`."""
    if seen is None:
        return count(np.shape(a), axis)
    n = np.sum(np.broadcast_to(seen, np.shape(a)), axis=axis, keepdims=True)
    dtype = plain_array(a).real.dtype
    return n.astype(dtype if dtype.kind == "f" else float)


def _mean(function, linear):
    def mean(a, axis=None, dtype=None, out=None, keepdims=NO, *, where=NO):
        no_out(out)
        y = _called(function, where, a, axis, dtype, None, keepdims)
        seen = None if (seen := _seen(function, a, where)) is None else np.copy(seen)

        def mean_pullback(y_bar):
            n = _number(a, axis, seen)
            if seen is None:
                return (spread(y_bar / n, np.shape(a), axis),)
            return (np.where(seen, spread(y_bar, np.shape(a), axis) / np.maximum(n, 1), 0.0),)

        return y, mean_pullback

    adjoint(function, linear=linear)(mean)


_mean(np.mean, (0,))
_mean(np.nanmean, ())


# Products: exact with any number of zeros, in O(n)


def _products_of_others(a, axis):
    """The product of all elements but each one, from both sides."""
    shape = np.shape(a)
    axes = normal_axes(axis, len(shape))
    others = tuple(k for k in range(len(shape)) if k not in axes)
    order = others + axes
    flat = np.reshape(np.transpose(a, order), (*[shape[k] for k in others], count(shape, axis)))
    one = np.ones_like(flat[..., :1])
    before = np.cumprod(np.concatenate([one, flat[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([one, np.flip(flat[..., 1:], -1)], axis=-1), axis=-1)
    rest = np.reshape(before * np.flip(after, -1), [shape[k] for k in order])
    return np.transpose(rest, inverse(order))


def _divides(a, y):
    """Whether y / a will do for the product of the others, and for its derivatives.

    The diagonal of its second derivative, 0, cancels up to rounding times max |a| / min |a|.
    """
    if not array_type(a).readable:
        return False
    size = np.abs(a)
    least, most = np.min(size, initial=np.inf), np.max(size, initial=0)
    return least > 1e-3 * most and np.all((y != 0) & np.isfinite(y))


@adjoint(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=NO, initial=NO, where=NO):
    no_out(out)
    y = np.prod(*given(a, axis, dtype, None, keepdims, initial, where))

    def prod_pullback(y_bar):
        factors = a if where is NO or where is True else np.where(where, a, 1)
        if _divides(strip(factors), strip(y)):
            a_bar = spread(y_bar * conj(y), np.shape(a), axis) / conj(factors)
        elif np.size(a):
            start = y_bar if initial is NO else y_bar * conj(initial)
            a_bar = spread(start, np.shape(a), axis) * conj(_products_of_others(factors, axis))
        else:
            a_bar = np.zeros_like(a)
        return (
            _masked(a_bar, where), None, None, None, None,
            lambda: np.sum(y_bar * conj(np.prod(*given(factors, axis, None, None, keepdims)))),
        )  # fmt: skip

    return y, prod_pullback


@composed(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=NO, initial=NO, where=NO):
    return np.sum(without_nan(a, 0), axis, dtype, out, keepdims, initial, where)


@composed(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=NO, initial=NO, where=NO):
    return np.prod(without_nan(a, 1), axis, dtype, out, keepdims, initial, where)


# Extrema: the cotangent goes to the first extremal element, `initial` before all others


def _first(hits, axis):
    """The first True along the reduced axes."""
    if hits.size == 0:
        return hits
    axes = tuple(sorted(normal_axes(axis, hits.ndim)))
    others = tuple(k for k in range(hits.ndim) if k not in axes)
    moved = hits.transpose(others + axes)
    flat = moved.reshape(*[hits.shape[k] for k in others], -1)
    if array_type(flat).library:
        first = np.cumsum(flat, axis=-1) == 1
    else:
        first = np.zeros(flat.shape, bool)
        np.put_along_axis(first, np.expand_dims(np.argmax(flat, axis=-1), -1), True, axis=-1)
    return (first & flat).reshape(moved.shape).transpose(inverse(others + axes))


def _extremum(function):
    def is_extremal(x, top):
        """Whether x made this result: as NaN, too, except where NaN is passed over."""
        if function in (np.nanmax, np.nanmin):
            return x == top
        return (x == top) | (np.isnan(x) & np.isnan(top))

    def extremum(a, axis=None, out=None, keepdims=NO, initial=NO, where=NO):
        no_out(out)
        y = function(*given(a, axis, None, keepdims, initial, where))

        def extremum_pullback(y_bar):
            plain, top = plain_array(a), plain_array(y)
            start = None if initial is NO else np.asarray(strip(initial), top.dtype)
            kept = np.True_ if start is None else ~is_extremal(start, top)
            hits = is_extremal(plain, spread(top, plain.shape, axis))
            if start is not None:
                hits &= spread(np.broadcast_to(kept, top.shape), plain.shape, axis)
            if where is not NO:
                hits &= where
            a_bar = np.where(_first(hits, axis), spread(y_bar, plain.shape, axis), 0.0)
            return a_bar, None, None, None, lambda: np.sum(np.where(kept, 0.0, y_bar))

        return y, extremum_pullback

    adjoint(function)(extremum)


_function: Any
for _function in (np.max, np.amax, np.min, np.amin, np.nanmax, np.nanmin):
    _extremum(_function)


@composed(np.ptp)
def ptp(a, axis=None, out=None, keepdims=NO):
    no_out(out)
    a = as_array(a)
    return np.subtract(np.max(a, axis, None, keepdims), np.min(a, axis, None, keepdims))


# Variance


def _spread_about_mean(function):
    def variance(
        a, axis=None, dtype=None, out=None, ddof=0, keepdims=NO, *, where=NO, mean=NO, correction=NO
    ):
        no_out(out)
        if correction is not NO:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        return _variance(function, as_array(a), axis, dtype, ddof, keepdims, where, mean)

    composed(function)(variance)


for _function in (np.var, np.std, np.nanvar, np.nanstd):
    _spread_about_mean(_function)


@adjoint
def _variance(function, a, axis, dtype, ddof, keepdims, where, mean):
    """np.var, np.std and those that pass over NaN, which has slope 0."""
    options = {} if where is mean is NO else {"where": where, "mean": mean}
    y = function(*given(a, axis, dtype, None, ddof, keepdims), **options)

    def variance_pullback(y_bar):
        seen = _seen(function, a, where)
        n = _number(a, axis, seen)
        x = a if seen is None else np.where(seen, a, 0)
        m = np.sum(x, axis=axis, keepdims=True) / np.maximum(n, 1) if mean is NO else mean
        slope = 2 * y_bar
        if function in (np.std, np.nanstd):  # a constant sample has slope 0
            flat = strip(y) == 0
            slope = np.where(flat, 0.0, y_bar / np.where(flat, 1.0, y))
        c = spread(slope, np.shape(a), axis) * ((x - m) / np.maximum(n - strip(ddof), 0))
        c = c if seen is None else np.where(seen, c, 0.0)
        mean_bar = None if mean is NO else lambda: -unbroadcast(c, np.shape(mean))
        return None, c, None, None, None, None, None, mean_bar

    return y, variance_pullback
