"""Formulas for SciPy's values: multifactorials; nodes and weights of Gauss.

Nodes and weights move with the parameters of their polynomials.
A node is where the polynomial of degree n is 0, by the implicit function theorem; a weight is one
over the sum of the squares of the orthonormal polynomials there. Source: W. Gautschi, Orthogonal
Polynomials: Computation and Approximation (2004), chapters 1 and 3.
"""

import math

import numpy as np

from zyg.functions.kit import is_complex, strip
from zyg.scipy._theirs import special as sp
from zyg.scipy._valued import unknown, valued, written
from zyg.verbs.implicit import solution


def _jacobi(k, a, b):
    """The elements of the matrix of Jacobi polynomials: on its diagonal, and before it."""
    total = 2 * k + a + b
    if k == 0:
        return (b - a) / (total + 2), 1.0
    steep = k * (k + a + b) / (total - 1) if k > 1 else 1.0
    beside = 2 / total * np.sqrt((k + a) * (k + b) / (total + 1) * steep)
    return (b * b - a * a) / (total * (total + 2)), beside


def _laguerre(k, a):
    return 2 * k + a + 1, np.sqrt(k * (k + a)) if k else 1.0


def _polynomials(n, elements, x, first, parameters):
    """Multiples of the orthonormal polynomials below n at x, from `first` on, and of the n-th."""
    found, before, rest = [], 0.0, first
    for k in range(n):
        on, beside = elements(k, *parameters)
        now = rest / beside
        found.append(now)
        before, rest = now, (x - on) * now - beside * before
    return found, rest


def _moved(n, elements, places, weights, total, parameters):
    """SciPy's places and weights, whose sum is this total, as functions of the parameters."""
    n = int(n)
    first = np.sqrt(np.maximum(weights, np.finfo(float).tiny))  # in which nothing overflows

    def residual(x, *parameters):
        return _polynomials(n, elements, x, first, parameters)[1]

    def one_by_one(turned, bar, levels):
        return bar / turned(np.ones(n))  # no node moves the residual of another

    x = solution(lambda: residual, places, parameters, solve=one_by_one)
    found, _ = _polynomials(n, elements, x, first, parameters)
    w = first**2 * total / sum(p * p for p in found)
    return x, w, total


def _jacobi_moved(n, alpha, beta):
    places, weights = sp.roots_jacobi(n, strip(alpha), strip(beta))
    total = np.exp((alpha + beta + 1) * math.log(2) + sp.betaln(alpha + 1, beta + 1))
    return _moved(n, _jacobi, places, weights, total, (alpha, beta))


@written(sp.roots_jacobi, "alpha", "beta")
def _roots_jacobi(n, alpha, beta, mu):
    return _jacobi_moved(n, alpha, beta)[: 3 if mu else 2]


@written(sp.roots_gegenbauer, "alpha")
def _roots_gegenbauer(n, alpha, mu):
    return _jacobi_moved(n, alpha - 0.5, alpha - 0.5)[: 3 if mu else 2]


@written(sp.roots_sh_jacobi, "p1", "q1")
def _roots_sh_jacobi(n, p1, q1, mu):
    x, w, total = _jacobi_moved(n, p1 - q1, q1 - 1)
    scale = 0.5**p1
    return (0.5 * (x + 1), w * scale, total * scale)[: 3 if mu else 2]


@written(sp.roots_genlaguerre, "alpha")
def _roots_genlaguerre(n, alpha, mu):
    places, weights = sp.roots_genlaguerre(n, strip(alpha))
    moved = _moved(n, _laguerre, places, weights, sp.gamma(alpha + 1), (alpha,))
    return moved[: 3 if mu else 2]


@valued(sp.factorialk)
def _factorialk(n, k, exact=False, extend="zero"):
    return _multifactorial(sp.factorialk, n, k, extend)


@valued(sp.factorial2)
def _factorial2(n, exact=False, extend="zero"):
    return _multifactorial(sp.factorial2, n, 2, extend)


def _multifactorial(function, n, k, extend):
    if extend != "complex":
        raise unknown(function, f"extend={extend!r}", 'pass extend="complex"')
    turns = is_complex(k) or strip(k) < 0
    power = np.exp((n - 1) / k * np.log(k + 0j if turns else k))
    return power * sp.gamma(n / k + 1) * sp.rgamma(1 / k + 1)
