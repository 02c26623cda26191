"""The one table of calls: every function that has a rule, with what it is called with.

The files ``numpy_*.py``, ``scipy_*.py`` and ``formulas_*.py``, of SciPy's functions whose values
are SciPy's and whose derivatives are those of formulas, hold tables `CALLS`, from functions to
calls; `numbers` those of functions of numbers, of operators and of methods; `points` what is
special to a function.
"""

from importlib import import_module
from pathlib import Path
from types import FunctionType


def files(library):
    """The tables of a library."""
    paths = sorted(Path(__file__).parent.glob(f"{library}_*.py"))
    return [import_module(f"tests.calls.{path.stem}").CALLS for path in paths]


NUMPY = {f: calls for table in files("numpy") for f, calls in table.items()}
RULES = {f: calls for table in files("scipy") for f, calls in table.items()}
# Drop-ins as they are in a gradient: elsewhere they are SciPy's, and round otherwise.
SCIPY = {getattr(f, "inside", f): calls for f, calls in RULES.items()}
DROP_INS = RULES | {f: calls for table in files("formulas") for f, calls in table.items()}
# SciPy's that take functions, sparse matrices, or parameters that belong together, and are in no
# table: tests/scipy has programs of those.
OF_FUNCTIONS = {
    "scipy.integrate": {
        "cubature", "dblquad", "fixed_quad", "nquad", "nsum", "odeint", "quad", "quad_vec",
        "solve_bvp", "solve_ivp", "tanhsinh", "tplquad",
    },
    "scipy.interpolate": {"approximate_taylor_polynomial"},
    "scipy.linalg": {"qr_delete", "qr_insert", "qr_update"},
    # For float32, SciPy's spheroidal functions do not end, others give NaN; nctdtridf is rough.
    "scipy.special": {
        "agm", "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1",
        "mathieu_modsem2", "mathieu_sem", "nctdtridf", "nctdtrinc", "obl_ang1", "obl_ang1_cv",
        "obl_rad1", "obl_rad1_cv", "pbvv", "pbwa", "pro_ang1", "pro_ang1_cv", "pro_rad1",
        "pro_rad1_cv",
    },
    "scipy.sparse": {
        "block_array", "block_diag", "bmat", "diags", "diags_array", "hstack", "kron", "kronsum",
        "spdiags", "tril", "triu", "vstack",
    },
    "scipy.stats": {"anderson"},  # its name is one of scipy.optimize's, too
    "scipy.sparse.linalg": {
        "bicg", "bicgstab", "cg", "cgs", "factorized", "gcrotmk", "gmres", "lgmres", "minres",
        "qmr", "spilu", "splu", "spsolve_triangular", "tfqmr",
    },
    "scipy.optimize": {
        "anderson", "approx_fprime", "basinhopping", "bisect", "brent", "brenth", "brentq",
        "broyden1", "broyden2", "brute", "curve_fit", "diagbroyden", "differential_evolution",
        "direct", "dual_annealing", "excitingmixing", "fixed_point", "fmin", "fmin_bfgs", "fmin_cg",
        "fmin_cobyla", "fmin_l_bfgs_b", "fmin_ncg", "fmin_powell", "fmin_slsqp", "fmin_tnc",
        "fminbound", "fsolve", "golden", "least_squares", "leastsq", "linearmixing", "minimize",
        "minimize_scalar", "newton", "newton_krylov", "ridder", "root", "root_scalar", "shgo",
        "toms748",
    },
}  # fmt: skip


def called():
    """The functions of the tables, and the names that those written here call."""
    functions, names = set(), set()
    for f in DROP_INS:
        functions.add(getattr(f, "original", f))
        if isinstance(f, FunctionType):
            names.update(f.__code__.co_names)
    return functions, names
