"""
An epidemic, fitted to counts
=============================

From the cases that a town reports each week, this finds how fast a disease spreads before and after
a lockdown, how long people are infectious, and how many cases nobody reports. The model is the SIR
model, three differential equations that SciPy's ``solve_ivp`` solves. The counts are Poisson's, and
the best parameters are those that make them most likely. The gradient goes through the solver, and
the Hessian tells how sure the answer is.

::

    pip install -e '.[examples]' && python examples/epidemic.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg
from zyg.scipy.integrate import solve_ivp

# %%
# The model
# ---------
# The state has the shares of people who can fall ill, who are ill, and who ever fell ill. After
# the lockdown on day 42 the ill meet fewer people; the change takes about two days.

PEOPLE, LOCKDOWN = 100_000, 42
DAYS = np.arange(0.0, 141.0, 7.0)


def weekly_cases(p):
    """The cases that are expected to be reported in each week."""

    def slope(t, state):
        healthy, ill = state[0], state[1]
        after = 1 / (1 + np.exp(-(t - LOCKDOWN)))
        contacts = p["before"] + (p["after"] - p["before"]) * after
        infected = contacts * healthy * ill
        return np.stack([-infected, infected - ill / p["days_ill"], infected])

    ill = p["first_ill"] / PEOPLE
    start = np.stack([1 - ill, ill, 0.0])
    solution = solve_ivp(slope, (0, DAYS[-1]), start, t_eval=DAYS, rtol=1e-5, atol=1e-9)
    return np.maximum(PEOPLE * p["reported"] * np.diff(solution.y[2]), 1e-3)


# %%
# The data
# --------
# They are simulated, so that the truth is known.

TRUTH = {"before": 0.35, "after": 0.15, "days_ill": 5.0, "first_ill": 20.0, "reported": 0.3}
counts = np.random.default_rng(1).poisson(weekly_cases(TRUTH))

# %%
# The fit
# -------
# The parameters are positive, so the search is for their logarithms. ``zyg.optimize.minimize`` is
# SciPy's, takes dicts of parameters and of bounds, and asks zyg for the gradient.


def surprise(logarithms):
    """Minus the log of Poisson's likelihood, but for a constant."""
    expected = weekly_cases({name: np.exp(value) for name, value in logarithms.items()})
    return np.sum(expected - counts * np.log(expected))


guess = {"before": 0.6, "after": 0.1, "days_ill": 7.0, "first_ill": 5.0, "reported": 0.5}
start = {name: np.log(value) for name, value in guess.items()}
bounds = {name: (value - 2, value + 2) for name, value in start.items()}
best = zyg.optimize.minimize(surprise, start, bounds=bounds).x

# %%
# How sure is it?
# ---------------
# The inverse of the Hessian at the best parameters is the covariance of their logarithms.

vector, unflatten = zyg.flatten(best)
covariance = np.linalg.inv(zyg.hessian(lambda v: surprise(unflatten(v)), vector))
errors = np.sqrt(np.diagonal(covariance))
deviations = (vector - np.log(list(TRUTH.values()))) / errors
print(f"{'':10} {'truth':>7} {'guess':>7} {'fit':>7}")
for name, value, error in zip(TRUTH, vector, errors, strict=True):
    print(f"{name:10} {TRUTH[name]:7.3f} {guess[name]:7.3f} {np.exp(value):7.3f} ± {error:.0%}")

# %%
# The picture
# -----------

fitted = weekly_cases({name: np.exp(value) for name, value in best.items()})
spread = 2 * np.sqrt(fitted)
weeks = DAYS[1:] / 7
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.axvspan(LOCKDOWN / 7, weeks[-1], color="C1", alpha=0.1, label="lockdown")
axes.fill_between(weeks, fitted - spread, fitted + spread, color="C0", alpha=0.25)
axes.plot(weeks, fitted, label="fit, and two standard deviations of a count")
axes.plot(weeks, weekly_cases(guess), "--", color="grey", label="first guess")
axes.plot(weeks, counts, "ko", markersize=4, label="reported")
axes.set(xlabel="week", ylabel="cases in the week", title="An epidemic, fitted to counts")
axes.set(xlim=(1, weeks[-1]), ylim=(0, 1.3 * np.max(counts)), xticks=range(2, 21, 2))
axes.legend()
plt.show()

assert np.max(np.abs(deviations)) < 3, f"off by {deviations} standard errors"
