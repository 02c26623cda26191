"""Distances of scipy.spatial.distance, as formulas of the rows u and v."""

import functools

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, cast, composed, is_watched, no_out, strip
from zyg.scipy import _special_table as _special_table
from zyg.scipy._closures import plain
from zyg.scipy._linalg_formulas import orthogonal_procrustes as _orthogonal_procrustes
from zyg.scipy._namespace import called_as
from zyg.scipy._theirs import scipy, special
from zyg.scipy._valued import length_of, valued, with_formula

distance = scipy.spatial.distance


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
    return length_of(np.sum(np.matmul(d, VI) * d, axis=-1))


def _sum(x, w):
    return np.sum(x if w is None else w * x, axis=-1)


def _cosine(u, v, w=None):
    return 1 - _sum(u * v, w) / np.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _correlation(u, v, w=None, centered=True):
    if not centered:
        return _cosine(u, v, w)
    means = (_sum(x, w) / _sum(np.ones(np.shape(x)), w) for x in (u, v))
    return _cosine(u - next(means)[..., None], v - next(means)[..., None], w)


def _canberra(u, v, w=None):
    size = np.abs(u) + np.abs(v)
    none = strip(size) == 0
    return _sum(np.where(none, 0.0, np.abs(u - v) / np.where(none, 1.0, size)), w)


def _braycurtis(u, v, w=None):
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


_FORMULAS = {
    "euclidean": _norm(2), "sqeuclidean": _sqeuclidean, "cityblock": _norm(1),
    "chebyshev": _norm(np.inf), "minkowski": _minkowski, "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis, "cosine": _cosine, "correlation": _correlation,
    "canberra": _canberra, "braycurtis": _braycurtis,
}  # fmt: skip


def _of_pairs(metric, u, v):
    """A function of the user's, of each pair of rows."""
    u, v = np.broadcast_arrays(u, v)
    rows = (np.reshape(x, (-1, np.shape(x)[-1])) for x in (u, v))
    made = [as_array(metric(*pair)) for pair in zip(*rows, strict=True)]
    return np.reshape(np.stack(made), np.shape(u)[:-1])


def _formula(name, metric, options):
    """The formula of a metric with these options, or the refusal of those that have none."""
    key = getattr(metric, "__name__", metric)
    if callable(metric) and metric != getattr(distance, key, None):
        return functools.partial(_of_pairs, functools.partial(metric, **options))
    if key not in _FORMULAS:
        raise unknown_call(
            name, f"the metric {key!r} has no formula", "give a function of two rows"
        )
    known = _FORMULAS[key].__code__.co_varnames[2 : _FORMULAS[key].__code__.co_argcount]
    if strange := options.keys() - {*known}:
        raise unknown_call(name, f"the rule of {key!r} does not know the option {min(strange)!r}")
    needed = {"seuclidean": "V", "mahalanobis": "VI"}.get(key)
    if needed and options.get(needed) is None:
        raise unknown_call(name, f"the rule of {key!r} needs the option {needed!r}", "give it")
    return functools.partial(_FORMULAS[key], **options)


def _number(function, formula):
    valued(function)(
        lambda u, v, *parameters, **options: formula(
            as_array(u), as_array(v), *parameters, **options
        )
    )


for _name in _FORMULAS:
    _number(getattr(distance, _name), _FORMULAS[_name])


def _numbers(x):
    """In 64 bits, and real, as SciPy's loops take them."""
    return cast(as_array(x), np.dtype(float))


@valued(distance.cdist)
def cdist(XA, XB, metric="euclidean", *, out=None, **options):
    no_out(out)
    formula = _formula("scipy.spatial.distance.cdist", metric, options)
    return formula(_numbers(XA)[:, None], _numbers(XB))


@valued(distance.pdist)
def pdist(X, metric="euclidean", *, out=None, **options):
    no_out(out)
    formula = _formula("scipy.spatial.distance.pdist", metric, options)
    rows = _numbers(X)
    first, second = np.triu_indices(np.shape(X)[0], 1)
    return formula(rows[first], rows[second])


@composed(distance.squareform)
def squareform(X, force="no", checks=True):
    made = distance.squareform(strip(X), force, checks)  # raises where SciPy does
    rows = np.atleast_1d(as_array(X))
    if not np.size(rows):
        return made
    if np.ndim(rows) == 2:
        return rows[np.triu_indices(np.shape(rows)[0], 1)]
    places = distance.squareform(np.arange(1, np.size(rows) + 1))
    return np.where(places > 0, rows[np.maximum(places - 1, 0)], np.zeros_like(made))


# Distances of points, and of sets of them


@valued(scipy.spatial.minkowski_distance_p)
def minkowski_distance_p(x, y, p=2.0):
    apart = np.atleast_1d(as_array(x) - as_array(y))
    if not is_watched(p) and p % 2 == 0:  # which bends at 0, where np.abs does not
        return np.sum(apart**p, axis=-1)
    apart = np.abs(apart)
    if strip(p) == np.inf:
        return np.max(apart, axis=-1)
    return np.sum(apart if strip(p) == 1 else apart**p, axis=-1)


@valued(scipy.spatial.minkowski_distance)
def minkowski_distance(x, y, p=2.0):
    return np.linalg.norm(np.atleast_1d(as_array(x) - as_array(y)), p, axis=-1)


@valued(scipy.spatial.distance_matrix)
def distance_matrix(x, y, p=2.0, threshold=1000000):
    return minkowski_distance(as_array(x)[:, None], as_array(y), p)


@valued(distance.jensenshannon)
def jensenshannon(p, q, base=None, *, axis=0, keepdims=False):
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (as_array(p), as_array(q)))
    middle = (p + q) / 2.0
    both = special.rel_entr(p, middle) + special.rel_entr(q, middle)
    total = np.sum(both, axis=axis, keepdims=keepdims)
    return length_of((total if base is None else total / np.log(base)) / 2.0)


def _directed_hausdorff(u, v, *options, **named):
    """The distance of the two points that it lies between."""
    found = distance.directed_hausdorff(*plain((u, v, *options)), **plain(named))

    def apart():
        return np.linalg.norm(_numbers(u)[found[1]] - _numbers(v)[found[2]]), None, None

    return with_formula(distance.directed_hausdorff, found, apart, (u, v))


composed(distance.directed_hausdorff)(called_as(distance.directed_hausdorff, _directed_hausdorff))


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
