"""Compiling: the functions a text may call, the cache on disk, what numba refuses."""

import itertools
import math
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from zyg.kernels import compiled, names
from zyg.kernels.branches import without_branches
from zyg.kernels.compiled import CompilationError, cache_directory, kernel_of
from zyg.kernels.ir import Block, If, Op, Program, Value, operations
from zyg.kernels.launch import describe, run
from zyg.kernels.plans import Output

from .programs import no_two_alike, outputs, program

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
ONE = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sqrt", "cbrt",
    "absolute", "floor", "ceil", "trunc", "rint", "sign", "deg2rad", "rad2deg", "square",
    "reciprocal", "erf", "erfc", "gamma", "lgamma",
]  # fmt: skip
TWO = [
    "arctan2", "hypot", "maximum", "minimum", "fmax", "fmin", "copysign", "remainder", "fmod",
    "floor_divide", "power", "float_power", "logaddexp", "logaddexp2", "heaviside", "nextafter",
]  # fmt: skip
TESTS = [
    "isnan", "isinf", "isfinite", "signbit",
]  # fmt: skip
WHOLE = [
    "remainder", "fmod", "floor_divide", "maximum", "minimum", "absolute", "sign", "square",
    "negative",
]  # fmt: skip
# NumPy's power of numbers, not of arrays, takes -inf ** 0.5 for the root: NaN, where C has inf.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.75, 2.5, -2.5, 3.7, -3.7, np.inf, -np.inf, np.nan, 1e30, -1e30]


def calls(which, arity, types, make):
    """A program with one result per function."""
    inputs = [Value(kind) for kind in types[:arity]]
    block = Block()
    for name in which:
        block.ops.append(Op(name, tuple(inputs), Value(make)))
    block.yields = [op.out for op in block.ops]
    return Program("all", inputs, block)


