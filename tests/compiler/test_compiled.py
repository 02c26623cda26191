"""Compiling: the functions a text may call, the cache on disk, what LLVM refuses."""

import itertools
import math
import os
import subprocess
import sys
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest

import zyg
from zyg.compiler.back import compiled, stored
from zyg.compiler.back.branches import without_branches
from zyg.compiler.back.compiled import CompilationError, kernel_of
from zyg.compiler.back.llvm_simd import vectorises
from zyg.compiler.back.stored import cache_directory
from zyg.compiler.ir import Block, If, Op, Program, Value, operations
from zyg.kernels.launch import describe, run
from zyg.kernels.plans import CHUNK, Output
from zyg.kernels.scalar import read_for

from ..kernels.programs import outputs

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
        from zyg.compiler.back import python_runtime

        return np.array([getattr(python_runtime, name)(x) for x in args[0]])


@pytest.mark.parametrize("backend", ["python", "llvm"])
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


@pytest.mark.parametrize("backend", ["llvm", "python"])
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
    flat = without_branches(target, lambda op: vectorises(op, "fast"))
    assert any(isinstance(op, If) for op in operations(flat.body)) == stays
    x = np.array([-1.0, 2.0, np.nan])
    expected = np.where(x > 0, right(name, x), -x)
    for backend in ("llvm", "python"):
        (y,) = run(target, [x], outputs((F64, None)), dtype=F64, backend=backend)
        np.testing.assert_allclose(y, expected, rtol=1e-14)


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def gated(c, x, z):
    if z > 1:
        return sigmoid(x) * c + math.tanh(x)
    if z > 0:
        return c
    return sigmoid(x) * math.tanh(x)


def test_nothing_is_computed_twice_where_some_side_returns():
    kinds = ("float",) * 3
    kernel = read_for(gated, kinds, None, lambda x: x, lambda x: x).kernel
    for target in (kernel.program, kernel.partials((0, 1))[0].program):
        flat = without_branches(target, lambda op: vectorises(op, "fast"))
        made = [op.name for op in operations(flat.body)]
        assert [made.count(name) for name in ("exp", "tanh", "divide")] == [1, 1, 1]


def test_a_text_that_llvm_refuses():
    with pytest.raises(CompilationError, match=r"(?s)expected.*define nothing") as caught:
        kernel_of("define nothing\n", loops=False)
    assert "define nothing" in caught.value.text


def text_that_writes(number):
    """A kernel that sets the first element of an array of floats."""
    return f"""; signature = "int64(float64[:])"
define i32 @kernel(ptr %values, ptr %layouts) {{
  %object = load ptr, ptr %values
  %field = getelementptr i8, ptr %object, i64 {object.__basicsize__}
  %data = load ptr, ptr %field
  store double {float(number)}, ptr %data
  ret i32 0
}}
"""


def written(kernel):
    out = np.zeros(1)
    kernel.bind([((1,), (8,))])(out)
    return out[0]


PROGRAM = """
import sys, numpy as np
from zyg.compiler.ir import Block, Op, Program, Value
from zyg.kernels import plans
from zyg.kernels.launch import describe, run
from zyg.kernels.plans import Output
x, s, y = Value("float"), Value("float"), Value("float")
ops = [Op("floor_divide", (x, 0.7), s), Op("multiply", (s, float(sys.argv[1])), y)]
f = Program("f", [x], Block(ops, [y, y]))
F64 = np.dtype(float)
args = f, [np.arange(3.0)], [Output(F64), Output(F64, ())]
y, total = run(*args, dtype=F64)
assert np.allclose(y, np.arange(3) // 0.7 * float(sys.argv[1])) and np.isclose(total, y.sum())
print(describe(*args, dtype=F64).kernel.origin)
"""


def process(factor):
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(factor)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def printed(process):
    out, errors = process.communicate(timeout=600)
    assert errors == ""
    return out.strip()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.mark.slow
def test_the_next_process_does_not_compile(own_cache):
    at_once = [process(2.0) for _ in range(2)]
    assert {printed(p) for p in at_once} <= {"compiled", "disk"}
    ((path, content),) = [(path, path.read_bytes()) for path in own_cache.iterdir()]
    assert printed(process(2.0)) == "disk"
    assert [(path, path.read_bytes()) for path in own_cache.iterdir()] == [(path, content)]
    assert printed(process(3.0)) == "compiled"


FROM_DISK = {
    "sin": 1, "cos": 1, "tan": 1, "exp": 1, "erf": 1, "gamma": 1, "lgamma": 1, "arcsin": 1,
    "power": 2, "nextafter": 2, "remainder": 2, "floor_divide": 2, "arctan2": 2,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F32, F64])
