"""Grids, lanes, slots and the text of kernels, for arrays that are nowhere."""

import math

import numpy as np
import pytest

from zyg_cuda.text import MOST_THREADS, THREADS

from .programs import array, cell, kernel_of, launches, product_of


def product(x, w):
    return x * w


PRODUCT = kernel_of(product, "float", "float")
BACK, _ = PRODUCT.pullback((0, 1))


def test_operands_of_one_layout_are_one_loop():
    (launch,) = launches(PRODUCT, [array((64, 32, 8)), array((64, 32, 8))])

    assert launch.numbers == [64 * 32 * 8]
    assert "while j0 < n0" in launch.text
    assert "n1" not in launch.text


def test_a_row_that_is_broadcast_is_loaded_before_the_loop_over_rows():
    (launch,) = launches(PRODUCT, [array((100, 64)), array((64,))])
    text = launch.text.partition("def kernel")[2]

    parts = ["while j1 <", "load_float32_4(a1, ", "while j0 <", "load_float32_4(a0, "]
    order = [text.index(part) for part in parts]
    assert order == sorted(order)
    assert not {"//", "%"} & set(text.split())


@pytest.mark.parametrize(
    ("x", "w", "dtype", "lanes"),
    [
        ((100, 64), (64,), np.float32, 4),
        ((100, 64), (100, 1), np.float32, 4),
        ((100, 64), (64,), np.float64, 2),
        ((100, 63), (63,), np.float32, 1),
        ((100, 62), (62,), np.float64, 2),
    ],
)
def test_as_many_neighbours_as_one_access_holds(x, w, dtype, lanes):
    (launch,) = launches(PRODUCT, [array(x, dtype), array(w, dtype)], dtype=dtype)
    assert f'load_of("{np.dtype(dtype)}", {lanes})' in launch.text


@pytest.mark.parametrize(
    "other",
    [
        array((64, 64), address=260),
        array((64, 64), strides=(260, 4)),
        array((64, 64), strides=(4, 256)),
    ],
    ids=["address", "rows", "transposed"],
)
def test_one_at_a_time_where_accesses_would_not_be_aligned(other):
    (launch,) = launches(PRODUCT, [array((64, 64)), other])
    assert "_4" not in launch.text


@pytest.mark.parametrize(("n", "lanes"), [(4, 4), (8, 2), (20, 2)])
def test_fewer_at_once_where_lanes_would_take_many_registers(n, lanes):
    partials, _ = product_of(n).partials(tuple(range(n)))
    (launch,) = launches(partials, [array((64, 64))] * n)
    assert f'load_of("float32", {lanes})' in launch.text


def test_indices_have_64_bits_where_32_do_not_reach():
    for n, index in ((2**15, "int32"), (2**17, "int64")):
        (launch,) = launches(PRODUCT, [array((2, n)), array((2, n), strides=(4 * n * 2**14, 4))])
        assert f"{index} as I" in launch.text


SUMS = [
    ((1024, 2048), (2048,)), ((1024, 2048), (1024, 1)), ((1024, 2048), (1,)), ((10**6, 3), (3,)),
    ((10**6, 3), (10**6, 1)), ((3, 10**6), (3, 1)), ((3, 10**6), (10**6,)),
    ((64, 32, 128), (32, 1)), ((5, 4, 3, 2), (4, 1, 2)), ((10**9,), (1,)), ((7,), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("x", "w"), SUMS)
def test_sums_take_little_memory_and_fill_the_device(x, w):
    (launch, *_) = launches(BACK, [array(x), array(x), array(w)], [x, w])
    blocks, threads = math.prod(launch.grid), math.prod(launch.block)

    assert threads <= THREADS
    assert blocks <= 132 * 16
    for second in launch.seconds:
        slots, elements = second.slots.shape
        assert elements == math.prod(w)
        assert slots * elements * 16 <= math.prod(x)
        assert math.prod(second.block) <= MOST_THREADS
        assert second.grid[0] * second.block[0] >= elements
    if math.prod(x) >= 2**20:
        assert blocks * threads >= 2**13


@pytest.mark.parametrize("shape", [(2**31,), (2**16, 2**16), (1, 1), (3, 5, 7, 11), (10**7, 2)])
def test_grids_stay_within_the_limits_of_devices(shape):
    (launch,) = launches(PRODUCT, [array(shape), array((1,) * len(shape))])

    assert all(n <= limit for n, limit in zip(launch.grid, (2**31 - 1, 65535, 65535), strict=True))
    assert math.prod(launch.block) <= THREADS


def test_sums_of_different_patterns_are_launches_of_their_own():
    x, w, v = (64, 32), (32,), (64, 1)
    back, _ = kernel_of(lambda x, w, v: x * w * v, "float", "float", "float").pullback((0, 1, 2))
    found = launches(back, [array(x), array(x), array(w), array(v)], [x, w, v])

    assert [launch.results for launch in found] == [[0, 1], [2]]


def test_float32_stays_float32():
    both, _ = cell().partials((0, 1, 2, 3))
    (launch,) = launches(both, [array((64, 64))] * 4 + [array((64,))] * 2)
    head, _, body = launch.text.partition("def kernel")

    assert "float32 as T" in head
    assert "float64" not in body


def test_nothing_is_launched_for_empty_arrays():
    assert launches(PRODUCT, [array((0, 3)), array((3,))]) == []
