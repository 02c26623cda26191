"""Polynomials: poly1d, zeros at the ends, fits that hide arguments, NumPy's series."""

import numpy as np
import pytest
from numpy import polynomial as series

import zyg
from zyg.errors import ConversionError

P, X = np.array([1.5, -0.7, 2.2]), np.array([-1.1, -0.6, 0.2, 0.7, 1.3])
EVALUATIONS = [
    series.polynomial.polyval, series.chebyshev.chebval, series.legendre.legval,
    series.hermite.hermval, series.hermite_e.hermeval, series.laguerre.lagval,
]  # fmt: skip


@pytest.mark.parametrize(
    "f",
    [
        lambda p: np.poly1d(p)(0.7),
        lambda p: (np.poly1d(p) * np.poly1d([1, 2]) + np.poly1d([3.0]) - 1)(0.7),
        lambda p: np.poly1d(p).deriv(2)(0.7),
        lambda p: np.poly1d(p).integ(1, 0.3)(0.7),
        lambda p: (np.poly1d(p) ** 2)(0.7),
        lambda p: np.poly1d(p)(np.poly1d([1.0, 2.0]))(0.7),
        lambda p: np.polyadd(np.poly1d(p), p).coeffs,
        lambda p: np.polyval(np.poly1d(p), p),
        lambda p: np.abs(np.poly1d(p).roots),
    ],
)
def test_poly1d_carries_watched_coefficients(f):
    zyg.check_gradient(f, P)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.poly1d(c)(2.0),
        lambda c: np.poly1d([c[0], c[1], c[2] + 1.0])(2.0),
        lambda c: (np.poly1d(c) * np.poly1d([1.0, 2.0]) + 3.0)(2.0),
        lambda c: (2.0 * np.poly1d(c) ** 2)(2.0),
        lambda c: (np.poly1d(c) - np.poly1d([1.0, 2.0, 3.0, 4.0])).integ()(2.0),
    ],
)
@pytest.mark.parametrize("c", [np.zeros(3), np.array([0.0, 1.0, -2.0])])
def test_first_coefficients_that_are_zero_move(f, c):
    zyg.check_gradient(f, c)


def test_leading_zeros_of_a_product_are_dropped():
    with pytest.warns(UserWarning, match=r"np.convolve\(a, b\) keeps them"):
        zyg.check_gradient(lambda p: np.polymul(p * [0, 1, 1], p), P)
    zyg.check_gradient(lambda p: np.polymul([0, 1, 1], p), P)  # those do not move


def test_leading_zeros_of_a_remainder_are_dropped():
    with pytest.warns(UserWarning, match="The remainder u - "):
        zyg.check_gradient(lambda p: np.polydiv(np.convolve(p, P[:2]), p)[0], P, order=1)
    zyg.check_gradient(lambda p: np.polydiv(p, P[:2]), P)


MODULES = {"poly": "polynomial", "cheb": "chebyshev", "leg": "legendre", "herm": "hermite",
           "herme": "hermite_e", "lag": "laguerre"}  # fmt: skip
