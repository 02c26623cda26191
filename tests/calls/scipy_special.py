"""Calls of the rules for scipy.special: ufuncs by their plain names, the others by zyg's."""

import numpy as np
import scipy.special as sp

from zyg.scipy import special

from .calls import CUBE, EMPTY, POINT, A, V, W, array, call

P, Q = np.abs(A), np.abs(V) + 0.3  # positive
U = (np.abs(A) - 0.4) / 2  # between 0 and 1
N = np.array([0, 1, 2, 5])
UNITS = np.array([0.2, 0.5, 0.9])

REAL = [call(A), call(POINT), call(1.5), call(EMPTY)]
POSITIVE = [call(P), call(POINT), call(1.5), call(EMPTY)]
UNIT = [call(U), call(np.array(0.3)), call(0.8), call(EMPTY)]
ORDERS = [call(N, P), call(2, P), call(1, 0.7), call(2, EMPTY)]
INTEGERS = [call(N, P), call(2, P), call(0, 0.7), call(2, EMPTY)]
SHAPES = [call(P, 0.5 * P), call(Q, P), call(1.5, P), call(P, 1.5), call(30.0, 33.0)]
DEGREES = [call(N, U), call(3, A), call(np.array(0), 0.4), call(1, 0.4)]
COMPLEX = [call(0.3 + 0.7j), call(-2.3 + 0.2j), call(1.5 - 4.0j)]


def same(functions, calls):
    return dict.fromkeys(functions, calls)


def continued_factorial(x):
    """Of nothing SciPy gives back what it is given."""
    return +special.factorial(x, extend="complex")


def multifactorial(x, k):
    return +special.factorialk(x, k, extend="complex")


def double_factorial(x):
    return +special.factorial2(x, extend="complex")


def harmonic(n, m, theta, phi):
    """Values of theirs that are no arrays would be arrays without axes."""
    return 1 * special.sph_harm_y(n, m, theta, phi)


