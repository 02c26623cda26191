"""Containers, objects and functions as arguments: each kind comes back as what it is."""

# ruff: noqa: E501 - one case per line

import enum
import functools
import io
import math
import sys
import threading
import types
from argparse import Namespace
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from zyg import Tangent, gradient, value_and_gradient
from zyg.errors import StructureError

from .objects import Bag, Color, Frozen, Point, Slotted


@dataclass
class Nested:
    inner: Frozen
    items: list = field(default_factory=list)


class Secret:
    __slots__ = ("__hidden", "open")

    def __init__(self, hidden, open_):
        self.__hidden, self.open = hidden, open_

    @property
    def value(self):
        return self.__hidden * self.open


class Heir(Secret):
    __slots__ = ("__hidden",)

    def __init__(self, hidden, open_, own):
        super().__init__(hidden, open_)
        self.__hidden = own

    @property
    def total(self):
        return self.value + self.__hidden**2


class HeirWithDict(Secret):
    def __init__(self, hidden, open_, extra):
        super().__init__(hidden, open_)
        self.extra = extra


# Containers come back as what they are


@pytest.mark.parametrize(
    ("f", "argument", "expected"),
    [
        (lambda a: a[0] * a[1], [2.0, 3.0], [3.0, 2.0]),
        (lambda a: a[0] * a[1], (2.0, 3.0), (3.0, 2.0)),
        (lambda a: a[0] * a[1][0], [2.0, (3.0, "s")], [3.0, (2.0, None)]),
        (lambda a: a.x * a.y[0], Point(2.0, [3.0]), Point(3.0, [2.0])),
        (lambda a: a["u"] * a["v"], {"u": 2.0, "v": 3.0}, {"u": 3.0, "v": 2.0}),
        (lambda a: a[1] * a[(1, 2)], {1: 2.0, (1, 2): 3.0}, {1: 3.0, (1, 2): 2.0}),
        (lambda a: a[0] * a[-1], deque([2.0, 5.0, 3.0], maxlen=3), deque([3.0, None, 2.0], maxlen=3)),
        (lambda a: a[0] * 2, [1.0, 4.0], [2.0, None]),
        (lambda a: a[0][0][0][0] * 2, [[[[1.0]]]], [[[[2.0]]]]),
        (lambda a: a[1] * 2, [[], 1.0, {}, ()], [None, 2.0, None, None]),
        (lambda a: a, 3.0, 1.0),
    ],
)  # fmt: skip
def test_a_container_gets_the_same_container(f, argument, expected):
    (result,) = gradient(f, argument)
    assert result == expected
    assert type(result) is type(expected)


def test_ordered_dict_keeps_its_type_and_order():
    (result,) = gradient(lambda d: d["b"] * d["a"], OrderedDict([("b", 2.0), ("a", 3.0)]))
    assert type(result) is OrderedDict
    assert list(result.items()) == [("b", 3.0), ("a", 2.0)]
    seen = []
    gradient(lambda d: seen.append(list(d)) or next(iter(d.values())), OrderedDict(z=1.0, a=2.0))
    assert seen == [["z", "a"]]


def test_ordered_dict_can_be_reordered_inside():
    def f(d):
        d.move_to_end("a")
        return next(reversed(d.values())) * d.popitem(last=False)[1]

    argument = OrderedDict(a=2.0, b=3.0)
    assert gradient(f, argument) == (OrderedDict(a=3.0, b=2.0),)
    assert list(argument.items()) == [("a", 2.0), ("b", 3.0)]


def test_defaultdict_keeps_its_factory_inside_and_in_the_result():
    def f(d):
        d["new"].append(d["old"][0])
        return sum(d["new"]) * d["old"][0]

    argument = defaultdict(list, old=[3.0])
    (result,) = gradient(f, argument)
    assert type(result) is defaultdict
    assert result == {"old": [6.0]}
    assert argument == {"old": [3.0]}


