"""A program's source: where a line is, in a file or in a cell of a notebook; reading it again."""

from __future__ import annotations

import re
import sys
import warnings


def spot(file: str, line: int) -> str:
    """``file:line``; in a notebook ``cell 3, line 2``."""
    number = _cell(file)
    return f"cell {number}, line {line}" if number else f"{file}:{line}"


def _cell(file: str) -> str:
    """The number of the cell that IPython compiled under the name of a file, if it is one."""
    shells = getattr(sys.modules.get("IPython.core.interactiveshell"), "InteractiveShell", None)
    if shells is None or not shells.initialized():
        return ""
    named = getattr(shells.instance().compile, "format_code_name", lambda file: None)(file)
    found = re.search(r"\d+", named[1]) if named else None  # ("Cell", "In[3]")
    return found[0] if found else ""


def read_again() -> warnings.catch_warnings:
    """For what compiles source that Python has compiled before, and has warned of then."""
    return warnings.catch_warnings(action="ignore")
