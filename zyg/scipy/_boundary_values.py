"""Boundary value problems, differentiated by the implicit function theorem.

The equations are those of the collocation that SciPy has solved, at its last mesh (J. Kierzenka, L.
F. Shampine, "A BVP solver based on residual control and the MATLAB PSE", 2001).
"""

import numpy as np

from zyg.errors import ConvergenceError
from zyg.functions.kit import as_array, is_watched, strip, watched_leaves, with_value
from zyg.scipy._closures import plain, refuse
from zyg.scipy._estimates import Estimate
from zyg.scipy._interpolate_classes import CLASSES
from zyg.scipy._interpolate_data import hermite_cubics
from zyg.scipy._interpolate_splines import Polynomials as Polynomials
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import by_names
from zyg.verbs.held import Held
from zyg.verbs.implicit import solution

_NAME = "scipy.integrate.solve_bvp"
_NEAR = 1e-3  # by how much of its size a Newton step may move a solution


class _Collocation:
    """The equations of a solution at the points of a mesh, of `count` components."""

    def __init__(self, both, mesh, count):
        self._both, self._mesh, self._count = both, mesh, count

    def parts(self, z):
        """The states at the mesh, and the parameters, as arguments that may be none."""
        size = self._count * np.size(self._mesh)
        p = z[size:]
        return np.reshape(z[:size], (self._count, -1)), (p,) if np.size(p) else ()

    def rates(self, x, y, p):
        return as_array(self._both(True, x, y, *p))

    def __call__(self, z):
        """What is 0: each piece has the slope of its states in the middle; and the ends."""
        (y, p), x = self.parts(z), self._mesh
        h, f = np.diff(x), self.rates(x, y, p)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        inside = self.rates(x[:-1] + 0.5 * h, middle, p)
        rest = y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * inside)
        ends = as_array(self._both(False, y[:, 0], y[:, -1], *p))
        return np.concatenate([np.ravel(rest), np.ravel(ends)])


@by_names(scipy.integrate.solve_bvp)
def solve_bvp(fun, bc, x, y, p, S, **options):
    """The mesh moves with the points that are given; the first guess has no part in it."""
    if S is not None:
        refuse(_NAME, "S", "its rule covers only equations without a singular term.")

    def both(of_rates, *arguments):
        return (fun if of_rates else bc)(*arguments)

    given, rest = plain(((x, y, p), options))
    held = Held(both)
    found = held.run(
        _NAME,
        lambda f, _: scipy.integrate.solve_bvp(
            lambda *x: f(True, *x), lambda *x: f(False, *x), *given, **rest
        ),
        x,
        moving=slice(1, None),
    )
    if np.iscomplexobj(found.y) or any(np.iscomplexobj(strip(v)) for v in held.leaves):
        refuse(_NAME, "complex values", "its rule covers only real states and parameters.")
    if not (held.leaves or watched_leaves(x)):
        return found
    if not found.success:
        raise ConvergenceError(
            "the solution of a boundary value problem has no derivative, as there is none.",
            f"SciPy says: {found.message}",
            "start nearer, or pass more max_nodes=.",
        )
    return _watched(found, both, held, as_array(x))


def _watched(found, both, held, x):
    """What SciPy has found, with its derivatives."""
    mesh = np.interp(found.x, strip(x), x) if is_watched(x) else found.x
    n = len(found.y)

    def begin():
        make = held.again()
        return lambda z, mesh, *values: _Collocation(make(values), mesh, n)(z)

    z = np.concatenate([np.ravel(found.y), np.zeros(0) if found.p is None else found.p])
    z = solution(begin, z, (mesh, *held.leaves), _NEAR)
    problem = _Collocation(both, mesh, n)
    y, p = problem.parts(z)
    slopes = with_value(problem.rates(mesh, y, p), (found.yp,))
    width, rows = np.diff(mesh)[:, None], np.transpose(y)
    c = hermite_cubics(rows, np.transpose(slopes), width, np.diff(rows, axis=0) / width)
    found.sol = CLASSES["PPoly"].of(found.sol).with_kept(c, mesh)
    found.x, found.y, found.yp = with_value(mesh, (found.x,)), y, slopes
    found.p = p[0] if p else None
    found.rms_residuals = Estimate(found.rms_residuals, _NAME, "compute with y, or with sol")
    return found
