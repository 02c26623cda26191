"""A step of a Runge-Kutta method: taken, with derivatives; and its stages, and cotangents back.

A method is `places`, where the stages are in a step of length 1, and three functions:
``step(make, t, h, y, values)`` is the state behind a step, of dy/dt = make(values)(t, y), and can
be differentiated; ``taken(f, ends, y)`` are all steps between such ends, with plain states and
slopes of their stages; ``turned(h, jacobians)`` takes lengths of steps and the transposed Jacobians
of their slopes, and gives by what the cotangent behind each is multiplied for what each slope is
weighted by in the end, and for the cotangent before.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from zyg.errors import ConvergenceError
from zyg.functions.kit import is_watched, strip
from zyg.scipy._linalg_systems import lu_solve
from zyg.scipy._resolved import linearized, split
from zyg.scipy._theirs import scipy
from zyg.verbs.implicit import solution
from zyg.verbs.jacobians import jacobian


class _InTurn:
    """A method whose steps begin where the one before ends."""

    places: Any
    stages: Any

    def taken(self, f, ends, y):
        """Of each step its length, the place of its end, times, states and slopes of its stages."""
        steps = []
        for (t, _), (end, place) in pairwise(ends):
            states, slopes, y = self.stages(f, t, end - t, y)
            steps.append((end - t, place, t + self.places * (end - t), states, slopes))
        return steps


class Explicit(_InTurn):
    """An explicit method of SciPy's."""

    def __init__(self, method):
        self.places, self._last, self.order = method.C, method.B, method.order
        self._rows = [row[:i] for i, row in enumerate(method.A)]

    @property
    def powers(self):
        """What a step takes of each power of its length and the Jacobian, and of one more."""
        count, powers = len(self.places), []
        matrix = np.array([np.pad(row, (0, count - len(row))) for row in self._rows])
        stages = np.ones(count)
        for _ in range(count + 1):
            powers.append(self._last @ stages)
            stages = matrix @ stages
        return powers

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

    def turned(self, h, jacobians):
        """Of values that may be watched, too."""
        before = np.eye(jacobians.shape[-1])
        weights = [h * b * before for b in self._last]
        for i in reversed(range(len(weights))):
            turned = jacobians[:, i] @ weights[i]
            for j in np.flatnonzero(self._rows[i]):
                weights[j] = weights[j] + h * self._rows[i][j] * turned
            before = before + turned
        return np.stack(weights, axis=1), before

    def back_from(self, h, jacobians, y_bar, bars):
        """The weights of a step, and the cotangent before; states of stages have some, too."""
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


def _radau(count):
    """Radau IIA of so many stages: where they are in a step, and what each takes of the slopes (E.
    Hairer, G. Wanner, "Solving ordinary differential equations II", 1996, IV.5).
    """
    ends = np.polynomial.legendre.legroots([0.0] * (count - 1) + [1.0, -1.0])
    places, powers = (1 + np.real(ends)) / 2, np.arange(count)
    places[-1] = 1.0
    taken = places[:, None] ** (powers + 1) / (powers + 1)
    return places, taken @ np.linalg.inv(places[:, None] ** powers)


_PLACES, _TAKEN = _radau(3)
_CORRECTIONS, _REFRESHED = 20, 5  # by one Jacobian, and Jacobians of a step
_SMALL, _ROUNDED = 1e-13, 1e4  # of their size: corrections, and times as many where they stay


class Radau(_InTurn):
    """Radau's implicit method, where a run of it began its steps at `starts`.

    Each step is `known` as the solution in it, a function of the time, and a Jacobian.
    """

    places = _PLACES

    def __init__(self, starts, known):
        self._late = np.sign(starts[-1] - starts[0])
        self._starts, self._solutions = self._late * starts, [x for x, _ in known]
        self.equations = linearized(_TAKEN, [x for _, x in known])
        self._moves = {}  # of the stages, by the time at which a step begins and its length

    def _near(self, t, h):
        """The solution near a step that begins at t, and its equations by one Jacobian."""
        k = np.searchsorted(self._starts, self._late * t, side="right") - 1
        k = min(k, len(self._solutions) - 1)
        return self._solutions[k], self.equations(h, k)

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
            if size and not levels and not is_watched(bar):
                _, near = self._near(time, size)
                first = near.solved(bar, 1)
                small = _SMALL * np.max(np.abs(first))
                weights, rest = _corrected(first, lambda w: near.solved(turned(w) - bar, 1), small)
                if rest <= _ROUNDED * small:
                    return weights
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
            moves = self._moves[t, h] = _found(f, times, h, y, *self._near(t, h))
        return y + moves, slopes_at(f, times, y + moves), y + moves[-1]

    def turned(self, h, jacobians):
        return _turned(_TAKEN, h, jacobians)


def _turned(taken, h, jacobians):
    """By the equations of all stages of a step, which are solved for every step at once."""
    steps, stages, many = jacobians.shape[:3]
    blocks = taken.T[:, None, :, None] * jacobians[:, :, :, None, :] * h[..., None, None]
    matrix = np.eye(stages * many) - np.reshape(blocks, (steps, stages * many, -1))
    ends = np.eye(stages * many)[:, -many:]
    found = np.linalg.solve(matrix, np.broadcast_to(ends, (steps, *ends.shape)))
    found = np.reshape(found, (steps, stages, many, many))
    weights = h[..., None] * np.einsum("ji,kjab->kiab", taken, found)
    return weights, np.eye(many) + np.sum(jacobians @ weights, axis=1)


