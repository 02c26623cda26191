"""What is differentiated along SciPy's own code: SciPy's bits; the slopes of differences."""

import inspect

import numpy as np
import pytest

import zyg
from zyg.tools.samples import leaves_apart

from ..calls.formulas_own_code import ALL, ROUGH


def named(row):
    return inspect.getsource(row[0]).strip()[:60]


@pytest.mark.parametrize("row", ALL, ids=named)
def test_values_are_scipys_and_slopes_those_of_differences(row):
    f, *args = row
    plain, watched = f(*args), zyg.pullback(f, *args)[0]
    for x, y in zip(leaves_apart(plain), leaves_apart(watched), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-15, atol=1e-16)
    options = {"order": 1, "rtol": 1e-3} if row in ROUGH else {}
    zyg.check_gradient(f, *args, **options)
