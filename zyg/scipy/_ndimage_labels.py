"""The rules of scipy.ndimage: statistics of labelled regions; what is constant."""

import numpy as np
import scipy.ndimage

from zyg.functions.kit import (
    as_array,
    composed,
    is_complex,
    nondifferentiable,
    strip,
    watched_leaves,
)
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as
from zyg.scipy._valued import arguments_of, unknown, with_made


def _regions(x, labels, index):
    """The elements of all regions, region by region, and of which each is; how many there are.

    Of a scalar index, or none, there is one region.
    """
    values = np.ravel(x)
    if labels is None:
        return values, np.zeros(np.size(x), int), 1
    x, labels = np.broadcast_arrays(x, labels)
    values, labels = np.ravel(x), np.ravel(labels)
    if index is None or np.isscalar(index):
        inside = np.flatnonzero(labels > 0 if index is None else labels == index)
        return values[inside], np.zeros(len(inside), int), 1
    index = np.ravel(index)
    order = np.argsort(labels, kind="stable")
    ends = [np.searchsorted(labels[order], index, side) for side in ("left", "right")]
    parts = [order[a:b] for a, b in zip(*ends, strict=True)]
    counts = [len(part) for part in parts]
    places = np.concatenate([np.zeros(0, int), *parts])
    return values[places], np.repeat(np.arange(len(counts)), counts), len(counts)


def _measuring(function):
    """Register the formula of a statistic of regions."""

    def register(formula):
        def measured(*args, **kwargs):
            given = arguments_of(function, args, kwargs)
            y = function(*plain(args), **plain(kwargs))
            x, labels, index = (
                as_array(given["input"]),
                *map(plain, (given["labels"], given["index"])),
            )
            d = formula(*_regions(x, labels, index))
            return with_made(function, y, np.reshape(d, np.shape(y)), (args, kwargs))

        composed(function)(called_as(function, measured))
        return formula

    return register


def _total(values, groups, count):
    if not is_complex(values):
        return np.bincount(groups, values, count)
    parts = (np.bincount(groups, part, count) for part in (np.real(values), np.imag(values)))
    return next(parts) + 1j * next(parts)


def _average(values, groups, count):
    counts = np.bincount(groups, minlength=count)
    return _total(values, groups, count) / np.where(counts, counts, np.nan)


def _spread(values, groups, count):
    centred = values - _average(values, groups, count)[groups]
    squares = centred * np.conjugate(centred)
    return _average(squares, groups, count)


def _deviation(values, groups, count):
    """The root of a variance; its slope is 0 where it is."""
    squares = _spread(values, groups, count)
    apart = strip(squares) != 0
    return np.where(apart, np.sqrt(np.where(apart, squares, 1.0)), 0.0)


for _name in ("sum", "sum_labels"):
    _measuring(getattr(scipy.ndimage, _name))(_total)
_measuring(scipy.ndimage.mean)(_average)
_measuring(scipy.ndimage.variance)(_spread)
_measuring(scipy.ndimage.standard_deviation)(_deviation)


def _ranked(values, groups, count, low, high):
    """The mean of two elements of each region, by their ranks from its ends; 0 of none."""
    order = np.lexsort((strip(values), groups))
    counts = np.bincount(groups, minlength=count)
    first = np.cumsum(counts) - counts
    found = counts > 0
    if not len(order):
        return np.zeros(count)
    a, b = (order[np.where(found, first + rank(counts), 0)] for rank in (low, high))
    y = values[a] if np.array_equal(a, b) else (values[a] + values[b]) / 2.0
    return np.where(found, y, 0.0)


def _least(values, groups, count):
    return _ranked(values, groups, count, lambda n: 0 * n, lambda n: 0 * n)


def _greatest(values, groups, count):
    return -_least(-values, groups, count)


