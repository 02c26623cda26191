"""How many programs are right over each kind of arrays, and what is refused of the others.

``python -m tests.interop.count_programs`` prints the table of docs/interop.md.
"""

import warnings

import numpy as np

import zyg

from .libraries import KINDS, host, maker
from .programs_of_arrays import PROGRAMS, A, V


def outcome(f, make):
    """Whether it is "right", "refused", or what went wrong."""
    y, gradient = zyg.value_and_gradient(f, A, V, zeros=True)
    try:
        found, bars = zyg.value_and_gradient(f, make(A), make(V), zeros=True)
        pairs = [(found, y), *zip(bars, gradient, strict=True)]
        same = all(np.allclose(host(a), b, rtol=1e-12, atol=1e-14) for a, b in pairs)
    except zyg.errors.ZygError:
        return "refused"
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "right" if same else "wrong"


def main():
    warnings.simplefilter("ignore")
    print(f"| {len(PROGRAMS)} programs over | right | refused by name | wrong | refused |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        make = maker(kind)
        outcomes = {name: outcome(f, make) for name, f in PROGRAMS.items()}
        counts = [sum(o == word for o in outcomes.values()) for word in ("right", "refused")]
        rest = len(PROGRAMS) - sum(counts)
        names = ", ".join(name for name, o in outcomes.items() if o != "right")
        print(f"| {kind} | {counts[0]} | {counts[1]} | {rest} | {names} |", flush=True)


if __name__ == "__main__":
    main()
