"""The partial derivatives of SciPy's special functions of numbers, as in `functions.operations`."""

import math

import numpy as np

from zyg.functions.kit import OPERATIONS, for_any_number, power_p, power_x, scalar_rule
from zyg.scipy._gamma_ratios import beta_a, betaln_a, binom_k, binom_n, poch_z
from zyg.scipy._incomplete import betainc_a, betainc_b, gammainc_a
from zyg.scipy._special_elliptic import agm_a, elliprc_slopes, elliprd, elliprg_x
from zyg.scipy._special_slopes import (
    ROOT_2PI,
    ROOT_PI,
    be_second,
    bessel,
    besselpoly_a,
    betainc_x,
    boxcox_power,
    ellipe_m,
    ellipk_m,
    ellipkm1_p,
    expm1_slope,
    expn_x,
    gammainc_x,
    hyp2f1_z,
    ke_second,
    log1p_over,
    log1p_slope,
    log_ndtr_x,
    lpmv_x,
    of_parameters,
    over_density,
    polygamma,
    polynomial,
    pseudo_huber_delta,
    pseudo_huber_r,
    refused,
    rel_entr_x,
    rel_entr_y,
    rgamma_x,
    scaled_by_modulus,
    spherical,
    stdtr_df,
    stdtr_t,
    struve,
    struve_over,
    voigt,
    xlog1py_y,
    xlogy_y,
    zeta,
)
from zyg.scipy._theirs import special as sp

for_any_number(__name__)

