"""NumPy's masked arrays: f sees one of watched elements; what is masked has no gradient."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.ma import MaskedArray, core, getmaskarray, masked

from zyg.base.labelled import labelled
from zyg.base.quiet import quiet
from zyg.errors import MissingRuleError
from zyg.functions.kit import is_watched, strip
from zyg.interop.labels import Labelled

_DOMAINS: dict[Any, Any] = vars(core)["ufunc_domain"]  # where a ufunc's result is masked
_REDUCTIONS: dict[str, Any] = {  # what a reduction takes masked elements for
    "sum": 0.0, "prod": 1.0, "min": np.inf, "max": -np.inf, "all": True, "any": False,
}  # fmt: skip


class WatchedMasked(NDArrayOperatorsMixin):
    """A masked array of watched elements: the array, and where it is masked."""

    def __init__(self, data: Any, mask: Any = False) -> None:
        self.data = data
        self.mask = np.broadcast_to(np.asarray(mask, bool), np.shape(data))

    shape = property(lambda self: np.shape(self.data))
    ndim = property(lambda self: np.ndim(self.data))
    size = property(lambda self: np.size(self.data))
    dtype = property(lambda self: self.data.dtype)
    _mask = property(lambda self: self.mask)  # which functions of np.ma ask for
    T = property(lambda self: WatchedMasked(self.data.T, self.mask.T))

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return repr(MaskedArray(strip(self.data), self.mask))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, WatchedMasked):
            index = strip(index.filled(False))
        data, mask = self.data[index], self.mask[index]
        if np.ndim(data):
            return WatchedMasked(data, mask)
        return masked if mask else data

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.signature:
            raise _unknown(f"np.{ufunc.__name__}, by {method}, with options or of matrices,")
        kinds = (WatchedMasked, MaskedArray)
        data = [x.data if isinstance(x, kinds) else x for x in inputs]
        mask = np.logical_or.reduce(np.broadcast_arrays(*[_mask(x) for x in inputs]))
        domain = _DOMAINS.get(ufunc)
        with quiet():
            if domain is not None:
                mask = mask | domain(*map(strip, data))
            y = ufunc(*[_safe(x, mask, self.data) for x in data])
        return WatchedMasked(y, mask) if np.ndim(y) else (masked if mask else y)

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = f.__name__
        method = getattr(args[0], name, None) if isinstance(args[0], WatchedMasked) else None
        if callable(method):
            return method(*args[1:], **kwargs)
        if method is None or len(args) > 1 or kwargs:
            raise _unknown(f"np.{name}")
        return method

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if np.any(self.mask):  # functions of np.ma ask so, and would take what is masked
            raise _unknown("a conversion to an array, as functions of np.ma make it,")
        return np.array(self.data, dtype, copy=copy)

    def filled(self, value: Any = 1e20) -> Any:
        return np.where(self.mask, np.asarray(value, self.dtype), self.data)

    def compressed(self) -> Any:
        return self.data[~self.mask]

    def count(self, axis: Any = None) -> Any:
        return np.sum(~self.mask, axis=axis)

    def _reduced(self, name: str, axis: Any = None, **options: Any) -> Any:
        y = getattr(np, name)(self.filled(_REDUCTIONS[name]), axis=axis, **options)
        mask = np.all(self.mask, axis=axis, keepdims=bool(options.get("keepdims")))
        return WatchedMasked(y, mask) if np.ndim(y) else (masked if mask else y)

    sum, prod = partialmethod(_reduced, "sum"), partialmethod(_reduced, "prod")
    min, max = partialmethod(_reduced, "min"), partialmethod(_reduced, "max")
    all, any = partialmethod(_reduced, "all"), partialmethod(_reduced, "any")

    def mean(self, axis: Any = None) -> Any:
        return self.sum(axis) / np.maximum(self.count(axis), 1)

    def var(self, axis: Any = None, ddof: int = 0) -> Any:
        count = np.sum(~self.mask, axis=axis, keepdims=True)
        centre = np.sum(self.filled(0.0), axis=axis, keepdims=True) / np.maximum(count, 1)
        squares = ((self - centre) ** 2).sum(axis)
        degrees = self.count(axis) - ddof
        if np.ndim(degrees):
            return squares / MaskedArray(np.maximum(degrees, 1), degrees <= 0)
        return squares / degrees if degrees > 0 else masked

    def std(self, axis: Any = None, ddof: int = 0) -> Any:
        return np.sqrt(self.var(axis, ddof))

    def reshape(self, *shape: Any) -> WatchedMasked:
        return WatchedMasked(self.data.reshape(*shape), self.mask.reshape(*shape))

    def transpose(self, *axes: Any) -> WatchedMasked:
        return WatchedMasked(self.data.transpose(*axes), self.mask.transpose(*axes))

    def ravel(self) -> WatchedMasked:
        return self.reshape(-1)

    def copy(self) -> WatchedMasked:
        return WatchedMasked(self.data.copy(), self.mask)


def _mask(x: Any) -> Any:
    return x.mask if isinstance(x, WatchedMasked) else getmaskarray(strip(x))


def _safe(x: Any, mask: Any, like: Any) -> Any:
    """An operand, 1 where the result is masked: what stands there is nobody's number."""
    if not np.any(mask) or np.asarray(strip(x)).dtype.kind == "b":
        return x
    return np.where(mask, np.ones((), np.asarray(strip(x)).dtype), x)


def _unknown(what: str) -> MissingRuleError:
    return MissingRuleError(
        f"{what} of a masked array with watched elements is not known.",
        "masks have rules of their own in each function.",
        "compute with x.filled(value), or x.compressed(), which are plain arrays.",
    )


class _Masked(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("data", np.asarray(x.data) if isinstance(x, MaskedArray) else x.data)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        data = values["data"]
        if is_watched(data):
            return WatchedMasked(data, _mask(x))
        made = MaskedArray(data, _mask(x).copy())
        if isinstance(x, MaskedArray):
            made.fill_value = x.fill_value
        return made

    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        if isinstance(x, WatchedMasked):
            return NotImplemented
        lifted = WatchedMasked(np.asarray(x.data), _mask(x))
        return function(*[lifted if o is x else o for o in operands])

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return c.filled(0.0) if isinstance(c, MaskedArray) else c


labelled[MaskedArray] = labelled[WatchedMasked] = _Masked()
