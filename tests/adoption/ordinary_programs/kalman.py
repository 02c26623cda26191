"""A car tracked by a Kalman filter: how likely its measured positions are."""

import numpy as np

POSITIONS = [0.1, 1.3, 1.8, 3.2, 4.1, 4.7, 6.2, 7.1]


class KalmanFilter:
    def __init__(self, dt, process_noise, measurement_noise):
        self.F = np.array([[1.0, dt], [0.0, 1.0]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = process_noise * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
        self.R = np.array([[measurement_noise]])
        self.x = np.zeros((2, 1))
        self.P = np.eye(2) * 10

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x += K @ y
        self.P = (np.eye(2) - K @ self.H) @ self.P
        exponent = y.T @ np.linalg.inv(S) @ y
        return -0.5 * (exponent.item() + np.log(2 * np.pi * np.linalg.det(S)))


def log_likelihood(dt, process_noise, measurement_noise):
    kf = KalmanFilter(dt, process_noise, measurement_noise)
    total = 0.0
    for z in POSITIONS:
        kf.predict()
        total += kf.update(z)
    return total


if __name__ == "__main__":
    print(log_likelihood(1.0, 0.1, 0.05))
