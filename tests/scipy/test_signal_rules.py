"""The rules of scipy.signal: derivatives by differences, SciPy's values, and what is refused."""

import numpy as np
import pytest
import scipy.signal

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import signal

RANDOM = np.random.default_rng(7)
APART = RANDOM.permutation(30) - 14.5
X, Y, ROWS = RANDOM.normal(size=30), RANDOM.normal(size=30), RANDOM.normal(size=(2, 24))
B, A = np.array([0.3, 0.2, 0.1]), np.array([1.2, -0.4, 0.1])
SOS = scipy.signal.butter(4, 0.3, output="sos")
Z, P = np.array([0.5, -0.3]), np.array([0.2, 0.7, -0.1])
W = np.array([0.1, 0.5])
T = np.sort(RANDOM.uniform(0, 1, 9))
SPECTRA = scipy.signal.stft(ROWS, nperseg=8)[2]


def sections(sos):
    """The sections, of which SciPy wants the first coefficients of all denominators to be 1."""
    return np.concatenate([sos[:, :3], np.ones((len(sos), 1)), sos[:, 4:]], axis=1)


def with_phases(x):
    return x * (1 + 2j) + x[..., ::-1] * 1j


def of_peaks(x):
    found = signal.find_peaks(x, height=0, threshold=0, prominence=0.1)[1]
    names = "peak_heights", "left_thresholds", "right_thresholds", "prominences"
    return [found[name] for name in names]


