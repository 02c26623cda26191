"""Linear systems: with A x = b and lambda = A^-H x_bar, b_bar = lambda and A_bar = -lambda x^H.

M. Giles, "An extended collection of matrix derivative results" (2008). What a function does not
read of a matrix (the other triangle, the corners of a banded storage) has the cotangent 0.
"""

from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import conj, dagger, strip, unbroadcast
from zyg.scipy._namespace import rule_for
from zyg.scipy._theirs import linalg


def used(name, options, *known):
    """The options to pass on; operands are never overwritten, since pullbacks rely on them."""
    for k in options:
        if not k.startswith("overwrite_") and k not in ("check_finite", *known):
            raise unknown_call(f"scipy.linalg.{name}", f"its rule does not know the keyword {k!r}")
    return {k: v for k, v in options.items() if not k.startswith("overwrite_")}


def outer(u, v, b):
    """u v^H, of vectors where the right-hand side `b` is one, else of matrices of columns."""
    if np.ndim(b) == 1:
        return np.expand_dims(u, -1) * np.expand_dims(conj(v), -2)
    return np.matmul(u, dagger(v))


# What is read of a matrix, and the transposes of that: linear maps of matrices


def _completed(a, lower, mirror):
    """The matrix that one triangle stands for."""
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = diagonal_of(a)
    if mirror is dagger:
        diagonal = np.real(diagonal)
    return half + mirror(half) + diagonal


def _folded(g, lower, mirror):
    """The transpose of `_completed`: a cotangent of the whole as one of a triangle."""
    both = g + mirror(g)
    half = np.tril(both, -1) if lower else np.triu(both, 1)
    diagonal = diagonal_of(g)
    return half + (np.real(diagonal) if mirror is dagger else diagonal)


def _identity(a):
    return a


def _banded(a):
    return np.tril(np.triu(a, -1), 1)


def diagonal_of(a):
    """The diagonal of a matrix, the rest of it 0."""
    return np.tril(np.triu(a))


_READS: dict[Any, Any] = {  # assume_a -> what is read of a, and its transpose; each takes `lower`
    **dict.fromkeys((None, "gen", "general", "banded"), (_identity, _identity)),
    **dict.fromkeys(("upper triangular",), (np.triu, np.triu)),
    **dict.fromkeys(("lower triangular",), (np.tril, np.tril)),
    "diagonal": (diagonal_of, diagonal_of),
    "tridiagonal": (_banded, _banded),
}
_MIRRORS = {
    **dict.fromkeys(("sym", "symmetric"), np.matrix_transpose),
    **dict.fromkeys(("her", "hermitian", "pos", "positive definite"), dagger),
}


def reading(assume_a, lower):
    """What is read of a matrix of this kind, and the transpose of that."""
    if assume_a in _MIRRORS:
        mirror = _MIRRORS[assume_a]
        return lambda a: _completed(a, lower, mirror), lambda g: _folded(g, lower, mirror)
    if assume_a not in _READS:
        raise unknown_call("scipy.linalg.solve", f"its rule does not know assume_a={assume_a!r}")
    return _READS[assume_a]


@rule_for(linalg.solve, linear=(1,))
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, **options):
    options = used("solve", options, "assume_a", "transposed")
    x = solve(a, b, lower, **options)
    one = np.size(a) == 1  # by which SciPy divides, whatever it is said to be
    read, read_transposed = reading(None if one else options.get("assume_a"), lower)
    transposed = options.get("transposed", False)

    def solve_pullback(x_bar):
        matrix = read(np.atleast_2d(a))
        matrix = conj(matrix) if transposed else dagger(matrix)
        b_bar = np.linalg.solve(matrix, x_bar)

        def a_bar():
            g = -outer(b_bar, x, np.atleast_1d(b))
            return unbroadcast(
                read_transposed(np.matrix_transpose(g) if transposed else g), np.shape(a)
            )

        return a_bar, lambda: unbroadcast(b_bar, np.shape(b))

    return x, solve_pullback


# A system by its factors, as stored (0), transposed (1), or conjugated and transposed (2)

