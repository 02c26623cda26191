"""Polynomials as arrays of coefficients, the highest power first."""

import operator

import numpy as np

from zyg.functions.kit import (
    adjoint,
    as_array,
    composed,
    conj,
    demand,
    is_coefficient,
    is_watched,
    lowering,
    raised,
    strip,
    warn,
)


def _coefficients(p):
    """The coefficients of a poly1d, which may hold watched ones, or of a list."""
    return as_array(p.coeffs if isinstance(p, np.poly1d) else p)


def _like_operands(y, *operands):
    return np.poly1d(y) if any(isinstance(p, np.poly1d) for p in operands) else y


def _from(p, first, instead):
    """The coefficients from this place on, as NumPy leaves out zeros; one that moves is missed."""
    if first and is_watched(p):
        warn(
            "NumPy leaves out first coefficients that are zero, of watched ones too: what is left "
            f"has no derivative by them. {instead} keeps them.",
            UserWarning,
        )
    return p[first:]


@composed(np.polyval)
def polyval(p, x):
    y = 0
    if not isinstance(x, np.poly1d):
        x = as_array(x)
        y = np.zeros_like(strip(x))
    for c in _coefficients(p):
        y = y * x + c
    return y


@lowering(np.polyval)
def polyval_loops(p, x):
    demand(len(p) > 0)
    y = np.multiply(x, 0)
    for i in range(len(p)):
        y = y * x + p[i]
    return y


def _termwise(function, operation):
    """np.polyadd and np.polysub."""

    def termwise(a1, a2):
        a, b = (np.atleast_1d(_coefficients(p)) for p in (a1, a2))
        n = max(len(a), len(b))
        a, b = (np.concatenate([np.zeros(n - len(c), strip(c).dtype), c]) for c in (a, b))
        return _like_operands(operation(a, b), a1, a2)

    composed(function)(termwise)


_termwise(np.polyadd, operator.add)
_termwise(np.polysub, operator.sub)


@composed(np.polymul)
def polymul(a1, a2):
    a, b = (np.atleast_1d(_coefficients(p)) for p in (a1, a2))
    if not (is_coefficient() or any(isinstance(p, np.poly1d) for p in (a1, a2))):
        a, b = (_from(p, len(p) - len(np.trim_zeros(p, "f")), "np.convolve(a, b)") for p in (a, b))
    zero = np.zeros(1)
    return _like_operands(np.convolve(a if len(a) else zero, b if len(b) else zero), a1, a2)


@composed(np.polydiv)
def polydiv(u, v):
    a, b = (np.atleast_1d(_coefficients(p)) + 0.0 for p in (u, v))
    n = len(b)
    if not len(a):
        raised(np.polydiv, a, b)
    scale, q, dtype = 1.0 / b[0], [], np.result_type(strip(a), strip(b))
    r = np.astype(a, dtype)
    for k in range(len(a) - n + 1):
        q.append(scale * r[k])
        r = np.concatenate([r[:k], r[k : k + n] - q[-1] * b, r[k + n :]])
    first = 0
    while first < len(r) - 1 and np.allclose(strip(r)[first], 0, rtol=1e-14):
        first += 1
    quotient = np.astype(np.stack(q), dtype) if q else np.zeros(1, dtype)
    if not any(isinstance(p, np.poly1d) for p in (u, v)):
        known = min(first, len(q))  # to be zero
        r = _from(r[known:], first - known, "The remainder u - np.convolve(q, v)")
    return _like_operands(quotient, u, v), _like_operands(r, u, v)


@composed(np.polyder)
def polyder(p, m=1):
    y = _coefficients(p)
    np.polyder(strip(y), m)  # raises where NumPy does
    for _ in range(int(m)):
        y = y[:-1] * np.arange(len(y) - 1, 0, -1)
    return _like_operands(y, p)


@composed(np.polyint)
def polyint(p, m=1, k=None):
    y, m = _coefficients(p), int(m)
    k = np.zeros(max(m, 0)) if k is None else np.atleast_1d(as_array(k))
    np.polyint(strip(y), m, strip(k))  # raises where NumPy does
    if len(k) == 1:
        k = np.broadcast_to(k, (m,))
    for n in range(m):
        y = np.concatenate([y / np.arange(len(y), 0, -1), k[n : n + 1]])
    return _like_operands(y, p)


@composed(np.poly)
def poly(seq_of_zeros):
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    np.poly(strip(zeros))  # raises where NumPy does
    if np.ndim(zeros) == 2:
        zeros = np.linalg.eigvals(zeros)
    if len(zeros) == 0:
        return 1.0
    plain = strip(zeros)
    dtype = np.dtype(np.mintypecode(plain.dtype.char))
    y = one = np.ones(1, dtype)
    for zero in np.astype(zeros, dtype):
        y = np.convolve(y, np.concatenate([one, np.reshape(-zero, 1)]))
    if dtype.kind == "c" and np.all(np.sort(plain) == np.sort(plain.conjugate())):
        y = np.copy(np.real(y))
    return y


@composed(np.roots)
def roots(p):
    return _roots(np.atleast_1d(_coefficients(p)))


@adjoint
def _roots(p):
    y = np.roots(p)

    def roots_pullback(y_bar):
        # p(y) = 0 moves y by -y^k / p'(y) per unit of the coefficient of y^k.
        bars = -y_bar / conj(np.polyval(np.polyder(p), y))
        return (np.matmul(conj(np.vander(y, len(p))).T, bars),)

    return y, roots_pullback


@composed(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    x, y = (as_array(v) + 0.0 for v in (x, y))
    np.polyfit(strip(x), strip(y), deg, rcond, full, None if w is None else strip(as_array(w)), cov)
    order = int(deg) + 1
    rcond = len(x) * np.finfo(strip(x).dtype).eps if rcond is None else rcond
    lhs, rhs = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        lhs = lhs * w[:, None]
        rhs = np.astype(rhs * (w[:, None] if np.ndim(y) == 2 else w), strip(y).dtype)
    scale = np.sqrt(np.sum(lhs * lhs, axis=0))
    lhs = lhs / scale
    c, residuals, rank, s = np.linalg.lstsq(lhs, rhs, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = np.linalg.inv(np.dot(lhs.T, lhs)) / np.outer(scale, scale)
    factor = 1 if isinstance(cov, str) else residuals / (len(x) - order)
    return c, (base if np.ndim(y) == 1 else base[:, :, None]) * factor
