"""Equations, determinants and Cholesky factors, for machine code.

Small matrices are eliminated in loops, which have their own derivatives; large ones are LAPACK's,
with the formulas of the rules.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import (
    by_lapack,
    closed,
    dagger,
    demand,
    demand_read,
    is_complex,
    lies_like,
    lowering,
    routine,
    slopes_hold,
)
from zyg.functions.primitives.decompositions import cholesky_cotangent
from zyg.functions.primitives.factors import (
    as_given,
    cholesky_of,
    det_of,
    in_double,
    inv_bars,
    inv_of,
    slogdet_of,
    solve_of,
    stacked_like,
)
from zyg.functions.primitives.linalg import equation_cotangent
from zyg.functions.primitives.places import stack_of


def eliminated(a, b):
    """Gauss's elimination with pivots, in place: a becomes triangular; the sign of the order."""
    n = len(a)
    demand(np.all(np.isfinite(a)))  # of others LAPACK's NaN are elsewhere
    sign = 1.0
    for k in range(n):
        p = k
        best = abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > best:
                best = abs(a[i, k])
                p = i
        if p != k:
            sign = -sign
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
            for j in range(b.shape[1]):
                t = b[k, j]
                b[k, j] = b[p, j]
                b[p, j] = t
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k] if best != 0 else 0.0
            for j in range(k + 1, n):
                a[i, j] -= f * a[k, j]
            for j in range(b.shape[1]):
                b[i, j] -= f * b[k, j]
    return sign


def is_lower(a):
    """Whether all above the diagonal is 0."""
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i, j] != 0:
                return False
    return True


def large_solve_bars(a, b, y, y_bar):
    x, factors, pivots = y
    b_bar = solved_again(a, factors, pivots, y_bar[0])
    return equation_cotangent(b_bar, dagger(x)), b_bar


@closed(large_solve_bars)
def large_solve(a, b):
    """The solution, and what LAPACK leaves: factors, by columns, and pivots, 0 for a triangle."""
    demand(np.all(np.isfinite(a)))
    n, f, x = len(a), a.T.copy(), b.copy("F")
    pivots = np.zeros(n, int)
    if is_lower(a):
        demand(routine("solve lower", n, x.shape[1], f, x))
    elif is_lower(a.T):
        demand(routine("solve upper", n, x.shape[1], f, x))
    else:
        demand(routine("solve", n, x.shape[1], f, x, pivots))
    return x.copy(), f, pivots


def large_solution(a, b):
    return large_solve(a, b)[0]


def solved_again_bars(a, factors, pivots, b, y, y_bar):
    b_bar = large_solution(a, y_bar)
    return equation_cotangent(y, dagger(b_bar)), np.zeros(factors.shape), b_bar


@closed(solved_again_bars)
def solved_again(a, factors, pivots, b):
    """The solution for the transpose of a, of which there are factors."""
    if pivots[0] == 0:
        return large_solution(a.T, b)
    x = b.copy("F")
    demand(routine("solve again", len(a), x.shape[1], factors, x, pivots))
    return x.copy()


def solved(a, b):
    """The solution for the columns of a matrix."""
    demand(a.shape[0] == a.shape[1])
    demand(a.shape[0] == b.shape[0])
    n = len(a)
    if by_lapack(n):
        return large_solution(a, b)
    u = np.array(a, float)
    x = np.empty(b.shape)
    x[...] = b
    eliminated(u, x)
    for i in range(n - 1, -1, -1):
        demand(u[i, i] != 0)
        for j in range(i + 1, n):
            for k in range(x.shape[1]):
                x[i, k] -= u[i, j] * x[j, k]
        for k in range(x.shape[1]):
            x[i, k] /= u[i, i]
    return x


