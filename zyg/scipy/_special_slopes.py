"""Partial derivatives of special functions that are more than a line, and of whole families.

Sources: the NIST Digital Library of Mathematical Functions (dlmf.nist.gov), chapters 5 to 25. A
parameter in which no elementary derivative is known (the order of a Bessel function) is refused
by name. At 0, the slope of what contains |x| is that of its symmetric part.
"""

import math

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import for_any_number, is_complex, is_nowhere, rules, strip
from zyg.scipy._incomplete import betainc_a
from zyg.scipy._theirs import special as sp

for_any_number(__name__)

ROOT_PI, ROOT_2PI = math.sqrt(math.pi), math.sqrt(2 * math.pi)


def refused(name, parameter):
    """The partial derivative that is not known: of a function, in a parameter."""

    def partial(*args):
        raise MissingRuleError(
            f"scipy.special.{name} cannot be differentiated with respect to {parameter}.",
            "no formula in known functions gives this derivative.",
            f"pass zyg.stop_gradient({parameter}), or write a rule of your own with zyg.adjoint.",
        )

    return partial


def real_only(name, partial):
    """A partial derivative for real numbers, of what is not complex-differentiable."""

    def checked(*args):
        if any(map(is_complex, args)):
            raise MissingRuleError(
                f"scipy.special.{name} of complex numbers has no rule.",
                "it contains the modulus of its argument, so it is not complex-differentiable.",
                "use the unscaled function, and multiply by the factor yourself.",
            )
        return partial(*args)

    return checked


def series(x, radius, coefficients, far):
    """A power series in `x` where |x| < radius, ``far(x)`` elsewhere: smooth to every order."""
    near = np.abs(strip(x)) < radius
    inner, total = np.where(near, x, 0.0), 0.0
    for c in reversed(coefficients):
        total = total * inner + c
    return np.where(near, total, far(np.where(near, 1.0, x)))


# Gamma functions


def zeta(s, q):
    """The zeta function of Hurwitz, of watched numbers too."""
    return rules[sp.zeta](s, q)


def polygamma(n, x):
    """The n-th derivative of psi, n > 0: (-1)^(n+1) n! zeta(n+1, x), also for complex x."""
    scale = (-1.0) ** (n + 1) * math.factorial(n)
    return scale * (_hurwitz(n + 1, x) if is_complex(x) else zeta(n + 1, x))


def _hurwitz(s, q):
    """sum of (q + k)^-s over k >= 0 for complex q: a sum, and its rest by DLMF 2.10.1."""
    n = 12 + max(0, -math.floor(np.min(np.real(strip(q)), initial=0.0)))
    total = 0.0
    for k in range(n):
        total = total + (q + k) ** -s
    q = q + n
    total = total + q ** (1 - s) / (s - 1) + 0.5 * q**-s
    factor = s
    for k, bernoulli in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6), 1):
        total = total + bernoulli * factor / math.factorial(2 * k) * q ** (1 - s - 2 * k)
        factor *= (s + 2 * k - 1) * (s + 2 * k)
    return total


def rgamma_x(x, y):
    """-psi(x) / gamma(x); left of 1/2 reflected, where psi and gamma have poles."""
    left = np.real(strip(x)) < 0.5
    inner = 1 - np.where(left, x, 0.5)
    angle = math.pi * inner
    reflected = -np.cos(angle) - sp.psi(inner) * np.sin(angle) / math.pi
    right = np.where(left, 1.0, x)
    return np.where(left, sp.gamma(inner) * reflected, -sp.psi(right) * sp.rgamma(right))


def gammainc_x(a, x, y):
    return np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a))


def betainc_x(a, b, x, y):
    return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


def over_density(slope, density):
    """The slope of a quantile; 0 at the ends of the support, where both may be."""
    end = (strip(slope) == 0) & (strip(density) == 0)
    return slope / density if is_nowhere(end) else np.where(end, 0.0, slope / density)


def stdtr_t(df, t, y):
    height = np.exp(-sp.betaln(0.5 * df, 0.5)) / np.sqrt(df)
    return height * np.exp(-0.5 * (df + 1) * np.log1p(t * t / df))


