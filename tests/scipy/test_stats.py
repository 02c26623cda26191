"""The distributions have SciPy's values; and what their calls cannot see."""

import itertools

import mpmath
import numpy as np
import pytest
import scipy.stats

import zyg
from zyg.errors import ConversionError, MissingRuleError
from zyg.scipy import special, stats

from ..calls.scipy_stats import DENSITIES, PARAMETERS, SHAPES, formula

POINTS = np.array([-np.inf, -3.0, -0.7, 0.2, 0.55, 0.9, 1.0, 1.7, 2.5, 6.0, np.nan])
COUNTS = np.array([-1, 0, 1, 2, 0.5, 3, 7, np.nan])
U = np.array([0.1, 0.5, 0.95])
LEVELS = np.array([-0.1, 0.0, 1e-6, 0.2, 0.5, 0.77, 0.999, 1.0, 1.1, np.nan])


def agree(name, method, *args, **kwargs):
    with np.errstate(all="ignore"):
        ours = formula(name, method)(*args, **kwargs)
        theirs = getattr(getattr(scipy.stats, name), method)(*args, **kwargs)
    assert type(ours) is type(theirs)
    # SciPy's logarithms of tails round.
    rounding = 1e-9 if method.startswith("log") else 1e-11
    np.testing.assert_allclose(ours, theirs, rtol=rounding, atol=1e-15)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", DENSITIES)
def test_continuous_distributions_have_scipys_values(name, method):
    shapes = SHAPES[name][0]
    x = POINTS[1:]  # at -inf SciPy's Gumbel density is NaN
    agree(name, method, x, *shapes)
    agree(name, method, x, *shapes, loc=0.3, scale=np.array([[1.7], [0.6]]))
    agree(name, method, x[5], *shapes, 0.1)
    agree(name, method, x, *[-1.0 for _ in shapes], scale=-1.0)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_quantiles_have_scipys_values(name, method):
    shapes = SHAPES[name][0]
    agree(name, method, LEVELS, *shapes)
    agree(name, method, LEVELS, *shapes, loc=0.3, scale=1.7)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"])
def test_discrete_distributions_have_scipys_values(name, method):
    agree(name, method, COUNTS, *PARAMETERS[name])
    agree(name, method, COUNTS, *PARAMETERS[name], loc=1)
    agree(name, method, 1, *PARAMETERS[name])
    if method.endswith("pmf"):  # SciPy's logcdf knows no parameters without a distribution
        agree(name, method, COUNTS, *PARAMETERS[name][:-1], -0.5)


def test_distributions_of_several_variables_have_scipys_values():
    spread = np.array([[2.0, 0.3], [0.3, 1.0]])
    agree("dirichlet", "logpdf", [0.2, 0.3, 0.5], [1.0, 2.0, 3.0])
    agree("dirichlet", "pdf", np.array([[0.2, 0.1], [0.3, 0.3]]), np.array([1.0, 2.0, 3.0]))
    agree("multivariate_normal", "logpdf", np.ones((4, 3, 2)), [0.1, 0.2], spread)
    agree("multivariate_normal", "logpdf", np.ones(4), 0.5, 2.0)
    agree("multivariate_normal", "pdf", [1.0, 2.0])
    agree("multivariate_normal", "logpdf", 1.5, 0.5, 2.0)
    agree("multivariate_normal", "logpdf", [1.5, 2], [0.5, 1.0], [2.0, 1.0])
    agree("multivariate_normal", "entropy", None, spread)
    agree("multivariate_t", "logpdf", np.ones((4, 3, 2)), [0.1, 0.2], spread, 3)
    agree("multivariate_t", "logpdf", np.ones(4), 0.5, 2.0)
    agree("multivariate_t", "logpdf", [1.0, 2.0], [0.1, 0.2], spread, np.inf)
    agree("multivariate_t", "pdf", [1.0, 2.0], None, spread, 2.5)
    rows = np.arange(12.0).reshape(2, 2, 3)
    for name, degrees in (("matrix_normal", ()), ("matrix_t", (3.5,))):
        agree(name, "logpdf", rows / 9, rows[0] / 5, spread, [1.0, 0.5, 2.0], *degrees)
        agree(name, "pdf", rows[1] / 9, rows[0] / 5, np.eye(2), 1.3, *degrees)
    for name in ("wishart", "invwishart"):
        agree(name, "logpdf", spread, 3, spread + np.eye(2))
        agree(name, "pdf", np.stack([spread, spread + np.eye(2)], axis=-1), 2.5, spread)
        agree(name, "logpdf", [1.5, 2.5], 2.5, 0.7)
        agree(name, "logpdf", [1.5, 2.5], 2.5, [0.7, 1.3])
        agree(name, "logpdf", 1.5, 4, [0.7, 1.3])


def test_outside_of_the_support_the_slope_is_0():
    assert zyg.gradient(lambda x: stats.expon.logpdf(x), -1.0) == (0.0,)
    assert zyg.gradient(lambda x, a: stats.gamma.pdf(x, a), -1.0, 2.5) == (0.0, 0.0)
    assert zyg.gradient(lambda x: stats.uniform.cdf(x), 2.0) == (0.0,)
    assert zyg.gradient(lambda p: stats.binom.logpmf(5, 3, p), 0.5) == (0.0,)


def test_a_sum_over_points_inside_and_outside():
    x = np.array([-1.0, 0.5, 2.0])
    got = zyg.gradient(lambda a: np.sum(stats.gamma.pdf(x, a)), 1.5)[0]
    inside = zyg.gradient(lambda a: np.sum(stats.gamma.pdf(x[1:], a)), 1.5)[0]

    assert got == pytest.approx(inside)


