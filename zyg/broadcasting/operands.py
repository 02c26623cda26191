"""The operands of a call: arrays, numbers, and namedtuples and dataclasses of those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zyg.base.array_types import on_gpu
from zyg.base.structure import is_number
from zyg.compiler.front.captures import type_for
from zyg.compiler.front.structures import children
from zyg.core.strand import is_watched, settle, strip
from zyg.errors import KernelError

_LEAVES = {np.ndarray, float, int, bool, np.float64, np.float32}


def flattened(arrays: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """The operands, those in namedtuples and dataclasses too, and how they were arranged."""
    if all(type(x) in _LEAVES for x in arrays):
        return [*arrays], (None,) * len(arrays)
    leaves: list[Any] = []
    tree = tuple(_taken_apart(x, leaves) for x in arrays)
    return leaves, tree


def _taken_apart(x: Any, leaves: list[Any]) -> Any:
    x = settle(x)
    if is_watched(x) or type(x) is np.ndarray or is_number(x) or on_gpu(x):
        leaves.append(x)
        return None
    inside = None if type(x) in (list, tuple) else children(x)
    if inside is None:
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(
                "a masked array cannot be an operand of a kernel: its mask would be lost"
            )
        leaves.append(np.asarray(x))
        return None
    kind, parts, make = inside
    return kind, make, tuple(_taken_apart(part, leaves) for part in parts)


def rebuilt(tree: Any, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """What `flattened` took apart, of other leaves."""
    rest = iter(leaves)
    return tuple([_build(node, rest) for node in tree])


def _build(node: Any, leaves: Iterator[Any]) -> Any:
    return next(leaves) if node is None else node[1]([_build(part, leaves) for part in node[2]])


def shape_of_tree(tree: Any) -> Any:
    """What of a tree two calls have in common."""
    return tuple(None if n is None else (n[0], shape_of_tree(n[2])) for n in tree)


def kernel_type(x: Any) -> str:
    """The type of an operand's elements in a kernel; KernelError where kernels have none."""
    plain = strip(x)
    dtype = getattr(plain, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype) and on_gpu(plain):  # torch's own
        dtype = np.dtype(plain.detach().__cuda_array_interface__["typestr"])
    if dtype is None and isinstance(plain, (bool, int, float)):
        return "bool" if isinstance(plain, bool) else type(plain).__name__
    kind = None if dtype is None else type_for(dtype)
    if kind is None:
        raise KernelError(
            f"an operand of {dtype or type(plain).__name__} cannot be used in a kernel.",
            "kernels compute with real numbers of at most 64 bits.",
            "for complex numbers pass real and imaginary part, or call ufuncs on whole arrays.",
        )
    return kind


def widths_of(kinds: Sequence[str], leaves: Sequence[Any]) -> tuple[Any, ...]:
    """NumPy's types of the ints among operands: None for Python's own, nothing where none is."""
    if "int" not in kinds and "uint" not in kinds:
        return ()
    found = [getattr(strip(x), "dtype", None) for x in leaves]
    return tuple([d if isinstance(d, np.dtype) and d.kind in "iu" else None for d in found])
