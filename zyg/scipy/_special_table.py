"""The partial derivatives of SciPy's special functions of numbers, as in `zyg.scalar_rules`.

Sources: the NIST Digital Library of Mathematical Functions (dlmf.nist.gov), chapters 5 to 25. A
parameter in which no elementary derivative is known (the order of a Bessel function) is refused
by name. At 0, the slope of what contains |x| is that of its symmetric part.
"""

import math

import numpy as np
from scipy import special as sp

from zyg._registry import rules, scalar_rule
from zyg._strand import strip
from zyg.errors import MissingRuleError
from zyg.rules._helpers import is_complex
from zyg.scipy._incomplete import betainc_a, betainc_b, gammainc_a

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
                "multiply the unscaled function with the factor that you mean.",
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


def _rgamma_x(x, y):
    """-psi(x) / gamma(x); left of 1/2 reflected, where psi and gamma have poles."""
    left = np.real(strip(x)) < 0.5
    inner = 1 - np.where(left, x, 0.5)
    angle = math.pi * inner
    reflected = -np.cos(angle) - sp.psi(inner) * np.sin(angle) / math.pi
    right = np.where(left, 1.0, x)
    return np.where(left, sp.gamma(inner) * reflected, -sp.psi(right) * sp.rgamma(right))


def _gammainc_x(a, x, y):
    return np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a))


def _betainc_x(a, b, x, y):
    return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


def _stdtr_t(df, t, y):
    height = np.exp(-sp.betaln(0.5 * df, 0.5)) / np.sqrt(df)
    return height * np.exp(-0.5 * (df + 1) * np.log1p(t * t / df))


def _stdtr_df(df, t, y):
    # F(-|t|) = I_z(df/2, 1/2) / 2 with z = df / (df + t^2)
    z, zero = df / (df + t * t), strip(t) == 0
    inner = np.where(zero, 0.5, z)
    slope = 0.5 * betainc_a(0.5 * df, 0.5, inner, inner)
    slope = slope + np.abs(t) / df * _stdtr_t(df, t, y)
    return -0.5 * np.sign(t) * np.where(zero, 0.0, slope)


# The normal distribution


def _log_ndtr_x(x, y):
    """density / ndtr; on the left by erfcx, in which nothing underflows."""
    left = np.real(strip(x)) < 0
    tail = math.sqrt(2 / math.pi) / sp.erfcx(-np.where(left, x, 0.0) / math.sqrt(2))
    right = np.where(left, 0.0, x)
    return np.where(left, tail, np.exp(-0.5 * right * right) / (ROOT_2PI * sp.ndtr(right)))


def _voigt(x, sigma, gamma):
    """The partials of Re wofz(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt(2))."""
    z = (x + 1j * gamma) / (sigma * math.sqrt(2))
    w = sp.wofz(z)
    slope = 2 * (1j / ROOT_PI - z * w)
    scale = 1 / (sigma * ROOT_2PI)
    inner = scale / (sigma * math.sqrt(2))
    return (
        np.real(slope) * inner,
        -np.real(w + z * slope) * scale / sigma,
        -np.imag(slope) * inner,
    )


# Powers, logarithms and their transformations


def _zero_at_zero(x, d):
    """`d`, which is 0 where x is 0."""
    return np.where(strip(x) == 0, 0.0, d)


def _xlogy_x(x, y, z):
    none = (strip(x) == 0) & (strip(y) == 0)
    return np.where(none, 0.0, np.log(np.where(none, 1.0, y)))


def _xlog1py_x(x, y, z):
    none = (strip(x) == 0) & (strip(y) == -1)
    return np.where(none, 0.0, np.log1p(np.where(none, 0.0, y)))


def _expm1_slope(u):
    """d/du of expm1(u) / u"""
    terms = [(k + 1) / math.factorial(k + 2) for k in range(20)]
    return series(u, 1.0, terms, lambda u: (u * np.exp(u) - np.expm1(u)) / (u * u))


