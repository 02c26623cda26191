"""Watched numbers.

`WatchedReal` (float, int, numpy.float64) has the short path: ``+ - * /`` and integer powers of
real numbers note slots and partial derivatives, without closure or rule. `WatchedScalar` is for any
other type of number and goes through `elementwise`, which must give the same results.
"""

from __future__ import annotations

import math
from numbers import Real
from types import MethodType
from typing import Any

import numpy as np

from zyg.base.labelled import beside
from zyg.base.registry import ScalarRule
from zyg.core.elementwise import elementwise, elementwise_of_one, elementwise_of_two
from zyg.core.exchange import bring
from zyg.core.strand import ARRAYS, WATCHED, active, cut, local_or_none, strip, watcher_of
from zyg.functions.operations import table
from zyg.watched.attributes import attribute, define_attributes
from zyg.watched.operators import define_by_text
from zyg.watched.value import WatchedValue, is_foreign, operator_rules

_ROUND = ScalarRule(round, (0, 0))


class _Number(WatchedValue):
    """A watched number: every operator of Python's data model."""

    __slots__ = ()

    __iter__ = None  # an index alone would make it one that can be gone through

    def __getitem__(self, index: Any) -> Any:
        plain = strip(self)
        if not isinstance(plain, np.generic):
            raise TypeError(f"'{type(plain).__name__}' object is not subscriptable")
        strip(self)[index]  # what NumPy's scalars refuse
        return self if isinstance(index, tuple) and not index else np.copy(self)[index]

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return round(strip(self))
        return elementwise(_ROUND, self, digits)

    def __trunc__(self) -> Any:
        return int(cut(self, "trunc()"))

    def __floor__(self) -> Any:
        return math.floor(cut(self, "floor()"))

    def __ceil__(self) -> Any:
        return math.ceil(cut(self, "ceil()"))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def _define_function(function: Any) -> None:
    """The function as a method; a number's own method of that name goes first."""
    name = function.__name__

    def answer(self: Any, *others: Any) -> Any:
        return function(self, *others)

    def method(self: Any) -> Any:
        own = hasattr(strip(self), name)
        return attribute(self, name) if own else MethodType(answer, self)

    setattr(_Number, name, property(method))


# What NumPy's loops over objects ask the elements for: x.sqrt(), x.exp(), x.arctan2(y).
for _ufunc in table:
    if isinstance(_ufunc, np.ufunc) and (_ufunc.nin == 1 or _ufunc in (np.arctan2, np.hypot)):
        _define_function(_ufunc)


class WatchedScalar(_Number):
    """A watched number of any type that is not a `WatchedReal`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return attribute(self, name)


class WatchedReal(_Number):
    """A watched float, int or numpy.float64: the short path, filled in from the texts below.

    No __getattr__: with one, CPython looks up every attribute by the slow way. What these three
    types have is listed instead.
    """

    __slots__ = ()


define_attributes(WatchedReal, float, int, np.float64)


# One text for + - * /, because a function call per operator would cost as much as the operator:
# a watched operand on this strand, a plain number, anything else as `WatchedScalar` does it. A
# partial of 1 from a plain number notes nothing: x + c shares the slot of x. Operands of other
# tasks are brought over first.

_SHORT_PATH = """
def __{name}__(self, other):
    strand = self.strand
    t = type(other)
    if strand.alone or {current} or (m := local_or_none(strand)) is strand:
        if t is WatchedReal:
            if other.strand is not strand and other.strand.level == strand.level:
                alias = strand.kin.imports.get((other.strand, other.slot))
                other = bring(strand, other) if alias is None else alias
            if other.strand is strand{watched_guard}:
                a, b = self.primal, other.primal
                y = WatchedReal()
                y.primal = value = a {symbol} b
                y.strand = strand
                y.slot = out = strand.new_slot()
                strand.note((out, self.slot, {da}, other.slot, {db}))
                return y
        elif (t is float or t is int or t is float64){guard}:
            a, b = self.primal, other
            y = WatchedReal()
            y.primal = value = a {symbol} b
            y.strand = strand
            {from_left}
            return y
    elif m is not None:
        return bring(m, self) {symbol} other
    if t in ARRAYS:
        return elementwise_of_two(rule, self, other)
    if t is ndarray:
        return elementwise_of_one(rule, self, other, 0)
    if is_foreign(self, other):
        return beside(rule.function, (self, other), other)
    return elementwise(rule, self, other)

