"""What was compiled, and yet run in Python in silence, or refused for no reason."""

import numpy as np
import pytest

import zyg
from zyg.compiling.functions import Compiled

X = np.array([0.5, -1.2, 2.0, 0.1])


@pytest.fixture(autouse=True)
def machine_code_alone(monkeypatch):
    def in_python(self, args, kwargs):
        raise AssertionError("Python ran the function")

    monkeypatch.setattr(Compiled, "in_python", in_python)
    with zyg.config(fallback="error"):
        yield


def rebound(x, n=6):
    """The argument is not written to, though what takes its place in the loop is made there."""
    for _ in range(n):
        x = np.sin(x) * x[0] + 0.5 * x
    return np.sum(x * x)


def left_under_a_gradient(x):
    def inner(t):
        k = 0
        while t < 3.0:
            t = t * t + 0.5 * t + 0.1
            k += 1
            if k > 20:
                break
        return t * t

    return zyg.gradient(inner, x[0])[0] * x[1]


def prange_under_a_gradient(x):
    def inner(t):
        total = 0.0
        for i in zyg.prange(len(t)):
            total += np.sin(t[i]) * t[0]
        return total

    return np.sum(zyg.gradient(inner, x)[0] ** 2)


def rebound_under_a_gradient(x):
    def inner(w):
        y = x
        for _ in range(5):
            y = y * w + 0.1 * x[0]
        return np.sum(y * y)

    return zyg.gradient(inner, x[1])[0]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    "f",
    [rebound, left_under_a_gradient, prange_under_a_gradient, rebound_under_a_gradient],
    ids=lambda f: f.__name__,
)
def test_every_derivative_is_machine_code(f, parallel):
    compiled, v = zyg.compile(f, parallel=parallel), np.cos(np.arange(4.0))
    x = X.copy()
    (right,) = zyg.gradient(f, x)

    assert compiled(x) == pytest.approx(f(x), rel=1e-12)
    np.testing.assert_allclose(zyg.gradient(compiled, x)[0], right, rtol=1e-9)
    np.testing.assert_allclose(zyg.pullback(compiled, x)[1](1.0)[0], right, rtol=1e-9)
    assert zyg.pushforward(compiled, (x,), (v,))[1] == pytest.approx(right @ v, rel=1e-9)
    np.testing.assert_allclose(zyg.jacobian(compiled, x)[0], right, rtol=1e-9)
    ahead, behind = (zyg.gradient(f, x + h * v)[0] for h in (1e-5, -1e-5))
    np.testing.assert_allclose(zyg.hvp(compiled, x, v), (ahead - behind) / 2e-5, rtol=1e-5)
    np.testing.assert_array_equal(x, X)


def test_an_argument_that_is_rebound_may_be_read_only():
    x = X.copy()
    x.flags.writeable = False
    assert zyg.compile(rebound)(x) == pytest.approx(rebound(X))


def changed_around(x):
    kept = [x]

    def inner(t):
        kept[0] = t
        return t * t

    return zyg.gradient(inner, x)[0] + kept[0]


def test_a_function_that_changes_a_list_around_it_is_refused_under_a_derivative():
    with pytest.raises(zyg.errors.CompileError, match="changes something around it"):
        zyg.compile(changed_around)(0.5)
