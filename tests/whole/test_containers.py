"""Python's own containers, changed inside f: also when they are arguments, and outside of it."""

import copy
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import zyg
import zyg.numpy as znp

X, Y = 1.3, 0.7


def slopes(f, *args, h=1e-6):
    """Central differences of f in each of two numbers."""
    return [(f(*_moved(args, k, h)) - f(*_moved(args, k, -h))) / (2 * h) for k in range(len(args))]


def _moved(args, k, h):
    return [v + h * (n == k) for n, v in enumerate(args)]


# Programs of two numbers: a list [x, y] is what they change.


def append(a):
    a.append(a[0] * a[1])
    a.append(2.0)
    return a[2] * a[0] + a[-1]


def pop_and_insert(a):
    first = a.pop(0)
    a.insert(0, first * a[0])
    a.insert(5, first**2)
    return a.pop() * a[0] + a[1]


def delete(a):
    a += [a[0] * a[1], 3.0]
    del a[0]
    del a[-1:]
    return a[0] * a[1]


def extend(a):
    a.extend(v * a[1] for v in a[:2])
    a.extend([1.0])
    return sum(v * v for v in a)


def sort(a):
    a.append(a[0] * a[1])
    a.sort()
    a.reverse()
    a.sort(key=lambda v: -v * v)
    return a[0] + 2 * a[1] * a[2]


def slice_assignment(a):
    a[1:1] = [a[0] ** 2, a[1] ** 2]
    a[::2] = [a[1] * a[0], 3.0]
    return sum(k * v for k, v in enumerate(a))


def repeat(a):
    a *= 3
    a[0] = a[3] * a[1]
    return sum(k * v * v for k, v in enumerate(a))


def remove_index_count(a):
    a.append(a[0])
    assert a.count(a[0]) == 2
    assert a.index(a[0]) == 0
    a.remove(a[0])
    return a[0] * a[1]


def swap(a):
    a[0], a[1] = a[1], a[0] * a[1]
    return a[0] ** 2 * a[1]


def as_a_stack(a):
    stack = list(a)
    while len(stack) > 1:
        stack.append(stack.pop() * stack.pop() + 1.0)
    return stack[0] ** 2


def cleared_and_refilled(a):
    x, y = a
    a.clear()
    a.append(x * y)
    b = a.copy()
    a[0] = 5.0
    return b[0] * a[0]


LIST_PROGRAMS = [
    append, pop_and_insert, delete, extend, sort, slice_assignment, repeat, remove_index_count,
    swap, as_a_stack, cleared_and_refilled,
]  # fmt: skip


@pytest.mark.parametrize("program", LIST_PROGRAMS)
def test_list_as_an_argument_is_changed_inside_only(program):
    a = [X, Y]
    value, (slope,) = zyg.value_and_gradient(program, a, zeros=True)

    assert a == [X, Y]
    assert value == program([X, Y])
    np.testing.assert_allclose(slope, slopes(lambda x, y: program([x, y]), X, Y), rtol=1e-7)
    assert isinstance(slope, list)


@pytest.mark.parametrize("program", LIST_PROGRAMS)
def test_list_made_inside(program):
    found = zyg.gradient(lambda x, y: program([x * 1.0, y * x]), X, Y, zeros=True)
    np.testing.assert_allclose(found, slopes(lambda x, y: program([x, y * x]), X, Y), rtol=1e-7)


