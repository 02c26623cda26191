"""Draws whose parameters move a sample so that its place in the distribution stays.

Where F(z; p) is the distribution function, dz/dp = -(dF/dp) / (dF/dz) (M. Figurnov, S. Mohamed and
A. Mnih, "Implicit reparameterization gradients", 2018). The quotients are written so that what is
small in both, far out in the tails, is in neither.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import adjoint, is_watched, strip, unbroadcast
from zyg.numpy.draws import Sample
from zyg.scipy import _special_table as _special_table
from zyg.scipy._incomplete import angle_slope, beta_slopes, gamma_slope, odds_slopes
from zyg.scipy._theirs import special as sp


def _staying(slopes):
    """The rule of samples that stay in their places, by the slopes ``slopes(z, *parameters)``.

    What was drawn comes in a tuple, so that it is nobody's operand.
    """

    @adjoint
    def sample(drawn, *parameters):
        z = sample(drawn, *parameters) if any(map(is_watched, parameters)) else drawn[0]

        def sample_pullback(z_bar):
            bars = zip(slopes(z, *parameters), parameters, strict=True)
            return None, *(unbroadcast(z_bar * d, np.shape(p)) for d, p in bars)

        return z, sample_pullback

    return sample


def _wald_slopes(z, mean, scale):
    """With Mills' ratio at the end of the second term of the distribution function."""
    depth = np.sqrt(scale / z) * (z / mean + 1)
    mills = np.sqrt(np.pi / 2) * sp.erfcx(depth / np.sqrt(2.0))
    far = 2 * mills / mean * z * np.sqrt(z / scale)
    return far * scale / mean, z / scale - far


_gamma = _staying(lambda z, a: (gamma_slope(a, z),))
_beta = _staying(lambda z, a, b: beta_slopes(a, b, z))
_odds = _staying(lambda v, a, b: odds_slopes(a, b, v))
_angle = _staying(lambda z, kappa: (angle_slope(kappa, z),))
_wald = _staying(_wald_slopes)


def _itself(name):
    """The draw of the sample itself, with its parameters."""
    return lambda rng, shape, *parameters, **options: getattr(rng, name)(
        *parameters, shape, **options
    )


def _t(e, df):
    """The square over df is the odds of a beta distribution."""
    return np.sign(e) * np.sqrt(df * _odds((e * (e / strip(df)),), 0.5 + 0 * df, 0.5 * df))


def _f(e, n, m):
    return m / n * _odds((e * strip(n / m),), 0.5 * n, 0.5 * m)


def _vonmises(e, mu, kappa):
    z = mu + _angle((e,), kappa)
    return z - 2 * np.pi * np.floor((strip(z) + np.pi) / (2 * np.pi))


def _parts(rng, shape, alpha):
    """What NumPy makes a Dirichlet sample of: gammas, or betas where all of `alpha` is small."""
    if isinstance(rng, np.random.Generator) and np.max(alpha) < 0.1:
        rest = np.cumsum(alpha[::-1])[::-1]
        return rng.beta(alpha[:-1], rest[1:], (*shape[:-1], len(alpha) - 1))
    return rng.standard_gamma(alpha, shape)


def _dirichlet(e, alpha):
    if np.shape(e)[-1] == np.shape(alpha)[0]:
        g = _gamma((e,), alpha)
        return g / np.sum(g, axis=-1, keepdims=True)
    rest = np.flip(np.cumsum(np.flip(alpha)))
    v = _beta((e,), alpha[:-1], rest[1:])
    one = np.ones((*np.shape(e)[:-1], 1))
    left = np.concatenate([one, np.cumprod(1 - v, axis=-1)], axis=-1)
    return left * np.concatenate([v, one], axis=-1)


SAMPLES: dict[str, Any] = {
    "standard_gamma": Sample(_itself("standard_gamma"), lambda e, a: _gamma((e,), a)),
    "gamma": Sample(
        lambda rng, shape, a, scale: rng.standard_gamma(a, shape),
        lambda e, a, scale: scale * _gamma((e,), a),
    ),
    "chisquare": Sample(
        lambda rng, shape, df: rng.standard_gamma(df / 2, shape),
        lambda e, df: 2 * _gamma((e,), 0.5 * df),
    ),
    "beta": Sample(_itself("beta"), lambda e, a, b: _beta((e,), a, b)),
    "f": Sample(_itself("f"), _f),
    "standard_t": Sample(_itself("standard_t"), _t),
    "vonmises": Sample(lambda rng, shape, mu, kappa: rng.vonmises(0.0, kappa, shape), _vonmises),
    "wald": Sample(_itself("wald"), lambda e, mean, scale: _wald((e,), mean, scale)),
    "dirichlet": Sample(_parts, _dirichlet),
}
