"""Verbs of zyg inside of compiled functions, where they meet infinities, writes, hooks, ints."""

import numpy as np
import pytest

import zyg
from zyg.base.registry import rules

from ..programs.derivatives import X, cube, rounded, wave


@pytest.fixture(autouse=True)
def _nothing_falls_back():
    with zyg.config(fallback="error"):
        yield


def alike(found, right):
    if right is None:
        assert found is None
        return
    np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-11)


def slope_of_root(x):
    return zyg.gradient(np.sqrt, x)[0]


def of_a_large_array(w):
    return np.sum(zyg.gradient(wave, w)[0] ** 2)


def test_a_derivative_that_is_not_finite_is_that_of_the_traced_engine():
    f = zyg.compile(slope_of_root)
    assert f(4.0) == 0.25
    with np.errstate(divide="ignore"), zyg.config(fallback="silent"):
        assert f(0.0) == slope_of_root(0.0) == np.inf


def test_a_large_array():
    w = np.linspace(-3, 3, 10_000)
    f = zyg.compile(of_a_large_array)
    alike(zyg.gradient(f, w)[0], zyg.gradient(of_a_large_array, w)[0])


def writes_around(w):
    zyg.gradient(_writing, w[0])
    return np.sum(w)


KEPT = np.zeros(3)


def _writing(x):
    KEPT[0] = 1.0
    return x * KEPT[0]


def test_an_inner_function_that_writes_to_an_array_around_it_is_refused():
    with pytest.raises(zyg.errors.CompileError, match="writes to an array around it"):
        zyg.compile(writes_around)(X)


def hooked_square(x):
    return zyg.hook(lambda d: -d, x) ** 2


def rounded_square(x):
    return rounded(x, 4) ** 2


@pytest.mark.parametrize("f", [hooked_square, rounded_square])
def test_an_adjoint_of_its_own_is_taken_once(f):
    g = zyg.compile(f)
    for h in (lambda f: lambda x: zyg.value_and_gradient(f, x)[0],
              lambda f: lambda x: zyg.gradient(f, x)[0]):  # fmt: skip
        alike(*(zyg.gradient(h(k), 1.3, zeros=True) for k in (g, f)))


def test_forward_mode_refuses_a_hook():
    with pytest.raises(zyg.errors.MissingRuleError, match="works in reverse mode only"):
        zyg.pushforward(zyg.compile(hooked_square), (1.3,), (1.0,))


def value_by_an_int(x):
    return zyg.value_and_gradient(cube, 3)[0] * x


def test_the_value_of_an_int_is_not_compiled():
    with pytest.raises(zyg.errors.CompileError, match="a derivative by an int"):
        zyg.compile(value_by_an_int)(2.0)


def test_a_rule_of_ones_own_for_a_function_of_numpys_is_not_passed_over():
    before = rules[np.tanh]
    zyg.scalar_rule(np.tanh, lambda x, y: 2 * (1 - y * y))
    try:
        f = zyg.compile(lambda x: np.sum(np.tanh(x)))
        (slope,) = zyg.gradient(f, np.array([0.5]))
        assert slope == pytest.approx(2 * (1 - np.tanh(0.5) ** 2))
    finally:
        rules[np.tanh] = before


@zyg.adjoint
def turned(x):
    return x * (1 + 2j), lambda c: (np.real(np.conj(1 + 2j) * c),)


@zyg.adjoint
def squared_size(z):
    return np.sum(np.real(z) ** 2 + np.imag(z) ** 2), lambda c: (2 * z * c,)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.abs(turned(x)) ** 2),  # a rule's result is complex
        lambda x: squared_size(x * (1 + 2j) + 1j),  # its argument is
        lambda x: np.sum(np.linalg.norm(x * (1 + 2j) + 1j, axis=0)),
        lambda x: np.sum(np.linalg.norm(x * (1 + 2j) + 1j, 3, axis=0)),
    ],
)
def test_a_rule_of_complex_arrays_drops_no_derivative(f):
    x = np.array([[0.4, -1.3], [2.0, 0.7]])
    compiled = zyg.compile(f)
    assert compiled(x) == pytest.approx(f(x))
    zyg.check_gradient(compiled, x)


def test_a_mask_that_is_larger_than_what_it_masks_is_refused_as_numpy_does():
    masked = zyg.compile(lambda x, mask: np.sum(x, where=mask))
    with pytest.raises(ValueError, match="broadcast"):
        masked(np.array([1.0]), np.array([True, False, True]))