@_measuring(scipy.ndimage.median)
def _middle(values, groups, count):
    return _ranked(values, groups, count, lambda n: (n - 1) // 2, lambda n: n // 2)


_measuring(scipy.ndimage.minimum)(_least)
_measuring(scipy.ndimage.maximum)(_greatest)


@composed(scipy.ndimage.extrema)
def extrema(input, labels=None, index=None):
    least, greatest, *places = scipy.ndimage.extrema(*map(plain, (input, labels, index)))
    regions = _regions(as_array(input), plain(labels), plain(index))
    pairs = ((least, _least(*regions)), (greatest, _greatest(*regions)))
    made = [
        with_made(scipy.ndimage.extrema, y, np.reshape(d, np.shape(y)), input) for y, d in pairs
    ]
    return *made, *places


@composed(scipy.ndimage.center_of_mass)
def center_of_mass(input, labels=None, index=None):
    function, x = scipy.ndimage.center_of_mass, as_array(input)
    labels, index = plain(labels), plain(index)
    y = function(plain(input), labels, index)
    total = _total(*_regions(x, labels, index))
    lines = np.ogrid[tuple(slice(n) for n in np.shape(x))]
    sums = [_total(*_regions(x * line.astype(float), labels, index)) for line in lines]
    places = np.stack([part / total for part in sums], axis=-1)
    alone = isinstance(y, tuple)
    found = np.asarray(y)
    made = with_made(function, found, np.reshape(places, found.shape), input)
    return tuple(made) if alone else [tuple(row) for row in made]


@composed(scipy.ndimage.labeled_comprehension)
def labeled_comprehension(input, labels, index, func, out_dtype, default, pass_positions=False):
    function = scipy.ndimage.labeled_comprehension
    rest = plain((labels, index, func, out_dtype, default, pass_positions))
    y = function(plain(input), *rest)
    x, labels, index = as_array(input), plain(labels), plain(index)
    places = np.reshape(np.arange(np.size(x)), np.shape(x))
    values, groups, count = _regions(x, labels, index)
    at = _regions(places, labels, index)[0]
    if index is not None and labels is not None and np.asarray(y).dtype.kind not in "fc":
        why = f"a result of dtype {np.asarray(y).dtype}, whose numbers have no derivative"
        raise unknown(function, why)
    made = []
    for k in range(count):
        here = np.flatnonzero(groups == k)
        arguments = (values[here], at[here]) if pass_positions else (values[here],)
        known = len(here) or labels is None or index is None
        made.append(func(*arguments) if known else default)
    d = made[0] if labels is None or index is None else np.stack([as_array(v) for v in made])
    return with_made(function, y, np.reshape(d, np.shape(y)), (input, default))


# What is constant: labels, places, counts and what is true or false

nondifferentiable(
    scipy.ndimage.label, scipy.ndimage.find_objects, scipy.ndimage.histogram,
    scipy.ndimage.maximum_position, scipy.ndimage.minimum_position, scipy.ndimage.value_indices,
    scipy.ndimage.watershed_ift, scipy.ndimage.iterate_structure,
    scipy.ndimage.generate_binary_structure, scipy.ndimage.binary_closing,
    scipy.ndimage.binary_dilation, scipy.ndimage.binary_erosion, scipy.ndimage.binary_fill_holes,
    scipy.ndimage.binary_hit_or_miss, scipy.ndimage.binary_opening,
    scipy.ndimage.binary_propagation, scipy.ndimage.distance_transform_cdt,
)  # fmt: skip


@composed(scipy.ndimage.distance_transform_edt)
def distance_transform_edt(
    input, sampling=None, return_distances=True, return_indices=False, distances=None, indices=None
):
    """Distances to the next 0: constant in the image; they move with the lengths of the steps."""
    function = scipy.ndimage.distance_transform_edt
    input, steps = plain(input), plain(sampling)
    y = function(input, steps, return_distances, return_indices, distances, indices)
    if not watched_leaves(sampling):
        return y
    if distances is not None or not return_distances:
        raise unknown(function, "the derivative by 'sampling', but of the distances it returns")
    next_zero = function(input, steps, return_distances=False, return_indices=True)
    lengths = np.broadcast_to(as_array(sampling), np.ndim(input))
    squares = 0.0
    for axis, places in enumerate(np.indices(np.shape(input)) - next_zero):
        squares = squares + (lengths[axis] * places) ** 2
    apart = strip(squares) != 0
    d = np.where(apart, np.sqrt(np.where(apart, squares, 1.0)), 0.0)
    if return_indices and indices is None:
        return with_made(function, y[0], d, sampling), y[1]
    return with_made(function, y, d, sampling)


@composed(scipy.ndimage.distance_transform_bf)
def distance_transform_bf(
    input, metric="euclidean", sampling=None, return_distances=True, return_indices=False,
    distances=None, indices=None,
):  # fmt: skip
    function = scipy.ndimage.distance_transform_bf
    if watched_leaves(sampling):
        raise unknown(function, "the derivative by 'sampling'")
    given = return_distances, return_indices, distances, indices
    return function(plain(input), metric, sampling, *given)
