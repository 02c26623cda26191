"""Expectiles, and lines through the medians of slopes: SciPy's values, derivatives by formulas."""

import numpy as np
from scipy import stats

from zyg.functions.kit import as_array, strip
from zyg.scipy._valued import written


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
