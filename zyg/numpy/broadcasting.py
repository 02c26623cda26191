"""``broadcast`` of watched arrays: their shape together, and their elements in turn."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

import numpy

from zyg.base.marks import stands_for
from zyg.core.strand import WATCHED, strip
from zyg.watched.value import as_array


@stands_for(numpy.broadcast)
class broadcast:  # noqa: N801
    """numpy.broadcast, an operand of which is watched; of plain operands it is NumPy's own."""

    __signature__ = Signature([Parameter("arrays", Parameter.VAR_POSITIONAL)])  # NumPy's

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if any(type(x) in WATCHED or type(x) is cls for x in args):
            return super().__new__(cls)
        return numpy.broadcast(*args, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._arrays = [a for x in args for a in _arrays_of(x)]
        self._plain = numpy.broadcast(*map(strip, self._arrays), **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    @property
    def iters(self) -> tuple[Any, ...]:
        return tuple(a.flat for a in self._arrays)

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        place = self.index
        next(self._plain)
        index = numpy.unravel_index(place, self.shape)
        return tuple(numpy.broadcast_to(a, self.shape)[index] for a in self._arrays)


def _arrays_of(x: Any) -> list[Any]:
    if isinstance(x, numpy.broadcast):
        return [part.base for part in x.iters]
    return x._arrays if type(x) is broadcast else [as_array(x)]
