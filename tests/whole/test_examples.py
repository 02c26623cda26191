"""Every example runs as its reader runs it, and the assert that it ends in holds."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What is imported by another name than it is installed by.
DISTRIBUTIONS = {"PIL": "pillow", "colour": "colour-science", "sklearn": "scikit-learn"}
# Those that an example differentiates, or is differentiated by.
LIBRARIES = {
    "camera": "colour",
    "orbit": "sgp4",
    "data_larger_than_memory": "array_api_compat",
    "mpi_digits": "mpi4py",
    "mpi_heat": "mpi4py",
    "ray_folds": "ray",
    "torch_in_numpy": "torch",
    "numpy_in_torch": "torch",
    "units_and_labels": "xarray",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_its_assert_holds(path):
    if (library := LIBRARIES.get(path.stem)) and find_spec(library) is None:
        pytest.skip(f"{library} is not installed; .ci/run runs this where it is")
    command, without_windows = [sys.executable, path], os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=1800, env=without_windows
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples():
    assert EXAMPLES


def installed_by(extra):
    """The names of all that an extra installs for itself, in small letters."""
    found = set()
    for asked in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", asked).groups()
        if name == "zyg":
            found |= set().union(*map(installed_by, inner.split(",")))
        else:
            found |= {name.lower(), *(inner or "").split(",")}
    return found


def needed(path):
    """The names by which all that an example imports is installed."""
    tree = ast.parse(path.read_text())
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "zyg"}
    found = {DISTRIBUTIONS.get(top, top) for top in tops}
    if any(name.startswith(("zyg.scipy", "zyg.optimize")) for name in names):
        found.add("scipy")
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_extra_installs_what_an_example_imports(path):
    (extra,) = re.findall(r"^    pip install -e '\.\[([\w-]+)\]' && python", path.read_text(), re.M)
    assert needed(path) <= installed_by(extra)
    assert needed(path) <= installed_by("examples-all")


def test_one_extra_installs_what_all_examples_need():
    named = {re.search(r"\.\[([\w-]+)\]", path.read_text())[1] for path in EXAMPLES}
    assert named > {"examples", "libraries"}
    for extra in named:
        assert installed_by(extra) <= installed_by("examples-all")
    assert "jupyterlab" in installed_by("examples-all")  # for the notebook
    assert set(LIBRARIES.values()) - {"colour", "array_api_compat"} <= installed_by("examples-all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_it_needs_and_how_long_it_takes(path):
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert "pip install -e '.[" in text
    assert f"python examples/{path.name}" in text
    assert re.search(r"\b[Tt]akes .*(second|minute)", text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_the_form_of_the_gallery(path):
    text = path.read_text()
    title, line, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert line == "=" * len(title)
    assert "import matplotlib.pyplot as plt" in text  # whose pictures the gallery finds
    for heading, below in re.findall(r"^# %%\n# (.+)\n# (-+)$", text, re.M):
        assert len(heading) == len(below)
