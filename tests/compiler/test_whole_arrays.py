"""Whole functions of arrays do what Python does, to the arguments too."""

import pytest

from .array_programs import PROGRAMS
from .wholes import check


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs_of_arrays(f, args):
    check(f, *args)
