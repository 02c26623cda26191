"""The rules of scipy.ndimage: filters that weigh neighbours."""

import numpy as np
import scipy.ndimage
from numpy.exceptions import AxisError

from zyg.errors import unknown_call
from zyg.functions.kit import (
    as_array,
    composed,
    conj,
    no_out,
    normal_axes,
    normal_axis,
    raised,
    strip,
    with_value,
)
from zyg.scipy._namespace import rule_for
from zyg.verbs.gradients import pullback


def _places(mode, n, before, after):
    """The element that stands at each place of an extended line."""
    k = np.arange(-before, n + after)
    if mode == "nearest":
        return np.clip(k, 0, n - 1)
    if mode in ("wrap", "grid-wrap"):
        return k % n
    period = max(2 * n - 2, 1) if mode == "mirror" else 2 * n
    k = k % period
    return np.minimum(k, (period if mode == "mirror" else period - 1) - k) if n > 1 else 0 * k


def _extended(x, axis, before, after, mode, cval):
    """The array, with what stands beyond its ends along an axis."""
    if mode in ("constant", "grid-constant"):
        pads = [(0, 0)] * np.ndim(x)
        pads[axis] = (before, after)
        return np.pad(x, pads, constant_values=cval)
    return np.take(x, _places(mode, np.shape(x)[axis], before, after), axis)


def _correlated(x, w, axis, mode, cval, origin):
    m = np.shape(w)[0]
    whole = _extended(x, axis, m // 2 + origin, m - 1 - m // 2 - origin, mode, cval)
    return np.matmul(np.lib.stride_tricks.sliding_window_view(whole, m, axis), conj(w))


def _dtype_only(name, output, *inputs):
    """Refuse an array to write into, and results that are whole numbers."""
    if output is not None and not isinstance(output, (str, type, np.dtype)):
        no_out(output)
    dtype = np.dtype(output) if output is not None else strip(as_array(inputs[0])).dtype
    if dtype.kind not in "fc":
        why = f"its result has dtype {dtype}, whose numbers have no derivative"
        raise unknown_call(f"scipy.ndimage.{name}", why)


def _by_filling(name, mode):
    """Refuse the derivative by what is beyond the ends, which two modes read."""
    if mode in ("constant", "grid-constant"):
        raise unknown_call(f"scipy.ndimage.{name}", "its rule has no derivative by 'cval'")


def image_axes(axes, ndim):
    """Axes that are there; some of SciPy's functions take no notice of others."""
    try:
        return normal_axes(axes, ndim)
    except AxisError as error:
        raise unknown_call("scipy.ndimage", f"an image of {ndim} axes has no {axes}") from error


@rule_for(scipy.ndimage.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    _dtype_only("correlate1d", output, input)
    x, w = as_array(input), as_array(weights)
    y = correlate1d(input, weights, axis, output, mode, cval, origin)

    def correlate1d_pullback(y_bar):
        if not np.size(x):
            zeros = np.zeros_like(x), np.zeros_like(w)
            return *zeros, None, None, None, None, None

        def written(x, w):
            return _correlated(x, w, axis % np.ndim(x), mode, cval, origin)

        _, back = pullback(written, x, w)
        return *back(y_bar), None, None, None, lambda: _by_filling("correlate1d", mode), None

    return y, correlate1d_pullback


@correlate1d.pushforward
def correlate1d_forward(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    _dtype_only("correlate1d", output, input)
    y = correlate1d(input, weights, axis, output, mode, cval, origin)

    def correlate1d_pushforward(x_dot, w_dot, *others):
        if any(dot is not None for dot in others):
            _by_filling("correlate1d", mode)
        parts = []
        if x_dot is not None:
            parts.append(correlate1d(x_dot, weights, axis, output, mode, 0.0, origin))
        if w_dot is not None:
            parts.append(correlate1d(input, w_dot, axis, output, mode, cval, origin))
        return sum(parts[1:], parts[0])

    return y, correlate1d_pushforward


@composed(scipy.ndimage.convolve1d)
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    w = as_array(weights)
    origin = -origin - (np.shape(w)[0] % 2 == 0)
    return correlate1d(input, conj(w[::-1]), axis, output, mode, cval, origin)


def _kernel(sigma, order, radius):
    """The derivative of a Gaussian of this order, at whole numbers: a polynomial times it."""
    x = np.arange(-radius, radius + 1)
    variance = sigma * sigma
    phi = np.exp(-0.5 / variance * x**2)
    phi = phi / np.sum(phi)
    factors = [1.0]  # of the powers of x
    for _ in range(order):
        slopes = [k * f for k, f in enumerate(factors)][1:] + [0.0, 0.0]
        factors = [a + b / -variance for a, b in zip(slopes, [0.0, *factors], strict=True)]
    return phi * sum(f * x**k for k, f in enumerate(factors)) if order else phi


@composed(scipy.ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *,
    radius=None,
):  # fmt: skip
    if radius is None:
        radius = int(truncate * float(strip(sigma)) + 0.5)
    impulse = np.pad([1.0], radius)
    kernel = scipy.ndimage.gaussian_filter1d(
        impulse, strip(sigma), -1, order, mode="constant", radius=radius
    )
    weights = with_value(_kernel(sigma, order, radius), (kernel,))[::-1]
    return correlate1d(input, weights, axis, output, mode, cval, 0)


def _for_each(value, axes):
    """One of it for each axis."""
    several = isinstance(value, (list, tuple)) or np.ndim(strip(value)) > 0
    return list(value) if several else [value] * len(axes)


@composed(scipy.ndimage.gaussian_filter)
def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None,
    axes=None,
):  # fmt: skip
    _dtype_only("gaussian_filter", output, input)
    y = as_array(input)
    asked, axes = axes, normal_axes(axes, np.ndim(y))
    if len({*axes}) != len(axes) or (np.ndim(y) == 0 and np.size(asked) and asked is not None):
        raised(scipy.ndimage.gaussian_filter, y, sigma, axes=asked)
    rows = (_for_each(v, axes) for v in (sigma, order, mode, radius))
    for axis, s, k, m, r in zip(axes, *rows, strict=True):
        if strip(s) > 1e-15:
            y = gaussian_filter1d(y, s, axis, k, output, m, cval, truncate, radius=r)
    return np.astype(y, strip(y).dtype if output is None else np.dtype(output))


def _edges(function, smoothing):
    def edges(input, axis=-1, output=None, mode="reflect", cval=0.0):
        axis = normal_axis(axis, np.ndim(input))
        modes = _for_each(mode, range(np.ndim(input)))
        if len(modes) != np.ndim(input):
            raised(function, input, axis, None, mode)
        y = correlate1d(input, [-1, 0, 1], axis, output, modes[axis], cval, 0)
        for k in range(np.ndim(input)):
            if k != axis:
                y = correlate1d(y, smoothing, k, output, modes[k], cval, 0)
        return y

    edges.__name__ = function.__name__
    composed(function)(edges)


_edges(scipy.ndimage.sobel, [1, 2, 1])
_edges(scipy.ndimage.prewitt, [1, 1, 1])
