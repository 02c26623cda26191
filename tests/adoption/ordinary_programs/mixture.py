"""Two groups of waiting times, told apart by expectation and maximization."""

import numpy as np
from scipy import stats

WAITING = np.array([1.8, 2.1, 2.9, 4.6, 3.4, 2.0, 4.1, 4.8, 1.6, 4.5, 3.1, 2.2])


def em_step(data, weight, means, sigmas):
    p = np.zeros((2, len(data)))
    for k in range(2):
        p[k] = [weight, 1 - weight][k] * stats.norm.pdf(data, means[k], sigmas[k])
    p /= p.sum(axis=0)
    total = p.sum(axis=1)
    means = [np.average(data, weights=p[k]) for k in range(2)]
    sigmas = [float(np.sqrt(np.sum(p[k] * (data - means[k]) ** 2) / total[k])) for k in range(2)]
    return float(total[0] / len(data)), means, sigmas


def fit(data, guess, steps):
    weight, means, sigmas = 0.5, [guess[0], guess[1]], [1.0, 1.0]
    for _ in range(steps):
        weight, means, sigmas = em_step(data, weight, means, sigmas)
    return weight, means, sigmas


def score(low, high, power):
    data = WAITING**power
    weight, means, sigmas = fit(data, (low, high), steps=3)
    likelihood = stats.norm(means[0], sigmas[0]).pdf(data) * weight
    likelihood += (1 - weight) * stats.norm(means[1], sigmas[1]).pdf(data)
    gap = stats.norm.sf(means[1], loc=means[0], scale=sigmas[0] * 5)
    return float(np.sum(np.log(likelihood)) + gap)


if __name__ == "__main__":
    print(score(1.5, 4.0, 0.9))
