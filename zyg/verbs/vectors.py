"""Structures as vectors: all the numbers in a value, one after another, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.borders import border
from zyg.base.containers import Engine
from zyg.base.signatures import X
from zyg.base.trees import taken_apart
from zyg.core.strand import is_watched, strip
from zyg.core.trace import watchable
from zyg.core.views import float_dtype
from zyg.errors import ConversionError, StructureError


@border
def flatten(tree: X) -> tuple[Any, Callable[[Any], X]]:
    """All numbers and arrays in a structure as one vector, and the function that goes back.

    Both ways are differentiable.

    Parameters
    ----------
    tree
        Numbers, arrays, any structure of them. What else it holds is kept as it is.

    Returns
    -------
    vector : array
        Of float64; of float32 if all else is, complex if anything is, of objects if there are
        numbers of other types. Ints count as reals.
    unflatten : callable
        ``unflatten(vector)`` has the structure of `tree`: each array with its shape and dtype, each
        number with its type, ints as floats.

    Raises
    ------
    StructureError
        Where there is no number in the tree; from `unflatten`, where the vector has another length.
    ConversionError
        From `unflatten`, where an imaginary part would be lost.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> vector, unflatten = zyg.flatten({"w": np.array([1.0, 2.0]), "b": 3.0, "name": "line"})
    >>> vector
    array([1., 2., 3.])
    >>> unflatten(2 * vector)
    {'w': array([2., 4.]), 'b': 6.0, 'name': 'line'}
    """
    layout = Layout(tree)
    structure = layout.structure

    def unflatten(vector: Any) -> Any:
        if np.shape(vector) != (layout.size,):
            raise StructureError(
                f"unflatten was given an array of shape {np.shape(vector)}.",
                f"the structure has {layout.size} numbers.",
                f"pass a vector of shape ({layout.size},), in the order of zyg.flatten.",
            )
        return structure.rebuild(layout.leaves(vector))

    return layout.vector(structure.leaves), unflatten


class Layout(Engine):
    """Where the numbers of a structure are in one vector."""

    def __init__(self, tree: Any, name: str = "zyg.flatten") -> None:
        self.structure = taken_apart(tree, watchable)
        leaves = self.structure.leaves
        if not leaves:
            raise without_numbers(tree, name)
        self.shapes = [np.shape(x) for x in leaves]
        self.kinds = [self._kind(k, x, name) for k, x in enumerate(leaves)]
        self.types = [None if _is_array(x) else type(strip(x)) for x in leaves]
        self.ends: list[int] = [0, *accumulate(math.prod(shape) for shape in self.shapes)]
        self.counting = [k for k, x in enumerate(leaves) if counts(x)]
        self.dtype = np.result_type(*self.kinds)
        self.is_uniform = {*self.kinds} == {self.dtype} and not any(self.types)

    @property
    def size(self) -> int:
        return self.ends[-1]

    def path(self, k: int) -> str:
        """Where the leaf at place `k` is."""
        return self.structure.paths()[k] or "the top"

    def _kind(self, k: int, x: Any, name: str) -> np.dtype[Any]:
        """The dtype of a leaf in the vector, and when it comes back."""
        plain = strip(x)
        if library := array_type(plain).library:
            raise ConversionError(
                f"{name} met a {type(plain).__name__} at {self.path(k)}.",
                f"arrays of {library} would have to be converted to join the vector.",
                "convert it to a NumPy array, or leave it out of the structure.",
            )
        dtype = np.asarray(plain).dtype
        return dtype if dtype.hasobject else float_dtype(dtype)

    def vector(self, leaves: list[Any], what: str = "a structure") -> Any:
        """The numbers of these leaves, one after another."""
        if self.dtype.hasobject:  # other number types, each by itself, so that it stays what it is
            numbers = [n for x in leaves for n in (np.reshape(x, -1) if _is_array(x) else [x])]
            vector = np.empty(len(numbers), object)
            for k, number in enumerate(numbers):
                vector[k] = number
            return vector
        try:
            return np.concatenate(leaves, axis=None, dtype=self.dtype)
        except TypeError as error:  # of NumPy's
            raise ConversionError(
                f"{what} is of another kind than the parameters: {error}.",
                "what does not fit would be lost.",
                "pass real numbers for real ones.",
            ) from None

    def parts(self, found: list[tuple[int, Any]], what: str) -> list[Any]:
        """Parts of a gradient by the places of their leaves, zeros where there is none."""
        parts: list[Any] = [None] * len(self.shapes)
        for place, part in found:
            parts[place] = part
        for k, (part, shape) in enumerate(zip(parts, self.shapes, strict=True)):
            if type(part) is np.ndarray and part.shape == shape:
                continue
            if part is None:
                parts[k] = np.zeros(shape, self.kinds[k])
            elif np.shape(strip(part)) != shape:
                raise StructureError(
                    f"{what} at {self.path(k)} has shape {np.shape(strip(part))}.",
                    f"the parameter has shape {shape}.",
                    "pass one number for each of its own.",
                )
        return parts

    def gathered(self, found: list[tuple[int, Any]], what: str) -> Any:
        """The vector of these parts."""
        return self.vector(self.parts(found, what), what)

    def leaves(self, vector: Any) -> list[Any]:
        """The leaves again, with their shapes and types, from a vector of this length."""
        if vector.dtype == self.dtype and self.is_uniform:
            return [
                vector[first:last].reshape(shape)
                for first, last, shape in zip(self.ends, self.ends[1:], self.shapes, strict=False)
            ]
        return [
            _leaf(vector[first:last], kind, shape, number)
            for first, last, kind, shape, number in zip(
                self.ends, self.ends[1:], self.kinds, self.shapes, self.types, strict=False
            )
        ]

    def kept(self, leaves: list[Any], before: list[Any]) -> list[Any]:
        """Leaves, of which an int that has not changed is the one before: it may only count."""
        for k in self.counting:
            if not is_watched(leaves[k]) and np.array_equal(leaves[k], strip(before[k])):
                leaves[k] = before[k]
        return leaves


def counts(x: Any) -> bool:
    """Whether it is an int or an array of ints."""
    plain = strip(x)
    return isinstance(plain, int) or getattr(plain, "dtype", np.dtype(float)).kind in "iu"


def without_numbers(tree: Any, name: str) -> StructureError:
    return StructureError(
        f"{name} was given a {type(tree).__name__} without any number in it.",
        "a vector needs at least one number.",
        "pass numbers, arrays, or a container or an object that holds some.",
    )


def _is_array(x: Any) -> bool:
    return isinstance(strip(x), np.ndarray)


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