FILTERS = {
    "lfilter": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), B, A, X, W),
    "lfilter of one": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), B, A, X[:1], W),
    "lfilter along the first axis": (
        lambda b, a, x, z: signal.lfilter(b, a, x, 0, z), B, A, ROWS, RANDOM.normal(size=(2, 24)),
    ),
    "lfilter_zi": (signal.lfilter_zi, B, A), "lfilter_zi of four": (signal.lfilter_zi, Y[:4], A),
    "sosfilt": (lambda s, x: signal.sosfilt(sections(s), x), SOS, ROWS),
    "sosfilt from a state": (
        lambda s, x, z: signal.sosfilt(sections(s), x, zi=z), SOS, X, ROWS[:, :2],
    ),
    "sosfilt_zi": (lambda s: signal.sosfilt_zi(sections(s)), SOS),
    **{
        f"filtfilt, {pad}": (lambda b, a, x, pad=pad: signal.filtfilt(b, a, x, 1, pad), B, A, ROWS)
        for pad in ("odd", "even", "constant", None)
    },
    "filtfilt of few": (lambda x: signal.filtfilt(B, A, x, 0, padlen=1), ROWS),
    **{
        f"sosfiltfilt, {pad}": (
            lambda s, x, pad=pad, length=length: signal.sosfiltfilt(
                sections(s), x, -1, pad, length
            ),
            SOS, X[:18],
        )
        for pad, length in (("odd", None), ("even", 4), ("constant", 4), (None, None))
    },
    "deconvolve": (signal.deconvolve, X[:6], B), "deconvolve by more": (signal.deconvolve, W, B),
    **{
        f"savgol_filter, {mode}": (
            lambda x, mode=mode: signal.savgol_filter(x, 5, 2, 1, 0.3, mode=mode, cval=2.0), ROWS,
        )
        for mode in ("interp", "mirror", "nearest", "wrap", "constant")
    },
    "savgol_filter, axis": (lambda x: signal.savgol_filter(x, 3, 2, axis=0), ROWS.T.copy()),
    "detrend": (signal.detrend, ROWS),
    "detrend, constant": (lambda x: signal.detrend(x, 0, "constant"), ROWS),
    "detrend, parts": (lambda x: signal.detrend(x, bp=[1, 10, 20]), ROWS),
    "medfilt": (signal.medfilt, APART), "medfilt2d": (signal.medfilt2d, ROWS),
    "medfilt of a plane": (lambda x: signal.medfilt(x, [1, 5]), ROWS),
    "wiener": (signal.wiener, X),
    "wiener, noise": (lambda x, noise: signal.wiener(x, 5, noise), ROWS, 0.5),
}  # fmt: skip
SAMPLING = {
    "upfirdn": (lambda h, x: signal.upfirdn(h, x, 3, 2, 0), B, ROWS),
    **{
        f"resample_poly, {up}/{down}": (
            lambda x, up=up, down=down: signal.resample_poly(x, up, down, 1), ROWS,
        )
        for up, down in ((3, 2), (2, 3), (1, 1), (4, 2))
    },
    **{
        f"resample_poly, {pad}": (lambda x, pad=pad: signal.resample_poly(x, 3, 2, padtype=pad), X)
        for pad in ("mean", "median", "minimum", "maximum")
    },
    "resample_poly, window": (lambda x: signal.resample_poly(x, 3, 2, window=B), X),
    **{
        f"decimate, {kind} {zero}": (
            lambda x, kind=kind, zero=zero: signal.decimate(x, 3, 4, kind, 1, zero), ROWS,
        )
        for kind in ("iir", "fir") for zero in (True, False)
    },
    "hilbert": (signal.hilbert, ROWS), "hilbert of 25": (lambda x: signal.hilbert(x, 25, 0), ROWS),
    **{
        f"resample, {n} of {have}": (
            lambda x, n=n: signal.resample(x, n, window="hamming"), X[:have],
        )
        for have in (29, 30) for n in (10, 11, have, 40, 41)
    },
    "resample, complex": (lambda x: signal.resample(with_phases(x), 9), X),
    "resample, freq": (lambda x: signal.resample(x, 7, None, 1, domain="freq"), ROWS),
    "resample, times": (lambda x: signal.resample(x, 7, np.arange(24), 1)[0], ROWS),
    "czt": (lambda x: signal.czt(x, 7, axis=0), ROWS),
    "czt of a spiral": (lambda x: signal.czt(x, 7, 0.99 * np.exp(0.3j), 1.1j), X),
    "zoom_fft": (lambda x: signal.zoom_fft(x, [0.1, 0.4], 7, endpoint=True), ROWS),
    "zoom_fft, complex": (lambda x: signal.zoom_fft(with_phases(x), 0.4), X),
}  # fmt: skip
SPECTRAL = {
    "periodogram": (lambda x: signal.periodogram(x)[1], X),
    **{
        f"periodogram, {n}": (lambda x, n=n: signal.periodogram(x, 2.0, "hann", n, "linear")[1], X)
        for n in (21, 40)
    },
    **{
        f"csd, {average} of {n}": (
            lambda x, y, n=n, average=average: signal.csd(x, y, 3.0, nperseg=n, average=average)[1],
            ROWS, Y[:24],
        )
        for n in (8, 9) for average in ("mean", "median")
    },
    "csd, complex": (lambda x, y: signal.csd(with_phases(x), y, nperseg=9)[1], X, Y[:20]),
    "csd with itself": (lambda x: signal.csd(x, x, nperseg=9)[1], X),
    "welch": (lambda x: signal.welch(x, nperseg=8, nfft=12, scaling="spectrum")[1], ROWS),
    "welch, two sides": (
        lambda x: signal.welch(x, nperseg=6, detrend=False, return_onesided=False, axis=0)[1],
        ROWS.T.copy(),
    ),
    "coherence": (lambda x, y: signal.coherence(x, y, nperseg=8)[1], X, Y),
    **{
        f"stft, {boundary}": (
            lambda x, boundary=boundary: signal.stft(
                x, 2.0, nperseg=8, boundary=boundary, axis=0, scaling="psd"
            )[2],
            ROWS.T.copy(),
        )
        for boundary in ("zeros", "even", "odd", "constant", None)
    },
    "stft, complex": (
        lambda x: signal.stft(
            with_phases(x), nperseg=9, noverlap=7, return_onesided=False, padded=False
        )[2],
        ROWS,
    ),
    **{
        f"spectrogram, {mode}": (
            lambda x, mode=mode: signal.spectrogram(x, nperseg=8, mode=mode)[2], ROWS,
        )
        for mode in ("psd", "complex", "magnitude", "angle", "phase")
    },
    "istft": (lambda z: signal.istft(z, nperseg=8)[1], SPECTRA),
    "istft, axes": (
        lambda z: signal.istft(np.moveaxis(z, (-1, -2), (0, 1)), time_axis=0, freq_axis=1)[1],
        SPECTRA,
    ),
    "istft, psd": (
        lambda z: signal.istft(z * (1 + 1j), 2.0, "boxcar", scaling="psd", boundary=False)[1],
        SPECTRA.real.copy(),
    ),
    "istft, two sides": (lambda z: signal.istft(z, input_onesided=False)[1], SPECTRA[0, 1:]),
    **{
        f"lombscargle, {normalize} {mean}": (
            lambda x, y, f, w, normalize=normalize, mean=mean: signal.lombscargle(
                x, y, f, normalize=normalize, weights=w, floating_mean=mean
            ),
            T * 3, Y[:9], np.array([0.5, 2.3]), T + 0.5,
        )
        for normalize in (False, True, "amplitude") for mean in (False, True)
    },
}  # fmt: skip
RESPONSES = {
    "freqz": (lambda b, a: signal.freqz(b, a, 5, include_nyquist=True), B, A),
    "freqz, whole": (lambda b: signal.freqz(b, worN=8, whole=True, fs=3.0), B),
    "freqz at": (signal.freqz, B, A, W), "freqs": (signal.freqs, B, A, W),
    "freqz_sos": (lambda s, w: signal.freqz_sos(sections(s), w), SOS, W),
    "sosfreqz": (lambda s: signal.sosfreqz(sections(s), worN=5), SOS),
    "freqz_zpk": (signal.freqz_zpk, Z, P, 1.3, W), "freqs_zpk": (signal.freqs_zpk, Z, P, 1.3, W),
    "zpk2tf": (signal.zpk2tf, Z, P, 1.3), "tf2zpk": (signal.tf2zpk, B, A),
    "sos2tf": (lambda s: signal.sos2tf(sections(s)), SOS),
    "bilinear": (lambda b, a: signal.bilinear(b, a, 2.0), B[:2], A),
    **{
        name: (getattr(signal, name), Z, P, 1.3, 0.8)
        for name in ("bilinear_zpk", "lp2lp_zpk", "lp2hp_zpk")
    },
    **{
        f"chirp, {method} {zero}": (
            lambda t, f0, t1, f1, phi, method=method, zero=zero: signal.chirp(
                t, f0, t1, f1, method, phi, zero
            ),
            T, 1.0, 3.0, 2.0, 20.0,
        )
        for method in ("linear", "quadratic", "logarithmic", "hyperbolic")
        for zero in (True, False)
    },
    "sweep_poly": (signal.sweep_poly, T, B, 20.0), "sawtooth": (signal.sawtooth, T * 9, 0.3),
    "square": (lambda t: t * signal.square(t), T * 9),
    "gausspulse": (
        lambda t, fc, bw, bwr: signal.gausspulse(t, fc, bw, bwr, retquad=True, retenv=True),
        T, 3.0, 0.5, -6.0,
    ),
    "gausspulse, cutoff": (
        lambda fc, bw, tpr: signal.gausspulse("cutoff", fc, bw, tpr=tpr), 3.0, 0.5, -60.0,
    ),
    "vectorstrength": (signal.vectorstrength, T, 2.3),
    "vectorstrength of periods": (signal.vectorstrength, T, W + 1), "find_peaks": (of_peaks, X),
}  # fmt: skip
ALL = FILTERS | SAMPLING | SPECTRAL | RESPONSES
RECURSIVE = "lfilter", "sosf", "filtfilt"


