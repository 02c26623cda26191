"""Functions of scipy.linalg that formulas of others give: SciPy's values, and their derivatives."""

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, conj, dagger, is_complex, nondifferentiable, strip
from zyg.functions.primitives.decompositions import (
    demand_vectors,
    equal_values,
    qr_cotangent,
    regular,
)
from zyg.scipy._closures import as_tuple, plain
from zyg.scipy._linalg_factors import cholesky, eigh, pinv, qr, svd
from zyg.scipy._linalg_systems import cho_solve, reading, solve_sylvester
from zyg.scipy._matrix_functions import sqrtm
from zyg.scipy._namespace import dispatching, rule_for
from zyg.scipy._theirs import linalg
from zyg.scipy._valued import arguments_of, valued

_toeplitz = dispatching(linalg.toeplitz)

nondifferentiable(linalg.bandwidth, linalg.issymmetric, linalg.ishermitian)


def _one(name, *operands, axes=2):
    """The operands as arrays; refused where they are many."""
    arrays = [as_array(x) for x in operands]
    if any(np.ndim(x) > axes for x in arrays):
        raise unknown_call(f"scipy.linalg.{name}", "its rule covers only one matrix at a time")
    return arrays


def _all(name, select):
    if select not in ("a", 0):
        raise unknown_call(f"scipy.linalg.{name}", "its rule covers only select='a'")


# Eigenvalues


@valued(linalg.eig)
def eig(
    a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
    homogeneous_eigvals=False,
):  # fmt: skip
    if b is not None or left or homogeneous_eigvals:
        why = "its rule covers only right eigenvectors of one matrix"
        raise unknown_call("scipy.linalg.eig", why)
    if not right:
        return eigvals(a)
    w, v = np.linalg.eig(as_array(a))
    theirs, vectors = linalg.eig(strip(a))
    _same_order("eig", w, theirs)
    return np.astype(w, np.result_type(strip(w), np.complex64)), _turned(v, vectors)


@valued(linalg.eigvals)
def eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    if b is not None or homogeneous_eigvals:
        raise unknown_call("scipy.linalg.eigvals", "its rule covers only one matrix")
    w = np.linalg.eigvals(as_array(a))
    _same_order("eigvals", w, linalg.eigvals(strip(a)))
    return np.astype(w, np.result_type(strip(w), np.complex64))


def _same_order(name, ours, theirs):
    """Refuse eigenvalues that NumPy's LAPACK finds in another order than SciPy's."""
    eps = np.finfo(theirs.dtype).eps
    if not np.allclose(strip(ours), theirs, np.sqrt(eps), np.sqrt(eps) * np.abs(theirs).max()):
        raise unknown_call(f"scipy.linalg.{name}", "NumPy finds these values in another order")


def _turned(v, theirs):
    """Eigenvectors with the signs, or phases, of those that SciPy has found."""
    turns = np.sum(conj(strip(v)) * theirs, axis=-2, keepdims=True)
    return v * (turns / np.abs(turns))


def _of_hermitian(a, lower, plain):
    """The eigenvalues, and the eigenvectors that SciPy has found."""
    w, v = eigh(a, lower=lower)
    return w, _turned(v, plain[1])


@valued(linalg.eigh_tridiagonal)
def eigh_tridiagonal(d, e, eigvals_only=False, select="a", *rest, **options):
    _all("eigh_tridiagonal", select)
    d, e = _one("eigh_tridiagonal", d, e, axes=1)
    a = np.diag(d) + np.diag(e, -1)
    if eigvals_only:
        return _eigvalsh(a, True)
    return _of_hermitian(a, True, linalg.eigh_tridiagonal(strip(d), strip(e)))


_eigvalsh_rule = dispatching(linalg.eigvalsh)


def _eigvalsh(a, lower):
    return _eigvalsh_rule(a, lower=lower)


def _triangle(name, ab, lower):
    """The triangle of a matrix whose diagonals are the rows of `ab`."""
    (ab,) = _one(name, ab)
    most = len(ab) - 1
    total = np.diag(ab[0 if lower else most])
    for k in range(1, most + 1):
        row = ab[k, :-k] if lower else ab[most - k, k:]
        total = total + np.diag(row, -k if lower else k)
    return total


