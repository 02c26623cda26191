"""Formulas of what SciPy's own code does not give: what is compiled, or takes plain numbers.

They are of peaks, and of what is read off there; of samples at any times; of one form of filters.
"""

import numpy as np

from zyg.functions.kit import as_array, composed, nondifferentiable, strip
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import real_and_wide, unknown, written

# Peaks


def _above(x, peaks, left, right):
    """How far peaks stand above the higher one of their bases."""
    return x[peaks] - np.maximum(x[left], x[right])


@written(scipy.signal.peak_prominences, "x")
def peak_prominences(x, peaks, wlen):
    x = as_array(x)
    _, left, right = scipy.signal.peak_prominences(strip(x), peaks, wlen)
    return _above(x, peaks, left, right), None, None


@written(scipy.signal.peak_widths, "x", "rel_height")
def peak_widths(x, peaks, rel_height, prominence_data, wlen):
    x, plain_height = as_array(x), strip(rel_height)
    _, *bases = prominence_data or scipy.signal.peak_prominences(strip(x), peaks, wlen)
    _, _, *ends = scipy.signal.peak_widths(strip(x), peaks, plain_height, prominence_data, wlen)
    height = x[peaks] - _above(x, peaks, *bases) * rel_height
    lower, upper = np.floor(ends[0]).astype(int), np.ceil(ends[1]).astype(int)
    left = lower + _crossing(x, lower, lower + 1, height)
    right = upper - _crossing(x, upper, upper - 1, height)
    return right - left, height, left, right


def _crossing(x, low, high, height):
    """Where a line between two samples has a height; 0 where the lower one is not below it."""
    below = strip(x[low]) < strip(height)
    rise = np.where(below, x[high] - x[low], 1.0)
    return np.where(below, (height - x[low]) / rise, 0.0)


def _find_peaks(x, *conditions, **named):
    """Where the peaks are, and what is read off the signal there."""
    places, found = scipy.signal.find_peaks(*plain((x, *conditions)), **plain(named))
    if "widths" in found:
        raise unknown(
            scipy.signal.find_peaks, "the condition 'width', whose ends lie between samples"
        )
    x = real_and_wide(x)
    read = {
        "peak_heights": lambda: x[places],
        "left_thresholds": lambda: x[places] - x[places - 1],
        "right_thresholds": lambda: x[places] - x[places + 1],
        "prominences": lambda: _above(x, places, found["left_bases"], found["right_bases"]),
    }
    return places, {name: read[name]() if name in read else v for name, v in found.items()}


composed(scipy.signal.find_peaks)(called_as(scipy.signal.find_peaks, _find_peaks))
nondifferentiable(
    scipy.signal.square, scipy.signal.argrelextrema, scipy.signal.argrelmax,
    scipy.signal.argrelmin, scipy.signal.find_peaks_cwt, scipy.signal.choose_conv_method,
    scipy.signal.check_COLA, scipy.signal.check_NOLA,
)  # fmt: skip

# Samples at any times


def _sums(w, x):
    return np.sum(w[:, None] * x, axis=0)


@written(scipy.signal.lombscargle, "x", "y", "freqs", "weights")
def lombscargle(x, y, freqs, precenter, normalize, weights, floating_mean):
    """The weighed least squares of sines and cosines at each frequency, by their sums."""
    if isinstance(precenter, (int, np.bool_)) and precenter:
        raise unknown(scipy.signal.lombscargle, "precenter")
    x, y, freqs = map(real_and_wide, (x, y, freqs))
    w = np.ones(len(x)) if weights is None else real_and_wide(weights)
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


# The bilinear transformation: SciPy's is of polynomials of a class that holds plain numbers


@written(scipy.signal.bilinear, "b", "a")
def bilinear(b, a, fs):
    b, a = (np.atleast_1d(as_array(c)) for c in (b, a))
    n = max(len(b), len(a))
    root, up, down = np.sqrt(2.0 * fs), np.poly1d([1, 1]), np.poly1d([1, -1])
    powers = [(up / root) ** (n - 1 - k) * (down * root) ** k for k in range(n)]
    rows = np.stack([np.pad(p.coeffs, (n - len(p.coeffs), 0)) for p in powers])
    b, a = (np.flip(c) @ rows[: len(c)] for c in (b, a))
    return b / a[0], a / a[0]