def by_loop(a, b):
    """The solution for matrices of any type, and as many of another as NumPy makes of them."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = complex if is_complex(a) or is_complex(b) else float
    left = np.broadcast_to(a, (*stack, *a.shape[-2:])).astype(wide)
    right = np.broadcast_to(b, (*stack, *b.shape[-2:])).astype(wide)
    return lies_like(solve_of(left, right), a[..., :1, :1] + b[..., :1, :1])


@lowering(np.linalg.solve)
def solve_loops(a, b):
    if a.dtype == np.float32 and b.dtype == np.float32:
        return as_given(np.linalg.solve(in_double(a), in_double(b)), a)
    if is_complex(a) or is_complex(b) or a.ndim < b.ndim:
        if b.ndim == 1:
            return np.linalg.solve(a, b[:, None])[..., 0]
        demand(a.shape[-2] == a.shape[-1] == b.shape[-2])
        return by_loop(a, b)
    if a.ndim > 2:
        if b.ndim == 1:
            return np.linalg.solve(a, b[:, None])[..., 0]
        demand(a.shape[-2] == a.shape[-1] == b.shape[-2])  # of no matrices, too
        rows = stack_of(a, 2)
        made = np.empty((len(rows), *b.shape[-2:]))
        shape = (*a.shape[:-2], *b.shape[-2:])
        sides = stack_of(np.broadcast_to(b, shape), 2)
        for i in range(len(rows)):
            made[i] = solved(rows[i], sides[i])
        return lies_like(made.reshape(shape), a[..., :1, :1] + b[..., :1, :1])
    if b.ndim == 1:
        return solved(a, b[:, None])[:, 0]
    return solved(a, b)


@closed(inv_bars)
def inverted(a):
    return solved(a, np.eye(len(a)))


@lowering(np.linalg.inv)
def inv_loops(a):
    if a.dtype == np.float32:
        return as_given(np.linalg.inv(in_double(a)), a)
    if a.ndim == 2 and not is_complex(a):
        return inverted(a)
    demand(a.shape[-2] == a.shape[-1])
    if is_complex(a):
        return stacked_like(inv_of(a), a)
    rows = stack_of(a, 2)
    made = np.empty(rows.shape)
    for i in range(len(rows)):
        made[i] = inverted(rows[i])
    return stacked_like(made.reshape(a.shape), a)


def factored_bars(a, y, y_bar):
    _, _, factors, pivots = y
    return (y_bar[1] * solved_again(a, factors, pivots, np.eye(len(a))),)


@closed(factored_bars)
def factored_slogdet(a):
    f, pivots = a.T.copy(), np.empty(len(a), int)
    sign, total = routine("slogdet", len(a), f, pivots)
    return sign, total, f, pivots


def large_slogdet(a):
    sign, total, _, _ = factored_slogdet(a)
    slopes_hold(sign != 0)
    return sign, total


@lowering(np.linalg.slogdet)
def slogdet_loops(a):
    if a.dtype == np.float32:
        sign, total = np.linalg.slogdet(in_double(a))
        return SLOGDET(as_given(sign, a), as_given(total, a))
    demand(a.shape[-2] == a.shape[-1])
    if a.ndim > 2 or is_complex(a):
        made = slogdet_of(stack_of(in_double(a), 2))
        slopes_hold(np.all(np.isfinite(a)))
        slopes_hold(np.all(np.isfinite(made[1])))
        if a.ndim == 2:
            return SLOGDET(made[0][0], made[1][0])
        return SLOGDET(*[stacked_like(x.reshape(a.shape[:-2]), a) for x in made])
    if by_lapack(len(a)):
        return SLOGDET(*large_slogdet(a))
    u = np.array(a, float)
    sign = eliminated(u, np.zeros((len(u), 0))) * np.float64(1.0)
    total = np.float64(0.0)
    for i in range(len(u)):
        slopes_hold(u[i, i] != 0)
        sign = sign * np.sign(u[i, i])
        total = total + np.log(abs(u[i, i]))
    return SLOGDET(sign, total)


def determinant(a):
    demand(a.shape[0] == a.shape[1])
    if by_lapack(len(a)):
        sign, total = large_slogdet(a)
        return sign * np.exp(total)
    u = np.array(a, float)
    d = eliminated(u, np.zeros((len(u), 0))) * np.float64(1.0)
    for i in range(len(u)):
        if i + 1 < len(u):
            slopes_hold(u[i, i] != 0)
        d = d * u[i, i]
    return d


@lowering(np.linalg.det)
def det_loops(a):
    if a.dtype == np.float32:
        return as_given(np.linalg.det(in_double(a)), a)
    if a.ndim == 2 and not is_complex(a):
        return determinant(a)
    demand(a.shape[-2] == a.shape[-1])
    rows = stack_of(a, 2)
    if is_complex(a):
        made = det_of(rows)
        slopes_hold(np.all(np.isfinite(a)))
    else:
        made = np.empty(len(rows))
        for i in range(len(rows)):
            made[i] = determinant(rows[i])
    return made[0] if a.ndim == 2 else stacked_like(made.reshape(a.shape[:-2]), a)


def large_cholesky_bars(a, y, y_bar):
    return (cholesky_cotangent(y, y_bar, False, large_solution),)


@closed(large_cholesky_bars)
def large_cholesky(a):
    u = a.copy("F")
    demand(routine("cholesky", len(a), u))
    return np.tril(u).copy()


@lowering(np.linalg.cholesky)
def cholesky_loops(a, upper=False):
    demand_read(a.ndim > 1)
    demand(a.shape[-2] == a.shape[-1])
    if a.dtype == np.float32:
        return as_given(np.linalg.cholesky(in_double(a), upper=upper), a)
    if a.ndim > 2 or upper or is_complex(a):
        return stacked_like(cholesky_of(in_double(a), "up" if upper else "lo"), a)
    n = len(a)
    demand(np.all(np.isfinite(a)))
    if by_lapack(n):
        return large_cholesky(a)
    m = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s = s - m[i, k] * m[j, k]
            m[i, j] = s / m[j, j]
        d = a[i, i]
        for k in range(i):
            d = d - m[i, k] * m[i, k]
        demand(d > 0)
        m[i, i] = np.sqrt(d)
    return m


SLOGDET: Any = type(np.linalg.slogdet(np.eye(1)))
