"""A step of a Runge-Kutta method: taken, with derivatives; and its stages, and cotangents back.

A method is `places`, where the stages are in a step of length 1, and four functions:
``step(make, t, h, y, values)`` is the state behind a step, of dy/dt = make(values)(t, y), and can
be differentiated; ``stages(f, t, h, y)`` are the plain states of the stages, their slopes and the
state behind; ``back(h, jacobians, y_bar)`` takes the transposed Jacobians of the slopes, and gives
what each slope is weighted by in the end, and the cotangent before the step; ``forth(h, jacobians,
slopes_dot, y_dot)`` is the tangent behind a step, of that before it and of what else moves slopes.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from zyg.errors import ConvergenceError
from zyg.functions.kit import is_watched, strip
from zyg.scipy._linalg_systems import lu_solve
from zyg.verbs.implicit import solution
from zyg.verbs.jacobians import jacobian


class Explicit:
    """An explicit method of SciPy's."""

    def __init__(self, method):
        self.places, self._last = method.C, method.B
        self._rows = [row[:i] for i, row in enumerate(method.A)]

    def step(self, make, t, h, y, values):
        f = make(values)
        slopes: list[Any] = []

        def moved(row):
            return sum((slope * (h * a) for slope, a in zip(slopes, row, strict=False) if a), y)

        for c, row in zip(self.places, self._rows, strict=True):
            slopes.append(f(t + c * h, moved(row)))
        return moved(self._last)

    def stages(self, f, t, h, y):
        states, slopes = np.empty((2, len(self.places), y.size))
        for i, (c, row) in enumerate(zip(self.places, self._rows, strict=True)):
            states[i] = y + h * (row @ slopes[:i])
            slopes[i] = f(t + c * h, states[i].copy())
        return states, slopes, y + h * (self._last @ slopes)

    def back(self, h, jacobians, y_bar):
        weights = np.outer(h * self._last, y_bar)
        for i in reversed(range(len(weights))):
            turned = jacobians[i] @ weights[i]
            weights[:i] += np.outer(h * self._rows[i], turned)
            y_bar = y_bar + turned
        return weights, y_bar

    def forth(self, h, jacobians, slopes_dot, y_dot):
        slopes = np.empty_like(slopes_dot)
        for i, row in enumerate(self._rows):
            slopes[i] = slopes_dot[i] + (y_dot + h * (row @ slopes[:i])) @ jacobians[i]
        return y_dot + h * (self._last @ slopes)

    # The same, of values that may be watched

    def turned(self, h, jacobians):
        """By what `back` multiplies y_bar for the weights of each stage, and for the cotangent
        before; of many steps at once.
        """
        before = np.eye(jacobians.shape[-1])
        weights = [h * b * before for b in self._last]
        for i in reversed(range(len(weights))):
            turned = jacobians[:, i] @ weights[i]
            for j in np.flatnonzero(self._rows[i]):
                weights[j] = weights[j] + h * self._rows[i][j] * turned
            before = before + turned
        return weights, before

    def back_from(self, h, jacobians, y_bar, bars):
        """`back`, where the states of the stages have cotangents, too."""
        weights = [h * b * y_bar for b in self._last]
        for i in reversed(range(len(weights))):
            turned = jacobians[i] @ weights[i] + bars[i]
            for j in np.flatnonzero(self._rows[i]):
                weights[j] = weights[j] + h * self._rows[i][j] * turned
            y_bar = y_bar + turned
        return np.stack(weights), y_bar

    def forth_all(self, h, jacobians, slopes_dot, y_dot):
        """The tangents of the states of the stages, and that behind the step."""
        states, slopes = list[Any](), list[Any]()
        for i, row in enumerate(self._rows):
            moved = (h * a * x for a, x in zip(row, slopes, strict=True) if a)
            states.append(sum(moved, y_dot))
            slopes.append(slopes_dot[i] + states[-1] @ jacobians[i])
        ends = (h * b * x for b, x in zip(self._last, slopes, strict=True))
        return states, sum(ends, y_dot)


# Radau IIA of three stages (E. Hairer, G. Wanner, "Solving ordinary differential equations II",
# 1996, table 5.6): where the stages are in a step, and what each takes of the slopes.
_ROOT = 6**0.5
_PLACES = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
_TAKEN = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (3 * _ROOT - 2) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-3 * _ROOT - 2) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)
_CORRECTIONS, _REFRESHED = 20, 5  # by one Jacobian, and Jacobians of a step


