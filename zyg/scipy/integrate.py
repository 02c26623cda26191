"""scipy.integrate for watched values: ``from zyg.scipy import integrate``.

Solutions of differential equations are differentiated along the steps of Runge-Kutta methods (W.
Hager, "Runge-Kutta methods in optimal control and the transformed adjoint system", 2000), with the
times of events, and of boundary value problems by the implicit function theorem; integrals by the
integral of the derivative, or at the places where SciPy took the values (`cubature`). What the
function holds that is watched (args, closures, attributes) is found, and has its gradient too.

>>> import numpy as np, zyg
>>> from zyg.scipy import integrate
>>> def decayed(rate):
...     return integrate.quad(lambda t: np.exp(-rate * t), 0.0, np.inf)[0]
>>> round(zyg.gradient(decayed, 2.0)[0], 6)
-0.25

`solve_ivp` takes ``jac="zyg"``: its implicit methods then have zyg's Jacobian.

"""

from typing import TYPE_CHECKING, Any

import scipy.integrate

from zyg.scipy import _boundary_values as _boundary_values
from zyg.scipy import _integrate_rules as _integrate_rules
from zyg.scipy import _quadrature as _quadrature
from zyg.scipy import _quadrature_at_places as _quadrature_at_places
from zyg.scipy import _sums_of_samples as _sums_of_samples
from zyg.scipy._namespace import drop_in
from zyg.scipy._own_code import along_own_code
from zyg.scipy._solver_derivatives import solve_ivp as solve_ivp

if TYPE_CHECKING:
    from scipy.integrate import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.integrate, globals())

along_own_code(scipy.integrate)