def test_wrong_parameters():
    with pytest.raises(TypeError, match="missing the parameter 'df'"):
        zyg.gradient(lambda x: stats.t.logpdf(x), 1.0)
    with pytest.raises(TypeError, match="takes the parameters loc, scale"):
        zyg.gradient(lambda x: stats.norm.logpdf(x, mean=2.0), 1.0)


def test_frozen_distributions():
    assert stats.norm(1.0, 2.0).logpdf(0.3) == pytest.approx(scipy.stats.norm(1.0, 2.0).logpdf(0.3))
    assert zyg.gradient(lambda m: stats.norm(m, scale=2.0).logpdf(0.3), 1.0)[0] == pytest.approx(
        -0.175
    )


def test_the_rest_is_scipys():
    assert stats.norm.mean(3.0) == 3.0
    assert stats.gamma(2.0).rvs(3, random_state=0).shape == (3,)
    assert stats.pearsonr is not None


def test_a_single_precision_point_gives_a_double():
    x = np.ones(2, np.float32)
    y, back = zyg.pullback(stats.norm.logpdf, x)

    assert y.dtype == np.float64
    assert back(y)[0].dtype == np.float32


def test_second_derivatives_of_the_normal_distribution_of_several_variables():
    x, spread = np.array([0.3, 1.0]), np.array([[2.0, 0.3], [0.3, 1.2]])

    zyg.check_gradient(lambda s: stats.multivariate_normal.logpdf(x, None, s), spread)


# In the middle of a symmetric distribution formulas change sides


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("norm", ()), ("laplace", ()), ("logistic", ()), ("cauchy", ()), ("t", (4.0,))],
)
@pytest.mark.parametrize("x", [0.0, np.zeros(2)], ids=["number", "array"])
def test_slopes_in_the_middle_of_a_distribution(name, shapes, x):
    distribution, height = getattr(stats, name), getattr(scipy.stats, name).pdf(0.0, *shapes)

    def slope(method, at):
        total = lambda x: np.sum(getattr(distribution, method)(x, *shapes))  # noqa: E731
        (reverse,) = zyg.gradient(total, at)
        tangent = zyg.pushforward(total, (at,), (np.ones_like(at),))[1] / np.size(at)
        np.testing.assert_allclose(tangent, np.mean(reverse))
        return reverse

    for method, at, expected in (
        ("cdf", x, height), ("sf", x, -height), ("logcdf", x, 2 * height),
        ("logsf", x, -2 * height), ("ppf", x + 0.5, 1 / height), ("isf", x + 0.5, -1 / height),
    ):  # fmt: skip
        np.testing.assert_allclose(slope(method, at), expected, rtol=1e-12)


