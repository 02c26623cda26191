"""`Tangent`: computing with the gradients of objects."""

import copy
import pickle
from collections import OrderedDict, deque, namedtuple

import numpy as np
import pytest

import zyg
from zyg import Tangent
from zyg.errors import StructureError

Pair = namedtuple("Pair", "p q")


class Model:
    def __init__(self):
        self.w, self.b = np.arange(3.0), 2.0
        self.inner = {"x": 1.0, "l": [1.0, (2.0, np.float32(3.0))]}
        self.pair, self.ordered, self.ends = Pair(1.0, "s"), OrderedDict(a=1.0), deque([1.0])
        self.name, self.unused = "model", 5.0


def loss(m):
    ends = m.inner["x"] * m.inner["l"][0] * m.inner["l"][1][0] * m.inner["l"][1][1]
    return m.w.sum() * m.b + ends + m.pair.p * m.ordered["a"] * m.ends[0]


@pytest.fixture
def g():
    return zyg.gradient(loss, Model())[0]


def test_it_computes_through_containers(g):
    assert g + g == 2 * g == g * 2 == g / 0.5 == 4 * g - g - g == -(-2 * g) == +g + g
    assert 2 * (1 / g) == 2 / g
    assert g * g / g == g
    twice = g + g
    assert twice.w.tolist() == [4.0, 4.0, 4.0]
    assert twice.inner == {"x": 12.0, "l": [12.0, (6.0, np.float32(4.0))]}
    assert twice.inner["l"][1][1].dtype == np.float32
    assert twice.pair == Pair(2.0, None)
    assert type(twice.ordered) is OrderedDict
    assert twice.ends == deque([2.0])
    assert (g + 1).b == 4.0
    assert (1 - g).b == -2.0
    assert (np.float64(2.0) * g).b == 6.0


def test_nothing_is_modified_and_no_memory_shared(g):
    before = copy.deepcopy(g)
    sums = [g + Tangent("Model", **dict.fromkeys(vars(g))), 1 * g, +g]
    for made in sums:
        assert made == g
        made.w[0] = 7.0
        made.inner["l"][0] = 7.0
    assert g == before


def test_none_is_zero_beside_a_number_and_stays_otherwise(g):
    empty = Tangent("Model", **dict.fromkeys(vars(g)))
    assert g + empty == empty + g == g
    assert empty - g == -g
    assert (empty * g).w.tolist() == [0.0, 0.0, 0.0]
    assert (g + g).name is None
    assert (g * 2).unused is None
    assert (g + 1).unused is None


def test_derivatives_pass_through():
    def f(rate, m):
        (g,) = zyg.gradient(loss, m)
        stepped = rate * g + g * g / 2.0
        return stepped.w @ stepped.w + stepped.b

    zyg.check_gradient(lambda rate, b: f(rate, with_b(b)), 0.3, 2.0)


def with_b(b):
    m = Model()
    m.b, m.inner = b, {"x": 1.0, "l": [1.0, (2.0, 3.0)]}
    return m


def test_an_object_that_holds_itself():
    class Node:
        def __init__(self):
            self.x, self.next = 1.0, self

    (g,) = zyg.gradient(lambda n: n.next.next.x * n.x, Node())
    twice = g + g
    assert twice.x == 4.0
    assert twice.next is twice


def test_tangents_of_other_kinds_are_refused(g):
    with pytest.raises(StructureError, match="at the top one is a Tangent of Model, the other a "):
        g + Tangent("Other")
    with pytest.raises(StructureError, match="with a field 'b', the other without"):
        g - Tangent("Model")
    other = copy.deepcopy(g)
    other.inner["l"] = [1.0]
    with pytest.raises(StructureError, match=r"at \.inner\['l'\] one is a list of 2, the other a"):
        g + other
    other.inner = {"x": 1.0}
    with pytest.raises(StructureError, match=r"at \.inner one is a dict with a key 'l', the oth"):
        g + other
    other.inner, other.w = g.inner, np.ones(1)
    with pytest.raises(StructureError, match=r"at \.w one is of shape \(3,\), the other of shape"):
        g * other
    other.w = {}
    with pytest.raises(StructureError, match=r"at \.w one is of shape \(3,\), the other a dict"):
        g * other


@pytest.mark.parametrize("other", [None, "2", [1.0], {}, (), np.ones(3), np.ones((1, 1))])
def test_only_numbers_and_tangents_are_operands(g, other):
    for operation in (lambda: g + other, lambda: other * g, lambda: g / other, lambda: other - g):
        with pytest.raises(TypeError):
            operation()


def test_its_fields(g):
    assert dict(g) == vars(g) == {name: getattr(g, name) for name, _ in g}
    nested = Tangent("A", a=Tangent("B", b=[Tangent("C", c=1.0)]), pair=Pair(Tangent("D"), 2))
    assert nested.asdict() == {"a": {"b": [{"c": 1.0}]}, "pair": Pair({}, 2)}
    assert nested.a.b[0] == Tangent("C", c=1.0)
    assert Tangent("A", asdict=1.0).asdict == 1.0


def test_it_is_copied_and_pickled(g):
    for made in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert made == g
        assert repr(made) == repr(g)


def test_notebooks_show_a_table():
    shown = Tangent("Model<T>", w=np.arange(2.0), name=None)._repr_html_()
    assert shown == (
        "<table><caption>Tangent of Model&lt;T&gt;</caption>"
        "<tr><th>w</th><td><pre>array([0., 1.])</pre></td></tr>"
        "<tr><th>name</th><td><pre>None</pre></td></tr></table>"
    )
