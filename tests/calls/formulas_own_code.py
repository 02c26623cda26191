"""Calls of functions that are differentiated along SciPy's own code."""

import warnings

import numpy as np

from zyg.scipy import signal, spatial, stats

from .calls import array, call

B, A = np.array([0.3, 0.7, 0.2]), np.array([1.3, 0.4, -0.2])
LONG = np.array([1.3, 0.4, -0.2, 0.1])
STATES = np.array([[-0.5, 0.2], [0.1, -0.8]]), np.array([[1.0], [0.4]]), np.array([[0.3, 0.9]])
TIMES, BAND = np.linspace(0.0, 2.0, 5), np.array([0.2, 0.5])
INPUT, X = np.sin(TIMES), np.array([0.1, 0.7, 0.3, 0.9, 0.2, 0.5, 0.8, 0.4])
STOPPED = np.array([0.1, 0.6]), np.array([0.3, 0.5])
PARTS = np.array([0.3, 0.4]), np.array([-0.5, 0.2]), 1.3
SAMPLE, OTHER = array(12), array(12, seed=1) + 0.3
FEW = array(9, seed=2)
PLANE = array(14, 15)
TABLE, MORE = array(4, 5), array(4, 5, seed=1)
CHANCES, COUNTED = np.array([0.01, 0.2, 0.03, 0.5]), np.arange(12.0)


def parts_of_proper(a, b, c):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the numerator's first 0
        return signal.ss2zpk(a, b, c, [[0.0]])


def placed(a, b, poles):
    found = signal.place_poles(a, b, poles)
    return found.gain_matrix, found.computed_poles, found.requested_poles


def conjugate(v):
    return np.stack([v[0] + 1j * v[1], v[0] - 1j * v[1]])


