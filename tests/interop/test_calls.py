"""The calls of tests/calls over arrays of each library: as of NumPy's, or refused."""

import collections

import pytest

from tests.calls.cases import cases
from tests.calls.guests import GUESTS

from .libraries import maker

# Those that plan or compile each call take the first one of a function: how many are the same.
SLOW = {"jax": 250, "dask": 180, "COO": 120, "GCXS": 120}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.slow] * (k in SLOW)) for k in GUESTS]
)
def test_a_guest_gives_what_numpy_gives(kind):
    maker(kind)
    outcomes = collections.Counter()

    for _, title, make in cases(variants={"as it is"}, most=1 if kind in SLOW else 2):
        # Functions that tests/calls writes of SciPy's take seconds there; the others take them.
        if kind in ("dask", "COO", "GCXS") and title.startswith("c0("):
            continue
        try:
            outcomes[GUESTS[kind](make())] += 1
        except Exception as error:
            error.add_note(title)
            raise

    assert outcomes["the same"] > SLOW.get(kind, 250)
