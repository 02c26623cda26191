"""Series and frames of pandas: f sees itself, around columns of watched numbers.

Index, alignment, selection and grouping stay pandas'. Columns that hold no floats carry nothing,
and are not in a gradient.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas
from numpy.lib.mixins import NDArrayOperatorsMixin
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from zyg.base.labelled import labelled
from zyg.core.objects import stacked
from zyg.errors import MissingRuleError
from zyg.functions.kit import as_array, is_watched, strip
from zyg.interop.labels import Labelled


class WatchedDtype(ExtensionDtype):
    """The dtype of a column of watched numbers."""

    name = ""  # of pandas' is a property without a setter
    type = float
    kind = "f"
    _is_numeric = True
    _metadata = ("name",)

    def __init__(self, dtype: Any = "float64") -> None:
        self.name = f"watched[{np.dtype(dtype)}]"

    @classmethod
    def construct_array_type(cls) -> Any:
        return WatchedColumn

    @classmethod
    def construct_from_string(cls, string: str) -> WatchedDtype:
        if isinstance(string, str) and string.startswith("watched["):
            return cls(string[8:-1])
        raise TypeError(f"{string!r} is no watched dtype")


class WatchedColumn(NDArrayOperatorsMixin, ExtensionArray):
    """A column of watched numbers, with NaN for what is missing."""

    __array_priority__ = 2000.0

    def __init__(self, data: Any) -> None:
        self.data = data

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Any:
        if isinstance(scalars, WatchedColumn):
            return cls(scalars.data.copy() if copy else scalars.data)
        return cls(scalars if is_watched(scalars) else np.stack([*map(as_array, scalars)]))

    @property
    def dtype(self) -> WatchedDtype:
        return WatchedDtype(self.data.dtype)

    nbytes = property(lambda self: self.data.nbytes)

    def __len__(self) -> int:
        return len(self.data)

    def __getattr__(self, name: str) -> Any:
        if name == "data" or name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.data, name)  # `Series.values` is an array to who asks for it

    def __getitem__(self, item: Any) -> Any:
        if type(item) is tuple:
            return self.data[item]
        item = pandas.api.indexers.check_array_indexer(self, item)
        part = self.data[item]
        return WatchedColumn(part) if np.ndim(part) else part

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[pandas.api.indexers.check_array_indexer(self, key)] = _data(value)

    def _values_for_argsort(self) -> Any:
        return strip(self.data)

    def _values_for_factorize(self) -> Any:
        return strip(self.data), np.nan

    def isin(self, values: Any) -> Any:
        values = [*map(strip, values)]
        return pandas.Series(strip(self.data)).isin(values).to_numpy()

    def _mode(self, dropna: bool = True) -> Any:
        raise _unknown("mode")

    def isna(self) -> Any:
        return np.isnan(strip(self.data))

    def copy(self) -> WatchedColumn:
        return WatchedColumn(self.data.copy())

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Any:
        indices = np.asarray(indices)
        if not allow_fill:
            return WatchedColumn(self.data[indices])
        if np.any(indices < -1):
            raise ValueError("indices below -1 with allow_fill")
        if not len(self):
            return WatchedColumn(np.full(len(indices), np.nan))
        found = self.data[np.maximum(indices, 0)]
        missing = np.nan if fill_value is None else fill_value
        return WatchedColumn(np.where(indices < 0, missing, found))

    @classmethod
    def _concat_same_type(cls, to_concat: Any) -> WatchedColumn:
        return cls(np.concatenate([x.data for x in to_concat]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.data, dtype)

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        return self.data

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        if isinstance(dtype, WatchedDtype):
            return self.copy() if copy else self
        if np.dtype(dtype).kind == "f":
            return WatchedColumn(self.data.astype(dtype))
        if np.dtype(dtype).kind == "O":
            _demand_values()
            objects = np.empty(len(self), object)
            objects[:] = [*self.data]
            return objects
        return strip(self.data).astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, (pandas.Series, pandas.DataFrame, pandas.Index)) for x in inputs):
            return NotImplemented
        y = getattr(ufunc, method)(*map(_data, inputs), **options)
        return WatchedColumn(y) if np.ndim(y) and strip(y).dtype.kind == "f" else y

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, **options: Any
    ) -> Any:
        if name not in _REDUCTIONS:
            raise _unknown(name)
        missing = self.isna()
        data = self.data[~missing] if skipna and missing.any() else self.data
        if len(self) - np.sum(missing) < options.get("min_count", 0):
            y = np.nan
        else:
            y = _REDUCTIONS[name](data, **{k: v for k, v in options.items() if k == "ddof"})
        return WatchedColumn(np.reshape(y, 1)) if keepdims else y

    def _accumulate(self, name: str, *, skipna: bool = True, **options: Any) -> WatchedColumn:
        if name not in ("cumsum", "cumprod"):
            raise _unknown(name)
        missing = self.isna() & skipna
        filled = np.where(missing, 0.0 if name == "cumsum" else 1.0, self.data)
        return WatchedColumn(np.where(missing, np.nan, getattr(np, name)(filled)))


def _std(x: Any, ddof: int = 1) -> Any:
    return np.std(x, ddof=ddof)


def _var(x: Any, ddof: int = 1) -> Any:
    return np.var(x, ddof=ddof)


_REDUCTIONS: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "median": np.median, "min": np.min,
    "max": np.max, "std": _std, "var": _var,
}  # fmt: skip


def _data(x: Any) -> Any:
    return x.data if isinstance(x, WatchedColumn) else x


def _unknown(name: str) -> MissingRuleError:
    return MissingRuleError(
        f"{name} of a column with watched numbers is not known.",
        "pandas would compute it in compiled code, from plain numbers.",
        "compute it from column.to_numpy(), which is a watched array.",
    )


_COMPARING = {"isin", "rank"}  # methods of frames, whose compiled code finds no NaN among objects


def _demand_values() -> None:
    """Refuse what pandas would do with the elements of a frame as objects, where it goes wrong."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("pandas."):
        if frame.f_code.co_name in _COMPARING:
            raise _unknown(frame.f_code.co_name)
        frame = frame.f_back


