"""Factors, eigenvalues and singular values, for machine code: NumPy's own loops, with the pullbacks
of the rules.

NumPy computes those of float32 in float64. Where LAPACK fails, its loops write NaN: Python raises.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import (
    closed,
    conj,
    dagger,
    demand,
    demand_read,
    is_complex,
    lies_like,
    lowering,
    routine,
    slopes_hold,
)
from zyg.functions.primitives.decompositions import (
    SVD,
    equal_values,
    hermitian_svd,
    is_zero,
    with_cholesky_pullback,
    with_eigh_pullback,
    with_eigvalsh_pullback,
    with_qr_pullback,
    with_svd_pullback,
    with_svdvals_pullback,
)
from zyg.functions.primitives.linalg import (
    cuts,
    equation_cotangent,
    is_accurate,
    plain_adjugate,
    scaled,
    with_inv_pullback,
    with_lstsq_pullback,
    with_pinv_pullback,
    with_slogdet_pullback,
)
from zyg.functions.primitives.places import stack_of


def in_double(a):
    return a if a.dtype in (float, complex) else a.astype(float)


def as_given(y, a):
    """What was computed in double precision, in that of an argument."""
    return y.astype(np.float32) if a.dtype == np.float32 else y


def loop(name, a):
    """What the loop for the elements of an array is called."""
    return f"{name} of complex" if is_complex(a) else f"{name} of reals"


def demand_finite(y):
    """Leave it to Python where LAPACK has failed, or where derivatives would not be finite."""
    demand(np.all(np.isfinite(y)))


def are_apart(values, a):
    """Whether no two of some values are equal in the precision of an argument."""
    return np.sum(equal_values(as_given(values, a))) == np.size(values)


def has_zero(values, a):
    """Whether one of some values is 0 in the precision of an argument."""
    return np.any(is_zero(as_given(values, a)))


def count_of(a):
    """How many matrices a stack has."""
    return len(stack_of(a, 2))


def stacked_like(y, a):
    """Results for the matrices of a stack, in whose order their first axes lie, as NumPy's do."""
    if a.ndim == 2:
        return y
    least = a[..., :1, :1]
    if y.ndim == a.ndim:
        return lies_like(y, least)
    if y.ndim == a.ndim - 1:
        return lies_like(y[..., None], least)[..., 0]
    return lies_like(y[..., None, None], least)[..., 0, 0]


# Equations and determinants, where those of `elimination` do not


def solve_bars(a, b, x, x_bar):
    b_bar = np.linalg.solve(dagger(a), x_bar)
    return equation_cotangent(b_bar, dagger(x)), b_bar


@closed(solve_bars)
def solve_of(a, b):
    """For as many matrices b; a column of zeros says whether LAPACK has failed."""
    demand_finite(a)
    n, k = a.shape[-1], b.shape[-1]
    columns, x = (
        np.zeros((*b.shape[:-1], k + 1), b.dtype),
        np.empty((*b.shape[:-1], k + 1), b.dtype),
    )
    columns[..., :k] = b
    routine(loop("solve", a), count_of(a), n, k + 1, a, columns, x)
    demand(np.all(x[..., k] == 0))
    return x[..., :k].copy()


def inv_bars(a, y, y_bar):
    return with_inv_pullback(y)[1](y_bar)


@closed(inv_bars)
def inverse_or_nan(a):
    y = np.empty(a.shape, a.dtype)
    routine(loop("inv", a), count_of(a), a.shape[-1], a, y)
    return y


def inv_of(a):
    y = inverse_or_nan(a)
    demand_finite(y)
    return y


def adjugate_bars(a, y, y_bar):
    demand(len(a) < 0)  # the rule's are in Python
    return (y_bar.copy(),)


adjugate_of = closed(adjugate_bars)(plain_adjugate)


def det_bars(a, y, y_bar):
    inverse = inverse_or_nan(a)
    if np.all(np.isfinite(inverse)) and is_accurate(a, inverse):
        return (scaled(y_bar * conj(y), dagger(inverse)).copy(),)
    return (scaled(y_bar, dagger(adjugate_of(a))).copy(),)


@closed(det_bars)
def det_of(a):
    """Of a stack."""
    y = np.empty(len(a), a.dtype)
    routine(loop("det", a), len(a), a.shape[-1], a, y)
    return y


def slogdet_bars(a, y, y_bar):
    return (with_slogdet_pullback(y, a)[1](y_bar)[0].copy(),)


@closed(slogdet_bars)
def slogdet_of(a):
    """Of a stack."""
    sign, total = np.empty(len(a), a.dtype), np.empty(len(a))
    routine(loop("slogdet", a), len(a), a.shape[-1], a, sign, total)
    return sign, total


