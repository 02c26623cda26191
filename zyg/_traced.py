"""Watched numbers and arrays: what they answer, and what they refuse.

A watched value stands in for the plain one wherever Python lets it: it answers operators, NumPy's
protocols, attributes and ``isinstance``. Whatever would turn it into a plain number without a
trace (``float(x)``, ``np.asarray(x)``, a C function) is refused; what carries no derivative
(comparison, ``int``, ``bool``, formatting, hashing) is answered from the plain value.

`TracedReal` (float, int, numpy.float64) has the short path: ``+ - * /`` and integer powers of real
numbers note slots and partial derivatives, without closure or rule. `TracedScalar` is for any other
number type and goes through `elementwise`, which must give the same results.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from zyg._bind import bind, elementwise, elementwise_of_one
from zyg._memory import read
from zyg._registry import ScalarRule, rules
from zyg._strand import TRACED, Traced, innermost, settle, strip, watcher_of
from zyg.errors import OWN_TEXT, ConversionError, MissingRuleError, MutationError
from zyg.scalar_rules import operators, table

_operator_rules = {
    name: ScalarRule(function, table[ufunc]) for name, (function, ufunc) in operators.items()
}
_ROUND = ScalarRule(round, (0, 0))

# Reductions and scans that ufuncs spell as methods.
_ufunc_methods = {
    (np.add, "reduce"): np.sum,
    (np.multiply, "reduce"): np.prod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
    (np.add, "accumulate"): np.cumsum,
}


def _caller() -> str:
    """Which instruction called the caller of this function: "%", "[]", "[]=" or its name."""
    frame = sys._getframe(2)
    code, at = frame.f_code.co_code, frame.f_lasti
    name = dis.opname[code[at]]
    if name == "BINARY_OP":  # its argument says which one; x[i] is one of them from 3.14 on
        return {6: "%", 19: "%", 26: "[]"}.get(code[at + 1], name)
    return {"BINARY_SUBSCR": "[]", "STORE_SUBSCR": "[]="}.get(name, name)


def _refuse_conversion(x: Traced, to: str, how: str) -> NoReturn:
    kind = type(strip(x)).__name__
    if how == "[]=":
        raise ConversionError(
            "a watched value cannot be stored in a plain NumPy array.",
            "the array has room for numbers only, so the derivative would be lost.",
            "make the buffer from a watched array, collect the values in a list and np.stack it, "
            "or store zyg.stop_gradient(x) if no derivative is wanted.",
        )
    raise ConversionError(
        f"{to} of a watched {kind} would drop its derivative.",
        "a plain number or array carries no derivative; functions of C code and of the math "
        "module convert their arguments.",
        "use the function of the same name in np. (np.sin(x), np.stack([x, y])); x.astype(...) "
        "converts an array; zyg.stop_gradient(x) gives the plain value if that is what you want.",
    )


_BUILTIN = {float, int, complex, np.ndarray}


class _Watched(Traced):
    """What watched numbers and arrays have in common."""

    __slots__ = ()
    __array_priority__ = 1000.0

    @property
    def __class__(self) -> Any:
        # isinstance(x, float) and isinstance(x, np.ndarray) hold. Not so for number types written
        # in Python: their operators ask isinstance(other, Me) and then read the other's fields.
        cls = type(strip(self))
        return cls if cls in _BUILTIN or issubclass(cls, np.generic) else type(self)

    @__class__.setter
    def __class__(self, other: Any) -> None:
        raise TypeError("the class of a watched value cannot be set")

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs:
            if innermost([settle(x) for x in inputs]) is None:
                return getattr(ufunc, method)(*map(settle, inputs), **kwargs)
            if "out" in kwargs:
                _refuse_out(ufunc, kwargs["out"])
        if method == "__call__":
            rule = rules.get(ufunc)
            if type(rule) is ScalarRule and not kwargs:
                return _apply(rule, inputs)
            return bind(ufunc, inputs, kwargs)
        function = _ufunc_methods.get((ufunc, method))
        if function is None:
            _missing_method(ufunc, method)
        return bind(function, inputs, {"axis": 0, **kwargs})

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if "out" in kwargs and kwargs["out"] is None:
            del kwargs["out"]
        return bind(f, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        x = settle(self)
        if type(x) not in TRACED:
            return np.array(x, dtype=dtype)
        plain = strip(x)
        how = _caller()
        if how == "[]" and np.asarray(plain).dtype.kind in "iu":
            return np.asarray(plain)  # an integer that indexes carries nothing
        _refuse_conversion(self, "np.asarray", how)

    def __float__(self) -> float:
        x = settle(self)
        if type(x) not in TRACED:
            return float(x)
        how = _caller()
        if how == "%":  # "%.3f" % x: the only operator that converts to float
            return float(strip(x))
        _refuse_conversion(self, "float(x)", how)

    def __complex__(self) -> complex:
        x = settle(self)
        if type(x) not in TRACED:
            return complex(x)
        _refuse_conversion(self, "complex(x)", _caller())

    # What carries no derivative

    def __int__(self) -> int:
        return int(strip(self))

    def __index__(self) -> int:
        return operator.index(strip(self))

    def __bool__(self) -> bool:
        return bool(strip(self))

    def __repr__(self) -> str:
        return repr(strip(self))

    def __str__(self) -> str:
        return str(strip(self))

    def __format__(self, spec: str) -> str:
        return format(strip(self), spec)

    def __hash__(self) -> int:
        x = settle(self)
        if type(x) in TRACED and not isinstance(strip(x), (int, np.integer)):
            raise ConversionError(
                "a watched value cannot be a key: of a dict, of a set, of a memoised function.",
                "an entry stored for the equal plain number would be found, without derivative.",
                "use the position or a name as the key, or zyg.stop_gradient(x).",
            )
        return hash(strip(x))

    # Python's copies: a number is immutable, and a copied array is a new variable's worth

    def __copy__(self) -> Any:
        return self.copy() if isinstance(self, np.ndarray) else self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        x = settle(self)
        if type(x) not in TRACED:
            return x.__reduce_ex__(protocol)
        raise ConversionError(
            "a watched value cannot be pickled.",
            "the bytes would hold a plain number, and the derivative would be lost.",
            "pickle zyg.stop_gradient(x), or what `gradient` returns.",
        )


def _refuse_out(ufunc: Any, out: Any) -> NoReturn:
    raise MutationError(
        f"np.{ufunc.__name__} cannot write a watched result into out= ({type(out[0]).__name__}).",
        "a plain array has room for numbers only, and writing into a watched array is not "
        "followed yet.",
        f"use the value that np.{ufunc.__name__} returns: a = a + x instead of a += x.",
    )


def _missing_method(ufunc: Any, method: str) -> NoReturn:
    raise MissingRuleError(
        f"np.{ufunc.__name__}.{method} has no rule, so zyg cannot differentiate it.",
        "only add.reduce, multiply.reduce, maximum.reduce, minimum.reduce and add.accumulate of "
        "the methods of ufuncs have one.",
        "use the NumPy function that does the same, or write the loop in Python.",
    )


def _apply(rule: ScalarRule, inputs: tuple[Any, ...]) -> Any:
    """A scalar rule on the arguments of a ufunc: by the short path if just one is watched."""
    if len(inputs) == len(rule.partials):
        x = inputs[0]
        if len(inputs) == 1:
            return elementwise_of_one(rule, x, None, 0)
        if len(inputs) == 2 and type(x) not in TRACED:
            return elementwise_of_one(rule, inputs[1], x, 1)
        if len(inputs) == 2 and type(inputs[1]) not in TRACED:
            return elementwise_of_one(rule, x, inputs[1], 0)
    return elementwise(rule, *inputs)


# Attributes and methods of NumPy's arrays and of Python's numbers. Anything not listed is refused:
# an attribute of the plain value would be a derivative dropped in silence.

_PLAIN_ATTRIBUTES = {
    "shape", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "strides", "is_integer",
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "T": np.transpose, "real": np.real, "imag": np.imag, "mT": np.matrix_transpose,
}  # fmt: skip
_METHODS: dict[str, Callable[..., Any]] = {
    **{
        f.__name__: f
        for f in (
            np.sum, np.mean, np.prod, np.var, np.std, np.cumsum, np.cumprod, np.ravel,
            np.swapaxes, np.squeeze, np.repeat, np.clip, np.dot, np.argmax, np.argmin, np.argsort,
            np.any, np.all, np.trace, np.diagonal, np.take, np.nonzero, np.searchsorted, np.round,
            np.conj, np.conjugate, np.compress, np.choose,
        )
    },
    "max": np.max, "min": np.min, "copy": np.copy, "flatten": np.ravel, "conj": np.conjugate,
    "astype": np.astype,
}  # fmt: skip
_WRITES = {
    "fill",
    "sort",
    "partition",
    "put",
    "resize",
    "setfield",
    "itemset",
    "setflags",
    "byteswap",
}


def _attribute(x: Any, name: str) -> Any:
    plain, rest = strip(x), settle(x)
    if type(rest) not in TRACED:
        return getattr(rest, name)
    if name.startswith("_") or not hasattr(plain, name):
        # A protocol that is not ours to answer (__array_interface__, _mpf_), or a plain mistake.
        raise AttributeError(f"{type(plain).__name__!r} object has no attribute {name!r}")
    if name in _FUNCTIONS:
        return bind(_FUNCTIONS[name], (x,))
    if name in _PLAIN_ATTRIBUTES:
        return getattr(plain, name)
    if name in _METHODS:
        return functools.partial(_call_method, _METHODS[name], x)
    if name in ("reshape", "transpose"):
        return functools.partial(_call_spread, getattr(np, name), x)
    if name == "item":
        return functools.partial(_item, x)
    if name == "tolist":
        return lambda: x if np.ndim(x) == 0 else [v.tolist() for v in x]
    if name in _WRITES:
        _refuse_write(f"x.{name}(...)")
    raise ConversionError(
        f"the attribute {name!r} of a watched {type(plain).__name__} has no rule.",
        "what the plain value answers would carry no derivative.",
        "use a NumPy function or operator instead, or zyg.primal(x) for the plain value.",
    )


def _call_method(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    return bind(function, (x, *args), kwargs)


def _call_spread(function: Callable[..., Any], x: Any, *shape: Any, **kwargs: Any) -> Any:
    """x.reshape(2, 3) and x.reshape((2, 3)), x.transpose(1, 0) and x.transpose()."""
    return bind(function, (x, *shape) if len(shape) < 2 else (x, shape), kwargs)


def _item(x: Any, *place: Any) -> Any:
    if type(x) is not TracedArray:
        return x
    if not place and np.size(x) != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return x[place] if len(place) > 1 else np.reshape(x, -1)[place[0] if place else 0]


# Watched numbers


class _Number(_Watched):
    """A watched number: every operator of Python's data model."""

    __slots__ = ()

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return round(strip(self))
        return elementwise(_ROUND, self, digits)

    def __trunc__(self) -> Any:
        return strip(self).__trunc__()

    def __floor__(self) -> Any:
        return strip(self).__floor__()

    def __ceil__(self) -> Any:
        return strip(self).__ceil__()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


