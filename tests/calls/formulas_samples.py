"""Calls of the rules for statistics of samples, of scipy.stats."""

import numpy as np

from zyg.scipy import stats

from .calls import CUBE, V, W, array, call

X, Y = np.abs(array(4, 5)) + 0.2, array(4, 5)
WEIGHTS = np.abs(array(4, 5, seed=1))
NAMES = "pearson", "log-likelihood", "freeman-tukey", "neyman", "cressie-read"
SAMPLE = array(25, seed=1) + np.linspace(0.0, 1.0, 25)
PLAIN = [call(X), call(X, axis=1), call(X, axis=None), call(V**2)]


def correlation(x, y, axis=0):
    found = stats.pearsonr(x, y, axis=axis)
    return found.statistic, found.pvalue


def transformed(x, lmbda):
    """Of nothing SciPy gives back what it is given."""
    return +stats.yeojohnson(x, lmbda)


def line(x, y, alternative="two-sided"):
    found = stats.linregress(x, y, alternative)
    return *found, found.intercept_stderr


def boxcox_likelihood(x, power):
    return stats.boxcox_llf(power, x)


def yeojohnson_likelihood(x, power):
    return stats.yeojohnson_llf(power, x)


def limited(x):
    limits = {"axis": None, "limits": (None, 1.4), "inclusive": (True, False)}
    means = [f(x, **limits) for f in (stats.tmean, stats.tvar, stats.tstd, stats.tsem)]
    return [*means, stats.tmin(x, -1.2, None, False), stats.tmax(x, 1.2, None)]


def variances(x, y, z):
    return [*stats.f_oneway(x, y, z, axis=1)]


def normality(x):
    tests = stats.skewtest, stats.kurtosistest, stats.normaltest, stats.jarque_bera
    return [part for test in tests for part in test(x, axis=0)]


def from_statistics(mean, spread, other_mean, other_spread):
    given = mean, spread, 5, other_mean, other_spread, 7
    found = stats.ttest_ind_from_stats(*given), stats.ttest_ind_from_stats(*given, False, "less")
    return [part for test in found for part in test]


def normal_test(x):
    return [*stats.shapiro(x)]


def between_points(u, v):
    return stats.wasserstein_distance_nd(u, v)


def between_weighed(u, v):
    return stats.wasserstein_distance_nd(u, v, [1, 2, 3, 2], [2, 1, 1])


def line_of_medians(x, y):
    return stats.siegelslopes(y, x)


def simplex(v):
    e = np.exp(v)
    return e / np.sum(e)


def direction(v):
    return v / np.sqrt(np.sum(v * v))


def of_matrices(x, mean, rows, columns):
    normal, t = stats.matrix_normal, stats.matrix_t
    return (
        normal.logpdf(x, mean, rows, columns), normal.entropy(rows, columns),
        t.logpdf(x, mean, rows, columns, 4.0),
    )  # fmt: skip


def of_counts(p, a):
    counts, chances = [2, 1, 3], simplex(p)
    plain, mixed = stats.multinomial, stats.dirichlet_multinomial
    return plain.logpmf(counts, 6, chances), mixed.logpmf(counts, a, 6), mixed.cov(a, 6)


def of_directions(x, mu, kappa):
    return stats.vonmises_fisher.logpdf(direction(x), direction(mu), kappa)


def of_pairs(x, s2, *parameters):
    pairs = stats.normal_inverse_gamma
    return pairs.logpdf(x, s2, *parameters), *pairs.mean(*parameters), *pairs.var(*parameters)


def of_trials(p):
    return [f(1, p) for f in (stats.poisson_binom.logpmf, stats.poisson_binom.cdf)]


def of_greatest_differences(x):
    one = stats.ksone
    return [f(x, 7) for f in (one.pdf, one.logpdf, one.cdf, one.sf, one.logsf)]


def of_two_sided_differences(x):
    return [f(x, 7) for f in (stats.kstwo.cdf, stats.kstwo.sf, stats.kstwo.logsf)]


def of_sums(x):
    return [f(x, 3) for f in (stats.irwinhall.pdf, stats.irwinhall.cdf, stats.irwinhall.sf)]


def quantiles_of_statistics(q):
    two, one, sums = stats.kstwo, stats.ksone, stats.irwinhall
    return two.ppf(q, 7), two.isf(q, 7), one.ppf(q, 7), one.isf(q, 7), sums.ppf(q, 3)


def of_ranks(a):
    law = stats.zipfian
    return [f(np.array([1, 2, 5]), a, 8) for f in (law.logpmf, law.pmf, law.cdf, law.sf)]


def of_odds(odds):
    law = stats.nchypergeom_fisher
    return [f(np.array([1, 2, 5]), 20, 7, 12, odds) for f in (law.pmf, law.cdf, law.sf)]


def log_of_odds(odds):
    return stats.nchypergeom_fisher.logpmf(np.array([1, 2, 5]), 20, 7, 12, odds)


