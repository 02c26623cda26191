"""Derivatives of a program, in forward mode, as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.aliases import has_memory
from zyg.compiler.autodiff.buffers import LANES, ForwardOnMemory
from zyg.compiler.autodiff.dependence import Dependence, is_real
from zyg.compiler.autodiff.joints import run_with_joints
from zyg.compiler.autodiff.tangents import Chain, Forward, Tangents
from zyg.compiler.ir import Atom, Load, Program, Value, is_buffer, operations, prune, type_of


def _passed(
    program: Program,
    seeds: Callable[[int, Value], Tangents],
    strong: bool,
    asked: Sequence[Atom] = (),
    lanes: int = 0,
) -> tuple[Forward, list[Value]]:
    """The program made again with tangents, and its inputs; buffers `asked` for have them all."""
    inputs = [Value(x.type) for x in program.inputs]
    pairs = enumerate(zip(program.inputs, inputs, strict=True))
    dots = {old: seeds(k, new) for k, (old, new) in pairs}
    forward: Forward
    if has_memory(program):
        memory = Dependence(program)
        keys = {x: [LANES] if lanes and row else row for x, row in dots.items()}
        memory.seed([(k, x) for x, row in keys.items() for k in row], asked)
        forward = ForwardOnMemory(strong, memory, lanes)
        forward.begin(program, inputs, dots)
    else:
        forward = Forward(strong)
        forward.made.update(zip(program.inputs, inputs, strict=True))
        forward.moving.update((x, Chain(row)) for x, row in dots.items() if row)
    forward.run(program.body)
    return forward, inputs


def partials(
    program: Program, active: Sequence[int], strong: bool = False
) -> tuple[Program, list[list[int]]]:
    """The outputs and their partial derivatives by the active inputs, those that are not zero.

    The second result says, for each output, by which inputs its derivatives follow.
    """
    forward, inputs = _passed(program, lambda k, _: {k: 1.0} if k in active else {}, strong)
    rows = [forward.tangents(y) for y in program.outputs]
    masks = [sorted(row) for row in rows]
    outs = [forward.atom(y) for y in program.outputs]
    outs += [row[k] for row, mask in zip(rows, masks, strict=True) for k in mask]
    return _finished(f"{program.name}_partials", inputs, forward, outs), masks


def pushforward(
    program: Program,
    active: Sequence[int],
    strong: bool = False,
    directions: int = 1,
    every: bool = False,
    interleaved: bool = False,
) -> Program:
    """The program (tangents of the active inputs..., inputs...) -> (outputs..., tangents...).

    There are tangents of the outputs that are floats or buffers of floats, or of `every` one. Of
    several directions, those of one input or output are beside each other; if `interleaved`, those
    of a buffer are in one, element by element.
    """

    def keys(x: Atom) -> Sequence[Any]:
        return [LANES] if interleaved and is_buffer(type_of(x)) else range(directions)

    dots = {k: {key: Value(x.type) for key in keys(x)} for k, x in enumerate(program.inputs)
            if k in active}  # fmt: skip
    lanes = directions if interleaved else 0
    forward, inputs = _passed(
        program, lambda k, _: {**dots.get(k, {})}, strong, program.outputs, lanes
    )
    outs = [forward.atom(y) for y in program.outputs]
    for y in program.outputs:
        if every or is_real(type_of(y)):
            outs += forward.row([y], [forward.tangents(y)], [keys(y)])
    along = [t for k in active for t in dots[k].values()]
    made = _finished(f"{program.name}_pushforward", [*along, *inputs], forward, outs)
    new = dict(zip(program.inputs, inputs, strict=True))
    for k, x in enumerate(program.inputs):
        if x in program.sizes:
            size = tuple(new[n] if isinstance(n, Value) else n for n in program.sizes[x])
            made.sizes[new[x]] = size
            size = (*size, directions) if interleaved else size
            made.sizes.update((t, size) for t in dots.get(k, {}).values())
    return made


def along_elements(program: Program, elements: Sequence[tuple[int, Atom | None]]) -> Program:
    """The program (inputs...) -> (outputs..., tangents...) along numbers among the inputs, or
    elements of buffers that are only ever loaded at indices that are known.

    Each is a direction of its own, so that what does not depend on it costs nothing. The tangents
    are those of `pushforward`, of several directions interleaved.
    """
    inputs, count = [Value(x.type) for x in program.inputs], len(elements)
    found = {(program.inputs[k], index): lane for lane, (k, index) in enumerate(elements)}
    forward = Forward(False)
    if has_memory(program):
        memory, lanes = Dependence(program), count if count > 1 else 0
        loads = [op for op in operations(program.body) if isinstance(op, Load)]
        seeds = [op.out for op in loads if (op.buffer, op.index) in found]
        seeds += [x for x, index in found if index is None]
        memory.seed([(LANES if lanes else 0, x) for x in seeds], program.outputs)
        forward = ForwardOnMemory(False, memory, lanes)
        forward.units = found  # type: ignore[assignment]
        forward.begin(program, inputs, {})
    forward.made.update(zip(program.inputs, inputs, strict=True))
    for (x, index), lane in found.items():
        if index is None:
            forward.moving[x] = Chain({lane: forward.builder.to(x.type, 1.0)})
    run_with_joints(forward, program.body)
    outs = [forward.atom(y) for y in program.outputs]
    for y in program.outputs:
        if is_real(type_of(y)):
            buffers = [LANES if count > 1 else 0] if is_buffer(type_of(y)) else range(count)
            outs += forward.row([y], [forward.asked(y)], [buffers])
    return _finished(f"{program.name}_pushforward", inputs, forward, outs)


def pullback(
    program: Program, active: Sequence[int], strong: bool = False, values: bool = False
) -> tuple[Program, list[int]]:
    """The program (cotangents..., inputs...) -> (cotangents of the inputs...), and of which inputs.

    There is a cotangent for each output that is not of bools; of the active inputs, those come back
    on which an output depends. `values` asks for the outputs, too, before the cotangents.
    """
    forward, inputs = _passed(program, lambda k, _: {k: 1.0} if k in active else {}, strong)
    bars = {m: Value("float") for m, y in enumerate(program.outputs) if type_of(y) != "bool"}
    totals: dict[int, Atom] = {}
    for m, bar in bars.items():
        for k, t in forward.tangents(program.outputs[m]).items():
            c = forward.times(bar, t)
            totals[k] = forward.builder.op("add", totals[k], c) if k in totals else c
    moving = sorted(totals)
    outs = [forward.atom(y) for y in program.outputs] if values else []
    outs += [totals[k] for k in moving]
    name = f"{program.name}_pullback"
    return _finished(name, [*bars.values(), *inputs], forward, outs), moving


def products(masks: list[list[int]], strong: bool = False) -> tuple[Program, list[int]]:
    """The program (cotangents of the outputs..., partial derivatives...) -> (cotangents...).

    `masks` is what `partials` says; the second result is that of `pullback`.
    """
    forward = Forward(strong)
    bars = [Value("float") for _ in masks]
    slopes = [[Value("float") for _ in mask] for mask in masks]
    totals: dict[int, Atom] = {}
    for bar, mask, row in zip(bars, masks, slopes, strict=True):
        for k, d in zip(mask, row, strict=True):
            c = forward.times(bar, d)
            totals[k] = forward.builder.op("add", totals[k], c) if k in totals else c
    moving = sorted(totals)
    inputs = [*bars, *(d for row in slopes for d in row)]
    return _finished("products", inputs, forward, [totals[k] for k in moving]), moving


def _finished(name: str, inputs: list[Value], forward: Forward, outs: list[Atom]) -> Program:
    block = forward.builder.block
    block.yields = outs
    prune(block)
    return Program(name, inputs, block)
