"""Trimmed statistics, likelihoods of powers, and tests of samples: statistics and probabilities.

They are SciPy's, with derivatives by formulas of rows. A probability moves as the distribution of
the statistic does.
"""

import numpy as np
from scipy import special, stats

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, composed, strip
from zyg.scipy import _special_probabilities as _special_probabilities
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as
from zyg.scipy._samples import real_numbers, rows_of, statistic, tail_of
from zyg.scipy._valued import arguments_of, valued, with_formula

# Of what lies between two limits


def _kept(a, limits, inclusive):
    """1 for what is between the limits, and 0."""
    low, high = (None, None) if limits is None else limits
    a, kept = strip(a), 1.0
    if low is not None:
        kept = kept * (a >= low if inclusive[0] else a > low)
    if high is not None:
        kept = kept * (a <= high if inclusive[1] else a < high)
    return kept + 0.0 * a


def _trimmed(a, limits, inclusive, ddof=1):
    """The mean, the variance and the number of what is kept."""
    kept = _kept(a, limits, inclusive)
    count = np.sum(kept, axis=-1)
    mean = np.sum(kept * a, axis=-1) / count
    square = np.sum(kept * (a - np.expand_dims(mean, -1)) ** 2, axis=-1)
    return mean, square / (count - ddof), count


@statistic(stats.tmean, "a")
def tmean(a, limits, inclusive):
    return _trimmed(a, limits, inclusive)[0]


@statistic(stats.tvar, "a")
def tvar(a, limits, inclusive, ddof):
    return _trimmed(a, limits, inclusive, ddof)[1]


@statistic(stats.tstd, "a")
def tstd(a, limits, inclusive, ddof):
    return np.sqrt(_trimmed(a, limits, inclusive, ddof)[1])


@statistic(stats.tsem, "a")
def tsem(a, limits, inclusive, ddof):
    _, variance, count = _trimmed(a, limits, inclusive, ddof)
    return np.sqrt(variance / count)


@statistic(stats.tmin, "a")
def tmin(a, lowerlimit, inclusive):
    kept = _kept(a, (lowerlimit, None), (inclusive, True))
    return np.min(np.where(kept == 1, a, np.inf), axis=-1)


@statistic(stats.tmax, "a")
def tmax(a, upperlimit, inclusive):
    kept = _kept(a, (None, upperlimit), (True, inclusive))
    return np.max(np.where(kept == 1, a, -np.inf), axis=-1)


# Moments without bias, likelihoods of powers


def _sums(data):
    n = np.shape(data)[-1]
    return n, [np.mean((data - np.mean(data, axis=-1, keepdims=True)) ** k, axis=-1)
               for k in (2, 3, 4)]  # fmt: skip


@statistic(stats.kstat, "data")
def kstat(data, n):
    count, (two, three, four) = _sums(data)
    ratio = count / (count - 1.0)
    if n == 1:
        return np.mean(data, axis=-1)
    if n == 2:
        return ratio * two
    if n == 3:
        return ratio * count / (count - 2.0) * three
    more = (count + 1.0) * four - 3 * (count - 1) * two**2
    return ratio * count / ((count - 2.0) * (count - 3)) * more


@statistic(stats.kstatvar, "data")
def kstatvar(data, n):
    count, second = np.shape(data)[-1], kstat(data, 2)
    if n == 1:
        return second / count
    fourth = kstat(data, 4)
    return (2 * count * second**2 + (count - 1) * fourth) / (count * (count + 1))


@statistic(stats.boxcox_llf, "data")
def boxcox_llf(lmb, data):
    n, logs = np.shape(data)[-1], np.log(data)
    spread = np.var(special.boxcox(data, lmb), axis=-1)
    return (lmb - 1) * np.sum(logs, axis=-1) - 0.5 * n * np.log(spread)


@statistic(stats.yeojohnson_llf, "data")
def yeojohnson_llf(lmb, data):
    above = strip(data) >= 0
    up, down = np.where(above, data, 0.0), np.where(above, 0.0, -data)
    y = np.where(above, special.boxcox1p(up, lmb), -special.boxcox1p(down, 2 - lmb))
    logs = np.sum(np.log1p(up) - np.log1p(down), axis=-1)
    return (lmb - 1) * logs - 0.5 * np.shape(data)[-1] * np.log(np.var(y, axis=-1))


# Tests: a statistic and a probability


def _tested(key, *names):
    """Register the formula of a statistic and a probability, for each row of samples."""

    def register(formula):
        def of_samples(*args, **kwargs):
            given = arguments_of(key, args, kwargs)
            y = key(*plain(args), **plain(kwargs))
            axis, policy = plain(given.pop("axis", None)), given.pop("nan_policy", "propagate")
            given.pop("keepdims", None)
            known = [name for name in names if given.get(name) is not None]

            def of_rows():
                samples = [real_numbers(key.__name__, given[name], policy) for name in known]
                rows = [rows_of(x, axis) for x in np.broadcast_arrays(*samples)]
                made = formula(**given | dict(zip(known, rows, strict=True)))
                return tuple(np.reshape(d, np.shape(v)) for d, v in zip(made, y, strict=True))

            return with_formula(key, y, of_rows, (args, kwargs))

        composed(key)(called_as(key, of_samples))
        return formula

    return register


