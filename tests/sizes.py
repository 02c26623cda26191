"""Lines of Python in each package, docstrings included, and its budget: ``python -m tests.sizes``.

It fails where a package is larger than its budget. Whoever needs more lines says so here, in the
same commit; whoever takes lines away lowers the number.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUDGETS = {
    "zyg": 91425,
    "zyg/adoption": 1450,
    "zyg/base": 4135,
    "zyg/broadcasting": 1090,
    "zyg/compiler": 30505,
    "zyg/compiling": 4350,
    "zyg/core": 7130,
    "zyg/functions": 6070,
    "zyg/interop": 5770,
    "zyg/kernels": 1770,
    "zyg/numpy": 695,
    "zyg/optimize": 2205,
    "zyg/scipy": 15970,
    "zyg/sparsity": 980,
    "zyg/tasks": 620,
    "zyg/tools": 1490,
    "zyg/verbs": 3535,
    "zyg/watched": 2310,
    "zyg_cuda": 1680,
    "tests": 89260,
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
