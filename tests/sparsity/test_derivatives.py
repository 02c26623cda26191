"""Sparse Jacobians and Hessians: patterns, colourings, values, refusals.

The oracle is the dense derivative; of patterns, what is known of them on paper.
"""

import itertools
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import zyg
from zyg.base.structure import Structure
from zyg.core.entries import kinds
from zyg.core.indexing import undo_write
from zyg.core.trace import watchable
from zyg.errors import HolomorphicError, MissingRuleError, PatternError, StructureError
from zyg.sparsity import derivatives as sparse
from zyg.sparsity import tokens
from zyg.sparsity.patterns import PatternCall, _flows

from ..calls.tables import NUMPY


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def pattern_of(f, x):
    return PatternCall(f, x).pattern.toarray()


def dense(f, x, mode="auto"):
    return zyg.jacobian(f, x, mode=mode)[0].reshape(np.size(f(x)), x.size)


def colours(entries, star=False):
    entries = sp.csr_array(entries, dtype=bool)
    found = sparse._star_coloured(entries) if star else sparse._coloured(entries.tocsc())
    return int(found.max(initial=-1)) + 1


def check(f, x, **options):
    """The sparse Jacobian is the dense one, both ways."""
    expected = dense(f, x)
    for mode in ("forward", "reverse", "auto"):
        made = zyg.sparse_jacobian(f, x, mode=mode, **options)
        assert isinstance(made, sp.csr_array)
        assert made.shape == expected.shape
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made.toarray(), expected, rtol=1e-12, atol=1e-13)
    return made


# Programs whose patterns are known


def tridiagonal(x):
    y = np.exp(x) - 2 * x
    y[1:] += x[:-1]
    y[:-1] += x[1:] ** 2
    return y


def laplacian(u):
    """The five-point residual of the Bratu problem on a square."""
    k = int(u.size**0.5)
    v = np.pad(np.reshape(u, (k, k)), 1)
    inner = v[1:-1, 1:-1]
    around = v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]
    return 4 * inner - around - 0.1 * np.exp(inner)


def arrow(x):
    y = x * x[0]
    y[0] = np.sum(x**2)
    return y


def blocks(x):
    v = np.reshape(x, (-1, 3))
    return np.sum(v, axis=1, keepdims=True) * v


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def grid(k):
    chain = sp.diags_array([np.ones(k - 1), np.ones(k), np.ones(k - 1)], offsets=[-1, 0, 1])
    one = sp.eye_array(k)
    return (sp.kron(chain, one) + sp.kron(one, chain)).toarray() != 0


def arrowhead(n):
    made = np.eye(n, dtype=bool)
    made[0] = made[:, 0] = True
    return made


BAND = abs(np.subtract.outer(np.arange(9), np.arange(9))) <= 1
KNOWN = [
    (tridiagonal, numbers(9), BAND, 3),
    (laplacian, numbers(36), grid(6), 7),
    (arrow, numbers(7), arrowhead(7), 7),
    (blocks, numbers(12), np.kron(np.eye(4), np.ones((3, 3))) != 0, 3),
    (np.sin, numbers(5), np.eye(5) != 0, 1),
    (np.diff, numbers(5), np.eye(4, 5) + np.eye(4, 5, 1) != 0, 2),
    (lambda x: np.convolve(x, [1.0, -2.0, 1.0], "same"), numbers(9), BAND, 3),
    (np.cumsum, numbers(4), np.tri(4) != 0, 4),
    (np.sum, numbers(4), np.ones((1, 4), bool), 4),
    (lambda x: np.mean(np.reshape(x, (2, 3)), axis=0), numbers(6), np.tile(np.eye(3), 2) != 0, 2),
    (lambda x: x[[2, 0, 2]], numbers(4), np.eye(4)[[2, 0, 2]] != 0, 1),
    (lambda x: np.max(np.reshape(x, (2, 2)), axis=1), numbers(4), None, 1),
    (lambda x: 3.0, numbers(4), np.zeros((1, 4), bool), 0),
    (lambda x: np.zeros(3), numbers(4), np.zeros((3, 4), bool), 0),
    (lambda x: np.zeros_like(x), numbers(4), np.zeros((4, 4), bool), 0),
    (lambda x: np.floor(x), numbers(4), np.zeros((4, 4), bool), 0),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "expected", "count"), KNOWN)
