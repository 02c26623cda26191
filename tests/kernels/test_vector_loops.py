"""Kernels of vectors: the bits of those of single numbers, in whatever layout."""

import itertools
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import zyg
from zyg.compiler.back import object_code, simd
from zyg.compiler.back.target import is_x86
from zyg.compiler.back.vector_elementary import VECTORISED
from zyg.compiler.functions import meaning
from zyg.compiler.ir import Block, If, Op, Program, Value
from zyg.kernels import plans, vector_body, vector_loops
from zyg.kernels.launch import describe, run
from zyg.kernels.plans import CHUNK, Output

from .programs import layouts, no_two_alike, program, summed_to

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.75, 2.5, -2.5, 0.5, 1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40,
    5e-324, 88.7, 709.7, -87.5, -745.0, 3.0, 2.0**24, 2.0**30, 1.0 + 2.0**-23,
]  # fmt: skip
FLOATS = [
    "absolute", "ceil", "copysign", "deg2rad", "divide", "floor", "fmax", "fmin", "isfinite",
    "isinf", "isnan", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    "heaviside", "maximum", "minimum", "multiply", "negative", "positive", "rad2deg",
    "reciprocal", "rint", "sign", "signbit", "sqrt", "square", "subtract", "trunc", "add",
    *sorted(VECTORISED),
]  # fmt: skip
INTS = [
    "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "fmax", "fmin",
    "float", "greater", "invert", "less", "less_equal", "maximum", "minimum", "multiply",
    "negative", "not_equal", "sign", "square", "subtract", "greater_equal",
]  # fmt: skip
BOOLS = ["logical_and", "logical_or", "logical_xor", "logical_not", "float", "int"]
ARITY = {
    **dict.fromkeys(["logical_not", "float", "int", "invert"], 1),
    **{name: getattr(np, name).nin for name in FLOATS + INTS if hasattr(np, name)},
    "erf": 1, "float": 1, "logical_not": 1,
}  # fmt: skip
TYPES = {"float": F64, "int": np.dtype(np.int64), "bool": np.dtype(bool)}


def by_both(program, operands, outputs, dtype, monkeypatch, accuracy="fast"):
    """The results of a kernel of vectors, and those of one element after the other."""
    options = {"dtype": dtype, "accuracy": accuracy}
    zyg.kernels.clear()
    assert has_vectors(program, operands, outputs, **options)
    first = run(program, operands, outputs, **options)
    first = [y.copy() for y in first]
    with monkeypatch.context() as patch:
        patch.setattr(vector_loops, "printable", lambda *_: False)
        zyg.kernels.clear()
        assert not has_vectors(program, operands, outputs, **options)
        second = run(program, operands, outputs, **options)
    zyg.kernels.clear()
    return first, second


def has_vectors(program, operands, outputs, **options):
    text = describe(program, operands, outputs, **options).kernel.text
    return bool(re.search(r"<\d+ x double>|<\d+ x float>|<\d+ x i64>", text))


def assert_same_bits(one, other, what=""):
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    different = (one != other) & ~((one != one) & (other != other))
    assert not different.any(), what
    if one.dtype.kind == "f":
        assert (np.signbit(one) == np.signbit(other))[one == one].all(), what


def operations_of(names, kind):
    """A program of many operations of the same operands, and the types of its outputs."""
    inputs = [Value(kind), Value(kind)]
    tests = ("less", "greater", "equal", "is", "signbit", "not_", "logical")
    block, types = Block(), []
    for name in names:
        made = "bool" if name.startswith(tests) else kind
        made = name if name in ("float", "int") else made
        block.ops.append(Op(name, tuple(inputs[: ARITY.get(name, 2)]), Value(made)))
        types.append(made)
    block.yields = [op.out for op in block.ops]
    return Program("all", inputs, block), types