@valued(linalg.eig_banded)
def eig_banded(a_band, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", *rest,
               **options):  # fmt: skip
    _all("eig_banded", select)
    a = _triangle("eig_banded", a_band, lower)
    if eigvals_only:
        return _eigvalsh(a, bool(lower))
    return _of_hermitian(a, bool(lower), linalg.eig_banded(strip(a_band), lower))


@valued(linalg.cholesky_banded)
def cholesky_banded(ab, overwrite_ab=False, lower=False, check_finite=True):
    whole = cholesky(_triangle("cholesky_banded", ab, lower), bool(lower))
    most, rows = len(strip(ab)) - 1, []
    for k in range(most, -1, -1):
        row = np.diag(whole, -k if lower else k)
        # Outside of the matrix SciPy leaves what it was given.
        own = as_array(ab)[k if lower else most - k]
        rows.append(np.concatenate([row, own[len(row) :]] if lower else [own[:k], row]))
    return np.stack(rows[::-1] if lower else rows)


@valued(linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower, b, overwrite_b=False, check_finite=True):
    cb, lower = cb_and_lower
    return cho_solve((_triangle("cho_solve_banded", cb, lower), bool(lower)), as_array(b))


# Unitary factors and subspaces


def _unitary_cotangent(a, u, u_bar):
    """Of u in a = u p: u^H da - da^H u = w p + p w, where w = u^H du; beside u, du = da p^-1."""
    if np.shape(a)[0] < np.shape(a)[1]:
        return dagger(_unitary_cotangent(dagger(a), dagger(u), dagger(u_bar)))
    within = np.matmul(dagger(u), u_bar)
    turn, beside = within - dagger(within), u_bar - np.matmul(u, within)
    p = regular("polar", np.matmul(dagger(u), a), u_bar, turn, beside)
    a_bar = np.matmul(u, solve_sylvester(p, p, turn))
    if np.shape(a)[0] == np.shape(a)[1]:
        return a_bar
    return a_bar + np.matmul(beside, np.linalg.inv(p))


@rule_for(linalg.polar)
def polar(a, side="right"):
    (a,) = _one("polar", a)
    u, p = polar(a, side)

    def polar_pullback(bars):
        u_bar, p_bar = bars
        if side == "right":  # p = u^H a
            direct, by_u = np.matmul(u, p_bar), np.matmul(a, dagger(p_bar))
        else:
            direct, by_u = np.matmul(p_bar, u), np.matmul(dagger(p_bar), a)
        return direct + _unitary_cotangent(a, u, u_bar + by_u), None

    return (u, p), polar_pullback


@valued(linalg.orthogonal_procrustes)
def orthogonal_procrustes(A, B, check_finite=True):
    a, b = _one("orthogonal_procrustes", A, B)
    product = np.matmul(dagger(a), b)
    u = polar(product)[0]
    return u, np.real(np.sum(conj(u) * product))


@valued(linalg.orth)
def orth(A, rcond=None):
    (a,) = _one("orth", A)
    return svd(a, False)[0][:, : linalg.orth(strip(a), strip(rcond)).shape[1]]


@valued(linalg.subspace_angles)
def subspace_angles(A, B):
    a, b = (np.linalg.qr(x)[0] for x in _one("subspace_angles", A, B))
    inner = np.matmul(dagger(a), b)
    if np.shape(a)[1] >= np.shape(b)[1]:
        rest = b - np.matmul(a, inner)
    else:
        rest = a - np.matmul(b, dagger(inner))
    cosines, sines = np.flip(np.linalg.svdvals(inner), -1), np.linalg.svdvals(rest)
    near = strip(np.flip(cosines, -1)) ** 2 >= 0.5
    angles = np.arccos(np.where(near, 0.0, cosines))
    return np.where(near, np.arcsin(np.where(near, sines, 0.0)), angles)


@valued(linalg.pinvh)
def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    (a,) = _one("pinvh", a)
    y = pinv(reading("her", lower)[0](a), atol=strip(atol), rtol=strip(rtol))
    return (y, None) if return_rank else y


