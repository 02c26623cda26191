"""Zeros that are not written as the first addition covers them; results that are made in place."""

import gc
import tracemalloc

import numpy as np
import pytest

import zyg
from zyg.compiler.back import first_writes
from zyg.compiler.ir import Alloc, operations
from zyg.compiler.splice import as_run

from .unwritten import noticed
from .wholes import read


@pytest.fixture(autouse=True)
def unwritten():
    with noticed(), zyg.config(fallback="error"):
        yield


def zeroed(program):
    """How many buffers of a program are zero at first: as it is, and as it is printed."""
    bodies = program.body, first_writes.without_zeros(as_run(program))[0]
    return [sum(isinstance(op, Alloc) and op.zeroed for op in operations(x)) for x in bodies]


def rows_added(n, m, k):
    y = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            y[i, j] += i + k
    return y


def columns_added(n, m, k):
    y = np.zeros((m, n))
    for i in range(n):
        for j in range(m):
            y[j, i] -= i + k
    return y


def backwards(n, m, k):
    y = np.zeros((n, m))
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            y[i, j] += i + k
            y[i, j] += j
    return y


def from_one(n, m, k):
    y = np.zeros((n, m))
    for i in range(1, n + 1):
        for j in range(m):
            y[i - 1, j] += i + k
    return y


def all_but_one(n, m, k):
    y = np.zeros((n, m))
    for i in range(1, n):
        for j in range(m):
            y[i, j] += i + k
    return y


def in_part(n, m, k):
    y = np.zeros((n, m))
    for i in range(n):
        for j in range(m - 1):
            y[i, j] += i + k
    return y


def twice_the_first(n, m, k):
    y = np.zeros((n, m))
    for _ in range(n):
        for j in range(m):
            y[j] += k
    return y


def triangle(n, m, k):
    y = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            y[i, j] += k
    return y


def in_some_rounds(n, m, k):
    y = np.zeros(n)
    for i in range(n):
        if i % 2:
            y[i] += k
    return y


def at_two_places(n, m, k):
    y = np.zeros(n)
    for i in range(n):
        y[i] += k
        y[0] += 1.0
    return y


def read_beside(n, m, k):
    y = np.zeros(n)
    for i in range(n):
        y[i] += k + y[0]
    return y


def sizes_below_zero(n, m, k):
    y = np.zeros((n - 5) * (m - 6))
    for i in range(n - 5):
        for j in range(m - 6):
            y[i * (m - 6) + j] += k
    return y


NESTS = {rows_added, columns_added, backwards, from_one}
OTHERS = {all_but_one, in_part, twice_the_first, triangle, in_some_rounds, at_two_places,
          read_beside, sizes_below_zero}  # fmt: skip


@pytest.mark.parametrize("f", sorted(NESTS | OTHERS, key=lambda f: f.__name__))
@pytest.mark.parametrize(("n", "m"), [(3, 4), (1, 1), (0, 3), (2, 0), (7, 2), (-2, 3), (4, -1)])
def test_the_numbers_are_the_same(f, n, m):
    try:
        right = f(n, m, 1.5)
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            zyg.compile(f)(n, m, 1.5)
    else:
        np.testing.assert_array_equal(zyg.compile(f)(n, m, 1.5), right)


@pytest.mark.parametrize("f", sorted(NESTS | OTHERS, key=lambda f: f.__name__))
def test_a_nest_that_takes_every_place_once_needs_no_zeros(f):
    made, after = zeroed(read(f, 3, 4, 1.5).program)
    assert (made, after) == (1, f in OTHERS)


def products(a, b, v):
    return np.sum(np.sin(a @ b)) + np.sum((a @ v) ** 2) + (b.T @ a.T)[0, 0]


