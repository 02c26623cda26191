"""Machine code of programs with memory: each operation and construct, as the interpreter has it."""

import math
import operator
import sys
import threading

import numpy as np
import pytest

from zyg.compiler.back.native_function import Native, Stopped
from zyg.compiler.back.vector_elementary import VECTORISED
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, For, If, Program, Value, prune
from zyg.functions import operations

from . import interpreted as oracle
from .random_memory import random_program

REALS = [
    0.0, -0.0, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5, 17.0, 1e-9, 1e300, math.inf, -math.inf, math.nan,
]  # fmt: skip
SEEDS = 60
COMPARE = sorted(operations.names(operations.COMPARISON))
OVERFLOWS = sorted(operations.names(operations.OVERFLOW))
EXACT = {  # to the last bit
    "add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "remainder",
    "floor_divide", "fmod", "square", "floor", "ceil", "rint", "trunc", "sqrt", "copysign",
    "heaviside", "reciprocal", "nextafter", "isnan", "isinf", "isfinite", "signbit", "constant",
    "float", "float32", *COMPARE,
}  # fmt: skip
UNARY = [
    "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil",
    "constant", "cos", "cosh", "deg2rad", "erf", "erfc", "exp", "exp2", "expm1", "floor", "gamma",
    "isfinite", "isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2", "negative",
    "rad2deg", "reciprocal", "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan",
    "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "arctan2", "copysign", "divide", "equal", "float_power", "floor_divide", "fmax",
    "fmin", "fmod", "greater", "greater_equal", "heaviside", "hypot", "less", "less_equal",
    "logaddexp", "logaddexp2", "maximum", "minimum", "multiply", "nextafter", "not_equal",
    "power", "remainder", "subtract",
]  # fmt: skip


def same_bits(x, y):
    return x == y and math.copysign(1, x) == math.copysign(1, y) if x == x else y != y


def assert_same(name, got, right, at):
    rtol = 0 if name in EXACT else 1e-6 if isinstance(right, np.float32) else 1e-14
    if rtol == 0 or not math.isfinite(right):
        assert same_bits(got, right), f"{name}{at}: {got} {right}"
    else:
        assert math.isclose(got, right, rel_tol=rtol, abs_tol=1e-300), f"{name}{at}: {got} {right}"


def program_of(names, *kinds):
    """All of the operations, of the same operands."""
    inputs = [*map(Value, kinds)]
    builder = Builder()
    with builder.inside(Block()) as block:
        for name in names:
            builder.op(name, *inputs)
    block.yields = [op.out for op in block.ops if op.name in names]  # without conversions
    return Program("all", inputs, block)


def right(program, name, at):
    """What the interpreter has; None where the math module raises."""
    out = next(op.out for op in program.body.ops if op.name == name)
    one = Program(name, program.inputs, Block([*program.body.ops], [out]))
    prune(one.body)
    try:
        return oracle.interpreted(one, *at)[0]
    except (ValueError, OverflowError):
        return None


def compare(names, kinds, points):
    program = program_of(names, *kinds)
    native = Native(program)
    made = [op.name for op in program.body.ops if op.name in names]
    for at in points:
        for name, y in zip(made, native(*at), strict=True):
            if (wanted := right(program, name, at)) is not None:
                assert_same(name, y, wanted, at)


def test_every_operation_of_one_float():
    compare(UNARY, ["float"], [(x,) for x in REALS])


def test_every_operation_of_two_floats():
    compare(BINARY, ["float", "float"], [(x, y) for x in REALS for y in REALS])


@pytest.mark.parametrize("names", [UNARY, BINARY])
def test_every_operation_of_float32(names):
    kinds = ["float32"] * (1 if names is UNARY else 2)
    points = [np.float32(x) for x in (0.0, 0.25, -1.5, 3.0, np.inf, np.nan)]
    compare(names, kinds, [(x,) if len(kinds) == 1 else (x, y) for x in points for y in points])


def test_every_operation_of_ints():
    names = [*WHOLE_BINARY, *OVERFLOWS, *COMPARE]
    names.remove("int_power_overflows")
    points = [(x, y) for x in WHOLES for y in WHOLES]
    program = program_of(names, "int", "int")
    native = Native(program)
    made = [op.name for op in program.body.ops]
    for at in points:
        for name, y in zip(made, native(*at), strict=True):
            assert y == whole(name, *at), f"{name}{at}: {y}"


def test_powers_of_ints_by_ints():
    native = Native(program_of(["int_power", "int_power_overflows"], "int", "int"))
    for x in (*range(-12, 13), 46341, 2**31, -(2**32), 2**62, -(2**63)):
        for n in (*range(70), 1000):
            y, over = native(x, n)
            assert over == (not -(2**63) <= x**n < 2**63), (x, n)
            assert y == (x**n + 2**63) % 2**64 - 2**63, (x, n)