TABLE = {
    **{getattr(sp, row.scipy): row.slopes for row in OPERATIONS.values() if row.scipy},
    # error functions, and the normal distribution
    sp.erfcx: (lambda x, y: 2 * (x * y - 1 / ROOT_PI),),
    sp.erfi: (lambda x, y: 2 / ROOT_PI * np.exp(x * x),),
    sp.erfinv: (lambda x, y: 0.5 * ROOT_PI * np.exp(y * y),),
    sp.erfcinv: (lambda x, y: -0.5 * ROOT_PI * np.exp(y * y),),
    sp.dawsn: (lambda x, y: 1 - 2 * x * y,),
    sp.wofz: (lambda x, y: 2 * (1j / ROOT_PI - x * y),),
    sp.voigt_profile: (
        lambda x, sigma, gamma, y: voigt(x, sigma, gamma)[0],
        lambda x, sigma, gamma, y: voigt(x, sigma, gamma)[1],
        lambda x, sigma, gamma, y: voigt(x, sigma, gamma)[2],
    ),
    sp.ndtr: (lambda x, y: np.exp(-0.5 * x * x) / ROOT_2PI,),
    sp.log_ndtr: (log_ndtr_x,),
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
    sp.rgamma: (rgamma_x,),
    sp.psi: (lambda x, y: polygamma(1, x),),
    sp.polygamma: of_parameters(
        sp.polygamma,
        ["n"],
        lambda n, x, y: (-1.0) ** n * sp.gamma(n + 2.0) * zeta(n + 2.0, x),
    ),
    sp.zeta: (refused("zeta", "x"), lambda x, q, y: -x * zeta(x + 1, q)),
    sp.beta: (beta_a, lambda a, b, y: beta_a(b, a, y)),
    sp.betaln: (betaln_a, lambda a, b, y: betaln_a(b, a, y)),
    sp.poch: (poch_z, lambda z, m, y: y * sp.psi(z + m)),
    sp.binom: (binom_n, binom_k),
    # the incomplete ones, their inverses, and distributions that are made of them
    sp.gammainc: (gammainc_a, gammainc_x),
    sp.gammaincc: (
        lambda a, x, y: -gammainc_a(a, x, y),
        lambda a, x, y: -gammainc_x(a, x, y),
    ),
    sp.gammaincinv: (
        lambda a, p, y: over_density(-gammainc_a(a, y, y), gammainc_x(a, y, p)),
        lambda a, p, y: 1 / gammainc_x(a, y, p),
    ),
    sp.gammainccinv: (
        lambda a, p, y: over_density(-gammainc_a(a, y, y), gammainc_x(a, y, p)),
        lambda a, p, y: -1 / gammainc_x(a, y, p),
    ),
    sp.betainc: (betainc_a, betainc_b, betainc_x),
    sp.betaincc: (
        lambda a, b, x, y: -betainc_a(a, b, x, y),
        lambda a, b, x, y: -betainc_b(a, b, x, y),
        lambda a, b, x, y: -betainc_x(a, b, x, y),
    ),
    sp.betaincinv: (
        lambda a, b, p, y: over_density(-betainc_a(a, b, y, y), betainc_x(a, b, y, p)),
        lambda a, b, p, y: over_density(-betainc_b(a, b, y, y), betainc_x(a, b, y, p)),
        lambda a, b, p, y: 1 / betainc_x(a, b, y, p),
    ),
    sp.betainccinv: (
        lambda a, b, p, y: over_density(-betainc_a(a, b, y, y), betainc_x(a, b, y, p)),
        lambda a, b, p, y: over_density(-betainc_b(a, b, y, y), betainc_x(a, b, y, p)),
        lambda a, b, p, y: -1 / betainc_x(a, b, y, p),
    ),
    sp.stdtr: (stdtr_df, stdtr_t),
    sp.stdtrit: (
        lambda df, p, y: -stdtr_df(df, y, p) / stdtr_t(df, y, p),
        lambda df, p, y: 1 / stdtr_t(df, y, p),
    ),
    sp.chdtr: (
        lambda v, x, y: 0.5 * gammainc_a(0.5 * v, 0.5 * x, y),
        lambda v, x, y: 0.5 * gammainc_x(0.5 * v, 0.5 * x, y),
    ),
    sp.chdtrc: (
        lambda v, x, y: -0.5 * gammainc_a(0.5 * v, 0.5 * x, y),
        lambda v, x, y: -0.5 * gammainc_x(0.5 * v, 0.5 * x, y),
    ),
    sp.pdtr: (refused("pdtr", "k"), lambda k, m, y: -gammainc_x(np.floor(k) + 1, m, y)),
    sp.pdtrc: (refused("pdtrc", "k"), lambda k, m, y: gammainc_x(np.floor(k) + 1, m, y)),
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
    sp.log_wright_bessel: of_parameters(
        sp.log_wright_bessel,
        ["a", "b"],
        lambda a, b, x, y: np.exp(sp.log_wright_bessel(a, a + b, x) - y),
    ),
    # powers, logarithms and their transformations
    sp.xlogy: (lambda x, y, z: np.log(y), xlogy_y),
    sp.xlog1py: (lambda x, y, z: np.log1p(y), xlog1py_y),
    sp.entr: (lambda x, y: -np.log(x) - 1,),
    sp.rel_entr: (rel_entr_x, rel_entr_y),
    sp.kl_div: (lambda x, y, z: rel_entr_x(x, y, z) - 1, lambda x, y, z: 1 + rel_entr_y(x, y, z)),
    sp.boxcox: (
        lambda x, power, y: x ** (power - 1),
        lambda x, power, y: boxcox_power(np.log(x), power, y),
    ),
    sp.boxcox1p: (
        lambda x, power, y: (1 + x) ** (power - 1),
        lambda x, power, y: boxcox_power(np.log1p(x), power, y),
    ),
    sp.inv_boxcox: (
        lambda y, power, x: x / (1 + power * y),
        lambda y, power, x: x * y * y * log1p_slope(power * y),
    ),
    sp.inv_boxcox1p: (
        lambda y, power, x: (1 + x) / (1 + power * y),
        lambda y, power, x: (1 + x) * y * y * log1p_slope(power * y),
    ),
    sp.exprel: (lambda x, y: expm1_slope(x),),
    sp.powm1: (power_x, lambda x, p, y: power_p(x, p, y + 1)),
    sp.exp10: (lambda x, y: math.log(10) * y,),
    sp.cosm1: (lambda x, y: -np.sin(x),),
    sp.sindg: (lambda x, y: math.pi / 180 * sp.cosdg(x),),
    sp.cosdg: (lambda x, y: -math.pi / 180 * sp.sindg(x),),
    sp.tandg: (lambda x, y: math.pi / 180 * (1 + y * y),),
    sp.radian: (math.pi / 180, math.pi / 10800, math.pi / 648000),
    sp.cotdg: (lambda x, y: -math.pi / 180 * (1 + y * y),),
    sp.round: (0,),
    # losses
    sp.huber: (
        lambda delta, r, y: np.maximum(np.abs(r) - delta, 0.0),
        lambda delta, r, y: np.where((np.abs(r) <= delta) & (delta != 0), r, delta * np.sign(r)),
    ),
    sp.pseudo_huber: (pseudo_huber_delta, pseudo_huber_r),
    # exponential integrals, and the dilogarithm
    sp.exp1: (lambda x, y: -np.exp(-x) / x,),
    sp.expi: (lambda x, y: np.exp(x) / x,),
    sp.expn: of_parameters(sp.expn, ["n"], expn_x),
    sp.spence: (lambda z, y: -log1p_over(z - 1),),
    sp.wrightomega: (lambda z, y: y / (1 + y),),
    # integrals of functions of Struve, and of Bessel functions times powers
    sp.itstruve0: (lambda x, y: sp.struve(0, x),),
    sp.it2struve0: (lambda x, y: -struve_over(x),),
    sp.itmodstruve0: (lambda x, y: sp.modstruve(0, x),),
    sp.besselpoly: (
        besselpoly_a,
        refused("besselpoly", "lmb"),
        refused("besselpoly", "nu"),
    ),
    # functions of Kelvin
    sp.ber: (lambda x, y: sp.berp(x),),
    sp.bei: (lambda x, y: sp.beip(x),),
    sp.ker: (lambda x, y: sp.kerp(x),),
    sp.kei: (lambda x, y: sp.keip(x),),
    sp.berp: (lambda x, y: np.real(be_second(x)),),
    sp.beip: (lambda x, y: np.imag(be_second(x)),),
    sp.kerp: (lambda x, y: np.real(ke_second(x)),),
    sp.keip: (lambda x, y: np.imag(ke_second(x)),),
    # hypergeometric functions and elliptic integrals
    sp.hyp0f1: of_parameters(sp.hyp0f1, ["v"], lambda v, z, y: sp.hyp0f1(v + 1, z) / v),
    sp.hyp1f1: of_parameters(
        sp.hyp1f1, ["a", "b"], lambda a, b, z, y: a / b * sp.hyp1f1(a + 1, b + 1, z)
    ),
    sp.hyp2f1: of_parameters(
        sp.hyp2f1,
        ["a", "b", "c"],
        hyp2f1_z,
    ),
    sp.hyperu: of_parameters(
        sp.hyperu, ["a", "b"], lambda a, b, x, y: -a * sp.hyperu(a + 1, b + 1, x)
    ),
    sp.ellipk: (ellipk_m,),
    sp.ellipkm1: (ellipkm1_p,),
    sp.ellipe: (ellipe_m,),
    sp.ellipkinc: (
        lambda phi, m, y: 1 / np.sqrt(1 - m * np.sin(phi) ** 2),
        refused("ellipkinc", "m"),
    ),
    sp.ellipeinc: (
        lambda phi, m, y: np.sqrt(1 - m * np.sin(phi) ** 2),
        refused("ellipeinc", "m"),
    ),
    sp.agm: (agm_a, lambda a, b, y: agm_a(b, a, y)),
    sp.elliprc: (lambda x, y, c: elliprc_slopes(x, y)[0], lambda x, y, c: elliprc_slopes(x, y)[1]),
    sp.elliprf: (
        lambda x, y, z, f: -elliprd(y, z, x) / 6,
        lambda x, y, z, f: -elliprd(x, z, y) / 6,
        lambda x, y, z, f: -elliprd(x, y, z) / 6,
    ),
    sp.elliprg: (
        lambda x, y, z, g: elliprg_x(x, y, z),
        lambda x, y, z, g: elliprg_x(y, x, z),
        lambda x, y, z, g: elliprg_x(z, x, y),
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
    sp.eval_sh_chebyu: polynomial(
        sp.eval_sh_chebyu, lambda n, less, x: 4 * sp.eval_gegenbauer(less, 2, 2 * x - 1)
    ),
    sp.eval_chebyc: polynomial(sp.eval_chebyc, lambda n, less, x: n * sp.eval_chebyu(less, x / 2)),
    sp.eval_chebys: polynomial(
        sp.eval_chebys, lambda n, less, x: sp.eval_gegenbauer(less, 2, x / 2)
    ),
    sp.eval_sh_jacobi: polynomial(
        sp.eval_sh_jacobi,
        lambda n, less, p, q, x: (
            (n + p) / sp.binom(2 * n + p - 1, n) * sp.eval_jacobi(less, p - q + 1, q, 2 * x - 1)
        ),
        parameters=["p", "q"],
    ),
    sp.lpmv: of_parameters(sp.lpmv, ["the order m", "the degree v"], lpmv_x),
    sp.eval_hermite: polynomial(
        sp.eval_hermite, lambda n, less, x: 2 * n * sp.eval_hermite(less, x)
    ),
    sp.eval_hermitenorm: polynomial(
        sp.eval_hermitenorm, lambda n, less, x: n * sp.eval_hermitenorm(less, x)
    ),
}
for _function, _partials in TABLE.items():
    scalar_rule(_function, *_partials)
