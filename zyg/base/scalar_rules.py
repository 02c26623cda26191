"""The table of scalar derivatives: function -> one partial derivative per argument.

A partial is called with the arguments and the result, ``partial(x, y)`` or ``partial(x1, x2, y)``,
and works on numbers and elementwise on arrays alike. It is written in operators and ``np.``
functions, so it can be differentiated itself. A constant partial is given as a number. Operators,
ufuncs, forward mode and kernels all read this table; subgradients and the treatment of NaN live
here and nowhere else:

* abs'(0) = 0, sqrt'(0) = inf, hypot and arctan2 at (0, 0) have slope 0; and so abs(x)**2 has the
  second derivative 0 at 0, where that of x * x is 2;
* maximum at a tie: the second argument, minimum: the first, so that maximum(x, 0) has slope 0 at 0;
* x**0 has slope 0 at 0, 0**p has slope 0 in p; and so x**p has the mixed second derivative 0 at
  (0, 1), which is -inf in the limit;
* floor, ceil, round, sign and // have slope 0 everywhere;
* copysign(0, y) has slope 0, as abs; fmax and fmin follow the operand that is not NaN;
* sinc is smooth at 0, to every order.

First partials are accurate to a few units in the last place at every magnitude, or as well as the
value is conditioned (power, logaddexp, erf); those of tanh and sinc, as 1 - y * y cancels and NumPy
rounds pi x, only absolutely. What is smaller than the normal numbers may be 0.

A complex partial means the complex derivative (df/dz); who pulls back conjugates it. ``abs``,
``real``, ``imag`` and ``angle`` map to the reals; there the partial d has dy = Re(d dz).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from numbers import Complex, Rational, Real
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.marks import for_any_number
from zyg.errors import MissingRuleError

for_any_number(__name__)

Partial = Callable[..., Any] | float | complex

LOG2, LOG2_E, LOG10_E, PI = math.log(2.0), 1 / math.log(2.0), 1 / math.log(10.0), math.pi
TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def where(condition: Any, x: Any, y: Any) -> Any:
    """np.where that keeps plain numbers plain numbers, of whatever type."""
    if isinstance(condition, (bool, np.bool_)):
        return x if condition else y
    return np.where(condition, x, y)


def is_complex(x: Any) -> bool:
    """Whether a number or an array is complex."""
    if isinstance(x, (np.ndarray, np.generic)):
        return bool(x.dtype.kind == "c")
    if (kind := array_type(x)).library:
        return kind.dtype(x).kind == "c"
    return not isinstance(x, (float, int)) and isinstance(x, Complex) and not isinstance(x, Real)


def _sign(x: Any) -> Any:
    """x / |x|, and 0 at 0: for real and complex arrays, and for any ordered type of number."""
    if is_complex(x):
        r = abs(x)
        return where(r == 0, 0.0, x / where(r == 0, 1.0, r))
    return np.sign(x) if hasattr(x, "dtype") else where(x > 0, 1, where(x < 0, -1, 0))


def _conj_sign(x: Any) -> Any:
    return _sign(x).conjugate() if is_complex(x) else _sign(x)


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


def _reciprocal(x: Any) -> Any:
    # Python refuses 1 / 0, but an array divided by Python's 0 is infinite, as is its slope.
    return math.copysign(math.inf, x) if type(x) in (int, float) and x == 0 else 1 / x


def _over_norm(x: Any, y: Any) -> Any:
    return where(y == 0, 0.0, x / where(y == 0, 1.0, y))


def _arctan2_slope(x: Any, other: Any) -> Any:
    r = np.hypot(x, other)
    return _over_norm(_over_norm(x, r), r)


def _logistic(x: Any, other: Any, exp: Callable[[Any], Any] = np.exp) -> Any:
    """1 / (1 + exp(other - x)): the weight of x in logaddexp(x, other)."""
    tied = (x == other) & np.isinf(x)
    return where(tied, 0.5, 1 / (1 + exp(where(tied, 0.0, other - x))))


def _root_of_1_plus_square(x: Any) -> Any:
    return np.sqrt(1 + x * x) if is_complex(x) else np.hypot(1, x)  # x * x may overflow


def _sign_slope(x: Any) -> Any:
    if is_complex(x):
        raise MissingRuleError(
            "np.sign of a complex number has no rule.",
            "z/|z| is not complex-differentiable, so it has no single partial derivative.",
            "write z / np.abs(z), which is differentiated.",
        )
    return 0


def _sinc_slope(x: Any, y: Any) -> Any:
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


def _bessel_i1(x: Any, y: Any) -> Any:
    """The slope of np.i0: the mean of cos(t) exp(x cos(t)), by the midpoint rule.

    On a periodic function the rule converges faster than any power: with these 128 nodes, of which
    those at t and pi - t are taken together, the error is below rounding wherever i0 is finite.
    """
    total: Any = 0.0
    for k in range(64):
        c = math.cos((k + 0.5) * PI / 128)
        total = total + c / 64 * np.sinh(c * x)
    return total


def _digamma(x: Any) -> Any:
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


table: dict[Callable[..., Any], tuple[Partial, ...]] = {
    # arithmetic
    np.add: (1, 1),
    np.subtract: (1, -1),
    np.multiply: (lambda x1, x2, y: x2, lambda x1, x2, y: x1),
    np.divide: (lambda x1, x2, y: _reciprocal(x2), lambda x1, x2, y: -y / x2),
    np.negative: (-1,),
    np.positive: (1,),
    np.power: (power_x, power_p),
    np.float_power: (power_x, power_p),
    np.floor_divide: (0, 0),
    np.remainder: (1, lambda x1, x2, y: -(x1 // x2)),
    np.fmod: (1, lambda x1, x2, y: -np.rint((x1 - y) / x2)),
    np.reciprocal: (lambda x, y: -y * y,),
    np.square: (lambda x, y: 2 * x,),
    np.sqrt: (lambda x, y: 0.5 / (y + 0),),  # the root of -0.0 is -0.0
    np.cbrt: (lambda x, y: 1 / (3 * y * y),),
    # exponentials and logarithms
    np.exp: (lambda x, y: y,),
    np.exp2: (lambda x, y: LOG2 * y,),
    np.expm1: (lambda x, y: np.exp(x),),
    np.log: (lambda x, y: 1 / x,),
    np.log2: (lambda x, y: LOG2_E / x,),
    np.log10: (lambda x, y: LOG10_E / x,),
    np.log1p: (lambda x, y: 1 / (1 + x),),
    np.logaddexp: (
        lambda x1, x2, y: _logistic(x1, x2),
        lambda x1, x2, y: _logistic(x2, x1),
    ),
    np.logaddexp2: (
        lambda x1, x2, y: _logistic(x1, x2, np.exp2),
        lambda x1, x2, y: _logistic(x2, x1, np.exp2),
    ),
    # trigonometry
    np.sin: (lambda x, y: np.cos(x),),
    np.cos: (lambda x, y: -np.sin(x),),
    np.tan: (lambda x, y: 1 + y * y,),
    np.arcsin: (lambda x, y: 1 / np.sqrt((1 - x) * (1 + x)),),
    np.arccos: (lambda x, y: -1 / np.sqrt((1 - x) * (1 + x)),),
    np.arctan: (lambda x, y: 1 / (1 + x * x),),
    np.arctan2: (
        lambda x1, x2, y: _arctan2_slope(x2, x1),
        lambda x1, x2, y: -_arctan2_slope(x1, x2),
    ),
    np.hypot: (lambda x1, x2, y: _over_norm(x1, y), lambda x1, x2, y: _over_norm(x2, y)),
    np.sinc: (_sinc_slope,),
    np.i0: (_bessel_i1,),
    np.deg2rad: (PI / 180,),
    np.radians: (PI / 180,),
    np.rad2deg: (180 / PI,),
    np.degrees: (180 / PI,),
    # hyperbolic functions
    np.sinh: (lambda x, y: np.cosh(x),),
    np.cosh: (lambda x, y: np.sinh(x),),
    np.tanh: (lambda x, y: 1 - y * y,),
    np.arcsinh: (lambda x, y: 1 / _root_of_1_plus_square(x),),
    np.arccosh: (lambda x, y: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    np.arctanh: (lambda x, y: 1 / ((1 - x) * (1 + x)),),
    # selection
    np.maximum: (lambda x1, x2, y: x1 > x2, lambda x1, x2, y: np.logical_not(x1 > x2)),
    np.minimum: (lambda x1, x2, y: np.logical_not(x1 > x2), lambda x1, x2, y: x1 > x2),
    np.fmax: (
        lambda x1, x2, y: (x1 > x2) | np.isnan(x2),
        lambda x1, x2, y: np.logical_not((x1 > x2) | np.isnan(x2)),
    ),
    np.fmin: (
        lambda x1, x2, y: np.logical_not((x1 > x2) | np.isnan(x1)),
        lambda x1, x2, y: (x1 > x2) | np.isnan(x1),
    ),
    # modulus and sign
    np.absolute: (lambda x, y: _conj_sign(x),),
    np.fabs: (lambda x, y: _sign(x),),
    np.copysign: (lambda x1, x2, y: _sign(x1) * np.copysign(1, x2), 0),
    np.heaviside: (0, lambda x1, x2, y: x1 == 0),
    # complex parts
    np.real: (1,),
    np.imag: (lambda x, y: -1j if is_complex(x) else 0,),
    np.angle: (lambda x, y: -1j / where(x == 0, np.inf, x) if is_complex(x) else 0,),
    # rounding
    np.sign: (lambda x, y: _sign_slope(x),),
    np.floor: (0,),
    np.ceil: (0,),
    np.trunc: (0,),
    np.rint: (0,),
    np.fix: (0,),
    np.nextafter: (1, 0),
    np.ldexp: (lambda x1, x2, y: np.exp2(x2), 0),
    # special functions of Python's math module, which NumPy lacks
    math.erf: (lambda x, y: TWO_OVER_SQRT_PI * np.exp(-x * x),),
    math.erfc: (lambda x, y: -TWO_OVER_SQRT_PI * np.exp(-x * x),),
    math.gamma: (lambda x, y: y * _digamma(x),),
    math.lgamma: (lambda x, y: _digamma(x),),
    math.remainder: (1, lambda x1, x2, y: np.rint((y - x1) / x2)),
}

# Python's own operators mean the same functions; they keep the type of any number.
operators: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (operator.add, np.add),
    "sub": (operator.sub, np.subtract),
    "mul": (operator.mul, np.multiply),
    "truediv": (operator.truediv, np.divide),
    "floordiv": (operator.floordiv, np.floor_divide),
    "mod": (operator.mod, np.remainder),
    "pow": (operator.pow, np.power),
    "neg": (operator.neg, np.negative),
    "pos": (operator.pos, np.positive),
    "abs": (abs, np.absolute),
}
