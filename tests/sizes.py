"""Lines of Python in each package, docstrings included, and its budget: ``python -m tests.sizes``.

It fails where a package is larger than its budget. Whoever needs more lines says so here, in the
same commit; whoever takes lines away lowers the number.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUDGETS = {
    "zyg": 97385,
    "zyg/adoption": 1480,
    "zyg/autograd": 1800,
    "zyg/base": 4160,
    "zyg/broadcasting": 1090,
    "zyg/compiler": 30525,
    "zyg/compiling": 4350,
    "zyg/core": 7195,
    "zyg/functions": 6095,
    "zyg/interop": 5780,
    "zyg/kernels": 1770,
    "zyg/numpy": 695,
    "zyg/optimize": 2220,
    "zyg/ranks": 2885,
    "zyg/scipy": 16415,
    "zyg/sparsity": 980,
    "zyg/tasks": 960,
    "zyg/tools": 1490,
    "zyg/verbs": 3550,
    "zyg/watched": 2330,
    "zyg_cuda": 1680,
    "tests": 94060,
}


def lines(folder):
    return sum(len(path.read_text().splitlines()) for path in (ROOT / folder).rglob("*.py"))


def main():
    print(f"{'package':20}{'lines':>8}{'budget':>8}")
    over = False
    for folder, budget in BUDGETS.items():
        found = lines(folder)
        print(f"{folder:20}{found:8}{budget:8}{'  over' if found > budget else ''}")
        over |= found > budget
    sys.exit(over)


if __name__ == "__main__":
    main()