def right(name, *args):
    with np.errstate(all="ignore"):
        if name == "float_power":
            name = "power"
        if hasattr(np, name):
            return getattr(np, name)(*args)
        from zyg.kernels import plain

        return np.array([getattr(plain, name)(x) for x in args[0]])


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize(
    ("which", "arity", "kind"), [(ONE, 1, "float"), (TWO, 2, "float"), (TESTS, 1, "bool")]
)
def test_functions_are_numpys_at_special_values(backend, dtype, which, arity, kind):
    x, y = np.array([*itertools.product(SPECIAL, repeat=2)], dtype).T.copy()
    args = (x, y)[:arity]
    stored = dtype if kind == "float" else np.dtype(bool)
    got = run(
        calls(which, arity, ("float",) * 2, kind),
        args,
        [Output(stored)] * len(which),
        dtype=dtype,
        accuracy="libm",
        backend=backend,
    )
    for name, y in zip(which, got, strict=True):
        expected = right(name, *args)
        tolerance = 2e-6 if dtype == F32 else 1e-14
        np.testing.assert_allclose(y, expected, rtol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide", "copysign", "rint", "tanh"])
def test_zeros_have_numpys_sign(name):
    x, y = np.array([*itertools.product([0.0, -0.0, 2.0, -2.0, 1.0, -1.0], repeat=2)]).T.copy()
    args = (x, y)[: 1 if name in ONE else 2]
    target = calls([name], len(args), ("float",) * 2, "float")
    (got,) = run(target, args, outputs((F64, None)), dtype=F64, accuracy="libm")
    expected = right(name, *args)
    assert (np.signbit(got) == np.signbit(expected))[~np.isnan(expected)].all()


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_functions_of_ints(backend):
    x, y = np.array([*itertools.product([7, -7, 3, 0], [2, -2, 5, -5, 1])]).T.copy()
    for which, arity in ((WHOLE[:5], 2), (WHOLE[5:], 1)):
        args = (x, y)[:arity]
        target = calls(which, arity, ("int",) * 2, "int")
        got = run(target, args, outputs((x.dtype, None)) * len(which), dtype=F64, backend=backend)
        for name, z in zip(which, got, strict=True):
            assert (z == right(name, *args)).all(), name


def test_python_functions_never_raise():
    target = calls(["gamma", "lgamma", "erf"], 1, ("float",), "float")
    x = np.array([0.0, -0.0, -1.0, 200.0, np.inf, -np.inf, np.nan])
    gamma, lgamma, _ = run(target, [x], outputs((F64, None)) * 3, dtype=F64, backend="python")
    np.testing.assert_array_equal(
        gamma, [math.inf, -math.inf, *[math.nan], math.inf, math.inf, math.nan, math.nan]
    )
    np.testing.assert_array_equal(lgamma[[0, 1, 2, 4, 5]], [math.inf] * 5)


def test_fast_functions_come_from_vector_math():
    text = names.imports(["exp", "lgamma", "remainder"], "float32", "numba", "fast")
    assert "from zyg.kernels.vector_math import exp32 as exp" in text
    assert "from math import lgamma as lgamma" in text
    assert "vector_math" not in names.imports(["exp"], "float32", "numba", "libm")


def branching(name):
    """The function ``name(x) if x > 0 else -x``, with a branch."""
    x, positive, y = Value("float"), Value("bool"), Value("float")
    then, orelse = Value("float"), Value("float")
    sides = [Block([Op(name, (x,), then)], [then]), Block([Op("negative", (x,), orelse)], [orelse])]
    return Program(
        "f", [x], Block([Op("greater", (x, 0.0), positive), If(positive, *sides, [y])], [y])
    )


@pytest.mark.parametrize(("name", "stays"), [("exp", False), ("sqrt", False), ("lgamma", True)])
def test_branches_become_selections_where_all_else_vectorises(name, stays):
    target = branching(name)
    flat = without_branches(target, names.vectorised("float64", "fast"))
    assert any(isinstance(op, If) for op in operations(flat.body)) == stays
    x = np.array([-1.0, 2.0, np.nan])
    expected = np.where(x > 0, right(name, x), -x)
    for backend in ("numba", "python"):
        (y,) = run(target, [x], outputs((F64, None)), dtype=F64, backend=backend)
        np.testing.assert_allclose(y, expected, rtol=1e-14)


def test_many_operands_are_vectorised():
    target = program(("float",) * 16, lambda *x: tuple(a * b for a, b in itertools.pairwise(x)))
    x = [np.ones(8, np.float32) for _ in range(16)]
    run(target, x, outputs((F32, None)) * 15, dtype=F32)
    text = describe(target, x, outputs((F32, None)) * 15, dtype=F32).kernel.text
    module = sys.modules["zyg_kernel_" + compiled._digest(text)]
    assembly = next(iter(module.kernel.inspect_asm().values()))
    packed, single = (len(re.findall(rf"\bv?mul{s}s\b", assembly)) for s in ("p", "s"))
    assert packed >= single  # both 0 where instructions have other names than on x86


def test_a_text_that_numba_refuses():
    with pytest.raises(CompilationError, match=r"(?s)TypingError.*def kernel") as caught:
        kernel_of("signature = 'void(int64)'\ndef kernel(n):\n    n.nothing()\n", "numba")
    assert "n.nothing()" in caught.value.text


PROGRAM = """
import sys, numpy as np
from zyg.kernels.ir import Block, Op, Program, Value
from zyg.kernels.launch import describe, run
from zyg.kernels.plans import Output
x, y = Value("float"), Value("float")
f = Program("f", [x], Block([Op("multiply", (x, float(sys.argv[1])), y)], [y]))
F64 = np.dtype(float)
result, = run(f, [np.arange(3.0)], [Output(F64)], dtype=F64)
print(describe(f, [np.arange(3.0)], [Output(F64)], dtype=F64).kernel.origin, result.tolist())
"""


def fresh_process(factor=2.0):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(factor)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def test_the_next_process_does_not_compile(own_cache):
    assert fresh_process() == "compiled [0.0, 2.0, 4.0]"
    files = {path: path.read_bytes() for path in own_cache.rglob("*") if path.is_file()}
    assert len(files) == 3
    assert fresh_process() == "disk [0.0, 2.0, 4.0]"
    assert {path: path.read_bytes() for path in own_cache.rglob("*") if path.is_file()} == files
    assert fresh_process(3.0) == "compiled [0.0, 3.0, 6.0]"


@pytest.mark.parametrize("which", ["*.py", "*.nbi", "*.nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x04half"])
def test_damaged_files_are_replaced(own_cache, which, damage):
    text = (
        f"signature = 'void(float64[:])'\ndef kernel(a):\n    a[0] = {len(which) + len(damage)}\n"
    )
    assert compiled._compiled(text).origin == "compiled"
    (file,) = own_cache.rglob(which)
    file.write_bytes(damage)
    for _ in range(3):
        kernel = compiled._compiled(text)
    out = np.zeros(1)
    kernel.call(out)
    assert out[0] == len(which) + len(damage)
    assert kernel.origin == "disk"


def test_a_place_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path / "file" / "below"))
    kernel = compiled._compiled("signature = 'void(float64[:])'\ndef kernel(a):\n    a[0] = 1\n")
    out = np.zeros(1)
    kernel.call(out)
    assert (kernel.origin, out[0]) == ("compiled", 1)


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("ZYG_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "zyg"


def test_threads_that_want_the_same_kernel_compile_it_once(own_cache):
    text = "signature = 'void(float64[:])'\ndef kernel(a):\n    a[0] = 17\n"
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(kernel_of(text, "numba"))) for _ in "abc"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 3
    assert len({id(kernel) for kernel in found}) == 1


def test_numba_is_not_loaded_before_the_first_kernel():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, zyg.kernels.launch; print('numba' in sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "False", done.stderr


def test_a_kernel_in_plain_python_needs_no_numba():
    x = no_two_alike((2, 3))
    target = program(("float",), lambda x: (np.tanh(x),))
    (y,) = run(target, [x], outputs((F64, None)), dtype=F64, backend="python")
    assert (y == np.tanh(x)).all()
