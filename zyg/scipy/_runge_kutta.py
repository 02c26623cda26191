"""Runge-Kutta steps, and derivatives along them: those of the solution as it is computed.

The steps are those that the method chooses for plain values, and are held fixed (W. Hager,
"Runge-Kutta methods in optimal control and the transformed adjoint system", 2000): one tape for
each step, and no further equation to solve. Steps end at times that are asked for, too. Those of
an implicit method solve equations, and are differentiated by the implicit function theorem.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg

from zyg.errors import ConvergenceError
from zyg.functions.kit import is_watched, strip
from zyg.scipy import _steps_at_once
from zyg.scipy._linalg_systems import lu_solve
from zyg.verbs.gradients import pullback
from zyg.verbs.implicit import solution
from zyg.verbs.jacobians import jacobian
from zyg.verbs.pushforward import pushforward

EXPLICIT = "RK23", "RK45", "DOP853"


class Steps:
    """The steps for dy/dt = make(values)(t, y) that go through given times.

    ``step(make, t, h, y, values)`` takes one, of this explicit method, if of any.
    """

    def __init__(self, step, nodes, times, method=None):
        late, asked = np.sign(times[-1] - times[0]), {*times}
        ends = [*((t, k) for k, t in enumerate(times)), *((t, None) for t in {*nodes} - asked)]
        self._step, self._ends = step, sorted(ends, key=lambda end: late * end[0])
        self._method = method
        self._times = [k for k, (_, place) in enumerate(self._ends) if place is not None]

    def _all(self, make, times, moving):
        """The steps: the places of their ends among the times; functions of the state, of these
        ends where one of them moves, and of the values; these ends.
        """

        def after(y, t, end, *values):
            return self._step(make, t, end - t, y, values)

        def between(ends, y, *values):
            return after(y, *ends, *values)

        places = [place for _, place in self._ends]
        nodes = [t if place is None else times[place] for t, place in self._ends]
        for at, ends in zip(pairwise(places), pairwise(nodes), strict=True):
            moves = moving and at != (None, None)
            yield at, after if moves else partial(between, ends), ends if moves else ()

    def pull(self, make, y0, times, values, ys_bar, moving):
        """The cotangents of y0, as the start of the others, of the times, if these are `moving`,
        and of the values.
        """
        if not (moving or self._method is None or any(map(is_watched, (y0, ys_bar, *values)))):
            found = _steps_at_once.pull(self._method, make, self._ends, y0, values, ys_bar)
            if found is not None:
                return found[0], [0.0 for _ in times], found[1]
        steps, states = [*self._all(make, times, moving)], [y0]
        for _, after, ends in steps[:-1]:
            states.append(after(states[-1], *ends, *values))
        y_bar, times_bar = np.zeros(np.shape(y0)), [0.0 for _ in times]
        totals = [np.zeros(np.shape(v)) for v in values]
        for (places, after, ends), y in zip(reversed(steps), reversed(states), strict=False):
            if places[1] is not None:
                y_bar = y_bar + ys_bar[places[1]]
            _, back = pullback(after, y, *ends, *values)
            y_bar, *found = back(y_bar, zeros=True)
            for place, bar in zip(places, found[: len(ends)], strict=False):
                if place is not None:
                    times_bar[place] = times_bar[place] + bar
            totals = [x + c for x, c in zip(totals, found[len(ends) :], strict=True)]
        return y_bar, times_bar, totals

    def push(self, make, y0, times, values, y0_dot, times_dot, values_dot):
        """The tangents of the states at the times."""
        rows = [(y0, y0_dot)]
        for places, after, ends in self._all(make, times, times_dot is not None):
            moves = [None if p is None else times_dot[p] for p in places[: len(ends)]]
            y, y_dot = rows[-1]
            rows.append(pushforward(after, (y, *ends, *values), (y_dot, *moves, *values_dot)))
        return [rows[k][1] for k in self._times]


def _explicit(method):
    """A step of an explicit method."""
    stages = [*zip(method.C, map(_nonzero, method.A), strict=True)]
    last = _nonzero(method.B)

    def step(make, t, h, y, values):
        f = make(values)
        slopes: list[Any] = []

        def moved(row):
            return sum((slopes[k] * (h * a) for k, a in row), y)

        for c, row in stages:
            slopes.append(f(t + c * h, moved(row)))
        return moved(last)

    return step


def _nonzero(row):
    return [(k, a) for k, a in enumerate(row) if a]


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


def _implicit(starts, known):
    """A step of Radau's method, where a run of it began its steps at `starts`.

    Each step is `known` as the solution in it, a function of the time, and a Jacobian.
    """
    late = np.sign(starts[-1] - starts[0])
    solved = {}  # by the time at which a step begins, and its length

    def step(make, t, h, y, values):
        def residual(moves, y, t, h, *values):
            f = make(values)
            slopes = [f(t + h * c, y + moves[k]) for k, c in enumerate(_PLACES)]
            return moves - _TAKEN @ np.stack(slopes) * h

        start, time, size, *plain = map(strip, (y, t, h, *values))
        if (time, size) not in solved:
            near, slopes = known[np.searchsorted(late * starts, late * time, side="right") - 1]
            solved[time, size] = _stages(
                make(plain), time + _PLACES * size, size, start, near, slopes
            )
        moves, factors = solved[time, size]

        def solve(turned, bar, levels):
            """A level that watches the Jacobian is exact after a correction."""
            weights = _solved(factors, bar, 1)
            for _ in range(levels):
                weights = weights + _solved(factors, bar - turned(weights), 1)
            return weights

        return y + solution(lambda: residual, moves, (y, t, h, *values), solve=solve)[-1]

    return step


def _solved(factors, x, transposed=0):
    return np.reshape(lu_solve(factors, np.reshape(x, -1), transposed), np.shape(x))


_CORRECTIONS, _REFRESHED = 20, 5  # by one Jacobian, and Jacobians of a step


def _stages(f, times, h, y, known, slopes):
    """What the stages of a step add to y, by Newton's method, and the factors of the Jacobian."""

    def factors(slopes):
        blocks = _TAKEN[:, None, :, None] * np.moveaxis(slopes, 0, 1)
        matrix = np.eye(3 * y.size) - h * np.reshape(blocks, (3 * y.size, -1))
        return scipy.linalg.lu_factor(matrix, overwrite_a=True, check_finite=False)

    def exact(moves):
        ways = zip(times, y + moves, strict=True)
        slopes = [jacobian(partial(f, time), at, mode="reverse")[0] for time, at in ways]
        return factors(np.stack(slopes))

    moves = known(times).T - y
    near, small = factors(np.stack([slopes] * 3)), 1e-13 * np.max(np.abs([y, *moves]))
    for _ in range(_REFRESHED):
        size = np.inf
        for _ in range(_CORRECTIONS):
            found = np.stack([f(time, at) for time, at in zip(times, y + moves, strict=True)])
            move = _solved(near, moves - _TAKEN @ found * h)
            if not np.max(np.abs(move)) < size:  # rounding, or a Jacobian that is not near
                break
            moves, size = moves - move, np.max(np.abs(move))
            if size <= small:
                return moves, exact(moves)
        if size <= 1e4 * small:
            return moves, exact(moves)
        near = exact(moves)
    raise ConvergenceError(
        "the stages of an implicit step of these differential equations were not found.",
        "they are stiff, and the derivative is that of steps of Radau's method, whose equations "
        f"Newton's method did not solve: the last correction was {size:.3g}.",
        "lower rtol and atol, and look for jumps in the equations.",
    )


