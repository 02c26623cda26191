"""Some eigenvalues and singular values of matrices whose elements may be watched.

With A v = w B v and v^H B v = 1, the derivative of one pair solves the system
[[A - w B, B v], [(B v)^H, 0]] [dv, -dw] = [(w dB - dA) v, 0], so no other pair has to be known; but
for the part of dv along v, which is -v^H dB v / 2. J. Magnus, "On differentiating eigenvalues and
eigenvectors" (1985). A singular value is an eigenvalue of [[0, A], [A^H, 0]].

What equal values and phases leave open is as in `zyg.functions.primitives.decompositions`.
"""

from typing import Any, NamedTuple

import numpy as np

from zyg.errors import ConvergenceError, unknown_call
from zyg.functions.kit import conj, dagger, is_complex, is_watched, strip, with_value
from zyg.functions.primitives.decompositions import (
    are_watched,
    demand_no_phase,
    demand_pairs,
    demand_vectors,
    equal_values,
    places_among,
)
from zyg.scipy._closures import plain
from zyg.scipy._namespace import rule_for
from zyg.scipy._sparse_rules import Pattern, Sparse, product, solution, weights
from zyg.scipy._sparse_solvers import plain_matrix, regular_solve, system, written_for
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import unknown

theirs = scipy.sparse.linalg


class _Problem(NamedTuple):
    """The places of the elements of A, and of those of B; whether A is Hermitian."""

    name: str
    pattern: Pattern
    metric: Any
    hermitian: bool

    def applied(self, data, v):
        """B v."""
        return v if self.metric is None else product(data, v, self.metric)

    def even(self, g, v, pattern):
        """The stored elements of g v^H, or of its Hermitian part."""
        if not self.hermitian and pattern is self.pattern:
            return weights(g, v, pattern, False)
        return 0.5 * (weights(g, v, pattern, False) + weights(v, g, pattern, False))

    def refuse(self):
        demand_vectors(self.name, True, True, True)

    def bordered(self, data, metric, w, border):
        """The elements of [[A - w B, border], [border^H, 0]], and their places."""
        n, k = np.shape(border)
        own = np.arange(n)
        parts = [data, np.full(n, -1.0) * w if metric is None else -w * metric]
        rows, columns = (own, own) if metric is None else self.metric.ends(False)
        down, right = np.reshape(np.indices((n, k)), (2, -1))
        parts += [np.ravel(border), np.ravel(conj(border))]
        rows = np.concatenate([self.pattern.rows, rows, down, right + n])
        columns = np.concatenate([self.pattern.columns, columns, right + n, down])
        return np.concatenate(parts), Pattern(rows, columns, (n + k, n + k))

    def multiplier(self, data, metric, w, v, k, group, w_bar, v_bar):
        """Of the equation of pair k, for its cotangents; others of its group do not move."""
        n = len(v)
        border = self.applied(metric, v[:, group])
        size = np.max(np.abs(strip(data)), initial=0.0) or 1.0
        scale = size / np.max(np.abs(strip(border)))
        elements, pattern = self.bordered(data, metric, w[k], border * scale)
        ends = np.where(np.array(group) == k, -w_bar[k] * scale, 0.0)
        given = np.concatenate([v_bar[:, k], ends])
        solve = regular_solve(self.refuse)
        return solution(conj(elements), given, pattern, True, solve)[:n]


def _found(data, metric, problem, found):
    return found


@rule_for(_found)
def pairs(data, metric, problem, found):
    """Eigenvalues and vectors that SciPy has `found`, of a matrix with these elements."""
    w, v = made = pairs(data, metric, problem, found)

    def pairs_pullback(bars):
        w_bar, v_bar = bars
        strict, name = are_watched(w_bar, v_bar), problem.name
        equal, mixing = equal_values(w), np.matmul(dagger(v), v_bar)
        along = np.sum(conj(v) * v_bar, axis=0)
        if problem.hermitian:
            demand_pairs(name, equal, mixing, w_bar, strict or is_watched(w))
        if is_complex(v):
            turns = np.any(np.imag(strip(v)) != 0, axis=0) | is_complex(data) | is_complex(metric)
            demand_no_phase(name, np.where(turns, np.imag(along), 0.0)[None], v_bar)
        columns = []
        for k in range(np.size(w)):
            one, turned = -w_bar[k] * v[:, k], strict or np.any(v_bar[:, k])
            if turned or w_bar[k]:  # refused if there is an equal value that was not found
                group = [*np.flatnonzero(equal[k])] if problem.hermitian else [k]
                made = problem.multiplier(data, metric, w, v, k, group, w_bar, v_bar)
                one = made if turned or not problem.hermitian else one
            columns.append(one)
        g = np.stack(columns, axis=-1)

        def metric_bar():
            own = problem.even(g * conj(w), v, problem.metric)
            return own - 0.5 * weights(v * np.real(along), v, problem.metric, False)

        return problem.even(-g, v, problem.pattern), metric_bar, None, None

    return made, pairs_pullback