def test_the_density_of_t_at_0_moves_with_its_degrees_of_freedom():
    def by_df(x):
        return zyg.gradient(lambda df: stats.t.cdf(x, df), 4.0)[0]

    h = 1e-3
    density = [scipy.stats.t.pdf(0.0, 4 + k * h) for k in (1, -1, 2, -2)]
    expected = (8 * (density[0] - density[1]) - (density[2] - density[3])) / (12 * h)

    assert by_df(0.0) == 0.0
    assert zyg.gradient(by_df, 0.0)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (stats.gamma.logpdf, (2.0, 1.0)),
        (stats.beta.logpdf, (0.3, 1.0, 1.0)),
        (stats.chi2.logpdf, (2.0, 2.0)),
        (stats.weibull_min.logpdf, (2.0, 1.0)),
        (stats.f.logpdf, (2.0, 2.0, 3.0)),
        (lambda n, p: stats.binom.logpmf(0, n, p), (3.0, 0.5)),
        (lambda n, p: stats.binom.pmf(0, n, p), (3.0, 0.5)),
    ],
)
def test_hessians_at_usual_parameters(f, at):
    def slopes(v):
        return zyg.gradient(lambda v: f(*v), v)[0]

    v, h = np.array(at), 1e-4
    rows = [(slopes(v + h * e) - slopes(v - h * e)) / (2 * h) for e in np.eye(len(v))]

    np.testing.assert_allclose(zyg.hessian(lambda v: f(*v), v), rows, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(zyg.jacobian(slopes, v)[0], rows, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", [*DENSITIES, "ppf", "isf"])
def test_parameters_that_are_zero_give_scipys_values(name, method):
    shapes, _ = SHAPES[name]
    for k in range(len(shapes) + 2):
        given = [*shapes, 0.0, 1.0]
        given[k] = 0.0
        if (name, method, k) == ("ncf", "sf", 2):  # SciPy's is negative: below, the rest of cdf
            continue
        agree(name, method, 0.3, *given)
        agree(name, method, np.array([0.3, 0.7]), *given)

        def along(p, given=given, k=k):
            values = [*given[:k], p, *given[k + 1 :]]
            return formula(name, method)(0.3, *values)

        with np.errstate(all="ignore"):
            value, _ = zyg.value_and_gradient(along, 0.0)
            np.testing.assert_equal(value, along(0.0))


def test_noncentral_distributions_without_noncentrality_are_central():
    sf = formula("ncf", "sf")(U, 3.2, 5.5, 0.0)

    np.testing.assert_allclose(sf, scipy.stats.f.sf(U, 3.2, 5.5), rtol=1e-12)
    slope = zyg.gradient(lambda nc: stats.ncx2.cdf(1.3, 3.2, nc), 0.0)[0]
    more = scipy.stats.chi2.cdf(1.3, 5.2) - scipy.stats.chi2.cdf(1.3, 3.2)
    np.testing.assert_allclose(slope, 0.5 * more, rtol=1e-12)


def test_two_sided_differences_are_differentiated_once():
    x = np.array([0.3, -0.7, 1.3, 0.1, 2.2])
    once = zyg.gradient(lambda x: stats.ks_1samp(x, stats.norm.cdf).pvalue, x)[0]

    assert np.count_nonzero(once) == 1
    with pytest.raises(MissingRuleError, match="nor have second derivatives"):
        zyg.hessian(lambda x: stats.ks_1samp(x, stats.norm.cdf).pvalue, x)


@pytest.mark.parametrize("distribution", ["gumbel_r", "gumbel_l", "weibull_min"])
@pytest.mark.filterwarnings("ignore")
def test_what_anderson_fits_by_a_search_is_refused(distribution):
    with pytest.raises(ConversionError):
        zyg.gradient(lambda x: stats.anderson(x, distribution).statistic, np.arange(1.0, 12.0))


def test_weights_of_points_are_refused():
    points = np.eye(3), np.ones((2, 3))
    with pytest.raises(MissingRuleError, match="'u_weights'"):
        zyg.gradient(lambda w: stats.wasserstein_distance_nd(*points, w), np.ones(3))


@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_the_median_of_cauchy_has_no_curvature(method):
    def slope(q):
        return zyg.gradient(lambda q: getattr(stats.cauchy, method)(q), q)[0]

    assert zyg.gradient(slope, 0.5)[0] == pytest.approx(0.0, abs=1e-12)
    for q in (0.25 - 1e-9, 0.25 + 1e-9):
        second = (slope(q + 1e-6) - slope(q - 1e-6)) / 2e-6
        assert zyg.gradient(slope, q)[0] == pytest.approx(second, rel=1e-6)


def test_the_far_tail_of_halfnorm():
    for z in (0.0, 1.0, 30.0, 50.0, 1e4):
        with mpmath.workdps(40):
            tail = mpmath.ncdf(-z)
            ratio = mpmath.npdf(z) / tail
            expected = map(float, (mpmath.log(2 * tail), -ratio, -ratio * (ratio - z)))
        f = stats.halfnorm.logsf
        got = *zyg.pushforward(f, (z,), (1.0,)), zyg.hessian(f, z)
        np.testing.assert_allclose(got, [*expected], rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("method", DENSITIES)
def test_invgamma_is_flat_where_it_starts(method):
    def f(v):
        return getattr(stats.invgamma, method)(v[0], v[1])

    v = np.array([0.0, 2.0])
    assert f(v) == getattr(scipy.stats.invgamma, method)(0.0, 2.0)
    assert zyg.gradient(f, v)[0].tolist() == [0.0, 0.0]
    assert zyg.hessian(f, v).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("method", "sign"), [("ppf", 1.0), ("isf", -1.0)])
def test_quantiles_at_the_ends_move_by_the_inverse_of_the_density(name, method, sign):
    shapes = SHAPES[name][0]
    f, theirs = getattr(getattr(stats, name), method), getattr(scipy.stats, name)
    with np.errstate(all="ignore"):
        for q, inside in ((0.0, 1e-9), (1.0, 1 - 1e-9)):
            end = getattr(theirs, method)(q, *shapes)
            # SciPy's density at an end may be NaN, or that from outside.
            near = theirs.pdf(getattr(theirs, method)(inside, *shapes), *shapes)
            height = theirs.pdf(end, *shapes) if np.isfinite(end) else 0.0
            by_q, *_, by_loc, by_scale = zyg.gradient(f, q, *shapes, 0.3, 1.7)
            assert (by_loc, by_scale) == (1.0, end)
            if 0 < height < np.inf:
                assert by_q == pytest.approx(sign * 1.7 / height)
                assert near == pytest.approx(height, rel=1e-3) or near < 1e-2
            else:
                assert sign * by_q > 1e15 if near < 0.1 else by_q == 0.0
            assert zyg.jacobian(f, q, *shapes, 0.3, 1.7, mode="forward")[0] == by_q


@pytest.mark.parametrize(
    ("f", "q", "second"),
    [
        (stats.expon.ppf, 0.0, 1.0), (stats.expon.isf, 1.0, 1.0), (stats.uniform.ppf, 1.0, 0.0),
        (stats.norm.ppf, 0.0, -np.inf), (stats.norm.isf, 0.0, np.inf),
        (lambda q: stats.pareto.ppf(q, 2.5), 0.0, 0.56),
    ],
)  # fmt: skip
def test_the_curvature_of_quantiles_at_the_ends(f, q, second):
    assert zyg.hessian(f, q) == pytest.approx(second)


def test_quantiles_at_the_ends_move_with_all_parameters_at_once():
    def slopes(s):
        return zyg.gradient(lambda q: stats.truncexpon.ppf(q, s), np.array(1.0))[0]

    zyg.check_gradient(slopes, 1.3, order=1)
    levels = np.array([0.0, 0.3, 1.0])
    (by_q,) = zyg.gradient(lambda q: np.sum(stats.uniform.ppf(q, 1.0, 2.0)), levels)
    assert by_q.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("order", [2, 3])
def test_more_derivatives_at_an_end_than_are_known(order):
    f = [stats.arcsine.ppf, stats.expon.ppf][order - 2]
    for _ in range(order):
        f = lambda q, f=f: zyg.gradient(f, q)[0]  # noqa: E731
    with pytest.raises(MissingRuleError, match="at an end of its support"):
        f(0.0)


@pytest.mark.parametrize(("n", "slope"), [(1.0, np.inf), (2.0, 1.0), (3.0, 0.0)])
def test_f_moves_with_its_point_alone_where_it_starts(n, slope):
    for method, sign in (("cdf", 1), ("sf", -1)):
        got = zyg.gradient(getattr(stats.f, method), 0.0, n, 3.0)
        np.testing.assert_allclose(got, [sign * slope, 0.0, 0.0])


@pytest.mark.filterwarnings("ignore:The shape parameter")
@pytest.mark.parametrize(("name", "shape", "x"), [("erlang", 3.0, 1.7), ("rdist", 2.3, 0.4)])
def test_distributions_of_which_scipy_warns_or_whose_median_is_0(name, shape, x):
    for method in DENSITIES:
        agree(name, method, x, shape)
        zyg.check_gradient(getattr(stats, name).__getattr__(method), x, shape, order=1)
    for method in ("ppf", "isf"):
        agree(name, method, 0.3, shape)
        zyg.check_gradient(getattr(stats, name).__getattr__(method), 0.3, shape, order=1)


@pytest.mark.parametrize("shape", [0.7, 1.0, 1.5, 2.0])
def test_the_middle_of_gennorm_has_the_slope_of_its_density(shape):
    height = scipy.stats.gennorm.pdf(0.0, shape)
    assert zyg.gradient(lambda x: stats.gennorm.cdf(x, shape), 0.0)[0] == pytest.approx(height)
    for method, sign in (("ppf", 1), ("isf", -1)):
        slopes = zyg.gradient(getattr(stats.gennorm, method), 0.5, shape)
        np.testing.assert_allclose(slopes, (sign / height, 0.0))


@pytest.mark.parametrize(("name", "x"), [("vonmises", 0.7), ("vonmises", -2.0), ("rice", 1.7)])
def test_where_a_bessel_function_begins_the_slope_is_that_from_above(name, x):
    for method in ("pdf", "logpdf"):
        f = getattr(getattr(stats, name), method)
        for order in (zyg.gradient, zyg.hessian):
            found = order(lambda s, f=f: f(x, s[0]), np.zeros(1))
            near = order(lambda s, f=f: f(x, s[0]), np.full(1, 1e-7))
            np.testing.assert_allclose(np.ravel(found), np.ravel(near), rtol=1e-6, atol=2e-7)
        agree(name, method, x, 0.0)
    assert zyg.gradient(stats.vonmises.entropy, 0.0)[0] == 0
    agree("vonmises", "entropy", 0.0)


def test_truncpareto_of_a_negative_power():
    for method in (*DENSITIES, "ppf", "isf"):
        agree("truncpareto", method, 0.4 if method in ("ppf", "isf") else 2.3, -1.7, 4.1)
        f = getattr(stats.truncpareto, method)
        zyg.check_gradient(f, 0.4 if method in ("ppf", "isf") else 2.3, -1.7, 4.1, order=1)


@pytest.mark.parametrize(("name", "shape"), [("tukeylambda", 0.7), ("genpareto", -0.7)])
def test_an_end_of_the_support_moves_with_the_shape(name, shape):
    zyg.check_gradient(lambda s: getattr(stats, name).ppf(1.0, s), shape, order=1)


ONLY_DENSITIES = {
    "betabinom": (2, 7, 1.3, 2.1), "betanbinom": (2, 7, 1.3, 2.1), "logser": (2, 0.3),
    "norminvgauss": (0.4, 1.3, 0.7),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("name", ONLY_DENSITIES)
def test_distributions_whose_distribution_function_is_a_sum(name):
    point, *shapes = ONLY_DENSITIES[name]
    whole = [s for s in shapes if isinstance(s, int)]
    real = [s for s in shapes if isinstance(s, float)]
    for method in sorted(getattr(stats, name).methods):
        agree(name, method, point, *shapes)
        agree(name, method, [-1, 0, 1, 2, 3, 9], *shapes)
        f = formula(name, method)
        zyg.check_gradient(lambda s, f=f: f(point, *whole, *s), np.array(real))
    with pytest.raises((ConversionError, TypeError)):
        zyg.gradient(lambda s: getattr(stats, name).cdf(point, *whole, s, *real[1:]), real[0])


# Moments, intervals, and arguments by their names

SUMMARIES = ("mean", "var", "std", "median", "entropy", "stats")
KEYWORDS = {**{name: shapes for name, (shapes, _) in SHAPES.items()}, **PARAMETERS}


def has(name, method):
    return method in getattr(stats, name).methods


@pytest.mark.parametrize(
    ("name", "method"), [(n, m) for n in KEYWORDS for m in SUMMARIES if has(n, m)]
)
def test_summaries_have_scipys_values_and_slopes(name, method):
    shapes, place = KEYWORDS[name], {"loc": 2}
    if name in SHAPES:
        place = {"loc": 0.3, "scale": 1.7}
    agree(name, method, *shapes, **place)
    agree(name, method, *[np.array([s, -1.0]) for s in shapes], **place)
    summary = getattr(getattr(stats, name), method)
    real = [s for s in shapes if isinstance(s, float)]
    whole = shapes[: len(shapes) - len(real)]

    def f(real, place):
        return np.sum(np.stack(summary(*whole, *real, **place)) if method == "stats" else
                      summary(*whole, *real, **place))  # fmt: skip

    floats = {k: v for k, v in place.items() if isinstance(v, float)}
    order = 1 if method == "median" else 2
    if real or floats:
        zyg.check_gradient(f, real, floats, order=order, modes=("reverse", "forward"))


@pytest.mark.parametrize(
    ("name", "shape"),
    [("t", 0.7), ("t", 1.5), ("pareto", 0.8), ("pareto", 1.5), ("invgamma", 0.8),
     ("invgamma", 1.5), ("lognorm", 0.5)],
)  # fmt: skip
def test_moments_that_diverge_have_scipys_values_and_no_slope(name, shape):
    agree(name, "mean", shape)
    agree(name, "var", shape)
    if name != "lognorm" and shape < 1:
        assert zyg.gradient(lambda s: getattr(stats, name).mean(s), shape) == (0.0,)


@pytest.mark.parametrize("name", SHAPES)
def test_intervals_and_frozen_summaries(name):
    shapes, _ = SHAPES[name]
    distribution, theirs = getattr(stats, name), getattr(scipy.stats, name)
    got, _ = zyg.pullback(lambda s: distribution(*shapes, scale=s).interval(confidence=0.9), 1.7)
    np.testing.assert_allclose(got, theirs.interval(0.9, *shapes, scale=1.7), rtol=1e-10)

    def width(loc, scale):
        low, high = distribution.interval(0.9, *shapes, loc=loc, scale=scale)
        frozen = distribution(*shapes, loc=loc, scale=scale)
        entropy = frozen.entropy() if has(name, "entropy") else 1.0
        return high * low + frozen.median() + frozen.std() * entropy

    if has(name, "std"):
        zyg.check_gradient(width, 0.3, 1.7, order=1)


def test_what_is_no_interval():
    with pytest.raises(ValueError, match="alpha must be between 0 and 1 inclusive"):
        zyg.gradient(lambda x: stats.norm.interval(1.5, x)[0], 0.3)


def test_points_by_their_names():
    def f(x):
        return (
            stats.norm.pdf(x=x, loc=0.1, scale=2.0) + stats.norm.ppf(q=x / 2, loc=x)
            + stats.poisson.pmf(k=3, mu=x) + stats.gamma(2.0, scale=x).cdf(x=1.5)
            + stats.gamma(2.0, scale=x).isf(q=0.3) + stats.binom(5, x / 2).logpmf(k=2)
        )  # fmt: skip

    zyg.check_gradient(f, 0.7, order=1)
    with pytest.raises(TypeError, match=r"norm\.pdf is missing the argument 'x'"):
        zyg.gradient(lambda m: stats.norm.pdf(loc=m), 0.3)


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_a_singular_covariance_that_is_plain(method):
    spread = np.array([[2.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 2.0]])
    mean, on, off = np.array([0.1, 0.4, 0.1]), np.array([0.3, 0.2, 0.3]), np.array([0.3, 0.2, 1.0])
    for x in (on, off, np.stack([on, off])):
        agree("multivariate_normal", method, x, mean, spread, allow_singular=True)
    covariance = scipy.stats.Covariance.from_diagonal([1.0, 2.0, 0.5])
    agree("multivariate_normal", method, off, mean, covariance)
    of_mean = getattr(stats.multivariate_normal, method)
    at = lambda s: of_mean(on * s, mean, spread, allow_singular=True)  # noqa: E731
    zyg.check_gradient(at, 1.3, order=2)
    frozen = lambda s: getattr(stats.multivariate_normal(mean * s, np.eye(3)), method)(x=off)  # noqa: E731
    zyg.check_gradient(frozen, 1.3, order=2)
    alpha = lambda a: getattr(stats.dirichlet(a), method)([0.2, 0.3, 0.5])  # noqa: E731
    zyg.check_gradient(alpha, np.array([1.0, 2.0, 3.0]), order=1)


def test_a_watched_singular_covariance_is_refused():
    def f(s):
        return stats.multivariate_normal.logpdf([0.1, 0.2], None, s, allow_singular=True)

    with pytest.raises(np.linalg.LinAlgError):
        zyg.gradient(f, np.ones((2, 2)))


def test_a_distribution_has_scipys_text_and_the_methods_above_its_own():
    data = scipy.stats.rayleigh.rvs(size=50, random_state=1)
    assert stats.norm.__doc__ == scipy.stats.norm.__doc__
    assert stats.multivariate_normal.__doc__ == scipy.stats.multivariate_normal.__doc__
    for distribution in (stats.rayleigh, scipy.stats.rayleigh):
        assert super(type(distribution), distribution).fit(data) != distribution.fit(data)
    plain = scipy.stats.rayleigh
    assert super(type(stats.rayleigh), stats.rayleigh).fit(data) == super(type(plain), plain).fit(
        data
    )


def test_plain_parameters_in_a_gradient_are_scipys():
    def f(x):
        assert stats.t.logpdf(0.3, np.inf) == scipy.stats.t.logpdf(0.3, np.inf)
        assert stats.gamma.mean(2) == scipy.stats.gamma.mean(2)
        return x

    assert zyg.gradient(f, 1.0) == (1.0,)


# The ends of a support that move


def test_the_ends_of_truncnorm_move_its_quantiles():
    def ends(a, b):
        return stats.truncnorm.ppf(0.0, a, b, 0.3, 2.0) * 3 + stats.truncnorm.ppf(1.0, a, b)

    assert zyg.gradient(ends, -0.5, 1.0) == (6.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b"), [(-0.7, 1.8), (2.0, 3.0), (-9.0, -8.0), (-np.inf, 1.0), (0.5, np.inf), (5.0, 30.0)]
)
@pytest.mark.parametrize("method", [*DENSITIES, "ppf", "isf"])
def test_truncnorm_in_both_tails_and_to_infinity(a, b, method):
    z = scipy.stats.truncnorm.ppf(U, a, b)
    at = U if method == "ppf" else 1 - U if method == "isf" else z
    agree("truncnorm", method, at, a, b)
    f = getattr(stats.truncnorm, method)
    by_at, *by_ends = zyg.gradient(lambda *v: np.sum(f(*v)), at, a, b)
    exact = [cut_slopes(method, x, a, b) for x in z]
    np.testing.assert_allclose(by_at, [row[0] for row in exact], rtol=1e-7)
    np.testing.assert_allclose(by_ends, np.sum(exact, axis=0)[1:], rtol=1e-7, atol=1e-30)


def cut_slopes(method, z, a, b):
    """The derivatives at a point in the place, the start and the end, by mpmath."""
    with mpmath.workdps(60):
        f = lambda z, a, b: (  # noqa: E731
            CUT[method.removeprefix("log")](mpmath.mpf(z), mpmath.mpf(a), mpmath.mpf(b))
        )
        h = mpmath.mpf(10) ** -20

        def slope(f, k, *v):
            ends = ([*v[:k], v[k] + s, *v[k + 1 :]] for s in (h, -h))
            return 0 if mpmath.isinf(v[k]) else (f(*next(ends)) - f(*next(ends))) / (2 * h)

        v = mpmath.mpf(z), mpmath.mpf(a), mpmath.mpf(b)
        if method in ("ppf", "isf"):
            by = [slope(CUT["cdf"], k, *v) for k in range(3)]
            found = [1 if method == "ppf" else -1, -by[1], -by[2]]
            return [float(d / by[0]) for d in found]
        height = f(*v) if method.startswith("log") else 1
        return [float(slope(f, k, *v) / height) for k in range(3)]


def mass(a, b):
    return mpmath.ncdf(-a) - mpmath.ncdf(-b) if a > 0 else mpmath.ncdf(b) - mpmath.ncdf(a)


CUT = {
    "pdf": lambda z, a, b: mpmath.npdf(z) / mass(a, b),
    "cdf": lambda z, a, b: mass(a, z) / mass(a, b),
    "sf": lambda z, a, b: mass(z, b) / mass(a, b),
}


@pytest.mark.parametrize("c", [-0.4, 0.0, 1e-12, 0.3])
def test_genextreme_around_gumbels_distribution(c):
    x = np.array([-5.0, -1.0, 0.2, 1.5, 4.0])
    inside = x[(1 - c * x) > 0]
    for method in DENSITIES:
        agree("genextreme", method, x, c, 0.1, 1.3)
        zyg.check_gradient(lambda x, c: getattr(stats.genextreme, method)(x, c), inside, c)  # noqa: B023
    for method in ("ppf", "isf"):
        agree("genextreme", method, LEVELS, c)
        zyg.check_gradient(getattr(stats.genextreme, method), U, c)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 30.0])
def test_vonmises_beyond_half_a_turn(kappa):
    x = np.array([-7.0, -3.0, 0.1, 2.0, 4.0, 10.0])
    for method in ("pdf", "cdf", "sf"):
        agree("vonmises", method, x, kappa, 0.4)
    (slopes,) = zyg.gradient(lambda x: np.sum(stats.vonmises.cdf(x, kappa)), x)
    np.testing.assert_allclose(slopes, scipy.stats.vonmises.pdf(x, kappa), rtol=1e-10)
    if kappa < 10:  # from there on SciPy's values are too rough for differences
        zyg.check_gradient(lambda x: stats.vonmises.cdf(x, kappa), x)
        zyg.check_gradient(lambda k: stats.vonmises.cdf(x, k), kappa + 0.1)


@pytest.mark.parametrize("a", [-40.0, -2.0, 0.0, 3.0])
def test_quantiles_of_skewnorm(a):
    agree("skewnorm", "ppf", U, a)
    zyg.check_gradient(stats.skewnorm.ppf, U, a, order=1)


# Samples


@pytest.mark.parametrize("name", SHAPES)
def test_samples_are_scipys_and_stay_at_their_places(name):
    shapes, theirs = SHAPES[name][0], getattr(scipy.stats, name)
    given = [*map(np.array, shapes), 0.3, 1.7]
    rng, plain = np.random.default_rng(4), np.random.default_rng(4)
    expected = theirs.rvs(*given, size=5, random_state=plain)

    def sample(*given):
        return getattr(stats, name).rvs(*given, size=5, random_state=np.random.default_rng(4))

    y, _ = zyg.pullback(lambda *g: getattr(stats, name).rvs(*g, 5, random_state=rng), *given)
    np.testing.assert_array_equal(y, expected)
    assert rng.random() == plain.random()
    z = theirs.rvs(*shapes, size=5, random_state=np.random.default_rng(4))
    by_scale, by_loc = zyg.jacobian(sample, *given)[:-3:-1]
    np.testing.assert_allclose(by_loc, 1.0)
    np.testing.assert_allclose(by_scale, z)
    u, quantile = theirs.cdf(z, *shapes), getattr(stats, name).ppf
    for k in range(len(shapes)):
        along = lambda s, f, *more: f(*more, *shapes[:k], s, *shapes[k + 1 :])  # noqa: B023, E731
        slope = zyg.jacobian(lambda s: along(s, sample), shapes[k])[0]  # noqa: B023
        exact = zyg.jacobian(lambda s: along(s, quantile, u), shapes[k])[0]  # noqa: B023
        np.testing.assert_allclose(slope, exact, rtol=1e-6)


def test_second_derivatives_of_samples():
    u = scipy.stats.gamma.cdf(scipy.stats.gamma.rvs(2.3, size=3, random_state=1), 2.3)
    ours = zyg.hessian(lambda a: np.sum(stats.gamma.rvs(a, size=3, random_state=1)), 2.3)
    theirs = zyg.hessian(lambda a: np.sum(stats.gamma.ppf(u, a)), 2.3)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)

    def third(f):
        return zyg.pushforward(lambda a: zyg.hessian(lambda a: np.sum(f(a)), a), (2.3,), (1.0,))[1]

    sampled = third(lambda a: stats.gamma.rvs(a, size=3, random_state=1))
    np.testing.assert_allclose(sampled, third(lambda a: stats.gamma.ppf(u, a)), rtol=1e-6)
    zyg.check_gradient(lambda m, s: stats.norm.rvs(m, s, size=(2, 3), random_state=1), 0.3, 1.7)


