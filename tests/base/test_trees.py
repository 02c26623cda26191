"""Arguments that are plain trees: taken apart as `Structure` takes them apart, to the last leaf."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zyg.base.bags import Tangent
from zyg.base.structure import Structure, is_leaf
from zyg.base.trees import Tree, taken_apart
from zyg.errors import StructureError

from .objects import Bag, Frozen, Slotted

NUMBERS = st.sampled_from([1.5, 2, 1j, np.float64(0.5), np.float32(3.0)])
ARRAYS = st.builds(np.full, st.integers(0, 3), st.floats(0, 1))
ATOMS = st.sampled_from([None, True, "text", b"bytes", slice(1)])
TREES = st.recursive(
    NUMBERS | ARRAYS | ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abc") | st.integers(0, 2), inner, max_size=3)
        | st.builds(lambda fields: Bag(**fields), st.dictionaries(st.sampled_from("ab"), inner))
    ),
    max_leaves=8,
)


def same(a, b):
    if type(a) is not type(b):
        return False
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is dict:
        return [*a] == [*b] and all(map(same, a.values(), b.values()))
    if type(a) in (Bag, Tangent):
        return a is b or (same(vars(a), vars(b)) and repr(a)[:12] == repr(b)[:12])
    return a is b


def objects_kept(copy, x):
    """Whether an object is the one that it was, for each of them."""
    if type(x) is Bag:
        return [copy is x, *objects_kept([*vars(copy).values()], [*vars(x).values()])]
    if type(x) is dict:
        return objects_kept([*copy.values()], [*x.values()])
    if type(x) in (list, tuple):
        return [kept for pair in zip(copy, x, strict=True) for kept in objects_kept(*pair)]
    return []


@given(TREES, st.booleans())
def test_a_tree_is_what_a_structure_is(x, shared):
    tree = taken_apart(x, is_leaf, shared=shared)
    whole = Structure(x, is_leaf, shared=shared)
    marks = [object() for _ in whole.leaves]

    assert tree.is_leaf == whole.is_leaf
    assert all(map(same, tree.leaves, whole.leaves))
    assert same(tree.rebuild(marks), whole.rebuild(marks))
    assert objects_kept(tree.rebuild(marks), x) == objects_kept(whole.rebuild(marks), x)
    assert same(tree.tangent(marks), whole.tangent(marks))
    assert tree.tangent([None] * len(marks)) is None or not marks
    assert tree.paths() == whole.paths()
    assert same(tree.match(x, "x"), whole.match(x, "x"))
    bars = whole.tangent([1.0] * len(marks))
    assert same(tree.match(bars, "x"), whole.match(bars, "x"))


@given(TREES, TREES)
def test_what_does_not_fit_a_tree_is_refused_as_by_a_structure(x, c):
    found = []
    for inside in (taken_apart(x, is_leaf), Structure(x, is_leaf, shared=True)):
        try:
            found.append(inside.match(c, "x"))
        except StructureError as error:
            found.append(str(error))
    assert type(found[0]) is type(found[1])
    assert found[0] == found[1] if type(found[0]) is str else same(*found)


@given(TREES)
def test_a_tree_is_a_copy_down_to_the_leaves(x):
    tree = taken_apart(x, is_leaf)
    copy = tree.rebuild(tree.leaves)
    if tree.leaves and not tree.is_leaf:
        assert copy is not x
        assert same(copy, x)
        assert type(x) is not Bag or copy.__dict__ is not x.__dict__
    else:
        assert copy is x


def shared_array():
    a = np.ones(2)
    return [a, {"a": a}]


def shared_list():
    inner = [1.0]
    return [inner, inner]


def cycle():
    x = [1.0]
    x.append(x)
    return x


def shared_object():
    inner = Bag(x=1.0)
    return Bag(a=inner, b=[inner])


OTHERS = [
    lambda: [Bag(x=1.0), Bag(name="text")], lambda: [Bag(f=len, g=lambda: 1.0), 1.0],
    lambda: Slotted(1.0), lambda: Tangent("Bag", x=1.0),
]  # fmt: skip


@pytest.mark.parametrize("make", [shared_array, shared_list, cycle, shared_object, *OTHERS])
def test_what_is_met_twice_and_other_objects_are_left_to_structure(make):
    assert type(taken_apart(make(), is_leaf)) is Structure


@pytest.mark.parametrize(
    "x", [1.0, np.ones(2), [1.0], {"a": (1.0, [np.ones(2)])}, Bag(a={"b": Frozen(1.0)}, c="text")]
)
def test_plain_arguments_are_trees(x):
    assert type(taken_apart(x, is_leaf)) is Tree


def test_what_is_written_to_a_tree_afterwards_does_not_reach_its_gradient():
    x = {"a": [1.0, 2.0]}
    tree = taken_apart(x, is_leaf)
    x["a"].append(3.0)
    x["b"] = 4.0
    assert tree.tangent([5.0, 6.0]) == {"a": [5.0, 6.0]}
