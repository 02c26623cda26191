"""Distances of scipy.spatial.distance, as formulas of the rows u and v."""

import functools

import numpy as np
from scipy.spatial import distance

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, composed, no_out, strip, with_value
from zyg.scipy._namespace import called_as


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
