"""Functions of sparse matrices whose elements may be watched: exponentials, powers, norms."""

import numpy as np
import scipy.sparse
import scipy.sparse.linalg as theirs

from zyg.errors import unknown_call
from zyg.functions.kit import is_watched, strip, with_value
from zyg.scipy import linalg
from zyg.scipy._closures import plain
from zyg.scipy._namespace import rule_for
from zyg.scipy._sparse_eigenvalues import svds
from zyg.scipy._sparse_rules import Pattern, Sparse
from zyg.scipy._sparse_solvers import plain_matrix, system, written_for
from zyg.scipy._valued import with_formula


def _dense(a):
    return a.toarray() if isinstance(a, Sparse) or scipy.sparse.issparse(a) else a


def _in_kind(a, y):
    """A dense result as a sparse matrix, of which every element is stored, if `a` is sparse."""
    if isinstance(a, Sparse):
        rows, columns = np.reshape(np.indices(np.shape(y)), (2, -1))
        return Sparse(np.ravel(y), Pattern(rows, columns, np.shape(y)))
    return y


def _by_dense(function, formula):
    """A function of a matrix, whose derivative is that of a formula of the dense one."""

    @written_for(function)
    def of_matrix(A, **options):
        y = _dense(function(plain_matrix(A), **options))
        a = _dense(A)
        return _in_kind(A, with_formula(function, y, lambda: formula(a, **options), (a,)))

    return of_matrix


def _power(a, power):
    return np.linalg.matrix_power(a, power)


@written_for(theirs.norm)
def norm(x, ord, axis):
    """scipy.sparse.linalg.norm, of a matrix with watched elements."""
    if not isinstance(x, Sparse):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    axis = tuple(axis) if isinstance(axis, list) else axis
    if axis is None and ord == 2:
        made = svds(x, k=1, solver="arpack")[1][0]
    else:
        made = np.linalg.norm(x.toarray(), "fro" if ord == "f" else ord, axis)
    y = theirs.norm(plain_matrix(x), ord, axis)
    return with_value(made, (np.asarray(y)[()],))


# exp(A) B


def _action(b, operator, trace, turned=False):
    if turned:
        operator, trace = operator.H, np.conj(trace)
    return theirs.expm_multiply(operator, b, traceA=trace)


@rule_for(_action, linear=(0,))
def action(b, operator, trace, turned=False):
    """exp(A) b, or exp(A^H) b, of a plain operator A with this trace."""

    def action_pullback(y_bar):
        return action(y_bar, operator, trace, not turned), None, None, None

    return action(b, operator, trace, turned), action_pullback


_TERMS = 26  # of the series, where the norm of the matrix is at most 2


def _by_series(a, b):
    """exp(a) b by products: the polynomial that it is but for rounding, at a / steps, steps times.

    A. Al-Mohy, N. Higham, "Computing the action of the matrix exponential" (2011): the mean of the
    diagonal is taken off.
    """
    matrix = plain_matrix(a)
    n = matrix.shape[0]
    shift = matrix.trace() / n
    off = abs(matrix - shift * scipy.sparse.eye_array(n))
    steps = max(1, int(np.ceil(np.max(off.sum(axis=0)) / 2)))
    x, back = b, np.exp(shift / steps)
    for _ in range(steps):
        term, total = x, x
        for k in range(1, _TERMS + 1):
            term = (a @ term - shift * term) / (steps * k)
            total = total + term
        x = total * back
    return x


def _points(start, stop, num, endpoint):
    """The first time, the step to the next ones, and how many there are."""
    num = 50 if num is None else num
    stops = num - 1 if endpoint is None or endpoint else num
    return start, (stop - start) / max(stops, 1), num


@written_for(theirs.expm_multiply)
def expm_multiply(A, B, start, stop, num, endpoint, traceA):
    """scipy.sparse.linalg.expm_multiply, of what may be watched."""
    times = start, stop, num, endpoint
    moving = isinstance(A, Sparse) or is_watched(A) or is_watched(start) or is_watched(stop)
    y = theirs.expm_multiply(plain_matrix(A), strip(B), *plain(times), plain(traceA))
    if moving:
        a = system("expm_multiply", A, B)

        def forth(t, b):
            return _by_series(a * t, b)
    else:
        operator = theirs.aslinearoperator(A)
        trace = A.trace() if traceA is None and hasattr(A, "trace") else traceA

        def forth(t, b):
            return action(b, operator * t, None if trace is None else trace * t)

    if all(t is None for t in times):
        return with_value(forth(1.0, B), (y,))
    if start is None or stop is None:
        why = "its rule takes a start and a stop together"
        raise unknown_call("scipy.sparse.linalg.expm_multiply", why)
    first, step, count = _points(*times)
    xs = [forth(first, B)]
    while len(xs) < count:
        xs.append(forth(step, xs[-1]))
    return with_value(np.stack(xs), (y,))


FUNCTIONS = (
    norm,
    expm_multiply,
    _by_dense(theirs.expm, linalg.expm),
    _by_dense(theirs.inv, np.linalg.inv),
    _by_dense(theirs.matrix_power, _power),
)