def test_the_pattern_is_detected_and_its_colours_are_as_few_as_known(f, x, expected, count):
    found = pattern_of(f, x)

    if expected is not None:
        assert (found == expected).all()
    assert colours(found) == count
    check(f, x)
    check(f, x, pattern=found)


def test_x_and_the_result_may_have_any_shape():
    check(lambda x: np.cumsum(x, axis=1).T * x[0, 0], numbers(3, 2))
    check(lambda x: np.sin(x), np.array(0.3))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_elements(n):
    check(tridiagonal, numbers(n))
    check(lambda x: np.concatenate([x, np.zeros(2)]), numbers(n))
    hessian = zyg.sparse_hessian(lambda x: np.sum(x**3), numbers(n))
    assert (hessian.toarray() == 6 * np.diag(numbers(n))).all()


def test_a_pattern_may_be_bools_or_a_sparse_matrix_whose_stored_zeros_count():
    x = numbers(9)
    made = zyg.sparse_jacobian(tridiagonal, x, BAND.tolist())
    again = zyg.sparse_jacobian(tridiagonal, x, 0 * made)
    coordinates = zyg.sparse_jacobian(tridiagonal, x, sp.coo_matrix(BAND))

    assert made.nnz == 25
    for other in (again, coordinates):
        assert (other.toarray() == made.toarray()).all()
    hessian = zyg.sparse_hessian(rosenbrock, x, 0 * made)
    np.testing.assert_allclose(hessian.toarray(), zyg.hessian(rosenbrock, x))


def test_the_arguments_are_left_alone():
    x, pattern = numbers(9), sp.csr_array(BAND.astype(float))
    before = x.copy()
    zyg.sparse_jacobian(tridiagonal, x, pattern)
    zyg.sparse_hessian(rosenbrock, x, pattern)
    assert (x == before).all()
    assert x.flags.writeable
    assert (pattern.toarray() == BAND).all()
    assert pattern.dtype == float


def test_precision_is_that_of_the_argument():
    x = numbers(9).astype(np.float32)
    assert check_dtype(tridiagonal, x) == np.float32
    assert zyg.sparse_hessian(rosenbrock, x).dtype == np.float32
    assert check_dtype(lambda x: x * x, np.arange(4)) == np.float64


def check_dtype(f, x):
    made = [zyg.sparse_jacobian(f, x, mode=mode) for mode in ("forward", "reverse")]
    for one in made:
        np.testing.assert_allclose(one.toarray(), dense(f, x), rtol=1e-5)
    (dtype,) = {one.dtype for one in made}
    return dtype


# Detection


def test_values_decide_nothing():
    weights = numbers(4, 4)

    def f(x):
        square = np.reshape(x, (2, 2))
        return np.tanh(weights @ (x * x[::-1])) * x[0] + np.ravel(square @ square)[:1]

    assert (pattern_of(f, np.zeros(4)) == pattern_of(f, numbers(4))).all()
    assert not zyg.sparse_jacobian(f, np.zeros(4)).toarray().any()


def test_branches_are_those_taken():
    def f(x):
        return x[:2] if x[0] > 0 else np.stack([x[2], x[2] * x[0]])

    assert pattern_of(f, np.array([1.0, 2.0, 3.0])).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert pattern_of(f, np.array([-1.0, 2.0, 3.0])).tolist() == [[0, 0, 1], [1, 0, 1]]


def test_zeros_of_a_constant_matrix_count():
    stencil = np.eye(5) - np.eye(5, k=1)
    assert (pattern_of(lambda x: stencil @ np.sin(x), numbers(5)) == (stencil != 0)).all()
    both = pattern_of(lambda x: stencil @ np.reshape(x, (5, 2)), numbers(10))
    assert (both == np.kron(stencil != 0, np.eye(2))).all()
    right = pattern_of(lambda x: np.reshape(x, (2, 5)) @ stencil, numbers(10))
    assert (right == np.kron(np.eye(2), stencil.T != 0)).all()
    assert pattern_of(lambda x: np.outer(x, x) @ stencil, numbers(5)).sum() == 25 * 2.4 + 1