def test_functions_from_disk(dtype):
    x, y = Value("float"), Value("float")
    ops = [Op(name, (x, y)[:arity], Value("float")) for name, arity in FROM_DISK.items()]
    target = Program("f", [x, y], Block(ops, [op.out for op in ops]))
    a, b = np.array([*itertools.product(SPECIAL, repeat=2)], dtype).T.copy()
    call = target, [a, b], [Output(dtype)] * len(ops)
    run(*call, dtype=dtype)
    zyg.kernels.clear()
    found = run(*call, dtype=dtype)
    assert describe(*call, dtype=dtype).kernel.origin == "disk"
    for name, z in zip(FROM_DISK, found, strict=True):
        args = (a, b)[: FROM_DISK[name]]
        np.testing.assert_allclose(z, right(name, *args), 1e-6 if dtype == F32 else 1e-14, 1e-30)


def test_ints_and_sums_from_disk_on_any_number_of_threads():
    x, k, b = Value("float"), Value("int"), Value("bool")
    half, real, y, z = Value("int"), *(Value("float") for _ in range(3))
    ops = [Op("floor_divide", (k, 2), half), Op("float", (half,), real)]
    ops.append(Op("multiply", (x, real), y))
    ops.append(Op("select", (b, y, x), z))
    target = Program("f", [x, k, b], Block(ops, [half, z]))
    operands = [
        np.linspace(0, 1, 3 * CHUNK).reshape(3, CHUNK)[:, ::-1],
        np.arange(-1, 2)[:, None],
        True,
    ]
    call = target, operands, outputs((np.dtype(int), (3, 1)), (F64, ()))
    first = run(*call, dtype=F64, workers=2)
    for workers in (1, 2):
        zyg.kernels.clear()
        again = run(*call, dtype=F64, workers=workers)
        assert describe(*call, dtype=F64).kernel.origin == "disk"
        assert [a.tobytes() for a in again] == [a.tobytes() for a in first]
    np.testing.assert_array_equal(first[0][:, 0], [-CHUNK, 0, 0])


def halved(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def changed(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        halved,
        changed,
        lambda file: file.write_bytes(b""),
        pytest.param(
            lambda file: file.chmod(0o602),
            marks=pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such modes on Windows"),
        ),
    ],
)
def test_files_that_are_not_as_they_were_written_are_replaced(own_cache, damage):
    text = text_that_writes(5)
    assert compiled._compiled(text).origin == "compiled"
    (file,) = own_cache.iterdir()
    damage(file)
    assert compiled._compiled(text).origin == "compiled"
    kernel = compiled._compiled(text)
    assert (kernel.origin, written(kernel)) == ("disk", 5)


def test_files_of_other_users_are_not_loaded(own_cache, monkeypatch):
    text = text_that_writes(6)
    compiled._compiled(text)
    (file,) = own_cache.iterdir()
    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1, raising=False)
    assert compiled._compiled(text).origin == "compiled"


def test_code_that_calls_what_is_not_there_is_not_loaded(own_cache):
    target = llvm.Target.from_default_triple()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(
        "declare void @zyg_no()\ndefine void @f() {\n call void @zyg_no()\n ret void\n}"
    )
    stored.keep("f", target.create_target_machine().emit_object(module))
    assert stored.load("f") is None


def test_a_place_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path / "file" / "below"))
    kernel = compiled._compiled(text_that_writes(7))
    assert (kernel.origin, written(kernel)) == ("compiled", 7)


def test_a_full_disk_leaves_nothing_behind(own_cache, monkeypatch):
    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert written(compiled._compiled(text_that_writes(8))) == 8
    assert [*own_cache.iterdir()] == []


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    assert cache_directory() == str(tmp_path)
    monkeypatch.delenv("ZYG_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == str(tmp_path / "zyg")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where nobody knows home
    with pytest.raises(OSError, match="home"):
        cache_directory()
    stored.write("kernel", b"code")
    assert stored.read("kernel") is None


def test_threads_that_want_the_same_kernel_compile_it_once(own_cache):
    text = text_that_writes(17)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(kernel_of(text, loops=False))) for _ in "abc"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert len(found) == 3
    assert len({id(kernel) for kernel in found}) == 1


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # so that nothing can import it
import math, numpy as np, zyg

def kernel(x, y):
    while abs(y) > 1e-3:
        y = y * 0.5
    return math.asin(x) * y if x > 0 else math.sin(y)

@zyg.compile
def whole(x, n):
    s = np.zeros(3)
    for k in range(n):
        s = s * 0.5 + np.sin(x) * k
    return s.sum()

x = np.linspace(-1, 0.9, 99)
zyg.gradient(lambda x: (zyg.broadcast(kernel, x, x) * x).sum(), x)
zyg.broadcast(lambda n: n // 3, np.arange(5, dtype=np.uint64))
with zyg.config(accuracy="libm"):
    zyg.broadcast(kernel, x, x)
zyg.gradient(whole, x[:3], 4)
"""


def test_kernels_and_compiled_functions_run_without_numba(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_NUMBA)
    environment = {**os.environ, "ZYG_CACHE_DIR": str(tmp_path / "kernels")}
    for _ in range(2):  # compiled, and from disk
        command = [sys.executable, "-W", "error", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
