"""Distances of scipy.spatial.distance, as formulas of the rows u and v."""

import functools

import numpy as np
import scipy.spatial
from scipy import special
from scipy.spatial import distance

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, composed, no_out, strip, with_value
from zyg.scipy import _special_table as _special_table
from zyg.scipy._linalg_formulas import orthogonal_procrustes as _orthogonal_procrustes
from zyg.scipy._namespace import called_as
from zyg.scipy._valued import valued


def _difference(u, v, w, p):
    """u - v, weighted so that its p-norm is the distance."""
    d = u - v
    return d if w is None else d * w ** (1 / p)


def _norm(p):
    def formula(u, v, w=None):
        return np.linalg.norm(_difference(u, v, w, p), p, axis=-1)

    return formula


def _minkowski(u, v, p=2, w=None):
    return _norm(p)(u, v, w)


def _sqeuclidean(u, v, w=None):
    d = _difference(u, v, w, 2)
    return np.sum(d * d, axis=-1)


def _seuclidean(u, v, V):
    return np.linalg.norm((u - v) / np.sqrt(V), axis=-1)


def _mahalanobis(u, v, VI):
    d = u - v
    square = np.sum(np.matmul(d, VI) * d, axis=-1)
    return np.sqrt(square)


def _cosine(u, v):
    return 1 - np.sum(u * v, axis=-1) / (np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1))


def _correlation(u, v):
    return _cosine(*(x - np.mean(x, axis=-1, keepdims=True) for x in (u, v)))


def _canberra(u, v):
    size = np.abs(u) + np.abs(v)
    none = strip(size) == 0
    return np.sum(np.where(none, 0.0, np.abs(u - v) / np.where(none, 1.0, size)), axis=-1)


def _braycurtis(u, v):
    return np.sum(np.abs(u - v), axis=-1) / np.sum(np.abs(u + v), axis=-1)


_FORMULAS = {
    "euclidean": _norm(2), "sqeuclidean": _sqeuclidean, "cityblock": _norm(1),
    "chebyshev": _norm(np.inf), "minkowski": _minkowski, "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis, "cosine": _cosine, "correlation": _correlation,
    "canberra": _canberra, "braycurtis": _braycurtis,
}  # fmt: skip


def _formula(name, metric, options):
    """The formula of a metric with these options, or the refusal of those that have none."""
    key = getattr(metric, "__name__", metric)
    if key not in _FORMULAS:
        raise unknown_call(name, f"the metric {key!r} has no formula")
    known = _FORMULAS[key].__code__.co_varnames[2 : _FORMULAS[key].__code__.co_argcount]
    if strange := options.keys() - {*known}:
        raise unknown_call(name, f"the rule of {key!r} does not know the option {min(strange)!r}")
    needed = {"seuclidean": "V", "mahalanobis": "VI"}.get(key)
    if needed and options.get(needed) is None:
        raise unknown_call(name, f"the rule of {key!r} needs the option {needed!r}")
    return functools.partial(_FORMULAS[key], **options)


def _number(function, formula):
    def of_vectors(u, v, *parameters, **options):
        y = function(*map(strip, (u, v, *parameters)), **{k: strip(x) for k, x in options.items()})
        return with_value(formula(as_array(u), as_array(v), *parameters, **options), (y,))

    composed(function)(called_as(function, of_vectors))


for _name in _FORMULAS:
    _number(getattr(distance, _name), _FORMULAS[_name])


@composed(distance.cdist)
def cdist(XA, XB, metric="euclidean", *, out=None, **options):
    no_out(out)
    formula = _formula("cdist", metric, options)
    y = distance.cdist(strip(XA), strip(XB), metric, **{k: strip(x) for k, x in options.items()})
    return with_value(formula(as_array(XA)[:, None], as_array(XB)), (y,))


@composed(distance.pdist)
def pdist(X, metric="euclidean", *, out=None, **options):
    no_out(out)
    formula = _formula("pdist", metric, options)
    y = distance.pdist(strip(X), metric, **{k: strip(x) for k, x in options.items()})
    rows = as_array(X)
    first, second = np.triu_indices(np.shape(X)[0], 1)
    return with_value(formula(rows[first], rows[second]), (y,))


@composed(distance.squareform)
def squareform(X, force="no", checks=True):
    plain = distance.squareform(strip(X), force, checks)  # raises where SciPy does
    rows = as_array(X)
    if np.ndim(rows) == 2:
        return rows[np.triu_indices(np.shape(rows)[0], 1)]
    places = distance.squareform(np.arange(1, np.size(rows) + 1))
    return np.where(places > 0, rows[np.maximum(places - 1, 0)], np.zeros_like(plain))


# Distances of points, and of sets of them


@valued(scipy.spatial.minkowski_distance_p)
def minkowski_distance_p(x, y, p=2.0):
    apart = np.abs(as_array(x) - as_array(y))
    if strip(p) == np.inf:
        return np.max(apart, axis=-1)
    return np.sum(apart if strip(p) == 1 else apart**p, axis=-1)


@valued(scipy.spatial.minkowski_distance)
def minkowski_distance(x, y, p=2.0):
    return np.linalg.norm(as_array(x) - as_array(y), p, axis=-1)


@valued(scipy.spatial.distance_matrix)
def distance_matrix(x, y, p=2.0, threshold=1000000):
    return minkowski_distance(as_array(x)[:, None], as_array(y), p)


@valued(distance.jensenshannon)
def jensenshannon(p, q, base=None, *, axis=0, keepdims=False):
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (as_array(p), as_array(q)))
    middle = (p + q) / 2.0
    both = special.rel_entr(p, middle) + special.rel_entr(q, middle)
    total = np.sum(both, axis=axis, keepdims=keepdims)
    return np.sqrt((total if base is None else total / np.log(base)) / 2.0)


@composed(distance.directed_hausdorff)
def directed_hausdorff(u, v, rng=0, **options):
    """The distance of the two points that it lies between."""
    found = distance.directed_hausdorff(strip(u), strip(v), rng, **options)
    apart = as_array(u)[found[1]] - as_array(v)[found[2]]
    return with_value(np.linalg.norm(apart), (found[0],)), *found[1:]


@valued(scipy.spatial.procrustes)
def procrustes(data1, data2):
    """Both centered and of norm 1; the second turned and scaled to the first."""
    centered = [x - np.mean(x, 0) for x in (as_array(data1), as_array(data2))]
    first, second = (x / np.linalg.norm(x) for x in centered)
    turn, scale = _orthogonal_procrustes(first, second)
    second = np.matmul(second, turn.T) * scale
    return first, second, np.sum((first - second) ** 2)


@valued(scipy.spatial.geometric_slerp)
def geometric_slerp(start, end, t, tol=1e-07):
    start, end, t = as_array(start), as_array(end), as_array(t)
    sine = np.linalg.norm(end - np.dot(start, end) * start)
    angle = np.arctan2(sine, np.dot(start, end))
    if strip(sine) == 0:
        raise unknown_call("geometric_slerp", "equal ends have no direction between them")
    weights = (np.sin((1 - t) * angle) / np.sin(angle), np.sin(t * angle) / np.sin(angle))
    first, second = (np.expand_dims(w, -1) for w in weights)
    return first * start + second * end
