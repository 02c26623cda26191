"""The time that ``import zyg`` takes in a fresh process, Python's own start included."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import WALL, Case, Peers, times_slower

# As installed: with bytecode that was compiled once, like NumPy's own.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def fresh(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, env=ENVIRONMENT)


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    yield Case(
        "python -c 'import zyg'",
        {"zyg": lambda: fresh("zyg"), "numpy": lambda: fresh("numpy")},
        targets=[times_slower("numpy", 1.2)],
        repeats=2 if quick else 15,
        clock=WALL,
    )
