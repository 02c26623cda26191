"""Special points of single functions, besides those that every call is tried at (`variants`)."""

import cmath
import math

import numpy as np

from .calls import CUBE, A, V, W, array, call, matrix

TIES = np.array([2.0, 1.0, 2.0, 1.0, 1.0])
TABLE = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0]])
RANK_TWO = np.array([[1.0, 2, 3], [2, 4, 7], [3, 6, 1]])
RANK_ONE = np.outer([1.0, 2, -1], [0.5, 1, 3])
NILPOTENT = np.array([[0.0, 1], [0, 0]])
SINGULAR = [RANK_TWO, RANK_ONE, NILPOTENT, np.zeros((2, 2)), np.zeros((3, 3)),
            np.diag([1.5, 0.0, 2.5]), np.diag([0.0, 0.0, 2.5]), np.zeros((1, 1))]  # fmt: skip
PIVOTS = [np.array([[0.0, 2], [3, 1]]), np.array([[0.0, 1, 2], [1, 0, 3], [4, -3, 8]]),
          np.array([[1.0, 1], [-1, 1]]), np.array([[1e-9, 1], [1, 1]])]  # fmt: skip
SPD = np.array([[4.0, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 5]])
NAN, INF = np.nan, np.inf

CALLS = {
    np.linalg.det: [call(a) for a in (*SINGULAR, *PIVOTS)],
    np.linalg.slogdet: [
        *(call(a) for a in PIVOTS), call(-SPD), call(RANK_TWO), call(np.zeros((2, 2))),
    ],
    np.linalg.inv: [*(call(a) for a in PIVOTS), call(NILPOTENT), call(SPD)],
    np.linalg.solve: [
        *(call(a, np.arange(1.0, len(a) + 1)) for a in PIVOTS), call(NILPOTENT, V[:2]),
        call(SPD, SPD), call(SPD, np.zeros((3, 0))), call(matrix(2, 3, 3), array(3, 2)),
    ],
    np.linalg.cholesky: [
        call(SPD), call(np.diag([4.0, 9.0])), call(-SPD), call(np.array([[4.0, 7], [1, 3]])),
        call(np.stack([SPD, 2 * SPD])), call(SPD, upper=True), call(np.array([[2.0]])),
    ],
    np.linalg.norm: [
        *(call(np.zeros(3), ord) for ord in (None, 1, 2, 3, np.inf, -np.inf, 0)),
        *(call(np.array([0.0, -2, 2]), ord) for ord in (None, 1, 2, 3, np.inf, -np.inf, 0, -1)),
        call(np.array([[0.0, 0], [3, 4]]), axis=1), call(np.array([[0.0, 0], [3, 4]]), axis=0),
        call(np.zeros((2, 2))), call(np.zeros((2, 2)), "fro"), call(np.zeros((2, 2)), 1),
        call(TABLE, 1), call(TABLE, np.inf), call(TABLE, axis=1, keepdims=True), call(0.0),
        call(TABLE, np.inf, axis=1), call(TABLE, -np.inf, axis=0), call(np.array([3, 4])),
        call(np.array([[3, 4]]), 1), call(np.array([1e200, 1e200])), call(CUBE, axis=(0, 2)),
    ],
    np.linalg.matrix_power: [call(RANK_TWO, 2), call(np.zeros((2, 2)), 3), call(SPD, -1),
                             call(SPD, 0), call(SPD, 1), call(np.zeros((2, 2)), -1)],
    np.take: [
        call(A, np.array([[1, 0], [2, 2]]), axis=1), call(CUBE, np.array([[1, 0]]), axis=0),
        call(CUBE, np.array([[2, 0], [1, 1]]), axis=-2), call(V, 2), call(A, np.array(1), 1),
        call(A, -1, axis=0), call(A, np.array([-1, 0]), axis=-1), call(V, np.array([], int)),
        call(V, []), call(V, 9), call(V, [1], mode="same"), call(A, [[0]], 1),
        call(np.array(1.5), 0, axis=0),
        call(A, [], axis=1), call(V, [True, False, True, True]), call(V, np.array([True, False])),
    ],
    np.kron: [
        call(V[:2], A), call(A, V[:2]), call(V[:2], W), call(A[:2], A[:, :2]), call(CUBE, V[:2]),
        call(1.5, W), call(W, 2.0), call(CUBE[:1], A[:2]),
    ],
    np.concatenate: [call([V > 0, V]), call([[True, False], V])],
    np.stack: [call([V > 0, V]), call([True, 1.5])], np.hstack: [call([V > 0, 1.5])],
    np.rot90: [
        call(A), call(A, -1), call(A, 2), call(A, 4), call(A, 3), call(CUBE), call(CUBE, 1, (1, 2)),
        call(CUBE, 1, (2, 0)), call(CUBE, 3, (0, 2)), call(CUBE, k=2, axes=(-1, 0)),
    ],
    np.median: [
        call(A, keepdims=True), call(A, axis=0, keepdims=True), call(A, axis=(0, 1)), call(TIES),
        call(CUBE, axis=1, keepdims=True), call(np.array([1.0, NAN, 2.0])), call(TIES[:4]),
        call(np.array([2.0, 2.0])), call(np.array([1, 2, 4])), call(V, None), call(0.5),
        call(CUBE, axis=(0, 2), keepdims=True), call(np.array([[1.0, NAN], [2.0, 3.0]]), axis=1),
        call(np.array([np.inf, 1.0, np.inf, 0.0])), call(np.array([True, False])),
    ],
    np.sort: [call(TIES), call(TABLE), call(TABLE, axis=0), call(np.array([2.0, NAN, 1.0])),
              call(np.array([0.0, -0.0, 0.0])), call(TABLE, None), call(CUBE, 1)],
    np.max: [call(TIES), call(TABLE, axis=0), call(TABLE, axis=1), call(np.array([1.0, NAN])),
             call(np.array([0.0, -0.0]))],
    np.min: [call(TIES), call(TABLE, axis=0), call(TABLE, axis=1), call(np.array([NAN, 1.0])),
             call(np.array([-0.0, 0.0]))],
    np.ptp: [call(TIES), call(TABLE, axis=1), call(np.ones(3))],
    np.where: [call(np.array([True, False, True]), TIES[:3], TIES[2:]),
               call(TIES > 1, np.log(TIES - 1 + 1e-300), 0.0)],
    np.clip: [call(TIES, 1.0, 2.0), call(TIES, 2.0, 1.0), call(np.array([NAN, 0.5]), 0.0, 1.0),
              call(TIES, TIES, TIES), call(TIES, None, 1.0), call(TIES, 2.0, None)],
    np.std: [call(np.ones(3)), call(np.zeros((2, 3)), axis=1), call(np.array([2.0]))],
    np.var: [call(np.ones(3)), call(np.array([2.0])), call(V, ddof=4)],
    np.prod: [call(np.array([0.0, 2, 3])), call(np.array([0.0, 0, 3])), call(np.zeros(3))],
    np.cumprod: [call(np.array([2.0, 0, 3])), call(np.array([0.0, 0, 3]))],
    np.interp: [
        call(np.array([0.5, 5.0]), np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, np.inf])),
        call(np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])),
        call(np.array([-1.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])),
        call(1.0, [0.0, 1.0, 2.0], [3.0, 1.0, 2.0], -1.0, 9.0),
        call(np.array([NAN]), np.array([0.0, 1.0]), np.array([2.0, 5.0])),
    ],
    np.trapezoid: [call(np.array([1.0])), call(V, V[::-1]), call(A, array(3, 4, seed=2), axis=1)],
    np.diff: [call(V, 0), call(np.array([1.0])), call(A, 2, 0), call(V, 5)],
    np.cross: [call(W, array(3, seed=1)), call(array(3, 2), array(3, 2, seed=1), axis=0)],
    np.average: [call(np.ones(3), weights=np.array([0.5, 0.0, 0.5])), call(W, weights=np.zeros(3))],
    np.quantile: [call(TIES, 0.5), call(TIES, 0.0), call(TIES, 1.0), call(A, 0.3, axis=1),
                  call(np.array([1.0, NAN]), 0.5), call(TIES, np.array([0.1, 0.9]))],
    np.convolve: [call(V, W), call(W, V), call(V, W, "same"), call(W, V, "valid"), call(V, V[:1])],
    np.correlate: [call(V, W), call(W, V), call(V, W, "full"), call(V, W, "same"), call(W, W)],
    np.pad: [call(V, 2), call(V, (1, 2), "edge"), call(V, 1, "wrap"), call(V, (5, 6), "wrap"),
             call(A, 1), call(V, 1, constant_values=2.0), call(V, 1, "reflect")],
    np.roll: [call(V, 0), call(V, 9), call(A, -5), call(A, 1, 0), call(np.zeros(0), 1)],
    np.repeat: [call(A, np.array([1, 0, 2]), axis=0), call(V, np.array(2)), call(1.5, 3)],
    np.tile: [call(A, ()), call(V, (2, 2)), call(CUBE, (1, 2))],
    np.cov: [call(W), call(np.array([[1.0, 2], [2, 1]])), call(np.array([[1.0, 1], [2, 2]]))],
    np.gradient: [call(V), call(V, 0.5), call(V, np.array([0.0, 1, 3, 4])), call(A), call(W, 2)],
    np.tril: [call(CUBE), call(V), call(A, -1)], np.triu: [call(CUBE), call(V), call(A, 9)],
    np.trace: [call(CUBE), call(A, 3), call(A, offset=-9)],
    np.diag: [call(A, 9), call(V, -2), call(np.zeros(0))],
    np.vander: [call(W, 4, True), call(W, 0), call(W, 1)],
    np.linspace: [call(0.5, 2.0, 5), call(0.5, 2.0, 1), call(2.0, 2.0, 3), call(0.5, 2, 4, False)],
    np.logspace: [call(0.5, 2.0, 5), call(0.0, 1.0, 3, base=2.0)],
    np.matmul: [call(TABLE, TABLE.T), call(np.zeros((2, 0)), np.zeros((0, 3))), call(V, V),
                call(A, CUBE[0], axes=[(1, 0), (0, 1), (1, 0)]), call(V, V, axes=[(0,), (0,), ()]),
                call(A, V, axes=[(0, 1), (-1,), (0,)])],
    np.einsum: [call("ii", SPD), call("ii->i", SPD), call("ij,ij->", TABLE, TABLE)],
    np.nan_to_num: [call(np.array([NAN, np.inf, -np.inf, 1.0])), call(np.array([NAN]), nan=2.0),
                    call(np.array([NAN, np.inf, 1.0]), True, 0.7, 1.3),
                    call(np.array([NAN, -np.inf]), True, V[:2], None, 1.3)],
}  # fmt: skip
# Of these the results carry no derivative.
CONSTANT = {
    np.searchsorted: [
        call(np.array([1.0, 2.0, 2.0, 4.0]), NAN), call(np.array([1.0, 2.0]), np.array([NAN, 1.5])),
        call(np.array([1.0, 2.0, 2.0, 4.0]), 2.0), call(np.array([1.0, 2.0, 2.0]), 2.0, "right"),
        call(np.array([1.0, NAN]), NAN), call(np.array([3.0, 1.0, 2.0]), 1.5, sorter=[1, 2, 0]),
        call(np.array([1, 2, 4]), np.array([[2.5, 0.0], [9.0, 1.0]])), call(np.zeros(0), 1.0),
    ],
    np.argsort: [call(TIES), call(TABLE, 0), call(np.array([NAN, 1.0, NAN, 0.0])), call(A, None)],
    np.argmax: [call(TIES), call(TABLE, axis=1), call(np.array([1.0, NAN, 3.0])), call(A, 0)],
    np.argmin: [call(TIES), call(TABLE, axis=1), call(np.array([1.0, NAN, 3.0])), call(A, 0)],
    np.nonzero: [call(TABLE - 1)], np.flatnonzero: [call(TABLE - 1)],
    np.count_nonzero: [call(TABLE - 1), call(TABLE - 1, axis=0)],
    np.bincount: [call(np.array([0, 2, 2])), call(np.array([0, 2]), np.array([0.5, 1.5])),
                  call(np.array([0, 1]), minlength=5), call(np.zeros(0, int))],
    np.array_equal: [call(TIES, TIES), call(TIES, V), call(np.array([NAN]), np.array([NAN]))],
    np.isclose: [call(TIES, TIES + 1e-9), call(np.array([NAN, np.inf]), np.array([NAN, np.inf])),
                 call(TIES, 1.0, rtol=0.5)],
    np.allclose: [call(TIES, TIES), call(TIES, 1.0), call(np.zeros(0), np.zeros(0))],
    np.lexsort: [call((TIES, V.repeat(2)[:5]))], np.digitize: [call(TIES, np.array([1.0, 2.0]))],
    np.shape: [call(A), call(1.5)], np.size: [call(A), call(A, 0)], np.ndim: [call(A), call(1.5)],
    np.all: [call(TABLE - 1), call(TABLE - 1, axis=0)], np.any: [call(TABLE - 1, axis=1)],
    np.tri: [call(3), call(2, 4, -1)], np.eye: [call(3), call(2, 3, 1)],
    np.arange: [call(5), call(0.5, 3.0, 0.5), call(3, 0, -1)],
    np.indices: [call((2, 3))], np.unravel_index: [call(5, (2, 3))],
}  # fmt: skip

