"""Responses of filters to frequencies, other forms of filters, and signals by formulas."""

import numpy as np
import scipy.signal

from zyg.functions.kit import as_array, cast, composed, is_watched, nondifferentiable, rules, strip
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as
from zyg.scipy._signal_rules import convolve
from zyg.scipy._valued import unknown, written

# Responses


def _row(x):
    return np.atleast_1d(as_array(x))


def _angles(worN, whole, fs, last=False):
    """The angular frequencies of a sample at which the response is asked for."""
    if worN is None or isinstance(worN, (int, np.integer)):
        end, count = 2 * np.pi if whole else np.pi, 512 if worN is None else int(worN)
        return np.linspace(0, end, count, endpoint=last and not whole)
    return 2 * np.pi * _row(worN) / fs


def _polynomial(c, z):
    """c_0 + c_1 z + ..., at each z"""
    return np.sum(_row(c) * z[:, None] ** np.arange(np.size(c)), axis=-1)


def _of_roots(roots, z):
    return np.prod(z[:, None] - _row(roots), axis=-1)


@written(scipy.signal.freqz, "b", "a", "worN")
def freqz(b, a, worN, whole, plot, fs, include_nyquist=False):
    if np.ndim(b) > 1 or np.ndim(a) > 1:
        raise unknown(scipy.signal.freqz, "coefficients of several axes")
    w = _angles(worN, whole, fs, include_nyquist)
    z = np.exp(-1j * w)
    return w * (fs / (2 * np.pi)), _polynomial(b, z) / _polynomial(a, z)


@written(scipy.signal.freqz_sos, "sos", "worN")
def freqz_sos(sos, worN, whole, fs):
    w, response = _angles(worN, whole, fs), 1.0
    z = np.exp(-1j * w)
    for section in as_array(sos):
        response = response * (_polynomial(section[:3], z) / _polynomial(section[3:], z))
    return w * (fs / (2 * np.pi)), response


rules[scipy.signal.sosfreqz] = rules[scipy.signal.freqz_sos]  # its name before


@written(scipy.signal.freqz_zpk, "z", "p", "k", "worN")
def freqz_zpk(z, p, k, worN, whole, fs):
    w = _angles(worN, whole, fs)
    at = np.exp(1j * w)
    return w * (fs / (2 * np.pi)), k * _of_roots(z, at) / _of_roots(p, at)


def _frequencies(function, worN):
    if worN is None or isinstance(worN, (int, np.integer)):
        raise unknown(function, "frequencies that follow from the filter: pass worN as an array")
    return _row(worN)


@written(scipy.signal.freqs, "b", "a", "worN")
def freqs(b, a, worN, plot):
    w = _frequencies(scipy.signal.freqs, worN)
    return w, np.polyval(_row(b), 1j * w) / np.polyval(_row(a), 1j * w)


@written(scipy.signal.freqs_zpk, "z", "p", "k", "worN")
def freqs_zpk(z, p, k, worN):
    w = _frequencies(scipy.signal.freqs_zpk, worN)
    return w, k * _of_roots(z, 1j * w) / _of_roots(p, 1j * w)


# Forms of filters


@written(scipy.signal.zpk2tf, "z", "p", "k")
def zpk2tf(z, p, k):
    if np.ndim(z) > 1:
        raise unknown(scipy.signal.zpk2tf, "zeros of several axes")
    return k * np.poly(_row(z)), np.poly(_row(p))


@written(scipy.signal.tf2zpk, "b", "a")
def tf2zpk(b, a):
    b, a = _row(b), _row(a)
    if np.ndim(b) > 1 or not (strip(b)[0] and strip(a)[0]):
        raise unknown(scipy.signal.tf2zpk, "coefficients of several axes, or that begin with 0")
    return np.roots(b), np.roots(a), b[0] / a[0]


@written(scipy.signal.sos2tf, "sos")
def sos2tf(sos):
    b = a = np.ones(1)
    for section in as_array(sos):
        b, a = convolve(b, section[:3]), convolve(a, section[3:])
    return b, a


@written(scipy.signal.bilinear, "b", "a")
def bilinear(b, a, fs):
    b, a = _row(b), _row(a)
    n = max(len(b), len(a))
    root, up, down = np.sqrt(2.0 * fs), np.poly1d([1, 1]), np.poly1d([1, -1])
    powers = [(up / root) ** (n - 1 - k) * (down * root) ** k for k in range(n)]
    rows = np.stack([np.pad(p.coeffs, (n - len(p.coeffs), 0)) for p in powers])
    b, a = (np.flip(c) @ rows[: len(c)] for c in (b, a))
    return b / a[0], a / a[0]


