"""Watched device arrays: the arrays of another library, as CuPy's on a GPU.

Plain device arrays have no flag that protects them: whoever writes to an operand before the
reverse pass gets the derivative at what was written. And nothing is brought to the host but by the
program's own request: ``print(x)``, ``if x > 0``.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from zyg.base.array_types import ArrayType
from zyg.base.registry import rules
from zyg.core.strand import WATCHED, watcher_of
from zyg.errors import ConversionError, MissingRuleError
from zyg.watched.duck import WatchedDuckArray


class WatchedDeviceArray(WatchedDuckArray):
    """A watched array of a device."""

    __slots__ = ()

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("a watched array has no memory to offer: zyg.stop_gradient(x) has")

    def demand_ready(self, f: Any) -> None:
        if getattr(rules.get(f), "ours", False) and f not in _READY:
            raise MissingRuleError(
                f"np.{f.__name__} of a watched device array has no rule.",
                "its rule looks at elements, which would copy them to the host, or makes arrays "
                "there.",
                "write it in functions that have one, or give it one of your own with zyg.adjoint.",
                tag="device",
            )

    def item(self, *place: Any) -> NoReturn:
        _refuse_transfer("x.item()")

    def tolist(self) -> NoReturn:
        _refuse_transfer("x.tolist()")


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


def _refuse_transfer(what: str) -> NoReturn:
    raise ConversionError(
        f"{what} of a watched device array would copy it to the host, and drop its derivative.",
        "a number of the host carries no derivative back to the device.",
        "use the array of no axes itself, as x[0] or np.sum(x); zyg.stop_gradient(x).item() gives "
        "the plain number.",
        tag="host-copy",
    )
