"""Distributions as formulas in functions that have rules, called as SciPy's are.

A formula is that of the standard distribution, at points inside of its support; loc and scale, the
points outside, and arguments that define no distribution are seen to here. A sample (``rvs``) is
SciPy's own, and stays at its place in the distribution where the shapes move. What is no formula
(``fit``, ``moment``) is SciPy's own, and so is every method of plain values.
"""

import functools
import operator
from typing import Any, ClassVar

import numpy as np

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import (
    as_array,
    computes,
    dropins,
    is_watched,
    nestlevel,
    strip,
    watched_leaves,
    with_value,
)
from zyg.scipy._moments import ENTROPIES, MOMENTS
from zyg.scipy._theirs import stats
from zyg.verbs.checkpoints import rewinding

LOG_2PI = np.log(2 * np.pi)


def number(y):
    """A number where NumPy makes an array without axes."""
    return y[()] if isinstance(strip(y), np.ndarray) and np.ndim(y) == 0 else y


def wide(x):
    """`x` in double precision, as SciPy's distributions compute."""
    x = as_array(x) if isinstance(x, (list, tuple)) else x
    plain = strip(x)
    # Python's zero becomes NumPy's, by which one can divide.
    as_it_is = plain.dtype == np.float64 if hasattr(plain, "dtype") else plain != 0
    return x if as_it_is else x * np.float64(1)


def log(y):
    """The logarithm; its slopes are those at 1, for squares of a small `y` are 0."""
    scale = np.where(strip(y) > 0, strip(y), 1.0)
    return np.log(scale) + np.log(y / scale)


def generator_of(distribution, seed):
    """The generator that a distribution draws of, given its ``random_state``."""
    if seed is None:
        return distribution.random_state
    return np.random.RandomState(seed) if isinstance(seed, (int, np.integer)) else seed


def _levels(x):
    """By how many gradients, one in the other, a value is watched."""
    return 1 + _levels(x.primal) if is_watched(x) else 0


class _Stand:
    """What stands for a distribution of SciPy's, `scipys`, and passes for it."""

    scipys: Any

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.scipys)

    def __setattr__(self, name, value):
        on_scipys = name == "random_state"
        setattr(self.scipys, name, value) if on_scipys else super().__setattr__(name, value)

    def __reduce__(self):
        return operator.getitem, ((self.scipys,), 0)


class _Inherited:
    """A method as the class above that of SciPy's distribution has it: what ``super`` asks for."""

    def __init__(self, name):
        self.name = name

    def __get__(self, stand, owner=None):
        scipys = stand.scipys
        return getattr(super(type(scipys), scipys), self.name)


class OfSciPy(_Stand):
    """A distribution of SciPy's, whose `methods` are formulas where a gradient runs."""

    methods: Any

    def __init__(self, name):
        self.scipys = getattr(stats, name)
        self.__doc__ = self.scipys.__doc__

    def __getattr__(self, name):
        method = getattr(self.scipys, name)
        if name in self.methods:
            written = dropins.if_watched(method, self._formula_of(name))
            method = self.__dict__[name] = computes(dropins.drop_in(method, written))
        return method

    def _formula_of(self, name):
        return getattr(self, f"written_{name}")  # SciPy has methods of its own as _entropy


