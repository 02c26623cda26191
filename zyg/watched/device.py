"""Watched device arrays: the arrays of another library, as CuPy's on a GPU.

The rules are those of NumPy's arrays, and so is the reverse pass. What differs is memory. Nobody
but their library knows where views of a device array lie, so a read makes a new value, whose
cotangent is added to a part of the cotangent of what was read, and a write is refused. Plain device
arrays have no flag that protects them: whoever writes to an operand before the reverse pass gets
the derivative at what was written. And nothing is brought to the host but by the program's own
request: ``print(x)``, ``if x > 0``.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from zyg.base.array_types import ArraySpec, ArrayType
from zyg.base.registry import adjoint, rules
from zyg.base.structure import Structure
from zyg.core.cotangents import spec_of
from zyg.core.entries import Kind, kinds, lacking, note
from zyg.core.exchange import bring
from zyg.core.indices import frozen, is_unique
from zyg.core.reverse import Run
from zyg.core.strand import WATCHED, local, settle, watcher_of
from zyg.core.tangents import Tangents, tangent_views
from zyg.errors import ConversionError, MissingRuleError
from zyg.watched.arrays import WatchedArray
from zyg.watched.attributes import METHODS, attribute


class WatchedDeviceArray(WatchedArray):
    """A watched array of another library's."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # The truth: compiled code that is told that this is its library's array reads its fields.
        return WatchedDeviceArray

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("a watched array has no memory to offer: zyg.stop_gradient(x) has")

    def __getattr__(self, name: str) -> Any:  # what NumPy's arrays do not have, as x.get()
        return attribute(self, name)

    def __getitem__(self, index: Any) -> Any:
        return read(self, index)

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not self.strand.open:
            values = Structure((args, kwargs), lambda x: type(x) in WATCHED)
            args, kwargs = values.rebuild([settle(x) for x in values.leaves])
            return f(*args, **kwargs)
        _demand_ready(f)
        return super().__array_function__(f, types, args, kwargs)

    def item(self, *place: Any) -> NoReturn:
        _refuse_transfer("x.item()")

    def tolist(self) -> NoReturn:
        _refuse_transfer("x.tolist()")


def _define_method(name: str, function: Any) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _demand_ready(function)
        return attribute(self, name)(*args, **kwargs)

    setattr(WatchedDeviceArray, name, method)


for _name, _function in METHODS.items():
    _define_method(_name, _function)
WATCHED.add(WatchedDeviceArray)
watcher_of.update(dict.fromkeys((ArrayType, WatchedDeviceArray), WatchedDeviceArray))

# The functions whose rules neither look at elements nor make arrays of the host.
_READY = {
    # rearranging
    np.ravel, np.reshape, np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis,
    np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_to,
    np.broadcast_arrays, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.copy, np.astype,
    # joining, splitting, choosing
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.append, np.split,
    np.array_split, np.hsplit, np.vsplit, np.dsplit, np.unstack, np.tile, np.repeat, np.pad,
    np.meshgrid, np.where, np.select, np.clip, np.take, np.take_along_axis, np.delete, np.sort,
    np.diagonal, np.diag, np.diagflat, np.tril, np.triu, np.zeros_like, np.ones_like, np.empty_like,
    # reductions
    np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.var, np.std, np.ptp, np.trace,
    np.average, np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin, np.nanvar, np.nanstd,
    np.cumsum, np.nancumsum, np.diff, np.trapezoid, np.unwrap, np.linalg.norm,
    np.linalg.vector_norm,
    # products
    np.dot, np.inner, np.outer, np.vdot, np.tensordot, np.einsum, np.kron, np.cross, np.convolve,
    np.correlate, np.linalg.multi_dot, np.linalg.matrix_power, np.linalg.inv, np.linalg.solve,
    np.linalg.slogdet, np.linalg.cholesky,
    np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft,
    np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2,
    np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn,
    # by element
    np.real, np.imag, np.angle, np.conjugate, np.nan_to_num, np.round, np.around, np.interp,
}  # fmt: skip


def _demand_ready(f: Any) -> None:
    if getattr(rules.get(f), "ours", False) and f not in _READY:
        raise MissingRuleError(
            f"np.{f.__name__} of a watched device array has no rule.",
            "its rule looks at elements, which would copy them to the host, or makes arrays there.",
            "write it in functions that have one, or give it one of your own with zyg.adjoint.",
            tag="device",
        )


def _refuse_transfer(what: str) -> NoReturn:
    raise ConversionError(
        f"{what} of a watched device array would copy it to the host, and drop its derivative.",
        "a number of the host carries no derivative back to the device.",
        "use the array of no axes itself, as x[0] or np.sum(x); zyg.stop_gradient(x).item() gives "
        "the plain number.",
        tag="host-copy",
    )


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
    if type(y_bar) in WATCHED or type(have) in WATCHED:
        return ((slot, _placed(y_bar, index, unique, spec)),)
    if slot not in run.owned:
        run.bars[slot] = spec.zeros() if have is None else have.copy()
        run.owned.add(slot)
    _add_at(run.bars[slot], index, unique, y_bar)
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

    y = spec.zeros()
    _add_at(y, index, unique, c)
    return y, placed_pullback


_placed.linear = (0,)


def _add_at(target: Any, index: Any, unique: bool, c: Any) -> None:
    if unique:
        target[index] += c
        return
    try:
        np.add.at(target, index, c)
    except TypeError as error:
        if not (made := lacking(error, "add.at", [target])):
            raise
        raise made from error
