"""Every rule for a SciPy function, on the calls that people write."""

import numpy as np

import zyg
from zyg.base.registry import CONSTANT, rules
from zyg.scipy import integrate, linalg, optimize, signal, sparse, special, stats  # noqa: F401

from ..calls.calls import each, order_of
from ..calls.tables import OF_FUNCTIONS, called
from ..calls.tables import SCIPY as CALLS


def is_scipys(f):
    if isinstance(f, np.ufunc):
        return not hasattr(np, f.__name__)
    return getattr(f, "__module__", "").startswith("scipy.")


def test_every_rule_has_a_call():
    functions, names = called()
    names |= {name for some in OF_FUNCTIONS.values() for name in some}
    ours = [f for f, rule in rules.items() if is_scipys(f) and rule is not CONSTANT]
    missing = [f.__name__ for f in ours if f not in functions and f.__name__ not in names]

    assert len(ours) > 190
    assert not missing


@each(CALLS)
def test_a_rule_keeps_its_promises(f, c):
    kwargs = {"order": order_of(c, CALLS[f]), **c.kwargs}
    zyg.check_adjoint(f, *c.args, complex=True, **kwargs)
