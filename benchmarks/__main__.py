"""Times, ratios and targets, in one run: ``python -m benchmarks [names...] [--json FILE]``.

Names are those of groups or of their parts; without any, all are run, in five to eight minutes.
``python -m benchmarks compare BEFORE.json AFTER.json`` prints what got slower between two runs;
``python -m benchmarks page`` makes docs/reference/benchmarks.md of docs/reference/benchmarks.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import zyg
from benchmarks import compare, page
from benchmarks.harness import Peers, Result, in_units, machine, measure

GROUPS = {
    "small": ("operations", "entries", "scalars", "small_arrays"),
    "programs": ("programs",),
    "compiled": ("compiled", "compiled_arrays", "compiled_in_threads"),
    "kernels": ("kernels", "kernel_layouts", "first_gradient"),
    "arrays": ("element_loop", "network", "mutation", "derivatives", "examples"),
    "tasks": ("tasks", "executors"),
    "bridges": ("bridges", "bridges_dask"),
    "dask": ("clusters",),
    "imports": ("imports", "adopt"),
    "ease": ("optimizers",),
    "mpi": ("ranks",),
}
PEERS = ("torch", "autograd", "jax", "optax", "numba")


def main() -> int:
    if sys.argv[1:2] == ["compare"]:
        return compare.main(sys.argv[2:])
    if sys.argv[1:2] == ["page"]:
        return page.main()
    options = _options()
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    peers = Peers([] if options.without_peers else PEERS)
    limits = {"seconds": 0.02, "sample": 1e-4} if options.quick else {"seconds": 3, "sample": 0.02}
    made_by = machine()
    results: list[Result] = []
    for name in options.names:
        for case in importlib.import_module(f"benchmarks.{name}").cases(peers, options.quick):
            console.print(f"measuring {name}: {case.title}", markup=False, highlight=False)
            results.append(measure(name, case, **limits))
            case.programs.clear()  # and with them go their arrays
    rows = [row for result in results for row in _rows(result, results, judged=not options.quick)]
    made_by |= {"zyg": zyg.__version__, "python": platform.python_version()}
    made_by |= {name: version(name) for name in ("numpy", *peers.modules)}
    if options.json:
        text = json.dumps({"made by": made_by, "rows": rows}, indent=1)
        options.json.write_text(text + "\n")
    console.print(_table(rows, made_by))
    if options.quick:
        console.print("targets are not judged at these tiny sizes")
    for line in _remarks(peers, results):
        console.print(line, markup=False, highlight=False)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    groups = "; ".join(f"{group}: {', '.join(parts)}" for group, parts in GROUPS.items())
    parser.add_argument("names", nargs="*", metavar="name", help=groups)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes: shows that it runs, no more"
    )
    parser.add_argument("--without-peers", action="store_true", help="zyg and NumPy only")
    options = parser.parse_args()
    known = {part: (part,) for parts in GROUPS.values() for part in parts} | GROUPS
    if unknown := set(options.names) - set(known):
        parser.error(f"no benchmark {min(unknown)!r}; there are {groups}")
    chosen = [part for name in options.names or GROUPS for part in known[name]]
    options.names = [*dict.fromkeys(chosen)]
    return options


def _rows(result: Result, results: list[Result], judged: bool) -> Iterator[dict[str, Any]]:
    """One row per program: its times, their ratios to zyg's, and its targets if it has any."""
    group = [r for r in results if r.group == result.group]
    for name, samples in result.samples.items():
        yield {
            "group": result.group,
            "case": result.case.title,
            "program": name,
            "seconds": result.time(name),
            "median": result.median(name),
            "ratio": result.time(name) / result.time("zyg"),
            "ratio of medians": result.median(name) / result.median("zyg"),
            "targets": [*_targets(result, name, group, judged)],
            "repeats": len(samples),
        }


def _targets(
    result: Result, program: str, group: list[Result], judged: bool
) -> Iterator[dict[str, Any]]:
    for target in result.case.targets:
        if target.program == program:
            figure = target.figure(result, group)
            yield {
                "text": target.text,
                "figure": figure,
                "shown": "" if figure is None else target.unit(figure),
                "reached": target.reached(figure) if judged else None,
            }


def _table(rows: list[dict[str, Any]], made_by: dict[str, Any]) -> Table:
    title = "one thread unless it says otherwise; the least, and the median, of turns\n"
    table = Table(
        title=title + ", ".join(f"{name} {value}" for name, value in made_by.items()),
        title_justify="left",
    )
    for column in ("benchmark", "program"):
        table.add_column(column, no_wrap=True)
    for column in ("least", "median", "to zyg's", "of medians"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("target", no_wrap=True)
    table.add_column("is", justify="right", no_wrap=True)
    verdicts = {True: "[green]{}", False: "[red]{}, short", None: "{}"}
    before = None
    for row in rows:
        name = escape(row["case"]) if row["case"] != before else ""
        if before is not None and name:
            table.add_section()
        first, *more = row["targets"] or [{"text": "", "shown": "", "reached": None}]
        figures = in_units(row["seconds"]), in_units(row["median"])
        ratios = f"{row['ratio']:.2f}", f"{row['ratio of medians']:.2f}"
        cells = [name, row["program"], *figures, *ratios]
        for target in (first, *more):
            is_ = verdicts[target["reached"]].format(target["shown"])
            table.add_row(*cells, target["text"], is_)
            cells = [""] * len(cells)
        before = row["case"]
    return table


def _remarks(peers: Peers, results: list[Result]) -> Iterator[str]:
    for name, reason in peers.skipped.items():
        yield f"{name} skipped: {reason}"
    for result in results:
        note = result.case.note
        if text := note(result) if callable(note) else note:
            yield f"{result.case.title}: {text}"


if __name__ == "__main__":
    sys.exit(main())
