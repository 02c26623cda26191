"""Calls of the rules for scipy.interpolate, and for sums and solutions of data."""

import numpy as np
import scipy

from zyg.scipy import integrate, interpolate, optimize

from .calls import CUBE, V, W, array, call

IN_C = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"  # FITPACK, which was in Fortran

X = np.array([0.0, 0.7, 1.5, 2.1, 3.4, 4.0])
Y, AT = array(6), np.array([0.2, 0.93, 2.6])
KNOTS = np.array([-0.1] * 3 + [1.8] + [5.0] * 3)
TABLE = array(6, 4)
ACROSS = np.arange(4.0)
PLACES, LINES = np.reshape(np.mgrid[0:3:4j, 0:3:4j], (2, 16)), np.array([0.0, 0.0, 1.5, 3.0, 3.0])
SPOTS = np.array([[0.0, 0.1], [1.0, 0.0], [0.1, 1.0], [0.9, 1.1], [0.45, 0.6]])
INSIDE = np.array([[0.3, 0.4], [0.6, 0.7]])


def along_a_spline(x, y, at):
    return interpolate.make_interp_spline(x, y, 2)(at)


def along_the_nearest_spline(y, at):
    return interpolate.make_lsq_spline(X, y, KNOTS, 2)(at)


def along_a_smooth_spline(at):
    return interpolate.make_smoothing_spline(X, np.cos(X))(at)


def by_coefficients(x, y, at):
    tck = interpolate.splrep(x, y)
    return interpolate.splev(at, tck, ext=1), interpolate.splint(at[0], at[1], tck)


def slope_by_coefficients(y, at):
    return at + interpolate.splev(at, interpolate.splder(interpolate.splrep(X, y)))


def integral_by_coefficients(y, at):
    return interpolate.splev(at, interpolate.splantider(interpolate.splrep(X, y)))


def of_a_table(z, at):
    return interpolate.interpn((X, ACROSS), z, at)


def of_scattered_points(d, at):
    return interpolate.griddata(SPOTS, d, at)


def nearest_without_signs(a, b):
    """With rows of its own: SciPy's answer to none is memory that is not set."""
    return optimize.nnls(np.concatenate([np.eye(3), a]), np.concatenate([np.ones(3), b]))


def in_order(y, w):
    found = optimize.isotonic_regression(y, weights=w * w)
    return found.x, found.weights


def between_bounds(a, b):
    """With rows of its own: of which one solution is the only one."""
    whole = np.concatenate([3 * np.eye(3), a]), np.concatenate([np.array([1.0, 2.0, 0.4]), b])
    return optimize.lsq_linear(*whole, (-0.4, 0.3), method="bvls").x


def cheapest(c, b):
    found = optimize.linprog(c - np.array([4.0, 3.0, 5.0]), np.eye(3), b + 5, bounds=(-1, None))
    return found.x, found.fun, found.ineqlin.marginals


def along_a_curve(x, at):
    (t, c, k), u = interpolate.splprep([x[0], x[1]], s=0)
    return interpolate.splev(at, interpolate.insert(0.3, (t, c, k))), u


def along_a_new_curve(x, y, at):
    s, u = interpolate.make_splprep([x, y])
    (knots,) = interpolate.generate_knots(x, y)
    return s(at), u, interpolate.make_splrep(x, y)(at), knots


def derivatives_and_roots(y, at):
    tck = interpolate.splrep(X, y - np.mean(y))
    return interpolate.spalde(at, tck), interpolate.sproot(tck)


def nearest_surface(z, at):
    tck = interpolate.bisplrep(
        *PLACES, z, None, 0, 3, 0, 3, 1, 1, task=-1, tx=LINES, ty=LINES, nxest=9, nyest=9
    )
    return interpolate.bisplev(at, np.array([0.3, 2.2]), tck)


def by_a_polynomial(x, y, at):
    return interpolate.lagrange(x, y)(at)


def by_a_quotient(a, at):
    p, q = interpolate.pade(a, 2)
    return p(at) / q(at)


def weights_of_samples(inner):
    ends = np.zeros(1), np.full(1, 4.0)
    return integrate.newton_cotes(np.concatenate([ends[0], inner, ends[1]]))


CALLS = {
    along_a_spline: [call(X, Y, AT, order=1), call(X, TABLE, 1.3, order=1)],
    along_the_nearest_spline: [call(Y, AT, order=1)],
    along_a_smooth_spline: [call(AT)],
    by_coefficients: [call(X, Y, AT, order=1)],
    slope_by_coefficients: [call(Y, AT, order=1)],
    integral_by_coefficients: [call(Y, AT, order=1)],
    along_a_curve: [call(TABLE[:, :4].T, AT / 4, order=1)],
    along_a_new_curve: [call(X, Y, AT / 4, order=1)],
    derivatives_and_roots: [call(Y, AT, order=1)],
    nearest_surface: [] if IN_C else [call(array(16), AT[:2] + 0.1, order=1)],  # loses its knots
    by_a_polynomial: [call(X[:4], Y[:4], AT)],
    by_a_quotient: [call(Y, AT)],
    interpolate.pchip_interpolate: [
        call(X, Y, AT), call(X, Y, AT, 1), call(X, TABLE, 1.3, order=1),
    ],
    of_a_table: [call(TABLE, np.array([[0.3, 1.2], [2.2, 2.7]]))],
    of_scattered_points: [call(array(5), INSIDE)],
    weights_of_samples: [call(np.array([0.8, 2.1, 3.3]))],
    integrate.romb: [call(array(5)), call(array(3, 5), 0.3), call(array(5, 2), axis=0)],
    integrate.cumulative_simpson: [
        call(CUBE), call(TABLE, dx=0.3, axis=0), call(TABLE[:, :2]), call(Y, initial=0.5),
        call(TABLE, x=np.cumsum(TABLE**2, axis=1), initial=0.5), call(Y, x=X),
    ],
    optimize.rosen: [call(V), call(array(3, 2))],
    optimize.rosen_der: [call(V)],
    optimize.rosen_hess: [call(V)],
    nearest_without_signs: [call(array(4, 3), V, order=1)],
    in_order: [call(Y, Y)],
    between_bounds: [call(array(4, 3), V, order=1)],
    cheapest: [call(W, array(3, seed=2))],
}  # fmt: skip
