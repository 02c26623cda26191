"""Linear algebra: M. Giles, "An extended collection of matrix derivative results" (2008)."""

import numpy as np

from zyg._entries import unbroadcast
from zyg._registry import adjoint, composed
from zyg._strand import TRACED, strip
from zyg.errors import MissingRuleError
from zyg.rules._helpers import conj, normal_axes, spread


def _adjoint_matrix(a):
    return conj(np.swapaxes(a, -1, -2))


@adjoint(np.linalg.inv)
def inv(a):
    y = np.linalg.inv(a)

    def inv_pullback(y_bar):
        h = _adjoint_matrix(y)
        return (-np.matmul(np.matmul(h, y_bar), h),)

    return y, inv_pullback


@adjoint(np.linalg.det)
def det(a):
    y = np.linalg.det(a)

    def det_pullback(y_bar):
        # A singular matrix raises LinAlgError here: its cofactors are not in its inverse.
        scale = np.reshape(y_bar * conj(y), (*np.shape(y), 1, 1))
        return (scale * _adjoint_matrix(np.linalg.inv(a)),)

    return y, det_pullback


@adjoint(np.linalg.solve)
def solve(a, b):
    x = np.linalg.solve(a, b)
    vector = np.ndim(b) == 1

    def columns(v):
        return np.reshape(v, (*np.shape(v), 1)) if vector else v

    def solve_pullback(x_bar):
        columns_bar = np.linalg.solve(_adjoint_matrix(a), columns(x_bar))

        def a_bar():
            product = np.matmul(columns_bar, _adjoint_matrix(columns(x)))
            return unbroadcast(-product, np.shape(a))

        def b_bar():
            return unbroadcast(columns_bar[..., 0] if vector else columns_bar, np.shape(b))

        return a_bar, b_bar

    return x, solve_pullback


@composed(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    ord = _plain_order(ord)
    if np.asarray(strip(x)).dtype.kind not in "fc":
        x = np.multiply(x, 1.0)
    axes = normal_axes(axis, np.ndim(x))
    if ord in (None, "fro", "f") or (ord == 2 and len(axes) == 1):
        return two_norm(x, ord, axis, keepdims)
    constant = np.linalg.norm(strip(x), ord, axis, keepdims)  # raises where NumPy does
    if len(axes) == 1 and ord in (np.inf, -np.inf) and np.size(x):
        return (np.max if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    if len(axes) == 1:
        return constant if ord == 0 or np.size(x) == 0 else p_norm(x, ord, axis, keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        summed, other = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=summed)
        y = (np.max if ord > 0 else np.min)(sums, axis=other - (other > summed))
        return np.expand_dims(y, axes) if keepdims else y
    raise MissingRuleError(
        f"np.linalg.norm with ord={ord!r} over {len(axes)} axes has no rule.",
        "the spectral and the nuclear norm need singular values, whose rule is still to come.",
        "use ord='fro', 1, -1, inf or -inf for matrices; give an axis for stacks of vectors.",
    )


def _plain_order(ord):
    if type(ord) in TRACED and isinstance(strip(ord), float) and np.isfinite(strip(ord)):
        raise MissingRuleError(
            "np.linalg.norm cannot be differentiated with respect to ord.",
            "ord chooses the norm; its rule differentiates the vector only.",
            "pass zyg.stop_gradient(ord), or write out np.sum(np.abs(x) ** p) ** (1 / p).",
        )
    return strip(ord)


@adjoint
def two_norm(x, ord, axis, keepdims):
    """The square root of the sum of squares, over any number of axes; slope 0 at 0."""
    y = np.linalg.norm(x, ord, axis, keepdims)

    def two_norm_pullback(y_bar):
        r = spread(y, np.shape(x), axis)
        slope = x / np.where(r == 0, 1.0, r)
        return spread(y_bar, np.shape(x), axis) * slope, None, None, None

    return y, two_norm_pullback


@adjoint
def p_norm(x, p, axis, keepdims):
    """sum(|x|^p)^(1/p) along an axis; slope 0 where an element is 0."""
    y = np.linalg.norm(x, p, axis, keepdims)

    def p_norm_pullback(y_bar):
        magnitude, r = np.abs(x), spread(y, np.shape(x), axis)
        zero = strip(magnitude) == 0
        safe = np.where(zero, 1.0, magnitude)
        slope = np.where(zero, 0.0, x / safe * (safe / np.where(r == 0, 1.0, r)) ** (p - 1))
        return spread(y_bar, np.shape(x), axis) * slope, None, None, None

    return y, p_norm_pullback
