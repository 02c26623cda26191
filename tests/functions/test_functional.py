"""Functions that call a function of the user's; what NumPy calls by itself is refused."""

import numpy as np
import pytest

import zyg
from zyg.errors import ConversionError, MissingRuleError

from ..calls.calls import CUBE, A, V


def test_functions_see_the_watched_values_around_them():
    zyg.check_gradient(lambda x, s: np.apply_along_axis(lambda v: s * np.sum(v), 0, x), A, 0.7)
    zyg.check_gradient(lambda x, s: np.piecewise(x, [x < 0], [lambda v: s * v, s]), A, 0.7)
    zyg.check_gradient(lambda s: np.fromfunction(lambda i, j: i * s + j, (2, 3)), 0.7)
    zyg.check_gradient(
        lambda x, s: np.apply_over_axes(lambda v, axis: np.sum(s * v, axis), x, [0, 2]), CUBE, 0.7
    )


def test_an_element_goes_to_the_last_of_its_pieces():
    conditions = [V < 9, V < 0, V > 1]
    zyg.check_gradient(lambda x: np.piecewise(x, conditions, [np.sin, np.square, np.mean]), V)


def test_pieces_of_integers_have_slope_zero():
    y, back = zyg.pullback(lambda x: np.piecewise(x, [x > 1], [lambda v: v / 2, 7]), np.arange(4))

    np.testing.assert_array_equal(y, [7, 7, 1, 1])
    assert back(np.ones(4)) == (None,)


def square(v):
    return v * v


OBJECTS = pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")


@OBJECTS
@pytest.mark.parametrize(
    "f",
    [
        np.vectorize(square),
        np.vectorize(square, signature="(n)->(n)"),
        lambda x: sum(v * v for _, v in np.ndenumerate(x)),
    ],
)
def test_what_asks_the_elements_gets_watched_numbers(f):
    zyg.check_gradient(f, V)


@OBJECTS
@pytest.mark.parametrize(
    "f",
    [
        np.frompyfunc(square, 1, 1),
        lambda x: sum(v for v in np.nditer(x)),
        lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)),
        lambda x: np.piecewise(np.ones(4), [np.ones(4) > 0], [lambda v: v * x[0]]),
    ],
)
def test_what_asks_nobody_refuses_watched_values(f):
    with pytest.raises((ConversionError, MissingRuleError, TypeError)):
        zyg.pullback(f, V)


# Draws of plain generators refuse watched parameters


DRAWS = {
    "beta": (1, 1), "binomial": (5, 1), "chisquare": (1,), "exponential": (1,), "f": (1, 1),
    "gamma": (1, 1), "geometric": (1,), "gumbel": (1, 1), "laplace": (1, 1), "logistic": (1, 1),
    "lognormal": (1, 1), "logseries": (1,), "negative_binomial": (1, 1), "normal": (1, 1),
    "noncentral_chisquare": (1, 1), "noncentral_f": (1, 1, 1), "pareto": (1,), "poisson": (1,),
    "power": (1,), "rayleigh": (1,), "standard_gamma": (1,), "standard_t": (1,),
    "triangular": (0, 1, 2), "uniform": (0, 1), "vonmises": (1, 1), "wald": (1, 1),
    "weibull": (1,), "zipf": (1,),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", [None, 3])
def test_parameters_of_a_distribution_are_refused(name, size):
    args = DRAWS[name]
    for rng in (np.random.default_rng(0), np.random):
        for k in range(len(args)):
            for x in (0.3, np.array([0.3, 0.2, 0.4])):
                with pytest.raises(ConversionError, match="would drop its derivative"):
                    zyg.pullback(
                        lambda x: getattr(rng, name)(*args[:k], x, *args[k + 1 :], size=size),  # noqa: B023
                        x,
                    )


@OBJECTS
@pytest.mark.parametrize("rng", [np.random.default_rng, np.random.RandomState])
def test_what_is_drawn_from_an_array_carries_its_derivative(rng):
    zyg.check_gradient(lambda x: np.sin(rng(0).choice(x, 2)), np.array([0.2, 0.3, 0.5]))


@OBJECTS
@pytest.mark.parametrize(
    ("f", "remedy"),
    [
        (lambda rng, x: rng.choice(3, p=x), r"np\.exp\(s - zyg\.stop_gradient\(s\)\)"),
        (lambda rng, x: rng.dirichlet(x), r"zyg\.numpy\.random\.d"),
        (lambda rng, x: rng.multinomial(3, x), r"np\.exp\(s - zyg\.stop_gradient\(s\)\)"),
    ],
)
def test_arrays_that_are_drawn_from_are_refused(f, remedy):
    for rng in (np.random.default_rng(0), np.random):
        with pytest.raises(ConversionError, match=remedy):
            zyg.pullback(lambda x: f(rng, x), np.array([0.2, 0.3, 0.5]))  # noqa: B023


def test_a_sample_is_differentiated_in_what_shifts_and_scales_it():
    def sample(mu, sigma):
        return np.mean(mu + sigma * np.random.default_rng(0).normal(size=100))

    z = np.mean(np.random.default_rng(0).normal(size=100))

    assert zyg.gradient(sample, 1.0, 2.0) == pytest.approx((1.0, z))