def test_writes_views_and_single_elements():
    def f(x):
        y = np.zeros_like(x)
        z = np.reshape(y, (2, 3)).T
        z[1] = x[:2]
        y[0] = x[3] * x[4]
        y[::2] += x[::2]
        y[1] = 5.0
        z[2, 1] *= x[5]
        return y

    expected = np.zeros((6, 6), bool)
    expected[0, [0, 3, 4]] = expected[2, 2] = expected[4, [1, 4]] = expected[5, 5] = True
    assert (pattern_of(f, numbers(6)) <= expected).all()
    check(f, numbers(6))


def test_what_is_written_over_is_forgotten():
    def f(x):
        y = np.copy(x)
        y[1:3] = x[None, 3:]
        y[0] = x[2] * x[4]
        np.add.at(y, 4, x[0])
        y[3] = 7.0
        return y

    assert pattern_of(f, numbers(5)).astype(int).tolist() == [
        [0, 0, 1, 0, 1], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1],
    ]  # fmt: skip


def test_a_sum_that_starts_at_an_element():
    assert pattern_of(lambda x: np.sum(x[2:], initial=x[0]), numbers(4)).tolist() == [[1, 0, 1, 1]]


def test_a_rule_of_the_users_makes_everything_depend_on_everything():
    @zyg.adjoint
    def mine(x):
        return np.sin(x), lambda y_bar: (y_bar * np.cos(x),)

    assert pattern_of(lambda x: mine(x[1:]), numbers(3)).tolist() == [[0, 1, 1]] * 2
    check(mine, numbers(3))


def test_complex_numbers_on_the_way():
    check(lambda x: np.fft.ifft(np.fft.fft(x)).real * x, numbers(4))
    check(lambda x: np.roll(np.exp(1j * x), 1).imag, numbers(4))
    check(lambda x: np.imag(np.concatenate([x * 1j, x + 0j])), numbers(4))


def test_many_tokens_are_told_apart():
    n = 5000
    x = numbers(n)
    found = PatternCall(lambda x: np.concatenate([x[1:], x[:1]]) + np.roll(x, 1), x).pattern
    shift = sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)
    shift = shift + sp.eye_array(n, k=n - 1) + sp.eye_array(n, k=1 - n)
    assert (found != (shift != 0)).nnz == 0
    assert PatternCall(lambda x: np.trace(np.reshape(x, (50, 100))), x).pattern.nnz == 50
    assert PatternCall(lambda x: np.einsum("ij->i", np.reshape(x, (5, -1))), x).pattern.nnz == n


def test_everything_that_goes_forward_has_its_pattern():
    forward = {f for f, kind in kinds.items() if kind.push}
    # There are no patterns of a device's arrays, nor of other libraries', nor through messages.
    apart = "zyg.watched.duck", "zyg.interop", "zyg.ranks", "zyg.actors"
    theirs = {f for f in forward if f.__module__.startswith(apart)}
    assert forward - {undo_write} - theirs <= {*_flows} <= {*kinds}


TABLES = [
    import_module(f"tests.calls.{path.stem}")
    for path in sorted(Path(__file__).parents[1].glob("calls/numpy_*.py"))
]


def flattened(f, c, factor):
    """A call as a function of one vector, and that vector."""
    inputs = Structure((c.args, c.kwargs), is_float_array)
    x = np.concatenate([np.zeros(0), *map(np.ravel, inputs.leaves)])
    ends = np.cumsum([0, *map(np.size, inputs.leaves)]).tolist()

    def flat(x):
        parts = [
            np.reshape(factor * x[a:b], v.shape)
            for v, (a, b) in zip(inputs.leaves, itertools.pairwise(ends), strict=True)
        ]
        args, kwargs = inputs.rebuild(parts)
        found = Structure(f(*args, **kwargs), watchable).leaves
        return np.concatenate([np.zeros(0), *(np.ravel(np.real(y)) for y in found)])

    return flat, x


