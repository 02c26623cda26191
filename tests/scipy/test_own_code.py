"""What is differentiated along SciPy's own code: SciPy's bits; the slopes of differences."""

import inspect

import numpy as np
import pytest
import scipy.stats

import zyg
from zyg.adoption.copies import Copies
from zyg.base.caches import clear
from zyg.errors import MissingRuleError
from zyg.scipy import signal, stats
from zyg.tools.samples import leaves_apart

from ..calls.formulas_own_code import ALL, INPUT, ROUGH, TIMES, A, B, X

OLD = np.lib.NumpyVersion(scipy.__version__) < "1.18.0"  # which takes a filter that begins with 0


def named(row):
    return inspect.getsource(row[0]).strip()[:60]


@pytest.mark.parametrize("row", ALL, ids=named)
def test_values_are_scipys_and_slopes_those_of_differences(row):
    f, *args = row
    plain, watched = f(*args), zyg.pullback(f, *args)[0]
    for x, y in zip(leaves_apart(plain), leaves_apart(watched), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-16)
    if row not in ROUGH:
        zyg.check_gradient(f, *args)


@pytest.mark.parametrize("row", ROUGH, ids=named)
def test_slopes_of_rough_values_are_those_of_large_differences(row):
    f, x = row
    step = 1e-3 * np.random.default_rng(1).normal(size=x.shape)
    difference = (f(x + step) - f(x - step)) / 2
    slope = zyg.pushforward(f, (x,), (step,))[1]
    np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1.5e-8)  # where searches stop
    weights = np.cos(np.arange(np.size(difference))).reshape(np.shape(difference))
    adjoint = zyg.pullback(f, x)[1](weights)[0]
    np.testing.assert_allclose(np.sum(adjoint * step), np.sum(weights * slope), rtol=1e-9)


def test_what_scipys_code_leaves_out_is_not_left_out_of_derivatives():
    """A first coefficient of 1, by which it does not divide; an input of zeros."""
    monic = np.array([1.0, 0.4, -0.2])
    zyg.check_gradient(lambda b, a: signal.lfiltic(b, a, X[:2], X[2:4]), B, monic)
    zyg.check_gradient(lambda u: signal.lsim((B, A), u, TIMES)[1], np.zeros(5))


@pytest.mark.parametrize(
    ("f", "value"),
    [
        (lambda p: stats.pmean(np.abs(X), p), 0.0),
        (lambda p: stats.yeojohnson(X, p), 2.0),
        (lambda p: stats.yeojohnson_llf(p, X), 0.0),
        (lambda p: stats.boxcox_llf(p, X), 0.0),
        (lambda p: stats.power_divergence(X, lambda_=p), -1.0),
        (lambda p: stats.iqr(X, scale=p), 1.0),
        (lambda w: signal.lp2hp(B, A, w), 1.0),
        (lambda p: signal.cspline1d(X, p), 0.0),
    ],
)
def test_a_parameter_where_scipy_takes_another_formula_is_refused(f, value):
    with pytest.raises(MissingRuleError, match=f"of {value}, where another formula is taken"):
        zyg.pullback(f, value)


def test_coefficients_that_are_cut_off_are_refused():
    with pytest.raises(MissingRuleError, match="begin with 0, which are cut off"):
        zyg.pullback(lambda b: signal.freqresp((b, A), TIMES)[1], np.array([0.0, 1.0]))


def test_matrices_without_correlations():
    """Their eigenvalues are equal, and have no derivatives of their own."""
    for d in (stats.matrix_normal, stats.matrix_t):
        x = np.outer(X[:2], X[:3])
        zyg.check_gradient(lambda x, u, v, d=d: d.logpdf(x, None, u, v), x, np.eye(2), np.eye(3))
    zyg.check_gradient(stats.matrix_normal.entropy, np.eye(2), np.eye(3))


