"""Signals at other rates, and what becomes of their spectra."""

import math
from typing import Any

import numpy as np
import scipy.signal

from zyg.functions.kit import as_array, is_complex
from zyg.scipy._namespace import rule_for
from zyg.scipy._signal_filters import sosfilt, sosfiltfilt
from zyg.scipy._signal_rules import after, convolve
from zyg.scipy._valued import unknown, written

# By windows


@written(scipy.signal.upfirdn, "h", "x", mode="constant", cval=0)
def upfirdn(h, x, up, down, axis, mode, cval):
    h, x = as_array(h), np.moveaxis(as_array(x), axis, -1)
    if np.ndim(h) != 1:
        raise unknown(scipy.signal.upfirdn, "h of several axes")
    apart = np.reshape(after(x[..., None], up - 1), (*np.shape(x)[:-1], -1))
    apart = apart[..., : (np.shape(x)[-1] - 1) * up + 1]
    y = convolve(apart, np.reshape(h, (1,) * (np.ndim(x) - 1) + (-1,)))
    return np.moveaxis(y[..., ::down], -1, axis)


_LEVELS: dict[str, Any] = {
    "mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max,
}  # fmt: skip


@written(scipy.signal.resample_poly, "x")
def resample_poly(x, up, down, axis, window, padtype, cval):
    if cval or padtype not in ("constant", *_LEVELS):
        raise unknown(scipy.signal.resample_poly, f"padtype={padtype!r} with cval={cval!r}")
    x = np.moveaxis(as_array(x), axis, -1)
    divisor = math.gcd(int(up), int(down))
    up, down = int(up) // divisor, int(down) // divisor
    if up == down == 1:
        return np.moveaxis(+x, -1, axis)
    level = _LEVELS[padtype](x, axis=-1, keepdims=True) if padtype in _LEVELS else 0.0
    h = _low_pass(up, down, window)
    half, count = (len(h) - 1) // 2, -(-np.shape(x)[-1] * up // down)
    before = down - half % down
    start = (half + before) // down
    y = upfirdn(np.pad(h, (before, 0)), x - level, up, down, -1, "constant", 0)
    y = after(y, max(start + count - np.shape(y)[-1], 0))[..., start : start + count]
    return np.moveaxis(y + level, -1, axis)


def _low_pass(up, down, window):
    if isinstance(window, (list, np.ndarray)):
        return np.array(window) * up
    most = max(up, down)
    return scipy.signal.firwin(20 * most + 1, 1.0 / most, window=window) * up


