"""Notebooks in `examples/` run from top to bottom, and show what is stored in them."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def shown(notebook):
    """What each cell shows as text or raises, but for pictures and tables, which name files."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    return [
        out.get("ename") or out.data["text/plain"]
        for out in outputs
        if "text/html" not in out.get("data", {}) and "image/png" not in out.get("data", {})
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path):
    stored = nbformat.read(path, as_version=4)
    ran = nbformat.read(path, as_version=4)
    NotebookClient(ran, timeout=300, kernel_name="python3").execute()

    assert len(shown(ran)) > 3
    assert shown(ran) == shown(stored)


def test_there_are_notebooks():
    assert NOTEBOOKS
