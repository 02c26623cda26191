"""What the rules of primitives share: sums over the axes along which an operand was broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.autograd._absent import names_from
from zyg.functions import kit

__getattr__ = names_from()


def metadata(x: Any) -> tuple[Any, ...]:
    """The shape, the number of axes, the dtype of an array, and whether it is complex."""
    dtype = np.result_type(kit.strip(x))
    return np.shape(x), np.ndim(x), dtype, dtype.kind == "c"


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """`x` summed to what `metadata` said of an operand; real, where that is.

    With `broadcast_idx`, axes that the operand lacks come at that place, from the end with -1.
    """
    shape, ndim, _, iscomplex = target_meta
    while (extra := np.ndim(x) - ndim) > 0:
        x = np.sum(x, axis=broadcast_idx if broadcast_idx >= 0 else extra + ndim + broadcast_idx)
    x = kit.unbroadcast(x, shape)
    return np.real(x) if kit.is_complex(x) and not iscomplex else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`f`, a function of a cotangent, with its results summed to the shape of `target`."""
    meta = metadata(target)
    return lambda g: unbroadcast(f(g), meta)
