"""Every program of the collection, by every engine."""

import pytest

from .engines import agree
from .program import programs

ALL = programs()
QUICK = 16  # each so many-th program is in the quick loop


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * bool(k % QUICK)) for k, n in enumerate(ALL)]
)
def test_all_engines_agree(name):
    agree(ALL[name])
