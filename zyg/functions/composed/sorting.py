"""Sorting and selecting: NumPy decides on the plain values, and the elements are read by index.

So every element keeps its own derivative. Of equal elements the first comes first (the order is
stable), and stands for all where only one is kept. What NumPy does to the values it does here to
the places of the elements, or to their ranks: its own decisions, whatever they are.
"""

import functools
from typing import Any

import numpy as np

from zyg.functions.kit import (
    array_type,
    as_array,
    closed,
    composed,
    count,
    demand,
    demand_read,
    flat_indices,
    in_order,
    inverse,
    is_watched,
    lies_like,
    listed,
    lowering,
    no_out,
    normal_axes,
    normal_axis,
    numpys,
    plain_array,
    raised,
    routine,
    slopes_hold,
    strip,
    with_value,
)
from zyg.functions.primitives.places import order_of, stack_of


@composed(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    arr, k = as_array(arr), plain_array(indices)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    if k.dtype.kind not in "iu" or k.ndim != np.ndim(arr):
        raised(np.take_along_axis, arr, k, axis)
    n, index = np.ndim(arr), []
    axis = normal_axis(axis, n)
    for d, size in enumerate(np.shape(arr)):
        index.append(np.reshape(np.arange(size), [-1 if j == d else 1 for j in range(n)]))
    return arr[(*index[:axis], k, *index[axis + 1 :])]


@composed(np.compress)
def compress(condition, a, axis=None, out=None):
    no_out(out)
    a = as_array(a)
    return np.ravel(a)[np.compress(strip(as_array(condition)), flat_indices(a), axis)]


@composed(np.extract)
def extract(condition, arr):
    arr = as_array(arr)
    return np.ravel(arr)[np.extract(strip(as_array(condition)), flat_indices(arr))]


# Sorting


_SORTS = "quicksort", "stable", "mergesort", "heapsort"


@composed(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    a = as_array(a)
    one = np.empty((1,) * np.ndim(a), plain_array(a).dtype)
    numpys(np.sort, one, axis, kind, order, stable=stable)  # raises where NumPy does
    demand_read(order is None and kind in (None, *_SORTS) and (kind is None or stable is None))
    if axis is None:
        a, axis = np.ravel(a), -1
    y = np.take_along_axis(a, np.argsort(strip(a), axis, kind="stable"), axis)
    return in_order(y, np.empty_like(plain_array(a)))


@composed(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    a = as_array(a)
    y = np.partition(strip(a), strip(kth), axis, kind, order)
    if axis is None:
        a, axis = np.ravel(a), -1
    # Sorted, both are the same: the n-th of one is the n-th of the other.
    rank = np.argsort(np.argsort(y, axis, kind="stable"), axis)
    order = np.take_along_axis(np.argsort(strip(a), axis, kind="stable"), rank, axis)
    return in_order(np.take_along_axis(a, order, axis), y)


@composed(np.sort_complex)
def sort_complex(a):
    y = np.sort(a)
    return np.astype(y, np.sort_complex(np.empty(0, strip(y).dtype)).dtype)


def _first_places(plain, values, axis, **options):
    """Where in the plain array these unique values come first."""
    first = np.unique(plain, return_index=True, axis=axis, **options)[1]
    if axis is not None:
        return first
    places = np.empty_like(first)
    places[np.argsort(values, kind="stable")] = first  # NumPy need not have sorted them
    return places


@composed(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, **options):
    ar = as_array(ar)
    plain = strip(ar)
    made = np.unique(plain, return_index, return_inverse, return_counts, axis, **options)
    values = made[0] if isinstance(made, tuple) else made
    options.pop("sorted", None)
    places = _first_places(plain, values, axis, **options)
    picked = np.ravel(ar)[places] if axis is None else np.take(ar, places, axis)
    picked = in_order(picked, values)
    return (picked, *made[1:]) if isinstance(made, tuple) else picked


def _unique(function):
    """The functions of the array standard: a NaN is equal to no other."""

    def unique_of(x):
        x = as_array(x)
        made = function(strip(x))
        values = made[0] if isinstance(made, tuple) else made
        picked = np.ravel(x)[_first_places(strip(x), values, None, equal_nan=False)]
        return picked if values is made else made._replace(values=picked)

    composed(function)(unique_of)


for _function in (np.unique_values, np.unique_counts, np.unique_inverse, np.unique_all):
    _unique(_function)


# Choosing between arrays


@composed(np.choose)
def choose(a, choices, out=None, mode="raise"):
    no_out(out)
    choices = [*map(listed, choices)]
    y = np.choose(strip(a), [*map(strip, choices)], mode=mode)
    chosen = np.choose(strip(a), range(len(choices)), mode=mode)
    d: Any = 0.0
    for k, x in enumerate(choices):
        d = np.where(chosen == k, x, d)
    return with_value(d, (y,))


@composed(np.select)
def select(condlist, choicelist, default=0):
    conditions = [*map(strip, condlist)]
    choices = [*map(listed, choicelist)]
    y = np.select(conditions, [*map(strip, choices)], strip(default))
    d = default
    for condition, x in zip(conditions[::-1], choices[::-1], strict=True):
        d = np.where(condition, x, d)
    return with_value(d, (y,))


# Order statistics

# Hyndman and Fan, "Sample quantiles in statistical packages" (1996): where n elements are sorted,
# the quantile q is at n q + alpha + q (1 - alpha - beta) - 1. By the other methods it is constant
# in q but for steps.
_ALPHA_BETA = {
    "linear": (1, 1),
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (1 / 2, 1 / 2),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _moved_by(q, scale, method, n):
    """What a change of q adds to the place of the quantile: 0, with its slope to the right."""
    if not is_watched(q) or method not in _ALPHA_BETA:
        return 0.0
    alpha, beta = _ALPHA_BETA[method]
    plain = strip(q) / scale
    place = n * plain + alpha + plain * (1 - alpha - beta) - 1
    slope = np.where(place >= 0, n + 1 - alpha - beta, 0)
    return (q - strip(q)) * (slope / scale)


def _order_statistic(call, a, axis, skips_nan=False, q=0.5, scale=1, method=None):
    """`call(a)`, interpolated between two elements: on their ranks, it gives the place."""
    a = as_array(a)
    kind = array_type(strip(a))
    plain = np.asarray(kind.seen(strip(a)))
    y = call(plain)
    if plain.size == 0 or plain.dtype == bool:
        return y
    axes = normal_axes(axis, plain.ndim)
    others = tuple(k for k in range(plain.ndim) if k not in axes)
    moved = tuple(plain.shape[k] for k in others + axes)
    outer, n = moved[: len(others)], count(plain.shape, axis)
    rows = np.reshape(np.transpose(a, others + axes), (*outer, n))
    seen = np.reshape(np.transpose(plain, others + axes), (*outer, n))
    order = np.argsort(seen, axis=-1, kind="stable")
    nan = np.isnan(seen)
    undefined = nan.all(-1, keepdims=True) if skips_nan else nan.any(-1, keepdims=True)
    own = plain.real.dtype  # in which NumPy computes the place
    dtype = own if own.kind == "f" and n * np.finfo(own).eps < 1 else float
    rank = np.argsort(order, axis=-1).astype(dtype)
    last = n - 1
    if skips_nan:
        rank[nan & ~undefined] = np.nan
        last = np.maximum(last - nan.sum(-1, keepdims=True), 0)
    place = call(rank.reshape(moved).transpose(inverse(others + axes)))
    place = np.moveaxis(np.reshape(place, (-1, *outer)), 0, -1)
    low = np.where(undefined, last, np.floor(place)).astype(np.intp)
    high = np.minimum(low + 1, last)
    weight = place - low + _moved_by(np.reshape(q, -1), scale, method, last + 1)
    below, above = (
        np.take_along_axis(rows, np.take_along_axis(order, k, -1), -1) for k in (low, high)
    )
    d = below + weight * (above - below)
    if skips_nan and np.any(undefined):  # a slice of NaN only
        d = np.where(undefined, 0.0, d)
    d = np.reshape(np.moveaxis(d, -1, 0), np.shape(y))
    return d if kind.library else with_value(d, (y,))


def _median(function):
    def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        no_out(out)
        call = functools.partial(function, axis=axis, keepdims=keepdims)
        return _order_statistic(call, a, axis, function is np.nanmedian)

    composed(function)(median)


_median(np.median)
_median(np.nanmedian)


def _quantile(function, scale, skips_nan):
    """At a kink, where the quantile is an element, the slope in q is that to the right."""

    def quantile(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
        *, weights=None,
    ):  # fmt: skip
        no_out(out)
        q = listed(q)
        call = functools.partial(
            function, q=strip(q), axis=axis, method=method, keepdims=keepdims,
            weights=strip(weights),
        )  # fmt: skip
        return _order_statistic(call, a, axis, skips_nan, q, scale, method)

    composed(function)(quantile)


_quantile(np.quantile, 1, False)
_quantile(np.percentile, 100, False)
_quantile(np.nanquantile, 1, True)
_quantile(np.nanpercentile, 100, True)


# In loops, for machine code


def sorted_rows_bars(a, y, y_bar):
    a_bar = np.empty(a.shape)
    for i in range(len(a)):
        apart = np.all(y[i, :-1] < y[i, 1:])  # any order of no equal ones is the stable one
        order = order_of(a[i], "argsort") if apart else order_of(a[i])
        a_bar[i, order] = y_bar[i]
    return (a_bar,)


def sorted_by_numpy(a):
    y, n = a.copy(), a.shape[1]
    for i in range(len(y)):
        demand(routine("sort", n, y, i * n))
    return y


@closed(sorted_rows_bars)
def sorted_rows(a):
    return sorted_by_numpy(a)


@lowering(np.sort)
def sort_loops(a, axis=-1, kind=None, *, stable=None):
    demand_read(kind in (None, *_SORTS) and (kind is None or stable is None))
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    if a.dtype == float:
        y = sorted_rows(stack_of(b, 1)).reshape(b.shape)
    elif a.dtype == np.int64:
        y = sorted_by_numpy(stack_of(b, 1)).reshape(b.shape)
    else:
        y = np.take_along_axis(b, np.argsort(b, -1, kind="stable"), -1)
    return y if axis is None else lies_like(np.moveaxis(y, -1, axis), a)


@lowering(np.ndarray.sort)
def sort_in_place_loops(a, axis=-1, kind=None, stable=None):
    a[...] = np.sort(a, axis)


def selected_bars(a, k, y, y_bar):
    a_bar = np.zeros(len(a))
    for value, rank, bar in ((y[0], k, y_bar[0]), (y[1], min(k + 1, len(a) - 1), y_bar[1])):
        place = rank - np.sum(a < value)  # among equal ones, in order
        for i in range(len(a)):
            if a[i] == value:
                if place == 0:
                    a_bar[i] += bar
                place -= 1
    return (a_bar,)


@closed(selected_bars)
def selected(a, k):
    """The k-th element in order and the next: C. Hoare, "Algorithm 65: Find" (1961).

    What is left is sorted where the pivots were bad.
    """
    b = a.copy()
    low, high, rounds = 0, len(b) - 1, 0
    while low < high:
        if rounds == _ROUNDS:
            demand(routine("sort", high - low + 1, b, low))
            low = high
        else:
            x, y, z = b[low], b[(low + high) // 2], b[high]
            pivot = max(min(x, y), min(max(x, y), z))
            i, j = low, high
            while i <= j:
                while b[i] < pivot:
                    i += 1
                while pivot < b[j]:
                    j -= 1
                if i <= j:
                    b[i], b[j] = b[j], b[i]
                    i += 1
                    j -= 1
            if k <= j:
                high = j
            elif k >= i:
                low = i
            else:
                low = high
        rounds += 1
    after = b[k]
    if k + 1 < len(b):
        after = np.min(b[k + 1 :])
    return b[k], after


_ROUNDS, _MANY = 64, 256


def two_in_order(a, k):
    """The k-th element in order and the next, or the last again."""
    demand(len(a) > 0)
    if len(a) > _MANY:
        return selected(a, k)
    s = np.sort(a)
    return s[k], s[min(k + 1, len(a) - 1)]


@lowering(np.median)
def median_loops(a, axis=None, keepdims=False):
    demand_read((axis is None or type(axis) is int) and (a.ndim > 0 or not keepdims))
    if a.dtype == float and (axis is None or (a.ndim == 1 and axis in (0, -1))) and not keepdims:
        b, n = np.ravel(a), a.size
        if n == 0:
            return np.mean(b)
        demand(np.all(b == b))
        one, two = two_in_order(b, (n - 1) // 2)
        return (one + two) / 2 if n % 2 == 0 else one / 1
    along = 0 if axis is None else axis
    s = np.moveaxis(np.sort(np.ravel(a) if axis is None else a, along), along, 0)
    n = len(s)
    demand(np.all(s[n - 1 :] == s[n - 1 :]))  # no NaN, which comes last
    middle = s[(n - 1) // 2 : n // 2 + 1].mean(axis=0)
    if not keepdims:
        return middle
    return np.reshape(middle, (1,) * a.ndim) if axis is None else np.expand_dims(middle, axis)


@lowering(np.nanmedian)
def nanmedian_loops(a, axis=None, keepdims=False):
    demand_read((axis is None or type(axis) is int) and a.dtype == float)
    s = np.sort(np.ravel(a) if axis is None else np.moveaxis(a, axis, -1))
    rows = stack_of(s, 1)
    made = np.empty(len(rows))
    for i in range(len(rows)):
        n = len(rows[i]) - np.isnan(rows[i]).sum()  # they come last
        demand(n > 0)
        made[i] = rows[i][(n - 1) // 2 : n // 2 + 1].mean()
    if axis is None:
        return np.reshape(made, (1,) * a.ndim) if keepdims else made[0]
    if keepdims:
        return np.expand_dims(made.reshape(s.shape[:-1]), axis)
    return made[0] if s.ndim == 1 else made.reshape(s.shape[:-1])


@lowering(np.quantile)
def quantile_loops(a, q, axis=None):
    b = np.ravel(a) if axis is None else a
    if b.dtype == float and b.ndim == 1 and axis in (None, 0, -1):
        demand(np.all(b == b))
        demand(q >= 0)
        demand(q <= 1)
        slopes_hold(np.all(np.isfinite(b)))
        at = q * (len(b) - 1)
        low = int(np.floor(at))
        one, two = two_in_order(b, low)
        return one + (two - one) * (at - low)
    s = np.moveaxis(np.sort(b, 0 if axis is None else axis), 0 if axis is None else axis, 0)
    demand(len(s) > 0)
    demand(np.all(s[-1] == s[-1]))
    demand(q >= 0)
    demand(q <= 1)
    slopes_hold(np.all(np.isfinite(s[0])) and np.all(np.isfinite(s[-1])))
    at = q * (len(s) - 1)
    low = int(np.floor(at))
    high = min(low + 1, len(s) - 1)
    t = at - low
    y = s[low] + (s[high] - s[low]) * t
    return np.ascontiguousarray(y) if s.ndim > 1 else y


@lowering(np.percentile)
def percentile_loops(a, q, axis=None):
    return np.quantile(a, q / 100, axis)