def marked(name):
    """The case, which is slow where a recursion is differentiated twice by all it has."""
    return pytest.param(name, marks=pytest.mark.slow if name.startswith(RECURSIVE) else ())


@pytest.mark.parametrize("name", [*map(marked, ALL)])
def test_the_slopes_are_those_of_differences(name):
    f, *args = ALL[name]

    zyg.check_gradient(f, *args)


@pytest.mark.parametrize("name", ALL)
def test_the_values_are_scipys_to_the_bit(name):
    f, *args = ALL[name]
    made, want = zyg.pullback(f, *args)[0], f(*args)
    several = isinstance(want, (tuple, list))

    for y, like in zip(made, want, strict=True) if several else [(made, want)]:
        assert np.asarray(y).dtype == np.asarray(like).dtype
        assert np.array_equal(y, like)


@pytest.mark.parametrize("n", [20, 19])
@pytest.mark.parametrize("band", [(1, None), (2, 6), (None, 4), (-4, -1), (0, 5), (None, None)])
@pytest.mark.parametrize("residual", ["lowpass", "all", None])
def test_envelopes(n, band, residual):
    def of_complex(x):
        return signal.envelope(with_phases(x), band, n_out=10, residual=residual, squared=True)

    zyg.check_gradient(of_complex, X[:n])
    if band[0] is None or band[0] >= 0:
        zyg.check_gradient(lambda x: signal.envelope(x, band, residual=residual), X[:n], order=1)


