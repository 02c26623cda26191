"""The rules of scipy.ndimage: filters that weigh neighbours."""

import numpy as np
from numpy.exceptions import AxisError

from zyg.errors import unknown_call
from zyg.functions.kit import (
    as_array,
    composed,
    conj,
    is_complex,
    no_out,
    normal_axes,
    normal_axis,
    raised,
    strip,
    with_value,
)
from zyg.scipy._namespace import rule_for
from zyg.scipy._theirs import scipy


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


_FILLING = "constant", "grid-constant"


def _extended(x, axis, before, after, mode, cval):
    """The array, with what stands beyond its ends along an axis."""
    if mode in _FILLING:
        pads = [(0, 0)] * np.ndim(x)
        pads[axis] = (before, after)
        return np.pad(x, pads, constant_values=cval)
    return np.take(x, _places(mode, np.shape(x)[axis], before, after), axis)


def folded(bar, axis, before, after, mode):
    """The cotangent of an array, from that of what it was extended to along an axis."""
    n = np.shape(bar)[axis] - before - after
    first, inner, last = np.split(bar, [before, before + n], axis)
    if mode in _FILLING or not before + after:
        return inner
    places = np.delete(_places(mode, n, before, after), np.s_[before : before + n])
    ends = np.moveaxis(np.concatenate([first, last], axis), axis, -1)
    folds = np.equal(places[:, None], np.arange(n)).astype(strip(bar).dtype)
    return inner + np.moveaxis(np.matmul(ends, folds), -1, axis)


def _dtype_only(name, output, *inputs):
    """Refuse an array to write into, and results that are whole numbers."""
    if output is not None and not isinstance(output, (str, type, np.dtype)):
        no_out(output)
    dtype = np.dtype(output) if output is not None else strip(as_array(inputs[0])).dtype
    if dtype.kind not in "fc":
        why = f"its result has dtype {dtype}, whose numbers have no derivative"
        raise unknown_call(f"scipy.ndimage.{name}", why, "pass x.astype(float), or output=float")


def _by_filling(name, mode):
    """Refuse the derivative by what is beyond the ends, in modes that read it."""
    if mode in _FILLING:
        why = "its rule has no derivative by 'cval'"
        raise unknown_call(f"scipy.ndimage.{name}", why, "pass zyg.stop_gradient(cval)")


def image_axes(axes, ndim):
    """Axes that are there; some of SciPy's functions take no notice of others."""
    try:
        return normal_axes(axes, ndim)
    except AxisError as error:
        why = f"an image of {ndim} axes has no {axes}"
        raise unknown_call("scipy.ndimage", why, "leave it out") from error


@rule_for(scipy.ndimage.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    _dtype_only("correlate1d", output, input)
    x, w = as_array(input), as_array(weights)
    y = correlate1d(input, weights, axis, output, mode, cval, origin)

    def correlate1d_pullback(y_bar):
        if not np.size(x):
            zeros = np.zeros_like(x), np.zeros_like(w)
            return *zeros, None, None, None, None, None

        k, m = axis % np.ndim(x), np.shape(w)[0]
        before, after = m // 2 + origin, m - 1 - m // 2 - origin

        def by_image():
            padded = np.pad(y_bar, [(0, (m - 1) * (j == k)) for j in range(np.ndim(x))])
            whole = correlate1d(padded, conj(w[::-1]), k, None, "constant", 0.0, (m - 1) // 2)
            return folded(whole if is_complex(x) else np.real(whole), k, before, after, mode)

        def by_weights():
            whole = _extended(x, k, before, after, mode, cval)
            rows = np.lib.stride_tricks.sliding_window_view(whole, m, k)
            bar = np.tensordot(conj(y_bar), rows, np.ndim(x))
            return bar if is_complex(w) else np.real(bar)

        return (
            by_image,
            by_weights,
            None,
            None,
            None,
            lambda: _by_filling("correlate1d", mode),
            None,
        )

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
        return sum(parts, np.zeros_like(strip(y)))

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
