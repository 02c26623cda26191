"""Derivatives of a program in reverse mode, as programs.

The program is made again (`augmented_primal`); then comes its mirror (`reverse_pass`). The result
is a program like others, with tapes and shadows in its buffers, and can be differentiated again, by
either mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zyg.compiler.autodiff.augmented_primal import AugmentedPrimal
from zyg.compiler.autodiff.calls import Stacks
from zyg.compiler.autodiff.checkpointing import changed
from zyg.compiler.autodiff.dependence import Activity
from zyg.compiler.autodiff.residuals import Residuals
from zyg.compiler.autodiff.reverse_pass import Reverse
from zyg.compiler.builder import REALS
from zyg.compiler.ir import Program, Value, is_buffer, prune, type_of


class Derived(NamedTuple):
    """A program of values and cotangents, and the inputs that it has cotangents of."""

    program: Program
    moving: list[int]


def vjp(program: Program, active: Sequence[int], strong: bool = False) -> Derived:
    """The program (inputs..., bars...) -> (outputs..., cotangents of the active inputs...).

    There is a bar for every output of floats, a buffer of the output's size where that is one, and
    a cotangent for each active input on which an output depends.
    """
    return _derived(program, active, strong, "vjp", None)


def gradient(program: Program, active: Sequence[int], strong: bool = False) -> Derived:
    """The program (inputs...) -> (outputs..., gradients of the active inputs...).

    They are those of the first output of floats: a number, or a buffer of one.
    """
    return _derived(program, active, strong, "gradient", 1.0)


def _derived(
    program: Program, active: Sequence[int], strong: bool, kind: str, seed: float | None
) -> Derived:
    activity, needed = Activity(program, active), dict[Program, list[int]]()
    while (made := _made(program, activity, active, strong, kind, seed, Stacks(needed))) is None:
        pass  # with what is known now of what functions need
    return made


def _made(
    program: Program, activity: Activity, active: Sequence[int], strong: bool, kind: str,
    seed: float | None, stacks: Stacks,
) -> Derived | None:  # fmt: skip
    sweep = AugmentedPrimal(program, activity, stacks)
    reverse = Reverse(sweep, Residuals(sweep, sweep.builder), strong)
    inputs = sweep.inputs(program, copied=True)
    sweep.run(program.body)
    rolled = changed(program, activity)  # back, when loops are run again
    outputs = [sweep.builder.copied(sweep.made[y], sweep.extent(program, y))  # type: ignore[arg-type]
               if isinstance(y, Value) and is_buffer(y.type) and activity.of(y) in rolled
               else sweep.atom(y) for y in program.outputs]  # fmt: skip
    bars: list[Value] = []
    for y in program.outputs:
        if type_of(y).removesuffix("[]") not in REALS:
            continue
        if seed is None:
            bars.append(Value(type_of(y)))
            reverse.seed(program, y, bars[-1])
        else:
            reverse.seed(program, y, seed)
            break
    reverse.run(program.body)
    moving = [k for k in active if activity.is_active(program.inputs[k])]
    block = sweep.builder.block
    block.yields = outputs
    block.yields += [reverse.cotangent(program.inputs[k]) for k in moving]
    if not stacks.finish(sweep, block):
        return None
    prune(block)
    made = Program(f"{program.name}_{kind}", [*inputs, *bars], block)
    known = zip((*program.inputs, *program.outputs), (*inputs, *block.yields), strict=False)
    cotangents = block.yields[len(program.outputs) :]
    for x, y in (*known, *zip((program.inputs[k] for k in moving), cotangents, strict=True)):
        if x in program.sizes:
            made.sizes[y] = tuple(map(sweep.atom, program.sizes[x]))  # type: ignore[index]
    return Derived(made, moving)
