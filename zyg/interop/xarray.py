"""Arrays and datasets of xarray: f sees itself, around watched arrays; labels stay xarray's.

Variables that hold no floats carry nothing, and are not in a gradient; nor are coordinates. Arrays
of the host are in a `WatchedData`: xarray wants arrays without axes where NumPy gives numbers, and
would convert a watched number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray
from numpy.lib.mixins import NDArrayOperatorsMixin

from zyg.base.labelled import labelled
from zyg.core.objects import stacked
from zyg.functions.kit import as_array, is_watched, strip
from zyg.interop.labels import Labelled

_ASKED_OFTEN = ("shape", "ndim", "size", "dtype")


class WatchedData(NDArrayOperatorsMixin):
    """The data of a variable with watched numbers: a watched array, of no axes too."""

    __array_priority__ = 2000.0

    def __init__(self, array: Any) -> None:
        self.array = as_array(array)
        plain = strip(self.array)
        self.shape, self.ndim, self.size = plain.shape, plain.ndim, plain.size
        self.dtype = plain.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        return repr(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.array, dtype)

    def __getitem__(self, index: Any) -> Any:
        return _data(self.array[_array(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[_array(index)] = _array(value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, _LABELLED) for x in inputs):
            return NotImplemented
        return _data(getattr(ufunc, method)(*_array(inputs), **_array(options)))

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if f is np.result_type:  # of dtypes alone, and asked often
            return f(*map(strip, _array(args)))
        return _data(f(*_array(args), **_array(kwargs)))


def _passed_on(name: str) -> property:
    """An attribute of the array's, or a method."""

    def attribute(self: WatchedData) -> Any:
        value = getattr(self.array, name)
        if not callable(value):
            return _data(value)
        return lambda *args, **kwargs: _data(value(*_array(args), **_array(kwargs)))

    return property(attribute)


# No __getattr__: xarray asks for dozens of attributes that only arrays of other libraries have.
for _name in dir(np.ndarray):
    if not _name.startswith("_") and _name not in {*vars(WatchedData), *_ASKED_OFTEN}:
        setattr(WatchedData, _name, _passed_on(_name))

_LABELLED = (xarray.Variable, xarray.DataArray, xarray.Dataset)


def _array(x: Any) -> Any:
    """What is in a WatchedData; of lists, tuples and dicts too."""
    if type(x) in (list, tuple):
        return type(x)(map(_array, x))
    if type(x) is dict:
        return {key: _array(value) for key, value in x.items()}
    return x.array if isinstance(x, WatchedData) else x


def _data(x: Any) -> Any:
    """A result as xarray keeps it."""
    if type(x) in (list, tuple):
        return type(x)(map(_data, x))
    if not is_watched(x):
        return x
    plain = strip(x)
    own = isinstance(plain, (np.ndarray, np.generic)) and plain.dtype.kind in "fc"
    return WatchedData(x) if own else x


def _of(x: Any) -> Any:
    """The numbers of a variable; None where it has none that are differentiated."""
    data = stacked(_array(x.variable.data if isinstance(x, xarray.DataArray) else x.data))
    return data if data.dtype.kind in "fc" else None


class _Labelled(Labelled):
    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        plain = {key: WatchedData(part) for key, part in self.parts(x) if type(part) is np.ndarray}
        variables = x.data_vars.values() if isinstance(x, xarray.Dataset) else [x]
        if not plain or any(isinstance(v.data, WatchedData) for v in variables):  # it is lifted
            return NotImplemented
        lifted = self.make(x, plain)
        return function(*[lifted if o is x else o for o in operands])


class _Array(_Labelled):
    """A DataArray, or a Variable."""

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        data = _of(x)
        return [] if data is None else [("data", data)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return x.copy(deep=False, data=_data(values["data"]))

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return _fitted(x, c) if isinstance(c, (xarray.DataArray, xarray.Variable)) else c


class _Dataset(_Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        variables = ((name, _of(v)) for name, v in x.data_vars.items())
        return [(name, data) for name, data in variables if data is not None]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return x.assign(
            {name: (x[name].dims, _data(data), x[name].attrs) for name, data in values.items()}
        )

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        return super().tangent(x, values, gradient)[[*values]]

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return _fitted(x[key], c[key]) if key in c else None


def _fitted(x: Any, c: Any) -> Any:
    """The numbers of a cotangent of `x`, its axes and places in the order of those of `x`."""
    if isinstance(c, xarray.DataArray) and isinstance(x, xarray.DataArray):
        c = c.reindex_like(x, copy=False)
    return _of(c.transpose(*x.dims))


class _Data(Labelled):
    """What f takes out of a variable, and may return."""

    bare = True

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("data", x.array)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        data = values["data"]
        return WatchedData(data) if is_watched(data) else data[()]

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return _array(c)


labelled[xarray.DataArray] = labelled[xarray.Variable] = _Array()
labelled[xarray.Dataset] = _Dataset()
labelled[WatchedData] = _Data()
