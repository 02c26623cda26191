"""``python -m zyg script.py [arguments]``: a script whose numpy, math and SciPy are zyg's.

The script runs as ``__main__``, adopted before its first line; the modules beside it, in its folder
and in the folders in there, are adopted when they are imported.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import sys
from types import ModuleType
from typing import Any

from zyg.adoption.spaces import Target, names_of
from zyg.adoption.verbs import Adoption
from zyg.base.config import setting


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0].startswith("-"):
        raise SystemExit("usage: python -m zyg script.py [arguments]")
    path = os.path.abspath(arguments[0])
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        raise SystemExit(f"python -m zyg cannot read {arguments[0]}: {error.strerror}") from None
    folder = os.path.dirname(os.path.realpath(path))
    sys.argv[:] = arguments
    if not sys.flags.safe_path:
        sys.path[0] = folder
    script = sys.modules["__main__"] = ModuleType("__main__")
    names = names_of(script)
    names.update(__file__=path, __builtins__=builtins)
    Adoption([Target("__main__", names, folder, growing=True)]).ask()
    sys.excepthook = functools.partial(_tell, path)
    exec(compile(source, path, "exec", dont_inherit=True), names)


def _tell(path: str, kind: type[BaseException], error: BaseException, came: Any) -> None:
    """Print the exception that ends a script as Python does, from the script's first line on."""
    if not setting("full_tracebacks"):
        while came is not None and came.tb_frame.f_code.co_filename != path:
            came = came.tb_next
    sys.__excepthook__(kind, error.with_traceback(came), came)


if __name__ == "__main__":
    main(sys.argv[1:])
