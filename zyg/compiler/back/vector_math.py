"""The elementary functions for numba: LLVM inlines them into a loop and vectorises it.

A name is the ufunc's and the width: `exp32` takes and returns a float32, `log1064` is log10 of a
float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import njit

from zyg.compiler.back.vector_elementary import elementary
from zyg.compiler.back.vector_intrinsics import (
    as_bits,
    as_real,
    exact_fma,
    fma,
    rare_call,
    select,
)

_OPTIONS: dict[str, Any] = {"forceinline": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Without the wrapper for calls from Python a function compiles faster.
_OPTIONS_OF_PART = {**_OPTIONS, "no_cpython_wrapper": True}


class _OfNumba:
    """The primitives, as compiled functions and types."""

    inline = staticmethod(njit(**_OPTIONS))
    part = staticmethod(njit(**_OPTIONS_OF_PART))
    select, fma, exact_fma = map(staticmethod, (select, fma, exact_fma))
    as_bits, as_real, rint = map(staticmethod, (as_bits, as_real, np.rint))
    scale = None
    bits, real = {32: np.uint32, 64: np.uint64}, {32: np.float32, 64: np.float64}

    @classmethod
    def rare(cls, name: str) -> Callable[..., Any]:
        call = rare_call(name)

        @cls.part
        def where(condition: Any, x: Any, y: Any) -> Any:
            if condition:
                y = call(x)
            return y

        return where  # type: ignore[no-any-return]


_FUNCTIONS = elementary(cast(Any, _OfNumba))
__all__ = [*_FUNCTIONS]
globals().update(_FUNCTIONS)
