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
_MOST = 2_000_000  # elements of Jacobians at once
_ROUNDING = 1e-12  # by which a slope may differ, of the largest


def pull(method, make, ends, y0, values, ys_bar):
    """The cotangents of y0 and of the values, all plain; None where many states are not taken.

    `ends` are those of the steps: the time, and the place in `ys_bar`, or None.
    """
    if not 0 < y0.size <= _FEW:
        return None
    f, y, steps = make(values), y0, []
    for (t, _), (end, place) in pairwise(ends):
        *stages, y = method.stages(f, t, end - t, y)
        steps.append((end - t, place, t + method.places * (end - t), *stages))
    y_bar, totals = np.zeros(y0.size), [np.zeros(np.shape(v)) for v in values]
    many = max(1, _MOST // (y0.size**2 * len(method.places)))
    for first in reversed(range(0, len(steps), many)):
        part = steps[first : first + many]
        if (taken := _taken_at_once(make, part, values)) is None:
            return None
        jacobians, by_values = taken
        weights = np.empty(jacobians.shape[:3])
        for k, (h, place, *_) in reversed([*enumerate(part)]):
            y_bar = y_bar if place is None else y_bar + ys_bar[place]
            weights[k], y_bar = method.back(h, jacobians[k], y_bar)
        found = by_values(np.reshape(weights, (-1, y0.size)).T, zeros=True)
        totals = [x + c for x, c in zip(totals, found, strict=True)]
    return y_bar, totals


def _taken_at_once(make, steps, values):
    """The transposed Jacobians of the slopes of all stages, and the pullback to the values."""
    times, states, slopes = (np.concatenate([step[k] for step in steps]) for k in (2, 3, 4))

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
    if not near.all():
        return None
    units = np.eye(states.shape[1])[:, :, None] * np.ones(len(times))
    rows = np.stack([by_states(unit, zeros=True)[0] for unit in units])
    shape = len(steps), -1, states.shape[1], states.shape[1]
    return np.reshape(rows.transpose(2, 1, 0), shape), by_values