# What a number leaves to the other operand: its own repetition or formatting.
_FOREIGN = (str, bytes, bytearray, list, tuple, dict, set, frozenset, type(None))


def _is_foreign(x: Any, other: Any) -> bool:
    return type(other) in _FOREIGN and not (type(x) is TracedArray and type(other) in (list, tuple))


def _define_operator(name: str, rule: ScalarRule) -> None:
    binary = len(rule.partials) == 2

    def forward(self: Any, other: Any) -> Any:
        if type(other) in TRACED:
            return elementwise(rule, self, other)
        if _is_foreign(self, other):
            return NotImplemented
        return elementwise_of_one(rule, self, other, 0)

    def backward(self: Any, other: Any) -> Any:
        if _is_foreign(self, other):
            return NotImplemented
        return elementwise_of_one(rule, self, other, 1)

    def unary(self: Any) -> Any:
        return elementwise_of_one(rule, self, None, 0)

    setattr(_Watched, f"__{name}__", forward if binary else unary)
    if binary:
        setattr(_Watched, f"__r{name}__", backward)


for _name, _rule in _operator_rules.items():
    _define_operator(_name, _rule)


def _define_constant(name: str) -> None:
    function = getattr(operator, name)

    def constant(self: Any, other: Any) -> Any:
        return function(strip(self), strip(other))

    def reflected(self: Any, other: Any) -> Any:
        return function(strip(other), strip(self))

    setattr(_Watched, name, constant)
    if name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__"):
        setattr(_Watched, f"__r{name[2:]}", reflected)


