"""Results lie in memory as NumPy's do; `layouts` has the search over all calls."""

import random

import numpy as np
import pytest

from ..calls.calls import CUBE, A, V, call
from .layouts import CALLS, LAYOUTS, METHODS, check

RANDOM = random.Random(1)
SOME = [(RANDOM.choice([*LAYOUTS]), *RANDOM.choice(CALLS)) for _ in range(600)]
MENDED = (
    np.copy, np.sort, np.partition, np.where, np.take, np.repeat, np.tile, np.delete, np.insert,
    np.pad, np.vander, np.meshgrid, np.gradient, np.block, np.unique, np.cumulative_sum,
    np.lib.stride_tricks.sliding_window_view, np.reshape, np.ravel, np.transpose, np.flip,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_lie_as_numpys(layout):
    for f, c in CALLS:
        if f in MENDED:
            check(layout, f, c)


@pytest.mark.filterwarnings("ignore")
def test_results_of_any_call_lie_as_numpys():
    for layout, f, c in SOME:
        check(layout, f, c)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", METHODS)
def test_results_of_methods_lie_as_numpys(name, layout):
    def method(x, *args):
        return getattr(x, name)(*args)

    for args in METHODS[name]:
        for x in (V, A, CUBE):
            check(layout, method, call(x, *args))
