"""Watched numbers and arrays: what they answer, and what they refuse.

A watched value stands in for the plain one wherever Python lets it: it answers operators, NumPy's
protocols, attributes and ``isinstance``. Whatever would turn it into a plain number without a
trace (``float(x)``, ``np.asarray(x)``, a C function) is refused; what carries no derivative
(comparison, ``int``, ``bool``, formatting, hashing) is answered from the plain value.

`numbers` says how numbers of several types are watched, `arrays` and `device` how arrays are.
"""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, is_array
from zyg.base.labelled import beside, labelled_kind
from zyg.base.registry import ScalarRule, rules
from zyg.base.sinks import looking
from zyg.base.structure import is_number
from zyg.core.bind import bind
from zyg.core.elementwise import elementwise, elementwise_of_one, elementwise_of_two
from zyg.core.handouts import hand_out, holds_nothing_watched, plainly
from zyg.core.inplace import at, refuse_store, write_result
from zyg.core.objects import as_objects, shown, within_bound
from zyg.core.questions import is_traced
from zyg.core.sequences import holds_watched as holds_watched
from zyg.core.sequences import is_list, joined
from zyg.core.shortcuts import short_ways
from zyg.core.strand import ARRAYS, WATCHED, Watched, cut, innermost, settle, strip, watcher_of
from zyg.errors import ConversionError
from zyg.functions.operations import operators, table
from zyg.watched import keywords
from zyg.watched.conversions import (
    caller,
    demand_ordered,
    demand_truth,
    is_cast,
    is_coefficient,
    is_left_out,
    looked_at,
    looks_into_memory,
    refuse_conversion,
    refuse_numba,
)
from zyg.watched.partners import refuse_torch
from zyg.watched.pickled import refuse_pickle
from zyg.watched.text import text_of

operator_rules = {
    name: ScalarRule(function, table[ufunc]) for name, (function, ufunc) in operators.items()
}

# Where SciPy multiplies a sparse matrix, it leaves the operator to what is no array to it: what is
# not an ndarray by its class, and an object array of no axes if it is made one.
_SPARSE_PRODUCT = "_matmul_dispatch"

# Types in whose modules no operator is written in Python; modules that ask for somebody else.
_OF_NOBODY, _ASKERS = {np.ndarray, np.float64, float}, {"abc", "functools"}

# Libraries that convert what is an ndarray or a float by its class, and keep what answers NumPy's
# protocols, or leave it the operator.
_KEEPERS = {
    "array_api_strict", "dask", "jax", "json", "pandas", "pint", "sparse", "torch", "xarray",
}  # fmt: skip

_AS_INDEX = (
    "zyg: it is watched; where a plain float would do, as in time.sleep, pass zyg.stop_gradient(x)."
)
_NUMBA_ASKS = "numba.core.typing.typeof"  # for the type of each argument of a compiled function

# What answers ufunc.reduce, accumulate and reduceat; `zyg.functions.primitives.scans` fills it in.
ufunc_methods: dict[str, Callable[..., Any]] = {}