DESIGNS = [
    (lambda w: signal.butter(3, w), 0.3),
    (lambda w: signal.butter(2, w, "bandpass", output="zpk"), BAND),
    (lambda w: signal.butter(3, w, output="sos"), 0.3),
    (lambda w: signal.bessel(3, w), 0.3),
    (lambda r, w: signal.cheby1(3, r, w, "highpass"), 1.3, 0.3),
    (lambda r, w: signal.cheby2(2, r, w, "bandstop"), 20.0, BAND),
    (lambda w: signal.ellip(3, 1.3, 30.0, w), 0.3),
    (lambda w, r: signal.iirfilter(3, w, r, btype="lowpass", ftype="cheby1"), 0.3, 1.3),
    (lambda a, b, r, s: signal.iirdesign(a, b, r, s, ftype="cheby1"), 0.2, 0.4, 1.0, 20.0),
    (lambda r: signal.cheb1ap(3, r), 1.3),
    *((lambda r, s, n=n: signal.ellipap(n, r, s), 1.3, 30.0) for n in (1, 2, 3)),
    *(
        (f, *ends, 1.0, 30.0)
        for ends in ((0.2, 0.4), (0.5, 0.3), (BAND, np.array([0.1, 0.6])))
        for f in (
            lambda a, b, r, s: signal.buttord(a, b, r, s),
            lambda a, b, r, s: signal.cheb1ord(a, b, r, s),
            lambda a, b, r, s: signal.cheb2ord(a, b, r, s),
            lambda a, b, r, s: signal.ellipord(a, b, r, s),
        )
    ),
    (lambda w, a, b: signal.band_stop_obj(w, 0, a, b, 1.0, 30.0, "butter"), 0.22, *STOPPED),
    (lambda r, w: signal.kaiserord(r, w), 65.0, 0.1),
    (lambda r: signal.cheb2ap(3, r), 20.0),
    (lambda q: signal.iircomb(0.2, q), 3.0),
    (lambda f: signal.gammatone(f, "fir", 4, 8, 16000.0), 440.0),
    (lambda f: signal.gammatone(f, "iir", fs=16000.0), 440.0),
    (lambda w: signal.firwin(7, w, pass_zero=False), BAND),
    (lambda w, d: signal.firwin(7, w, width=d), 0.3, 0.2),
    (lambda f, g: signal.firwin2(7, np.concatenate([[0.0], f, [1.0]]), g), BAND + 0.07, LONG),
    (lambda w: signal.firwin_2d((5, 5), ("hamming", "hamming"), fc=w), 0.3),
    (
        lambda f, d, w: signal.firls(5, f, d, weight=w),
        np.array([0.1, 0.3, 0.5, 0.9]), np.array([1.0, 0.9, 0.1, 0.2]), np.array([1.0, 2.0]),
    ),
    (lambda d: signal.savgol_coeffs(5, 2, deriv=1, delta=d), 0.3),
    (lambda w: signal.kaiser_atten(7, w), 0.2),
    (lambda beta: signal.get_window(("kaiser", beta), 6), 4.2),
    (lambda width: signal.get_window(("gaussian", width), 6), 2.2),
    (lambda b, a: signal.findfreqs(b, a, 5), B, A),
    (lambda w, a: signal.czt_points(4, w, a), np.exp(-0.3j), 1.1 + 0.1j),
]  # fmt: skip
CONVERSIONS = [
    (lambda b, a, w: signal.lp2hp(b, a, w), B, A, 1.3),
    (lambda b, a, w, d: signal.lp2bp(b, a, w, d), B, A, 1.3, 0.4),
    (lambda b, a, w, d: signal.lp2bs(b, a, w, d), B, A, 1.3, 0.4),
    (lambda z, p, k: signal.lp2bp_zpk(conjugate(z), conjugate(p), k, 1.3, 0.4), *PARTS),
    (lambda z, p, k: signal.lp2bs_zpk(conjugate(z), conjugate(p), k, 1.3, 0.4), *PARTS),
    (lambda z, p, k: signal.zpk2sos(conjugate(z), conjugate(p), k), *PARTS),
    (lambda z, p, k: signal.zpk2ss(conjugate(z), conjugate(p), k), *PARTS),
    (lambda b, a: signal.tf2sos(b, a), B, A),
    (lambda s: signal.sos2zpk(s), np.array([[*B, 1.0, 0.3, -0.2]])),
    (lambda b, a: signal.tf2ss(b, a), B, A),
    (lambda a, b, c, d: signal.ss2tf(a, b, c, d), *STATES, np.array([[0.1]])),
    (lambda a, b, c: signal.abcd_normalize(a, b, c), *STATES),
    (lambda a, b, c, d: signal.cont2discrete((a, b, c, 0 * a[:1, :1]), d), *STATES, 0.3),
    (lambda a, b, d: signal.cont2discrete((a, b, *STATES[2:], [[0]]), d, "foh"), *STATES[:2], 0.3),
    (lambda a, d: signal.cont2discrete((a, *STATES[1:], [[0]]), d, "bilinear"), STATES[0], 0.3),
    (lambda r, p, k: signal.invres(r, p, k), B[:2], A[1:], np.array([1.1])),
    (lambda r, p, k: signal.invresz(r, p, k), B[:2], A[1:], np.array([1.1])),
    *(
        (lambda b, a, f=f: f(b, a), *given)
        for f in (signal.residue, signal.residuez)
        for given in ((LONG, A), (B[:2], LONG), (LONG, A + 1j * B))
    ),
    (lambda b: signal.residue(b, [1.0, 2.0, 1.0]), LONG),
    (lambda b: signal.residuez(b, [1.0, -1.5, 0.75, -0.125]), LONG),
    *((lambda p, t=t: signal.unique_roots(p, 0.05, t)[0], X / 3) for t in ("avg", "min", "max")),
    (lambda p: signal.unique_roots(p * (1 + 1j), 0.05)[0], X / 3),
    (lambda a, b, c, d: signal.ss2zpk(a, b, c, d), *STATES, np.array([[0.1]])),
    (lambda a, b, c: parts_of_proper(a, b, c), *STATES),
    (placed, *STATES[:2], -BAND),
    (lambda a, b, p: placed(a, b, conjugate(p)), *STATES[:2], -BAND),
    (lambda a, b, p: placed(a, b, p), STATES[0], STATES[0] @ STATES[0], -BAND),
    (lambda a, b, p: placed(a, b, conjugate(p)), STATES[0], STATES[0] + 1, -BAND),
    (lambda b, a, y: signal.lfiltic(b, a, y), B, A, BAND),
    (lambda w, d: signal.closest_STFT_dual_window(w, 2, d), X[:4], X[4:]),
]
RESPONSES = [
    (lambda b, a: signal.bode((b, a), w=TIMES + 0.1), B, A),
    (lambda b, a: signal.freqresp((b, a), w=TIMES + 0.1), B, A),
    (lambda b, a: signal.dbode((b, a, 0.1), w=TIMES + 0.1), B, A),
    (lambda b, a: signal.dfreqresp((b, a, 0.1), w=TIMES + 0.1), B, A),
    (lambda b, a: signal.impulse((b, a), T=TIMES), B[1:], A),
    (lambda b, a: signal.step((b, a), T=TIMES), B, A),
    (lambda b, a: signal.dimpulse((b, a, 0.1), n=5), B, A),
    (lambda b, a: signal.dstep((b, a, 0.1), n=5), B, A),
    (lambda b, a, u: signal.dlsim((b, a, 0.1), u), B, A, INPUT),
    (lambda u, t: signal.dlsim((B, A, 0.1), u, t=t), INPUT, 0.97 * TIMES),
    (lambda b, a, u: signal.lsim((b, a), u, TIMES), B, A, INPUT),
    (lambda a, b, c, u: signal.lsim((a, b, c, 0.0), u, TIMES), *STATES, INPUT),
    (lambda x: signal.cspline1d(x), X),
    (lambda x: signal.qspline1d(x), X),
    (lambda c, t: signal.cspline1d_eval(c, t), X, np.array([0.3, 2.2, 4.7, -0.7])),
    (lambda c, t: signal.qspline1d_eval(c, t), X, np.array([0.3, 2.2, 4.7, -0.7])),
    (lambda x: signal.order_filter(x, np.ones(3), 1), X),
    (lambda x: signal.hilbert2(x), TABLE),
    (lambda x, c: signal.symiirorder1(x, c, 0.1, 1e-3), SAMPLE, 1.3),
    (lambda x: signal.symiirorder1(x * (1 + 1j), 1.0, -0.1, 1e-3), SAMPLE),
    (lambda x: signal.symiirorder2(x, 0.1, 0.7, 1e-3), SAMPLE),
    (lambda x: signal.cspline2d(x, 0.0, 1e-3), PLANE),
    (lambda x: signal.cspline2d(x, 0.1, 0.1), PLANE),
    (lambda x: signal.qspline2d(x, 0.0, 1e-3), PLANE),
    (lambda x: signal.spline_filter(x, 0.0), PLANE),
    (lambda x, r, c: signal.sepfir2d(x, r, c), TABLE, B, A),
]
WEIGHTS = np.array([1.0, 2.0, 0.3, 0.7])
OF_NUMBERS = [
    lambda u, v, w: spatial.distance.dice(u, v, w),
    lambda u, v, w: spatial.distance.rogerstanimoto(u, v, w),
    lambda u, v, w: spatial.distance.russellrao(u, v, w),
    lambda u, v, w: spatial.distance.sokalsneath(u, v, w),
    lambda u, v, w: spatial.distance.yule(u, v, w),
]
OF_WEIGHTS = [
    *OF_NUMBERS,
    lambda u, v, w: spatial.distance.hamming(u, v, w),
    lambda u, v, w: spatial.distance.jaccard(u, v, w),
]
DISTANCES = [
    *((f, LONG + 0.3, LONG[::-1], WEIGHTS) for f in OF_NUMBERS),
    *(
        (lambda w, f=f, kind=kind: f(np.array([1, 0, 1, 0], kind), np.array([1, 1, 0, 0], kind), w),
         WEIGHTS)
        for f in OF_WEIGHTS for kind in (bool, float)
    ),
]  # fmt: skip