@pytest.mark.parametrize(
    "f",
    [
        signal.detrend, signal.hilbert, signal.medfilt,
        lambda x: signal.savgol_filter(x, 5, 2),
        lambda x: signal.filtfilt(B, A, x),
        lambda x: signal.welch(x, nperseg=8)[1],
        lambda x: signal.stft(x, nperseg=8)[2],
        lambda x: signal.resample(x, 9),
        lambda x: signal.resample_poly(x, 3, 2),
    ],
)  # fmt: skip
def test_single_precision_stays(f):
    y, back = zyg.pullback(f, X.astype(np.float32))
    (bar,) = back(np.ones_like(y))

    assert y.dtype == f(X.astype(np.float32)).dtype
    assert bar.dtype == np.float32
    assert np.allclose(bar, zyg.pullback(f, X)[1](np.ones_like(f(X)))[0], 1e-3, 1e-4)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: signal.upfirdn(B, x, mode="wrap"), "mode='wrap'"),
        (lambda x: signal.resample_poly(x, 3, 2, padtype="line"), "padtype='line'"),
        (lambda x: signal.savgol_filter(x, 4, 2, mode="wrap"), "even window_length"),
        (lambda x: signal.savgol_filter(X, 5, 2, delta=x[0]), "the derivative by 'delta'"),
        (lambda x: signal.chirp(X, x[0], 1.0, x[0], "log"), "at f0 == f1"),
        (lambda x: signal.find_peaks(x, width=0), "the condition 'width'"),
        (lambda x: signal.symiirorder1(X, 1.0, x[0] / 10), "the derivative by 'z1'"),
    ],
)
def test_what_is_not_known_is_refused(f, what):
    before = X.copy()

    with pytest.raises(MissingRuleError, match=what):
        zyg.pullback(f, X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: signal.filtfilt(B, A, x, method="gust"),
        lambda x: signal.detrend(x, overwrite_data=True),
        lambda x: signal.welch(X, fs=x[0] + 2, nperseg=8)[1],
        lambda x: signal.welch(x, nperseg=8, detrend=np.sin)[1],
        lambda x: np.abs(signal.freqs(x[:3], A, 5)[1]),
    ],
)
def test_options_of_scipys_own_code(f):
    before = X.copy()

    zyg.check_gradient(f, X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize(
    "f",
    [signal.detrend, lambda x: signal.savgol_filter(x, 5, 2, 1)],
)
def test_what_comes_to_nothing_but_rounding_has_slopes(f):
    y, back = zyg.pullback(f, np.full(20, 3.1))

    assert np.all(np.isfinite(back(np.ones_like(y))[0]))


def test_a_filter_of_which_much_cancels_has_slopes():
    b, a = scipy.signal.butter(6, 0.02)
    y, back = zyg.pullback(lambda x: signal.filtfilt(b, a, x), X.repeat(9))

    assert np.array_equal(y, scipy.signal.filtfilt(b, a, X.repeat(9)))
    assert np.all(np.isfinite(back(np.ones_like(y))[0]))


def test_a_filter_is_designed_by_gradient():
    at, want = np.linspace(0.1, 3.0, 20), 0.7

    def miss(b, a):
        return np.mean((np.abs(signal.freqz(b, a, at)[1]) - want) ** 2)

    b, a = B, A
    start = miss(b, a)
    for _ in range(60):
        slopes = zyg.gradient(miss, b, a)
        b, a = b - 0.3 * slopes[0], a - 0.3 * slopes[1]
    assert miss(b, a) < start / 10


def test_a_cutoff_has_a_slope():
    """The design of a Butterworth filter, by its cutoff."""

    def coefficients(cutoff):
        z, p, k = signal.buttap(3)
        z, p, k = signal.lp2lp_zpk(z, p, k, 4 * np.tan(np.pi * cutoff / 2))
        return np.concatenate(signal.zpk2tf(*signal.bilinear_zpk(z, p, k, 2.0)))

    assert np.allclose(coefficients(0.3), np.concatenate(scipy.signal.butter(3, 0.3)), 1e-12)
    zyg.check_gradient(coefficients, 0.3)


def test_what_finds_places_carries_nothing():
    assert zyg.gradient(lambda x: x[signal.argrelmax(x)[0]].sum(), X)[0].sum() > 0


def test_peaks_are_read_in_64_bits():
    y, back = zyg.pullback(of_peaks, X.astype(np.float32))

    assert [v.dtype for v in y] == [np.dtype(float)] * 4
    assert back([np.ones_like(v) for v in y])[0].dtype == np.float32


def test_times_of_one_phase_are_refused():
    with pytest.raises(MissingRuleError, match="all samples have one phase"):
        zyg.pullback(lambda x: signal.lombscargle(x, Y[:4], W + 1), np.ones(4))