def _of_normal(z, alternative="two-sided"):
    return z, tail_of(special.ndtr(z), special.ndtr(-z), alternative)


def _log_cosine(y, n):
    """What skewtest makes of a skewness: near to a standard normal number."""
    y = y * np.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    top = 3.0 * (n * n + 27 * n - 70) * (n + 1) * (n + 3)
    square = -1 + np.sqrt(2 * (top / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9)) - 1))
    return np.arcsinh(y / np.sqrt(2.0 / (square - 1))) / np.sqrt(0.5 * np.log(square))


def _skewness(a):
    _, (two, three, _) = _sums(a)
    return _log_cosine(three / two**1.5, np.shape(a)[-1])


def _peaked(a):
    """What kurtosistest makes of a kurtosis."""
    n, (two, _, four) = _sums(a)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    x = (four / two**2 - 3.0 * (n - 1) / (n + 1)) / np.sqrt(variance)
    skewed = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    skewed = skewed * np.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6.0 + 8.0 / skewed * (2.0 / skewed + np.sqrt(1 + 4.0 / skewed**2))
    root = np.cbrt((1 - 2.0 / a) / (1 + x * np.sqrt(2.0 / (a - 4))))
    return (1 - 2.0 / (9.0 * a) - root) / np.sqrt(2.0 / (9.0 * a))


@_tested(stats.skewtest, "a")
def skewtest(a, alternative):
    return _of_normal(_skewness(a), alternative)


@_tested(stats.kurtosistest, "a")
def kurtosistest(a, alternative):
    return _of_normal(_peaked(a), alternative)


@_tested(stats.normaltest, "a")
def normaltest(a):
    total = _skewness(a) ** 2 + _peaked(a) ** 2
    return total, special.chdtrc(2.0, total)


@_tested(stats.jarque_bera, "x")
def jarque_bera(x):
    n, (two, three, four) = _sums(x)
    total = n / 6 * (three**2 / two**3 + (four / two**2 - 3) ** 2 / 4)
    return total, special.chdtrc(2.0, total)


_POWERS = {
    "pearson": 1, "log-likelihood": 0, "freeman-tukey": -0.5, "mod-log-likelihood": -1,
    "neyman": -2, "cressie-read": 2 / 3,
}  # fmt: skip


@_tested(stats.power_divergence, "f_obs", "f_exp")
def power_divergence(f_obs, f_exp, ddof, lambda_):
    power = _POWERS[lambda_] if isinstance(lambda_, str) else 1 if lambda_ is None else lambda_
    expected = np.mean(f_obs, axis=-1, keepdims=True) if f_exp is None else f_exp
    if power == 1:
        terms = (f_obs - expected) ** 2 / expected
    elif power == 0:
        terms = 2.0 * special.xlogy(f_obs, f_obs / expected)
    elif power == -1:
        terms = 2.0 * special.xlogy(expected, expected / f_obs)
    else:
        terms = f_obs * ((f_obs / expected) ** power - 1) / (0.5 * power * (power + 1))
    total = np.sum(terms, axis=-1)
    return total, special.chdtrc(np.shape(f_obs)[-1] - 1.0 - ddof, total)


@_tested(stats.chisquare, "f_obs", "f_exp")
def chisquare(f_obs, f_exp, ddof, sum_check):
    return power_divergence(f_obs, f_exp, ddof, None)


@valued(stats.f_oneway)
def f_oneway(*samples, axis=0, equal_var=True, nan_policy="propagate", keepdims=False):
    if not strip(equal_var) or keepdims:
        raise unknown_call("scipy.stats.f_oneway", "its rule knows equal variances only")
    rows = [rows_of(real_numbers("f_oneway", x, nan_policy), axis) for x in samples]
    everything = np.concatenate(rows, axis=-1)
    total = np.sum((everything - np.mean(everything, axis=-1, keepdims=True)) ** 2, axis=-1)
    inside = sum(np.sum((x - np.mean(x, axis=-1, keepdims=True)) ** 2, axis=-1) for x in rows)
    groups, rest = len(rows) - 1.0, np.shape(everything)[-1] - float(len(rows))
    ratio = (total - inside) / groups / (inside / rest)
    return ratio, special.fdtrc(groups, rest, ratio)


@valued(stats.ttest_ind_from_stats)
def ttest_ind_from_stats(
    mean1, std1, nobs1, mean2, std2, nobs2, equal_var=True, alternative="two-sided"
):
    one, other = as_array(std1) ** 2 / nobs1, as_array(std2) ** 2 / nobs2
    if strip(equal_var):
        df = nobs1 + nobs2 - 2.0
        pooled = ((nobs1 - 1) * one * nobs1 + (nobs2 - 1) * other * nobs2) / df
        error = np.sqrt(pooled * (1.0 / nobs1 + 1.0 / nobs2))
    else:
        error = np.sqrt(one + other)
        df = (one + other) ** 2 / (one**2 / (nobs1 - 1) + other**2 / (nobs2 - 1))
    t = (as_array(mean1) - as_array(mean2)) / error
    return t, tail_of(special.stdtr(df, t), special.stdtr(df, -t), alternative)
