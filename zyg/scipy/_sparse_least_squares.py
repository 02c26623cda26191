"""Least squares with sparse matrices: lsqr and lsmr, of what may be watched.

The x of least |b - A x|^2 + d^2 |x - x0|^2 is x0 + y, where y is linear in b - A x0. If A and d do
not move, the cotangent of that is the least squares solution with A^H, by the same solver. Else y
solves the system [[c, A], [A^H, -d^2 / c]] [z, y] = [b - A x0, 0] with any number c, or, of the
shortest y with fewer rows than columns, [[d^2 / c, A], [A^H, -c]].
"""

import numpy as np

from zyg.errors import ConvergenceError, DegenerateError
from zyg.functions.kit import conj, is_watched, strip, with_value
from zyg.scipy._closures import plain
from zyg.scipy._estimates import as_estimates
from zyg.scipy._namespace import rule_for
from zyg.scipy._sparse_rules import Pattern, Sparse, solution
from zyg.scipy._sparse_solvers import (
    demand_near,
    plain_matrix,
    regular_solve,
    system,
    written_for,
)
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import unknown

theirs = scipy.sparse.linalg

_TIGHT = 1e-6  # the largest tolerance for derivatives


def _least(b, operator, run, turned=False):
    return run(operator.H if turned else operator, b)


@rule_for(_least, linear=(0,))
def least(b, operator, run, turned=False):
    """The solution that ``run(operator, b)`` finds, or that with the adjoint of the operator."""

    def least_pullback(y_bar):
        return least(y_bar, operator, run, not turned), None, None, None

    return least(b, operator, run, turned), least_pullback


def _applied(x, operator, turned=False):
    return (operator.H if turned else operator).matvec(x)


@rule_for(_applied, linear=(0,))
def applied(x, operator, turned=False):
    """The product of a plain operator, or of its adjoint, and a vector."""

    def applied_pullback(y_bar):
        return applied(y_bar, operator, not turned), None, None

    return applied(x, operator, turned), applied_pullback


def _exactly(name, a, rest, damp):
    """The least y, by a system of equations."""
    m, n = a.shape
    rows, columns = a.pattern.ends(a.transposed)
    scale = np.max(np.abs(strip(a.data)), initial=0.0) or 1.0
    long, short = np.full(m, 1.0), np.full(n, -1.0)
    ends = [long * scale, short * (damp * damp / scale)]
    if m < n:
        ends = [long * (damp * damp / scale), short * scale]
    own, right = np.arange(m + n), columns + m
    places = np.concatenate([[rows, right], [right, rows], [own, own]], axis=1)
    data = np.concatenate([a.data, conj(a.data), *ends])
    pattern = Pattern(places[0], places[1], (m + n, m + n))
    given = np.concatenate([rest, np.zeros(n)])
    return solution(data, given, pattern, False, regular_solve(lambda: _refuse(name)))[m:]


def _refuse(name):
    raise DegenerateError(
        f"the derivative of {name} is undefined here: the matrix has dependent columns and rows.",
        "the solution jumps when its rank changes.",
        "pass a damp=, or a matrix of full rank.",
    )


def _solver(function, fields):
    """A function whose result is x, a reason to stop, a count, and what it says of them."""
    name = f"scipy.sparse.linalg.{function.__name__}"
    instead = "compute with x, as in np.linalg.norm(b - A @ x)"

    def run(operator, b, damp, options):
        made = function(operator, b, damp, **options)
        if made[1] not in (0, 1, 2, 4, 5):
            raise ConvergenceError(
                f"{name} did not solve the least squares problem: its istop is {made[1]}.",
                "the derivative is that of the solution.",
                "allow more iterations, a larger conlim=, or a damp=.",
            )
        return made

    @written_for(function)
    def solver(A, b, damp, x0, **options):
        if np.ndim(strip(b)) != 1:
            raise unknown(function, "a matrix of right-hand sides", "pass one at a time")
        options, start = plain(options), strip(x0)
        first = run(plain_matrix(A), strip(b), strip(damp), options | {"x0": start})
        if isinstance(A, Sparse) or is_watched(A) or is_watched(damp):
            a = system(function.__name__, A, None)
            rest = b if x0 is None else b - a @ x0
            y = _exactly(name, a, rest, damp)
        else:
            operator = theirs.aslinearoperator(A)
            rest = b if x0 is None else b - applied(x0, operator)
            tight = options | {k: min(options[k], _TIGHT) for k in ("atol", "btol")}
            y = least(rest, operator, lambda op, r: run(op, r, strip(damp), tight)[0])
        demand_near(name, strip(y) + (0.0 if x0 is None else start), first[0], "atol= and btol=")
        x = with_value(y if x0 is None else x0 + y, (first[0],))
        said = as_estimates(first[3:fields], name, instead)
        return x, *first[1:3], *said, *first[fields:]

    return solver


@written_for(theirs.lsqr)
def lsqr(calc_var, **options):
    """scipy.sparse.linalg.lsqr, of what may be watched."""
    if calc_var:
        raise unknown(theirs.lsqr, "calc_var=True")
    return _lsqr(**options)


_lsqr = _solver(theirs.lsqr, 9)
LEAST_SQUARES = lsqr, _solver(theirs.lsmr, 8)