class _Distribution(OfSciPy):
    """A distribution by formulas: methods ``f(x, *shapes, loc, scale)``, and a frozen form."""

    variable: str  # how SciPy calls the point
    points: ClassVar[Any]
    # super(type(norm), norm).fit, the search in place of the formula; norm.fit is the instance's.
    fit: Any = _Inherited("fit")
    flat = False  # whether all derivatives are 0 at the ends of the support, as outside
    still: tuple[str, ...] = ()  # parameters that are whole numbers, which do not move

    def __init__(self, name, shapes, valid, support, formulas):
        super().__init__(name)
        self.name, self.valid, self.formulas = name, valid, formulas
        self.names = [*shapes, *self.location]
        self.least, self.most = support
        summaries = [*_OF_MOMENTS] if name in MOMENTS else []
        summaries += ["entropy"] if name in ENTROPIES else []
        if "cdf" not in formulas and "sf" not in formulas:
            self.methods = {name for name in _DENSITIES if name in self.points}
            return
        summaries += ["median", "interval", "rvs"] if "ppf" in self.points else []
        self.methods = {*self.points, *summaries}

    def __call__(self, *args, **kwargs):
        return Frozen(self, args, kwargs)

    def _formula_of(self, name):
        at = self._at if name in self.points else self._of_parameters
        formula: Any = functools.partial(at, name)
        formula.__name__ = f"{self.name}.{name}"
        return formula

    def _parameters(self, args, kwargs):
        """The shapes, and the parameters of location, in order."""
        given = dict(zip(self.names, args, strict=False)) | kwargs
        if len(args) > len(self.names) or given.keys() - set(self.names):
            raise TypeError(f"{self.name} takes the parameters {', '.join(self.names)}")
        if missing := [n for n in self.names if n not in given and n not in self.location]:
            raise TypeError(f"{self.name} is missing the parameter {missing[0]!r}")
        values = [wide(given.get(name, self.location.get(name))) for name in self.names]
        for name, value in zip(self.names, values, strict=True):
            if name in self.still and is_watched(value):
                raise self._refusal(name)
        count = len(self.names) - len(self.location)
        return values[:count], values[count:]

    def _refusal(self, parameter):
        return MissingRuleError(
            f"scipy.stats.{self.name} cannot be differentiated with respect to {parameter}.",
            "it is a whole number, which does not move.",
            f"pass zyg.stop_gradient({parameter}).",
        )

    def _at(self, name, *args, **kwargs):
        x, *args = self.point_first(name, args, kwargs)
        shapes, place = self._parameters(args, kwargs)
        with np.errstate(all="ignore"):
            valid = self.valid(*map(strip, shapes))
            return number(self.points[name](self, name, wide(x), shapes, place, valid))

    def point_first(self, name, args, kwargs):
        """`args`, in front of them the point, if it is one of `kwargs`: it is taken from them."""
        point = "q" if name in ("ppf", "isf") else self.variable
        if point in kwargs:
            return kwargs.pop(point), *args
        if not args:
            raise TypeError(f"{self.name}.{name} is missing the argument {point!r}")
        return args

    def _of_parameters(self, name, *args, **kwargs):
        return getattr(self, f"written_{name}")(args, kwargs)

    def _summary(self, formula, placed, args, kwargs):
        """`placed(y, loc, scale)` of what the formula says of the standard distribution."""
        shapes, (loc, *scales) = self._parameters(args, kwargs)
        scale = scales[0] if scales else 1.0
        shapes = [shape * np.float64(1) for shape in shapes]  # 2 - 2 is one by which one can divide
        with np.errstate(all="ignore"):
            valid = self.valid(*map(strip, shapes)) & (strip(scale) > 0)
            return number(np.where(valid, placed(formula(*shapes), loc, scale), np.nan))

    def written_mean(self, args, kwargs):
        return self._summary(MOMENTS[self.name][0], lambda y, loc, s: y * s + loc, args, kwargs)

    def written_var(self, args, kwargs):
        placed = lambda y, loc, s: y * (s * s) + 0 * loc  # noqa: E731 - of loc's shape
        return self._summary(MOMENTS[self.name][1], placed, args, kwargs)

    def written_entropy(self, args, kwargs):
        placed = lambda y, loc, s: y + np.log(s) + 0 * loc  # noqa: E731
        return self._summary(ENTROPIES[self.name], placed, args, kwargs)

    def written_std(self, args, kwargs):
        return np.sqrt(self.written_var(args, kwargs))

    def written_stats(self, args, kwargs):
        kwargs = dict(kwargs)
        asked = kwargs.pop("moments", "mv")
        if set(asked) - {"m", "v"}:
            return self.scipys.stats(*args, **kwargs, moments=asked)
        found = [
            f(args, kwargs)
            for m, f in (("m", self.written_mean), ("v", self.written_var))
            if m in asked
        ]
        return found[0] if len(found) == 1 else tuple(found)

    def written_median(self, args, kwargs):
        return self._at("ppf", 0.5, *args, **kwargs)

    def written_interval(self, args, kwargs):
        kwargs = dict(kwargs)
        confidence, *rest = (kwargs.pop("confidence"), *args) if "confidence" in kwargs else args
        if np.any((strip(confidence) < 0) | (strip(confidence) > 1)):
            raise ValueError("alpha must be between 0 and 1 inclusive")
        ends = (1 - confidence) / 2, (1 + confidence) / 2
        return tuple(self._at("ppf", q, *rest, **kwargs) for q in ends)

    def _formula(self, name, z, shapes):
        """The formula called `name`, or by that of which it is the logarithm or the complement."""
        if name in self.formulas:
            return self.formulas[name](z, *shapes)
        if name.startswith("log"):
            y = self._formula(name[3:], z, shapes)
            if name in _DENSITIES:
                return log(y)
            rest = self._formula("sf" if name == "logcdf" else "cdf", z, shapes)
            small = strip(y) < 0.5  # a probability near 1 is known by the rest
            return np.where(small, log(np.where(small, y, 1.0)), np.log1p(-rest))
        if name == "isf" and "ppf" in self.formulas:
            return self._formula("ppf", 1 - z, shapes)
        if name in ("ppf", "isf"):
            return self._solved(name, z, shapes)
        if name == "sf":
            return 1 - self._formula("cdf", z, shapes)
        return np.exp(self._formula("log" + name, z, shapes))

    def _solved(self, name, q, shapes):
        """A quantile as SciPy finds it, which moves by Newton's steps, all of length 0.

        What SciPy's search misses stays missed: the slope is that of the place it found.
        """
        plain = [*map(strip, shapes)]
        y = z = getattr(self.scipys, name)(strip(q), *plain)
        lower = (strip(q) <= 0.5) == (name == "ppf")
        if not any(map(is_watched, (q, *shapes))):
            return z
        for _ in range(max(map(_levels, (q, *shapes))).bit_length()):
            below, above = (self._formula(side, z, shapes) for side in ("cdf", "sf"))
            asked = (q, 1 - q) if name == "ppf" else (1 - q, q)
            miss = np.where(lower, below - asked[0], asked[1] - above)
            z = z - (miss - strip(miss)) / self._formula("pdf", z, shapes)
        return with_value(z, (y,))

    def ends(self, shapes):
        """Where the support begins and ends."""
        return [end(*shapes) if callable(end) else end for end in (self.least, self.most)]

    def _inside(self, name, z, shapes, inside, valid, below, above):
        """The formula where `inside`; else the values below and above the support, or NaN."""
        least, most = self.ends([*map(strip, shapes)])
        inner = np.where(np.isfinite(most), most - 0.5, 0.0)
        inner = np.where(np.isfinite(least), least + 0.5 * np.minimum(1.0, most - least), inner)
        y = self._formula(name, np.where(inside, z, inner), shapes)
        plain = strip(z)
        outer = np.where(plain > inner, above, below)
        outer = np.where(np.isnan(plain), np.nan, outer)
        return np.where(valid, np.where(inside, y, outer), np.nan)


