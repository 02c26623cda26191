"""What passes through whole, and is refused where it holds numbers."""

import collections
import ctypes
import dataclasses
import functools
import itertools
import operator
import queue
import types
import weakref

import numpy as np
import pytest

import zyg
from zyg import gradient
from zyg.errors import StructureError


class Node:
    def __init__(self, x, parent=None):
        self.x, self.parent = x, parent and weakref.ref(parent)


def _filled(q):
    q.put(2.0)
    return q


def _generator(x):
    yield x


HOLDERS = [
    lambda: map(abs, [2.0]), lambda: zip([2.0], strict=True), lambda: iter([2.0]),
    lambda: enumerate([2.0]),
    lambda: _generator(2.0), lambda: (x for x in [2.0]), lambda: {"a": 2.0}.values(),
    lambda: {"a": 2.0}.items(), lambda: iter(np.array([2.0])), lambda: itertools.count(0.5),
    lambda: itertools.tee([2.0])[0], lambda: map(lambda k, v=2.0: v, range(3)),
    lambda: _filled(queue.Queue()), lambda: _filled(queue.SimpleQueue()), lambda: ValueError(2.0),
    lambda: [2.0].__getitem__, lambda: slice(0.0, 1.0), lambda: operator.methodcaller("f", 2.0),
    lambda: (ctypes.c_double * 2)(), lambda: ctypes.c_float(2.0), lambda: np.nditer(np.ones(2)),
    lambda: np.ones(1, [("a", float), ("b", int)])[0], lambda: weakref.proxy(KEPT),
    lambda: weakref.WeakValueDictionary(a=KEPT), lambda: functools.cache(lambda x=2.0: x),
    lambda: map(abs, {2.0}), lambda: iter([Node(2.0)]),
]  # fmt: skip
KEPT = Node(2.0)


@pytest.mark.parametrize("make", HOLDERS)
def test_numbers_that_cannot_be_watched_are_refused(make):
    for put in (lambda x: x, lambda x: [x, 1.0], Node, lambda x: lambda: x):
        with pytest.raises(StructureError, match=r"cannot watch the numbers in a .*\[opaque\]"):
            gradient(lambda c: 1.0, put(make()))


def _memo():
    memo = functools.cache(len)
    memo(b"text")
    return memo


@pytest.mark.parametrize(
    "make",
    [
        lambda: map(abs, [2]), lambda: zip("ab", range(2), strict=True),
        lambda: iter(np.arange(3)), lambda: itertools.cycle("rgb"), lambda: itertools.count(),
        lambda: {1: "a"}.items(),
        lambda: ValueError("x", 2), lambda: slice(1, 2), lambda: ctypes.c_int(3), _memo,
        lambda: np.ones(1, [("a", int)])[0], lambda: queue.Queue(), lambda: [2].__getitem__,
        lambda: weakref.ref(Node), lambda: (x for x in ["a"]), lambda: map(np.sin, []),
    ],
)  # fmt: skip
def test_what_holds_no_number_but_ints_passes_through(make):
    one = make()
    seen = []
    assert gradient(lambda o, x: seen.append(o) or x * 2, [one], 1.0) == (None, 2.0)
    assert seen[0][0] is one


Made = dataclasses.make_dataclass("Made", ["x"])
New = types.new_class("New", (Node,))
ByMeta = type(collections.abc.Sized)("ByMeta", (Node,), {"__len__": lambda self: 1})


@pytest.mark.parametrize("cls", [Made, New, ByMeta])
def test_classes_that_functions_make_are_the_users(cls):
    assert gradient(lambda d: d.x**2, cls(3.0))[0].x == 6.0


def test_a_parent_by_a_weak_reference_is_the_watched_one():
    root = Node(2.0)
    root.children = [Node(3.0, root), Node(5.0, root)]

    def f(root):
        assert all(child.parent() is root for child in root.children)
        return sum(child.x * child.parent().x for child in root.children)

    (bar,) = gradient(f, root)
    assert bar.x == 8.0
    assert bar.children[0].parent.referent is bar
    assert root.children[0].parent() is root


def test_what_only_a_weak_reference_leads_to_lives_as_long_as_that():
    assert gradient(lambda r: r().x ** 2, weakref.ref(KEPT))[0].referent.x == 4.0


def test_the_gradient_of_a_cell_is_that_of_its_content():
    assert gradient(lambda c: c.cell_contents**2, types.CellType(3.0)) == (6.0,)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: {"a": x}.values(),
        lambda x: iter([x]),
        lambda x: [ValueError(x)],
        lambda x: [x].pop,
    ],
)
def test_a_derivative_of_what_has_no_places_is_refused(make):
    for derivative in (
        lambda: zyg.jacobian(make, 2.0, mode="reverse"),
        lambda: zyg.jacobian(make, 2.0, mode="forward"),
        lambda: zyg.pullback(make, 2.0)[1](1.0),
    ):
        with pytest.raises(StructureError, match="cannot watch the numbers in a"):
            derivative()


def test_beside_a_loss_anything_is_returned():
    (loss, s, q), (bar,) = zyg.value_and_gradient(
        lambda x: (x * x, {1.5}, _filled(queue.Queue())), 3.0
    )
    assert (loss, s, q.get(), bar) == (9.0, {1.5}, 2.0, 6.0)


def test_a_direction_leads_into_an_object_that_a_closure_holds():
    node = Node(3.0)
    read = lambda: node.x**2  # noqa: E731
    assert zyg.jacobian(lambda g: g(), read, mode="forward")[0].node.x == 6.0
