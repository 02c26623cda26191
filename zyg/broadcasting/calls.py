"""Calls of kernels: to the tracer one operation, with a pullback that is a kernel too.

The pullback goes by the partial derivatives, kept from the first pass, or by the operands once
more, whichever is expected to be faster. Where a derivative is itself differentiated, it is the
call of another kernel: of the scalar function (cotangents, operands) -> cotangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.caches import Cache
from zyg.base.config import setting
from zyg.base.registry import Adjoint
from zyg.base.threads import workers
from zyg.broadcasting.fallback import broadcast_shape, warn
from zyg.compiler.back.compiled import CompilationError
from zyg.compiler.ir import type_of
from zyg.core.bind import bind
from zyg.core.cotangents import Spec, project, shape_of, spec_of
from zyg.core.entries import Kind, kinds
from zyg.core.reverse import Run, settled
from zyg.core.strand import innermost, is_watched, settle
from zyg.kernels.dtypes import dtypes_of
from zyg.kernels.launch import plan_for
from zyg.kernels.plans import Output, Plan, Target
from zyg.kernels.scalar import Kernel

_OF_THE_HOST = (np.ndarray, np.generic, float, int)


class KernelCall:
    """What is known when a kernel is called on watched operands."""

    def __init__(self, kernel: Kernel, active: tuple[int, ...], mode: str) -> None:
        self.kernel, self.active, self.mode = kernel, active, mode


def apply(kernel: Kernel, operands: Sequence[Any], mode: str = "auto") -> Sequence[Any]:
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
    return tuple(made) if len(made) > 1 else made[0]


def kernel_adjoint(call: KernelCall, *operands: Any) -> Any:
    if any(map(is_watched, operands)):
        y: Sequence[Any] = apply(call.kernel, operands, call.mode)
        back = Back(call.kernel, call.active, operands)
    else:
        y, back, _ = forward(call.kernel, call.active, operands, call.mode)
    back.operands = operands

    def broadcast_pullback(y_bar: Any, strong: bool) -> Any:
        result: list[Any] = [None] * (len(operands) + 1)
        for k, c, _ in back(y_bar, strong):
            result[k + 1] = c
        return tuple(result)

    return (tuple(y) if len(y) > 1 else y[0]), broadcast_pullback


def forward(
    kernel: Kernel, active: tuple[int, ...], operands: Sequence[Any], mode: str
) -> tuple[Sequence[Any], Back, bool]:
    """The outputs for plain operands, and the way back; whether that needs the operands."""
    back = Back(kernel, active, operands)
    if mode_of(kernel, mode, operands, active) != "cache":
        return run_kernel(kernel, operands), back, True
    both, back.masks = kernel.partials(active)
    made, finite = launch(both, operands)
    count = len(kernel.program.outputs)
    back.slopes = made[count:]
    return made[:count], back, len(finite) < len(back.slopes)


class Back:
    """The way back through one call of a kernel: by the slopes that it kept, or by its operands.

    It has the operands unless the slopes are all finite: then they are enough for products that
    keep exact zeros, and for derivatives by the cotangent. With `once`, nobody asks twice for the
    products with the slopes, which are written over them.
    """

    __slots__ = ("active", "kernel", "masks", "once", "operands", "slopes", "specs")

    def __init__(self, kernel: Kernel, active: tuple[int, ...], operands: Sequence[Any]) -> None:
        self.kernel, self.active = kernel, active
        self.specs: dict[int, Spec] = {k: spec_of(operands[k]) for k in active}
        self.masks: list[list[int]] = []
        self.slopes: list[Any] | None = None
        self.operands: Sequence[Any] | None = None
        self.once = False

    def __call__(self, y_bar: Any, strong: bool) -> list[tuple[int, Any, bool]]:
        """The cotangents: of which operand, and whether it is known to be finite."""
        outputs, slopes = self.kernel.program.outputs, self.slopes
        bars = [y_bar]
        if len(outputs) > 1:
            bars = [c for c, x in zip(y_bar, outputs, strict=True) if type_of(x) != "bool"]
        operands: Sequence[Any] = () if self.operands is None else self.operands
        outer = any(map(is_watched, (*bars, *operands)))
        if slopes is None or (self.operands is not None and (strong or outer)):
            slopes = None
            kernel, moving = self.kernel.pullback(self.active, strong)
        else:
            kernel, moving = self.kernel.products(self.masks, strong)
        if not moving:
            return []
        given = [*bars, *(operands if slopes is None else slopes)]
        if outer:
            made = apply(kernel, given)
            return [
                (k, project(c, self.specs[k]), False) for k, c in zip(moving, made, strict=True)
            ]
        shapes = tuple([shape_of(self.specs[k]) for k in moving])
        into = self._over_slopes(slopes, shapes) if self.once and slopes else None
        found, finite = launch(kernel, given, shapes, into=into)
        return [(k, found[n], n in finite) for n, k in enumerate(moving)]

    def _over_slopes(
        self, slopes: list[Any], shapes: tuple[Any, ...]
    ) -> tuple[int | None, ...] | None:
        """Into which of (cotangent, slopes...) each cotangent goes, which then has its memory."""
        if len(self.masks) > 1 or type(slopes[0]) is not np.ndarray:
            return None
        self.slopes = None
        whole = slopes[0].shape
        return tuple([1 + n if shape == whole else None for n, shape in enumerate(shapes)])


def kernel_pullback(run: Run, y_bar: Any, back: Back, slots: dict[int, Any]) -> list[Any]:
    """What the call of a kernel contributes to the slots of its watched operands."""
    contributions = []
    for k, c, finite in back(y_bar, run.strong):
        slot, whole = slots[k], project(c, back.specs[k])
        if finite and whole is c and type(slot) is int and slot not in run.owned:
            run.finite[slot] = c
        contributions.append((slot, whole))
    return contributions


def kernel_pushforward(call: KernelCall, *operands: Any) -> Any:
    kernel, outputs = call.kernel, call.kernel.program.outputs
    y = apply(kernel, operands)

    def broadcast_pushforward(_: None, *tangents: Any) -> Any:
        moving = tuple(k for k, t in enumerate(tangents) if t is not None)
        along = [*(tangents[k] for k in moving), *operands]
        y_dot = settled(
            lambda strong: apply(kernel.pushforward(moving, strong), along)[len(outputs) :], iter
        )
        if len(outputs) == 1:
            return y_dot[0]
        return tuple(
            None if type_of(x) == "bool" else t for x, t in zip(outputs, y_dot, strict=True)
        )

    return (tuple(y) if len(y) > 1 else y[0]), broadcast_pushforward


kernel_call = Adjoint(call_kernel, kernel_adjoint, strong=True)
kernel_call.pushforward(kernel_pushforward)
kinds[kernel_pullback] = Kind(
    lambda back, slots: [*slots.values()], None, lambda *_: str(kernel_call.name)
)


def mode_of(kernel: Kernel, mode: str, operands: Sequence[Any], active: Sequence[int]) -> str:
    """How the pullback of a kernel is computed: from a "cache" of partial derivatives, or not.

    A cheap kernel is fastest computed twice; and a large cache would be memory fresh from the
    system, which costs more than a kernel. On a GPU nobody looks whether a gradient is finite: all
    products keep exact zeros, which those of a cache do not.
    """
    if mode != "auto":
        return mode
    largest = 0
    for x in operands:
        if isinstance(x, np.ndarray):
            largest = max(largest, x.nbytes)
        elif setting("strong_zero") and not isinstance(x, _OF_THE_HOST):
            return "recompute"
    large = largest * len(active) > setting("pool_bytes")
    return "recompute" if large or kernel.cheap else "cache"


# Running it

_plans: Cache[Any, Plan] = Cache(4096)


def run_kernel(
    kernel: Kernel, operands: Sequence[Any], out: np.ndarray | None = None
) -> list[np.ndarray]:
    """The outputs for plain operands; on the GPU if they are."""
    if out is None:
        return launch(kernel, operands)[0]
    if not _on_host(operands):
        return _on_gpu(kernel, operands, None, out)
    plan = _planned(kernel, operands, None, [out])
    return plan.run(operands, [out], workers())[0]


def launch(
    kernel: Kernel,
    operands: Sequence[Any],
    shapes: tuple[Any, ...] | None = None,
    into: tuple[int | None, ...] | None = None,
) -> tuple[list[np.ndarray], Sequence[int]]:
    """The same, outputs with a shape summed to it; and which of them are seen to be finite.

    `into` says which operand each output is written over. A call like an earlier one finds its plan
    by one look into a dictionary.
    """
    plan = plan_of(kernel, operands, shapes, into)
    if plan is None:
        return _on_gpu(kernel, operands, shapes, None), ()
    outs = None if into is None else [None if k is None else operands[k] for k in into]
    return launched(plan, operands, outs)


def plan_of(
    kernel: Kernel,
    operands: Sequence[Any],
    shapes: tuple[Any, ...] | None = None,
    into: tuple[int | None, ...] | None = None,
) -> Plan | None:
    """The plan of `launch`, found or made; None on the GPU."""
    key = (kernel, shapes, into, *settings_of_plans(), *map(_layout, operands))
    plan = _plans.get(key)
    if plan is None and _on_host(operands):
        outs = into and [None if k is None else operands[k] for k in into]
        plan = _plans.put(key, _planned(kernel, operands, shapes, outs))
    return plan


def launched(
    plan: Plan, operands: Sequence[Any], outs: Sequence[Any] | None = None
) -> tuple[list[np.ndarray], Sequence[int]]:
    """What `launch` gives, by a plan for operands like these."""
    arrays, finite = plan.run(operands, outs, 1 if len(plan.chunks) == 1 else workers())
    return [y if y.ndim else y[()] for y in arrays], plan.checked if finite else ()


def unseen(found: tuple[Sequence[Any], Sequence[int]], first: int) -> list[Any]:
    """Of what `launch` gave, the outputs from `first` on that may not be finite."""
    made, finite = found
    return [y for k, y in enumerate(made) if k >= first and k not in finite]


def settings_of_plans() -> tuple[Any, ...]:
    """What a plan depends on of the settings."""
    return setting("accuracy"), setting("fallback")


def _layout(x: Any) -> Any:
    """What a plan depends on of an operand."""
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.strides, x.flags.aligned
    return type(x)


def _on_host(operands: Sequence[Any]) -> bool:
    return all(isinstance(x, _OF_THE_HOST) for x in operands)


def _on_gpu(kernel: Kernel, operands: Sequence[Any], shapes: Any, out: Any) -> list[Any]:
    from zyg_cuda import run as run_on_gpu

    return list(run_on_gpu(kernel, operands, shapes, out))


def _planned(
    kernel: Kernel, operands: Sequence[Any], shapes: Sequence[Any] | None, outs: Any
) -> Plan:
    dtype, results = dtypes_of(kernel, operands)
    nothing = [None] * len(results)
    places = zip(results, shapes or nothing, outs or nothing, strict=True)
    outputs = [Output(*place, k >= kernel.first_slope) for k, place in enumerate(places)]
    for d, _, out, _ in outputs:
        if out is not None and not np.can_cast(d, out.dtype, "same_kind"):
            raise TypeError(f"a result of {d} cannot be written into an array of {out.dtype}")
    target = Target(dtype, setting("accuracy"), "llvm")
    try:
        return plan_for(kernel.program, operands, outputs, target)
    except CompilationError as error:
        if setting("fallback") == "error":
            raise
        warn(kernel.program, f"LLVM could not compile it: {str(error).splitlines()[0]}")
        return plan_for(kernel.program, operands, outputs, target._replace(backend="python"))
    except ValueError:
        broadcast_shape(operands)
        raise