def test_the_studentized_range():
    """Its double integrals take too long for the table of calls."""
    q = np.array([2.1, 3.4])
    for method in ("cdf", "sf"):
        f = getattr(stats.studentized_range, method)
        np.testing.assert_allclose(zyg.pullback(f, q, 3.0, 5.5)[0], f(q, 3.0, 5.5), rtol=1e-9)
        zyg.check_gradient(f, q, 3.0, 5.5, order=1)


def test_what_is_forgotten_is_made_again():
    """Classes that are copied later have the kinds of those that were copied before."""
    zyg.gradient(lambda x: stats.crystalball.pdf(x, 1.3, 2.4), 0.3)
    clear()
    zyg.gradient(lambda x: stats.halfgennorm.pdf(x, 1.3), 0.3)
    zyg.gradient(lambda b: np.sum(signal.dstep((b, A, 0.1), n=3)[1][0]), B)


@pytest.mark.parametrize(
    ("f", "x", "why"),
    [
        (lambda a: signal.bode((B, a), TIMES)[1], np.array([0.0, 0.4, 0.2]), "begin with 0"),
        (lambda a: signal.freqresp((B[1:], [a, 1.0, 0.4]), TIMES)[1], 0.0, "begin with 0"),
        (lambda b: signal.normalize([b, 1.0], A), 0.0, "begin with 0"),
        (lambda b: signal.normalize([b, 1.0], 1e6 * A), 1e-9, "begin with 0"),
        (lambda k: signal.invres(B[:2], A[1:], k), np.array([0.0, 1.0]), "begin with 0"),
        (lambda k: signal.invresz(B[:2], A[1:], k), np.array([1.0, 0.0]), "end with 0"),
        (lambda p: signal.invresz(B[:2], p, [1.1]), np.array([0.4, 0.0]), "poles at 0"),
        (lambda b: signal.sos2tf([[b, 0.7, 0.2, *A]])[0], 0.0, "begin with 0"),
        (lambda a: signal.sos2tf([[*B, a, 0.7, 0.2]])[1], 0.0, "begin with 0"),
        *[(lambda a: signal.lfilter_zi(B, a), np.array([0.0, 1.0]), "begin with 0")] * OLD,
        (lambda q: signal.iircomb(0.2, q), 1.0, "a tangent is infinite"),
        (lambda p: stats.scoreatpercentile(X[:5], p), 50.0, "percentile that is an element"),
        (lambda p: stats.scoreatpercentile(X, p, (0.15, 0.75)), np.array([25.0]), "an element"),
        (lambda x: stats.skewtest(x), np.arange(9.0), "of skewness 0"),
        (lambda x: stats.normaltest(x), np.arange(9.0), "of skewness 0"),
        (lambda n: stats.ttest_ind_from_stats(0.3, 1.2, n, 0.7, 1.4, 6.0), 1.0, "'nobs1' of 1.0"),
        (lambda n: stats.ttest_ind_from_stats(0.3, 1.2, 6.0, 0.7, 1.4, n), 1.0, "'nobs2' of 1.0"),
        (lambda x: stats.hmean(x), np.array([0.0, 1.0, 2.0]), "a watched sample with a 0"),
        (lambda x: stats.gmean([x, 1.0, 2.0]), 0.0, "a watched sample with a 0"),
        (lambda x: stats.pmean(x, -2.0), np.array([0.0, 1.0, 2.0]), "a watched sample with a 0"),
        (lambda p: stats.yeojohnson(X, p), 1e-17, "another formula"),
        (lambda p: stats.yeojohnson_llf(p, X), 2 + 1e-16, "another formula"),
        (lambda d: stats.tstd(X, ddof=d), 0.0, "'ddof' of 0.0, where another formula"),
        (lambda d: stats.describe(X, ddof=d), 0.0, "'ddof' of 0.0, where another formula"),
        (lambda d: stats.gzscore(X, ddof=d), 0.0, "'ddof' of 0.0, where another formula"),
    ],
)
def test_where_scipys_code_takes_another_way_a_derivative_is_refused(f, x, why):
    with pytest.raises(MissingRuleError, match=why):
        zyg.pullback(f, x)


