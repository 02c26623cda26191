"""Derivatives at special values: a few points of the search in `special_values`."""

import pytest

from . import special_values


def test_derivatives_at_special_values():
    found = special_values.survey(range(0, 41 * 60, 41))  # all over the list of functions

    assert not found.failures
    assert found.compared > 100


@pytest.mark.slow
def test_derivatives_at_more_special_values():
    found = special_values.survey(range(1000, 1000 + 2 * len(special_values.FUNCTIONS)))

    assert not found.failures
    assert len(found.kinds) > 0.6 * len(special_values.FUNCTIONS)
