"""config(check_nan=True): the first cotangent that is not finite, with its line and its rule."""

import numpy as np
import pytest

import zyg
from zyg.core.reverse import reverse
from zyg.core.trace import Trace
from zyg.errors import NonFiniteError


def test_the_line_and_the_rule_are_named():
    def f(x):
        y = x - 1.0
        z = np.sqrt(y)
        return np.sum(z)

    with zyg.config(check_nan=True), pytest.raises(NonFiniteError) as caught:
        zyg.gradient(f, np.array([1.0, 2.0]))
    text = str(caught.value)
    assert "an operand of sqrt is" in text
    assert "z = np.sqrt(y)" in text
    assert __file__ in text


def test_numbers_and_adjoints_are_checked_too():
    with zyg.config(check_nan=True):
        with pytest.raises(NonFiniteError, match="power"):
            zyg.gradient(lambda x: x**0.5, 0.0)
        with pytest.raises(NonFiniteError, match="prod"):
            zyg.gradient(lambda x: np.prod(x) * np.inf, np.ones(2))


def test_finite_gradients_are_as_without_it():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    x = np.array([0.0, 4.0])
    with zyg.config(check_nan=True):
        np.testing.assert_array_equal(zyg.gradient(f, x)[0], [0.0, 0.25])


def program(x):
    y = np.zeros_like(x)
    s = 0.0
    for i in range(len(x)):
        y[i] = x[i] * x[i - 1] + s
        s = s + np.sin(x[i]) / (2.0 + i)
    y[1:] *= np.tanh(y[:-1])
    parts = np.split(y @ np.ones((6, 6)), 2)
    return np.sum(parts[0] * parts[1]) + s


@pytest.mark.parametrize("strong", [False, True])
def test_the_checked_pass_equals_the_fast_one_bit_for_bit(strong):
    trace = Trace(program, (np.linspace(0.1, 0.9, 6),), {})
    (target,) = trace.out
    seeds = [(target[0], 1.0)]
    slot = trace.slots[0][0]

    fast = reverse(trace.strand, seeds, strong)[slot]
    checked = reverse(trace.strand, seeds, strong, check=True)[slot]

    np.testing.assert_array_equal(fast, checked)
