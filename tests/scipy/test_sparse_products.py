"""Products of SciPy's own sparse matrices with watched arrays."""

import numpy as np
import pytest
import scipy.sparse

import zyg
from zyg.errors import ConversionError

from ..calls.calls import array

DENSE = np.where(np.abs(array(3, 4)) > 0.9, array(3, 4), 0.0)
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
KINDS = [f"{name}_{form}" for name in FORMATS for form in ("array", "matrix")]
V, W, X = array(4), array(3), array(4, 2)


def weighted(y):
    return np.sum(np.real(y) * np.sin(np.imag(y) + np.real(y)))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_products_with_plain_sparse_matrices(kind, order):
    a = getattr(scipy.sparse, kind)(DENSE)
    times = kind.endswith("matrix")  # whose * is the product

    def f(v, w, x):
        parts = [a @ v, a.dot(v), a.T @ w, w @ a, a @ x, x.T @ a.T, a @ x[:, :1]]
        parts += [a * v, w * a, a * x] if times else []
        return sum(map(weighted, parts))

    value = zyg.value_and_gradient(f, V, W, X)[0]
    assert value == pytest.approx(f(V, W, X), rel=1e-14)
    zyg.check_gradient(f, V, W, X, order=order)


def test_complex_elements():
    a = scipy.sparse.csr_array(DENSE * (1 + 2j))
    zyg.check_gradient(
        lambda v, w: weighted(a @ (v * v)) + weighted(w @ a), V * (1 - 1j), W, order=2
    )


def test_whether_it_is_sparse_is_a_question():
    from zyg.scipy import sparse

    assert zyg.gradient(lambda x: x * (not scipy.sparse.issparse(x)), 2.0) == (1.0,)
    assert zyg.gradient(lambda x: x * (not sparse.issparse(x)), 2.0) == (1.0,)


def test_shapes_that_do_not_fit_are_refused():
    a = scipy.sparse.csr_array(DENSE)
    for f in (lambda w: a @ w, lambda w: np.stack([w, w]) @ a.T):
        with pytest.raises(ValueError, match="do not fit"):
            zyg.pullback(f, W)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_the_elementwise_product_of_a_sparse_array_holds_watched_numbers():
    a = scipy.sparse.csr_array(DENSE)
    for f in (lambda v: a * v, lambda v: v * a, lambda v: a.multiply(v)):
        np.testing.assert_allclose(
            zyg.gradient(lambda v: f(v * v).sum(), V)[0],  # noqa: B023
            2 * V * DENSE.sum(axis=0),
        )
        with pytest.raises(ConversionError, match="takes numbers only"):
            zyg.pullback(lambda v: f(v).toarray(), V)  # noqa: B023


def test_stored_elements_that_are_overwritten_do_not_spoil_the_gradient():
    a = scipy.sparse.csr_array(DENSE)

    def f(v):
        y = a @ v
        a.data[:] = 0.0  # of a few elements, so they have been copied
        return np.sum(y)

    np.testing.assert_allclose(zyg.gradient(f, V)[0], DENSE.sum(0), rtol=1e-15)
