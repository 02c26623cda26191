"""Calls whose plain operands are overwritten before the reverse pass, and what must hold of each.

    python -m tests.functions.overwritten --count 100000 --seed 7

A trial takes a call of the tables, watches one of its arrays, wherever it lies, and leaves the rest
plain: arrays of their own, views, lists. After the call something is done to all that is plain: the
gradient must be as if it had not been, or something raises by name.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections import Counter

import numpy as np

import zyg
from zyg.base.structure import Structure, is_leaf
from zyg.core import kept
from zyg.errors import ZygError
from zyg.functions.operations import table

from ..calls.calls import V, array, call
from ..calls.tables import DROP_INS, NUMPY


def _is_array(x):
    return isinstance(x, np.ndarray)


def _through(views):
    for a in views:
        if a.flags.writeable:
            a[...] = 5


def _ufunc_at(arrays):
    for a in arrays:
        if a.dtype.kind in "fc" and a.size and a.ndim:
            np.add.at(a, tuple(0 for _ in a.shape), 3.0)


def _reshape(arrays):
    for a in arrays:
        if a.base is None and a.flags.c_contiguous:
            a.shape = a.shape[::-1]


def _retype(arrays):
    for a in arrays:
        if a.base is None and a.dtype == float and a.ndim:
            a.dtype = np.int64


def _resize(arrays):
    for a in arrays:
        if a.base is None:
            a.resize(3 * a.size + 2, refcheck=False)


# What is done to the plain arrays; to the views of them that were made before the call.
ACTIONS = {
    "write": lambda arrays, views: [a.fill(5) for a in arrays if a.flags.writeable],
    "write elements": lambda arrays, views: [a.__setitem__(..., 5) for a in arrays],
    "write through views": lambda arrays, views: _through(views),
    "ufunc.at": lambda arrays, views: _ufunc_at(arrays),
    "reshape": lambda arrays, views: _reshape(arrays),
    "retype": lambda arrays, views: _retype(arrays),
    "resize": lambda arrays, views: _resize(arrays),
}

NAMED = ("read-only", "resize", "was written after", "set shape", "contiguous", "dtype")


class Trial:
    """One call of a table, the place of its array that is watched, how the rest is made."""

    def __init__(self, draw, calls, small):
        self.f, c = draw.choice(calls)
        self.parts = [list(c.args), dict(c.kwargs)]
        inside = Structure(self.parts, _is_array)
        floats = [k for k, a in enumerate(inside.leaves) if a.dtype.kind in "fc" and a.size]
        self.place = draw.choice(floats) if floats else None
        self.action = draw.choice([*ACTIONS])
        self.as_view, self.small = draw.random() < 0.3, small

    def __str__(self):
        kind = "views" if self.as_view else "arrays"
        size = "copied" if self.small else "held"
        how = f"{self.action} of {kind}, {size}, watched {self.place}"
        return f"{self.f.__name__}: {how}\n{self.parts}"

    def gradient(self, act):
        """The cotangents of the watched array, with the plain ones changed before they are."""
        inside = Structure(self.parts, _is_array)
        made = [self._made(a) for a in inside.leaves]
        lists = []

        def call(x):
            leaves = [*made]
            leaves[self.place] = x
            args, kwargs = _fresh(inside.rebuild(leaves), lists)
            return self.f(*args, **kwargs)

        views = [a.view() for a in made]
        y, back = zyg.pullback(call, inside.leaves[self.place].copy())
        if act:
            ACTIONS[self.action](made, [*views, *(a.base for a in made if a.base is not None)])
            for some in lists:
                some[:] = some[::-1]
        value = Structure(y, is_leaf)
        return back(value.tangent([np.ones_like(leaf) for leaf in value.leaves]))[0]

    def _made(self, a):
        if not self.as_view:
            return a.copy(order="K")
        whole = np.empty((2, *a.shape), a.dtype)
        whole[:] = a
        return whole[1, ...]

    def run(self):
        """What came of it: "right", "raised", or "refused" without any writing."""
        if self.place is None:
            return "refused"
        before = kept.SMALL
        kept.SMALL = before if self.small else -1
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return self._compared()
        finally:
            kept.SMALL = before

    def _compared(self):
        try:
            expected = self.gradient(act=False)
        except (ZygError, TypeError, ValueError):
            return "refused"
        try:
            found = self.gradient(act=True)
        except (ZygError, ValueError, AttributeError) as error:
            if not any(name in str(error) for name in NAMED):
                raise AssertionError(f"{self}\n{error!r}") from error
            return "raised"
        assert (expected is None) == (found is None), self
        if expected is not None:
            np.testing.assert_array_equal(found, expected, err_msg=str(self))
        return "right"


def _fresh(x, lists):
    """The containers of a call, made anew; those of numbers only are noted."""
    if type(x) is dict:
        return {k: _fresh(v, lists) for k, v in x.items()}
    if type(x) is tuple:
        return tuple(_fresh(v, lists) for v in x)
    if type(x) is list:
        made = [_fresh(v, lists) for v in x]
        if lists is not None and made and all(isinstance(v, (int, float)) for v in made):
            lists.append(made)
        return made
    return x


def every_call():
    """The calls of NumPy's and SciPy's tables, and those of functions of two numbers."""
    ufuncs = [f for f in table if isinstance(f, np.ufunc) and f.nin == 2]
    return [
        *((f, c) for made in (NUMPY, DROP_INS) for f, some in made.items() for c in some),
        *((f, call(np.abs(V), np.abs(array(4, seed=1)))) for f in ufuncs),
        *((f, call(np.abs(V), np.abs(array(4, seed=1)).tolist())) for f in ufuncs),
    ]


def search(count, seed):
    """Run trials of all tables; returns how many came out how, and what was wrong."""
    calls = every_call()
    draw = random.Random(seed)
    outcomes, wrong = Counter(), []
    for k in range(count):
        trial = Trial(draw, calls, small=bool(k % 2))
        try:
            outcomes[trial.run()] += 1
        except AssertionError as error:
            outcomes["WRONG"] += 1
            print(str(error)[:1500], flush=True)
            wrong.append(str(error))
    return outcomes, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.monotonic()
    outcomes, _ = search(options.count, options.seed)
    print(dict(outcomes), f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
