"""Calls of formulas of filters, matrices, polynomials and grids."""

import numpy as np

from zyg.scipy import fft, interpolate, linalg, optimize, signal

from .calls import V, W, array, call

B, A = np.array([0.3, 0.7, 0.2]), np.array([1.3, 0.4, -0.2])
PLACES, Y = np.array([0.0, 0.7, 1.4, 2.5]), array(4)
PEAKS = np.array([0.1, 0.7, 0.3, 0.9, 0.2, 0.5, 0.8, 0.4])
AT = np.array([0.31, 1.93])


def delays(b, a):
    return signal.group_delay((b, a), 5)[1]


def notch(w, q):
    return np.concatenate(signal.iirnotch(w, q))


def peak(w, q, fs):
    return np.concatenate(signal.iirpeak(w, q, fs))


def normalised_filter(b, a):
    return np.concatenate(signal.normalize(b, a))


def low_pass(b, a, w):
    return np.concatenate(signal.lp2lp(b, a, w))


def widths(x, height):
    return signal.peak_widths(x, [1, 3, 6], height)


CALLS = {
    delays: [call(B, A)],
    notch: [call(0.3, 2.5)],
    peak: [call(0.3, 2.5, 1.7)],
    normalised_filter: [call(B, A)],
    low_pass: [call(B[:2], A, 1.7)],
    signal.kaiser_beta: [call(30.0), call(60.0)],
    signal.peak_prominences: [call(PEAKS, [1, 3, 6])],
    widths: [call(PEAKS, 0.5), call(PEAKS, 0.9)],
    signal.gauss_spline: [call(AT, 3)],
    linalg.diagsvd: [call(B, 3, 5), call(B, 5, 3)],
    linalg.fiedler_companion: [call(A)],
    optimize.rosen_hess_prod: [call(V[:3], W[:3])],
    fft.fftfreq: [call(5, 0.7)],
    fft.rfftfreq: [call(5, 0.7)],
    interpolate.barycentric_interpolate: [call(PLACES, Y, AT)],
    interpolate.krogh_interpolate: [call(PLACES, Y, AT)],
}
