"""The rules of scipy.ndimage: filters that choose a neighbour; functions of neighbours."""

import numpy as np

from zyg.functions.kit import as_array, buffer, composed, normal_axis, strip
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as, dispatching
from zyg.scipy._ndimage_filters import (
    bordered,
    each_axis,
    filtering,
    given_to,
    parts_of,
    value_of,
    whole,
)
from zyg.scipy._ndimage_rules import _for_each, image_axes
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import unknown, with_formula


def _footprint(given, ndim):
    """Which neighbours are met: of a size, a footprint or a structure."""
    axes, footprint = given.get("axes"), given.get("footprint")
    if footprint is None and given.get("structure") is not None:
        footprint = np.ones(np.shape(given["structure"]))
    if footprint is None:
        return np.ones([max(int(m), 1) for m in each_axis(given["size"], ndim, axes, 1)], bool)
    return whole(np.asarray(footprint, bool), ndim, axes)


def _places(shape, footprint, origins, modes):
    """The place in an image that each neighbour has, for every element; -1 beyond its ends."""
    places = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if places.size:
        places = bordered(places, footprint.shape, origins, modes, -1)
    return parts_of(places, shape, np.argwhere(footprint))


def _chosen(function, y, x, places, cval, added=None):
    """The first of the neighbours that have the value of y; `added` is for each, in order."""
    seen, known = np.ravel(strip(x)), y != y
    place, tap = np.full(y.shape, -1), np.zeros(y.shape, int)
    for k, one in enumerate(places if y.size else ()):
        values = np.where(one < 0, cval, seen[one])
        if added is not None:
            values = values + strip(added)[k]
        new = ~known & (values.astype(y.dtype) == y)
        place[new], tap[new], known = one[new], k, known | new
    if not np.all(known):
        raise unknown(function, "these values: no neighbour has that of the result", "")
    d = np.where(place < 0, cval, np.ravel(x)[place])
    d = d if added is None else d + added[tap]
    return np.where(y != y, np.nan, d)


def _choosing(function, *watched, mirrored=False, sign=1):
    """Register a filter each of whose results is one of the neighbours."""

    def chosen(*args, **kwargs):
        given = given_to(function, args, kwargs, ("input", *watched))
        y = value_of(function, args, kwargs)
        x = as_array(given["input"])
        n = np.ndim(x)
        if "axis" in given:
            given["axes"] = (normal_axis(given.pop("axis"), n),)
        axes, structure = given.get("axes"), given.get("structure")
        footprint = _footprint(given, n)
        origins = each_axis(given["origin"], n, axes, 0)
        if mirrored:
            footprint = np.flip(footprint)
            pairs = zip(origins, footprint.shape, strict=True)
            origins = [-k - (m % 2 == 0 and m > 1) for k, m in pairs]

        def formula():
            added = None
            if structure is not None:
                steps = as_array(structure)
                steps = sign * whole(np.flip(steps) if mirrored else steps, n, axes)
                added = np.astype(steps, float)[footprint]
            modes = each_axis(given["mode"], n, axes, "constant")
            places = _places(np.shape(x), footprint, origins, modes)
            return np.astype(_chosen(function, y, x, places, given["cval"], added), y.dtype)

        return with_formula(function, y, formula, (args, kwargs))

    composed(function)(called_as(function, chosen))


for _name in ("maximum", "minimum"):
    _choosing(getattr(scipy.ndimage, f"{_name}_filter"))
    _choosing(getattr(scipy.ndimage, f"{_name}_filter1d"))
for _name in ("rank", "median", "percentile"):
    _choosing(getattr(scipy.ndimage, f"{_name}_filter"))
_choosing(scipy.ndimage.grey_erosion, "structure", sign=-1)
_choosing(scipy.ndimage.grey_dilation, "structure", mirrored=True)

_eroded = dispatching(scipy.ndimage.grey_erosion)
_dilated = dispatching(scipy.ndimage.grey_dilation)


def _morphology(function, written):
    """Register what is written in erosions and dilations."""
    filtering(function, "input", "structure")(lambda input, **how: written(as_array(input), how))


