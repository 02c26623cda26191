"""Averages, covariances, histograms."""

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import (
    NO,
    adjoint,
    as_array,
    composed,
    conj,
    demand,
    demand_read,
    inverse,
    is_complex,
    listed,
    lowering,
    normal_axes,
    numpys,
    plain_array,
    raised,
    raised_where,
    slopes_hold,
    strip,
    with_value,
)


@composed(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=NO):
    a = as_array(a)
    if weights is None:
        y = np.mean(a, axis, keepdims=keepdims)
        if not np.size(y):
            raised(np.average, a, axis)
        if not returned:
            return y
        return y, np.average(strip(a), axis, returned=True, keepdims=keepdims)[1]
    weights = as_array(weights)
    if not np.ndim(a) and axis is not None and axis != ():
        raised(np.average, a, axis, weights)
    w = _aligned(weights, np.shape(a), axis)
    dtype = np.result_type(*(plain_array(x).dtype for x in (a, weights)))
    exact = plain_array(a).dtype.kind in "biu"
    dtype = np.result_type(dtype, float) if exact else dtype
    total = 0.0 if w is None else np.sum(w, axis, dtype, keepdims=keepdims)
    raised_where(strip(total) == 0, np.average, a, axis, weights)
    y = np.sum((np.astype(a, dtype) if exact else a) * w, axis, keepdims=keepdims) / total
    return (y, np.copy(np.broadcast_to(total, np.shape(y)))) if returned else y


def _aligned(weights, shape, axis):
    """The weights of an average with the axes of what is averaged; None if they do not fit."""
    if np.shape(weights) == shape:
        return weights
    axes = normal_axes(axis, len(shape))
    if axis is None or np.shape(weights) != tuple(shape[k] for k in axes):
        return None
    wide = [n if k in axes else 1 for k, n in enumerate(shape)]
    return np.reshape(np.transpose(weights, inverse(axes)), wide)


# Covariance


def _covariance(m, y, rowvar, ddof, fweights, aweights, dtype):
    """The covariance as a matrix, by its formula."""
    x = np.atleast_2d(m) if rowvar or np.ndim(m) < 2 else np.transpose(m)
    if y is not None:
        y = np.atleast_2d(y)
        x = np.concatenate([x, y if rowvar or np.shape(y)[0] == 1 else np.transpose(y)])
    x = np.astype(x, dtype)
    fweights, aweights = (w if w is None else np.real(w) for w in (fweights, aweights))
    if fweights is not None and aweights is not None:
        w = fweights * aweights
    else:
        w = fweights if aweights is None else aweights
    with np.errstate(all="ignore"):  # NumPy has warned already
        if w is None:
            x = wx = x - np.mean(x, axis=1, keepdims=True)
            scale = np.float64(np.shape(x)[1] - ddof)
        else:
            total = np.sum(w)
            x = x - np.matmul(x, w)[:, None] / total
            wx = x * w
            scale = total - ddof * (1 if aweights is None else np.sum(w * aweights) / total)
        slopes_hold(strip(scale) > 0)
        scale = scale * 0 if strip(scale) <= 0 else scale
        return np.matmul(wx, conj(np.transpose(x))) / scale


def _array_or_none(x):
    return x if x is None else as_array(x)


def _real_or_none(x):
    return x if x is None else np.real(x)


