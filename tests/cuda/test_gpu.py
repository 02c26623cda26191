"""Kernels on a GPU: values, libraries, streams. Skipped, with the reason, where there is none."""

import itertools
import math

import numpy as np
import pytest

import zyg_cuda
from zyg.kernels import launch as host
from zyg.kernels.dtypes import dtypes_of
from zyg.kernels.plans import Output

from .programs import CELL, PARTIALS, VALUES, cell, kernel_of, product_of, root

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]


def on_host(kernel, operands, shapes=None):
    dtype, dtypes = dtypes_of(kernel, operands)
    outputs = [Output(d, s) for d, s in zip(dtypes, shapes or [None] * len(dtypes), strict=True)]
    return host.run(kernel.program, operands, outputs, dtype=dtype, backend="python")


def agrees_with_the_host(kernel, *operands, shapes=None, tolerance=1e-12):
    from numba import cuda

    devices = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in operands]
    made = zyg_cuda.run(kernel, devices, shapes)
    for y, right in zip(made, on_host(kernel, operands, shapes), strict=True):
        assert (y.shape, y.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(y.copy_to_host(), right, tolerance, tolerance)


def values(*shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("z", VALUES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_the_cell_and_its_partial_derivatives(z, dtype, tolerance):
    from numba import cuda

    both, _ = cell().partials((0, 1, 2, 3))
    made = zyg_cuda.run(both, [cuda.to_device(np.full(1000, x, dtype)) for x in (*CELL, *z)])
    for y, right in zip(made, (VALUES[z], *PARTIALS[z]), strict=True):
        np.testing.assert_allclose(y.copy_to_host(), right, tolerance, tolerance)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [31, 64])
def test_every_width_of_access(dtype, n):
    f = kernel_of(lambda x, w, k: x * w + k, "float", "float", "int")
    k = np.arange(n * n).reshape(n, n) % 50
    tolerance = {np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-14}[dtype]
    agrees_with_the_host(
        f, values(n, n, dtype=dtype), values(n, dtype=dtype), k, tolerance=tolerance
    )


SHAPES = [
    ((60, 200), (200,)), ((60, 200), (60, 1)), ((60, 200), (1,)), ((5000, 3), (3,)),
    ((5000, 3), (5000, 1)), ((3, 5000), (3, 1)), ((20, 30, 40), (30, 1)), ((4, 5, 6, 7), (5, 1, 7)),
]  # fmt: skip


@pytest.mark.parametrize(("x", "w"), SHAPES)
def test_products_and_their_sums(x, w):
    back, _ = kernel_of(lambda x, w: x * w * w, "float", "float").pullback((0, 1))
    operands = [values(*x, seed=1), values(*x), values(*w, seed=2)]
    agrees_with_the_host(back, *operands, shapes=[x, w], tolerance=1e-11)


def test_sums_are_the_same_in_every_run():
    from numba import cuda

    back, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((1,))
    x = cuda.to_device(values(10**6, dtype=np.float32))
    w = cuda.to_device(np.ones(1, np.float32))
    found = [zyg_cuda.run(back, [x, x, w], [(1,)])[0].copy_to_host() for _ in range(5)]

    assert len({y.tobytes() for y in found}) == 1


def test_loops_functions_and_branches():
    agrees_with_the_host(kernel_of(root, "float", "float").partials((0, 1))[0],
                         abs(values(300)) + 1, 1.5, tolerance=1e-9)  # fmt: skip
    agrees_with_the_host(product_of(12).partials(tuple(range(12)))[0], *values(12, 300))
    f = kernel_of(lambda x: math.sqrt(x) if x > 0 else math.erf(x) + math.lgamma(-x), "float")
    agrees_with_the_host(f.partials((0,))[0], values(300))


NAMES = ["cupy", "torch"]


def library(name):
    found = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "torch" and not found.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return found


def arrays(name, *hosts):
    module = library(name)
    if name == "cupy":
        return [module.asarray(x) for x in hosts]
    return [module.as_tensor(x, device="cuda") for x in hosts]


def to_host(y):
    return y.get() if hasattr(y, "get") else y.cpu().numpy()


@pytest.mark.parametrize("name", NAMES)
def test_results_are_of_the_library_of_the_operands(name):
    x, w = values(30, 40), values(40, seed=1)
    devices = arrays(name, x, w)
    back, _ = kernel_of(lambda x, w: x * w, "float", "float").pullback((0, 1))
    made = zyg_cuda.run(back, [devices[0], *devices], [x.shape, w.shape])

    assert [type(y) for y in made] == [type(devices[0])] * 2
    for y, right in zip(made, on_host(back, [x, x, w], [x.shape, w.shape]), strict=True):
        assert tuple(y.shape) == right.shape
        np.testing.assert_allclose(to_host(y), right, 1e-12, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_of_a_library(name):
    x = values(6, 8, 10)
    (device,) = arrays(name, x)
    f = kernel_of(lambda x, y: x - 2 * y, "float", "float")
    for axes in itertools.permutations(range(3)):
        turned = device.permute(axes) if name == "torch" else device.transpose(axes)
        (y,) = zyg_cuda.run(f, [turned[::2], turned[::2]])
        np.testing.assert_allclose(to_host(y), -x.transpose(axes)[::2])


def test_a_tensor_that_requires_its_gradient_is_taken_as_a_constant():
    (x,) = arrays("torch", values(10))
    (y,) = zyg_cuda.run(kernel_of(lambda x: 2 * x, "float"), [x.requires_grad_()])

    assert not y.requires_grad
    np.testing.assert_allclose(to_host(y), 2 * values(10))


def test_an_operand_that_is_made_on_another_stream_is_waited_for():
    cupy = library("cupy")
    f = kernel_of(lambda x, y: x + y, "float", "float")
    for _ in range(20):
        one, other = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
        with one:
            x = cupy.zeros(10**7)
            for _ in range(10):
                x += 1  # still running when the kernel is launched
        with other:
            seen = x.__cuda_array_interface__ | {"stream": one.ptr}
            exported = type("Exported", (), {"__cuda_array_interface__": seen})()
            exported.owner = x
            (y,) = zyg_cuda.run(f, [cupy.zeros(10**7), exported])
            assert float(y.min()) == float(y.max()) == 10


def test_the_current_stream_of_torch_is_used():
    torch = library("torch")
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(10**7, device="cuda")
        for _ in range(10):
            x += 1
        (y,) = zyg_cuda.run(kernel_of(lambda x: 2 * x, "float"), [x])
        assert bool((y == 20).all())
