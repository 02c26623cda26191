"""Linear problems with inequalities, differentiated by the constraints that hold at the solution.

A. V. Fiacco, "Introduction to sensitivity and stability analysis in nonlinear programming" (1983).
"""

import numpy as np

from zyg.errors import AdjointError, unknown_call
from zyg.functions.kit import as_array, strip, with_value
from zyg.scipy._closures import plain, refuse
from zyg.scipy._estimates import Estimate
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import by_names, real_and_wide

_NEAR = 1e-4  # how near SciPy's solution is to that of the equations that hold there
_ROUNDING = 1e-9


def _real(x):
    return real_and_wide(x.toarray() if hasattr(x, "toarray") else x)


def _as_solved(name, formula, x):
    """`x`, with the derivative of a formula that gives it."""
    distance = np.max(np.abs(strip(formula) - x), initial=0.0)
    if not distance <= _NEAR * max(1.0, np.max(np.abs(x), initial=0.0)):
        why = "the constraints that hold at its solution do not give it"
        raise unknown_call(name, why, "")
    return with_value(formula, (x,))


@by_names(scipy.optimize.lsq_linear)
def lsq_linear(A, b, bounds, **options):
    """By the normal equations of what the bounds do not hold."""
    name = "scipy.optimize.lsq_linear"
    found = scipy.optimize.lsq_linear(*plain((A, b, bounds)), **plain(options))
    if isinstance(A, scipy.sparse.linalg.LinearOperator):
        refuse(name, "a LinearOperator", "its rule needs the matrix.")
    a, b = np.atleast_2d(_real(A)), np.atleast_1d(_real(b))
    ends = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    low, high = (np.broadcast_to(as_array(end), np.shape(found.x)) for end in ends)
    held_at = _held_at(name, strip(a), strip(b), strip(low), strip(high))
    below, above = held_at < 0, held_at > 0
    free = held_at == 0
    if np.linalg.matrix_rank(strip(a)[:, free]) < np.sum(free):
        raise unknown_call(name, "more than one vector is a solution", "")
    held = np.where(below, low, np.where(above, high, 0.0))
    part = np.linalg.lstsq(a[:, free], b - np.matmul(a, held))[0]
    places = np.eye(len(held))[:, free]
    found.optimality = Estimate(found.optimality, name, "compute with x")
    found.x = x = _as_solved(name, held + np.matmul(places, part), found.x)
    rest = np.matmul(a, x) - b
    found.fun = with_value(rest, (found.fun,))
    found.cost = with_value(0.5 * np.sum(rest * rest), (found.cost,))
    alone = np.linalg.lstsq(a, b, rcond=-1)[0]
    found.unbounded_sol = with_value(alone, (found.unbounded_sol[0],)), *found.unbounded_sol[1:]
    return found


def _held_at(name, *problem):
    """Which bounds hold the solution: -1 is the lower, 1 the upper; a search may end beside one."""
    a, b, low, high = problem
    exact = scipy.optimize.lsq_linear(a, b, (low, high), method="bvls")
    if not exact.success:
        raise unknown_call(name, "it is not clear which bounds hold its solution", "")
    return exact.active_mask


def _bounds_of(bounds, n):
    """The lowest and the highest values of each of n unknowns."""
    if bounds is None or np.size(plain(bounds)) == 0:
        bounds = 0.0, None
    if np.ndim(plain(bounds[0])) == 0:
        bounds = [bounds]
    rows = [*bounds] * (n if len(bounds) == 1 else 1)
    ends = []
    for end, none in zip(zip(*rows, strict=True), (-np.inf, np.inf), strict=True):
        values = np.stack([none if v is None else _real(v) for v in end])
        ends.append(np.where(np.isnan(strip(values)), none, values))
    return ends


def _rows_of(a, b, n):
    """Coefficients and right-hand sides, of none if there are no such constraints."""
    if a is None:
        return np.zeros((0, n)), np.zeros(0)
    return np.reshape(_real(a), (-1, n)), np.reshape(_real(b), -1)