_morphology(scipy.ndimage.grey_opening, lambda x, how: _dilated(_eroded(x, **how), **how))
_morphology(scipy.ndimage.grey_closing, lambda x, how: _eroded(_dilated(x, **how), **how))
_morphology(
    scipy.ndimage.morphological_gradient, lambda x, how: _dilated(x, **how) - _eroded(x, **how)
)
_morphology(
    scipy.ndimage.morphological_laplace,
    lambda x, how: _dilated(x, **how) + _eroded(x, **how) - 2 * x,
)
_morphology(scipy.ndimage.white_tophat, lambda x, how: x - _dilated(_eroded(x, **how), **how))
_morphology(scipy.ndimage.black_tophat, lambda x, how: _eroded(_dilated(x, **how), **how) - x)


# Functions of neighbours

_ANY = "input", "function", "extra_arguments", "extra_keywords"


def _rows(x, footprint, origins, modes, cval):
    """The neighbours of every element, in a row."""
    places = np.stack([*_places(np.shape(x), footprint, origins, modes)], axis=-1)
    places = np.reshape(places, (-1, np.shape(places)[-1]))
    return np.where(places < 0, cval, np.ravel(x)[places])


def _demand_callable(filter, function):
    if not callable(function):
        raise unknown(filter, "functions of other languages")


@filtering(scipy.ndimage.generic_filter, *_ANY)
def generic_filter(input, function, mode, cval, origin, extra_arguments, extra_keywords, **given):
    _demand_callable(scipy.ndimage.generic_filter, function)
    x, n, axes = as_array(input), np.ndim(input), given["axes"]
    footprint, modes = _footprint(given, n), each_axis(mode, n, axes, "constant")
    rows = _rows(x, footprint, each_axis(origin, n, axes, 0), modes, cval)
    made = [function(row, *extra_arguments, **(extra_keywords or {})) for row in rows]
    return np.reshape(np.stack([np.reshape(v, ()) for v in made]), np.shape(x))


@filtering(scipy.ndimage.generic_filter1d, *_ANY)
def generic_filter1d(
    input, function, filter_size, axis, mode, cval, origin, extra_arguments, extra_keywords
):
    _demand_callable(scipy.ndimage.generic_filter1d, function)
    x, sizes = as_array(input), [1] * np.ndim(input)
    axis = normal_axis(axis, np.ndim(x))
    sizes[axis] = filter_size
    origins = [origin * (k == axis) for k in range(np.ndim(x))]
    lines = np.moveaxis(bordered(x, sizes, origins, [mode] * np.ndim(x), cval), axis, -1)
    shape = (*np.shape(lines)[:-1], np.shape(x)[axis])
    made = []
    for line in np.reshape(lines, (-1, np.shape(lines)[-1])):
        written = buffer(np.zeros(shape[-1]))
        function(line, written, *extra_arguments, **(extra_keywords or {}))
        made.append(written)
    return np.moveaxis(np.reshape(np.stack(made), shape), -1, axis)


@composed(scipy.ndimage.vectorized_filter)
def vectorized_filter(
    input, function, *, size=None, footprint=None, output=None, mode="reflect", cval=None,
    origin=None, axes=None, batch_memory=2**30,
):  # fmt: skip
    original = scipy.ndimage.vectorized_filter
    how = {"size": size, "footprint": footprint, "mode": mode, "cval": cval, "origin": origin}
    how |= {"axes": axes, "batch_memory": batch_memory}
    if output is not None:
        raise unknown(original, "output=")
    y = original(plain(input), plain(function), **plain(how))
    x = as_array(input)
    n = np.ndim(x)
    if n == 0:
        raise unknown(original, "an input without axes")
    axes = image_axes(axes, n)
    window = np.ones(_for_each(size, axes), bool) if size is not None else np.asarray(footprint)
    last = tuple(range(-len(axes), 0))

    def formula():
        whole = np.moveaxis(x, axes, last)
        if mode != "valid":
            sizes = [1] * (n - len(axes)) + [*np.shape(window)]
            ends = [0] * (n - len(axes)) + _for_each(0 if origin is None else origin, axes)
            modes = ["mirror" if mode == "grid-mirror" else mode] * n  # as SciPy has it here
            whole = bordered(whole, sizes, ends, modes, 0.0 if cval is None else cval)
        view = np.lib.stride_tricks.sliding_window_view(whole, np.shape(window), last)
        if size is not None:
            made = function(view, axis=last)
        else:
            made = function(view[..., window.astype(bool)], axis=-1)
        return np.moveaxis(made, last, axes)

    if not np.size(x):
        return y
    return with_formula(original, y, formula, (input, function))
