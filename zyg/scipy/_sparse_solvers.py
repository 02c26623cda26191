"""Solvers of systems with sparse matrices, of which elements and right-hand sides may be watched.

The derivative is that of the solution: the cotangent of the right-hand side solves the system with
the transposed matrix, by the same solver, and that of an element is a product of two numbers.
"""

import functools

import numpy as np

from zyg.errors import ConvergenceError, unknown_call
from zyg.functions.kit import (
    conj,
    holds_nothing_watched,
    is_watched,
    strip,
    watched_leaves,
    with_value,
)
from zyg.scipy._closures import plain
from zyg.scipy._sparse_rules import Pattern, Sparse, solution, sparse
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import arguments_of, still

theirs = scipy.sparse.linalg


def is_moving(a, b):
    """Whether one is watched, and no buffer to which nothing watched was written."""
    watched = [x for x in (a, b) if is_watched(x)]
    return isinstance(a, Sparse) or not all(map(holds_nothing_watched, watched))


def written_for(function):
    """Register what stands for a function of SciPy's where something is watched.

    It takes all arguments by their names.
    """

    def register(rule):
        @functools.wraps(function)
        def call(*args, **kwargs):
            given = arguments_of(function, args, kwargs)
            sparse_ones = any(isinstance(v, Sparse) for v in given.values())
            if not sparse_ones and not watched_leaves(tuple(given.values())):
                return function(*args, **kwargs)
            return rule(**given)

        return call

    return register


def system(name, a, b):
    """A matrix of any kind, as one whose elements may be watched."""
    if scipy.sparse.issparse(b) or isinstance(b, Sparse):
        why = "its rule takes a dense right-hand side"
        raise unknown_call(f"scipy.sparse.linalg.{name}", why, "pass b.toarray()")
    if isinstance(a, theirs.LinearOperator) or callable(a):
        raise unknown_call(f"scipy.sparse.linalg.{name}", "its rule takes a matrix with elements")
    if isinstance(a, Sparse) or scipy.sparse.issparse(a):
        return sparse(a)
    rows, columns = np.reshape(np.indices(np.shape(a)), (2, -1))
    return Sparse(np.ravel(a), Pattern(rows, columns, np.shape(a)))


def plain_matrix(a):
    """A matrix with the plain values of its elements."""
    if not isinstance(a, Sparse):
        return plain(a)
    matrix = a.pattern.matrix(strip(a.data))
    return (matrix.T if a.transposed else matrix).tocsc()


def regular_solve(refuse):
    """What solves a system by factors; ``refuse()`` where its matrix is singular up to rounding."""

    def solve(matrix, b, transposed):
        dtype = np.result_type(matrix.dtype, b.dtype)
        size = np.max(np.abs(matrix.data), initial=0.0)
        try:
            factors = theirs.splu(matrix.astype(dtype).tocsc())
        except RuntimeError:  # exactly singular
            refuse()
        probe = np.random.default_rng(0).normal(size=len(b)).astype(dtype)
        for turn in "NH":  # its length comes near to that of the inverse
            probe = factors.solve(probe / np.linalg.norm(probe), turn)
        if not np.linalg.norm(probe) * 8 * len(b) * np.finfo(dtype).eps * size < 1:
            refuse()
        return factors.solve(b.astype(dtype))

    return solve


def spsolve(A, b, permc_spec=None, use_umfpack=True):
    """scipy.sparse.linalg.spsolve, of a matrix and a right-hand side that may be watched."""
    if not is_moving(A, b):
        return theirs.spsolve(strip(A), strip(b), permc_spec, use_umfpack)

    def solve(matrix, b, transposed):
        return theirs.spsolve(matrix, b)

    a, b = system("spsolve", A, b), np.ravel(b) if np.shape(b)[1:] == (1,) else b
    return solution(a.data, b, a.pattern, a.transposed, solve)


def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False,
                       unit_diagonal=False):  # fmt: skip
    """scipy.sparse.linalg.spsolve_triangular, of what may be watched."""
    if not is_moving(A, b):
        a, b = strip(A), strip(b)
        return theirs.spsolve_triangular(a, b, lower, overwrite_A, overwrite_b, unit_diagonal)
    if unit_diagonal:
        raise unknown_call("scipy.sparse.linalg.spsolve_triangular", "its rule reads the diagonal")
    a = system("spsolve_triangular", A, b)
    rows, columns = a.pattern.ends(a.transposed)
    if np.any(rows < columns if lower else rows > columns):
        why = "elements of the other triangle, with which SciPy's value solves no system"
        raise unknown_call(
            "scipy.sparse.linalg.spsolve_triangular", f"it has {why}", "leave them out"
        )

    def solve(matrix, b, transposed):
        is_lower = bool(lower) == (transposed == a.transposed)
        return theirs.spsolve_triangular(matrix.tocsr(), b, is_lower)

    return solution(a.data, b, a.pattern, a.transposed, solve)


