"""Spectra of signals, and of their segments."""

import numpy as np
import scipy.signal

from zyg.functions.kit import as_array, cast, conj, is_complex, strip
from zyg.scipy._namespace import rule_for
from zyg.scipy._signal_filters import detrend as without_trend
from zyg.scipy._signal_filters import extended
from zyg.scipy._signal_rules import after
from zyg.scipy._valued import unknown, written


def _add(parts, step):
    count, n = np.shape(parts)[-2:]
    y = np.zeros((*np.shape(parts)[:-2], n + (count - 1) * step), parts.dtype)
    for k in range(count):
        y[..., k * step : k * step + n] += parts[..., k, :]
    return y


@rule_for(_add, linear=(0,))
def overlapped(parts, step):
    """The signal of which each part, `step` after the one before, is a summand."""
    y = overlapped(parts, step)

    def overlapped_pullback(y_bar):
        return segments(y_bar, np.shape(parts)[-1], step), None

    return y, overlapped_pullback


def segments(x, n, step):
    """The parts of n elements of the last axis, each `step` after the one before."""
    starts = np.arange(0, np.shape(x)[-1] - n + 1, step)
    return x[..., starts[:, None] + np.arange(n)]


class _Plan:
    """How a signal of n samples is cut into segments, each weighed by a window."""

    def __init__(self, n, window, nperseg, noverlap, nfft):
        if isinstance(window, (str, tuple)):
            nperseg = min(256 if nperseg is None else int(nperseg), n)
            window = scipy.signal.get_window(window, nperseg)
        self.window = np.asarray(window)
        self.length = len(self.window)
        self.step = self.length - (self.length // 2 if noverlap is None else int(noverlap))
        self.nfft = self.length if nfft is None else int(nfft)

    def scale(self, scaling, fs):
        """The factor of squares."""
        w = self.window
        return 1 / (fs * np.sum(w * w)) if scaling == "density" else 1 / np.sum(w) ** 2

    def spectra(self, x, trend, one_sided):
        """Those of the segments, by time and by frequency."""
        if callable(trend):
            raise unknown(scipy.signal.csd, "a function for detrend=")
        parts = segments(x, self.length, self.step)
        if trend:
            parts = without_trend(parts, -1, trend, 0, False)
        transform = np.fft.rfft if one_sided else np.fft.fft
        return transform(parts * self.window, self.nfft)

    def doubled(self, power):
        """The power of one side, which has that of the other."""
        factors = np.full(np.shape(power)[-1], 2.0)
        factors[0] = 1.0
        if self.nfft % 2 == 0:
            factors[-1] = 1.0
        return power * factors


def _average(power, average):
    if np.shape(power)[-2] == 1:
        return power[..., 0, :]
    if average == "mean":
        return np.mean(power, axis=-2)
    n = np.shape(power)[-2]
    even = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (even + 1) - 1 / even)
    middle = np.median(np.real(power), axis=-2)
    if is_complex(power):
        middle = middle + 1j * np.median(np.imag(power), axis=-2)
    return middle / bias


def _squared(z):
    return np.real(z) ** 2 + np.imag(z) ** 2


def _density(x, y, plan, fs, trend, one_sided, scaling, axis, average):
    """The averaged cross-spectral density; of one signal where y is None."""
    one_sided = one_sided and not is_complex(x)
    of_x = plan.spectra(x, trend, one_sided)
    if y is None:
        power = _squared(of_x)
    else:
        power = conj(of_x) * plan.spectra(y, trend, one_sided)
    power = power * plan.scale(scaling, fs)
    power = plan.doubled(power) if one_sided else power
    return np.moveaxis(_average(power, average), -1, axis)


@written(scipy.signal.csd, "x", "y")
def csd(
    x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
):  # fmt: skip
    same = x is y
    x, y = (np.moveaxis(as_array(v), axis, -1) for v in (x, y))
    n = max(np.shape(x)[-1], np.shape(y)[-1])
    x, y = (after(v, n - np.shape(v)[-1]) for v in (x, y))
    plan = _Plan(n, window, nperseg, noverlap, nfft)
    y = None if same else y
    how = fs, detrend, return_onesided, scaling, axis, average
    return None, _density(x, y, plan, *how)


@written(scipy.signal.welch, "x")
def welch(
    x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
):  # fmt: skip
    how = window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    return csd(x, x, fs, *how)


@written(scipy.signal.periodogram, "x")
def periodogram(x, fs, window, nfft, detrend, return_onesided, scaling, axis):
    x = np.moveaxis(as_array(x), axis, -1)
    if nfft is not None and nfft < np.shape(x)[-1]:
        x, nfft = x[..., :nfft], None
    n, window = np.shape(x)[-1], "boxcar" if window is None else window
    plan = _Plan(n, window, n, 0, nfft)
    how = fs, detrend, return_onesided, scaling, axis, "mean"
    return None, _density(x, None, plan, *how)


@written(scipy.signal.coherence, "x", "y")
def coherence(x, y, fs, window, nperseg, noverlap, nfft, detrend, axis):
    how = fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis, "mean"
    (_, of_x), (_, of_y) = csd(x, x, *how), csd(y, y, *how)
    return None, _squared(csd(x, y, *how)[1]) / of_x / of_y


def _of_times(z, axis):
    """Spectra by frequency, in the place of the signal's axis, and by time, which is last."""
    return np.moveaxis(z, -1, axis - 1 if axis < 0 else axis)