def whole(name, x, y):
    """In ints of any size, wrapped around; by zero there is 0."""
    if name in OVERFLOWS:
        return not -(2**63) <= PYTHON[name.removesuffix("_overflows")](x, y) < 2**63
    if name in ("remainder", "floor_divide", "fmod") and y == 0:
        return 0
    if name == "fmod":
        made = abs(x) % abs(y) * (-1 if x < 0 else 1)
    else:
        made = (
            getattr(np, name)(*np.array([x, y], object)) if name in COMPARE else PYTHON[name](x, y)
        )
    return made if name in COMPARE else (made + 2**63) % 2**64 - 2**63


WHOLES = [0, 1, -1, 2, -2, 7, -7, 2**31, -(2**63), 2**63 - 1]
PYTHON = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max,
    "minimum": min, "floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": None,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
}  # fmt: skip
WHOLE_BINARY = sorted(PYTHON)


def test_operations_of_one_int_and_of_bools():
    x, y, p, q = map(Value, ("int", "int", "bool", "bool"))
    builder = Builder()
    with builder.inside(Block()) as block:
        block.yields = [
            builder.op("negative", x), builder.op("absolute", x), builder.op("square", x),
            builder.op("sign", x), builder.op("invert", x), builder.op("power", x, 3),
            builder.to("float", x), builder.op("ldexp", 0.75, y), builder.to("bool", x),
            builder.op("logical_and", p, q), builder.op("logical_or", p, q),
            builder.op("logical_xor", p, q), builder.op("logical_not", p), builder.to("int", p),
            builder.op("select", p, x, y), builder.op("int", builder.op("float", x)),
            builder.op("power", builder.to("float", x), y),
        ]  # fmt: skip
    native = Native(Program("some", [x, y, p, q], block))

    for a, b, c, d in ((-3, 4, True, False), (2, -1, False, False), (0, 3, True, True)):
        assert native(a, b, c, d) == [
            -a, abs(a), a * a, (a > 0) - (a < 0), ~a, a**3, float(a), math.ldexp(0.75, b), a != 0,
            c and d, c or d, c != d, not c, int(c), a if c else b, a, float(a) ** b,
        ]  # fmt: skip


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs_with_memory(seed):
    program = random_program(seed)

    def run(f):
        a, b = np.array([0.1, -0.2, 0.3, 0.4, -0.5]), np.array([1, 5, 2, 0, 3])
        try:
            return [*f(0.7, 3, a, b), a, b]
        except (Stopped, oracle.Stopped):
            return []

    right = run(lambda *args: oracle.interpreted(program, *args))
    for x, y in zip(run(Native(program)), right, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


def filled(fill, *inputs, name="made"):
    """The program that yields what `fill` gives of a builder and the inputs."""
    values, builder = [*map(Value, inputs)], Builder()
    builder.block.yields = [*fill(builder, *values)]
    return Program(name, values, builder.block)


def test_a_call_of_itself_goes_as_deep_as_pythons():
    program = filled(lambda b, n: [n], "int", name="depth")
    n, (out, then, orelse, builder) = program.inputs[0], (Value("int"), Block(), Block(), Builder())
    with builder.inside(orelse):
        called = Value("int")
        orelse.ops.append(Call(program, (builder.op("subtract", n, 1),), [called]))
        orelse.yields = [builder.op("add", called, 2)]
    then.yields = [0]
    zero = builder.op("equal", n, 0)
    program.body = Block([*builder.block.ops, If(zero, then, orelse, [out])], [out])
    native = Native(program)

    assert native(100) == [200]
    with pytest.raises(Stopped):
        native(sys.getrecursionlimit())
    assert native(3) == [6]


def test_a_failing_check_stops_and_the_next_call_works():
    def fill(b, x):
        buffer = b.alloc("float", 3)
        b.check(b.op("less", x, 1.0), "x is large")
        b.store(buffer, 1, x)
        return [buffer]

    native = Native(filled(fill, "float"))
    with pytest.raises(Stopped):
        native(2.0)
    assert native(0.5)[0].tolist() == [0, 0.5, 0]


@pytest.mark.parametrize("size", [-1, 2**62, 2**60, 2**50])
def test_what_no_memory_has_place_for(size):
    native = Native(filled(lambda b, n: [b.alloc("float", n)], "int"))
    with pytest.raises(MemoryError):
        native(size)
    assert native(2)[0].tolist() == [0, 0]


def test_buffers_of_every_type_and_size():
    def fill(b, n):
        made = [b.alloc(kind, n) for kind in ("float", "float32", "int", "bool")]
        for buffer, x in zip(made, (0.5, 0.25, 3, True), strict=True):
            b.store(buffer, b.op("subtract", n, 1), x)
        return made

    native = Native(filled(fill, "int"))
    for n in (1, 2, 9, 1000, 10**6):
        rows = native(n)
        assert [row.dtype for row in rows] == [np.float64, np.float32, np.int64, np.bool_]
        assert [len(row) for row in rows] == [n] * 4
        assert [row[-1] for row in rows] == [0.5, 0.25, 3, True]
        assert not any(row[:-1].any() for row in rows)


def test_a_result_that_is_an_argument_is_the_argument():
    def fill(b, a):
        b.store(a, 1, 7.0)
        return [a]

    a = np.zeros((2, 2))
    (made,) = Native(filled(fill, "float[]"))(a)
    assert np.shares_memory(made, a)
    assert a.tolist() == [[0, 7], [0, 0]]


@pytest.mark.parametrize(("step", "end"), [(2, 2**63 - 1), (-2, -(2**63)), (5, 2**63 - 3)])
def test_an_index_that_would_wrap_around_is_left_to_python(step, end):
    def fill(b, end):
        body, index, p, out = Block(), *map(Value, ("int", "int", "int"))
        start = b.op("subtract", end, 3 * step)
        with b.inside(body):
            body.yields = [b.op("add", p, 1)]
        b.block.ops.append(For(index, (start, end, step), [0], [p], body, [out]))
        return [out]

    native = Native(filled(fill, "int"))
    with pytest.raises(Stopped):
        native(end)
    assert native(100) == [3]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_leaks():
    def fill(b, n):
        body, index = Block(), Value("int")
        with b.inside(body):
            b.store(b.alloc("float", 10_000), index, 1.0)
        b.block.ops.append(For(index, (0, n, 1), [], [], body, []))
        return [b.alloc("float", n)]

    def megabytes():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096 / 2**20

    native = Native(filled(fill, "int"))
    native(100)
    before = megabytes()
    for _ in range(100):
        native(100)  # 8 MB each
    assert megabytes() < before + 80


def test_threads_compile_and_call_at_once():
    def fill(b, n):
        return [b.op("multiply", n, 3), b.alloc("float", n)]

    made = []

    def work():
        native = Native(filled(fill, "int"))
        made.extend(native(k) for k in range(50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(made) == 400
    assert all(len(row) * 3 == n for n, row in made)


def looped(name, kind="float", count=1):
    """The function of each element of arrays, in a loop that runs in vector registers."""

    def fill(b, n, *rows):
        body, index, made = Block(), Value("int"), b.alloc(kind, n)
        with b.inside(body):
            b.store(made, index, b.op(name, *(b.load(row, index) for row in rows)))
        b.block.ops.append(For(index, (0, n, 1), [], [], body, []))
        return [made]

    return Native(filled(fill, "int", *[f"{kind}[]"] * count))


@pytest.mark.parametrize("kind", ["float", "float32"])
@pytest.mark.parametrize("name", sorted(VECTORISED))
def test_a_function_has_the_same_bits_at_every_place_of_a_loop(name, kind):
    count = 2 if name == "power" else 1
    native = looped(name, kind, count)
    rng, dtype = np.random.default_rng(5), {"float": float, "float32": np.float32}[kind]
    edges = [*REALS[:10], 1e30, *REALS[11:], 1e8, -740.5, 1e-37]
    rows = [np.append(rng.uniform(-30, 30, 1000), edges).astype(dtype) for _ in range(count)]
    if count == 2:
        rng.shuffle(rows[0])
    n = len(rows[0])
    (many,) = native(n, *rows)
    ones = [native(1, *(row[k : k + 1] for row in rows))[0][0] for k in range(n)]

    assert many.tobytes() == np.array(ones, dtype).tobytes()
    with np.errstate(all="ignore"):
        right = np.array(
            [getattr(np, name, math.erf)(*map(dtype, at)) for at in zip(*rows, strict=True)]
        )
    np.testing.assert_allclose(many, right, rtol=2e-15 if kind == "float" else 1e-6, atol=1e-320)


def test_a_sum_of_the_users_is_in_order_while_its_terms_are_not():
    def fill(b, n, row):
        body, index, p, out = Block(), Value("int"), Value("float"), Value("float")
        with b.inside(body):
            body.yields = [b.op("add", p, b.op("multiply", b.load(row, index), 3.0))]
        loop = For(index, (0, n, 1), [0.1], [p], body, [out], in_turn=True)
        b.block.ops.append(loop)
        return [out]

    x = np.random.default_rng(1).normal(size=1003)
    total = 0.1
    for y in x.tolist():
        total += y * 3.0
    assert Native(filled(fill, "int", "float[]"))(len(x), x) == [total]
