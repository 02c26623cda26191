"""Reductions and scans. A pullback spreads the cotangent over what was reduced."""

import numpy as np

from zyg._registry import adjoint
from zyg._strand import strip
from zyg.rules._helpers import conj, count, no_out, normal_axes, spread


@adjoint(np.sum)
def sum(a, axis=None, dtype=None, out=None, keepdims=False):
    no_out(out)

    def sum_pullback(y_bar):
        return (spread(y_bar, np.shape(a), axis),)

    return np.sum(a, axis=axis, dtype=dtype, keepdims=keepdims), sum_pullback


@adjoint(np.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=False):
    no_out(out)
    y = np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)
    n = count(np.shape(a), axis)

    def mean_pullback(y_bar):
        return (spread(y_bar / n, np.shape(a), axis),)

    return y, mean_pullback


@adjoint(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    no_out(out)
    y = np.prod(a, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod_pullback(y_bar):
        shape = np.shape(a)
        axes = normal_axes(axis, len(shape))
        if np.all(strip(a) != 0):
            return (spread(y_bar * conj(y), shape, axis) / conj(a),)
        # The product of the others, from both sides: exact with any number of zeros, in O(n).
        others = tuple(k for k in range(len(shape)) if k not in axes)
        order = others + axes
        flat = np.reshape(np.transpose(a, order), (*[shape[k] for k in others], -1))
        one = np.ones_like(flat[..., :1])
        before = np.cumprod(np.concatenate([one, flat[..., :-1]], axis=-1), axis=-1)
        after = np.flip(
            np.cumprod(np.concatenate([one, np.flip(flat[..., 1:], -1)], axis=-1), axis=-1), -1
        )
        rest = np.reshape(before * after, [shape[k] for k in order])
        return (spread(y_bar, shape, axis) * conj(np.transpose(rest, np.argsort(order))),)

    return y, prod_pullback


def _extremum(function, arg):
    """max or min: the cotangent goes to the first extremal element (NaN counts as extremal)."""

    def extremum(a, axis=None, out=None, keepdims=False):
        no_out(out)
        y = function(a, axis=axis, keepdims=keepdims)

        def extremum_pullback(y_bar):
            plain = np.asarray(strip(a))
            if plain.size == 0:
                return (np.zeros_like(plain),)
            axes = normal_axes(axis, plain.ndim)
            others = tuple(k for k in range(plain.ndim) if k not in axes)
            moved = plain.transpose(others + axes)
            flat = moved.reshape(*[plain.shape[k] for k in others], -1)
            first = np.zeros(flat.shape, bool)
            np.put_along_axis(first, np.expand_dims(arg(flat, axis=-1), -1), True, axis=-1)
            mask = first.reshape(moved.shape).transpose(np.argsort(others + axes))
            return (np.where(mask, spread(y_bar, plain.shape, axis), 0.0),)

        return y, extremum_pullback

    adjoint(function)(extremum)


_extremum(np.max, np.argmax)
_extremum(np.amax, np.argmax)
_extremum(np.min, np.argmin)
_extremum(np.amin, np.argmin)


def _spread_of_deviation(a, axis, ddof):
    """(x - mean) / (n - ddof)"""
    n = count(np.shape(a), axis)
    return (a - np.mean(a, axis=axis, keepdims=True)) / max(n - ddof, 0)


@adjoint(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    no_out(out)
    y = np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    def var_pullback(y_bar):
        return (spread(y_bar, np.shape(a), axis) * 2 * _spread_of_deviation(a, axis, ddof),)

    return y, var_pullback


@adjoint(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    no_out(out)
    y = np.std(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    def std_pullback(y_bar):
        # A constant sample has standard deviation 0 and slope 0.
        slope = np.where(y == 0, 0.0, y_bar / np.where(y == 0, 1.0, y))
        return (spread(slope, np.shape(a), axis) * _spread_of_deviation(a, axis, ddof),)

    return y, std_pullback


@adjoint(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    no_out(out)

    def cumsum_pullback(y_bar):
        k = 0 if axis is None else axis
        return (np.reshape(np.flip(np.cumsum(np.flip(y_bar, k), axis=k), k), np.shape(a)),)

    return np.cumsum(a, axis=axis, dtype=dtype), cumsum_pullback


@adjoint
def recurrence(a, b):
    """s along the last axis, with s[0] = b[0] and s[i] = b[i] + a[i] s[i-1]."""
    s = (
        np.array(np.broadcast_to(b, np.shape(b)), dtype=np.result_type(a, b))
        if _plain(a, b)
        else None
    )
    if s is None:
        terms = [b[..., 0]]
        for i in range(1, np.shape(b)[-1]):
            terms.append(b[..., i] + a[..., i] * terms[-1])
        s = np.stack(terms, axis=-1)
    elif s.ndim == 1:
        factors, values = a.tolist(), s.tolist()
        for i in range(1, len(values)):
            values[i] += factors[i] * values[i - 1]
        s[:] = values
    else:
        for i in range(1, s.shape[-1]):
            s[..., i] += a[..., i] * s[..., i - 1]

    def recurrence_pullback(s_bar):
        zero = np.zeros_like(a[..., :1])
        ahead = np.concatenate([zero, np.flip(a[..., 1:], -1)], axis=-1)
        b_bar = np.flip(recurrence(np.conjugate(ahead), np.flip(s_bar, -1)), -1)
        behind = np.concatenate([zero, s[..., :-1]], axis=-1)
        return b_bar * np.conjugate(behind), b_bar

    return s, recurrence_pullback


def _plain(*values):
    return all(strip(x) is x for x in values)


@adjoint(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    no_out(out)
    y = np.cumprod(a, axis=axis, dtype=dtype)

    def cumprod_pullback(y_bar):
        # sum over j >= i of y_bar[j] times the product of the a[k], k <= j, without a[i]: the
        # product before i, times a sum that a recurrence from the end gives. Exact with zeros,
        # in O(n).
        if np.size(a) == 0:
            return (np.zeros_like(a),)
        k = -1 if axis is None else axis
        rows = np.moveaxis(np.ravel(a) if axis is None else a, k, -1)
        bars = np.moveaxis(y_bar, k, -1)
        one = np.ones_like(rows[..., :1])
        before = np.cumprod(np.concatenate([one, rows[..., :-1]], axis=-1), axis=-1)
        factors = np.flip(np.concatenate([rows[..., 1:], one], axis=-1), -1)
        after = np.flip(recurrence(np.conjugate(factors), np.flip(bars, -1)), -1)
        return (np.reshape(np.moveaxis(np.conjugate(before) * after, -1, k), np.shape(a)),)

    return y, cumprod_pullback