def test_counter_and_other_dicts_with_an_update_of_their_own():
    (result,) = gradient(lambda c: c["a"] * c["b"], Counter(a=2.0, b=3.0))
    assert type(result) is Counter
    assert dict(result) == {"a": 3.0, "b": 2.0}

    class Loud(dict):
        def __setitem__(self, key, value):
            raise AssertionError("zyg builds a dict without the user's methods")

        update = __init__ = __setitem__

    loud = Loud.__new__(Loud)
    dict.__setitem__(loud, "a", 2.0)
    (result,) = gradient(lambda d: d["a"] ** 2, loud)
    assert type(result) is Loud
    assert result["a"] == 4.0


def test_list_with_methods_of_its_own():
    class Stack(list):
        def __init__(self):
            super().__init__()
            self.scale = 3.0

        def append(self, value):
            raise AssertionError

        extend = append

    stack = Stack()
    list.append(stack, 2.0)
    (result,) = gradient(lambda s: s[0] * s.scale, stack)
    assert type(result) is Stack
    assert list(result) == [3.0]
    assert result.scale == 2.0


def test_tuple_subclass_with_a_constructor_of_its_own():
    class Pair(tuple):
        def __new__(cls, a, b):
            return super().__new__(cls, (a, b))

    (result,) = gradient(lambda p: p[0] * p[1], Pair(2.0, 3.0))
    assert type(result) is Pair
    assert result == (3.0, 2.0)


@pytest.mark.parametrize("kind", [list, tuple, deque])
def test_elements_are_those_of_the_container_whatever_it_makes_of_them_in_a_loop(kind):
    class Twice(kind):
        def __iter__(self):
            return iter([2.0 * x for x in super().__iter__()])

    y, (result,) = value_and_gradient(lambda t: sum(t) ** 2, Twice([1.0, 2.0]))
    assert y == 36.0
    assert type(result) is Twice
    assert [*kind.__iter__(result)] == [24.0, 24.0]


@pytest.mark.parametrize(
    ("f", "argument", "read"),
    [
        (lambda d: d["a"] ** 2, UserDict(a=3.0), lambda t: t.data["a"]),
        (lambda d: d[0] ** 2, UserList([3.0]), lambda t: t.data[0]),
        (lambda d: d["a"] ** 2, ChainMap({}, {"a": 3.0}), lambda t: t.maps[1]["a"]),
        (lambda d: d["a"] ** 2, types.MappingProxyType({"a": 3.0}), lambda t: t["a"]),
        (lambda d: d.a**2, types.SimpleNamespace(a=3.0), lambda t: t.a),
        (lambda d: d.a**2, Namespace(a=3.0), lambda t: t.a),
        (lambda d: d.mean**2, NormalDist(3.0, 1.0), lambda t: t._mu),
    ],
    ids=["UserDict", "UserList", "ChainMap", "MappingProxyType", "SimpleNamespace", "Namespace",
         "NormalDist"],
)  # fmt: skip
def test_the_standard_librarys_holders_of_numbers_are_taken_apart(f, argument, read):
    assert read(gradient(f, argument)[0]) == 6.0


def test_an_array_of_the_array_module_is_refused():
    with pytest.raises(StructureError, match=r"array\.array"):
        gradient(lambda a: a[0] * 2, array("d", [1.0]))


# Objects become Tangents


@pytest.mark.parametrize("kind", [Frozen, Slotted])
def test_dataclasses(kind):
    (result,) = gradient(lambda p: p.x * p.y.x * p.y.y[0], kind(2.0, kind(3.0, [4.0, "s"])))
    name = kind.__name__
    assert result == Tangent(name, x=12.0, y=Tangent(name, x=8.0, y=[6.0, None]))


def test_nested_dataclass_with_methods_and_mutation_inside():
    def f(n):
        n.items.append(n.inner.x)
        n.inner = Frozen(n.items[-1] * 2, n.items[0])
        return n.inner.x * n.inner.y

    argument = Nested(Frozen(3.0), [5.0])
    assert gradient(f, argument) == (
        Tangent("Nested", inner=Tangent("Frozen", x=10.0, y=None), items=[6.0]),
    )
    assert argument == Nested(Frozen(3.0), [5.0])


