"""Derivatives along Runge-Kutta steps, where a function takes many states at once.

The states of all stages are known once the steps are taken. Called with them as columns, the
function gives their slopes from one tape, and its Jacobians by as many passes as there are states.
The cotangents then go back along the steps by small products (E. Hairer, C. Lubich, G. Wanner,
"Geometric numerical integration", 2006, VI.6: the same tableau, transposed), and tangents forth.
"""

from functools import partial
from itertools import pairwise

import numpy as np

from zyg.functions.kit import strip
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

_FEW = 32  # states, whose Jacobians are taken whole
_MOST = 2_000_000  # elements of Jacobians at once
_ROUNDING = 1e-12  # by which a slope may differ, of the largest


def pull(method, make, ends, y0, values, ys_bar):
    """The cotangents of y0 and of the values, all plain; None where many states are not taken.

    `ends` are those of the steps: the time, and the place in `ys_bar`, or None.
    """
    y_bar, totals = np.zeros(y0.size), [np.zeros(np.shape(v)) for v in values]
    for part in reversed(_parts(method, make(values), ends, y0)):
        taken = _taken_at_once(make, part, values, lambda at_all: pullback(at_all, *values)[1])
        if taken is None:
            return None
        jacobians, by_values = taken
        weights = np.empty(jacobians.shape[:3])
        for k, (h, place, *_) in reversed([*enumerate(part)]):
            y_bar = y_bar if place is None else y_bar + ys_bar[place]
            weights[k], y_bar = method.back(h, jacobians[k], y_bar)
        found = by_values(np.reshape(weights, (-1, y0.size)).T, zeros=True)
        totals = [x + c for x, c in zip(totals, found, strict=True)]
    return y_bar, totals


def push(method, make, ends, y0, values, y0_dot, values_dot):
    """The tangents of the states at the ends of all steps; None as `pull` says."""
    rows = [y0_dot]
    for part in _parts(method, make(values), ends, y0):
        taken = _taken_at_once(
            make, part, values, lambda at_all: pushforward(at_all, values, values_dot)[1]
        )
        if taken is None:
            return None
        jacobians, slopes_dot = taken
        slopes_dot = np.reshape(slopes_dot.T, jacobians.shape[:3])
        for (h, *_), jacobian, of_values in zip(part, jacobians, slopes_dot, strict=True):
            rows.append(method.forth(h, jacobian, of_values, rows[-1]))
    return rows


def pull_watched(method, make, ends, y0, values, ys_bar):
    """What `pull` gives, where these are watched and the method is explicit."""
    plain = [strip(v) for v in values]
    parts = _parts(method, make(plain), ends, strip(y0))
    if len(parts) != 1 or _taken_at_once(make, parts[0], plain, partial(_both_ways, plain)) is None:
        return None
    (part,) = parts
    states = _states(method, make, part, y0, values)
    taken = _taken_at_once(make, part, values, lambda at_all: pullback(at_all, *values)[1], states)
    if taken is None:
        return None
    jacobians, by_values = taken
    lengths = np.array([h for h, *_ in part])[:, None, None]
    turned, before = method.turned(lengths, jacobians)
    y_bar, ends_bar = np.zeros(y0.size), []
    for k, (_, place, *_) in reversed([*enumerate(part)]):
        y_bar = y_bar if place is None else y_bar + ys_bar[place]
        ends_bar.append(y_bar)
        y_bar = before[k] @ y_bar
    bars = np.stack(ends_bar[::-1])[:, :, None]
    weights = np.stack([(x @ bars)[:, :, 0] for x in turned], axis=1)
    return y_bar, by_values(np.reshape(weights, (-1, y0.size)).T, zeros=True)


def _both_ways(values, f):
    """What `_states` will ask of a function of the values."""
    return pullback(f, *values), pushforward(f, values, values)


def _states(method, make, part, y0, values):
    """The states of all stages, as a function of the first and of the values: one entry."""
    states = np.concatenate([step[3] for step in part])

    def pull(_, leaves, bars):
        y0, *values = leaves
        jacobians, by_values = _taken_at_once(
            make, part, values, lambda at_all: pullback(at_all, *values)[1], found(leaves)
        )
        bars = np.reshape(bars, jacobians.shape[:3])
        y_bar, weights = np.zeros(np.size(y0)), []
        for k, (h, *_) in reversed([*enumerate(part)]):
            own, y_bar = method.back_from(h, jacobians[k], y_bar, bars[k])
            weights.append(own)
        rows = np.reshape(np.stack(weights[::-1]), (-1, np.size(y0)))
        return np.reshape(y_bar, np.shape(y0)), *by_values(rows.T, zeros=True)

    def push(_, leaves, tangents):
        (y0, *values), (y_dot, *values_dot) = leaves, tangents
        jacobians, slopes_dot = _taken_at_once(
            make, part, values, lambda at_all: pushforward(at_all, values, values_dot)[1],
            found(leaves),
        )  # fmt: skip
        slopes_dot = np.reshape(slopes_dot.T, jacobians.shape[:3])
        y_dot, rows = np.zeros(np.size(y0)) if y_dot is None else y_dot, []
        for (h, *_), jacobian, of_values in zip(part, jacobians, slopes_dot, strict=True):
            own, y_dot = method.forth_all(h, jacobian, of_values, y_dot)
            rows += own
        return np.stack(rows)

    def found(leaves):
        return one_entry("stages", lambda *_: states, pull, leaves, push)

    return found((y0, *values))


def few(y0):
    """Whether there are so few states that Jacobians are taken whole."""
    return 0 < y0.size <= _FEW


def _parts(method, f, ends, y):
    """The steps, in parts whose Jacobians fit the memory.

    A step is its length, the place of its end, and times, states and slopes of its stages.
    """
    steps = []
    for (t, _), (end, place) in pairwise(ends):
        *stages, y = method.stages(f, t, end - t, y)
        steps.append((end - t, place, t + method.places * (end - t), *stages))
    many = max(1, _MOST // (y.size**2 * len(method.places)))
    return [steps[k : k + many] for k in range(0, len(steps), many)]


def _taken_at_once(make, steps, values, by, watched=None):
    """The transposed Jacobians of the slopes of all stages, and what `by` makes of these, as a
    function of the values; at the states as they are `watched`.
    """
    times, states, slopes = (np.concatenate([step[k] for step in steps]) for k in (2, 3, 4))
    states = states if watched is None else watched

    def at_all(states, *values):
        return make(values)(times.copy(), states)

    try:
        value, by_states = pullback(lambda states: at_all(states, *values), states.T.copy())
        by_values = by(lambda *values: at_all(states.T.copy(), *values))
    except Exception:  # what is wrong with one state is said there
        return None
    if np.shape(value) != slopes.T.shape:
        return None
    near = np.abs(strip(value).T - slopes).max(axis=0) <= _ROUNDING * np.abs(slopes).max(axis=0)
    if not near.all():
        return None
    units = np.eye(states.shape[1])[:, :, None] * np.ones(len(times))
    rows = np.stack([by_states(unit, zeros=True)[0] for unit in units])
    if not np.isfinite(strip(rows)).all():
        return None
    shape = len(steps), -1, states.shape[1], states.shape[1]
    return np.reshape(rows.transpose(2, 1, 0), shape), by_values
