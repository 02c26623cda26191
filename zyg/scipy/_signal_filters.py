"""Filters of signals: by recursion, forwards and backwards, and by windows."""

from typing import Any

import numpy as np

from zyg.functions.kit import as_array, strip, watched_leaves
from zyg.scipy._closures import plain
from zyg.scipy._signal_rules import after, convolve, lfilter
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import unknown, written


@written(scipy.signal.sosfilt, "sos", "x", "zi")
def sosfilt(sos, x, axis, zi):
    sos, x = as_array(sos), as_array(x)
    states = []
    for k, section in enumerate(sos):
        if zi is None:
            x = lfilter(section[:3], section[3:], x, axis)
        else:
            x, state = lfilter(section[:3], section[3:], x, axis, zi[k])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


def _of_one_length(b, a):
    """The coefficients, divided by the first of `a`, and filled up to one length."""
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    a = a[int(np.argmax(strip(a) != 0)) :]
    n = max(len(b), len(a))
    return [np.pad(v / a[0], (0, n - len(v))) for v in (b, a)]


@written(scipy.signal.lfilter_zi, "b", "a")
def lfilter_zi(b, a):
    """The state z at rest under the input 1: z_k = z_(k+1) + b_(k+1) - a_(k+1) B(1) / A(1)."""
    if watched_leaves(a) and np.atleast_1d(plain(a))[0] == 0:
        option = "watched coefficients that begin with 0, which are cut off"
        raise unknown(scipy.signal.lfilter_zi, option, "leave the zeros out")
    b, a = _of_one_length(b, a)
    rest = b[1:] - a[1:] * (np.sum(b) / np.sum(a))
    return np.flip(np.cumsum(np.flip(rest)))


# Filters by windows

_PADS: dict[str, Any] = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap"}


@written(scipy.signal.savgol_filter, "x")
def savgol_filter(x, window_length, polyorder, deriv, delta, axis, mode, cval):
    if window_length % 2 == 0:
        raise unknown(scipy.signal.savgol_filter, "an even window_length")
    x, half = np.moveaxis(as_array(x), axis, -1), window_length // 2
    # Of each sample in a window alone; the row in the middle is that of all inner places.
    weights = scipy.signal.savgol_filter(
        np.eye(window_length), window_length, polyorder, deriv, delta, 0
    )
    if mode != "interp":
        x = _continued(x, half, mode, cval)
    row = np.reshape(weights[half][::-1], (1,) * (np.ndim(x) - 1) + (-1,))
    y = convolve(x, row, "valid")
    if mode == "interp" and half:
        first, last = x[..., :window_length], x[..., -window_length:]
        ends = first @ weights[:half].T, last @ weights[-half:].T
        y = np.concatenate([ends[0], y, ends[1]], axis=-1)
    return np.moveaxis(y, -1, axis)


def _continued(x, count, mode, value):
    if mode == "constant":
        pads = [(0, 0)] * (np.ndim(x) - 1) + [(count, count)]
        return np.pad(x, pads, constant_values=value)
    places = np.pad(np.arange(np.shape(x)[-1]), count, mode=_PADS[mode])
    return np.take(x, places, axis=-1)


@written(scipy.signal.medfilt, "volume")
def medfilt(volume, kernel_size):
    x = as_array(volume)
    size = np.broadcast_to(3 if kernel_size is None else kernel_size, (np.ndim(x),)).tolist()
    return _medians(x, size)


@written(scipy.signal.medfilt2d, "input")
def medfilt2d(input, kernel_size):
    return _medians(as_array(input), np.broadcast_to(kernel_size, (2,)).tolist())


def _medians(x, size):
    x = np.pad(x, [(n // 2, n // 2) for n in size])
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(size))
    return np.median(np.reshape(windows, (*np.shape(windows)[: len(size)], -1)), axis=-1)


# At another rate


@written(scipy.signal.upfirdn, "h", "x", mode="constant", cval=0)
def upfirdn(h, x, up, down, axis, mode, cval):
    h, x = as_array(h), np.moveaxis(as_array(x), axis, -1)
    if np.ndim(h) != 1:
        raise unknown(scipy.signal.upfirdn, "h of several axes")
    apart = np.reshape(after(x[..., None], up - 1), (*np.shape(x)[:-1], -1))
    apart = apart[..., : (np.shape(x)[-1] - 1) * up + 1]
    y = convolve(apart, np.reshape(h, (1,) * (np.ndim(x) - 1) + (-1,)))
    return np.moveaxis(y[..., ::down], -1, axis)