def stdtr_df(df, t, y):
    # F(-|t|) = I_z(df/2, 1/2) / 2 with z = df / (df + t^2)
    z, zero = df / (df + t * t), strip(t) == 0
    inner = np.where(zero, 0.5, z)
    slope = 0.5 * betainc_a(0.5 * df, 0.5, inner, inner)
    slope = slope + np.abs(t) / df * stdtr_t(df, t, y)
    # At t = 0 it is 0, and as steep as the density there moves with df.
    steep = 0.5 * (sp.psi(0.5 * (df + 1)) - sp.psi(0.5 * df)) - 0.5 / df
    return np.where(zero, t * stdtr_t(df, 0.0, y) * steep, -0.5 * np.sign(t) * slope)


# The normal distribution


def log_ndtr_x(x, y):
    """density / ndtr; on the left by erfcx, in which nothing underflows."""
    left = np.real(strip(x)) < 0
    tail = math.sqrt(2 / math.pi) / sp.erfcx(-np.where(left, x, 0.0) / math.sqrt(2))
    right = np.where(left, 0.0, x)
    return np.where(left, tail, np.exp(-0.5 * right * right) / (ROOT_2PI * sp.ndtr(right)))


def voigt(x, sigma, gamma):
    """The partials of Re wofz(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt(2))."""
    u = x + 1j * gamma
    narrow = (strip(sigma) >= 0) & (strip(sigma) < 0.04 * np.abs(strip(u)))
    if is_nowhere(narrow):
        return _wide_voigt(u, sigma)
    near = _narrow_voigt(np.where(narrow, u, 1.0), np.where(narrow, sigma, 0.0))
    far = _wide_voigt(u, np.where(narrow, 1.0, sigma))
    return tuple(np.where(narrow, d, e) for d, e in zip(near, far, strict=True))


def _wide_voigt(u, sigma):
    z = u / (sigma * math.sqrt(2))
    w = sp.wofz(z)
    slope = 2 * (1j / ROOT_PI - z * w)
    scale = 1 / (sigma * ROOT_2PI)
    inner = scale / (sigma * math.sqrt(2))
    return (
        np.real(slope) * inner,
        -np.real(w + z * slope) * scale / sigma,
        -np.imag(slope) * inner,
    )


def _narrow_voigt(u, sigma):
    """By the series of wofz for large z, in which nothing is divided by sigma: DLMF 7.12.1.

    The profile is Re i/(pi u) sum_k (2k - 1)!! (sigma/u)^(2k).
    """
    square = (sigma / u) ** 2
    by_u, by_sigma = 0.0, 0.0
    for k in range(12, -1, -1):
        odd = math.prod(range(1, 2 * k, 2))
        by_u = by_u * square + odd * (2 * k + 1)
        by_sigma = by_sigma * square + odd * (2 * k + 1) * (2 * k + 2)
    by_u = -1j / math.pi * by_u / (u * u)
    by_sigma = 1j / math.pi * by_sigma * sigma / (u * u * u)
    return np.real(by_u), np.real(by_sigma), -np.imag(by_u)


# Powers, logarithms and their transformations


def xlogy_y(x, y, z):
    """x / y; at x = 0 it is 0 for any y, and moves with x."""
    none = (strip(x) == 0) & (strip(y) == 0)
    if is_nowhere(none):
        return x / y
    return np.where(none, np.sqrt(np.where(none, x, 1.0)), x / np.where(none, 1.0, y))


def xlog1py_y(x, y, z):
    return xlogy_y(x, 1 + y, z)


def rel_entr_x(x, y, z):
    """log(x / y) + 1; at y = 0 the value is infinite from x = 0 on."""
    zero = strip(x) == 0
    if is_nowhere(zero):
        return np.log(x / y) + 1
    inner = np.log(np.where(zero, 1.0, x) / np.where(zero, 1.0, y)) + 1
    alone = np.log(np.where(zero & (strip(y) != 0), x, 1.0))  # its slope is not that of a quotient
    return np.where(zero, alone - np.log(np.where(zero, y, 1.0)), inner)


def rel_entr_y(x, y, z):
    return -xlogy_y(x, y, z)


def boxcox_power(log, power, y):
    """log^2 times the slope of expm1(u) / u at u = power log; 1 / power^2 at log = -inf."""
    end = (strip(log) == -np.inf) & (strip(power) > 0)
    if is_nowhere(end):
        return log**2 * expm1_slope(power * log)
    inner = np.where(end, 0.0, log)
    return np.where(end, y * y, inner**2 * expm1_slope(power * inner))


