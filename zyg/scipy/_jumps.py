"""Jumps of integrands: the derivative of an integral misses those whose place moves.

Where an adaptive rule has not come to terms with an interval, a jump is sought in it by halves, of
which the one is followed whose values bend more. A jump is what does not get smaller.
"""

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import strip

_ROUGH = 1e-13  # of the integral: the error of an interval in which there may be a jump
_NOISE = 1e-12  # of the largest value
_TINY = np.finfo(float).tiny
_FEW = 16  # units in the last place, into which a place is narrowed down
_HALVES = 20  # over which a jump stays as large
_NEAREST = 1e-6  # to 0, which stands for a place at infinity
_APART = 1e-6  # by how much of their size values are moved


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
        if np.isfinite(a) and np.isfinite(b):
            return x
        side = np.sign(np.sum(x, axis=1, keepdims=True))
        near = np.maximum(np.abs(x), _NEAREST)
        x = np.sort(side * (1 - near) / near, axis=1)
        if np.isfinite(b):
            return b - x[:, ::-1]
        if np.isfinite(a):
            return a + x
        return x if np.any(side < 0) else np.concatenate([x, -x[:, ::-1]])

    def is_smooth(self):
        """Whether a single interval was enough."""
        return len(self._intervals) == 1 and not self._rough[0]

    def nodes(self):
        """Where the intervals end, and where kinks were found; none of a single interval."""
        if len(self._intervals) == 1 and not self._kinks:
            return ()
        return np.unique([*np.ravel(self._placed(self._intervals)), *self._kinks])

    def demand_still(self, name, held, points):
        """Refuse a function with a jump that moves with a value that it holds; it may at `points`.

        It jumps where the rule did not settle; or, unseen, at an end of an interval or its middle.
        """
        x = self._placed(self._intervals)
        near = np.unique([x[:, 0], np.mean(x, axis=1), x[:, 1]])[1:-1]
        reach = _FEW * np.spacing(np.abs(near))
        known = np.any(np.abs(np.subtract.outer(near, np.ravel(points))) <= reach[:, None], axis=1)
        wide = reach * 2.0**_HALVES
        around = np.stack([near - wide, near + wide], axis=1)[~known]
        sought = [*self._placed(self._intervals[self._rough]), *around]
        make, plain = held.again(), [strip(v) for v in held.leaves]
        f = _reader(make(plain))
        found = [*filter(None, (_rough_place(f, *interval) for interval in sought))]
        self._kinks += [(low + high) / 2 for low, high, _ in found]
        moved = _reader(make([_moved(v, k) for k, v in enumerate(plain)])) if found else None
        for low, high, jumps in found:
            if jumps and not _change(moved, low, high) > 0.5 * _change(f, low, high):
                raise _moving(name, low)


def _reader(f):
    """The value of f at a place as a vector; NaN where it has none."""

    def value(x):
        try:
            return np.ravel(np.asarray(f(x), float))
        except (ArithmeticError, ValueError):
            return np.full(1, np.nan)

    return value


def _change(f, low, high):
    return np.max(np.abs(f(high) - f(low)))


def _rough_place(f, low, high):
    """The ends of a small interval with a kink or a jump, and whether that is one; or None."""
    x, bends, largest = np.linspace(low, high, 5), [], 0.0
    with np.errstate(all="ignore"):
        y = [*map(f, x)]
        while x[4] - x[0] > _FEW * np.spacing(np.max(np.abs(x))):
            largest = max(largest, *(np.max(np.abs(v)) for v in y))
            left, right = (np.max(np.abs(y[k] - 2 * y[k + 1] + y[k + 2])) for k in (0, 2))
            bends.append(max(left, right))
            if not bends[-1] > _NOISE * largest:
                break
            k = 0 if left >= right else 2
            x, y = np.linspace(x[k], x[k + 2], 5), y[k : k + 3]
            y = [y[0], f(x[1]), y[1], f(x[3]), y[2]]
        else:
            return x[0], x[4], len(bends) > _HALVES and bends[-1] > 0.3 * bends[-_HALVES]
    smooth = x[4] - x[0] > _NOISE**0.75 * np.max(np.abs(x)) or len(bends) < 2
    return None if smooth else (x[0], x[4], False)


def _moved(v, k):
    """A value, a little away from where it was: no two elements by the same amount."""
    shares = 0.5 + np.reshape((np.arange(np.size(v)) + k + 1) * 0.618 % 1, np.shape(v))
    return v + _APART * shares * np.maximum(np.abs(v), 1e-3)


def _moving(name, x):
    return MissingRuleError(
        f"the function given to {name} jumps near {x:.6g}, at a place that moves with a watched "
        "value.",
        "the derivative of the integral has a part from that place, which is in no slope.",
        f"pass points=[p] to {name}, where p is the place, watched; or integrate from end to p and "
        "from p on, each with the function of that side.",
    )