def test_the_object_inside_is_of_its_class():
    def f(p):
        assert type(p) is Frozen
        assert isinstance(p, Frozen)
        assert isinstance(p.x, float)
        return p.x

    gradient(f, Frozen(1.0))


def test_constructors_are_not_called_again():
    calls = []

    class Costly:
        def __init__(self, w):
            calls.append("init")
            self.w = w

        def __setattr__(self, name, value):
            calls.append("setattr")
            super().__setattr__(name, value)

    c = Costly(2.0)
    calls.clear()
    assert gradient(lambda c: c.w**2, c) == (Tangent("Costly", w=4.0),)
    assert calls == []


def test_slots_with_private_names_through_inheritance():
    argument = Heir(2.0, 3.0, 5.0)
    (result,) = gradient(lambda s: s.total, argument)
    assert sorted(vars(result).values()) == [2.0, 3.0, 10.0]
    assert argument.total == 31.0


def test_slots_and_a_dict_together():
    (result,) = gradient(lambda s: s.value * s.extra, HeirWithDict(2.0, 3.0, 5.0))
    assert result.open == 10.0
    assert result.extra == 6.0
    assert result._Secret__hidden == 15.0


def test_empty_slots_stay_empty():
    class Half:
        __slots__ = ("a", "b")

    h = Half()
    h.a = 2.0

    def f(h):
        assert not hasattr(h, "b")
        return h.a**2

    assert gradient(f, h) == (Tangent("Half", a=4.0),)


def test_properties_and_computed_attributes():
    class Circle:
        def __init__(self, r):
            self._r = r

        @property
        def r(self):
            return self._r

        @r.setter
        def r(self, value):
            raise AssertionError("a copy sets the attribute, not the property")

        @property
        def area(self):
            return 3.0 * self.r**2

    assert gradient(lambda c: c.area, Circle(2.0)) == (Tangent("Circle", _r=12.0),)


def test_cached_property_does_not_reach_the_argument():
    class Lazy:
        def __init__(self, r):
            self.r = r

        @functools.cached_property
        def square(self):
            return self.r**2

    argument = Lazy(3.0)
    assert gradient(lambda c: c.square + c.square, argument) == (Tangent("Lazy", r=12.0),)
    assert "square" not in vars(argument)


def test_objects_that_answer_every_attribute():
    class Anything:
        def __init__(self):
            self.w = 2.0

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return 42

    assert gradient(lambda a: a.w * a.other, Anything()) == (Tangent("Anything", w=42.0),)


def test_class_attributes_are_constants():
    class Model:
        scale = 3.0

    class Holder:
        def __init__(self):
            self.model, self.x = Model, 2.0

    assert gradient(lambda h: h.model.scale * h.x, Holder()) == (
        Tangent("Holder", model=None, x=3.0),
    )


def test_objects_with_equality_and_hash_of_their_own():
    class Odd:
        __hash__ = None

        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            raise AssertionError

    assert gradient(lambda a: a[0].x * a[1].x, [Odd(2.0), Odd(3.0)]) == (
        [Tangent("Odd", x=3.0), Tangent("Odd", x=2.0)],
    )


def test_callable_objects_as_the_function_and_as_arguments():
    class Affine:
        def __init__(self, w, b):
            self.w, self.b = w, b

        def __call__(self, x):
            return self.w * x + self.b

    model = Affine(2.0, 1.0)
    assert gradient(model, 3.0) == (2.0,)
    assert gradient(lambda m, x: m(x), model, 3.0) == (Tangent("Affine", w=3.0, b=1.0), 2.0)


# Functions as arguments


def make_line(w, b):
    def line(x, scale=2.0, *, shift=1.0):
        return (w * x + b) * scale + shift

    return line


