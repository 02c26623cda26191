"""
Option prices, calibrated
=========================

From the prices of 36 options, this finds the five parameters of Heston's model, in which the
volatility of a share is random, too (A closed-form solution for options with stochastic
volatility, 1993). A price is an integral over a complex function; SciPy's least squares gets its
Jacobian from zyg. The sensitivities that traders call delta, gamma and vega are gradients of the
same function.

::

    pip install -e '.[examples]' && python examples/options.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

import zyg

# %%
# The model
# ---------
# The price of a call is an integral over a frequency u (Lewis, A simple option valuation formula,
# 2000). It is taken at 96 places by Gauss and Legendre's formula, for all strikes at once.

SPOT = 100.0
STRIKES = np.linspace(80, 120, 9)
YEARS = np.array([0.25, 0.5, 1.0, 2.0])
places, weights = np.polynomial.legendre.leggauss(96)
U = 60 * (places + 1)  # up to 120, where nothing is left
WEIGHTS = 60 * weights


def logarithm(p, u, years):
    """The log of the characteristic function of the log price at the end."""
    drift = p["back"] - 1j * p["correlation"] * p["wild"] * u
    root = np.sqrt(drift**2 + p["wild"] ** 2 * (u**2 + 1j * u))
    ratio = (drift - root) / (drift + root)
    decay = np.exp(-root * years)
    c = (drift - root) * years - 2 * np.log((1 - ratio * decay) / (1 - ratio))
    d = (drift - root) * (1 - decay) / (1 - ratio * decay)
    return (p["back"] * p["later"] * c + p["now"] * d) / p["wild"] ** 2


def calls(p, spot, years, strikes):
    """The prices of calls, with no interest."""
    phi = np.exp(logarithm(p, U - 0.5j, years))
    waves = np.exp(1j * U * np.log(spot / strikes)[:, None]) * phi
    integral = np.real(waves) @ (WEIGHTS / (U**2 + 0.25))
    return spot - np.sqrt(spot * strikes) / np.pi * integral


def all_calls(p, spot=SPOT):
    return np.stack([calls(p, spot, years, STRIKES) for years in YEARS])


# %%
# The market
# ----------
# The variance is that of now, that to which it comes back and how fast, how wild it is, and how
# it goes with the price. Prices are known to a cent or so.

TRUTH = {"now": 0.05, "later": 0.04, "back": 1.8, "wild": 0.5, "correlation": -0.7}
SPREAD = 0.01
market = all_calls(TRUTH) + SPREAD * np.random.default_rng(0).normal(size=(4, 9))

# %%
# The calibration
# ---------------


def residuals(p):
    return np.ravel(all_calls(p) - market) / SPREAD


guess = {"now": 0.1, "later": 0.1, "back": 1.0, "wild": 0.3, "correlation": 0.0}
bounds = dict.fromkeys(guess, (1e-3, 10.0)) | {"correlation": (-0.99, 0.99)}
found = zyg.optimize.least_squares(residuals, guess, bounds=bounds, x_scale="jac")
(jacobian,) = zyg.jacobian(residuals, found.x)
matrix = np.stack([jacobian[name] for name in TRUTH], axis=1)
errors = dict(zip(TRUTH, np.sqrt(np.diagonal(np.linalg.inv(matrix.T @ matrix))), strict=True))
for name, true in TRUTH.items():
    print(f"{name:12} {found.x[name]:7.4f} ± {errors[name]:.4f}, truth {true}, guess {guess[name]}")
print(f"{found.nfev} evaluations; a price is off by {SPREAD * np.sqrt(np.mean(found.fun**2)):.3f}")

# %%
# Sensitivities
# -------------
# By the price of the share: delta and its derivative gamma; by the variance of now: vega. If the
# share and the strike are twice as high, so is the price, which is a check: the price is what both
# derivatives say, times the share and the strike (Euler).


def total(spot, now, strikes, years=0.5):
    """The price of one call of each strike, and what it costs together."""
    return np.sum(calls(found.x | {"now": now}, spot, years, strikes))


strikes = np.linspace(60, 150, 91)
spots = np.full_like(strikes, SPOT)
delta, vega, by_strike = zyg.gradient(total, spots, found.x["now"] + 0 * strikes[:, None], strikes)
gamma = zyg.diaghessian(lambda s: total(s, found.x["now"], strikes), spots)
euler = spots * delta + strikes * by_strike - calls(found.x, spots, 0.5, strikes)
print(f"Euler's relation holds up to {np.max(np.abs(euler)):.1e}")

# %%
# The picture
# -----------
# Traders draw prices as the volatility at which Black and Scholes' formula gives them.


def volatility(price, strike, years):
    def above(v):
        d = np.log(SPOT / strike) / (v * np.sqrt(years)) + v * np.sqrt(years) / 2
        return SPOT * norm.cdf(d) - strike * norm.cdf(d - v * np.sqrt(years)) - price

    return brentq(above, 1e-3, 3.0)


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
fitted = all_calls(found.x)
for k, years in enumerate(YEARS):
    smile = [volatility(c, s, years) for c, s in zip(fitted[k], STRIKES, strict=True)]
    left.plot(STRIKES, 100 * np.array(smile), f"C{k}", label=f"{years} years")
    seen = [volatility(c, s, years) for c, s in zip(market[k], STRIKES, strict=True)]
    left.plot(STRIKES, 100 * np.array(seen), f"C{k}o", markersize=4)
left.set(xlabel="strike", ylabel="implied volatility, %", title="market (dots) and model")
left.legend()
for name, values in {"delta": delta, "gamma": gamma, "vega": np.ravel(vega)}.items():
    right.plot(strikes, values / np.max(values), label=f"{name}, at most {np.max(values):.3g}")
right.set(xlabel="strike", ylabel="beside its largest value", title="sensitivities, half a year")
right.legend()
plt.show()

for name, true in TRUTH.items():
    assert abs(found.x[name] - true) < 3.5 * errors[name], f"{name} is {found.x[name]}"
assert np.max(np.abs(euler)) < 1e-8
