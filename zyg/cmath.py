"""The cmath module for watched numbers: ``import zyg.cmath as cmath``.

Where no gradient runs around a line, in its task, each function is cmath's own.

>>> import zyg, zyg.cmath as cmath
>>> zyg.gradient(lambda x: cmath.exp(1j * x).imag, 0.0)
(1.0,)

"""

from __future__ import annotations

import cmath as _cmath
import typing as _typing
from collections.abc import Callable as _Callable

import numpy as _np

from zyg.base.registry import ScalarRule as _ScalarRule
from zyg.functions.operations import BY_MATH as _BY_MATH
from zyg.functions.operations import table as _table
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from cmath import *  # noqa: F403

_log_rule = _ScalarRule(_cmath.log, _table[_np.log])
_phase = _ScalarRule(_cmath.phase, _table[_np.angle])
_rect = _ScalarRule(
    _cmath.rect, (lambda r, phi, y: _np.cos(phi) + 1j * _np.sin(phi), lambda r, phi, y: 1j * y)
)


def _log(z: _typing.Any, *base: _typing.Any) -> _typing.Any:
    return _log_rule(z) / _log_rule(*base) if base else _log_rule(z)


def _polar(z: _typing.Any) -> _typing.Any:
    return abs(z), _phase(z)


_WRITTEN: dict[str, _Callable[..., _typing.Any]] = {
    "log": _log,
    "phase": _phase,
    "polar": _polar,
    "rect": _rect,
}


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    if not callable(value):
        return value
    if name in _WRITTEN:
        return _dropins.drop_in(value, _dropins.if_watched(value, _WRITTEN[name]))
    row = _BY_MATH.get(name)
    rule = _ScalarRule(value, row.slopes) if row and not row.flat else None
    return _dropins.of_numbers(value, rule, constant=row.flat if row else name == "isclose")


if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_cmath, globals(), _replaced)
