"""Which Python, math, NumPy and SciPy functions a scalar function may call, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.marks import plain_of
from zyg.base.registry import ScalarRule, rules
from zyg.compiler.numbers import Number
from zyg.functions.operations import BY_MATH, BY_SCIPY, OPERATIONS


def _where(condition: Any, x: Any, y: Any) -> Any:
    if not isinstance(condition, Number):
        return x if condition else y
    return condition.record("select", condition, x, y)


def _int(x: Any) -> Any:
    return x.record("int", x) if isinstance(x, Number) else int(x)


def _float(x: Any = 0.0) -> Any:
    return x.record("float", x) if isinstance(x, Number) else float(x)


def _extremum(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Python's min and max: the first of the best."""

    def extremum(*args: Any) -> Any:
        values = list(args[0]) if len(args) == 1 else [*args]
        best = values[0]
        for x in values[1:]:
            best = _where(better(x, best), x, best)
        return best

    return extremum


def _round(x: Any, digits: Any = None) -> Any:
    if digits is not None:
        raise TypeError("round() to a number of digits has no kernel")
    return _int(np.rint(x))


def _np_round(a: Any, decimals: int = 0) -> Any:
    if decimals != 0:
        raise TypeError("np.round() to a number of decimals has no kernel")
    return np.rint(a)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    for bound, beyond in ((a_min if min is None else min, np.less),
                          (a_max if max is None else max, np.greater)):  # fmt: skip
        if bound is not None:
            a = _where(beyond(a, bound) | (bound != bound), bound, a)
    return a


def _sinc(x: Any) -> Any:
    u = math.pi * _where(x == 0, 1.0, x)
    return _where(x == 0, 1.0, np.sin(u) / u)


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _xlogy(x: Any, y: Any) -> Any:
    return _where((x == 0) & (y == y), 0.0, x * np.log(y))


def _xlog1py(x: Any, y: Any) -> Any:
    return _where((x == 0) & (y == y), 0.0, x * np.log1p(y))


# What Python functions of numbers are, in operations: called with numbers recorded or plain.
WRITTEN: dict[Any, Callable[..., Any]] = {
    abs: np.absolute,
    min: _extremum(lambda x, best: x < best),
    max: _extremum(lambda x, best: x > best),
    round: _round,
    int: _int,
    float: _float,
    pow: np.power,
    divmod: lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)),
    math.floor: lambda x: _int(np.floor(x)),
    math.ceil: lambda x: _int(np.ceil(x)),
    math.trunc: lambda x: _int(np.trunc(x)),
    math.log: _log,
    np.where: _where,
    np.clip: _clip,
    np.round: _np_round,
    np.around: _np_round,
    np.fix: np.trunc,
    np.real: lambda x: x,
    np.sinc: _sinc,
    **dict.fromkeys((np.float16, np.float32, np.float64), _float),
    **dict.fromkeys((np.int8, np.int16, np.int32, np.int64, np.bool_), _int),
    np.bool_: lambda x: x.record("logical_or", x, False) if isinstance(x, Number) else bool(x),
}

_SCIPY: dict[str, Callable[..., Any]] = {
    "expit": lambda x: 1 / (1 + np.exp(-x)),
    "log_expit": lambda x: -np.logaddexp(0.0, -x),
    "logit": lambda x: np.log(x) - np.log1p(-x),
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": lambda x: -_xlogy(x, x),
    "exp10": lambda x: np.power(10.0, x),
}


def meaning(f: Any) -> str | Callable[..., Any] | None:
    """The name of an operation, or how `f` is written in operations; None for other functions."""
    try:
        f = plain_of(f)
        if f in WRITTEN:
            return WRITTEN[f]
    except TypeError:  # not hashable
        return None
    name = getattr(f, "__name__", "")
    if not isinstance(f, np.ufunc):
        row = BY_MATH.get(name) if f is getattr(math, name, None) else None
    elif f is getattr(np, name, None):
        row = OPERATIONS.get(name)
    else:
        return BY_SCIPY.get(name) or _SCIPY.get(name)
    return row.name if row and row.types else None


def rule_of(name: str) -> ScalarRule:
    """The partial derivatives of an operation."""
    return rules[OPERATIONS[name].function]  # type: ignore[no-any-return]
