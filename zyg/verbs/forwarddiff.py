"""A Jacobian that is taken in forward mode on the way of a gradient in reverse mode."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.borders import border
from zyg.base.registry import adjoint
from zyg.base.signatures import R, X
from zyg.base.structure import Structure
from zyg.core.cotangents import has_complex
from zyg.core.results import of_its_own
from zyg.core.strand import Confined, active, innermost, is_watched, settle, strands_of
from zyg.core.trace import demand_complete, down_to, watchable
from zyg.verbs.matrices import along_units
from zyg.verbs.taken_apart import carry_back


@border
def forwarddiff(f: Callable[[X], R], x: X) -> R:
    """``f(x)``, whose Jacobian by x is taken in forward mode on the way, 256 numbers at a time.

    For a long computation with few inputs: what it does with x is not kept on the tape. What else f
    depends on (its closure) is watched as ever, and keeps its gradient. Inside of a derivative that
    is newer than the one by x, it is f(x): what that derivative is made of depends on x, too.

    Parameters
    ----------
    f : callable
        The function. It is called once for each 256 numbers in x, each time with the random state
        of the first and for the same value, and must not write to x.
    x
        Its argument: a number, an array or a structure of them.

    Returns
    -------
    what f returns
        The value.

    Raises
    ------
    StructureError
        Where f returns an iterator.
    ValueError
        NumPy's, where f writes to x.

    Examples
    --------
    >>> import zyg
    >>> def power(x):
    ...     y = 1.0
    ...     for _ in range(100):
    ...         y = y * x
    ...     return y
    >>> zyg.gradient(lambda x: zyg.forwarddiff(power, x), 1.0)
    (100.0,)
    """
    call = Structure(x, is_watched, shared=True)
    strand = innermost([settle(v) for v in call.leaves])
    if strand is None or any(s.open and s.level > strand.level for s in active.get()):
        return of_its_own(f(x), (x,))  # type: ignore[no-any-return]
    ours = [down_to(strand, v) for v in call.leaves]
    below = tuple(
        settle(v) if w is None else w.primal for v, w in zip(call.leaves, ours, strict=True)
    )
    inputs = [Structure(v, watchable) for v in below]

    @functools.wraps(f)
    def at(*leaves: Any) -> Any:
        copies: dict[int, Any] = {}
        try:
            made: dict[int, Any] = {}
            given = call.rebuild([*leaves], whole=False, done=made)
            copies.update(made)
            y = f(given)
        finally:
            carry_back(call, [*leaves], copies)
        return demand_complete(y, "zyg.forwarddiff")

    confined = Confined("zyg.forwarddiff", [s for v in call.leaves for s in strands_of(v)])
    units = (1, 1j) if any(map(has_complex, below)) else (1,)
    result, sides = along_units(at, below, {}, inputs, units, confined)
    columns = [
        [
            np.stack([row[n] for row in found]) if found else np.zeros((0, *np.shape(y)))
            for n, y in enumerate(result.leaves)
        ]
        for found in sides  # none of an x without elements
    ]
    return result.rebuild(  # type: ignore[no-any-return]
        _attached(result.leaves, columns, *call.leaves)
    )


@adjoint
def _attached(y: list[Any], columns: list[list[Any]], *leaves: Any) -> Any:
    """`y`, with derivatives by the leaves: along each of their elements, and imaginary ones."""

    def attached_pullback(y_bar: list[Any]) -> tuple[Any, ...]:
        parts = [_inner_products(part, y_bar) for part in columns]
        bars = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
        ends = np.cumsum([0, *map(np.size, leaves)]).tolist()
        shaped = [
            np.reshape(bars[a:b], np.shape(v)) if np.ndim(v) else bars[a]
            for v, a, b in zip(leaves, ends[:-1], ends[1:], strict=True)
        ]
        return (y_bar, None, *shaped)

    return y, attached_pullback


def _inner_products(columns: list[Any], y_bar: list[Any]) -> Any:
    """The real inner product of a cotangent with each column, added up over the leaves."""
    products = [np.real(np.conjugate(c) * b) for c, b in zip(columns, y_bar, strict=True)]
    return functools.reduce(
        operator.add, [np.sum(p, axis=tuple(range(1, np.ndim(p)))) for p in products]
    )
