"""Verbs of zyg inside of compiled functions: machine code, right to second order."""

import numpy as np
import pytest

import zyg

from ..compiler import test_inside, test_inside_closures
from ..compiler.test_inside import X, of_each


@pytest.fixture(autouse=True)
def _nothing_falls_back():
    with zyg.config(fallback="error"):
        yield


def alike(found, right):
    if right is None:
        assert found is None
        return
    np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-11)


# Whose derivatives are not those of the values.
OF_THEIR_OWN = {"stopped", "with_scalar_rule", "with_constants", "by_rules", "hooked"}


@of_each(test_inside.PROGRAMS + test_inside_closures.PROGRAMS)
def test_it_is_machine_code_to_second_order(f, args):
    g = zyg.compile(f)
    assert g.inspect(*args)["native"]
    alike(g(*args), f(*args))
    for found, right in zip(zyg.gradient(g, *args), zyg.gradient(f, *args), strict=True):
        alike(found, right)
    along = tuple(np.cos(np.arange(np.size(x)).reshape(np.shape(x)) + 0.3) for x in args)
    along = tuple(d if np.ndim(d) else float(d) for d in along)
    seconds = (zyg.hvp(lambda p, h=h: h(*p), tuple(args), along) for h in (g, f))
    for found, right in zip(*seconds, strict=True):
        alike(found, right)
    if f.__name__ not in OF_THEIR_OWN:
        zyg.check_gradient(g, *args)


def slope_of_root(x):
    return zyg.gradient(np.sqrt, x)[0]


def of_a_large_array(w):
    return np.sum(zyg.gradient(test_inside.wave, w)[0] ** 2)


def test_a_derivative_that_is_not_finite_is_that_of_the_traced_engine():
    f = zyg.compile(slope_of_root)
    assert f(4.0) == 0.25
    with np.errstate(divide="ignore"):
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