class _Vertex:
    """The constraints that hold at the vertex x: as many equations as unknowns."""

    def __init__(self, x, equal, below, bounds):
        (a_eq, b_eq), (a_ub, b_ub), (low, high) = equal, below, bounds
        unit = np.eye(len(x))
        fixed = strip(low) == strip(high)
        self.masks = [
            np.ones(len(strip(b_eq)), bool),
            _touches(strip(b_ub), strip(a_ub) @ x),
            _touches(x, strip(low)),
            _touches(strip(high), x) & ~fixed,
        ]
        rows, sides = (a_eq, a_ub, unit, unit), (b_eq, b_ub, low, high)
        self._matrix = np.concatenate([r[m] for r, m in zip(rows, self.masks, strict=True)])
        self._side = np.concatenate([s[m] for s, m in zip(sides, self.masks, strict=True)])
        both = zip(self.masks, (True, False, fixed, False), strict=True)
        self._free = np.concatenate([(m & either)[m] for m, either in both])  # of either sign
        plain_matrix = strip(self._matrix)
        square = len(plain_matrix) == len(x)
        if not square or np.linalg.cond(plain_matrix) > 1 / _ROUNDING:
            held = f"{len(plain_matrix)} constraints hold there, of {len(x)} unknowns."
            raise _no_vertex(held, "leave out constraints that others imply")

    def place(self):
        return np.linalg.solve(self._matrix, self._side)

    def weights(self, c):
        """How the minimum moves with each right-hand side: for each kind of constraint."""
        y = np.linalg.solve(np.transpose(self._matrix), c)
        parts, first = [], 0
        for mask in self.masks:
            count = np.sum(mask)
            parts.append(np.matmul(np.eye(len(mask))[:, mask], y[first : first + count]))
            first += count
        least = _ROUNDING * np.max(np.abs(strip(c)), initial=0.0)
        if np.any((np.abs(strip(y)) <= least) & ~self._free):
            why = "a constraint holds there that has no part in the minimum, which may jump."
            raise _no_vertex(why, "change the costs a little")
        return parts


def _touches(high, low):
    distance = high - low
    return np.isfinite(distance) & (distance <= _ROUNDING * np.maximum(1.0, np.abs(low)))


def _no_vertex(why, fix):
    return AdjointError(
        "the solution of scipy.optimize.linprog has no derivative: its vertex is degenerate.",
        why,
        f"{fix}, or use zyg.stop_gradient of the result.",
    )


@by_names(scipy.optimize.linprog)
def linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, integrality, **options):
    """By the equations of the vertex; the marginals by those of its transpose."""
    name = "scipy.optimize.linprog"
    if integrality is not None and np.any(integrality):
        refuse(name, "integrality", "whole numbers jump.")
    given = plain((c, A_ub, b_ub, A_eq, b_eq, bounds))
    found = scipy.optimize.linprog(*given, **plain(options))
    if found.x is None:
        return found
    if found.status:
        raise unknown_call(name, f"it found no solution: {found.message}", "")
    c = np.reshape(_real(c), -1)
    n = len(found.x)
    (a_eq, b_eq), (a_ub, b_ub) = equal, below = _rows_of(A_eq, b_eq, n), _rows_of(A_ub, b_ub, n)
    low, high = ends = _bounds_of(bounds, n)
    vertex = _Vertex(found.x, equal, below, ends)
    weights = vertex.weights(c)
    found.x = x = _as_solved(name, vertex.place(), found.x)
    found.fun = with_value(np.sum(c * x), (found.fun,))
    rests = [b_eq - np.matmul(a_eq, x), b_ub - np.matmul(a_ub, x), x - low, high - x]
    for kind, rest in zip(("con", "slack"), rests, strict=False):
        found[kind] = with_value(rest, (found[kind],))
    for kind, rest, weight in zip(_KINDS, rests, weights, strict=True):
        if kind in found:
            part = found[kind]
            part.residual = with_value(rest, (part.residual,))
            part.marginals = with_value(weight, (part.marginals,))
    return found


_KINDS = ("eqlin", "ineqlin", "lower", "upper")
