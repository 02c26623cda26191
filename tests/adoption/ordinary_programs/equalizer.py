"""Sound through a peaking filter and SciPy's low pass: how loud it is then."""

import math

import numpy as np
from scipy import signal

RATE = 8000


def peaking(frequency, gain_db, q):
    a = 10 ** (gain_db / 40)
    w = 2 * math.pi * frequency / RATE
    alpha = math.sin(w) / (2 * q)
    b = np.array([1 + alpha * a, -2 * math.cos(w), 1 - alpha * a])
    c = np.array([1 + alpha / a, -2 * math.cos(w), 1 - alpha / a])
    return b / c[0], c / c[0]


def biquad(b, a, x):
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = b[0] * x[n]
        for k in (1, 2):
            if n >= k:
                y[n] += b[k] * x[n - k] - a[k] * y[n - k]
    return y


def loudness(frequency, gain_db, q):
    t = np.arange(60) / RATE
    sound = np.sin(2 * np.pi * 440 * t) + 0.5 * np.sin(2 * np.pi * 1320 * t)
    b, a = peaking(frequency, gain_db, q)
    filtered = biquad(b, a, sound)
    low, high = signal.butter(2, 2000, fs=RATE)
    smooth = signal.lfilter(low, high, filtered)
    spectrum = np.abs(np.fft.rfft(smooth * np.hanning(len(smooth)))) ** 2
    return 10 * math.log10(spectrum.sum() / len(t))


if __name__ == "__main__":
    print(loudness(500.0, 6.0, 1.2))
