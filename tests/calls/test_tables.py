"""No function of SciPy's that is differentiated is left out of the tables of calls.

Its distributions are objects, with calls of their methods in `scipy_stats`.
"""

from types import FunctionType

import numpy as np
import pytest

from zyg.tools.ledger import DIFFERENTIATED, ledger

from .tables import OF_FUNCTIONS, called

SCIPYS = {
    module: {name: f for name, f in functions.items() if isinstance(f, (FunctionType, np.ufunc))}
    for (module, kind), functions in ledger().items()
    if kind is DIFFERENTIATED and module.startswith("scipy.")
}


@pytest.mark.parametrize("module", SCIPYS)
def test_every_differentiated_function_of_numbers_is_called(module):
    functions, names = called()
    apart = OF_FUNCTIONS.get(module, set())

    missing = {
        name for name, f in SCIPYS[module].items() if f not in functions and name not in names
    }
    assert missing == apart
