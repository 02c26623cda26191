"""Programs as newcomers write them are machine code, with the values and slopes of Python's."""

import copy

import numpy as np
import pytest

import zyg
from tests.compiling.newcomers import CALLS
from tests.compiling.oracles import (
    direction_for,
    inner_product,
    slope_by_differences,
)
from tests.marks import slow_after

CHANGED = {"bisect", "edit_distance"}  # steps of a search, ties


@pytest.fixture(autouse=True)
def nothing_falls_back():
    with zyg.config(fallback="error"):
        yield


@pytest.mark.parametrize("name", slow_after(12, CALLS))
def test_it_is_what_python_gives(name):
    f, args = CALLS[name]
    expected = f(*copy.deepcopy(args))

    y = zyg.compile(f)(*copy.deepcopy(args))

    assert type(y) is type(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", slow_after(12, [n for n in CALLS if n not in CHANGED]))
def test_its_gradient_is_that_of_differences(name):
    f, args = CALLS[name]
    compiled = zyg.compile(f)
    numbers = tuple(0.0 if callable(x) else x for x in args)
    along = direction_for(numbers, 16)

    def at(*moved):
        return f(*(x if callable(x) else y for x, y in zip(args, moved, strict=True)))

    for _ in range(2):  # by the general way, and by that of the entry
        gradient = zyg.gradient(compiled, *copy.deepcopy(args))
        found = tuple(0.0 if callable(x) else g for x, g in zip(args, gradient, strict=True))
        slope = inner_product(numbers, found, along)
        near = slope_by_differences(at, numbers, along, float, step=1e-5)
        np.testing.assert_allclose(slope, near, rtol=1e-5, atol=1e-6)