class Followed:
    """The variational equation along a solution of known states, by Radau's method."""

    places, _taken = _radau(5)

    def __init__(self, ends, states):
        """In each step at its beginning, and at the stages."""
        last = np.broadcast_to(states[-1:, -1:], (1, *states.shape[1:]))
        self._states = dict(zip(ends.tolist(), [*states, *last], strict=True))

    def taken(self, f, ends, y):
        steps = []
        for (t, _), (end, place) in pairwise(ends):
            known, times = self._states[t], t + self.places * (end - t)
            states = known[1:] if end != t else np.broadcast_to(known[:1], known[1:].shape)
            steps.append((end - t, place, times, states, slopes_at(f, times, states)))
        return steps

    def turned(self, h, jacobians):
        return _turned(self._taken, h, jacobians)


def _solved(factors, x, transposed=0):
    return np.reshape(lu_solve(factors, np.reshape(x, -1), transposed), np.shape(x))


def slopes_at(f, times, states):
    return np.stack([f(time, state.copy()) for time, state in zip(times, states, strict=True)])


def _corrected(x, correction, small):
    """x, corrected until that is small, or rounding, or does not get smaller; and the last size."""
    size = np.inf
    for _ in range(_CORRECTIONS):
        move = correction(x)
        if not np.max(np.abs(move)) < size:
            break
        x, size = x - move, np.max(np.abs(move))
        if size <= small:
            break
    return x, size


def _jacobians(f, times, states):
    ways = zip(times, states, strict=True)
    return np.stack([jacobian(partial(f, time), at, mode="reverse")[0] for time, at in ways])


def _factors(h, jacobians):
    """Of the Jacobian of the equations for the stages of a step."""
    many = 3 * len(jacobians[0])
    blocks = _TAKEN[:, None, :, None] * np.moveaxis(jacobians, 0, 1)
    matrix = np.eye(many) - h * np.reshape(blocks, (many, many))
    return scipy.linalg.lu_factor(matrix, overwrite_a=True, check_finite=False)


def _found(f, times, h, y, known, equations):
    """What the stages of a step add to y, by Newton's method."""
    moves = known(times).T - y
    small, solved = _SMALL * np.max(np.abs([y, *moves])), equations.solved

    def correction(moves):
        return solved(moves - h * _TAKEN @ slopes_at(f, times, y + moves))

    for _ in range(_REFRESHED):
        moves, size = _corrected(moves, correction, small)
        if size <= _ROUNDED * small:
            return moves
        solved = partial(_solved, _factors(h, _jacobians(f, times, y + moves)))
    raise ConvergenceError(
        "the stages of an implicit step of these differential equations were not found.",
        "they are stiff, and the derivative is that of steps of Radau's method, whose equations "
        f"Newton's method did not solve: the last correction was {size:.3g}.",
        "lower rtol and atol, and look for jumps in the equations.",
    )


_ROUNDS = 4  # how often rough steps are made smaller
_WELL = "Integration successful."
_SHARPER, _SHARPEST = 0.01, 1e-12  # than its tolerances are those by which it is followed


def followed(f, y0, ends, times, most, rtol=1e-3, atol=1e-6, max_step=np.inf, first_step=None):
    """The ends of steps, these or parts of them, in which LSODA's solution is smooth, and its
    states where each begins and at the stages of `Followed`; None if there are none.
    """
    late, ends = np.sign(times[-1] - times[0]), np.unique([*ends, *times])
    rtol, atol = np.maximum(_SHARPER * np.asarray(rtol), _SHARPEST), _SHARPER * np.asarray(atol)
    places = np.concatenate([[0.0], Followed.places])
    last = np.linalg.inv(np.polynomial.legendre.legvander(2 * places - 1, len(places) - 1))[-1]
    options = {"rtol": rtol, "atol": atol, "mxstep": most, "tfirst": True, "full_output": True}
    options["hmax"] = 0.0 if np.isinf(max_step) else max_step
    for _ in range(_ROUNDS if late else 0):
        ends = np.sort(ends)[:: int(late)]
        lengths = np.diff(ends)[:, None]
        at = ends[:-1, None] + places * lengths
        at[:, -1] = ends[1:]
        try:  # f may not be defined where this run looks
            with np.errstate(all="ignore"):
                rows, said = scipy.integrate.odeint(f, y0, np.ravel(at), **options)
        except (ArithmeticError, ValueError):
            return None
        if said["message"] != _WELL:
            return None
        states = np.reshape(rows, (len(lengths), len(places), -1))
        rough = np.abs(last @ states) / (np.sqrt(rtol) * np.max(np.abs(states), axis=1) + atol)
        parts = np.maximum(np.ceil(np.max(rough, axis=1) ** (1 / len(Followed.places))), 1)
        if np.all(parts == 1):
            return ends, states
        ends = split(ends, parts)
    return None
