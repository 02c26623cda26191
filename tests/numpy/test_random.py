"""Draws with watched parameters: NumPy's numbers, and the derivative of the formula they are of."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
import zyg.numpy as znp
from zyg import errors

FORMULAS = {
    "normal": (1.0, 2.0), "laplace": (1.0, 2.0), "logistic": (1.0, 2.0), "gumbel": (1.0, 2.0),
    "lognormal": (0.3, 0.5), "uniform": (-1.0, 2.0), "triangular": (-1.0, 0.5, 2.0),
    "exponential": (1.7,), "rayleigh": (1.7,), "weibull": (1.5,), "pareto": (2.5,),
    "power": (2.5,),
}  # fmt: skip
OTHERS = {
    "standard_gamma": (2.5,), "gamma": (0.7, 2.0), "chisquare": (3.0,), "beta": (0.6, 3.0),
    "f": (4.0, 7.0), "standard_t": (4.0,), "vonmises": (1.0, 2.0), "wald": (1.0, 2.0),
    "dirichlet": (np.array([0.5, 1.0, 3.0]),),
    "multivariate_normal": (np.array([1.0, 2.0]), np.array([[2.0, 0.3], [0.3, 1.0]])),
}  # fmt: skip
ALL = FORMULAS | OTHERS


def new(seed=5):
    return znp.random.default_rng(seed)


def draw(name, *parameters, **options):
    return getattr(new(), name)(*parameters, **options)


class Legacy:
    """The functions of numpy.random itself, from one seed."""

    def __getattr__(self, name):
        def call(*args, **kwargs):
            np.random.seed(5)
            return getattr(znp.random, name)(*args, **kwargs)

        return call


def both(name):
    return [getattr(new(), name), getattr(Legacy(), name)]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [None, 3, (2, 2), 0, (2, 0)])
def test_numpys_own_numbers_are_drawn_and_its_state_is_left(name, size):
    plain, generator = np.random.default_rng(5), new()
    expected = getattr(plain, name)(*ALL[name], size=size)
    y, _ = zyg.pullback(lambda *p: getattr(generator, name)(*p, size=size), *ALL[name])
    assert type(y) is type(expected)
    np.testing.assert_array_equal(y, expected)
    assert generator.bit_generator.state == plain.bit_generator.state


@pytest.mark.parametrize("name", ALL)
def test_so_it_is_with_the_old_functions(name):
    np.random.seed(5)
    np.random.normal()  # of a normal number, a second one is kept
    before = np.random.get_state()
    expected, after = getattr(np.random, name)(*ALL[name], size=3), np.random.get_state()
    np.random.set_state(before)
    y, _ = zyg.pullback(lambda *p: getattr(znp.random, name)(*p, size=3), *ALL[name])
    np.testing.assert_array_equal(y, expected)
    for a, b in zip(np.random.get_state(), after, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_those_of_the_sampler_at_one_seed(name):
    zyg.check_gradient(lambda *p: draw(name, *p, size=4), *FORMULAS[name])
    wide = [np.array([[p], [1.1 * p]]) for p in FORMULAS[name]]
    zyg.check_gradient(lambda *p: draw(name, *p, size=(2, 3)), *wide)
    legacy = getattr(Legacy(), name)
    zyg.check_gradient(lambda *p: legacy(*p, size=2), *FORMULAS[name])


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(FORMULAS)),
    shapes=st.lists(st.sampled_from([(), (3,), (2, 1), (1, 3), (2, 3)]), min_size=3, max_size=3),
    asked=st.booleans(),
)
def test_parameters_broadcast(name, shapes, asked):
    parameters = [np.full(s, p) for s, p in zip(shapes, FORMULAS[name], strict=False)]
    size = (4, 2, 3) if asked else None
    y, back = zyg.pullback(lambda *p: draw(name, *p, size=size), *parameters)
    np.testing.assert_array_equal(y, getattr(np.random.default_rng(5), name)(*parameters, size))
    bars = back(np.ones(np.shape(y)))
    assert [np.shape(b) for b in bars] == [np.shape(p) for p in parameters]


def test_a_scale_of_zero_and_a_distant_location_lose_nothing():
    (slope,) = zyg.gradient(lambda s: np.sum(draw("normal", 1e12, s, size=3)), 0.0)
    np.testing.assert_allclose(slope, np.sum(np.random.default_rng(5).normal(size=3)), rtol=1e-15)


def test_one_parameter_is_watched_or_both_and_lists_hold_them():
    def f(mu, s):
        return np.sum(draw("normal", [mu, 2 * mu], [1.0, s]))

    e = np.random.default_rng(5).normal(size=2)
    np.testing.assert_allclose(zyg.gradient(f, 1.0, 2.0), (3.0, e[1]))
    np.testing.assert_allclose(zyg.gradient(lambda s: f(0.5, s), 2.0), (e[1],))


def test_the_parameters_have_their_names():
    y = zyg.gradient(lambda a: new().gamma(shape=a, scale=2.0), 1.5)
    assert y == zyg.gradient(lambda a: new().gamma(a, 2.0), 1.5)


def test_samples_in_single_precision_stay_so():
    a = np.array([1.5, 2.5], np.float32)
    y, back = zyg.pullback(lambda a: new().standard_gamma(a, dtype=np.float32), a)
    assert y.dtype == np.float32
    (a_bar,) = back(np.ones(2, np.float32))
    assert a_bar.dtype == np.float32
    (b_bar,) = zyg.gradient(lambda m: np.sum(new().normal(m, 1.0)), a)
    assert b_bar.dtype == np.float32


# Vectors


def matrix(a):
    return a @ a.T + 0.5 * np.eye(len(a))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_vectors_move_with_the_cholesky_factor(method):
    a, mean = np.array([[1.0, 0.2], [0.4, 2.0]]), np.array([1.0, -1.0])

    def f(mean, a):
        return new().multivariate_normal(mean, matrix(a), 4, method=method)

    y, back = zyg.pullback(f, mean, a)
    unit = np.linalg.solve(np.linalg.cholesky(matrix(a)), (y - mean).T)
    c = np.random.default_rng(0).normal(size=y.shape)

    def moved(a):  # it has this value, and is distributed by every a
        return np.sum(c * (np.linalg.cholesky(matrix(a)) @ unit).T)

    mean_bar, a_bar = back(c)
    np.testing.assert_allclose(mean_bar, np.sum(c, axis=0))
    np.testing.assert_allclose(a_bar, zyg.gradient(moved, a)[0], rtol=1e-9)
    if method == "cholesky":
        zyg.check_gradient(f, mean, a)


def test_of_equal_variances_too_and_of_a_singular_covariance_by_the_mean():
    (y,) = zyg.jacobian(lambda s: new().multivariate_normal(np.zeros(2), s * np.eye(2)), 1.0)
    np.testing.assert_allclose(y, 0.5 * draw("multivariate_normal", np.zeros(2), np.eye(2)))
    singular = np.ones((2, 2))
    (y,) = zyg.jacobian(lambda m: new().multivariate_normal(m, singular), np.zeros(2))
    np.testing.assert_array_equal(y, np.eye(2))
    with pytest.raises(errors.DegenerateError, match="a covariance that is singular"):
        zyg.gradient(lambda s: np.sum(new().multivariate_normal([0, 0], s * singular)), 1.0)


# Picks


PICKS = [
    lambda g, x: g.choice(x),
    lambda g, x: g.choice(x, 5),
    lambda g, x: g.choice(x, (2, 2), axis=1),
    lambda g, x: g.choice(x, 2, replace=False, p=[0.1, 0.2, 0.3, 0.4]),
    lambda g, x: g.permutation(x),
    lambda g, x: g.permutation(x, axis=1),
    lambda g, x: g.permuted(x),
    lambda g, x: g.permuted(x, axis=1),
    lambda g, x: g.permutation(x[:, 0]),
    lambda g, x: g.choice(x[:, 0]),
]


@pytest.mark.parametrize("pick", PICKS)
def test_picked_elements_are_those_that_numpy_picks(pick):
    x = np.arange(12.0).reshape(4, 3)
    plain, generator = np.random.default_rng(5), new()
    y, _ = zyg.pullback(lambda x: pick(generator, x), x)
    np.testing.assert_array_equal(y, pick(plain, x))
    assert generator.random() == plain.random()
    zyg.check_gradient(lambda x: pick(new(), x), x)


# What has no derivative


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("poisson", (2.0,)), ("binomial", (5, 0.5)), ("geometric", (0.5,)), ("zipf", (2.0,)),
        ("negative_binomial", (3.0, 0.5)), ("logseries", (0.5,)), ("integers", (0, 5.0)),
        ("multinomial", (5, np.array([0.5, 0.5]))),
    ],
)  # fmt: skip
def test_whole_numbers_are_refused_with_the_remedy(name, parameters):
    with pytest.raises(errors.MissingRuleError) as caught:
        zyg.gradient(lambda *p: np.sum(draw(name, *p)), *parameters)
    assert f"a draw of {name} has no derivative in its parameters" in str(caught.value)
    assert "np.exp(s - zyg.stop_gradient(s))" in str(caught.value)


def test_the_remedy_gives_the_derivative_of_the_expectation():
    stats = pytest.importorskip("zyg.scipy.stats")
    k = np.random.default_rng(0).poisson(2.0, 4_000)

    def cost(mu):
        s = stats.poisson.logpmf(k, mu)
        return np.mean(k**2 * np.exp(s - zyg.stop_gradient(s)))

    value, (slope,) = zyg.value_and_gradient(cost, 2.0)
    assert value == np.mean(k**2)
    np.testing.assert_allclose(slope, 2 * 2.0 + 1, rtol=0.2)


def test_other_refusals():
    def refused(f, kind, text):
        with pytest.raises(kind, match=text):
            zyg.gradient(lambda x: np.sum(f(new(), x)), 0.5)

    out = np.zeros(2)
    refused(lambda g, x: g.standard_gamma(x, out=out), errors.MutationError, "into out=")
    refused(lambda g, x: g.choice(2, p=[x, 1 - x]), errors.MissingRuleError, "a draw of choice")
    refused(lambda g, x: g.noncentral_f(x, 1, 1), errors.MissingRuleError, "noncentral")
    refused(lambda g, x: g.gamma(-x), ValueError, "shape < 0")
    refused(lambda g, x: g.normal(x, bad=1), TypeError, "bad")
    refused(lambda g, x: g.weibull(0 * x), errors.MissingRuleError, "at a limit of their range")
    assert not out.any()


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zyg.scipy._draws", None)
    with pytest.raises(errors.MissingRuleError, match=r"pip install 'zyg\[scipy\]'"):
        zyg.gradient(lambda a: new().gamma(a), 1.5)


# Generators


def test_a_generator_of_zygs_is_numpys():
    g = new()
    assert isinstance(g, np.random.Generator)
    assert g.normal() == np.random.default_rng(5).normal()
    assert znp.random.default_rng(g) is g
    assert znp.random.default_rng == np.random.default_rng
    for other in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert zyg.gradient(other.normal, 0.0) == (1.0,)
    assert copy.deepcopy(g).normal() == g.normal()


def test_one_of_numpys_shares_its_state():
    g = np.random.default_rng(5)
    y = znp.random.default_rng(g).normal()
    assert (y, g.normal()) == (*np.random.default_rng(5).normal(size=2),)


def test_plain_generators_say_what_works():
    g = np.random.default_rng(5)
    with pytest.raises(errors.ConversionError, match=r"zyg\.numpy\.random\.default_rng\(g\)"):
        zyg.gradient(lambda x: g.gamma(x), 1.0)
    with pytest.raises(errors.ConversionError, match=r"use zyg\.numpy\.random\.gamma"):
        zyg.gradient(lambda x: np.random.gamma(x), 1.0)
    with pytest.raises(errors.ConversionError, match=r"np\.exp\(s - zyg\.stop_gradient\(s\)\)"):
        zyg.gradient(lambda x: g.poisson(x), 1.0)


def test_a_draw_runs_again_in_a_checkpoint():
    def f(g, mu):
        y = zyg.checkpoint(
            lambda mu: np.sum(np.sin(g.normal(mu, 2.0, 3)) * g.gamma(mu, size=3)), mu
        )
        return y + g.normal(mu)

    def unchecked(g, mu):
        y = np.sum(np.sin(g.normal(mu, 2.0, 3)) * g.gamma(mu, size=3))
        return y + g.normal(mu)

    a, b = new(), new()
    np.testing.assert_allclose(
        zyg.gradient(lambda mu: f(a, mu), 1.5), zyg.gradient(lambda mu: unchecked(b, mu), 1.5)
    )
    assert a.bit_generator.state == b.bit_generator.state


def test_a_failed_draw_leaves_the_generator():
    g, plain = new(), np.random.default_rng(5)
    with pytest.raises(ValueError, match="scale < 0"):
        zyg.gradient(lambda s: np.sum(g.normal(0.0, [1.0, s])), -1.0)
    assert g.random() == plain.random()
