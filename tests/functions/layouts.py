"""Where the results of all calls in the tables lie, and whose memory they share: as NumPy's.

python -m tests.functions.layouts --count 20000 --seed 7
"""

from __future__ import annotations

import argparse
import itertools
import random
import warnings

import numpy as np

import zyg
from zyg.base.structure import Structure
from zyg.core.strand import is_watched, strip

from ..calls.tables import NUMPY
from ..core.layouts import LAYOUTS

CALLS = [(f, c) for f, calls in NUMPY.items() for c in calls]
METHODS = {
    "copy": [(), ("K",), ("F",), ("A",)], "flatten": [(), ("K",), ("F",)], "reshape": [(-1,)],
    "ravel": [(), ("K",), ("F",), ("A",)], "astype": [(float,), (complex,)], "transpose": [()],
    "swapaxes": [(0, -1)], "squeeze": [()], "repeat": [(2,), (2, 0)], "take": [([0], 0)],
    "cumsum": [(), (0,)], "conj": [()], "clip": [(0, 1)], "round": [()], "sum": [(0,), (-1,)],
    "diagonal": [()], "compress": [([True], 0)], "max": [(0,)], "view": [()],
}  # fmt: skip


def is_array(x):
    return type(x) is np.ndarray and x.dtype.kind in "fc"


def operands(layout, c):
    """The arguments of a call, their arrays in a layout that none of its own axes forbids."""
    inside = Structure(c.args, is_array)
    leaves = []
    for x in inside.leaves:
        made = LAYOUTS[layout](x.real) if x.ndim else x
        leaves.append(made if x.dtype.kind == "f" else made + 1j * x.imag if x.ndim else x)
    return inside, leaves


def layout_of(a):
    """What of an array's strides decides which of its reshapes are views, and how copies lie."""
    axes = [(n, s) for n, s in zip(a.shape, a.strides, strict=True) if n > 1]
    merging = [(s == m * t, t == n * s) for (n, s), (m, t) in itertools.pairwise(axes)]
    copied = np.copy(a, "K").strides
    kept = [s for n, s in zip(a.shape, copied, strict=True) if n > 1]
    return a.flags.c_contiguous, a.flags.f_contiguous, merging, kept


def facts(y, operands):
    """The layout of every array in a result, and which of the operands each shares memory with."""
    found = []
    for r in Structure(y, lambda x: is_watched(x) or isinstance(x, np.ndarray)).leaves:
        plain = strip(r)
        if np.size(plain) and isinstance(plain, np.ndarray):
            shared = [np.shares_memory(plain, strip(x)) for x in operands]
            found.append((r.shape, layout_of(plain), shared))
    return found


def check(layout, f, c):
    """Raise if a result lies elsewhere than NumPy's; whether NumPy knows the call."""
    inside, leaves = operands(layout, c)
    try:
        want = facts(f(*inside.rebuild(leaves), **c.kwargs), leaves)
    except (ValueError, TypeError, np.linalg.LinAlgError):
        return False
    got = []

    def watched(leaves):
        got[:] = facts(f(*inside.rebuild(leaves), **c.kwargs), leaves)
        return 0.0

    zyg.pullback(watched, leaves)
    if got != want:
        shapes = [x.shape for x in leaves]
        raise AssertionError(f"{f.__name__} of {layout} {shapes}, {c}:\n  {got}\n  NumPy: {want}")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=len(CALLS) * len(LAYOUTS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every = [(layout, f, c) for layout in LAYOUTS for f, c in CALLS]
    random.Random(options.seed).shuffle(every)
    checked, wrong = 0, 0
    warnings.simplefilter("ignore")
    for layout, f, c in every[: options.count]:
        try:
            checked += check(layout, f, c)
        except AssertionError as error:
            wrong += 1
            print(error)
    print(f"{checked} calls, {wrong} wrong")


if __name__ == "__main__":
    main()
