"""Distributions by SciPy's own formulas: the methods of their classes, which are in Python."""

import functools
from typing import Any

import numpy as np
from scipy import stats

from zyg.adoption.copies import copied
from zyg.functions.kit import is_complex
from zyg.scipy._distributions import Continuous

_METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
NAMES = """
    anglit arcsine argus bradford burr12 chi crystalball dweibull exponnorm
    exponpow exponweib fatiguelife foldcauchy gengamma genexpon genhalflogistic gibrat gompertz
    gumbel_l halfgennorm jf_skew_t laplace_asymmetric loguniform lomax maxwell mielke
    powerlognorm powernorm reciprocal rel_breitwigner skewcauchy truncweibull_min weibull_max
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
    y = getattr(copied(scipys), method)(*map(np.atleast_1d, np.broadcast_arrays(z, *shapes)))
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


_INSTEAD = {"dweibull": {"cdf": _dweibull_cdf, "sf": _dweibull_sf}}


def _end(scipys, which, *shapes):
    return copied(scipys)._get_support(*shapes)[which]