def test_closures_have_their_free_variables_as_fields():
    tangent, x_bar = gradient(lambda f, x: f(x), make_line(2.0, 1.0), 3.0)
    assert tangent.w == 6.0
    assert tangent.b == 2.0
    assert x_bar == 4.0
    assert repr(tangent).startswith("Tangent(line, ")


def test_positional_defaults_are_part_of_a_function():
    (tangent, _) = gradient(lambda f, x: f(x), make_line(2.0, 1.0), 3.0)
    assert tangent.default_0 == 7.0


def test_keyword_defaults_are_part_of_a_function():
    (tangent, _) = gradient(lambda f, x: f(x), make_line(2.0, 1.0), 3.0)
    assert tangent.default_shift == 1.0


def test_lambda_defaults():
    (tangent,) = gradient(lambda f: f(), lambda w=3.0, k=2: w**k)
    assert vars(tangent)["default_0"] == 6.0


def test_attributes_of_functions_are_part_of_them():
    def f():
        return f_again.w**2

    f.w = 3.0
    f_again = f
    (tangent,) = gradient(lambda f: f(), f)
    assert tangent.attribute_w == 6.0
    assert f.w == 3.0


def test_bound_methods():
    class Affine:
        def __init__(self, w):
            self.w = w

        def at(self, x):
            return self.w * x

    tangent, x_bar = gradient(lambda f, x: f(x), Affine(2.0).at, 3.0)
    assert tangent.__self__ == Tangent("Affine", w=3.0)
    assert x_bar == 2.0


def test_partials():
    def f(a, b, c):
        return a * b * c

    tangent, x_bar = gradient(lambda p, x: p(x), functools.partial(f, 2.0, c=3.0), 5.0)
    assert tangent.args == (15.0,)
    assert tangent.keywords == {"c": 10.0}
    assert x_bar == 6.0


def test_partial_of_a_closure_of_a_method():
    class Model:
        def __init__(self):
            self.w = 2.0

        def at(self, x, y):
            return self.w * x * y

    tangent = gradient(lambda p: p(5.0), functools.partial(Model().at, 3.0))[0]
    assert tangent.func.__self__.w == 15.0


def test_recursive_closures():
    def make(w):
        def power(x, n):
            return x if n == 0 else w * power(x, n - 1)

        return power

    tangent, _, _ = gradient(lambda f, x, n: f(x, n), make(2.0), 5.0, 3)
    assert tangent.w == 3 * 4 * 5.0


def test_two_closures_over_one_list():
    def make():
        state = [2.0]
        return (lambda: state[0] ** 2), (lambda: 3 * state[0])

    (result,) = gradient(lambda fs: fs[0]() + fs[1](), make())
    assert result[0].state == [7.0]
    assert result[1].state == [7.0]


def test_two_closures_over_one_variable_see_each_others_writes():
    def make(w):
        def read():
            return w * w

        def write(x):
            nonlocal w
            w = w * x

        return read, write

    def f(pair, x):
        pair[1](x)
        return pair[0]()  # (w x)**2

    pair = make(2.0)
    tangents, x_bar = gradient(f, pair, 3.0)
    assert x_bar == 24.0
    assert pair[0]() == 4.0
    assert tangents[0].w == 36.0


def test_a_writing_closure_does_not_touch_its_argument():
    def make():
        count = 2.0

        def step(x):
            nonlocal count
            count = count * x
            return count

        return step

    step = make()
    tangent, _ = gradient(lambda s, x: s(x) + s(x), step, 3.0)
    assert tangent.count == 12.0
    assert step(1.0) == 2.0


def test_functions_without_numbers_pass_through_unchanged():
    def f(g, x):
        assert g is np.sin or g is plain
        return g(x)

    def plain(x):
        return 2 * x

    assert gradient(f, np.sin, 0.0) == (None, 1.0)
    assert gradient(f, plain, 0.0)[1] == 2.0


# What passes through


class Level(enum.IntEnum):
    LOW = 2


