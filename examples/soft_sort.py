"""
A soft sort: learning from ranks
================================

Judges say which wine is better than which, but their marks mean nothing: only the order does. This
finds what makes a wine good by making the ranks of a score agree with theirs. A rank is a count,
whose derivative is zero; a soft rank counts with sigmoids instead, and has one. Some judges were
careless, so the worst quarter of the disagreements is left out: that sort needs no softness, as the
derivative of a sort is a permutation.

::

    pip install -e '.[examples]' && python examples/soft_sort.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import rankdata, spearmanr

import zyg

# %%
# Soft ranks
# ----------


def soft_ranks(scores, width):
    """The rank of each score: one more than the others below it, softly counted."""
    return 0.5 + np.sum(1 / (1 + np.exp((scores - scores[:, None]) / width)), axis=1)


# %%
# The data
# --------
# Marks are a strange function of a score that is linear in six properties; of 120 wines, 20 got
# marks at random.

WINES, CARELESS = 120, 20
rng = np.random.default_rng(3)
truth = np.array([2.0, -1.0, 0.5, 0.0, 1.0, -0.5])
truth /= np.linalg.norm(truth)
properties = rng.normal(size=(WINES, 6))
marks = np.exp(2 * np.tanh(properties @ truth)) + 0.1 * rng.normal(size=WINES)
careless = rng.choice(WINES, CARELESS, replace=False)
marks[careless] = rng.uniform(0, 8, CARELESS)
ranks = rankdata(marks)

# %%
# The fit
# -------
# Scores are scaled to a spread of one; the soft ranks get harder in three rounds.


def disagreement(weights, width, kept=1.0):
    """The mean squared difference of ranks, of the share of wines where it is least."""
    scores = properties @ weights
    found = soft_ranks((scores - np.mean(scores)) / np.std(scores), width)
    squares = np.sort((found - ranks) ** 2)
    return np.mean(squares[: int(kept * WINES)]) / WINES


weights = np.linalg.lstsq(properties, marks - np.mean(marks), rcond=None)[0]
results = {"least squares": weights}
for kept, name in [(1.0, "all ranks"), (0.75, "the best ranks")]:
    for width in (0.3, 0.1, 0.05):
        weights = zyg.optimize.minimize(disagreement, weights, (width, kept)).x
    results[name] = weights / np.linalg.norm(weights)

# %%
# What was found
# --------------
# Beside the weights: the angle between them and the true ones, and Spearman's correlation with the
# marks of the careful judges.

careful = np.setdiff1d(np.arange(WINES), careless)
angles = {}
for name, weights in results.items():
    cosine = weights @ truth / np.linalg.norm(weights)
    angles[name] = np.degrees(np.arccos(cosine))
    agreement = spearmanr((properties @ weights)[careful], marks[careful]).statistic
    print(f"{name:15} off by {angles[name]:4.1f} degrees, correlation {agreement:.3f}")
print("truth          ", truth.round(2))
print("found          ", results["the best ranks"].round(2))

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
scores = np.linspace(-2, 2, 401)
fixed = np.array([-1.2, -0.3, 0.4, 1.1])
for width in (0.3, 0.1, 0.02):
    curve = [soft_ranks(np.append(fixed, s), width)[-1] for s in scores]
    left.plot(scores, curve, label=f"width {width}")
left.set(xlabel="score", ylabel="soft rank", title="the rank of one score among four others")
left.legend()
found = rankdata(properties @ results["the best ranks"])
right.plot(found[careful], ranks[careful], ".", label="careful judges")
right.plot(found[careless], ranks[careless], "x", color="C3", label="careless judges")
right.set(xlabel="rank of the score", ylabel="rank of the marks", title="ranks, when fitted")
right.legend()
plt.show()

assert angles["the best ranks"] < 5, angles
assert angles["the best ranks"] < angles["least squares"] / 2, angles
