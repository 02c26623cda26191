"""Every rule for a NumPy function, on the calls that people write.

`CALLS` is keyed by the registered function; a rule without a call fails the first test. Each call
is checked by `zyg.check_adjoint`: value, derivatives to second order, and everything else that a
rule promises, for float64, float32 and, where NumPy takes them, complex arguments.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zyg
from zyg._registry import CONSTANT, rules
from zyg.scalar_rules import table


class Call(NamedTuple):
    """One call of a function: only what is floating-point in `args` is differentiated."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args, **kwargs):
    return Call(args, kwargs)


def array(*shape, seed=0):
    """Distinct numbers of magnitude 1/2 to 2 and both signs, the same in every run."""
    rng = np.random.default_rng((seed, *shape))
    n = int(np.prod(shape))
    magnitudes = rng.permutation(np.linspace(0.53, 2.07, max(n, 2)))[:n]
    return np.asarray(magnitudes * rng.choice([-1.0, 1.0], n)).reshape(shape)


def matrix(*shape, seed=0):
    """A stack of well-conditioned square matrices."""
    return array(*shape, seed=seed) + 4 * np.eye(shape[-1])


def with_zeros(*shape, zeros):
    x = array(*shape)
    x.flat[list(zeros)] = 0.0
    return x


A, B, V, W = array(3, 4), array(3, 4, seed=1), array(4), array(3)
CUBE, EMPTY, POINT = array(2, 3, 4), np.zeros((0, 3)), np.array(1.3)
AXES = [None, 0, -1, (0, 2), (-1,), (0, 1, 2)]

REDUCTIONS = [
    *(call(CUBE, axis=axis) for axis in AXES),
    *(call(CUBE, axis=axis, keepdims=True) for axis in AXES),
    call(POINT), call(1.5), call(np.float64(1.5)), call(V, 0),
]  # fmt: skip
NO_ELEMENTS = [call(EMPTY, axis=1), call(EMPTY, axis=0), call(EMPTY)]
NO_ROWS = [call(EMPTY, axis=1)]  # reductions that need at least one element
SCANS = [
    call(CUBE),
    call(CUBE, axis=0),
    call(CUBE, axis=-1),
    call(V),
    call(POINT),
    call(EMPTY, axis=0),
    call(EMPTY),
]
ZEROS = [
    call(with_zeros(4, zeros=[1])), call(with_zeros(4, zeros=[0, 3])),
    call(with_zeros(5, zeros=[0, 2, 4])), call(with_zeros(3, 4, zeros=[0, 5, 6]), axis=0),
    call(with_zeros(3, 4, zeros=[0, 5, 6]), axis=1), call(np.zeros(3)),
]  # fmt: skip

# Three along each axis, or the standard deviation is |a - b| / 2: curved nowhere but by rounding.
SPREADS = [
    *(call(array(3, 4, 3), axis=axis, keepdims=keep) for axis in AXES for keep in (False, True)),
    *NO_ROWS, call(CUBE, ddof=1), call(CUBE, axis=(0, 2), ddof=1, keepdims=True),
    call(A, axis=1, ddof=2), call(V, 0),
]  # fmt: skip

VECTOR_ORDERS = [None, 1, 2, 3, 2.5, -1, -2, np.inf, -np.inf, 0]
MATRIX_ORDERS = [None, "fro", 1, -1, np.inf, -np.inf]

PRODUCTS = [
    call(V, array(4, seed=1)), call(A, V), call(W, A), call(A, array(4, 2)),
    call(array(1, 1), array(1, 1)), call(array(3, 0), array(0, 2)), call(array(0, 3), W),
]  # fmt: skip
BATCHES = [
    call(CUBE, V), call(W, CUBE), call(CUBE, array(4, 2)), call(A, array(2, 4, 3)),
    call(CUBE, array(2, 4, 3)), call(CUBE, array(1, 4, 2)), call(array(1, 3, 4), array(2, 4, 2)),
    call(array(2, 1, 3, 4), array(5, 4, 2)), call(array(0, 3, 4), V),
    call(array(0, 3, 4), array(4, 2)), call(V, array(0, 4, 2)),
]  # fmt: skip