@pytest.mark.parametrize(
    "other",
    [True, None, "text", b"bytes", Color.RED, Level.LOW, math, Bag, float, int, print, len, ...,
     NotImplemented, slice(1, 2), range(3), threading.Lock(), io.StringIO(), sys.stdout, np.sin,
     np.sum, np.dtype(float), np.bool_(True), np.str_("s"), {1, 2}, frozenset({"a"}),
     np.datetime64("2020-01-01"), np.timedelta64(1, "D"), np.random.default_rng(0),
     (k for k in ()), iter([]), object(), memoryview(b""), bytearray(b"x"),
     np.array(["a"]), np.array([True]), np.array(["2020"], dtype="M8[Y]"), Exception(), property()],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)  # fmt: skip
def test_what_holds_no_number_passes_through_with_none(other):
    seen = []
    assert gradient(lambda o, x: seen.append(o) or x * 2, other, 1.0) == (None, 2.0)
    assert gradient(lambda c: c[1] * 2, [other, 1.0]) == ([None, 2.0],)
    assert gradient(lambda c: c.x * 2, Bag(x=1.0, o=other)) == (Tangent("Bag", x=2.0, o=None),)
    assert seen[0] is other


@pytest.mark.parametrize("numbers", [[1.0, 2.0], [1, 2], [1j, 2.0]])
def test_a_memoryview_of_numbers_is_refused(numbers):
    with pytest.raises(StructureError, match="cannot watch a memoryview") as caught:
        gradient(lambda x: x[0] * 2, {"x": memoryview(np.array(numbers))})
    assert "np.asarray(x)" in str(caught.value)


@pytest.mark.parametrize("kind", ["lil_array", "lil_matrix", "dok_array", "dia_matrix"])
def test_a_sparse_matrix_without_a_vector_of_elements_is_not_taken_apart(kind):
    matrix = getattr(pytest.importorskip("scipy.sparse"), kind)(np.eye(2))
    for argument in (matrix, [matrix], Bag(m=matrix)):
        with pytest.raises(StructureError, match=f"cannot watch a {kind}"):
            gradient(lambda m: 1.0, argument)


def test_objects_that_hold_no_number_keep_their_identity():
    nothing, sentinel = Bag(name="n"), object()
    seen = []

    def f(c):
        seen.extend((c["nothing"], c["sentinel"]))
        return c["x"] * 2

    gradient(f, {"nothing": nothing, "sentinel": sentinel, "x": 1.0})
    assert seen[0] is nothing
    assert seen[1] is sentinel


def test_empty_containers_of_an_argument_are_copied_before_f_fills_them():
    class Net:
        def __init__(self):
            self.w, self.cache, self.log, self.seen, self.deep = 2.0, {}, [], set(), ([[]],)

    def f(net, x):
        net.cache["h"] = net.w * x
        net.log.append(net.cache["h"])
        net.seen.add("h")
        net.deep[0][0].append(x)
        return net.log[0] * net.deep[0][0][0]

    net = Net()
    tangent, x_bar = gradient(f, net, 3.0)
    assert tangent == Tangent("Net", w=9.0, cache=None, log=None, seen=None, deep=None)
    assert x_bar == 12.0
    assert (net.cache, net.log, net.seen, net.deep) == ({}, [], set(), ([[]],))


def test_empty_variables_of_a_closure_are_copied_before_it_fills_them():
    def make():
        w, last, log = 2.0, None, []

        def step(x):
            nonlocal last
            last = w * x
            log.append(last)
            return last

        return step, lambda: (last, log)

    step, state = make()
    assert gradient(lambda s, x: s(x) * s(x), step, 3.0)[1] == 24.0
    assert state() == (None, [])


def test_objects_in_a_set_are_refused_if_they_hold_numbers():
    class Node:
        pass

    node = Node()
    assert gradient(lambda s, x: x * len(s), {node}, 1.0) == (None, 1.0)
    node.x = 2.0
    with pytest.raises(StructureError, match="numbers in a set"):
        gradient(lambda s: sum(n.x for n in s), {node})


