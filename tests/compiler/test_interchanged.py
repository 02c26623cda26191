"""Nests of loops that only add, and are made the other way round where memory then is in order."""

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff import reverse
from zyg.compiler.back import interchanged
from zyg.compiler.back.llvm_functions import Module

from .wholes import read


def updated_by_rows(a, c):
    c = c.copy()
    for i in range(len(a)):
        for k in range(a.shape[1]):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


def columns_scaled(a, x):
    y = 0.0 * a[:, 0]
    for k in range(a.shape[1]):
        y += np.sin(x[k]) * a[:, k]
    return np.sum(np.cos(y))


def columns_in_place(a, x):
    y = x.copy()
    for k in range(a.shape[1]):
        y[: len(a)] -= a[:, k] / (2.0 + x[k] ** 2)
    return np.sum(y * y * y)


def columns_of_two(a, x):
    y, z = 0.0 * a[:, 0], 0.0 * a[:, 0]
    for k in range(a.shape[1]):
        y += x[k] * a[:, k]
        z += x[0] * a[:, k] * a[:, 0]
    return np.sum(np.sin(y) * z)


def columns_that_wait(a, x):
    y = np.zeros(len(a))
    for k in range(a.shape[1]):
        y = np.tanh(y) + x[k] * a[:, k]
    return np.sum(y)


FUNCTIONS = [
    updated_by_rows, columns_scaled, columns_in_place, columns_of_two, columns_that_wait,
]  # fmt: skip


def arguments(f, n, m):
    draw = np.random.default_rng(n + m).standard_normal
    return draw((n, m)), draw((n, n)) if f is updated_by_rows else draw(max(n, m))


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize(("n", "m"), [(3, 2), (2, 17), (40, 16), (20, 40), (1, 30), (5, 1)])
def test_both_ways_give_the_same(f, n, m):
    args = arguments(f, n, m)
    with zyg.config(fallback="error"):
        compiled = zyg.compile(f)
        value, found = zyg.value_and_gradient(compiled, *args)
    right = zyg.value_and_gradient(f, *args)
    np.testing.assert_allclose(value, right[0], rtol=1e-12)
    for x, y in zip(found, right[1], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives_of_derivatives(f):
    a, x = (0.3 * z for z in arguments(f, 3, 17))
    zyg.check_gradient(zyg.compile(lambda x: f(a, x)), x[:3] if x.ndim > 1 else x)


@pytest.mark.parametrize(("f", "some"), [(updated_by_rows, True), (columns_that_wait, False)])
def test_which_nests_are_made_the_other_way(f, some, monkeypatch):
    found = []
    turned = interchanged.turned

    def noticed(*args):
        found.append(turned(*args))
        return found[-1]

    monkeypatch.setattr(interchanged, "turned", noticed)
    Module(reverse.gradient(read(f, *arguments(f, 4, 20)).program, [0, 3]).program).whole()
    assert any(found) == some


def test_rounds_of_the_users_own_stay_in_order():
    def sums(a, x):
        total = 0.0
        for k in range(a.shape[1]):
            s = 0.0
            for i in range(a.shape[0]):
                s += a[i, k] * x[i]
            total += s * s
        return total

    args = arguments(sums, 20, 30)
    f = zyg.compile(sums)
    assert f(*args) == sums(*args)
    for x, y in zip(zyg.gradient(f, *args), zyg.gradient(sums, *args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11)
