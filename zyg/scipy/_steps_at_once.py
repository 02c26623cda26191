"""Derivatives along Runge-Kutta steps, where a function takes many states at once.

The states of all stages are known once the steps are taken. Called with them as columns, the
function gives their slopes from one tape, and its Jacobians by as many passes as there are states.
The cotangents then go back along the steps by small products (E. Hairer, C. Lubich, G. Wanner,
"Geometric numerical integration", 2006, VI.6: the same tableau, transposed).
"""

from itertools import pairwise

import numpy as np

from zyg.functions.kit import strip
from zyg.verbs.gradients import pullback

_FEW = 32  # states, whose Jacobians are taken whole
_ROUNDING = 1e-12  # by which a slope may differ, of the largest


def pull(method, make, ends, y0, values, ys_bar):
    """The cotangents of y0 and of the values, all plain; None where many states are not taken.

    `ends` are those of the steps: the time, and the place in `ys_bar`, or None.
    """
    if not 0 < y0.size <= _FEW or len(ends) < 2:
        return None
    f, y, found = make(values), y0, []
    for (t, _), (end, _) in pairwise(ends):
        *stages, y = method.stages(f, t, end - t, y)
        found.append((t + method.places * (end - t), *stages))
    times, states, slopes = map(np.concatenate, zip(*found, strict=True))
    if (taken := _taken_at_once(make, times, states, slopes, values)) is None:
        return None
    by_states, by_values = taken
    units = np.eye(y0.size)[:, :, None] * np.ones(len(times))
    jacobians = np.stack([by_states(unit, zeros=True)[0] for unit in units]).transpose(2, 1, 0)
    y_bar, weights, last = np.zeros(y0.size), [], len(times)
    for (t, _), (end, place) in reversed([*pairwise(ends)]):
        first = last - len(method.places)
        y_bar = y_bar if place is None else y_bar + ys_bar[place]
        one, y_bar = method.back(end - t, jacobians[first:last], y_bar)
        weights.append(one)
        last = first
    return y_bar, by_values(np.concatenate(weights[::-1]).T, zeros=True)


def _taken_at_once(make, times, states, slopes, values):
    """Pullbacks of the slopes of all stages, to the states and to the values."""

    def at_all(states, *values):
        return make(values)(times.copy(), states)

    try:
        value, by_states = pullback(lambda states: at_all(states, *values), states.T.copy())
        _, by_values = pullback(lambda *values: at_all(states.T.copy(), *values), *values)
    except Exception:  # what is wrong with one state is said there
        return None
    if np.shape(value) != slopes.T.shape:
        return None
    near = np.abs(strip(value).T - slopes).max(axis=0) <= _ROUNDING * np.abs(slopes).max(axis=0)
    return (by_states, by_values) if near.all() else None
