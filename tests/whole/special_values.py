"""Derivatives at special values, where masks and limits are: a search.

Every ufunc of the table, of scipy.special's table and every method of a distribution is looked
at where its arguments are 0, 1, -1, integers, equal: the gradient against differences of values,
Hessians (forward over reverse, reverse over reverse, reverse over forward) against differences of
gradients, third derivatives along a line against differences of second ones. Where the values on
both sides do not tell a derivative (kinks, poles, the ends of a domain), nothing is compared.

Run it for long as ``python -m tests.whole.special_values --count 100000 --seed 1``.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np

import zyg
from zyg.errors import MissingRuleError
from zyg.functions.operations import table
from zyg.scipy import special, stats
from zyg.scipy._special_table import TABLE

VALUES = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 10.0, 0.5, -0.5, 0.25, 0.7, 1.3]
STEPS = np.arange(1, 7)
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
COUNTS = ("pmf", "logpmf", "cdf", "sf")


@dataclass
class Function:
    """A function of numbers; its first `whole` arguments are integers, which do not move."""

    name: str
    call: object
    arity: int
    whole: int = 0


_KNOWN = {  # distributions that are not looked at, and why
    "gennorm": "slopes are infinite at the cusp of its density",
    "kstwo": "it has no second slopes",
    "poisson_binom": "its parameters are an array",
    "studentized_range": "third slopes of its double integral fill memory",
}


def _functions():
    for f, partials in table.items():
        if isinstance(f, np.ufunc) and f is not np.ldexp:  # of an integer
            yield Function(f"np.{f.__name__}", f, len(partials))
    for f, partials in TABLE.items():
        whole = 0
        while whole < len(partials) and _is_refused(partials[whole]):
            whole += 1
        if len(partials) > whole and not any(map(_is_refused, partials[whole:])):
            called = getattr(special, f.__name__)
            yield Function(f"special.{f.__name__}", called, len(partials), whole)
    for name, d in vars(stats).items():
        if name in _KNOWN:
            continue
        if isinstance(d, stats.Continuous):
            for method in filter(d.methods.__contains__, METHODS):
                called = _without(d.names, d.still, getattr(d, method))
                yield Function(f"{name}.{method}", called, 1 + len(d.names))
        elif isinstance(d, stats.Discrete):
            shapes = len(d.names) - 1
            for method in filter(d.methods.__contains__, COUNTS):
                called = _without(d.names, d.still, getattr(d, method))
                yield Function(f"{name}.{method}", called, 1 + shapes, 1)


def _without(names, still, method):
    """A method of which the parameters that are refused do not move."""

    def called(x, *args):
        pairs = zip(args, names, strict=False)
        return method(x, *(zyg.stop_gradient(a) if name in still else a for a, name in pairs))

    return called if {*names} & {*still} else method


def _is_refused(partial):
    try:
        partial(*[1.0] * 8)
    except MissingRuleError:
        return True
    except TypeError:
        pass
    return False


FUNCTIONS = [*_functions()]


# Derivatives of batches: each element of the columns is a point


def _along_axes(x, offsets):
    """Each argument in one row for each of them: in its own row it moves."""
    return x[:, None, None] + np.eye(len(x))[:, :, None] * offsets


class Point:
    """A function at a point, as one of the arguments that move."""

    def __init__(self, function, x):
        self.function, self.x = function, np.array(x)
        self.fixed = [abs(int(a)) for a in x[: function.whole]]
        self.free = np.array(x[function.whole :])

    def value(self, *free):
        fixed = [np.full(np.shape(free[0]), a) for a in self.fixed]
        y = self.function.call(*fixed, *free)
        return np.real(y) if np.iscomplexobj(y) else y

    def gradients(self, columns):
        return np.array(zyg.gradient(lambda *c: np.sum(self.value(*c)), *columns, zeros=True))

    def along(self, u):
        """The function of a number that the function is on a line."""
        return lambda t: self.value(*(a + b * t if b else a for a, b in zip(self.free, u)))  # noqa: B905

    def vector(self, v):
        return self.value(*(v[k] for k in range(len(self.free))))


def _known(sample):
    """The derivative at 0 of ``sample(offsets)``, of its rows, and where both sides tell it."""
    widths = 4e-3, 2e-3
    offsets = np.multiply.outer(widths, np.multiply.outer([-1, 1], STEPS))
    y = sample(offsets.ravel())
    y = np.moveaxis(y.reshape(*y.shape[:-1], *offsets.shape), (-3, -2), (0, 1))
    powers = np.vander(STEPS, len(STEPS), increasing=True).T * 1.0
    weights = np.linalg.solve(powers, np.eye(len(STEPS))[:2].T)  # of the value, of the slope
    found = []
    for h, (left, right) in zip(widths, y, strict=True):
        ends = right @ weights[:, 0], left @ weights[:, 0]
        sides = right @ weights[:, 1] / h, -left @ weights[:, 1] / h
        central = (right - left)[..., :3] @ np.array([45.0, -9.0, 1.0]) / (60 * h)
        found.append((central, *sides, *ends))
    (a, *_), (b, right, left, above, below) = found
    scale = np.maximum(1.0, np.abs(b))
    smooth = np.abs(a - b) < 1e-8 * scale
    smooth &= np.abs(right - b) < 1e-6 * scale  # as `_differs`, or a small kink is no kink
    smooth &= np.abs(left - b) < 1e-6 * scale
    smooth &= np.abs(above - below) < 1e-8 * np.maximum(1.0, np.abs(above))
    return b, smooth & np.isfinite(b), above


def _joins(middle, sides):
    """Whether a value is that of both sides, so that it is not one of the point alone."""
    return np.abs(middle - sides) < 1e-8 * np.maximum(1.0, np.abs(sides))


def _differs(d, expected, known):
    off = ~(np.abs(d - expected) <= 1e-6 * np.maximum(1.0, np.abs(expected)))
    return bool(np.any(off & known))


def check(function, x, u):
    """What is wrong with the derivatives of a function at a point, or None; how many were known."""
    point = Point(function, x)
    n, compared = len(point.free), 0
    axes = np.eye(n)
    with np.errstate(all="ignore"):
        try:
            values = _known(lambda t: point.value(*_along_axes(point.free, t)))
        except ValueError:  # a search of SciPy's own, of plain values
            return None, compared
        slopes = _known(lambda t: point.gradients(_along_axes(point.free, t)))
        expected, known, sides = values
        known &= _joins(point.value(*point.free), sides)
        compared += known.sum()
        got = zyg.gradient(point.vector, point.free, zeros=True)[0]
        if _differs(got, expected, known):
            return f"gradient {got}, want {expected} where {known}", compared
        expected, reliable, _ = (part.T for part in slopes)  # a row for each axis
        reliable &= known[:, None] & known
        compared += reliable.sum()
        for name, hessian in _hessians(point, axes).items():
            if _differs(hessian, expected, reliable):
                return f"Hessian, {name}: {hessian}, want {expected} where {reliable}", compared
        if reliable.all():
            return _third(point, u, compared)
    return None, compared


def _hessians(point, axes):
    def slope(v):
        return zyg.gradient(point.vector, v, zeros=True)[0]

    def ahead(v):
        columns = v[:, None] * np.ones(
            len(axes)
        )  # the point once for each axis, along which it moves
        return zyg.pushforward(point.value, (*columns,), (*axes,))[1]

    x = point.free
    return {
        "forward over reverse": zyg.hessian(point.vector, x),
        "reverse over reverse": _rows(slope, x, axes),
        "reverse over forward": _rows(ahead, x, axes),
    }


def _rows(slope, x, axes):
    """The gradients of all that `slope` gives at x."""
    back = zyg.pullback(slope, x)[1]
    return np.stack([back(e, zeros=True)[0] for e in axes])


def _third(point, u, compared):
    line = point.along(u)

    def slope(f):
        return lambda t: zyg.gradient(lambda t: np.sum(f(t)), t, zeros=True)[0]

    second = slope(slope(line))
    expected, known, _ = _known(second)
    got = slope(second)(np.zeros(1))
    if _differs(got, expected, known):
        return f"third derivative along {u}: {got}, want {expected}", compared
    return None, compared + known.sum()


@dataclass
class Survey:
    """What a number of points showed."""

    checked: int = 0
    compared: int = 0
    kinds: Counter = None
    failures: list = None


def case(seed):
    """A function, a point and a direction, by the seed."""
    rng = np.random.default_rng(seed)
    function = FUNCTIONS[seed % len(FUNCTIONS)]
    x = []
    for _ in range(function.arity):
        x.append(x[-1] if x and rng.random() < 0.3 else float(rng.choice(VALUES)))
    u = rng.choice([1.0, 0.5, -0.75], function.arity - function.whole)
    return function, x, u


def telling(k, tries=8):
    """A seed of function k at whose point it has a finite value, if a few have one."""
    for seed in range(k, k + tries * len(FUNCTIONS), len(FUNCTIONS)):
        function, x, _ = case(seed)
        point = Point(function, x)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if np.all(np.isfinite(point.value(*point.free))):
                    break
            except ValueError:  # a search of SciPy's
                continue
    return seed


AT_AN_END = "at an end of its support cannot"  # a quantile, which has not all orders there


def survey(seeds, most=20):
    """Check the points of these seeds; stop after so many failures."""
    result = Survey(kinds=Counter(), failures=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            function, x, u = case(seed)
            try:
                wrong, compared = check(function, x, u)
            except Exception as error:  # what NumPy answers, zyg answers
                at_an_end = isinstance(error, MissingRuleError) and AT_AN_END in str(error)
                wrong, compared = (None if at_an_end else repr(error)), 0
            result.checked += 1
            result.compared += compared
            if compared:
                result.kinds[function.name] += 1
            if wrong:
                result.failures.append((seed, function.name, x, wrong))
            if len(result.failures) >= most:
                break
    return result


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.whole.special_values")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="of the first point")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    options = parser.parse_args()
    start = time.perf_counter()
    result = survey(range(options.seed, options.seed + options.count), options.failures)
    for failure in result.failures:
        print(*failure)
    seconds = time.perf_counter() - start
    print(f"{result.checked} points in {seconds:.0f} s, {result.compared} derivatives compared")
    print(f"{len(result.kinds)} of {len(FUNCTIONS)} functions")
    print("never:", *(f.name for f in FUNCTIONS if f.name not in result.kinds))
    sys.exit(bool(result.failures))


if __name__ == "__main__":
    main()
