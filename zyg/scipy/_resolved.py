"""Steps that are short enough for derivatives, too.

A solver's steps are as long as its solution allows. What is at rest there, as a pendulum that
hangs, allows steps of any length; a derivative moves it, as fast as the Jacobian says. So a
disturbance goes along the steps, and those in which it is not found well are cut.
"""

import math
from itertools import pairwise

import numpy as np

from zyg.errors import ConvergenceError
from zyg.functions.kit import remembered
from zyg.scipy._theirs import scipy

_APART, _TINY = 1e-6, 1e-150  # of the states' size: how far a disturbance is
_ALWAYS = 0.1  # of what is allowed
MOST = 20_000  # steps
_GROWN = 5.0  # times as long as the step before: it has no error
_FAINT = 0.1  # of what is allowed: powers that need not be known
_KEPT = 8  # equations


def split(ends, parts):
    """The ends of steps, each of which is cut into so many parts."""
    cut = [
        np.linspace(a, b, int(n), endpoint=False)
        for a, b, n in zip(ends, ends[1:], parts, strict=False)
    ]
    return np.concatenate([*cut, ends[-1:]])


class Equations:
    """The equations for the stages of a step, x - h taken J x, by one Jacobian: as small ones as it
    is (E. Hairer, G. Wanner, "Solving ordinary differential equations II", 1996, IV.8).
    """

    def __init__(self, modes, h, jacobian):
        eye, factor = np.eye(len(jacobian)), scipy.linalg.lu_factor
        factors = [factor(eye - h * x[0] * jacobian, check_finite=False) for x in modes]
        self._parts = [*zip(modes, factors, strict=True)]

    def solved(self, x, transposed=0):
        found, solve = np.zeros(x.shape), scipy.linalg.lu_solve
        for (value, into, out), factors in self._parts:
            into, out = (out, into) if transposed else (into, out)
            part = np.outer(out, solve(factors, into @ x, transposed, check_finite=False))
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


class Disturbance:
    """A disturbance of all states that goes along steps, rough enough to show all speeds.

    One that is much smaller than what is `allowed` is there always, to show what is not stable.
    """

    def __init__(self, size, allowed):
        waves = np.cos(np.arange(size) + 1.0)
        self.y = self._way = waves + np.copysign(1.0, waves)
        self._largest, self._allowed = np.abs(self.y), allowed

    def goes(self, rough, exact):
        """Whether these, behind a step, are the same; then it is there."""
        if not np.all(np.abs(exact - rough) <= self._allowed * self._largest):
            return False
        self._largest = np.maximum(self._largest, np.abs(exact))
        self.y = rough + _ALWAYS * self._allowed * self._largest * self._way
        return True


def by_variation(ends, disturbed, after, most=MOST):
    """The ends of steps, or of parts of them, along which it goes.

    What it is at the end of a step, or part, from a time on, of a length, in the step of this
    number: `after` gives this as the method finds it, and better.
    """
    found = [ends[0]]
    for k, (start, last) in enumerate(pairwise(ends)):
        rest = [(last - start, last)]
        while rest:
            h, end = rest.pop()
            if disturbed.goes(*after(found[-1], h, k, disturbed.y)):
                found.append(end)
            else:
                rest += [(h / 2, end), (h / 2, end - h / 2)]
                demand_few(len(found) + len(rest), len(ends), most)
    return found


def by_halves(equations):
    """That of an implicit method, by the Jacobian of each step: in one, and in two halves."""

    def moved(h, k, y):
        return equations(h, k).solved(np.stack([y] * 3))[-1]

    return lambda _, h, k, y: (moved(h, k, y), moved(h / 2, k, moved(h / 2, k, y)))


def by_powers(f, states, method, allowed, atol):
    """That of an explicit method, where each step meets these states: by powers of the Jacobian,
    until they are small.
    """
    least = max(np.max(atol), _APART**2 * np.max(np.abs(states), initial=0.0), _TINY)
    count, powers = method.order + 1, method.powers

    def after(t, h, k, y):
        way, rough, exact, sizes = y, y, y, [np.max(np.abs(y))]
        far = _APART * max(np.max(np.abs(states[k])), least)
        with np.errstate(all="ignore"):  # f may not be defined there
            try:
                start = f(t, states[k].copy())
                for power, of_method in enumerate(powers, 1):
                    moved = f(t, states[k] + far * way / (sizes[-1] or 1.0))
                    way = h * sizes[-1] * (moved - start) / far
                    rough, exact = rough + of_method * way, exact + way / math.factorial(power)
                    sizes.append(np.max(np.abs(way)))
                    ratio = math.sqrt(sizes[-1] / (sizes[-3:][0] or 1.0))
                    if power > 1 and ratio**count < _FAINT * allowed * math.factorial(count):
                        break
            except (ArithmeticError, ValueError):
                return y, y
        return (rough, exact) if np.all(np.isfinite(way)) else (y, y)

    return after


def may_be_long(ends, size, allowed, after):
    """Whether the longest of the steps that are much longer than the one before, which had no
    error, is too long for a disturbance.
    """
    lengths = np.diff(ends)
    if not len(lengths):
        return False
    before = np.append(lengths[:1] if len(lengths) > 1 else 0.0, lengths[:-1])
    longest = np.argmax(np.abs(lengths) * (np.abs(lengths) > _GROWN * np.abs(before)))
    disturbed = Disturbance(size, allowed)
    return not disturbed.goes(*after(ends[longest], lengths[longest], longest, disturbed.y))


def parts_of(method, lengths, jacobians, disturbed):
    """Into how many parts steps with these transposed Jacobians are cut so that it does, or too
    many.
    """
    parts = np.ones(len(lengths), int)

    def by(k, cut):
        """What takes the disturbance along steps k, each in such parts, and in twice as many."""
        same = np.stack([jacobians[k]] * len(method.places), axis=1)
        one, half = (method.turned(lengths[k, None, None] / c, same)[1] for c in (cut, 2 * cut))
        return (np.linalg.matrix_power(*x) for x in ((one, cut), (half, 2 * cut)))

    with np.errstate(all="ignore"):  # what grows without bound is cut
        for k, (whole, halves) in enumerate(zip(*by(slice(None), 1), strict=True)):
            while not disturbed.goes(disturbed.y @ whole, disturbed.y @ halves):
                parts[k] *= 2
                if np.sum(parts) > max(MOST, len(parts)):
                    return parts
                whole, halves = (x[0] for x in by(slice(k, k + 1), parts[k]))
    return parts


def demand_few(count, own, most=MOST):
    if count > max(most, own):
        raise ConvergenceError(
            "the derivative of the solution of these differential equations was not found.",
            "something in them is at rest, and a disturbance moves so fast that it needs "
            f"{count:.0f} steps.",
            "pass max_step, or scale the equations; where it decays, take method='Radau'.",
        )
