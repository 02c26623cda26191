"""What a kernel may hold: the kernel of a function gives what the function itself gives."""

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff import forward
from zyg.compiler.back.python_runtime import imports
from zyg.compiler.back.python_text import emit
from zyg.kernels.launch import run
from zyg.kernels.plans import Output
from zyg.kernels.scalar import read_for

from ..programs.program import programs

F64 = np.dtype(float)
DTYPES = {"float": F64, "int": np.dtype(np.int64), "bool": np.dtype(bool)}
KINDS = ("float", "float", "int")
NUMBERS = programs("numbers").values()

rng = np.random.default_rng(7)
POINTS = (
    np.concatenate([rng.uniform(-3, 3, 12), [0.0, 1.0]]),
    np.concatenate([rng.uniform(-2, 3, 12), [1.0, 1.0]]),
    np.array([0, 1, 2, 3, 4, 5, -1, -3, 2, 1, 0, 7, 0, 1]),
)
ROWS = [(float(x), float(y), int(k)) for x, y, k in zip(*POINTS, strict=True)]


def in_python(program, operands, backend="python"):
    """The results of a program, by the text run as plain Python."""
    types = [getattr(y, "type", type(y).__name__) for y in program.outputs]
    results = [Output(DTYPES[kind], None) for kind in types]
    return run(program, operands, results, dtype=F64, backend=backend)


def read(f):
    found = read_for(f, KINDS, None, lambda numbers: numbers, lambda x: x)
    return found.kernel.program, [*POINTS, *found.captures.values(f)]


@pytest.mark.parametrize("program", NUMBERS, ids=lambda p: p.name)
def test_the_kernel_gives_what_the_function_gives(program):
    read_program, operands = read(program.f)
    (got,) = in_python(read_program, operands)
    np.testing.assert_allclose(got, [program.f(*row) for row in ROWS], rtol=1e-13, atol=1e-14)

    partials, masks = forward.partials(read_program, (0, 1))
    with np.errstate(all="ignore"):
        got = in_python(partials, operands)[1:]
    rows = np.zeros((2, len(ROWS)))
    for k, d in zip(masks[0], got, strict=True):
        rows[k] = d
    traced = program.traced.f
    right = np.transpose([slope(traced, row) for row in ROWS])
    np.testing.assert_allclose(rows, right, rtol=1e-13, atol=1e-13)
    demand_float32(partials, operands)


def slope(f, row):
    """The gradient of f by x and y, by the rules of watched numbers."""
    return zyg.gradient(lambda x, y: 1.0 * f(x, y, row[2]), *row[:2], zeros=True)


def demand_float32(partials, operands):
    """The text computes in its own precision."""
    names = [f"x{n}" for n in range(len(operands))]
    text = emit(partials, names)
    assert "float64" not in "\n".join(text.lines)
    body = [*text.lines, f"return [{', '.join(text.results)}]"]
    lines = [f"def f({', '.join(names)}):", *("    " + line for line in body)]
    space = {}
    exec(imports(text.functions, "float32"), space)
    exec("\n".join([*text.definitions, *lines]), space)
    types = {"float": np.float32, "int": (int, np.int64), "bool": (bool, np.bool_)}
    with np.errstate(all="ignore"):
        row = [np.float32(x) if isinstance(x, float) else x for x in ROWS[0]]
        captured = [np.float32(x) if isinstance(x, float) else x for x in operands[3:]]
        for value, out in zip(space["f"](*row, *captured), partials.outputs, strict=True):
            kind = getattr(out, "type", type(out).__name__)
            assert isinstance(value, types[kind])


@pytest.mark.parametrize("program", NUMBERS, ids=lambda p: p.name)
def test_compiled_kernels_give_the_same(program):
    made, operands = read(program.f)
    for each in (made, forward.partials(made, (0, 1))[0]):
        with np.errstate(all="ignore"):
            wanted = in_python(each, operands)
        for got, right in zip(in_python(each, operands, "llvm"), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-13)
