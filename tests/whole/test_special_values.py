"""Derivatives at special values: a few points of the search in `special_values`."""

import pytest

from . import special_values


@pytest.mark.slow
def test_derivatives_at_special_values():
    every_function = map(special_values.telling, range(len(special_values.FUNCTIONS)))
    found = special_values.survey([*range(0, 41 * 60, 41), *every_function])

    assert not found.failures
    assert found.compared > 100
    assert len(found.kinds) > 0.6 * len(special_values.FUNCTIONS)
