"""Derivatives along Runge-Kutta steps, where a function takes many states at once.

The states of all stages are known once the steps are taken. Called with them as columns, the
function gives their slopes from one tape, and its Jacobians by as many passes as there are states.
The cotangents then go back along the steps by small products (E. Hairer, C. Lubich, G. Wanner,
"Geometric numerical integration", 2006, VI.6: the same tableau, transposed), and tangents forth.
"""

from functools import partial

import numpy as np

from zyg.functions.kit import at_once, strip
from zyg.scipy._resolved import Disturbance, parts_of, split
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.gradients import pullback
from zyg.verbs.pushforward import pushforward

_FEW = 32  # states, whose Jacobians are taken whole
_MOST = 2_000_000  # elements of Jacobians at once
_MOVED, _SAME = 1e-3, 1e-8  # of states; slopes by both ways
_ROUNDING = 1e-12  # by which a slope may differ, of the largest


def pull(method, make, ends, y0, values, ys_bar, allowed):
    """The cotangents of y0 and of the values, all plain; None where many states are not taken, and
    where steps are too long for what a disturbance is `allowed` to miss, the ends of others.

    `ends` are those of the steps: the time, and the place in `ys_bar`, or None.
    """
    parts = _parts(method, make(values), ends, y0)

    def taken(part):
        return _taken_at_once(make, part, values, lambda at_all: pullback(at_all, *values)[1])

    known, cut = None, _Cut(method, y0.size, allowed)
    for part in parts if allowed else ():
        known = taken(part)  # of the last in the end
        if known is None:
            return None
        cut.see(part, known)
    if cut.into_more():
        return cut.ends(ends)
    y_bar, totals = np.zeros(y0.size), [np.zeros(np.shape(v)) for v in values]
    for part in reversed(parts):
        known = known or taken(part)
        if known is None:
            return None
        y_bar, found = _pulled(method, part, known, y_bar, ys_bar)
        totals, known = [x + c for x, c in zip(totals, found, strict=True)], None
    return y_bar, totals


def _pulled(method, part, taken, y_bar, ys_bar):
    """The cotangent before some steps, of that behind them, and those of the values."""
    jacobians, by_values = taken
    turned, before = method.turned(_lengths(part)[:, None, None], jacobians)
    bars = []
    for k, (_, place, *_) in reversed([*enumerate(part)]):
        y_bar = y_bar if place is None else y_bar + ys_bar[place]
        bars.append(y_bar)
        y_bar = before[k] @ y_bar
    weights = turned @ np.stack(bars[::-1])[:, None, :, None]
    return y_bar, by_values(np.reshape(weights, (-1, np.size(y_bar))).T, zeros=True)


def _lengths(part):
    return np.array([h for h, *_ in part])


class _Cut:
    """Steps that are looked at in turn, and cut where a disturbance misses more than allowed."""

    def __init__(self, method, size, allowed):
        self._method, self._parts = method, list[int]()
        self._disturbed = Disturbance(size, allowed) if allowed else None

    def see(self, steps, taken):
        if self._disturbed:
            jacobians = strip(taken[0][:, 0])
            self._parts.extend(parts_of(self._method, _lengths(steps), jacobians, self._disturbed))

    def into_more(self):
        return max(self._parts, default=1) > 1

    def ends(self, ends):
        return split(np.array([t for t, _ in ends]), self._parts)


def push(method, make, ends, y0, values, y0_dot, values_dot, allowed):
    """The tangents of the states at the ends of all steps; None as `pull` says."""
    rows, cut = [y0_dot], _Cut(method, y0.size, allowed)
    for part in _parts(method, make(values), ends, y0):
        taken = _taken_at_once(
            make, part, values, lambda at_all: pushforward(at_all, values, values_dot)[1]
        )
        if taken is None:
            return None
        cut.see(part, taken)
        jacobians, slopes_dot = taken
        turned, before = method.turned(_lengths(part)[:, None, None], jacobians)
        slopes_dot = np.reshape(slopes_dot.T, (*jacobians.shape[:3], 1))
        added = np.sum(np.swapaxes(turned, -1, -2) @ slopes_dot, axis=1)[..., 0]
        for matrix, more in zip(before, added, strict=True):
            rows.append(rows[-1] @ matrix + more)
    return cut.ends(ends) if cut.into_more() else rows


