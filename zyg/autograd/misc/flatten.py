"""Structures of numbers and arrays as vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.autograd._absent import names_from
from zyg.autograd.core import vspace
from zyg.verbs import vectors

__getattr__ = names_from()


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers of a structure in one vector, and the function that goes back: `zyg.flatten`."""
    return vectors.flatten(value) if vspace(value).size else (np.zeros(0), lambda _: value)


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """A function of a structure as one of a vector; the way back; the example as a vector.

    The function returns its results as vectors, too.
    """
    vector, unflatten = flatten(example)

    def of_vector(vector: Any, *args: Any, **kwargs: Any) -> Any:
        return flatten(func(unflatten(vector), *args, **kwargs))[0]

    return of_vector, unflatten, vector
