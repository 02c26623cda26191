"""Nests of loops that are one loop; shadows that rounds hand back."""

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff.dependence import Activity
from zyg.compiler.autodiff.handing import handed_on
from zyg.compiler.ir import For, blocks_of, operations

from .wholes import read

P, V = np.linspace(0.1, 1.2, 24).reshape(8, 3), np.array([0.5, -1.0, 2.0])


def depth(f, *args):
    """How deep the loops of a function are nested."""

    def of(block):
        inside = [of(b) + isinstance(op, For) for op in block.ops for b in blocks_of(op)]
        return max(inside, default=0)

    return of(read(f, *args).program.body)


def rows_by_loops(p, n, m):
    y = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            y[i, j] = p[i, j] * 2.0
    return y


def total_by_loops(p):
    s = 0.0
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            s += p[i, j]
    return s


@pytest.mark.parametrize(
    ("f", "args", "deep"),
    [
        (lambda p: p[1:] - p[:-1], (P,), 1),
        (lambda p: p[1:4] * 2.0, (np.ones((5, 2, 3)),), 1),
        (lambda p: p[:, 1:] * 2.0, (np.ones((5, 2, 3)),), 2),  # planes apart, rows in order
        (lambda p: p[:, 1:] - p[:, :-1], (P,), 2),
        (lambda p: p[::2] * 2.0, (P,), 2),
        (lambda p, v: p[1:] * v, (P, V), 2),
        (lambda p: p[1:].T * 2.0, (P,), 1),
        (lambda p: np.sum(p[1:]), (P,), 1),
    ],
)
def test_where_all_lies_in_order_it_is_one_loop(f, args, deep):
    assert depth(f, *args) == deep
    np.testing.assert_allclose(zyg.compile(f)(*args), f(*args), rtol=1e-15)


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0), (1, 1)])
def test_numbers_of_rounds(shape):
    p = np.ones((3, 4))
    for f, args in ((rows_by_loops, (p, *shape)), (total_by_loops, (np.ones(shape),))):
        with zyg.config(fallback="error"):
            np.testing.assert_array_equal(zyg.compile(f)(*args), f(*args))


def test_an_index_that_is_a_number_too():
    def f(p):
        y = np.zeros(p.shape)
        for i in range(p.shape[0]):
            for j in range(p.shape[1]):
                y[i, j] = p[i, j] * j
        return y

    assert depth(f, P) == 2
    np.testing.assert_array_equal(zyg.compile(f)(P), f(P))


def euler(x, n):
    y = x
    for _ in range(n):
        y = y + 0.1 * np.sin(y)
    return y


def until(x, n):
    y = x * 1.0
    while np.sum(y) > n:
        y = 0.5 * y
    return y


def in_place(x, n):
    y = x.copy()
    for _ in range(n):
        y = y + 0.1
        y[0] = 1.0
    return y


def written_after(x, n):
    a = x * 1.0
    y = a
    for _ in range(n):
        y = y * 2.0
    a[0] = 3.0
    return y, a


def kept(x, n):
    y, rows = x, []
    for _ in range(n):
        y = y * 2.0
        rows.append(y)
    return rows[-1]


@pytest.mark.parametrize(
    ("f", "hands"), [(euler, 1), (until, 1), (in_place, 1), (written_after, 0), (kept, 0)]
)
def test_what_loops_hand_on(f, hands):
    program = read(f, np.ones(4), 3).program
    found = handed_on(program, Activity(program, [0]).of)
    loops = [op for op in operations(program.body) if hasattr(op, "params")]
    assert sum(p in found for op in loops for p in op.params) == hands