def expm1_slope(u):
    """d/du of expm1(u) / u"""
    terms = [(k + 1) / math.factorial(k + 2) for k in range(20)]
    return series(u, 1.0, terms, lambda u: (u * np.exp(u) - np.expm1(u)) / (u * u))


def log1p_slope(w):
    """d/dw of log1p(w) / w"""
    terms = [(-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(18)]
    return series(w, 0.1, terms, lambda w: (w / (1 + w) - np.log1p(w)) / (w * w))


def pseudo_huber_delta(delta, r, y):
    # With q = hypot(delta, r): (q - delta)^2 / q, where q - delta is r^2 / (q + delta).
    q, none = _hypot(delta, r)
    longer = r / (q + delta) * r
    return np.where(none, 0.0, longer / q * longer)


def pseudo_huber_r(delta, r, y):
    q, none = _hypot(delta, r)
    return np.where(none, 0.0, delta / q * r)


def _hypot(x, y):
    """hypot, and where it is 0: there 1, to divide by."""
    none = (strip(x) == 0) & (strip(y) == 0)
    return np.hypot(x, np.where(none, 1.0, y)), none


def log1p_over(w):
    """log1p(w) / w"""
    terms = [(-1) ** k / (k + 1) for k in range(18)]
    return series(w, 0.1, terms, lambda w: np.log1p(w) / w)


def log_bessel(u):
    """log(i0e(u)) of u >= 0, with the slopes of this side at 0, where i0e has a kink."""
    start = strip(u) == 0
    return np.where(start, u * (0.25 * u - 1), np.log(sp.i0e(np.where(start, 1.0, u))))


def expn_x(n, x, y):
    n = np.trunc(n)  # as SciPy does
    first = n == 0
    return np.where(first, -y * (1 + 1 / x), -sp.expn(np.where(first, 0, n - 1), x))


# Elliptic integrals: hypergeometric series where the closed form cancels


def ellipk_m(m, y):
    near = np.abs(strip(m)) < 0.5
    far = np.where(near, 0.7, m)
    closed = (sp.ellipe(far) - (1 - far) * sp.ellipk(far)) / (2 * far * (1 - far))
    return np.where(near, math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, np.where(near, m, 0.0)), closed)


def ellipkm1_p(p, y):
    far = strip(p) < 0.5
    inner, small = 1 - np.where(far, 1.0, p), np.where(far, p, 0.3)
    closed = (sp.ellipe(1 - small) - small * sp.ellipkm1(small)) / (2 * small * (1 - small))
    return -np.where(far, closed, math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, inner))


def ellipe_m(m, y):
    near = np.abs(strip(m)) < 0.5
    far = np.where(near, 0.7, m)
    closed = (sp.ellipe(far) - sp.ellipk(far)) / (2 * far)
    return np.where(near, -math.pi / 8 * sp.hyp2f1(0.5, 1.5, 2, np.where(near, m, 0.0)), closed)


def hyp2f1_z(a, b, c, z, y):
    # The constant 1 has slope 0, also where the series of the neighbour does not converge.
    ratio = np.where((a == 0) & (c == 0), 1.0, a / c)  # then SciPy's value is (1 - z)^-b
    return np.where((ratio == 0) | (b == 0), 0.0, ratio * b * sp.hyp2f1(a + 1, b + 1, c + 1, z))


# Families whose derivative is that of a neighbour; their parameters are constants


def of_parameters(f, names, slope):
    """The partials of `f`: refused in its parameters, ``slope(*parameters, x, y)`` in x."""
    name, count = f.__name__, len(names)

    def partial(*args):
        # The parameters of a single number come as numbers of its field.
        return slope(*(np.real(strip(p)) for p in args[:count]), *args[count:])

    return *(refused(name, parameter) for parameter in names), partial


def bessel(f, before=0.5, after=-0.5, factor=None, like=None):
    """d/dz f(v, z) = before f(v - 1, z) + after f(v + 1, z): DLMF 10.6.1, 10.29.1.

    `factor(z)` is the logarithmic derivative of what a scaled function is multiplied by; `like`
    has the same rule, for integer orders, to which SciPy cuts others.
    """

    def slope(v, z, y):
        v = np.trunc(v) if like else v
        d = before * f(v - 1, z) + after * f(v + 1, z)
        return d if factor is None else d + factor(z) * y

    return of_parameters(like or f, ["the order v"], slope)


