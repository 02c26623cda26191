"""Quantities of astropy: f sees one of watched numbers; units and factors are astropy's own.

A gradient has the unit of the loss over the argument's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from astropy.units import Quantity, Unit, UnitBase
from astropy.units.quantity_helper import converters_and_unit
from astropy.units.quantity_helper.function_helpers import (
    FUNCTION_HELPERS,
    SUBCLASS_SAFE_FUNCTIONS,
)
from numpy.lib.mixins import NDArrayOperatorsMixin

from zyg.base.labelled import labelled
from zyg.errors import MissingRuleError
from zyg.functions.kit import is_watched, strip
from zyg.interop.labels import Labelled

_KEEP = {
    "sum", "mean", "std", "min", "max", "cumsum", "reshape", "ravel", "transpose", "squeeze",
    "trace", "diagonal", "take", "repeat", "swapaxes", "copy",
}  # fmt: skip
_DROP = {"argmin", "argmax", "argsort", "shape", "ndim", "size"}
# What computes with the numbers of a quantity as they are, and then says the unit, by astropy's own
# table: those that it lets pass, and those that it only takes the array for.
_OF_ARRAYS = {
    "invariant_a_helper", "invariant_m_helper", "invariant_x_helper", "nanmedian", "nanvar",
    "nanstd", "quantile", "percentile", "diff", "gradient", "diag", "svd", "inv", "pinv", "det",
    "norm", "matrix_power", "cholesky", "qr", "eig",
}  # fmt: skip
_AS_THEY_ARE = (SUBCLASS_SAFE_FUNCTIONS - {np.apply_along_axis}) | {
    f for f, helper in FUNCTION_HELPERS.items() if helper.__name__ in _OF_ARRAYS
}
_ONE, _NUMBERS = (
    Unit(""),
    ("dimensionless", "angle"),
)  # to which ufuncs convert percents and degrees
_PRODUCTS = {"dot", "inner", "outer", "tensordot", "matmul", "vdot", "cross", "kron"}
_JOINS = {"concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"}


class WatchedQuantity(NDArrayOperatorsMixin):
    """A watched number or array, and its unit."""

    __array_priority__ = 20000.0

    def __init__(self, value: Any, unit: Any) -> None:
        self.value = value
        self.unit = unit

    shape = property(lambda self: np.shape(self.value))
    ndim = property(lambda self: np.ndim(self.value))
    size = property(lambda self: np.size(self.value))
    dtype = property(lambda self: self.value.dtype)
    isscalar = property(lambda self: not np.ndim(self.value))
    T = property(lambda self: WatchedQuantity(self.value.T, self.unit))
    si = property(lambda self: self._scaled("si"))
    cgs = property(lambda self: self._scaled("cgs"))

    def _scaled(self, name: str) -> WatchedQuantity:
        one = getattr(Quantity(1.0, self.unit), name)
        return WatchedQuantity(self.value * one.value, one.unit)

    def decompose(self) -> WatchedQuantity:
        one = Quantity(1.0, self.unit).decompose()
        return WatchedQuantity(self.value * one.value, one.unit)

    def __repr__(self) -> str:
        return repr(Quantity(strip(self.value), self.unit))

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return (WatchedQuantity(x, self.unit) for x in self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.to_value(""))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise _unknown("np.asarray")

    def __getitem__(self, index: Any) -> Any:
        return WatchedQuantity(self.value[index], self.unit)

    def __setitem__(self, index: Any, x: Any) -> None:
        self.value[index] = _value(x, self.unit)

    def __getattr__(self, name: str) -> Any:
        if name != "var" and name not in _KEEP | _DROP:
            raise AttributeError(f"a watched Quantity has no attribute {name!r}")
        unit = None if name in _DROP else self.unit**2 if name == "var" else self.unit
        return lambda *args, **kwargs: _with(getattr(self.value, name)(*args, **kwargs), unit)

    def __lshift__(self, unit: Any) -> WatchedQuantity:
        return self.to(unit)

    def to(self, unit: Any, equivalencies: Any = (), copy: bool = True) -> WatchedQuantity:
        unit = Unit(unit)
        convert = self.unit.get_converter(unit, equivalencies and [*equivalencies])
        return WatchedQuantity(convert(self.value), unit)

    def to_value(self, unit: Any = None, equivalencies: Any = ()) -> Any:
        return self.value if unit is None else self.to(unit, equivalencies).value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            raise _unknown(f"np.{ufunc.__name__} with out=")
        plain = [Quantity(1.0, x) if isinstance(x, UnitBase) else x for x in inputs]
        raises = ufunc in (np.power, np.float_power)  # where astropy looks at more than units
        asked = [x if type(x) is WatchedQuantity and not raises else _plain(x) for x in plain]
        converters, unit = converters_and_unit(ufunc, method, *asked)
        values = [
            getattr(x, "value", x) if convert is None else convert(getattr(x, "value", x))
            for x, convert in zip(plain, converters, strict=True)
        ]
        return _with(getattr(ufunc, method)(*values, **options), unit)

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name, first = f.__name__, args[0]
        if kwargs.get("out") is not None:
            raise _unknown(f"np.{name} with out=")
        if f is np.clip:
            units = [getattr(x, "unit", None) for x in (*args, *kwargs.values())]
            unit = next(x for x in units if x is not None)
            args = [None if x is None else _value(x, unit) for x in args]
            kwargs = {k: None if x is None else _value(x, unit) for k, x in kwargs.items()}
            return _with(f(*args, **kwargs), unit)
        if name in _JOINS:
            unit = next(x.unit for x in first if isinstance(x, (WatchedQuantity, Quantity)))
            return _with(f([_value(x, unit) for x in first], *args[1:], **kwargs), unit)
        if name == "where" and len(args) == 3:
            unit = next(x.unit for x in args[1:] if isinstance(x, (WatchedQuantity, Quantity)))
            return _with(f(first, *[_value(x, unit) for x in args[1:]]), unit)
        if name in _PRODUCTS:
            a, b = args[:2]
            unit = getattr(a, "unit", Unit("")) * getattr(b, "unit", Unit(""))
            return _with(f(_bare(a), _bare(b), *args[2:], **kwargs), unit)
        given = [isinstance(x, (WatchedQuantity, Quantity)) for x in (*args, *kwargs.values())]
        if sum(given) > 1:
            raise _unknown(f"np.{name} of several quantities")
        if f not in _AS_THEY_ARE or not any(given):
            raise _unknown(f"np.{name}")
        own = f(*map(_plain, args), **{k: _plain(x) for k, x in kwargs.items()})
        unit = next(x.unit for x in (*args, *kwargs.values()) if hasattr(x, "unit"))
        if unit != _ONE and unit.physical_type in _NUMBERS and getattr(own, "unit", None) == _ONE:
            raise _unknown(f"np.{name} in {unit}, which astropy converts,")
        return _as(own, f(*map(_bare, args), **{k: _bare(x) for k, x in kwargs.items()}))


def _as(own: Any, y: Any) -> Any:
    """`y` with the units that astropy gives to the same plain value."""
    if isinstance(own, (tuple, list)):
        parts = map(_as, own, y)
        return type(own)(*parts) if hasattr(own, "_fields") else type(own)(parts)
    return _with(y, getattr(own, "unit", None))


def _with(y: Any, unit: Any) -> Any:
    if type(y) is tuple:
        units = unit if type(unit) is tuple else (unit,) * len(y)
        return tuple(map(_with, y, units))
    if unit is None:
        return y
    return WatchedQuantity(y, unit) if is_watched(y) else Quantity(y, unit)


def _plain(x: Any) -> Any:
    return Quantity(strip(x.value), x.unit) if isinstance(x, WatchedQuantity) else strip(x)


def _bare(x: Any) -> Any:
    return x.value if isinstance(x, (WatchedQuantity, Quantity)) else x


def _value(x: Any, unit: Any) -> Any:
    """The number of an operand in a unit; a plain number has none."""
    if isinstance(x, (WatchedQuantity, Quantity)):
        return x.to_value(unit)
    return Unit("").get_converter(unit)(x)


def _unknown(what: str) -> MissingRuleError:
    return MissingRuleError(
        f"{what} of an astropy Quantity with watched numbers is not known.",
        "units have rules of their own in each function.",
        "compute with q.to_value(unit), a watched number or array, and give the result its unit.",
    )


class _Quantity(Labelled):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("value", x.value)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return _with(values["value"], x.unit)

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        c = values["value"]
        if not gradient:
            return self.make(x, values)
        if isinstance(c, (WatchedQuantity, Quantity)):
            return _with(c.value, c.unit / x.unit)
        return _with(c, x.unit**-1)

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return c.to_value(x.unit) if isinstance(c, (WatchedQuantity, Quantity)) else c

    def measured(self, x: Any) -> Callable[[Any], Any]:
        return lambda c: _with(c, x.unit)

    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        if isinstance(x, WatchedQuantity):
            return NotImplemented
        lifted = WatchedQuantity(x.value, x.unit)
        return function(*[lifted if o is x else o for o in operands])


class _Unit(Labelled):
    """A unit, which has no parts: by it, a watched number becomes a quantity."""

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return []

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return x

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        return None

    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        if function is operator.lshift:
            return WatchedQuantity(operands[0], x)
        lifted = WatchedQuantity(1.0, x)
        return function(*[lifted if o is x else o for o in operands])


labelled[Quantity] = labelled[WatchedQuantity] = _Quantity()
labelled[UnitBase] = _Unit()