for _name in ("lt", "le", "eq", "ne", "gt", "ge", "and", "or", "xor", "lshift", "rshift"):
    _define_constant(f"__{_name}__")
setattr(_Watched, "__invert__", lambda self: ~strip(self))  # noqa: B010


class TracedScalar(_Number):
    """A watched number of any type that is not a `TracedReal`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, name)


class TracedReal(_Number):
    """A watched float, int or numpy.float64: the short path, filled in from the texts below.

    No __getattr__: with one, CPython looks up every attribute by the slow way. What these three
    types have is listed instead.
    """

    __slots__ = ()


def _define_attributes(cls: type, *plain: type) -> None:
    for name in {name for t in plain for name in dir(t) if not name.startswith("__")}:
        setattr(cls, name, property(functools.partial(_attribute, name=name)))


_define_attributes(TracedReal, float, int, np.float64)


# One text for + - * /, because a function call per operator would cost as much as the operator:
# a watched operand on this strand, a plain number, anything else as `TracedScalar` does it. A
# partial of 1 from a plain number notes nothing: x + c shares the slot of x.

_SHORT_PATH = """
def __{name}__(self, other):
    strand = self.strand
    t = type(other)
    if strand.open:
        if t is TracedReal and other.strand is strand{guard}:
            a, b = self.primal, other.primal
            y = TracedReal()
            y.primal = value = a {symbol} b
            y.strand = strand
            y.slot = out = strand.new_slot()
            strand.note((out, self.slot, {da}, other.slot, {db}))
            return y
        if (t is float or t is int or t is float64){guard}:
            a, b = self.primal, other
            y = TracedReal()
            y.primal = value = a {symbol} b
            y.strand = strand
            {from_left}
            return y
    return NotImplemented if t in FOREIGN else elementwise(rule, self, other)

