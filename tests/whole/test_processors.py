"""The tests of what NumPy rounds, or gets wrong, by its processor: on a lesser one than this.

NumPy chooses its loops by the processor when it is imported; NPY_DISABLE_CPU_FEATURES forbids some.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).parents[2]
FOUND = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
WIDE = [name for name in FOUND if name == "X86_V4" or name.startswith("AVX512")]
FAST = ["tests/functions/test_ufunc_methods.py", "tests/core/test_rounding.py"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "paths"),
    [
        pytest.param(WIDE, [*FAST, "tests/core/test_programs.py"], id="without-AVX-512"),
        pytest.param(FOUND, FAST, id="without-any"),
    ],
)
def test_what_depends_on_the_processor_holds_on_a_lesser_one(features, paths):
    if not features:
        pytest.skip("this processor has no such features, or they are forbidden already")
    forbidden = " ".join([os.environ.get("NPY_DISABLE_CPU_FEATURES", ""), *features])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "addopts=--import-mode=importlib", *paths],
        cwd=ROOT,
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": forbidden.strip()},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