def cholesky_bars(a, triangle, y, y_bar):
    return with_cholesky_pullback(y, triangle == "up")[1](y_bar)


@closed(cholesky_bars)
def cholesky_of(a, triangle):
    y = np.empty(a.shape, a.dtype)
    routine(loop(f"cholesky_{triangle}", a), count_of(a), a.shape[-1], a, y)
    demand_finite(y)
    return y


# Eigenvalues of Hermitian matrices


def eigh_bars(a, uplo, y, y_bar):
    return with_eigh_pullback(y, uplo)[1](y_bar)


def simple_eigh_bars(a, uplo, y, y_bar):
    return with_eigh_pullback(y, uplo, True)[1](y_bar)


def eigh_text(a, uplo):
    w, v = np.empty(a.shape[:-1]), np.empty(a.shape, a.dtype)
    name = "eigh_up" if uplo in "Uu" else "eigh_lo"
    routine(loop(name, a), count_of(a), a.shape[-1], a, w, v)
    demand_finite(w)
    return w, v


eigh_of = closed(eigh_bars)(eigh_text)
simple_eigh_of = closed(simple_eigh_bars)(eigh_text)


@lowering(np.linalg.eigh)
def eigh_loops(a, UPLO="L"):
    demand_triangle(a, UPLO)
    w, v = eigh_of(in_double(a), UPLO)
    if a.dtype == np.float32:
        slopes_hold(are_apart(w, a))
    return EIGH(*[stacked_like(as_given(x, a), a) for x in (w, v)])


def demand_triangle(a, uplo):
    demand_read(a.ndim > 1 and uplo in ("L", "U", "l", "u"))
    demand(a.shape[-2] == a.shape[-1])


def eigvalsh_bars(a, uplo, w, w_bar):
    return with_eigvalsh_pullback(w, simple_eigh_of(a, uplo)[1], uplo)[1](w_bar)


@closed(eigvalsh_bars)
def eigvalsh_of(a, uplo):
    w = np.empty(a.shape[:-1])
    name = "eigvalsh_up" if uplo in "Uu" else "eigvalsh_lo"
    routine(loop(name, a), count_of(a), a.shape[-1], a, w)
    demand_finite(w)
    return w


@lowering(np.linalg.eigvalsh)
def eigvalsh_loops(a, UPLO="L"):
    demand_triangle(a, UPLO)
    return stacked_like(as_given(eigvalsh_of(in_double(a), UPLO), a), a)


# Singular values


def svd_bars(a, full, y, y_bar):
    return with_svd_pullback(y)[1](y_bar)


def simple_svd_bars(a, full, y, y_bar):
    return with_svd_pullback(y, True)[1](y_bar)


def svd_text(a, full):
    stack, m, n = a.shape[:-2], a.shape[-2], a.shape[-1]
    k = min(m, n)
    s = np.empty((*stack, k))
    if full == "full":
        u, vh = np.empty((*stack, m, m), a.dtype), np.empty((*stack, n, n), a.dtype)
        routine(loop("svd_f", a), count_of(a), m, n, k, a, u, s, vh)
    else:
        u, vh = np.empty((*stack, m, k), a.dtype), np.empty((*stack, k, n), a.dtype)
        routine(loop("svd_s", a), count_of(a), m, n, k, a, u, s, vh)
    demand_finite(s)
    return u, s, vh


svd_of = closed(svd_bars)(svd_text)
simple_svd_of = closed(simple_svd_bars)(svd_text)


@lowering(np.linalg.svd)
def svd_loops(a, full_matrices=True, compute_uv=True, hermitian=False):
    demand_read(a.ndim > 1)
    if hermitian:
        return hermitian_svd(a, compute_uv)
    if not compute_uv:
        return np.linalg.svdvals(a)
    u, s, vh = svd_of(in_double(a), "full" if full_matrices else "thin")
    if a.dtype == np.float32:
        slopes_hold(are_apart(s, a))
        slopes_hold(not has_zero(s, a))
    return SVD(*[stacked_like(as_given(x, a), a) for x in (u, s, vh)])


def svdvals_bars(a, s, s_bar):
    u, _, vh = simple_svd_of(a, "thin")
    return with_svdvals_pullback(s, u, vh)[1](s_bar)


@closed(svdvals_bars)
def svdvals_of(a):
    m, n = a.shape[-2:]
    s = np.empty((*a.shape[:-2], min(m, n)))
    routine(loop("svd", a), count_of(a), m, n, min(m, n), a, s)
    demand_finite(s)
    return s


