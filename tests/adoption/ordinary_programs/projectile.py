"""A ball with drag, by Runge and Kutta: how far it flies."""

import math

import numpy as np

G = 9.81


def derivatives(state, k):
    x, y, vx, vy = state
    v = math.hypot(vx, vy)
    return np.array([vx, vy, -k * v * vx, -G - k * v * vy])


def rk4_step(state, k, dt):
    k1 = derivatives(state, k)
    k2 = derivatives(state + 0.5 * dt * k1, k)
    k3 = derivatives(state + 0.5 * dt * k2, k)
    k4 = derivatives(state + dt * k3, k)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def flight(speed, angle_deg, k, dt=0.05):
    angle = math.radians(angle_deg)
    state = np.array([0.0, 0.0, speed * math.cos(angle), speed * math.sin(angle)])
    trajectory = [state]
    while state[1] >= 0:
        state = rk4_step(state, k, dt)
        trajectory.append(state)
    return np.array(trajectory)


def distance(speed, angle_deg, k):
    trajectory = flight(speed, angle_deg, k)
    (x0, y0), (x1, y1) = trajectory[-2:, :2]
    return x0 + (x1 - x0) * y0 / (y0 - y1)


if __name__ == "__main__":
    print(distance(30.0, 40.0, 0.01))
