"""Polynomials by their coefficients: through points, by a series, and as a quotient of two."""

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, composed, strip, with_value
from zyg.scipy._closures import plain
from zyg.scipy._theirs import interpolate


def _polynomial(coefficients, made):
    """SciPy's polynomial, whose coefficients have the derivatives of these.

    Where SciPy leaves out a first coefficient that is 0, it stays: its derivative need not be 0.
    """
    missing = np.zeros(len(coefficients) - len(made.coeffs), made.coeffs.dtype)
    whole = with_value(coefficients, (np.concatenate([missing, made.coeffs]),))
    vars(made)["coeffs"] = whole
    return made


@composed(interpolate.lagrange)
def lagrange(x, w):
    """By the sum of the polynomials that are 0 at all points but one."""
    made = interpolate.lagrange(strip(x), strip(w))
    x, w = as_array(x), as_array(w)
    n, total = len(x), np.zeros(max(len(x), 1))
    for j in range(n):
        others = x[[k for k in range(n) if k != j]]
        product = np.ones(1)
        for k in range(n - 1):
            left, right = np.append(product, 0.0), np.append(0.0, product)
            product = left - others[k] * right
        total = total + w[j] / np.prod(x[j] - others) * product
    return _polynomial(total, made)


@composed(interpolate.pade)
def pade(an, m, n=None):
    """By the equations that the series of p - q a begins with zeros."""
    p, q = interpolate.pade(strip(an), m, n)
    a = as_array(an)
    n = len(a) - 1 - m if n is None else n
    index = np.arange(n + 1, n + m + 1)[:, None] - np.arange(1, m + 1)
    matrix = np.where(index >= 0, a[np.maximum(index, 0)], 0.0)
    below = np.linalg.solve(matrix, -a[n + 1 : n + m + 1]) if m else np.zeros(0)
    divisor = np.concatenate([np.ones(1), below])
    rows = np.arange(n + 1)[:, None] - np.arange(m + 1)
    above = np.matmul(np.where(rows >= 0, a[np.maximum(rows, 0)], 0.0), divisor)
    return _polynomial(np.flip(above), p), _polynomial(np.flip(divisor), q)


@composed(interpolate.approximate_taylor_polynomial)
def approximate_taylor_polynomial(f, x, degree, scale, order=None):
    """The polynomial through values of f at places near x, in powers of the distance."""
    if np.ndim(x) or np.ndim(scale):
        why = "its rule takes numbers for x and scale"
        raise unknown_call("scipy.interpolate.approximate_taylor_polynomial", why, "")
    order = degree if order is None else order
    units = np.cos(np.linspace(0, np.pi, order + 1, endpoint=False))  # as SciPy has them
    y = as_array(f(scale * units + x))
    made = interpolate.approximate_taylor_polynomial(
        lambda _: strip(y), *plain((x, degree, scale, order))
    )
    powers = np.linalg.solve(np.vander(units, increasing=True), y)[: degree + 1]
    powers = powers / np.power(scale * 1.0, np.arange(len(powers)))
    return _polynomial(np.flip(powers), made)