_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve_adjoint(solver, x_bar, trans):
    """lambda for the system in the form `trans`; ``solver(b, trans)`` solves it in any form."""
    return conj(solver(conj(x_bar), 0)) if trans == 1 else solver(x_bar, 2 - trans)


def matrix_bar(multiplier, x, b, trans):
    """The cotangent of the matrix as stored, of a system in the form `trans`."""
    if trans == 1:
        return -conj(outer(x, multiplier, b))
    return -outer(x, multiplier, b) if trans == 2 else -outer(multiplier, x, b)


@rule_for(linalg.solve_triangular, linear=(1,))
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, **options):
    options = used("solve_triangular", options)
    x = solve_triangular(a, b, trans, lower, unit_diagonal, **options)

    def solver(b, trans):
        return solve_triangular(a, b, trans, lower, unit_diagonal, **options)

    def solve_triangular_pullback(x_bar):
        b_bar = solve_adjoint(solver, x_bar, _TRANS[trans])

        def a_bar():
            g = unbroadcast(matrix_bar(b_bar, x, b, _TRANS[trans]), np.shape(a))
            return np.tril(g, -int(unit_diagonal)) if lower else np.triu(g, int(unit_diagonal))

        return a_bar, lambda: unbroadcast(b_bar, np.shape(b))

    return x, solve_triangular_pullback


@rule_for(linalg.lu_solve, linear=(1,))
def lu_solve(lu_and_piv, b, trans=0, **options):
    options = used("lu_solve", options)
    x = lu_solve(lu_and_piv, b, trans, **options)
    lu, pivots = lu_and_piv

    def solver(b, trans):
        return lu_solve(lu_and_piv, b, trans, **options)

    def lu_solve_pullback(x_bar):
        b_bar = solve_adjoint(solver, x_bar, trans)

        def factors_bar():
            if not np.size(b):  # SciPy asks no more of them
                return np.zeros_like(lu), None
            g = matrix_bar(b_bar, x, b, trans)[permutation(strip(pivots))]
            one = np.eye(np.shape(lu)[-1])
            left, right = np.tril(lu, -1) + one, np.triu(lu)
            lu_bar = np.tril(np.matmul(g, dagger(right)), -1)
            return lu_bar + np.triu(np.matmul(dagger(left), g)), None

        return factors_bar, b_bar

    return x, lu_solve_pullback


def permutation(pivots):
    """The row order that LAPACK's row exchanges end in."""
    order = np.arange(len(pivots))
    for i, k in enumerate(pivots):
        order[[i, k]] = order[[k, i]]
    return order


@rule_for(linalg.cho_solve, linear=(1,))
def cho_solve(c_and_lower, b, **options):
    options = used("cho_solve", options)
    x = cho_solve(c_and_lower, b, **options)
    c, lower = c_and_lower

    def cho_solve_pullback(x_bar):
        b_bar = cho_solve(c_and_lower, x_bar, **options)

        def factor_bar():
            g = -outer(b_bar, x, b)
            g = g + dagger(g)
            if lower:
                return np.tril(np.matmul(g, np.tril(c))), None
            return np.triu(np.matmul(np.triu(c), g)), None

        return factor_bar, b_bar

    return x, cho_solve_pullback


# Banded storage: row r holds the diagonal of the elements (j + r - u, j), in their column j


def _diagonal_bar(multiplier, x, d):
    """-lambda x^H at the elements (j + d, j), in place j; 0 where they leave the matrix."""
    rows = -np.roll(multiplier, -d, axis=0) * conj(x)
    rows = np.sum(rows, axis=-1) if np.ndim(x) == 2 else rows
    place = np.arange(len(x)) + d
    return np.where((place >= 0) & (place < len(x)), rows, 0.0)


@rule_for(linalg.solve_banded, linear=(2,))
def solve_banded(l_and_u, ab, b, **options):
    options = used("solve_banded", options)
    x = solve_banded(l_and_u, ab, b, **options)
    below, above = l_and_u
    offsets = range(-above, below + 1)

    def solve_banded_pullback(x_bar):
        flipped = [np.roll(conj(ab[d + above]), d) for d in reversed(offsets)]
        b_bar = solve_banded((above, below), np.stack(flipped), x_bar, **options)

        def ab_bar():
            return np.stack([_diagonal_bar(b_bar, x, d) for d in offsets])

        return None, ab_bar, b_bar

    return x, solve_banded_pullback


