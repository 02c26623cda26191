"""Norms of vectors and matrices, and the condition number.

Every norm has slope 0 at 0. Of equal singular values the first counts, as of equal elements.
"""

from typing import Any

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import (
    adjoint,
    composed,
    is_watched,
    kept,
    lowering,
    normal_axes,
    plain_array,
    raised,
    slopes_hold,
    spread,
    strip,
    with_value,
)


@composed(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    ord = _plain_order(ord)
    if plain_array(x).dtype.kind not in "fc":
        x = np.multiply(x, 1.0)
    axes = normal_axes(axis, np.ndim(x))
    if ord in (None, "fro", "f") or (ord == 2 and len(axes) == 1):
        return two_norm(x, ord, axis, keepdims)
    if len(axes) == 1:
        if isinstance(ord, str):
            raised(np.linalg.norm, np.ones((1,) * np.ndim(x)), ord, axis)
        if ord == 0:
            return np.sum(
                np.astype(strip(x) != 0, plain_array(x).real.dtype), axis, keepdims=keepdims
            )
        if ord == 1:
            return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
        if abs(ord) < np.inf:
            return p_norm(x, ord, axis, keepdims)
        return _extremum(np.abs(x), ord, axis, keepdims)
    if len({*axes}) != 2 or ord not in (*_OF_SINGULAR_VALUES, 1, -1, np.inf, -np.inf):
        raised(np.linalg.norm, np.ones((1,) * np.ndim(x)), ord, axis)
    if ord in _OF_SINGULAR_VALUES:
        if np.size(x) == 0:
            return np.linalg.norm(strip(x), ord, axis, keepdims)
        # abs: slope 0 where a singular value is 0, as that of every norm at 0.
        s = np.abs(np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1))))
        y = _OF_SINGULAR_VALUES[ord](s, axis=-1)
    else:
        summed, other = axes if abs(ord) == 1 else axes[::-1]
        y = _extremum(np.sum(np.abs(x), axis=summed), ord, other - (other > summed), False)
    return np.expand_dims(y, axes) if keepdims else y


def _extremum(x, ord, axis, keepdims):
    """The greatest element, 0 if there is none; by a negative order the least."""
    if ord > 0:
        return np.max(x, axis=axis, keepdims=keepdims, initial=0)
    return np.min(x, axis=axis, keepdims=keepdims)


_OF_SINGULAR_VALUES: dict[Any, Any] = {2: np.max, -2: np.min, "nuc": np.sum}


def _plain_order(ord):
    if is_watched(ord) and isinstance(strip(ord), float) and np.isfinite(strip(ord)):
        raise MissingRuleError(
            "np.linalg.norm cannot be differentiated with respect to ord.",
            "ord chooses the norm; its rule differentiates the vector only.",
            "pass zyg.stop_gradient(ord), or write out np.sum(np.abs(x) ** p) ** (1 / p).",
        )
    return strip(ord)


def _numpys_norm(x, ord, axis, keepdims):
    return np.linalg.norm(x, ord, axis, keepdims)


@lowering(_numpys_norm)
def norm_loops(x, ord, axis, keepdims):
    if ord in (None, "fro", "f", 2):
        y = np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))
        slopes_hold(np.all(np.isfinite(y)))
        return y
    slopes_hold(np.all(np.isfinite(x)))
    return (abs(x) ** ord).sum(axis=axis, keepdims=keepdims) ** (1 / ord)


@adjoint
def two_norm(x, ord, axis, keepdims):
    """The square root of the sum of squares, over any number of axes; slope 0 at 0."""
    y = _numpys_norm(x, ord, axis, keepdims)

    def two_norm_pullback(y_bar):
        r = spread(y, np.shape(x), axis)
        slope = x / np.where(r == 0, 1.0, r)
        return spread(y_bar, np.shape(x), axis) * slope, None, None, None

    return y, two_norm_pullback


@adjoint
def p_norm(x, p, axis, keepdims):
    """sum(|x|^p)^(1/p) along an axis; slope 0 where an element is 0."""
    y = _numpys_norm(x, p, axis, keepdims)

    def p_norm_pullback(y_bar):
        magnitude, r = np.abs(x), spread(y, np.shape(x), axis)
        zero = strip(magnitude) == 0
        safe = np.where(zero, 1.0, magnitude)
        slope = np.where(zero, 0.0, x / safe * (safe / np.where(r == 0, 1.0, r)) ** (p - 1))
        return spread(y_bar, np.shape(x), axis) * slope, None, None, None

    return y, p_norm_pullback


@composed(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


@composed(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    shape, axes = np.shape(x), axis
    if axis is None:
        x, axes = np.ravel(x), 0
    elif isinstance(axis, tuple):
        first = np.moveaxis(x, axis, range(len(axis)))
        x, axes = np.reshape(first, (-1, *np.shape(first)[len(axis) :])), 0
    y = np.linalg.norm(x, ord, axes)
    return np.reshape(y, kept(shape, axis)) if keepdims else y


@composed(np.linalg.cond)
def cond(x, p=None):
    p = strip(p)
    exact = np.linalg.cond(strip(x), p)
    with np.errstate(all="ignore"):
        if p in (None, 2, -2):
            s = np.linalg.svdvals(x)
            y = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        else:  # a singular matrix has the constant inf
            finite = np.isfinite(exact)[..., None, None]
            safe = np.where(finite, x, np.eye(np.shape(x)[-1], dtype=exact.dtype))
            inverse = np.linalg.inv(safe)
            y = np.linalg.norm(safe, p, (-2, -1)) * np.linalg.norm(inverse, p, (-2, -1))
    return with_value(y, (exact,))