@pytest.mark.slow
@pytest.mark.parametrize(("f", "calls"), NUMPY.items(), ids=lambda v: getattr(v, "__name__", ""))
def test_no_rule_hides_a_dependence(f, calls):
    some = calls[:: 1 + len(calls) // 5]
    for c, factor in [*((c, 1.0) for c in some), (some[-1], 1.0 + 2.0j)]:
        flat, x = flattened(f, c, factor)
        if factor != 1.0 and not takes_complex(flat, x):
            continue
        assert not (dense(flat, x, "reverse").astype(bool) & ~pattern_of(flat, x)).any()


def test_a_token_is_added_to_an_array_of_no_axes():
    found = tokens.Token(1) + np.array(tokens.Token(2), object)  # what einsum returns
    assert found.of == 3


# Why a rule does not go with tokens, and what NumPy or a token says then. All else is a bug.
IN_C = (
    "Cannot cast|could not be safely coerced|not supported for the input types|not inexact|"
    "no callable sqrt|float\\(\\) argument|not compatible with finfo"
)  # the derivative is computed in C, of numbers alone
COMPLEX = "'Token' and 'complex'|'complex' and 'Token'|not a tangent|with an exception set"
DECIDES = "operand type for abs|decides nothing"  # by values, of which a token has none
EMPTY = "'NoneType' and 'NoneType'"  # NumPy has no sum of no objects
# From NumPy 2.5 on vecdot and vecmat have one, and finfo says first what is no number.
OLD = np.lib.NumpyVersion(np.__version__) < "2.5.0"
FOURIER = "fft fft2 fftn ifft ifft2 ifftn irfft irfft2 irfftn rfft rfft2 rfftn"
DENSE = {
    "decompositions": {
        COMPLEX: "cholesky eig eigh eigvals eigvalsh",
        IN_C: "_qr _svd cholesky eig eigh eigvals",
        DECIDES: "_qr _svd eigh" + " eig" * OLD,
    },
    "elementwise": {COMPLEX: "_nan_to_num", IN_C: "frexp"},
    "fft": {IN_C: FOURIER},
    "linalg": {
        COMPLEX: "_pinv cross det eigh inv svdvals tensordot vecdot",
        IN_C: "solve",
        DECIDES: "_lstsq _svd eigh slogdet",
    },
    "polynomials": {COMPLEX: "_concatenate _lstsq _roots cumprod", DECIDES: "_lstsq"},
    "products": {COMPLEX: "einsum tensordot", EMPTY: "matvec" + " vecdot vecmat" * OLD},
    "reductions": {COMPLEX: "_variance cumprod prod", IN_C: "cumsum"},
    "shapes": {IN_C: "_concatenate"},
    "statistics": {IN_C: "bincount"},
}  # by the table whose calls show it


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition("_")[2])
def test_the_rules_that_do_not_go_with_tokens_are_those_known_and_for_the_reason_known(
    table, monkeypatch
):
    """Whatever a rule raises makes its pattern dense, so that its own bugs would never show."""
    found, make_dense = {}, tokens._dense

    def noted(use):
        error = str(sys.exc_info()[1])
        why = [r for r in (IN_C, COMPLEX, DECIDES, EMPTY) if re.search(r, error)]
        found.setdefault(why[0] if why else error, set()).add(use.rule.name)
        return make_dense(use)

    monkeypatch.setattr(tokens, "_dense", noted)
    for f, calls in table.CALLS.items():
        for c, factor in [*((c, 1.0) for c in calls), (calls[-1], 1.0 + 2.0j)]:
            flat, x = flattened(f, c, factor)
            if factor == 1.0 or takes_complex(flat, x):
                with warnings.catch_warnings():
                    if f is np.interp:  # NumPy says so of complex points
                        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                    pattern_of(flat, x)
    known = DENSE.get(table.__name__.rpartition("_")[2], {})
    assert found == {why: {*rules.split()} for why, rules in known.items()}


def takes_complex(f, x):
    try:
        return dense(f, x, "reverse").size
    except (TypeError, ValueError, NotImplementedError, np.exceptions.ComplexWarning):
        return False


def is_float_array(x):
    return isinstance(x, np.ndarray) and x.dtype == float


# Random programs


SPARSE = np.where(numbers(6, 6, seed=5) > 0.5, numbers(6, 6, seed=6), 0.0)


def gather_and_scatter(a, b):
    y = np.zeros_like(a)
    np.add.at(y, [0, 3, 3, 5], b[:4])
    y[1:3] = a[4:]
    return y


def one_by_one(a, b):
    y = np.zeros_like(a)
    for k in range(1, 6):
        y[k] = a[k] * b[k - 1] if a[k] > b[k] else np.sin(a[k - 1])
    return y


def in_place(a, b):
    y = np.copy(a)
    table = np.reshape(y, (2, 3))
    table[0] *= b[:3]
    table[:, 1] += table[:, 2]
    y[4] = 0.5
    return y


