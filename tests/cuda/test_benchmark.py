"""The benchmark of the GPU runs from end to end in the simulator, at tiny sizes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_benchmark_runs_and_draws_its_figures(tmp_path):
    file, figures = tmp_path / "rows.json", tmp_path / "figures"
    command = [sys.executable, "-m", "benchmarks.gpu_hmlstm", "--dry-run", "--json", str(file)]
    done = subprocess.run(
        [*command, "--plot", str(figures)], cwd=ROOT, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.read_text())["rows"]
    ran = {(row["contestant"], row["call"]) for row in rows if "missing" not in row}
    assert {call for name, call in ran if name == "zyg"} == {
        "value", "forward", "products", "pullback", "one pass",
    }  # fmt: skip
    assert ("numba by hand", "one pass") in ran
    assert all(row["missing"] for row in rows if "missing" in row)
    assert {row["arity"] for row in rows if row["group"] == "arity"} == {1, 2, 3}
    assert len([*figures.iterdir()]) == 3