STACKS = [call([A, B]), call((A, B, A)), call([A, A]), call([A]), call([A, np.ones((3, 4), int)])]
INDEX_LISTS = np.array([[0, 2], [2, 2]])

CALLS = {
    # elementwise
    np.conjugate: [call(A), call(1.5), call(1.5 + 2j)],
    np.round: [
        call(A), call(np.array([0.52, -1.08, 2.23]), 1), call(1.26, decimals=1), call(POINT),
    ],
    np.around: [call(A), call(10 * A, decimals=-1)],
    np.nan_to_num: [call(A), call(1.5), call(A, nan=3.0)],
    np.modf: [call(A), call(1.5)],
    np.divmod: [call(A, 0.7), call(5.3, 2.2), call(array(3, 1), 0.7 * V)],
    # reductions and scans
    np.sum: [*REDUCTIONS, *NO_ELEMENTS, call(A, axis=()), call(A, dtype=np.float64)],
    np.mean: [*REDUCTIONS, *NO_ROWS, call(A, axis=())],
    np.prod: [*REDUCTIONS, *NO_ELEMENTS, *ZEROS, call(A, axis=())],
    np.max: [*REDUCTIONS, *NO_ROWS],
    np.min: [*REDUCTIONS, *NO_ROWS],
    np.amax: [call(A), call(A, axis=1)],
    np.amin: [call(A), call(A, axis=1)],
    np.var: [*SPREADS, call(POINT)],
    np.std: SPREADS,
    np.cumsum: [*SCANS, *ZEROS],
    np.cumprod: [*SCANS, *ZEROS],
    # shapes
    np.reshape: [
        call(A, (2, 6)), call(A, (4, -1), "F"), call(A, -1), call(POINT, (1, 1)), call(1.5, (1,)),
        call(EMPTY, (3, 0)),
    ],
    np.ravel: [call(A), call(A, "F"), call(POINT), call(1.5), call(EMPTY)],
    np.transpose: [
        call(A), call(CUBE, (2, 0, 1)), call(CUBE, axes=(1, 0, -1)), call(V), call(POINT),
    ],
    np.matrix_transpose: [call(A), call(CUBE)],
    np.swapaxes: [call(CUBE, 0, 2), call(CUBE, -1, 1)],
    np.moveaxis: [call(CUBE, 0, -1), call(CUBE, (0, 1), (-1, 0)), call(CUBE, [2, 0], [0, 1])],
    np.squeeze: [
        call(array(1, 3, 1)), call(array(1, 3, 1), axis=0), call(array(1, 3, 1), axis=(0, -1)),
        call(A),
    ],
    np.expand_dims: [call(A, 0), call(A, axis=-1), call(A, (0, 2)), call(POINT, 0)],
    np.broadcast_to: [
        call(V, (3, 4)), call(array(3, 1), (2, 3, 4)), call(POINT, (2, 2)), call(1.5, (2,)),
        call(A, (3, 4)), call(np.zeros((1, 0)), (3, 0)),
    ],
    np.flip: [call(CUBE), call(CUBE, 0), call(CUBE, axis=(0, -1))],
    np.fliplr: [call(A)],
    np.flipud: [call(A)],
    np.roll: [call(A, 2), call(A, -1, axis=1), call(CUBE, (1, 2), axis=(0, -1))],
    np.copy: [call(A), call(POINT), call(A, "F")],
    np.astype: [call(A, np.float64), call(np.ones((2, 2), np.float32), np.float64)],
    np.atleast_1d: [call(POINT), call(1.5), call(A), call(POINT, V)],
    np.atleast_2d: [call(POINT), call(V), call(CUBE), call(V, 1.5)],
    np.atleast_3d: [call(POINT), call(V), call(A), call(CUBE)],
    # joining and splitting
    np.concatenate: [
        *STACKS, call([A, V[None]], axis=0), call([A, array(3, 2)], axis=-1),
        call([A, V], axis=None), call(CUBE), call(CUBE, axis=1), call([EMPTY, array(2, 3)]),
        call([V, np.ones(2, np.float32)], dtype=np.float64),
    ],
    np.stack: [
        *STACKS, call([A, B], axis=1), call([A, B], axis=-1), call([1.5, 2.5, POINT]),
        call(CUBE, axis=1),
    ],
    np.vstack: [*STACKS, call([V, A]), call([1.5, 2.5]), call(CUBE)],
    np.hstack: [*STACKS, call([V, W]), call([1.5, 2.5]), call(CUBE), call([POINT, V])],
    np.dstack: [*STACKS, call([V, V]), call([1.5, 2.5])],
    np.column_stack: [*STACKS, call([V, V]), call([W, A])],
    np.array_split: [
        call(V, 3), call(A, 3, axis=1), call(V, [1, 3]), call(V, [2, 2, 9]), call(V, 6),
        call(V, [3, 1]), call(CUBE, 2, -1),
    ],
    np.split: [call(V, 2), call(A, [1], axis=-1), call(V, [0, 2])],
    np.hsplit: [call(A, 2), call(V, [1]), call(CUBE, 3)],
    np.vsplit: [call(A, 3)],
    np.dsplit: [call(CUBE, 2)],
    # repeating and choosing
    np.tile: [
        call(V, 2), call(A, (2, 1)), call(V, (2, 3)), call(CUBE, 2), call(POINT, 3),
        call(A, (1, 1)), call(V, 0),
    ],
    np.repeat: [
        call(A, 2), call(A, 2, axis=0), call(A, [1, 0, 2], axis=0), call(CUBE, 3, axis=-1),
        call(V, 0), call(POINT, 3),
    ],
    np.take: [
        call(A, [0, 0, 5]), call(A, 1, axis=0), call(A, INDEX_LISTS, axis=-1),
        call(V, [5, -1], mode="wrap"), call(V, [9, -3], mode="clip"), call(CUBE, [1, 1], 1),
    ],
    np.where: [
        call(A > 0, A, B), call(A > 0, A, 0.5), call(A > 0, 0.5, A), call(A > 0, V, array(3, 1)),
        call(True, 1.5, 2.5), call(W[:, None] > 0, A, B), call(V > 0, POINT, W[:, None]),
    ],
    np.clip: [
        call(A, -1.0, 1.0), call(A, None, 1.0), call(A, -1.0, None),
        call(A, -0.9 * np.ones(4), array(3, 1) ** 2 + 0.15), call(1.5, 0.0, 1.0),
        call(A, min=-1.0), call(A, min=-1.0, max=1.0), call(A, 1.0, -1.0),
        call(V, np.ones((2, 1)), 3.0),
    ],
    np.diagonal: [
        call(A), call(A, 1), call(A, -2), call(CUBE, 0, 1, 2),
        call(CUBE, offset=1, axis1=-1, axis2=0), call(A, 9),
    ],
    np.trace: [call(A), call(A, 1), call(CUBE, -1, 1, 2), call(CUBE)],
    np.diag: [call(A), call(A, k=1), call(V), call(V, -1), call(V, k=2)],
    np.tril: [call(A), call(A, 1), call(CUBE, k=-1)],
    np.triu: [call(A), call(A, 1), call(CUBE, k=-1)],
    # products
    np.matmul: [*PRODUCTS, *BATCHES, call(array(2, 3), [[1, 2], [3, 4], [5, 6]])],
    np.dot: [
        *PRODUCTS, *BATCHES[:4], call(CUBE, array(2, 4, 3)), call(V, array(2, 4, 3)), call(A, 1.5),
        call(1.5, 2.5),
    ],
    np.inner: [
        call(V, array(4, seed=1)), call(A, V), call(V, A), call(A, B), call(CUBE, A), call(A, 1.5),
        call(CUBE, CUBE),
    ],
    np.vdot: [call(V, array(4, seed=1)), call(A, B), call(A, array(12)), call(1.5, 2.5)],
    np.outer: [call(V, W), call(A, V), call(1.5, V)],
    np.tensordot: [
        call(A, array(4, 2), axes=1), call(A, B), call(A, B, 0),
        call(CUBE, array(4, 3, 2), axes=([1, 2], [1, 0])),
        call(CUBE, array(4, 3, 2), ([2, 1], [0, 1])), call(CUBE, CUBE, axes=([0, -1], [0, -1])),
        call(CUBE, A, axes=(1, 0)), call(array(3, 0), array(0, 2), 1),
        call(V, array(4, seed=1), 1), call(CUBE, CUBE, 3), call(POINT, A, 0),
    ],
    np.einsum: [
        call("ij,jk->ik", A, array(4, 2)), call("ij,jk", A, array(4, 2)), call("ij->ji", A),
        call("ij", A), call("ba", A), call("ij->", A), call("ij->j", A),
        call("ii->i", array(3, 3)), call("ii", array(3, 3)), call("iij->ij", array(3, 3, 2)),
        call("iii->i", array(3, 3, 3)), call("iijj->ij", array(2, 2, 3, 3)),
        call("...ij,...jk->...ik", CUBE, array(2, 4, 2)),
        call("...ij,...jk->...ik", CUBE, array(1, 4, 2)), call("...ij,...jk", A, array(2, 4, 2)),
        call("...i->...", CUBE), call("i...,i...->...", CUBE, array(2, 1, 4)),
        call("...,...", A, V), call("...", A), call("ij,kj->k", A, array(2, 4)), call("i,j", V, W),
        call("i,i->", V, array(4, seed=1)), call("ij,ij->ij", array(1, 4), array(3, 1)),
        call("i->", V), call("ij,jk,k->i", A, array(4, 2), array(2)),
        call("ij,jk,k->i", A, array(4, 2), array(2), optimize=True),
        call("i,ij,j", W, A, V, optimize="greedy"), call(" ij , jk -> ik ", A, array(4, 2)),
        call(",->", 1.5, 2.5), call("ij,jk->ik", array(3, 0), array(0, 2)),
        call("ii,i->i", array(3, 3), W), call("ij,jj->i", array(2, 3), array(3, 3)),
        call("i,i,i->i", V, V, V), call("ab...,b...->a...", CUBE, A),
        call("...ii->...i", array(2, 3, 3)),
    ],
    # linear algebra
    np.linalg.norm: [
        *(call(V, ord=ord) for ord in VECTOR_ORDERS),
        *(call(A, ord=ord, axis=axis) for ord in VECTOR_ORDERS for axis in (0, -1)),
        *(call(A, ord=ord) for ord in MATRIX_ORDERS),
        *(call(CUBE, ord=ord, axis=axes) for ord in MATRIX_ORDERS for axes in ((0, 2), (2, -2))),
        call(CUBE), call(CUBE, keepdims=True), call(CUBE, 1, (0, 1), True), call(A, 3, 1, True),
        call(1.5), call(A, "fro", keepdims=True), call(V, ord=np.inf, keepdims=True),
        call(np.zeros((2, 0)), axis=1), call(A, ord="f"),
        call(np.zeros((2, 0)), ord=np.inf, axis=1), call(np.zeros((2, 0)), 3, axis=1),
    ],
    np.linalg.inv: [
        call(matrix(3, 3)), call(matrix(2, 3, 3)), call(matrix(1, 1)), call(np.zeros((0, 2, 2))),
    ],
    np.linalg.det: [
        call(matrix(3, 3)), call(matrix(2, 3, 3)), call(matrix(1, 1)), call(np.zeros((0, 2, 2))),
    ],
    np.linalg.solve: [
        call(matrix(3, 3), W), call(matrix(3, 3), array(3, 2)), call(matrix(2, 3, 3), W),
        call(matrix(2, 3, 3), array(2, 3, 2)), call(matrix(3, 3), array(2, 3, 2)),
        call(matrix(2, 3, 3), array(3, 2)), call(matrix(4, 1, 2, 2), array(3, 2, 2)),
        call(matrix(3, 3), [1, 2, 3]),
    ],
}  # fmt: skip

