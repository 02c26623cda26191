"""`map`, `dot` and `norm`: structures as vectors."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given

import zyg
from tests.verbs.test_vectors import holds_numbers, same, trees
from zyg.errors import StructureError

Pair = namedtuple("Pair", "p q")


@dataclass(frozen=True)
class Layer:
    w: np.ndarray
    size: int
    name: str


@dataclass(slots=True)
class Net:
    scale: float
    layer: Layer
    rest: list


def step(p, g):
    return p - 0.1 * g


def net():
    return Net(2.0, Layer(np.ones(2, np.float32), 3, "first"), [1.0, Pair(2.0, None)])


def output(net):
    return net.scale * net.layer.w.sum() * net.rest[1].p


def line(a, b):
    def f(x):
        return a * x + np.sum(b)

    return f


def test_a_gradient_step():
    before = net()
    (g,) = zyg.gradient(output, before)
    after = zyg.map(step, before, g)
    assert type(after) is Net
    assert type(after.layer) is Layer
    assert (after.scale, after.rest) == (1.6, [1.0, Pair(1.6, None)])
    assert after.layer.w.dtype == np.float32
    assert after.layer.w.tolist() == np.float32([0.6, 0.6]).tolist()
    assert (after.layer.size, type(after.layer.size), after.layer.name) == (3, int, "first")
    assert before.layer.w.tolist() == [1.0, 1.0]


def test_closures():
    f = line(2.0, np.ones(3))
    (g,) = zyg.gradient(lambda f: f(3.0), f)
    stepped = zyg.map(lambda p, g: p - 0.5 * g, f, g)
    assert stepped(1.0) == 0.5 + 3 * 0.5
    assert zyg.map(lambda a, b: a + b, f, stepped)(0.0) == 3 * 1.5


@given(trees)
def test_the_structure_is_kept(tree):
    assert same(zyg.map(lambda x: x, tree), tree)
    assert same(zyg.map(lambda x, y: y, tree, tree), tree)
    assert same(zyg.map(lambda x, y: x, tree, None), tree)


@given(trees)
def test_it_computes_as_the_vectors_do(tree):
    if not holds_numbers(tree):
        assert zyg.dot(tree, tree) == zyg.norm(tree) == 0.0
        return
    with np.errstate(all="ignore"):
        vector, _ = zyg.flatten(tree)
        doubled, _ = zyg.flatten(zyg.map(lambda x, y: x + y, tree, tree))
        assert np.allclose(doubled, vector + vector, equal_nan=True)
        square = np.sum(np.abs(vector) ** 2)
        assert np.allclose(zyg.dot(tree, tree), square, rtol=1e-5, equal_nan=True)
        assert np.allclose(zyg.norm(tree), np.sqrt(square), rtol=1e-5, equal_nan=True)


def test_an_array_in_two_places_stays_one():
    w = np.ones(2)
    made = zyg.map(step, {"a": w, "b": w}, {"a": w, "b": w.copy()})
    assert made["a"] is made["b"]
    with pytest.raises(StructureError, match=r"at \['a'\] the first has one array in several plac"):
        zyg.map(step, {"a": w, "b": w}, {"a": w, "b": 2 * w})


def test_ints_that_stay_are_ints():
    made = zyg.map(step, {"n": 3, "k": np.arange(2), "m": 3}, {"n": None, "k": 0.0, "m": 10.0})
    assert (made["n"], type(made["n"]), made["m"]) == (3, int, 2.0)
    assert made["k"].dtype.kind == "i"


def test_derivatives_of_all_three():
    a, b = np.array([1.0, 2.0]), 3.0

    def tree(a, b):
        return {"a": a, "b": [b, Pair(a * b, "x")]}

    zyg.check_gradient(lambda a, b: zyg.dot(tree(a, b), tree(a**2, b**2)), a, b)
    zyg.check_gradient(lambda a, b: zyg.norm(tree(a, b)), a, b)
    zyg.check_gradient(
        lambda a, b: zyg.norm(zyg.map(lambda x, y: x * y + x, tree(a, b), tree(b, a[0]))), a, b
    )
    assert same(zyg.gradient(zyg.norm, {"x": np.zeros(2)}), ({"x": np.zeros(2)},))


def test_the_derivative_along_a_direction():
    def f(z):
        return np.sum(np.abs(z["z"]) ** 2) * z["x"]

    z = {"z": np.array([1 + 2j, 3.0]), "x": 2.0}
    v = {"z": np.array([0.5j, 1 - 1j]), "x": -1.0}
    (g,) = zyg.gradient(f, z)
    _, along = zyg.pushforward(f, (z,), (v,))
    assert np.isclose(zyg.dot(g, v), along)
    assert np.isclose(zyg.dot(v, g), along)


def test_none_and_tangents():
    before = net()
    (g,) = zyg.gradient(output, before)
    assert zyg.dot(g, before) == zyg.dot(before, g) == 24.0
    assert zyg.dot(None, before) == zyg.dot(before, None) == zyg.norm(None) == 0.0


BAD = [
    ({"a": 1.0}, {"b": 1.0}, r"at the top it needs no key 'b', got a dict of 1"),
    ([1.0], [1.0, 2.0], r"at the top it needs 1 part, got a list of 2"),
    ([1.0], [[1.0]], r"at \[0\] the first has a number or an array, another a list"),
    ([{"a": 1.0}], [2.0], r"at \[0\] it needs a dict, got a float"),
    (net(), {}, r"at \.\w+ it needs a part, got none in a dict"),
    ({"a": [None], "b": 1.0}, {"a": [1.0], "b": 1.0}, r"at \['a'\]\[0\] the first has no number"),
]


@pytest.mark.parametrize(("first", "second", "said"), BAD)
def test_other_structures_are_refused_by_path(first, second, said):
    with pytest.raises(StructureError, match=said):
        zyg.map(step, first, second)
    if "no number" not in said:
        with pytest.raises(StructureError, match=said):
            zyg.dot(first, second)
    with pytest.raises(StructureError, match=said.replace("no. 2", "no. 3")):
        zyg.map(lambda x, y, z: x, first, first, second)


def test_shapes_that_would_be_stretched_are_refused():
    with pytest.raises(StructureError, match=r"at \['w'\] the first has shape \(2,\), another sha"):
        zyg.dot({"w": np.ones(2)}, {"w": 1.0})


def test_an_int_whose_step_is_zero_and_watched_is_no_constant():
    def after(rate):
        return zyg.map(lambda p, g: p - g * (rate - 1.0), {"n": 2}, {"n": 5.0})["n"] * 1.0

    assert zyg.gradient(after, 1.0) == (-5.0,)