@composed(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    m, y, fweights, aweights = map(_array_or_none, (m, y, fweights, aweights))
    c = numpys(np.cov, m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    if c is not None and c.size == 0:
        return c
    demand_read(fweights is None and aweights is None and dtype is None)
    if m.ndim > 2 or (y is not None and y.ndim > 2) or (ddof is not None and ddof % 1):
        raised(np.cov, m, y, ddof=ddof)
    own = [plain_array(x).dtype for x in (m, y) if x is not None]
    fweights, aweights = map(_real_or_none, (fweights, aweights))
    ddof = (not bias) if ddof is None else ddof
    dtype = np.result_type(*own, float) if dtype is None else dtype
    d = _covariance(m, y, rowvar, ddof, fweights, aweights, dtype)
    return with_value(np.squeeze(d), (c,))


@composed(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    x, y = _array_or_none(x), _array_or_none(y)
    r = np.corrcoef(strip(x), strip(y), rowvar, dtype=dtype)
    if np.size(r) == 0:
        return r
    c = _covariance(x, y, rowvar, 1, None, None, plain_array(r).dtype)
    with np.errstate(all="ignore"):
        s = np.sqrt(np.real(np.diagonal(c)))
        d = c / (s[:, None] * s)
    return with_value(np.reshape(d, np.shape(r)), (r,))


# Histograms: counts are constant, sums of weights are linear in the weights, and edges that NumPy
# puts between the least and the greatest element move with them


@adjoint(np.bincount, linear=(1,))
def bincount(x, /, weights=None, minlength=0):
    y = np.bincount(x, weights, minlength)

    def bincount_pullback(y_bar):
        return None, lambda: y_bar[plain_array(x)], None

    return y, bincount_pullback


def _sums(weights, index, n):
    """The sum of the weights, or the number, of those in each of n bins."""
    if weights is None or not is_complex(weights):
        return np.bincount(index, weights, n)
    return np.bincount(index, np.real(weights), n) + 1j * np.bincount(index, np.imag(weights), n)


def _edges(a, bins, range, edges):
    """The edges that NumPy computed, with their derivative."""
    if np.ndim(bins) == 1:
        return as_array(bins)
    if range is None and np.size(a) == 0:
        return edges
    low, high = (np.min(a), np.max(a)) if range is None else range
    if strip(low) == strip(high):
        low, high = low - 0.5, high + 0.5
    part = np.arange(len(edges)) / (len(edges) - 1)
    return with_value(np.matmul(np.stack([low, high]), np.stack([1 - part, part])), (edges,))


def _bins_of(a, edges):
    """The bin of every element, and whether it lies in one."""
    if not np.all(edges[1:] >= edges[:-1]):
        raise MissingRuleError(
            "a histogram of edges that are NaN has no derivative.",
            "NumPy bisects for elements, and where edges are out of order its counts say nothing.",
            "leave the NaN out of the edges.",
        )
    index = np.searchsorted(edges, a, side="right") - 1
    if len(edges):
        index[a == edges[-1]] -= 1
    return index, (index >= 0) & (index < len(edges) - 1)


def _plain_range(range):
    if range is None or isinstance(range, np.ndarray):
        return range
    return [_plain_range(x) if isinstance(x, (list, tuple)) else strip(x) for x in range]


@composed(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    a, bins, weights = as_array(a), listed(bins), _array_or_none(weights)
    y = np.histogram_bin_edges(strip(a), strip(bins), _plain_range(range), strip(weights))
    return _edges(a, bins, range, y)


@composed(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    a, bins, weights = as_array(a), listed(bins), _array_or_none(weights)
    y, edges = np.histogram(strip(a), strip(bins), _plain_range(range), density, strip(weights))
    moving = _edges(a, bins, range, edges)
    widths = np.real(moving)  # NumPy divides by the real part, and says so
    return with_value(_histogram([np.ravel(a)], [edges], [widths], density, weights), (y,)), moving


def _histogram(columns, edges, moving, density, weights):
    """The histogram of points with these columns; `moving` are the edges with derivatives."""
    if weights is None and not density:
        return None  # counts are constant
    found = [_bins_of(strip(x), e) for x, e in zip(columns, edges, strict=True)]
    inside = np.logical_and.reduce([seen for _, seen in found])
    shape = tuple(max(len(e) - 1, 0) for e in edges)
    index = np.ravel_multi_index([k[inside] for k, _ in found], shape)
    weights = weights if weights is None else np.ravel(weights)[inside]
    d = np.reshape(_sums(weights, index, int(np.prod(shape))), shape)
    if density:
        with np.errstate(all="ignore"):  # NumPy has warned already
            d = d / np.sum(d)
            for k, e in enumerate(moving):
                d = d / np.reshape(e[1:] - e[:-1], (-1,) + (1,) * (len(shape) - 1 - k))
    return d


@composed(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    if isinstance(sample, (list, tuple)) or np.ndim(sample) != 2:
        sample = np.transpose(np.atleast_2d(as_array(sample)))
    n = np.shape(sample)[1]
    separate = isinstance(bins, (list, tuple)) or np.ndim(bins) > 0
    bins = [*map(listed, bins)] if separate else bins
    weights = _array_or_none(weights)
    y, edges = np.histogramdd(
        strip(sample), [*map(strip, bins)] if separate else strip(bins), _plain_range(range),
        density, strip(weights),
    )  # fmt: skip
    columns = [np.take(sample, k, 1) for k in np.arange(n)]
    moving = [
        _edges(x, b, r, e)
        for x, b, r, e in zip(
            columns,
            bins if separate else [bins] * n,
            [None] * n if range is None else range,
            edges,
            strict=True,
        )
    ]
    d = _histogram(columns, edges, moving, density, weights)
    return with_value(d, (y,)), type(edges)(moving)


@composed(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if (isinstance(bins, (list, tuple)) or np.ndim(bins)) and len(bins) not in (1, 2):
        bins = [bins, bins]
    h, (x_edges, y_edges) = np.histogramdd([x, y], bins, range, density, weights)
    return h, x_edges, y_edges


# In loops, for machine code


@lowering(np.bincount)
def bincount_loops(x, weights=None, minlength=0):
    demand_read(x.ndim == 1 and x.dtype != float)
    demand(weights is None or len(weights) == len(x) > 0)
    n = minlength
    for k in x:
        demand(k >= 0)
        n = max(n, int(k) + 1)
    made = np.zeros(n, int if weights is None else float)
    for i in range(len(x)):
        if weights is None:
            made[x[i]] += 1
        else:
            made[x[i]] += weights[i]
    return made