_BEYOND = {  # the values below and above the support
    "pdf": (0.0, 0.0), "logpdf": (-np.inf, -np.inf),
    "pmf": (0.0, 0.0), "logpmf": (-np.inf, -np.inf),
    "cdf": (0.0, 1.0), "logcdf": (-np.inf, 0.0), "sf": (1.0, 0.0), "logsf": (0.0, -np.inf),
}  # fmt: skip


_DENSITIES = ("pdf", "logpdf", "pmf", "logpmf")
_OF_MOMENTS = ("mean", "var", "std", "stats")


class Continuous(_Distribution):
    variable = "x"
    location: ClassVar = {"loc": 0.0, "scale": 1.0}

    def __init__(self, *args):
        super().__init__(*args)
        self.fit = self.scipys.fit

    def _at_point(self, name, x, shapes, place, valid):
        loc, scale = place
        z = (x - loc) / scale
        plain = strip(z)
        least, most = self.ends([*map(strip, shapes)])
        inside = (plain >= least) & (plain <= most) & ~np.isinf(plain)
        if self.flat:
            inside = inside & (plain > least) & (plain < most)
        valid = valid & (strip(scale) > 0)
        y = self._inside(name, z, shapes, inside, valid, *_BEYOND[name])
        ends = inside & valid & ((plain == least) | (plain == most))
        if isinstance(ends, (np.ndarray, np.bool_)) and np.any(ends):
            y = self._as_scipys(name, y, ends, plain, *map(strip, shapes))
        if name == "logpdf":
            return y - np.log(scale)
        return y / scale if name == "pdf" else y

    def _as_scipys(self, name, y, where, *args):
        """`y`, which there has SciPy's value, if not its limit: a formula may have none."""
        values, there, *wide = map(np.array, np.broadcast_arrays(strip(y), where, *args))
        values[there] = getattr(self.scipys, name)(*(a[there] for a in wide))
        return with_value(y, (number(values),))

    def _quantile(self, name, q, shapes, place, valid):
        loc, scale = place
        plain = strip(q)
        inside = (plain > 0) & (plain < 1)
        y = self._formula(name, np.where(inside, q, 0.5), shapes)
        ends = self.ends(shapes) if name == "ppf" else self.ends(shapes)[::-1]
        outer = np.where(plain == 0, ends[0], np.where(plain == 1, ends[1], np.nan))
        if is_watched(q) and np.any((plain == 0) | (plain == 1)):
            outer = self._at_end(name, q, outer, strip(y), shapes)
        y = np.where(inside, y, outer) * scale + loc
        return np.where(valid & (strip(scale) > 0), y, np.nan)

    def _at_end(self, name, q, end, inner, shapes):
        """A quantile at an end of the support, which moves by the inverse of the density there."""
        sign, up = 1.0 if name == "ppf" else -1.0, np.where(strip(q) == 0, 1.0, -1.0)
        moved = sign * (q - strip(q))
        finite = np.isfinite(strip(end)) & (not self.flat)
        height = self._formula("pdf", np.where(finite, end, inner), shapes)
        known, infinite = (finite & (strip(height) > 0), finite & np.isposinf(strip(height)))
        if _levels(q) > 2 - np.any(infinite):
            what = f"scipy.stats.{self.name}.{name} at an end of its support"
            raise unknown_call(what, "its rule does not know so many derivatives in one another")
        half = moved / np.where(known, height, 1.0) / 2
        height = self._formula("pdf", np.where(known, end + half, inner), shapes)
        steep = sign * up * np.sqrt(up * (q - strip(q)))
        step = np.where(infinite, 0.0, np.where(known, moved / height, steep))
        return with_value(end + step, (strip(end),))

    def written_rvs(self, args, kwargs):
        options = {k: x for k, x in kwargs.items() if k in ("size", "random_state")}
        named = {k: x for k, x in kwargs.items() if k not in options}
        options |= {"size": args[len(self.names)]} if len(args) > len(self.names) else {}
        shapes, (loc, scale) = self._parameters(args[: len(self.names)], named)
        plain = [*map(strip, shapes)]
        draw = self.scipys.rvs
        generator = generator_of(self.scipys, options.get("random_state"))
        with rewinding(generator) as (options["random_state"], rewind):
            y = draw(*plain, loc=strip(loc), scale=strip(scale), **options)
            rewind()
            z = draw(*plain, **{**options, "size": np.shape(y)})
        return with_value(loc + scale * self._stayed(z, shapes), (y,))

    def _stayed(self, z, shapes):
        """A sample that stays at its place in the distribution: by Newton's steps, all of length 0.

        Each squares the error in the shapes' differentials: as many as the gradients need.
        """
        if not any(map(is_watched, shapes)):
            return z
        with np.errstate(all="ignore"):
            lower = self._formula("cdf", z, [*map(strip, shapes)]) <= 0.5

            def place(z, shapes):
                below, above = (self._formula(name, z, shapes) for name in ("cdf", "sf"))
                return np.where(lower, below, -above)

            before = place(z, [*map(strip, shapes)])
            for _ in range(max(map(_levels, shapes)).bit_length()):
                z = z - (place(z, shapes) - before) / self._formula("pdf", z, shapes)
        return z

    points: ClassVar = {
        **dict.fromkeys(("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"), _at_point),
        **dict.fromkeys(("ppf", "isf"), _quantile),
    }


