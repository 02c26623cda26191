"""Compiled functions at points that are special to one function: NaN, infinities, zeros, orders."""

import cmath
import math

import numpy as np
import pytest

import zyg

from .calls import call
from .case import Case, compiled_of
from .engines import ENGINES
from .programs import written

NAN, INF = np.nan, np.inf
HOLE, FAR = np.array([1.0, NAN, 2.0]), np.array([1.0, INF, 2.0, 0.5])
ROWS = np.array([[1.0, NAN, 3.0], [2.0, 0.5, NAN]])
SINGULAR = np.array([[1.0, 2, 3], [2, 4, 7], [3, 6, 1]])
CASES = [
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
    (np.linalg.det, call(SINGULAR)), (np.linalg.slogdet, call(SINGULAR)),
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
    (np.linalg.matrix_power, call(SINGULAR, 1)), (np.linalg.matrix_power, call(SINGULAR.T, 0)),
    (np.linalg.eigh, call(np.asfortranarray(SINGULAR + SINGULAR.T))),
    # Numbers of 32 bits, and of complex ones those on the axes.
    (np.multiply, call(np.float32(1.3), 0.5)), (np.multiply, call(np.float32(1.3), HOLE[::2])),
    (cmath.sqrt, call(2j)), (np.sqrt, call(np.array([-0.5j, 2j]))), (np.real, call(0.3 + 0.4j)),
    # What the text does of sizes that are unusual, or at what machine code leaves to Python.
    (np.diff, call(np.ones(3), 5)), (np.interp, call(NAN, np.arange(2.0), np.ones(2))),
]  # fmt: skip
MACHINE_CODE = [
    "compiled", "compiled_reverse", "compiled_forward", "compiled_second", "memory", "source",
]  # fmt: skip


def case_of(f, c):
    program, leaves, by_keyword = written(f, c)
    return Case(program.text, program, leaves, by_keyword)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("f", "c"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_machine_code_agrees_at_special_points(f, c):
    case = case_of(f, c)
    for engine in MACHINE_CODE:
        ENGINES[engine](case)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("c", [call(np.zeros(0)), call(np.array([1.0, 2.0]))])
def test_bincount_of_floats_raises(c):
    f = compiled_of(case_of(np.bincount, c).program)
    with pytest.raises(TypeError, match="cast"):
        f(*c.args)


@pytest.mark.filterwarnings("ignore")
def test_vander_takes_one_axis():
    f = compiled_of(case_of(np.vander, call(np.ones((1, 1)), 3)).program)
    with pytest.raises(ValueError, match="one-dimensional"):
        f(np.ones((1, 1)))


def test_values_at_special_points_are_machine_code():
    f = compiled_of(case_of(np.prod, call(HOLE)).program)
    f(HOLE + 1)

    with zyg.config(fallback="error"):
        assert np.isnan(f(HOLE))
