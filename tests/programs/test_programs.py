"""Every program of the collection, by every engine."""

import pytest

from .engines import agree, first_and_final
from .program import programs

ALL = programs()


@pytest.mark.parametrize("name", ALL)
def test_all_engines_agree(name):
    agree(ALL[name])


@pytest.mark.parametrize("name", [*ALL][::4])
def test_final_code_has_the_bits_of_the_first(name):
    first_and_final(ALL[name])
