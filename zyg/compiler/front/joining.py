"""Arrays joined along an axis, after they were given as many axes as that needs."""

from __future__ import annotations

from typing import Any

from zyg.compiler.front.conversions import as_array
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.shaping import concatenated, flat
from zyg.compiler.front.views import ArrayView


def at_least_1d(to: WholeBuilder, x: Any) -> ArrayView:
    view = as_array(to, x)
    return view if view.shape else view.of_axes([None])


def at_least_2d(to: WholeBuilder, x: Any) -> ArrayView:
    view = at_least_1d(to, x)
    if view.ndim > 1:
        return view
    return view.of_axes([None, *range(view.ndim)])


def vstack(to: WholeBuilder, tup: Any) -> ArrayView:
    return concatenated(to, [at_least_2d(to, x) for x in tup], 0)


def hstack(to: WholeBuilder, tup: Any) -> ArrayView:
    parts = [at_least_1d(to, x) for x in tup]
    return concatenated(to, parts, 0 if parts and parts[0].ndim == 1 else 1)


def column_stack(to: WholeBuilder, tup: Any) -> ArrayView:
    parts = [at_least_1d(to, x) for x in tup]
    columns = [x.of_axes([0, None]) if x.ndim == 1 else x for x in parts]
    return concatenated(to, columns, 1)


def append(to: WholeBuilder, arr: Any, values: Any, axis: Any = None) -> ArrayView:
    parts = [as_array(to, x) for x in (arr, values)]
    return concatenated(to, [flat(x) for x in parts] if axis is None else parts, axis or 0)
