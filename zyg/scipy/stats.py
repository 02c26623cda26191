"""scipy.stats for watched values: ``from zyg.scipy import stats``.

The densities, distribution functions, quantiles, means, variances, medians, intervals and (of
continuous ones) entropies of the distributions below and in the tables of formulas, also frozen,
take watched values, in every parameter of continuous distributions, and in the real parameters of
discrete ones. They agree with SciPy's to rounding. Samples (``rvs``) of continuous ones are SciPy's
own, and move with the parameters as those of ``zyg.numpy.random`` do. ``gaussian_kde`` takes
watched data, too, and so do statistics of samples: `zscore`, `gmean`, `skew`, `pearsonr`,
`linregress`, `entropy`, `wasserstein_distance` and others, and tests such as `f_oneway`. First
derivatives of `kstwo`, and so of the exact p-value of `ks_1samp`, are known, and no second ones. A
whole number that is a parameter, such as the size of a sample, is refused where it is watched.

>>> import zyg
>>> from zyg.scipy import stats
>>> zyg.gradient(lambda mean: stats.norm.logpdf(1.5, mean, 2.0), 0.5)
(0.25,)

"""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats
from scipy import special as sp

from zyg.functions.kit import strip
from zyg.scipy import _distribution_functions as _by_scipy
from zyg.scipy import _slopes_of_samples as _slopes_of_samples
from zyg.scipy import _special_table as _special_table
from zyg.scipy._distributions import LOG_2PI, Continuous, Discrete, OfChances
from zyg.scipy._distributions_discrete import (
    DISCRETE,
    choose,
    is_probability,
    log_choose,
    successes,
    with_ends,
)
from zyg.scipy._distributions_half_line import (
    FLAT,
    HALF_LINE,
    gauss_above,
    gauss_below,
    gauss_density,
)
from zyg.scipy._distributions_interval import INTERVAL
from zyg.scipy._distributions_line import LINE
from zyg.scipy._distributions_noncentral import NONCENTRAL, odds_of
from zyg.scipy._distributions_of_tests import OF_TESTS
from zyg.scipy._distributions_own import NAMES, by_own_formulas
from zyg.scipy._distributions_shaped import SHAPED
from zyg.scipy._kernel_density import gaussian_kde as gaussian_kde
from zyg.scipy._namespace import drop_in
from zyg.scipy._own_code import along_own_code
from zyg.scipy._several_variables import (
    ByOwnCode,
    Dirichlet,
    InverseWishart,
    MatrixNormal,
    MatrixT,
    MultivariateNormal,
    MultivariateT,
    Wishart,
)
from zyg.scipy._special_probabilities import beta_above, beta_below

if TYPE_CHECKING:
    from scipy.stats import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.stats, globals())

along_own_code(scipy.stats)

_LINE, _HALF_LINE = (-np.inf, np.inf), (0.0, np.inf)


def _positive(*shapes):
    valid = True
    for s in shapes:
        valid = valid & (s > 0)
    return valid


def _finite(shape):
    return np.isfinite(shape)


def _continuous(name, shapes="", support=_HALF_LINE, valid=_positive, **formulas):
    return Continuous(name, shapes.split(), valid, support, formulas)


def _log_scaled(z, s):
    return np.log(z) / s


norm = _continuous(
    "norm",
    support=_LINE,
    logpdf=lambda z: -0.5 * (z * z + LOG_2PI),
    cdf=lambda z: sp.ndtr(z),
    sf=lambda z: sp.ndtr(-z),
    logcdf=lambda z: sp.log_ndtr(z),
    logsf=lambda z: sp.log_ndtr(-z),
    ppf=lambda q: sp.ndtri(q),
    isf=lambda q: -sp.ndtri(q),
)
lognorm = _continuous(
    "lognorm",
    "s",
    # -log(z) completes the square: at 0 there is no inf - inf
    logpdf=lambda z, s: -0.5 * ((_log_scaled(z, s) + s) ** 2 - s * s + LOG_2PI) - np.log(s),
    cdf=lambda z, s: sp.ndtr(_log_scaled(z, s)),
    sf=lambda z, s: sp.ndtr(-_log_scaled(z, s)),
    logcdf=lambda z, s: sp.log_ndtr(_log_scaled(z, s)),
    logsf=lambda z, s: sp.log_ndtr(-_log_scaled(z, s)),
    ppf=lambda q, s: np.exp(s * sp.ndtri(q)),
    isf=lambda q, s: np.exp(-s * sp.ndtri(q)),
)
t = _continuous(
    "t",
    "df",
    support=_LINE,
    logpdf=lambda z, df: (
        -0.5 * (df + 1) * np.log1p(z * z / df) - 0.5 * np.log(df) - sp.betaln(0.5 * df, 0.5)
    ),
    cdf=lambda z, df: sp.stdtr(df, z),
    sf=lambda z, df: sp.stdtr(df, -z),
    ppf=lambda q, df: sp.stdtrit(df, q),
    isf=lambda q, df: -sp.stdtrit(df, q),
)


