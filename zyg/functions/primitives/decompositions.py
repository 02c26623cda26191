"""Decompositions of matrices. What their factors leave open, and what is done about it.

Sources: M. Giles, "An extended collection of matrix derivative results" (2008); S. Walter, L.
Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) and D. and L. Roberts,
"QR and LQ decomposition matrix backpropagation algorithms" (2020); J. Townsend, "Differentiating
the singular value decomposition" (2016); Z. Wan, S. Zhang, "Automatic differentiation for complex
valued SVD" (2019); C. Boeddeker et al., "On the computation of complex-valued gradients" (2017).

* A triangle. `cholesky`, `eigh` and `eigvalsh` read one triangle of their matrix, and the real part
  of its diagonal. The cotangent of the other triangle is 0, as finite differences have it.
* A phase. Complex eigenvectors (`eigh`) and pairs of singular vectors may be multiplied by any
  number of modulus 1, and so may orthonormal columns that complete others (``svd`` with full
  matrices, ``qr`` with mode="complete") by any unitary matrix. A cotangent that asks how they turn
  raises `DegenerateError`; forward mode, which knows no cotangent, holds the phase. `eig` is
  differentiated as LAPACK normalises: length 1, largest component real. So is `qr`: the diagonal
  of R is real.
* Equal eigenvalues or singular values. What only they determine (`eigvalsh`, `eigvals`, `svdvals`,
  norms) has the derivative that the vectors LAPACK chose give: the derivative, where the function
  does not depend on their order and has one; a subgradient, where it has a kink. Their vectors
  have none. The part of the derivative between equal values is taken for 0 where nothing asks for
  it: the cotangents of their vectors have no part there, and those of the values are equal, so
  that the vectors of the other values can be used. Else, in forward mode and for second
  derivatives, it raises `DegenerateError`. What it cannot see is a function of a matrix,
  v @ diag(f(w)) @ v.T, whose f is 0 at an eigenvalue that is repeated: the cotangents of its
  vectors are 0 there, too.
* A singular value 0. It is the modulus of a number that may have either sign, and for a matrix that
  is complex or not square its vectors are as free as those of equal values.
"""

from typing import Any

import numpy as np

from zyg.errors import DegenerateError, MissingRuleError
from zyg.functions.kit import (
    adjoint,
    composed,
    dagger,
    is_complex,
    is_watched,
    means,
    of_triangle,
    slopes_hold,
    strip,
    triangle,
)