class WatchedValue(Watched):
    """What watched numbers and arrays have in common."""

    __slots__ = ()
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # a Series leaves us the operator: `beside`

    @property
    def __class__(self) -> Any:
        # isinstance(x, float) and isinstance(x, np.ndarray) hold. Not so inside the modules of
        # number types written in Python, whose operators read the fields of their own class.
        cls = type(self.primal)
        if cls in WATCHED:
            cls = type(strip(self))
        frame: Any = sys._getframe(1)
        asking = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == _SPARSE_PRODUCT or asking.partition(".")[0] in _KEEPERS:
            return type(self)
        if cls in _OF_NOBODY and asking not in _ASKERS:
            return cls
        home = "fractions" if cls is int else cls.__module__.partition(".")[0]
        if asking == "abc":  # isinstance(other, numbers.Rational)
            asked, frame = frame.f_locals.get("cls"), frame.f_back
            if asked is Sequence and np.ndim(strip(self)) > 1:
                self.strand.memory.asker = frame.f_code, frame.f_lasti
        asking = frame.f_globals.get("__name__", "").partition(".")[0]
        if asking == "functools" and frame.f_back.f_globals.get("__name__") == _NUMBA_ASKS:
            refuse_numba(self, cls)
        return type(self) if asking == home and home != "numpy" else cls

    @__class__.setter
    def __class__(self, other: Any) -> None:
        raise TypeError("the class of a watched value cannot be set")

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not self.strand.open:
            y = plainly(getattr(ufunc, method), inputs, kwargs, sys._getframe(1))
            if y is not NotImplemented:
                return y
        if kwargs:
            if "out" in kwargs:
                return _into(ufunc, method, inputs, **kwargs)
            if innermost([settle(x) for x in inputs]) is None:
                return getattr(ufunc, method)(*map(settle, inputs), **kwargs)
        elif method == "__call__":
            rule = rules.get(ufunc)
            if type(rule) is ScalarRule:
                if len(inputs) == 1 == len(rule.partials):
                    return elementwise_of_one(rule, self, None, 0)
                return _apply(rule, inputs)
            short = short_ways.get(ufunc)
            if short is not None and (y := short(*inputs)) is not None:
                return y
            return bind(ufunc, inputs, kwargs)
        if method == "__call__":
            if kwargs.keys() <= keywords.KNOWN:
                return keywords.call(ufunc, [*map(joined, inputs)], **kwargs)
            return bind(ufunc, inputs, kwargs)
        if method == "at":
            return at(ufunc, *inputs)
        if method == "outer":
            first, second = inputs
            first = np.reshape(first, np.shape(first) + (1,) * np.ndim(second))
            return ufunc(first, second, **kwargs)
        if innermost([settle(x) for x in inputs]) is None:
            return getattr(ufunc, method)(*map(settle, inputs), **kwargs)
        return ufunc_methods[method](ufunc, *inputs, **kwargs)

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not self.strand.open:
            y = plainly(f, args, kwargs, sys._getframe(1))
            if y is not NotImplemented:
                return y
        short = short_ways.get(f)
        if short is not None and (y := short(*args, **kwargs)) is not None:
            return y
        if "out" in kwargs:
            out = kwargs.pop("out")
            if out is not None:
                value = bind(f, args, kwargs)
                made, target = strip(value), strip(out)
                fits = is_array(target) and target.dtype == np.result_type(made)
                if not fits or np.shape(target) != np.shape(made):
                    plain = {name: _plain(x) for name, x in kwargs.items()}
                    f(*_plain(args), **plain, out=copy.copy(target))  # raises where NumPy does
                if type(out) in WATCHED:
                    write_result(out, value)
                elif type(out) is np.ndarray and out.dtype.hasobject:
                    np.copyto(out, as_objects(value))
                elif is_traced(value):
                    refuse_store()
                else:
                    np.copyto(out, settle(value))
                return out
        return bind(f, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if holds_nothing_watched(self):
            x = hand_out(self) if type(self) in ARRAYS else settle(self)
            return np.array(x, dtype=dtype, copy=copy)
        x = settle(self)
        if sys._getframe(1).f_code.co_name == _SPARSE_PRODUCT:
            return np.empty((), object)
        plain = strip(x)
        how = caller()
        if how == "[]" and np.asarray(plain).dtype.kind in "iu":
            return np.asarray(plain)  # an integer that indexes carries nothing
        if looking() is not None:
            return np.array(cut(x, "np.asarray"), dtype=dtype)
        objects = (dtype is None or np.dtype(dtype).kind == "O") and copy is not False
        objects = objects and not looks_into_memory(sys._getframe(1))
        if objects and how != "[]" and not array_type(plain).library and within_bound(x):
            return shown(x, copy)
        return refuse_conversion(x, "np.asarray", how)

    def __float__(self) -> float:
        x = settle(self)
        if type(x) not in WATCHED:
            return float(x)
        how = caller()
        if how == "%":  # "%.3f" % x: the only operator that converts to float
            return float(cut(x, "% formatting"))
        return float(looked_at(x, "float(x)", how))

    def __complex__(self) -> complex:
        x = settle(self)
        if type(x) not in WATCHED:
            return complex(x)
        return complex(looked_at(x, "complex(x)", caller()))

    @property
    def _as_parameter_(self) -> Any:
        x = settle(self)
        if type(x) not in WATCHED:
            return x
        return looked_at(x, "conversion for ctypes", caller())

    __torch_function__ = classmethod(refuse_torch)

    def __bytes__(self) -> bytes:
        x = settle(self)
        if type(x) in WATCHED and not isinstance(strip(x), int):
            return bytes(looked_at(x, "bytes(x)", caller()))
        return bytes(strip(x))

    # What carries no derivative

    def __int__(self) -> int:
        stored = isinstance(strip(self), int) and caller() == "[]=" and is_traced(self)
        if stored and looking() is None:
            refuse_store()  # an int counts as a real, and this one was to be an element of an array
        if is_traced(self) and is_cast():
            return int(looked_at(self, "a cast to int", "CALL"))
        return int(cut(self, "int()"))

    def __index__(self) -> int:
        try:
            return operator.index(cut(self, "use as an index"))
        except TypeError as error:
            error.add_note(_AS_INDEX)
            raise

    def __bool__(self) -> bool:
        demand_truth()
        return bool(cut(self, "bool()"))

    def __repr__(self) -> str:
        return text_of(self, "repr()", repr)

    def __str__(self) -> str:
        return text_of(self, "str()", str)

    def __format__(self, spec: str) -> str:
        return text_of(self, "format()", lambda plain: format(plain, spec), spec)

    def __hash__(self) -> int:
        x = settle(self)
        carries = type(x) in WATCHED and not isinstance(strip(x), (int, np.integer))
        if carries and looking() is None:
            error = ConversionError(
                "a watched value cannot be a key: of a dict, of a set, of a memoised function.",
                "an entry stored for the equal plain number would be found, without derivative.",
                "use the position or a name as the key, or zyg.stop_gradient(x).",
                tag="key",
            )
            error.loses = False  # who catches it does without the entry
            raise error
        return hash(strip(x))

    # Python's copies: a number is immutable, and a copied array is a new variable's worth

    def __copy__(self) -> Any:
        return self.copy("K") if isinstance(self, np.ndarray) else self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        x = settle(self)
        if type(x) not in WATCHED:
            return x.__reduce_ex__(protocol)
        return refuse_pickle()


def _into(ufunc: Any, method: str, inputs: Any, out: Any, where: Any = True, **kwargs: Any) -> Any:
    """A ufunc with out=: its value, written."""
    if not all(o is None or hasattr(o, "dtype") for o in out):
        raise TypeError("return arrays must be of ArrayType")  # as NumPy
    plain = any(o is not None and type(o) not in WATCHED and not o.dtype.hasobject for o in out)
    if plain and innermost([settle(x) for x in inputs]) is not None:
        refuse_store()
    if where is not True:
        inputs = tuple(keywords.masked(inputs, where))
    value = getattr(ufunc, method)(*inputs, **kwargs)
    values = value if type(value) is tuple else (value,)
    for o, v in zip(out, values, strict=True):
        if type(o) in WATCHED:
            write_result(o, v, where, ufunc=ufunc if method == "__call__" else None, inputs=inputs)
        elif o is not None:
            np.copyto(o, as_objects(v) if o.dtype.hasobject else v, where=where)
    return out[0] if len(out) == 1 else out


def _apply(rule: ScalarRule, inputs: tuple[Any, ...]) -> Any:
    """A scalar rule on the arguments of a ufunc: by the short path if just one is watched."""
    if len(inputs) == 2 == len(rule.partials):
        first, second = inputs
        for x in inputs:
            if type(x) not in watcher_of and type(x) not in WATCHED and labelled_kind(type(x)):
                return beside(rule.function, inputs, x)
        if type(first) not in WATCHED:
            if not is_list(first):
                return elementwise_of_one(rule, second, first, 1)
        elif type(second) in WATCHED:
            return elementwise_of_two(rule, first, second)
        elif not is_list(second):
            return elementwise_of_one(rule, first, second, 0)
        return _apply(rule, (as_array(first), as_array(second)))
    return elementwise(rule, *inputs)


# What a number leaves to the other operand: its own repetition or formatting.
_FOREIGN = (str, bytes, bytearray, list, tuple, dict, set, frozenset, type(None))


def is_foreign(x: Any, other: Any) -> bool:
    """Whether an operator is the other operand's to answer: it is no number and no array."""
    if type(other) in watcher_of or type(other) in WATCHED or isinstance(other, (bool, np.generic)):
        return False
    if type(other) in _FOREIGN:
        return not (type(x) in ARRAYS and type(other) in (list, tuple))
    if labelled_kind(type(other)) is not None:
        return True
    return not (is_array(other) or is_number(other) or isinstance(other, Number))  # an enum's


def as_array(x: Any) -> Any:
    """`x` as np.asarray makes it, watched or not; watched numbers in a list are stacked."""
    if type(x) in ARRAYS or array_type(x).library:
        return array_type(x).enter(x)
    if type(x) is np.ndarray:
        return joined(x) if x.dtype.hasobject else x
    if type(x) in WATCHED:
        return np.reshape(np.atleast_1d(x), ())  # an array even of a NumPy scalar
    return joined(x) if holds_watched(x) else np.asarray(x)


def _define_operator(name: str, rule: ScalarRule) -> None:
    binary = len(rule.partials) == 2

    def forward(self: Any, other: Any) -> Any:
        if type(other) in WATCHED:
            return elementwise_of_two(rule, self, other)
        if type(other) in watcher_of:
            return elementwise_of_one(rule, self, other, 0)
        if is_foreign(self, other):
            return beside(rule.function, (self, other), other)
        return _apply(rule, (self, other))

    def backward(self: Any, other: Any) -> Any:
        if is_foreign(self, other):
            return beside(rule.function, (other, self), other)
        return _apply(rule, (other, self))

    def unary(self: Any) -> Any:
        return elementwise_of_one(rule, self, None, 0)

    setattr(WatchedValue, f"__{name}__", forward if binary else unary)
    if binary:
        setattr(WatchedValue, f"__r{name}__", backward)


for _name, _rule in operator_rules.items():
    _define_operator(_name, _rule)


def _cut(x: Any, symbol: str) -> Any:
    """What `cut` gives, of the watched values in nested lists too."""
    return type(x)(_cut(part, symbol) for part in x) if is_list(x) else cut(x, symbol)


_ORDERS = {"<", "<=", ">", ">="}
_KEEPS = (bool, int, np.bool_, np.ndarray, type(NotImplemented), type(None))


def _demand_answer(x: Any, y: Any, symbol: str) -> None:
    """Refuse a comparison with somebody's object that answers one which keeps the plain number."""
    if not isinstance(y, _KEEPS) and not hasattr(y, "dtype") and labelled_kind(type(y)) is None:
        looked_at(x, f"a {type(y).__name__} made by {symbol}", "CALL")


def _define_constant(name: str, symbol: str) -> None:
    function = getattr(operator, name)

    def constant(self: Any, other: Any) -> Any:
        if name == "__lshift__" and labelled_kind(type(other)):  # x << unit
            return beside(function, (self, other), other)
        other = _cut(other, symbol) if type(other) in (list, tuple) else cut(other, symbol)
        x = cut(self, symbol)
        y = function(x, other)
        if y is False or y is np.False_:
            if symbol in _ORDERS and (x != x or other != other):
                demand_ordered()
            if symbol == "!=" and (is_left_out() or is_coefficient()):
                return True
        elif symbol == "==" and (y is True or y is np.True_) and is_left_out():
            return False
        elif type(y) is not bool and type(other) not in watcher_of and is_traced(self):
            _demand_answer(self, y, symbol)
        return y

    def reflected(self: Any, other: Any) -> Any:
        return function(_cut(other, symbol), cut(self, symbol))

    setattr(WatchedValue, name, constant)
    if name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__"):
        setattr(WatchedValue, f"__r{name[2:]}", reflected)


for _name, _symbol in (
    ("lt", "<"), ("le", "<="), ("eq", "=="), ("ne", "!="), ("gt", ">"), ("ge", ">="),
    ("and", "&"), ("or", "|"), ("xor", "^"), ("lshift", "<<"), ("rshift", ">>"),
):  # fmt: skip
    _define_constant(f"__{_name}__", _symbol)
setattr(WatchedValue, "__invert__", lambda self: ~strip(self))  # noqa: B010


def _plain(x: Any) -> Any:
    return type(x)(map(_plain, x)) if type(x) in (list, tuple) else strip(x)
