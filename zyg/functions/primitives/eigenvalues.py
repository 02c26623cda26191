"""Eigenvalues of any square matrix: see `decompositions` for what equal ones leave open."""

import numpy as np

from zyg.errors import DegenerateError
from zyg.functions.kit import adjoint, conj, dagger, is_complex, strip
from zyg.functions.primitives.decompositions import (
    are_watched,
    as_diagonal,
    demand_pairs,
    eps_of,
    equal_values,
    excused,
    gaps_of,
    over_gaps,
    places_among,
)


@adjoint(np.linalg.eig)
def eig(a):
    return _eig(a, strict=False)


@adjoint
def _eig_of_simple(a):
    return _eig(a, strict=True)


def _eig(a, strict):
    """v^-1 dv = (v^-1 da v) / gaps off the diagonal; on it, what keeps v as LAPACK scales it."""
    w, v = made = np.linalg.eig(a)

    def eig_pullback(bars):
        w_bar, v_bar = bars
        equal = equal_values(w)
        along = np.sum(conj(v) * v_bar, axis=-2, keepdims=True)
        u_bar = v_bar - v * np.real(along)
        if is_complex(v):  # the largest component that LAPACK made real stays real
            plain = strip(v)
            chosen = np.argmax(np.where(plain.imag == 0, np.abs(plain), 0.0), axis=-2)
            real = np.arange(plain.shape[-1])[:, None] == chosen[..., None, :]
            u_bar = u_bar - np.where(real, 1j * np.imag(along) / np.where(real, conj(v), 1.0), 0.0)
        mixing = np.matmul(dagger(v), u_bar)
        demand_pairs("eig", equal, mixing, w_bar, strict or are_watched(*bars))
        inner = over_gaps(mixing, conj(gaps_of(w)), equal) + as_diagonal(w_bar)
        return (_in_basis(v, inner),)

    return made, eig_pullback


@adjoint(np.linalg.eigvals)
def eigvals(a):
    w = np.linalg.eigvals(a)

    def eigvals_pullback(w_bar):
        other, v = _eig_of_simple(a)
        bars = np.take_along_axis(w_bar, places_among(strip(w), strip(other)), -1)
        return (_in_basis(v, as_diagonal(bars)),)

    return w, eigvals_pullback


def _in_basis(v, inner):
    """v^-H inner v^H, the cotangent of a from that of v^-1 da v."""
    plain = strip(v)
    if plain.size:
        bad = np.asarray(np.linalg.cond(plain, 1) > 0.01 / eps_of(plain))[..., None, None]
        v = excused(v, bad, _refuse_defective, inner)
    return np.linalg.solve(dagger(v), np.matmul(inner, dagger(v)))


def _refuse_defective():
    raise DegenerateError(
        "the derivative of eig is undefined here: the matrix has no basis of eigenvectors.",
        "eigenvalues that share an eigenvector move infinitely fast when the matrix changes.",
        "move the matrix away from there, or use a function that does not go through "
        "eigenvalues (np.linalg.matrix_power, np.trace).",
    )