def _cot(q):
    """1 / tan(pi q); as a tangent around 1/2, where that of pi q has its pole."""
    middle = np.abs(strip(q) - 0.5) < 0.25
    inner, outer = np.where(middle, q, 0.5), np.where(middle, 0.25, q)
    return np.where(middle, np.tan(np.pi * (0.5 - inner)), 1 / np.tan(np.pi * outer))


cauchy = _continuous(
    "cauchy",
    support=_LINE,
    logpdf=lambda z: -np.log(np.pi) - np.log1p(z * z),
    cdf=lambda z: np.arctan2(1.0, -z) / np.pi,
    sf=lambda z: np.arctan2(1.0, z) / np.pi,
    ppf=lambda q: -_cot(q),
    isf=lambda q: _cot(q),
)


gamma = _continuous(
    "gamma",
    "a",
    logpdf=lambda z, a: sp.xlogy(a - 1, z) - z - sp.gammaln(a),
    cdf=lambda z, a: sp.gammainc(a, z),
    sf=lambda z, a: sp.gammaincc(a, z),
    ppf=lambda q, a: sp.gammaincinv(a, q),
    isf=lambda q, a: sp.gammainccinv(a, q),
)
chi2 = _continuous(
    "chi2",
    "df",
    logpdf=lambda z, df: (
        sp.xlogy(0.5 * df - 1, z) - 0.5 * z - sp.gammaln(0.5 * df) - 0.5 * np.log(2.0) * df
    ),
    cdf=lambda z, df: sp.gammainc(0.5 * df, 0.5 * z),
    sf=lambda z, df: sp.gammaincc(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2 * sp.gammaincinv(0.5 * df, q),
    isf=lambda q, df: 2 * sp.gammainccinv(0.5 * df, q),
)
invgamma = _continuous(
    "invgamma",
    "a",
    logpdf=lambda z, a: -(1 + (a + 1) * sp.xlogy(z, z)) / z - sp.gammaln(a),
    cdf=lambda z, a: sp.gammaincc(a, 1 / z),
    sf=lambda z, a: sp.gammainc(a, 1 / z),
    ppf=lambda q, a: 1 / sp.gammainccinv(a, q),
    isf=lambda q, a: 1 / sp.gammaincinv(a, q),
)
invgamma.flat = True
beta = _continuous(
    "beta",
    "a b",
    support=(0.0, 1.0),
    logpdf=lambda z, a, b: sp.xlog1py(b - 1, -z) + sp.xlogy(a - 1, z) - sp.betaln(a, b),
    cdf=lambda z, a, b: sp.betainc(a, b, z),
    sf=lambda z, a, b: sp.betaincc(a, b, z),
    ppf=lambda q, a, b: sp.betaincinv(a, b, q),
    isf=lambda q, a, b: sp.betainccinv(a, b, q),
)


f = _continuous(
    "f",
    "dfn dfd",
    logpdf=lambda z, n, m: (
        0.5 * (n * np.log(n) + m * np.log(m) - (n + m) * np.log(m + n * z))
        + sp.xlogy(0.5 * n - 1, z)
        - sp.betaln(0.5 * n, 0.5 * m)
    ),
    cdf=lambda z, n, m: beta_below(0.5 * n, 0.5 * m, odds_of(z, n, m)),
    sf=lambda z, n, m: beta_above(0.5 * n, 0.5 * m, odds_of(z, n, m)),
    ppf=lambda q, n, m: (
        m / n * sp.betaincinv(0.5 * n, 0.5 * m, q) / sp.betainccinv(0.5 * m, 0.5 * n, q)
    ),
    isf=lambda q, n, m: (
        m / n * sp.betainccinv(0.5 * n, 0.5 * m, q) / sp.betaincinv(0.5 * m, 0.5 * n, q)
    ),
)
truncnorm = _continuous(
    "truncnorm",
    "a b",
    support=(lambda a, b: a, lambda a, b: b),
    valid=lambda a, b: a < b,
    logpdf=_by_scipy.log_cut_density,
    cdf=lambda z, a, b: _by_scipy.cut_cdf(z, a, b),
    sf=lambda z, a, b: _by_scipy.cut_sf(z, a, b),
    logcdf=lambda z, a, b: _by_scipy.cut_logcdf(z, a, b),
    logsf=lambda z, a, b: _by_scipy.cut_logsf(z, a, b),
    ppf=lambda q, a, b: _by_scipy.cut_ppf(q, a, b),
    isf=lambda q, a, b: _by_scipy.cut_isf(q, a, b),
)
vonmises = _continuous(
    "vonmises",
    "kappa",
    support=_LINE,
    valid=lambda kappa: kappa >= 0,
    logpdf=_by_scipy.log_angle_density,
    cdf=lambda z, kappa: _by_scipy.angle_cdf(z, kappa),
    sf=lambda z, kappa: _by_scipy.angle_sf(z, kappa),
    ppf=lambda q, kappa: _by_scipy.angle_ppf(q, kappa),
    isf=lambda q, kappa: _by_scipy.angle_isf(q, kappa),
)
skewnorm = _continuous(
    "skewnorm",
    "a",
    support=_LINE,
    valid=_finite,
    logpdf=_by_scipy.log_skew_density,
    cdf=lambda z, a: _by_scipy.skew_cdf(z, a),
    sf=lambda z, a: _by_scipy.skew_cdf(-z, -a),
    ppf=lambda q, a: _by_scipy.skew_ppf(q, a),
    isf=lambda q, a: _by_scipy.skew_isf(q, a),
)
genextreme = _continuous(
    "genextreme",
    "c",
    support=(
        lambda c: np.where(strip(c) < 0, 1 / np.where(strip(c) < 0, c, -1.0), -np.inf),
        lambda c: np.where(strip(c) > 0, 1 / np.where(strip(c) > 0, c, 1.0), np.inf),
    ),
    valid=_finite,
    logpdf=lambda z, c: (1 - c) * _by_scipy.log_extreme(z, c) - np.exp(_by_scipy.log_extreme(z, c)),
    cdf=lambda z, c: np.exp(-np.exp(_by_scipy.log_extreme(z, c))),
    sf=lambda z, c: -np.expm1(-np.exp(_by_scipy.log_extreme(z, c))),
    logcdf=lambda z, c: -np.exp(_by_scipy.log_extreme(z, c)),
    ppf=lambda q, c: -np.log(-np.log(q)) * sp.exprel(c * np.log(-np.log(q))),
    isf=lambda q, c: -np.log(-np.log1p(-q)) * sp.exprel(c * np.log(-np.log1p(-q))),
)


for _name, (_shapes, _formulas, *_more) in HALF_LINE.items():
    globals()[_name] = _continuous(_name, _shapes, *_more, **_formulas)
for _name, (_shapes, _support, _valid, _formulas) in (
    LINE | INTERVAL | NONCENTRAL | SHAPED | OF_TESTS
).items():
    globals()[_name] = _continuous(_name, _shapes, _support, _valid, **_formulas)
for _name in NAMES.split():
    globals()[_name] = by_own_formulas(_name)
for _name in FLAT:
    globals()[_name].flat = True
recipinvgauss = _continuous(
    "recipinvgauss",
    "mu",
    logpdf=lambda z, mu: gauss_density(1 / z, mu) - 2 * np.log(z),
    cdf=lambda z, mu: gauss_above(1 / z, mu),
    sf=lambda z, mu: gauss_below(1 / z, mu),
    ppf=lambda q, mu: 1 / globals()["invgauss"]._formula("isf", q, [mu]),
    isf=lambda q, mu: 1 / globals()["invgauss"]._formula("ppf", q, [mu]),
)
recipinvgauss.flat = True
erlang = _continuous("erlang", "a", **gamma.formulas)

# Discrete ones


poisson = Discrete(
    "poisson",
    ["mu"],
    lambda mu: mu >= 0,
    _HALF_LINE,
    {
        **with_ends(
            lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu,
            lambda k, mu: mu**k * np.exp(-sp.gammaln(k + 1) - mu),
        ),
        "cdf": lambda k, mu: sp.gammaincc(k + 1, mu),
        "sf": lambda k, mu: sp.gammainc(k + 1, mu),
    },
)
binom = Discrete(
    "binom",
    ["n", "p"],
    lambda n, p: (n >= 0) & is_probability(p),
    (0.0, lambda n, p: n),
    {
        **with_ends(
            lambda k, n, p: log_choose(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p),
            lambda k, n, p: choose(n, k) * p**k * (1 - p) ** (n - k),
        ),
        "cdf": lambda k, n, p: sp.betainc(n - k, k + 1, 1 - p),
        "sf": lambda k, n, p: sp.betainc(k + 1, n - k, p),
    },
)
for _name, (_shapes, _support, _valid, _formulas) in DISCRETE.items():
    globals()[_name] = Discrete(_name, _shapes.split(), _valid, _support, _formulas)
poisson_binom = OfChances(
    "poisson_binom",
    ["p"],
    lambda *p: np.all(is_probability(np.stack(p)), axis=0),
    (0.0, lambda *p: len(p)),
    {
        "pmf": successes(np.equal),
        "cdf": successes(np.less_equal),
        "sf": successes(np.greater),
    },
)
for _name in ("ksone", "kstwo", "irwinhall", "zipfian", "nchypergeom_fisher"):
    globals()[_name].still = ("M", "n", "N")

matrix_normal = MatrixNormal("matrix_normal")
matrix_t = MatrixT("matrix_t")
multinomial = ByOwnCode("multinomial", "pmf", "logpmf", "entropy", "cov")
dirichlet_multinomial = ByOwnCode("dirichlet_multinomial", "pmf", "logpmf", "mean", "var", "cov")
normal_inverse_gamma = ByOwnCode("normal_inverse_gamma", "pdf", "logpdf", "mean", "var")
vonmises_fisher = ByOwnCode("vonmises_fisher", "pdf", "logpdf", "entropy")
dirichlet = Dirichlet("dirichlet")
multivariate_normal = MultivariateNormal("multivariate_normal")
multivariate_t = MultivariateT("multivariate_t")
wishart = Wishart("wishart")
invwishart = InverseWishart("invwishart")
