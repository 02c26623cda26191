"""Statistics of samples: SciPy's values, with derivatives by formulas of rows."""

import functools

import numpy as np
from scipy import special, stats

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import as_array, composed, is_complex, is_watched, strip, with_value
from zyg.scipy._closures import plain, refuse
from zyg.scipy._namespace import called_as
from zyg.scipy._valued import arguments_of, length_of, valued, with_formula


def real_numbers(name, x, policy="propagate"):
    """A sample as an array; refused where it has no formula."""
    x = as_array(x)
    if is_complex(x):
        raise unknown_call(f"scipy.stats.{name}", "its rule covers only real samples")
    if policy == "omit" and np.any(np.isnan(strip(x))):
        raise unknown_call(f"scipy.stats.{name}", "its rule cannot leave out what is NaN")
    return x


def rows_of(x, axis):
    """A sample along the last axis."""
    if axis is None:
        return np.ravel(x)
    x = np.atleast_1d(x)
    axes = axis if isinstance(axis, tuple) else (axis,)
    x = np.moveaxis(x, axes, range(-len(axes), 0))
    return np.reshape(x, (*np.shape(x)[: np.ndim(x) - len(axes)], -1))


def statistic(key, *names):
    """Register the formula of a number for each row of samples, which are broadcast."""

    def register(formula):
        @functools.wraps(formula)
        def of_samples(*args, **kwargs):
            given = arguments_of(key, args, kwargs)
            y = key(*plain(args), **plain(kwargs))
            axis, policy = plain(given.pop("axis")), given.pop("nan_policy")
            given.pop("keepdims")
            known = [name for name in names if given.get(name) is not None]
            samples = [real_numbers(key.__name__, given[name], policy) for name in known]
            if not min(map(np.size, samples)):  # NaN, of nothing
                return y

            def of_rows():
                rows = (rows_of(x, axis) for x in np.broadcast_arrays(*samples))
                given.update(zip(known, rows, strict=True))
                return np.reshape(formula(**given), np.shape(y))

            return with_formula(key, y, of_rows, (args, kwargs))

        composed(key)(called_as(key, of_samples))
        return formula

    return register


# Means


def _mean(x, weights=None):
    if weights is None:
        return np.mean(x, axis=-1)
    return np.sum(x * weights, axis=-1) / np.sum(weights, axis=-1)


def _not_negative(a, dtype):
    """The sample in this precision; NaN where it is negative, of which there is no mean."""
    a = a if dtype is None else np.astype(a, dtype)
    return np.where(strip(a) < 0, np.nan, a)


@statistic(stats.gmean, "a", "weights")
def gmean(a, dtype, weights):
    return np.exp(_mean(np.log(_not_negative(a, dtype)), weights))


@statistic(stats.hmean, "a", "weights")
def hmean(a, dtype, weights):
    return 1.0 / _mean(1.0 / _not_negative(a, dtype), weights)


@statistic(stats.pmean, "a", "weights")
def pmean(a, p, dtype, weights):
    if strip(p) != 0:
        return _mean(_not_negative(a, dtype) ** p, weights) ** (1 / p)
    if is_watched(p):
        raise unknown_call("scipy.stats.pmean", "its rule does not cover a watched p of 0")
    return gmean(a, dtype, weights)


@statistic(stats.trim_mean, "a")
def trim_mean(a, proportiontocut):
    n = np.shape(a)[-1]
    cut = int(strip(proportiontocut) * n)
    return np.mean(np.sort(a, axis=-1)[..., cut : n - cut], axis=-1)


# Moments


def _centered(x):
    return x - np.mean(x, axis=-1, keepdims=True)


def _moment(x, order):
    return np.mean(_centered(x) ** order, axis=-1)


@statistic(stats.skew, "a")
def skew(a, bias):
    n, ratio = np.shape(a)[-1], _moment(a, 3) / _moment(a, 2) ** 1.5
    return ratio if bias or n < 3 else ratio * (np.sqrt((n - 1.0) * n) / (n - 2.0))


@statistic(stats.kurtosis, "a")
def kurtosis(a, fisher, bias):
    n, ratio = np.shape(a)[-1], _moment(a, 4) / _moment(a, 2) ** 2
    excess = ratio - 3
    if not bias and n > 3:
        excess = ((n**2 - 1.0) * ratio - 3 * (n - 1) ** 2.0) / ((n - 2) * (n - 3))
    return excess if fisher else excess + 3


