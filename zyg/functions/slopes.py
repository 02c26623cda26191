"""What the table of operations says in more than a line: formulas of slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Rational
from typing import Any

import numpy as np

from zyg.base.array_types import is_complex
from zyg.base.marks import for_any_number
from zyg.errors import MissingRuleError

for_any_number(__name__)

LOG2, LOG2_E, LOG10_E, PI = math.log(2.0), 1 / math.log(2.0), 1 / math.log(10.0), math.pi
TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def where(condition: Any, x: Any, y: Any) -> Any:
    """np.where that keeps plain numbers plain numbers, of whatever type."""
    if isinstance(condition, (bool, np.bool_)):
        return x if condition else y
    return np.where(condition, x, y)


def sign(x: Any) -> Any:
    """x / |x|, and 0 at 0: for real and complex arrays, and for any ordered type of number."""
    if is_complex(x):
        r = abs(x)
        return where(r == 0, 0.0, x / where(r == 0, 1.0, r))
    return np.sign(x) if hasattr(x, "dtype") else where(x > 0, 1, where(x < 0, -1, 0))


def conj_sign(x: Any) -> Any:
    return sign(x).conjugate() if is_complex(x) else sign(x)


def root_slope(x: Any, y: Any) -> Any:
    """0.5 / y, infinite at 0; complex numbers divided by 0 are NaN, so there by the real part."""
    if not is_complex(y):
        return 0.5 / (y + 0)  # the root of -0.0 is -0.0
    zero = y == 0
    return where(zero, 0.5 / where(zero, y.real + 0, 1.0), 0.5 / where(zero, 1.0, y))


def _log(x: Any) -> Any:
    """The logarithm of a number of any type that has one."""
    if hasattr(x, "ln"):  # decimal
        return x.ln()
    if hasattr(x, "context") and hasattr(x.context, "log"):  # mpmath
        return x.context.log(x)
    return math.log(x) if isinstance(x, Rational) else np.log(x)


def is_nowhere(condition: Any) -> bool:
    """Whether a condition is known to hold of no element."""
    if isinstance(condition, (bool, np.bool_)):
        return not condition
    return isinstance(condition, np.ndarray) and not np.count_nonzero(condition)


def power_x(x: Any, p: Any, y: Any) -> Any:
    """p x**(p - 1), which moves with p where p is 0 as elsewhere: there it is p / x * x**p.

    At (0, 1) it is 1 whatever p does, as 0**p does not move with p.
    """
    if type(p) in (int, float):  # a constant, which does not move
        return 0 if p == 0 else p * x if p == 2 else p * x ** (p - 1)
    zero, linear = p == 0, p == 1
    if is_nowhere(linear):
        if is_nowhere(zero):
            return p * x ** (p - 1)
    else:
        linear = linear & (x == 0)
    flat = zero & ((x == 0) | (x != x))  # there alone the slope is 0 by convention
    inner = where(flat, 1, x)
    slope = where(flat, 0, where(zero, p / inner, p) * inner ** where(zero, p, p - 1))
    return where(linear, 1, slope)


def power_p(x: Any, p: Any, y: Any) -> Any:
    # |x|: for a negative base and an integer exponent the real part of the complex derivative;
    # for any other exponent y is NaN already.
    base = x if is_complex(x) else x + 0j if is_complex(p) else abs(x)
    flat = (x == 0) | (y == 0)  # inf**-1, too
    if type(x) in (bool, int, float, complex) and isinstance(flat, np.ndarray):
        log = np.log(base if base else 1)
        return where(flat, 0, y * log.item())  # a plain number: the slope is of y's dtype
    return where(flat, 0, y * _log(where(flat, 1, base)))


def reciprocal(x: Any) -> Any:
    # Python refuses 1 / 0, but an array divided by Python's 0 is infinite, as is its slope.
    return math.copysign(math.inf, x) if type(x) in (int, float) and x == 0 else 1 / x


def over_norm(x: Any, y: Any) -> Any:
    return where(y == 0, 0.0, x / where(y == 0, 1.0, y))


def arctan2_slope(x: Any, other: Any) -> Any:
    r = np.hypot(x, other)
    return over_norm(over_norm(x, r), r)


def logistic(x: Any, other: Any, exp: Callable[[Any], Any] = np.exp) -> Any:
    """1 / (1 + exp(other - x)): the weight of x in logaddexp(x, other)."""
    tied = (x == other) & np.isinf(x)
    return where(tied, 0.5, 1 / (1 + exp(where(tied, 0.0, other - x))))


# On a branch cut of a complex function, the sign of a zero says which side it is. Sums with 1 + 0j
# lose that of -0j; differences keep it.


def root_of_1_plus_square(x: Any) -> Any:
    return np.sqrt(x * x - (-1)) if is_complex(x) else np.hypot(1, x)  # x * x may overflow


def root_of_1_minus_square(x: Any) -> Any:
    return np.sqrt(-(x - 1) * (x - (-1)) if is_complex(x) else (1 - x) * (1 + x))


def sign_slope(x: Any) -> Any:
    if is_complex(x):
        raise MissingRuleError(
            "np.sign of a complex number has no rule.",
            "z/|z| is not complex-differentiable, so it has no single partial derivative.",
            "write z / np.abs(z), which is differentiated.",
        )
    return 0


def sinc_slope(x: Any, y: Any) -> Any:
    """(cos(u) - sinc) / x with u = pi x; near 0 its Taylor series, right to every order.

    d/du sin(u)/u = sum_k (-1)^k 2k u^(2k-1) / (2k+1)!
    """
    near = np.abs(x) < 0.5
    u = PI * where(near, x, 0.0)
    series = 0.0
    for k in range(14, 0, -1):
        series = series * (u * u) + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    far = where(near, 1.0, x)
    return where(near, PI * u * series, (np.cos(PI * far) - where(near, 1.0, y)) / far)


def bessel_i1(x: Any, y: Any) -> Any:
    """The slope of np.i0: the mean of cos(t) exp(x cos(t)), by the midpoint rule.

    On a periodic function the rule converges faster than any power: with these 128 nodes, of which
    those at t and pi - t are taken together, the error is below rounding wherever i0 is finite.
    """
    total: Any = 0.0
    for k in range(64):
        c = math.cos((k + 0.5) * PI / 128)
        total = total + c / 64 * np.sinh(c * x)
    return total


def digamma(x: Any) -> Any:
    """The logarithmic derivative of the gamma function, of one real number.

    Reflected to x >= 1/2, shifted beyond 10, and there the asymptotic series
    log x - 1/(2 x) - sum_k B(2k) / (2k x^2k), whose first omitted term is below 1e-16.
    """
    low = x < 0.5
    reflected = where(low, PI / np.tan(PI * where(low, x - np.rint(x), 0.25)), 0.0)
    x = where(low, 1 - x, x)
    shift = sum(1 / (x + k) for k in range(10))
    x = x + 10
    series: Any = 0.0
    for c in (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        series = (series + c) / (x * x)
    return np.log(x) - 0.5 / x - series - shift - reflected
