"""Calls of the distributions of zyg.scipy.stats."""

import numpy as np

from zyg.scipy import stats

from .calls import array, call

X = np.abs(array(3)) + 0.2
U = np.array([0.2, 0.5, 0.9])
K = np.array([1, 0, 1])
SPREAD = np.array([[2.0, 0.3], [0.3, 1.2]])
SHAPES = {  # of continuous distributions, and where they are looked at
    "norm": ((), -X), "halfnorm": ((), X), "lognorm": ((0.8,), X), "t": ((3.5,), -X),
    "cauchy": ((), X), "laplace": ((), X), "logistic": ((), -X), "gumbel_r": ((), X),
    "uniform": ((), U), "expon": ((), X), "rayleigh": ((), X), "weibull_min": ((1.7,), X),
    "pareto": ((2.5,), X + 1), "gamma": ((2.3,), X), "chi2": ((3.2,), X), "invgamma": ((2.2,), X),
    "beta": ((2.3, 0.7), 0.9 * U), "f": ((4.2, 6.5), X), "halfcauchy": ((), X),
    "truncnorm": ((-0.7, 1.8), U), "vonmises": ((1.7,), -X), "skewnorm": ((1.3,), -X),
    "genextreme": ((-0.3,), X),
    "alpha": ((1.7,), X), "betaprime": ((2.3, 3.7), X), "burr": ((2.3, 1.7), X),
    "burr12": ((2.3, 1.7), X), "chi": ((3.2,), X), "exponpow": ((1.7,), U),
    "exponweib": ((1.7, 1.3), X), "fatiguelife": ((0.8,), X), "fisk": ((2.3,), X),
    "foldcauchy": ((1.3,), X), "foldnorm": ((1.3,), X), "genexpon": ((1.3, 0.7, 1.7), X),
    "genpareto": ((0.3,), X), "gompertz": ((1.3,), U),
    "halfgennorm": ((1.7,), X), "halflogistic": ((), X), "invgauss": ((1.3,), X),
    "invweibull": ((1.7,), X), "kappa3": ((1.3,), X),
    "levy": ((), X), "loglaplace": ((1.7,), X), "lomax": ((1.7,), X), "maxwell": ((), X),
    "mielke": ((2.3, 1.7), X), "nakagami": ((1.7,), X), "powerlognorm": ((1.7, 0.8), X),
    "rice": ((1.3,), X), "wald": ((), X),
    "gibrat": ((), X), "anglit": ((), U - 0.45), "cosine": ((), -X), "arcsine": ((), 0.9 * U),
    "argus": ((1.3,), 0.9 * U), "bradford": ((1.3,), 0.9 * U),
    "dweibull": ((1.7,), -X), "exponnorm": ((1.3,), -X), "genhalflogistic": ((0.4,), U),
    "genlogistic": ((1.7,), -X), "gennorm": ((1.7,), -X), "gumbel_l": ((), -X),
    "hypsecant": ((), -X), "jf_skew_t": ((2.3, 1.7), -X), "johnsonsb": ((0.3, 1.7), 0.9 * U),
    "johnsonsu": ((0.3, 1.7), -X), "laplace_asymmetric": ((1.7,), -X), "levy_l": ((), -X),
    "loggamma": ((1.7,), -X), "loguniform": ((0.3, 4.1), X), "reciprocal": ((0.3, 4.1), X),
    "moyal": ((), -X), "powerlaw": ((1.7,), 0.9 * U), "powernorm": ((1.7,), -X),
    "semicircular": ((), 0.9 * U), "skewcauchy": ((0.3,), -X),
    "trapezoid": ((0.3, 0.7), 0.9 * U), "triang": ((0.3,), 0.9 * U), "truncexpon": ((3.1,), X),
    "truncpareto": ((1.7, 4.1), X + 1), "truncweibull_min": ((1.7, 0.1, 3.1), X),
    "tukeylambda": ((0.3,), -X), "weibull_max": ((1.7,), -X), "wrapcauchy": ((0.3,), X),
    "crystalball": ((1.3, 2.4), -X), "gengamma": ((1.7, 1.3), X), "rel_breitwigner": ((1.3,), X),
    "ncx2": ((3.2, 1.7), X), "nct": ((3.2, 0.7), -X), "ncf": ((3.2, 5.5, 1.7), X),
    "dgamma": ((1.7,), -X),
    "recipinvgauss": ((1.3,), X), "dpareto_lognorm": ((0.3, 1.2, 1.7, 2.2), X),
    "kappa4": ((0.3, -0.4), X), "vonmises_line": ((1.7,), -X), "kstwobign": ((), X + 0.2),
}  # fmt: skip
PARAMETERS = {"poisson": (2.3,), "binom": (3, 0.4), "nbinom": (2.5, 0.3), "geom": (0.3,),
              "bernoulli": (0.3,), "boltzmann": (0.7, 5), "dlaplace": (0.7,), "planck": (0.7,),
              "skellam": (1.3, 2.1), "yulesimon": (1.7,), "zipf": (1.7,)}  # fmt: skip
