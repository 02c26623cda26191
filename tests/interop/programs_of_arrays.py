"""Programs over arrays of any library, each of a matrix and a vector."""

import numpy as np

RNG = np.random.default_rng(7)
A = RNG.uniform(0.2, 0.9, (4, 3))
V = RNG.uniform(0.2, 0.9, 3)
C = RNG.normal(size=(4, 3))  # a constant of NumPy's
W = RNG.normal(size=(3, 2))
MASK = C > 0


def softmax_loss(a, v):
    z = a * v
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean((z - np.log(np.sum(np.exp(z), axis=1, keepdims=True)))[:, 1])


def layers(a, v):
    h = np.tanh(a @ W)
    h = np.maximum(h, 0.0) + 0.1 * np.minimum(h, 0.0)
    return np.sum(h**2) + np.sum(v * v)


def standardised(a, v):
    z = (a - np.mean(a, axis=0)) / np.std(a, axis=0)
    return np.sum(z * C) + np.sum(v)


def loop(a, v):
    x = v
    for row in range(3):
        x = np.sin(x) * a[row] + x
    return np.sum(x)


def branch(a, v):
    y = np.where(a > 0.5, a * a, np.sqrt(a))
    return np.sum(y) + np.sum(v**3)


def untaken(a, v):
    return np.sum(np.where(a > 10.0, np.log(a - 10.0), a * 2.0)) + np.sum(v)


def distances(a, v):
    d = a[:, None, :] - a[None, :, :]
    return np.sum(np.sqrt(np.sum(d * d, axis=-1) + 1.0)) + v[0]


def logistic(a, v):
    z = a @ v
    return np.mean(np.logaddexp(0.0, z) - z * 0.3)