def _filled(z, p, value):
    """The zeros, and as many more as there are poles."""
    return np.concatenate([z, np.full(len(p) - len(z), value)])


@written(scipy.signal.bilinear_zpk, "z", "p", "k", "fs")
def bilinear_zpk(z, p, k, fs):
    z, p, twice = _row(z), _row(p), 2.0 * fs
    zeros, poles = ((twice + v) / (twice - v) for v in (z, p))
    return _filled(zeros, p, -1.0), poles, k * np.real(np.prod(twice - z) / np.prod(twice - p))


@written(scipy.signal.lp2lp_zpk, "z", "p", "k", "wo")
def lp2lp_zpk(z, p, k, wo):
    z, p = _row(z), _row(p)
    return wo * z, wo * p, k * wo ** (len(p) - len(z))


@written(scipy.signal.lp2hp_zpk, "z", "p", "k", "wo")
def lp2hp_zpk(z, p, k, wo):
    z, p = _row(z), _row(p)
    return _filled(wo / z, p, 0.0), wo / p, k * np.real(np.prod(-z) / np.prod(-p))


# Signals by formulas


def _chirp_phase(t, f0, t1, f1, method, vertex_zero):
    """2 pi times the integral of the frequency."""
    if method in ("linear", "lin", "li"):
        return f0 * t + 0.5 * (f1 - f0) / t1 * t**2
    if method in ("quadratic", "quad", "q"):
        beta = (f1 - f0) / t1**2 / 3
        return f0 * t + beta * t**3 if vertex_zero else f1 * t + beta * ((t1 - t) ** 3 - t1**3)
    if strip(f0) == strip(f1):
        if is_watched(f0) or is_watched(f1):
            raise unknown(scipy.signal.chirp, f"the slopes of method={method!r} at f0 == f1")
        return f0 * t
    if method in ("logarithmic", "log", "lo"):
        return t1 / np.log(f1 / f0) * f0 * ((f1 / f0) ** (t / t1) - 1)
    end = -f1 * t1 / (f0 - f1)
    return -end * f0 * np.log(np.abs(1 - t / end))


@written(scipy.signal.chirp, "t", "f0", "t1", "f1", "phi")
def chirp(t, f0, t1, f1, method, phi, vertex_zero, complex=False):
    cycles = _chirp_phase(as_array(t), f0, t1, f1, method, vertex_zero)
    phase = 2 * np.pi * cycles + np.pi / 180 * phi
    return np.exp(1j * phase) if complex else np.cos(phase)


@written(scipy.signal.sweep_poly, "t", "poly", "phi")
def sweep_poly(t, poly, phi):
    poly = poly.coeffs if isinstance(poly, np.poly1d) else _row(poly)
    integral = np.concatenate([poly / np.arange(len(poly), 0, -1), np.zeros(1)])
    return np.cos(2 * np.pi * np.polyval(integral, as_array(t)) + phi * (np.pi / 180))


@written(scipy.signal.sawtooth, "t", "width")
def sawtooth(t, width):
    t, width = as_array(t), as_array(width)
    place, turn = np.mod(t, 2 * np.pi), strip(width) * (2 * np.pi)
    rises = strip(place) < turn
    known = (strip(width) >= 0) & (strip(width) <= 1)
    up = place / (np.pi * np.where(rises, width, 1.0)) - 1
    down = (np.pi * (width + 1) - place) / (np.pi * (1 - np.where(rises, 0.0, width)))
    return np.where(known, np.where(rises, up, down), np.nan)


@written(scipy.signal.gausspulse, "t", "fc", "bw", "bwr", "tpr")
def gausspulse(t, fc, bw, bwr, tpr, retquad, retenv):
    a = -((np.pi * fc * bw) ** 2) / (4 * np.log(10.0 ** (bwr / 20)))
    if isinstance(t, str):
        return np.sqrt(-np.log(10.0 ** (tpr / 20)) / a)
    t = as_array(t)
    envelope, phase = np.exp(-a * t * t), 2 * np.pi * fc * t
    values = [envelope * np.cos(phase)]
    values += [envelope * np.sin(phase)] * bool(retquad) + [envelope] * bool(retenv)
    return tuple(values) if len(values) > 1 else values[0]


@written(scipy.signal.vectorstrength, "events", "period")
def vectorstrength(events, period):
    ratio = np.atleast_1d(as_array(events)) / np.reshape(as_array(period), (-1, 1))
    mean = np.mean(np.exp(2j * np.pi * ratio), axis=-1)
    mean = mean if np.ndim(period) else mean[0]
    return np.abs(mean), np.angle(mean)


# Places


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
    x = cast(as_array(x), np.dtype(float))  # as SciPy does
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
