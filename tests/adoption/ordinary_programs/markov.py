"""A Markov chain of the weather: its stationary state, and the days until rain."""

import numpy as np

STATES = ["sun", "cloud", "rain"]


def transition_matrix(stay_sunny, clearing, raining):
    P = np.array(
        [
            [stay_sunny, 1 - stay_sunny, 0.0],
            [clearing, 1 - clearing - raining, raining],
            [0.1, 0.5, 0.4],
        ]
    )
    assert np.allclose(P.sum(axis=1), 1)
    return P


def stationary(P):
    n = len(P)
    A = np.vstack([P.T - np.eye(n), np.ones(n)])
    b = np.append(np.zeros(n), 1.0)
    pi, *_ = np.linalg.lstsq(A, b, rcond=None)
    return dict(zip(STATES, pi, strict=True))


def days_until(P, state):
    others = [i for i in range(len(P)) if STATES[i] != state]
    Q = P[np.ix_(others, others)]
    times = np.linalg.solve(np.eye(len(others)) - Q, np.ones(len(others)))
    return times[0]


def entropy_rate(P, pi):
    rate = 0.0
    for i, name in enumerate(STATES):
        row = P[i][P[i] > 0]
        rate -= pi[name] * np.sum(row * np.log2(row))
    return rate


def summary(stay_sunny, clearing, raining):
    P = transition_matrix(stay_sunny, clearing, raining)
    in_a_week = np.linalg.matrix_power(P, 7)[0]
    return entropy_rate(P, stationary(P)) + 0.1 * days_until(P, "rain") + in_a_week[2]


if __name__ == "__main__":
    print(summary(0.8, 0.3, 0.2))
