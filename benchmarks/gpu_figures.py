"""Figures of ``benchmarks.gpu_hmlstm``, drawn from its JSON alone.

1: time of each contestant over that of zyg, by size. 2: time by number of arguments, beside what
the bandwidth allows. 3: registers and occupancy by number of arguments.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def draw(file: Path, folder: Path) -> None:
    """Write the three figures as SVG into a folder."""
    import matplotlib

    matplotlib.use("svg")
    rows = [row for row in json.loads(file.read_text())["rows"] if "missing" not in row]
    folder.mkdir(parents=True, exist_ok=True)
    cell = [row for row in rows if row["group"] == "cell" and row["controls"] == "random"]
    arity = [row for row in rows if row["group"] == "arity"]
    for name, figure in (
        ("speedups", speedups(cell)),
        ("arity", by_arity(arity)),
        ("occupancy", occupancy(arity)),
    ):
        figure.savefig(folder / f"gpu_{name}.svg")


def seconds(row: dict[str, Any]) -> float:
    return float(row.get("device", row["wall"])["median"])


def _axes(title: str, x: str, y: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(title=title, xlabel=x, ylabel=y)
    return figure, axes


def speedups(rows: list[dict[str, Any]]) -> Any:
    figure, axes = _axes("the cell", "n", "time / time of zyg")
    own = {(row["n"], row["call"]): seconds(row) for row in rows if row["contestant"] == "zyg"}
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row["contestant"] != "zyg":
            ratio = seconds(row) / own[row["n"], row["call"]]
            lines.setdefault(f"{row['contestant']}, {row['call']}", []).append((row["n"], ratio))
    for label, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log")
    axes.legend(fontsize="small")
    return figure


def by_arity(rows: list[dict[str, Any]]) -> Any:
    figure, axes = _axes("value and all partial derivatives", "arguments", "microseconds")
    arities = [row["arity"] for row in rows]
    axes.plot(arities, [1e6 * seconds(row) for row in rows], marker="o", label="zyg")
    axes.plot(arities, [1e6 * row["roof"] for row in rows], "--", label="copying as many bytes")
    axes.legend()
    return figure


def occupancy(rows: list[dict[str, Any]]) -> Any:
    figure, axes = _axes("what arguments cost", "arguments", "registers")
    known = [row for row in rows if row["registers"]]
    arities = [row["arity"] for row in known]
    axes.plot(arities, [row["registers"] for row in known], marker="o", color="C0")
    share = axes.twinx()
    share.set(ylabel="occupancy", ylim=(0, 1.05))
    share.plot(arities, [row["occupancy"] for row in known], "C1--", label="theoretical")
    achieved = [row for row in known if "achieved occupancy" in row]
    if achieved:
        share.plot(
            [row["arity"] for row in achieved],
            [row["achieved occupancy"] / 100 for row in achieved],
            "C1-",
            label="achieved",
        )
    share.legend()
    return figure
