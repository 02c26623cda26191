"""Calls of the rules for filters of scipy.signal, and for signals at other rates."""

import numpy as np
import scipy.signal

from zyg.scipy import signal

from .calls import V, W, array, call

IMAGE, WIDE, LONG = array(2, 5), array(5), array(8)
B, A = np.array([0.3, 0.2, 0.1]), np.array([1.2, -0.4, 0.1])
SOS = scipy.signal.butter(3, 0.3, output="sos")
STATES = array(2, 2)


def sections(sos):
    """The sections, of which SciPy wants the first coefficients of all denominators to be 1."""
    return np.concatenate([sos[:, :3], np.ones((len(sos), 1)), sos[:, 4:]], axis=1)


def by_sections(sos, x, axis=-1):
    return signal.sosfilt(sections(sos), x, axis)


def by_sections_from(sos, x, zi):
    return signal.sosfilt(sections(sos), x, zi=zi)


def state_of_sections(sos):
    return signal.sosfilt_zi(sections(sos))


def by_sections_both_ways(sos, x):
    return signal.sosfiltfilt(sections(sos), x, padlen=2)


CALLS = {
    by_sections: [call(SOS, WIDE, order=1), call(SOS, IMAGE, 0, order=1)],
    by_sections_from: [call(SOS, WIDE, STATES, order=1)],
    state_of_sections: [call(SOS)],
    by_sections_both_ways: [call(SOS, WIDE, order=1)],
    signal.lfilter_zi: [call(B, A), call(V, A)],
    signal.filtfilt: [
        call(B, A, WIDE, padlen=2, order=1), call(B, A, IMAGE, 0, "even", 1, order=1),
        call(B, A, IMAGE, padtype="constant", padlen=3, order=1),
        call(B[:2], A[:2], V, padtype=None, order=1),
    ],
    signal.deconvolve: [call(WIDE, W + 3, order=1), call(W[:2], W)],
    signal.savgol_filter: [
        call(WIDE, 3, 1), call(LONG, 5, 2, 1, delta=0.3), call(IMAGE, 1, 0, axis=0),
        *(
            call(WIDE, 3, 1, mode=mode, cval=2.0)
            for mode in ("mirror", "nearest", "wrap", "constant")
        ),
    ],
    signal.detrend: [
        call(IMAGE), call(IMAGE, 0, "constant"), call(LONG, bp=[2, 5]), call(IMAGE.T, 0),
    ],
    signal.medfilt: [call(WIDE), call(IMAGE, [1, 3])],
    signal.medfilt2d: [call(IMAGE)],
    signal.wiener: [call(WIDE), call(IMAGE, 3, 0.5), call(IMAGE, [1, 3])],
    signal.upfirdn: [call(B, WIDE, 3, 2), call(B, IMAGE, 2, 3, 0), call(B, V)],
    signal.resample_poly: [
        call(WIDE, 3, 2), call(IMAGE, 2, 3, 1), call(V, 4, 2, window=[0.5, 1.0, 0.5]),
        call(V, 2, 2), *(call(V, 2, 1, padtype=p) for p in ("mean", "median", "minimum")),
    ],
    signal.decimate: [
        call(array(11), 2, 1, order=1), call(LONG, 2, 2, "iir", zero_phase=False, order=1),
        call(IMAGE, 2, 4, "fir"), call(WIDE, 2, 3, "fir", zero_phase=False),
    ],
    signal.hilbert: [call(WIDE), call(V), call(IMAGE, 4, 0), call(WIDE, 3)],
    signal.resample: [
        *(call(array(n), m) for n in (4, 5) for m in (2, 3, 6, 7)), call(IMAGE, 3, axis=1),
        call(IMAGE, 3, None, 1, "hamming"), call(IMAGE, 3, None, 1, domain="freq"),
        call(V, 3, np.arange(4)),
    ],
    signal.czt: [
        call(WIDE), call(IMAGE, 3, axis=0), call(V, 3, w=0.99 * np.exp(0.3j), a=1.1j),
    ],
    signal.zoom_fft: [call(WIDE, fn=[0.1, 0.4], m=3, endpoint=True), call(IMAGE, fn=0.4, axis=0)],
    signal.envelope: [
        call(LONG, residual="all"), call(LONG, (1, 3), n_out=5), call(WIDE, (2, 4), squared=True),
        call(WIDE, (None, None), residual=None), call(IMAGE, (0, 1), axis=0),
    ],
}  # fmt: skip
