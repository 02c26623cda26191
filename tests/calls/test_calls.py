"""A share of all calls, in the engines that pass it: ``python -m tests.calls`` runs all of both."""

import itertools

import pytest

from .cases import cases
from .engines import ENGINES
from .guests import GUESTS

APART = 1811  # of the cases of the share, in the row of all
# Guests are tried in tests/interop. Not yet: second derivatives of a float32 with a Python float
# have other types than the tracer's; results of what is called back are in C's order.
LATER = {*GUESTS, "compiled_second", "memory"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in LATER])
def test_an_engine_gives_what_numpy_gives_and_the_tracers_derivatives(engine):
    first = 29 * [*ENGINES].index(engine)

    for _, title, make in itertools.islice(cases(), first, None, APART):
        try:
            ENGINES[engine](make())
        except Exception as error:
            error.add_note(title)
            raise