STEPS = [
    lambda a, b: np.sin(a) * b,
    lambda a, b: a / (1 + b * b),
    lambda a, b: np.where(a > b, a, 0.3 * b),
    lambda a, b: np.maximum(a, b[::-1]),
    lambda a, b: np.roll(a, 2) - b,
    lambda a, b: np.concatenate([b[4:], a[:4]]),
    lambda a, b: a[[0, 0, 3, 5, 2, 1]] + b[0],
    lambda a, b: np.tanh(SPARSE @ a),
    lambda a, b: np.sort(a) + np.cumsum(b) / 6,
    lambda a, b: np.repeat(np.sum(np.reshape(a, (2, 3)), axis=0), 2) * b,
    lambda a, b: np.max(np.stack([a, b]), axis=0) - np.flip(a),
    lambda a, b: np.pad(np.diff(a), (1, 0)) + b,
    lambda a, b: np.convolve(a, [0.5, 0.0, -0.5], "same") * b[-1],
    lambda a, b: np.linalg.norm(np.reshape(a, (3, 2)), axis=1).repeat(2) + b,
    lambda a, b: np.ravel(np.transpose(np.reshape(a, (2, 3)))) if a[1] > 0 else b,
    gather_and_scatter, one_by_one, in_place,
]  # fmt: skip


def program(seed):
    choices = np.random.default_rng(seed)
    steps = [(choices.choice(len(STEPS)), *choices.integers(k, size=2)) for k in range(1, 7)]

    def f(x):
        made = [x]
        for step, i, j in steps:
            made.append(STEPS[step](made[i], made[j]))
        return made[-1]

    return f


@pytest.mark.parametrize("seed", range(50))
def test_jacobians_of_random_programs(seed):
    f, x = program(seed), 0.2 + abs(numbers(6, seed=seed))

    assert not ((dense(f, x) != 0) & ~pattern_of(f, x)).any()
    check(f, x)


@pytest.mark.parametrize("seed", range(50, 80))
def test_hessians_of_random_programs(seed):
    x = 0.2 + abs(numbers(6, seed=seed))

    def scalar(x):
        return np.sum(program(seed)(x) ** 2)

    expected = zyg.hessian(scalar, x)
    close = {"rtol": 1e-10, "atol": 1e-10 * (1 + abs(expected).max())}
    np.testing.assert_allclose(zyg.sparse_hessian(scalar, x).toarray(), expected, **close)


# Hessians


def energy(u):
    v = np.reshape(u, (6, 6))
    return np.sum((v[1:] - v[:-1]) ** 2) + np.sum(np.diff(v, axis=1) ** 4) + np.sum(np.exp(v))


HESSIANS = [
    (rosenbrock, numbers(9), 25, 3),
    (energy, numbers(36), 156, 5),
    (lambda x: x[0] * np.sum(x**2), numbers(8), 22, 2),
    (lambda x: np.sum(np.sin(x)), numbers(5), 5, 1),
    (lambda x: np.prod(x), numbers(4), 16, 4),
    (lambda x: np.sum(x), numbers(4), 0, 0),
    (lambda x: 1.0, numbers(3), 0, 0),
    (lambda x: np.sum(x[::2] * x[1::2]), numbers(2, 4), 8, 2),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "entries", "count"), HESSIANS)
def test_a_sparse_hessian_is_the_dense_one_and_symmetric(f, x, entries, count):
    made = zyg.sparse_hessian(f, x)
    expected = zyg.hessian(f, x).reshape(x.size, x.size)

    np.testing.assert_allclose(made.toarray(), expected, rtol=1e-12, atol=1e-12)
    assert (made != made.T).nnz == 0
    assert made.nnz == entries
    assert colours(made != 0, star=True) == count


def test_one_triangle_of_the_pattern_of_a_hessian_will_do():
    x = numbers(9)
    for half in (np.triu(BAND), np.tril(BAND)):
        made = zyg.sparse_hessian(rosenbrock, x, half)
        np.testing.assert_allclose(made.toarray(), zyg.hessian(rosenbrock, x))


# Colourings


def graphs():
    for seed in range(30):
        draw = np.random.default_rng(seed)
        yield draw.random((12, 12)) < draw.choice([0.05, 0.15, 0.3, 0.6])
    yield arrowhead(9)
    yield np.ones((5, 5), bool)
    yield np.zeros((4, 4), bool)


