"""An epidemic of several age groups: states in dicts, days in a list."""

import numpy as np

CONTACTS = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.8], [0.5, 0.8, 1.5]])
POPULATION = {"young": 3.0, "adult": 5.0, "old": 2.0}


def infection_pressure(state, beta):
    share = np.array([state[g]["I"] / POPULATION[g] for g in POPULATION])
    return dict(zip(POPULATION, beta * CONTACTS @ share, strict=True))


def next_day(state, beta, gamma, vaccination):
    pressure = infection_pressure(state, beta)
    new = {}
    for group, s in state.items():
        infected = s["S"] * -np.expm1(-pressure[group])
        recovered = gamma * s["I"]
        jabs = min(vaccination * POPULATION[group], s["S"] - infected)
        new[group] = {
            "S": s["S"] - infected - jabs,
            "I": s["I"] + infected - recovered,
            "R": s["R"] + recovered + jabs,
        }
    return new


def peak_load(beta, gamma, vaccination):
    state = {g: {"S": n - 0.01, "I": 0.01, "R": 0.0} for g, n in POPULATION.items()}
    days = [state]
    for _ in range(60):
        days.append(next_day(days[-1], beta, gamma, vaccination))
    curve = np.array([[day[g]["I"] for g in POPULATION] for day in days])
    hospital = np.asarray(curve) @ np.array([0.01, 0.03, 0.15])
    smooth = np.convolve(hospital, np.ones(7) / 7, mode="valid")
    return np.max(smooth) + 1e-3 * np.argmax(smooth) + float(np.cumsum(hospital)[-1]) / 100


if __name__ == "__main__":
    print(peak_load(0.08, 0.15, 0.004))