def _of(column: Any) -> Any:
    """The numbers of a column; None where it has none that are differentiated."""
    values = column.array
    if isinstance(values, WatchedColumn):
        return values.data
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "fO":
        return None
    data = stacked(column.to_numpy())
    return data if data.dtype.kind == "f" else None


def _numbers(column: Any) -> Any:
    return column.array.data if isinstance(column.array, WatchedColumn) else column.to_numpy()


def _column(data: Any) -> Any:
    return WatchedColumn(data) if is_watched(data) else data


class _Series(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        data = _of(x)
        return [] if data is None else [("values", data)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return pandas.Series(_column(values["values"]), index=x.index, name=x.name, copy=False)

    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        return self.make(x, {"values": function(*[_numbers(x) if o is x else o for o in operands])})

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return _of(c.reindex(x.index)) if isinstance(c, pandas.Series) else c


class _Frame(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        columns = ((k, _of(x.iloc[:, k])) for k in range(x.shape[1]))
        return [(k, data) for k, data in columns if data is not None]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        made = {
            k: pandas.Series(_column(values[k]), index=x.index, copy=False)
            if k in values
            else x.iloc[:, k]
            for k in range(x.shape[1])
        }
        frame = pandas.DataFrame(made, index=x.index, copy=False)
        frame.columns = x.columns
        return frame

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        return super().tangent(x, values, gradient).iloc[:, [*values]]

    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        made = {}
        for k in range(x.shape[1]):
            column = _numbers(x.iloc[:, k])
            made[k] = function(
                *[column if o is x else np.broadcast_to(o, x.shape)[:, k] for o in operands]
            )
        return self.make(x, made)

    def part(self, x: Any, c: Any, key: Any) -> Any:
        if not isinstance(c, pandas.DataFrame):
            return None
        return _of(c.reindex(x.index)[x.columns[key]])


class _Values(Labelled):
    """What f takes out of a column, and may return."""

    bare = True

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("data", x.data)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return _column(values["data"])

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return _data(c)


labelled[WatchedColumn] = _Values()
labelled[pandas.Series] = _Series()
labelled[pandas.DataFrame] = _Frame()
