"""What compiling costs, against the size of a program: Python's calls while it is read and derived.

Each case is a program of n, 2 n and 4 n arguments, elements, statements, levels. The number of
Python's calls is the same in each run; the command prints seconds, too. They grow in proportion, as
docs/compiled.md says.
"""

import gc
import math
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import numpy as np

import zyg
from tests.modules import imported
from tests.searches.search import Search, main

MOST = 1.35  # the exponent


def lines(head, parts, result="s"):
    return "\n".join([head, *parts, f"    return {result}", ""])


def squares(n, of):
    return " + ".join(of.format(i) for i in range(n))


A, X = np.linspace(0.1, 1.0, 20), 0.3
# For a size the source of f, and its arguments; the least size.
PROGRAMS = {
    "elements of a list": (25, lambda n: (
        lines("def f(p):\n    s = 0.0", ["    for v in p:", "        s = s + v * v"]),
        ([0.1 * i for i in range(n)],))),
    "values of a dict": (20, lambda n: (
        lines("def f(p):\n    s = 0.0", ["    for v in p.values():", "        s = s + v * v"]),
        ({f"k{i}": 0.1 * i for i in range(n)},))),
    "elements of a tuple made inside": (20, lambda n: (
        f"def f(x):\n    return sum(({squares(n, 'x * {}.5').replace(' +', ',')},))\n", (X,))),
    "arguments": (10, lambda n: (
        f"def f({', '.join(f'x{i}' for i in range(n))}):\n    return {squares(n, 'x{0} * x{0}')}\n",
        tuple(0.1 * i for i in range(n)))),
    "statements": (50, lambda n: (
        lines("def f(x):\n    s = x", [f"    s = s * x + {i}.5" for i in range(n)]), (X,))),
    "ifs": (10, lambda n: (
        lines("def f(x):\n    s = x", [f"    if s > {i}.5:\n        s = s * x" for i in range(n)]),
        (X,))),
    "returns": (5, lambda n: (
        lines("def f(x):\n    s = x",
              [f"    if s > {i}.5:\n        return s * x\n    s = s + 1.0" for i in range(n)]),
        (X,))),
    "loops": (5, lambda n: (
        lines("def f(a):\n    s = 0.0", ["    for v in a:\n        s = s * v + 1.0"] * n), (A,))),
    "loops in loops": (2, lambda n: (
        lines("def f(a):\n    s = 0.0",
              [*("    " * (i + 1) + f"for v{i} in range(len(a) - 18):" for i in range(n)),
               "    " * (n + 1) + "s = s * 0.5 + 1.0"]), (A,))),
    "calls": (20, lambda n: (
        lines("def h(x):\n    return x * x + 1.0\n\n\ndef f(x):\n    s = x", ["    s = h(s)"] * n),
        (X,))),
    "calls in calls": (10, lambda n: (
        "def h0(x):\n    return x * x + 1.0\n"
        + "".join(f"def h{i + 1}(x):\n    return h{i}(x) * x\n" for i in range(n))
        + f"def f(x):\n    return h{n}(x)\n", (X,))),
    "generators": (5, lambda n: (
        lines("def f(x):\n    s = x", ["    s = sum(v * s for v in (x, 0.5))"] * n), (X,))),
    "anys": (5, lambda n: (
        lines("def f(a):\n    s = 0.0",
              ["    s = s + (1.0 if any(v > s for v in a) else 2.0)"] * n), (A,))),
    "comprehensions": (5, lambda n: (
        lines("def f(x):\n    s = x", ["    s = sum([v * s for v in (x, 0.5)])"] * n), (X,))),
    "expressions of arrays": (5, lambda n: (
        lines("import numpy as np\n\n\ndef f(x):\n    s = x", ["    s = np.sin(s) * x"] * n,
              "s.sum()"), (A,))),
    "tuples in tuples": (5, lambda n: (
        lines("def f(x):\n    s = x", [f"    t = {'(' * n}x{', 1.0)' * n}",
              "    for _ in range(20):\n        t, s = t, s + x"]), (X,))),
}  # fmt: skip
NAMES = [*PROGRAMS]
_folder = tempfile.TemporaryDirectory()
_files = count()


def calls_of(run):
    """How often Python functions are called."""
    calls = 0

    def noted(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    gc.disable()  # what it calls is at random
    sys.setprofile(noted)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls


def cost(name, n):
    """Python's calls for the value and for the gradient, and the seconds of both."""
    text, args = PROGRAMS[name][1](n)
    f = zyg.compile(imported(text, Path(_folder.name) / f"scaling{next(_files)}.py").f)
    begun = time.perf_counter()
    with zyg.config(fallback="error"):
        found = calls_of(lambda: f(*args)), calls_of(lambda: zyg.gradient(f, *args))
    return *found, time.perf_counter() - begun


def check(name):
    least = PROGRAMS[name][0]
    cost(name, 1)  # what is imported and made once
    rows = [cost(name, least * k) for k in (1, 2, 4)]
    grows = [math.log2(rows[2][k] / rows[1][k]) for k in (0, 1, 2)]
    said = f"{name} ({', '.join(str(least * k) for k in (1, 2, 4))}): " + ", ".join(
        f"{what} {' '.join(f'{row[k]:.4g}' for row in rows)} (grows by {grows[k]:.2f})"
        for k, what in enumerate(("value", "gradient", "seconds"))
    )
    assert max(grows[:2]) < MOST, said
    return said if __name__ == "__main__" else name


SEARCH = Search(NAMES.__getitem__, check, count=len(NAMES), gate=len(NAMES))

if __name__ == "__main__":
    main(SEARCH, __doc__)
