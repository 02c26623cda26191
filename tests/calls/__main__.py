"""Every call, in every engine: ``python -m tests.calls --engine compiled --only det``.

Prints what came of the cases, engine by engine, and what is wrong.
"""

import argparse
import collections
import sys
import time

from .cases import cases
from .compare import Wrong
from .engines import ENGINES
from .variants import VARIANTS


def run(engines, only="", share=(0, 1), minutes=None, say=print, variants=VARIANTS):
    """How many cases of each engine came out how."""
    counts = collections.defaultdict(collections.Counter)
    until = time.monotonic() + 60 * (minutes or 1e9)
    for k, (number, title, make) in enumerate(cases(only, variants)):
        if k % share[1] != share[0]:
            continue
        if time.monotonic() > until:
            break
        case = make()
        for engine in engines:
            try:
                counts[engine][ENGINES[engine](case)] += 1
            except Wrong as error:
                counts[engine]["WRONG"] += 1
                say(f"{engine}: {number}: {title}: {str(error)[:300]}")
            except Exception as error:
                counts[engine]["WRONG"] += 1
                say(f"{engine}: {number}: {title}: {type(error).__name__}: {str(error)[:300]}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="all, if left out")
    parser.add_argument("--only", default="", help="calls whose text has this in it")
    parser.add_argument("--share", default="0/1", help="K/N: every Nth case, from the Kth")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="all, if left out")
    parser.add_argument("--minutes", type=float, help="at most as long")
    options = parser.parse_args()
    share = tuple(map(int, options.share.split("/")))
    counts = run(options.engine or ENGINES, options.only, share, options.minutes,
                 lambda line: print(line, flush=True), options.variant or VARIANTS)  # fmt: skip
    for engine, some in counts.items():
        print(f"{engine}: {some.total()} cases, {some['WRONG']} wrong")
        for said, n in some.most_common():
            print(f"{n:8} {said[:120]}")
    sys.exit(any(some["WRONG"] for some in counts.values()))


if __name__ == "__main__":
    main()
