"""
A ball, by the sound of its bounces
===================================

From the times at which a ball was heard to bounce, this finds from which height it fell, how much
of its speed it keeps in a bounce, and how strong the drag of the air is. Each bounce is an event:
``solve_ivp`` stops there, and goes on with another speed. The derivative takes into account that
the moment of a bounce moves with all that came before.

::

    pip install -e '.[examples]' && python examples/bouncing_ball.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg
from zyg.scipy.integrate import solve_ivp

# %%
# The ball
# --------
# The state is height and speed. An event is a function that is zero when it happens.

BOUNCES = 4


def ground(t, state):
    return state[0]


ground.terminal, ground.direction = True, -1


def flights(ball, **options):
    """The solutions between the bounces, one after the other."""

    def slope(t, state):
        speed = state[1]
        return np.stack([speed, -9.81 - ball["drag"] * speed * np.abs(speed)])

    now, state, found = 0.0, np.stack([ball["height"], 0.0]), []
    for _ in range(BOUNCES):
        flight = solve_ivp(slope, (now, now + 10), state, events=ground, rtol=1e-5, **options)
        now, speed = flight.t[-1], flight.y[1, -1]
        state = np.stack([0.0, -ball["kept"] * speed])
        found.append(flight)
    return found


def bounces(ball):
    """When the ball hits the ground."""
    return np.stack([flight.t[-1] for flight in flights(ball)])


# %%
# What was heard
# --------------
# The times are simulated, with an error of a millisecond.

TRUTH = {"height": 1.6, "kept": 0.78, "drag": 0.06}
ERROR = 1e-3
heard = bounces(TRUTH) + ERROR * np.random.default_rng(0).normal(size=BOUNCES)

# %%
# The fit
# -------
# Least squares, by SciPy, with the Jacobian of the times by zyg. At the best fit the Jacobian
# also tells the standard errors.


def residuals(ball):
    return (bounces(ball) - heard) / ERROR


guess = {"height": 1.0, "kept": 0.9, "drag": 0.0}
found = zyg.optimize.least_squares(residuals, guess, ftol=1e-6)
(jacobian,) = zyg.jacobian(residuals, found.x)
matrix = np.stack([jacobian[name] for name in TRUTH], axis=1)
errors = dict(zip(TRUTH, np.sqrt(np.diagonal(np.linalg.inv(matrix.T @ matrix))), strict=True))
for name, true in TRUTH.items():
    print(f"{name:6} {found.x[name]:.4f} ± {errors[name]:.4f}, truth {true}, guess {guess[name]}")

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for label, ball, style, colour in [
    ("first guess", guess, ":", "grey"),
    ("fit", found.x, "-", "C0"),
]:
    for k, flight in enumerate(flights(ball, dense_output=True)):
        times = np.linspace(flight.t[0], flight.t[-1], 50)
        heights = flight.sol(times)[0]
        axes.plot(times, heights, style, color=colour, label=label if k == 0 else None)
axes.plot(heard, np.zeros(BOUNCES), "^", color="k", label="heard")
axes.set(xlabel="time, s", ylabel="height, m", title="A ball, by the sound of its bounces")
axes.set(ylim=(-0.08, None))
axes.legend()
plt.show()

for name, true in TRUTH.items():
    assert abs(found.x[name] - true) < 3.5 * errors[name], f"the {name} is {found.x[name]}"
