"""A call as a program: the text of a function of the numbers and arrays that it is given.

All engines run the same text: as it stands, with the drop-in namespaces, adopted, compiled.
"""

import cmath
import importlib.util
import itertools
import math
import operator
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..programs.values import is_complex, is_real

HEAD = "import cmath\nimport math\nimport operator\n\nimport numpy as np\n"
NAMESPACES = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "math": math, "cmath": cmath,
    "operator": operator,
}  # fmt: skip
NAMES = {
    id(f): f"{space}.{name}"
    for space, module in reversed(NAMESPACES.items())
    for name, f in vars(module).items()
    if callable(f) and not name.startswith("_")
} | {id(f): f.__name__ for f in (abs, divmod, float, max, min, round)}
LITERALS = (type(None), bool, int, float, str)
_COUNT = itertools.count()
_PROGRAMS: dict[Any, Any] = {}  # by text: calls of other arrays are the same program


def moves(x):
    """Whether derivatives by a leaf are taken."""
    return is_real(x) or is_complex(x)


@dataclass(eq=False)
class Program:
    """The text of a function, and what its names that are no parameters mean."""

    text: str
    count: int  # of parameters
    names: tuple[tuple[str, Any], ...]

    def module(self, folder, head=HEAD):
        """A module of the text, which can be imported and read."""
        name = f"calls_{next(_COUNT)}"
        path = folder / f"{name}.py"
        params = ", ".join(f"x{k}" for k in range(self.count))
        path.write_text(f"{head}\n\ndef f({params}):\n    return {self.text}\n")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        vars(module).update(self.names)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module


class Text:
    """Writes a call, and collects its leaves."""

    def __init__(self):
        self.leaves, self.by_keyword, self.names = [], set(), {}

    def of(self, x, keyword=False):
        if isinstance(x, np.ndarray) or is_complex(x) or (moves(x) and not keyword):
            if keyword:
                self.by_keyword.add(len(self.leaves))
            self.leaves.append(x)
            return f"x{len(self.leaves) - 1}"
        if type(x) in (list, tuple):
            parts = ", ".join(self.of(v, keyword) for v in x)
            return f"[{parts}]" if type(x) is list else f"({parts}{',' * (len(x) == 1)})"
        if type(x) in LITERALS and repr(x) not in ("inf", "-inf", "nan"):
            return repr(x)
        if isinstance(x, float):
            return f"float({str(x)!r})"
        if isinstance(x, slice):
            return f"slice({self.of(x.start)}, {self.of(x.stop)}, {self.of(x.step)})"
        return self.named(x)

    def named(self, x):
        if id(x) in NAMES:
            return NAMES[id(x)]
        name = f"c{len(self.names)}"
        self.names[name] = x
        return name


def written(f, c):
    """The program of a call of a function, or of a method by its name, and its leaves."""
    text = Text()
    if isinstance(f, str):
        head = f"{text.of(c.args[0])}.{f}"
        args = [text.of(x) for x in c.args[1:]]
    else:
        head, args = text.named(f), [text.of(x) for x in c.args]
    args += [f"{k}={text.of(v, True)}" for k, v in c.kwargs.items()]
    said = f"{head}({', '.join(args)})"
    key = (said, len(text.leaves), *map(id, text.names.values()))
    made = _PROGRAMS.setdefault(key, Program(said, len(text.leaves), tuple(text.names.items())))
    return made, text.leaves, text.by_keyword


def of_text(text, count):
    """The program of an expression of so many leaves: x0, x1 ..."""
    return _PROGRAMS.setdefault((text, count), Program(text, count, ()))
