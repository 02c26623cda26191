"""Arguments, results and cotangents of any structure: shared, cyclic, nested, tangents."""

import copy
import functools
import pickle
import threading
import types
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zyg
from zyg import Tangent, gradient, pullback, value_and_gradient
from zyg.errors import StructureError

from .objects import Bag, Color, Frozen, Point, Slotted

# Shared and cyclic structures


def test_a_shared_array_is_one_variable():
    w = np.array([1.0, 2.0])
    (result,) = gradient(lambda d: np.sum(d["a"] ** 2) + np.sum(3 * d["b"]), {"a": w, "b": w})
    expected = 2 * w + 3
    np.testing.assert_array_equal(result["a"], expected)
    np.testing.assert_array_equal(result["b"], expected)
    assert not np.shares_memory(result["a"], result["b"])


def test_a_shared_array_used_in_one_place_reports_in_both():
    w = np.array([1.0, 2.0])
    (result,) = gradient(lambda d: np.sum(d[0] ** 2), [w, w])
    np.testing.assert_array_equal(result[1], 2 * w)
    assert not np.shares_memory(result[0], result[1])


def test_a_shared_list_is_one_variable():
    inner = [2.0]
    assert gradient(lambda p: p[0][0] * p[1][0], (inner, inner)) == (([4.0], [4.0]),)


def test_a_shared_object_is_one_object_inside_too():
    inner = Bag(x=2.0)

    def f(pair):
        assert pair[0] is pair[1]
        return pair[0].x * pair[1].x

    (result,) = gradient(f, (inner, inner))
    assert result == (Tangent("Bag", x=4.0), Tangent("Bag", x=4.0))


def test_equal_numbers_are_two_variables():
    x = 2.5
    assert gradient(lambda p: p[0] ** 2 * p[1], (x, x)) == ((12.5, 6.25),)


def test_the_same_array_as_two_arguments_is_two_variables():
    w = np.array([1.0, 2.0])
    a, b = gradient(lambda a, b: np.sum(a * b * b), w, w)
    np.testing.assert_array_equal(a, w**2)
    np.testing.assert_array_equal(b, 2 * w**2)


def test_tied_weights_train_as_one():
    class Net:
        def __init__(self, w):
            self.encoder, self.decoder = w, w

    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    (tangent,) = gradient(lambda n: np.sum(n.decoder.T @ n.encoder), Net(w))
    step = 1e-6 * np.array([[1.0, 0.0], [0.0, 0.0]])
    slope = (np.sum((w + step).T @ (w + step)) - np.sum((w - step).T @ (w - step))) / 2e-6
    assert tangent.encoder[0, 0] == pytest.approx(slope)
    np.testing.assert_array_equal(tangent.encoder, tangent.decoder)


def test_cyclic_list():
    a = [2.0]
    a.append(a)
    (result,) = gradient(lambda a: a[1][1][0] ** 2, a)
    assert result[0] == 4.0
    assert result[1] is result


def test_cyclic_dict():
    d = {"x": 2.0}
    d["me"] = d
    (result,) = gradient(lambda d: d["me"]["me"]["x"] ** 2, d)
    assert result["x"] == 4.0
    assert result["me"] is result


def test_cyclic_object():
    node = Bag(x=2.0)
    node.me = node
    (result,) = gradient(lambda n: n.me.me.x**2, node)
    assert result.x == 4.0
    assert result.me is result
    assert repr(result) == "Tangent(Bag, x=4.0, me=Tangent(Bag, ...))"


def test_cycle_through_a_tuple():
    node = Bag(x=2.0)
    node.pair = (node, 3.0)

    def f(n):
        assert n.pair[0] is n
        return n.pair[0].x * n.pair[1]

    (result,) = gradient(f, node)
    assert result.x == 3.0
    assert result.pair[1] == 2.0
    assert result.pair[0] is result


def test_cycle_through_a_tuple_at_the_root():
    inner = [2.0]
    pair = (inner, 3.0)
    inner.append(pair)
    (result,) = gradient(lambda p: p[0][0] * p[0][1][1], pair)
    assert result[0][0] == 3.0
    assert result[1] == 2.0
    assert result[0][1] is result


def test_cycle_through_frozen_sets_of_immutable_kinds():
    holder = []
    method_like = functools.partial(max, holder, 1.0)
    holder.append(method_like)
    holder.append(2.0)
    (result,) = gradient(lambda h: h[1] * h[0].args[1], holder)
    assert result[1] == 1.0


