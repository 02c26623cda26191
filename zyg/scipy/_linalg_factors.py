"""Inverses and factorizations.

M. Giles, "An extended collection of matrix derivative results" (2008); I. Murray, "Differentiation
of the Cholesky decomposition" (2016).
"""

import inspect

import numpy as np

from zyg.errors import DegenerateError, MissingRuleError, unknown_call
from zyg.functions.kit import adjoint, as_array, dagger, strip
from zyg.functions.primitives.decompositions import (
    demand_no_phase,
    eigh_cotangent,
    qr_cotangent,
    svd_cotangent,
    with_cholesky_pullback,
)
from zyg.functions.primitives.linalg import (
    cuts,
    least_squares_of_rank,
    with_det_pullback,
    with_inv_pullback,
    with_lstsq_pullback,
)
from zyg.scipy._linalg_systems import diagonal_of, permutation, reading, solve_triangular, used
from zyg.scipy._namespace import rule_for
from zyg.scipy._theirs import linalg
from zyg.scipy._valued import valued
from zyg.verbs.gradients import pullback


def _product(*factors):
    y = factors[0]
    for f in factors[1:]:
        y = np.matmul(y, f)
    return y


def _scaled(a, s):
    """The columns of `a`, each times its element of s."""
    return a * np.expand_dims(s, -2)


# Inverses and determinants


@rule_for(linalg.inv)
def inv(a, **options):
    return with_inv_pullback(inv(a, **used("inv", options)))


@rule_for(linalg.det)
def det(a, **options):
    return with_det_pullback(det(a, **used("det", options)), a)


@rule_for(linalg.pinv)
def pinv(a, *, atol=None, rtol=None, **options):
    y = pinv(a, atol=atol, rtol=rtol, **used("pinv", options))

    def pinv_pullback(y_bar):
        most = np.max(linalg.svdvals(strip(a)), axis=-1, initial=0.0)
        default = max(np.shape(a)[-2:]) * np.finfo(most.dtype).eps
        least = (0.0 if atol is None else atol) / np.where(most == 0, 1.0, most)
        least = least + (default if rtol is None else rtol)
        # The same function; its rule is NumPy's.
        _, back = pullback(lambda a: np.linalg.pinv(a, least), a)
        return (back(y_bar)[0],)

    return y, pinv_pullback


@rule_for(linalg.lstsq)
def lstsq(a, b, **options):
    made = lstsq(a, b, **used("lstsq", options, "cond", "lapack_driver"))
    rank = strip(made[2])
    if np.any(rank < min(np.shape(a)[-2:])):
        return made, _of_lower_rank(a, b, rank, made[3])

    def lstsq_pullback(bars):
        x_bar, residues_bar, _, s_bar = bars
        s_bar = 0.0 if made[3] is None else np.expand_dims(s_bar, -2)
        if np.size(made[1]):  # real numbers in complex dtype
            residues_bar = np.expand_dims(np.atleast_1d(np.real(residues_bar)), -2)
        _, back = with_lstsq_pullback(made[:2], a, b)
        return back((x_bar, residues_bar, None, s_bar))[:2]

    return made, lstsq_pullback


def _of_lower_rank(a, b, rank, s):
    values = linalg.svdvals(strip(a)) if s is None else strip(s)
    if np.ndim(rank) or (s is None and cuts(values, np.arange(len(values)) < rank)):
        raise MissingRuleError(
            "scipy.linalg.lstsq of many matrices, or by gelsy, has no rule for this rank.",
            "what is cut off there is not zero, or differs from matrix to matrix.",
            "call it with one matrix at a time and lapack_driver='gelsd'.",
        )

    def lstsq_pullback(made_bar):
        x_bar, _, _, s_bar = made_bar
        _, back = pullback(lambda a, b: least_squares_of_rank(a, b, values, rank), a, b)
        a_bar, b_bar = back(x_bar)
        if s is not None:
            a_bar = a_bar + pullback(np.linalg.svdvals, a)[1](s_bar)[0]
        return a_bar, b_bar

    return lstsq_pullback