class Discrete(_Distribution):
    variable = "k"
    location: ClassVar = {"loc": 0}

    def _at_point(self, name, k, shapes, place, valid):
        z = strip(k) - strip(place[0])  # of integers: no derivative
        whole = np.floor(z)
        most = self.ends([*map(strip, shapes)])[1]
        if name in ("pmf", "logpmf"):
            inside = (z >= self.least) & (z <= most) & (z == whole)
        else:
            inside = (z >= self.least) & (z < most) & ~np.isinf(z)
        return self._inside(name, whole, shapes, inside, valid, *_BEYOND[name])

    points: ClassVar = dict.fromkeys(("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"), _at_point)


class OfChances(Discrete):
    """A distribution whose shapes are the elements of one array along its last axis."""

    def _parameters(self, args, kwargs):
        (chances,), place = super()._parameters(args, kwargs)
        return [*np.moveaxis(chances, -1, 0)], place


_OPTIONS = {"rvs": ("size", "random_state"), "stats": ("moments",)}  # of a frozen distribution


class Frozen(_Stand):
    """A distribution whose parameters are given."""

    def __init__(self, distribution, args, kwargs):
        self.distribution, self.args, self.kwargs = distribution, args, kwargs
        if not nestlevel():
            self.scipys  # noqa: B018 - raises where SciPy does

    @functools.cached_property
    def scipys(self) -> Any:
        return self.distribution.scipys(*self.args, **self.kwargs)

    def __getattr__(self, name):
        plain_draw = name == "rvs" and not watched_leaves((self.args, self.kwargs))
        if plain_draw or name not in self.distribution.methods:
            return getattr(self.scipys, name)
        return lambda *given, **named: self._called(name, given, named)

    def _called(self, name, given, named):
        if name in _OPTIONS:
            given, named = (), dict(zip(_OPTIONS[name], given, strict=False)) | named
        elif name == "interval" and not given:
            given = (named.pop("confidence"),)
        elif name in self.distribution.points:
            given = self.distribution.point_first(name, given, named)
        method = getattr(self.distribution, name)
        return method(*given, *self.args, **self.kwargs, **named)