@pytest.mark.parametrize("program", LIST_PROGRAMS)
def test_second_order_through_lists(program):
    def first(x):
        return zyg.gradient(lambda x, y: program([x, y * x]), x, Y)[0]

    (second,) = zyg.gradient(first, X, zeros=True)
    np.testing.assert_allclose(second, slopes(first, X)[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("program", LIST_PROGRAMS)
def test_pullback_of_a_list_program_is_reusable(program):
    a = [X, Y]
    _, back = zyg.pullback(program, a)
    first = back(1.0)
    a[:] = [50.0, 60.0]
    assert back(1.0) == first
    assert back(2.0, zeros=True)[0] == [2 * (v or 0.0) for v in first[0]]


# Dictionaries


def set_and_delete(d):
    d["z"] = d["x"] * d["y"]
    d["x"] = d["z"] ** 2
    del d["y"]
    return sum(d.values())


def pop(d):
    x = d.pop("x")
    assert d.pop("nothing", 4.0) == 4.0
    key, y = d.popitem()
    assert key == "y"
    return x * y


def update(d):
    d.update(x=d["x"] * d["y"], w=d["y"])
    d.update({"y": 2.0})
    return d["x"] * d["w"] * d["y"]


def setdefault(d):
    d.setdefault("x", 100.0)
    z = d.setdefault("z", d["x"] * d["y"])
    return z * d["z"]


def union(d):
    d |= {"x": d["x"] ** 2, "z": d["y"]}
    e = d | {"y": 3.0}
    return e["x"] * e["y"] * e["z"] * d["y"]


def loop(d):
    for key in list(d):
        d[key + "!"] = d[key] * 2
        d[key] = d[key] * d[key + "!"]
    return sum((k + 1) * v for k, v in enumerate(d.values()))


@pytest.mark.parametrize("program", [set_and_delete, pop, update, setdefault, union, loop])
@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda d: defaultdict(float, d)])
def test_dict_as_an_argument_is_changed_inside_only(program, kind):
    d = kind({"x": X, "y": Y})
    value, (slope,) = zyg.value_and_gradient(program, d)

    assert d == {"x": X, "y": Y}
    assert list(d) == ["x", "y"]
    assert value == program({"x": X, "y": Y})
    assert type(slope) is type(d)
    expected = slopes(lambda x, y: program({"x": x, "y": y}), X, Y)
    np.testing.assert_allclose([slope["x"], slope["y"]], expected, rtol=1e-7)


def test_defaultdict_counts():
    def f(x, y):
        d = defaultdict(float)
        for k in range(6):
            d[k % 2] += x * k
            d["y"] += y * d[0]
        return sum(d.values())

    np.testing.assert_allclose(zyg.gradient(f, X, Y), slopes(f, X, Y))


# Deques, objects, closures


def test_deque_as_an_argument():
    def f(q):
        q.append(q[0] * q[1])
        q.appendleft(q.pop() ** 2)
        q.rotate(1)
        q.extendleft([q[0] * 2])
        return q.popleft() * q[1] + q[2]

    q = deque([X, Y], maxlen=4)
    value, (slope,) = zyg.value_and_gradient(f, q)

    assert q == deque([X, Y], maxlen=4)
    assert value == f(deque([X, Y], maxlen=4))
    expected = slopes(lambda x, y: f(deque([x, y], maxlen=4)), X, Y)
    np.testing.assert_allclose(list(slope), expected, rtol=1e-7)


@dataclass
class Body:
    x: float
    v: float
    trail: list
    name: str = "body"


class Slotted:
    __slots__ = ("v", "x")

    def __init__(self, x, v):
        self.x, self.v = x, v


def fly(body):
    for _ in range(5):
        body.v -= 0.1 * np.sin(body.x)
        body.x += 0.1 * body.v
        if hasattr(body, "trail"):
            body.trail.append(body.x)
    return body.x * body.v


def test_attributes_of_an_argument_are_set_inside_only():
    body = Body(X, Y, [0.5])
    value, (slope,) = zyg.value_and_gradient(fly, body)

    assert body == Body(X, Y, [0.5])
    assert value == fly(Body(X, Y, []))
    expected = slopes(lambda x, v: fly(Slotted(x, v)), X, Y)
    np.testing.assert_allclose([slope.x, slope.v], expected, rtol=1e-7)
    assert slope.name is None


def test_slots_and_namespaces():
    for kind in (Slotted, lambda x, v: SimpleNamespace(x=x, v=v)):
        body = kind(X, Y)
        (slope,) = zyg.gradient(fly, body)
        assert (body.x, body.v) == (X, Y)
        expected = slopes(lambda x, v: fly(Slotted(x, v)), X, Y)
        np.testing.assert_allclose([slope.x, slope.v], expected, rtol=1e-7)


def test_attributes_of_an_object_made_inside():
    def f(x, v):
        body = Body(x, v, [])
        y = fly(body)
        setattr(body, "x", body.trail[1] * y)  # noqa: B010
        del body.v
        return body.x + vars(body)["trail"][0]

    np.testing.assert_allclose(zyg.gradient(f, X, Y), slopes(f, X, Y), rtol=1e-7)