@statistic(stats.moment, "a")
def moment(a, order, center):
    if np.size(center) > 1:
        raise unknown_call("scipy.stats.moment", "its rule knows one center for all samples only")
    d = _centered(a) if center is None else a - np.reshape(as_array(center), ())
    powers = [np.mean(d ** int(k), axis=-1) for k in np.ravel(strip(order))]
    return np.stack(powers)


@statistic(stats.sem, "a")
def sem(a, ddof):
    return np.std(a, axis=-1, ddof=ddof) / np.sqrt(np.shape(a)[-1])


@statistic(stats.variation, "a")
def variation(a, ddof):
    return np.std(a, axis=-1, ddof=ddof) / np.mean(a, axis=-1)


_SCALES = {"normal": special.erfinv(0.5) * 2.0 * np.sqrt(2.0)}


@statistic(stats.iqr, "x")
def iqr(x, rng, scale, interpolation):
    scale = _SCALES[scale.lower()] if isinstance(scale, str) else scale
    low, high = np.percentile(x, sorted(strip(rng)), axis=-1, method=interpolation)
    return (high - low) / scale


def _standardized(name, scores, compare, axis, ddof, policy):
    scores, compare = (real_numbers(name, x, policy) for x in (scores, compare))
    spread = np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    return (scores - np.mean(compare, axis=axis, keepdims=True)) / spread


@valued(stats.zmap)
def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    return _standardized("zmap", scores, compare, axis, ddof, nan_policy)


