"""Random functions of arrays: Python, differences, the traced engine and the compiler agree."""

import pytest

from ..marks import slow_after
from .random_functions import checked

PARTS = 20


@pytest.mark.parametrize("part", slow_after(1, range(PARTS)))
def test_all_agree(tmp_path, part):
    for seed in range(part, 10 * PARTS, PARTS):
        checked(seed, tmp_path)
