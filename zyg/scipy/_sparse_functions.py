"""Functions of sparse matrices whose elements may be watched: exponentials, powers, norms."""

import numpy as np

from zyg.functions.kit import conj, is_watched, strip
from zyg.scipy import linalg
from zyg.scipy._closures import plain
from zyg.scipy._namespace import rule_for
from zyg.scipy._sparse_eigenvalues import svds
from zyg.scipy._sparse_rules import Pattern, Sparse
from zyg.scipy._sparse_solvers import plain_matrix, system, written_for
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import length_of, with_formula

theirs = scipy.sparse.linalg


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


def _added(x):
    """The same matrix, whose elements in one place are one."""
    places = np.ravel_multi_index(x.pattern.ends(x.transposed), x.shape)
    places, where = np.unique(places, return_inverse=True)
    data = np.zeros_like(x.data, shape=places.shape)
    np.add.at(data, where, x.data)
    rows, columns = np.unravel_index(places, x.shape)
    return Sparse(data, Pattern(rows, columns, x.shape))


def _length(x, ord, axis):
    axis = axis[0] if np.ndim(axis) and len(axis) == 1 else axis
    whole = axis is None or np.ndim(axis)
    if whole and ord == 2:
        return svds(x, k=1, solver="arpack")[1][0]
    x = _added(x.T if np.ndim(axis) and axis[0] in (1, -1) else x)
    if whole and ord in (None, "f", "fro"):
        return np.linalg.norm(x.data)
    if not whole and ord in (None, 2):
        squares = np.real(conj(x.data) * x.data)
        return length_of(Sparse(squares, x.pattern).sum(axis))
    if whole and ord in (1, -1, np.inf, -np.inf):
        sums = Sparse(np.abs(x.data), x.pattern).sum(0 if abs(ord) == 1 else 1)
        return np.max(sums) if ord > 0 else np.min(sums)
    return np.linalg.norm(x.toarray(), ord, None if whole else axis)


@written_for(theirs.norm)
def norm(x, ord, axis):
    """scipy.sparse.linalg.norm, of a matrix with watched elements."""
    if not isinstance(x, Sparse):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    y = theirs.norm(plain_matrix(x), ord, axis)

    return with_formula(theirs.norm, y, lambda: _length(x, ord, axis), (x.data,))


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

    def along():
        if all(t is None for t in times):
            return forth(1.0, B)
        first, step, count = _points(*times)
        xs = [forth(first, B)]
        while len(xs) < count:
            xs.append(forth(step, xs[-1]))
        return np.stack(xs)

    elements = A.data if isinstance(A, Sparse) else A
    return with_formula(theirs.expm_multiply, y, along, (elements, B, *times))


FUNCTIONS = (
    norm,
    expm_multiply,
    _by_dense(theirs.expm, linalg.expm),
    _by_dense(theirs.inv, np.linalg.inv),
    _by_dense(theirs.matrix_power, _power),
)
