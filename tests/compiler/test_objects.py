"""Machine code that reads Python's objects and makes them."""

import dataclasses
import gc
import math
import sys
import threading
import tracemalloc
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import zyg
from zyg.base.bags import Tangent
from zyg.compiler.back import arena
from zyg.compiler.back.native_function import Direct
from zyg.compiler.back.object_layout import Unreadable, readable
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value
from zyg.compiler.kinds import Array, Scalar, Static, Struct, kind_of

from .kit import operands_of

pytestmark = pytest.mark.skipif(not readable(), reason="objects lie in memory in another way")
Pair = namedtuple("Pair", "a b")
MARK = object()
OBJECTS = [
    0.5, 3, -(2**63), True, False, 0.5 - 2j, np.float64(0.5), np.float32(0.25), np.int64(7),
    np.bool_(True), np.complex128(1 + 2j), "text", None, (1.5, 2), [1.5, (True, [None])], (), [],
    np.arange(4.0), np.ones((2, 3), np.float32), np.arange(6).reshape(2, 1, 3), np.zeros((0, 3)),
    np.array([True, False]), np.array([1 + 1j, 2.0]), np.array(1.5), np.ones((2, 2, 2, 2, 2)),
    {"a": 1}["a"], (np.arange(3), (np.float32(2), "x")),
]  # fmt: skip


def type_of_operand(x):
    if isinstance(x, np.ndarray):
        return {"f8": "float", "f4": "float32", "i8": "int", "b1": "bool"}[x.dtype.str[1:]] + "[]"
    return "float" if isinstance(x, float) else type(x).__name__


def same(x, y):
    if isinstance(x, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, np.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x, y)
    return type(x) is type(y) and x == y


def identity(x, gives=lambda kind: kind):
    kind = kind_of(x)
    inputs = [Value(type_of_operand(y)) for y in operands_of(kind, x)]
    return Direct(Program("same", inputs, Block([], [*inputs])), [kind], gives(kind))


@pytest.mark.parametrize("x", OBJECTS, ids=repr)
def test_objects_go_in_and_out(x):
    made = identity(x).call(x)

    assert same(x, made)
    assert not isinstance(x, np.ndarray) or not np.shares_memory(x, made)


@pytest.mark.parametrize("x", OBJECTS, ids=repr)
def test_objects_of_other_kinds_are_not_taken(x):
    call = identity(x).call
    others = [*OBJECTS, np.arange(8.0)[::2], np.arange(4.0).astype(">f8"), Pair(1.5, 2)]
    for y in others:
        try:
            expected = kind_of(x) == kind_of(y) and (not isinstance(x, str) or x is y)
        except TypeError:
            expected = False
        if isinstance(y, np.ndarray) and not y.flags.c_contiguous:
            expected = False
        assert (call(y) is not NotImplemented) == expected, (x, y)
    assert call() is call(x, x) is NotImplemented
    assert type(x) is not int or call(2**70) is NotImplemented


def test_what_only_python_takes_apart():
    x = Value("float")
    program = Program("f", [x], Block([], [x]))
    with pytest.raises(Unreadable):
        Direct(program, [Scalar("float")], Struct(Pair, (), (Scalar("float"),)))
    for cls in (Slotted, Hiding, Overriding):
        with pytest.raises(Unreadable):
            Direct(program, [Struct(cls, ("a",), (Scalar("float"),))], Scalar("float"))


class Slotted:
    __slots__ = ("a",)


class Hiding:
    __dict__ = property(lambda self: {"a": 1.0})


class Overriding:
    def __getattribute__(self, name):
        return 1.0


class Fields:
    def __init__(self, **fields):
        vars(self).update(fields)


class Others(Fields):
    pass


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float
    b: dict


def test_entries_of_dicts_and_fields_of_objects():
    key, word = 10**6, "".join(["wo", "rd"])  # equal, and not the same objects
    x = {"a": Fields(b=1.5, c=2), key: Frozen(0.5, {}), "word": [{}, Fields()]}
    call = identity(x, gives=lambda kind: Scalar("float")).call

    def like(**changes):
        made = {"a": Fields(b=2.5, c=2), int("1000000"): Frozen(1.5, {}), word: [{}, Fields()]}
        return made | changes

    assert call(x) == 1.5
    assert call(like()) == 2.5
    assert call(like(a=Fields(b=3.5, c=4))) == 3.5
    for other in ({}, {"word": [], **like()}, OrderedDict(like()), like(more=1), [*like()],
                  like(a=Fields(c=2, b=1.5)), like(a=Fields(b=1.5)), like(a=1.5),
                  like(a=Fields(b=1.5, d=2)), like(a=Fields(b=1.5, c=2, d=1)), like(word=[{}]),
                  like(a=Others(b=1.5, c=2)), {True: 1, **like()}):  # fmt: skip
        assert call(other) is NotImplemented, other


def test_dicts_and_tangents_are_made():
    kind = Struct(dict, ("a", 7), (Scalar("float"), Struct(Tangent, ("M", "of", "w"), (
        Scalar("float"), Static(None)))))  # fmt: skip
    x, y = Value("float"), Value("float")
    call = Direct(Program("f", [x, y], Block([], [x, y])), [Scalar("float")] * 2, kind).call
    assert call(1.5, 2.5) == {"a": 1.5, 7: Tangent("M", of=2.5, w=None)}