ZEROS = [np.zeros(3), np.array([1.0, -2.0, 0.0]), np.array([1.0, 0.0, 0.0])]


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("c", ZEROS, ids=str)
@pytest.mark.parametrize(
    "name", ["Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre"]
)
def test_last_coefficients_of_a_series_move_where_they_are_zero(name, c):
    series_of = getattr(series, name)
    other = series_of([1.0, 2.0])

    def f(c):
        p = series_of(c)
        parts = p + other, p * other, other - p, p**2, p.integ(), p.deriv(), p + (1.0 - p)
        return np.stack([part(0.7) for part in parts])

    zyg.check_gradient(f, c)
    zyg.check_gradient(lambda c: (series_of([*c, c[0] + 1.0]) // other)(0.7), c, order=1)
    zyg.check_gradient(lambda c: series_of(c).convert(kind=series.Polynomial)(0.7), c)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("c", [0.0, 1.0])
@pytest.mark.parametrize(("prefix", "module"), MODULES.items())
def test_coefficients_that_are_zero_stay_in_series(prefix, module, c):
    def f(c):
        names = [prefix + name for name in ("mulx", "int", "line", "val")]
        mulx, integral, line, value = (getattr(getattr(series, module), name) for name in names)
        made = mulx([c]), integral([c], 2, [1.0]), line(1.0, c)
        return np.stack([value(0.7, y) for y in made])

    zyg.check_gradient(f, c)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_a_series_that_is_trimmed_by_the_user_is():
    (d,) = zyg.gradient(lambda c: series.Polynomial([1.0, c]).trim()(2.0) + c, 0.0)
    assert d == 1.0


def test_roots_of_a_polynomial_with_zeros_at_its_ends():
    zyg.check_gradient(lambda p: np.sort(np.roots(p * [0, 1, 1, 1])), np.array([5, 1, -0.9, -2.6]))
    (d,) = zyg.gradient(lambda p: np.sum(np.roots(p)), np.array([0.0, 1.0, -3.0, 2.0]))
    np.testing.assert_allclose(d, [-7.0, -3.0, -1.0, 0.0], atol=1e-12)
    (d,) = zyg.gradient(lambda p: np.sum(np.roots(p)), np.array([2.0, 1.0, 0.0]))
    np.testing.assert_allclose(d, [0.25, -0.5, 0.0], atol=1e-12)


def test_polynomials_of_roots_invert_roots_of_polynomials():
    (jacobian,) = zip(*(
        zyg.gradient(lambda p: np.poly(np.roots(p))[k], np.array([1.0, -0.9, -2.6, 1.2]))  # noqa: B023
        for k in range(4)
    ), strict=True)  # fmt: skip

    np.testing.assert_allclose(np.array(jacobian)[1:, 1:], np.eye(3), atol=1e-12)


def test_the_characteristic_polynomial_of_a_matrix():
    zyg.check_gradient(np.poly, np.array([[1.0, 2.0, 0.1], [0.3, -1.0, 0.5], [0.2, 0.1, 2.0]]))


def test_constants_of_integration_are_differentiated():
    zyg.check_gradient(lambda p, c: np.polyint(p, 2, k=c), P, np.array([0.3, 0.7]))
    zyg.check_gradient(lambda p, c: np.polyint(p, 2, k=c), P, 0.3)
    zyg.check_gradient(lambda p, c: np.polyint(p, 2, k=[c, 1]), P, 0.3)


def test_a_fit_is_differentiated_in_its_points_values_and_weights():
    y, w = np.sin(X), np.abs(X) + 0.5
    zyg.check_gradient(lambda x, y, w: np.polyfit(x, y, 2, w=w), X, y, w)
    (d,) = zyg.gradient(lambda y: np.polyfit(X, y, 2)[0], y)
    np.testing.assert_allclose(d, np.linalg.pinv(np.vander(X, 3))[0], atol=1e-12)


@pytest.mark.parametrize("cov", [True, "unscaled"])
def test_a_fit_with_its_covariance(cov):
    zyg.check_gradient(lambda x, y: np.polyfit(x, y, 1, cov=cov), X, np.sin(X), order=1)
    zyg.check_gradient(lambda y: np.polyfit(X, y, 1, cov=cov), np.stack([X, X**3], 1), order=1)


def test_a_fit_with_its_residuals():
    c, residuals, rank, _, rcond = zyg.pullback(
        lambda y: np.polyfit(X, y, 2, full=True), np.sin(X)
    )[0]
    plain = np.polyfit(X, np.sin(X), 2, full=True)

    np.testing.assert_array_equal(c, plain[0])
    np.testing.assert_array_equal(residuals, plain[1])
    assert (rank, rcond) == (plain[2], plain[4])
    zyg.check_gradient(lambda x, y: np.polyfit(x, y, 2, full=True)[:2], X, np.sin(X))


def test_a_poor_fit_warns_as_numpy_does():
    with pytest.warns(np.exceptions.RankWarning):
        zyg.pullback(lambda y: np.polyfit(np.ones(5), y, 2), X)


# NumPy's series dispatch on nothing: what is written in operators works


@pytest.mark.parametrize("f", EVALUATIONS)
def test_a_series_is_differentiated_in_its_point(f):
    zyg.check_gradient(lambda x: f(x, P), X)
    zyg.check_gradient(lambda x: f(x, P), 0.7)


# They make object arrays of watched coefficients, and compute with those.
OBJECTS = pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")


@OBJECTS
@pytest.mark.parametrize("f", EVALUATIONS)
def test_a_series_is_differentiated_in_its_coefficients(f):
    zyg.check_gradient(lambda c: f(X, c), P)


@OBJECTS
@pytest.mark.parametrize("name", ["Polynomial", "Chebyshev", "Legendre", "Hermite", "Laguerre"])
def test_the_classes_of_series(name):
    zyg.check_gradient(lambda c: getattr(series, name)(c)(0.7), P)
    zyg.check_gradient(lambda x: getattr(series, name)(P)(x), X)


Q = P[::-1] * 1.7


@OBJECTS
@pytest.mark.parametrize("prefix", MODULES)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", (P, Q)), ("sub", (P, Q)), ("mul", (P, Q)), ("div", (P, Q[:2])), ("pow", (P, 2)),
        ("der", (P,)), ("int", (P,)), ("fromroots", (P,)), ("companion", (P,)), ("vander", (P, 2)),
    ],
)  # fmt: skip
def test_other_functions_of_series(prefix, name, args):
    f = getattr(getattr(series, MODULES[prefix]), prefix + name)
    plain = tuple(x for x in args if type(x) is int)
    zyg.check_gradient(lambda *x: f(*x, *plain), *args[: len(args) - len(plain)])


@OBJECTS
@pytest.mark.parametrize("prefix", MODULES)
@pytest.mark.parametrize(("name", "args"), [("roots", ()), ("fit", (P, 1))])
def test_functions_of_series_that_take_numbers_only_refuse_watched_values(prefix, name, args):
    f = getattr(getattr(series, MODULES[prefix]), prefix + name)
    with pytest.raises(ConversionError):
        zyg.pullback(lambda x: f(x, *args), P)
