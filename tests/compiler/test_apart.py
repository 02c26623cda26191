"""Loops give what Python does, wherever the places are that they read and write of one array."""

import numpy as np
import pytest

import zyg
from zyg.compiler.back.alias_scopes import Places, unswitched
from zyg.compiler.ir import For, If, Op, operations

from .wholes import read


def move(x, places, n):
    for to in range(places):
        for of in range(places):
            for k in range(n):
                x[to + k] = 0.5 * x[of + k] - 0.2 * x[to + k]
    return np.sum(x * x)


def collect(x, places, n):
    for at in range(places):
        for of in range(places):
            for k in range(n):
                x[at] += 0.1 * x[of + 2 * k] * x[of + 2 * k + 1]
                x[at + 1] -= 0.1 * x[of + 2 * k]
    return np.sum(x * x)


def backwards(x):
    rows, width = x.shape
    for row in range(rows):
        for other in range(rows):
            for k in range(width - 1, 0, -1):
                x[row, k] = 0.0
                x[row, k - 1] += x[other, k]
                x[other, k - 1] += 0.5 * x[row, k - 1]
    return np.sum(x * x)


def rows(table):
    n, m = table.shape
    for i in range(1, n):
        for j in range(1, m):
            table[i, j] = max(table[i - 1, j - 1], table[i, j - 1]) + 0.5 * table[i - 1, j]
    return table[n - 1, m - 1]


def layers(states, first, rounds):
    count, size = states.shape
    for _ in range(rounds):
        for layer in range(count):
            for i in range(size):
                x = first[i] if layer == 0 else states[layer - 1, i]
                states[layer, i] = np.tanh(x) + 0.5 * np.exp(-states[layer, i])
    return np.sum(states * states)


def overlapping(x, places, n):
    for to in range(places):
        for of in range(places):
            for k in range(n):
                if of > 1:
                    x[to + k] = np.sin(x[of + k])
                else:
                    x[to + k] = 0.5 * x[to + k] / (of - 0.5)
    return np.sum(x * x)


def given(*shape):
    return np.random.default_rng(7).uniform(-1, 1, shape)


def agrees(f, x, *rest):
    compiled = zyg.compile(f, wrt=(0,))
    ours, theirs = x.copy(), x.copy()
    with zyg.config(fallback="error"):
        np.testing.assert_allclose(compiled(ours, *rest), f(theirs, *rest), rtol=1e-14)
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-15)
        slopes = zyg.gradient(compiled, x, *rest)[0]
    by_trace = zyg.gradient(f, x, *rest)[0]
    np.testing.assert_allclose(slopes, by_trace, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("places", "n"), [(4, 0), (4, 1), (5, 2), (9, 4), (3, 9), (2, 80)])
def test_rows_that_meet_and_rows_that_do_not(places, n):
    agrees(move, given(places + n), places, n)


@pytest.mark.parametrize(("places", "n"), [(3, 0), (4, 1), (9, 2), (3, 5), (2, 70)])
def test_sums_at_one_place(places, n):
    agrees(collect, given(places + 2 * n + 1), places, n)


@pytest.mark.parametrize(("places", "width"), [(3, 1), (3, 2), (2, 6), (4, 3)])
def test_rows_from_behind(places, width):
    agrees(backwards, given(places, width))


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (4, 1), (3, 2), (5, 7)])
def test_a_table_row_by_row(shape):
    agrees(rows, given(*shape))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 14), (2, 70)])
def test_a_branch_that_is_the_same_in_all_rounds(shape):
    agrees(layers, given(*shape), given(shape[1]), 2)


@pytest.mark.parametrize(("places", "n"), [(3, 0), (3, 1), (5, 2), (4, 9), (3, 70)])
def test_such_branches_over_rows_that_meet(places, n):
    agrees(overlapping, given(places + n), places, n)


def test_a_branch_is_taken_out_of_a_loop():
    found = [op for op in operations(read(layers, given(2, 3), given(3), 1).program.body)
             if isinstance(op, For) and unswitched(op)]  # fmt: skip
    assert len(found) == 1
    _, _, then, orelse = unswitched(found[0])
    assert not any(isinstance(op, If) for loop in (then, orelse) for op in operations(loop.body))


def pairs(f, *args):
    program = read(f, *args).program
    ops = [*operations(program.body)]
    places = Places({op.out: op for op in ops if isinstance(op, Op)})
    return [len(places.pairs(op)) for op in ops if isinstance(op, For)]


def neighbours(x):
    for k in range(1, len(x) - 1):
        x[k] = x[k - 1] + x[k + 1]


def columns(x):
    for k in range(1, len(x)):
        x[k, 0] += x[k - 1, 0]


def anywhere(x, order):
    for k in range(len(order)):
        x[k] += x[order[k]]


def test_what_is_told_apart():
    assert max(pairs(move, given(9), 3, 4)) == 1
    assert max(pairs(collect, given(9), 3, 2)) == 1
    assert max(pairs(backwards, given(3, 3))) == 1
    assert pairs(rows, given(3, 3)) == [0, 1]  # the row and the one above
    assert pairs(neighbours, given(4)) == [0]  # one stream
    assert pairs(columns, given(4, 2)) == [0]  # the same a round later
    assert pairs(anywhere, given(4), np.arange(4)) == [0]  # not known before the loop