@pytest.mark.parametrize("sizes", [(2, 3, 4), (9, 8, 7), (1, 9, 9), (9, 9, 1), (9, 1, 9)])
def test_products_are_all_of_their_results(sizes):
    n, k, m = sizes
    rng = np.random.default_rng(n)
    args = rng.normal(size=(n, k)), rng.normal(size=(k, m)), rng.normal(size=k)
    f = zyg.compile(products)
    np.testing.assert_allclose(f(*args), products(*args), rtol=1e-13)
    for x, y in zip(zyg.gradient(f, *args), zyg.gradient(products, *args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def squares(a):
    c = np.ones((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        c[i, i] = i
    return np.sum(np.sin(a @ a.T) * c) + np.sum(a.T @ a) ** 2


@pytest.mark.parametrize("shape", [(2, 3), (9, 20), (20, 9), (40, 40), (1, 60), (60, 1), (0, 9)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_of_a_matrix_and_its_transpose(shape, order):
    a = np.asarray(np.random.default_rng(3).normal(size=shape), order=order)
    f = zyg.compile(squares)
    np.testing.assert_allclose(f(a), squares(a), rtol=1e-13)
    np.testing.assert_allclose(zyg.gradient(f, a), zyg.gradient(squares, a), rtol=1e-11)
    product = zyg.compile(lambda a: a @ a.T)
    if a.shape[0] > 1 < a.shape[1] and a.size > 6:
        np.testing.assert_array_equal(product(a), a @ a.T)
    if 0 < a.size < 9:
        zyg.check_gradient(f, a)


def test_what_is_read_again_before_it_is_written_is_zero():
    def read_twice(w):
        z = np.zeros(len(w))
        for i in range(len(w)):
            z[i] += z[i] * w[i]
        return z

    with np.errstate(all="raise"):
        np.testing.assert_array_equal(zyg.compile(read_twice)(np.ones(40)), np.zeros(40))


def test_a_product_along_an_axis_without_elements_is_zero():
    f = zyg.compile(lambda a, b: a @ b)
    assert np.array_equal(f(np.ones((40, 0)), np.ones((0, 40))), np.zeros((40, 40)))
    assert np.array_equal(f(np.ones((40, 0)), np.ones(0)), np.zeros(40))


def scaled(x, a):
    return x * a


RESULTS = [
    np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0), np.zeros((0, 3)), np.ones((1, 3)),
    np.arange(6, dtype=np.float32), np.arange(6), np.arange(4) * 1j, np.float64(3.0) * np.ones(()),
]  # fmt: skip


@pytest.mark.parametrize("x", RESULTS)
def test_results_have_memory_of_their_own_and_lie_as_numpys(x):
    f = zyg.compile(scaled)
    for _ in range(2):
        y, right = f(x, x), scaled(x, x)
        assert (y.dtype, y.shape) == (right.dtype, right.shape)
        np.testing.assert_array_equal(y, right)
        assert not np.shares_memory(x, y)
        if isinstance(y, np.ndarray):
            assert y.flags.owndata
            assert y.flags.writeable
            assert y.strides == right.strides or y.size <= 1 or 1 in y.shape


def test_results_that_are_one_array_or_part_of_one():
    def twice(x):
        y = x * 2.0
        return y, y, y[1:], y[::-1]

    x = np.arange(4.0)
    for y, right in zip(zyg.compile(twice)(x), twice(x), strict=True):
        np.testing.assert_array_equal(y, right)


def test_a_result_that_the_program_makes_in_another_size():
    def one_of(x, yes):
        y = x * 2.0
        z = np.zeros(len(x))
        return z if yes else y[: len(x)]

    x = np.arange(4.0)
    for yes in (True, False):
        np.testing.assert_array_equal(zyg.compile(one_of)(x, yes), one_of(x, yes))


def test_a_call_that_stops_drops_the_results_that_were_made_before():
    @zyg.compile
    def f(x, k):
        return x * x[k]

    x = np.ones(1 << 16)
    f(x, 0)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            with pytest.raises(IndexError):
                f(x, len(x))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < x.nbytes
