"""Which tests run only with the slow ones."""

import pytest


def slow_after(n, values):
    """Values for `parametrize`: those after the first n run with the slow tests."""
    values = [*values]
    return [*values[:n], *(pytest.param(v, marks=pytest.mark.slow) for v in values[n:])]