CALLS = {
    **same(
        (
            sp.erf, sp.erfc, sp.erfcx, sp.erfi, sp.dawsn, sp.wofz, sp.ndtr, sp.log_ndtr, sp.expit,
            sp.log_expit, sp.expm1, sp.exprel, sp.exp2, sp.exp10, sp.cosm1, sp.sindg, sp.cosdg,
            sp.j0, sp.j1, sp.i0, sp.i0e, sp.i1, sp.i1e, sp.wrightomega, sp.rgamma, sp.tandg,
            sp.cotdg,
        ),
        REAL,
    ),
    **same(
        (
            sp.gamma, sp.gammaln, sp.loggamma, sp.psi, sp.y0, sp.y1, sp.k0, sp.k0e, sp.k1, sp.k1e,
            sp.entr, sp.log1p, sp.cbrt, sp.exp1, sp.expi, sp.spence,
        ),
        POSITIVE,
    ),
    **same(
        (sp.erfinv, sp.erfcinv, sp.ndtri, sp.logit, sp.ellipk, sp.ellipe, sp.ellipkm1), UNIT
    ),
    sp.radian: [call(A, 2 * A, V), call(10.0, 30.0, 15.0), call(A, 30, 2.5)],
    special.softplus: [*REAL, call([0.3, -800.0, 800.0])],
    **same((sp.jv, sp.jve, sp.yv, sp.yve, sp.iv, sp.ive, sp.kv, sp.kve), ORDERS),
    **same(
        (
            sp.yn, sp.kn, sp.hankel1, sp.hankel1e, sp.hankel2, sp.hankel2e, sp.struve,
            sp.modstruve, sp.expn, special.polygamma, special.spherical_jn, special.spherical_yn,
            special.spherical_in, special.spherical_kn,
        ),
        INTEGERS,
    ),
    **same(
        (special.jvp, special.yvp, special.kvp, special.ivp, special.h1vp, special.h2vp),
        [call(2, P), call(1, P, 2)],
    ),
    **same(
        (
            sp.gammainc, sp.gammaincc, sp.beta, sp.betaln, sp.poch, sp.xlogy, sp.xlog1py,
            sp.rel_entr, sp.kl_div, sp.boxcox, sp.boxcox1p, sp.inv_boxcox, sp.inv_boxcox1p,
            sp.huber, sp.pseudo_huber, sp.chdtr, sp.chdtrc, sp.powm1,
        ),
        SHAPES,
    ),
    **same((sp.gammaincinv, sp.gammainccinv, sp.stdtrit), [call(P, U), call(2.5, 0.3)]),
    **same(
        (sp.betainc, sp.betaincc, sp.betaincinv, sp.betainccinv),
        [call(P, 2.0, U), call(Q, P, 0.4), call(0.5, 0.7, 0.6), call(20.0, 15.0, 0.6)],
    ),
    **same(
        (
            sp.eval_legendre, sp.eval_sh_legendre, sp.eval_chebyt, sp.eval_sh_chebyt,
            sp.eval_chebyu, sp.eval_hermite, sp.eval_hermitenorm, sp.eval_laguerre,
        ),
        DEGREES,
    ),
    **same((sp.pdtr, sp.pdtrc), [call(N, P), call(2, 1.5)]),
    **same((sp.eval_gegenbauer, sp.eval_genlaguerre), [call(N, 1, U), call(3, 2, 0.4)]),
    sp.eval_jacobi: [call(N, 1, 2, U), call(3, 0, 2, 0.4)],
    sp.digamma: [call(A), *COMPLEX],
    sp.gammasgn: [call(A)],
    sp.round: [call(A)],
    sp.ndtri_exp: [call(-P), call(-30.0)],
    sp.owens_t: [call(A, V), call(0.5, P)],
    sp.voigt_profile: [call(A, Q, 0.7), call(0.5, P, V**2)],
    sp.stdtr: [call(P, V), call(3.0, A), call(2.5, -0.1)],
    sp.binom: [call(3 + P, P), call(7.5, V), call(P, 2)],
    special.zeta: [call(2, P), call(np.array([2, 3, 4, 5]), 0.7), call(3, -0.3)],
    special.multigammaln: [call(P + 1, 3), call(POINT, 1), call(2.5, 2)],
    continued_factorial: [call(A), call(2.5)],
    double_factorial: [call(P), call(2.5), call(POINT)],
    multifactorial: [call(P, 3), call(2.5, 2.3)],
    special.comb: [call(np.array([7.0, 5.5]), 2.3), call(6.0, 2.0, repetition=True)],
    special.lambertw: [call(P), call(0.5), call(0.3 + 0.2j, 1), call(-0.2, k=-1)],
    sp.sici: [call(P), call(1.5), call(0.3 + 0.5j)],
    sp.shichi: [call(P), call(1.5), call(0.3 + 0.5j)],
    sp.fresnel: [call(A), call(0.5 + 0.2j)],
    sp.airy: [call(A), call(1.5), call(0.3 + 0.5j)],
    sp.ellipj: [call(A, U / 2 + 0.5), call(3.7, 0.3), call(A, np.array([0, 0, 0, 0]))],
    sp.ellipkinc: [call(U, 0), call(0.7, 0)],
    sp.ellipeinc: [call(U, 0), call(0.7, 0)],
    sp.hyp0f1: [call(2, A), call(np.array([1, 2, 3, 4]), 0.3 + 1j)],
    sp.hyp1f1: [call(2, 3, A), call(1, 2, 0.3 + 1j)],
    sp.hyp2f1: [call(1, 2, 3, U), call(2, 1, 4, 0.3 + 0.1j)],
    sp.hyperu: [call(2, 3, P), call(1, 2, 1.5)],
    sp.wright_bessel: [call(1, 2, P), call(2, 1, 0.7)],
    # distributions and their inverses
    **same((sp.bdtr, sp.bdtrc), [call(np.array([2, 5, 2]), 5, UNITS)]),
    sp.bdtri: [call(np.array([2, 4, 2]), 5, UNITS)],
    **same((sp.nbdtr, sp.nbdtrc, sp.nbdtri), [call(2, 5, UNITS)]),
    **same((sp.fdtr, sp.fdtrc), [call(W**2 + 1, W**2 + 2, UNITS)]),
    **same((sp.gdtr, sp.gdtrc, sp.gdtrix), [call(W**2, W**2 + 1, UNITS)]),
    sp.fdtri: [call(W**2 + 1, W**2 + 2, UNITS)],
    sp.gdtria: [call(UNITS, W**2 + 1, W**2)],
    sp.gdtrib: [call(W**2, UNITS, W**2 + 1)],
    sp.bdtrik: [call(UNITS, W**2 + 6, 0.4)],
    sp.bdtrin: [call(W**2 + 1, UNITS, 0.4)],
    sp.nbdtrik: [call(UNITS, W**2 + 3, 0.4)],
    sp.nbdtrin: [call(W**2 + 1, UNITS, 0.4)],
    sp.smirnov: [call(np.array([3, 5, 9]), np.array([0.1, 0.37, 0.7])), call(1, 0.3)],
    sp.smirnovi: [call(np.array([3, 5, 9]), UNITS)],
    sp.chdtri: [call(W**2, UNITS)],
    sp.chdtriv: [call(UNITS, W**2 + 2)],
    sp.fdtridfd: [call(2.3, np.array([0.6, 0.65, 0.7]), np.array([1.3, 1.4, 1.5]))],
    sp.pdtri: [call(3, UNITS)],
    sp.pdtrik: [call(UNITS, W**2 + 2)],
    sp.stdtridf: [call(np.array([0.7, 0.8]), np.array([0.8, 1.1]))],
    sp.btdtria: [call(UNITS, W**2, UNITS[::-1])],
    sp.btdtrib: [call(W**2, UNITS, UNITS[::-1])],
    **same((sp.chndtr, sp.chndtrix), [call(UNITS, 3, W**2), call(UNITS, 3, 0.01)]),
    sp.chndtrinc: [call(W**2 + 4, 3, np.array([0.3, 0.4, 0.5]))],
    sp.ncfdtr: [call(W**2 + 1, W**2 + 2, W**2, UNITS)],
    sp.ncfdtri: [call(W**2 + 1, W**2 + 2, W**2, UNITS)],
    **same((sp.nctdtr, sp.nctdtrit), [call(W**2 + 1, W, UNITS)]),
    sp.kolmogorov: [call(np.array([0.3, 0.9, 1.0, 1.7]))],
    sp.kolmogi: [call(UNITS)],
    sp.smirnov: [call(3, UNITS), call(7, 0.4)],
    sp.smirnovi: [call(3, UNITS), call(7, 0.4)],
    sp.tklmbda: [call(W**2 / 4, UNITS)],
    sp.nrdtrimn: [call(UNITS, W**2, W)],
    sp.nrdtrisd: [call(W, np.array([0.2, 0.4, 0.9]), W**2)],
    # solutions of differential equations, and integrals
    sp.pbdv: [call(1, P), call(2, 0.7)],
    **same((special.riccati_jn, special.riccati_yn), [call(3, 0.7), call(0, 1.7)]),
    special.lqn: [call(3, 0.7)],
    special.lqmn: [call(1, 2, UNITS), call(0, 0, 1.7)],
    special.pbdn_seq: [call(2, 0.7)],
    special.lmbda: [call(2, 0.7), call(0, 1.7)],
    # nodes and weights
    special.roots_jacobi: [call(3, 0.3, -0.2), call(2, 0.7, 0.7, True)],
    special.roots_sh_jacobi: [call(3, 1.8, 0.7)],
    special.roots_gegenbauer: [call(3, 0.8)],
    special.roots_genlaguerre: [call(3, 0.8), call(1, 0.3, mu=True)],
    **same((special.pbdv_seq, special.pbvv_seq), [call(2, 0.7)]),
    **same((sp.modfresnelp, sp.modfresnelm, sp.itj0y0, sp.iti0k0, sp.it2j0y0), [call(P)]),
    **same((sp.it2i0k0, sp.airye, sp.kelvin), [call(P)]),
    **same((sp.itstruve0, sp.it2struve0, sp.itmodstruve0), [call(P)]),
    **same((sp.ber, sp.bei, sp.berp, sp.beip), REAL),
    **same((sp.ker, sp.kei, sp.kerp, sp.keip), POSITIVE),
    sp.besselpoly: [call(P, 1, 0), call(P, 2, 1)],
    sp.elliprc: [call(W**2, UNITS), call(0.7, 0.7)],
    # elliptic integrals, polynomials, spherical harmonics
    **same(
        (sp.elliprf, sp.elliprg, sp.elliprd),
        [call(W**2, UNITS, W**2 + UNITS), call(0.7, 0.7, 0.7), call(1e3, 0.1, 0.01)],
    ),
    sp.elliprj: [
        call(W**2, UNITS, W**2 + UNITS, 0.8),
        call(W**2, 0.5, 0.7, -UNITS),
    ],
    **same((sp.eval_sh_chebyu, sp.eval_chebyc, sp.eval_chebys), DEGREES),
    sp.eval_sh_jacobi: [call(N, 3, 2, U)],
    sp.lpmv: [call(1, 3, UNITS), call(0, 2, UNITS), call(-1, 2, UNITS), call(2, 2, -UNITS)],
    sp.log_wright_bessel: [call(1, 2, P)],
    harmonic: [call(3, 1, P, A), call(np.array([0, 3, 2]), np.array([0, -2, 2]), W, 0.3)],
    special.sph_legendre_p: [call(3, 1, P)],
    special.legendre_p: [call(3, UNITS), call(0, UNITS)],
    special.legendre_p_all: [call(3, UNITS), call(0, UNITS), call(1, 0.4)],
    special.assoc_legendre_p: [call(3, 1, UNITS), call(2, -1, UNITS, norm=True)],
    special.assoc_legendre_p_all: [call(2, 1, UNITS), call(0, 0, 0.4)],
    special.sph_legendre_p_all: [call(2, 1, P), call(0, 0, 0.4)],
    special.sph_harm_y_all: [call(2, 1, P, A), call(1, 2, W, 0.3)],
    special.assoc_laguerre: [call(P, 3, 2), call(0.7, 1)],
    special.perm: [call(np.array([7.0, 5.5]), 2.3), call(5.5, 2)],
    special.diric: [call(A, 5), call(A, 4), call(np.array([0.0, 2 * np.pi]), 3)],
    # reductions
    special.logsumexp: [
        *(call(CUBE, axis=axis) for axis in (None, 0, -1, (0, 2))),
        *(call(CUBE, axis=axis, keepdims=True) for axis in (None, 0, (0, 2))),
        call(CUBE, 1, P[:, :1]), call(CUBE, b=P), call(A, 1, P, True), call(POINT), call(1.5),
        call(CUBE, 1, array(2, 3, 4) + 0.9, return_sign=True), call(V, b=V, return_sign=True),
        call(np.zeros((2, 0)), 0),
    ],
    special.softmax: [call(CUBE), call(CUBE, axis=0), call(CUBE, axis=(0, -1)), call(V)],
    special.log_softmax: [call(CUBE), call(CUBE, axis=0), call(CUBE, axis=(0, -1)), call(V)],
}  # fmt: skip
