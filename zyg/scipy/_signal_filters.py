"""Filters of signals: by recursion, forwards and backwards, and by windows."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.signal

from zyg.functions.kit import as_array, strip, with_value
from zyg.scipy._signal_rules import convolve, lfilter
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
    b, a = _of_one_length(b, a)
    rest = b[1:] - a[1:] * (np.sum(b) / np.sum(a))
    return np.flip(np.cumsum(np.flip(rest)))


@written(scipy.signal.sosfilt_zi, "sos")
def sosfilt_zi(sos):
    states, level = [], 1.0
    for section in as_array(sos):
        b, a = section[:3], section[3:]
        states.append(level * lfilter_zi(b, a))
        level = level * (np.sum(b) / np.sum(a))
    return np.stack(states)


def _at_rest(function, text, *coefficients):
    """The state, of which SciPy's value may differ by more than rounding where much cancels."""
    y, d = function(*map(strip, coefficients)), text(*coefficients)
    return y if strip(d) is d else with_value(d, (y,))


def _last(n, k):
    """The k elements before the last, the last of them first."""
    return slice(n - 2, n - 2 - k if n - 2 - k >= 0 else None, -1)


_BEYOND = {
    "odd": lambda end, inner: 2 * end - inner,
    "even": lambda end, inner: inner,
    "constant": lambda end, inner: end + np.zeros(np.shape(inner)),
    "zeros": lambda end, inner: np.zeros(np.shape(inner)),
}


def extended(x, count, kind):
    """`x` continued on both ends of its last axis by `count` elements."""
    if not count or kind is None:
        return x
    n, beyond = np.shape(x)[-1], _BEYOND[kind]
    left, right = x[..., count:0:-1], x[..., _last(n, count)]
    return np.concatenate([beyond(x[..., :1], left), x, beyond(x[..., -1:], right)], axis=-1)


def _both_ways(run, x, axis, padtype, edge):
    """`x` filtered by `run(x, level)`, which is at rest under `level`, forwards and backwards."""
    x = np.moveaxis(as_array(x), axis, -1)
    n = np.shape(x)[-1]
    edge = 0 if padtype is None else edge
    y = extended(x, edge, padtype)
    y = run(y, y[..., :1])
    y = np.flip(run(np.flip(y, -1), y[..., -1:]), -1)
    return np.moveaxis(y[..., edge : edge + n], -1, axis)


@written(scipy.signal.filtfilt, "b", "a", "x", method="pad")
def filtfilt(b, a, x, axis, padtype, padlen, method, irlen):
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    zi = _at_rest(scipy.signal.lfilter_zi, lfilter_zi, b, a)
    edge = 3 * max(len(b), len(a)) if padlen is None else padlen

    def run(x, level):
        return lfilter(b, a, x, -1, zi * level)[0]

    return _both_ways(run, x, axis, padtype, edge)


@written(scipy.signal.sosfiltfilt, "sos", "x")
def sosfiltfilt(sos, x, axis, padtype, padlen):
    sos = as_array(sos)
    zi = _at_rest(scipy.signal.sosfilt_zi, sosfilt_zi, sos)
    shorter = min(np.sum(strip(sos)[:, k] == 0) for k in (2, 5))
    edge = 3 * int(2 * len(sos) + 1 - shorter) if padlen is None else padlen

    def run(x, level):
        return sosfilt(sos, x, -1, [state * level for state in zi])[0]

    return _both_ways(run, x, axis, padtype, edge)


@written(scipy.signal.deconvolve, "signal", "divisor")
def deconvolve(signal, divisor):
    signal, divisor = (np.atleast_1d(as_array(v)) for v in (signal, divisor))
    count = len(signal) - len(divisor) + 1
    if count < 1:
        return None, signal
    quotient = lfilter(signal, divisor, np.eye(1, count)[0])
    return quotient, signal - convolve(divisor, quotient)


# Filters by windows

_PADS: dict[str, Any] = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap"}


def _along(c, x):
    """The sums of `x` weighed by the row c, wherever it lies within the last axis."""
    c = np.reshape(c[::-1], (1,) * (np.ndim(x) - 1) + (-1,))
    return convolve(x, c, "valid")


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
    y = _along(weights[half], x)
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


@written(scipy.signal.detrend, "data", overwrite_data=False)
def detrend(data, axis, type, bp, overwrite_data):
    x = np.moveaxis(as_array(data), axis, -1)
    if type in ("constant", "c"):
        y = x - np.mean(x, axis=-1, keepdims=True)
    else:
        ends = np.unique([0, *np.atleast_1d(bp), np.shape(x)[-1]])
        parts = [_without_line(x[..., a:b]) for a, b in pairwise(ends)]
        y = np.concatenate(parts, axis=-1)
    return np.moveaxis(y, -1, axis)


def _without_line(x):
    """`x` less its projection on the lines."""
    n = np.shape(x)[-1]
    lines = np.stack([np.ones(n), np.arange(n) - (n - 1) / 2])
    lines = lines[: min(n, 2)] / np.linalg.norm(lines, axis=-1, keepdims=True)[: min(n, 2)]
    return x - (x @ lines.T) @ lines


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


@written(scipy.signal.wiener, "im", "noise")
def wiener(im, mysize, noise):
    im = as_array(im)
    size = np.broadcast_to(3 if mysize is None else mysize, (np.ndim(im),)).tolist()
    window = np.ones(size) / np.prod(size)
    mean = _same(im, window)
    variance = _same(im**2, window) - mean**2
    noise = np.mean(variance) if noise is None else noise
    loud = strip(variance) >= strip(noise)
    rest = (im - mean) * (1 - noise / np.where(loud, variance, 1.0))
    return mean + np.where(loud, rest, 0.0)


def _same(x, window):
    whole = convolve(x, window)
    starts = [n // 2 for n in np.shape(window)]
    return whole[tuple(slice(a, a + n) for a, n in zip(starts, np.shape(x), strict=True))]