class Factored:
    """SciPy's factors of a matrix, whose systems may have watched right-hand sides."""

    def __init__(self, factors, matrix):
        self._factors, self._matrix = factors, sparse(matrix)

    def solve(self, rhs, trans="N"):
        """The solution of ``A x = rhs``, or of that with A's transpose "T" or adjoint "H"."""
        data, rows = self._matrix.data, self._matrix.pattern
        if not is_watched(rhs) and not is_watched(data):
            return self._factors.solve(rhs, trans)
        if trans == "T":
            return conj(self.solve(conj(rhs), "H"))

        def solve(matrix, b, transposed):
            return self._factors.solve(b, "H" if transposed != self._matrix.transposed else "N")

        turned = (trans == "H") != self._matrix.transposed
        return solution(data if trans == "N" else conj(data), rhs, rows, turned, solve)

    def __getattr__(self, name):
        if name.startswith("_"):  # asked for by copies of it, while they have nothing
            raise AttributeError(name)
        return getattr(self._factors, name)


def splu(A, *args, **options):
    """scipy.sparse.linalg.splu, of a matrix with elements that may be watched."""
    return Factored(theirs.splu(plain_matrix(A), *args, **options), A)


def spilu(A, *args, **options):
    """scipy.sparse.linalg.spilu, whose systems may have watched right-hand sides."""
    if isinstance(A, Sparse) and is_watched(A.data):
        why = "what it gives is not the solution, and has no derivative by the elements"
        raise unknown_call("scipy.sparse.linalg.spilu", why)
    return Factored(theirs.spilu(A, *args, **options), A)


def factorized(A):
    """scipy.sparse.linalg.factorized: a function that solves systems."""
    return Factored(theirs.splu(scipy.sparse.csc_array(plain_matrix(A))), A).solve


def _iterative(function):
    """A solver that goes on until the rest is small enough."""

    @functools.wraps(function, ("__name__", "__qualname__", "__doc__"))
    def solver(A, b, x0=None, **options):
        if not is_moving(A, b):
            return function(strip(A), strip(b), strip(x0), **options)
        name = function.__name__
        if np.ndim(b) != 1:
            raise unknown_call(f"scipy.sparse.linalg.{name}", "its rule takes one right-hand side")
        a = system(name, A, b)
        for option in options.keys() - {"callback"}:
            options[option] = still(function, option, options[option])
        x, info = function(plain_matrix(A), strip(b), strip(x0), **options)
        _demand_solved(name, info)
        others = {k: v for k, v in options.items() if k not in _NOT_TURNED} | _tight(options, b)

        def solve(matrix, b, transposed):
            found, info = function(
                matrix, b, **others, **_before(options, transposed != a.transposed)
            )
            _demand_solved(name, info)
            return found.copy()  # of zeros it is b itself

        exact = solution(a.data, b, a.pattern, a.transposed, solve)
        demand_near(f"scipy.sparse.linalg.{name}", strip(exact), x, "rtol= and atol=")
        return with_value(exact, (x.copy(),)), info

    return solver


_NOT_TURNED = "callback", "M", "M1", "M2", "rtol", "atol"
_NEAR = 1e-2  # how near to the solution a solver has to come, of its size
_TIGHT = 1e-5  # the largest tolerance for derivatives


def _tight(options, b):
    """The tolerance of a system whose right-hand side, a cotangent perhaps, has any size."""
    size = np.linalg.norm(strip(b)) or 1.0
    return {"rtol": min(max(options.get("rtol", _TIGHT), options.get("atol", 0.0) / size), _TIGHT)}


def demand_near(name, x, found, tolerances):
    """Refuse what a solver has `found` where it is not near to the solution x."""
    if not np.linalg.norm(found - x) <= _NEAR * np.linalg.norm(x):
        raise ConvergenceError(
            f"{name} has ended far from the solution.",
            "the derivative is that of the solution.",
            f"pass smaller {tolerances}.",
        )


def _before(options, turned):
    """What a system is multiplied by, or its transpose."""
    m = options.get("M")
    if m is None:
        return {}
    return {"M": theirs.aslinearoperator(m).H if turned else m}


def _demand_solved(name, info):
    if info:
        raise ConvergenceError(
            f"scipy.sparse.linalg.{name} did not solve the system: its info is {info}.",
            "the derivative is that of the solution.",
            "allow more iterations (maxiter=), a larger rtol=, or a preconditioner (M=).",
        )


SOLVERS = (
    spsolve, spsolve_triangular,
    *map(_iterative, (theirs.bicg, theirs.bicgstab, theirs.cg, theirs.cgs, theirs.gcrotmk,
                      theirs.gmres, theirs.lgmres, theirs.minres, theirs.qmr, theirs.tfqmr)),
)  # fmt: skip
