"""Arrays and datasets of xarray: f sees itself, around watched arrays; labels stay xarray's.

Variables that hold no floats carry nothing, and are not in a gradient; nor are coordinates.
"""

from __future__ import annotations

from typing import Any

import xarray

from zyg.base.labelled import labelled
from zyg.interop.labels import Labelled


class _DataArray(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("data", x.data)] if x.dtype.kind in "fc" else []

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return x.copy(deep=False, data=values["data"])

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return c.transpose(*x.dims).data if isinstance(c, xarray.DataArray) else c


class _Dataset(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [(name, v.data) for name, v in x.data_vars.items() if v.dtype.kind in "fc"]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return x.assign(
            {name: (x[name].dims, data, x[name].attrs) for name, data in values.items()}
        )

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        return super().tangent(x, values, gradient)[[*values]]

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return c[key].transpose(*x[key].dims).data if key in c else None


labelled[xarray.DataArray] = labelled[xarray.Variable] = _DataArray()
labelled[xarray.Dataset] = _Dataset()