@lowering(np.linalg.svdvals)
def svdvals_loops(x):
    demand_read(x.ndim > 1)
    return stacked_like(as_given(svdvals_of(in_double(x)), x), x)


# Orthogonal and triangular factors


def qr_bars(a, mode, y, y_bar):
    return with_qr_pullback(y, a)[1](y_bar)


@closed(qr_bars)
def qr_of(a, mode):
    stack, m, n = a.shape[:-2], a.shape[-2], a.shape[-1]
    k = min(m, n)
    count, packed, scales = count_of(a), a.copy(), np.empty((*stack, k), a.dtype)
    routine(loop("qr_r_raw", a), count, m, n, k, packed, scales)
    if mode == "complete" and m > n:
        q = np.empty((*stack, m, m), a.dtype)
        routine(loop("qr_complete", a), count, m, n, packed, scales, q)
        return q, np.triu(packed)
    q = np.empty((*stack, m, k), a.dtype)
    routine(loop("qr_reduced", a), count, m, n, k, packed, scales, q)
    return q, np.triu(packed[..., :k, :])


@lowering(np.linalg.qr)
def qr_loops(a, mode="reduced"):
    demand_read(a.ndim > 1 and mode in ("reduced", "complete", "r"))
    q, r = qr_of(in_double(a), mode)
    slopes_hold(np.all(np.isfinite(r)))
    if a.dtype == np.float32:
        slopes_hold(not has_zero(np.diagonal(r, axis1=-2, axis2=-1), a))
    r = np.triu(lies_like(as_given(r, a), a))  # of a copy, to NumPy
    return r if mode == "r" else QR(stacked_like(as_given(q, a), a), r)


# Least squares


def pinv_bars(a, least, y, y_bar):
    return with_pinv_pullback(y[0], a)[1](y_bar[0])[0], 0.0


@closed(pinv_bars)
def pinv_of(a, least):
    """The pseudoinverse, and the singular values, of which no derivative is asked."""
    u, s, vh = np.linalg.svd(conj(a), full_matrices=False)
    keep = s > least * np.max(s, axis=-1, keepdims=True)
    inverse = np.where(keep, 1 / np.where(keep, s, 1.0), 0.0)
    return np.matmul(np.swapaxes(vh, -1, -2), inverse[..., None] * np.swapaxes(u, -1, -2)), s


@lowering(np.linalg.pinv)
def pinv_loops(a, rcond=None, hermitian=False):
    demand_read(a.ndim > 1 and not hermitian and np.ndim(rcond) == 0 and a.dtype != np.float32)
    demand(a.size > 0)
    least = 1e-15 if rcond is None else 1.0 * rcond
    y, s = pinv_of(in_double(a), least)
    slopes_hold(not cuts(s, s > least * np.max(s, axis=-1, keepdims=True)))
    return stacked_like(y, a)


def lstsq_bars(a, b, least, y, y_bar):
    a_bar, b_bar, _ = with_lstsq_pullback(y, a, b)[1](y_bar)
    return a_bar, b_bar, 0.0


@closed(lstsq_bars)
def lstsq_of(a, b, least):
    m, n, k = a.shape[0], a.shape[1], b.shape[1]
    x, rest = np.empty((n, k), a.dtype), np.empty(k)
    rank, s = np.zeros(1, int), np.empty(min(m, n))
    routine(loop("lstsq", a), 1, m, n, k, len(s), a, b, least, x, rest, rank, s)
    demand_finite(x)
    return x, rest[: k if rank[0] == n and m > n else 0].copy(), rank, s


@lowering(np.linalg.lstsq)
def lstsq_loops(a, b, rcond=None):
    demand_read(a.ndim == 2 and b.ndim in (1, 2))
    if b.ndim == 1:
        x, rest, rank, s = np.linalg.lstsq(a, b[:, None], rcond)
        return x[:, 0], rest, rank, s
    demand(a.size > 0)
    demand(b.size > 0)
    demand(len(a) == len(b))
    demand_finite(a)  # LAPACK prints of others
    demand_finite(b)
    least = np.finfo(float).eps * max(a.shape) if rcond is None else 1.0 * rcond
    wide = complex if is_complex(a) or is_complex(b) else float
    x, rest, rank, s = lstsq_of(a.astype(wide), b.astype(wide), least)
    slopes_hold(rank[0] == len(s))
    if a.dtype == np.float32 and b.dtype == np.float32:
        x, rest, s = as_given(x, a), as_given(rest, a), as_given(s, a)
    return x, rest, rank.astype(np.int32)[0], s


_ONE = np.eye(1)
EIGH: Any = type(np.linalg.eigh(_ONE))
QR: Any = type(np.linalg.qr(_ONE))
