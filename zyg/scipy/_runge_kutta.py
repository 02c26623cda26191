"""Explicit Runge-Kutta steps, and derivatives along them: those of the solution as it is computed.

The steps are those that the method chooses for plain values, and are held fixed (W. Hager,
"Runge-Kutta methods in optimal control and the transformed adjoint system", 2000): one tape for
each step, and no further equation to solve. Steps end at times that are asked for, too.
"""

from typing import Any

import numpy as np
import scipy.integrate

from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

EXPLICIT = "RK23", "RK45", "DOP853"


class Steps:
    """The steps of a method for dy/dt = make(values)(t, y) that go through given times."""

    def __init__(self, method, nodes, times):
        whole = np.union1d(nodes, times)
        self._nodes = whole if times[0] <= times[-1] else whole[::-1]
        at = {float(t): k for k, t in enumerate(self._nodes)}
        self._times = [at[float(t)] for t in times]
        self._stages = [*zip(method.C, map(_nonzero, method.A), strict=True)]
        self._last = _nonzero(method.B)

    def _all(self, make):
        """The steps, functions of the state and the values."""

        def step(t, h):
            def after(y, *values):
                f = make(values)
                slopes: list[Any] = []

                def moved(row):
                    return sum((slopes[k] * (h * a) for k, a in row), y)

                for c, row in self._stages:
                    slopes.append(f(t + c * h, moved(row)))
                return moved(self._last)

            return after

        return [step(t, h) for t, h in zip(self._nodes, np.diff(self._nodes), strict=False)]

    def pull(self, make, y0, values, ys_bar):
        """The cotangents of y0, as the start of the others, and of the values."""
        after, states = self._all(make), [y0]
        for step in after[:-1]:
            states.append(step(states[-1], *values))
        y_bar, totals = np.zeros(np.shape(y0)), [np.zeros(np.shape(v)) for v in values]
        bars = list(zip(self._times, ys_bar, strict=True))[1:]
        for k in reversed(range(len(after))):
            while bars and bars[-1][0] > k:
                y_bar = y_bar + bars.pop()[1]
            _, back = pullback(after[k], states[k], *values)
            y_bar, *found = back(y_bar, zeros=True)
            totals = [x + c for x, c in zip(totals, found, strict=True)]
        return sum((c for _, c in bars), y_bar), totals

    def push(self, make, y0, values, y0_dot, values_dot):
        """The tangents of the states at the times."""
        rows = [(y0, y0_dot)]
        for step in self._all(make):
            y, y_dot = rows[-1]
            rows.append(pushforward(step, (y, *values), (y_dot, *values_dot)))
        return [rows[k][1] for k in self._times]


def _nonzero(row):
    return [(k, a) for k, a in enumerate(row) if a]


def steps(f, y0, times, method, most, **options):
    """The steps from the first of the times to the last; None if they are too many, or fail.

    An explicit method is the one of this name; for others another one takes its place, of which
    the slopes are at `most` so many.
    """
    if method in EXPLICIT:
        chosen = getattr(scipy.integrate, method)
        nodes = _nodes(chosen, f, y0, times, np.inf, options)
    else:
        chosen, options = scipy.integrate.DOP853, {**options, "first_step": None}
        try:  # f may not be defined where this method looks
            with np.errstate(all="ignore"):
                nodes = _nodes(chosen, f, y0, times, most, options)
        except (ArithmeticError, ValueError):
            return None
    return nodes and Steps(chosen, nodes, times)


def _nodes(method, f, y0, times, most, options):
    """The ends of the steps; None if they are too many, or fail."""
    nodes = [times[0]]
    if times[-1] != times[0]:
        solver = method(f, times[0], y0, times[-1], **options)
        while solver.status == "running":
            solver.step()
            nodes.append(solver.t)
            if solver.status == "failed" or solver.nfev > most:
                return None
    return nodes
