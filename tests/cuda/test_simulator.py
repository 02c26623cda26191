"""Kernels for the GPU in numba's simulator: in a process of its own, as numba decides at import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.slow
def test_kernels_run_in_the_simulator():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        [*command, str(FOLDER / "in_simulator.py")],
        env={**env, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