@rule_for(linalg.solveh_banded, linear=(1,))
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, **options):
    options = used("solveh_banded", options)
    x = solveh_banded(ab, b, lower=lower, **options)
    most = len(ab) - 1
    offsets = range(most + 1) if lower else range(-most, 1)

    def solveh_banded_pullback(x_bar):
        b_bar = solveh_banded(ab, x_bar, lower=lower, **options)

        def row_bar(d):
            # The element (j + d, j) stands for its mirror image too, where it is -x lambda^H.
            both = _diagonal_bar(b_bar, x, d) + _diagonal_bar(x, b_bar, d)
            return both if d else 0.5 * np.real(both)

        return (lambda: np.stack([row_bar(d) for d in offsets])), b_bar

    return x, solveh_banded_pullback


# Matrix equations


@rule_for(linalg.solve_sylvester, linear=(2,))
def solve_sylvester(a, b, q):
    x = solve_sylvester(a, b, q)

    def solve_sylvester_pullback(x_bar):
        q_bar = solve_sylvester(dagger(a), dagger(b), x_bar)
        return (
            lambda: -np.matmul(q_bar, dagger(x)),
            lambda: -np.matmul(dagger(x), q_bar),
            q_bar,
        )

    return x, solve_sylvester_pullback


@rule_for(linalg.solve_continuous_lyapunov, linear=(1,))
def solve_continuous_lyapunov(a, q):
    x = solve_continuous_lyapunov(a, q)

    def solve_continuous_lyapunov_pullback(x_bar):
        q_bar = solve_continuous_lyapunov(dagger(a), x_bar)

        def a_bar():
            return -np.matmul(q_bar, dagger(x)) - np.matmul(dagger(q_bar), x)

        return a_bar, q_bar

    return x, solve_continuous_lyapunov_pullback


@rule_for(linalg.solve_discrete_lyapunov, linear=(1,))
def solve_discrete_lyapunov(a, q, method=None):
    x = solve_discrete_lyapunov(a, q, method)

    def solve_discrete_lyapunov_pullback(x_bar):
        q_bar = solve_discrete_lyapunov(dagger(a), x_bar, method)

        def a_bar():
            forth = np.matmul(np.matmul(q_bar, a), dagger(x))
            return forth + np.matmul(np.matmul(dagger(q_bar), a), x)

        return a_bar, q_bar

    return x, solve_discrete_lyapunov_pullback


def _riccati(scipys, discrete):
    """X of the algebraic Riccati equation, by the closed loop C = a - b k: where mu solves the
    equation of Lyapunov for C and x_bar, the equation's own slope times mu is the cotangent.
    """

    def riccati(a, b, q, r, e=None, s=None, balanced=True):
        if e is not None:
            why = "its rule knows the equation without e only"
            raise unknown_call(f"scipy.linalg.{scipys.__name__}", why)
        x = rule(a, b, q, r, None, s, balanced)

        def riccati_pullback(x_bar):
            xb = np.matmul(x, b)
            left = np.matmul(dagger(xb), a) if discrete else dagger(xb)
            metric = r + np.matmul(dagger(b), xb) if discrete else r
            gain = np.linalg.solve(metric, left if s is None else left + dagger(s))
            closed = a - np.matmul(b, gain)
            even = 0.5 * (x_bar + dagger(x_bar))
            if discrete:
                mu = solve_discrete_lyapunov(closed, even)
                moved = np.matmul(x, np.matmul(closed, mu))
            else:
                mu = solve_continuous_lyapunov(closed, -even)
                moved = np.matmul(x, mu)
            through = np.matmul(mu, dagger(gain))
            return (
                2 * moved,
                lambda: -2 * np.matmul(moved, dagger(gain)),
                mu,
                lambda: np.matmul(gain, through),
                None,
                lambda: -2 * through,
                None,
            )

        return x, riccati_pullback

    rule = rule_for(scipys)(riccati)


_riccati(linalg.solve_continuous_are, False)
_riccati(linalg.solve_discrete_are, True)
