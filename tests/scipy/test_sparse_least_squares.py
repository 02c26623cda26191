"""lsqr and lsmr with sparse matrices of watched elements, and with operators."""

import numpy as np
import pytest
import scipy.sparse.linalg as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.errors import ConvergenceError, DegenerateError, MissingRuleError
from zyg.scipy.sparse import csr_array, linalg

SHARP = {"atol": 1e-14, "btol": 1e-14, "conlim": 1e14}
NAMES = ["lsqr", "lsmr"]


def options(name):
    return SHARP | ({"maxiter": 300} if name == "lsmr" else {"iter_lim": 300})


def drawn(*shape, seed=0):
    made = np.random.default_rng((seed, *shape)).normal(size=shape)
    return made + 3.0 * np.eye(*shape) if len(shape) == 2 else made


def sparse(data, like):
    return csr_array((data, like.indices, like.indptr), shape=like.shape)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(
    rows=st.integers(1, 6), columns=st.integers(1, 6), damped=st.booleans(), started=st.booleans()
)
@settings(max_examples=8, deadline=None)
def test_solutions(name, rows, columns, damped, started):
    a, b, x0 = drawn(rows, columns), drawn(rows), drawn(columns, seed=1)
    solver = getattr(linalg, name)

    def solved(a, b, x0, damp):
        start = x0 if started else None
        return solver(a, b, damp if damped else 0.0, x0=start, **options(name))[0]

    zyg.check_gradient(solved, a, b, x0, 0.7, rtol=1e-5)
    operator = theirs.aslinearoperator(a)
    zyg.check_gradient(lambda b, x0: solved(operator, b, x0, 0.7), b, x0, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_matrices_and_second_derivatives(name):
    like = csr_array(np.where(np.abs(drawn(6, 4)) > 0.5, drawn(6, 4), 0.0))
    solver, b = getattr(linalg, name), drawn(6)
    for damp in (0.0, 0.4):
        zyg.check_gradient(
            lambda d, b, damp=damp: solver(sparse(d, like), b, damp, **options(name))[0],
            like.data,
            b,
            order=2,
            rtol=1e-4,
        )
    zyg.check_gradient(lambda b: solver(like, b, **options(name))[0], b, order=2, rtol=1e-4)


def test_complex_systems():
    like = csr_array(drawn(6, 4))
    data, b = like.data * (1 + 0.3j), drawn(6) * (1 - 1j)
    zyg.check_gradient(lambda d, b: linalg.lsqr(sparse(d, like), b, **SHARP)[0], data, b, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_scipys(name):
    a, b = drawn(6, 4), drawn(6)
    y, _ = zyg.pullback(lambda a, b: getattr(linalg, name)(a, b)[:3], a, b)
    exact = getattr(theirs, name)(a, b)
    assert np.array_equal(y[0], exact[0])
    assert y[1:] == exact[1:3]


@pytest.mark.parametrize("name", NAMES)
def test_norms_can_be_looked_at_only(name):
    a, b = drawn(6, 4), drawn(6)
    plain = getattr(theirs, name)(a, b)

    def looks(b):
        made = getattr(linalg, name)(a, b)
        said = made[3]
        assert repr(said) == repr(plain[3])
        assert f"{said:.3f}" == f"{plain[3]:.3f}"
        assert said < 1e3 and said <= 1e3 and said > 1e-3 and said >= 1e-3 and said  # noqa: PT018
        assert said.value == plain[3] == said and said == said  # noqa: PT018
        assert said != plain[3] + 1
        assert said in {plain[3]}
        assert max(said, made[4]) == max(plain[3:5])
        return np.sum(made[0])

    assert np.shape(zyg.gradient(looks, b)[0]) == (6,)
    for use in (
        lambda y: 2 * y, np.sqrt, lambda y: y**2, float, lambda y: np.maximum(y, 1.0), np.array,
        lambda y: np.sum(np.array([y])), lambda y: np.stack([y, y]),
    ):  # fmt: skip
        with pytest.raises(MissingRuleError, match="norms and estimates"):
            zyg.pullback(lambda b, use=use: use(getattr(linalg, name)(a, b)[3]), b)
    y, back = zyg.pullback(lambda b: getattr(linalg, name)(a, b), b)
    assert y[3:7] == plain[3:7]
    assert np.shape(back((np.ones(4), *[None] * (len(y) - 1)))[0]) == (6,)
    with pytest.raises(MissingRuleError, match="norms and estimates"):
        back((np.ones(4), None, None, 1.0, *[None] * (len(y) - 4)))


@pytest.mark.parametrize("name", NAMES)
def test_a_matrix_of_lower_rank(name):
    a, b = np.outer(drawn(5), drawn(3)), drawn(5)
    solver = getattr(linalg, name)
    zyg.check_gradient(lambda b: solver(a, b, **options(name))[0], b, rtol=1e-5)
    with pytest.raises(DegenerateError, match="dependent columns"):
        zyg.gradient(lambda a: np.sum(solver(a, b)[0]), a)
    zyg.check_gradient(lambda a: solver(a, b, 0.3, **options(name))[0], a, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_rules_do_not_know(name):
    a, b, solver = drawn(6, 4), drawn(6), getattr(linalg, name)
    operator = theirs.aslinearoperator(a)
    with pytest.raises(ConvergenceError, match="its istop is 7"):
        zyg.gradient(lambda b: np.sum(solver(a, b, **SHARP, **{
            "maxiter" if name == "lsmr" else "iter_lim": 1})[0]), b)  # fmt: skip
    with pytest.raises(MissingRuleError, match="a matrix with elements"):
        zyg.gradient(lambda d: np.sum(solver(operator, b, d)[0]), 0.3)
    with pytest.raises(MissingRuleError, match="right-hand sides"):
        zyg.gradient(lambda b: np.sum(solver(a, b)[0]), b[:, None])
    if name == "lsqr":
        with pytest.raises(MissingRuleError, match="calc_var"):
            zyg.gradient(lambda b: np.sum(solver(a, b, calc_var=True)[0]), b)


@pytest.mark.parametrize("name", NAMES)
def test_what_ends_far_from_the_solution_has_no_derivative(name):
    a, b, solver = drawn(6, 4), drawn(6), getattr(linalg, name)
    for f, x in ((lambda a, **o: solver(a, b, **o), a), (lambda b, **o: solver(a, b, **o), b)):
        with pytest.raises(ConvergenceError, match="far from the solution"):
            zyg.gradient(lambda x, f=f: np.sum(f(x, atol=0.5, btol=0.5)[0]), x)
    (slopes,) = zyg.jacobian(lambda b: solver(a, b, atol=1e-3, btol=1e-3)[0], b)
    np.testing.assert_allclose(slopes, np.linalg.pinv(a), rtol=1e-4)
    x = np.linalg.lstsq(a, b)[0]  # where the iteration has nothing to do
    zyg.check_gradient(lambda a: solver(a, b, x0=x, **options(name))[0], a, order=1, rtol=1e-5)