PROGRAMS = {
    # by element
    "sin(x) x": lambda a, v: np.sum(np.sin(a) * a),
    "trigonometry": lambda a, v: np.sum(np.cos(a) + np.tan(a) + np.arcsin(a) + np.arctan(a)),
    "arccos": lambda a, v: np.sum(np.arccos(a) * v),
    "hyperbolic": lambda a, v: np.sum(np.sinh(a) + np.cosh(a) * np.tanh(a)),
    "arcsinh": lambda a, v: np.sum(np.arcsinh(a) + np.arctanh(a) + np.arccosh(a + 1.5)),
    "exponentials": lambda a, v: np.sum(np.exp(a) + np.expm1(a) + np.exp2(a)),
    "logarithms": lambda a, v: np.sum(np.log(a) + np.log1p(a) + np.log2(a) * np.log10(a)),
    "roots": lambda a, v: np.sum(np.sqrt(a) + np.cbrt(a) + np.square(a) + np.reciprocal(a)),
    "powers": lambda a, v: np.sum(a**3 + a**0.5 + 2.0**a + a**v),
    "arctan2": lambda a, v: np.sum(np.arctan2(a, v)),
    "hypot": lambda a, v: np.sum(np.hypot(a, v)),
    "logaddexp": lambda a, v: np.sum(np.logaddexp(a, v) + np.logaddexp2(a, v)),
    "division": lambda a, v: np.sum(a / v + 1.0 / a - a / 2.0),
    "integers": lambda a, v: np.sum(a // 0.1 + a % 0.3 + np.floor(a) * a + np.round(a, 1)),
    "signs": lambda a, v: np.sum(np.abs(a - 0.5) + np.sign(a - 0.5) * a - np.negative(a)),
    "extremes": lambda a, v: np.sum(np.maximum(a, v) * np.minimum(a, 0.5)),
    "fmax": lambda a, v: np.sum(np.fmax(a, v) * np.fmin(a, 0.5)),
    "degrees": lambda a, v: np.sum(np.deg2rad(a) + np.rad2deg(a)),
    "clip": lambda a, v: np.sum(np.clip(a, 0.3, 0.7) * a),
    "sinc": lambda a, v: np.sum(np.sinc(a)),
    "where": branch,
    "untaken branch": untaken,
    "nan_to_num": lambda a, v: np.sum(np.nan_to_num(a) * a),
    # with constants
    "constant of NumPy's": lambda a, v: np.sum(a * C + C / a - (C - a) * 2.0),
    "constants at the left": lambda a, v: np.sum(C * a) + np.sum(np.float64(2.0) * a - C[0] * v),
    "mask of NumPy's": lambda a, v: np.sum(np.where(MASK, a, 2.0 * a * v)),
    "integers of Python": lambda a, v: np.sum(3 * a - a * 2 + (1 - a) ** 2),
    # reductions
    "sums": lambda a, v: np.sum(np.sum(a, 0) * v) + np.sum(np.sum(a, 1, keepdims=True) * a),
    "means": lambda a, v: np.mean(a * a) + np.sum(np.mean(a, axis=0) ** 2),
    "products": lambda a, v: np.prod(a) + np.sum(np.prod(a, axis=1) ** 2),
    "max and min": lambda a, v: np.max(a) * np.min(a) + np.sum(np.max(a, axis=1) * v[0]),
    "var and std": lambda a, v: np.var(a) + np.sum(np.std(a, axis=0) ** 3),
    "var with ddof": lambda a, v: np.sum(np.var(a, axis=1, ddof=1)),
    "cumsum": lambda a, v: np.sum(np.cumsum(a, axis=1) ** 2),
    "cumprod with a zero": lambda a, v: np.sum(np.cumprod(a * np.array([1.0, 0.0, 1.0]), 1) * v),
    "median": lambda a, v: np.median(a) + np.sum(np.quantile(a, 0.3, axis=0) * v),
    "norms of other orders": lambda a, v: np.linalg.norm(v, 3) + np.linalg.norm(a, 1, axis=0) @ v,
    "by columns": lambda a, v: (
        np.sum(np.reshape(a, (3, 4), order="F")[0] ** 2) + np.ravel(a, "F")[1]
    ),
    "cumprod": lambda a, v: np.sum(np.cumprod(a, axis=1) * a),
    "trapezoid": lambda a, v: np.trapezoid(np.sin(v)) + np.sum(np.diff(a, axis=1) ** 2),
    "norm": lambda a, v: np.linalg.norm(v) + np.linalg.norm(a),
    "methods": lambda a, v: (a.sum(axis=0) * v).sum() + a.mean() + a.max() + a.T.reshape(-1).std(),
    "logsumexp": lambda a, v: np.log(np.sum(np.exp(a))) + np.sum(v),
    "softmax": softmax_loss,
    "standardised": standardised,
    # shapes
    "reshape": lambda a, v: np.sum(np.reshape(a, (2, 6)) ** 2) + np.sum(np.ravel(a) ** 3),
    "transpose": lambda a, v: np.sum(a.T * C.T) + np.sum(np.swapaxes(a, 0, 1) ** 2),
    "moveaxis": lambda a, v: np.sum(np.moveaxis(a[None], 0, -1)[..., 0] ** 2),
    "expand_dims": lambda a, v: np.sum(np.squeeze(np.expand_dims(a, 1)) * v),
    "broadcast_to": lambda a, v: np.sum(np.broadcast_to(v, (4, 3)) * a),
    "flip and roll": lambda a, v: np.sum(np.flip(a, 0) * a) + np.sum(np.roll(a, 1, axis=0) * a),
    "concatenate": lambda a, v: np.sum(np.concatenate([a, a * 2.0]) ** 2),
    "stack": lambda a, v: np.sum(np.stack([v, v * v]) @ v),
    "vstack": lambda a, v: np.sum(np.vstack([a, v]) ** 2) + np.sum(np.hstack([v, v]) ** 2),
    "split": lambda a, v: np.sum(np.split(a, 2)[0] * np.split(a, 2)[1]),
    "tile and repeat": lambda a, v: np.sum(np.tile(v, 2) ** 2) + np.sum(np.repeat(v, 2) ** 3),
    "triangles": lambda a, v: np.sum(np.tril(a) * np.triu(a)),
    "diagonal": lambda a, v: np.sum(np.diagonal(a) ** 2) + np.trace(a),
    "zeros_like": lambda a, v: np.sum((np.zeros_like(a) + a) * np.ones_like(a)),
    # indices
    "a row": lambda a, v: np.sum(a[1] * v),
    "slices": lambda a, v: np.sum(a[1:3] ** 2) + np.sum(a[::2, 1]) * v[-1],
    "a new axis": lambda a, v: np.sum(v[:, None] * v[None, :]),
    "rows by an array": lambda a, v: np.sum(a[np.array([0, 0, 2])] ** 2),
    "a mask": lambda a, v: np.sum(a[MASK] ** 2),
    "take": lambda a, v: np.sum(np.take(a, np.array([2, 0, 0]), axis=0) ** 2),
    "sort": lambda a, v: np.sum(np.sort(v) * np.arange(3.0)),
    # products
    "matmul": lambda a, v: np.sum(a @ v) + np.sum((a @ a.T) ** 2),
    "dot": lambda a, v: np.dot(v, v) + np.sum(np.dot(a, v) ** 2),
    "outer": lambda a, v: np.sum(np.outer(v, v) ** 2) + np.inner(v, v),
    "tensordot": lambda a, v: np.sum(np.tensordot(a, a, ([0], [0])) ** 2),
    "einsum": lambda a, v: np.sum(np.einsum("ij,j->i", a, v) ** 2),
    "solve": lambda a, v: np.sum(np.linalg.solve(a.T @ a + np.eye(3), v) ** 2),
    "slogdet": lambda a, v: np.linalg.slogdet(a.T @ a + np.eye(3))[1],
    "inverse": lambda a, v: np.sum(np.linalg.inv(a.T @ a + np.eye(3)) ** 2),
    "cholesky": lambda a, v: np.sum(np.linalg.cholesky(np.tril(a.T @ a) + np.eye(3)) @ v),
    "eigenvalues": lambda a, v: np.sum(np.linalg.eigvalsh(np.tril(a.T @ a)) * v),
    "rfft": lambda a, v: np.sum(np.abs(np.fft.rfft(v)) ** 2),
    "fft": lambda a, v: np.sum(np.abs(np.fft.fft(v)) ** 2),
    # whole programs
    "layers": layers,
    "loop": loop,
    "distances": distances,
    "logistic": logistic,
    "a branch of Python's": lambda a, v: np.sum(a * 2.0) if v[0] > 0.0 else np.sum(a),
    "a number of the array": lambda a, v: v[0] * v[1] + np.sum(a) * v[2],
}
