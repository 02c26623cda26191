"""Methods of SciPy's distributions in compiled functions: called back, with their derivatives."""

import re
import warnings

import numpy as np
import pytest
from scipy import integrate, stats

import zyg
import zyg.scipy.stats
from zyg.errors import CompileError
from zyg.scipy import stats as ours

X = np.linspace(0.1, 1, 8)


def of_the_package(x, m):
    return np.sum(zyg.scipy.stats.norm.logpdf(x, m, 1.3))


def of_scipy(x, m):
    return -np.sum(stats.gamma.logpdf(x, m)) + stats.norm.ppf(0.3 * m)


def by_name(x, m):
    return -np.sum(ours.gamma.logpdf(x, a=m, loc=-0.1, scale=2.0)) + ours.norm.cdf(m)


def discrete(x, m):
    return np.sum(stats.poisson.logpmf(3, m * x))


def of_several(x, m):
    return stats.multivariate_normal.logpdf(x[:2] * m, np.zeros(2), np.eye(2))


def in_a_loop(x, m):
    s = 0.0
    for v in x:
        s += stats.norm.logpdf(v, m, 1.0) * v
    return s


def of_parameters(x, m):
    return stats.norm.interval(0.9, m)[1] + np.sum(x) * stats.norm.entropy(m, 2.0 * m)


@pytest.mark.parametrize(
    "f", [of_the_package, of_scipy, by_name, discrete, of_several, in_a_loop, of_parameters]
)
def test_they_are_called_back_and_differentiated(f):
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        assert type(compiled(X, 0.7)) is type(f(X, 0.7))
        assert compiled(X, 0.7) == pytest.approx(f(X, 0.7), rel=1e-14)
        zyg.check_gradient(compiled, X, 0.7, order=2)
    assert "logpdf" in compiled.inspect(X, 0.7)["called back"] or f in (discrete, of_parameters)


DENSITY = stats.norm


def by_a_global(x):
    return DENSITY.logpdf(x)


def test_another_distribution_in_its_place_is_met(monkeypatch):
    compiled = zyg.compile(by_a_global)
    assert compiled(0.3) == stats.norm.logpdf(0.3)
    monkeypatch.setitem(globals(), "DENSITY", stats.logistic)
    assert compiled(0.3) == stats.logistic.logpdf(0.3)
    monkeypatch.setattr(stats.logistic, "logpdf", lambda x: 2.0 * x)
    assert compiled(0.3) == 0.6


def without_formulas(x):
    return np.sum(stats.landau.logpdf(x))


def test_what_has_no_formula_is_named_in_the_line_of_the_user():
    compiled = zyg.compile(without_formulas)
    with (
        zyg.config(fallback="error"),
        pytest.raises(CompileError) as error,
    ):
        compiled(X)
    _, where, *_, why, fix = str(error.value).splitlines()
    assert f"{__file__}:" in where
    assert "stats.landau.logpdf(x)" in where
    assert "in SciPy's text of it" in why
    assert "call logpdf outside, or give it a rule" in fix
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled(X) == without_formulas(X)


def of_ours(x):
    return integrate.quad(lambda t: t * x, 0.0, 1.0)[0]


def test_what_our_own_texts_cannot_is_named_in_the_line_of_the_user():
    with (
        zyg.config(fallback="error"),
        pytest.raises(CompileError, match=r"(quad|_qagse) is not compiled") as error,
    ):
        zyg.compile(of_ours)(0.5)
    assert re.search(r"test_distributions\.py:\d+: integrate\.quad\(", str(error.value))