def test_samples_of_frozen_distributions_and_of_the_default_generator():
    def frozen(a):
        return np.sum(stats.gamma(a, scale=2.0).rvs(3, random_state=1))

    def called(a):
        return np.sum(stats.gamma.rvs(a, scale=2.0, size=3, random_state=1))

    assert zyg.value_and_gradient(frozen, 1.5) == zyg.value_and_gradient(called, 1.5)
    np.random.seed(3)
    y, slopes = zyg.value_and_gradient(lambda m: stats.norm.rvs(m), 0.3)
    np.random.seed(3)
    assert (y, slopes) == (scipy.stats.norm.rvs(0.3), (1.0,))

    def plain(x):
        own = stats.norm(1.0)
        own.random_state = np.random.default_rng(3)
        return x * own.rvs()

    assert zyg.gradient(plain, 1.0) == (1 + np.random.default_rng(3).normal(),)


SPREAD = np.array([[2.0, 0.3], [0.3, 1.2]])
SEVERAL = {
    "multivariate_normal": (np.array([0.1, 0.2]), SPREAD), "dirichlet": (np.array([0.5, 2.0]),),
    "multivariate_t": (np.array([0.1, 0.2]), SPREAD, 3.5), "wishart": (3.5, SPREAD),
    "invwishart": (4.5, SPREAD),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("size", [1, 3, (2, 3)])
def test_samples_of_several_variables_are_scipys(name, size):
    given, plain = SEVERAL[name], np.random.default_rng(4)
    expected = getattr(scipy.stats, name).rvs(*given, size=size, random_state=plain)
    rng = np.random.default_rng(4)
    y, _ = zyg.pullback(
        lambda *g: getattr(stats, name).rvs(*g, size=size, random_state=rng), *given
    )
    assert type(y) is type(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    assert rng.random() == plain.random()


def test_samples_of_matrices_move_with_the_scale_as_its_factor():
    factor = np.linalg.cholesky(SPREAD)
    for name in ("wishart", "invwishart"):

        def sample(a, name=name):
            rvs = getattr(stats, name).rvs
            return rvs(4.5, a @ a.T, size=2, random_state=np.random.default_rng(4))

        zyg.check_gradient(sample, factor, order=1)


def test_samples_of_matrices_have_the_derivative_of_expectations():
    def mean(df, name):
        return np.mean(getattr(stats, name).rvs(df, SPREAD, size=4000, random_state=1), axis=0)

    (slope,) = zyg.jacobian(lambda df: mean(df, "wishart"), 5.0)
    np.testing.assert_allclose(slope, SPREAD, rtol=0.15, atol=0.05)
    (slope,) = zyg.jacobian(lambda df: mean(df, "invwishart"), 9.0)
    np.testing.assert_allclose(slope, -SPREAD / 36, rtol=0.15, atol=0.005)


WHOLE_NUMBERS = {  # a distribution, and the place of a parameter that is a whole number
    "ksone": ((0.3, 5.0), 1), "kstwo": ((0.3, 5.0), 1), "irwinhall": ((1.3, 3.0), 1),
    "zipfian": ((2, 1.5, 7.0), 2), "nchypergeom_fisher": ((2, 20.0, 7.0, 12.0, 0.8), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE_NUMBERS)
@pytest.mark.parametrize("method", ["cdf", "sf"])
def test_whole_numbers_are_refused_by_name(name, method):
    args, k = WHOLE_NUMBERS[name]
    law = getattr(stats, name)
    f = lambda n: getattr(law, method)(*args[:k], n, *args[k + 1 :])  # noqa: E731
    parameter = law.names[k - 1]
    with pytest.raises(MissingRuleError, match=f"{name} .*with respect to {parameter}"):
        zyg.gradient(f, args[k])
    with pytest.raises(MissingRuleError, match=f"stop_gradient.{parameter}."):
        zyg.pushforward(f, (args[k],), (1.0,))
    still = lambda n, x: f(zyg.stop_gradient(n)) * x  # noqa: E731
    assert zyg.gradient(still, args[k], 2.0) == (None, pytest.approx(f(args[k])))


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"])
def test_a_cut_power_may_rise(method):
    f = getattr(stats.truncpareto, method)
    x, b, c = 2.3, -1.7, 4.0
    assert zyg.pushforward(f, (x, b, c), (1.0, 0.0, 0.0))[0] == pytest.approx(f(x, b, c), rel=1e-9)
    zyg.check_gradient(f, x, b, c)


def test_second_slopes_of_a_far_tail():
    slope = lambda x: zyg.gradient(stats.nakagami.logsf, x, 1.3)[0]  # noqa: E731
    (second,) = zyg.gradient(slope, 16.0)
    assert second == pytest.approx((slope(16.001) - slope(15.999)) / 0.002, rel=1e-6)


FAR_ODDS = {  # of which a ratio with 1 more is 1 but for rounding
    "f": (1e12, 1.09, 0.061), "ncf": (1e12, 1.09, 0.061, 0.7), "betaprime": (1e18, 5.8, 0.33),
}  # fmt: skip


@pytest.mark.parametrize("name", FAR_ODDS)
def test_distributions_at_far_odds(name):
    law, scipys = getattr(stats, name), getattr(scipy.stats, name)
    args = FAR_ODDS[name]
    near, still = (1e-20, 0.03, *args[2:]), (0.0,) * len(args)
    for point, method in itertools.product((args, near), ("cdf", "sf")):
        density, _ = zyg.pushforward(law.pdf, point, still)  # SciPy's own of ncf has four digits
        y, slope = zyg.pushforward(getattr(law, method), point, (1.0, *still[1:]))
        assert y == pytest.approx(getattr(scipys, method)(*point), rel=1e-9)
        assert slope == pytest.approx(density if method == "cdf" else -density, rel=1e-9, abs=0)
    zyg.check_gradient(lambda *a: law.cdf(args[0], *a), *args[1:])


def test_the_ratio_of_chi_squares_at_far_odds():
    slopes = zyg.gradient(lambda n, m: special.fdtr(n, m, 1e12), 1.09, 0.061)
    np.testing.assert_allclose(slopes, (-0.01301246668, 5.82972360158), rtol=1e-9)


ENDS = {  # a distribution, shapes, and an end where a formula has a limit, or no value
    "powerlaw": ((0.4,), 0.0), "rdist": ((2.0,), 1.0), "tukeylambda": ((1.0,), 1.0),
    "cosine": ((), -np.pi), "genextreme": ((2.0,), 0.5), "ncx2": ((2.0, 1.0), 0.0),
    "kappa4": ((2.0, 1.0), 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("method", DENSITIES)
def test_values_at_the_ends_are_scipys(name, method):
    shapes, end = ENDS[name]
    expected = getattr(getattr(scipy.stats, name), method)(end, *shapes)
    for x in (end, np.array([[end, 0.3]])):
        y = zyg.pushforward(lambda x: getattr(getattr(stats, name), method)(x, *shapes), (x,), (x,))
        np.testing.assert_array_equal(np.ravel(y[0])[0], expected)
        assert np.shape(y[0]) == np.shape(x)


@pytest.mark.parametrize("near", [1e-3, 0.9, 1.1])
def test_a_cosine_near_its_end(near):
    slope = zyg.gradient(stats.cosine.logcdf, near - np.pi)[0]
    assert slope == pytest.approx((1 - np.cos(near)) / (near - np.sin(near)), rel=1e-9)


def test_a_quantile_moves_where_scipys_search_has_found_it():
    q, *shapes = 0.999999, 0.508873274965859, 0.7750098037820409, 3.9855224634908124
    x = scipy.stats.ncf.ppf(q, *shapes)  # its probability is 3.6e-7 off
    slope = zyg.gradient(stats.ncf.ppf, q, *shapes)[0]
    density, _ = zyg.pushforward(stats.ncf.pdf, (x, *shapes), (0.0,) * 4)
    assert slope == pytest.approx(1 / density, rel=1e-9)


@pytest.mark.parametrize(
    ("f", "p", "slope", "curvature"),
    [
        (lambda p: stats.bernoulli.pmf(1, p), 0.0, 1.0, 0.0),
        (lambda p: stats.bernoulli.pmf(0, p), 1.0, -1.0, 0.0),
        (lambda p: stats.binom.pmf(1, 5, p), 0.0, 5.0, -40.0),
        (lambda p: stats.binom.pmf(2, 5, p), 0.0, 0.0, 20.0),
        (lambda p: stats.binom.pmf(99_999, 100_000, p), 1.0, -1e5, -1e5 * 99_999 * 2),
        (lambda mu: stats.poisson.pmf(1, mu), 0.0, 1.0, -2.0),
        (lambda p: stats.geom.pmf(2, p), 1.0, -1.0, -2.0),
        (lambda p: stats.nbinom.pmf(1, 3, p), 1.0, -3.0, -18.0),
    ],
)
def test_a_probability_of_zero_moves_with_its_chance(f, p, slope, curvature):
    assert zyg.grad(f)(p) == pytest.approx(slope, rel=1e-6)
    assert zyg.hessian(f, p) == pytest.approx(curvature, rel=1e-6)
    assert zyg.pushforward(f, (p,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)


def test_methods_of_scipys_are_not_hidden():
    assert stats.t(10.0).stats("mvsk") == scipy.stats.t(10.0).stats("mvsk")
    assert zyg.grad(lambda d: stats.t(d).stats("v"))(10.0) == pytest.approx(-0.03125)
    assert stats.nakagami._entropy(1e100) == scipy.stats.nakagami._entropy(1e100)
    assert stats.skewnorm._stats(a=0, moments="k") == scipy.stats.skewnorm._stats(a=0, moments="k")
