"""Searches for what is wrong in silence: each is a command, and a share of it runs in the gate.

``python -m tests.searches.views --share 3/50 --minutes 20`` takes the cases 3, 53, 103, ... and
says what came of them; ``--only 1234`` runs one. A case has a number, from which it is made, so
that what a search printed can be run again.
This file is what they have in common.
"""

import argparse
import collections
import itertools
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zyg
from zyg.errors import CompileError

SHOWN = 20  # wrong cases that are printed whole


def in_machine_code(run: Callable[[], Any]) -> Any:
    """What `run` gives, where machine code may stop and Python goes on; CompileError without it."""
    try:
        with zyg.config(fallback="error"):
            return run()
    except CompileError as error:
        if "was run in Python for these arguments" not in str(error):
            raise
    with zyg.config(fallback="silent"):
        return run()


@dataclass
class Search:
    """Cases made from numbers, and what must hold of each.

    `check` returns what came of a case in a few words, to be counted ("refused: ..."; None: all is
    the same), and raises where something is wrong; the text of the error says what, with the
    program.
    """

    case: Callable[[int], Any]
    check: Callable[[Any], str | None]
    count: int | None = None  # of cases, where they are all; None: random ones without end
    gate: int = 100  # how many of them the gate runs

    def numbers(self, share: str = "0/1") -> Iterable[int]:
        """Those of a share: "3/50" is every fiftieth, from the third."""
        first, step = map(int, share.split("/"))
        return (
            itertools.count(first, step) if self.count is None else range(first, self.count, step)
        )

    def of_gate(self) -> Iterable[int]:
        """Some from all over."""
        if self.count is None:
            return range(self.gate)
        return range(0, self.count, max(1, self.count // self.gate))

    def run(self, number: int) -> str:
        return self.check(self.case(number)) or "same"


def main(search: Search, doc: str | None) -> None:
    """The command: runs a share, prints counts and what is wrong, and fails if anything is."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--share", default="0/1", help="K/N: every Nth case, from the Kth")
    parser.add_argument("--most", type=int, help="at most as many cases")
    parser.add_argument("--minutes", type=float, help="at most as long")
    parser.add_argument("--only", type=int, help="the case of this number")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZYG_CACHE_DIR"] = str(Path(folder) / "kernels")
        if options.only is not None:
            print(search.case(options.only))
            print(search.run(options.only))
            return
        until = time.monotonic() + 60 * (options.minutes or float("inf"))
        counts: collections.Counter[str] = collections.Counter()
        wrong = 0
        for number in itertools.islice(search.numbers(options.share), options.most):
            if time.monotonic() > until:
                break
            try:
                counts[search.run(number)] += 1
            except Exception as error:
                wrong += 1
                counts["WRONG"] += 1
                if wrong <= SHOWN:
                    print(f"{number}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
                    if not isinstance(error, AssertionError):
                        traceback.print_exc()
    for outcome, n in counts.most_common():
        print(f"{n:8} {outcome[:150]}")
    print(f"{sum(counts.values())} cases, {wrong} wrong")
    sys.exit(bool(wrong))
