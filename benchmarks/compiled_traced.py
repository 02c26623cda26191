"""The plain loops of `loops` in the traced engine, at sizes where that takes less than a second."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

import zyg
import zyg.math
import zyg.numpy
from benchmarks.loops import PROGRAMS, arguments

# With sizes of their own where those of `loops` take longer.
_SMALLER: dict[str, Callable[[Callable[..., Any]], tuple[Any, ...]]] = {
    "lorenz": lambda r: arguments("lorenz", False),
    "bodies": lambda r: (r((8, 3)), 0.1 * r((8, 3)), abs(r(8)), 0.01, 10),
    "stencil": lambda r: (0.3 * r(200), 0.1, 20),
    "gauss_seidel": lambda r: (r((24, 24)), 10),
    "binomial_tree": lambda r: arguments("binomial_tree", False),
    "random_field": lambda r: (r((50, 8)), r((8, 8)), np.arange(50) % 8),
    "tridiagonal": lambda r: arguments("tridiagonal", False),
    "kalman": lambda r: arguments("kalman", False),
    "hidden_markov": lambda r: arguments("hidden_markov", False),
    "time_warping": lambda r: (r(30), r(30), 0.5),
    "alignment": lambda r: (r((50, 50)), 0.3),
    "eight_schools": lambda r: arguments("eight_schools", False),
    "recurrent": lambda r: (r((16, 16)) / 8, r(16), r(16), r(20)),
    "option": lambda r: arguments("option", False),
    "pair_energies": lambda r: arguments("pair_energies", False),
    "quaternions": lambda r: arguments("quaternions", False),
    "matrix_product": lambda r: (r((20, 20)) / 8, r((20, 20)) / 8),
    "tree_network": lambda r: arguments("tree_network", False),
}
LOOPS = tuple(_SMALLER)


def traced(name: str) -> Callable[..., Any]:
    """A program, with the drop-ins where it says math and np."""
    code = PROGRAMS[name].__code__
    return FunctionType(code, {"__builtins__": __builtins__, "math": zyg.math, "np": zyg.numpy})


def problem(name: str, quick: bool) -> tuple[Any, ...]:
    if quick:
        return arguments(name, quick)
    return _SMALLER[name](np.random.default_rng(17).standard_normal)
