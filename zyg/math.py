"""The math module for watched numbers: ``import zyg.math as math``.

Where no gradient runs around a line, in its task, each function is math's own. In a gradient it
takes watched numbers, too, by the table of scalar derivatives.

>>> import zyg, zyg.math as math
>>> zyg.gradient(lambda x: math.sin(x) * math.sqrt(x), 0.0)
(0.0,)

"""

from __future__ import annotations

import functools as _functools
import math as _math
import typing as _typing
from collections.abc import Callable as _Callable

import numpy as _np

from zyg.base.marks import for_any_number as _for_any_number
from zyg.base.marks import stands_for as _stands_for
from zyg.base.registry import ScalarRule as _ScalarRule
from zyg.core.elementwise import elementwise as _elementwise
from zyg.core.strand import is_watched as _is_watched
from zyg.core.strand import settle as _settle
from zyg.functions.operations import BY_MATH as _BY_MATH
from zyg.functions.operations import table as _table
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from math import *  # noqa: F403

_for_any_number(__name__)

_CONSTANT = {"comb", "factorial", "gcd", "isclose", "isqrt", "lcm", "perm", "ulp"}
_log_rule = _ScalarRule(_dropins.of_many(_math.log, _np.log), _table[_np.log])
_of_first: _typing.Any = _table[_np.hypot][0]


@_functools.cache
def _hypot_rule(count: int) -> _ScalarRule:
    slopes = [lambda *xs, k=k: _of_first(xs[k], None, xs[-1]) for k in range(count)]
    own = _dropins.of_many(_math.hypot, _np.hypot) if count == 2 else _math.hypot
    return _ScalarRule(own, tuple(slopes))


@_stands_for(_math.log)
def _log(x: _typing.Any, *base: _typing.Any) -> _typing.Any:
    """The base may be watched too."""
    y = _elementwise(_log_rule, x)
    return y / _elementwise(_log_rule, *base) if base else y


@_stands_for(_math.hypot)
def _hypot(*coordinates: _typing.Any) -> _typing.Any:
    """Of any number of coordinates; slope 0 at the origin."""
    if not any(_is_watched(_settle(x)) for x in coordinates):
        return _math.hypot(*map(_settle, coordinates))
    return _elementwise(_hypot_rule(len(coordinates)), *map(_dropins.widened, coordinates))


def _dist(p: _typing.Any, q: _typing.Any) -> _typing.Any:
    return _hypot(*(a - b for a, b in zip(p, q, strict=True)))


def _fsum(values: _typing.Any) -> _typing.Any:
    """Watched numbers are added in order."""
    values = [_settle(v) for v in values]
    return sum(values) if any(map(_is_watched, values)) else _math.fsum(values)


def _prod(values: _typing.Any, *, start: _typing.Any = 1) -> _typing.Any:
    for v in values:
        start = start * v
    return start


_WRITTEN: dict[str, _Callable[..., _typing.Any]] = {
    "dist": _dist, "fsum": _fsum, "hypot": _hypot, "log": _log, "prod": _prod,
}  # fmt: skip
# Of functions that newer Pythons have, and NumPy has not.
_SLOPES: dict[str, tuple[_typing.Any, ...]] = {
    "fma": (lambda x1, x2, x3, y: x2, lambda x1, x2, x3, y: x1, 1.0),
}


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    if not callable(value):
        return value
    if name not in _WRITTEN:
        row = _BY_MATH.get(name)
        rule = _ScalarRule(value, _SLOPES[name]) if name in _SLOPES else None
        if row and not row.flat:
            many = getattr(_np, row.name, None)
            rule = _ScalarRule(_dropins.of_many(value, many) if many else value, row.slopes)
        constant = row.flat if row else name in _CONSTANT
        return _dropins.of_numbers(value, rule, constant=constant)
    function = _dropins.drop_in(value, _WRITTEN[name])
    function.scalar = _WRITTEN[name]  # type: ignore[attr-defined]  # what kernels read
    return function


if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_math, globals(), _replaced)
