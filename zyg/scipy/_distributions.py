"""Distributions as formulas in functions that have rules, called as SciPy's are.

A formula is that of the standard distribution, at points inside of its support; loc and scale, the
points outside, and arguments that define no distribution are seen to here. What is no formula
(``rvs``, ``fit``, ``mean``) is SciPy's own.
"""

import functools
import operator
from typing import Any, ClassVar

import numpy as np
from scipy import special as sp
from scipy import stats

from zyg.rules.kit import as_array, dropins, nestlevel, strip
from zyg.scipy._linalg_factors import cholesky
from zyg.scipy._linalg_systems import solve_triangular

LOG_2PI = np.log(2 * np.pi)


def _number(y):
    """A number where NumPy makes an array without axes."""
    return y[()] if isinstance(strip(y), np.ndarray) and np.ndim(y) == 0 else y


def _wide(x):
    """`x` in double precision, as SciPy's distributions compute."""
    x = as_array(x) if isinstance(x, (list, tuple)) else x
    plain = strip(x)
    # Python's zero becomes NumPy's, by which one can divide.
    as_it_is = plain.dtype == np.float64 if hasattr(plain, "dtype") else plain != 0
    return x if as_it_is else x * np.float64(1)


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


class _OfSciPy(_Stand):
    """A distribution of SciPy's, whose `methods` are formulas where a gradient runs."""

    methods: ClassVar[Any]

    def __init__(self, name):
        self.scipys = getattr(stats, name)

    def __getattr__(self, name):
        method = getattr(self.scipys, name)
        if name in self.methods:
            method = self.__dict__[name] = dropins.drop_in(method, self._formula_of(name))
        return method

    def _formula_of(self, name):
        return getattr(self, f"_{name}")


class _Distribution(_OfSciPy):
    """A distribution by formulas: methods ``f(x, *shapes, loc, scale)``, and a frozen form."""

    starts_flat = False  # whether all derivatives are 0 where the support starts, as outside

    def __init__(self, name, shapes, valid, support, formulas):
        super().__init__(name)
        self.name, self.valid, self.formulas = name, valid, formulas
        self.names = [*shapes, *self.location]
        self.least, self.most = support

    def __call__(self, *args, **kwargs):
        return _Frozen(self, args, kwargs)

    def _formula_of(self, name):
        formula: Any = functools.partial(self._method, name)
        formula.__name__ = f"{self.name}.{name}"
        return formula

    def _parameters(self, args, kwargs):
        """The shapes, and the parameters of location, in order."""
        given = dict(zip(self.names, args, strict=False)) | kwargs
        if len(args) > len(self.names) or given.keys() - set(self.names):
            raise TypeError(f"{self.name} takes the parameters {', '.join(self.names)}")
        if missing := [n for n in self.names if n not in given and n not in self.location]:
            raise TypeError(f"{self.name} is missing the parameter {missing[0]!r}")
        values = [_wide(given.get(name, self.location.get(name))) for name in self.names]
        count = len(self.names) - len(self.location)
        return values[:count], values[count:]

    def _method(self, name, x, *args, **kwargs):
        shapes, place = self._parameters(args, kwargs)
        with np.errstate(all="ignore"):
            valid = self.valid(*map(strip, shapes))
            return _number(self.methods[name](self, name, _wide(x), shapes, place, valid))

    def _formula(self, name, z, shapes):
        """The formula called `name`, or by that of which it is the logarithm or the complement."""
        if name in self.formulas:
            return self.formulas[name](z, *shapes)
        if name.startswith("log"):
            y = self._formula(name[3:], z, shapes)
            rest = self._formula("sf" if name == "logcdf" else "cdf", z, shapes)
            small = strip(y) < 0.5  # a probability near 1 is known by the rest
            return np.where(small, np.log(np.where(small, y, 1.0)), np.log1p(-rest))
        if name == "isf":
            return self._formula("ppf", 1 - z, shapes)
        if name == "sf":
            return 1 - self._formula("cdf", z, shapes)
        return np.exp(self._formula("log" + name, z, shapes))

    def _inside(self, name, z, shapes, inside, valid, below, above):
        """The formula where `inside`; else the values below and above the support, or NaN."""
        inner = self.least + 0.5 if np.isfinite(self.least) else 0.0
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


