"""The math module for watched numbers: ``import zyg.math as math``.

Each function takes plain numbers as math does, and watched ones by the table of scalar derivatives.

>>> import zyg, zyg.math as math
>>> zyg.gradient(lambda x: math.sin(x) * math.sqrt(x), 0.0)
(0.0,)

"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zyg.base.marks import for_any_number, stands_for
from zyg.base.registry import ScalarRule
from zyg.base.scalar_rules import table
from zyg.core.elementwise import elementwise
from zyg.core.strand import is_watched, settle, strip
from zyg.errors import MissingRuleError

pi, e, tau, inf, nan = math.pi, math.e, math.tau, math.inf, math.nan

for_any_number(__name__)

_PARTIALS: dict[str, tuple[Any, ...]] = {
    **{
        name: table[ufunc]
        for name, ufunc in {
            "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
            "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt,
            "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees,
            "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs, "fmod": np.fmod,
            "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "pow": np.power,
            "radians": np.radians, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
            "tanh": np.tanh, "ldexp": np.ldexp,
        }.items()
    },
    "erf": table[math.erf],
    "erfc": table[math.erfc],
}  # fmt: skip
_CONSTANT = {
    "ceil", "comb", "factorial", "floor", "gcd", "isclose", "isfinite", "isinf", "isnan", "isqrt",
    "lcm", "perm", "trunc",
}  # fmt: skip
_log = ScalarRule(math.log, table[np.log])


@stands_for(math.log)
def log(x: Any, *base: Any) -> Any:
    """As math.log; the base may be watched too."""
    y = elementwise(_log, x)
    return y / elementwise(_log, *base) if base else y


@stands_for(math.hypot)
def hypot(*coordinates: Any) -> Any:
    """As math.hypot, of any number of coordinates; slope 0 at the origin."""
    if not any(is_watched(settle(x)) for x in coordinates):
        return math.hypot(*map(settle, coordinates))
    if len(coordinates) != 2:
        return np.linalg.norm(np.stack(coordinates)) if coordinates else 0.0
    return elementwise(_hypot, *coordinates)


_hypot = ScalarRule(math.hypot, table[np.hypot])


@stands_for(math.dist)
def dist(p: Any, q: Any) -> Any:
    """As math.dist."""
    return hypot(*(a - b for a, b in zip(p, q, strict=True)))


@stands_for(math.fsum)
def fsum(values: Any) -> Any:
    """As math.fsum for plain numbers; watched ones are added in order."""
    values = [settle(v) for v in values]
    return sum(values) if any(map(is_watched, values)) else math.fsum(values)


@stands_for(math.prod)
def prod(values: Any, *, start: Any = 1) -> Any:
    """As math.prod."""
    for v in values:
        start = start * v
    return start


def __getattr__(name: str) -> Any:
    function = getattr(math, name)
    if name in _PARTIALS:
        rule = ScalarRule(function, _PARTIALS[name])
        globals()[name] = rule
        return rule

    @stands_for(function)
    def plain(*args: Any) -> Any:
        if name not in _CONSTANT and any(is_watched(settle(x)) for x in args):
            raise MissingRuleError(
                f"math.{name} has no rule, so zyg cannot differentiate it.",
                "its derivative is not in the table of scalar derivatives.",
                f"give it one: f = zyg.scalar_rule(math.{name}, lambda x, y: ...)",
            )
        return function(*map(strip, args))

    globals()[name] = plain
    return plain