def test_array_attributes_are_written_inside_only():
    def f(model):
        model.w[0] = model.w[1] * model.b
        model.w *= 2
        model.b = model.w[2]
        return np.sum(model.w**2) * model.b

    model = SimpleNamespace(w=np.array([1.0, 2.0, 3.0]), b=0.5)
    (slope,) = zyg.gradient(f, model)

    np.testing.assert_array_equal(model.w, [1.0, 2.0, 3.0])
    assert model.b == 0.5
    # w2 (4 (w1 b)^2 + 4 w1^2 + 4 w2^2) 2
    w1, w2, b = 2.0, 3.0, 0.5
    inner = 4 * (w1 * b) ** 2 + 4 * w1**2 + 4 * w2**2
    right = [0.0, 2 * w2 * (8 * w1 * b**2 + 8 * w1), 2 * inner + 2 * w2 * 8 * w2]
    np.testing.assert_allclose(slope.w, right)
    np.testing.assert_allclose(slope.b, 2 * w2 * 8 * w1**2 * b)


def test_nested_containers_of_an_argument_are_never_modified():
    def f(tree):
        tree["a"][0]["b"].append(tree["a"][1] * 2)
        tree["a"].insert(0, tree["a"][0]["b"].pop() ** 2)
        tree["n"] = tree.pop("a")
        tree["w"][1:] *= tree["n"][0]
        return np.sum(tree["w"]) * tree["n"][0]

    w = np.array([1.0, 2.0])
    tree = {"a": [{"b": [X]}, Y], "w": w}
    found = copy.deepcopy(tree)
    a = tree["a"]
    (slope,) = zyg.gradient(f, tree)

    assert tree["a"] is a
    assert tree["a"] == found["a"]
    assert tree["w"] is w
    np.testing.assert_array_equal(w, [1.0, 2.0])
    # y = (2 Y)^2: (1 + 2 y) y
    assert slope["a"][1] == pytest.approx((1 + 4 * (2 * Y) ** 2) * 8 * Y)
    np.testing.assert_allclose(slope["w"], [4 * Y**2, 16 * Y**4])


def test_same_list_twice_in_an_argument_is_one_list():
    def f(pair):
        a, b = pair
        a.append(a[0] * a[1])
        return b[2] * b[0]

    a = [X, Y]
    (slope,) = zyg.gradient(f, [a, a])
    assert a == [X, Y]
    np.testing.assert_allclose(slope[0], [2 * X * Y, X**2])
    np.testing.assert_allclose(slope[1], [2 * X * Y, X**2])


def test_closure_changed_by_nonlocal():
    def f(x, y):
        total = 0.0

        def add(v):
            nonlocal total
            total += v * x
            return total

        return add(y) * add(y * y) + total

    np.testing.assert_allclose(zyg.gradient(f, X, Y), slopes(f, X, Y), rtol=1e-7)


def test_generator_that_keeps_state():
    def running(x):
        total = x
        while True:
            total = total + (yield total) * x

    def f(x, y):
        g = running(x)
        next(g)
        return g.send(y) * g.send(x * y)

    np.testing.assert_allclose(zyg.gradient(f, X, Y), slopes(f, X, Y), rtol=1e-7)


# Copies


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copy_of_a_watched_array_is_memory_of_its_own(copied):
    def f(x):
        y = x * 1
        z = copied(y)
        y *= 2
        z[0] = x[1] ** 2
        return np.sum(y * z)

    x = np.array([1.0, 2.0, 3.0])
    value, (slope,) = zyg.value_and_gradient(f, x)
    assert value == f(x.copy())
    # 2 x0 x1^2 + 2 x1^2 + 2 x2^2
    np.testing.assert_allclose(slope, [8.0, 8.0 + 8.0, 12.0])


def test_copy_of_a_watched_number_is_the_number():
    assert zyg.gradient(lambda x: copy.copy(x) * copy.deepcopy(x), 3.0) == (6.0,)


def test_deepcopy_of_a_structure():
    def f(tree):
        other = copy.deepcopy(tree)
        other["w"][0] = tree["b"] * 2
        other["l"].append(other["w"][1])
        tree["w"] *= 3
        assert len(tree["l"]) == 0
        return np.sum(other["w"] * tree["w"]) + other["l"][0]

    tree = {"w": np.array([1.0, 2.0]), "b": 0.5, "l": []}
    (slope,) = zyg.gradient(f, tree)
    # 3 w0 2b + 3 w1^2 + w1
    np.testing.assert_allclose(slope["w"], [3.0, 13.0])
    assert slope["b"] == 6.0
    np.testing.assert_array_equal(tree["w"], [1.0, 2.0])
    assert tree["l"] == []


