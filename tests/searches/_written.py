"""Functions made of texts, which the compiler can read."""

import importlib.util
import itertools
import tempfile
from pathlib import Path

_folder = tempfile.TemporaryDirectory()
_numbers = itertools.count()


def function(text, name="f"):
    """A function of a module that is written to a file and imported."""
    path = Path(_folder.name) / f"program_{next(_numbers)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)