def test_cyclic_graph_of_parents_and_children():
    class Node:
        def __init__(self, value, parent=None):
            self.value, self.parent, self.children = value, parent, []
            if parent is not None:
                parent.children.append(self)

    root = Node(2.0)
    child = Node(3.0, root)
    Node(5.0, child)

    def total(n):
        return n.value * (n.parent.value if n.parent else 1.0) + sum(map(total, n.children))

    (result,) = gradient(total, root)
    assert result.value == 1 + 3.0
    assert result.children[0].value == 2 + 5.0
    assert result.children[0].parent is result


@pytest.mark.parametrize(("nodes", "made"), [(20_000, list), (4_000, tuple)])
def test_a_linked_list(nodes, made):
    head = None
    for _ in range(nodes):
        head = made([1.0, head])

    def f(node):
        total = 0.0
        while node is not None:
            total = total + node[0] * 2.0
            node = node[1]
        return total

    (result,) = gradient(f, head)
    count = 0
    while result is not None:
        assert result[0] == 2.0
        result, count = result[1], count + 1
    assert count == nodes


def test_a_linked_list_as_a_result():
    def f(x):
        head = None
        for _ in range(2_000):
            head = Bag(value=x, next=head)
        return head

    y, back = pullback(f, 2.0)
    seed = None
    for _ in range(2_000):
        seed = {"value": 1.0, "next": seed}

    def as_tangent(seed):
        nodes = []
        while seed is not None:
            nodes.append(seed)
            seed = seed["next"]
        tangent = None
        for node in reversed(nodes):
            tangent = Tangent("Bag", value=node["value"], next=tangent)
        return tangent

    assert type(y.value) is float
    assert back(as_tangent(seed)) == (2_000.0,)


# Tangent


def test_tangent_prints_and_equals_by_its_fields():
    t = Tangent("Model", w=2.0, name=None)
    assert repr(t) == "Tangent(Model, w=2.0, name=None)"
    assert t == Tangent("Model", w=2.0, name=None)
    assert t != Tangent("Model", w=3.0, name=None)
    assert t != Tangent("Other", w=2.0, name=None)
    assert t != Tangent("Model", w=2.0)
    assert t != 2.0
    assert vars(t) == {"w": 2.0, "name": None}
    assert repr(Tangent("Empty")) == "Tangent(Empty)"


def test_tangents_with_arrays_are_equal_by_content():
    a = Tangent("M", w=np.ones(2), c=[np.zeros(2), {"a": np.ones(1)}])
    assert a == Tangent("M", w=np.ones(2), c=[np.zeros(2), {"a": np.ones(1)}])
    assert a != Tangent("M", w=np.ones(3), c=[np.zeros(2), {"a": np.ones(1)}])
    assert a != Tangent("M", w=np.ones(2), c=[np.ones(2), {"a": np.ones(1)}])
    assert a != Tangent("M", w=1.0, c=[np.zeros(2), {"a": np.ones(1)}])
    assert a != Tangent("M", w=None, c=None)


def test_tangents_with_fields_of_any_name():
    t = Tangent("Model", of=1.0, self=2.0, _of=3.0)
    assert t.of == 1.0
    assert t.self == 2.0
    assert vars(t)["_of"] == 3.0
    assert repr(t) == "Tangent(Model, of=1.0, self=2.0, _of=3.0)"


