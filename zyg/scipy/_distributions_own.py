"""Distributions by SciPy's own formulas: the methods of their classes, which are in Python."""

import functools
from typing import Any

import numpy as np

from zyg.adoption.copies import copied
from zyg.functions.kit import is_complex
from zyg.scipy._distribution_functions import log_normal
from zyg.scipy._distributions import Continuous
from zyg.scipy._theirs import special as sp
from zyg.scipy._theirs import stats

_METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
NAMES = """
    alpha anglit arcsine argus bradford burr12 chi crystalball dgamma dweibull expon exponnorm
    exponpow exponweib fatiguelife foldcauchy foldnorm genexpon gengamma genhalflogistic
    genlogistic gibrat gompertz gumbel_l gumbel_r halfcauchy halfgennorm halflogistic halfnorm
    hypsecant invweibull jf_skew_t johnsonsb johnsonsu kappa3 laplace laplace_asymmetric levy
    levy_l loggamma logistic loglaplace loguniform lomax maxwell mielke moyal nakagami pareto
    powerlaw powerlognorm powernorm rayleigh reciprocal rel_breitwigner skewcauchy truncexpon
    truncweibull_min tukeylambda uniform weibull_max weibull_min wrapcauchy
"""


def by_own_formulas(name: str) -> Continuous:
    scipys = getattr(stats, name)
    kind, base = type(scipys), stats.rv_continuous
    own = [m for m in _METHODS if getattr(kind, f"_{m}") is not getattr(base, f"_{m}")]
    formulas: dict[str, Any] = {
        m: functools.partial(_formula, scipys, f"_{m}") for m in {*own, "logpdf"}
    }
    formulas |= _INSTEAD.get(name, {})
    ends = [functools.partial(_end, scipys, k) for k in (0, 1)]
    names = scipys.shapes.split(", ") if scipys.shapes else []
    return Continuous(name, names, scipys._argcheck, ends, formulas)


def _formula(scipys, method, z, *shapes):
    if any(map(is_complex, (z, *shapes))):
        raise TypeError(f"scipy.stats.{scipys.name} is a distribution of real numbers")
    y = getattr(copied(scipys), method)(*map(np.ravel, np.broadcast_arrays(z, *shapes)))
    return np.reshape(y, np.broadcast_shapes(*map(np.shape, (z, *shapes))))


def _outer_of_dweibull(z, c):
    """The chance beyond z from the middle, where SciPy's |z| would have no slope."""
    return 0.5 * np.exp(-(np.where(z > 0, z, -z) ** c))


def _dweibull_cdf(z, c):
    outer = _outer_of_dweibull(z, c)
    return np.where(z > 0, 1 - outer, outer)


def _dweibull_sf(z, c):
    outer = _outer_of_dweibull(z, c)
    return np.where(z > 0, outer, 1 - outer)


# Where SciPy's have no slope; and logarithms, which SciPy takes of what may be 0.
_INSTEAD: dict[str, dict[str, Any]] = {
    "dweibull": {"cdf": _dweibull_cdf, "sf": _dweibull_sf},
    "foldnorm": {"logpdf": lambda z, c: np.logaddexp(log_normal(z - c), log_normal(z + c))},
    "halfnorm": {"logsf": lambda z: np.log(2.0) + sp.log_ndtr(-z)},
    "hypsecant": {"logpdf": lambda z: np.log(2 / np.pi) - np.logaddexp(z, -z)},
    "invweibull": {"logpdf": lambda z, c: np.log(c) - (c + 1) * np.log(z) - z**-c},
    "johnsonsb": {
        "logpdf": lambda z, a, b: (
            np.log(b) - np.log(z) - np.log1p(-z) + log_normal(a + b * sp.logit(z))
        ),
    },
    "johnsonsu": {
        "logpdf": lambda z, a, b: (
            np.log(b) - 0.5 * np.log1p(z * z) + log_normal(a + b * np.arcsinh(z))
        ),
    },
    "laplace": {"logpdf": lambda z: -np.abs(z) - np.log(2.0)},
    "moyal": {"logpdf": lambda z: -0.5 * (z + np.exp(-z) + np.log(2 * np.pi))},
    "pareto": {"logpdf": lambda z, b: np.log(b) - (b + 1) * np.log(z)},
}


def _end(scipys, which, *shapes):
    return copied(scipys)._get_support(*shapes)[which]
