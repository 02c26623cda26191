"""Tangents that are made in place of an entry are those that the entry gives, to the last bit."""

import itertools
import warnings

import numpy as np
import pytest

import zyg
import zyg.numpy as znp
from zyg.core import pushes

from .programs import program

A = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])
W = np.array([[0.5, -0.1], [2.0, 0.3], [-1.0, 0.8]])
ZEROS = np.array([[0.0, 1.0, np.inf], [-0.0, np.nan, -2.0]])


@zyg.adjoint
def doubled(x):
    return 2.0 * x, lambda y_bar: (2.0 * y_bar,)


@doubled.pushforward
def doubled_push(x):
    return 2.0 * x, lambda x_dot: 2.0 * x_dot


def written(x):
    y = x * 1.0
    z = y + 0.0 * x
    view = z[0]
    z[1] = y[0] * x[1]
    y += z
    y[:, 0] = view[1]
    return y * np.sum(z)


OPERATIONS = {
    "of two": lambda x: x * x + x / (2.0 + x),
    "of two, broadcast": lambda x: x * x[0] - x[:, :1] + x[0, 1] * x,
    "of one that does not move": lambda x: zyg.stop_gradient(x) * x + np.hypot(x, 2.0),
    "passed on": lambda x: np.add(x, x * 0.0) + 0.0,
    "of three": lambda x: np.where(x > 0, x, x * x) + np.clip(x, -1.0, x + 1.0),
    "powers": lambda x: np.abs(x) ** x + x**2 + 2.0**x,
    "not finite": lambda x: np.sqrt(x * x) / x + np.log(np.abs(x)) * x,
    "maximum": lambda x: np.maximum(x, x * x) + np.minimum(x, 0.0),
    "numbers": lambda x: x[0, 1] * np.sin(x[1, 1]) / x[0, 0],
    "products": lambda x: (x @ W) @ x + W @ (x @ x[0]),
    "dot": lambda x: np.dot(x.T, x) * np.dot(x[0], x[1]),
    "sums": lambda x: np.sum(x) * x.sum(axis=0) + x.mean() - x.mean(axis=1, keepdims=True).sum(),
    "largest": lambda x: x.max() * x + x.max(axis=0) - np.min(x),
    "shapes": lambda x: x.reshape(3, 2).T + x.ravel().reshape(2, 3) + np.swapaxes(x.T, 0, 1),
    "joined": lambda x: np.concatenate([x, 2.0 * x]) * np.stack([x[0], x[1], x[0], x[1]]),
    "indices": lambda x: x[[1, 0]] * x[:, ::-1] + x[1, [2, 0, 1]],
    "decompositions": lambda x: np.linalg.inv(x[:, :2] * np.eye(2) + 3.0 * np.eye(2)) @ x[:, 1:],
    "cumulative": lambda x: np.cumsum(x, axis=1) * np.diff(np.concatenate([x[:, :1], x], axis=1)),
    "nothing moves": lambda x: np.sum(zyg.stop_gradient(x)) + 0.0 * zyg.stop_gradient(x),
    "a rule of one's own": lambda x: doubled(x) @ W,
    "kept and written": written,
    "other types": lambda x: x.astype(np.float32) * x + (x + 1j * x).imag,
}


def same(f, x, x_dot, monkeypatch):
    """The value and the tangent, in place and by entries, of the same types and bits."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # f's own
        for plain in (None, lambda _: False):
            with monkeypatch.context() as patch:
                if plain is not None:
                    patch.setattr(pushes, "_is_plain", plain)
                found.append(zyg.pushforward(f, (x,), (x_dot,)))
    for one, other in zip(*found, strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other, strict=True)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def points():
    for x, x_dot in itertools.product((A, ZEROS), (A[::-1] + 0.5, 0.0 * A, ZEROS)):
        yield x, x_dot
        yield np.asfortranarray(x), x_dot
    yield A[:, ::-1], A
    yield A.astype(np.float32), A.astype(np.float32)
    yield A + 1e200, A * 1e200


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, monkeypatch):
    for x, x_dot in points():
        if name in ("powers", "decompositions") and x.dtype != np.float64:
            continue
        if name == "decompositions" and not np.isfinite(x).all():
            continue
        same(OPERATIONS[name], x, x_dot, monkeypatch)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed, monkeypatch):
    one = program(seed)
    f = one.function()
    x_dot = np.random.default_rng(seed).normal(size=np.shape(one.x))
    same(lambda x: f(x, znp, []), one.x, x_dot, monkeypatch)


def entries(monkeypatch, f, *args, **settings):
    """How many values were made in place."""
    made, beside = [], pushes._beside

    def counted(*values):
        made.append(values)
        return beside(*values)

    monkeypatch.setattr(pushes, "_beside", counted)
    with zyg.config(**settings):
        zyg.pushforward(f, args, args)
    return len(made)


def test_who_looks_at_entries_gets_them(monkeypatch):
    def f(x):
        return np.sum((x * x) @ W)

    assert entries(monkeypatch, f, A) == 3
    assert entries(monkeypatch, f, A, check_nan=True) == 0
    assert entries(monkeypatch, lambda x: x * x, A.astype(np.float32)) == 0


def test_several_directions_are_entries(monkeypatch):
    monkeypatch.setattr(pushes, "_beside", None)
    x = np.array([0.3, 0.8])
    np.testing.assert_allclose(
        zyg.jacobian(lambda x: x * np.sum(x * x), x, mode="forward")[0],
        np.eye(2) * (x @ x) + 2 * np.outer(x, x),
        rtol=1e-14,
    )


def test_a_result_shares_memory_with_no_tangent():
    def f(x):
        y = x + np.zeros(2)  # the tangent of x, passed on
        z = y * 1.0 + 0.0 * x
        y[0] = 5.0
        return y, z

    x_dot = np.array([3.0, 4.0])
    _, (y_dot, z_dot) = zyg.pushforward(f, (np.ones(2),), (x_dot,))
    np.testing.assert_array_equal(y_dot, [0.0, 4.0])
    z_dot[0] = 7.0
    np.testing.assert_array_equal(x_dot, [3.0, 4.0])


def test_the_tangent_of_a_number_can_lie_where_an_array_of_no_axes_does():
    """As that of a product that is reshaped to no axes, taken of a tangent."""
    x = np.array([1.0, 2.0])

    def back(x, w):
        return zyg.pullback(lambda x, y: np.tensordot(x, y, axes=0), x, np.float64(2.0))[1](w)

    def along(x, w, v):
        return zyg.pushforward(back, (x, w), (v, v))[1][1]

    assert zyg.pushforward(along, (x, x, x), (x, x, x))[1] == 20.0
    zyg.check_gradient(along, x, x, x)
