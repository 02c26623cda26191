"""Kernels in numba's simulator, against NumPy and the CPU; `test_simulator` runs this file."""

import itertools
import math

import numpy as np
import pytest
from numba import config, cuda

import zyg
import zyg_cuda
from zyg import errors
from zyg.kernels import launch as host
from zyg.kernels.dtypes import dtypes_of
from zyg.kernels.plans import Output

from .programs import CELL, PARTIALS, VALUES, cell, kernel_of, root

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # threads have NumPy's defaults


def on_device(x):
    return cuda.to_device(x) if isinstance(x, np.ndarray) else x


def run(kernel, *operands, shapes=None, out=None):
    made = zyg_cuda.run(kernel, [*map(on_device, operands)], shapes, out)
    assert all(zyg_cuda.is_device_array(y) for y in made)
    return [y.copy_to_host() for y in made]


def agrees_with_the_host(kernel, *operands, shapes=None, tolerance=1e-12):
    found = run(kernel, *operands, shapes=shapes)
    dtype, dtypes = dtypes_of(kernel, operands)
    outputs = [Output(d, s) for d, s in zip(dtypes, shapes or [None] * len(dtypes), strict=True)]
    on_host = host.run(kernel.program, operands, outputs, dtype=dtype, backend="python")
    for y, right in zip(found, on_host, strict=True):
        assert (y.shape, y.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(y, right, tolerance, tolerance)


def values(*shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_this_is_the_simulator():
    assert config.ENABLE_CUDASIM


@pytest.mark.parametrize("z", VALUES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_the_cell_and_its_partial_derivatives(z, dtype, tolerance):
    both, _ = cell().partials((0, 1, 2, 3))
    operands = [np.full(3, x, dtype) for x in (*CELL, *z)]
    found = run(both, *operands)

    assert all(y.dtype == dtype for y in found)
    for y, right in zip(found, (VALUES[z], *PARTIALS[z]), strict=True):
        np.testing.assert_allclose(y, right, tolerance, tolerance)


@pytest.mark.parametrize(("dtype", "kind"), [(np.int64, "int"), (np.bool_, "bool"),
                                             (np.float32, "float"), (np.int8, "int")])  # fmt: skip
def test_controls_of_any_type(dtype, kind):
    both, _ = cell(kind).partials((0, 1, 2, 3))
    z = np.array([[1, 0, 0], [1, 0, 1]]).astype(dtype)
    agrees_with_the_host(both, *values(4, 2, 3), *z)


SHAPES = [
    ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((2, 1), (1, 3)), ((2, 3, 4), (3, 1)),
    ((2, 3, 4), (2, 1, 4)), ((2, 40), (2, 1)), ((40, 2), (2,)), ((37,), (1,)), ((3, 40), (1, 40)),
    ((2, 3, 35), (3, 1)), ((2, 2, 3, 3), (2, 1, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("x", "w"), SHAPES)
def test_products_and_their_sums(x, w):
    back, _ = kernel_of(lambda x, w: x * w * w, "float", "float").pullback((0, 1))
    y_bar = values(*np.broadcast_shapes(x, w), seed=1)
    agrees_with_the_host(back, y_bar, values(*x), values(*w, seed=2), shapes=[x, w])


def test_sums_by_hand():
    back, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((0, 1))
    x, ones = np.arange(1.0, 7.0).reshape(2, 3), np.ones((2, 3))

    for w, right in ((np.ones(3), [5, 7, 9]), (np.ones((2, 1)), [[6], [15]]), (1.0, 21)):
        np.testing.assert_array_equal(
            run(back, ones, x, w, shapes=[x.shape, np.shape(w)])[1], right
        )


def test_sums_of_different_patterns_at_once():
    product = kernel_of(lambda a, b, c, d: a * b * c * d, "float", "float", "float", "float")
    back, _ = product.pullback((0, 1, 2, 3))
    operands = [values(4, 5), values(5, seed=1), values(4, 1, seed=2), values(seed=3)]
    shapes = [x.shape for x in operands]
    agrees_with_the_host(back, values(4, 5, seed=4), *operands, shapes=shapes)


def test_a_sum_in_float32_is_taken_in_float64():
    total, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((1,))
    x = np.full(50, 0.1, np.float32)
    x[0] = 2.0**24
    found = run(total, np.ones(50, np.float32), x, np.ones(1, np.float32), shapes=[(1,)])[0]

    assert found.dtype == np.float32
    assert found == np.float32(x.astype(np.float64).sum())


def test_a_sum_of_ints():
    double = kernel_of(lambda k: k + k, "int")
    k = np.arange(30, dtype=np.int32).reshape(5, 6)
    found = run(double, k, shapes=[(6,)])[0]

    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, 2 * k.sum(0))


def test_sums_are_the_same_in_every_run():
    back, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((1,))
    operands = [values(60), values(60, seed=1), np.ones(1)]
    first, second = (run(back, *operands, shapes=[(1,)])[0] for _ in range(2))

    assert first.tobytes() == second.tobytes()


def test_a_loop_that_depends_on_the_data():
    both, _ = kernel_of(root, "float", "float").partials((0, 1))
    y, y_a, y_x = run(both, np.array([2.0, 2.0]), 1.5)

    np.testing.assert_allclose(y, 1.2599210498948732, 1e-12)
    np.testing.assert_allclose(y_a, 0.20998684164914552, 1e-9)
    assert np.all(abs(y_x) < 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loop_over_ints(dtype):
    def f(x):
        s = 0.0
        for k in range(1, 4):
            s += x**k / k
        return s

    y, y_x = run(kernel_of(f, "float").partials((0,))[0], np.full(2, 0.5, dtype))

    assert y.dtype == y_x.dtype == dtype
    np.testing.assert_allclose([y[0], y_x[0]], [0.6666666666666666, 1.75], 2e-7)


def test_only_the_branch_taken_is_evaluated():
    f = kernel_of(lambda x: math.sqrt(x) if x > 0 else 0.0, "float")
    y, y_x = run(f.partials((0,))[0], np.array([-1.0, 0.0, 4.0]))

    np.testing.assert_array_equal([y, y_x], [[0, 0, 2], [0, 0, 0.25]])


def test_two_results():
    f = kernel_of(lambda r, t: (r * math.cos(t), r * math.sin(t)), "float", "float")
    r, t, ones = np.full(2, 2.0), np.full(2, 0.5), np.ones(2)

    np.testing.assert_allclose(
        np.array(run(f, r, t))[:, 0], [1.7551651237807455, 0.958851077208406]
    )
    back, _ = f.pullback((0, 1))
    right = [1.3570081004945758, 0.7963140465723395]
    np.testing.assert_allclose(np.array(run(back, ones, ones, r, t))[:, 0], right)


LAYOUTS = {
    "every second": lambda x: x[:, ::2, ::2],
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1, :, ::-1],
    "rows backwards": lambda x: x[:, ::-1],
}


@pytest.mark.parametrize("layouts", [*itertools.product(LAYOUTS, repeat=2)], ids="-".join)
def test_operands_in_any_layout(layouts):
    hosts = [values(2, 12, 12, seed=k) for k in range(2)]
    views = [LAYOUTS[name](x)[:2, :2, :2] for name, x in zip(layouts, hosts, strict=True)]
    devices = [LAYOUTS[name](cuda.to_device(x))[:2, :2, :2]
               for name, x in zip(layouts, hosts, strict=True)]  # fmt: skip
    f = kernel_of(lambda x, y: x - 2 * y, "float", "float")
    (y,) = zyg_cuda.run(f, devices)

    np.testing.assert_array_equal(y.copy_to_host(), views[0] - 2 * views[1])


def test_the_result_of_fortran_operands_is_laid_out_as_they_are():
    x = np.asfortranarray(values(3, 4))
    (y,) = zyg_cuda.run(kernel_of(lambda x: 2 * x, "float"), [cuda.to_device(x)])

    assert y.strides == x.strides
    np.testing.assert_array_equal(y.copy_to_host(), 2 * x)


def test_a_sum_of_a_transposed_operand():
    back, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((0, 1))
    x, w, y_bar = values(5, 4).T, values(5, seed=1), values(4, 5, seed=2)
    device = cuda.to_device(x.T.copy()).T
    made = zyg_cuda.run(back, [on_device(y_bar), device, on_device(w)], [(4, 5), (5,)])

    np.testing.assert_allclose(made[0].copy_to_host(), y_bar * w)
    np.testing.assert_allclose(made[1].copy_to_host(), (y_bar * x).sum(0))


def test_empty_arrays_launch_nothing():
    back, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((0, 1))
    x, w = np.zeros((0, 3)), np.ones(3)
    x_bar, w_bar = run(back, x, x, w, shapes=[(0, 3), (3,)])

    assert x_bar.shape == (0, 3)
    np.testing.assert_array_equal(w_bar, [0, 0, 0])


def test_numbers_and_arrays_without_axes():
    f = kernel_of(lambda x, a, k, b: x + a * k if b else x, "float", "float", "int", "bool")
    (y,) = run(f, np.array(2.0), 0.5, 3, np.True_)

    assert y.shape == ()
    assert y == 3.5


def test_half_precision_is_computed_in_single():
    both, _ = kernel_of(lambda x: math.exp(x) - 1, "float").partials((0,))
    x = np.array([0.001, 1, 9, 12], np.float16)
    y, y_x = run(both, x)

    assert y.dtype == y_x.dtype == np.float16
    with np.errstate(over="ignore"):
        right = np.exp(x.astype(np.float32))
        np.testing.assert_array_equal(y, (right - 1).astype(np.float16))
        np.testing.assert_array_equal(y_x, right.astype(np.float16))


@pytest.mark.parametrize("n", [8, 12, 9, 10, 33])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_neighbours_that_are_loaded_at_once(n, dtype):
    f = kernel_of(lambda x, w, k: x * w + k, "float", "float", "int")
    x, w, k = values(3, n, dtype=dtype), values(n, dtype=dtype), np.arange(3 * n).reshape(3, n)
    right = x.astype(np.float64) * w + k
    np.testing.assert_allclose(
        run(f, x, w, k)[0], right, rtol=2e-3 if dtype == np.float16 else 1e-5
    )


def test_an_array_to_write_into():
    f = kernel_of(lambda x: x + 1, "float")
    x = on_device(values(3, 4))
    right = x.copy_to_host() + 1
    other = cuda.to_device(np.zeros((3, 8)))

    assert zyg_cuda.run(f, [x], out=x)[0] is x
    np.testing.assert_array_equal(x.copy_to_host(), right)
    zyg_cuda.run(f, [x], out=other[:, ::2])
    np.testing.assert_array_equal(other.copy_to_host()[:, ::2], right + 1)
    assert not other.copy_to_host()[:, 1::2].any()


def test_what_cannot_be_written_into():
    f = kernel_of(lambda x: x + 1, "float")
    x = on_device(values(4, 4))
    for out, says in (
        (x.T, "overlaps an operand"),
        (x[::-1], "overlaps an operand"),
        (on_device(np.zeros((4, 4), np.int64)), "is of int64"),
        (np.zeros((4, 4)), "in the memory of the host"),
        (on_device(np.zeros((2, 4, 4))), r"has shape \(2, 4, 4\), the result \(4, 4\)"),
    ):
        with pytest.raises(errors.ZygError, match=says):
            zyg_cuda.run(f, [x], out=out)


def test_shapes_that_do_not_broadcast():
    f = kernel_of(lambda x, y: x + y, "float", "float")
    with pytest.raises(errors.ShapeError, match=r"\(2, 3\), \(4,\)"):
        run(f, np.ones((2, 3)), np.ones(4))


def test_operands_that_do_not_go_together():
    f = kernel_of(lambda x, y: x + y, "float", "float")
    x = on_device(np.ones(3))
    for other, says in (
        (np.ones(3), "in the memory of the host"),
        (on_device(np.ones(3, complex)), "complex128 cannot be used"),
        (on_device(np.ones(3, np.uint64)), "uint64 cannot be used"),
        (on_device(np.zeros(7, np.int8))[1:].view(np.float16), "not aligned"),
    ):
        with pytest.raises(zyg_cuda.DeviceArrayError, match=says):
            zyg_cuda.run(f, [x, other])
    with pytest.raises(zyg_cuda.DeviceArrayError, match="no operand is a device array"):
        zyg_cuda.run(f, [1.0, 2.0])


def test_functions_with_rules_of_their_own():
    def soft(x):
        return math.log1p(math.exp(-abs(x))) + max(x, 0.0)

    smooth = zyg.scalar_rule(soft, lambda x, y: 1 / (1 + np.exp(-x)))
    both, _ = kernel_of(lambda x: 2 * smooth(x), "float").partials((0,))
    agrees_with_the_host(both, values(5))


def wave(x, w):
    return math.sin(w * x) if x > 0 else x * w


def test_the_public_functions_take_device_arrays():
    x, w, y_bar = values(3, 4), values(4, seed=1), values(3, 4, seed=2)
    devices = [cuda.to_device(x), cuda.to_device(w)]
    right, (right_x, right_w) = zyg.partials(wave, x, w)

    y, (dy_dx, dy_dw) = zyg.partials(wave, *devices)
    _, bars = zyg.elementwise(wave).one_pass(cuda.to_device(y_bar), *devices)
    out = cuda.to_device(np.zeros((3, 4)))
    zyg.broadcast(wave, *devices, out=out)

    for found, expected in (
        (zyg.broadcast(wave, *devices), right),
        (out, right),
        (y, right),
        (dy_dx, right_x),
        (dy_dw, right_w),
        (bars[0], y_bar * right_x),
        (bars[1], np.sum(y_bar * right_w, axis=0)),
    ):
        np.testing.assert_allclose(found.copy_to_host(), expected, 1e-12, 1e-14)


def test_a_device_array_is_not_computed_with_element_by_element():
    with zyg.config(fallback="silent"), pytest.raises(errors.KernelError, match="a yield"):
        zyg.broadcast(lambda x: (yield x), cuda.to_device(np.ones(3)))
