"""Some of the random chains of bridges; the command runs as many as it is told to."""

import pytest

from tests.interop.random_bridges import differences, libraries


@pytest.mark.parametrize("seed", range(25))
def test_chains_of_bridges_are_the_chain_in_numpy(seed):
    assert not differences(seed, libraries())