def test_lines_of_one_colour_do_not_meet():
    for entries in graphs():
        found = sparse._coloured(sp.csr_array(entries).tocsc())
        for i, j in itertools.combinations(range(len(entries)), 2):
            if (entries[:, i] & entries[:, j]).any():
                assert found[i] != found[j]
        assert ((found == -1) == ~entries.any(axis=0)).all()


def test_a_star_colouring_has_three_colours_on_each_path_of_four():
    for entries in graphs():
        edges = entries | entries.T
        found = sparse._star_coloured(sp.csr_array(edges))
        edges = edges & ~np.eye(len(edges), dtype=bool)
        around = [np.flatnonzero(line) for line in edges]
        for b, c in np.argwhere(edges):
            assert found[b] != found[c]
            for a, d in itertools.product(around[b], around[c]):
                if len({a, b, c, d}) == 4:
                    assert len({found[a], found[b], found[c], found[d]}) >= 3


def test_a_quadratic_form_gives_its_matrix_back():
    for k, entries in enumerate(graphs()):
        a = np.where(entries | entries.T, numbers(*entries.shape, seed=k), 0.0)
        a = a + a.T
        x = numbers(len(a))
        made = zyg.sparse_hessian(lambda x, a=a: 0.5 * np.dot(x, np.dot(a, x)), x, a != 0)
        np.testing.assert_allclose(made.toarray(), a, atol=1e-13)


def test_a_dense_row_is_taken_in_reverse_and_a_dense_column_forward():
    n, runs = 200, []

    def counted(f):
        def g(x):
            runs.append(zyg.nestlevel())
            return f(x)

        return g

    def row(x):
        y = np.copy(x)
        y[0] = np.sum(x**2)
        return y

    x = numbers(n)
    check_dtype(row, x)
    zyg.sparse_jacobian(counted(row), x, np.eye(n, dtype=bool) | (np.arange(n)[:, None] == 0))
    assert len(runs) == 1  # forward, it would be one for each 64 columns
    zyg.sparse_jacobian(counted(lambda x: x * x[0]), x)
    assert len(runs) == 3  # one of them detects


@pytest.mark.parametrize("n", [1000, 4000])
def test_colours_and_runs_do_not_grow_with_the_matrix(n):
    runs = []

    def f(x):
        runs.append(1)
        return tridiagonal(x)

    made = zyg.sparse_jacobian(f, numbers(n))
    assert made.nnz == 3 * n - 2
    assert len(runs) == 2


# Wrong patterns


def test_each_missing_entry_is_found():
    x = numbers(9)
    for i, j in np.argwhere(BAND)[::3]:
        lacking = BAND.copy()
        lacking[i, j] = False
        for mode, place in (("forward", f"row.*: {i}"), ("reverse", f"column.*: {j}")):
            with pytest.raises(PatternError, match=rf"1 of 9 {place}\)"):
                zyg.sparse_jacobian(tridiagonal, x, lacking, mode=mode)
        lacking[j, i] = False
        with pytest.raises(PatternError, match="wrong"):
            zyg.sparse_hessian(rosenbrock, x, lacking)


def test_a_wrong_pattern_is_told_where():
    with pytest.raises(PatternError) as caught:
        zyg.sparse_jacobian(tridiagonal, numbers(9), np.eye(9, dtype=bool))
    message = str(caught.value)
    assert "9 of 9 rows are wrong (counted from 0: 0, 1, 2, 3, 4, ...)" in message
    assert "pass no pattern to have it detected" in message
    assert __file__ in message


def test_a_pattern_of_another_shape_is_refused():
    x = numbers(9)
    for mode in ("forward", "reverse"):
        with pytest.raises(PatternError, match="pattern is 9 x 9; the matrix is 8 x 9"):
            zyg.sparse_jacobian(np.diff, x, BAND, mode=mode)
    with pytest.raises(PatternError, match="pattern is 8 x 9; the matrix is 9 x 9"):
        zyg.sparse_hessian(rosenbrock, x, BAND[1:])


def test_rounding_errors_are_no_wrong_pattern():
    def f(x):
        y = 1e8 * tridiagonal(x)
        y[3] = 3.3 * x[0] - 1.1 * (3 * x[0])
        y[5] *= 1e-12
        return y

    check_dtype(f, numbers(9))


