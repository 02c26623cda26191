"""Quantities of pint: f sees itself; a gradient has the unit of the loss over the argument's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pint.facets.plain import PlainQuantity

from zyg.base.labelled import labelled
from zyg.interop.labels import Labelled


class _Quantity(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("magnitude", x.magnitude)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return type(x)(values["magnitude"], x.units)

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        c = values["magnitude"]
        if not gradient:
            return self.make(x, values)
        if isinstance(c, PlainQuantity):
            return type(x)(c.magnitude, c.units / x.units)
        return type(x)(c, (1 / x.units).units)

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return c.to(x.units).magnitude if isinstance(c, PlainQuantity) else c

    def measured(self, x: Any) -> Callable[[Any], Any]:
        return lambda c: type(x)(c, x.units)


labelled[PlainQuantity] = _Quantity()