@valued(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    return _standardized("zscore", a, a, axis, ddof, nan_policy)


@valued(stats.gzscore)
def gzscore(a, *, axis=0, ddof=0, nan_policy="propagate"):
    return zscore(np.log(as_array(a)), axis, ddof, nan_policy)


@valued(stats.gstd)
def gstd(a, axis=0, ddof=1, *, keepdims=False, nan_policy="propagate"):
    logs = np.log(real_numbers("gstd", a, nan_policy))
    return np.exp(np.std(logs, axis=axis, ddof=ddof, keepdims=keepdims))


# Entropies and angles


@statistic(stats.entropy, "pk", "qk")
def entropy(pk, qk, base):
    p = pk / np.sum(pk, axis=-1, keepdims=True)
    if qk is None:
        total = np.sum(special.entr(p), axis=-1)
    else:
        total = np.sum(special.rel_entr(p, qk / np.sum(qk, axis=-1, keepdims=True)), axis=-1)
    return total if base is None else total / np.log(base)


def _circle(samples, period):
    """The means of sines and cosines."""
    angles = samples * (2.0 * np.pi / period)
    return np.mean(np.sin(angles), axis=-1), np.mean(np.cos(angles), axis=-1)


@statistic(stats.circmean, "samples")
def circmean(samples, high, low):
    period = high - low
    angle = np.arctan2(*_circle(samples, period)) * (period / (2.0 * np.pi))
    return np.mod(angle - low, period) + low


@statistic(stats.circvar, "samples")
def circvar(samples, high, low):
    return 1.0 - np.hypot(*_circle(samples, high - low))


@statistic(stats.circstd, "samples")
def circstd(samples, high, low, normalize):
    period = high - low
    spread = length_of(-2.0 * np.log(np.hypot(*_circle(samples, period))))
    return spread if normalize else spread * (period / (2.0 * np.pi))


# Transformations of given power


@valued(stats.boxcox)
def boxcox(x, lmbda=None, alpha=None, optimizer=None):
    _power_is_given("boxcox", lmbda)
    return special.boxcox(as_array(x), lmbda)


@valued(stats.yeojohnson)
def yeojohnson(x, lmbda=None):
    _power_is_given("yeojohnson", lmbda)
    x = as_array(x)
    above = strip(x) >= 0
    up, down = np.where(above, x, 0.0), np.where(above, 0.0, -x)
    return np.where(above, special.boxcox1p(up, lmbda), -special.boxcox1p(down, 2 - lmbda))


def _power_is_given(name, lmbda):
    if lmbda is None:
        raise MissingRuleError(
            f"scipy.stats.{name} without lmbda cannot be differentiated.",
            "the best power of a sample is found by a search, of which there is no rule.",
            f"find it of plain values, then call {name}(x, lmbda).",
        )


# Pairs of samples


def tail_of(below, above, alternative):
    """A probability, by the probabilities below and above of what was found."""
    if alternative == "two-sided":
        return 2 * np.minimum(below, above)
    return below if alternative == "less" else above


def _correlation(x, y):
    x, y = _centered(x), _centered(y)
    squares = np.sum(x * x, axis=-1) * np.sum(y * y, axis=-1)
    return np.sum(x * y, axis=-1) / np.sqrt(squares)


@composed(stats.pearsonr)
def pearsonr(x, y, *, alternative="two-sided", method=None, axis=0):
    if method is not None:
        refuse("scipy.stats.pearsonr", "method", "its rule knows the exact distribution only.")
    made = stats.pearsonr(strip(x), strip(y), alternative=alternative, axis=axis)
    x, y = np.broadcast_arrays(*(real_numbers("pearsonr", v) for v in (x, y)))
    x, y = rows_of(x, axis), rows_of(y, axis)
    r, half = _correlation(x, y), np.shape(x)[-1] / 2 - 1
    statistic, pvalue = made
    if half == 0:  # two points lie on a line, whatever they are
        return made
    below, above = (special.betainc(half, half, (1 + s * r) / 2) for s in (1, -1))
    return stats._stats_py.PearsonRResult(
        statistic=with_value(r, (statistic,)),
        pvalue=with_value(tail_of(below, above, alternative), (pvalue,)),
        alternative=alternative, n=made._n, x=x, y=y, axis=-1,
    )  # fmt: skip


@composed(stats.linregress)
def linregress(x, y, alternative="two-sided", **options):
    if any(strip(v) != {"axis": 0, "nan_policy": "propagate"}.get(k) for k, v in options.items()):
        refuse("scipy.stats.linregress", "/".join(options), "its rule knows two vectors only.")
    made = stats.linregress(strip(x), strip(y), alternative)
    x, y = (real_numbers("linregress", v) for v in (x, y))
    if np.ndim(x) != 1 or np.ndim(y) != 1:
        refuse("scipy.stats.linregress", "a matrix", "its rule knows two vectors only.")
    dx, dy, n = _centered(x), _centered(y), np.size(x)
    xx, yy = np.mean(dx * dx), np.mean(dy * dy)
    slope, r = np.mean(dx * dy) / xx, _correlation(x, y)
    intercept = np.mean(y) - slope * np.mean(x)
    if n == 2:
        return _regression(made, slope, intercept, strip(r), made.pvalue, 0.0, 0.0)
    rest = 1 - r * r
    t = r * np.sqrt((n - 2) / rest)
    p = tail_of(special.stdtr(n - 2, t), special.stdtr(n - 2, -t), alternative)
    error = np.sqrt(rest * yy / xx / (n - 2))
    return _regression(made, slope, intercept, r, p, error, error * np.sqrt(xx + np.mean(x) ** 2))


def _regression(made, slope, intercept, r, pvalue, error, intercept_error):
    """SciPy's result, with the derivatives of these."""
    formulas = {
        "slope": slope, "intercept": intercept, "rvalue": r, "pvalue": pvalue, "stderr": error,
        "intercept_stderr": intercept_error,
    }  # fmt: skip
    return type(made)(**{k: with_value(d, (getattr(made, k),)) for k, d in formulas.items()})


# Distances of distributions


def _distribution(values, weights, places):
    """The distribution function of weighted values, at these places."""
    values = strip(values)
    order = np.argsort(values)
    below = np.searchsorted(values[order], places, "right")
    if weights is None:
        return below / np.size(values)
    sums = np.concatenate([[0.0], np.cumsum(as_array(weights)[order])])
    return sums[below] / sums[-1]


def _gaps(u_values, v_values, u_weights, v_weights):
    """How far two distribution functions are apart, from value to value, and for how long."""
    u, v = as_array(u_values), as_array(v_values)
    places = np.sort(np.concatenate([u, v]), kind="stable")
    ends = strip(places)[:-1]
    apart = _distribution(u, u_weights, ends) - _distribution(v, v_weights, ends)
    return apart, np.diff(places)


@valued(stats.wasserstein_distance)
def wasserstein_distance(u_values, v_values, u_weights=None, v_weights=None):
    apart, lengths = _gaps(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * lengths)


@valued(stats.energy_distance)
def energy_distance(u_values, v_values, u_weights=None, v_weights=None):
    apart, lengths = _gaps(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2.0 * np.sum(apart * apart * lengths))
