"""A climate by latitude: ice reflects, heat flows, until nothing changes."""

import numpy as np

SIGMA = 5.67e-8


class Planet:
    def __init__(self, solar, emissivity, transport, bands=9):
        self.solar = solar
        self.emissivity = emissivity
        self.transport = transport
        edges = np.linspace(-90, 90, bands + 1)
        self.latitude = (edges[1:] + edges[:-1]) / 2
        self.weight = np.cos(np.radians(self.latitude))
        self.weight /= self.weight.sum()
        self.T = np.full(bands, 288.0)

    def albedo(self):
        ice = 1 / (1 + np.exp((self.T - 265) / 4))
        return 0.3 + 0.32 * ice

    def step(self):
        sunlight = self.solar / 4 * (1.3 - 0.9 * np.sin(np.radians(self.latitude)) ** 2)
        absorbed = sunlight * (1 - self.albedo())
        emitted = self.emissivity * SIGMA * self.T**4
        average = np.average(self.T, weights=self.weight)
        change = absorbed - emitted + self.transport * (average - self.T)
        self.T += 0.2 * change
        return np.abs(change).max()


def equilibrium(solar, emissivity, transport):
    planet = Planet(solar, emissivity, transport)
    for _ in range(200):
        if planet.step() < 1e-3:
            break
    warm = planet.T[planet.T > 273.15]
    return float(np.dot(planet.T, planet.weight)) + 0.1 * np.median(warm) + np.ptp(planet.T)


if __name__ == "__main__":
    print(equilibrium(1361.0, 0.61, 3.8))
