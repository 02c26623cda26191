"""np.broadcast of watched arrays: their shape together, and their elements in turn."""

import numpy as np
import pytest

import zyg
import zyg.numpy as znp


def of_elements(module, x):
    return sum(a * b for a, b in module.broadcast(x, np.array([[1.0], [2.0]])))


def test_elements_carry_their_derivatives():
    x = np.array([1.0, 4.0])
    value, (slope,) = zyg.value_and_gradient(lambda x: of_elements(znp, x), x)
    assert value == of_elements(np, x)
    assert slope == pytest.approx([3.0, 3.0])


def test_a_large_array_is_asked_for_its_shape():
    def f(x):
        made = znp.broadcast(znp.broadcast(x, 1.0), np.ones((2, 1)))
        assert (made.shape, made.nd, made.size, made.numiter) == ((2, x.size), 2, 2 * x.size, 3)
        assert made.iters[0].base is x
        with pytest.raises(ValueError, match="shape mismatch"):
            znp.broadcast(x, np.ones(3))
        return x.sum()

    (slope,) = zyg.gradient(f, np.ones(20_000))
    assert slope.sum() == 20_000


def test_it_is_numpys_of_what_nobody_watches():
    assert type(znp.broadcast(np.ones(3), 2.0)) is np.broadcast
    made: list = []
    zyg.gradient(lambda x: made.append(type(znp.broadcast(np.ones(3)))) or x, 1.0)
    assert made == [np.broadcast]


def test_arrays_of_broadcast_arrays_are_made_without_a_warning():
    def f(x):
        a, b = znp.broadcast_arrays(znp.ones(1), znp.zeros(3))
        b[0] = x
        return (a * b).sum()

    assert zyg.gradient(f, 2.0) == (1.0,)
