"""Functions of numbers that ``numba.vectorize`` made ufuncs of: `broadcast` of what they wrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.base.registry import Composed
from zyg.broadcasting.verbs import broadcast
from zyg.core.strand import strip


def rule_of(f: Any) -> Composed:
    """The rule of such a ufunc, whose value has the dtype that it has of plain operands."""

    def vectorized(*args: Any) -> Any:
        y = broadcast(f.__wrapped__, *args)
        none = [np.empty(0, np.asarray(strip(x)).dtype) for x in args]
        return np.astype(y, f(*none).dtype)

    return Composed(f, vectorized)