def test_infinite_derivatives_are_entries():
    made = zyg.sparse_jacobian(lambda x: np.sqrt(x) * x[::-1], np.array([0.0, 4.0, 1.0]))
    with np.errstate(all="ignore"):
        assert made.toarray()[0].tolist() == [np.inf, 0.0, 0.0]


# Refusals


def test_what_is_not_one_array_is_refused():
    for x in (1.0, [1.0, 2.0], (np.ones(2),), np.array(["a"])):
        with pytest.raises(StructureError, match=r"use zyg.jacobian, which takes any structure"):
            zyg.sparse_jacobian(np.sin, x)
        with pytest.raises(StructureError, match=r"use zyg.hessian"):
            zyg.sparse_hessian(np.sum, x)
    for pattern in (None, np.ones((2, 2), bool)):
        for mode in ("forward", "reverse"):
            with pytest.raises(StructureError, match="the function returned a tuple"):
                zyg.sparse_jacobian(lambda x: (x, x), np.ones(2), pattern, mode=mode)


def test_complex_numbers_are_refused():
    with pytest.raises(HolomorphicError, match="real functions of real numbers"):
        zyg.sparse_jacobian(np.sin, np.ones(2, complex))
    for pattern in (None, np.eye(2, dtype=bool)):
        with pytest.raises(HolomorphicError, match="real functions of real numbers"):
            zyg.sparse_jacobian(lambda x: 1j * x, np.ones(2), pattern, mode="reverse")


def test_a_sparse_derivative_has_no_derivative():
    x, eye = np.ones(2), np.eye(2, dtype=bool)
    with pytest.raises(MissingRuleError, match="sparse_jacobian cannot itself be differentiated"):
        zyg.gradient(lambda x: zyg.sparse_jacobian(np.sin, x).sum(), x)

    def jacobian(a, **options):
        return zyg.sparse_jacobian(lambda x: a * x, x, **options).sum()

    def hessian(a, **options):
        return zyg.sparse_hessian(lambda x: a * np.dot(x, x), x, **options).sum()

    for options in ({}, {"pattern": eye}, {"pattern": eye, "mode": "reverse"}):
        with pytest.raises(MissingRuleError, match="stop_gradient"):
            zyg.gradient(jacobian, 2.0, **options)
    with pytest.raises(MissingRuleError, match="sparse_hessian cannot"):
        zyg.gradient(hessian, 2.0)
    plain = zyg.gradient(lambda a: a * zyg.sparse_jacobian(np.sin, x).sum(), 2.0)
    assert plain == pytest.approx((2 * np.cos(1),))


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="unknown mode 'sideways'"):
        zyg.sparse_jacobian(np.sin, np.ones(2), mode="sideways")


def test_without_scipy_the_error_says_how_to_get_it():
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['scipy.sparse'] = None\n"
        "import numpy as np, zyg\n"
        "try: zyg.sparse_jacobian(np.sin, np.ones(2))\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'zyg[scipy]'" in run.stdout


def test_the_pattern_of_a_compiled_function_is_that_of_its_elements():
    def stencil(x):
        y = np.zeros_like(x)
        y[1:-1] = x[:-2] - 2 * x[1:-1] ** 2 + x[2:]
        return y

    c, x = zyg.compile(stencil), np.arange(8.0)

    found = zyg.sparse_jacobian(c, x)
    curved = zyg.sparse_hessian(lambda x: np.sum(c(x) ** 2), x)

    assert found.nnz == 18
    np.testing.assert_array_equal(found.toarray(), zyg.jacobian(stencil, x)[0])
    assert curved.nnz == zyg.sparse_hessian(lambda x: np.sum(stencil(x) ** 2), x).nnz
    np.testing.assert_array_equal(
        curved.toarray(), zyg.hessian(lambda x: np.sum(stencil(x) ** 2), x)
    )


@pytest.mark.parametrize("f", [
    lambda x: zyg.vmap(lambda s: np.sin(s * x))(np.array([0.5, 1.0]))[1],
    lambda x: zyg.vmap(lambda a: a[1:] * a[:-1])(np.stack([x, 2.0 * x])).sum(axis=0),
])  # fmt: skip
def test_examples_of_vmap(f):
    x = np.array([0.3, 0.5, 0.7, -0.2])
    found, dense = zyg.sparse_jacobian(f, x), zyg.jacobian(f, x)[0]
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-14)
    assert found.nnz == np.count_nonzero(dense)