ONLY_DENSITIES = {
    "pearson3": ((-0.7,), X), "geninvgauss": ((-1.3, 0.7), X),
    "genhyperbolic": ((0.3, 1.7, -0.4), -X), "gausshyper": ((1.3, 2.4, -0.7, 3.1), 0.9 * U),
}  # fmt: skip
DENSITIES = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")


def formula(name, method):
    """What a method is on watched values; plain ones are SciPy's, which rounds otherwise."""
    return getattr(stats, name)._formula_of(method)


def once(method):
    """Only the densities are differentiated twice: the other methods are made of the same rules."""
    return {} if method in ("logpdf", "pmf") else {"order": 1}


CALLS = {
    **{
        formula(name, method): [call(x, *shapes, **once(method))]
        for name, (shapes, x) in SHAPES.items()
        for method in DENSITIES
        if name != "uniform"
    },
    **{
        formula(name, method): [call(U - 0.05, *shapes, order=1)]
        for name, (shapes, x) in SHAPES.items()
        for method in ("ppf", "isf")
    },
    **{
        formula(name, method): [
            call(K + (name in ("geom", "yulesimon", "zipf")), *parameters, **once(method))
        ]
        for name, parameters in PARAMETERS.items()
        for method in ("pmf", "logpmf", "cdf", "sf")
    },
    **{
        formula(name, method): [call(x, *shapes, **once(method))]
        for name, (shapes, x) in ONLY_DENSITIES.items()
        for method in ("pdf", "logpdf")
    },
    formula("norm", "logpdf"): [call(X, 0.2, np.array([[1.3], [0.9]])), call(0.3, 0.5)],
    formula("norm", "ppf"): [call(U, 0.2, 1.3)],
    formula("poisson", "logcdf"): [call(K, 2.3)],
    formula("binom", "logsf"): [call(K, 3, 0.4)],
    formula("uniform", "cdf"): [call(U, 0.1, np.array([[1.7], [1.3]]))],
    formula("dirichlet", "logpdf"): [call(np.array([0.2, 0.3]), X)],
    formula("dirichlet", "pdf"): [call(np.array([[0.2, 0.1], [0.3, 0.4]]), X, order=1)],
    formula("multivariate_normal", "logpdf"): [
        call(array(3, 2), array(2), SPREAD, order=1), call(array(2), array(2), 1.5, order=1),
        call(0.3, 0.5, 2.0, order=1), call(array(2), None, X[:2], order=1),
    ],
    formula("multivariate_normal", "pdf"): [call(array(2), array(2), SPREAD, order=1)],
    formula("multivariate_normal", "entropy"): [call(None, SPREAD)],
    formula("multivariate_t", "logpdf"): [
        call(array(3, 2), array(2), SPREAD, 3.5, order=1), call(0.3, 0.5, 2.0, 1.5, order=1),
    ],
    formula("multivariate_t", "pdf"): [call(array(2), array(2), SPREAD, 3.5, order=1)],
    formula("wishart", "logpdf"): [call(SPREAD, 3.5, SPREAD + np.eye(2), order=1)],
    formula("invwishart", "logpdf"): [call(SPREAD, 3.5, SPREAD + np.eye(2), order=1)],
    formula("invwishart", "pdf"): [call(1.3, 3.5, 2.0, order=1)],
}  # fmt: skip
