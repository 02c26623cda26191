"""Loops over `prange`: sums in chunks, writes in different places, nothing else handed on."""

import numpy as np
import pytest

import zyg
from zyg.errors import CompileError

X = np.linspace(-1.0, 2.0, 1001)


def summed(x):
    s, t = 1.0, 0.0
    for k in zyg.prange(len(x)):
        y = x[k] * x[k]
        s += np.sin(y)
        if x[k] > 0:
            t -= y
    return s * t


def written(x):
    out = np.zeros_like(x)
    for k in zyg.prange(1, len(x), 2):
        out[k] = np.cos(x[k]) * x[k - 1]
    return np.sum(out * out)


def known_bounds(x):
    s = 0.0
    for k in zyg.prange(100, 0, -3):
        s += x[k] * k
    return s


@pytest.mark.parametrize("f", [summed, written, known_bounds])
def test_values_and_gradients_are_those_of_a_range(f):
    with zyg.config(fallback="error"):
        compiled = zyg.compile(f)
        np.testing.assert_allclose(compiled(X), f(X), rtol=1e-12)
        zyg.check_gradient(compiled, X[:120])
        np.testing.assert_allclose(zyg.gradient(compiled, X)[0], zyg.gradient(f, X)[0], rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 5, 63, 64, 65, 1001])
def test_sums_are_those_of_chunks_in_order(n):
    def added(x):
        s = 0.1
        for k in zyg.prange(len(x)):
            s += x[k]
        return s

    x, right, count = X[:n], 0.1, min(n, 64)
    for c in range(count):
        part = 0.0
        for k in range(c * n // count, (c + 1) * n // count):
            part += x[k]
        right += part
    assert zyg.compile(added)(x) == right


def handed_on(x):
    state = 0.0
    for k in zyg.prange(len(x)):
        state = np.sin(state + x[k])
    return state


def left_early(x):
    s = 0.0
    for k in zyg.prange(len(x)):
        if x[k] > 1.0:
            break
        s += x[k]
    return s


def used(x):
    s = 0.0
    for k in zyg.prange(len(x)):
        s += x[k] * s
    return s


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (handed_on, "each other through state,"),
        (used, "each other through s,"),
        (left_early, "leaving a prange loop early"),
    ],
)
def test_what_rounds_hand_on_is_refused_by_name(f, text):
    with zyg.config(fallback="error"), pytest.raises(CompileError, match=text):
        zyg.compile(f)(X)
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(X) == f(X)
