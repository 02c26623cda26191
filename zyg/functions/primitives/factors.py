"""Factors, eigenvalues and singular values, for machine code: NumPy's own loops, with the pullbacks
of the rules.

NumPy computes those of float32 in float64. Where LAPACK fails, its loops write NaN: Python raises.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import (
    closed,
    demand,
    demand_read,
    is_complex,
    lies_like,
    lowering,
    routine,
    slopes_hold,
)
from zyg.functions.primitives.decompositions import equal_values, with_eigh_pullback
from zyg.functions.primitives.places import stack_of


def in_double(a):
    return a if a.dtype in (float, complex) else a.astype(float)


def as_given(y, a):
    """What was computed in double precision, in that of an argument."""
    return y.astype(np.float32) if a.dtype == np.float32 else y


def loop(name, a):
    """What the loop for the elements of an array is called."""
    return f"{name} of complex" if is_complex(a) else f"{name} of reals"


def demand_numbers(y):
    """Leave it to Python where LAPACK has failed."""
    demand(np.all(y == y))


def are_apart(values, a):
    """Whether no two of some values are equal in the precision of an argument."""
    return np.sum(equal_values(as_given(values, a))) == np.size(values)


def eigh_bars(a, uplo, y, y_bar):
    return with_eigh_pullback(y, uplo)[1](y_bar)[:1]


@closed(eigh_bars)
def eigh_of(a, uplo):
    n = a.shape[-1]
    w, v = np.empty(a.shape[:-1]), np.empty(a.shape, a.dtype)
    routine(loop("eigh_up" if uplo in "Uu" else "eigh_lo", a), len(stack_of(a, 2)), n, a, w, v)
    demand_numbers(w)
    return w, v


@lowering(np.linalg.eigh)
def eigh_loops(a, UPLO="L"):
    demand_read(a.ndim > 1 and UPLO in ("L", "U", "l", "u"))
    demand(a.shape[-2] == a.shape[-1])
    w, v = eigh_of(in_double(a), UPLO)
    if a.dtype == np.float32:
        slopes_hold(are_apart(w, a))
    return EIGH(lies_like(as_given(w, a), a[..., 0]), lies_like(as_given(v, a), a))


EIGH: Any = type(np.linalg.eigh(np.eye(1)))
