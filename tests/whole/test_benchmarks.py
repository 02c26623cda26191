"""The benchmarks run at tiny sizes and write what they measured; no test asserts a time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)


@pytest.mark.slow
def test_all_benchmarks_run_without_peers_and_write_json(tmp_path):
    file = tmp_path / "results.json"
    done = run("-m", "benchmarks", "--quick", "--without-peers", "--json", file)

    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.read_text())["rows"]
    groups = {row["group"] for row in rows}
    assert groups == {
        "scalars", "small_arrays", "element_loop", "network", "mutation", "derivatives", "tasks",
        "imports", "kernels", "adopt",
    }  # fmt: skip
    assert {row["program"] for row in rows} >= {"zyg", "numpy", "unprotected", "trio", "sequential"}
    assert not {row["program"] for row in rows} & {"torch", "autograd", "jax"}
    assert all(row["seconds"] > 0 for row in rows)
    assert "torch skipped" in done.stdout


@pytest.mark.slow
def test_programs_whose_gradients_differ_are_not_timed():
    done = run(
        "-c",
        "from benchmarks.harness import Case, measure\n"
        "case = Case('two programs', {'zyg': lambda: 1.0, 'other': lambda: 1.1})\n"
        "measure('group', case, seconds=0.1, sample=1e-4)",
    )

    assert done.returncode == 1
    assert "two programs: the gradients of other and zyg differ" in done.stderr
