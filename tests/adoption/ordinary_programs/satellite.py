"""Kepler's equation, and rotations of the orbit: the height of a satellite above a station."""

import numpy as np
from scipy import optimize

MU = 398600.4418
EARTH = 6378.137


def rotation_x(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def eccentric_anomaly(mean, e):
    def kepler(E):
        return E - e * np.sin(E) - mean

    return optimize.brentq(kepler, 0, 2 * np.pi)


def position(a, e, inclination, node, t):
    mean = np.sqrt(MU / a**3) * t % (2 * np.pi)
    E = eccentric_anomaly(mean, e)
    in_plane = np.array([a * (np.cos(E) - e), a * np.sqrt(1 - e**2) * np.sin(E), 0.0])
    return rotation_z(node) @ rotation_x(inclination) @ in_plane


def elevation(a, e, inclination, node):
    t = 2500.0
    r = rotation_z(-7.292e-5 * t) @ position(a, e, inclination, node, t)
    latitude, longitude = np.deg2rad([48.0, 11.0])
    up = np.array(
        [
            np.cos(latitude) * np.cos(longitude),
            np.cos(latitude) * np.sin(longitude),
            np.sin(latitude),
        ]
    )
    ray = r - EARTH * up
    return np.degrees(np.arcsin(ray @ up / np.linalg.norm(ray)))


if __name__ == "__main__":
    print(elevation(7500.0, 0.05, 0.9, 0.3))