def __r{name}__(self, other):
    strand = self.strand
    t = type(other)
    if strand.open and (t is float or t is int or t is float64){reflected_guard}:
        a, b = other, self.primal
        y = TracedReal()
        y.primal = value = a {symbol} b
        y.strand = strand
        {from_right}
        return y
    return NotImplemented if t in FOREIGN else elementwise(rule, other, self)
"""

_NOTE = "y.slot = out = strand.new_slot(); strand.note((out, self.slot, {d}, None, None))"
_SHARE = "y.slot = self.slot"

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
        reflected_guard=_reflected_guard,
        from_left=_SHARE if _da == "1.0" else _NOTE.format(d=_da),
        from_right=_SHARE if _db == "1.0" else _NOTE.format(d=_db),
    )
    _scope = {
        "TracedReal": TracedReal, "elementwise": elementwise, "FOREIGN": _FOREIGN,
        "float64": np.float64, "rule": _operator_rules[_name],
    }  # fmt: skip
    exec(compile(_text, OWN_TEXT, "exec"), _scope)
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(TracedReal, _method, _scope[_method])


def _neg(self: Any) -> Any:
    return self * -1.0 if type(self.primal) is float else elementwise(_operator_rules["neg"], self)


def _pow(self: Any, other: Any) -> Any:
    strand = self.strand
    if strand.open and type(other) is int and other > 1:
        a = self.primal
        y = TracedReal()
        y.primal = a**other
        y.strand = strand
        y.slot = out = strand.new_slot()
        strand.note((out, self.slot, other * a ** (other - 1), None, None))
        return y
    return (
        NotImplemented
        if type(other) in _FOREIGN
        else elementwise(_operator_rules["pow"], self, other)
    )


setattr(TracedReal, "__neg__", _neg)  # noqa: B010
setattr(TracedReal, "__pow__", _pow)  # noqa: B010


# Watched arrays


class TracedArray(_Watched):
    """A watched ndarray."""

    __slots__ = ()

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.primal)

    def __iter__(self) -> Iterator[Any]:
        if np.ndim(self) == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return read(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        x = settle(self)
        if type(x) not in TRACED:
            x[index] = value
            return
        _refuse_write(f"x[{strip(index)!r}] = ...")

    def __contains__(self, value: Any) -> bool:
        return strip(value) in strip(self)

    def __matmul__(self, other: Any) -> Any:
        return bind(np.matmul, (self, other))

    def __rmatmul__(self, other: Any) -> Any:
        return bind(np.matmul, (other, self))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


_define_attributes(TracedArray, np.ndarray)


def _refuse_write(what: str) -> NoReturn:
    raise MutationError(
        f"{what} writes into a watched array, which is not followed yet.",
        "the values before the write are needed for the derivative.",
        "build a new array: x = x + 1 instead of x += 1, np.where instead of x[mask] = ...",
    )


def _define_write(name: str) -> None:
    function = getattr(operator, f"__i{name}__")

    def write(self: Any, other: Any) -> Any:
        x = settle(self)
        if type(x) not in TRACED:
            return function(x, other)
        _refuse_write(f"x {_SYMBOLS[name]}= ...")

    setattr(TracedArray, f"__i{name}__", write)


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
for _name in _SYMBOLS:
    _define_write(_name)

TRACED.update((TracedReal, TracedScalar, TracedArray))
watcher_of.update({object: TracedScalar, TracedScalar: TracedScalar})
watcher_of.update(dict.fromkeys((float, int, np.float64, TracedReal), TracedReal))
watcher_of.update(dict.fromkeys((np.ndarray, TracedArray), TracedArray))
