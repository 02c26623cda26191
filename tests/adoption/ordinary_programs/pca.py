"""Principal components of two sensors' readings: how much the first one explains."""

import numpy as np

rng = np.random.default_rng(3)
RAW = rng.normal(size=(40, 3))


def calibrate(raw, gains, offset):
    out = np.empty_like(raw)
    for k, gain in enumerate(gains):
        out[:, k] = gain * raw[:, k] + offset * raw[:, (k + 1) % 3] ** 2
    return out


def pca(data, n_components):
    centred = data - data.mean(axis=0)
    cov = np.cov(centred, rowvar=False)
    values, vectors = np.linalg.eigh(cov)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    return values[:n_components], vectors[:, :n_components], centred @ vectors[:, :n_components]


def explained(gain_x, gain_y, gain_z, offset):
    data = calibrate(RAW, [gain_x, gain_y, gain_z], offset)
    values, vectors, scores = pca(data, 2)
    ratio = values / np.trace(np.cov(data.T))
    reconstruction = scores @ vectors.T + data.mean(axis=0)
    error = np.linalg.norm(data - reconstruction, "fro")
    return float(ratio[0] + 0.1 * error)


if __name__ == "__main__":
    print(explained(1.0, 1.7, 0.4, 0.2))
