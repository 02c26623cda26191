"""Modules made of texts, which are there to be read."""

import importlib.util
import itertools
import tempfile
from pathlib import Path

_folder = tempfile.TemporaryDirectory()
_numbers = itertools.count()


def imported(text, path=None, **names):
    """A module of a text, with names that it has from the start; in a new file, if none is said."""
    path = path or Path(_folder.name) / f"written_{next(_numbers)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(names)
    spec.loader.exec_module(module)
    return module


def function(text, name="f"):
    return getattr(imported(text), name)
