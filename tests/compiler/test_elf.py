"""Object code is placed in memory as LLVM's linker would; what is unknown is left to that."""

import ctypes
import gc
import re
import struct
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import zyg
from zyg.compiler.back import elf, stored, target
from zyg.compiler.back.elf import Placed, Unplaced

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or target.processor()[0][:6] != "vendor", reason="x86-64 under Linux"
)
TEXT = """
@of_others = external global i64
@counter = global i64 41
@nothing = global [5 x i64] zeroinitializer
@table = constant [3 x double] [double 1.5, double 2.5, double 4.0]
@pointer = global ptr @counter
declare double @cos(double)
define internal double @inner(double %x) noinline {
  %y = call double @cos(double %x)
  %z = fmul double %y, 0.12345
  ret double %z
}
define double @f(double %x, i64 %k) {
  %at = getelementptr [3 x double], ptr @table, i64 0, i64 %k
  %y = load double, ptr %at
  %z = call double @inner(double %x)
  %sum = fadd double %y, %z
  %place = load ptr, ptr @pointer
  %n = load i64, ptr %place
  %m = add i64 %n, 1
  store i64 %m, ptr @counter
  %q = load i64, ptr @of_others
  %zero = load i64, ptr @nothing
  %both = add i64 %m, %q
  %all = add i64 %both, %zero
  %w = uitofp i64 %all to double
  %result = fadd double %sum, %w
  ret double %result
}
"""


def made(text=TEXT, reloc="pic", model="jitdefault"):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        reloc=reloc, codemodel=model, jit=model == "jitdefault"
    )
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    return machine.emit_object(module)


def others():
    x = ctypes.c_int64(100)
    return x, {"of_others": ctypes.addressof(x)}


def function(address):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(address)


def test_code_does_what_llvms_linker_has_it_do(monkeypatch):
    _held, addresses = others()
    code, found = made(), []
    for placed in (Placed, None):
        if placed is None:
            monkeypatch.setattr(stored, "Placed", refused)
        address, owner = stored.linked("f", code, addresses)
        assert (type(owner) is Placed) == (placed is not None)
        found.append([function(address)(x, k) for x in (0.3, -2.0) for k in range(3)])
    assert found[0] == found[1]
    assert found[0][:2] == [1.5 + np.cos(0.3) * 0.12345 + 142, 2.5 + np.cos(0.3) * 0.12345 + 143]


def refused(*_):
    raise Unplaced


def protections(address):
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last, how = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
        if int(first, 16) <= address < int(last, 16):
            return how
    return None


def test_what_runs_is_not_written_to_and_goes_with_its_owner():
    _held, addresses = others()
    placed = Placed(made(), addresses)
    f, counter = placed.known["f"], placed.known["counter"]
    assert (protections(f), protections(counter)) == ("r-xp", "rw-p")
    del placed
    gc.collect()
    assert protections(f) != "r-xp"


def test_what_the_process_does_not_have_is_not_placed():
    with pytest.raises(Unplaced):
        Placed(made(), {})


@pytest.mark.parametrize("model", ["small", "medium"])
def test_ways_that_are_not_known_are_left_to_llvm(model):
    _held, addresses = others()
    code = made(model=model)
    if model == "small":
        with pytest.raises(Unplaced):
            Placed(code, addresses)
    address, _owner = stored.linked("f", code, addresses)
    assert function(address)(0.0, 0) == 1.5 + 0.12345 + 142


def test_sections_that_are_not_known_are_left_to_llvm():
    with pytest.raises(Unplaced):
        Placed(made(TEXT + "@mine = thread_local global i64 3"), others()[1])


def test_elsewhere_all_is_left_to_llvm(monkeypatch):
    monkeypatch.setattr(elf.sys, "platform", "darwin")
    with pytest.raises(Unplaced):
        Placed(made(), others()[1])


def test_where_pages_may_not_run_llvm_says_so(monkeypatch):
    _held, addresses = others()
    monkeypatch.setattr(elf.mmap, "PROT_EXEC", 1 << 20)  # no protection
    with pytest.raises(Unplaced):
        Placed(made(), addresses)


def test_every_relocation_of_compiled_programs_is_known(monkeypatch):
    seen, known = [], Placed

    def placed(code, addresses):
        seen.append(known(code, addresses))
        return seen[-1]

    monkeypatch.setattr(stored, "Placed", placed)
    monkeypatch.setattr(stored, "_linker", lambda: pytest.fail("left to LLVM"))

    def f(x, a, n):
        total, q = 0.0, np.zeros(4)
        for k in range(n):
            q = q + np.exp(x[k % len(x)]) * np.sin(a @ a)[0, 0]
            total = total + np.hypot(q[0], x[0]) ** 1.5 if total < 9 else 0.25
        return total + np.linalg.det(a)

    args = np.array([0.1, 0.7]), np.array([[0.3, 0.2], [0.1, 0.5]]), 7
    expected = zyg.gradient(f, *args)
    for a, b in zip(zyg.gradient(zyg.compile(f), *args)[:2], expected[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert seen


def test_the_processor_is_llvms_where_the_system_does_not_tell(monkeypatch):
    asked = target.processor.__wrapped__
    told = asked()
    assert [line.partition("\t")[0] for line in told[:-1]] == [*target._TELLING]
    monkeypatch.setattr("builtins.open", lambda *_: (_ for _ in ()).throw(OSError))
    name, features = asked()[1:]
    assert name == llvm.get_host_cpu_name()
    assert features == llvm.get_host_cpu_features().flatten()


@pytest.mark.slow
def test_from_disk_no_llvm_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path / "cache"))
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, zyg\n@zyg.compile\ndef f(x, n):\n    y = 1.0\n    for _ in range(n):\n"
        "        y *= x\n    return y\n"
        "print(f(3.0, 3), zyg.gradient(f, 3.0, 3), 'llvmlite.binding' in sys.modules)\n"
    )
    for llvms in ("True", "False"):
        said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        assert said.stdout.split() == ["27.0", "(27.0,", "None)", llvms]


def test_no_file_of_another_form_is_read():
    for damaged in (b"", b"\x7fELF", made()[:200], struct.pack("<64s", b"\x7fELF")):
        with pytest.raises((Unplaced, struct.error, ValueError, IndexError)):
            Placed(damaged, {})