def distance_of_anderson(x, distribution):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it will return
        return stats.anderson(x, distribution).statistic


def statistic_of_kolmogorov(x, mean):
    found = stats.ks_1samp(x, stats.norm.cdf, (mean, 1.3), method="asymp")
    return found.statistic, found.pvalue


def posterior(x):
    return [part for found in stats.bayes_mvs(x) for part in (found.statistic, *found.minmax)]


def compared(*samples, equal_var=True):
    found = stats.tukey_hsd(*samples, equal_var=equal_var)
    return found.statistic, found.pvalue[np.triu_indices(len(samples), 1)]


STATISTICS = [
    (lambda x: distance_of_anderson(x, "norm"), SAMPLE),
    (lambda x: distance_of_anderson(x, "expon"), SAMPLE**2),
    (statistic_of_kolmogorov, SAMPLE, 0.3),
    (lambda x: stats.ks_1samp(x, stats.norm.cdf, alternative="less"), SAMPLE),
    (
        lambda x, m: stats.kstest(x, stats.norm.cdf, (m, 1.3), alternative="greater").statistic,
        SAMPLE,
        0.3,
    ),
    (posterior, SAMPLE),
    (lambda x: [law.logpdf(1.3) for law in stats.mvsdist(x)], SAMPLE),
    (compared, SAMPLE, OTHER, FEW),
    (lambda *xs: stats.bartlett(*xs), SAMPLE, OTHER, FEW),
    (lambda *xs: stats.levene(*xs), SAMPLE[:11], OTHER[:11], FEW),
    (lambda *xs: stats.levene(*xs, center="mean"), SAMPLE, OTHER),
    (lambda *xs: stats.alexandergovern(*xs), SAMPLE, OTHER, FEW),
    (lambda x: stats.binned_statistic(COUNTED, x, "mean", 3).statistic, SAMPLE),
    (lambda x: stats.binned_statistic(COUNTED, x, "std", 3).statistic, SAMPLE),
    (lambda x: stats.binned_statistic_2d(COUNTED, COUNTED, x, "sum", 2).statistic, SAMPLE),
    (lambda x: stats.binned_statistic_dd([COUNTED], x, "mean", 3).statistic, SAMPLE),
    *(
        (lambda p, method=method: stats.combine_pvalues(p, method), CHANCES)
        for method in ("fisher", "pearson", "tippett", "stouffer", "mudholkar_george")
    ),
    (lambda p, w: stats.combine_pvalues(p, "stouffer", w), CHANCES, LONG + 2),
    (lambda x: stats.cramervonmises(x, "norm").statistic, SAMPLE),
    (lambda x: stats.describe(x), SAMPLE),
    *(
        (lambda x, method=method: stats.differential_entropy(x, method=method), SAMPLE)
        for method in ("vasicek", "van es", "ebrahimi", "correa")
    ),
    (lambda x: stats.directional_stats(x).mean_direction, TABLE),
    (lambda p: stats.false_discovery_control(p), CHANCES),
    (lambda x: stats.lmoment(x), SAMPLE),
    (lambda x: stats.median_abs_deviation(x, scale="normal"), FEW**3),
    (lambda *xs: stats.obrientransform(*xs), SAMPLE, OTHER),
    (lambda x: stats.pointbiserialr(COUNTED % 2, x), SAMPLE),
    (lambda x, p: stats.quantile(x, p), SAMPLE, np.array([0.23, 0.71])),
    (lambda x: stats.scoreatpercentile(x, 40.0), SAMPLE),
    (lambda x: stats.sigmaclip(x, 1.3, 1.3), SAMPLE),
    (lambda x, y: stats.theilslopes(y, x), SAMPLE, OTHER),
    (lambda x: stats.trim1(x, 0.2), SAMPLE),
    (lambda x: stats.trimboth(x, 0.2), SAMPLE),
    (lambda x, m: stats.ttest_1samp(x, m), TABLE, 0.3),
    (lambda x, m: stats.ttest_1samp(x, m).confidence_interval(), TABLE, 0.3),
    (lambda x, y: stats.ttest_ind(x, y), TABLE, MORE),
    (lambda x, y: stats.ttest_ind(x, y, equal_var=False), SAMPLE, FEW),
    (lambda x, y: stats.ttest_ind(x, y, trim=0.2), SAMPLE, FEW),
    (lambda x, y: stats.ttest_rel(x, y), TABLE, MORE),
]
# Their values are rough: of searches, and of a sum of logarithms that has its least one added.
ROUGH = [
    (lambda h: signal.minimum_phase(h), np.array([0.1, 0.3, 0.8, 0.2, 0.1])),
    (lambda x: stats.boxcox_normmax(x, method="mle"), np.abs(SAMPLE)),
    (lambda x: stats.yeojohnson_normmax(x), SAMPLE),
    (lambda x: stats.yeojohnson_normmax(x, (-2.0, 2.0)), SAMPLE),
    (lambda x: stats.ppcc_max(x, (0.1, 0.9), dist="tukeylambda"), np.sort(SAMPLE**3)),
]
ONCE = [
    (lambda x: stats.ks_1samp(x, stats.norm.cdf)[:2], SAMPLE),
    (lambda x: stats.kstest(x, "norm", method="approx")[:2], SAMPLE + 0.3),
    (lambda *xs: compared(*xs, equal_var=False), SAMPLE, OTHER, FEW),
]
ALL = [*DESIGNS, *CONVERSIONS, *RESPONSES, *DISTANCES, *STATISTICS, *ROUGH]
CALLS = {f: [call(*args)] for f, *args in ALL}
CALLS |= {f: [call(*args, order=1)] for f, *args in ONCE}
CALLS |= {f: [call(LONG + 0.3, LONG[::-1], WEIGHTS)] for f in OF_WEIGHTS}