@valued(linalg.qr_multiply)
def qr_multiply(
    a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False, overwrite_c=False
):
    a, c = _one("qr_multiply", a, c)
    order = linalg.qr(strip(a), mode="r", pivoting=True)[1] if pivoting else np.arange(a.shape[1])
    q, r = qr(a[:, order], mode="economic")
    q = conj(q) if conjugate else q
    y = np.matmul(q, c) if mode == "left" else np.matmul(c, q)
    return (y, r, None) if pivoting else (y, r)


# Factors of a matrix that is changed, by those that it had


def _factors(a, found):
    return found


@rule_for(_factors)
def factors(a, found):
    """What SciPy has `found` to be q and r of this matrix, but for signs those of qr."""
    q, r = made = factors(a, found)

    def factors_pullback(bars):
        return qr_cotangent(a, q, r, *bars), None

    return made, factors_pullback


def _changed(function, change):
    name = function.__name__

    def by_change(*args, **options):
        given = dict(arguments_of(function, args, options))
        a = change(np.matmul(as_array(given["Q"]), as_array(given["R"])), **given)
        if is_complex(a):
            raise unknown_call(f"scipy.linalg.{name}", "its rule covers only real matrices")
        q, r = found = function(**plain(given))
        if not np.allclose(strip(a), np.matmul(q, r)):
            raise unknown_call(f"scipy.linalg.{name}", "its rule knows the change otherwise")
        return factors(a, found)

    valued(function)(by_change)


def _plus(a, u, v, **others):
    u, v = (np.reshape(as_array(x), (len(x), -1)) for x in (u, v))
    return a + np.matmul(u, dagger(v))


def _along(a, which, k):
    """The matrix with the axis that is meant first, and k counted from its beginning."""
    a = np.transpose(a) if which == "col" else a
    return a, k % np.shape(a)[0] if k < 0 else k


def _with_rows(a, u, k, which, **others):
    a, k = _along(a, which, k)
    u = np.transpose(as_array(u)) if which == "col" else as_array(u)
    both = np.concatenate([a[:k], np.reshape(u, (-1, np.shape(a)[1])), a[k:]])
    return np.transpose(both) if which == "col" else both


def _without_rows(a, k, p, which, **others):
    a, k = _along(a, which, k)
    rest = np.concatenate([a[:k], a[k + p :]])
    return np.transpose(rest) if which == "col" else rest


_changed(linalg.qr_update, _plus)
_changed(linalg.qr_insert, _with_rows)
_changed(linalg.qr_delete, _without_rows)


# Functions of matrices


@valued(linalg.funm)
def funm(A, func, disp=True):
    if not disp:
        raise unknown_call("scipy.linalg.funm", "its rule does not know disp=False")
    (a,) = _one("funm", A)
    w, v = np.linalg.eig(a)
    equal = equal_values(w)
    demand_vectors("funm", equal & ~np.eye(len(equal), dtype=bool), True, True)
    y = np.matmul(v * func(np.astype(w, np.result_type(strip(w), np.complex64))), np.linalg.inv(v))
    return y if is_complex(linalg.funm(strip(a), plain(func))) else np.real(y)


@valued(linalg.signm)
def signm(A, *disp, **options):
    if disp[:1] == (False,) or options.get("disp") is False:
        raise unknown_call("scipy.linalg.signm", "its rule does not know disp=False")
    (a,) = _one("signm", A)
    return np.matmul(a, np.linalg.inv(sqrtm(np.matmul(a, a))))


# Matrices made of vectors, and systems of them


@valued(linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    vectors = _one("solve_toeplitz", *as_tuple(c_or_cr), axes=1)
    return np.linalg.solve(_toeplitz(*vectors), as_array(b))


@valued(linalg.solve_circulant)
def solve_circulant(c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    if singular != "raise":
        raise unknown_call("scipy.linalg.solve_circulant", "its rule covers only singular='raise'")
    c, b = np.atleast_1d(as_array(c)), np.atleast_1d(as_array(b))
    known, given = (np.fft.fft(np.moveaxis(x, k, -1)) for x, k in ((c, caxis), (b, baxis)))
    x = np.fft.ifft(given / known)
    return np.moveaxis(x if is_complex(c) or is_complex(b) else np.real(x), -1, outaxis)
