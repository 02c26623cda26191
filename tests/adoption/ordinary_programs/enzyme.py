"""An enzyme's kinetics fitted to measurements by SciPy, and what it predicts."""

import numpy as np
from scipy.optimize import curve_fit

SUBSTRATE = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
NOISE = np.array([0.03, -0.02, 0.05, -0.04, 0.01, 0.02])


def michaelis_menten(s, v_max, k_m):
    return v_max * s / (k_m + s)


def measure(v_max, k_m, inhibitor):
    apparent = k_m * (1 + inhibitor / 0.7)
    return michaelis_menten(SUBSTRATE, v_max, apparent) + NOISE


def lineweaver_burk(s, rate):
    slope, intercept = np.polyfit(1 / s, 1 / rate, 1)
    return 1 / intercept, slope / intercept


def predicted(v_max, k_m, inhibitor):
    rate = measure(v_max, k_m, inhibitor)
    guess = lineweaver_burk(SUBSTRATE, rate)
    best, covariance = curve_fit(michaelis_menten, SUBSTRATE, rate, p0=guess)
    return michaelis_menten(3.0, *best)


if __name__ == "__main__":
    print(predicted(2.0, 1.5, 0.2))