@valued(linalg.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return np.linalg.norm(as_array(a), ord, axis, keepdims)  # SciPy's, by BLAS


# Factors


@rule_for(linalg.cholesky)
def cholesky(a, lower=False, **options):
    return with_cholesky_pullback(cholesky(a, lower, **used("cholesky", options)), not lower)


# What cho_factor makes of the triangle it does not read: it leaves it, or clears it (SciPy 1.18).
_LEAVES = bool(linalg.cho_factor(np.array([[1.0, 0.0], [0.5, 1.0]]))[0][1, 0])


@rule_for(linalg.cho_factor)
def cho_factor(a, lower=False, **options):
    made = cho_factor(a, lower, **used("cho_factor", options))
    c = made[0]

    def cho_factor_pullback(y_bar):
        own, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
        (a_bar,) = with_cholesky_pullback(own(c), not lower)[1](own(y_bar[0]))
        return (a_bar + other(y_bar[0], 1 if lower else -1) if _LEAVES else a_bar,)

    return made, cho_factor_pullback


def _lu_pullback(a, left, right, left_bar, right_bar):
    """The cotangent of L U, for those of its factors."""
    inner = np.tril(np.matmul(dagger(left), left_bar), -1)
    inner = inner + np.triu(np.matmul(right_bar, dagger(right)))
    half = solve_triangular(left, inner, 2, True, True)
    return dagger(solve_triangular(right, dagger(half)))


def _square(name, a):
    if np.ndim(a) != 2 or len(a) != np.shape(a)[1]:
        raise unknown_call(f"scipy.linalg.{name}", "its rule covers only one square matrix")


@rule_for(linalg.lu_factor)
def lu_factor(a, **options):
    lu, pivots = lu_factor(a, **used("lu_factor", options))
    _square("lu_factor", a)

    def lu_factor_pullback(y_bar):
        left, right = np.tril(lu, -1) + np.eye(len(lu)), np.triu(lu)
        g = _lu_pullback(a, left, right, np.tril(y_bar[0], -1), np.triu(y_bar[0]))
        return (g[np.argsort(permutation(strip(pivots)))],)

    return (lu, pivots), lu_factor_pullback


@rule_for(linalg.lu)
def lu(a, **options):
    p, left, right = lu(a, **used("lu", options))
    _square("lu", a)

    def lu_pullback(y_bar):
        return (np.matmul(strip(p), _lu_pullback(a, left, right, y_bar[1], y_bar[2])),)

    return (p, left, right), lu_pullback


# An object in newer versions of SciPy, which warn of anything else.
_NO_LWORK = inspect.signature(linalg.qr).parameters["lwork"].default


@rule_for(linalg.qr)
def qr(a, overwrite_a=False, lwork=_NO_LWORK, mode="full", **options):
    options = used("qr", options)
    made = qr(a, mode=mode, **options)
    if mode not in ("full", "economic", "r"):
        raise unknown_call("scipy.linalg.qr", f"its rule does not cover mode={mode!r}")
    q, r = made if mode != "r" else qr(a, mode="economic", **options)

    def qr_pullback(bars):
        q_bar = np.zeros_like(strip(q)) if mode == "r" else bars[0]
        return (qr_cotangent(a, q, r, q_bar, bars[-1]),)

    return made, qr_pullback


def _reversed(a, *axes):
    """The conjugate transpose of what has some of its axes reversed."""
    return dagger(np.flip(a, axes))


@rule_for(linalg.rq)
def rq(a, overwrite_a=False, lwork=None, mode="full", **options):
    """With J a reversal of rows, (J A)^H = (Q^H J) (J R^H J) is a QR decomposition."""
    options = used("rq", options)
    made = rq(a, mode=mode, **options)
    r, q = made if mode != "r" else rq(a, mode="economic", **options)

    def rq_pullback(bars):
        q_bar, r_bar = (np.zeros_like(strip(q)), bars) if mode == "r" else bars[::-1]
        if mode == "r":
            r_bar = r_bar[..., np.shape(r_bar)[-1] - np.shape(r)[-1] :]
        both = -2, -1
        of_q, of_r = _reversed(q_bar, -2), _reversed(r_bar, *both)
        of_a = qr_cotangent(_reversed(a, -2), _reversed(q, -2), _reversed(r, *both), of_q, of_r)
        return (np.flip(dagger(of_a), -2),)

    return made, rq_pullback


@rule_for(linalg.ldl)
def ldl(A, lower=True, hermitian=True, **options):
    """With M = L^-1 dA L^-H = X D + dD + D X^H, where X = L^-1 dL has no blocks of D: those of M
    are dD, and below them M is X D.
    """
    left, d, order = made = ldl(A, lower, hermitian, **used("ldl", options))
    _square("ldl", A)
    fold = reading("her" if hermitian else "sym", lower)[1]
    beside = np.diagonal(strip(d), 1) != 0
    blocks = np.eye(len(d), dtype=bool) | np.diag(beside, 1) | np.diag(beside, -1)
    side = np.tri(len(d), dtype=bool)
    outside = (side if lower else side.T) & ~blocks

    def ldl_pullback(bars):
        if np.linalg.matrix_rank(strip(d)) < len(d):
            _refuse_singular()
        l, turn = left[order], dagger(left[order]) if hermitian else np.transpose(left[order])  # noqa: E741
        x_bar = np.where(outside, np.matmul(dagger(l), bars[0][order]), 0.0)
        below = np.where(outside, np.matmul(x_bar, np.linalg.inv(dagger(d))), 0.0)
        m_bar = below + np.where(blocks, bars[1], 0.0)
        g = np.linalg.solve(dagger(l), np.matmul(m_bar, np.linalg.inv(dagger(turn))))
        back = np.argsort(strip(order))
        return (fold(g[back][:, back]),)

    return made, ldl_pullback


def _refuse_singular():
    raise DegenerateError(
        "the derivative of ldl is undefined here: the matrix is singular.",
        "what is below a zero pivot is arbitrary.",
        "differentiate at a matrix that has an inverse.",
    )


@rule_for(linalg.null_space)
def null_space(A, rcond=None, **options):
    """dN = -A^+ dA N, but for turns within the null space, which are arbitrary."""
    n = null_space(A, rcond, **used("null_space", options, "lapack_driver"))
    if np.ndim(A) != 2:
        raise unknown_call("scipy.linalg.null_space", "its rule covers only one matrix at a time")

    def null_space_pullback(n_bar):
        if np.shape(n)[1] > max(np.shape(A)[1] - np.shape(A)[0], 0):
            _refuse_collapse()
        turn = np.matmul(dagger(n), n_bar)
        demand_no_phase("null_space", turn - dagger(turn), n_bar)
        multiplier = np.matmul(dagger(np.linalg.pinv(A)), n_bar)
        return -np.matmul(multiplier, dagger(n)), None

    return n, null_space_pullback


def _refuse_collapse():
    raise DegenerateError(
        "the derivative of null_space is undefined here: rows (or columns) are dependent.",
        "a small change of the matrix makes them independent, and the null space smaller.",
        "differentiate at a matrix of full rank.",
    )


@rule_for(linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, **options):
    made = svd(a, full_matrices, compute_uv, **used("svd", options, "lapack_driver"))
    if compute_uv and full_matrices and np.shape(a)[-2] != np.shape(a)[-1]:
        raise unknown_call("scipy.linalg.svd", "its rule covers only full_matrices=False")
    u, s, vh = made if compute_uv else svd(a, False)

    def svd_pullback(y_bar):
        if not compute_uv:
            return (np.matmul(_scaled(u, y_bar), vh),)
        u_bar, s_bar, v_bar = y_bar[0], y_bar[1], dagger(y_bar[2])
        return (svd_cotangent(u, s, vh, u_bar, s_bar, v_bar),)

    return made, svd_pullback


@valued(linalg.svdvals)
def svdvals(a, overwrite_a=False, check_finite=True):
    return np.linalg.svdvals(as_array(a))


def _eigh_pullback(w, v, b, lower, strict=True):
    """A V = B V diag(w) with V^H B V = 1: dw = diag(M), dV = V (gaps M - diag(V^H dB V) / 2),
    where M = V^H (dA V - dB V diag(w)).
    """
    _, folded = reading("her", lower)

    def back(w_bar, v_bar):
        if v_bar is None:
            inner, m = 0.0, _scaled(np.eye(np.shape(w)[-1]), w_bar)
        else:
            inner, m = eigh_cotangent(w, v, w_bar, v_bar, strict)

        def of(g):
            g = _product(v, g, dagger(v))
            return folded(0.5 * (g + dagger(g)))

        if b is None:
            return (of(m),)
        own = 0.0 if v_bar is None else 0.5 * np.real(diagonal_of(inner))
        return (lambda: of(m)), (lambda: of(-(_scaled(m, w) + own)))

    return back


@rule_for(linalg.eigh)
def eigh(a, b=None, *, lower=True, eigvals_only=False, **options):
    options = used("eigh", options, "driver")
    if eigvals_only:
        made = eigh(a, b, lower=lower, eigvals_only=True, **options)
        return made, _eigvals_pullback(a, b, lower, options)
    w, v = made = eigh(a, b, lower=lower, **options)
    back = _eigh_pullback(w, v, b, lower, False)
    return made, lambda bars: back(*bars)


@adjoint
def _eigh_of_simple(a, b, lower, options):
    """The same, whose derivative is refused where values are equal."""
    w, v = made = eigh(a, b, lower=lower, **options)
    back = _eigh_pullback(w, v, b, lower)

    def eigh_of_simple_pullback(bars):
        of_a, *of_b = back(*bars)
        return of_a, *(of_b or [None]), None, None

    return made, eigh_of_simple_pullback


def _eigvals_pullback(a, b, lower, options):
    def eigvals_pullback(w_bar):
        w, v = _eigh_of_simple(a, b, lower, options)
        return _eigh_pullback(w, v, b, lower)(w_bar, None)

    return eigvals_pullback


@rule_for(linalg.eigvalsh)
def eigvalsh(a, b=None, *, lower=True, **options):
    options = used("eigvalsh", options, "driver")
    return eigvalsh(a, b, lower=lower, **options), _eigvals_pullback(a, b, lower, options)
