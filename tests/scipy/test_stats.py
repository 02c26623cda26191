"""The distributions have SciPy's values; and what their calls cannot see."""

import mpmath
import numpy as np
import pytest
import scipy.stats

import zyg
from zyg.scipy import stats

from .calls_stats import DENSITIES, PARAMETERS, SHAPES

POINTS = np.array([-np.inf, -3.0, -0.7, 0.2, 0.55, 0.9, 1.0, 1.7, 2.5, 6.0, np.nan])
COUNTS = np.array([-1, 0, 1, 2, 0.5, 3, 7, np.nan])
LEVELS = np.array([-0.1, 0.0, 1e-6, 0.2, 0.5, 0.77, 0.999, 1.0, 1.1, np.nan])

QUANTILES = 1e-11 if np.lib.NumpyVersion(scipy.__version__) >= "1.17.0" else 2e-11


def formula(name, method):
    """What a method is in a gradient; elsewhere it is SciPy's own."""
    return getattr(getattr(stats, name), method).inside


def agree(name, method, *args, **kwargs):
    with np.errstate(all="ignore"):
        ours = formula(name, method)(*args, **kwargs)
        theirs = getattr(getattr(scipy.stats, name), method)(*args, **kwargs)
    assert type(ours) is type(theirs)
    # SciPy's logarithms of tails round, and its quantiles of F did before 1.17.
    rounding = 1e-9 if method.startswith("log") else QUANTILES if method == "ppf" else 1e-11
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
        agree(name, method, 0.3, *given)
        agree(name, method, np.array([0.3, 0.7]), *given)

        def along(p, given=given, k=k):
            values = [*given[:k], p, *given[k + 1 :]]
            return formula(name, method)(0.3, *values)

        with np.errstate(all="ignore"):
            value, _ = zyg.value_and_gradient(along, 0.0)
            np.testing.assert_equal(value, along(0.0))


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


@pytest.mark.parametrize("method", [*DENSITIES, "ppf", "isf"])
def test_invgamma_is_flat_where_it_starts(method):
    def f(v):
        return getattr(stats.invgamma, method)(v[0], v[1])

    v = np.array([0.0, 2.0])
    assert f(v) == getattr(scipy.stats.invgamma, method)(0.0, 2.0)
    assert zyg.gradient(f, v)[0].tolist() == [0.0, 0.0]
    assert zyg.hessian(f, v).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(("n", "slope"), [(1.0, np.inf), (2.0, 1.0), (3.0, 0.0)])
def test_f_moves_with_its_point_alone_where_it_starts(n, slope):
    for method, sign in (("cdf", 1), ("sf", -1)):
        got = zyg.gradient(getattr(stats.f, method), 0.0, n, 3.0)
        np.testing.assert_allclose(got, [sign * slope, 0.0, 0.0])
