"""scipy.optimize for watched values: ``from zyg.scipy import optimize``.

Roots and minima are differentiated by the implicit function theorem, with respect to whatever their
function holds that is watched: args, closures, attributes. The starting point carries no
derivative. Linear programs and least squares between bounds are differentiated by the constraints
that hold at the solution; a degenerate vertex is refused. How exact a derivative is depends on how
exactly the solver has solved.

>>> import zyg
>>> from zyg.scipy import optimize
>>> def cube_root(c):
...     return optimize.brentq(lambda x: x**3 - c, 0.0, 10.0)
>>> round(zyg.gradient(cube_root, 8.0)[0], 6)
0.083333

`minimize`, `least_squares`, `root` and `curve_fit` take ``jac="zyg"``, and `minimize`
``hess="zyg"``: their derivatives are zyg's, and value and gradient take one evaluation. The
unknown, but for that of `curve_fit`, may then be any structure of numbers and arrays (see
`zyg.flatten`); f, callbacks, constraints and ``result.x`` have its structure.

>>> def loss(p):
...     return (p["a"] - 3.0) ** 2 + p["b"] ** 2
>>> found = optimize.minimize(loss, {"a": 0.0, "b": 1.0}, jac="zyg")
>>> round(found.x["a"], 6)
3.0

"""

from typing import TYPE_CHECKING, Any

import scipy.optimize

from zyg.scipy import _linear_programs as _linear_programs
from zyg.scipy import _optimize_rules as _optimize_rules
from zyg.scipy._namespace import drop_in
from zyg.scipy._optimize_rules import linear_sum_assignment as linear_sum_assignment
from zyg.scipy._solver_derivatives import curve_fit as curve_fit
from zyg.scipy._solver_derivatives import least_squares as least_squares
from zyg.scipy._solver_derivatives import minimize as minimize
from zyg.scipy._solver_derivatives import root as root

if TYPE_CHECKING:
    from scipy.optimize import *  # noqa: F403

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = drop_in(scipy.optimize, globals())
