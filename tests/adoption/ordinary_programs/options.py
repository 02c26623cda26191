"""European and American options: Black and Scholes' formula, and a binomial tree."""

from math import erf, exp, log, sqrt

import numpy as np


def norm_cdf(x):
    return 0.5 * (1 + erf(x / sqrt(2)))


def black_scholes_put(s, k, t, r, sigma):
    d1 = (log(s / k) + (r + sigma**2 / 2) * t) / (sigma * sqrt(t))
    d2 = d1 - sigma * sqrt(t)
    return k * exp(-r * t) * norm_cdf(-d2) - s * norm_cdf(-d1)


def american_put(s, k, t, r, sigma, n=25):
    dt = t / n
    u = exp(sigma * sqrt(dt))
    d = 1 / u
    p = (exp(r * dt) - d) / (u - d)
    discount = exp(-r * dt)

    values = np.zeros(n + 1)
    for j in range(n + 1):
        values[j] = max(k - s * u**j * d ** (n - j), 0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = discount * (p * values[j + 1] + (1 - p) * values[j])
            values[j] = max(hold, k - s * u**j * d ** (i - j))
    return values[0]


def early_exercise_premium(s, k, t, r, sigma):
    return american_put(s, k, t, r, sigma) - black_scholes_put(s, k, t, r, sigma)


if __name__ == "__main__":
    print(early_exercise_premium(100.0, 105.0, 1.0, 0.05, 0.2))