def _log1p_slope(w):
    """d/dw of log1p(w) / w"""
    terms = [(-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(18)]
    return series(w, 0.1, terms, lambda w: (w / (1 + w) - np.log1p(w)) / (w * w))


def _pseudo_huber_delta(delta, r, y):
    # With s = sqrt(1 + u^2), 2 delta (s - 1) - delta u^2 / s = delta (s - 1)^2 / s.
    u2 = (r / delta) ** 2
    s = np.sqrt(1 + u2)
    return delta * (u2 / (s + 1)) ** 2 / s


def _log1p_over(w):
    """log1p(w) / w"""
    terms = [(-1) ** k / (k + 1) for k in range(18)]
    return series(w, 0.1, terms, lambda w: np.log1p(w) / w)


def _expn_x(n, x, y):
    first = n == 0
    return np.where(first, -y * (1 + 1 / x), -sp.expn(np.where(first, 0, n - 1), x))


# Elliptic integrals: hypergeometric series where the closed form cancels


def _ellipk_m(m, y):
    near = np.abs(strip(m)) < 0.5
    far = np.where(near, 0.7, m)
    closed = (sp.ellipe(far) - (1 - far) * sp.ellipk(far)) / (2 * far * (1 - far))
    return np.where(near, math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, np.where(near, m, 0.0)), closed)


def _ellipkm1_p(p, y):
    far = strip(p) < 0.5
    inner, small = 1 - np.where(far, 1.0, p), np.where(far, p, 0.3)
    closed = (sp.ellipe(1 - small) - small * sp.ellipkm1(small)) / (2 * small * (1 - small))
    return -np.where(far, closed, math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, inner))


