"""A share of all calls, in the engines that pass it: ``python -m tests.calls`` runs all of both."""

import itertools

import pytest

from .cases import cases
from .engines import ENGINES, OWN

APART = 1811  # of the cases of the share, in the row of all


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", OWN)  # tests/interop has those of guests
def test_an_engine_gives_what_numpy_gives_and_the_tracers_derivatives(engine):
    first = 29 * [*ENGINES].index(engine)

    for _, title, make in itertools.islice(cases(), first, None, APART):
        try:
            ENGINES[engine](make())
        except Exception as error:
            error.add_note(title)
            raise
