"""What the calls of scipy.signal and scipy.sparse cannot see."""

import numpy as np
import pytest
import scipy.sparse

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import signal, sparse

from ..calls.calls import A, V, W

STORED = scipy.sparse.csr_array(np.array([[0.0, 1.5, 0.7], [2.0, 0.0, 1.0]]))


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: signal.fftconvolve(x, A, axes=1), "'axes'"),
        (lambda x: signal.convolve2d(x, A, boundary="wrap"), "boundary"),
        (lambda x: signal.remez(5, x[0], [1.0]), "remez"),
    ],
)
def test_what_has_no_rule_is_refused(f, what):
    def call():
        y, back = zyg.pullback(f, A)
        back(y)

    with pytest.raises(MissingRuleError, match=what):
        call()


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_the_classes_are_scipys():
    a = sparse.csr_array(STORED)

    assert isinstance(a, scipy.sparse.csr_array)
    assert type(a.T).__name__ == "csc_array"
    assert np.array_equal(a @ W, STORED @ W)
    assert np.array_equal(np.ones(2) @ a, np.ones(2) @ STORED)
    assert (a + a).nnz == STORED.nnz
    assert repr(a) == repr(STORED)


def test_elements_in_the_same_place_add_up():
    def f(data):
        a = sparse.coo_array((data, ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
        return (a @ np.array([2.0, 3.0]))[0]

    assert zyg.gradient(f, np.array([1.0, 10.0, 5.0]))[0].tolist() == [3.0, 3.0, 0.0]


def test_watched_matrices_are_made_of_elements_and_places():
    with pytest.raises(MissingRuleError, match=r"\(data, places\)"):
        zyg.pullback(sparse.csr_array, A)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        zyg.pullback(lambda x: sparse.matmul(STORED, x), V)