def _ellipe_m(m, y):
    near = np.abs(strip(m)) < 0.5
    far = np.where(near, 0.7, m)
    closed = (sp.ellipe(far) - sp.ellipk(far)) / (2 * far)
    return np.where(near, -math.pi / 8 * sp.hyp2f1(0.5, 1.5, 2, np.where(near, m, 0.0)), closed)


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
    has the same rule, for integer orders.
    """

    def slope(v, z, y):
        d = before * f(v - 1, z) + after * f(v + 1, z)
        return d if factor is None else d + factor(z) * y

    return of_parameters(like or f, ["the order v"], slope)


def scaled_by_modulus(f, after, factor):
    order, partial = bessel(f, 0.5, after, factor)
    return order, real_only(f.__name__, partial)


def struve(f, sign):
    """DLMF 11.4.27 and 11.4.28"""

    def slope(v, z, y):
        power = (0.5 * z) ** v / (ROOT_PI * sp.gamma(v + 1.5))
        return 0.5 * (f(v - 1, z) + sign * f(v + 1, z) + power)

    return of_parameters(f, ["the order v"], slope)


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
        n = np.asarray(n).astype(int) if whole else n
        return np.where(n == 0, 0.0, slope(n, np.where(n == 0, 0, n - 1), *args[:-1]))

    return of_parameters(f, ["the degree n", *parameters], partial)


TABLE = {
    # error functions, and the normal distribution
    sp.erf: (lambda x, y: 2 / ROOT_PI * np.exp(-x * x),),
    sp.erfc: (lambda x, y: -2 / ROOT_PI * np.exp(-x * x),),
    sp.erfcx: (lambda x, y: 2 * (x * y - 1 / ROOT_PI),),
    sp.erfi: (lambda x, y: 2 / ROOT_PI * np.exp(x * x),),
    sp.erfinv: (lambda x, y: 0.5 * ROOT_PI * np.exp(y * y),),
    sp.erfcinv: (lambda x, y: -0.5 * ROOT_PI * np.exp(y * y),),
    sp.dawsn: (lambda x, y: 1 - 2 * x * y,),
    sp.wofz: (lambda x, y: 2 * (1j / ROOT_PI - x * y),),
    sp.voigt_profile: (
        lambda x, sigma, gamma, y: _voigt(x, sigma, gamma)[0],
        lambda x, sigma, gamma, y: _voigt(x, sigma, gamma)[1],
        lambda x, sigma, gamma, y: _voigt(x, sigma, gamma)[2],
    ),
    sp.ndtr: (lambda x, y: np.exp(-0.5 * x * x) / ROOT_2PI,),
    sp.log_ndtr: (_log_ndtr_x,),
    sp.ndtri: (lambda p, y: ROOT_2PI * np.exp(0.5 * y * y),),
    sp.ndtri_exp: (lambda x, y: ROOT_2PI * np.exp(x + 0.5 * y * y),),
    sp.owens_t: (
        lambda h, a, y: -0.5 / ROOT_2PI * np.exp(-0.5 * h * h) * sp.erf(a * h / math.sqrt(2)),
        lambda h, a, y: np.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
    ),
    # the logistic function
    sp.expit: (lambda x, y: y * sp.expit(-x),),
    sp.logit: (lambda x, y: 1 / (x * (1 - x)),),
    sp.log_expit: (lambda x, y: sp.expit(-x),),
    # gamma and beta functions
    sp.gamma: (lambda x, y: y * sp.psi(x),),
    sp.gammaln: (lambda x, y: sp.psi(x),),
    sp.loggamma: (lambda x, y: sp.psi(x),),
    sp.gammasgn: (0,),
    sp.rgamma: (_rgamma_x,),
    sp.psi: (lambda x, y: polygamma(1, x),),
    sp.polygamma: of_parameters(
        sp.polygamma,
        ["n"],
        lambda n, x, y: (-1.0) ** n * sp.gamma(n + 2.0) * zeta(n + 2.0, x),
    ),
    sp.zeta: (refused("zeta", "x"), lambda x, q, y: -x * zeta(x + 1, q)),
    sp.beta: (
        lambda a, b, y: y * (sp.psi(a) - sp.psi(a + b)),
        lambda a, b, y: y * (sp.psi(b) - sp.psi(a + b)),
    ),
    sp.betaln: (
        lambda a, b, y: sp.psi(a) - sp.psi(a + b),
        lambda a, b, y: sp.psi(b) - sp.psi(a + b),
    ),
    sp.poch: (
        lambda z, m, y: y * (sp.psi(z + m) - sp.psi(z)),
        lambda z, m, y: y * sp.psi(z + m),
    ),
    sp.binom: (
        lambda n, k, y: y * (sp.psi(n + 1) - sp.psi(n - k + 1)),
        lambda n, k, y: y * (sp.psi(n - k + 1) - sp.psi(k + 1)),
    ),
    # the incomplete ones, their inverses, and distributions that are made of them
    sp.gammainc: (gammainc_a, _gammainc_x),
    sp.gammaincc: (
        lambda a, x, y: -gammainc_a(a, x, y),
        lambda a, x, y: -_gammainc_x(a, x, y),
    ),
    sp.gammaincinv: (
        lambda a, p, y: -gammainc_a(a, y, y) / _gammainc_x(a, y, p),
        lambda a, p, y: 1 / _gammainc_x(a, y, p),
    ),
    sp.gammainccinv: (
        lambda a, p, y: -gammainc_a(a, y, y) / _gammainc_x(a, y, p),
        lambda a, p, y: -1 / _gammainc_x(a, y, p),
    ),
    sp.betainc: (betainc_a, betainc_b, _betainc_x),
    sp.betaincc: (
        lambda a, b, x, y: -betainc_a(a, b, x, y),
        lambda a, b, x, y: -betainc_b(a, b, x, y),
        lambda a, b, x, y: -_betainc_x(a, b, x, y),
    ),
    sp.betaincinv: (
        lambda a, b, p, y: -betainc_a(a, b, y, y) / _betainc_x(a, b, y, p),
        lambda a, b, p, y: -betainc_b(a, b, y, y) / _betainc_x(a, b, y, p),
        lambda a, b, p, y: 1 / _betainc_x(a, b, y, p),
    ),
    sp.betainccinv: (
        lambda a, b, p, y: -betainc_a(a, b, y, y) / _betainc_x(a, b, y, p),
        lambda a, b, p, y: -betainc_b(a, b, y, y) / _betainc_x(a, b, y, p),
        lambda a, b, p, y: -1 / _betainc_x(a, b, y, p),
    ),
    sp.stdtr: (_stdtr_df, _stdtr_t),
    sp.stdtrit: (
        lambda df, p, y: -_stdtr_df(df, y, p) / _stdtr_t(df, y, p),
        lambda df, p, y: 1 / _stdtr_t(df, y, p),
    ),
    sp.chdtr: (
        lambda v, x, y: 0.5 * gammainc_a(0.5 * v, 0.5 * x, y),
        lambda v, x, y: 0.5 * _gammainc_x(0.5 * v, 0.5 * x, y),
    ),
    sp.chdtrc: (
        lambda v, x, y: -0.5 * gammainc_a(0.5 * v, 0.5 * x, y),
        lambda v, x, y: -0.5 * _gammainc_x(0.5 * v, 0.5 * x, y),
    ),
    sp.pdtr: (refused("pdtr", "k"), lambda k, m, y: -_gammainc_x(np.floor(k) + 1, m, y)),
    sp.pdtrc: (refused("pdtrc", "k"), lambda k, m, y: _gammainc_x(np.floor(k) + 1, m, y)),
    # Bessel functions
    sp.j0: (lambda x, y: -sp.j1(x),),
    sp.j1: (lambda x, y: 0.5 * (sp.j0(x) - sp.jv(2, x)),),
    sp.jv: bessel(sp.jv),
    sp.jve: scaled_by_modulus(sp.jve, -0.5, lambda x: 0.0),
    sp.y0: (lambda x, y: -sp.y1(x),),
    sp.y1: (lambda x, y: 0.5 * (sp.y0(x) - sp.yv(2, x)),),
    sp.yn: bessel(sp.yv, like=sp.yn),
    sp.yv: bessel(sp.yv),
    sp.yve: scaled_by_modulus(sp.yve, -0.5, lambda x: 0.0),
    sp.i0: (lambda x, y: sp.i1(x),),
    sp.i0e: (lambda x, y: sp.i1e(x) - np.sign(x) * y,),
    sp.i1: (lambda x, y: 0.5 * (sp.i0(x) + sp.iv(2, x)),),
    sp.i1e: (lambda x, y: 0.5 * (sp.i0e(x) + sp.ive(2, x)) - np.sign(x) * y,),
    sp.iv: bessel(sp.iv, after=0.5),
    sp.ive: scaled_by_modulus(sp.ive, 0.5, lambda x: -np.sign(x)),
    sp.k0: (lambda x, y: -sp.k1(x),),
    sp.k0e: (lambda x, y: y - sp.k1e(x),),
    sp.k1: (lambda x, y: -0.5 * (sp.k0(x) + sp.kv(2, x)),),
    sp.k1e: (lambda x, y: y - 0.5 * (sp.k0e(x) + sp.kve(2, x)),),
    sp.kn: bessel(sp.kv, -0.5, -0.5, like=sp.kn),
    sp.kv: bessel(sp.kv, -0.5, -0.5),
    sp.kve: bessel(sp.kve, -0.5, -0.5, factor=lambda z: 1.0),
    sp.hankel1: bessel(sp.hankel1),
    sp.hankel1e: bessel(sp.hankel1e, factor=lambda z: -1j),
    sp.hankel2: bessel(sp.hankel2),
    sp.hankel2e: bessel(sp.hankel2e, factor=lambda z: 1j),
    sp.spherical_jn: spherical(sp.spherical_jn, 1, -1),
    sp.spherical_yn: spherical(sp.spherical_yn, 1, -1),
    sp.spherical_in: spherical(sp.spherical_in, 1, 1),
    sp.spherical_kn: spherical(sp.spherical_kn, -1, -1),
    sp.struve: struve(sp.struve, -1),
    sp.modstruve: struve(sp.modstruve, 1),
    sp.wright_bessel: of_parameters(
        sp.wright_bessel, ["a", "b"], lambda a, b, x, y: sp.wright_bessel(a, a + b, x)
    ),
    # powers, logarithms and their transformations
    sp.xlogy: (_xlogy_x, lambda x, y, z: _zero_at_zero(x, x / y)),
    sp.xlog1py: (_xlog1py_x, lambda x, y, z: _zero_at_zero(x, x / (1 + y))),
    sp.entr: (lambda x, y: -np.log(x) - 1,),
    sp.rel_entr: (lambda x, y, z: np.log(x / y) + 1, lambda x, y, z: -x / y),
    sp.kl_div: (lambda x, y, z: np.log(x / y), lambda x, y, z: 1 - x / y),
    sp.boxcox: (
        lambda x, power, y: x ** (power - 1),
        lambda x, power, y: np.log(x) ** 2 * _expm1_slope(power * np.log(x)),
    ),
    sp.boxcox1p: (
        lambda x, power, y: (1 + x) ** (power - 1),
        lambda x, power, y: np.log1p(x) ** 2 * _expm1_slope(power * np.log1p(x)),
    ),
    sp.inv_boxcox: (
        lambda y, power, x: x / (1 + power * y),
        lambda y, power, x: x * y * y * _log1p_slope(power * y),
    ),
    sp.inv_boxcox1p: (
        lambda y, power, x: (1 + x) / (1 + power * y),
        lambda y, power, x: (1 + x) * y * y * _log1p_slope(power * y),
    ),
    sp.expm1: (lambda x, y: np.exp(x),),
    sp.exprel: (lambda x, y: _expm1_slope(x),),
    sp.log1p: (lambda x, y: 1 / (1 + x),),
    sp.powm1: (
        lambda x, p, y: p * x ** (p - 1),
        lambda x, p, y: np.log(x) * (y + 1),
    ),
    sp.cbrt: (lambda x, y: 1 / (3 * y * y),),
    sp.exp2: (lambda x, y: math.log(2) * y,),
    sp.exp10: (lambda x, y: math.log(10) * y,),
    sp.cosm1: (lambda x, y: -np.sin(x),),
    sp.sindg: (lambda x, y: math.pi / 180 * sp.cosdg(x),),
    sp.cosdg: (lambda x, y: -math.pi / 180 * sp.sindg(x),),
    sp.tandg: (lambda x, y: math.pi / 180 * (1 + y * y),),
    sp.cotdg: (lambda x, y: -math.pi / 180 * (1 + y * y),),
    sp.round: (0,),
    # losses
    sp.huber: (
        lambda delta, r, y: np.maximum(np.abs(r) - delta, 0.0),
        lambda delta, r, y: np.where(np.abs(r) <= delta, r, delta * np.sign(r)),
    ),
    sp.pseudo_huber: (
        _pseudo_huber_delta,
        lambda delta, r, y: r / np.sqrt(1 + (r / delta) ** 2),
    ),
    # exponential integrals, and the dilogarithm
    sp.exp1: (lambda x, y: -np.exp(-x) / x,),
    sp.expi: (lambda x, y: np.exp(x) / x,),
    sp.expn: of_parameters(sp.expn, ["n"], _expn_x),
    sp.spence: (lambda z, y: -_log1p_over(z - 1),),
    sp.wrightomega: (lambda z, y: y / (1 + y),),
    # hypergeometric functions and elliptic integrals
    sp.hyp0f1: of_parameters(sp.hyp0f1, ["v"], lambda v, z, y: sp.hyp0f1(v + 1, z) / v),
    sp.hyp1f1: of_parameters(
        sp.hyp1f1, ["a", "b"], lambda a, b, z, y: a / b * sp.hyp1f1(a + 1, b + 1, z)
    ),
    sp.hyp2f1: of_parameters(
        sp.hyp2f1,
        ["a", "b", "c"],
        lambda a, b, c, z, y: a * b / c * sp.hyp2f1(a + 1, b + 1, c + 1, z),
    ),
    sp.hyperu: of_parameters(
        sp.hyperu, ["a", "b"], lambda a, b, x, y: -a * sp.hyperu(a + 1, b + 1, x)
    ),
    sp.ellipk: (_ellipk_m,),
    sp.ellipkm1: (_ellipkm1_p,),
    sp.ellipe: (_ellipe_m,),
    sp.ellipkinc: (
        lambda phi, m, y: 1 / np.sqrt(1 - m * np.sin(phi) ** 2),
        refused("ellipkinc", "m"),
    ),
    sp.ellipeinc: (
        lambda phi, m, y: np.sqrt(1 - m * np.sin(phi) ** 2),
        refused("ellipeinc", "m"),
    ),
    # orthogonal polynomials
    sp.eval_jacobi: polynomial(
        sp.eval_jacobi,
        lambda n, less, a, b, x: 0.5 * (n + a + b + 1) * sp.eval_jacobi(less, a + 1, b + 1, x),
        parameters=["alpha", "beta"],
    ),
    sp.eval_gegenbauer: polynomial(
        sp.eval_gegenbauer,
        lambda n, less, a, x: 2 * a * sp.eval_gegenbauer(less, a + 1, x),
        parameters=["alpha"],
    ),
    sp.eval_genlaguerre: polynomial(
        sp.eval_genlaguerre,
        lambda n, less, a, x: -sp.eval_genlaguerre(less, a + 1, x),
        parameters=["alpha"],
    ),
    sp.eval_laguerre: polynomial(
        sp.eval_laguerre, lambda n, less, x: -sp.eval_genlaguerre(less, 1, x)
    ),
    sp.eval_legendre: polynomial(
        sp.eval_legendre, lambda n, less, x: 0.5 * (n + 1) * sp.eval_jacobi(less, 1, 1, x)
    ),
    sp.eval_sh_legendre: polynomial(
        sp.eval_sh_legendre, lambda n, less, x: (n + 1) * sp.eval_jacobi(less, 1, 1, 2 * x - 1)
    ),
    sp.eval_chebyt: polynomial(sp.eval_chebyt, lambda n, less, x: n * sp.eval_chebyu(less, x)),
    sp.eval_sh_chebyt: polynomial(
        sp.eval_sh_chebyt, lambda n, less, x: 2 * n * sp.eval_chebyu(less, 2 * x - 1)
    ),
    sp.eval_chebyu: polynomial(
        sp.eval_chebyu, lambda n, less, x: 2 * sp.eval_gegenbauer(less, 2, x)
    ),
    sp.eval_hermite: polynomial(
        sp.eval_hermite, lambda n, less, x: 2 * n * sp.eval_hermite(less, x)
    ),
    sp.eval_hermitenorm: polynomial(
        sp.eval_hermitenorm, lambda n, less, x: n * sp.eval_hermitenorm(less, x)
    ),
}
for _function, _partials in TABLE.items():
    scalar_rule(_function, *_partials)

zeta = rules[sp.zeta]