def test_tangents_cannot_be_hashed_but_can_be_copied_and_pickled():
    t = Tangent("M", w=np.ones(2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(t)
    assert copy.copy(t) == t
    deep = copy.deepcopy(t)
    assert deep == t
    assert deep.w is not t.w
    assert pickle.loads(pickle.dumps(t)) == t


def test_cyclic_tangents_can_be_compared():
    def make(x):
        node = Bag(x=x)
        node.me = node
        return gradient(lambda n: n.me.x**2, node)[0]

    assert make(2.0) == make(2.0)
    assert make(2.0) != make(3.0)


def test_tangents_printed_by_two_threads_at_once_are_whole():
    gate = threading.Barrier(2, timeout=100)
    texts = []

    class Slow:
        def __repr__(self):
            gate.wait()
            return "slow"

    t = Tangent("M", a=Slow())
    threads = [threading.Thread(target=lambda: texts.append(repr(t))) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert texts == ["Tangent(M, a=slow)"] * 2


def test_a_gradient_step_with_a_tangent():
    model = Bag(w=2.0, b=np.ones(2))
    (t,) = gradient(lambda m: m.w * np.sum(m.b**2), model)
    for name, slope in vars(t).items():
        setattr(model, name, getattr(model, name) - 0.1 * slope)
    assert model.w == pytest.approx(1.8)
    np.testing.assert_allclose(model.b, 0.6)


# zeros=True


def test_zeros_in_place_of_none_at_every_number():
    argument = {
        "used": 2.0, "float": 1.0, "int": 3, "array": np.ones((2, 1), np.float32), "name": "s",
        "ints": np.arange(2), "object": Bag(x=1.0, flag=True), "complex": 1j,
        "fraction": Fraction(1, 2),
    }  # fmt: skip
    (result,) = gradient(lambda d: d["used"] ** 2, argument, zeros=True)
    assert result["used"] == 4.0
    assert result["float"] == 0.0
    assert type(result["int"]) is float
    assert result["array"].shape == (2, 1)
    assert result["array"].dtype == np.float32
    assert result["name"] is None
    assert result["ints"].dtype == np.float64
    assert result["object"] == Tangent("Bag", x=0.0, flag=None)
    assert type(result["complex"]) is complex
    assert type(result["fraction"]) is Fraction


def test_zeros_of_a_shared_array_share_no_memory():
    w = np.ones(2)
    (result,) = gradient(lambda d: 1.0, [w, w], zeros=True)
    assert not np.shares_memory(result[0], result[1])


def test_without_zeros_an_argument_nothing_depends_on_is_none_as_a_whole():
    assert gradient(lambda d: 1.0, {"a": [1.0, Bag(x=2.0)]}) == (None,)
    assert gradient(lambda a, b: a * 2, 1.0, [1.0]) == (2.0, None)


# Arguments and results


def test_arguments_are_never_modified():
    argument = {
        "list": [1.0, [2.0]], "array": np.arange(3.0), "object": Bag(x=1.0), "deque": deque([1.0]),
    }  # fmt: skip
    before = copy.deepcopy(argument)

    def f(d):
        d["list"][1].append(d["list"][0] * 2)
        d["list"][0] = d["list"][1][-1]
        d["object"].x = d["object"].x * 3
        d["object"].new = d["list"][0]
        d["deque"].appendleft(d["object"].x)
        d["extra"] = np.sum(d["array"])
        del d["array"]
        return d["extra"] * d["deque"][0] * d["object"].new

    gradient(f, argument)
    assert argument["list"] == before["list"]
    assert vars(argument["object"]) == vars(before["object"])
    assert argument["deque"] == before["deque"]
    assert argument.keys() == before.keys()
    np.testing.assert_array_equal(argument["array"], before["array"])


def test_an_object_that_f_changes_and_returns():
    def f(b):
        b.x = b.x * 2
        b.new = b.x**2
        return b

    argument = Bag(x=3.0)
    y, back = pullback(f, argument)
    assert vars(y) == {"x": 6.0, "new": 36.0}
    assert y is not argument
    assert argument.x == 3.0
    assert back(Tangent("Bag", x=1.0, new=1.0)) == (Tangent("Bag", x=2 + 8 * 3.0),)


def _arrays(x):
    if isinstance(x, np.ndarray) and x.dtype != object:
        return [x]
    if isinstance(x, dict):
        return [a for v in x.values() for a in _arrays(v)]
    if isinstance(x, (list, tuple)):
        return [a for v in x for a in _arrays(v)]
    if isinstance(x, Tangent):
        return _arrays(vars(x))
    return []


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a[0] + b,
        lambda a, b: [a[0], a[0], b, a[1]],
        lambda a, b: [a[0][:], a[0].T, b[::-1], np.reshape(b, (1, 3))],
        lambda a, b: {"a": a, "b": [b, b]},
        lambda a, b: [np.broadcast_to(b, (2, 3)), a[0] * 1.0],
        lambda a, b: [zyg.hook(lambda c: c, b), a[0] + 0.0],
    ],
)
def test_no_two_results_and_no_result_and_input_share_memory(f):
    a, b = [np.arange(3.0), np.ones(3)], np.arange(3.0)
    y, back = pullback(f, a, b)
    seed = _ones(y)
    first, second = back(seed), back(seed)
    arrays = [*_arrays(a), b, *_arrays(y), *_arrays(seed), *_arrays(first), *_arrays(second)]
    for k, one in enumerate(arrays):
        for other in arrays[:k]:
            assert not np.shares_memory(one, other)


def _ones(y):
    if isinstance(y, np.ndarray):
        return np.ones_like(y)
    if isinstance(y, dict):
        return {k: _ones(v) for k, v in y.items()}
    if isinstance(y, (list, tuple)):
        return type(y)(map(_ones, y))
    return 1.0


def test_results_are_writable():
    (x_bar,) = gradient(lambda x: np.sum(x), np.ones((2, 3)))
    x_bar += 1.0
    y, _ = pullback(lambda x: np.broadcast_to(x, (2, 3)), np.ones(3))
    y[0, 0] = 5.0
    assert y[1, 0] == 1.0


def test_aux_is_untouched():
    marker, plain = object(), [1, 2]

    def f(x):
        return np.sum(x**2), marker, {"x": x, "plain": plain, "text": "s"}

    x = np.array([1.0, 2.0])
    (loss, one, aux), (x_bar,) = value_and_gradient(f, x)
    assert loss == 5.0
    assert one is marker
    assert aux["plain"] is plain
    assert aux["text"] == "s"
    assert type(aux["x"]) is np.ndarray
    assert not np.shares_memory(aux["x"], x)
    np.testing.assert_array_equal(x_bar, 2 * x)


# Results and cotangents of any structure


@pytest.mark.parametrize(
    ("f", "seed", "expected"),
    [
        (lambda x: [x, x * x], [1.0, 10.0], 61.0),
        (lambda x: (x, [x * x]), (1.0, [10.0]), 61.0),
        (lambda x: {"a": x, "b": x * x}, {"a": 1.0, "b": 10.0}, 61.0),
        (lambda x: {"a": x, "b": x * x}, {"b": 10.0}, 60.0),
        (lambda x: Point(x, x * x), Point(1.0, 10.0), 61.0),
        (lambda x: Point(x, x * x), (1.0, 10.0), 61.0),
        (lambda x: Frozen(x, x * x), Tangent("Frozen", x=1.0, y=10.0), 61.0),
        (lambda x: Frozen(x, "s"), Tangent("Frozen", x=1.0, y=None), 1.0),
        (lambda x: Frozen(x, x * x), Frozen(1.0, 10.0), 61.0),
        (lambda x: deque([x, x * x]), deque([1.0, 10.0]), 61.0),
        (lambda x: [x, "s", x * x], [1.0, None, 10.0], 61.0),
        (lambda x: [x, [x * x]], [1.0, None], 1.0),
        (lambda x: [x, x], [None, None], None),
        (lambda x: [x, x], [1.0, 10.0], 11.0),
        (lambda x: [x, [x]], None, None),
        (lambda x: [1.0, x], [5.0, 1.0], 1.0),
        (lambda x: x, 2, 2.0),
    ],
)
def test_cotangents_have_the_structure_of_the_value(f, seed, expected):
    _, back = pullback(f, 3.0)
    assert back(seed) == (expected,)


def test_the_same_list_in_two_places_of_a_result():
    def f(x):
        inner = [x]
        return [inner, inner]

    y, back = pullback(f, 3.0)
    assert y[0] is y[1]
    assert back([[1.0], [10.0]]) == (11.0,)


def test_a_result_and_a_cotangent_with_a_shared_part():
    _, back = pullback(lambda x: [[x], [x * x]], 3.0)
    part = [1.0]
    assert back([part, part]) == (7.0,)


def test_object_arrays_as_results():
    def f(x):
        out = np.empty((2, 2), dtype=object)
        out[0, 0], out[1, 1] = x, x * x
        return out

    y, back = pullback(f, 3.0)
    assert type(y[0, 0]) is float
    seed = np.array([[1.0, None], [None, 10.0]], dtype=object)
    assert back(seed) == (61.0,)


def test_integer_arrays_and_bools_in_a_result_take_no_cotangent():
    y, back = pullback(lambda x: (x > 1, np.argsort(x), np.sum(x)), np.array([2.0, 0.5]))
    np.testing.assert_array_equal(y[0], [True, False])
    np.testing.assert_array_equal(back((None, None, 1.0))[0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("f", "seed", "text"),
    [
        (lambda x: [x, x], [1.0], r"at the top it needs 2 parts, got a list of 1"),
        (
            lambda x: [x, [x, x]],
            [1.0, [1.0, 1.0, 1.0]],
            r"at \[1\] it needs 2 parts, got a list of 3",
        ),
        (lambda x: [x, [x]], [1.0, 1.0], r"at \[1\] it needs 1 part"),
        (lambda x: {"a": [x]}, {"a": 5.0}, r"at \['a'\]"),
        (lambda x: {"a": x}, {"b": 5.0}, r"'b'"),
        (lambda x: {"a": x}, (1.0,), r"at the top"),
        (lambda x: Frozen(x, [x]), Tangent("Frozen", x=1.0, y=[1.0, 2.0]), r"at \.y it needs"),
        (lambda x: Frozen(x), 1.0, r"at \.x"),
        (lambda x: Frozen(x), {"x": 1.0}, r"at \.x"),
        (lambda x: [x, Frozen([x])], [1.0, Tangent("F", y=1.0)], r"at \[1\]\.x"),
        (lambda x: (x, x), "ab", r"cotangent"),
        (lambda x: x, "ab", r"cotangent"),
        (lambda x: x, [1.0], r"cotangent"),
        (lambda x: x, {"a": 1.0}, r"cotangent"),
        (lambda x: x, np.ones(2), r"shape \(2,\)"),
        (lambda x: x * np.ones(2), 1.0, r"shape \(\)"),
        (lambda x: x * np.ones(2), np.ones((2, 1)), r"shape \(2, 1\)"),
        (lambda x: [x * np.ones(2)], [np.ones(3)], r"shape \(3,\)"),
    ],
)
def test_a_cotangent_that_does_not_fit_is_refused_with_its_path(f, seed, text):
    _, back = pullback(f, 3.0)
    with pytest.raises(StructureError, match=text):
        back(seed)


def test_the_message_of_a_misfit_names_the_function():
    def my_model(x):
        return [x, x]

    _, back = pullback(my_model, 3.0)
    with pytest.raises(StructureError, match="the value of my_model"):
        back([1.0])


# Watching inside a structure


def test_numbers_that_are_keyword_arguments_are_constants():
    assert gradient(lambda x, *, k: x * k, 3.0, k=4.0) == (4.0,)


def test_watched_values_put_into_every_container_by_the_program():
    def f(x):
        a = [x, (x, {"k": x})]
        d = dict(zip("ab", (x, x * 2), strict=True))
        s = Point(x, deque([x]))
        a.extend([x] * 2)
        t = types.SimpleNamespace(**d)
        return (
            a[0] * a[1][1]["k"] + d["b"] + s.y.pop() + sum(a[2:]) + t.b + max(d.values())
        )  # x**2 + 2x + x + 2x + 2x + 2x

    assert gradient(f, 3.0) == (15.0,)


def test_nested_gradients_of_structures():
    def energy(p):
        return p["x"] ** 2 * p["y"][0]

    def f(p):
        g = gradient(energy, p)[0]
        return g["x"] * g["y"][0]  # 2xy * x**2 = 2 x**3 y

    assert gradient(f, {"x": 2.0, "y": [3.0]}) == ({"x": 72.0, "y": [16.0]},)


_PART = st.one_of(
    st.integers(-5, 5).map(float),
    st.integers(1, 3).map(lambda n: np.arange(n) + 0.5),
    st.sampled_from([None, True, "s", b"b", len, Color.RED]),
)
_VALUE = st.recursive(
    _PART,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(deque),
        st.dictionaries(st.sampled_from(["a", 1, (2, 3)]), inner, max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Bag, p=inner, q=inner),
        st.builds(Slotted, inner, inner),
    ),
    max_leaves=10,
)


def _children(value):
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple, deque)):
        return list(enumerate(value))
    if isinstance(value, Bag):
        return list(vars(value).items())
    return [("x", value.x), ("y", value.y)] if isinstance(value, Slotted) else []


