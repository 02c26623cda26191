"""The HM-LSTM update on a GPU, by zyg and by others, each on its own kind of arrays.

A contestant is made of inputs on the host and returns calls, by what they compute: "forward" is the
value and four partial derivatives, "products" their multiplication by a cotangent, "pullback" the
four cotangents from the operands, "one pass" the value and the cotangents. A contestant that cannot
run here raises; what it says is the reason that is shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cell import update, update_arrays

Calls = dict[str, Callable[[], Any]]
WORDS = {"value": 5, "forward": 9, "products": 9, "pullback": 9, "one pass": 10}  # per element
ACTIVE = (0, 1, 2, 3)


def kernel_of(f: Any, arity: int) -> Any:
    from zyg.kernels.scalar import read_for

    return read_for(f, ("float",) * arity, None, lambda numbers: numbers, lambda x: x).kernel


def library() -> tuple[str, Callable[[np.ndarray], Any], Callable[[Any], np.ndarray]]:
    """A library that keeps freed memory: its name, to the device, to the host.

    numba asks the driver for every array, which waits for the device; it is the last choice.
    """
    try:
        cupy = importlib.import_module("cupy")
        cupy.zeros(1)
        return "cupy", cupy.asarray, cupy.asnumpy
    except Exception:
        pass
    try:
        torch = importlib.import_module("torch")
        if torch.cuda.is_available():
            return "torch", lambda x: torch.as_tensor(x, device="cuda"), lambda y: y.cpu().numpy()
    except ImportError:
        pass
    from numba import cuda

    return "numba", cuda.to_device, lambda y: y.copy_to_host()


def zyg(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    import zyg_cuda

    _, put, _ = library()
    kernel, operands, bar = kernel_of(update, 6), [put(x) for x in inputs], put(y_bar)
    forward, masks = kernel.partials(ACTIVE)
    products, _ = kernel.products(masks)
    pullback, _ = kernel.pullback(ACTIVE)
    once, _ = kernel.pullback(ACTIVE, values=True)
    slopes = zyg_cuda.run(forward, operands)[1:]
    return {
        "value": lambda: zyg_cuda.run(kernel, operands),
        "forward": lambda: zyg_cuda.run(forward, operands),
        "products": lambda: zyg_cuda.run(products, [bar, *slopes]),
        "pullback": lambda: zyg_cuda.run(pullback, [bar, *operands]),
        "one pass": lambda: zyg_cuda.run(once, [bar, *operands]),
    }


def numba_by_hand(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    from numba import cuda

    from benchmarks.gpu_kernels_by_hand import update_by_hand

    operands = [cuda.to_device(x) for x in inputs]
    bar = cuda.to_device(y_bar)
    made = [cuda.device_array(y_bar.shape, np.float32) for _ in range(5)]
    n, m = y_bar.shape
    width = min(256, m)
    grid = (-(-m // width), min(n, 2048)), (width, 1)

    def launched(scaled: bool) -> Callable[[], Any]:
        def call() -> Any:
            update_by_hand[grid](*operands, bar, scaled, *made)
            return made

        return call

    return {"forward": launched(False), "one pass": launched(True)}


def cuda_by_hand(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    from benchmarks.gpu_kernels_by_hand import CUDA

    cupy = importlib.import_module("cupy")
    kernel = cupy.RawKernel(CUDA, "update")
    operands = [cupy.asarray(x) for x in (*inputs, y_bar)]
    made = [cupy.empty_like(operands[0]) for _ in range(5)]
    n, m = y_bar.shape[0], y_bar.shape[1] // 4
    width = min(256, m)
    grid, block = (-(-m // width), min(n, 4096)), (width, 1)

    def launched(scaled: int) -> Callable[[], Any]:
        def call() -> Any:
            kernel(grid, block, (*operands, *made, np.int32(n), np.int32(m), np.int32(scaled)))
            return made

        return call

    return {"forward": launched(0), "one pass": launched(1)}


def cupy_unfused(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    cupy = importlib.import_module("cupy")
    operands = [cupy.asarray(x) for x in inputs]

    def forward() -> Any:
        c, f, i, g, z1, z2 = operands
        s_f, s_i, t = 1 / (1 + cupy.exp(-f)), 1 / (1 + cupy.exp(-i)), cupy.tanh(g)
        flush, copy = z1 == 1, (z1 != 1) & (z2 == 0)
        fresh = s_i * t
        return [
            cupy.where(flush, fresh, cupy.where(copy, c, s_f * c + fresh)),
            cupy.where(flush, 0, cupy.where(copy, 1, s_f)),
            cupy.where(flush | copy, 0, c * s_f * (1 - s_f)),
            cupy.where(copy, 0, fresh * (1 - s_i)),
            cupy.where(copy, 0, s_i * (1 - t * t)),
        ]

    return {"forward": forward}


def _torch_calls(inputs: list[np.ndarray], y_bar: np.ndarray, wrap: Any) -> Calls:
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise RuntimeError("this torch has no CUDA")
    operands = [torch.as_tensor(x, device="cuda") for x in inputs]
    wrt = [x.requires_grad_() for x in operands[:4]]
    bar = torch.as_tensor(y_bar, device="cuda")
    run = wrap(torch, lambda *xs: update_arrays(torch, *xs))

    def once() -> Any:
        y = run(*operands)
        return [y.detach(), *torch.autograd.grad(y, wrt, bar)]

    return {"one pass": once}


def torch_eager(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    return _torch_calls(inputs, y_bar, lambda torch, f: f)


def torch_compiled(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    mode = "max-autotune-no-cudagraphs"
    return _torch_calls(inputs, y_bar, lambda torch, f: torch.compile(f, mode=mode))


def jax_compiled(inputs: list[np.ndarray], y_bar: np.ndarray) -> Calls:
    jax = importlib.import_module("jax")
    if jax.default_backend() != "gpu":
        raise RuntimeError("this jax has no CUDA")
    operands = [jax.device_put(x) for x in inputs]
    bar = jax.device_put(y_bar)

    @jax.jit
    def once(bar, c, f, i, g, z1, z2):
        y, back = jax.vjp(lambda *xs: update_arrays(jax.numpy, *xs, z1, z2), c, f, i, g)
        return [y, *back(bar)]

    return {"one pass": lambda: jax.block_until_ready(once(bar, *operands))}


CONTESTANTS = {
    "zyg": zyg,
    "numba by hand": numba_by_hand,
    "CUDA C++ by hand": cuda_by_hand,
    "CuPy unfused": cupy_unfused,
    "PyTorch eager": torch_eager,
    "torch.compile": torch_compiled,
    "JAX jit": jax_compiled,
}


def to_host(y: Any) -> np.ndarray:
    for way in ("copy_to_host", "get"):
        if hasattr(y, way):
            return np.asarray(getattr(y, way)())
    return np.asarray(y.cpu() if hasattr(y, "cpu") else y)


def reference(inputs: list[np.ndarray], y_bar: np.ndarray) -> dict[str, list[np.ndarray]]:
    """What each call must return, by NumPy in float64."""
    c, f, i, g, z1, z2 = (x.astype(np.float64) for x in inputs)
    s_f, s_i, t = 1 / (1 + np.exp(-f)), 1 / (1 + np.exp(-i)), np.tanh(g)
    flush, copy = np.broadcast_arrays(z1 == 1, (z1 != 1) & (z2 == 0), c)[:2]
    y = update_arrays(np, c, f, i, g, z1, z2)
    slopes = [
        np.where(flush, 0, np.where(copy, 1, s_f)),
        np.where(flush | copy, 0, c * s_f * (1 - s_f)),
        np.where(copy, 0, s_i * t * (1 - s_i)),
        np.where(copy, 0, s_i * (1 - t * t)),
    ]
    back = [y_bar * d for d in slopes]
    return {
        "value": [y], "forward": [y, *slopes], "products": back, "pullback": back,
        "one pass": [y, *back],
    }  # fmt: skip