@pytest.mark.slow
def test_what_a_dict_holds_stays_during_a_call():
    @zyg.compile
    def f(row):
        total = 0.0
        for k in range(len(row["x"])):
            total += math.sin(row["x"][k])
        return total

    x, stop, expected = {"x": np.ones(1_000_000)}, threading.Event(), f({"x": np.ones(1_000_000)})

    def replaced():
        while not stop.is_set():
            x["x"] = np.ones(1_000_000)
            held.append(np.zeros(1_000_000))  # where the other was
            held.clear()

    held = []
    thread = threading.Thread(target=replaced)
    thread.start()
    try:
        found = [f(x) for _ in range(20)]
    finally:
        stop.set()
        thread.join()
    assert found == [expected] * 20
    references = sys.getrefcount(x["x"])
    assert references == 2


def swapping(stops_above):
    """The program that swaps ends of two arrays, then stops if a number is large."""
    a, n, b, m, x = map(Value, ("float[]", "int", "float[]", "int", "float"))
    builder = Builder()
    ends = [builder.load(p, builder.op("subtract", k, 1)) for p, k in ((a, n), (b, m))]
    builder.store(a, 0, ends[1])
    builder.store(b, 0, ends[0])
    if stops_above:
        builder.check(builder.op("less", x, stops_above), "large")
    program = Program("swap", [a, n, b, m, x], builder.block)
    kinds = [Array("float", 1), Array("float", 1), Scalar("float")]
    return Direct(program, kinds, Static(None), writes=[0, 2]).call


def test_arguments_that_are_written_to():
    a, b = np.arange(3.0), np.arange(10.0, 15.0)
    assert swapping(None)(a, b, 0.0) is None
    assert a.tolist() == [14, 1, 2]
    assert b.tolist() == [2, 11, 12, 13, 14]


def test_where_a_program_stops_nothing_is_written():
    a, b = np.arange(3.0), np.arange(10.0, 15.0)
    call = swapping(1.0)
    assert call(a, b, 2.0) is Ellipsis
    assert a.tolist() == [0, 1, 2]
    assert b.tolist() == [10, 11, 12, 13, 14]
    assert call(a, b, 0.5) is None
    assert a[0] == 14


def test_arrays_that_are_written_to_and_overlap_or_are_read_only_are_not_taken():
    a, call = np.arange(10.0), swapping(None)
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    for x, y in ((a, a), (a[:5], a[4:]), (a[4:], a[:5]), (a[2:4], a), (a, fixed), (fixed, a)):
        assert call(x, y, 0.0) is NotImplemented
    assert a.tolist() == [*range(10)]
    assert call(a[:5], a[5:], 0.0) is None


def test_a_call_that_goes_too_deep_stops():
    n, called, out = Value("int"), Value("int"), Value("int")
    program, builder, orelse = Program("deep", [n], Block()), Builder(), Block([], [called])
    with builder.inside(orelse):
        orelse.ops.append(Call(program, (builder.op("subtract", n, 1),), [called]))
    zero = builder.op("equal", n, 0)
    program.body = Block([*builder.block.ops, If(zero, Block([], [7]), orelse, [out])], [out])
    call = Direct(program, [Scalar("int")], Scalar("int")).call

    assert call(50) == 7
    assert call(-1) is Ellipsis
    assert call(sys.getrecursionlimit() + 1) is Ellipsis

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        assert call(arena.DEEPEST - 10) == 7
        assert call(10**5) is Ellipsis
    finally:
        sys.setrecursionlimit(before)


def test_nothing_leaks_by_calls():
    x = [(1.5, np.arange(1000.0)), "text", None, True, np.float64(1)]
    call = identity(x).call
    stops = swapping(1.0)
    a, b = np.arange(3000.0), np.arange(3000.0)

    def work():
        for _ in range(2000):
            call(x)
            call(1.0)
            stops(a, b, 2.0)

    work()
    gc.collect()  # what was read before, which holds itself
    references = [sys.getrefcount(y) for y in (x[1], Ellipsis, NotImplemented, np.dtype(float))]
    tracemalloc.start()
    work()
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 10_000
    tracemalloc.stop()
    after = [sys.getrefcount(y) for y in (x[1], Ellipsis, NotImplemented, np.dtype(float))]
    assert np.allclose(references, after, atol=20)


def test_the_function_keeps_its_code():
    calls = [identity(x).call for x in (1.5, np.arange(3))]
    gc.collect()
    assert calls[0](2.5) == 2.5
    assert calls[1](np.arange(2)).tolist() == [0, 1]


def test_a_loop_over_an_array():
    p, n, i, q = Value("float[]"), Value("int"), Value("int"), None
    builder, body = Builder(), Block()
    q = builder.alloc("float", n)
    with builder.inside(body):
        builder.store(q, i, builder.op("sin", builder.load(p, i)))
    builder.block.ops.append(For(i, (0, n, 1), [], [], body, []))
    builder.block.yields = [q, n]
    call = Direct(
        Program("sin", [p, n], builder.block), [Array("float", 1)], Array("float", 1)
    ).call
    x = np.linspace(-3, 3, 100_000)
    np.testing.assert_allclose(call(x), np.sin(x), rtol=1e-15, atol=1e-15)
