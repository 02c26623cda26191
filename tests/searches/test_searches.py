"""A share of each search."""

from importlib import import_module
from pathlib import Path

import pytest

PARTS = 8
SEARCHES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("[a-z]*.py")
    if path.stem not in ("search", "test_searches")
)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", SEARCHES)
def test_a_share_of_a_search(name, part):
    search = import_module(f"tests.searches.{name}").SEARCH

    for number in [*search.of_gate()][part::PARTS]:
        search.run(number)