def scaled_by_modulus(f, after, factor):
    order, partial = bessel(f, 0.5, after, factor)
    return order, real_only(f.__name__, partial)


def struve(f, sign):
    """DLMF 11.4.27 and 11.4.28; near 0, where those cancel, by the series 11.2.1 and 11.2.2."""

    def by_neighbours(v, z):
        power = (0.5 * z) ** v * sp.rgamma(v + 1.5) / ROOT_PI
        return 0.5 * (f(v - 1, z) + sign * f(v + 1, z) + power)

    def by_series(v, z):
        total = 0.0
        for k in range(12):
            c = sign**k * (k + 0.5 * (v + 1)) * sp.rgamma(k + 1.5) * sp.rgamma(k + v + 1.5)
            total = total + c * (0.5 * z) ** np.where(c == 0, 0.0, 2 * k + v)
        return total

    def slope(v, z, y):
        near = np.abs(strip(z)) < 1
        if is_nowhere(near):
            return by_neighbours(v, z)
        far = by_neighbours(v, np.where(near, 1.0, z))
        return np.where(near, by_series(v, np.where(near, z, 1.0)), far)

    return of_parameters(f, ["the order v"], slope)


def struve_over(x):
    """H0(x) / x: DLMF 11.2.1"""
    terms = [(-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(12)]
    square = x * x
    sides = lambda u: sp.struve(0, np.sqrt(u)) / np.sqrt(u) * (math.pi / 2)  # noqa: E731
    return 2 / math.pi * series(square, 1.0, terms, sides)


# Functions of Kelvin: J0 and K0 on two rays, DLMF 10.61

_TURN_J, _TURN_K = np.exp(0.75j * math.pi), np.exp(0.25j * math.pi)


def be_second(x):
    """The second slope of ber + i bei"""
    z = _TURN_J * x
    return 0.5 * _TURN_J**2 * (sp.jv(2, z) - sp.jv(0, z))


def ke_second(x):
    """The second slope of ker + i kei"""
    z = _TURN_K * x
    return 0.5 * _TURN_K**2 * (sp.kv(0, z) + sp.kv(2, z))


def besselpoly_a(a, power, v, y):
    return sp.besselpoly(a, power + 1, v - 1) - sp.besselpoly(a, power + 1, v + 1)


def lpmv_x(m, v, x, y):
    """By the orders beside m: DLMF 14.10; of order 0 as the function of Legendre that it is."""
    factor = (v + m) * (v - m + 1)
    less = factor * sp.lpmv(np.where(factor == 0, m, m - 1), v, x)
    first, none = m == 0, (m == 0) & (v == 0)
    sides = 0.5 * (less - sp.lpmv(m + 1, v, x)) / np.sqrt(np.where(first, 1.0, 1 - x * x))
    alone = 0.5 * (v + 1) * sp.eval_jacobi(np.where(none, 0.0, v - 1), 1, 1, x)
    return np.where(none, 0.0, np.where(first, alone, sides))


def spherical(f, before, after):
    """DLMF 10.51.2 and 10.51.5"""

    def slope(n, z, y):
        less, more = np.abs(n - 1).astype(int), (n + 1).astype(int)
        neighbours = before * n * rules[f](less, z) + after * more * rules[f](more, z)
        return neighbours / (n + more)

    return of_parameters(f, ["the order n"], lambda n, z, y: slope(np.asarray(n), z, y))


def polynomial(f, slope, parameters=()):
    """An orthogonal polynomial in x: DLMF 18.9(iii).

    `slope` takes the degree n, the next smaller degree, the parameters, and x.
    """
    whole = all(types.startswith("l") for types in f.types)

    def partial(n, *args):
        n = np.asarray(n)  # whole degrees have formulas of their own in SciPy, without poles
        n = n.astype(int) if whole or np.all(n == np.trunc(n)) else n
        return np.where(n == 0, 0.0, slope(n, np.where(n == 0, 0, n - 1), *args[:-1]))

    return of_parameters(f, ["the degree n", *parameters], partial)
