"""What kernels become on a processor, found without one: float32 stays, nothing spills."""

import itertools
import math
import re

import numpy as np
import pytest

import zyg
from zyg.compiler.ir import Block, Op, Program, Value
from zyg.functions import operations
from zyg.kernels.scalar import Kernel

from .programs import array, cell, kernel_of, launches, product_of, root

HALF, SINGLE, DOUBLE = map(np.dtype, (np.float16, np.float32, np.float64))


def derived(kernel, arity):
    both, _ = kernel.partials(tuple(range(arity)))
    return both


def text(kernel, *operands, dtype=SINGLE, stored=None):
    (launch,) = launches(kernel, [*operands], dtype=dtype, stored=stored)
    return launch.text


FULL, ROW = array((2048, 2048)), array((2048,))
ODD = array((2047, 2047))  # no four neighbours at once: the form with the fewest registers
GATES = {
    "cell": (derived(cell(), 4), [ODD] * 4 + [array((2047,))] * 2, 40),
    "cell in lanes": (derived(cell(), 4), [FULL] * 4 + [ROW] * 2, 64),
    "its pullback": (cell().pullback((0, 1, 2, 3))[0], [ODD] * 5 + [array((2047,))] * 2, 40),
    "arity 4": (derived(product_of(4), 4), [FULL] * 4, 64),
    "arity 12": (derived(product_of(12), 12), [FULL] * 12, 48),
    "arity 20": (derived(product_of(20), 20), [FULL] * 20, 80),
    "a loop": (derived(kernel_of(root, "float", "float"), 2), [FULL, FULL], 40),
}  # fmt: skip


@pytest.mark.parametrize("name", GATES)
def test_a_kernel_fits_into_registers_and_stays_in_its_precision(name, compiler, resources):
    kernel, operands, registers = GATES[name]
    ptx = compiler(text(kernel, *operands))

    assert ".f64" not in ptx
    assert ".local" not in ptx
    assert not re.search(r"\bcall", ptx)
    taken = resources(ptx)
    assert (taken.stack, taken.spilled) == (0, 0)
    assert taken.registers <= registers


@pytest.mark.parametrize(
    ("dtype", "access"), [(SINGLE, "ld.global.v4.f32"), (DOUBLE, "ld.global.v2.f64")]
)
def test_neighbours_are_one_access(dtype, access, compiler):
    f = kernel_of(lambda x, y: x * y, "float", "float")
    ptx = compiler(text(f, *[array((64, 64), dtype)] * 2, dtype=dtype))

    assert ptx.count(access) == 2
    assert ptx.count(access.replace("ld", "st")) == 1
    assert not re.search(r"global\.[fu]", ptx)


def test_half_precision_is_converted_by_the_processor(compiler):
    f = kernel_of(lambda x: math.exp(x), "float")
    ptx = compiler(text(f, array((64, 64), HALF), stored=HALF))

    assert ptx.count("cvt.f32.f16") == ptx.count("cvt.rn.f16.f32") == 4
    assert ".f64" not in ptx


@pytest.mark.parametrize("w", [(2048,), (1024, 1), (1,)])
def test_kernels_of_sums(w, compiler, resources):
    f = kernel_of(lambda x, w: math.tanh(x * w), "float", "float")
    x = array((1024, 2048))
    (launch,) = launches(f.pullback((0, 1))[0], [x, x, array(w)], [x.shape, w])

    for one in (launch, *launch.seconds):
        taken = resources(compiler(one.text))
        assert (taken.stack, taken.spilled) == (0, 0)
        assert taken.registers <= 40


@pytest.mark.parametrize(("kind", "dtype"), [("float", HALF), ("float", DOUBLE), ("int", np.int16)])
def test_sums_of_other_types(kind, dtype, compiler):
    f = kernel_of(lambda x: x + x, kind)
    computed = DOUBLE if dtype is DOUBLE else SINGLE
    for shape in ((2048,), (1024, 1), (1,)):
        operand = array((1024, 2048), dtype)
        (launch,) = launches(f, [operand], [shape], dtype=computed, stored=dtype)
        for one in (launch, *launch.seconds):
            compiler(one.text)


def test_no_division_to_find_an_element(compiler):
    f = kernel_of(lambda x, y: x + y, "float", "float")
    for operands in itertools.combinations_with_replacement(
        [
            array((8, 16, 31)),
            array((8, 1, 31)),
            array((16, 1)),
            array((8, 16, 31), strides=(4, 32, 512)),
        ],
        2,
    ):
        ptx = compiler(text(f, *operands))
        assert not re.search(r"\b(div|rem)\.[su]", ptx)


def test_a_function_with_a_rule_of_its_own(compiler):
    def soft(x):
        return math.log1p(math.exp(-abs(x))) + max(x, 0.0)

    smooth = zyg.scalar_rule(soft, lambda x, y: 1 / (1 + np.exp(-x)))
    ptx = compiler(text(derived(kernel_of(lambda x: 2 * smooth(x), "float"), 1), FULL))

    assert ".f64" not in ptx
    assert not re.search(r"\bcall", ptx)


BOTH = {
    "absolute",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "sign",
    "remainder",
    "floor_divide",
    "fmod",
}
SLOW_ANGLES = {"sin", "cos", "tan"}  # libdevice reduces large ones in float64, in local memory
TWO = BOTH - {"absolute", "sign"} | {
    "arctan2", "hypot", "copysign", "heaviside", "nextafter", "logaddexp", "logaddexp2", "power",
    "float_power", "ldexp", "int_power",
}  # fmt: skip
KNOWN = {
    name for name, row in operations.OPERATIONS.items()
    if row.types not in (None, operations.CONVERSION, operations.OVERFLOW) and not row.same
} - {"int_power"}  # fmt: skip
INFIX = {"add", "subtract", "multiply", "divide", "less", "less_equal", "greater", "greater_equal",
         "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and",
         "bitwise_or", "bitwise_xor", "invert", "logical_not", "constant", "select"}  # fmt: skip


def one(name, type, dtype):
    """The text of a kernel of one operation."""
    inputs = [Value(type) for _ in range(1 + (name in TWO))]
    if name == "ldexp":
        inputs[1] = Value("int")
    made = Value("bool" if name.startswith("is") or name == "signbit" else type)
    kernel = Kernel(Program("f", inputs, Block([Op(name, tuple(inputs), made)], [made])))
    stored = {"float": dtype, "int": np.int64, "bool": np.bool_}
    operands = [array((63,), stored[x.type]) for x in inputs]
    return text(kernel, *operands, dtype=dtype, stored=stored[made.type])


@pytest.mark.parametrize("name", sorted(KNOWN - INFIX))
def test_every_function_of_kernels_compiles_in_its_precision(name, compiler):
    ptx = compiler(one(name, "float", SINGLE))
    assert (".f64" in ptx) == (name in SLOW_ANGLES)
    compiler(one(name, "float", DOUBLE))


@pytest.mark.parametrize("name", sorted([*BOTH, "int_power"]))
def test_functions_of_ints_stay_ints(name, compiler):
    assert not re.search(r"\.f(32|64)", compiler(one(name, "int", SINGLE)))


def test_arithmetic_of_ints_wraps_around_in_ints(compiler):
    def f(a):
        return 5 - a + a * a, -a, a**7, a // -1

    ptx = compiler(text(kernel_of(f, "int"), array((63,), np.int64), stored=np.int64))
    assert not re.search(r"\.f(32|64)", ptx)