class Radau:
    """Radau's implicit method, where a run of it began its steps at `starts`.

    Each step is `known` as the solution in it, a function of the time, and a Jacobian.
    """

    places = _PLACES

    def __init__(self, starts, known):
        self._late = np.sign(starts[-1] - starts[0])
        self._starts, self._known = self._late * starts, known
        self._moves = {}  # of the stages, by the time at which a step begins and its length

    def step(self, make, t, h, y, values):
        ends = (t, h) if is_watched(t) or is_watched(h) else ()  # f may ask for a plain time

        def residual(moves, y, *others):
            (t, h), f = others[: len(ends)] or (time, size), make(others[len(ends) :])
            slopes = [f(t + h * c, y + moves[k]) for k, c in enumerate(_PLACES)]
            return moves - _TAKEN @ np.stack(slopes) * h

        start, time, size, *plain = map(strip, (y, t, h, *values))
        f = make(plain)
        states, _, _ = self.stages(f, time, size, start)

        def solve(turned, bar, levels):
            """A level that watches the Jacobian is exact after a correction."""
            factors = _factors(size, _jacobians(f, time + _PLACES * size, states))
            weights = _solved(factors, bar, 1)
            for _ in range(levels):
                weights = weights + _solved(factors, bar - turned(weights), 1)
            return weights

        return y + solution(lambda: residual, states - start, (y, *ends, *values), solve=solve)[-1]

    def stages(self, f, t, h, y):
        times = t + _PLACES * h
        moves = self._moves.get((t, h)) if h else np.zeros((3, y.size))
        if moves is None:
            k = np.searchsorted(self._starts, self._late * t, side="right") - 1
            moves = self._moves[t, h] = _found(f, times, h, y, *self._known[k])
        return y + moves, _slopes(f, times, y + moves), y + moves[-1]

    def back(self, h, jacobians, y_bar):
        factors = _factors(h, jacobians.transpose(0, 2, 1))
        bars = np.concatenate([np.zeros(2 * y_bar.size), y_bar])
        weights = h * _TAKEN.T @ np.reshape(_solved(factors, bars, 1), (3, -1))
        return weights, y_bar + np.einsum("kij,kj->i", jacobians, weights)

    def forth(self, h, jacobians, slopes_dot, y_dot):
        factors = _factors(h, jacobians.transpose(0, 2, 1))
        return y_dot + _solved(factors, h * _TAKEN @ (slopes_dot + y_dot @ jacobians))[-1]


def _solved(factors, x, transposed=0):
    return np.reshape(lu_solve(factors, np.reshape(x, -1), transposed), np.shape(x))


def _slopes(f, times, states):
    return np.stack([f(time, state.copy()) for time, state in zip(times, states, strict=True)])


def _jacobians(f, times, states):
    ways = zip(times, states, strict=True)
    return np.stack([jacobian(partial(f, time), at, mode="reverse")[0] for time, at in ways])


def _factors(h, jacobians):
    """Of the Jacobian of the equations for the stages of a step."""
    many = 3 * len(jacobians[0])
    blocks = _TAKEN[:, None, :, None] * np.moveaxis(jacobians, 0, 1)
    matrix = np.eye(many) - h * np.reshape(blocks, (many, many))
    return scipy.linalg.lu_factor(matrix, overwrite_a=True, check_finite=False)


def _found(f, times, h, y, known, slopes):
    """What the stages of a step add to y, by Newton's method."""
    moves = known(times).T - y
    factors, small = _factors(h, np.stack([slopes] * 3)), 1e-13 * np.max(np.abs([y, *moves]))
    for _ in range(_REFRESHED):
        size = np.inf
        for _ in range(_CORRECTIONS):
            move = _solved(factors, moves - h * _TAKEN @ _slopes(f, times, y + moves))
            if not np.max(np.abs(move)) < size:  # rounding, or a Jacobian that is not near
                break
            moves, size = moves - move, np.max(np.abs(move))
            if size <= small:
                return moves
        if size <= 1e4 * small:
            return moves
        factors = _factors(h, _jacobians(f, times, y + moves))
    raise ConvergenceError(
        "the stages of an implicit step of these differential equations were not found.",
        "they are stiff, and the derivative is that of steps of Radau's method, whose equations "
        f"Newton's method did not solve: the last correction was {size:.3g}.",
        "lower rtol and atol, and look for jumps in the equations.",
    )
