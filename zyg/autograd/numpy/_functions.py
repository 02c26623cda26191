"""Functions of autograd's NumPy that take other arguments than NumPy's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import zyg.numpy
from zyg.functions.kit import strip

_PYTHONS = {bool, int, float, complex, list, tuple}


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`numpy.where`, of arguments by name, too; of Python's numbers and lists, one of Python's."""
    if x is y is None:
        return zyg.numpy.where(condition)
    found = zyg.numpy.where(condition, x, y)
    plain = type(found) is np.ndarray and {*map(type, (condition, x, y))} <= _PYTHONS
    return found.tolist() if plain else found


def make_diagonal(d: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The array of zeros whose diagonals, as `numpy.diagonal` takes them, are `d`."""
    k = np.arange(np.shape(d)[-1])
    sides = (len(k) + abs(offset),) * 2
    made = zyg.numpy.zeros(np.shape(d)[:-1] + sides, np.result_type(strip(d), float))
    made[..., k + max(-offset, 0), k + max(offset, 0)] = d
    return np.moveaxis(made, (-2, -1), (axis1, axis2))


def of_iterators(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a sequence of arrays, also of an iterator."""

    @functools.wraps(function, updated=())
    def of_any(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        arrays = arrays if hasattr(arrays, "__len__") else [*arrays]
        return function(arrays, *args, **kwargs)

    return of_any


# By the names of NumPy's.
FUNCTIONS = {
    "where": where,
    **{
        name: of_iterators(getattr(zyg.numpy, name))
        for name in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")
    },
}
for _name, _function in FUNCTIONS.items():
    vars(_function)["original"] = getattr(np, _name)  # for rules that are given to it
