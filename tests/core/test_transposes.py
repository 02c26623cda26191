"""Forward mode transposes the pullback of a rule without a forward rule, where it can."""

import numpy as np
import pytest

import zyg
from zyg.errors import AdjointError

X = np.array([1.0, 2.0, 3.0])


def rule(pull):
    return zyg.adjoint(lambda x: (x * x, lambda y_bar: (pull(y_bar) * 2 * x,)))


def outside(y_bar):
    return np.array(zyg.primal(y_bar))


CUT = {
    "all": zyg.stop_gradient, "half": lambda d: 0.5 * d + 0.5 * zyg.stop_gradient(d),
    "outside": outside, "clipped": lambda d: np.clip(zyg.primal(d), -1, 1),
}  # fmt: skip


@pytest.mark.parametrize("cut", CUT)
def test_a_pullback_that_cuts_its_cotangent_is_not_transposed(cut):
    square = rule(CUT[cut])
    with pytest.raises(AdjointError, match=r"pullback of .* \[transpose\]"):
        zyg.pushforward(square, (X,), (X,))
    with pytest.raises(AdjointError, match="transpose"):
        zyg.jacobian(square, X, mode="forward")


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("x", [X, np.arange(12.0)])
def test_jacobians_take_reverse_mode_instead(cut, x):
    square = rule(CUT[cut])
    np.testing.assert_array_equal(zyg.jacobian(square, x)[0], np.diag(2 * x))
    both = zyg.jacobian(lambda x: np.concatenate([square(x), x]), x)[0]
    np.testing.assert_array_equal(both, np.concatenate([np.diag(2 * x), np.eye(x.size)]))


def test_the_pullback_of_foreign_code():
    sine = zyg.foreign(np.sin, pullback=lambda d, y, x: (outside(d) * np.cos(x),))
    with pytest.raises(AdjointError, match="transpose"):
        zyg.pushforward(sine, (X,), (X,))
    np.testing.assert_allclose(zyg.jacobian(sine, X)[0], np.diag(np.cos(X)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_whole_pullbacks_are_transposed_as_ever(dtype):
    @zyg.adjoint
    def product(x, y):
        return {"sum": np.sum(x * y), "parts": [x * y]}, lambda d: (
            (d["sum"] + d["parts"][0]) * np.conj(y),
            lambda: (d["sum"] + d["parts"][0]) * np.conj(x),
        )

    x = (X + 0.5j).astype(dtype) if dtype is np.complex128 else X.astype(dtype)
    _, y_dot = zyg.pushforward(product, (x, 2 * x), (x, None))
    np.testing.assert_allclose(y_dot["parts"][0], 2 * x * x, rtol=1e-6)
    np.testing.assert_allclose(y_dot["sum"], np.sum(2 * x * x), rtol=1e-6)
