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
# Those that test_linalg_formulas, test_samples, test_spatial and test_quadrature check, each in its
# options.
ELSEWHERE |= {
    "boxcox", "cho_solve_banded", "cholesky_banded", "circmean", "circstd", "circvar",
    "convolution_matrix", "cumulative_simpson", "dblquad", "directed_hausdorff",
    "distance_matrix", "eig", "eig_banded", "eigh_tridiagonal", "eigvals", "eigvals_banded",
    "eigvalsh_tridiagonal", "energy_distance", "entropy", "expm_frechet", "fiedler",
    "fixed_quad", "geometric_slerp", "gmean", "gstd", "gzscore", "hmean", "iqr",
    "jensenshannon", "khatri_rao", "kurtosis", "leslie", "linregress", "matmul_toeplitz",
    "minkowski_distance", "minkowski_distance_p", "moment", "orth", "orthogonal_procrustes",
    "pearsonr", "pmean", "polar", "procrustes", "romb", "sem", "signm", "skew",
    "solve_circulant", "solve_toeplitz", "subspace_angles", "tplquad", "trim_mean", "variation",
    "wasserstein_distance", "yeojohnson", "zmap", "zscore",
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
