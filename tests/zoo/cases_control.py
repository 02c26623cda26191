"""Control, filters, signals."""

import numpy as np

from .case import library

A = np.array([[0.0, 1.0], [-2.0, -3.0]])
B = np.array([[0.0], [1.0]])
TIME = np.linspace(0, 2, 21)
WAVE = np.sin(np.arange(64.0) ** 1.1)

control = library("control", "control", "control")


@control(A)
def step_response(a):
    import control

    system = control.ss(a, B, np.eye(2)[:1], 0)
    return control.step_response(system, TIME).outputs


@control(np.array([2.0, 1.0]), np.array([1.0, 3.0, 5.0]))
def frequency_response(numerator, denominator):
    import control

    system = control.tf(numerator, denominator)
    return np.abs(system(1.5j))


@control(2.0, 0.7)
def closed_loop(gain, time):
    import control

    plant = control.tf([1.0], [time, 1.0])
    loop = control.feedback(gain * plant, 1)
    return control.dcgain(loop) + np.abs(loop(2j))


@control(A)
def regulator(a):
    import control

    gain, _, _ = control.lqr(a, B, np.eye(2), np.eye(1), method="scipy")
    return gain


@control(A)
def gramian(a):
    import control

    return control.lyap(a, np.eye(2), method="scipy")


@control(np.array([[-1.0, -2.0]]))
def placed(poles):
    import control

    return control.acker(A, B, poles[0])


filterpy = library("filterpy", "filters", "filterpy", gate=True)


@filterpy(0.3, 2.0)
def kalman(process, noise):
    from filterpy.kalman import KalmanFilter

    f = KalmanFilter(dim_x=2, dim_z=1)
    f.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    f.H = np.array([[1.0, 0.0]])
    f.Q = process * np.eye(2)
    f.R = noise * np.eye(1)
    for z in (1.0, 2.1, 2.9, 4.2):
        f.predict()
        f.update(z)
    return f.x[0, 0] + f.x[1, 0]


@filterpy(0.6, 1.4, 1.1)
def g_h(g, h, first):
    from filterpy.gh import GHFilter

    f = GHFilter(x=first, dx=0.5, dt=1.0, g=g, h=h)
    for z in (1.2, 2.3, 2.9):
        f.update(z)
    return f.x


@filterpy(np.array([1.0, 2.0]), np.array([[2.0, 0.3], [0.3, 1.0]]))
def sigma_points(mean, covariance):
    from filterpy.kalman import MerweScaledSigmaPoints

    return MerweScaledSigmaPoints(2, alpha=0.3, beta=2.0, kappa=0.1).sigma_points(mean, covariance)


pykalman = library("pykalman", "filters", "pykalman")


@pykalman(np.array([1.0, 2.1, 2.9, 4.2]), 1.5)
def filtered(z, noise):
    from pykalman import KalmanFilter

    f = KalmanFilter(
        transition_matrices=[[1, 1], [0, 1]], observation_matrices=[[1, 0]],
        observation_covariance=noise * np.eye(1),
    )  # fmt: skip
    return f.filter(z)[0]


padasip = library("padasip", "filters", "padasip")


@padasip(0.1, WAVE[:20].reshape(5, 4))
def lms(rate, x):
    import padasip

    f = padasip.filters.FilterLMS(4, mu=rate, w=[0.1, 0.2, 0.3, 0.4])
    y, _, _ = f.run(np.array([1.0, 0.5, -0.5, 0.2, 0.1]), x)
    return y


@padasip(np.array([1.0, 0.5, -0.5, 0.2]), np.array([0.9, 0.4, 0.1, 0.2]))
def error(x1, x2):
    import padasip

    return padasip.misc.RMSE(x1, x2)


resampy = library("resampy", "signal", "resampy")


@resampy(WAVE)
def resampled(x):
    import resampy

    return resampy.resample(x, 16, 12)


librosa = library("librosa", "audio", "librosa")


@librosa(np.array([220.0, 440.0]))
def mel(frequencies):
    import librosa

    return librosa.hz_to_mel(frequencies)


@librosa(np.abs(WAVE) + 0.1)
def decibels(power):
    import librosa

    return librosa.power_to_db(power, top_db=None)


@librosa(WAVE)
def spectrum(x):
    import librosa

    return np.abs(librosa.stft(x, n_fft=16, hop_length=8, center=False)) ** 2


@librosa(np.abs(WAVE).reshape(8, 8) + 0.1)
def centroid(spectrogram):
    import librosa

    return librosa.feature.spectral_centroid(S=spectrogram, sr=8000)


mir_eval = library("mir_eval", "audio", "mir_eval")


@mir_eval(np.array([220.0, 440.0]))
def cents(frequencies):
    from mir_eval.melody import hz2cents

    return hz2cents(frequencies)


@mir_eval(WAVE, WAVE[::-1].copy())
def separation(reference, estimate):
    from mir_eval.separation import bss_eval_sources

    return bss_eval_sources(reference[None], estimate[None])[0]


loudnorm = library("pyloudnorm", "audio", "pyloudnorm")


@loudnorm(np.tile(WAVE, 16))
def loudness(x):
    import pyloudnorm

    return pyloudnorm.Meter(1000, block_size=0.4).integrated_loudness(x)


@loudnorm(WAVE[:20])
def normalised(x):
    import pyloudnorm

    return pyloudnorm.normalize.peak(x, -1.0)


speech = library("python_speech_features", "audio", "python_speech_features")


@speech(np.tile(WAVE, 8))
def cepstrum(x):
    from python_speech_features import mfcc

    return mfcc(x, samplerate=8000, nfft=256)


@speech(np.tile(WAVE, 8))
def filterbank(x):
    from python_speech_features import logfbank

    return logfbank(x, samplerate=8000, nfft=256)
