"""A power plant's efficiency, from tables of steam between whose rows is interpolated."""

import bisect
from dataclasses import dataclass, field

import numpy as np

PRESSURE = [0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0]  # bar
TEMPERATURE = [45.8, 81.3, 99.6, 151.8, 179.9, 263.9, 311.0]
LIQUID = [191.8, 340.5, 417.4, 640.1, 762.6, 1154.5, 1407.8]
VAPOUR = [2584.7, 2645.9, 2675.5, 2748.7, 2778.1, 2794.2, 2725.5]


@dataclass
class Table:
    x: list
    y: list
    hits: dict = field(default_factory=dict)

    def __call__(self, at):
        i = bisect.bisect_right(self.x, at) - 1
        i = max(0, min(i, len(self.x) - 2))
        self.hits[i] = self.hits.get(i, 0) + 1
        t = (at - self.x[i]) / (self.x[i + 1] - self.x[i])
        return self.y[i] + t * (self.y[i + 1] - self.y[i])


def efficiency(boiler, condenser, turbine):
    liquid, vapour = Table(PRESSURE, LIQUID), Table(PRESSURE, VAPOUR)
    h1 = liquid(condenser)
    h2 = h1 + 0.1 * (boiler - condenser)
    h3 = vapour(boiler)
    t_hot, t_cold = np.interp([boiler, condenser], PRESSURE, TEMPERATURE) + 273.15
    ideal = (h3 - h1) * (1 - t_cold / t_hot)
    h4 = h3 - turbine * ideal
    pressures = np.linspace(condenser, boiler, 6)
    losses = 1e-4 * np.trapezoid([vapour(p) for p in pressures], pressures)
    return (h3 - h4 - (h2 - h1) - losses) / (h3 - h2)


if __name__ == "__main__":
    print(efficiency(60.0, 0.2, 0.85))