HOLE, FAR = np.array([1.0, NAN, 2.0]), np.array([1.0, INF, 2.0, 0.5])
ROWS = np.array([[1.0, NAN, 3.0], [2.0, 0.5, NAN]])
# Functions with calls, which are run whole in the gate.
APART = [
    (np.max, call(HOLE)), (np.min, call(HOLE)), (np.max, call(ROWS, axis=1)),
    (np.min, call(ROWS, axis=0, keepdims=True)), (np.max, call(np.array([NAN, 1.0, NAN]))),
    (np.max, call(np.zeros((0, 3)), axis=0, initial=0.1)),
    (np.max, call(np.array([1.0, 2.0]), initial=2.0)),
    (np.linalg.norm, call(HOLE, INF)), (np.linalg.norm, call(HOLE, -INF)),
    (np.linalg.norm, call(ROWS, -INF, axis=0)), (np.linalg.norm, call(ROWS, 1)),
    (np.var, call(FAR)), (np.std, call(FAR)), (np.var, call(ROWS, axis=0)),
    (np.var, call(HOLE, ddof=3)), (np.prod, call(np.array([0.0, NAN, 3.0]))),
    (np.clip, call(np.array([NAN, 0.5]), np.array([2.0, 2.0]), np.array([1.0, 1.0]))),
    (np.convolve, call(HOLE, np.array([1.0, 2.0]), "valid")), (np.vander, call(HOLE, 3)),
    (np.linalg.matrix_power, call(np.array([[1.0, INF], [2.0, 3.0]]), 2)),
    (np.linalg.det, call(RANK_TWO)), (np.linalg.slogdet, call(RANK_TWO)),
    (np.hypot, call(1.0, INF)), (np.arctan2, call(np.array([1.0, INF]), np.array([INF, 1.0]))),
    (np.arcsinh, call(np.array([INF, -INF]))),
    (np.fmod, call(np.array([1.0, INF]), 0.0 * HOLE[:2])),
    (np.float_power, call(np.array([INF, 0.0, 3.0]), np.array([0.0, INF, -INF]))),
    (cmath.sqrt, call(1.0 + 0j)), (cmath.sqrt, call(-1.0 + 0j)), (cmath.sqrt, call(-1.0 - 0j)),
    (math.pow, call(-2.3, INF)), (math.pow, call(INF, 2.0)), (np.imag, call(0.3 + 0.4j)),
    (np.einsum, call("i,ij,j", HOLE * 0 + 1, ROWS * 0 + 2, np.ones(3), optimize="greedy")),
    (np.correlate, call(np.ones(2), np.array([1.0, 2.0, 4.0]), "full")),
    (np.linalg.solve, call(np.stack([np.eye(2), 2 * np.eye(2)]), np.array([1.0, 2.0]))),
    # Where new arrays lie in memory, and which are no new ones.
    (np.linspace, call(ROWS, 2.0, 4, axis=-1)), (np.delete, call(ROWS, [0, -1], axis=1)),
    (np.nanquantile, call(np.ones((2, 3, 4)), 0.5, axis=0)), (np.tile, call(ROWS, ())),
    (np.cross, call(np.ones((3, 2)), np.ones((3, 2)), axis=0)), (np.nonzero, call(ROWS)),
    (np.linalg.matrix_power, call(RANK_TWO, 1)), (np.linalg.matrix_power, call(RANK_TWO.T, 0)),
    (np.linalg.eigh, call(np.asfortranarray(RANK_TWO + RANK_TWO.T))),
    # Numbers of 32 bits, and of complex ones those on the axes.
    (np.multiply, call(np.float32(1.3), 0.5)), (np.multiply, call(np.float32(1.3), HOLE[::2])),
    (cmath.sqrt, call(2j)), (np.sqrt, call(np.array([-0.5j, 2j]))), (np.real, call(0.3 + 0.4j)),
    # What the text does of sizes that are unusual, or at what machine code leaves to Python.
    (np.diff, call(np.ones(3), 5)), (np.interp, call(NAN, np.arange(2.0), np.ones(2))),
]  # fmt: skip
