"""Running a program over arrays: `run` broadcasts, sums and calls the compiled loop.

Operands are not copied, whatever their layout; only what kernels have no type for is converted
first. Sums are taken over chunks of the work and then over the chunks. Chunks depend on the shape
alone, so a result does not depend on the number of threads, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.caches import Cache
from zyg.compiler.ir import Program
from zyg.kernels.plans import Description, Output, Plan, Planner, Target

_plans: Cache[Any, Plan] = Cache(4096)


def run(
    program: Program,
    operands: Sequence[Any],
    outputs: Sequence[Output],
    *,
    dtype: np.dtype[Any],
    workers: int = 1,
    accuracy: str = "fast",
    backend: str = "llvm",
) -> list[np.ndarray]:
    """The results of a program at each element of operands that broadcast against each other.

    Floats are computed in `dtype`, float32 or float64. Operands are arrays of real numbers in any
    layout, or numbers. With ``backend="python"`` the same loops run as plain Python. Raises
    TypeError for an operand that its input cannot take, OverflowError for an int beyond int64,
    CompilationError where LLVM refuses the program.
    """
    plan = plan_for(program, operands, outputs, Target(dtype, accuracy, backend))
    return plan.run(operands, [output.out for output in outputs], workers)[0]


def describe(
    program: Program,
    operands: Sequence[Any],
    outputs: Sequence[Output],
    *,
    dtype: np.dtype[Any],
    accuracy: str = "fast",
    backend: str = "llvm",
) -> Description:
    """The kernel that `run` takes for these arguments, and how it sees them."""
    return plan_for(program, operands, outputs, Target(dtype, accuracy, backend)).description


def plan_for(
    program: Program, operands: Sequence[Any], outputs: Sequence[Output], target: Target
) -> Plan:
    """The plan for operands and outputs like these, made at most once while it is remembered."""
    places = [_place(k, operands, outputs) for k in range(len(outputs))]
    layouts = [
        (x.dtype, x.shape, x.strides, x.flags.num) if isinstance(x, np.ndarray) else type(x)
        for x in operands
    ]
    key = (program, target, *layouts, *places, *[o.checked for o in outputs])
    plan = _plans.get(key)
    if plan is None:
        types = [x.type for x in program.inputs]
        same = [place[0] for place in places]
        planner = Planner(operands, types, outputs, same, target.dtype)
        plan = _plans.put(key, planner.plan(program, target))
    return plan


def _place(k: int, operands: Sequence[Any], outputs: Sequence[Output]) -> tuple[Any, ...]:
    """What a plan depends on of an output; first, which operands are the array it is written to.

    None instead of those where the array overlaps others in any other way.
    """
    dtype, shape, out, _ = outputs[k]
    if out is None:
        return None, dtype, shape
    others = [x for x in operands if isinstance(x, np.ndarray) and x is not out]
    others += [o.out for i, o in enumerate(outputs) if o.out is not None and i != k]
    apart = not any(np.may_share_memory(out, x) for x in others)
    same = tuple(i for i, x in enumerate(operands) if x is out) if apart else None
    return same, dtype, shape, out.dtype, out.shape, out.strides, out.flags.num
