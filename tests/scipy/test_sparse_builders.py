"""Sparse matrices of watched parts: SciPy's values, the slopes of differences, and what is not."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import sparse

RANDOM = np.random.default_rng(0)
A, B, D = RANDOM.normal(size=4), RANDOM.normal(size=3), RANDOM.normal(size=(3, 3))
PLAIN = scipy.sparse.csr_array(np.diag([1.0, 2, 3]) + np.eye(3, k=1))
PLACES = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 1])  # two are in one place


def coo(d):
    return sparse.coo_array((d, PLACES), shape=(3, 3))


CASES = {
    "diags": (lambda a, b: sparse.diags([b, a, b], [-1, 0, 1]), A, B),
    "diags of numbers": (lambda a: sparse.diags([a[0], -2.0, a[1]], [-1, 0, 1], shape=(4, 4)), A),
    "diags, one": (sparse.diags, A),
    "diags, dtype": (lambda a: sparse.diags([a], [1], dtype=complex), A),
    "diags_array": (lambda a, b: sparse.diags_array([b, a], offsets=[1, 0]), A, B),
    "spdiags": (lambda a: sparse.spdiags(np.stack([a, 2 * a]), [0, 1], 4, 4), A),
    "dia_array": (lambda a: sparse.dia_array((np.stack([a, a * a]), [0, 1]), shape=(4, 4)), A),
    "csr_array of places": (lambda a: sparse.csr_array((a, PLACES), shape=(3, 3)), A),
    "coo_matrix of a list": (lambda a: sparse.coo_matrix(([*a], PLACES)), A),
    "hstack": (lambda a: sparse.hstack([coo(a), PLAIN, coo(2 * a).T]), A),
    "vstack": (lambda a: sparse.vstack([coo(a), PLAIN], format="csr"), A),
    "bmat": (lambda a: sparse.bmat([[coo(a), None], [PLAIN, coo(a * a)]]), A),
    "block_array": (lambda a, d: sparse.block_array([[coo(a), d], [None, PLAIN]]), A, D),
    "block_diag": (lambda a, d: sparse.block_diag([coo(a), d, [[1.0, 2.0]]]), A, D),
    "tril": (lambda a: sparse.tril(coo(a)), A), "triu": (lambda d: sparse.triu(d, 1), D),
    "kron": (lambda a, d: sparse.kron(coo(a), d), A, D),
    "kron of plain": (lambda a: sparse.kron(sparse.eye(2), coo(a), "csr"), A),
    "kronsum": (lambda a, d: sparse.kronsum(coo(a), d), A, D),
    "part": (lambda a: coo(a)[1:, :2], A), "chosen": (lambda a: coo(a)[[2, 0]], A),
    "element": (lambda a: coo(a)[0, 1], A), "none": (lambda a: coo(a)[0, 0] + a[0], A),
    "diagonal": (lambda a: sparse.diags([a, a[1:]], [0, 1]).diagonal(1), A),
    "sum": (lambda a: 0 + coo(a) + PLAIN - coo(a * a).T / 2, A),
    "difference": (lambda a: PLAIN - coo(a), A), "dense": (lambda a, d: coo(a) + d, A, D),
    "product": (lambda a: coo(a) @ coo(a * a).T, A),
    "product of three": (lambda a: (PLAIN.T @ coo(a) @ PLAIN)[1:], A),
    "layouts": (lambda a: coo(a).tocsr().T.asformat("csc").copy().transpose(), A),
}  # fmt: skip


def dense(y):
    return y.toarray() if hasattr(y, "toarray") else y


@pytest.mark.filterwarnings("ignore:`triu` is switching:DeprecationWarning")  # SciPy's own
@pytest.mark.parametrize("name", CASES)
def test_parts_are_where_scipy_puts_them(name):
    f, *x = CASES[name]
    expected, found = dense(f(*x)), zyg.pullback(lambda *x: dense(f(*x)), *x)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    assert found.dtype == expected.dtype
    zyg.check_gradient(lambda *x: dense(f(*x)), *x)


def test_a_system_of_diagonals():
    def f(k):
        a = sparse.diags([-k[1:-1], k[:-1] + k[1:], -k[1:-1]], [-1, 0, 1]).tocsc()
        assert sparse.issparse(a)
        assert (a.shape, a.nnz, a.dtype) == ((4, 4), 10, np.float64)
        return sparse.linalg.spsolve(a, np.ones(4))

    zyg.check_gradient(f, np.arange(1.0, 6.0))


@pytest.mark.parametrize(
    ("f", "error", "what"),
    [
        (lambda a: coo(a)[0], MissingRuleError, r"a\[k : k \+ 1\]"),
        (lambda a: sparse.coo_array(a[:, None]), MissingRuleError, "made of .data, places."),
        (lambda a: coo(a) + a[0], NotImplementedError, "nonzero scalar"),
        (lambda a: coo(a) + scipy.sparse.eye_array(4), ValueError, "inconsistent shapes"),
        (lambda a: coo(a) @ scipy.sparse.eye_array(4), ValueError, "do not fit"),
        (lambda a: coo(a).power(2), AttributeError, "has no 'power'"),
    ],
)
def test_what_is_not_known_is_refused(f, error, what):
    with pytest.raises(error, match=what):
        zyg.pullback(lambda a: dense(f(a)), A)


def test_adopted_modules_make_such_matrices_and_know_scipys_by_their_class():
    text = """
import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, eye, issparse
def f(x):
    a = coo_matrix((list(x), ([0, 1, 2], [1, 2, 0])), shape=(3, 3)).tocsr()
    assert issparse(a) and isinstance(eye(3, format="csr"), csr_matrix)
    assert issubclass(type(eye(3, format="csr")), csr_matrix)
    return np.sum((a @ np.arange(3.0)) ** 2)
class Mine(csr_matrix):
    pass
def kinds():
    mine = Mine(np.eye(2))
    return type(mine) is Mine, isinstance(mine, csr_matrix), isinstance(csr_matrix((2, 2)), Mine)
"""
    module = types.ModuleType("stiffness")
    sys.modules["stiffness"] = module
    try:
        exec(text, vars(module))
        expected = module.f(B)
        with zyg.adopt(module):
            assert zyg.value_and_gradient(module.f, B)[0] == expected
            zyg.check_gradient(module.f, B)
            exec(text, vars(module))
        with zyg.adopt(module):  # its class is made of zyg's now
            assert module.kinds() == (True, True, False)
    finally:
        del sys.modules["stiffness"]
