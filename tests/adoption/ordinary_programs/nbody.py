"""Planets as objects in a dict, moved by leapfrog."""

import numpy as np

G = 39.478  # AU^3 / (solar mass * year^2)


class Body:
    def __init__(self, mass, position, velocity):
        self.mass = mass
        self.position = np.array(position, dtype=float)
        self.velocity = np.array(velocity, dtype=float)
        self.acceleration = np.zeros(2)

    def kinetic(self):
        return 0.5 * self.mass * np.dot(self.velocity, self.velocity)


def accelerate(bodies):
    for name, body in bodies.items():
        body.acceleration = np.zeros(2)
        for other_name, other in bodies.items():
            if other_name == name:
                continue
            r = other.position - body.position
            body.acceleration += G * other.mass * r / np.linalg.norm(r) ** 3


def simulate(bodies, dt, steps):
    accelerate(bodies)
    for _ in range(steps):
        for body in bodies.values():
            body.velocity += 0.5 * dt * body.acceleration
            body.position += dt * body.velocity
        accelerate(bodies)
        for body in bodies.values():
            body.velocity += 0.5 * dt * body.acceleration


def closest_approach(jupiter_mass, speed, offset):
    bodies = {
        "sun": Body(1.0, [0.0, 0.0], [0.0, 0.0]),
        "jupiter": Body(jupiter_mass, [5.2, 0.0], [0.0, 2.75]),
        "comet": Body(1e-9, [4.0 + offset, -2.0], [0.3, speed]),
    }
    simulate(bodies, dt=0.02, steps=40)
    comet = bodies["comet"]
    return np.sqrt(np.sum((comet.position - bodies["jupiter"].position) ** 2)) + comet.kinetic()


if __name__ == "__main__":
    print(closest_approach(0.00095, 3.0, 0.1))
