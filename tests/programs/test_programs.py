"""Every program of the collection, by every engine."""

import pytest

from .engines import agree
from .program import programs

ALL = programs()


@pytest.mark.parametrize("name", ALL)
def test_all_engines_agree(name):
    agree(ALL[name])
