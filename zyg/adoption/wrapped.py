"""Functions that numba compiled, or that are memoised: on watched values, what they wrap runs.
Methods of float as functions, ``float.__mul__``: on watched values, the operator. Objects of a
class that has a drop-in: on watched values, an object of that.

Machine code computes plain numbers only, and a memo answers with those that it has for an equal
plain key. Both keep the function in Python that they were made of.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from zyg.core.handouts import plainly
from zyg.core.strand import strip
from zyg.numpy.creation import FUNCTIONS
from zyg.watched.dropins import DropIn, MethodDropIn, if_watched
from zyg.watched.numbers import WatchedReal


class Wrapping(MethodDropIn):
    """The drop-in for such a function, whose other attributes are the function's."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class Instance(DropIn):
    """The drop-in for an object of a class that has one: `renewed` makes an object of that."""

    __slots__ = ("renewed",)
    renewed: Callable[[Any], Any]

    def __init__(self, original: Any, renewed: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "renewed", renewed)
        object.__setattr__(self, "original", original)
        object.__setattr__(
            self, "inside", lambda *args, **kwargs: renewed(original)(*args, **kwargs)
        )

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.renewed(self.original), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.original, name, value)


def stand_in(value: Any, original: Callable[[Any], Any]) -> DropIn | None:
    """What stands for a value in an adopted module, if it is such a function.

    `original` says what a drop-in stands for: machine code takes no drop-ins as arguments.
    """
    kind = type(value)
    make = _INSIDE.get((kind.__module__, kind.__name__))
    inside = None if make is None else make(value, original)
    if inside is None:  # of anything else nothing is asked, as a lazy module would be loaded by it
        return None
    return (Wrapping if hasattr(value, "__wrapped__") else MethodDropIn)(value, inside)


def _memoised(f: Any, original: Callable[[Any], Any]) -> Callable[..., Any]:
    return if_watched(f, f.__wrapped__)


def _compiled(f: Any, original: Callable[[Any], Any]) -> Callable[..., Any]:
    return _unless_plain(f, f.__wrapped__, original)


def _looping(f: Any, original: Callable[[Any], Any]) -> Callable[..., Any]:
    return _unless_plain(f, functools.partial(_looped, f), original)


def _of_float(f: Any, original: Callable[[Any], Any]) -> Callable[..., Any] | None:
    name = f.__name__
    turned = getattr(operator, f"__{name[3:]}", None) if name.startswith("__r") else None
    function: Any = getattr(operator, name, getattr(WatchedReal, name, None))

    def written(*operands: Any) -> Any:
        return function(*operands) if turned is None else turned(*operands[::-1])

    return if_watched(f, written) if f.__objclass__ is float else None


def _unless_plain(f: Any, written: Callable[..., Any], original: Any) -> Callable[..., Any]:
    def inside(*args: Any, **kwargs: Any) -> Any:
        given = {name: original(x) for name, x in kwargs.items()}
        y = plainly(f, [*map(original, args)], given)
        return written(*args, **kwargs) if y is NotImplemented else y

    return inside


def _looped(f: Any, *args: Any) -> Any:
    """A generalized ufunc: its function, once for each place of the axes that it loops over."""
    of_inputs, of_outputs = ([*map(_axes, s.split("),"))] for s in f.ufunc.signature.split("->"))
    inputs, given = args[: len(of_inputs)], args[len(of_inputs) :]
    cut = [np.ndim(x) - len(axes) for x, axes in zip(inputs, of_inputs, strict=True)]
    loop = np.broadcast_shapes(*[np.shape(x)[:k] for x, k in zip(inputs, cut, strict=True)])
    cores = [np.shape(x)[k:] for x, k in zip(inputs, cut, strict=True)]
    if not given:
        sizes = dict(zip(chain.from_iterable(of_inputs), chain.from_iterable(cores), strict=True))
        dtypes = [np.asarray(strip(x)).dtype for x in inputs] + [None] * len(of_outputs)
        shapes = [loop + tuple(sizes[name] for name in axes) for axes in of_outputs]
        made = f.ufunc.resolve_dtypes(tuple(dtypes))[len(inputs) :]
        given = tuple(map(FUNCTIONS["empty"], shapes, made))
    spread = [np.broadcast_to(x, loop + core) for x, core in zip(inputs, cores, strict=True)]
    into = [y if axes else y[..., None] for y, axes in zip(given, of_outputs, strict=True)]
    for index in np.ndindex(loop):
        f.__wrapped__(*[x[index] for x in spread], *[y[index] for y in into])
    values = [y if np.ndim(y) else y[()] for y in given]
    return values[0] if len(values) == 1 else tuple(values)


def _axes(term: str) -> list[str]:
    return [name for name in term.strip("() ").split(",") if name]


_INSIDE = {
    ("builtins", "wrapper_descriptor"): _of_float,
    ("functools", "_lru_cache_wrapper"): _memoised,
    ("numba.core.registry", "CPUDispatcher"): _compiled,
    ("numba.np.ufunc.gufunc", "GUFunc"): _looping,
}
