"""Where the conventions of autograd and of zyg differ: complex cotangents, and Python's numbers.

For a real loss u of z = x + iy, autograd's gradient is du/dx - i du/dy, and zyg's the conjugate.
A number that is differentiated is one of NumPy's, with a shape, as autograd's are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.errors import ArgumentError
from zyg.functions.kit import conj, is_complex
from zyg.verbs.structures import map as mapped

_OF_NUMPY: dict[type, type] = {float: np.float64, complex: np.complex128}
_CONTAINERS = (tuple, list, dict)


def conjugate(tree: Any) -> Any:
    """The conjugate of each complex number and array in a structure; the rest as it is."""
    if type(tree) is np.ndarray or isinstance(tree, (np.generic, float)):
        return conj(tree)
    return mapped(_conjugate, tree)


def _conjugate(x: Any) -> Any:
    return np.conjugate(x) if is_complex(x) else x


def of_numpy(x: Any) -> Any:
    """An argument, with NumPy's numbers for Python's floats and complex ones."""
    if type(x) in _CONTAINERS:
        return mapped(of_numpy, x)
    return _OF_NUMPY[type(x)](x) if type(x) in _OF_NUMPY else x


def covector(x_bar: Any, x: Any) -> Any:
    """The cotangent of an argument as autograd has it; raises where that holds no number."""
    if x_bar is None and type(x) not in _CONTAINERS:
        raise ArgumentError(
            f"a function was to be differentiated by a {type(x).__name__}.",
            "there is no number in it that could be varied.",
            "choose another argument with argnum=, or pass floats.",
        )
    return conjugate(completed(x_bar, x))


def completed(x_bar: Any, x: Any) -> Any:
    """A cotangent or a tangent of x, with its containers without numbers for None."""
    if type(x) not in _CONTAINERS or x_bar is None:
        return x if type(x) in _CONTAINERS else x_bar
    if type(x) is dict:
        return {key: completed(x_bar[key], part) for key, part in x.items()}
    return type(x)([completed(*pair) for pair in zip(x_bar, x, strict=True)])
