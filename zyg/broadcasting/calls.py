"""Calls of kernels: to the tracer one operation, with a pullback that is a kernel too.

The pullback goes by the partial derivatives, kept from the first pass, or by the operands once
more, whichever is expected to be faster. Where a derivative is itself differentiated, it is the
call of another kernel: of the scalar function (cotangents, operands) -> cotangents.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.config import setting
from zyg.base.registry import Adjoint
from zyg.broadcasting.fallback import broadcast_shape, warn
from zyg.compiler.back.compiled import CompilationError
from zyg.compiler.ir import type_of
from zyg.core.bind import bind
from zyg.core.cotangents import project, spec_of
from zyg.core.reverse import all_finite, plain_then_strong
from zyg.core.strand import innermost, is_watched, settle
from zyg.kernels.dtypes import dtypes_of
from zyg.kernels.launch import run
from zyg.kernels.plans import Output
from zyg.kernels.scalar import Kernel

_CORES = os.cpu_count() or 1
_OF_THE_HOST = (np.ndarray, np.generic, float, int)


class KernelCall:
    """What is known when a kernel is called on watched operands."""

    def __init__(self, kernel: Kernel, active: tuple[int, ...], mode: str) -> None:
        self.kernel, self.active, self.mode = kernel, active, mode


def apply(kernel: Kernel, operands: Sequence[Any], mode: str = "auto") -> tuple[Any, ...]:
    """The outputs of a kernel, watched if an operand is."""
    operands = [settle(x) for x in operands]
    strand = innermost(operands)
    if strand is None:
        return run_kernel(kernel, operands)
    level = strand.level
    active = tuple(k for k, x in enumerate(operands) if is_watched(x) and x.strand.level == level)
    made = bind(kernel_call, (KernelCall(kernel, active, mode), *operands))
    return made if type(made) is tuple else (made,)


def call_kernel(call: KernelCall, *operands: Any) -> Any:
    made = apply(call.kernel, operands)
    return made if len(made) > 1 else made[0]


def kernel_adjoint(call: KernelCall, *operands: Any) -> Any:
    kernel, active = call.kernel, call.active
    count = len(kernel.program.outputs)
    nested = any(map(is_watched, operands))
    slopes: tuple[Any, ...] = ()
    masks: list[list[int]] = []
    if not nested and mode_of(kernel, call.mode, operands, active) == "cache":
        both, masks = kernel.partials(active)
        made = run_kernel(both, operands)
        y, slopes = made[:count], made[count:]
    else:
        y = apply(kernel, operands, call.mode)

    def broadcast_pullback(y_bar: Any, strong: bool) -> Any:
        bars = [
            c
            for c, x in zip(y_bar if count > 1 else (y_bar,), kernel.program.outputs, strict=True)
            if type_of(x) != "bool"
        ]
        outer = nested or any(map(is_watched, bars))
        kept = slopes and not strong and not outer
        back, moving = kernel.products(masks) if kept else kernel.pullback(active, strong)
        given = [*bars, *(slopes if kept else operands)]
        found: Sequence[Any] = ()
        if outer and moving:
            specs = [spec_of(operands[k]) for k in moving]
            found = [project(c, s) for c, s in zip(apply(back, given), specs, strict=True)]
        elif moving:
            found = run_kernel(back, given, [np.shape(operands[k]) for k in moving])
        result: list[Any] = [None] * (len(operands) + 1)
        for k, c in zip(moving, found, strict=True):
            result[k + 1] = c
        return tuple(result)

    return (y if count > 1 else y[0]), broadcast_pullback


def kernel_pushforward(call: KernelCall, *operands: Any) -> Any:
    kernel, outputs = call.kernel, call.kernel.program.outputs
    y = apply(kernel, operands)

    def broadcast_pushforward(_: None, *tangents: Any) -> Any:
        moving = tuple(k for k, t in enumerate(tangents) if t is not None)
        along = [*(tangents[k] for k in moving), *operands]
        for strong in plain_then_strong():
            y_dot = apply(kernel.pushforward(moving, strong), along)[len(outputs) :]
            if all_finite(y_dot):
                break
        if len(outputs) == 1:
            return y_dot[0]
        return tuple(
            None if type_of(x) == "bool" else t for x, t in zip(outputs, y_dot, strict=True)
        )

    return (y if len(y) > 1 else y[0]), broadcast_pushforward


kernel_call = Adjoint(call_kernel, kernel_adjoint, strong=True)
kernel_call.pushforward(kernel_pushforward)


def mode_of(kernel: Kernel, mode: str, operands: Sequence[Any], active: Sequence[int]) -> str:
    """How the pullback of a kernel is computed: from a "cache" of partial derivatives, or not.

    A cheap kernel is fastest computed twice; and a large cache would be memory fresh from the
    system, which costs more than a kernel. On a GPU nobody looks whether a gradient is finite: all
    products keep exact zeros, which those of a cache do not.
    """
    if mode != "auto":
        return mode
    if setting("strong_zero") and not all(isinstance(x, _OF_THE_HOST) for x in operands):
        return "recompute"
    largest = max((x.nbytes for x in operands if isinstance(x, np.ndarray)), default=0)
    large = largest * len(active) > setting("pool_bytes")
    return "recompute" if kernel.cheap or large else "cache"


# Running it


def run_kernel(
    kernel: Kernel,
    operands: Sequence[Any],
    shapes: Sequence[Any] | None = None,
    out: np.ndarray | None = None,
) -> tuple[Any, ...]:
    """The outputs for plain operands, those with a shape summed to it; on the GPU if they are."""
    if not all(isinstance(x, _OF_THE_HOST) for x in operands):
        from zyg_cuda import run as run_on_gpu

        made: tuple[Any, ...] = run_on_gpu(kernel, operands, shapes, out)
        return made
    dtype, results = dtypes_of(kernel, operands)
    shapes = shapes or [None] * len(results)
    outputs = [Output(d, s, out) for d, s in zip(results, shapes, strict=True)]
    if out is not None and not np.can_cast(results[0], out.dtype, "same_kind"):
        raise TypeError(f"a result of {results[0]} cannot be written into an array of {out.dtype}")
    try:
        arrays = _launched(kernel, operands, outputs, dtype)
    except ValueError:
        broadcast_shape(operands)
        raise
    return tuple([y if y.ndim or out is not None else y[()] for y in arrays])


def _launched(
    kernel: Kernel, operands: Sequence[Any], outputs: list[Output], dtype: np.dtype[Any]
) -> list[np.ndarray]:
    others = setting("workers")
    workers = _CORES if others is None else 1 + others
    accuracy = setting("accuracy")
    options = {"dtype": dtype, "workers": workers, "accuracy": accuracy}
    try:
        return run(kernel.program, operands, outputs, **options)
    except CompilationError as error:
        if setting("fallback") == "error":
            raise
        warn(kernel.program, f"numba could not compile it: {str(error).splitlines()[0]}")
        return run(kernel.program, operands, outputs, **options, backend="python")
