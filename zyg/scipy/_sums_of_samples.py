"""Integrals of samples: sums of them, with weights."""

import numpy as np

from zyg.functions.kit import as_array, composed, strip
from zyg.scipy._theirs import scipy

_PROMOTES = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"  # what is given, to one kind


@composed(scipy.integrate.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return np.trapezoid(y, x, dx, axis)


def _quotient(a, b):
    """a / b, and 0 where b is, as SciPy has it of samples at one place."""
    apart = b != 0
    return np.where(apart, a / np.where(apart, b, 1.0), 0.0)


@composed(scipy.integrate.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    if np.shape(y)[axis] == 2:
        return trapezoid(y, x, dx, axis)
    y = as_array(y)
    kind = np.dtype(float)  # of distances
    if _PROMOTES:
        kind = np.result_type(*(strip(v) for v in (y, x, dx) if v is not None))
        y, dx = np.astype(y, kind), np.astype(as_array(dx), kind)
    y = np.moveaxis(y, axis, -1)
    n = y.shape[-1]
    end = n - 2 - (n % 2 == 0)  # of the parabolas; of an even number, the last interval is left
    left, middle, right = y[..., :end:2], y[..., 1 : end + 1 : 2], y[..., 2 : end + 2 : 2]
    if x is None:
        total = np.sum(left + 4.0 * middle + right, axis=-1) * (dx / 3.0)
        last = [dx, dx]
    else:
        x = as_array(x) if np.ndim(x) == 1 else np.moveaxis(x, axis, -1)
        h = np.astype(np.diff(x, axis=-1), kind)
        a, b = h[..., :end:2], h[..., 1 : end + 1 : 2]
        both, ratio = a + b, _quotient(a, b)
        weighted = left * (2.0 - _quotient(1.0, ratio))
        weighted = weighted + middle * (both * _quotient(both, a * b)) + right * (2.0 - ratio)
        total = np.sum(both / 6.0 * weighted, axis=-1)
        last = [h[..., -2], h[..., -1]] if n % 2 == 0 else []
    return total if n % 2 else total + _last_interval(y, *last)


def _last_interval(y, a, b):
    """The area above it, below the parabola through the last three samples (Cartwright, 2016)."""
    alpha = _quotient(2 * b**2 + 3 * a * b, 6 * (b + a))
    beta = _quotient(b**2 + 3.0 * a * b, 6 * a)
    eta = _quotient(1 * b**3, 6 * a * (a + b))
    return alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]
