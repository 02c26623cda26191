"""What matrices of derivatives are made of: unit directions, the columns and rows along them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, put
from zyg.base.structure import Structure
from zyg.base.trees import Tree, taken_apart
from zyg.core.cotangents import has_complex, project, spec_of, zeros_of
from zyg.core.strand import ARRAYS, Confined, strip
from zyg.core.trace import Trace, watchable
from zyg.errors import HolomorphicError, MissingRuleError, StructureError
from zyg.verbs.checkpoints import demand_same, rewound, states_in
from zyg.verbs.pushforward import DualCall

Function = Callable[..., Any]


def refuse_complex(inputs: Sequence[Structure | Tree]) -> None:
    for k, x in ((k, x) for k, s in enumerate(inputs) for x in s.leaves):
        if not array_type(x).on_host:
            raise MissingRuleError(
                f"argument {k} of the function is on a device: no Jacobian is made there.",
                "the directions that it takes are made in the memory of the host.",
                "use zyg.pullback, zyg.pushforward or zyg.hvp with directions of the device.",
                tag="device",
            )
        if has_complex(x):
            raise HolomorphicError(
                f"argument {k} of the function is complex; a Jacobian is taken with respect to "
                "real numbers.",
                "a complex number moves in two directions, so there are two derivatives.",
                "use zyg.holomorphic(f, z), or zyg.wirtinger(f, z) for both derivatives.",
            )


def refuse_labels(structures: Sequence[Structure | Tree]) -> None:
    for name in filter(None, (s.labels for s in structures)):
        raise StructureError(
            f"there is no Jacobian of a {name}, or with respect to one.",
            "a Jacobian has the axes of the result and of the argument, but no labels or units.",
            "use a function of plain arrays; gradient, pullback, pushforward and hvp work as they "
            "are.",
            tag="labels",
        )


def size_of(x: Any) -> int:
    """How many elements an array has; a number is one."""
    return 1 if type(x) is float else math.prod(np.shape(x))


def chunk_of(directions: int) -> int:
    """How many directions are carried along at once: fewer where their arrays are large."""
    return min(max(10**6 // max(directions, 1), 8), 256)


_LARGE = 2000  # elements of an entry, on average, for which rows are faster than columns


def is_of_large_arrays(f: Function, *args: Any) -> bool:
    """Whether a function computes with arrays so large that directions are to come one by one.

    Many tangents of them are beyond the processor's caches, and take as many times its memory.
    """
    trace = Trace(f, args, {})
    try:
        tape = trace.strand.tape
        return _elements(tape) > _LARGE * (len(tape) // 5)
    finally:
        try:
            trace.close()
        finally:
            trace.close()


def _elements(x: Any) -> int:
    """How many there are in the arrays of entries."""
    if type(x) in (tuple, list):
        return sum(map(_elements, x))
    return np.size(x) if type(x) is np.ndarray or type(x) in ARRAYS else 0


def units_of(leaves: list[Any], unit: complex = 1) -> Iterator[list[Any]]:
    """For each element of the leaves, cotangents or tangents: `unit` there, 0 or None else."""
    for k, x in enumerate(leaves):
        here = unit if has_complex(x) else unit.real
        for place in np.ndindex(np.shape(x)):
            one = zeros_of(spec_of(x)) if place else project(here, spec_of(x))
            if place:
                one = put(one, place, here)
            yield [one if j == k else None for j in range(len(leaves))]


def along_units(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: Sequence[Structure | Tree],
    units: Sequence[complex],
    confined: Confined | None = None,
) -> tuple[Structure | Tree, list[list[list[Any]]]]:
    """The value, taken apart, and for each unit the tangents of its leaves along the arguments'."""
    directions = [
        [s.tangent(u) if j == k else None for j in range(len(args))]
        for unit in units
        for k, s in enumerate(inputs)
        for u in units_of(s.leaves, unit)
    ]
    found: list[list[Any]] = []
    for call in calls_along(f, args, kwargs, directions, confined):
        result = taken_apart(call.y, watchable, shared=False)
        refuse_labels([result])
        found.extend(leaves_of(result, y_dot) for y_dot in call.y_dots)
    each = len(found) // len(units)
    return result, [found[k * each : (k + 1) * each] for k in range(len(units))]


def calls_along(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    directions: list[Any],
    confined: Confined | None = None,
) -> Iterator[DualCall]:
    """A call for some directions after the other; all see the random state that the first sees."""
    chunk = chunk_of(len(directions))
    states = states_in(f, args, kwargs) if len(directions) > chunk else ([], [])
    first = DualCall(f, args, kwargs, directions[:chunk], confined)
    yield first
    for start in range(chunk, len(directions), chunk):
        with rewound(*states):
            call = DualCall(f, args, kwargs, directions[start : start + chunk], confined)
        demand_same(f, first.y, call.y, "it was called again for more directions")
        yield call


def leaves_of(structure: Structure | Tree, tangent: Any) -> list[Any]:
    made = [None] * len(structure.leaves)
    for place, part in structure.match(tangent, "the value", "tangent"):
        made[place] = part
    return made


def assembled(
    result: Structure | Tree, inputs: Sequence[Structure | Tree], found: list[list[Any]], axis: int
) -> tuple[Any, ...]:
    """The Jacobians, from the leaves of their columns (axis -1) or of their rows (axis 0)."""
    ends = [0, *accumulate(size_of(x) for s in inputs for x in s.leaves)]
    tops = [0, *accumulate(map(size_of, result.leaves))]
    jacobians = []
    first = 0
    for s in inputs:
        blocks = []
        for p, y in enumerate(result.leaves):
            row = []
            for j, x in enumerate(s.leaves, first):
                if axis == -1:
                    parts = [column[p] for column in found[ends[j] : ends[j + 1]]]
                else:
                    parts = [bars[j] for bars in found[tops[p] : tops[p + 1]]]
                row.append(joined(parts, y, x, axis))
            blocks.append(s.tangent(row))
        jacobians.append(result.tangent(blocks))
        first += len(s.leaves)
    return tuple(jacobians)


def joined(parts: list[Any], y: Any, x: Any, axis: int) -> Any:
    """The block of one number or array by another, in the precision of x; a number by numbers."""
    if not np.shape(x) and not np.shape(y) and not isinstance(strip(x), np.ndarray):
        return parts[0] if has_complex(parts[0]) else project(parts[0], spec_of(x))
    parts = [array_type(part).enter(part) for part in parts]
    zeros = zeros_of(spec_of(x))
    shape, dtype = tuple(np.shape(y)) + tuple(np.shape(x)), np.result_type(zeros)
    if has_complex(y) and dtype.kind == "f":
        dtype = np.result_type(dtype, np.complex64)
    if not parts:
        return np.zeros(shape, dtype)
    block = np.reshape(np.stack(parts, axis=axis), shape)
    block = block if block.dtype == dtype else np.astype(block, dtype)
    return array_type(block).leave(block) if array_type(block).guest else block
