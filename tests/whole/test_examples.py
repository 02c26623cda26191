"""Every example runs as its reader runs it, and the assert that it ends in holds."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
# Those that an example differentiates, or is differentiated by.
LIBRARIES = {
    "camera": "colour",
    "orbit": "sgp4",
    "data_larger_than_memory": "array_api_compat",
    "torch_in_numpy": "torch",
    "numpy_in_torch": "torch",
    "units_and_labels": "xarray",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_its_assert_holds(path):
    if (library := LIBRARIES.get(path.stem)) and find_spec(library) is None:
        pytest.skip(f"{library} is not installed; .ci/run runs this where it is")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=1800)

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples():
    assert EXAMPLES