def steps(f, y0, times, method, most, nodes=None, **options):
    """The steps from the first of the times to the last.

    An explicit method is the one of this name, with steps that end at `nodes`, if these are known.
    For others another one takes its place, while its slopes are at `most` so many: otherwise the
    equations are stiff, and the steps Radau's.
    """
    if method in EXPLICIT:
        chosen = getattr(scipy.integrate, method)
        if nodes is None:
            nodes = _nodes(chosen, f, y0, times, np.inf, options)
        return Steps(_explicit(chosen), _inside(nodes, times), times, chosen)
    chosen = scipy.integrate.DOP853
    try:  # f may not be defined where this method looks
        with np.errstate(all="ignore"):
            nodes = _nodes(chosen, f, y0, times, most, {**options, "first_step": None})
    except (ArithmeticError, ValueError):
        nodes = None
    if nodes:
        return Steps(_explicit(chosen), nodes, times, chosen)
    known: list[Any] = []
    nodes = _nodes(scipy.integrate.Radau, f, y0, times, np.inf, options, known)
    if nodes is None:
        raise ConvergenceError(
            "the derivative of the solution of these differential equations was not found.",
            "they are stiff, and it is that of steps of Radau's method, which failed.",
            "lower rtol and atol, and look for jumps in the equations.",
        )
    return Steps(_implicit(np.array(nodes), known), nodes, times)


def _inside(nodes, times):
    """The nodes between the first of the times and the last."""
    low, high = sorted([times[0], times[-1]])
    return [t for t in nodes if low < t < high]


def _nodes(method, f, y0, times, most, options, known=None):
    """The ends of the steps; None if they are too many, or fail. What is `known` of each, too."""
    nodes = [times[0]]
    if times[-1] != times[0]:
        solver = method(f, times[0], y0, times[-1], **options)
        while solver.status == "running":
            solver.step()
            nodes.append(solver.t)
            if solver.status == "failed" or solver.nfev > most:
                return None
            if known is not None:
                known.append((solver.dense_output(), solver.J))
    return nodes
