"""Every rule for a SciPy function, on the calls that people write."""

import numpy as np
import scipy.optimize

import zyg
from zyg.base.registry import CONSTANT, rules
from zyg.scipy import integrate, linalg, optimize, signal, sparse, special, stats  # noqa: F401

from ..calls.calls import each
from ..calls.tables import DROP_INS
from ..calls.tables import SCIPY as CALLS
from .test_distances import METRICS
from .test_signal_rules import NAMES as SIGNALS

# These are called by functions in the tables, or have files of their own.
ELSEWHERE = {
    "eigh", "svd", "fractional_matrix_power", "logm", "quad", "odeint", "solve_ivp",
    "solve_continuous_are", "solve_discrete_are", "cdist", "pdist", "squareform", *METRICS,
    *SIGNALS,
}  # fmt: skip


def is_scipys(f):
    if isinstance(f, np.ufunc):
        return not hasattr(np, f.__name__)
    return getattr(f, "__module__", "").startswith("scipy.")


def test_every_rule_has_a_call():
    called = {getattr(f, "original", f) for f in DROP_INS}
    ours = [f for f, rule in rules.items() if is_scipys(f) and rule is not CONSTANT]
    missing = [
        f.__name__
        for f in ours
        if f not in called
        and f.__name__ not in ELSEWHERE
        and getattr(scipy.optimize, f.__name__, None) is not f
    ]

    assert len(ours) > 190
    assert not missing


@each(CALLS)
def test_a_rule_keeps_its_promises(f, c):
    zyg.check_adjoint(f, *c.args, complex=True, **c.kwargs)
