"""Watched arrays of other libraries: what those of a device and guests have in common.

The rules are those of NumPy's arrays, and so is the reverse pass. What differs is memory. Nobody
but their library knows where views of such an array lie, so a read makes a new value, whose
cotangent is added to a part of the cotangent of what was read, and a write is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zyg.base.array_types import ArraySpec, add_at
from zyg.base.registry import adjoint
from zyg.base.structure import Structure
from zyg.core.cotangents import spec_of
from zyg.core.entries import Kind, kinds, lacking, note
from zyg.core.exchange import bring
from zyg.core.indices import frozen, is_unique
from zyg.core.reverse import Run
from zyg.core.strand import WATCHED, local, settle
from zyg.core.tangents import Tangents, tangent_views
from zyg.watched.arrays import WatchedArray
from zyg.watched.attributes import METHODS, attribute


class WatchedDuckArray(WatchedArray):
    """A watched array of another library's."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # The truth: compiled code that is told that this is its library's array reads its fields.
        return type(self)

    def __getattr__(self, name: str) -> Any:  # what NumPy's arrays do not have, as x.get()
        return attribute(self, name)

    def __getitem__(self, index: Any) -> Any:
        return read(self, index)

    def demand_ready(self, f: Any) -> None:
        """Refuse a function whose rule does not do for such an array."""

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not self.strand.open:
            values = Structure((args, kwargs), lambda x: type(x) in WATCHED)
            args, kwargs = values.rebuild([settle(x) for x in values.leaves])
            return f(*args, **kwargs)
        self.demand_ready(f)
        return super().__array_function__(f, types, args, kwargs)


def _define_method(name: str, function: Any) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.demand_ready(function)
        return attribute(self, name)(*args, **kwargs)

    setattr(WatchedDuckArray, name, method)


for _name, _function in METHODS.items():
    _define_method(_name, _function)
WATCHED.add(WatchedDuckArray)


def read(x: Any, index: Any) -> Any:
    """``x[index]``: a new value, not a view."""
    index = frozen(index)
    if not x.strand.open:
        return settle(x)[index]
    if not x.strand.alone:
        x = bring(local(x.strand), x)
    primal = x.primal
    pull = read_pullback, x.slot, index, is_unique(index), spec_of(primal)
    return note(x.strand, primal[index], *pull)


def read_pullback(
    run: Run, y_bar: Any, slot: int, index: Any, unique: bool, spec: ArraySpec
) -> Any:
    have = run.bars[slot]
    if type(y_bar) in WATCHED or type(have) in WATCHED or not spec.array_type.writable:
        return ((slot, _placed(y_bar, index, unique, spec)),)
    if slot not in run.owned:
        run.bars[slot] = spec.zeros() if have is None else have.copy()
        run.owned.add(slot)
    with _naming(y_bar):
        add_at(run.bars[slot], index, unique, y_bar)
    return ()


def read_pushforward(slot: Any, index: Any, unique: bool, spec: ArraySpec) -> Tangents:
    u = tangent_views(slot)
    return None if u is None else [p[index] for p in u]


kinds[read_pullback] = Kind(lambda slot, *_: [slot], read_pushforward)


@adjoint
def _placed(c: Any, index: Any, unique: bool, spec: ArraySpec) -> Any:
    """Zeros, with `c` added at the index."""

    def placed_pullback(y_bar: Any) -> Any:
        return y_bar[index], None, None, None

    with _naming(c):
        return spec.array_type.placed(spec, index, unique, c), placed_pullback


_placed.linear = (0,)


@contextmanager
def _naming(c: Any) -> Iterator[None]:
    """What a library cannot add to a part, it is refused for."""
    try:
        yield
    except TypeError as error:
        if not (made := lacking(error, "add.at", [c])):
            raise
        raise made from error
