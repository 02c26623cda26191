"""Derivatives along Runge-Kutta steps: those of the solution as it is computed.

The steps are those that a method chooses for plain values, and are held fixed (W. Hager,
"Runge-Kutta methods in optimal control and the transformed adjoint system", 2000): one tape for
each step, and no further equation to solve. Steps end at times that are asked for, too. Those of
an implicit method solve equations, and are differentiated by the implicit function theorem.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from zyg.errors import ConvergenceError
from zyg.functions.kit import is_watched, strip
from zyg.scipy import _steps_at_once
from zyg.scipy._resolved import (
    MOST,
    Disturbance,
    by_halves,
    by_powers,
    by_variation,
    demand_few,
    may_be_long,
)
from zyg.scipy._runge_kutta_methods import Explicit, Followed, Radau, followed, slopes_at
from zyg.scipy._theirs import scipy
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

_FINEST = 1e-12  # of tolerances
_LOOSE = 10.0  # times rtol: how much the solver's own steps may miss
_GROWS = 10.0  # times: a derivative in a step
_EVERY = 6  # of LSODA's steps
_EXPLICIT, _IMPLICIT = ("RK23", "RK45", "DOP853"), ("Radau", "BDF")


class Steps:
    """The steps of a method for dy/dt = make(values)(t, y) that go through given times.

    What is not had from all at once has `other` steps, if there are some: where these were too
    long for derivatives of this tolerance, shorter ones, all at once again.
    """

    def __init__(self, method, nodes, times, other=None, at_once=True, allowed=None):
        self._other, self._at_once, self._allowed = other, at_once, allowed
        late, asked = np.sign(times[-1] - times[0]), {*times}
        ends = [*((t, k) for k, t in enumerate(times)), *((t, None) for t in {*nodes} - asked)]
        self._method, self._ends = method, sorted(ends, key=lambda end: late * end[0])
        self._times = [k for k, (_, place) in enumerate(self._ends) if place is not None]

    def _all(self, make, times, moving):
        """The steps: the places of their ends among the times; functions of the state, of these
        ends where one of them moves, and of the values; these ends.
        """

        def after(y, t, end, *values):
            return self._method.step(make, t, end - t, y, values)

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
        found = None
        if not moving and self._at_once and _steps_at_once.few(y0):
            given = self._method, make, self._ends, y0, values, ys_bar, self._allowed
            found = self._pull_at_once(given, (y0, ys_bar, *values))
            if isinstance(found, tuple):
                return found[0], [0.0 for _ in times], found[1]
        if self._at_once and self._other is not None:
            return self._other(found).pull(make, y0, times, values, ys_bar, moving)
        steps, states = [*self._all(make, times, moving)], [y0]
        for _, after, ends in steps[:-1]:
            states.append(after(states[-1], *ends, *values))
        y_bar, times_bar = np.zeros(np.shape(y0)), [0.0 for _ in times]
        totals = [np.zeros(np.shape(v)) for v in values]
        for (places, after, ends), y in zip(reversed(steps), reversed(states), strict=False):
            if places[1] is not None:
                y_bar = y_bar + ys_bar[places[1]]
            _, back = pullback(after, y, *ends, *values)
            size = np.linalg.norm(strip(y_bar))
            y_bar, *found = back(y_bar, zeros=True)
            if self._is_long(size, y_bar):
                return self._other(True).pull(make, y0, times, values, ys_bar, moving)
            for place, bar in zip(places, found[: len(ends)], strict=False):
                if place is not None:
                    times_bar[place] = times_bar[place] + bar
            totals = [x + c for x, c in zip(totals, found[len(ends) :], strict=True)]
        return y_bar, times_bar, totals

    def _pull_at_once(self, given, operands):
        """What is had from all steps at once, watched or not; None where it is not."""
        if not any(map(is_watched, operands)):
            return _steps_at_once.pull(*given)
        explicit = isinstance(self._method, Explicit)
        return _steps_at_once.pull_watched(*given) if explicit else None

    def _is_long(self, before, after):
        """Whether steps may be too long for derivatives: one of these grows in a step."""
        return self._other is not None and np.linalg.norm(strip(after)) > _GROWS * before > 0

    def push(self, make, y0, times, values, y0_dot, times_dot, values_dot):
        """The tangents of the states at the times."""
        given = y0, y0_dot, times, *values, *values_dot
        found, plain = None, times_dot is None and not any(map(is_watched, given))
        if plain and self._at_once and _steps_at_once.few(y0):
            ends = self._method, make, self._ends, y0, values
            found = _steps_at_once.push(*ends, y0_dot, values_dot, self._allowed)
            if isinstance(found, list):
                return [found[k] for k in self._times]
        if self._at_once and self._other is not None:
            steps = self._other(found)
            return steps.push(make, y0, times, values, y0_dot, times_dot, values_dot)
        rows = [(y0, y0_dot)]
        for places, after, ends in self._all(make, times, times_dot is not None):
            moves = [None if p is None else times_dot[p] for p in places[: len(ends)]]
            y, y_dot = rows[-1]
            rows.append(pushforward(after, (y, *ends, *values), (y_dot, *moves, *values_dot)))
            if self._is_long(np.linalg.norm(strip(y_dot)), rows[-1][1]):
                steps = self._other(True)
                return steps.push(make, y0, times, values, y0_dot, times_dot, values_dot)
        return [rows[k][1] for k in self._times]


def steps(f, y0, times, method, most, nodes=None, states=None, check=None, **options):
    """The steps from the first of the times to the last; `check` is given their path.

    Those of an explicit method are its own, between `nodes` with known `states`. LSODA's follow
    its solution, where that is smooth, or are DOP853's, while their slopes are at `most` so many;
    otherwise, as for implicit methods, Radau's.
    """
    rtol = max(np.min(options.get("rtol", 1e-3)), _FINEST)
    if method in _EXPLICIT:
        chosen = Explicit(getattr(scipy.integrate, method))
        return _explicit(chosen, f, nodes, states, times, options, rtol)
    other = partial(_own, f, y0, times, method, most, check, options, rtol)
    if method in _IMPLICIT or not _steps_at_once.few(y0):
        return other(None)

    def follow(ends):
        return followed(f, y0, ends, times, most, **options)

    found = follow(np.unique(_inside(nodes, times))[::_EVERY])
    if found is None:
        return other(None)
    ends, states = found
    if check:
        rows = np.concatenate([states[:, 0], states[-1:, -1]])
        check((ends, rows, slopes_at(f, ends, rows)))

    def shorter(given):
        found = None if given is None else follow(given)
        return Steps(Followed(*found), found[0], times) if found else other(given)

    return Steps(Followed(ends, states), ends, times, shorter, allowed=_LOOSE * rtol)


def _explicit(method, f, nodes, states, times, options, rtol, most=MOST, stiff=None):
    """The steps of an explicit method, or shorter ones; where these are more than `most`, those for
    equations that may be `stiff`.
    """
    allowed = _LOOSE * rtol

    def shorter(given):
        """Steps with these ends; by default shorter ones if some look long, or are (True)."""
        found = nodes if given is None else given
        try:
            if given is None or given is True:
                after = by_powers(f, np.asarray(states), method, allowed, options.get("atol", 1e-6))
                if given or may_be_long(nodes, len(states[0]), allowed, after):
                    found = by_variation(nodes, Disturbance(len(states[0]), allowed), after, most)
            demand_few(len(found), len(nodes), most)
        except ConvergenceError:
            if stiff is None:
                raise
            return stiff(True)
        own = found is nodes
        return Steps(method, _inside(found, times), times, shorter if own else None, not own)

    return Steps(method, _inside(nodes, times), times, shorter, allowed=allowed)


def _own(f, y0, times, method, most, check, options, rtol, given):
    """Steps of DOP853; of Radau, where those are many, or shorter ones are `given`."""
    known: list[Any] = []
    explicit = method not in _IMPLICIT and given is None
    path = _not_stiff(f, y0, times, most, options) if explicit else None
    chosen = Explicit(scipy.integrate.DOP853) if path else None
    path = path or _path(scipy.integrate.Radau, f, y0, times, np.inf, options, known)
    if path is None:
        raise ConvergenceError(
            "the derivative of the solution of these differential equations was not found.",
            "they are stiff, and it is that of steps of Radau's method, which failed.",
            "lower rtol and atol, and look for jumps in the equations.",
        )
    nodes, states, _ = path
    if len(nodes) < 2:
        return Steps(chosen or Radau(np.array(nodes), known), nodes, times)
    if check:
        check(path)
    if chosen:
        stiff = partial(_own, f, y0, times, method, most, check, options, rtol)
        few = most // len(chosen.places)
        return _explicit(chosen, f, nodes, states, times, options, rtol, few, stiff)
    radau, disturbed = Radau(np.array(nodes), known), Disturbance(y0.size, rtol)
    return Steps(radau, by_variation(nodes, disturbed, by_halves(radau.equations)), times)


def _not_stiff(f, y0, times, most, options):
    """The path of an explicit method; None if its steps are too many, or fail."""
    options = {**options, "first_step": None}
    try:  # f may not be defined where this method looks
        with np.errstate(all="ignore"):
            return _path(scipy.integrate.DOP853, f, y0, times, most, options)
    except (ArithmeticError, ValueError):
        return None


def _inside(nodes, times):
    """The nodes between the first of the times and the last."""
    low, high = sorted([times[0], times[-1]])
    return [t for t in nodes if low < t < high]


def _path(method, f, y0, times, most, options, known=None):
    """The ends of the steps, and states and slopes there; None if they are too many, or fail. What
    is `known` of each, too.
    """
    nodes, states, slopes = [times[0]], [y0], []
    if times[-1] != times[0]:
        solver = method(f, times[0], y0, times[-1], **options)
        slopes.append(solver.f)
        while solver.status == "running":
            solver.step()
            nodes.append(solver.t)
            states.append(solver.y)
            slopes.append(solver.f)
            if solver.status == "failed" or solver.nfev > most:
                return None
            if known is not None:
                known.append((solver.dense_output(), solver.J))
    return nodes, states, slopes
