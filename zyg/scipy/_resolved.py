"""Steps that are short enough for derivatives, too.

A solver's steps are as long as its solution allows. What is at rest there, as a pendulum that
hangs, allows steps of any length; a derivative moves it, as fast as the Jacobian says.
"""

import math
from itertools import pairwise

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from zyg.errors import ConvergenceError
from zyg.functions.kit import remembered

_APART = 1e-6  # of the states' size: how far a disturbance is
_FAST, _GONE = 2.0, -3.0  # a step times a rate; what has decayed at its end to 5 %
_SAFE, _TINY = 0.5, 1e-150
_GROWN = 5.0  # times as long as the step before: it has no error
_MOST = 20_000  # steps
_KEPT = 8  # equations
_LOOSE = 1.0  # times rtol: how exact a disturbance is


def split(ends, parts):
    """The ends of steps, each of which is cut into so many parts."""
    cut = [
        np.linspace(a, b, int(n), endpoint=False)
        for a, b, n in zip(ends, ends[1:], parts, strict=False)
    ]
    return np.concatenate([*cut, ends[-1:]])


def by_disturbances(f, ends, states, method, rtol=1e-3, atol=1e-6, all_long=False):
    """The ends of an explicit method's steps, where it meets these states, short enough.

    All are looked at, or, unless they are known to be long, the longest of those that are much
    longer than the one before, which had no error.
    """
    lengths, states = np.abs(np.diff(ends)), np.asarray(states, float)
    if not len(lengths):
        return ends
    before = np.append(lengths[:1] if len(lengths) > 1 else 0.0, lengths[:-1])
    grown = all_long | (lengths > _GROWN * before)
    longest = np.argmax(lengths * grown)
    size = max(np.max(atol), _APART**2 * np.max(np.abs(states), initial=0.0), _TINY)
    exact = 2 * _exact(method, rtol)
    rates = np.zeros(len(lengths))
    first = _rate(f, ends[longest], states[longest], size) if grown.any() else 0.0
    if all_long or lengths[longest] * first > exact:
        rates[:] = [_rate(f, t, y, size) for t, y in zip(ends[:-1], states, strict=False)]
        rates *= lengths * rates > np.where(grown, exact, method.stable)
    return _split(ends, rates, method, rtol)


def _rate(f, t, y, least):
    """How fast a disturbance moves."""
    size = _APART * max(np.max(np.abs(y)), least)
    way, rates = np.cos(np.arange(y.size) + 1.0), []
    try:
        start = f(t, y.copy())
        for _ in range(2):
            way = (f(t, y + size * way / np.linalg.norm(way)) - start) / size
            rates.append(np.linalg.norm(way) or _TINY)
            if not np.isfinite(rates[-1]):
                return 0.0
    except (ArithmeticError, ValueError):
        return 0.0
    return math.sqrt(math.prod(rates))


def _exact(method, rtol):
    """What a step times a rate is, where its error is small."""
    count = method.order + 1
    return min(_SAFE * (math.factorial(count) * np.min(rtol)) ** (1 / count), 1.0)


class Equations:
    """The equations for the stages of a step, x - h taken J x, by one Jacobian: as small ones as it
    is (E. Hairer, G. Wanner, "Solving ordinary differential equations II", 1996, IV.8).
    """

    def __init__(self, modes, h, jacobian):
        eye = np.eye(len(jacobian))
        factors = [lu_factor(eye - h * x[0] * jacobian, check_finite=False) for x in modes]
        self._parts = [*zip(modes, factors, strict=True)]

    def solved(self, x, transposed=0):
        found = np.zeros(x.shape)
        for (value, into, out), factors in self._parts:
            into, out = (out, into) if transposed else (into, out)
            part = np.outer(out, lu_solve(factors, into @ x, transposed, check_finite=False))
            found += 2 * part.real if value.imag else part
        return found


def linearized(taken, jacobians):
    """The equations of a step of a length, of a method of these coefficients, by the Jacobian in a
    place: a function, which keeps the latest.
    """
    values, ways = np.linalg.eig(taken)
    given = zip(values, np.linalg.inv(ways), ways.T, strict=True)
    modes = [x if x[0].imag else [v.real for v in x] for x in given if x[0].imag >= 0]
    known = remembered(_KEPT)(lambda h, k: Equations(modes, h, jacobians[k]))
    places = {id(x): k for k, x in enumerate(jacobians)}
    same = [places[id(x)] for x in jacobians]
    return lambda h, k: known(h, same[k])


def by_variation(ends, size, equations, rtol):
    """Those of an implicit method's steps, or parts of them, in which it finds how a disturbance of
    all states goes on, by the Jacobian of each.
    """
    y = np.cos(np.arange(size) + 1.0)
    allowed, found, largest = _LOOSE * np.min(rtol), [ends[0]], np.abs(y)

    def after(h, y, k):
        return equations(h, k).solved(np.stack([y] * 3))[-1]

    for k, (start, last) in enumerate(pairwise(ends)):
        rest = [(last - start, last)]
        while rest:
            h, end = rest.pop()
            whole, half = (after(x, y, k) for x in (h, h / 2))
            halves = after(h / 2, half, k)
            missed = np.abs(halves - whole)
            least = max(np.linalg.norm(halves), allowed * np.linalg.norm(largest))
            if np.linalg.norm(missed) > allowed * least or np.any(missed > allowed * largest):
                rest += [(h / 2, end), (h / 2, end - h / 2)]
                _demand_few(len(found) + len(rest), len(ends))
            else:
                y, largest = halves, np.maximum(largest, np.abs(halves))
                found.append(end)
    return found


def fastest(lengths, jacobians, stable):
    """In each step the rate of what moves fast, and is not gone behind it or not `stable`; 0 where
    nothing does.
    """
    sizes, rates = np.linalg.norm(jacobians, axis=(1, 2)), np.zeros(len(lengths))
    fast = np.flatnonzero(np.abs(lengths) * sizes > _FAST)
    rates[fast] = _living(lengths[fast], np.linalg.eigvals(jacobians[fast]), stable)
    return rates


def _living(lengths, values, stable):
    """That rate, of eigenvalues."""
    found = values * lengths[:, None]
    lives = found.real > np.maximum(-np.abs(found.imag), _GONE)
    long = (lives & (np.abs(found) > _FAST)) | (np.abs(found) > stable)
    return np.max(np.abs(values), axis=1, where=long, initial=0.0)


def _split(ends, rates, method, rtol):
    parts = np.maximum(np.ceil(np.abs(np.diff(ends)) * rates / _exact(method, rtol)), 1)
    _demand_few(np.sum(parts), len(ends))
    return split(ends, parts)


def _demand_few(count, own):
    if count > max(_MOST, own):
        raise ConvergenceError(
            "the derivative of the solution of these differential equations was not found.",
            "something in them is at rest, and a disturbance moves so fast that it needs "
            f"{count:.0f} steps.",
            "pass max_step, or scale the equations; where it decays, take method='Radau'.",
        )
