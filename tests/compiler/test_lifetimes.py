"""Memory of rounds and branches goes where it is needed no more, and not before."""

import numpy as np
import pytest

from zyg.compiler.back.lifetimes import Lifetimes
from zyg.compiler.back.native_function import Native
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value, While

resource = pytest.importorskip("resource")
ROUNDS, SIZE = 20_000, 1000  # 160 MB of each buffer, if it stayed


def loop(builder, n, init, fill):
    """A loop over range(n) that carries buffers: `fill` takes index and buffers, gives those."""
    index, params, outs = Value("int"), *([Value(x.type) for x in init] for _ in range(2))
    body = Block()
    with builder.inside(body):
        body.yields = [*fill(index, *params)]
    builder.block.ops.append(For(index, (0, n, 1), [*init], params, body, outs))
    return outs


def filled(builder, x):
    buffer = builder.alloc("float", SIZE)
    builder.store(buffer, 0, x)
    builder.store(buffer, SIZE - 1, x)
    return buffer


def first(builder, buffer):
    return builder.load(buffer, 0)


def temporary(b, n):
    out = b.alloc("float", 1)

    def fill(k):
        x = b.op("add", first(b, out), 1.0)
        b.store(out, 0, first(b, filled(b, x)))
        return []

    loop(b, n, [], fill)
    return first(b, out)


def carried(b, n):
    def fill(k, row):
        between = filled(b, b.op("add", first(b, row), 0.5))
        return [filled(b, b.op("add", first(b, between), 0.5))]

    return first(b, *loop(b, n, [filled(b, 0.0)], fill))


def two_carried(b, n):
    def fill(k, p, q):
        new = filled(b, b.op("add", first(b, q), 1.0))
        return [filled(b, first(b, new)), new]

    p, q = loop(b, n, [filled(b, 0.0), filled(b, 0.0)], fill)
    return b.op("multiply", 0.5, b.op("add", first(b, p), first(b, q)))


def one_stays(b, n):
    def fill(k, p, q):
        b.store(p, 0, b.op("add", first(b, q), 1.0))
        return [p, filled(b, first(b, p))]

    return first(b, loop(b, n, [filled(b, 0.0), filled(b, 0.0)], fill)[0])


def in_a_branch(b, n):
    out = b.alloc("float", 1)

    def fill(k):
        then = Block()
        with b.inside(then):
            b.store(out, 0, first(b, filled(b, b.op("add", first(b, out), 1.0))))
        b.block.ops.append(If(b.op("greater_equal", k, 0), then, Block(), []))
        return []

    loop(b, n, [], fill)
    return first(b, out)


def in_a_while(b, n):
    index, row, made, last = Value("int"), Value("float[]"), Value("float[]"), Value("int")
    start, test, body = filled(b, 0.0), Block(), Block()
    with b.inside(test):
        test.yields = [b.op("less", index, n)]
    with b.inside(body):
        new = filled(b, b.op("add", first(b, row), 1.0))
        body.yields = [new, b.op("add", index, 1)]
    b.block.ops.append(While(test, [start, 0], [row, index], body, [made, last]))
    return first(b, made)


def in_a_callee(b, n):
    inner, x = Builder(), Value("float")
    inner.block.yields = [inner.op("add", first(inner, filled(inner, x)), 1.0)]
    callee, out = Program("callee", [x], inner.block), b.alloc("float", 1)

    def fill(k):
        y = Value("float")
        b.block.ops.append(Call(callee, (first(b, out),), [y]))
        b.store(out, 0, y)
        return []

    loop(b, n, [], fill)
    return first(b, out)


WAYS = [temporary, carried, two_carried, one_stays, in_a_branch, in_a_while, in_a_callee]


@pytest.mark.parametrize("way", WAYS)
def test_rounds_take_no_more_memory_than_one(way):
    builder, n = Builder(), Value("int")
    builder.block.yields = [way(builder, n)]
    native = Native(Program(way.__name__, [n], builder.block))
    assert [native(k) for k in (0, 1, 2, 7)] == [[0], [1], [2], [7]]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert native(ROUNDS) == [ROUNDS]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 40_000  # KB


def body_of(fill):
    """The block of a round that carries a buffer, and its parameter."""
    builder, p = Builder(), Value("float[]")
    builder.block.yields = [*fill(builder, p)]
    return builder.block, [p]


def stored(b, p):
    row = b.alloc("float[]", 1)
    b.store(row, 0, filled(b, 1.0))
    return [b.load(row, 0)]


def chosen(b, p):
    then, out = Block(), Value("float[]")
    with b.inside(then):
        then.yields = [filled(b, 1.0)]
    b.block.ops.append(If(b.op("less", first(b, p), 1.0), then, Block([], [p]), [out]))
    return [out]


def twice(b, p):
    new = filled(b, 1.0)
    return [new, new]


def called(b, p):
    out = Value("float[]")
    b.block.ops.append(Call(Program("same", [p], Block([], [p])), (p,), [out]))
    return [filled(b, first(b, out))]


@pytest.mark.parametrize("fill", [stored, chosen, twice, called])
def test_what_may_be_seen_elsewhere_stays(fill):
    body, params = body_of(fill)
    params *= len(body.yields)
    assert not Lifetimes().ends_here(body)
    assert Lifetimes().carried_on(body, params) == []


def test_a_swap_of_a_carried_buffer_with_a_new_one_keeps_both():
    def fill(k, p, q):
        return [q, filled(b, b.op("add", first(b, p), 1.0))]

    b, n = Builder(), Value("int")
    p, q = loop(b, n, [filled(b, 0.0), filled(b, 10.0)], fill)
    b.block.yields = [first(b, p), first(b, q)]
    native = Native(Program("swap", [n], b.block))
    for rounds in (0, 1, 2, 3, 10):
        x, y = 0.0, 10.0
        for _ in range(rounds):
            x, y = y, x + 1
        assert native(rounds) == [x, y]


def test_a_carried_row_keeps_all_its_elements_beyond_the_first_chunk():
    def fill(k, row):
        new = b.alloc("float", n)
        loop(b, n, [], lambda j: b.store(new, j, b.op("add", b.load(row, j), 1.0)) or [])
        return [new]

    b, n, row = Builder(), Value("int"), Value("float[]")
    (out,) = loop(b, 50, [row], fill)
    b.block.yields = [out]
    native = Native(Program("row", [n, row], b.block))
    for size in (1, 3, 16, 17, 100, 700, 5000, 300_000):
        x = np.arange(float(size))
        assert np.array_equal(native(size, x)[0], x + 50)
        assert np.array_equal(x, np.arange(float(size)))