def _squares(value):
    if isinstance(value, (float, np.ndarray)):
        return np.sum(value * value)
    return sum((_squares(v) for _, v in _children(value)), 0.0)


def _fits(value, bar):
    if bar is None:
        return not any(True for _ in _numbers(value))
    if isinstance(value, (float, np.ndarray)):
        return np.array_equal(bar, 2 * value)
    if isinstance(value, (Bag, Slotted)):
        assert isinstance(bar, Tangent)
        return all(_fits(v, getattr(bar, k)) for k, v in _children(value))
    assert type(bar) is type(value)
    assert len(bar) == len(value)
    return all(_fits(v, bar[k]) for k, v in _children(value))


def _numbers(value):
    if isinstance(value, (float, np.ndarray)):
        yield value
    for _, v in _children(value):
        yield from _numbers(v)


@given(_VALUE)
def test_any_structure_of_numbers_gets_its_own_structure_back(value):
    before = repr(value)
    (bar,) = gradient(_squares, value)
    assert _fits(value, bar)
    assert repr(value) == before
    y, back = pullback(lambda v: v, value)
    if bar is not None:
        assert _same_gradient(back(y)[0], value)


def _same_gradient(bar, value):
    """The pullback of the identity gives each part its own cotangent."""
    return all(np.array_equal(b, v) for b, v in zip(_tangents(bar), _numbers(value), strict=True))


def _tangents(bar):
    if isinstance(bar, (float, np.ndarray)):
        yield bar
    fields = vars(bar).items() if isinstance(bar, Tangent) else _children(bar)
    for _, v in fields:
        yield from _tangents(v)
