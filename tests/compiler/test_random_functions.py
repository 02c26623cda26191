"""Random functions of arrays: Python, differences, the traced engine and the compiler agree."""

import pytest

from .random_functions import checked

PARTS = 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_agree(tmp_path, part):
    for seed in range(part, 10 * PARTS, PARTS):
        checked(seed, tmp_path)