def pull_watched(method, make, ends, y0, values, ys_bar, allowed):
    """What `pull` gives, where these are watched and the method is explicit."""
    plain = [strip(v) for v in values]
    parts = _parts(method, make(plain), ends, strip(y0))
    if (
        len(parts) != 1
        or _taken_at_once(make, parts[0], plain, partial(_both_ways, plain), twice=True) is None
    ):
        return None
    (part,) = parts
    states = _states(method, make, part, y0, values)
    taken = _taken_at_once(make, part, values, lambda at_all: pullback(at_all, *values)[1], states)
    if taken is None:
        return None
    cut = _Cut(method, y0.size, allowed)
    cut.see(part, taken)
    if cut.into_more():
        return cut.ends(ends)
    return _pulled(method, part, taken, np.zeros(y0.size), ys_bar)


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
    """The steps, in parts whose Jacobians fit the memory."""
    steps = method.taken(f, ends, y)
    many = max(1, _MOST // (y.size**2 * len(method.places)))
    return [steps[k : k + many] for k in range(0, len(steps), many)]


def _taken_at_once(make, steps, values, by, watched=None, twice=False):
    """The transposed Jacobians of the slopes of all stages, and what `by` makes of these, as a
    function of the values; at the states as they are `watched`, or will be (`twice`).
    """
    times, states, slopes = (np.concatenate([step[k] for step in steps]) for k in (2, 3, 4))
    states = states if watched is None else watched

    def by_columns(states, *values):
        return make(values)(times.copy(), states)

    def by_batch(states, *values):
        return at_once(make(values), (0, 1), 1)(times, states)

    def at_each(k, state):
        return make([strip(v) for v in values])(times[k], state)

    for at_all in (by_columns,) if twice or watched is not None else (by_columns, by_batch):
        found = _of_all(at_all, states, slopes, values, by)
        if found is not None and _are_apart(at_all, at_each, strip(states), values):
            rows, by_values = found
            shape = len(steps), -1, states.shape[1], states.shape[1]
            return np.reshape(rows.transpose(2, 1, 0), shape), by_values
    return None


def _are_apart(at_all, at_each, states, values):
    """Whether states are not mixed; where some rest, slopes show it when all are moved."""
    if np.all(np.ptp(states, axis=0) > _ROUNDING * np.max(np.abs(states), axis=0)):
        return True
    ways = np.cos(np.arange(states.size) + 1.0).reshape(states.shape)
    moved = states + _MOVED * ways * np.maximum(np.abs(states), _MOVED)
    try:
        slopes = strip(at_all(moved.T.copy(), *values)).T
        for k in {0, len(moved) // 2, len(moved) - 1}:
            own = np.asarray(at_each(k, moved[k].copy()))
            if not np.allclose(slopes[k], own, rtol=_SAME, atol=_SAME * np.max(np.abs(own))):
                return False
    except Exception:  # what is wrong with one state is said there
        return False
    return True


def _of_all(at_all, states, slopes, values, by):
    """The Jacobians, and `by` of `at_all`, if that gives these slopes of many states."""
    try:
        value, by_states = pullback(lambda states: at_all(states, *values), states.T.copy())
        by_values = by(lambda *values: at_all(states.T.copy(), *values))
        units = np.eye(states.shape[1])[:, :, None] * np.ones(len(slopes))
        rows = np.stack([by_states(unit, zeros=True)[0] for unit in units])
    except Exception:  # what is wrong with one state is said there
        return None
    if np.shape(value) != slopes.T.shape:
        return None
    near = np.abs(strip(value).T - slopes).max(axis=0) <= _ROUNDING * np.abs(slopes).max(axis=0)
    return (rows, by_values) if near.all() and np.isfinite(strip(rows)).all() else None
