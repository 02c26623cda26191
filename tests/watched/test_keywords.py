"""Keywords of ufuncs and of what joins arrays, on watched values."""

import re
import warnings

import numpy as np
import pytest

import zyg
from zyg.errors import MissingRuleError

X = np.array([0.7, 0.4, 1.3])
Y = np.array([1.1, 0.5, 2.0])
SQUARE = np.array([[1.2, 0.3, -0.1], [0.4, 1.5, 0.2], [0.1, -0.3, 0.9]])
CUBE = np.cos(np.arange(24.0)).reshape(2, 3, 4)
MASK = np.array([True, False, True])
ORDERS = [1, 2]


def weighted(y):
    y = 1.0 * np.real(y)
    return np.sum(np.sin(y) * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))


CALLS = {
    "where": (lambda x: np.where(MASK, np.multiply(x, Y, where=MASK, out=None), 0.0), X),
    "where=True": (lambda x: np.add(x, Y, where=True), X),
    "where and out": (lambda x: np.divide(x, Y, where=MASK, out=np.zeros_like(x)), X),
    "where in a list": (
        lambda x: np.where(MASK, np.log(x, where=[True, False, True], out=None), 1.0),
        X,
    ),
    "where of a row": (
        lambda x: np.where(MASK, np.power(x, x, where=MASK, out=None), 1.0),
        SQUARE**2 + 0.1,
    ),
    "dtype": (lambda x: np.exp(x, dtype=np.float64) + np.hypot(x, 2.0, dtype=float), X),
    "complex dtype": (lambda x: np.sqrt(x - 2, dtype=complex) * (1 + 2j), X),
    "casting": (lambda x: np.multiply(x, Y, casting="safe", subok=False), X),
    "order": (lambda x: np.sin(x, order="F").ravel(order="K"), SQUARE),
    "dtype of matrices": (
        lambda x: np.matvec(x, X, dtype=float) + np.vecmat(X, x, dtype=float),
        SQUARE,
    ),
    "where around a number": (lambda x: np.exp(x[0], where=np.full(3, True), out=None), X),
    "no output": (lambda x: np.arctan2(x, Y, None), X),
    "of a number": (lambda x: np.sin(x[0], dtype=float) * np.add(x[1], [x[2]], where=True), X),
    "axes": (lambda x: np.matmul(x, SQUARE, axes=[(0, 1), (1, 0), (0, 1)]), SQUARE),
    "axes of a stack": (lambda x: np.matmul(x, CUBE, axes=[(1, 2), (2, 1), (0, 1)]), CUBE),
    "axes of vectors": (lambda x: np.vecdot(x, SQUARE, axes=[(0,), (1,), ()]), SQUARE),
    "axis": (lambda x: np.vecdot(x, x + 1, axis=0), SQUARE),
    "linalg.vecdot": (lambda x: np.linalg.vecdot(x, x**2, axis=0), SQUARE),
    "complex vecdot": (lambda x: np.linalg.vecdot(x * (1 + 2j), x**2 * (0.3 - 1j)), SQUARE),
    "concatenate": (lambda x: np.concatenate([x, Y], dtype=float, casting="safe"), X),
    "stack": (lambda x: np.stack([x, Y], casting="no"), X),
    "vstack": (lambda x: np.vstack([x, Y], dtype=complex, casting="same_kind"), X),
    "hstack": (lambda x: np.hstack([x, Y], casting="unsafe"), X),
    "angle": (lambda x: np.angle(x + 1j * x[::-1], deg=True), X),
    "angle by position": (lambda x: np.angle(x + 1j * x[::-1], True) + np.angle(x, deg=False), X),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CALLS)
def test_calls_with_keywords(name, order):
    f, x = CALLS[name]
    y = zyg.pullback(f, x)[0]
    np.testing.assert_allclose(y, f(x), rtol=1e-15)
    assert y.dtype == f(x).dtype
    zyg.check_gradient(lambda x: weighted(f(x)), x, order=order)


@pytest.mark.parametrize("f", [np.modf, np.frexp, lambda x, **kw: np.divmod(x, 0.4, **kw)])
def test_several_results_stay_several(f):
    y = zyg.pullback(lambda x: f(x, order="F"), SQUARE)[0]
    assert type(y) is tuple
    for made, expected in zip(y, f(SQUARE, order="F"), strict=True):
        np.testing.assert_array_equal(made, expected)
        assert made.flags.f_contiguous


def test_single_precision_by_dtype_is_the_result_and_not_the_gradient():
    y, back = zyg.pullback(lambda x: np.multiply(x, 2.0, dtype=np.float32), X)
    assert y.dtype == np.float32
    (g,) = back(np.ones(3, np.float32))
    assert g.dtype == float
    np.testing.assert_array_equal(g, 2.0)


def test_nothing_warns_of_what_a_mask_leaves_out():
    zero = np.array([0.0, 2.0, 0.0])
    for f, x in (
        (lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=x != 0), zero),
        (lambda x: np.where(x > 0, np.log(x, where=x > 0, out=None), 0.0), zero),
        (lambda x: np.power(x, -1.0, out=np.ones_like(x), where=x > 0), zero),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            (g,) = zyg.gradient(lambda x, f=f: np.sum(f(x)), x)
        assert g[0] == g[2] == 0.0
        assert np.isfinite(g[1])
        assert g[1] != 0.0


def test_what_numpy_refuses_of_a_keyword_is_refused_as_numpy_does():
    for f, error, text in (
        (lambda x: np.multiply(x, Y, dtype=np.int64), TypeError, "Cannot cast|casting"),
        (lambda x: np.add(x, Y, dtype=np.float32, casting="safe"), TypeError, "Cannot cast"),
        (lambda x: np.vecdot(x, Y, axes=[(0,), (0,), (0,)]), ValueError, "axes"),
        (
            lambda x: np.concatenate([x, Y], dtype=int, casting="same_kind"),
            TypeError,
            "Cannot cast",
        ),
    ):
        with pytest.raises(error, match=text):
            zyg.pullback(f, X)
    with pytest.raises(MissingRuleError, match="does not know the keyword 'signature'"):
        zyg.pullback(lambda x: np.sin(x, signature="d->d"), X)


@pytest.mark.parametrize("f", [
    lambda x: np.add(x, x, out=5.0), lambda x: np.cumsum(x, out=5.0), lambda x: np.sum(x, out=5.0),
    lambda x: np.dot(x, 2.0, out=np.zeros(3, np.float32)),
    lambda x: np.dot(x, 2.0, out=np.zeros((2, 3))), lambda x: np.cumsum(x, out=np.zeros(4)),
    lambda x: np.concatenate([x, x], out=np.zeros(5)), lambda x: np.take(x, [0], out=np.zeros(2)),
])  # fmt: skip
def test_an_out_that_numpy_refuses_is_refused_by_its_error(f):
    x = np.arange(3.0)
    with pytest.raises((TypeError, ValueError)) as wanted:
        f(x)
    with pytest.raises(wanted.type, match=re.escape(str(wanted.value))):
        zyg.pullback(f, x)