@written(scipy.signal.stft, "x")
def stft(
    x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, boundary, padded, axis,
    scaling,
):  # fmt: skip
    x = np.moveaxis(as_array(x), axis, -1)
    plan = _Plan(np.shape(x)[-1], window, nperseg, noverlap, nfft)
    x = extended(x, plan.length // 2, boundary)
    if padded:
        x = after(x, -(np.shape(x)[-1] - plan.length) % plan.step % plan.length)
    z = plan.spectra(x, detrend, return_onesided and not is_complex(x))
    root = np.sqrt(plan.scale("density" if scaling == "psd" else "spectrum", fs))
    return None, None, _of_times(z * root, axis)


@written(scipy.signal.spectrogram, "x")
def spectrogram(
    x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, mode
):  # fmt: skip
    x = np.moveaxis(as_array(x), axis, -1)
    length = _Plan(np.shape(x)[-1], window, nperseg, 0, None).length
    noverlap = length // 8 if noverlap is None else noverlap
    plan = _Plan(np.shape(x)[-1], window, nperseg, noverlap, nfft)
    one_sided = return_onesided and not is_complex(x)
    z, scale = plan.spectra(x, detrend, one_sided), plan.scale(scaling, fs)
    if mode == "psd":
        power = _squared(z) * scale
        return None, None, _of_times(plan.doubled(power) if one_sided else power, axis)
    z = _of_times(z * np.sqrt(scale), axis)
    return None, None, _SHOWN[mode](z, axis)


_SHOWN = {
    "complex": lambda z, axis: z,
    "magnitude": lambda z, axis: np.abs(z),
    "angle": lambda z, axis: np.angle(z),
    "phase": lambda z, axis: np.unwrap(np.angle(z), axis=axis - 1 if axis < 0 else axis),
}


@written(scipy.signal.istft, "Zxx")
def istft(
    Zxx, fs, window, nperseg, noverlap, nfft, input_onesided, boundary, time_axis, freq_axis,
    scaling,
):  # fmt: skip
    z = np.moveaxis(as_array(Zxx), (time_axis, freq_axis), (-2, -1))
    ends = np.shape(z)[-1]
    n = 2 * (ends - 1) if input_onesided else ends
    nperseg = n if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = nperseg if input_onesided and nperseg == n + 1 else n
    plan = _Plan(nperseg, window, nperseg, noverlap, nfft)
    w = plan.window
    transform = np.fft.irfft if input_onesided else np.fft.ifft
    root = np.sqrt(plan.scale("density" if scaling == "psd" else "spectrum", fs))
    parts = transform(z, plan.nfft)[..., :nperseg] * (w / root)
    weights = _add(np.broadcast_to(w * w, (np.shape(z)[-2], nperseg)), plan.step)
    x = overlapped(parts, plan.step)
    if boundary:
        inner = slice(nperseg // 2, -(nperseg // 2))
        x, weights = x[..., inner], weights[inner]
    x = x / np.where(weights > 1e-10, weights, 1.0)
    last = np.ndim(z) - 1
    places = [k % (last + 1) for k in (time_axis, freq_axis)]
    place = places[0] - (places[1] < places[0])
    return None, np.moveaxis(x, -1, place) if places[0] != last else x


# Samples at any times


def _wide(x):
    """As SciPy computes with it: in 64 bits, of real parts."""
    return cast(as_array(x), np.dtype(float))


def _sums(w, x):
    return np.sum(w[:, None] * x, axis=0)


@written(scipy.signal.lombscargle, "x", "y", "freqs", "weights")
def lombscargle(x, y, freqs, precenter, normalize, weights, floating_mean):
    """The weighed least squares of sines and cosines at each frequency, by their sums."""
    if isinstance(precenter, (int, np.bool_)) and precenter:
        raise unknown(scipy.signal.lombscargle, "precenter")
    x, y, freqs = map(_wide, (x, y, freqs))
    w = np.ones(len(x)) if weights is None else _wide(weights)
    w = w / np.sum(w)
    mean = np.sum(w * y)

    def moments(c, s):
        c_mean, s_mean = (_sums(w, v) * bool(floating_mean) for v in (c, s))
        squares, mixed = _sums(w, c * c), _sums(w, c * s) - c_mean * s_mean
        of_y = _sums(w * y, c) - mean * c_mean, _sums(w * y, s) - mean * s_mean
        return squares - c_mean**2, 1 - squares - s_mean**2, mixed, *of_y

    angle = x[:, None] * freqs
    cc, ss, cs, *_ = moments(np.cos(angle), np.sin(angle))
    tau = 0.5 * np.arctan2(2 * cs, cc - ss)
    cc, ss, _, yc, ys = moments(np.cos(angle - tau), np.sin(angle - tau))
    least = np.finfo(float).epsneg
    if min(np.min(strip(cc)), np.min(strip(ss))) < 1e-10:
        raise unknown(scipy.signal.lombscargle, "a frequency at which all samples have one phase")
    a, b = yc / np.maximum(cc, least), ys / np.maximum(ss, least)
    if normalize == "amplitude":
        return np.squeeze((a + 1j * b) * np.exp(1j * tau))
    power = np.squeeze(2 * (a * yc + b * ys))
    if normalize in (False, "power"):
        return power * (len(x) / 4)
    return power * 0.5 / (np.sum(w * y * y) - mean**2 * bool(floating_mean))