def test_deepcopy_keeps_one_array_one_array():
    def f(x):
        y = x * 1
        a, b = copy.deepcopy([y, y])
        a[0] = x[1]
        return np.sum(b * x)

    (slope,) = zyg.gradient(f, np.array([1.0, 2.0]))
    np.testing.assert_allclose(slope, [2.0, 1.0 + 4.0])


def test_shallow_copy_shares_its_parts():
    def f(x):
        a = [x * 1, 2.0]
        b = copy.copy(a)
        b[0][0] = x[1] * b[1]
        b[1] = 7.0
        return np.sum(a[0]) * a[1]

    (slope,) = zyg.gradient(f, np.array([1.0, 2.0]))
    np.testing.assert_allclose(slope, [0.0, 2 * 3.0])


# Containers that outlive the gradient


def test_outer_containers_receive_values_that_are_plain_afterwards():
    log, table, last = [], {}, SimpleNamespace()

    def f(x, y):
        for _ in range(3):
            x = x * y
            log.append(x)
        table["x"], table["pair"] = x, (x, [y])
        last.array = np.stack([x, y])
        last.array[0] = 2.0
        return x * y

    assert zyg.gradient(f, X, Y) == pytest.approx((Y**4, 4 * X * Y**3))
    expected = [X * Y, X * Y * Y, X * Y * Y * Y]
    assert log == expected
    assert [float(v) for v in log] == expected
    assert not any(map(zyg.is_traced, log))
    assert log[0] + 1 == X * Y + 1
    assert type(log[0] + 1) is float
    np.testing.assert_array_equal(np.asarray(log), expected)
    np.testing.assert_array_equal(np.sin(log[1]), np.sin(expected[1]))
    assert table["x"] * 2 == expected[2] * 2
    assert table["pair"][1][0] == Y
    assert f"{log[0]:.3f}" == f"{X * Y:.3f}"
    assert {log[0]: "a key"}[X * Y] == "a key"
    assert isinstance(log[0], float)
    np.testing.assert_array_equal(last.array + 0, [2.0, Y])
    last.array += 1
    np.testing.assert_array_equal(np.asarray(last.array), [3.0, Y + 1])
    assert isinstance(last.array, np.ndarray)


def test_what_outlived_a_gradient_is_a_constant_in_the_next():
    log = []

    def f(x):
        log.append(x * x)
        return sum(v * x for v in log)

    assert zyg.gradient(f, 2.0) == (12.0,)
    assert zyg.gradient(f, 3.0) == (4.0 + 27.0,)  # 4 x + x^3


def test_array_that_outlived_a_gradient_is_written_in_the_next():
    store = {}

    def f(x):
        store["y"] = y = x * 1
        y[0] = 5.0
        return np.sum(y * y)

    def g(x):
        y = store["y"]
        y[1] = x[0] * x[1]
        return np.sum(y * x)

    x = np.array([1.0, 2.0, 3.0])
    _, back = zyg.pullback(f, x)
    right = back(1.0)[0]
    (slope,) = zyg.gradient(g, x)
    # 5 x0 + x0 x1^2 + 3 x2
    np.testing.assert_allclose(slope, [5.0 + 4.0, 2 * 2.0, 3.0])
    np.testing.assert_array_equal(back(1.0)[0], right)
    np.testing.assert_array_equal(np.asarray(store["y"]), [5.0, 2.0, 3.0])


def test_accumulator_outside_keeps_what_it_was_given():
    kept = {}

    def f(x, k):
        buffer = kept.setdefault("buffer", znp.zeros(3))
        buffer[k] = x * x
        return np.sum(buffer * x)

    assert zyg.gradient(f, 2.0, 0)[0] == 12.0
    assert zyg.gradient(f, 3.0, 1)[0] == 4.0 + 27.0
    np.testing.assert_array_equal(np.asarray(kept["buffer"]), [4.0, 9.0, 0.0])


def test_inner_gradients_fill_a_list_of_the_outer_one():
    def f(x):
        log = []

        def inner(t):
            log.append(t * x)
            return t * t * x

        slope = zyg.gradient(inner, x)[0]
        return slope + log[0]  # 2 x^2, and x^2 once the inner gradient has ended

    assert zyg.gradient(f, 3.0) == (4 * 3.0 + 2 * 3.0,)


def test_exception_leaves_the_containers_of_the_caller_alone():
    a, d = [X, Y], {"x": X}

    def f(a, d):
        a.append(a.pop(0))
        d["y"] = d.pop("x")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        zyg.gradient(f, a, d)
    assert a == [X, Y]
    assert d == {"x": X}
