"""``python -m benchmarks [names...] [--json FILE]``: a table of times, ratios and targets."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.harness import Peers, Result, in_units, measure

NAMES = (
    "scalars", "small_arrays", "element_loop", "network", "mutation", "derivatives", "tasks",
    "imports", "adopt", "kernels",
)  # fmt: skip
PEERS = ("torch", "autograd", "jax")


def main() -> None:
    options = _options()
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    peers = Peers([] if options.without_peers else PEERS)
    limits = {"seconds": 0.2, "sample": 1e-4} if options.quick else {"seconds": 20, "sample": 0.02}
    results: list[Result] = []
    for name in options.names or NAMES:
        for case in importlib.import_module(f"benchmarks.{name}").cases(peers, options.quick):
            console.print(f"measuring {name}: {case.title}", markup=False, highlight=False)
            results.append(measure(name, case, **limits))
            case.programs.clear()  # and with them go their arrays
    rows = [row for result in results for row in _rows(result, results, judged=not options.quick)]
    console.print(_table(rows))
    if options.quick:
        console.print("targets are not judged at these tiny sizes")
    for name, reason in peers.skipped.items():
        console.print(f"{name} skipped: {reason}", highlight=False)
    for result in results:
        note = result.case.note
        if text := note(result) if callable(note) else note:
            console.print(f"{result.case.title}: {text}", markup=False, highlight=False)
    if options.json:
        made_by = {name: version(name) for name in ("zyg", "numpy", *peers.modules)}
        made_by["python"], made_by["machine"] = platform.python_version(), platform.machine()
        text = json.dumps({"made by": made_by, "rows": rows}, indent=1)
        options.json.write_text(text + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(NAMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes: shows that it runs, no more"
    )
    parser.add_argument("--without-peers", action="store_true", help="zyg and NumPy only")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no benchmark {min(unknown)!r}; there are: {', '.join(NAMES)}")
    return options


def _rows(result: Result, results: list[Result], judged: bool) -> Iterator[dict[str, Any]]:
    """One row per program: its time, the ratio to zyg's, and its target if it has one."""
    group = [r for r in results if r.group == result.group]
    for name in result.samples:
        target = next((t for t in result.case.targets if t.program == name), None)
        yield {
            "group": result.group,
            "case": result.case.title,
            "program": name,
            "seconds": result.time(name),
            "ratio": result.time(name) / result.time("zyg"),
            "target": target and target.text,
            "reached": target.reached(result, group) if target and judged else None,
            "repeats": len(result.samples[name]),
        }


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title="one thread unless it says otherwise; medians of interleaved repeats",
        title_justify="left",
    )
    for column in ("benchmark", "program"):
        table.add_column(column, no_wrap=True)
    for column in ("per operation", "ratio to zyg"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("target", ""):
        table.add_column(column, no_wrap=True)
    verdicts = {True: "[green]reached", False: "[red]fell short", None: ""}
    before = None
    for row in rows:
        title = escape(row["case"]) if row["case"] != before else ""
        if before is not None and title:
            table.add_section()
        time, ratio = in_units(row["seconds"]), f"{row['ratio']:.2f}"
        table.add_row(title, row["program"], time, ratio, row["target"], verdicts[row["reached"]])
        before = row["case"]
    return table


if __name__ == "__main__":
    main()
