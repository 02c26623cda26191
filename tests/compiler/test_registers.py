"""Loops give the same bits whether they run in registers, one by one, or by their length."""

import math

import numpy as np
import pytest

import zyg
from zyg.compiler.back import elementary_text
from zyg.compiler.back.vectorize import rounds_that_wait, waits_for_sums
from zyg.compiler.ir import For, Op, operations
from zyg.compiler.polynomials import Polynomials

from .wholes import read


def steps(x, rounds):
    y = x.copy()
    for _ in range(rounds):
        scale = 0.0
        for i in range(len(x)):
            scale += y[i] * y[i]
        for i in range(len(x)):
            y[i] = y[i] / scale
    return y


def logs(x):
    total = 0.0
    for i in range(len(x)):
        total += math.log(x[i])
    return total


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 63, 64, 65, 131])
def test_short_loops_and_long_ones_have_the_same_bits(n):
    x = np.random.default_rng(n).uniform(1, 2, n)
    np.testing.assert_array_equal(zyg.compile(steps)(x, 3), steps(x, 3))


def test_loops_are_told_apart():
    program = read(steps, np.ones(3), 2).program
    loops = [op for op in operations(program.body) if isinstance(op, For)]
    (outer,) = (op for op in loops if any(isinstance(inner, For) for inner in op.body.ops))
    sums, scales = (op for op in outer.body.ops if isinstance(op, For))
    assert waits_for_sums(sums)
    assert not waits_for_sums(scales)
    places = Polynomials({op.out: op for op in operations(program.body) if isinstance(op, Op)})
    assert rounds_that_wait(scales, outer, places) == 64
    assert rounds_that_wait(scales, None, places) == 0


def rows(x, y):
    for i in range(len(x)):
        for k in range(x.shape[1]):
            y[i, k] += x[i, k]


def columns(x, y):
    for i in range(len(x)):
        for k in range(x.shape[1]):
            y[k] += x[i, k]


def test_rows_of_few_elements_go_one_by_one_and_what_is_stored_again_soon():
    for f, y, few in ((rows, np.ones((3, 4)), 8), (columns, np.ones(4), 64)):
        program = read(f, np.ones((3, 4)), y).program
        outer = next(op for op in program.body.ops if isinstance(op, For))
        inner = next(op for op in outer.body.ops if isinstance(op, For))
        places = Polynomials({op.out: op for op in operations(program.body) if isinstance(op, Op)})
        assert rounds_that_wait(inner, outer, places) == few


@pytest.mark.parametrize("place", [0, 5, 99])
def test_a_domain_error_after_the_loop_is_pythons(place):
    x = np.ones(100)
    compiled = zyg.compile(logs)
    assert compiled(x) == 0.0
    x[place] = -1.0
    with pytest.raises(ValueError, match=r"domain error|positive"):
        compiled(x)
    with pytest.raises(ValueError, match=r"domain error|positive"):
        zyg.gradient(compiled, x)


def by_rows(x):
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = math.exp(x[i, j]) + math.tanh(x[i, j]) + math.sin(x[i, j])
    return y


@pytest.mark.parametrize("n", [1, 5, 8, 13, 67])
def test_the_last_rounds_have_the_bits_of_others(n):
    x = np.random.default_rng(n).uniform(-3, 3, (2, n))
    compiled = zyg.compile(by_rows)
    one_by_one = np.array([compiled(row[:, None])[:, 0] for row in x])
    np.testing.assert_array_equal(compiled(x), one_by_one)


def test_a_function_of_one_number_keeps_its_arguments():
    """Where all calls have the same exponent, LLVM would drop it, and have none of vectors."""
    declared = {}
    name = elementary_text.symbol("power", "double", declared)

    assert f"ptr @{name}," in elementary_text.used(declared)
