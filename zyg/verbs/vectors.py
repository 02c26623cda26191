"""Structures as vectors: all the numbers in a value, one after another, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.trees import taken_apart
from zyg.core.strand import strip
from zyg.core.trace import watchable
from zyg.core.views import float_dtype
from zyg.errors import ConversionError, StructureError


def flatten(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers and arrays in a structure as one vector, and the function that goes back.

    ``unflatten(vector)`` has the structure of `tree`: each array with its shape and dtype, each
    number with its type; ints count as reals and come back as floats, and what holds no numbers is
    kept as it is. The vector is of float64, of float32 if all else is, complex if anything is, of
    objects if there are numbers of other types. Both ways are differentiable. Raises
    `StructureError` where there is no number in the tree, or the vector has another length, and
    `ConversionError` where an imaginary part would be lost.

    >>> import numpy as np, zyg
    >>> vector, unflatten = zyg.flatten({"w": np.array([1.0, 2.0]), "b": 3.0, "name": "line"})
    >>> vector
    array([1., 2., 3.])
    >>> unflatten(2 * vector)
    {'w': array([2., 4.]), 'b': 6.0, 'name': 'line'}

    """
    structure = taken_apart(tree, watchable)
    leaves = structure.leaves
    if not leaves:
        raise StructureError(
            f"zyg.flatten was given a {type(tree).__name__} without any number in it.",
            "a vector needs at least one number.",
            "pass numbers, arrays, or a container or an object that holds some.",
        )
    kinds = [_kind(x, path) for x, path in zip(leaves, structure.paths(), strict=True)]
    dtype = np.result_type(*kinds)
    vector = _vector(leaves, dtype)
    shapes = [np.shape(x) for x in leaves]
    types = [None if _is_array(x) else type(strip(x)) for x in leaves]
    ends = [0, *accumulate(int(np.prod(shape)) for shape in shapes)]

    def unflatten(vector: Any) -> Any:
        if np.shape(vector) != (ends[-1],):
            raise StructureError(
                f"unflatten was given an array of shape {np.shape(vector)}.",
                f"the structure has {ends[-1]} numbers.",
                f"pass a vector of shape ({ends[-1]},), in the order of zyg.flatten.",
            )
        found = [
            _leaf(vector[first:last], kind, shape, number)
            for first, last, kind, shape, number in zip(
                ends, ends[1:], kinds, shapes, types, strict=False
            )
        ]
        return structure.rebuild(found)

    return vector, unflatten


def _vector(leaves: list[Any], dtype: np.dtype[Any]) -> Any:
    if dtype.hasobject:  # other number types, each by itself, so that it stays what it is
        numbers = [n for x in leaves for n in (np.reshape(x, -1) if _is_array(x) else [x])]
        vector = np.empty(len(numbers), object)
        for k, number in enumerate(numbers):
            vector[k] = number
        return vector
    parts = [np.reshape(x, -1) for x in leaves]
    return np.concatenate([x if x.dtype == dtype else np.astype(x, dtype) for x in parts])


def _is_array(x: Any) -> bool:
    return isinstance(strip(x), np.ndarray)


def _kind(x: Any, path: str) -> np.dtype[Any]:
    """The dtype of a leaf in the vector, and when it comes back."""
    plain = strip(x)
    if array_type(plain).library:
        raise ConversionError(
            f"zyg.flatten met a {type(plain).__name__} at {path or 'the top'}.",
            f"arrays of {array_type(plain).library} would have to be converted to join the vector.",
            "convert it to a NumPy array, or keep it apart from what is flattened.",
        )
    dtype = np.asarray(plain).dtype
    return dtype if dtype.hasobject else float_dtype(dtype)


def _leaf(part: Any, kind: np.dtype[Any], shape: tuple[int, ...], number: type | None) -> Any:
    if part.dtype.kind == "c" and kind.kind != "c":
        if np.any(strip(part).imag):
            raise ConversionError(
                "unflatten was given a complex vector with an imaginary part where the structure "
                "is real.",
                "it would be lost.",
                "pass vector.real if that is meant.",
            )
        part = np.real(part)
    part = part if part.dtype == kind else np.astype(part, kind)
    if number is None:
        return np.reshape(part, shape)
    return part[0].item() if number in (float, int, complex) else part[0]
