"""The one table of calls: every function that has a rule, with what it is called with.

The files ``numpy_*.py`` and ``scipy_*.py`` hold tables `CALLS`, from functions to calls; `numbers`
those of functions of numbers, of operators and of methods; `points` what is special to a function.
"""

from importlib import import_module
from pathlib import Path


def files(library):
    """The tables of a library."""
    paths = sorted(Path(__file__).parent.glob(f"{library}_*.py"))
    return [import_module(f"tests.calls.{path.stem}").CALLS for path in paths]


NUMPY = {f: calls for table in files("numpy") for f, calls in table.items()}
# Drop-ins as they are in a gradient: elsewhere they are SciPy's, and round otherwise.
DROP_INS = {f: calls for table in files("scipy") for f, calls in table.items()}
SCIPY = {getattr(f, "inside", f): calls for f, calls in DROP_INS.items()}
