"""``python -m benchmarks page``: the page of the site, and its pictures, of what a run wrote."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.harness import in_units

ROOT = Path(__file__).parents[1]
RUN = ROOT / "docs" / "reference" / "benchmarks.json"
PAGE = RUN.with_suffix(".md")
PICTURES = ROOT / "docs" / "_static" / "benchmarks"

HEAD = """# Benchmarks

How long gradients take, beside other libraries, derivatives written by hand, and the value alone.
The programs of a case compute the same, which is checked before anything is timed. Then they take
turns, on one thread unless a case says otherwise; a time is the least of the turns.

The pictures show multiples of zyg's own time, on a logarithmic axis: a dot on the right is slower
than zyg, one on the left is faster. `python -m benchmarks --json docs/reference/benchmarks.json`
measures, and `python -m benchmarks page` makes this page of it.
"""

Row = dict[str, Any]


def main() -> int:
    files = texts(json.loads(RUN.read_text()))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for path, text in files.items():
        path.write_text(text)
    return 0


def texts(run: Row) -> dict[Path, str]:
    """The page and its pictures, by their files."""
    groups = {name: [*rows] for name, rows in groupby(run["rows"], lambda row: row["group"])}
    parts = [HEAD, _made_by(run["made by"])]
    files = {}
    for name, rows in groups.items():
        cases = [[*case] for _, case in groupby(rows, lambda row: row["case"])]
        picture = PICTURES / f"{name}.svg"
        files[picture] = _picture(cases)
        title = name.replace("_", " ").capitalize()
        shown = f"![{title}: multiples of zyg's time](../_static/benchmarks/{picture.name})\n"
        parts += [f"## {title}\n", _about(name), shown, _table(cases)]
    return {PAGE: "\n".join(parts), **files}


def _made_by(facts: Row) -> str:
    words = {"load": "load of the machine"}
    rows = [f"| {words.get(name, name)} | {value} |" for name, value in facts.items()]
    busy = facts.get("load", 0) > 1.5
    note = "\n**The machine was busy:** times are too long, and ratios rough.\n" if busy else ""
    return "\n".join(["| made by | which |", "|---|---|", *rows, note])


def _about(group: str) -> str:
    """What a group's file says of itself in its first paragraph."""
    text = (ROOT / "benchmarks" / f"{group}.py").read_text()
    doc = ast.get_docstring(ast.parse(text)) or ""
    return doc.partition("\n\n")[0].replace("``", "`") + "\n"


def _table(cases: list[list[Row]]) -> str:
    lines = ["| case | zyg | others, in multiples of it | aims |", "|---|---|---|---|"]
    for case in cases:
        (own,) = [row for row in case if row["program"] == "zyg"]
        others = [f"{r['program']} {_factor(r['ratio'])}" for r in case if r is not own]
        aims = [_aim(row["program"], target) for row in case for target in row["targets"]]
        cells = [case[0]["case"], in_units(own["seconds"]), ", ".join(others), "; ".join(aims)]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _aim(program: str, target: Row) -> str:
    verdict = {True: "reached", False: "not reached", None: "not judged"}[target["reached"]]
    beside = "" if program == "zyg" else f"beside {program}: "
    return f"{beside}{target['text']}, is {target['shown'] or 'unknown'}, {verdict}"


def _factor(ratio: float) -> str:
    return f"{ratio:.3g}x"


# A picture: a line for each case, a dot for each program

LEFT, WIDTH, LINE, TOP = 270, 760, 24, 62
COLOURS = ("#1f6f78", "#c05a1c", "#6a4c93", "#3a7d44", "#b8860b", "#a63a50", "#5b6771", "#2f5fa8")


def _picture(cases: list[list[Row]]) -> str:
    programs = [*dict.fromkeys(row["program"] for case in cases for row in case)]
    ratios = [row["ratio"] for case in cases for row in case]
    ends = math.log10(min(*ratios, 0.5)) - 0.05, math.log10(max(*ratios, 2)) + 0.05
    keys = [*_legend(programs)]
    top = TOP + 18 * (len(keys) - 1)
    height = top + LINE * len(cases) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="#24323d">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *(line for k, key in enumerate(keys) for line in _moved(key, 14 + 18 * k)),
        *_axis(ends, top, height - 30),
    ]
    for k, case in enumerate(cases):
        y = top + LINE * k + LINE // 2
        title = case[0]["case"]
        title = title if len(title) <= 40 else title[:39] + "..."
        lines.append(f'<text x="{LEFT - 14}" y="{y + 4}" text-anchor="end">{escape(title)}</text>')
        lines.append(f'<path d="M{LEFT} {y}H{WIDTH - 20}" stroke="#dfe4e7"/>')
        for row in case:
            label = f"{row['program']}: {in_units(row['seconds'])}, {_factor(row['ratio'])}"
            lines.append(
                _mark(_place(row["ratio"], ends), y, programs.index(row["program"]), label)
            )
    return "\n".join([*lines, "</svg>", ""])


def _place(ratio: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return round(LEFT + (math.log10(ratio) - low) / (high - low) * (WIDTH - 20 - LEFT), 1)


def _axis(ends: tuple[float, float], top: int, bottom: int) -> Iterator[str]:
    """A line at each round multiple, and its number below."""
    powers = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
    steps = (1, 2, 5) if ends[1] - ends[0] < 2.5 else (1,)
    for ratio in [step * 10.0**power for power in powers for step in steps]:
        if ends[0] <= math.log10(ratio) <= ends[1]:
            x = _place(ratio, ends)
            stroke = "#24323d" if ratio == 1 else "#dfe4e7"
            yield f'<path d="M{x} {top}V{bottom}" stroke="{stroke}"/>'
            yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{ratio:g}x</text>'


def _mark(x: float, y: float, number: int, label: str) -> str:
    """What stands for a program, by its number: a dot, or a square when the colours are used up."""
    turn, k = divmod(number, len(COLOURS))
    shape = f'rect x="{x - 5:g}" y="{y - 5}" width="10" height="10"'
    shape = shape if turn else f'circle cx="{x}" cy="{y}" r="5.5"'
    look = f'fill="{COLOURS[k]}" fill-opacity="0.85" stroke="#ffffff"'
    return f"<{shape} {look}><title>{escape(label)}</title></{shape.partition(' ')[0]}>"


def _legend(programs: list[str]) -> Iterator[list[tuple[int, int, str]]]:
    """Lines of places, numbers and names."""
    line: list[tuple[int, int, str]] = []
    x = 20
    for number, name in enumerate(programs):
        width = 30 + 7 * len(name)
        if line and x + width > WIDTH:
            yield line
            line, x = [], 20
        line.append((x, number, name))
        x += width
    yield line


def _moved(key: list[tuple[int, int, str]], y: int) -> Iterator[str]:
    for x, number, name in key:
        yield _mark(x, y + 4, number, name)
        yield f'<text x="{x + 11}" y="{y + 8}">{escape(name)}</text>'
