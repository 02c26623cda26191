"""The rules of scipy.signal."""

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, composed, conj, numpys, strip, with_value
from zyg.scipy._namespace import rule_for
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import valued


def _embedded(y_bar, mode, n1, n2):
    """The cotangent of a part of the full convolution as one of the whole."""
    if mode == "full" or not n1:
        return y_bar
    pads = []
    for have, a, b in zip(np.shape(y_bar), n1, n2, strict=True):
        start = (b - 1) // 2 if mode == "same" else min(a, b) - 1
        pads.append((start, a + b - 1 - have - start))
    return np.pad(y_bar, pads)


@rule_for(scipy.signal.convolve, linear=(0, 1))
def convolve(in1, in2, mode="full", method="auto"):
    a, b = as_array(in1), as_array(in2)
    y = convolve(in1, in2, mode, method)

    def convolve_pullback(y_bar):
        whole = _embedded(y_bar, mode, np.shape(a), np.shape(b))

        def bar(other):
            return convolve(whole, np.flip(conj(other)), "valid", method)

        return lambda: bar(b), lambda: bar(a)

    return y, convolve_pullback


def _as_convolution(function, written):
    """The rule of a bilinear function that is also `written` as a convolution."""

    @valued(function)
    def bilinear(in1, in2, *options, **named):
        return written(as_array(in1), as_array(in2), *options, **named)


def _correlated(a, b, mode="full", method="auto", before=1):
    full = convolve(a, np.flip(conj(b)), "full", method)
    if mode == "full":
        return full
    n1, n2 = np.shape(a), np.shape(b)
    if mode == "same":
        starts = [(m - before) // 2 for m in n2]
        parts = [slice(start, start + n) for start, n in zip(starts, n1, strict=True)]
    else:
        parts = [slice(min(n, m) - 1, max(n, m)) for n, m in zip(n1, n2, strict=True)]
    return full[tuple(parts)]


def _two_dimensional(written, *centre):
    def planar(a, b, mode="full", boundary="fill", fillvalue=0):
        if boundary != "fill" or fillvalue != 0:
            raise unknown_call("scipy.signal.convolve2d", "its rule knows no boundary but zeros")
        return written(a, b, mode, "direct", *centre)

    return planar


def _along_all_axes(a, b, mode="full", axes=None):
    if axes is not None:
        raise unknown_call("scipy.signal.fftconvolve", "its rule does not know the keyword 'axes'")
    return convolve(a, b, mode, "fft")


_as_convolution(scipy.signal.correlate, _correlated)
_as_convolution(scipy.signal.fftconvolve, _along_all_axes)
_as_convolution(scipy.signal.oaconvolve, _along_all_axes)
_as_convolution(scipy.signal.convolve2d, _two_dimensional(convolve))
_as_convolution(scipy.signal.correlate2d, _two_dimensional(_correlated, 0))


def _filter(b, a, x, axis):
    return scipy.signal.lfilter(b, a, x, axis)


@rule_for(_filter, linear=(0, 2))
def filtered(b, a, x, axis):
    """With A y = B x: x_bar = B^T A^-T y_bar, and the coefficients weigh delayed signals."""
    y = filtered(b, a, x, axis)
    one = np.ones(1)

    def filtered_pullback(y_bar):
        n = np.shape(y)[axis]

        def delayed(signal, count):
            """sum_t y_bar[t] conj(A^-1 signal)[t - k], for k below count"""
            c = np.moveaxis(y_bar, axis, -1)
            v = np.moveaxis(conj(filtered(one, a, signal, axis)), axis, -1)
            parts = [np.sum(c[..., k:] * v[..., : max(n - k, 0)]) for k in range(count)]
            return np.stack(parts)

        backwards = filtered(conj(b), conj(a), np.flip(y_bar, axis), axis)
        return (
            lambda: delayed(x, len(b)),
            lambda: -delayed(y, len(a)),
            np.flip(backwards, axis),
            None,
        )

    return y, filtered_pullback


@composed(scipy.signal.lfilter)
def lfilter(b, a, x, axis=-1, zi=None):
    b, a, x = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a)), as_array(x)
    if zi is None:
        return filtered(b, a, x, axis)
    y, state = numpys(scipy.signal.lfilter, b, a, x, axis, zi)
    n, count = np.shape(x)[axis], max(len(b), len(a)) - 1
    b, a, one = b / a[0], a / a[0], np.ones(1)
    x = after(np.moveaxis(x, axis, -1), count)
    zi = np.moveaxis(as_array(zi), axis, -1)
    zi = np.broadcast_to(zi, (*np.shape(x)[:-1], count))
    # The state is what the output would be, were the inputs before forgotten: a signal to 1 / A.
    made = filtered(b, a, x, -1) + filtered(one, a, after(zi, n), -1)
    left = filtered(a, one, made[..., n:], -1)
    made, left = (np.moveaxis(v, -1, axis) for v in (made[..., :n], left))
    return with_value(made, (y,)), with_value(left, (state,))


def after(x, count):
    """`x`, followed by zeros along its last axis."""
    return np.concatenate([x, np.zeros((*np.shape(x)[:-1], count), strip(x).dtype)], axis=-1)
