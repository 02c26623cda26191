"""Functions that numba compiled, in zyg's gradients: compiled again by zyg, with derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from zyg.base.containers import Engine
from zyg.base.marks import Named
from zyg.base.signatures import P, R
from zyg.base.structure import is_number
from zyg.broadcasting.verbs import elementwise
from zyg.compiling.verbs import compile
from zyg.core.questions import is_traced
from zyg.core.strand import watched_leaves
from zyg.interop.foreign import foreign

METHODS = "source", "difference"


def wrap(
    f: Callable[P, R], *, method: Literal["source", "difference"] = "source"
) -> Callable[P, R]:
    """`f`, a function of ``numba.njit``, as one that zyg differentiates.

    Where no gradient runs it is numba's. Ufuncs of ``numba.vectorize`` need no wrapping.

    Parameters
    ----------
    f : callable
        A function of ``numba.njit``.
    method : {"source", "difference"}
        With "source", zyg reads the Python function that was compiled: of numbers it becomes a
        kernel, of arrays what `zyg.compile` makes of it; both have derivatives of any order, and
        run in Python after one PerformanceWarning where they cannot be compiled. With "difference",
        numba's function is called and differences are taken, as `zyg.foreign` does.

    Returns
    -------
    callable
        The same function, which also takes watched values.

    Raises
    ------
    TypeError
        f is no function of numba's.
    ValueError
        There is no such method.

    Examples
    --------
    >>> import numba, zyg
    >>> @numba.njit
    ... def area(r):
    ...     return 3.0 * r * r
    >>> zyg.gradient(zyg.numba.wrap(area), 2.0)
    (12.0,)
    """
    if method not in METHODS:
        raise ValueError(f"zyg.numba.wrap has no method {method!r}; there are {METHODS}")
    if isinstance(getattr(f, "__wrapped__", None), Callable) and hasattr(f, "nin"):  # type: ignore[arg-type]
        return f
    if not hasattr(f, "py_func"):
        raise TypeError(
            f"zyg.numba.wrap takes a function of numba.njit, not a {type(f).__name__}; use "
            "zyg.foreign for other compiled functions, zyg.compile for Python's."
        )
    return foreign(f, method=method) if method == "difference" else Wrapped(f)


class Wrapped(Named, Engine):
    """A function of numba's; in arguments it passes through whole."""

    made_by = "zyg.numba.wrap"

    def __init__(self, f: Any) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.kernel, self.whole = elementwise(f.py_func), compile(f.py_func)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(map(is_traced, watched_leaves((args, kwargs)))):
            return self.f(*args, **kwargs)
        of_numbers = not kwargs and all(map(is_number, args))
        return (self.kernel if of_numbers else self.whole)(*args, **kwargs)
