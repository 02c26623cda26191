"""Functions of samples with SciPy's values, and derivatives by formulas.

They are expectiles, lines through the medians of slopes, the test of S. S. Shapiro and M. B. Wilk,
and distances between samples and sets of points.
"""

import numpy as np

from zyg.functions.kit import as_array, strip
from zyg.scipy._theirs import optimize, sparse, stats
from zyg.scipy._theirs import special as sp
from zyg.scipy._valued import length_of, written


@written(stats.expectile, "a", "alpha", "weights")
def expectile(a, alpha, weights):
    """The mean of weights that are `alpha` above it, and 1 - alpha below."""
    a = as_array(a)
    above = strip(a) > stats.expectile(strip(a), strip(alpha), weights=strip(weights))
    w = np.where(above, alpha, 1 - alpha) * (1.0 if weights is None else weights)
    return np.sum(w * a) / np.sum(w)


@written(stats.siegelslopes, "y", "x", method="hierarchical", axis=None)
def siegelslopes(y, x, **options):
    y = np.ravel(as_array(y))
    x = np.arange(np.size(y), dtype=float) if x is None else np.ravel(as_array(x))
    others = [strip(x) != v for v in strip(x)]
    slopes = [np.median((y[k] - y[other]) / (x[k] - x[other])) for k, other in enumerate(others)]
    slope = np.median(np.stack(slopes))
    return slope, np.median(y - slope * x)


@written(stats.shapiro, "x", axis=None, nan_policy="propagate", keepdims=False)
def shapiro(x, **options):
    """The statistic by SciPy's weights, the p-value by J. P. Royston's (AS R94, 1995)."""
    x = np.ravel(as_array(x))
    y = np.sort(x)
    weights = np.zeros(np.size(y) // 2)
    stats._morestats.swilk(strip(y) - strip(x)[np.size(y) // 2], weights, 0)
    spread = np.sum(weights * (y[::-1] - y)[: np.size(weights)])
    w = spread**2 / np.sum((y - np.mean(y)) ** 2)
    return w, _shapiro_chance(w, np.size(y))


_FEW = (0.544, -0.39978, 0.025054, -6.714e-4), (1.3822, -0.77857, 0.062767, -0.0020322)
_MANY = (-1.5861, -0.31082, -0.083751, 0.0038915), (-0.4803, -0.082676, 0.0030302)


def _shapiro_chance(w, n):
    if n == 3:
        return 6 / np.pi * (np.arcsin(np.sqrt(w)) - np.arcsin(np.sqrt(0.75)))
    few = n <= 11
    at, (mean, log_scale) = (n, _FEW) if few else (np.log(n), _MANY)
    y = np.log1p(-w)
    y = -np.log(0.459 * n - 2.273 - y) if few else y
    mean, log_scale = (np.polynomial.polynomial.polyval(at, c) for c in (mean, log_scale))
    return sp.ndtr((mean - y) / np.exp(log_scale))


_SAMPLES = "u_values", "v_values", "u_weights", "v_weights"


def _gaps(u_values, v_values, u_weights, v_weights):
    """How far two distribution functions are apart from value to value, and for how long.

    Equal values follow one another, so that each has the share of its own weight.
    """
    u, v = as_array(u_values), as_array(v_values)
    values, shares = np.concatenate([u, v]), []
    for x, weights in ((u, u_weights), (v, v_weights)):
        w = np.ones(np.size(x)) if weights is None else as_array(weights)
        shares.append(w / np.sum(w))
    order = np.argsort(strip(values), kind="stable")
    apart = np.cumsum(np.concatenate([shares[0], -shares[1]])[order])[:-1]
    return apart, np.diff(values[order])


@written(stats.wasserstein_distance, *_SAMPLES)
def wasserstein_distance(u_values, v_values, u_weights, v_weights):
    apart, lengths = _gaps(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * lengths)


@written(stats.energy_distance, *_SAMPLES)
def energy_distance(u_values, v_values, u_weights, v_weights):
    apart, lengths = _gaps(u_values, v_values, u_weights, v_weights)
    return length_of(2.0 * np.sum(apart * apart * lengths))


@written(stats.wasserstein_distance_nd, "u_values", "v_values")
def wasserstein_distance_nd(u_values, v_values, u_weights, v_weights):
    """The distances times the plan of the least total, which stays where the points move."""
    u, v = as_array(u_values), as_array(v_values)
    if np.ndim(u) == 1:
        return wasserstein_distance(u, v, u_weights, v_weights)
    apart = np.expand_dims(u, 1) - v
    distances = length_of(np.sum(apart * apart, axis=-1))
    return np.sum(_plan(strip(distances), u_weights, v_weights) * distances)


def _plan(distances, u_weights, v_weights):
    """How much goes from each point to each: the solution of a linear program."""
    m, n = distances.shape
    weights = np.ones(m) if u_weights is None else np.asarray(u_weights)
    others = np.ones(n) if v_weights is None else np.asarray(v_weights)
    totals = sparse.vstack(
        [sparse.kron(np.eye(m), np.ones((1, n))), sparse.kron(np.ones((1, m)), np.eye(n))]
    )
    shares = np.concatenate([weights / np.sum(weights), others / np.sum(others)])
    found = optimize.linprog(np.ravel(distances), A_eq=totals, b_eq=shares)
    return np.reshape(found.x, (m, n))
