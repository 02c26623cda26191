"""`zyg.flatten`: every structure of numbers is a vector, and comes back as it was."""

import types
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zyg
from zyg.errors import ConversionError, StructureError

Pair = namedtuple("Pair", "u v")


@dataclass(frozen=True)
class Line:
    slope: float
    offsets: np.ndarray
    name: str = "line"


numbers = st.one_of(
    st.floats(-9, 9),
    st.floats(-9, 9, width=32).map(np.float32),
    st.complex_numbers(max_magnitude=9),
    st.lists(st.floats(-9, 9), max_size=4).map(np.array),
    st.lists(st.floats(-9, 9, width=32), max_size=4).map(lambda x: np.array([x], np.float32)),
)
others = st.sampled_from([None, True, "text", len])
trees = st.recursive(
    numbers | others,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(lambda x: types.SimpleNamespace(x=x), inner)
    ),
    max_leaves=8,
)


def same(a, b):
    if isinstance(a, np.ndarray):
        return type(b) is type(a) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, types.SimpleNamespace):
        return same(vars(a), vars(b))
    return type(a) is type(b) and a == b


def holds_numbers(tree):
    if isinstance(tree, types.SimpleNamespace):
        return holds_numbers(tree.x)
    if isinstance(tree, (list, tuple, dict)):
        return any(map(holds_numbers, tree.values() if isinstance(tree, dict) else tree))
    return tree is not True and isinstance(tree, (float, complex, np.generic, np.ndarray))


@given(trees)
def test_a_structure_comes_back_as_it_was(tree):
    if not holds_numbers(tree):
        with pytest.raises(StructureError, match="without any number"):
            zyg.flatten(tree)
        return
    vector, unflatten = zyg.flatten(tree)
    assert vector.ndim == 1
    assert same(unflatten(vector), tree)


def test_both_ways_are_differentiable():
    tree = {"a": 2.0, "b": [np.arange(3.0), np.float32(4.0)], "name": "x"}
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    (g,) = zyg.gradient(lambda t: zyg.flatten(t)[0] @ weights, tree)
    assert same(g, {"a": 1.0, "b": [np.array([2.0, 3.0, 4.0]), np.float32(5.0)], "name": None})

    # float32 would be rounded to: too coarse for differences
    vector, unflatten = zyg.flatten({**tree, "b": [np.arange(3.0), 4.0]})

    def loss(v):
        t = unflatten(v)
        return t["a"] ** 3 * np.sum(np.sin(t["b"][0])) * t["b"][1]

    zyg.check_gradient(loss, vector, order=2)
    zyg.check_gradient(lambda a, b: np.sum(zyg.flatten([b, a])[0] ** 3), 1.5, np.ones((2, 2)))


def test_an_object_and_its_gradient_are_vectors_of_one_order():
    line = Line(2.0, np.array([[1.0], [3.0]]))
    vector, unflatten = zyg.flatten(line)
    (g,) = zyg.gradient(lambda line: line.slope * np.sum(line.offsets**2), line)

    assert vector.tolist() == [2.0, 1.0, 3.0]
    assert zyg.flatten(g)[0].tolist() == [10.0, 4.0, 12.0]
    back = unflatten(vector - 0.5)
    assert type(back) is Line
    assert (back.slope, back.offsets.tolist(), back.name) == (1.5, [[0.5], [2.5]], "line")


def test_an_array_met_twice_is_one_variable():
    w = np.ones(2)
    vector, unflatten = zyg.flatten({"a": w, "b": w})
    assert vector.tolist() == [1.0, 1.0]
    back = unflatten(np.array([2.0, 3.0]))
    assert back["a"] is back["b"]


def test_ints_are_reals_and_other_numbers_stay_exact():
    vector, unflatten = zyg.flatten([1, np.arange(2)])
    assert vector.dtype == float
    assert same(unflatten(vector), [1.0, np.array([0.0, 1.0])])

    parts = [Fraction(1, 3), Fraction(2, 5)]
    vector, unflatten = zyg.flatten(parts)
    assert unflatten(vector) == parts
    (g,) = zyg.gradient(lambda t: (lambda v: v[0] * v[1])(zyg.flatten(t)[0]), parts)
    assert g == parts[::-1]
    assert zyg.flatten(Decimal("1.5"))[1](np.array([Decimal("2.5")])) == Decimal("2.5")


def test_dtypes_of_the_vector():
    single = np.ones(2, np.float32)
    assert zyg.flatten([single, np.float32(1)])[0].dtype == np.float32
    assert zyg.flatten([single, 1.0])[0].dtype == np.float64
    assert zyg.flatten([single, 1j])[0].dtype == np.complex128


def test_what_is_refused():
    with pytest.raises(StructureError, match=r"a dict without any number in it"):
        zyg.flatten({"a": None})
    _, unflatten = zyg.flatten([1.0, np.ones(2)])
    with pytest.raises(StructureError, match=r"array of shape \(2,\)[\s\S]*has 3 numbers"):
        unflatten(np.ones(2))
    with pytest.raises(ConversionError, match=r"imaginary part where the structure is real"):
        unflatten(np.array([1.0, 1j, 0.0]))
