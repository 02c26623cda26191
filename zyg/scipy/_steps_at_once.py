"""Derivatives along explicit steps, where a function takes many states at once.

The states of all stages are known once the steps are taken. Called with them as columns, the
function gives their slopes from one tape, and its Jacobians by as many passes as there are states.
The cotangents then go back along the steps by small products (E. Hairer, C. Lubich, G. Wanner,
"Geometric numerical integration", 2006, VI.6: the same tableau, transposed).
"""

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
    lengths = np.diff([t for t, _ in ends])
    times, states, slopes = _stages(method, make(values), ends, lengths, y0)
    if (taken := _taken_at_once(make, times, states, slopes, values)) is None:
        return None
    by_states, by_values = taken
    units = np.eye(y0.size)[:, :, None] * np.ones(len(times))
    jacobians = np.stack([by_states(unit, zeros=True)[0] for unit in units]).transpose(2, 1, 0)
    weights, y_bar = np.empty_like(states), np.zeros(y0.size)
    for k in reversed(range(len(lengths))):
        if (place := ends[k + 1][1]) is not None:
            y_bar = y_bar + ys_bar[place]
        one = slice(k * len(method.C), (k + 1) * len(method.C))
        y_bar = _step_back(method, lengths[k], jacobians[one], y_bar, weights[one])
    return y_bar, by_values(weights.T, zeros=True)


def _stages(method, f, ends, lengths, y):
    """The times, states and slopes of all stages, a row for each."""
    many, stages = len(lengths) * len(method.C), len(method.C)
    times, states, slopes = np.empty(many), np.empty((many, y.size)), np.empty((many, y.size))
    for k, ((t, _), h) in enumerate(zip(ends, lengths, strict=False)):
        first, found = k * stages, slopes[k * stages : (k + 1) * stages]
        times[first : first + stages] = t + method.C * h
        for i in range(stages):
            states[first + i] = y + h * (method.A[i, :i] @ found[:i])
            found[i] = f(times[first + i], states[first + i].copy())
        y = y + h * (method.B @ found)
    return times, states, slopes


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


def _step_back(method, h, jacobians, y_bar, weights):
    """The cotangent before a step, from that behind it; also the weights of its slopes."""
    turned = np.empty_like(weights)
    for i in reversed(range(len(weights))):
        weights[i] = method.B[i] * y_bar
        if i + 1 < len(weights):
            weights[i] += method.A[i + 1 :, i] @ turned[i + 1 :]
        weights[i] *= h
        turned[i] = jacobians[i] @ weights[i]
    return y_bar + turned.sum(axis=0)
