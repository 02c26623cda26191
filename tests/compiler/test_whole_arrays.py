"""Whole functions of arrays do what Python does, to the arguments too; or say what they do not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

from zyg.errors import KernelError

from ..programs.arrays import A, K, X
from .interpreted import Stopped
from .wholes import check, read, run

bounds = st.none() | st.integers(-7, 7)
types = st.sampled_from([float, np.float32, int, bool])
steps = st.sampled_from([None, 1, 2, 3, -1, -2])


def array(shape):
    n = math.prod(shape)
    return np.cos(np.arange(n) * 1.7).reshape(shape)


def _or_stopped(f, *args):
    """As Python does, or stopped: what literal bounds demand of short arrays, Python runs."""
    try:
        check(f, *args)
    except Stopped as stop:
        assert "slice" in str(stop)  # noqa: PT017
        return False
    return True


@given(st.integers(0, 6), bounds, bounds, steps)
def test_slices_of_literals(n, i, j, s):
    assert _or_stopped(lambda x: x[i:j:s], array((n,))) or n < 7


@given(st.integers(0, 6), st.integers(-7, 7), st.integers(-7, 7), steps)
def test_slices_of_variables(n, i, j, s):
    check(lambda x, i, j: x[i:j:s], array((n,)), i, j)


@given(st.integers(1, 6), st.integers(-7, 7), st.integers(-7, 7), steps, st.floats(-1, 1))
def test_writes_to_slices(n, i, j, s, v):
    def f(x, i, j, v):
        x[i:j:s] = v
        x[i:j:s] += x[i:j:s]
        return x

    check(f, array((n,)), i, j, v)


@given(array_shapes(max_dims=3, max_side=4), st.data())
def test_indices_of_several_axes(shape, data):
    part = st.integers(-1, 0) | st.builds(slice, bounds, bounds, steps) | st.none()
    index = tuple(data.draw(st.lists(part, max_size=len(shape))))
    if data.draw(st.booleans()):
        index = (*index, Ellipsis)
    if sum(k is not None and k is not Ellipsis for k in index) <= len(shape):
        _or_stopped(lambda x: x[index] * 2, array(shape))


@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_broadcasting(shapes):
    one, other = shapes.input_shapes
    check(lambda x, y: (x + y * 2, np.maximum(x, y).sum(), x < y), array(one), array(other))


@given(array_shapes(max_dims=3, max_side=4, min_side=1), st.data())
def test_reductions_over_axes(shape, data):
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    axis, keep = (tuple(axes) or None), data.draw(st.booleans())

    def f(x):
        return (x.sum(axis=axis, keepdims=keep), np.max(x * x, axis=axis, keepdims=keep),
                x.mean(axis=axis, keepdims=keep), np.prod(x, axis=axis))  # fmt: skip

    check(f, array(shape))


@given(array_shapes(max_dims=3, max_side=4), st.permutations([0, 1, 2]))
def test_transposes_and_reshapes(shape, order):
    axes = tuple(k for k in order if k < len(shape))

    def f(x):
        y = np.transpose(x, axes)
        return y, y.reshape(-1), (y + 1).ravel(), x.reshape(y.shape), y.T.copy()

    check(f, array(shape))


@given(st.lists(st.integers(-5, 4), max_size=6), st.lists(st.booleans(), min_size=5, max_size=5))
def test_picks_and_masks(places, mask):
    def f(x, k, m):
        y = x.copy()
        y[k] = 3.0
        y[m] += x[m]
        np.add.at(y, k, 1.0)
        return x[k], x[m], y, np.where(m, x, y)

    check(f, X, np.array(places, int), np.array(mask))


@settings(max_examples=40)
@given(types, types)
def test_types_of_arrays_and_numbers(one, other):
    def f(x, y, a, b):
        return (x + y, x * y, x / (y + 2), x[1] + y[0], x * 2, x * 0.5, x + a, x[1] * a, b * y,
                x.max(), np.sqrt(x + 1.0), np.where(x > 0, x, y), x[0] > y[0], x.sum(), x.mean(),
                x @ y)  # fmt: skip

    x, y = np.array([0, 1, 1]).astype(one), np.array([1, 0, 1]).astype(other)
    check(f, x, y, 3, y[0], rtol=1e-6)


# What Python would raise for stops the program


STOPPED = [
    (lambda x: x[5], X), (lambda x: x[-6], X), (lambda x: x[len(x)], X),
    (lambda x, k: x[k], X, 7), (lambda x, y: x + y, X, X[:3]), (lambda a, x: a @ x, A, X),
    (lambda x, k: x[k], X, np.array([1, 9])), (lambda x: 1 / (x.ndim - len(x) + 4), X),
    (lambda x: math.sqrt(x[1]), X), (lambda x: math.log(x[0] - 0.5), X),
    (lambda x, n: x.reshape(n, 2), X, 2), (lambda x: np.linalg.solve(x * 0, x[0]), np.eye(2)),
    (lambda x: x.max(), np.zeros(0)), (lambda x: math.exp(1000 * x[2]), X),
    (lambda n: n * n, 2**40),
    (lambda n: n + 1, 2**63 - 1), (lambda x, m: x[m], X, np.ones(1, bool)),
    (lambda x: np.linalg.cholesky(-x), np.eye(2)), (lambda x, n: x // n, 3, 0),
    (lambda x: float(x) ** 0.5, -2.0), (lambda n: np.zeros(n), -1),
]  # fmt: skip


@pytest.mark.parametrize("case", STOPPED, ids=range(len(STOPPED)))
def test_what_python_raises_for_stops(case):
    f, *args = case
    with pytest.raises(Stopped):
        run(f, *args)


def test_checks_stand_before_the_loop():
    def f(x, y):
        s = 0.0
        for i in range(len(x) - 2):
            s += x[i] * x[i + 2] * y[i]
        return s

    program = read(f, X, X).program
    (loop,) = [op for op in program.body.ops if type(op).__name__ == "For"]
    assert not [op for op in loop.body.ops if type(op).__name__ == "Check"]
    check(f, X, X)
    with pytest.raises(Stopped):
        run(f, X, X[:2])


def test_elementwise_expressions_are_one_loop_without_arrays():
    def f(y):
        return np.sum(np.where(y > 0, y, 0.1 * y) ** 2)

    program = read(f, A).program
    assert [type(op).__name__ for op in program.body.ops].count("For") == 1
    assert not [op for op in program.body.ops if type(op).__name__ == "Alloc"]
    check(f, A)


# What is not in the language


REFUSED = [
    (lambda x: x[:: len(x)], "step is computed"),
    (lambda x: x.sum(axis=len(x) - 5), "axis that is computed"),
    (lambda x: np.linalg.eig(x), "eig"),
    (lambda x: x.tofile("x"), "tofile"),
    (lambda x: np.zeros(3, dtype=np.complex64), "complex64"),
    (lambda x: np.zeros(3, dtype="i2"), "int16"),
    (lambda x: x + "a", "str"),
    (lambda x: 1.0 if x else 2.0, "truth"),
    (lambda x: np.sin(x, casting="no"), "casting"),
]


@pytest.mark.parametrize(("f", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_not_in_the_language_says_where_and_what(f, words):
    with pytest.raises(KernelError) as caught:
        read(f, X)
    text = str(caught.value)
    assert words in text
    assert "test_whole_arrays.py" in text
    assert "fix:" in text


def test_the_result_says_which_argument_it_is():
    def f(x, y):
        y[0] = 1.0
        return y, x + 1, y[1:]

    result = read(f, X, X).result
    assert [part.same for part in result.parts] == [2, None, None]


def test_ints_index_and_count():
    def f(x, k):
        n = k.sum()
        c = 0
        for v in k:
            c += v
        return x[k[0]], n, c, x[: k[0]], k[k > 0]

    check(f, X, K)
