"""Random programs that write into arrays: two thousand beyond those of tests/core."""

import pytest

from ..core.programs import check_chunk


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(2, 20))
def test_random_programs(chunk):
    check_chunk(chunk)
