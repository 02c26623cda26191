"""scipy.interpolate for watched values: ``from zyg.scipy import interpolate``.

The piecewise polynomials (`CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`,
`CubicHermiteSpline`, `PPoly`), the splines (`BSpline`, `make_interp_spline`, `make_lsq_spline`,
`splrep`, `splprep` and `splev` with their kin, `InterpolatedUnivariateSpline`,
`LSQUnivariateSpline`, `UnivariateSpline` of s=0; `bisplrep` with given knots), the tables
(`interp1d`, `RegularGridInterpolator`, `interpn`) and what is made of scattered points
(`RBFInterpolator`, `LinearNDInterpolator`, `NearestNDInterpolator`, `griddata`) take watched
points, and data of which values and places are watched; so do the methods `derivative`,
`antiderivative` and `integrate`. At a point between two pieces, the derivative is that of the piece
that SciPy computes with. Objects are SciPy's; made by these classes, where a gradient runs or none,
they take watched points. Where a point is one of the data of `RBFInterpolator`, second derivatives
leave out that one's radial function, as at a kink.

>>> import numpy as np, zyg
>>> from zyg.scipy import interpolate
>>> t = np.arange(4.0)
>>> zyg.gradient(lambda x: interpolate.CubicSpline(t, t**2)(x), 1.5)
(3.0,)

"""

from typing import TYPE_CHECKING, Any

import scipy.interpolate

from zyg.scipy import _interpolate_curves as _interpolate_curves
from zyg.scipy import _interpolate_fitpack as _interpolate_fitpack
from zyg.scipy import _interpolate_polynomials as _interpolate_polynomials
from zyg.scipy import _interpolate_scattered as _interpolate_scattered
from zyg.scipy._interpolate_classes import CLASSES, FUNCTIONS, refuse_others
from zyg.scipy._namespace import drop_in

refuse_others(scipy.interpolate)
_made = CLASSES | {k: f for k, f in FUNCTIONS.items() if hasattr(scipy.interpolate, k)}
__all__ = [*_made]

globals().update(_made)
if TYPE_CHECKING:
    from scipy.interpolate import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.interpolate, globals())
