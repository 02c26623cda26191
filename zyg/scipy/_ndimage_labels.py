"""The rules of scipy.ndimage: statistics of labelled regions; what is constant."""

import numpy as np

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
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import arguments_of, length_of, unknown, with_formula


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
            x = as_array(given["input"])
            labels, index = plain((given["labels"], given["index"]))

            def of_regions():
                return np.reshape(formula(*_regions(x, labels, index)), np.shape(y))

            return with_formula(function, y, of_regions, (args, kwargs))

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
    return length_of(_spread(values, groups, count))


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
    function = scipy.ndimage.extrema
    y = function(*map(plain, (input, labels, index)))

    def of_regions():
        regions, shape = _regions(as_array(input), plain(labels), plain(index)), np.shape(y[0])
        return *(np.reshape(f(*regions), shape) for f in (_least, _greatest)), None, None

    return with_formula(function, y, of_regions, input)


@composed(scipy.ndimage.center_of_mass)
def center_of_mass(input, labels=None, index=None):
    function, x = scipy.ndimage.center_of_mass, as_array(input)
    labels, index = plain(labels), plain(index)
    y = function(plain(input), labels, index)
    found = np.asarray(y)

    def places():
        total = _total(*_regions(x, labels, index))
        lines = np.ogrid[tuple(slice(n) for n in np.shape(x))]
        sums = [_total(*_regions(x * line.astype(float), labels, index)) for line in lines]
        return np.reshape(np.stack([part / total for part in sums], axis=-1), found.shape)

    made = with_formula(function, found, places, input)
    return tuple(made) if isinstance(y, tuple) else [tuple(row) for row in made]


@composed(scipy.ndimage.labeled_comprehension)
def labeled_comprehension(input, labels, index, func, out_dtype, default, pass_positions=False):
    function = scipy.ndimage.labeled_comprehension
    rest = plain((labels, index, func, out_dtype, default, pass_positions))
    y = function(plain(input), *rest)
    labels, index = plain(labels), plain(index)
    if index is not None and labels is not None and np.asarray(y).dtype.kind not in "fc":
        why = f"a result of dtype {np.asarray(y).dtype}, whose numbers have no derivative"
        raise unknown(function, why, "pass out_dtype=float")

    def of_regions():
        x = as_array(input)
        values, groups, count = _regions(x, labels, index)
        at = _regions(np.reshape(np.arange(np.size(x)), np.shape(x)), labels, index)[0]
        made = []
        for k in range(count):
            here = np.flatnonzero(groups == k)
            arguments = (values[here], at[here]) if pass_positions else (values[here],)
            known = len(here) or labels is None or index is None
            made.append(func(*arguments) if known else default)
        d = made[0] if labels is None or index is None else np.stack([as_array(v) for v in made])
        return np.reshape(d, np.shape(y))

    return with_formula(function, y, of_regions, (input, func, default))


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


def _distances(function):
    """Register distances to the next 0, which move with the lengths of steps alone."""

    def distances(*args, **kwargs):
        given = {**arguments_of(function, args, kwargs)}
        sampling, image = given["sampling"], plain(given["input"])
        given |= {"input": image, "sampling": plain(sampling)}
        y = function(**given)
        if not watched_leaves(sampling) or given.get("metric", "euclidean").lower() != "euclidean":
            return y
        if given["distances"] is not None or not given["return_distances"]:
            raise unknown(function, "the derivative by 'sampling', but of the distances it returns")

        def lengths():
            only = {"return_distances": False, "return_indices": True, "indices": None}
            next_zero = function(**given | only)
            each = np.broadcast_to(as_array(sampling), np.ndim(image))
            squares = 0.0
            for axis, places in enumerate(np.indices(np.shape(image)) - next_zero):
                squares = squares + (each[axis] * places) ** 2
            d = length_of(squares)
            return (d, None) if isinstance(y, tuple) else d

        return with_formula(function, y, lengths, sampling)

    composed(function)(called_as(function, distances))


_distances(scipy.ndimage.distance_transform_edt)
_distances(scipy.ndimage.distance_transform_bf)
