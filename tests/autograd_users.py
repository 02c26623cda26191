"""autograd's own tests, and those of libraries built on it, with `zyg.autograd` in its place.

``python -m tests.autograd_users``, in an environment of its own with ``pip install -e
'.[autograd-users]'``. Each suite comes from the source distribution of the version that is
installed, and runs with autograd, and with zyg's. Names of libraries take those; ``-v`` says why a
test fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest


class Suite(NamedTuple):
    """Where a library has its tests, which of them import what else, and their conftest, too."""

    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    conftest: bool = True


SUITES = {
    "autograd": Suite(("tests",)),
    "pymanopt": Suite(  # whose other backends are TensorFlow, PyTorch and JAX
        ("tests",),
        (
            "tests/backends/test_jax.py", "tests/backends/test_pytorch.py",
            "tests/backends/test_tensorflow.py", "tests/test_examples.py", "tests/test_problem.py",
        ),
        conftest=False,
    ),
    "mici": Suite(("tests/test_autodiff.py",)),
    "surpyval": Suite(("surpyval/tests/utils", "surpyval/tests/test_planning")),
}  # fmt: skip
# What zyg answers otherwise, and why.
OTHERWISE = {
    "test_rfftn_odd_not_implemented": "zyg differentiates what autograd refuses",
    "test_assignment_raises_error": "zyg follows writes into arrays",
    "test_cast_to_int": "np.int64(x) of a watched array is refused; x.astype(int) is not",
    "test_pinv": "it calls private functions of autograd's linalg",
    "test_const_graph": "zyg keeps no graph between calls: it runs the function again",
    "test_const_graph_args": "the same",
    "test_deprecated_defgrad_wrapper": "what autograd deprecates, zyg has not",
    "test_deprecated_defvjp_wrapper": "the same",
    "test_deprecated_defvjp_is_zero_wrapper": "the same",
    "test_wrapped_name_and_docs": "the documentation is zyg's own",
}
MODES = ("autograd", "zyg")


class Judge:
    """A plugin of pytest: seeds each test, and writes down what came out."""

    def __init__(self, file):
        self.file = file

    @pytest.fixture(autouse=True)
    def _seeded(self):
        random.seed(42)
        np.random.seed(42)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            text = str(report.longrepr).strip().splitlines()[-8:] if report.failed else []
            found = {report.nodeid: [report.outcome, " | ".join(text)]}
            print(json.dumps(found), file=self.file, flush=True)


def run(mode, name, folder, path):
    """The tests of a library, unpacked in a folder, in this process."""
    if mode == "zyg":
        import zyg.autograd

        zyg.autograd.install()
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(folder)
    suite = SUITES[name]
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "-c", os.devnull]
    options += ["--rootdir", ".", *(f"--ignore={place}" for place in suite.without)]
    options += ["--continue-on-collection-errors", *["--noconftest"] * (not suite.conftest)]
    with open(path, "w") as file:
        pytest.main([*options, *suite.tests], plugins=[Judge(file)])


def unpacked(name, folder):
    """The source distribution of the version that is installed."""
    what = f"{name}=={version(name)}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "-d", folder, what], check=True)
    (archive,) = Path(folder).glob(f"{name}-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return archive.with_suffix("").with_suffix("")


def outcomes(mode, name, folder):
    """What came out of each test, in a process of its own, which knows no `tests` of ours."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "outcomes")
        command = [
            sys.executable,
            "-P",
            __file__,
            "--mode",
            mode,
            "--to",
            path,
        ]  # no `tests` of ours
        subprocess.run(
            [*command, "--folder", folder, name], stdout=subprocess.DEVNULL, check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )  # fmt: skip
        rows = Path(path).read_text().splitlines()
        return {test: row for line in rows for test, row in json.loads(line).items()}


def judged(name):
    """How many tests of a library pass with autograd; which of these do not with zyg's, and why."""
    with tempfile.TemporaryDirectory() as folder:
        where = unpacked(name, folder)
        found = {mode: outcomes(mode, name, str(where)) for mode in MODES}
    passed = [test for test, (outcome, _) in found["autograd"].items() if outcome == "passed"]
    missing = ["missing", ""]
    failed = {t: found["zyg"].get(t, missing) for t in passed}
    return len(passed), {t: row[1] for t, row in failed.items() if row[0] != "passed"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", default=[], choices=[[], *SUITES])
    parser.add_argument("-v", "--verbose", action="store_true")
    for option in ("--mode", "--to", "--folder"):
        parser.add_argument(option, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mode:
        run(given.mode, given.libraries[0], given.folder, given.to)
        return 0
    unexpected = 0
    print(f"{'passed of those that pass with autograd':48}{'zyg':>9}{'of':>7}", flush=True)
    for name in given.libraries or SUITES:
        passed, failed = judged(name)
        unexpected += not passed  # autograd's own run has found nothing to compare with
        print(f"{name + ' ' + version(name):48}{passed - len(failed):9}{passed:7}", flush=True)
        for test, text in failed.items():
            why = OTHERWISE.get(test.partition("::")[2])
            unexpected += why is None
            print(f"    {test}: {why or 'fails'}" + f"\n        {text}" * given.verbose)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