@pytest.mark.parametrize("dtype", [F32, F64])
def test_operations_of_floats_give_the_bits_of_single_numbers(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = np.array([*itertools.product(SPECIAL, repeat=2)]).T
    x, y = (np.concatenate([s, 10 * rng.standard_normal(901)]).astype(dtype) for s in (x, y))
    target, types = operations_of(FLOATS, "float")
    wanted = [Output(dtype if t == "float" else TYPES[t]) for t in types]
    for name, a, b in zip(
        FLOATS, *by_both(target, [x, y], wanted, dtype, monkeypatch), strict=True
    ):
        assert_same_bits(a, b, name)


@pytest.mark.slow
def test_sines_of_huge_numbers_are_those_of_c(monkeypatch):
    target = program(("float",), lambda x: (np.sin(x), np.cos(x), np.tan(x)))
    for n in (1, 7, 64, 100):
        x = np.linspace(-1.0, 1.0, n)
        x[n // 2] = 1e300
        x[0] = -(2.0**40)
        for a, b in zip(*by_both(target, [x], [Output(F64)] * 3, F64, monkeypatch), strict=True):
            assert_same_bits(a, b)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_operations_of_ints_and_bools_give_those_of_single_numbers(dtype, monkeypatch):
    ends = [0, 1, -1, 2, 7, -7, 2**63 - 1, -(2**63), 2**31, 2**53 + 1]
    x, y = np.array([*itertools.product(ends, repeat=2)]).T.copy()
    for names, kind, args in ((INTS, "int", [x, y]), (BOOLS, "bool", [x > 0, y > 0])):
        target, types = operations_of(names, kind)
        wanted = [Output(dtype if t == "float" else TYPES[t]) for t in types]
        for name, a, b in zip(
            names, *by_both(target, args, wanted, dtype, monkeypatch), strict=True
        ):
            assert_same_bits(a, b, name)


@pytest.mark.slow
def test_powers_are_those_of_single_numbers(monkeypatch):
    def powers(x, n):
        return (*(x**k for k in (0.5, -0.5, 2, 3, 4, -1, -2, 5, 2.0, 7.5)), n**2, n**7, x**n)

    target = program(("float", "int"), powers)
    x = np.array([*SPECIAL, *range(-9, 9)])
    n = np.arange(x.size) - 20
    wanted = [Output(F64)] * 10 + [Output(n.dtype)] * 2 + [Output(F64)]
    for a, b in zip(*by_both(target, [x, n], wanted, F64, monkeypatch), strict=True):
        assert_same_bits(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_narrower_vectors_give_the_same_bits(size, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = (np.concatenate([SPECIAL, rng.standard_normal(500)]).astype(dtype) for _ in range(2))
    target, types = operations_of(FLOATS, "float")
    wanted = [Output(dtype if t == "float" else TYPES[t]) for t in types]
    for module in (simd, vector_body):
        monkeypatch.setattr(module, "vector_bytes", lambda: size)
    zyg.kernels.clear()
    for name, a, b in zip(
        FLOATS, *by_both(target, [x, y], wanted, dtype, monkeypatch), strict=True
    ):
        assert_same_bits(a, b, name)


@pytest.mark.slow
@pytest.mark.skipif(not is_x86(), reason="compiles for the first of that kind")
@pytest.mark.parametrize("dtype", [F32, F64])
def test_a_processor_with_little_gives_nearly_the_same(dtype, tmp_path, monkeypatch):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu="x86-64", features="", opt=3, reloc="pic", jit=True
    )
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_code, "_machine", lambda level: machine)
    monkeypatch.setattr(simd, "fuses", lambda: False)
    for module in (simd, vector_body):
        monkeypatch.setattr(module, "vector_bytes", lambda: 16)
    x, y = np.array([*itertools.product(SPECIAL, repeat=2)], dtype).T.copy()
    target, types = operations_of(FLOATS, "float")
    wanted = [Output(dtype if t == "float" else TYPES[t]) for t in types]
    zyg.kernels.clear()
    assert has_vectors(target, [x, y], wanted, dtype=dtype)
    got = run(target, [x, y], wanted, dtype=dtype)
    expected = run(target, [x, y], wanted, dtype=dtype, backend="python")
    zyg.kernels.clear()
    eps = np.finfo(dtype)
    for name, a, b in zip(FLOATS, got, expected, strict=True):
        right = b
        if name == "power":  # NumPy's of single numbers takes -inf ** 0.5 for the root
            with np.errstate(all="ignore"):
                right = np.power(x, y)
        np.testing.assert_allclose(a, right, 8 * eps.eps, eps.tiny, err_msg=name)


def cell(c, f, k, b, w):
    return where(b, np.tanh(f) * c + k * w, c - 3 * w), c * f > 1, k * k - 1


where = meaning(np.where)
CELL = program(("float", "float", "int", "bool", "float"), cell)
OUT = [Output(F32), Output(np.dtype(bool)), Output(np.dtype(np.int64))]


@pytest.mark.parametrize("n", [3, 16, 64, 65, 128, 15, 17, 31, 33, 127, 200, 1])
def test_rows_of_any_length(n, monkeypatch):
    x = no_two_alike((3, n)).astype(np.float32) / 16
    operands = [x, x[::-1, :], no_two_alike((n,)).astype(np.int16), x[:, :1] > 1, 0.75]
    for a, b in zip(*by_both(CELL, operands, OUT, F32, monkeypatch), strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize("n", [3, 2, 5, 16, 100, 256])
def test_short_rows_are_taken_several_at_once(n, monkeypatch):
    x = no_two_alike((1000, n)).astype(np.float32) / 16
    steps = no_two_alike((n, 2)).astype(np.int16)[:, 1]
    operands = [x, x[::-1, ::-1][:, :], steps, no_two_alike((n,)) > 1, 0.75]
    flat = [x, x + 1, steps, no_two_alike((1000, n)) > 40, x[0, :]]
    for given in (operands, flat, [x[:257], *flat[1:3], flat[3][:257], flat[4]]):
        given = [g if np.ndim(g) < 2 else g[: len(given[0])] for g in given]
        for a, b in zip(*by_both(CELL, given, OUT, F32, monkeypatch), strict=True):
            assert_same_bits(a, b)


@pytest.mark.parametrize("shape", [(67, 75), (64, 512), (3, 100, 300), (513, 17)])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_operands_that_lie_the_other_way_are_turned(shape, dtype, monkeypatch):
    def turned(start):
        return no_two_alike(shape, start).astype(dtype).swapaxes(-1, -2).copy().swapaxes(-1, -2)

    target = program(("float",) * 4, lambda x, y, z, w: (x * y + z, x - w, x * z))
    operands = turned(1), no_two_alike(shape).astype(dtype), turned(7), turned(3)[..., :1]
    wanted = [Output(dtype), Output(dtype), Output(F64, ())]
    text = describe(target, operands, wanted, dtype=dtype).kernel.text
    assert len({*re.findall(r"%panel_a\d", text)}) == 2
    ones, others = by_both(target, operands, wanted, dtype, monkeypatch)
    for a, b in zip(ones[:2], others[:2], strict=True):
        assert_same_bits(a, b)
    np.testing.assert_allclose(ones[2], others[2], rtol=1e-14)


def gated(x, c, z, w):
    t = where(z > 1, np.tanh(x) * c, where(z > 0, c, x / 2))
    return where(w, np.exp(t), t), where(z > 1, np.exp(x), 0.5)


X, Z = no_two_alike((40, 70)) / 50 - 1, no_two_alike((40, 1)) % 3


@pytest.mark.parametrize(
    ("operands", "outside"),
    [
        pytest.param([X, X[0], Z, Z > 1], True, id="rows"),
        pytest.param([X, X[0], 2.0, True], True, id="numbers"),
        pytest.param([X, X[0], X, Z > 1], True, id="one of two"),
        pytest.param([X, X, X, X > 0], False, id="elements"),
        pytest.param([no_two_alike((999, 3)), X[0, :3], 1.5, False], True, id="short rows"),
    ],
)
def test_conditions_that_stay_the_same_along_a_row_decide_on_a_loop(operands, outside, monkeypatch):
    target, wanted = program(("float", "float", "float", "bool"), gated), [Output(F64)] * 2
    for a, b in zip(*by_both(target, operands, wanted, F64, monkeypatch), strict=True):
        assert_same_bits(a, b)
    text = describe(target, operands, wanted, dtype=F64).kernel.text
    assert ("%case" in text) is outside


@pytest.mark.slow
@pytest.mark.parametrize("k", range(7))
def test_operands_and_results_of_any_layout(k, monkeypatch):
    shape = (5, 3, 19)
    x = [*layouts(no_two_alike(shape).astype(np.float32))][k]
    y = [*layouts(no_two_alike(shape, 5))][-k]  # float64, computed in float32
    n = [*layouts(no_two_alike(shape).astype(np.uint8))][(2 * k) % 7]
    odd = [*layouts(no_two_alike(shape) % 2 == 1)][(3 * k) % 7]
    out = [*layouts(np.zeros(shape, np.float32))][(k + 1) % 7]
    wanted = [Output(F32, None, out), *OUT[1:]]
    for a, b in zip(
        *by_both(CELL, [x, y, n, odd, x[:, :, :1]], wanted, F32, monkeypatch), strict=True
    ):
        assert_same_bits(a, b)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_operands_of_any_type_as_floats(dtype, monkeypatch):
    kind = np.dtype(dtype)
    ends = [0, 1] if kind.kind == "b" else [np.iinfo(kind).min, np.iinfo(kind).max, 77, 1, 0]
    x = np.resize(np.array(ends, kind), 23)
    target = program(("float",), lambda x: (x * 0.5,))
    for real in (F32, F64):
        (a,), (b,) = by_both(target, [x], [Output(real)], real, monkeypatch)
        assert_same_bits(a, b)


@pytest.mark.slow
def test_results_of_any_type(monkeypatch):
    target = program(("float", "int"), lambda x, n: (x * 2, n * 3, n > 1))
    x, n = np.linspace(-9, 9, 37), np.arange(37) - 9
    for kinds in (("f4", "i1", "i2"), ("f8", "f4", "f8"), ("f4", "u4", "?"), ("f8", "i8", "i8")):
        wanted = [Output(np.dtype(k)) for k in kinds]
        for a, b in zip(*by_both(target, [x, n], wanted, F64, monkeypatch), strict=True):
            assert_same_bits(a, b)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("shape", [(3, 1500), (700, 5), (2, 16384), (40, 64)])
def test_sums_are_those_of_single_numbers_and_as_exact(dtype, shape, monkeypatch):
    rng = np.random.default_rng(0)
    x, k = rng.standard_normal(shape).astype(dtype), rng.integers(-9, 9, shape)
    both = program(("float", "int"), lambda x, k: (x * x, k * 3))
    for sums in ((1, shape[1]), (shape[0], 1), (1, 1), shape[1:], ()):
        wanted = [Output(F64, sums), Output(k.dtype, sums)]
        ones, others = by_both(both, [x, k], wanted, dtype, monkeypatch)
        assert (ones[1] == others[1]).all()
        in_float32 = dtype == F32 and sums[-1:] == shape[1:]
        for found in (ones[0], others[0]):
            exact = summed_to((x * x).astype(np.longdouble), sums)
            np.testing.assert_allclose(found, exact, rtol=1e-6 if in_float32 else 1e-14)


@pytest.mark.slow
def test_a_long_sum_is_exact_and_the_same_for_any_number_of_threads():
    x = np.random.default_rng(0).random(3 * CHUNK + 77)
    target = program(("float",), lambda x: (x * 0.1,))
    sums = {
        workers: run(target, [x], [Output(F64, ())], dtype=F64, workers=workers)[0].item()
        for workers in (1, 2, 3)
    }
    assert len({*sums.values()}) == 1
    assert sums[1] == pytest.approx(math.fsum(x * 0.1), rel=2e-15)


WIDE = no_two_alike((260, 4096)).astype(np.float32) / 16
PAST_THE_CACHE = "!nontemporal"


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize(
    ("operands", "shape", "streamed"),
    [
        pytest.param([WIDE, WIDE, 0.75], None, is_x86(), id="one row"),
        pytest.param([WIDE[:257, :1111].copy(), WIDE[:257, :1111].copy(), 0.75], None, is_x86(),
                     id="one row with a rest"),
        pytest.param([WIDE, WIDE[0], WIDE[:, :1]], None, is_x86(), id="rows"),
        pytest.param([WIDE, WIDE[0], 0.75], (1, 4096), is_x86(), id="sums"),
        pytest.param([WIDE.T.copy().T, WIDE, 0.75], None, is_x86(), id="turned"),
        pytest.param([WIDE.reshape(-1, 16), WIDE[0, :16], 0.75], None, is_x86(), id="short rows"),
        pytest.param([WIDE.reshape(-1, 5), WIDE[0, :5], 0.75], None, False, id="odd short rows"),
        pytest.param([WIDE[:, :1111], WIDE[0, :1111], 0.75], None, False, id="odd rows"),
        pytest.param([WIDE.reshape(2, -1)[:, :500002], WIDE[:2, :1], 0.75], (2, 1), False,
                     id="sums of odd chunks"),
    ],
)  # fmt: skip
def test_large_results_are_stored_past_the_cache(operands, shape, streamed, dtype, monkeypatch):
    target = program(("float",) * 3, lambda x, y, z: (x * y + z, x - z, x > y))
    wanted = [Output(dtype, None, checked=True), Output(dtype, shape), Output(np.dtype(bool))]
    found = []
    for least in (0, math.inf):
        monkeypatch.setattr(plans, "_STREAMED", least)
        zyg.kernels.clear()
        text = describe(target, operands, wanted, dtype=dtype).kernel.text
        assert (PAST_THE_CACHE in text) is (streamed and not least)
        for workers in (1, 3):
            made = run(target, operands, wanted, dtype=dtype, workers=workers)
            found.append([y.copy() for y in made])
    zyg.kernels.clear()
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            assert_same_bits(a, b)


def test_smaller_results_are_stored_in_the_cache():
    target = program(("float", "float"), lambda x, y: (x * y, x + y))
    wanted = [Output(F32), Output(F32)]
    for n, streamed in ((1 << 20, False), (2 << 20, is_x86())):
        x = np.ones(n, np.float32)
        text = describe(target, [x, x], wanted, dtype=F32).kernel.text
        assert (PAST_THE_CACHE in text) is streamed


@pytest.mark.parametrize("sign", ["int", "uint"])
def test_ints_without_a_sign_are_numpys(sign, monkeypatch):
    ends = np.array([0, 1, 2, 7, 2**31, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    x, y = (part.ravel() for part in np.meshgrid(ends, ends))
    y = y if sign == "uint" else y.astype(np.int64)
    compared = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
    inputs = [Value("uint"), Value(sign)]
    pairs = [(name, (*args, Value("bool"))) for name in compared for args in (inputs, inputs[::-1])]
    if sign == "uint":
        made = ["add", "subtract", "multiply", "bitwise_xor", "maximum", "fmax", "minimum", "fmin"]
        pairs += [(name, (*inputs, Value("uint"))) for name in made]
    pairs += [("float", (inputs[0], Value("float"))), ("invert", (inputs[0], Value("uint")))]
    ops = [Op(name, args, out) for name, (*args, out) in pairs]
    ops = [Op(op.name, tuple(op.args), op.out) for op in ops]
    target = Program("f", inputs, Block(ops, [op.out for op in ops]))
    wanted = [Output({**TYPES, "uint": np.dtype(np.uint64)}[op.out.type]) for op in ops]
    known = dict(zip(inputs, (x, y), strict=True))
    for op, a, b in zip(ops, *by_both(target, [x, y], wanted, F64, monkeypatch), strict=True):
        args = [known[v] for v in op.args]
        right = args[0].astype(float) if op.name == "float" else getattr(np, op.name)(*args)
        assert_same_bits(a, right, op.name)
        assert_same_bits(b, right, op.name)


@pytest.mark.parametrize("n", [7, 2**63 + 5, -3])
def test_ints_without_a_sign_beside_numbers_of_pythons(n):
    x = np.array([0, 7, 8, 2**63 + 5, 2**64 - 1], np.uint64)
    z = np.array([0, 7, -3, -4, 2**63 - 1])
    for kind, operand in (("uint", x), ("int", z)):
        target = program((kind,), lambda x: (x < n, x >= n, n == x))
        made = run(target, [operand], [Output(np.dtype(bool))] * 3, dtype=F64)
        for got, right in zip(made, (operand < n, operand >= n, operand == n), strict=True):
            assert (got == right).all()


@pytest.mark.parametrize("dtype", [F32, F64])
def test_sums_of_exponentials_have_vectors(dtype, monkeypatch):
    x, y = np.array([*itertools.product(SPECIAL, repeat=2)], dtype).T.copy()
    target = program(("float", "float"), lambda x, y: (np.logaddexp(x, y), np.logaddexp2(x, y)))
    with np.errstate(all="ignore"):
        right = np.logaddexp(x, y), np.logaddexp2(x, y)
    for a, b, z in zip(*by_both(target, [x, y], [Output(dtype)] * 2, dtype, monkeypatch), right,
                       strict=True):  # fmt: skip
        assert_same_bits(a, b)
        np.testing.assert_allclose(a, z, 4 * np.finfo(dtype).eps, np.finfo(dtype).eps)


def branch_around(name):
    x, c, y = Value("float"), Value("bool"), Value("float")
    then = Value("float")
    sides = [Block([Op(name, (x,), then)], [then]), Block([], [x])]
    return Program("f", [x], Block([Op("less", (x, 0.0), c), If(c, *sides, [y])], [y]))


def test_what_has_no_vectors_is_done_one_by_one():
    x, u = np.linspace(-3, 3, 40), np.arange(40, dtype=np.uint64)
    cases = {
        "a remainder": (program(("float",), lambda x: (x % 2.0,)), x, F64),
        "quotients of ints without a sign": (program(("uint",), lambda n: (n // 3,)), u, u.dtype),
        "a branch around what is slow": (branch_around("gamma"), x, F64),
    }
    for name, (target, operand, dtype) in cases.items():
        options = [operand], [Output(dtype)]
        assert not has_vectors(target, *options, dtype=F64), name
        by_llvm, by_python = (
            run(target, *options, dtype=F64, backend=b)[0] for b in ("llvm", "python")
        )
        np.testing.assert_allclose(by_llvm, by_python, rtol=1e-14)


def test_only_with_fast_functions():
    target = program(("float",), lambda x: (np.exp(x),))
    for accuracy, is_fast in (("fast", True), ("libm", False)):
        found = has_vectors(target, [np.ones(3)], [Output(F64)], dtype=F64, accuracy=accuracy)
        assert found is is_fast
