"""Linear algebra: M. Giles, "An extended collection of matrix derivative results" (2008)."""

import numpy as np

from zyg._bind import unbroadcast
from zyg._registry import adjoint, composed
from zyg._strand import strip
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
        return ((y_bar * conj(y))[..., None, None] * _adjoint_matrix(np.linalg.inv(a)),)

    return y, det_pullback


@adjoint(np.linalg.solve)
def solve(a, b):
    x = np.linalg.solve(a, b)
    vector = np.ndim(b) == 1

    def solve_pullback(x_bar):
        b_bar = np.linalg.solve(_adjoint_matrix(a), x_bar)

        def a_bar():
            left = b_bar[..., None] if vector else b_bar
            right = x[..., None] if vector else x
            return unbroadcast(-np.matmul(left, _adjoint_matrix(right)), np.shape(a))

        return a_bar, lambda: unbroadcast(b_bar, np.shape(b))

    return x, solve_pullback


@composed(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    axes = normal_axes(axis, np.ndim(x))
    if ord in (None, "fro", "f") or (ord == 2 and len(axes) == 1):
        return two_norm(x, ord, axis, keepdims)
    constant = np.linalg.norm(strip(x), ord, axis, keepdims)  # raises where NumPy does
    if len(axes) == 1 and ord in (np.inf, -np.inf) and np.size(x):
        return (np.max if ord > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    if len(axes) == 1:
        return constant if ord == 0 or np.size(x) == 0 else p_norm(x, ord, axis, keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        inner, outer = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        y = (np.max if ord > 0 else np.min)(sums, axis=outer, keepdims=True)
        return y if keepdims else np.squeeze(y, axes)
    raise MissingRuleError(
        f"np.linalg.norm with ord={ord!r} over {len(axes)} axes has no rule.",
        "the spectral and the nuclear norm need singular values, whose rule is still to come.",
        "use ord='fro', 1, -1, inf or -inf for matrices; give an axis for stacks of vectors.",
    )


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
