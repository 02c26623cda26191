"""One library in a process of its own: `python -m tests.zoo.worker NAME WAY SWEEP FILE`.

What an import or an adoption leaves behind, other libraries do not see.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from time import process_time
from typing import Any

import numpy as np

import zyg

from .case import Case, Library, libraries
from .judge import RIGHT, judge


def verdicts(library: Library, adopted: bool, sweep: int) -> Iterator[dict[str, Any]]:
    """A row for each case."""
    for case in library.cases:
        case.function(*case.args)  # imports what it needs
    if adopted:
        zyg.adopt(*library.packages)
    for case in library.cases:
        verdict = judge(case)
        row = {"case": case.name, **asdict(verdict)}
        if verdict.outcome == RIGHT:
            row["swept"] = [asdict(judge(moved)) for moved in around(case, sweep)]
        yield row


def around(case: Case, times: int) -> Iterator[Case]:
    """The case at random arguments around its own, where its primal is finite."""
    random = np.random.default_rng(0)
    for _ in range(times):
        args = [np.asarray(x) * (1 + 0.1 * random.standard_normal(np.shape(x))) for x in case.args]
        moved = [a if np.ndim(x) else a.item() for a, x in zip(args, case.args, strict=True)]
        yield replace(case, args=tuple(moved))


def primals(library: Library) -> Iterator[dict[str, Any]]:
    """Whether adoption leaves the primal of each case as it was, and the ratio of the times."""
    for case in library.cases:
        plain = case.function(*case.args)
        row = {"case": case.name, "same": False, "ratio": np.inf}
        try:
            with zyg.adopt(*library.packages):
                row["same"] = same(plain, case.function(*case.args))
            row["ratio"] = ratio(library, case)
        except Exception as error:
            row["message"] = f"{type(error).__name__}: {error}"
        yield row


def ratio(library: Library, case: Case, rounds: int = 25) -> float:
    """The time of an adopted primal by that of the plain one: minima, taken in turns."""
    calls = max(1, int(5e-3 / seconds(case, 3)))
    plain, adopted = [], []
    for _ in range(rounds):
        plain.append(seconds(case, calls))
        with zyg.adopt(*library.packages):
            adopted.append(seconds(case, calls))
    return min(adopted) / min(plain)


def seconds(case: Case, calls: int) -> float:
    """The time of a call on the processor, when it has found its names anew."""
    for _ in range(min(calls, 10)):
        case.function(*case.args)
    start = process_time()
    for _ in range(calls):
        case.function(*case.args)
    return (process_time() - start) / calls


def same(a: Any, b: Any) -> bool:
    """Whether two results are of the same types and the same bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same([*a.items()], [*b.items()])
    a, b = np.asarray(a), np.asarray(b)
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def main() -> None:
    name, way, sweep, file = sys.argv[1:]
    warnings.simplefilter("ignore")
    library = libraries()[name]
    if way == "primal":
        rows = primals(library)
    else:
        rows = verdicts(library, way == "adopted", int(sweep))
    with open(file, "w") as out:
        for row in rows:
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
