"""Jumps of integrands and right-hand sides: derivatives miss those whose place moves.

Where an adaptive rule has not come to terms with an interval, or slopes change fast in a step, a
jump is sought by halves, of which the one is followed whose values bend more. A jump is what does
not get smaller.
"""

import itertools
import math

import numpy as np

from zyg.errors import ConvergenceError, MissingRuleError
from zyg.functions.kit import strip

_ROUGH = 1e-13  # of the integral: the error of an interval in which there may be a jump
_NOISE = 1e-12  # of the largest value
_TINY = np.finfo(float).tiny
_NUMBERS = {float, int, np.float64}
_FEW = 16  # units in the last place, into which a place is narrowed down
_HALVES = 20  # over which a jump stays as large
_NEAREST = 1e-6  # to 0, which stands for a place at infinity
_APART = 1e-6  # by how much of their size values are moved
_BEND = 1e-7  # of a value: how much it changes around a place where there may be a jump
_STEEP = 4.0  # times as fast as in a step nearby: slopes change where there may be a jump
_NEARBY = 3  # steps
_SHARE = 0.1  # of the change of slopes in a step: a jump that matters
_FAINT = 1e-9  # of the largest slope: one that may be rounding
_LEAST = 1e-6  # of the slopes of a state: a jump that is not rounding
_BEYOND = 1e-3  # of a step: how far from its end a jump is sought
_LOOKS, _SHORT = 16, 1e-3  # places in a step, and of all steps: one that may miss something
_ROUNDED = 1e-8  # of what a value, or a state, is moved by: what may be rounding
_FAST = 0.02  # of a slope by a value: what a cubic in time lacks
_WORST = 8  # regions, those with the largest errors
_UNSEEN = 0.0045  # of an interval: where a rule of Gauss and Kronrod does not look, at its ends


class Partition:
    """The intervals of an adaptive rule between two ends, in order, and the errors found in them.

    Those of an infinite integral are of numbers from 0 to 1, or from -1.
    """

    def __init__(self, ends, low, high, parts, errors):
        order = np.argsort(low) if len(low) > 1 else slice(None)
        self._ends, self._intervals = sorted(ends), np.array([low, high]).T[order]
        self._rough = errors[order] > _ROUGH * (np.sum(np.abs(parts)) + _TINY)
        self._kinks: list[float] = []

    def _placed(self, x):
        """Where intervals are."""
        a, b = self._ends
        if math.isfinite(a) and math.isfinite(b):
            return x
        side = np.sign(np.sum(x, axis=1, keepdims=True))
        near = np.maximum(np.abs(x), _NEAREST)
        x = np.sort(side * (1 - near) / near, axis=1)
        if np.isfinite(b):
            return b - x[:, ::-1]
        if np.isfinite(a):
            return a + x
        return x if np.any(side < 0) else np.concatenate([x, -x[:, ::-1]])

    def nodes(self):
        """Where the intervals end, and where kinks were found; none of a single interval."""
        if len(self._intervals) == 1 and not self._kinks:
            return ()
        return np.unique([*np.ravel(self._placed(self._intervals)), *self._kinks])

    def demand_still(self, name, held, points):
        """Refuse a function with a jump that moves with a value that it holds; it may at `points`.

        It jumps where the rule did not settle; or, unseen, at an end of an interval, between that
        and the first place where the rule looks, or in its middle.
        """
        x = self._placed(self._intervals).tolist()
        near = sorted({place for low, high in x for place in (low, (low + high) / 2, high)})[1:-1]
        size = min(max(abs(low), abs(high)) for low, high in x)
        f, moved = map(_reader, _both(held.again(), held.leaves))
        sought = self._placed(self._intervals[self._rough]).tolist() if np.any(self._rough) else []
        for place in near:
            reach = _FEW * math.ulp(max(abs(place), size))
            ends = place - reach * 2.0**_HALVES, place + reach * 2.0**_HALVES
            if all(abs(place - p) > reach for p in points) and _bends(*map(f, ends)):
                sought.append(ends)
        beside = []
        for low, high in self._intervals.tolist():
            most, least = _UNSEEN * (high - low), _UNSEEN * (high - low) * 2.0**-_HALVES
            beside += [(low + least, low + most), (high - most, high - least)]
        sought += [ends for ends in self._placed(np.array(beside)).tolist() if _breaks(f, *ends)]
        for ends in sought:
            if place := _rough_place(f, *ends):
                self._kinks.append((place[0] + place[1]) / 2)
                if _moves(f, moved, *place):
                    raise _moving(name, place[0])