def test_elsewhere_the_same_derivatives_are_right():
    x = np.array([0.0, 1.0, 2.0])
    slopes = zyg.gradient(lambda x: stats.pmean(x, 2.0), x)[0]
    np.testing.assert_allclose(slopes, x / (3 * stats.pmean(x, 2.0)))
    zyg.check_gradient(lambda p: stats.scoreatpercentile(X, p), 50.0)
    zyg.check_gradient(lambda d: stats.tstd(X, ddof=d), 1.0)
    zyg.check_gradient(lambda x: stats.normaltest(x), np.array([*range(8), 11.0]))
    zyg.check_gradient(lambda q: signal.iircomb(0.2, q), 2.0)


def test_inputs_and_times_of_zero_are_not_left_out():
    """A list of zeros; a first time of 0, before which nothing happens."""

    def of_list(u):
        return signal.lsim((B, A), [u, 2 * u, 0.0, 0.0, 0.0], TIMES)[1]

    zyg.check_gradient(of_list, 0.0)
    for f in (lambda t: signal.lsim((B, A), INPUT, t, A[1:]), lambda t: signal.step((B, A), T=t)):
        np.testing.assert_array_equal(zyg.pullback(f, TIMES)[0][0], TIMES)
        rate = zyg.gradient(lambda s, f=f: np.sum(f(TIMES + s)[1]), 0.0)[0]
        later = zyg.gradient(lambda s, f=f: np.sum(f(TIMES + s)[1]), 1e-9)[0]
        np.testing.assert_allclose(rate, later, rtol=1e-7)


def test_equal_values_share_the_slope_of_a_distance():
    """Each has that of its own weight, as where it moves alone."""
    u, v = np.array([0.1, 0.1, 0.7, 0.9]), np.array([0.5, 1.1, 1.1])
    zyg.check_gradient(stats.wasserstein_distance, u, v)
    weights = np.array([1.0, 2.0, 0.5, 1.5])
    zyg.check_gradient(lambda u, v, w: stats.wasserstein_distance(u, v, w), u, v, weights)
    rise = zyg.gradient(lambda u: stats.energy_distance(u, v), np.array([0.1, 0.1 + 1e-9, 0.7]))[0]
    tied = zyg.gradient(lambda u: stats.energy_distance(u, v), np.array([0.1, 0.1, 0.7]))[0]
    np.testing.assert_allclose(tied, rise, rtol=1e-6)
    assert zyg.gradient(lambda u: np.sum(stats.wasserstein_distance_nd(u, v)), u)[0][1] != 0


@pytest.mark.parametrize(("c", "slope"), [(0.5, np.inf), (1.0, 0.5), (2.0, 0.0)])
def test_the_middle_of_dweibull_has_the_slope_of_its_density(c, slope):
    for method, sign in (("cdf", 1), ("sf", -1)):
        f = getattr(stats.dweibull, method)
        assert zyg.gradient(f, 0.0, c) == (sign * slope, 0.0)
        assert zyg.pushforward(f, (0.0, c), (1.0, 1.0)) == (0.5, sign * slope)
        zyg.check_gradient(f, np.array([-0.7, 0.3]), c)


@pytest.mark.parametrize("stop", [1, 5, 10])
def test_after_an_interrupt_copies_are_made_from_the_beginning(monkeypatch, stop):
    copies, copy, asked = Copies("scipy"), Copies._copy, []

    def interrupted(self, value):
        asked.append(value)
        if len(asked) == stop:
            raise KeyboardInterrupt
        return copy(self, value)

    monkeypatch.setattr(Copies, "_copy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copies.of(scipy.stats.tukey_hsd)
    made = copies.of(scipy.stats.tukey_hsd)
    own = scipy.stats.tukey_hsd.__globals__
    for name in ("_tukey_hsd_iv", "TukeyHSDResult"):
        assert made.__globals__[name] is copies.of(own[name]) is not own[name]
