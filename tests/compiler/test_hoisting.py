"""Checks that are made before a loop, or after it, stop a program where they would have inside."""

import itertools

import numpy as np
import pytest

from zyg.compiler.back.hoisting import hoistable, postponed
from zyg.compiler.back.native_function import Native, Stopped
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Check, For, Program, Value

from . import interpreted as oracle

CONDITIONS = {
    "below": (True, lambda b, i, n, p: b.op("less", i, n)),
    "from 0": (True, lambda b, i, n, p: b.op("greater_equal", b.op("subtract", i, 1), 0)),
    "both": (True, lambda b, i, n, p: b.op(
        "logical_and", b.op("less_equal", b.op("add", i, 1), n), b.op("greater", i, -2))),
    "backwards": (True, lambda b, i, n, p: b.op(
        "less", b.op("subtract", b.op("multiply", n, 2), i), 9)),
    "fixed": (True, lambda b, i, n, p: b.op("not_equal", b.op("multiply", n, 3), 9)),
    "not equal": (False, lambda b, i, n, p: b.op("not_equal", i, n)),
    "either": (False, lambda b, i, n, p: b.op(
        "logical_or", b.op("less", i, 1), b.op("greater", i, n))),
    "square": (False, lambda b, i, n, p: b.op("less", b.op("multiply", i, i), n)),
    "carried": (False, lambda b, i, n, p: b.op("less", p, n)),
    "float": (False, lambda b, i, n, p: b.op("less", b.op("float", i), 2.5)),
}  # fmt: skip


def checked(condition, step):
    """A loop over a range with a check, which sums its index up."""
    first, end, n, index, p, out = (Value("int") for _ in range(6))
    builder, body = Builder(), Block()
    with builder.inside(body):
        builder.check(condition(builder, index, n, p), "why")
        body.yields = [builder.op("add", p, index)]
    loop = For(index, (first, end, step), [0], [p], body, [out])
    builder.block.ops.append(loop)
    builder.block.yields = [out]
    return Program("checked", [first, end, n], builder.block), loop


@pytest.mark.parametrize("step", [1, -1, 2])
@pytest.mark.parametrize("name", CONDITIONS)
def test_a_check_stops_the_same_calls_inside_and_before(name, step):
    early, condition = CONDITIONS[name]
    program, loop = checked(condition, step)
    native = Native(program)
    assert bool(hoistable(loop)) == (early and step != 2)
    assert bool(postponed(loop, hoistable(loop)).hold) == (name == "float")

    def run(f, *args):
        try:
            return f(*args)
        except (Stopped, oracle.Stopped):
            return "stopped"

    for args in itertools.product(range(-3, 5), range(-3, 5), range(-1, 5)):
        wanted = run(lambda *args: oracle.interpreted(program, *args), *args)
        assert run(native, *args) == wanted, args


def test_checks_in_branches_and_of_what_rounds_load_stay():
    index, row = Value("int"), Value("int[]")
    builder, body = Builder(), Block()
    with builder.inside(body):
        x = builder.load(row, index)
        builder.check(builder.op("less", x, 3), "why")
        then = Block([Check(builder.op("less", index, 3), "why")])
        builder.branch(builder.op("greater", x, 0), then, Block())
    assert hoistable(For(index, (0, 5, 1), [], [], body, [])) == {}


def test_bounds_are_checked_once_in_nested_loops():
    a, (m, n, i, j) = Value("float[]"), map(Value, ["int"] * 4)
    s, t, u, v = map(Value, ["float"] * 4)
    builder, outer, inner = Builder(), Block(), Block()
    with builder.inside(outer):
        with builder.inside(inner):
            for x, size in ((i, m), (j, n)):
                builder.check(builder.op("less", x, size), "index")
            at = builder.op("add", builder.op("multiply", i, n), j)
            inner.yields = [builder.op("add", t, builder.load(a, at))]
        loop = For(j, (0, n, 1), [s], [t], inner, [u])
        outer.ops.append(loop)
        outer.yields = [u]
    builder.block.ops.append(For(i, (0, m, 1), [0.0], [s], outer, [v]))
    builder.block.yields = [v]
    x = np.arange(12.0)

    assert len(hoistable(loop)) == 2
    assert Native(Program("sum", [a, m, n], builder.block))(x, 3, 4) == [x.sum()]


def test_numbers_that_each_use_another_twice_are_looked_at_once():
    def condition(b, i, n, p):
        for _ in range(200):
            n = b.op("add", n, n)
        return b.op("less", i, n)

    _, loop = checked(condition, 1)

    ((check, ops),) = hoistable(loop).items()
    assert ops == [op for op in loop.body.ops if op is not check][:201]
