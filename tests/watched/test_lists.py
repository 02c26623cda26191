"""Lists that hold watched numbers, where NumPy takes a list for an array."""

# ruff: noqa: E501, SIM300 - one case per line; a plain value may stand first

import numpy as np
import pytest

import zyg
from zyg.core.bind import bind
from zyg.core.strand import watched_leaves

ORDERS = [1, 2]

X = np.array([0.7, -0.4, 1.3])
PLAIN = np.array([0.3, 1.1, -0.8])
SQUARE = np.array([[2.5, 0.3, -0.1], [0.4, 2.2, 0.2], [0.1, -0.3, 1.9]])


def weighted(y):
    y = 1.0 * np.real(y)
    return np.sum(np.sin(y) * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))


def call(f, *args, **kwargs):
    """What a drop-in for f does, SciPy's functions and rules: of watched values by the rule of f."""
    return bind(f, args, kwargs) if watched_leaves((args, kwargs)) else f(*args, **kwargs)


def check(f, order, x=X):
    zyg.check_gradient(lambda x: weighted(f(x)), x, order=order)


def row(x):
    return [x[0] ** 2 + 0.1, x[1] * x[2] + 3, 2.0]


def rows(x):
    return [[x[0] + 2, 0.1], (0.2, x[2])]


OF_A_LIST = [
    np.sum, np.mean, np.max, np.min, np.prod, np.std, np.var, np.median, np.ptp, np.cumsum, np.cumprod,
    np.average, np.sort, np.diff, np.ravel, np.copy, np.diag, np.flip, np.nansum, np.nanmax, np.squeeze,
    np.atleast_1d, np.atleast_2d, np.transpose, np.gradient, np.trapezoid, np.abs, np.exp, np.sin, np.sqrt,
    np.square, np.sinc, np.real, np.ediff1d, np.nan_to_num, np.cov, np.vander, np.unwrap, np.diagflat,
    np.tril, np.poly, np.zeros_like, np.linalg.norm, np.fft.fft,
]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", OF_A_LIST, ids=lambda f: f.__name__)
def test_functions_of_a_list(f, order):
    check(lambda x: call(f, row(x)), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "f",
    [np.linalg.det, np.linalg.inv, np.linalg.pinv, np.linalg.eigvals, np.linalg.norm, np.trace, np.sum, np.transpose],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_functions_of_nested_lists(f, order):
    check(lambda x: call(f, rows(x)), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.dot(row(x), x),
        lambda x: np.dot(SQUARE, x) @ row(x),
        lambda x: row(x) @ x + x @ [1.0, x[0], 2.0],
        lambda x: np.where([x[0] > 0, x[1] > 0, True], row(x), x),
        lambda x: np.where([True, False, True], (1.0, x[0], 3.0), x),
        lambda x: np.cross(row(x), x),
        lambda x: np.einsum("i,i", row(x), x),
        lambda x: np.linalg.solve(SQUARE + np.diag(x**2), row(x)),
        lambda x: np.linalg.solve([[x[0] + 2, 0.1], [0.2, 3.0]], x[:2]),
        lambda x: np.interp(x, [-1.0, 0.1, 3.0], row(x)),
        lambda x: np.average(x, weights=[x[0] ** 2, 1.0, 2.0]),
        lambda x: np.clip(x, [x[0] - 1, -1.0, x[1]], 3.0),
        lambda x: np.stack([x, row(x)]),
        lambda x: np.concatenate((x, [x[0], 1.0], (x[1],))),
        lambda x: np.hstack((x, (x[0],))),
        lambda x: np.vstack((x, row(x))),
        lambda x: np.dstack((x, row(x))),
        lambda x: np.column_stack((x, row(x), [x])[:2]),
        lambda x: np.append(x, [x[0], 2.0]),
        lambda x: np.insert(x, 1, [x[0], 3.0]),
        lambda x: np.select([x > 0.5, x < 0], [x, row(x)]),
        lambda x: np.broadcast_arrays(row(x), x)[0],
        lambda x: np.linalg.multi_dot([rows(x), np.reshape(x[:2], (1, 2)).T]),
        lambda x: x + [[1.0, x[0], 2.0], [x[1], 1.0, 1.0]],
        lambda x: np.maximum(x, (x[1], 0.0, x[0])),
        lambda x: np.full_like(x, x[0]) + call(np.zeros_like, [x[0], 1.0, 2.0]),
    ],
)
def test_lists_beside_watched_arrays(f, order):
    check(f, order)


