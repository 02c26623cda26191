"""
A queue, simulated and made better
==================================

Customers pass two counters, one after the other. A budget pays for the speeds of both: how should
it be split, so that people spend the least time? The simulation draws random numbers once, and
turns them into waiting times by formulas, so that a waiting time has a derivative by the speeds:
a faster counter makes everybody behind in the queue go earlier. For such queues there is a formula
for the best split (Jackson, Networks of waiting lines, 1957), to which the answer is compared.

::

    pip install -e '.[examples]' && python examples/queue_network.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# The simulation
# --------------
# A customer is served when he has arrived and the one before has left. Both queues are one loop
# over the customers; ``zyg.compile`` makes machine code of it, and of its gradient.


@zyg.compile
def mean_stay(speeds, arrivals, work):
    """The mean time that customers spend; `work` has what each of them asks of each counter."""
    left = np.zeros_like(speeds)  # when the customer before left each counter
    total = 0.0
    for k in range(len(arrivals)):
        now = arrivals[k]
        for counter in range(len(speeds)):
            now = max(now, left[counter]) + work[k, counter] / speeds[counter]
            left[counter] = now
        total += now - arrivals[k]
    return total / len(arrivals)


# %%
# The budget
# ----------
# One unit of speed costs 1 at the first counter and 4 at the second. The share of the budget that
# goes to the first is a sigmoid of any number, and goes downhill by stochastic gradient descent:
# each step simulates another day.

BUDGET, PRICES = 8.0, np.array([1.0, 4.0])
CUSTOMERS = 5000
rng = np.random.default_rng(0)


def day():
    """When customers arrive, one in each unit of time on average, and what they ask for."""
    return np.cumsum(rng.exponential(size=CUSTOMERS)), rng.exponential(size=(CUSTOMERS, 2))


def speeds_of(split):
    share = 1 / (1 + np.exp(-split))
    return BUDGET * np.stack([share, 1 - share]) / PRICES


def stay(split, arrivals, work):
    return mean_stay(speeds_of(split), arrivals, work)


split, splits = -0.5, []
for step in range(200):
    slope, *_ = zyg.gradient(stay, split, *day())
    split -= slope / (step + 10)
    splits.append(split)
found = speeds_of(np.mean(splits[100:]))  # the mean of the later steps scatters less

# %%
# By formula, people stay 1 / (speed - 1) at each counter, so that the budget that is left after
# what is needed is best split as the square roots of the prices.

spare = (BUDGET - np.sum(PRICES)) / np.sum(np.sqrt(PRICES))
best = 1 + spare / np.sqrt(PRICES)
print(f"speeds at first {speeds_of(-0.5).round(3)}, found {found.round(3)}, best {best.round(3)}")

# %%
# The picture
# -----------

shares = np.linspace(0.14, 0.48, 60)
days = [day() for _ in range(3)]
curves = np.array([[stay(np.log(s / (1 - s)), *d) for d in days] for s in shares])
formula = 1 / (BUDGET * shares - 1) + 1 / (BUDGET * (1 - shares) / 4 - 1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(shares, curves, color="C0", alpha=0.4, label=["simulated, three days", "", ""])
left.plot(shares, formula, "k--", label="formula, for endless days")
left.axvline(best[0] / BUDGET, color="C1", label="the best split")
left.set(xlabel="share of the first counter", ylabel="mean time spent", ylim=(0, 15))
left.set(title="what the split does")
left.legend()
right.plot(1 / (1 + np.exp(-np.array(splits))), label="stochastic gradient descent")
right.axhline(best[0] / BUDGET, color="C1", label="the best split")
right.set(xlabel="step", ylabel="share of the first counter", title="how it was found")
right.legend()
plt.show()

assert np.allclose(found, best, rtol=0.02), f"found {found}, best {best}"