def _flat(a):
    """A matrix as one that is not transposed."""
    rows, columns = a.pattern.ends(a.transposed)
    return Sparse(a.data, Pattern(rows, columns, a.shape))


def _derived(name, hermitian, a, b, found):
    """The pairs that were found, with their derivatives."""
    w, v = found
    if not np.size(w):
        return found
    plain_a = a.pattern.matrix(strip(a.data))
    right = v if b is None else b.pattern.matrix(strip(b.data)) @ v
    size = np.max(np.abs(plain_a.data), initial=0.0)
    near = 100 * np.sqrt(np.finfo(v.dtype).eps)
    if not np.max(np.abs(plain_a @ v - right * w), initial=0.0) <= near * size < np.inf:
        raise ConvergenceError(
            f"scipy.sparse.linalg.{name} did not find eigenvectors or singular vectors.",
            "the derivative is that of exact ones.",
            "pass a smaller tol=, a larger maxiter=, or a matrix that is Hermitian if it must be.",
        )
    if not np.allclose(np.sum(np.conj(v) * right, axis=0), 1.0, atol=near):
        why = "these eigenvectors do not have the length 1, as M measures it"
        raise unknown_call(f"scipy.sparse.linalg.{name}", why, "ask for fewer of them")
    metric = None if b is None else b.pattern
    problem = _Problem(name, a.pattern, metric, hermitian)
    return pairs(a.data, None if b is None else b.data, problem, (w, v))


def _among(name, d, found, y):
    """The values `y`, which come without vectors, by those that were found with them."""
    places = places_among(found, y)
    near = np.sqrt(np.finfo(found.dtype).eps)
    if not np.allclose(found[places], y, near, near * np.max(np.abs(y), initial=0.0)):
        why = "with vectors it finds other values; SciPy starts at random"
        raise unknown_call(f"scipy.sparse.linalg.{name}", why, "pass a start: v0=")
    return with_value(d[places], (y,))


def _eigenvalues(function, hermitian):
    name = function.__name__

    @written_for(function)
    def solver(A, M, return_eigenvectors, mode="normal", **options):
        if mode != "normal":
            raise unknown(function, f"mode={mode!r}")
        a, b = (None if x is None else _flat(system(name, x, None)) for x in (A, M))
        metric = None if M is None else plain_matrix(M)
        options = plain(options) | {"M": metric}
        found = function(plain_matrix(A), **options)
        d = _derived(name, hermitian, a, b, found)
        if return_eigenvectors:
            return d
        y = function(plain_matrix(A), return_eigenvectors=False, **options)
        return _among(name, d[0], found[0], y)

    return solver


@written_for(theirs.svds)
def svds(A, return_singular_vectors, **options):
    """scipy.sparse.linalg.svds, of a matrix whose elements may be watched."""
    if isinstance(return_singular_vectors, str):
        option = f"return_singular_vectors={return_singular_vectors!r}"
        raise unknown(theirs.svds, option, "pass True")
    options = {k: v for k, v in plain(options).items() if v is not None}
    u, s, vh = theirs.svds(plain_matrix(A), **options)
    a = _flat(system("svds", A, None))
    rows, columns, m = a.pattern.rows, a.pattern.columns + len(u), len(u)
    size = sum(a.shape)
    places = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    both = Sparse(np.concatenate([a.data, conj(a.data)]), Pattern(*places, (size, size)))
    v = np.concatenate([u, dagger(vh)]) * np.sqrt(s.dtype.type(0.5))
    dw, dv = _derived("svds", True, both, None, (s, v))
    if not return_singular_vectors:
        y = theirs.svds(plain_matrix(A), return_singular_vectors=False, **options)
        return _among("svds", dw, s, y)
    dv = dv * np.sqrt(s.dtype.type(2.0))
    return with_value(dv[:m], (u,)), dw, with_value(dagger(dv[m:]), (vh,))


@written_for(theirs.lobpcg)
def lobpcg(A, X, B, Y, retLambdaHistory, retResidualNormsHistory, **options):
    """scipy.sparse.linalg.lobpcg, of matrices whose elements may be watched."""
    if Y is not None:
        raise unknown(theirs.lobpcg, "Y")
    if retLambdaHistory or retResidualNormsHistory:
        raise unknown(theirs.lobpcg, "what it returns of its steps")
    a, b = (None if x is None else _flat(system("lobpcg", x, None)) for x in (A, B))
    metric = None if B is None else plain_matrix(B)
    found = theirs.lobpcg(plain_matrix(A), strip(X), metric, **plain(options))
    return _derived("lobpcg", True, a, b, found)


EIGENVALUES = _eigenvalues(theirs.eigsh, True), _eigenvalues(theirs.eigs, False), svds, lobpcg
