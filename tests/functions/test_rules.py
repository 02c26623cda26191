"""Every rule for a NumPy function, on the calls that people write.

The calls are those of `tests/calls`; a rule without a call fails the first test. Each is checked
by `zyg.check_adjoint`: value, derivatives to second order, and
everything else that a rule promises, for float64, float32 and, where NumPy takes them, complex
arguments.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zyg
from zyg.base.registry import CONSTANT, rules
from zyg.functions.operations import table

from ..calls.calls import CUBE, A, V, array, each, matrix, order_of
from ..calls.methods import METHODS
from ..calls.tables import NUMPY as CALLS
from . import overwritten

RULED = {f for f, rule in rules.items() if rule is not CONSTANT and f not in table}


# What makes buffers and writes into arrays is tested in tests/core.
WRITES = {
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copyto, np.put, np.place,
    np.putmask, np.put_along_axis, np.fill_diagonal,
}  # fmt: skip


def test_every_rule_has_a_call():
    named = [f for f in RULED if getattr(f, "__module__", "").startswith("numpy")]
    ours = [f for f in named if f not in WRITES]
    missing = [f.__name__ for f in ours if f not in CALLS]

    assert not missing
    assert all(CALLS.values())


# BLAS has set the processor's flag over short float32 vectors once, though all numbers were finite;
# a NaN in a value or a gradient fails the check itself.
@pytest.mark.filterwarnings("ignore:invalid value encountered in dot:RuntimeWarning")
@each(CALLS)
def test_a_rule_keeps_its_promises(f, c):
    kwargs = {"order": order_of(c, CALLS[f]), **c.kwargs}
    zyg.check_adjoint(f, *c.args, complex=True, **kwargs)


def test_plain_operands_overwritten_before_the_reverse_pass():
    outcomes, wrong = overwritten.search(count=200, seed=1)

    assert not wrong, wrong[0]
    assert outcomes["right"] > 100


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


@each(CALLS)
def test_the_value_is_numpys_in_every_dtype(f, c):
    # NumPy's linear algebra knows no half precision.
    no_half = f.__module__ == "numpy.linalg" or f in (np.polyfit, np.roots)
    for dtype in (*([] if no_half else [np.float16]), np.float32, int):
        with np.errstate(all="ignore"):
            args = [converted(x, dtype) for x in c.args]
            plain = f(*args, **c.kwargs)
            y, _ = zyg.pullback(
                lambda x, args=args: f(*args[:place], x, *args[place + 1 :], **c.kwargs),
                args[place := 1 if f is np.einsum else 0],
            )

        parts = (x if isinstance(x, (list, tuple)) else [x] for x in (plain, y))
        for a, b in zip(*parts, strict=True):
            assert type(a) is type(b), dtype
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b, err_msg=f"{dtype}")


# What depends on the layout in memory


@pytest.mark.parametrize("order", ["A", "K"])
@pytest.mark.parametrize(
    "x", [A, np.asfortranarray(A), CUBE.transpose()], ids=["C", "F", "transposed"]
)
def test_ravel_in_the_order_of_memory(x, order):
    y, back = zyg.pullback(np.ravel, x, order=order)

    np.testing.assert_array_equal(y, np.ravel(x, order=order))
    np.testing.assert_array_equal(back(y)[0], x)


@pytest.mark.parametrize("order", ["K", "A"])
def test_ravel_in_an_order_of_memory_that_is_neither(order):
    x, x_dot = CUBE.swapaxes(0, 1), np.asfortranarray(CUBE.swapaxes(0, 1))
    y, back = zyg.pullback(np.ravel, x, order=order)

    np.testing.assert_array_equal(y, np.ravel(x, order=order))
    np.testing.assert_array_equal(back(y)[0], x)
    pushed = zyg.pushforward(lambda x: np.ravel(x, order=order), (x,), (x_dot,))[1]
    np.testing.assert_array_equal(pushed, np.ravel(x, order=order))


LAID_OUT = {
    "F": np.asfortranarray(A), "axes": CUBE.transpose(2, 0, 1), "gaps": np.asfortranarray(A)[::2],
    "backwards": CUBE.transpose(1, 0, 2)[::-1], "column": A[:, ::2].T,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("x", LAID_OUT.values(), ids=LAID_OUT)
@pytest.mark.parametrize(
    "f",
    [
        np.array, np.asarray, np.asfortranarray, lambda x: np.asfortranarray(x) * x,
        lambda x: np.asarray(x) + np.sin(x), lambda x: np.maximum.accumulate(x, 0),
        lambda x: np.fmin.accumulate(x, -1), lambda x: np.asarray(np.broadcast_to(x[0], x.shape)),
        lambda x: np.array(np.broadcast_to(x[:1], x.shape)),
        lambda x: np.asarray(np.broadcast_to(x[0], x.shape)) * x.T.copy().T,
    ],
)  # fmt: skip
def test_results_lie_in_memory_as_those_of_numpy(f, x):
    def read(x):
        y = f(x)
        return np.stack([np.stack([*y.ravel(order=order)]) for order in "KA"])

    np.testing.assert_array_equal(zyg.pullback(read, x)[0], read(x))


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_ravel_of_a_broadcast_view_in_the_order_of_memory(axes):
    def f(x):
        return np.broadcast_to(x, (2, *x.shape)).transpose(axes).ravel(order="K")

    for x in (A, np.asfortranarray(A), A[:, ::2]):
        np.testing.assert_array_equal(zyg.pullback(f, x)[0], f(x))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: (x.T * np.arange(1.0, 4.0)).ravel(order="K"), lambda x: np.ravel(x + 1, "A"),
        lambda x: x.flatten("K"), lambda x: np.reshape(x * 2, -1, order="A"),
        lambda x: zyg.threads.map(lambda k: (x.T * k).ravel("K"), [2.0])[0],
        lambda x: zyg.pullback(lambda y: (y * x).ravel("K"), A)[0],
        lambda x: zyg.pullback(lambda y: (y * 2).ravel("K"), x)[0],
    ],
)  # fmt: skip
def test_orders_of_memory_are_refused_beside_a_broadcast_argument(read):
    x = np.broadcast_to(A[0], A.shape)

    for run in (zyg.pullback, lambda f, x: zyg.pushforward(f, (x,), (np.ones(x.shape),))):
        with pytest.raises(zyg.errors.ConversionError, match="argument that is broadcast"):
            run(read, x)
    y, _ = zyg.pullback(lambda x: (x.T * np.arange(1.0, 4.0)).ravel(order="F"), x)
    np.testing.assert_array_equal(y, (x.T * np.arange(1.0, 4.0)).ravel(order="F"))


def test_reshape_in_the_order_of_memory():
    for x in (A, np.asfortranarray(A)):
        y, back = zyg.pullback(np.reshape, x, (2, 6), order="A")

        np.testing.assert_array_equal(y, np.reshape(x, (2, 6), order="A"))
        np.testing.assert_array_equal(back(y)[0], x)


# Lists of watched arrays beside a watched operand


@pytest.mark.parametrize(
    ("f", "order"),
    [
        (lambda x: np.sum(np.matmul([x, 2 * x], x)), 2),
        (lambda x: np.sum(np.matmul(x, [x, np.sin(x), x * x, V])), 2),
        (lambda x: np.sum(([V, x * x], (x, V)) @ x), 2),
        (lambda x: np.sum(zyg.jacobian(lambda t: t * t * x, x) @ x), 1),
        (lambda x: np.sum(np.dot([x, 2 * x], x)), 1),
        (lambda x: np.sum(np.inner((x, 2 * x), x)), 1),
        (lambda x: np.sum(np.einsum("ij,j", [x, 2 * x], x)), 1),
        (lambda x: np.sum(np.tensordot([x, V], x, 1)), 1),
    ],
)
def test_a_list_of_arrays_has_the_cotangents_of_its_rows(f, order):
    zyg.check_gradient(f, V, order=order)


# Reading parts of arrays


INDICES = [
    0, -1, np.int64(1), (1, 2, 3), (1, -1), slice(None), slice(1, 2), slice(None, None, -1),
    (slice(None), slice(2, 0, -1)), ..., (..., 0), (0, ..., slice(1, 3)), None, (None, 0),
    (..., None), (slice(None), None, 1), (), [0, 1], [0, 0, 1], ([0, 1, 1], [2, 2, 0]),
    (slice(None), [1, 1]), (0, slice(None), [3, 0, 3]), (..., [1, 1, 2]),
    ([1], slice(None), [2, 2]), np.array([[0, 1], [1, 1]]), CUBE > 0, (slice(None), CUBE[0] > 0),
    (CUBE[:, 0, 0] > 0), (0, np.array([True, False, True])), ([0, 1], None, [1, 1]), True,
    np.array([], int), slice(2, 2), (1, 2), np.array(1), (0, ...), (0, slice(5, 2)), [],
    (slice(None), []), (np.int8(0), np.uint8(2)), ([[0], [1]], [0, 2]), ([0, 0], slice(1)),
    [True, False], (slice(None), [True, False, True]), (np.array([True, False]), 1),
    (slice(None, None, -1), 0), (0, slice(None, None, 2)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_by_every_kind_of_index(index):
    zyg.check_adjoint(lambda x: x[index], CUBE, complex=True)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_a_part_read_twice_counts_twice(index):
    zyg.check_adjoint(lambda x: x[index] * x[index] * np.sum(x[0]), CUBE, complex=True)


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
    with pytest.raises(ValueError, match="forbidden"):
        zyg.pullback(lambda x: np.clip(x, 0.0, 1.0, min=0.5), A)


def test_norm_is_not_differentiated_in_its_order():
    with pytest.raises(zyg.errors.MissingRuleError, match="ord"):
        zyg.gradient(np.linalg.norm, V, 2.5)
    assert zyg.gradient(np.linalg.norm, V, 1)[0] == pytest.approx(np.sign(V))


@pytest.mark.parametrize(
    "f", [np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.cumsum, np.cumprod]
)
def test_a_result_is_not_written_into_an_array(f):
    with pytest.raises(zyg.errors.ConversionError, match="plain NumPy array"):
        zyg.pullback(lambda x: f(x, 0, out=np.empty(np.shape(f(A, 0)))), A)


@pytest.mark.parametrize("f", [np.concatenate, np.stack])
def test_arrays_are_not_joined_into_an_array(f):
    with pytest.raises(zyg.errors.MutationError, match="out="):
        zyg.pullback(lambda x: f([x, x], 0, np.empty((6, 4))), A)


# Zeros and long products


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("name", "c"),
    [
        pytest.param(name, c, id=f"{name}-{k}")
        for name, cs in METHODS.items()
        for k, c in enumerate(cs)
    ],
)
def test_methods_are_the_functions_of_the_same_name(name, c):
    zyg.check_adjoint(lambda x: getattr(x, name)(*c.args, **c.kwargs), A, complex=True)


@pytest.mark.parametrize("place", [(), (1,), (2, 3)])
def test_item_is_one_element(place):
    x = A if place != (1,) else V
    zyg.check_gradient(lambda x: x.item(*place), x if place else np.array([1.3]))


@pytest.mark.parametrize("name", ["T", "mT", "real", "imag"])
def test_attributes_are_functions_too(name):
    zyg.check_adjoint(lambda x: getattr(x, name), A, complex=True)


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
