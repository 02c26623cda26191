"""Calls of the rules for spectra and responses of scipy.signal, and for signals by formulas."""

import numpy as np
import scipy.signal

from zyg.scipy import signal

from .calls import W, array, call
from .formulas_filters import IMAGE, LONG, SOS, WIDE, A, B, sections

Z, P, U = np.array([0.5, -0.3]), np.array([0.2, 0.7, -0.1]), np.array([0.1, 0.5])
T = np.array([0.1, 0.35, 0.6, 0.8])
SPECTRA = scipy.signal.stft(LONG, nperseg=4)[2]


def response_of_sections(sos, w):
    return signal.freqz_sos(sections(sos), w)


def response_by_its_old_name(sos):
    return signal.sosfreqz(sections(sos), worN=3)


def fraction_of_sections(sos):
    return signal.sos2tf(sections(sos))


CALLS = {
    signal.periodogram: [
        call(WIDE), call(IMAGE, axis=0, fs=2.0), call(LONG, window="hann", nfft=5),
        call(WIDE, nfft=7, scaling="spectrum", detrend=False), call(WIDE, return_onesided=False),
    ],
    signal.csd: [
        call(LONG, LONG[::-1] + 1, nperseg=4), call(LONG, WIDE, nperseg=3, average="median"),
        call(IMAGE, WIDE, nperseg=4, fs=3.0, detrend="linear"),
    ],
    signal.welch: [
        call(LONG, nperseg=4), call(IMAGE, nperseg=3, nfft=6, scaling="spectrum"),
        call(IMAGE.T, nperseg=4, axis=0, return_onesided=False, detrend=False),
    ],
    signal.coherence: [call(LONG, LONG[::-1] ** 2, nperseg=4)],
    signal.stft: [
        *(call(LONG, nperseg=4, boundary=b) for b in ("zeros", "even", "odd", "constant", None)),
        call(IMAGE, nperseg=3, noverlap=2, return_onesided=False, padded=False, scaling="psd"),
        call(IMAGE.T, nperseg=4, axis=0),
    ],
    signal.spectrogram: [
        *(
            call(LONG, nperseg=4, mode=mode)
            for mode in ("psd", "complex", "magnitude", "angle", "phase")
        ),
        call(IMAGE.T, nperseg=3, axis=0, noverlap=1),
    ],
    signal.istft: [
        call(SPECTRA, nperseg=4), call(SPECTRA, nperseg=4, boundary=False, scaling="psd"),
        call(SPECTRA[1:], input_onesided=False, window="boxcar"),
        call(SPECTRA.T, nperseg=4, time_axis=0, freq_axis=1), call(array(3, 5), fs=2.0),
    ],
    signal.lombscargle: [
        *(
            call(3 * T, WIDE[:4], np.array([0.5, 2.3]), normalize=normalize, floating_mean=mean)
            for normalize in (False, True, "amplitude") for mean in (False, True)
        ),
        call(3 * T, WIDE[:4], np.array([0.5, 2.3]), weights=T + 0.5),
    ],
    signal.freqz: [
        call(B, A, 5, include_nyquist=True), call(B, worN=4, whole=True, fs=3.0), call(B, A, U),
        call(0.5, 1.3, 3),
    ],
    signal.freqs: [call(B, A, U)],
    response_of_sections: [call(SOS, U)],
    response_by_its_old_name: [call(SOS)],
    signal.freqz_zpk: [call(Z, P, 1.3, U), call(Z, P, 1.3, 3)],
    signal.freqs_zpk: [call(Z, P, 1.3, U)],
    signal.zpk2tf: [call(Z, P, 1.3)],
    signal.tf2zpk: [call(B[:2], A)],
    fraction_of_sections: [call(SOS)],
    signal.bilinear: [call(B[:2], A), call(B, A[:2], fs=2.0)],
    signal.bilinear_zpk: [call(Z, P, 1.3, 0.8)],
    signal.lp2lp_zpk: [call(Z, P, 1.3, 0.8)],
    signal.lp2hp_zpk: [call(Z, P, 1.3, 0.8)],
    signal.chirp: [
        *(
            call(T, 1.0, 3.0, 2.0, method, 20.0)
            for method in ("linear", "quadratic", "logarithmic", "hyperbolic")
        ),
        call(0.3, 1.0, 3.0, 2.0, "quadratic", vertex_zero=False),
    ],
    signal.sweep_poly: [call(T, B), call(0.3, B, 20.0)],
    signal.sawtooth: [call(9 * T), call(9 * T, 0.3), call(4.5, 0.4)],
    signal.gausspulse: [
        call(T, 3.0, 0.5, -6.0, retquad=True, retenv=True), call(0.2, 3.0),
        call("cutoff", 3.0, 0.5, tpr=-60.0),
    ],
    signal.vectorstrength: [call(T, 2.3), call(T, W + 3), call(0.7, 2.3)],
    signal.find_peaks: [call(LONG), call(LONG, height=-2.0, threshold=-9.0, prominence=0.1)],
}  # fmt: skip