def test_nested_lists_stack():
    def f(x):
        y = call(np.stack, [[[x[0], 1.0], [x[1], x[2]]], [[x[0], 1.0], [2.0, x[2]]]], axis=1)
        return weighted(y) + y.shape[0]

    assert f(X) == pytest.approx(zyg.value_and_gradient(f, X)[0], rel=1e-15)
    zyg.check_gradient(f, X, order=2)
    with pytest.raises(ValueError, match="same shape"):
        zyg.gradient(lambda x: call(np.sum, [[x[0], 1.0], [x[1]]]), X)


WRITES = [
    "y[:] = [x[1], 3 * x[0], 1.0]", "y[0:2] = (x[1], 3 * x[0])", "y[[0, 1]] = [x[1], 3 * x[0]]",
    "y[y > 0] = [x[1], 3.0]", "y += [1.0, 2.0, 3.0]", "y += [1.0, x[0], 3.0]", "y -= (x[1], x[0], 3.0)",
    "y *= [1.0, x[0], 3.0]", "y /= [1.0, x[0], 3.0]", "y[:2] += (x[0], 2.0)",
    "np.add.at(y, [0, 0], [x[1], 2.0])", "np.subtract.at(y, [0, 1], [x[1], 2.0])",
    "np.multiply.at(y, [0, 0], [x[1], 2.0])", "np.add(y, [x[0], 1, 2], out=y)",
    "np.copyto(y, [x[0], 1, x[2]])", "np.put(y, [0, 1], [x[0], 1])", "np.place(y, y > 0, [x[0], 1])",
    "np.putmask(y, y > 0, [x[0], 1])", "np.put_along_axis(y, np.array([0, 1]), [x[0], 1], 0)",
    "y.real = [x[0], 1, 2]", "y.flat = [x[0], 1, 2]",
    "y.flat = [x[0], 2]", "y.flat = x[:2]", "y.flat = [[x[0], 1, 2], [x[1], 3, 4]]", "y.flat = x[0]",
    "y.fill(x[0])",
]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("line", WRITES)
def test_lists_are_written(line, order):
    code = compile(line, __file__, "exec")

    def f(x):
        y = x * 1.5
        exec(code, {"np": np}, {"x": x, "y": y})
        return y

    check(f, order)


def test_a_list_of_lists_is_written_into_a_matrix():
    def f(x):
        y = np.zeros_like(x)
        y[:2, 1:] = [[x[1, 0], 3.0], (x[0, 0] * x[2, 2], x[0, 1])]
        return weighted(y)

    zyg.check_gradient(f, SQUARE, order=2)


def test_comparison_with_lists_is_of_the_plain_values():
    def f(x):
        seen.append((x < [1.0, x[1], 2.0], [x[0], 0.0, 0.0] == x, (x[0], 1.0, x[2]) >= x))
        seen.append((x[0] != [x[0], 1.0], zyg.primal(x[0]).item() == [x[0]]))
        return x[0]

    seen: list = []
    zyg.gradient(f, X)
    for got, expected in zip(
        seen[0], (X < [1.0, X[1], 2.0], [X[0], 0.0, 0.0] == X, (X[0], 1.0, X[2]) >= X), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
    assert seen[1][0].tolist() == [False, True]
    assert seen[1][1] is False