class Continuous(_Distribution):
    location: ClassVar = {"loc": 0.0, "scale": 1.0}

    def _at_point(self, name, x, shapes, place, valid):
        loc, scale = place
        z = (x - loc) / scale
        plain = strip(z)
        inside = (plain >= self.least) & (plain <= self.most) & ~np.isinf(plain)
        if self.starts_flat:
            inside = inside & (plain > self.least)
        y = self._inside(name, z, shapes, inside, valid & (strip(scale) > 0), *_BEYOND[name])
        if name == "logpdf":
            return y - np.log(scale)
        return y / scale if name == "pdf" else y

    def _quantile(self, name, q, shapes, place, valid):
        loc, scale = place
        plain = strip(q)
        inside = (plain > 0) & (plain < 1)
        y = self._formula(name, np.where(inside, q, 0.5), shapes)
        ends = (self.least, self.most) if name == "ppf" else (self.most, self.least)
        outer = np.where(plain == 0, ends[0], np.where(plain == 1, ends[1], np.nan))
        y = np.where(inside, y, outer) * scale + loc
        return np.where(valid & (strip(scale) > 0), y, np.nan)

    methods: ClassVar = {
        **dict.fromkeys(("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"), _at_point),
        **dict.fromkeys(("ppf", "isf"), _quantile),
    }


class Discrete(_Distribution):
    location: ClassVar = {"loc": 0}

    def _at_point(self, name, k, shapes, place, valid):
        z = strip(k) - strip(place[0])  # of integers: no derivative
        whole = np.floor(z)
        most = self.most(*map(strip, shapes)) if callable(self.most) else self.most
        if name in ("pmf", "logpmf"):
            inside = (z >= self.least) & (z <= most) & (z == whole)
        else:
            inside = (z >= self.least) & (z < most) & ~np.isinf(z)
        return self._inside(name, whole, shapes, inside, valid, *_BEYOND[name])

    methods: ClassVar = dict.fromkeys(("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"), _at_point)


class _Frozen(_Stand):
    """A distribution whose parameters are given."""

    def __init__(self, distribution, args, kwargs):
        self.distribution, self.args, self.kwargs = distribution, args, kwargs
        if not nestlevel():
            self.scipys  # noqa: B018 - raises where SciPy does

    @functools.cached_property
    def scipys(self) -> Any:
        return self.distribution.scipys(*self.args, **self.kwargs)

    def __getattr__(self, name):
        if name not in self.distribution.methods:
            return getattr(self.scipys, name)
        method = getattr(self.distribution, name)
        return lambda x: method(x, *self.args, **self.kwargs)


# Of several variables


class Dirichlet(_OfSciPy):
    """scipy.stats.dirichlet, its density."""

    methods: ClassVar = ("pdf", "logpdf")

    def __call__(self, *args, **kwargs):
        return self.scipys(*args, **kwargs)

    def _logpdf(self, x, alpha):
        x, alpha = _wide(x), _wide(alpha)
        stats.dirichlet.logpdf(strip(x), strip(alpha))  # raises where they define none
        if len(x) == len(alpha) - 1:
            x = np.concatenate([x, np.expand_dims(1 - np.sum(x, axis=0), 0)])
        scale = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
        return _number(np.sum(np.transpose(sp.xlogy(alpha - 1, np.transpose(x))), axis=0) - scale)

    def _pdf(self, x, alpha):
        return np.exp(self._logpdf(x, alpha))


class MultivariateNormal(_OfSciPy):
    """scipy.stats.multivariate_normal by the factor of Cholesky; its covariance is regular."""

    methods: ClassVar = ("pdf", "logpdf", "entropy")

    def __call__(self, *args, **kwargs):
        return self.scipys(*args, **kwargs)

    def _logpdf(self, x, mean=None, cov=1.0):
        x = _wide(x)
        mean, factor = self._mean_and_factor(mean, cov)
        n = len(factor)
        rows = np.reshape(x, (-1, n)) - mean
        unit = solve_triangular(factor, np.transpose(rows), 0, True)
        y = -0.5 * (n * LOG_2PI + np.sum(unit * unit, axis=0)) - self._log_scale(factor)
        shape = np.shape(x) if n == 1 and np.ndim(x) < 2 else np.shape(x)[:-1]
        return _number(np.reshape(y, shape))

    def _pdf(self, x, mean=None, cov=1.0):
        return np.exp(self._logpdf(x, mean, cov))

    def _entropy(self, mean=None, cov=1.0):
        _, factor = self._mean_and_factor(mean, cov)
        return 0.5 * len(factor) * (LOG_2PI + 1) + self._log_scale(factor)

    def _log_scale(self, factor):
        return np.sum(np.log(np.diagonal(factor)))

    def _mean_and_factor(self, mean, cov):
        cov = _wide(cov)
        n = np.size(mean) if mean is not None else len(cov) if np.ndim(cov) else 1
        mean = np.zeros(n) if mean is None else np.reshape(_wide(mean), (n,))
        if np.ndim(cov) < 2:
            cov = np.eye(n) * cov
        return mean, cholesky(cov, True)
