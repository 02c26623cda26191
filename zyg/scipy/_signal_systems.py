"""Poles of systems: what remains at them, where zeros are, and the feedback that places them."""

from typing import Any

import numpy as np

from zyg.adoption.copies import copied
from zyg.functions.kit import as_array, is_complex, strip, watched_leaves
from zyg.scipy._closures import plain
from zyg.scipy._estimates import Estimate
from zyg.scipy._own_code import zero_at
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import by_names, unknown, with_formula, written

# Partial fractions


@written(scipy.signal.unique_roots, "p")
def unique_roots(p, tol, rtype):
    """Each group of roots by its mean, or by one of it; the groups are those of the plain roots."""
    p = as_array(p)
    places, used, roots = strip(p), np.zeros(np.size(p), bool), []
    for k in range(np.size(p)):
        if used[k]:
            continue
        group = ~used & (np.abs(places - places[k]) <= tol)
        used |= group
        if rtype in ("avg", "mean"):
            roots.append(np.mean(p[group]))
        else:
            choose = np.max if rtype in ("max", "maximum") else np.min
            roots.append(p[np.flatnonzero(group & (places == choose(places[group])))[0]])
    return np.stack(roots), None


def _fractions(function, b, a, tol, rtype):
    """The residues and the poles; those of a constant `a` go with b alone, and add up."""
    if not watched_leaves(a):
        units = np.eye(len(b), dtype=strip(b).dtype)
        return b @ np.stack([function(unit, a, tol, rtype)[0] for unit in units]), None
    poles = np.roots(np.astype(a, complex) if is_complex(b) else a)
    _, found, _ = function(plain(b), plain(a), tol, rtype)
    if np.any(scipy.signal.unique_roots(found, tol, rtype)[1] > 1):
        option = "the derivative by 'a' where poles are equal, for they part as it moves"
        raise unknown(function, option, "pass zyg.stop_gradient(a)")
    poles = poles[_order(plain(poles), found)]
    apart, itself = poles[:, None] - poles, np.eye(len(poles), dtype=bool)
    slopes = np.prod(np.where(itself, 1.0, apart), axis=1)
    if function is scipy.signal.residue:
        return np.polyval(b, poles) / (a[0] * slopes), poles
    powers = np.polyval(b[::-1], 1 / poles) * poles ** (len(poles) - 1)
    return powers / (a[0] * slopes), poles


def _order(have, wanted):
    """Where the numbers that are wanted are, each in a place of its own."""
    free, places = np.ones(len(have), bool), []
    for number in wanted:
        places.append(np.argmin(np.where(free, np.abs(have - number), np.inf)))
        free[places[-1]] = False
    return np.array(places, int)


@written(scipy.signal.residue, "b", "a")
def residue(b, a, tol, rtype):
    b, a = _coefficients(scipy.signal.residue, 0, b, a)
    return *_fractions(scipy.signal.residue, b, a, tol, rtype), _quotient(b, a)


@written(scipy.signal.residuez, "b", "a")
def residuez(b, a, tol, rtype):
    b, a = _coefficients(scipy.signal.residuez, -1, b, a)
    quotient = _quotient(b[::-1], a[::-1])[::-1]
    return *_fractions(scipy.signal.residuez, b, a, tol, rtype), quotient


def _coefficients(function, end, b, a):
    """As SciPy takes them: without the zeros at an end, which may not be watched."""
    given = {"b": b, "a": a}
    for name in given:
        zero_at(name, end)(function, given)
        c = np.atleast_1d(as_array(given[name]))
        some = np.flatnonzero(strip(c))
        given[name] = c[: some[-1] + 1] if end else c[some[0] :]
    return given.values()


def _quotient(b, a):
    q: list[Any] = []
    for k in range(len(b) - len(a) + 1):
        rest = b[k] - sum(x * a[k - j] for j, x in enumerate(q) if k - j < len(a))
        q.append(rest / a[0])
    return np.stack(q) if q else np.empty(0)


# Systems by their matrices


@written(scipy.signal.ss2zpk, "A", "B", "C", "D")
def ss2zpk(A, B, C, D, input):
    """The zeros of a constant D of 0 are fewer by one: of the numerator without its first place."""
    above, below = copied(scipy.signal.ss2tf)(A, B, C, D, input)
    if not watched_leaves(D) and not np.any(strip(above)[:, 0]):
        above = above[:, 1:]
    return copied(scipy.signal.tf2zpk)(above, below)


@by_names(scipy.signal.place_poles)
def place_poles(A, B, poles, **options):
    given = A, B, poles
    if watched_leaves(options):
        raise unknown(scipy.signal.place_poles, "watched options", "pass plain ones")
    found = scipy.signal.place_poles(*plain(given), **options)
    names = "gain_matrix", "computed_poles", "requested_poles"
    parts = tuple(getattr(found, name) for name in names)

    def formula():
        placed = as_array(poles)[_order(strip(as_array(poles)), found.requested_poles)]
        gain = _gain(as_array(A), as_array(B), placed)
        return gain, *(np.astype(placed, part.dtype) for part in parts[1:])

    parts = with_formula(scipy.signal.place_poles, parts, formula, given)
    vars(found).update(zip(names, parts, strict=True))
    found.X = Estimate(found.X, "scipy.signal.place_poles", "compute with gain_matrix")
    return found


def _gain(A, B, poles):
    """One input has one gain, and as many as there are states that for a matrix with the poles."""
    if np.shape(B)[1] == 1:
        return _gain_of_one_input(A, B, poles)
    if np.linalg.matrix_rank(strip(B)) < len(A):
        option = "several inputs, of whose gains it takes one that an iteration finds good"
        raise unknown(scipy.signal.place_poles, option, "place the poles by one input")
    turns = np.where(strip(np.imag(poles)) < 0, np.imag(poles), 0.0)[:-1]  # a pair's first
    blocks = np.diag(np.real(poles)) + np.diag(turns, -1) - np.diag(turns, 1)
    return np.linalg.pinv(B) @ (A - blocks)


def _gain_of_one_input(A, B, poles):
    """By Ackermann's formula: the last row of what reaches the states, times a polynomial of A."""
    columns, polynomial, one = [B], np.eye(len(A)), np.eye(len(A))
    for pole in poles:
        columns.append(A @ columns[-1])
        polynomial = A @ polynomial - pole * polynomial
    reached = np.concatenate(columns[:-1], axis=1)
    return np.linalg.solve(np.transpose(reached), one[:, -1:]).T @ np.real(polynomial)
