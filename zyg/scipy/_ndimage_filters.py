"""The rules of scipy.ndimage: weights in several axes, means, sums of derivatives."""

import math
from typing import Any

import numpy as np

from zyg.functions.kit import (
    as_array,
    composed,
    conj,
    holds_nothing_watched,
    is_complex,
    no_out,
    normal_axes,
    raised,
    rules,
    strip,
    watched_leaves,
)
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as, dispatching, rule_for
from zyg.scipy._ndimage_rules import (
    _by_filling,
    _dtype_only,
    _extended,
    _for_each,
    correlate1d,
    folded,
    gaussian_filter,
    image_axes,
)
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import arguments_of, length_of, still, unknown, with_formula


def filtering(function, *watched):
    """Register the formula of a filter, which takes all arguments but `output` by their names.

    Refused are arguments that are watched and not among `watched`, arrays to write into, and
    results that are whole numbers.
    """

    def register(formula):
        def by_formula(*args, **kwargs):
            if all(map(holds_nothing_watched, watched_leaves((args, kwargs)))):  # buffers, held
                return function(*plain(args), **plain(kwargs))
            given = given_to(function, args, kwargs, watched)
            y = value_of(function, args, kwargs)
            if not np.size(given["input"]):
                return y
            return with_formula(
                function, y, lambda: np.astype(formula(**given), y.dtype), (args, kwargs)
            )

        composed(function)(called_as(function, by_formula))
        return formula

    return register


def given_to(function, args, kwargs, watched):
    """The arguments of a filter but `output`, by their names; or the error of what it refuses."""
    given = {**arguments_of(function, args, kwargs)}
    given.update(given.pop("kwargs", {}))
    output = given.pop("output", None)
    if isinstance(output, np.ndarray) or watched_leaves(output):
        no_out(output)
    for name in given.keys() - {*watched}:
        given[name] = still(function, name, given[name])
    return given


def value_of(function, args, kwargs):
    """What SciPy computes; an error of what are whole numbers."""
    y = function(*plain(args), **plain(kwargs))
    _dtype_only(function.__name__, y.dtype, y)
    return y


# Weights in several axes


def whole(part, ndim, axes):
    """What lies along some axes, with an axis for each of an image's."""
    return np.expand_dims(part, tuple(k for k in range(ndim) if k not in image_axes(axes, ndim)))


def each_axis(value, ndim, axes, other):
    """A value for each axis of an image, of those for some; `other` for the others."""
    axes = image_axes(axes, ndim)
    row = dict(zip(axes, _for_each(value, axes), strict=True))
    return [row.get(k, other) for k in range(ndim)]


def by_place(value, ndim, axes):
    """A value for each axis of an image, 0 for the others; those for all are in their own order."""
    return each_axis(value, ndim, axes if len(image_axes(axes, ndim)) < ndim else None, 0)


def bordered(x, sizes, origins, modes, cval):
    """An image, with what windows of these sizes meet beyond its ends."""
    for axis, (m, origin, mode) in enumerate(zip(sizes, origins, modes, strict=True)):
        before = m // 2 + origin
        if m > 1:
            x = _extended(x, axis, before, m - 1 - before, mode, cval)
    return x


def parts_of(x, shape, taps):
    """The part of a bordered image that each tap of a window meets."""
    for tap in taps:
        yield x[tuple(slice(k, k + n) for k, n in zip(tap, shape, strict=True))]


