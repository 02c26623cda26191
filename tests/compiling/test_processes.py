"""What a process of its own shows: what is imported, and how much memory a tape takes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRADIENT = """
import sys, math, numpy as np, zyg

def f(xs):
    total = 0.0
    for x in xs:
        total += math.sin(x)
    return total

slopes = zyg.gradient(zyg.compile(f), np.zeros(3))
assert np.all(slopes[0] == 1.0), slopes
print("numba" in sys.modules)
"""
TAPE = r"""
import math, re, zyg

def most():  # of the process's memory; what getrusage counts begins at its parent's
    return int(re.search(r'VmHWM:\s*(\d+)', open('/proc/self/status').read())[1])

def f(x, n):
    for _ in range(n):
        x = math.sin(x)
    return x

zyg.config(compile="whole")  # so that LLVM's memory is not counted
compiled = zyg.compile(f, wrt=(0,))
zyg.gradient(compiled, 0.5, 2)
zyg.gradient(compiled, 0.5, 2)
before = most()
zyg.gradient(compiled, 0.5, 2_000_000)
print((most() - before) / 1024)
"""


def said(program, cache):
    file = cache / "program.py"  # as what has no source is traced
    file.write_text(program)
    environment = {**os.environ, "ZYG_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "error", str(file)], env=environment, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip()


@pytest.mark.slow
def test_numba_is_not_imported_by_the_first_process_nor_the_second(tmp_path):
    assert [said(GRADIENT, tmp_path) for _ in range(2)] == ["False", "False"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell it in other ways")
def test_a_kept_float_of_each_round_takes_eight_bytes(tmp_path):
    megabytes = float(said(TAPE, tmp_path))
    assert 14 < megabytes < 17.5, megabytes  # of 2^20 bytes; the tape has 15.3