def demand_still_on_path(name, make, leaves, path, beyond):
    """Refuse make(leaves), the right-hand side of equations, if it jumps at a time that moves: with
    a leaf, or with the states. A path is times, and rows of states and of slopes at these.

    `beyond` says of the start and of the end whether it is sought beyond them, too.
    """
    _demand_slow_at_rest(make, [strip(v) for v in leaves], *path[:2])
    f, moved = (_reader(lambda x, g=g: g(x[0], x[1:].copy())) for g in _both(make, leaves))
    points, slopes = np.column_stack(path[:2]), np.asarray(path[2])
    for end, inner in ((-1, -2), (0, 1)) if len(points) > 1 else ():
        if beyond[end]:
            step = _BEYOND * (points[end, 0] - points[inner, 0])
            point = points[end] + step * np.array([1.0, *slopes[end]])
            points, slopes = (
                np.insert(x, -end * len(x), new, axis=0)
                for x, new in ((points, point), (slopes, f(point)))
            )
    span = np.abs(points[-1, 0] - points[0, 0])
    most = max(np.nanmax(np.abs(slopes), initial=_TINY), np.max(np.abs(points[:, 1:])) / span)
    size = np.maximum(np.nanmax(np.abs(slopes), axis=0), _FAINT * most)
    changes = np.max(np.abs(np.diff(slopes, axis=0)) / size, axis=1)
    speeds = changes / np.abs(np.diff(points[:, 0]))
    apart = _moved(points, 0) - points
    apart[:, 0] = 0.0
    around = np.pad(np.nan_to_num(speeds, nan=np.inf), _NEARBY, constant_values=np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(around, 2 * _NEARBY + 1)
    few = len(speeds) <= 2 * _NEARBY  # steps, which are long
    for k in np.flatnonzero(few | (speeds > _STEEP * np.min(windows, axis=1))):
        plain, other = lambda x: f(x) / size, lambda x, by=apart[k]: moved(x + by) / size
        least = max(_SHARE * changes[k], _LEAST)
        place = _moving_place(plain, other, points[k], points[k + 1], least)
        if place is not None:
            raise _moving_along(name, place[0])


def _demand_slow_at_rest(make, leaves, t, states):
    """Refuse a leaf by which slopes change fast in a step in which the solution rests: none of the
    places where a method looks shows it.
    """
    t, states = np.asarray(t), np.asarray(states)
    moves = np.max(np.abs(np.diff(states, axis=0)), axis=1)
    rest = moves <= _NOISE * np.max(np.abs(states[:-1]), axis=1)
    places = (np.arange(_LOOKS) * 0.618) % 1
    smooth = np.linalg.qr(np.vander(places, 4))[0]
    for k in np.flatnonzero(rest & (np.abs(np.diff(t)) > _SHORT * np.abs(t[-1] - t[0]))):
        for j, leaf in enumerate(leaves):
            far = np.where(leaf == 0, 1.0, np.abs(leaf)) * _APART
            both = make(leaves), make([*leaves[:j], leaf + far, *leaves[j + 1 :]])
            f, moved = (_reader(lambda x, g=g: g(x, states[k].copy())) for g in both)  # noqa: B023
            h, sizes = t[k + 1] - t[k], [np.ravel(far), _APART * np.max(np.abs(states))]
            each = [moved(t[k] + x * h) - f(t[k] + x * h) for x in places]
            slopes = np.reshape(np.broadcast_arrays(*each), (_LOOKS, -1))
            rough = np.abs(slopes - smooth @ (smooth.T @ slopes))
            least = _ROUNDED * np.max(np.hstack(sizes)) / np.abs(h)
            if np.max(rough) > max(_FAST * np.max(np.abs(slopes)), least):
                raise ConvergenceError(
                    "the derivative of the solution of these differential equations was not found.",
                    f"the solution rests from the time {t[k]:.6g} on, and its slope by a watched "
                    "value changes fast in the solver's long step there.",
                    "pass max_step, a part of the time in which it changes.",
                )


def along_solution(sol):
    """The path that SciPy's solution took."""
    t, states = sol.ts, sol(sol.ts).T
    early = _BEYOND * np.diff(t)[:, None]
    after, first = (states[1:] - sol(t[1:] - early[:, 0]).T) / early, sol(t[:1] + early[0]).T
    return t, states, np.concatenate([(first - states[:1]) / early[0], after])


def demand_still_in_boxes(name, held, low, high, errors, placed):
    """Refuse a function of many places, rows, that jumps at places that move, in these boxes.

    Of those with the largest errors some lines are looked at; of all, their sides and middles.
    """
    f, moved = (lambda x, g=g: g(placed(x)) for g in _both(held.again(), held.leaves))
    worst, count = np.argsort(-errors)[:_WORST], np.shape(low)[1]
    middles, halves = (low + high) / 2, (high - low) / 2
    ways = [*np.eye(count), *itertools.islice(itertools.product(*[(1, -1)] * count), 4)]
    pairs = itertools.product(worst, ways)
    sought = [(middles[k] - halves[k] * way, middles[k] + halves[k] * way) for k, way in pairs]
    for axis in np.eye(count):
        inner = low @ axis > np.min(low @ axis)
        near = np.concatenate([middles, (middles - halves * axis)[inner]])
        wide = _FEW * np.spacing(1.0) * 2.0**_HALVES * axis
        with np.errstate(all="ignore"):
            bent = np.flatnonzero([*map(_bends, f(near - wide), f(near + wide))])[:_WORST]
        sought += [(near[k] - wide, near[k] + wide) for k in bent]
    one, other = (_reader(lambda x, g=g: g(x[None])) for g in (f, moved))
    for ends in sought:
        place = _moving_place(one, other, *ends)
        if place is not None:
            raise _moving(name, placed(place[None])[0])


def _both(make, leaves):
    """What is made of the leaves: of what they are, and of all of them a little moved."""
    plain = [strip(v) for v in leaves]
    return make(plain), lambda *x: make([_moved(v, k) for k, v in enumerate(plain)])(*x)


def _moving_place(f, moved, low, high, least=0.0):
    """Where, between two points, f jumps by `least` or more, and not so when it is `moved`."""
    f, moved = (lambda s, g=g: g(low + (s - 1) * (high - low)) for g in (f, moved))
    place = _rough_place(f, 1.0, 2.0, least)
    return low + (place[0] - 1) * (high - low) if place and _moves(f, moved, *place) else None


def _moves(f, moved, low, high, jumps):
    """Whether what was found between two places is a jump, and not one when f is `moved`."""
    return jumps and not _change(moved, low, high) > 0.5 * _change(f, low, high)


def _reader(f):
    """The value of f at a place as a number or a vector; NaN where it has none."""

    def value(x):
        try:
            y = f(x)
            return float(y) if type(y) in _NUMBERS else np.ravel(np.asarray(y, float))
        except (ArithmeticError, ValueError):
            return math.nan

    return value


def _size(y):
    """The largest of what a reader gave."""
    return abs(y) if type(y) is float else float(np.max(np.abs(y)))


def _bends(before, after):
    """Whether values differ more than those around a place where there is no jump."""
    return _size(after - before) > _BEND * _size(before)


def _breaks(f, low, high):
    """Whether a few values between two places do not lie on a smooth curve."""
    y = [*map(f, _between(low, high))]
    bend = _size(y[0] - 4 * y[1] + 6 * y[2] - 4 * y[3] + y[4])
    return _BEND * max(map(_size, y)) < bend < np.inf


def _change(f, low, high):
    return _size(f(high) - f(low))


def _between(low, high):
    step = (high - low) / 4
    return [low, low + step, low + 2 * step, low + 3 * step, high]


def _rough_place(f, low, high, least=0.0):
    """The ends of a small interval with a kink or a jump, and whether that is one; or None.

    What bends less than by `least` is none.
    """
    bends: list[float] = []
    before = x = _between(low, high)
    narrow = _FEW * math.ulp(max(abs(low), abs(high)))
    with np.errstate(all="ignore"):
        y = [*map(f, x)]
        largest = max(map(_size, y))
        while x[4] - x[0] > narrow:
            left, inner, right = (_size(y[k] - 2 * y[k + 1] + y[k + 2]) for k in range(3))
            bend = max(left, inner, right)
            if max(left, right) < _NOISE * bend:  # at one of the places, by a value between
                left, right = (_size(y[k + 2] - y[k]) for k in (0, 2))
            if bend == 0 and len(bends) > 2:
                x = before  # the places of f have come together
                break
            bends.append(bend)
            if not bend > max(_NOISE * largest, least):
                smooth = x[4] - x[0] > _NOISE**0.75 * max(abs(x[0]), abs(x[4])) or len(bends) < 2
                return None if smooth else (x[0], x[4], False)
            k, before = 0 if left >= right else 2, x
            x = _between(x[k], x[k + 2])
            y = [y[k], f(x[1]), y[k + 1], f(x[3]), y[k + 2]]
            largest = max(largest, _size(y[1]), _size(y[3]))
    late = bends[-_HALVES:]
    return x[0], x[4], len(late) > 2 and late[-1] > 0.3 * late[0]


def _moved(v, k):
    """A value, a little away from where it was: no two elements by the same amount."""
    shares = 0.5 + np.reshape((np.arange(np.size(v)) + k + 1) * 0.618 % 1, np.shape(v))
    return v + _APART * shares * np.maximum(np.abs(v), 1e-3)


def _moving(name, x):
    by_points = f"pass points=[p] to {name}, where p is the place, watched; or "
    return MissingRuleError(
        f"the function given to {name} jumps near {np.array2string(np.asarray(x), precision=6)}, "
        "at a place that moves with a watched value.",
        "the derivative of the integral has a part from that place, which is in no slope.",
        f"{by_points if np.ndim(x) == 0 else ''}integrate from end to place and from there on, "
        "each with the function of that side.",
    )


def _moving_along(name, t):
    return MissingRuleError(
        f"the function given to {name} jumps near the time {t:.6g}, which moves with a watched "
        "value.",
        "the derivative of the solution has a part from that time, which is in no slope.",
        "call solve_ivp with an event there that is terminal, and again from there on, each with "
        "the function of that side.",
    )
