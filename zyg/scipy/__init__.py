"""SciPy for watched values: ``from zyg.scipy import special, stats, linalg, optimize``.

Where no gradient runs around a line, in its task, the functions of these modules are SciPy's own.
In a gradient they take watched and plain values alike. Whatever has no rule here is SciPy's own,
and refuses watched values. The functions of ``scipy.special`` that are ufuncs work by
their plain names too.

>>> import zyg
>>> from zyg.scipy import special
>>> zyg.gradient(lambda x: special.erf(x), 0.0)
(1.1283791670955126,)

An underscore says: not one of SciPy's modules.

_theirs                                     SciPy's modules, of any version
_without_rules                              what is constant, and what is refused
_namespace _closures                        what the drop-in modules share; functions given to SciPy
_valued _estimates                          SciPy's values, by formulas; what solvers say of them
_own_code                                   what is differentiated along SciPy's own code
_incomplete _gamma_ratios _special_slopes _special_elliptic   slopes of special functions
_special_table                              special functions of numbers
_special_functions                          those with several values, and of arrays
_special_probabilities _special_noncentral  those of distributions, and their inverses
_special_polynomials                        multifactorials; nodes and weights
_special_solutions special                  those that solve differential equations
_linalg_systems _linalg_factors _matrix_functions  equations, factors, functions
_linalg_formulas _linalg_forms linalg       what is written in those; similar matrices
_draws                                      draws of gamma, beta and their like
_moments _distributions _distribution_functions  distributions of one variable, as formulas
_distributions_half_line _distributions_line  tables of formulas: of positive numbers, of any
_distributions_interval _distributions_noncentral  on intervals; mixtures
_distributions_shaped _distributions_discrete  with integrals for constants; of whole numbers
_distributions_of_tests _distributions_own  of statistics of tests; those of SciPy's own formulas
_several_variables _kernel_density          those of several; estimated densities
_slopes_of_samples stats                    expectiles, medians of slopes; their module
_solver_derivatives                         what solvers ask for: jac="zyg", hess="zyg"
_resolved _runge_kutta_methods              steps that are short enough; methods
_steps_at_once _runge_kutta                 derivatives along steps
_jumps _integrate_rules                     functions that jump; differential equations
_quadrature_at_places _quadrature _sums_of_samples  integrals
_optimize_rules _linear_programs optimize   minima and roots, by the implicit function theorem
_signal_rules _signal_filters               convolutions; filters
_signal_formulas                            what is neither: peaks, periodograms of any times
_signal_splines _signal_systems signal      filters for splines; poles and residues of systems
_ndimage_rules _ndimage_filters             filters of images: along an axis; in several
_ndimage_orders _ndimage_splines            those that choose a neighbour; splines
_ndimage_labels ndimage                     statistics of regions
_fft_rules fft fftpack                      Fourier, cosine and sine transforms
_sparse_rules _sparse_builders _sparse_solvers  matrices of watched elements; systems
_sparse_eigenvalues _sparse_least_squares    some eigenvalues; lsqr and lsmr
_sparse_functions _sparse_linalg sparse     functions of matrices; the module
_distances _spatial_distance                distances of vectors
_spatial_trees                  trees of points
_interpolate_pieces _interpolate_data       splines at points; their coefficients
_interpolate_classes _interpolate_splines   classes that stand for SciPy's; splines of one variable
_interpolate_fitpack _interpolate_tables    those of FITPACK; values on a line and on a grid
_interpolate_curves _interpolate_polynomials  curves and surfaces; polynomials
_interpolate_scattered interpolate          values at scattered points
_boundary_values integrate                  boundary value problems
_rotation_formulas _rotations               quaternions; rotations that may be watched
_spatial_transform spatial                  their module
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from zyg.base.extras import demand_version as _demand_version
from zyg.base.extras import installing as _installing

try:
    import scipy as _scipy
except ImportError as error:
    raise ImportError(
        "zyg.scipy differentiates the functions of SciPy, which is not installed: "
        f"{_installing('scipy')}"
    ) from error

from zyg.base.marks import formulas as _formulas
from zyg.scipy._namespace import Finder as _Finder

_demand_version("SciPy", _scipy.__version__, "1.17.1")
_sys.meta_path.insert(0, _Finder())  # before what would load copies of SciPy's modules
_formulas(__name__, read=False)  # some are of what Python computes
__version__ = _scipy.__version__

_MODULES = (
    "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal",
    "sparse", "spatial", "special", "stats",
)  # fmt: skip


if _TYPE_CHECKING:
    from scipy import *  # noqa: F403

    from zyg.scipy import fft as fft
    from zyg.scipy import fftpack as fftpack
    from zyg.scipy import integrate as integrate
    from zyg.scipy import interpolate as interpolate
    from zyg.scipy import linalg as linalg
    from zyg.scipy import ndimage as ndimage
    from zyg.scipy import optimize as optimize
    from zyg.scipy import signal as signal
    from zyg.scipy import sparse as sparse
    from zyg.scipy import spatial as spatial
    from zyg.scipy import special as special
    from zyg.scipy import stats as stats


def __getattr__(name: str) -> _Any:
    return _import_module(f"{__name__}.{name}") if name in _MODULES else getattr(_scipy, name)


def __dir__() -> list[str]:
    return dir(_scipy)
