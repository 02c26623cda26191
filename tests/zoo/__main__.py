"""``python -m tests.zoo``: libraries that were not written for zyg, with and without `zyg.adopt`.

``pip install -e '.[zoo]'`` first, in an environment of its own. Each library runs in a process of
its own, with a time limit. ``--write`` makes docs/libraries.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from math import inf
from statistics import median
from typing import Any

from .case import Library, libraries
from .judge import RIGHT, UNJUDGED, WRONG
from .page import PAGE, WAYS, cause, counted, page, rights, table, totals

SECONDS = 120  # of one library, which may compile kernels of its own


def main() -> int:
    options = _options()
    chosen = [lib for lib in libraries().values() if _wanted(lib, options)]
    ways = ("primal",) if options.primal else WAYS
    with ThreadPoolExecutor(1 if options.primal else options.jobs) as pool:
        jobs = [*product(chosen, ways)]
        found = pool.map(lambda job: _run(*job, options.sweep), jobs)
        results = {(lib.name, way): rows for (lib, way), rows in zip(jobs, found, strict=True)}
    if options.primal:
        return _print_primals(results)
    print(table(chosen, results))
    print(totals(results))
    for (name, way), rows in results.items():
        for row in rows:
            if row["outcome"] != RIGHT:
                said = row["message"] if options.library else cause(row["message"])
                print(f"{name}.{row['case']} ({way}): {row['outcome']}: {said}")
    if options.write:
        PAGE.write_text(page(chosen, results))
    bad = counted(results, WRONG) + counted(results, UNJUDGED) + _print_sweep(results)
    fewer = _print_fewer(chosen, results) if options.gate else 0
    return 1 if bad or fewer else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("--library", action="append", metavar="NAME", help="of these only")
    parser.add_argument("--gate", action="store_true", help="the few that the gate runs")
    parser.add_argument("--sweep", type=int, default=0, metavar="N", help="N random arguments each")
    parser.add_argument("--primal", action="store_true", help="bits and times outside a gradient")
    parser.add_argument("--write", action="store_true", help=f"make {PAGE.name}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    return parser.parse_args()


def _wanted(library: Library, options: argparse.Namespace) -> bool:
    if options.library and library.name not in options.library:
        return False
    if options.gate and not library.gate:
        return False
    try:
        version(library.name)
    except PackageNotFoundError:
        print(f"{library.name} is not installed: left out")
        return False
    return True


def _run(library: Library, way: str, sweep: int) -> list[dict[str, Any]]:
    """The rows that a process of its own writes; what it did not come to has no row."""
    with tempfile.NamedTemporaryFile("r") as file:
        command = [sys.executable, "-m", "tests.zoo.worker", library.name, way, str(sweep)]
        process = subprocess.Popen(
            [*command, file.name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            said = process.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            said = f"took longer than {SECONDS} s"
        rows = [json.loads(line) for line in file]
    print(f"{library.name}, {way}", file=sys.stderr, flush=True)
    last = (said.strip().splitlines() or [""])[-1]
    missing = {"outcome": "other exception", "message": f"process: {last}"}
    return rows + [{"case": case.name, **missing} for case in library.cases[len(rows) :]]


def _print_primals(results: dict[tuple[str, str], list[dict[str, Any]]]) -> int:
    """The ratio of each case; how many are not the same bits."""
    rows = [(name, row) for (name, _), rows in results.items() for row in rows]
    for name, row in sorted(rows, key=lambda pair: pair[1].get("ratio", 0)):
        bits = "" if row.get("same") else "   NOT THE SAME"
        message = row.get("message", "").partition("\n")[0]
        print(f"{row.get('ratio', 0):8.3f}  {name}.{row['case']}{bits}   {message}")
    print(f"{median(row.get('ratio', inf) for _, row in rows):8.3f}  the median")
    return sum(not row.get("same") for _, row in rows)


def _print_sweep(results: dict[tuple[str, str], list[dict[str, Any]]]) -> int:
    """How many random arguments gave what; the number of those that were wrong in silence."""
    wrong, counts = 0, dict[str, int]()
    for (name, way), rows in results.items():
        for row in rows:
            for verdict in row.get("swept", ()):
                outcome = verdict["outcome"]
                counts[outcome] = counts.get(outcome, 0) + 1
                if outcome == WRONG:
                    wrong += 1
                    print(f"{name}.{row['case']} ({way}), swept: {verdict['message']}")
    if counts:
        print("swept:", ", ".join(f"{n} {outcome}" for outcome, n in counts.items()))
    return wrong


def _print_fewer(
    chosen: list[Library], results: dict[tuple[str, str], list[dict[str, Any]]]
) -> int:
    """The libraries of which fewer cases are right than the page says."""
    fewer = 0
    for lib in chosen:
        said = rights(PAGE.read_text(), lib.name)
        now = tuple(sum(row["outcome"] == RIGHT for row in results[lib.name, way]) for way in WAYS)
        if any(a < b for a, b in zip(now, said, strict=True)):
            print(f"{lib.name}: {PAGE.name} says {said} right, without and with adopt; now {now}")
            fewer += 1
    return fewer


if __name__ == "__main__":
    sys.exit(main())