MEAN, ROWS = array(2, 3), np.array([[1.3, 0.2], [0.2, 0.9]])
COLUMNS = np.array([[1.1, 0.1, 0.2], [0.1, 0.8, 0.3], [0.2, 0.3, 1.4]])
CALLS = {
    stats.expectile: [call(V, 0.3), call(V, 0.7, weights=V**2)],
    normal_test: [call(3 * np.sort(SAMPLE[:n]) + np.arange(n)) for n in (3, 7, 11, 12, 25)],
    between_points: [call(array(4, 2), array(3, 2, seed=1)), call(V, W), call(Y, Y + 0.3 * X)],
    between_weighed: [call(array(4, 2), array(3, 2, seed=1))],
    line_of_medians: [call(np.array([0.1, 0.73, 0.35, 0.9, 0.21]), array(5, seed=3) ** 3)],
    of_matrices: [call(1.1 * MEAN, MEAN, ROWS, COLUMNS)],
    of_counts: [call(V[:3], W**2)],
    of_directions: [call(V[:3], W, 1.7)],
    of_trials: [call(np.array([0.3, 0.9, 0.2, 0.6])), call(np.array([[0.3, 0.9], [0.2, 0.6]]))],
    of_greatest_differences: [call(np.array([0.23, 0.41, 0.83]))],
    of_two_sided_differences: [call(np.array([0.23, 0.41, 0.83]), order=1)],
    of_sums: [call(np.array([0.23, 1.41, 2.83]))],
    quantiles_of_statistics: [call(np.array([0.23, 0.61]), order=1)],
    of_ranks: [call(1.7), call(1.0), call(0.3)],
    of_odds: [call(2.3), call(np.array([0.7, 1.0, 2.3]))],
    log_of_odds: [call(2.3)],
    of_pairs: [call(0.3, 0.7, 0.2, 1.3, 2.3, 1.7)],
    stats.zscore: [call(Y), call(Y, 1, 1), call(Y, None), call(V)],
    stats.gzscore: [call(X), call(X, axis=1)],
    stats.zmap: [call(Y, X), call(V, W), call(Y, X, 1, 1)],
    stats.gmean: [
        *PLAIN, call(X, 1, keepdims=True), call(X, weights=WEIGHTS), call(np.abs(CUBE), (0, 2)),
    ],
    stats.hmean: [*PLAIN, call(X, (0, 1)), call(X, weights=WEIGHTS, axis=1)],
    stats.pmean: [
        call(X, 3.0), call(X, 2, axis=None), call(X, -0.5, axis=1), call(V**2, 0),
        call(X, 2, weights=WEIGHTS),
    ],
    stats.skew: [*PLAIN, call(Y, 1, False), call(Y, None, keepdims=True)],
    stats.kurtosis: [
        *PLAIN, call(Y, fisher=False), call(Y, 0, True, False), call(Y, 0, False, False),
    ],
    stats.moment: [
        call(Y, 2), call(V, 3), call(Y, [2, 3, 4]), call(Y, 2, 1, center=0.3), call(Y, 2, None),
    ],
    stats.sem: [*PLAIN, call(Y, 1, 0), call(Y, keepdims=True)],
    stats.trim_mean: [
        call(array(7), proportiontocut=0.3), call(Y, proportiontocut=0.1, axis=None),
        call(Y, proportiontocut=0.3, axis=1),
    ],
    stats.variation: [*PLAIN, call(X, 1, ddof=1), call(X, keepdims=True)],
    stats.iqr: [
        *PLAIN, call(Y, 0, (10, 60)), call(Y, scale="normal"), call(Y, interpolation="lower"),
        call(Y, keepdims=True),
    ],
    stats.gstd: [*PLAIN, call(X, 1, 0), call(X, 0, keepdims=True)],
    stats.entropy: [
        *PLAIN, call(X, base=2), call(X, WEIGHTS), call(X, WEIGHTS, axis=None), call(X, X[0]),
    ],
    stats.circmean: [*PLAIN, call(Y, 3.0, -1.0), call(Y, axis=0, keepdims=True)],
    stats.circvar: [*PLAIN, call(Y, 3.0, -1.0)],
    stats.circstd: [*PLAIN, call(Y, 3.0, -1.0), call(Y, axis=0, normalize=True)],
    stats.boxcox: [call(W**2, 0.4), call(X[:, 0], 0)],
    transformed: [call(V, 0.4), call(Y, 2.0), call(V, lmbda=0)],
    correlation: [call(V, array(4, seed=1)), call(X**2, Y), call(array(4), array(4, seed=2))],
    line: [
        call(V, array(4, seed=1)), call(V, array(4, seed=1), "less"), call(V[:2], W[:2]),
    ],
    stats.tmean: [call(Y, axis=1), call(Y), call(V)],
    stats.tvar: [call(Y, axis=1), call(Y), call(V)],
    stats.tstd: [call(Y, axis=1), call(Y), call(V)],
    stats.tsem: [call(Y, axis=1), call(Y), call(V)],
    stats.tmin: [call(Y), call(Y, axis=1), call(Y, axis=None)],
    stats.tmax: [call(Y), call(Y, axis=1), call(Y, axis=None)],
    limited: [call(Y)],
    stats.kstat: [call(Y, k) for k in (1, 2, 3, 4)],
    stats.kstatvar: [call(Y, 1), call(Y, 2, axis=1)],
    boxcox_likelihood: [call(X, 0.4), call(X[:, 0], -0.5)],
    yeojohnson_likelihood: [call(Y, 0.4), call(V, 1.3)],
    stats.chisquare: [call(X, ddof=1), call(X, axis=1), call(X, axis=None)],
    stats.power_divergence: [call(X, axis=None, lambda_=name) for name in (*NAMES, 0.7)],
    variances: [call(X, X[:, :3] + 0.4, Y[:, :4])],
    normality: [call(SAMPLE), call(np.stack([SAMPLE, SAMPLE**2], 1))],
    from_statistics: [call(0.3, 1.3, 0.7, 0.9), call(V, V**2, 0.7, 0.9)],
    stats.wasserstein_distance: [call(V, W), call(V, W, V**2, W**2), call(V[:1], W[:1])],
    stats.energy_distance: [call(V, W), call(V, W, V**2, W**2)],
}  # fmt: skip
