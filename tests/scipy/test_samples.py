"""Statistics of samples, against SciPy's values and against differences of SciPy's."""

import numpy as np
import pytest
import scipy.stats

import zyg
from zyg.scipy import stats

from ..calls.calls import array

X = np.abs(np.random.default_rng(3).normal(size=(4, 3))) + 0.2
Y = np.random.default_rng(4).normal(size=(4, 3))
WEIGHTS = np.random.default_rng(5).uniform(0.5, 1.5, size=(4, 3))
# A function -> the options of its calls with one sample.
CALLS = {
    "zscore": [{}, {"axis": 1, "ddof": 1}, {"axis": None}],
    "gzscore": [{}, {"axis": 1}],
    "gmean": [{}, {"axis": None}, {"axis": 1, "keepdims": True}, {"weights": WEIGHTS}],
    "hmean": [{}, {"axis": (0, 1)}, {"weights": WEIGHTS, "axis": 1}, {"dtype": float}],
    "pmean": [{"p": 3}, {"p": -0.5, "axis": 1}, {"p": 0}, {"p": 2, "weights": WEIGHTS}],
    "skew": [{}, {"bias": False, "axis": 1}, {"axis": None, "keepdims": True}],
    "kurtosis": [{}, {"fisher": False}, {"bias": False}, {"bias": False, "fisher": False}],
    "moment": [{"order": 3}, {"order": [1, 2, 4]}, {"order": 2, "center": 0.3}, {"axis": None}],
    "sem": [{}, {"ddof": 0, "axis": 1}],
    "trim_mean": [{"proportiontocut": 0.3}, {"proportiontocut": 0.1, "axis": None}],
    "variation": [{}, {"ddof": 1, "axis": 1}, {"keepdims": True}],
    "iqr": [{}, {"axis": 0, "rng": (10, 60)}, {"scale": "normal"}, {"interpolation": "lower"}],
    "gstd": [{}, {"axis": 1, "ddof": 0}, {"axis": None}],
    "entropy": [{}, {"base": 2, "axis": 1}, {"qk": WEIGHTS}, {"qk": WEIGHTS, "axis": None}],
    "circmean": [{}, {"axis": 0}, {"high": 3.0, "low": -1.0}],
    "circvar": [{}, {"axis": 0}, {"high": 3.0, "low": -1.0}],
    "circstd": [{}, {"axis": 0, "normalize": True}, {"high": 3.0, "low": -1.0}],
    "boxcox": [{"lmbda": 0.4}, {"lmbda": 0}],
    "yeojohnson": [{"lmbda": 0.4}, {"lmbda": 2.0}],
}
CASES = [(name, options) for name, calls in CALLS.items() for options in calls]


def same(ours, theirs):
    assert type(ours) is type(theirs)
    assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_statistics_of_one_sample(name, options):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)

    for x in (X, X.astype(np.float32)):
        same(zyg.pullback(lambda a: ours(a, **options), x)[0], theirs(x, **options))
    zyg.check_gradient(lambda a: np.sin(ours(a, **options)), X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: stats.gmean(x, weights=w, axis=1),
        lambda x, w: stats.hmean(x, weights=w),
        lambda x, w: stats.pmean(x, 1.7, weights=w),
        lambda x, w: stats.entropy(x, w),
        lambda x, w: stats.zmap(x, w, axis=1, ddof=1),
        lambda x, w: stats.pmean(x, w[0, 0]),
        lambda x, w: stats.circmean(x, w[0, 0] + 3.0, -w[0, 1]),
        lambda x, w: stats.boxcox(x, w[0]),
        lambda x, w: stats.yeojohnson(x - 1.0, w[0, 0]),
        lambda x, w: stats.moment(x, 3, center=w[0, 0]),
    ],
)
def test_statistics_move_with_their_weights_and_parameters(f):
    zyg.check_gradient(f, X, WEIGHTS)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_correlations_and_lines(alternative):
    x, y = X[:, 0], Y[:, 0]

    def correlated(x, y):
        return stats.pearsonr(x, y, alternative=alternative)

    def line(x, y):
        found = stats.linregress(x, y, alternative)
        return np.stack([*found, found.intercept_stderr])

    zyg.check_gradient(lambda x, y: np.stack([*correlated(x, y)]), x, y)
    zyg.check_gradient(line, x, y)
    zyg.check_gradient(lambda x, y: stats.pearsonr(x, y, axis=1).statistic, X, Y)


def test_results_are_scipys():
    x, y = X[:, 0], Y[:, 0]
    for name in ("pearsonr", "linregress"):
        plain, found = getattr(scipy.stats, name)(x, y), []
        zyg.gradient(lambda x, n=name, f=found: f.append(getattr(stats, n)(x, y)) or f[0][0], x)
        assert type(found[0]) is type(plain)
        np.testing.assert_array_equal([zyg.primal(v) for v in found[0]], [*plain])


def test_two_points_lie_on_a_line():
    new = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"  # whose errors of two points are NaN
    most = 3 if new else None
    zyg.check_gradient(lambda y: np.stack(stats.linregress([1.0, 2.0], y)[:most]), Y[0, :2])
    slope = zyg.gradient(lambda y: stats.pearsonr([1.0, 2.0], y)[0], Y[0, :2])[0]
    np.testing.assert_allclose(slope, 0.0, atol=1e-15)


@pytest.mark.parametrize("name", ["wasserstein_distance", "energy_distance"])
def test_distances_of_samples(name):
    f = getattr(stats, name)

    zyg.check_gradient(f, Y[:, 0], X[:3, 1])
    zyg.check_gradient(f, Y[:, 0], X[:3, 1], WEIGHTS[:, 0], WEIGHTS[:3, 1])
    value = zyg.pullback(f, Y[:, 0], X[:3, 1])[0]
    assert value == getattr(scipy.stats, name)(Y[:, 0], X[:3, 1])


def test_options_of_all_kinds():
    missing = X.copy()
    missing[0, 0] = np.nan
    found = zyg.gradient(lambda x: np.sum(stats.skew(x, nan_policy="omit")), missing)[0]
    for k in range(X.shape[1]):
        rows = slice(k == 0, None)
        alone = zyg.gradient(lambda x: stats.skew(x), X[rows, k])[0]
        np.testing.assert_allclose(found[rows, k], alone, rtol=1e-12)
    zyg.check_gradient(lambda x: stats.moment(x, 2, center=x[1]), X[:, 0])


def test_what_scipy_raises_it_raises():
    with pytest.raises(ValueError, match="axis"):
        zyg.pullback(lambda x: stats.gmean(x, axis=3), array(4))


def test_without_nan_nothing_is_left_out():
    zyg.check_gradient(lambda x: stats.kurtosis(x, nan_policy="omit"), X, order=1)