def __r{name}__(self, other):
    strand = self.strand
    t = type(other)
    if (t is float or t is int or t is float64){reflected_guard}:
        if strand.alone or {current} or (m := local_or_none(strand)) is strand:
            a, b = other, self.primal
            y = WatchedReal()
            y.primal = value = a {symbol} b
            y.strand = strand
            {from_right}
            return y
        if m is not None:
            return other {symbol} bring(m, self)
    if is_foreign(self, other):
        return beside(rule.function, (other, self), other)
    return elementwise(rule, other, self)
"""

_NOTE = "y.slot = out = strand.new_slot(); strand.note((out, self.slot, {d}, None, None))"
_SHARE = "y.slot = self.slot"
# `local_or_none` of the innermost level, without a call.
_CURRENT = "(strand.open and (strands := active()) and strands[-1] is strand)"

for _name, _symbol, _da, _db, _guard, _reflected_guard in (
    ("add", "+", "1.0", "1.0", "", ""),
    ("sub", "-", "1.0", "-1.0", "", ""),
    ("mul", "*", "b", "a", "", ""),
    ("truediv", "/", "1 / b", "-value / b", " and other", " and self.primal"),
):
    _text = _SHORT_PATH.format(
        name=_name,
        symbol=_symbol,
        da=_da,
        db=_db,
        guard=_guard,
        watched_guard=_guard and f"{_guard}.primal",
        reflected_guard=_reflected_guard,
        current=_CURRENT,
        from_left=_SHARE if _da == "1.0" else _NOTE.format(d=_da),
        from_right=_SHARE if _db == "1.0" else _NOTE.format(d=_db),
    )
    _scope = {
        "WatchedReal": WatchedReal, "elementwise": elementwise, "is_foreign": is_foreign,
        "float64": np.float64, "rule": operator_rules[_name], "local_or_none": local_or_none,
        "bring": bring, "active": active.get, "ARRAYS": ARRAYS,
        "elementwise_of_one": elementwise_of_one, "elementwise_of_two": elementwise_of_two,
        "ndarray": np.ndarray, "beside": beside,
    }  # fmt: skip
    define_by_text(WatchedReal, (f"__{_name}__", f"__r{_name}__"), _text, _scope)


def _neg(self: Any) -> Any:
    return self * -1.0 if type(self.primal) is float else elementwise(operator_rules["neg"], self)


def _pow(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:  # integers only
        return pow(cut(self, "pow()"), cut(other, "pow()"), cut(modulo, "pow()"))
    strand = self.strand
    if type(other) is int and other > 1 and (strand.alone or local_or_none(strand) is strand):
        a = self.primal
        y = WatchedReal()
        y.primal = a**other
        y.strand = strand
        y.slot = out = strand.new_slot()
        strand.note((out, self.slot, other * a ** (other - 1), None, None))
        return y
    if is_foreign(self, other):
        return beside(pow, (self, other), other)
    return elementwise(operator_rules["pow"], self, other)


setattr(WatchedReal, "__neg__", _neg)  # noqa: B010
setattr(WatchedReal, "__pow__", _pow)  # noqa: B010

Real.register(WatchedReal)  # for who asks of the type, and not of the number
WATCHED.update((WatchedReal, WatchedScalar))
watcher_of.update({object: WatchedScalar, WatchedScalar: WatchedScalar})
watcher_of.update(dict.fromkeys((float, int, np.float64, WatchedReal), WatchedReal))
