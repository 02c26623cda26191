"""Functions of Python and of the math module, of the numbers of whole functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.marks import plain_of
from zyg.compiler.front.domains import demand_domain
from zyg.compiler.front.mixed import one_of_two
from zyg.compiler.front.scalars import WholeBuilder, whose
from zyg.compiler.functions import meaning
from zyg.compiler.ir import Atom, is_number, type_of
from zyg.compiler.numbers import Number, atom_of


def of_math(to: WholeBuilder, name: str, *args: Any) -> Any:
    """A function of the math module, of numbers."""
    xs = [to.to("float", atom_of(x)) for x in args]
    if name == "ldexp":
        if type_of(atom_of(args[1])) not in ("int", "bool") or not whose(args[1]):
            raise TypeError("math.ldexp by what is no int")
        xs[1] = atom_of(args[1])
    y = to.op(name, *xs)
    demand_domain(to, name, xs, y)
    return to.number(y, True)


def is_math(f: Any) -> bool:
    return getattr(math, getattr(plain_of(f), "__name__", ""), None) is plain_of(f)


def _as_int(to: WholeBuilder, x: Atom) -> Atom:
    """A float that is whole as an int; Python's have no end, and are no infinity."""
    to.demand("a float beyond ints of 64 bits", "less", to.op("absolute", x), 2.0**63)
    return to.op("int", x)


def _whole(name: str) -> Callable[..., Any]:
    def whole(to: WholeBuilder, x: Any) -> Any:
        atom = atom_of(x)
        through_float = name in ("floor", "ceil") and not whose(x)  # as NumPy's ints go
        if type_of(atom) in ("int", "bool") and not through_float:
            return to.number(to.flat(to.to("int", atom)), True)
        return to.number(_as_int(to, to.op(name, to.to("float", atom))), True)

    return whole


def _trunc(to: WholeBuilder, x: Any) -> Any:
    if type_of(atom_of(x)) != "float" and not whose(x):
        raise TypeError("most numbers of NumPy's have no __trunc__")
    return _whole("trunc")(to, x)


def _round(to: WholeBuilder, x: Any, digits: Any = None) -> Any:
    if digits is not None:
        raise TypeError("round() to a number of digits is not compiled")
    if type_of(atom_of(x)) == "bool" and not whose(x):
        raise TypeError("a bool of NumPy's is not rounded")
    return _whole("rint")(to, x)


def _float(to: WholeBuilder, x: Any = 0.0) -> Any:
    return to.number(to.to("float", atom_of(x)), True)


def _bool(to: WholeBuilder, x: Any = False) -> Any:
    return to.number(to.to("bool", atom_of(x)), True)


def _absolute(to: WholeBuilder, x: Any) -> Any:
    return to.operate("absolute", x)


def _extremum(name: str) -> Callable[..., Any]:
    """Python's min and max: the first of the best."""

    def extremum(to: WholeBuilder, *args: Any) -> Any:
        values = [*args[0]] if len(args) == 1 else [*args]
        if not values:
            raise ValueError("min() and max() of nothing")
        best = values[0]
        for x in values[1:]:
            best = one_of_two(to, atom_of(to.operate(name, x, best)), x, best)
        return best

    return extremum


def _log(to: WholeBuilder, x: Any, base: Any = None) -> Any:
    y = of_math(to, "log", x)
    return y if base is None else to.operate("divide", y, of_math(to, "log", base))


def _divmod(to: WholeBuilder, x: Any, y: Any) -> Any:
    return to.operate("floor_divide", x, y), to.operate("remainder", x, y)


def _converted(kind: str) -> Callable[..., Any]:
    """A type of NumPy's, called."""

    def converted(to: WholeBuilder, x: Any = 0) -> Any:
        atom = atom_of(x)
        if kind == "int" and type_of(atom) in ("float", "float32"):
            return to.number(_as_int(to, to.op("trunc", to.to("float", atom))), False)
        return to.number(to.to(kind, atom), False)

    return converted


# What functions are of numbers, with the builder before them.
WRITTEN: dict[Any, Callable[..., Any]] = {
    abs: _absolute, min: _extremum("less"), max: _extremum("greater"), round: _round,
    int: lambda to, x=0: _whole("trunc")(to, x), float: _float, bool: _bool,
    pow: lambda to, x, p: to.operate("power", x, p), divmod: _divmod,
    math.floor: _whole("floor"), math.ceil: _whole("ceil"), math.trunc: _trunc,
    math.log: _log, math.fabs: lambda to, x: _absolute(to, _float(to, x)),
    np.float64: _converted("float"), np.float32: _converted("float32"),
    np.int64: _converted("int"), np.bool_: _converted("bool"),
}  # fmt: skip


def of_numbers(to: WholeBuilder, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function of numbers gives; NotImplemented for other functions."""
    try:
        written = WRITTEN.get(plain_of(f))
    except TypeError:  # not hashable
        return NotImplemented
    recorded = any(isinstance(x, Number) for x in args)
    if written is not None and (recorded or (isinstance(f, type) and issubclass(f, np.generic))):
        return written(to, *args, **kwargs)
    if written is not None and not kwargs and args and all(map(is_number, args)):
        return f(*args)
    name = meaning(f)
    if not isinstance(name, str) or kwargs or not recorded:
        return NotImplemented
    arity = getattr(getattr(np, name, None), "nin", 1)
    if len(args) != arity:
        raise TypeError(f"{f.__name__} is compiled as a function of {arity} numbers")
    return of_math(to, name, *args) if is_math(f) else to.ufunc(name, *args)
