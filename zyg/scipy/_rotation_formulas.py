"""Rotations as quaternions (x, y, z, w) along the last axis: formulas, smooth at no rotation."""

import math

import numpy as np

from zyg.functions.kit import as_array, dagger, strip
from zyg.scipy._namespace import rule_for
from zyg.scipy._valued import length_of

_NEAR = 0.5  # squares of angles below it have series


def _series(x, coefficients):
    """A polynomial by Horner's rule, its lowest coefficient first."""
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = c + x * y
    return y


_SINES = [(-1) ** k / (2 ** (2 * k + 1) * math.factorial(2 * k + 1)) for k in range(9)]
_COSINES = [(-1) ** k / (4**k * math.factorial(2 * k)) for k in range(9)]
_ARCS = [(-1) ** k / (2 * k + 1) for k in range(14)]


def of_vector(v):
    """The quaternion of a rotation vector v of angle a: v sin(a/2) / a and cos(a/2)."""
    square = np.sum(v * v, axis=-1, keepdims=True)
    near = strip(square) < _NEAR
    small = np.where(near, square, 0.0)
    angle = np.sqrt(np.where(near, 1.0, square))
    scale = np.where(near, _series(small, _SINES), np.sin(angle / 2) / angle)
    cosine = np.where(near, _series(small, _COSINES), np.cos(angle / 2))
    return np.concatenate([v * scale, cosine], axis=-1)


def vector_of(q):
    """The rotation vector of a quaternion, whose last number is not negative: 2 atan(n/w) / n."""
    v, w = q[..., :3], q[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    near = strip(square) < 0.04 * strip(w) ** 2
    safe = np.where(near, w, 1.0)
    small = np.where(near, square / safe**2, 0.0)
    length = np.sqrt(np.where(near, 1.0, square))
    far = 2 * np.arctan2(length, w) / length
    return v * np.where(near, 2 * _series(small, _ARCS) / safe, far)


def normalised(q):
    return q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))


def aligned(q, y):
    """Of q and -q, which are one rotation, the one that SciPy gives."""
    q = np.reshape(q, np.shape(y))
    return np.where(np.sum(strip(q) * y, axis=-1, keepdims=True) < 0, -q, q)


def product(p, q):
    """The rotation q, and after it p."""
    a, b = p[..., :3], q[..., :3]
    s, t = p[..., 3:], q[..., 3:]
    vector = s * b + t * a + np.cross(a, b)
    return np.concatenate([vector, s * t - np.sum(a * b, axis=-1, keepdims=True)], axis=-1)


def inverse(q):
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def matrix_of(q):
    """The matrix of a unit quaternion."""
    x, y, z, w = (q[..., k] for k in range(4))
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _orthogonal(m):
    """The nearest rotation matrix, by Newton's steps (Higham): four more than the values need.

    Each doubles the orders of derivatives that are exact: all up to the fifteenth.
    """
    left = 4
    for _ in range(64):  # of NaN, or of what has no inverse, they do not end
        following = (m + np.swapaxes(np.linalg.inv(m), -1, -2)) / 2
        left -= bool(np.max(abs(strip(following) - strip(m)), initial=0.0) < 1e-9)
        m = following
        if not left or np.any(np.isnan(strip(m))):
            break
    return m


def of_matrix(m, assume_valid=False):
    """The quaternion of a matrix: the longest row of 4 q q^T, which is linear in the matrix."""
    m = as_array(m) if assume_valid else _orthogonal(as_array(m))
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    rows = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        row = {k: 1 - trace + 2 * m[..., k, k], 3: m[..., j, i] - m[..., i, j]}
        row |= {n: m[..., k, n] + m[..., n, k] for n in (i, j)}
        rows.append(np.stack([row[n] for n in range(4)], axis=-1))
    rows.append(np.stack([*(r[..., 3] for r in rows), 1 + trace], axis=-1))
    every = np.stack(rows, axis=-2)
    longest = np.argmax(np.diagonal(strip(every), axis1=-2, axis2=-1), axis=-1)
    return normalised(np.take_along_axis(every, longest[..., None, None], -2)[..., 0, :])


def of_parameters(m):
    """Of modified Rodrigues parameters: v tan(a/4) / |v|."""
    square = np.sum(m * m, axis=-1, keepdims=True)
    return np.concatenate([2 * m, 1 - square], axis=-1) / (1 + square)


def parameters_of(q):
    return q[..., :3] / (1 + q[..., 3:])


def turns(axes, angles, intrinsic):
    """Rotations by angles about axes, one after the other; of the axes, each is one of vectors."""
    q = None
    for k, axis in enumerate(axes):
        one = of_vector(angles[..., k : k + 1] * axis)
        q = one if q is None else product(q, one) if intrinsic else product(one, q)
    return q


def angles_of(q, sequence):
    """The three Euler angles (Bernardes and Viollet, 2022), each but for whole turns.

    The second is 0 or a half turn where the others are not defined; `locked` asks that.
    """
    axes = ["xyz".index(name) for name in sequence.lower()]
    intrinsic = sequence.isupper()
    i, j, k = axes[::-1] if intrinsic else axes
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 3], q[..., i], q[..., j], sign * q[..., k]
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    first, third = half_sum - half_difference, half_sum + half_difference
    if not symmetric:
        third, middle = sign * third, middle - math.pi / 2
    locked = np.minimum(strip(np.hypot(a, b)), strip(np.hypot(c, d))) < 1e-7
    order = [third, middle, first] if intrinsic else [first, middle, third]
    return np.stack(order, axis=-1), locked


# The longest axis of symmetric matrices


def _longest(k):
    return np.linalg.eigh(k)[1][..., -1]


@rule_for(_longest)
def longest(k):
    """The unit eigenvector of the greatest eigenvalue: its slope needs none of the others."""
    v = longest(k)

    def longest_pullback(v_bar):
        column = v[..., None]
        values = np.sum(v * np.matmul(k, column)[..., 0], axis=-1)[..., None, None]
        within = np.matmul(column, dagger(column))
        others = values * np.eye(np.shape(v)[-1]) - k + within
        part = v_bar - v * np.sum(v * v_bar, axis=-1, keepdims=True)
        k_bar = np.matmul(np.linalg.solve(others, part[..., None]), dagger(column))
        return ((k_bar + dagger(k_bar)) / 2,)

    return v, longest_pullback


def mean(q, weights=None, axis=None):
    """The mean rotation (Markley and others, 2007)."""
    squares = q[..., None] * q[..., None, :]
    if weights is not None:
        squares = squares * np.broadcast_to(as_array(weights), np.shape(q)[:-1])[..., None, None]
    count = np.ndim(q) - 1
    axes = range(count) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return longest(np.sum(squares, axis=tuple(k % count for k in axes)))


def alignment(a, b, weights):
    """The rotation that takes b nearest to a (Davenport's method), and how far it leaves them."""
    zeros = np.zeros((*np.shape(a)[:-1], 1))
    a4, b4 = (np.concatenate([v, zeros], axis=-1)[..., None, :] for v in (a, b))
    lefts, rights = product(a4, np.eye(4)), product(np.eye(4), b4)
    k = np.sum(weights[..., None, None] * np.matmul(lefts, np.swapaxes(rights, -1, -2)), axis=0)
    q = longest((k + k.T) / 2)
    apart = a - np.sum(matrix_of(q) * b[..., None, :], axis=-1)
    return q, length_of(np.sum(weights * np.sum(apart * apart, axis=-1)))