@rule_for(scipy.ndimage.correlate)
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    _dtype_only("correlate", output, input)
    x, w = as_array(input), as_array(weights)
    y = correlate(x, w, output, mode, cval, origin, axes=axes)
    n = np.ndim(x)

    def correlate_pullback(y_bar):
        if not np.size(x):
            return np.zeros_like(x), np.zeros_like(w), None, None, None, None
        window = whole(w, n, axes)
        sizes, origins = np.shape(window), by_place(origin, n, axes)

        def by_image():
            padded = np.pad(y_bar, [(0, m - 1) for m in sizes]) if sizes else y_bar
            last = [(m - 1) // 2 for m in sizes]
            bar = correlate(padded, conj(np.flip(window)), None, "constant", 0.0, last)
            bar = bar if is_complex(x) else np.real(bar)
            for axis, (m, k) in enumerate(zip(sizes, origins, strict=True)):
                bar = folded(bar, axis, m // 2 + k, m - 1 - m // 2 - k, mode)
            return bar

        def by_weights():
            whole = bordered(x, sizes, origins, [mode] * n, cval)
            parts = parts_of(whole, np.shape(x), np.ndindex(sizes))
            sums = np.stack([np.sum(conj(y_bar) * part) for part in parts])
            return np.reshape(sums if is_complex(w) else np.real(sums), np.shape(w))

        return by_image, by_weights, None, None, lambda: _by_filling("correlate", mode), None

    return y, correlate_pullback


@correlate.pushforward
def correlate_forward(
    input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    _dtype_only("correlate", output, input)
    y = correlate(input, weights, output, mode, cval, origin, axes=axes)

    def correlate_pushforward(x_dot, w_dot, *others):
        if any(dot is not None for dot in others):
            _by_filling("correlate", mode)
        parts = []
        if x_dot is not None:
            parts.append(correlate(x_dot, weights, output, mode, 0.0, origin, axes=axes))
        if w_dot is not None:
            parts.append(correlate(input, w_dot, output, mode, cval, origin, axes=axes))
        return np.astype(sum(parts, np.zeros_like(strip(y))), strip(y).dtype)

    return y, correlate_pushforward


@composed(scipy.ndimage.convolve)
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    w, n = as_array(weights), np.ndim(input)
    if np.ndim(w) != len(image_axes(axes, n)):
        raised(scipy.ndimage.convolve, input, w, origin=origin, axes=axes)
    w, origins = whole(w, n, axes), by_place(origin, n, axes)
    origins = [-k - (m % 2 == 0) for k, m in zip(origins, np.shape(w), strict=True)]
    return correlate(input, conj(np.flip(w)), output, mode, cval, origins)


# Means


@filtering(scipy.ndimage.uniform_filter1d, "input")
def uniform_filter1d(input, size, axis, mode, cval, origin):
    return correlate1d(input, np.ones(size) / size, axis, None, mode, cval, origin)


@filtering(scipy.ndimage.uniform_filter, "input")
def uniform_filter(input, size, mode, cval, origin, axes):
    y = as_array(input)
    axes = normal_axes(axes, np.ndim(y))
    for axis, m, k, how in zip(
        axes, *(_for_each(v, axes) for v in (size, origin, mode)), strict=True
    ):
        if m > 1:
            y = uniform_filter1d(y, int(m), axis, how, cval, k)
    return y


# Sums of derivatives along axes


def _along(derivative, function, x, mode, cval, axes):
    """The derivative along each axis."""
    dtype = strip(x).dtype
    for axis, how in zip(axes, _for_each(mode, axes), strict=True):
        part = derivative(x, axis, dtype, how, cval)
        if part is None:
            raise unknown(function, "a derivative that is written into its argument 'output'")
        yield part


def _laplace(function, x, derivative, mode, cval, axes):
    x = as_array(x)
    parts = [*_along(derivative, function, x, mode, cval, normal_axes(axes, np.ndim(x)))]
    return sum(parts[1:], parts[0]) if parts else x


def _magnitude(function, x, derivative, mode, cval, axes):
    """The length of a gradient; its slope is 0 where it is."""
    x = as_array(x)
    parts = [*_along(derivative, function, x, mode, cval, normal_axes(axes, np.ndim(x)))]
    if not parts:
        return x
    return length_of(sum(part * part for part in parts))


def _given_more(derivative, args, kwargs):
    derivative = dispatching(derivative) if derivative in rules else derivative

    def called(x, axis, output, mode, cval):
        return derivative(x, axis, output, mode, cval, *args, **(kwargs or {}))

    return called


@filtering(scipy.ndimage.laplace, "input")
def laplace(input, mode, cval, axes):
    def derivative2(x, axis, output, mode, cval):
        return correlate1d(x, [1, -2, 1], axis, output, mode, cval, 0)

    return _laplace(scipy.ndimage.laplace, input, derivative2, mode, cval, axes)


_ANY = "input", "extra_arguments", "extra_keywords"


@filtering(scipy.ndimage.generic_laplace, *_ANY, "derivative2")
def generic_laplace(input, derivative2, mode, cval, extra_arguments, extra_keywords, axes):
    derivative = _given_more(derivative2, extra_arguments, extra_keywords)
    return _laplace(scipy.ndimage.generic_laplace, input, derivative, mode, cval, axes)


@filtering(scipy.ndimage.generic_gradient_magnitude, *_ANY, "derivative")
def generic_gradient_magnitude(
    input, derivative, mode, cval, extra_arguments, extra_keywords, axes
):
    function = scipy.ndimage.generic_gradient_magnitude
    derivative = _given_more(derivative, extra_arguments, extra_keywords)
    return _magnitude(function, input, derivative, mode, cval, axes)


def _by_gaussians(order, ndim, sigma, options):
    def derivative(x, axis, output, mode, cval):
        orders = [order * (k == axis) for k in range(ndim)]
        return gaussian_filter(x, sigma, orders, output, mode, cval, **options)

    return derivative


@filtering(scipy.ndimage.gaussian_laplace, "input", "sigma")
def gaussian_laplace(input, sigma, mode, cval, axes, **options):
    n = np.ndim(input)
    derivative = _by_gaussians(2, n, by_place(sigma, n, axes), options)
    return _laplace(scipy.ndimage.gaussian_laplace, input, derivative, mode, cval, axes)


@filtering(scipy.ndimage.gaussian_gradient_magnitude, "input", "sigma")
def gaussian_gradient_magnitude(input, sigma, mode, cval, axes, **options):
    function = scipy.ndimage.gaussian_gradient_magnitude
    derivative = _by_gaussians(1, np.ndim(input), sigma, options)
    return _magnitude(function, input, derivative, mode, cval, axes)


# Fourier transforms, each of whose elements is weighed


def _weighing(function, *watched, weights=None):
    def weighed(input, n, axis, **how):
        axis = normal_axes(axis, np.ndim(input))[0]
        if not any(watched_leaves(v) for v in how.values()):
            ones = np.ones(np.shape(input), complex)
            w = function(ones, *how.values(), n, axis)
            return as_array(input) * (w if function is scipy.ndimage.fourier_shift else w.real)
        lengths = [*np.shape(input)]
        factor: Any = 1.0
        (each,) = how.values()
        for k, v in enumerate(_for_each(each, lengths)):
            m = n if k == axis and n >= 0 else lengths[k]
            turns = np.fft.rfftfreq(m) if k == axis and n >= 0 else np.fft.fftfreq(m)
            shape = [-1 if j == k else 1 for j in range(len(lengths))]
            factor = factor * np.reshape(weights(v, turns), shape)
        return as_array(input) * factor

    filtering(function, "input", *watched)(weighed)


def _gaussian(sigma, turns):
    return np.exp(-2 * math.pi**2 * sigma**2 * turns**2)


def _shifted(by, turns):
    return np.exp(-2j * math.pi * by * turns)


_weighing(scipy.ndimage.fourier_gaussian, "sigma", weights=_gaussian)
_weighing(scipy.ndimage.fourier_shift, "shift", weights=_shifted)
_weighing(scipy.ndimage.fourier_uniform)
_weighing(scipy.ndimage.fourier_ellipsoid)
