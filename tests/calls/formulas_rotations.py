"""Calls of functions of rotations, which are classes of scipy.spatial.transform."""

import numpy as np
from zyg.scipy.spatial.transform import Rotation, Slerp

from .calls import V, W, array, call

TURNS = 0.4 * array(4, 3)


def matrix_of_vector(x):
    return Rotation.from_rotvec(x).as_matrix()


def vector_of_quaternion(q):
    return Rotation.from_quat(q).as_rotvec()


def quaternion_of_angles(x):
    return Rotation.from_euler("xyz", x).as_quat(canonical=True)


def angles_of_parameters(x):
    return Rotation.from_mrp(x).as_euler("ZXZ")


def applied(x, points):
    return Rotation.from_rotvec(x).apply(points, inverse=True)


def turned_twice(x, y):
    return ((Rotation.from_rotvec(x) * Rotation.from_rotvec(y)).inv() ** 0.7).as_mrp()


def quaternion_of_matrix(m):
    return Rotation.from_matrix(m).as_quat()


def mean_turn(x):
    turns = Rotation.from_rotvec(x)
    return turns[1:].mean().as_rotvec() + turns.magnitude()[:3]


def between(t, x):
    return Slerp([0.0, 1.0, 2.5, 4.0], Rotation.from_rotvec(x))(t).as_rotvec()


def aligned(a, b):
    turn, rest = Rotation.align_vectors(a, b)
    return turn.as_rotvec() * rest


CALLS = {
    matrix_of_vector: [call(W), call(TURNS), call(np.zeros(3)), call(1e-4 * W)],
    vector_of_quaternion: [call(V), call(array(3, 4))],
    quaternion_of_angles: [call(W), call(TURNS)],
    angles_of_parameters: [call(0.3 * W)],
    applied: [call(W, array(4, 3)), call(TURNS, W)],
    turned_twice: [call(W, 0.3 * W), call(TURNS, W)],
    quaternion_of_matrix: [call(np.eye(3)), call(0.1 * array(3, 3) + np.eye(3))],
    mean_turn: [call(TURNS)],
    between: [call(np.array([0.3, 2.9]), TURNS)],
    aligned: [call(array(4, 3), array(4, 3, seed=1))],
}  # fmt: skip