RULED = {f for f, rule in rules.items() if rule is not CONSTANT and f not in table}


def name_of(f):
    return f.__name__


def label(f, c):
    parts = [*map(describe, c.args), *(f"{k}={describe(v)}" for k, v in c.kwargs.items())]
    return f"{f.__name__}({', '.join(parts)})"


def describe(x):
    if isinstance(x, np.ndarray):
        return "x".join(map(str, x.shape)) or "0-d"
    return f"[{' '.join(map(describe, x))}]" if isinstance(x, (list, tuple)) else str(x)


EVERY = [pytest.param(f, c, id=label(f, c)) for f, calls in CALLS.items() for c in calls]


# What makes buffers and writes into arrays is tested in tests/memory.
WRITES = {
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copyto, np.put, np.place,
    np.putmask, np.put_along_axis, np.fill_diagonal,
}  # fmt: skip


def test_every_rule_has_a_call():
    ours = [f for f in RULED if f.__module__.startswith("numpy") and f not in WRITES]
    missing = [f.__name__ for f in ours if f not in CALLS]

    assert not missing
    assert all(CALLS.values())


@pytest.mark.parametrize(("f", "c"), EVERY)
def test_a_rule_keeps_its_promises(f, c):
    zyg.check_adjoint(f, *c.args, **c.kwargs)


