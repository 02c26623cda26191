"""docs/libraries.md, and what is printed, of the rows that the workers write."""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .case import Library
from .judge import OTHER, REFUSED, RIGHT, WRONG

Results = dict[tuple[str, str], list[dict[str, Any]]]

PAGE = Path(__file__).parents[2] / "docs" / "libraries.md"
WAYS = ("unchanged", "adopted")
HEAD = """\
# Libraries

How far zyg gets with libraries that were not written for it. A case is a call as a user of the
library writes it; its gradient is compared with five-point differences. *Unchanged* means as it
stands, *adopted* means after one line: `zyg.adopt(...)` of the packages in the third column. The
libraries are never changed. `python -m tests.zoo --write` makes this page, with the versions in
the extra `zoo`.

"""


def counted(results: Results, outcome: str, way: str | None = None) -> int:
    """How many cases came to an outcome."""
    return sum(
        row["outcome"] == outcome
        for (_, here), rows in results.items()
        for row in rows
        if way in (None, here)
    )


# What a message says, and what the page says of it; the first that fits.
CAUSES = (
    (r"an object array of watched numbers", "an object array"),
    (r"(\S+) of a watched \w+ would drop its derivative", r"`\1`"),
    (r"a watched value cannot be stored in a plain", "a buffer that compiled code made"),
    (r"a view of a watched array as (\w+) has no rule", r"an array of class `\1`"),
    (r"(?:the attribute )?'?([\w.]+)\S* .*has no rule", r"no rule for `\1`"),
    (r"C code cannot take a watched value", "compiled code"),
    (r"a watched value cannot be a key", "a key of a dict or a memo"),
    (r"(\w+: .{,70})", r"\1"),  # exceptions of others
    (r"(.{,70})", r"\1"),
)


def cause(message: str) -> str:
    """What stopped a case, and in which file of which package."""
    first = message.partition("\n")[0]
    found = ((re.match(pattern, first), text) for pattern, text in CAUSES)
    said = next(match.expand(text) for match, text in found if match)
    place = re.findall(r"(?:where|lib): .*?site-packages/(\S+\.pyx?):", message)
    return f"{said} in {place[-1]}" if place else said


def totals(results: Results) -> str:
    """One line for each way."""
    lines = []
    for way in WAYS:
        n = sum(len(rows) for (_, here), rows in results.items() if here == way) or 1
        parts = [f"{counted(results, o, way)} {o}" for o in (RIGHT, REFUSED, OTHER, WRONG)]
        right = counted(results, RIGHT, way)
        lines.append(f"{way}: {', '.join(parts)}, of {n}: {100 * right / n:.0f} % right")
    return "\n".join(lines)


def table(chosen: list[Library], results: Results) -> str:
    """A row for each library: how many cases are right in each way, and what stops the rest."""
    rows = ["| field | library | adopt | cases | unchanged | adopted | what stops the rest |"]
    rows.append("|---|---|---|---|---|---|---|")
    for lib in chosen:
        plain, adopted = (
            sum(row["outcome"] == RIGHT for row in results[lib.name, way]) for way in WAYS
        )
        rest = Counter(
            cause(row["message"]) for row in results[lib.name, "adopted"] if row["outcome"] != RIGHT
        )
        stops = "; ".join(f"{text} ({n})" if n > 1 else text for text, n in rest.most_common())
        name = f"{lib.name} {version(lib.name)}"
        names = ", ".join(lib.packages)
        numbers = f"{len(lib.cases)} | {plain} | {adopted}"
        rows.append(f"| {lib.field} | {name} | {names} | {numbers} | {stops} |")
    return "\n".join(rows)


def page(chosen: list[Library], results: Results) -> str:
    """The whole of docs/libraries.md."""
    lines = "".join(f"- {line}\n" for line in totals(results).splitlines())
    return f"{HEAD}{lines}\n{table(chosen, results)}\n"


def rights(text: str, name: str) -> tuple[int, int]:
    """How many cases of a library the page says are right, without and with adoption."""
    found = re.search(rf"\| {re.escape(name)} \S+ \| [^|]* \| \d+ \| (\d+) \| (\d+) \|", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