def test_integer_attributes_still_count_and_index():
    class Net:
        def __init__(self):
            self.depth, self.w, self.place = 3, 2.0, 1

    def f(n, x):
        for _ in range(n.depth):
            x = x * n.w
        return [x, x * x][n.place]

    tangent, x_bar = gradient(f, Net(), 1.0)
    assert tangent.w == 6 * 2.0**5
    assert tangent.depth is None
    assert x_bar == 2 * 64.0


def test_int_is_a_real_variable():
    assert gradient(lambda a: a[0] * a[1], [5, 2.0]) == ([2.0, 5.0],)
    assert type(gradient(lambda x: x * x, 5)[0]) is float


# Object arrays and arrays of other kinds


def test_object_arrays():
    a = np.array([2.0, Fraction(1, 2), "s", None], dtype=object)
    (result,) = gradient(lambda a: a[0] * a[0] * 3.0 + float(2), a)
    assert result.dtype == object
    assert result.tolist() == [12.0, None, None, None]


def test_object_arrays_of_two_axes_with_arrays_inside():
    a = np.empty((2, 2), dtype=object)
    a[0, 0], a[0, 1], a[1, 0], a[1, 1] = np.ones(2), 2.0, [3.0], "s"
    (result,) = gradient(lambda a: np.sum(a[0, 0]) * a[0, 1] * a[1, 0][0], a)
    assert result.shape == (2, 2)
    np.testing.assert_array_equal(result[0, 0], [6.0, 6.0])
    assert result[0, 1] == 6.0
    assert result[1, 0] == [4.0]
    assert result[1, 1] is None


def test_object_arrays_that_hold_themselves():
    a = np.empty(2, dtype=object)
    a[0], a[1] = 3.0, a
    (result,) = gradient(lambda a: a[1][1][0] ** 2, a)
    assert result[0] == 6.0
    assert result[1] is result


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ones((1, 1)).view(np.matrix),
        lambda: np.ones(1).view(np.recarray),
    ],
    ids=["matrix", "recarray"],
)
def test_arrays_with_semantics_of_their_own_are_refused(make):
    array_like = make()
    with pytest.raises(StructureError, match=rf"cannot watch a {type(array_like).__name__}"):
        gradient(lambda a: a.sum(), array_like)
    with pytest.raises(StructureError, match=rf"cannot watch a {type(array_like).__name__}"):
        gradient(lambda a: a[0].sum(), [array_like])


def test_data_frames_and_the_like_are_refused():
    class Frame:
        def __init__(self):
            self.data = np.ones(3)

        def __array__(self, dtype=None, copy=None):
            return self.data

        def sum(self):
            return self.data.sum()

    with pytest.raises(StructureError, match="cannot watch a Frame"):
        gradient(lambda f: f.sum(), Frame())


def test_structured_arrays_are_refused_or_followed():
    a = np.array([(1.0, 2)], dtype=[("x", float), ("n", int)])
    with pytest.raises(StructureError):
        gradient(lambda a: a["x"][0] * 2, a)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_of_floats_are_refused(kind):
    with pytest.raises(StructureError, match="numbers in a set"):
        gradient(sum, kind([1.0, 2.0]))
    with pytest.raises(StructureError, match="numbers in a set"):
        gradient(lambda a: sum(a[0]), [kind([1.0, 2.0])])
    with pytest.raises(StructureError, match="numbers in a set"):
        gradient(sum, kind([np.float32(1), 2]))
    with pytest.raises(StructureError, match="numbers in a set"):
        gradient(sum, kind([Fraction(1, 2)]))


def test_sets_of_ints_are_indices():
    assert gradient(lambda s, x: sum(x[k] for k in s), {0, 2}, [1.0, 2.0, 3.0]) == (
        None,
        [1.0, None, 1.0],
    )


def test_dict_keys_are_constants():
    assert gradient(lambda d: sum(k * v for k, v in d.items()), {2.0: 3.0, 5.0: 7.0}) == (
        {2.0: 2.0, 5.0: 5.0},
    )