def converted(x, dtype):
    """The arrays of an argument in another dtype, away from 0 when they become integers."""
    if isinstance(x, (list, tuple)):
        return type(x)(converted(v, dtype) for v in x)
    is_float = isinstance(x, np.ndarray) and x.dtype == np.float64
    return (
        np.rint(10 * x).astype(dtype)
        if is_float and dtype is int
        else x.astype(dtype)
        if is_float
        else x
    )


@pytest.mark.parametrize(("f", "c"), EVERY)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, int])
def test_the_value_is_numpys_in_every_dtype(f, c, dtype):
    if dtype is np.float16 and f.__module__ == "numpy.linalg":
        dtype = np.float32  # NumPy's linear algebra knows no half precision
    args = [converted(x, dtype) for x in c.args]
    with np.errstate(all="ignore"):
        plain = f(*args, **c.kwargs)
        y, _ = zyg.pullback(
            lambda x: f(*args[:place], x, *args[place + 1 :], **c.kwargs),
            args[place := 1 if f is np.einsum else 0],
        )

    for a, b in zip(*(x if isinstance(x, (list, tuple)) else [x] for x in (plain, y)), strict=True):
        assert type(a) is type(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


# What depends on the layout in memory


@pytest.mark.parametrize("order", ["A", "K"])
@pytest.mark.parametrize(
    "x", [A, np.asfortranarray(A), CUBE.transpose()], ids=["C", "F", "transposed"]
)
def test_ravel_in_the_order_of_memory(x, order):
    y, back = zyg.pullback(np.ravel, x, order=order)

    np.testing.assert_array_equal(y, np.ravel(x, order=order))
    np.testing.assert_array_equal(back(y)[0], x)


def test_ravel_in_an_order_of_memory_that_is_neither_is_refused():
    with pytest.raises(zyg.errors.MissingRuleError, match="order='K'"):
        zyg.pullback(np.ravel, CUBE.swapaxes(0, 1), order="K")


def test_reshape_in_the_order_of_memory():
    for x in (A, np.asfortranarray(A)):
        y, back = zyg.pullback(np.reshape, x, (2, 6), order="A")

        np.testing.assert_array_equal(y, np.reshape(x, (2, 6), order="A"))
        np.testing.assert_array_equal(back(y)[0], x)


# Reading parts of arrays


INDICES = [
    0, -1, np.int64(1), (1, 2, 3), (1, -1), slice(None), slice(1, 2), slice(None, None, -1),
    (slice(None), slice(2, 0, -1)), ..., (..., 0), (0, ..., slice(1, 3)), None, (None, 0),
    (..., None), (slice(None), None, 1), (), [0, 1], [0, 0, 1], ([0, 1, 1], [2, 2, 0]),
    (slice(None), [1, 1]), (0, slice(None), [3, 0, 3]), (..., [1, 1, 2]),
    ([1], slice(None), [2, 2]), np.array([[0, 1], [1, 1]]), CUBE > 0, (slice(None), CUBE[0] > 0),
    (CUBE[:, 0, 0] > 0), (0, np.array([True, False, True])), ([0, 1], None, [1, 1]), True,
    np.array([], int), slice(2, 2), (1, 2), np.array(1),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_by_every_kind_of_index(index):
    zyg.check_adjoint(lambda x: x[index], CUBE)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_a_part_read_twice_counts_twice(index):
    zyg.check_adjoint(lambda x: x[index] * x[index] * np.sum(x[0]), CUBE)


# Several arguments, and the same one several times


def test_the_same_array_in_several_places():
    zyg.check_gradient(lambda x: np.stack([x, x * x, x]), A)
    zyg.check_gradient(lambda x: np.concatenate([x, x, x[:1]]), A)
    zyg.check_gradient(lambda x: np.einsum("ij,kj,ik->", x, x, x @ x.T), A)
    zyg.check_gradient(lambda x: np.clip(x, x - 1.0, x * 0.5), np.abs(A))
    zyg.check_gradient(lambda x: np.linalg.solve(x, x @ x), matrix(3, 3))
    zyg.check_gradient(lambda x: np.where(x > 0, x, x * x), A)
    zyg.check_gradient(lambda x: x @ x @ x, matrix(3, 3))


def test_bounds_of_clip_can_be_keywords():
    zyg.check_gradient(lambda x, low, high: np.clip(x, min=low, max=high), A, -1.01, 1.02)


def test_norm_is_not_differentiated_in_its_order():
    with pytest.raises(zyg.errors.MissingRuleError, match="ord"):
        zyg.gradient(np.linalg.norm, V, 2.5)
    assert zyg.gradient(np.linalg.norm, V, 1)[0] == pytest.approx(np.sign(V))


@pytest.mark.parametrize("ord", [2, -2, "nuc"])
def test_norms_of_singular_values_are_refused(ord):
    with pytest.raises(zyg.errors.MissingRuleError, match="singular values"):
        zyg.gradient(np.linalg.norm, A, ord=ord)


@pytest.mark.parametrize(
    "f", [np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.cumsum, np.cumprod]
)
def test_a_result_is_not_written_into_an_array(f):
    with pytest.raises(zyg.errors.ConversionError, match="plain NumPy array"):
        zyg.pullback(lambda x: f(x, 0, out=np.empty(4)), A)


@pytest.mark.parametrize("f", [np.concatenate, np.stack])
def test_arrays_are_not_joined_into_an_array(f):
    with pytest.raises(zyg.errors.MutationError, match="out="):
        zyg.pullback(lambda x: f([x, x], 0, np.empty((6, 4))), A)


# Zeros and long products


@pytest.mark.parametrize("zeros", [[], [2], [0, 4], [0, 2, 4]])
@pytest.mark.parametrize("f", [np.prod, np.cumprod, lambda x: np.prod(x[None, :], axis=1)])
def test_products_with_zeros_to_third_order(f, zeros):
    x = array(5)
    x[zeros] = 0.0
    zyg.check_gradient(f, x, order=3)


def test_products_of_complex_numbers_with_zeros():
    z = array(4) + 1j * array(4, seed=1)
    z[1] = 0.0
    zyg.check_gradient(np.prod, z)
    zyg.check_gradient(np.cumprod, z)


# NumPy's names as methods of watched arrays


METHODS = {
    "sum": [call(), call(1, keepdims=True)],
    "mean": [call(), call(axis=0)],
    "prod": [call(1)],
    "max": [call(), call(1)],
    "min": [call(0)],
    "var": [call(ddof=1)],
    "std": [call(0)],
    "cumsum": [call(), call(1)],
    "cumprod": [call(1)],
    "reshape": [call(2, 6), call((2, 6)), call(-1)],
    "ravel": [call()],
    "flatten": [call()],
    "transpose": [call(), call(1, 0), call((1, 0))],
    "swapaxes": [call(0, 1)],
    "squeeze": [call()],
    "repeat": [call(2, axis=0)],
    "clip": [call(-1.01, 1.02), call(min=0.01)],
    "dot": [call(array(4, 2))],
    "trace": [call()],
    "diagonal": [call(1)],
    "take": [call([0, 0, 3], axis=1)],
    "round": [call()],
    "conj": [call()],
    "conjugate": [call()],
    "copy": [call()],
    "astype": [call(np.float64)],
}


@pytest.mark.parametrize(
    ("name", "c"),
    [
        pytest.param(name, c, id=f"{name}-{k}")
        for name, cs in METHODS.items()
        for k, c in enumerate(cs)
    ],
)
def test_methods_are_the_functions_of_the_same_name(name, c):
    zyg.check_adjoint(lambda x: getattr(x, name)(*c.args, **c.kwargs), A)


@pytest.mark.parametrize("place", [(), (1,), (2, 3)])
def test_item_is_one_element(place):
    x = A if place != (1,) else V
    zyg.check_gradient(lambda x: x.item(*place), x if place else np.array([1.3]))


@pytest.mark.parametrize("name", ["T", "mT", "real", "imag"])
def test_attributes_are_functions_too(name):
    zyg.check_adjoint(lambda x: getattr(x, name), A)


# Any shapes


SMALL = st.floats(0.5, 2.0, width=16)
DTYPES = st.sampled_from([np.float32, np.float64, np.complex64, np.complex128])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


def arrays(data, dtype, shape):
    values = data.draw(hnp.arrays(np.float64, shape, elements=SMALL))
    phase = 1 + 1j if np.issubdtype(dtype, np.complexfloating) else 1
    return np.asarray(values * phase, dtype)


@given(
    hnp.mutually_broadcastable_shapes(
        signature=np.matmul.signature, max_dims=2, min_side=0, max_side=3
    ),
    DTYPES,
    st.data(),
)
def test_matmul_of_any_shapes(shapes, dtype, data):
    a, b = (arrays(data, dtype, s) for s in shapes.input_shapes)
    zyg.check_gradient(np.matmul, a, b, order=1)


@given(
    hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3),
    DTYPES,
    st.data(),
)
def test_where_of_any_shapes(shapes, dtype, data):
    condition = data.draw(hnp.arrays(bool, shapes.input_shapes[0]))
    x, y = (arrays(data, dtype, s) for s in shapes.input_shapes[1:])
    zyg.check_gradient(lambda x, y: np.where(condition, x, y), x, y, order=1)


@given(
    SHAPES,
    DTYPES,
    st.sampled_from([np.sum, np.mean, np.prod, np.var, np.std]),
    st.booleans(),
    st.data(),
)
def test_reductions_of_any_shapes(shape, dtype, f, keepdims, data):
    axis = data.draw(st.none() | hnp.valid_tuple_axes(len(shape)))
    shape = tuple(max(n, 3) for n in shape)
    x = arrays(data, dtype, shape) + (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
    zyg.check_gradient(lambda x: f(x, axis=axis, keepdims=keepdims), x, order=1)


@given(SHAPES, st.data())
def test_indexing_by_anything(shape, data):
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    x = arrays(data, np.float64, shape)
    zyg.check_gradient(lambda x: x[index], x, order=1)


@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
def test_indexing_by_arrays(shape, data):
    index = data.draw(hnp.integer_array_indices(shape))
    x = arrays(data, np.float64, shape)
    zyg.check_gradient(lambda x: x[index] ** 2, x)


@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3), st.integers(0, 4), st.data())
def test_broadcasting_to_more_axes(shape, more, data):
    wide = (*data.draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=2)), *shape)[
        -len(shape) - more :
    ]
    x = arrays(data, np.float64, shape)
    zyg.check_gradient(lambda x: np.broadcast_to(x, wide), x, order=1)