@written(scipy.signal.decimate, "x")
def decimate(x, q, n, ftype, axis, zero_phase):
    x = as_array(x)
    if ftype == "fir":
        h = scipy.signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        if zero_phase:
            return resample_poly(x, 1, q, axis, h, "constant", None)
        y = np.moveaxis(upfirdn(h, x, 1, q, axis, "constant", 0), axis, -1)
        return np.moveaxis(y[..., : -(-np.shape(x)[axis] // q)], -1, axis)
    if not isinstance(ftype, str):
        raise unknown(scipy.signal.decimate, "a system as ftype")
    sos = scipy.signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
    both = zero_phase
    y = sosfiltfilt(sos, x, axis, "odd", None) if both else sosfilt(sos, x, axis, None)
    return np.moveaxis(np.moveaxis(y, axis, -1)[..., ::q], -1, axis)


# By spectra


@written(scipy.signal.hilbert, "x")
def hilbert(x, N, axis):
    x = np.fft.fft(np.moveaxis(as_array(x), axis, -1), N)
    return np.moveaxis(np.fft.ifft(x * _one_side(np.shape(x)[-1])), -1, axis)


def _one_side(n):
    """The weights of frequencies of an analytic signal: no negative ones."""
    return 1.0 + np.sign(np.fft.fftfreq(n)) * (np.arange(n) != n / 2)


def envelope(z, bp_in, n_out, squared, residual, axis):
    x = np.moveaxis(as_array(z), axis, -1)
    n = np.shape(x)[-1]
    count = n if n_out is None else n_out
    start = -(n // 2) if bp_in[0] is None else bp_in[0]
    stop = (n + 1) // 2 if bp_in[1] is None else bp_in[1]
    around = start <= 0 < stop
    spectrum = np.fft.fft(x) * (1.0 if is_complex(x) else _kept(n, start, stop))
    band = slice(start + n // 2, stop + n // 2) if around else slice(start, stop)
    inner = (np.fft.fftshift(spectrum, axes=-1) if around else spectrum)[..., band]
    y = np.fft.ifft(inner, n=count) * (count / n)
    y = np.real(y) ** 2 + np.imag(y) ** 2 if squared else np.abs(y)
    if residual is None:
        return np.moveaxis(y, -1, axis)
    rest = spectrum * _outside(n, start, stop, residual)
    if is_complex(x):
        rest = np.fft.ifft(_of_rate(rest, n, count)) * (count / n)
    else:
        rest = np.fft.irfft(rest * _middle(n, count), n=count) * (count / n)
    return np.stack([np.moveaxis(v, -1, axis) for v in (y, rest)])


if hasattr(scipy.signal, "envelope"):
    written(scipy.signal.envelope, "z")(envelope)


def _kept(n, start, stop):
    """The weights of the frequencies of a real signal, of which one side is kept."""
    weights = (np.arange(n) <= n // 2) * 1.0
    if start > 0:
        weights[start:stop] *= 2
    elif stop > 0:
        weights[1:stop] *= 2
    return weights


def _outside(n, start, stop, residual):
    """Which frequencies are in the residual."""
    kept = np.ones(n)
    if start <= 0 < stop:
        kept[:stop] = kept[start:] = 0
    else:
        kept[start:stop] = 0
    if residual == "lowpass":
        if stop > 0:
            kept[stop : (n + 1) // 2] = 0
        else:
            kept[start:] = kept[: (n + 1) // 2] = 0
    return kept


def _middle(n, count):
    """The weights of frequencies where the rate changes: the highest that is left is no pair."""
    weights, least = np.ones(n), min(n, count)
    if count != n and least % 2 == 0:
        weights[least // 2] = 2 if count < n else 0.5
    return weights


@written(scipy.signal.resample, "x")
def resample(x, num, t, axis, window, domain):
    x = np.moveaxis(as_array(x), axis, -1) if np.ndim(x) > 1 else as_array(x)
    n = np.shape(x)[-1]
    spectrum = np.fft.fft(x) if domain == "time" else x
    weights = _window_of(window, n)
    spectrum = spectrum if weights is None else spectrum * weights
    y = np.fft.ifft(_of_rate(spectrum, n, num) * (num / n))
    y = y if domain == "freq" or is_complex(x) else np.real(y)
    y = np.moveaxis(y, -1, axis) if np.ndim(y) > 1 else y
    return y if t is None else (y, None)


def _window_of(window, n):
    if window is None:
        return None
    if callable(window):
        return window(np.fft.fftfreq(n))
    if hasattr(window, "shape"):
        return window
    return np.fft.fftshift(scipy.signal.get_window(window, n))


def _of_rate(spectrum, n, num):
    """The spectrum of `num` samples: cut, or filled up with zeros, around the highest frequency."""
    least = min(n, num)
    low = least // 2 + 1
    places, weights = np.zeros(num, int), np.zeros(num)
    places[:low], weights[:low] = np.arange(low), 1.0
    if negative := least - low:
        places[-negative:], weights[-negative:] = np.arange(n - negative, n), 1.0
    middle = least // 2
    halved = least % 2 == 0 and num > n
    if halved:
        places[num - middle] = middle
        weights[[middle, num - middle]] = 0.5
    made = spectrum[..., places] * weights
    if least % 2 == 0 and num < n:
        made = made + spectrum[..., n - middle, None] * np.eye(1, num, middle)[0]
    return made


def _chirp_z(x, m, w, a):
    return scipy.signal.czt(x, m, w, a)


@rule_for(_chirp_z, linear=(0,))
def chirp_z(x, m, w, a):
    """sum_n x_n a^-n w^(n k), for k below m"""
    y = chirp_z(x, m, w, a)

    def chirp_z_pullback(y_bar):
        n = np.shape(x)[-1]
        bar = chirp_z(y_bar, n, np.conj(w), 1.0) * np.conj(complex(a)) ** -np.arange(n)
        return bar if is_complex(x) else np.real(bar), None, None, None

    return y, chirp_z_pullback


def _transformed(x, m, w, a, axis):
    return np.moveaxis(chirp_z(np.moveaxis(as_array(x), axis, -1), m, w, a), -1, axis)


@written(scipy.signal.czt, "x")
def czt(x, m, w, a, axis):
    m = np.shape(x)[axis] if m is None else m
    return _transformed(x, m, np.exp(-2j * np.pi / m) if w is None else w, a, axis)


@written(scipy.signal.zoom_fft, "x")
def zoom_fft(x, fn, m, fs, endpoint, axis):
    m = np.shape(x)[axis] if m is None else m
    low, high = fn if np.size(fn) == 2 else (0.0, np.asarray(fn).item())
    step = (high - low) / (m - 1 if endpoint else m)
    w, a = np.exp(-2j * np.pi * step / fs), np.exp(2j * np.pi * low / fs)
    return _transformed(x, m, w, a, axis)
