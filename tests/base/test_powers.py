"""Powers where the exponent is 0: constant in x, and yet the slope in x moves with the exponent."""

import math
import operator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import zyg

MIXED = [[0.0, 0.5], [0.5, math.log(2.0) ** 2]]


@pytest.mark.parametrize("f", [np.power, np.float_power, operator.pow])
def test_a_slope_that_is_zero_moves_with_an_exponent_of_zero(f):
    v = np.array([2.0, 0.0])
    for g in (lambda v: f(v[0], v[1]), lambda v: f(v[:1], v[1:])[0]):
        np.testing.assert_allclose(zyg.hessian(g, v), MIXED, rtol=1e-15)
        rows = zyg.jacobian(lambda v, g=g: zyg.gradient(g, v)[0], v)[0]
        np.testing.assert_allclose(rows, MIXED, rtol=1e-15)


@pytest.mark.slow
def test_it_does_in_kernels():
    kernel = zyg.elementwise(lambda x, p: x**p)
    hessian = zyg.hessian(lambda v: kernel(v[:1], v[1:])[0], np.array([2.0, 0.0]))

    np.testing.assert_allclose(hessian, MIXED, rtol=1e-15)


def test_a_complex_slope_moves_with_an_exponent_of_zero():
    z = 2 + 1j
    mixed = zyg.holomorphic(lambda p: zyg.holomorphic(lambda z: z**p, z), 0j)

    assert mixed == pytest.approx(1 / z)


def test_the_third_derivative_of_a_power_whose_exponent_passes_one():
    def slope(f):
        return lambda x: zyg.gradient(f, x)[0]

    second = slope(slope(lambda x: (x * x + 1) ** x))
    with mpmath.workdps(30):
        expected = float(mpmath.diff(lambda x: (x * x + 1) ** x, 1, 3))

    assert slope(second)(1.0) == pytest.approx(expected, rel=1e-13)


def test_the_mixed_derivative_of_a_power_at_0_1_is_0_in_any_order():
    v, none = np.array([0.0, 1.0]), np.zeros((2, 2))
    for g in (lambda v: v[0] ** v[1], lambda v: np.power(v[:1], v[1:])[0]):

        def slopes(v, g=g):
            return zyg.gradient(g, v)[0]

        np.testing.assert_array_equal(slopes(v), [1.0, 0.0])
        np.testing.assert_array_equal(zyg.hessian(g, v), none)
        np.testing.assert_array_equal(zyg.jacobian(slopes, v, mode="reverse")[0], none)


def test_a_constant_power_has_slope_zero_everywhere():
    x = np.array([0.0, math.nan, 5e-324, math.inf, -2.0])
    for p in (0, 0.0, np.zeros(5)):
        np.testing.assert_array_equal(zyg.gradient(lambda x, p=p: np.sum(x**p), x)[0], np.zeros(5))
    assert zyg.gradient(lambda x: x**0, Fraction(2)) == (Fraction(0),)


@pytest.mark.parametrize(
    ("root", "square"),
    [
        (
            lambda v: np.abs(v[0] + 1j * v[1]),
            lambda v: np.real(v[0] + 1j * v[1]) ** 2 + np.imag(v[0] + 1j * v[1]) ** 2,
        ),
        (np.linalg.norm, lambda v: v @ v),
        (lambda v: np.hypot(v[0], v[1]), lambda v: v[0] ** 2 + v[1] ** 2),
    ],
)
def test_the_square_of_a_modulus_has_the_slopes_of_the_modulus_at_zero(root, square):
    def squared(v):
        return root(v) ** 2

    # As docs/numpy.md says: with slope 0 at the kink the chain rule gives 0 there, and not 2.
    assert not zyg.hessian(squared, np.zeros(2)).any()
    near = np.array([1e-9, 2e-9])
    np.testing.assert_allclose(zyg.hessian(squared, near), 2 * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(zyg.hessian(square, np.zeros(2)), 2 * np.eye(2))