@adjoint(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    y = np.linalg.cholesky(a, upper=True) if upper else np.linalg.cholesky(a)
    return with_cholesky_pullback(y, upper)


def with_cholesky_pullback(y, upper):
    def cholesky_pullback(y_bar):
        return (cholesky_cotangent(y, y_bar, upper, np.linalg.solve),)

    return y, cholesky_pullback


def cholesky_cotangent(y, y_bar, upper, solve):
    """dL = L half(L^-1 dA L^-H), where half takes the lower triangle with half the diagonal."""
    low, low_bar = (dagger(y), dagger(y_bar)) if upper else (y, y_bar)
    h = dagger(low)
    half = np.matmul(h, low_bar)
    left = solve(h, half * triangle(half))
    return of_triangle(solve(h, dagger(left)), upper)


# Equal values and free phases


def eps_of(x):
    return np.finfo(strip(x).dtype).eps


def _size(x, axis=(-2, -1)):
    return np.max(np.abs(strip(x)), axis=axis, initial=0.0, keepdims=True)


def gaps_of(w):
    """The matrix of w[j] - w[i]."""
    return w[..., None, :] - w[..., :, None]


def equal_values(w):
    """Which pairs of values are equal up to rounding; each is equal to itself."""
    w = strip(w)
    return np.abs(gaps_of(w)) <= 8 * w.shape[-1] * eps_of(w) * _size(w, -1)[..., None]


def is_zero(w):
    """Which values are 0 up to rounding."""
    w = strip(w)
    return np.abs(w) <= 8 * w.shape[-1] * eps_of(w) * _size(w, -1)


def over_gaps(c, gaps, equal):
    """c / gaps, and 0 between equal values."""
    return np.where(equal, 0.0, c / np.where(equal, 1.0, gaps))


def _counts(part, size):
    """Where a part of a cotangent is more than rounding of one of this size."""
    part = np.abs(strip(part))
    return part > np.sqrt(eps_of(part)) * size


def are_watched(*cotangents):
    """Whether other cotangents than these will matter, so that their zeros prove nothing."""
    return any(map(is_watched, cotangents))


means("no", are_watched)  # machine code is strict by `slopes_hold`


def demand_vectors(name, open_to, asked, strict):
    """Refuse a cotangent that asks for what equal values leave open."""
    is_open = np.any(open_to)
    slopes_hold(not is_open)
    if is_open and (strict or np.any(open_to & asked)):
        raise DegenerateError(
            f"the derivative of {name} is undefined here: some values are equal, and the result "
            "depends on their vectors.",
            "equal eigenvalues (or singular values) share a space, in which any basis is valid; a "
            "small change of the matrix selects a very different one.",
            "use eigvalsh, eigvals or svdvals where the values suffice (their first derivatives "
            "exist), or move the matrix away from equal values.",
        )


def demand_pairs(name, equal, mixing, w_bar, strict):
    """The same for pairs of equal values: the vectors must not mix, the values count alike."""
    pairs = equal & ~np.eye(equal.shape[-1], dtype=bool)
    unequal = gaps_of(strip(w_bar))
    asked = _counts(mixing, _size(mixing)) | _counts(unequal, _size(w_bar, -1)[..., None])
    demand_vectors(name, pairs, asked, strict)


def excused(x, bad, refuse, *cotangents):
    """`x`, or the unit matrix where it is bad and no cotangent arrives; refused where one does."""
    is_bad = np.any(bad)
    slopes_hold(not is_bad)
    if not is_bad:
        return x
    asked = False
    for c in cotangents:
        asked = asked | np.any(strip(c) != 0, axis=(-2, -1), keepdims=True)
    if are_watched(*cotangents) or np.any(bad & asked):
        refuse()
    return np.where(bad, np.eye(np.shape(x)[-1], dtype=strip(x).real.dtype), x)


def regular(name, h, whole, *parts):
    """`h`, by which parts of a cotangent are divided; refused where it has no inverse, unless they
    are rounding of the whole."""
    singular = np.any(is_zero(np.linalg.svd(strip(h), compute_uv=False)))
    asked = [np.where(_counts(part, _size(whole)), part, 0.0) for part in parts]

    def refuse():
        raise DegenerateError(
            f"the derivative of {name} is undefined here: the matrix is singular.",
            "the slope of a root is infinite at 0, and a direction that is lost may be any.",
            "differentiate at a matrix that has an inverse.",
        )

    return excused(h, singular, refuse, *asked)


def demand_no_phase(name, part, *whole):
    """Refuse a cotangent along the phases (or the rotations) that are free."""
    if np.any(_counts(part, sum(map(_size, whole)))):
        raise DegenerateError(
            f"the result depends on the phases of the vectors of {name}, which are arbitrary.",
            "a vector times a number of modulus 1 is equally valid, and so are rotated columns "
            "that complete a basis; which one comes out is an accident of the algorithm.",
            "use results that do not depend on them: moduli, projectors v @ v.conj().T, u @ vh.",
        )


def _diagonal(x):
    return np.diagonal(x, axis1=-2, axis2=-1)


def as_diagonal(d):
    return d[..., None, :] * np.eye(np.shape(d)[-1], dtype=strip(d).dtype)


def _completed(name, q, q_bar, k):
    """The cotangent of the first k columns of q, with what follows for them from that of the rest.

    Q1^H dQ2 = -(Q2^H dQ1)^H; what Q2 does within its own space is free.
    """
    if np.shape(q)[-1] == k:
        return q_bar
    rest, rest_bar = q[..., k:], q_bar[..., k:]
    turn = np.matmul(dagger(rest), rest_bar)
    demand_no_phase(name, turn - dagger(turn), q_bar)
    return q_bar[..., :k] - np.matmul(rest, np.matmul(dagger(rest_bar), q[..., :k]))


# QR


@composed(np.linalg.qr)
def qr(a, mode="reduced"):
    if mode == "r":
        return np.linalg.qr(a).R
    if mode not in ("reduced", "complete"):
        np.linalg.qr(np.eye(1), mode)  # raises where NumPy does
        raise MissingRuleError(
            f"np.linalg.qr with mode={mode!r} has no rule.",
            "its result is internal data of the algorithm: Householder vectors and their scales.",
            "use mode='reduced', 'complete' or 'r'.",
        )
    return _qr(a, mode)


@adjoint
def _qr(a, mode):
    return with_qr_pullback(np.linalg.qr(a, mode), a)


def with_qr_pullback(made, a):
    q, r = made

    def qr_pullback(bars):
        return qr_cotangent(a, q, r, *bars), None

    return made, qr_pullback


def qr_cotangent(a, q, r, q_bar, r_bar):
    """Of a = q r, in which q may have columns that complete others."""
    m, n = np.shape(a)[-2:]
    k = min(m, n)
    q_bar, r_bar = _completed("qr", q, q_bar, k), r_bar[..., :k, :]
    q1, square = q[..., :k], r[..., :k, :k]
    dependent = np.any(is_zero(_diagonal(square)), axis=-1, keepdims=True)[..., None]
    square = excused(square, dependent, _refuse_dependent, q_bar, r_bar)
    if n > m:  # a = [x y] = q [r1 r2]: x = q r1 is square, r2 = q^H y
        rest_bar = r_bar[..., k:]
        q_bar = q_bar + np.matmul(a[..., k:], dagger(rest_bar))
        x_bar = _qr_cotangent(q1, square, q_bar, r_bar[..., :k])
        return np.concatenate([x_bar, np.matmul(q1, rest_bar)], axis=-1)
    return np.copy(_qr_cotangent(q1, square, q_bar, r_bar), "C")  # as the others lie


def _refuse_dependent():
    raise DegenerateError(
        "the derivative of qr is undefined here: the leading columns are dependent.",
        "a column in the space of those before it adds a direction that is arbitrary.",
        "differentiate at a matrix whose first min(m, n) columns are independent.",
    )


def _qr_cotangent(q, r, q_bar, r_bar):
    """a = q r. With B = q^H da r^-1, its part W = q^H dq is low(B) - low(B)^H + i im(diag(B))."""
    of_q = np.matmul(dagger(q), q_bar)
    of_r = np.matmul(r_bar, dagger(r))
    g = of_q - of_r
    low = np.tri(np.shape(r)[-1], k=-1, dtype=bool)
    inner = of_r + np.where(low, g - dagger(g), 0.0)
    if is_complex(q):
        inner = inner + 1j * as_diagonal(np.imag(_diagonal(g)))
    of_b = np.matmul(q, inner - of_q) + q_bar
    return dagger(np.linalg.solve(r, dagger(of_b)))


# Singular values


SVD: Any = type(np.linalg.svd(np.eye(1)))


@composed(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        return hermitian_svd(a, compute_uv)
    return _svd(a, full_matrices, False) if compute_uv else np.linalg.svdvals(a)


def hermitian_svd(a, compute_uv):
    """As NumPy does it: from the eigenvalues, whose signs go into vh."""
    w, u = np.linalg.eigh(a) if compute_uv else (np.linalg.eigvalsh(a), None)
    if not compute_uv:
        return np.flip(np.sort(np.abs(w)), -1)
    order = np.argsort(np.abs(strip(w)))[..., ::-1]
    s = np.take_along_axis(np.abs(w), order, -1)
    u = np.take_along_axis(u, order[..., None, :], -1)
    sign = np.take_along_axis(np.copysign(1.0, strip(w)), order, -1)
    vh = dagger(u * sign[..., None, :])
    return SVD(u, s, vh)


@adjoint
def _svd(a, full_matrices, strict):
    return with_svd_pullback(np.linalg.svd(a, full_matrices), strict)


def with_svd_pullback(made, strict=False):
    u, s, vh = made
    k = np.shape(s)[-1]

    def svd_pullback(bars):
        u_bar = _completed("svd", u, bars[0], k)
        v_bar = _completed("svd", dagger(vh), dagger(bars[2]), k)
        a_bar = svd_cotangent(u[..., :k], s, vh[..., :k, :], u_bar, bars[1], v_bar, strict)
        return a_bar, None, None

    return made, svd_pullback


def svd_cotangent(u, s, vh, u_bar, s_bar, v_bar, strict=False):
    """With P = u^H da v, off the diagonal u^H du = (P s + s P^H) / gaps of the squares."""
    v, rows, columns = dagger(vh), np.shape(u)[-2], np.shape(vh)[-1]
    of_u, of_v = np.matmul(dagger(u), u_bar), np.matmul(vh, v_bar)
    u_rest, v_rest = u_bar - np.matmul(u, of_u), v_bar - np.matmul(v, of_v)
    equal, zero = equal_values(s), is_zero(s)
    strict = strict or are_watched(u_bar, s_bar, v_bar)
    demand_pairs("svd", equal, np.abs(strip(of_u)) + np.abs(strip(of_v)), s_bar, strict)
    parts = [s_bar[..., None, :], u_rest, v_rest]
    if is_complex(u):
        u_phase, v_phase = (np.imag(_diagonal(x))[..., None, :] for x in (of_u, of_v))
        demand_no_phase("svd", u_phase + v_phase, u_bar, v_bar)
        parts += [u_phase, v_phase]
    if rows != columns or is_complex(u):  # else a single 0 is as good as any other number
        moved = np.max(np.concatenate([np.abs(strip(x)) for x in parts], axis=-2), axis=-2)
        asked = _counts(moved, sum(_size(x)[..., 0] for x in (s_bar[..., None], u_bar, v_bar)))
        demand_vectors("svd", zero, asked, strict)

    inverse = np.where(zero, 0.0, 1 / np.where(zero, 1.0, s))
    gaps = gaps_of(s) * (s[..., None, :] + s[..., :, None])
    u_turn, v_turn = (over_gaps(x - dagger(x), gaps, equal) for x in (of_u, of_v))
    inner = u_turn * s[..., None, :] + s[..., :, None] * v_turn + as_diagonal(s_bar)
    if is_complex(u):
        inner = inner + 1j * as_diagonal(u_phase[..., 0, :] * inverse)
    if columns > rows:
        right = np.matmul(inner, vh) + dagger(v_rest * inverse[..., None, :])
        return np.matmul(u, right)
    left = np.matmul(u, inner)
    if rows > columns:
        left = left + u_rest * inverse[..., None, :]
    return np.matmul(left, vh)


@adjoint(np.linalg.svdvals)
def svdvals(x, /):
    s = np.linalg.svdvals(x)

    def svdvals_pullback(s_bar):
        known = np.expand_dims(np.isfinite(s).all(-1), (-2, -1))
        # LAPACK may look for the vectors of a matrix with infinities forever.
        u, _, vh = _svd(x if known.all() else np.where(known, x, np.nan), False, True)
        return with_svdvals_pullback(s, u, vh)[1](s_bar)

    return s, svdvals_pullback


def with_svdvals_pullback(s, u, vh):
    def svdvals_pullback(s_bar):
        return (np.matmul(u * s_bar[..., None, :], vh),)

    return s, svdvals_pullback


# Eigenvalues of Hermitian matrices


@adjoint(np.linalg.eigh)
def eigh(a, UPLO="L"):
    return _eigh(a, UPLO, strict=False)


@adjoint
def _eigh_of_simple(a, uplo):
    return _eigh(a, uplo, strict=True)


def _eigh(a, uplo, strict):
    """v^H dv = (v^H da v) / gaps off the diagonal."""
    return with_eigh_pullback(np.linalg.eigh(a, uplo), uplo, strict)


def with_eigh_pullback(made, uplo, strict=False):
    w, v = made

    def eigh_pullback(bars):
        w_bar, v_bar = bars
        _, inner = eigh_cotangent(w, v, w_bar, v_bar, strict)
        return of_triangle(np.matmul(np.matmul(v, inner), dagger(v)), uplo in "Uu"), None

    return made, eigh_pullback


def eigh_cotangent(w, v, w_bar, v_bar, strict):
    """v^H v_bar, and that over the gaps with w_bar on the diagonal: the cotangent of v^H da v."""
    mixing, equal = np.matmul(dagger(v), v_bar), equal_values(w)
    demand_pairs("eigh", equal, mixing, w_bar, strict or are_watched(w_bar, v_bar))
    if is_complex(v):
        demand_no_phase("eigh", np.imag(_diagonal(mixing))[..., None, :], v_bar)
    return mixing, over_gaps(mixing, gaps_of(w), equal) + as_diagonal(w_bar)


@adjoint(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    w = np.linalg.eigvalsh(a, UPLO)

    def eigvalsh_pullback(w_bar):
        return with_eigvalsh_pullback(w, _eigh_of_simple(a, UPLO)[1], UPLO)[1](w_bar)

    return w, eigvalsh_pullback


def with_eigvalsh_pullback(w, v, uplo):
    def eigvalsh_pullback(w_bar):
        return of_triangle(np.matmul(v * w_bar[..., None, :], dagger(v)), uplo in "Uu"), None

    return w, eigvalsh_pullback


# Eigenvalues of two calls


def places_among(w, other):
    """Where each of `other` is in w: LAPACK may find the eigenvalues in another order alone."""
    left, places = np.abs(other[..., :, None] - w[..., None, :]), []
    for k in range(w.shape[-1]):
        places.append(np.argmin(left[..., k, :], axis=-1))
        np.put_along_axis(left, places[-1][..., None, None], np.inf, axis=-1)
    return np.stack(places, axis=-1) if places else np.zeros(w.shape, int)
