"""Derivatives by differences: from both sides, so that kinks, jumps and ends are known as such."""

import warnings

import numpy as np

from .compare import Wrong, drawn, inner, like, moving, quietly, size, weights

STEP = 1e-4


class Sides:
    """The slopes of a vector of values to the right and to the left of a point.

    An output is `smooth` where both are one, has a `kink` where they differ, and is not `known`
    where a side has none: at a jump, a pole, the end of a domain.
    """

    def __init__(self, value):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            here = value(0.0)
            wide, narrow = (
                np.stack([(value(s * h) - here) / (s * h) for s in (1, -1)])
                for h in (STEP, STEP / 2)
            )
            finite = np.all(np.isfinite(wide) & np.isfinite(narrow), axis=0)
            wide, narrow = (np.where(finite, x, 0.0) for x in (wide, narrow))
            bent = np.abs(wide[0] - wide[1]), np.abs(narrow[0] - narrow[1])
            middle = wide.mean(axis=0), narrow.mean(axis=0)  # that of a jump doubles
            apart, drift = np.abs(middle[0] - middle[1]), np.max(np.abs(wide - narrow), axis=0)
            self.known = finite
            for _ in range(3):  # jumps, which are steep here, do not count
                self.most = np.max(np.abs([wide, narrow]), initial=1e-12, where=self.known)
                self.smooth = finite & (bent[0] <= 1e-2 * self.most) & (apart <= 1e-2 * self.most)
                self.smooth &= bent[1] <= 0.6 * bent[0] + 1e-7 * self.most
                # Each side has a slope of its own, to which the slopes of shorter steps tend.
                self.known = self.smooth | (finite & (drift <= 1e-3 * self.most))
            self.sides = 2 * narrow - wide
            self.central = (4 * middle[1] - middle[0]) / 3
            # What the error of the differences may be.
            self.near = np.where(self.smooth, bent[1] * 1e-2 + apart, drift)
            self.near = self.near + 1e-15 / STEP * np.where(np.isfinite(here), np.abs(here), 0.0)

    def range(self):
        """Between what a derivative of each output must lie: at a kink, between the sides."""
        low = np.where(self.smooth, self.central, self.sides.min(axis=0))
        high = np.where(self.smooth, self.central, self.sides.max(axis=0))
        return low, high

    def widened(self, nearby):
        """Clarke's: between the slopes of all points nearby, of which these are some."""
        low, high = self.range()
        for slope in nearby:
            # A kink may not show along one line: the median of three alike has one slope there.
            bent = ~self.smooth | (np.abs(slope - self.central) > 1e-2 * self.most)
            slope = np.where(np.isfinite(slope) & bent, slope, low)
            low, high = np.minimum(low, slope), np.maximum(high, slope)
        return low, high

    def misses(self, right, w, scale, low, high):
        """How a derivative of the sum with weights, or of each output, is not between these."""
        near = self.near
        if w is not None:
            low, high = np.minimum(w * low, w * high).sum(), np.maximum(w * low, w * high).sum()
            near = np.max(np.abs(w) * near, initial=0.0)
        near = near + 1e-5 * max(self.most, scale if np.isfinite(scale) else 0.0)
        right = np.asarray(right)
        between = (low - near <= right) & (right <= high + near)
        if np.all(between | ~self.known if w is None else between):
            return ""
        found = f"{right!r}, by differences {low!r}"
        return found if np.array_equal(low, high) else f"{found} to {high!r}"

    def demand(self, right, w, scale, nearby):
        """That derivatives lie where they must, as `misses` says."""
        if self.misses(right, w, scale, *self.range()):
            low, high = self.widened(nearby())
            if why := self.misses(right, w, scale, low, high):
                raise Wrong(why)


def flat(parts):
    """Real and imaginary parts of arrays and numbers, as a vector."""
    ravelled = [np.ravel(np.asarray(x)) for x in parts]
    both = [[np.real(x), np.imag(x)] if np.iscomplexobj(x) else [x] for x in ravelled]
    return np.concatenate([part for pair in both for part in pair] or [[]]).astype(float)


def moved(at, along, by):
    return [like(np.asarray(x) + by * d, x) for x, d in zip(at, along, strict=True)]


def slopes_nearby(value, at, along, count=200):
    """Slopes at points beside a kink."""
    rng, h = np.random.default_rng(5), 1e-6
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            beside = moved(at, [drawn(x, rng) for x in at], 1e-4)
            ahead, behind = (value(moved(beside, along, s * h)) for s in (1, -1))
            if np.shape(ahead) == np.shape(behind) == np.shape(value(at)):  # eigenvalues may turn
                yield (ahead - behind) / (2 * h)  # from real to complex


def of_finite(at, tangents):
    """Tangents that leave what is not finite where it is."""
    return [like(np.where(np.isfinite(x), d, 0.0), x) for x, d in zip(at, tangents, strict=True)]


def by_differences(f, at, cotangents, tangents):
    """Compare ``cotangents(weights)`` with differences of values, where there are some."""
    along = of_finite(at, tangents)

    def value(xs):
        return flat(moving(f(*xs)))

    try:
        w = quietly(lambda: weights(f(*moved(at, along, 0.0))))
        sides = Sides(lambda by: value(moved(at, along, by)))
    except Exception as error:
        return f"differences raise {type(error).__name__}"
    if not np.any(sides.known):
        return "no differences"
    # Apart, or what is between the sides of kinks hides the others.
    for keep in (sides.smooth, sides.known & ~sides.smooth):
        if not np.any(keep):
            continue
        some = masked(w, keep)
        found = cotangents(some)
        right = inner(found, along)
        if not all(np.all(np.isfinite(x)) for x in at) and not np.isfinite(right):
            return "not finite, as an argument"
        reach = [np.where(d == 0, 0.0, c) for c, d in zip(found, along, strict=True)]
        sides.demand(right, flat(some), size(reach) * size(along),
                     lambda: slopes_nearby(value, at, along))  # fmt: skip
    if not np.all(sides.known):
        return "some of the outputs"
    return "smooth" if np.all(sides.smooth) else "between the sides of a kink"


def masked(w, known):
    """The weights with 0 for the outputs that are not known."""
    made, start = [], 0
    for x in w:
        n = np.size(x)
        keep = known[start : start + n].reshape(np.shape(x))
        start += n
        if np.iscomplexobj(x):
            keep = keep & known[start : start + n].reshape(np.shape(x))
            start += n
        made.append(np.where(keep, x, 0.0))
    return made


def by_differences_of(gradient, at, found, tangents):
    """Compare second derivatives with differences of gradients."""
    along = of_finite(at, tangents)
    if any(np.any(d != t) for d, t in zip(along, tangents, strict=True)):
        return "not finite"

    def value(xs):
        return flat(gradient(*xs))

    try:
        sides = Sides(lambda by: value(moved(at, along, by)))
    except Exception as error:
        return f"differences raise {type(error).__name__}"
    if not np.any(sides.known):
        return "no differences"
    sides.demand(flat(found), None, size(found), lambda: slopes_nearby(value, at, along, 50))
    return "smooth" if np.all(sides.smooth) else "where there are differences"
