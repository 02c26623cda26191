"""What kinds of arrays with knowledge around them have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.kinds import Kind
from zyg.base.labelled import labelled_kind
from zyg.errors import StructureError


class Labelled(Kind):
    """A container whose parts are arrays, of which it knows more: labels, a unit, a mask."""

    mutable = builtin = False
    labels = True
    bare = False  # whether it is but the array in it, as its library holds that

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        """Of the type of `x`; zeros for parts that nothing depends on."""
        return self.make(x, {key: _derivative(v, values[key], x) for key, v in self.parts(x)})

    def measured(self, x: Any) -> Callable[[Any], Any] | None:
        """What gives a number the unit of `x`, the value of f; None where it has none."""
        return None


def _derivative(part: Any, c: Any, x: Any) -> Any:
    if labelled_kind(type(c)) is None:
        return np.zeros_like(part) if c is None else c
    raise StructureError(
        f"a loss with a unit has no gradient with respect to a {type(x).__name__}.",
        f"a {type(x).__name__} holds plain numbers, without a unit.",
        "return the loss as a number: loss.magnitude, or loss divided by its unit.",
        tag="labels",
    )


def array_in(x: Any) -> Any:
    """The array that pandas or xarray hold in a class of ours; anything else as it is."""
    kind = labelled_kind(type(x))
    return kind.parts(x)[0][1] if getattr(kind, "bare", False) else x
