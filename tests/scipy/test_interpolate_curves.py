"""Curves, surfaces, knots, roots and polynomials of data."""

import warnings

import numpy as np
import pytest
import scipy.interpolate

import zyg
from zyg.errors import AdjointError, MissingRuleError
from zyg.scipy import interpolate

from ..calls.formulas_interpolation import IN_C

X = np.array([0.0, 0.7, 1.5, 2.1, 3.4, 4.0])
Y = np.array([0.3, 1.13, 0.4, -0.5, 0.4, 0.25])
CURVE = np.stack([Y + X, np.cos(X) * 2])
AT = np.array([0.2, 0.93, 1.3, 2.6, 3.9])
INSIDE = AT / 4


def check(f, *args, order=2, close=1e-9):
    """f(module, *args) is SciPy's, where gradients run and where none does; so are derivatives."""

    def ours(*args):
        return f(interpolate, *args)

    expected = f(scipy.interpolate, *args)
    for y in (ours(*args), zyg.pullback(ours, *args)[0]):
        np.testing.assert_allclose(y, expected, rtol=close, atol=close)
    zyg.check_gradient(ours, *args, order=order)


def joined(parts):
    return np.concatenate([np.ravel(p) for p in parts])


def curve(m, x, at, **options):
    (t, c, k), u = m.splprep([x[0], x[1]], s=0, **options)
    return joined([t, *c, u, *m.splev(at, (t, c, k))])


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_curves_through_points(k):
    check(lambda m, x, at: curve(m, x, at, k=k), CURVE, INSIDE, order=1 if k > 2 else 2)


def test_curves_with_parameters_and_knots_of_their_own():
    check(lambda m, x, u: curve(m, x, 2 * INSIDE, u=u, ub=-0.5, ue=5.0), CURVE, X, order=1)

    def nearest(m, x, u, w):
        t = np.array([0.0] * 4 + [2.0] + [4.0] * 4)
        (t, c, _), _ = m.splprep([x[0], x[1]], w=w, u=u, t=t, task=-1)
        return joined([t, *c])

    check(nearest, CURVE, X, np.array([1.0, 2.0, 0.7, 1.0, 0.5, 1.3]), order=1)


@pytest.mark.parametrize("bc_type", [None, "not-a-knot", "periodic"])
def test_new_functions_for_curves(bc_type):
    def one(m, x, y, at):
        y = np.concatenate([y[:-1], y[:1]])
        s = m.make_splrep(x, y, bc_type=bc_type)
        return joined([s(at), s.derivative()(at)])

    def several(m, x):
        x = np.concatenate([x[:, :-1], x[:, :1]], axis=1)
        s, u = m.make_splprep(x, bc_type=bc_type)
        return joined([s(INSIDE), u])

    check(one, X, Y, AT, order=1)
    check(several, CURVE, order=1)


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"k": 3, "bc_type": "periodic"}])
def test_knots(options):
    def f(m, x):
        (t,) = m.generate_knots(x, np.cos(X) - X * (np.cos(4.0) - 1) / 4, **options)
        return t

    check(f, X)


def test_splines_that_are_made_where_no_gradient_runs_take_watched_points():
    one, (several, _) = interpolate.make_splrep(X, Y), interpolate.make_splprep(CURVE)
    assert isinstance(one, interpolate.BSpline)
    zyg.check_gradient(lambda at: one(at) + np.sum(several(at / 4), axis=0), AT)


def test_parameters_are_rounded_as_scipys():
    x = CURVE.astype(np.float32)
    expected = scipy.interpolate.make_splprep(x)[1]
    found = zyg.pullback(lambda x: interpolate.make_splprep(x)[1], x)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_all_derivatives_at_points():
    def f(m, y, at):
        tck = m.splrep(X, y)
        both = tck[0], [tck[1], 2 * tck[1]], 3
        return joined([*m.spalde(at, tck), m.spalde(at[0], tck), *m.spalde(at[1], both)])

    check(f, Y, AT, order=1)


def test_roots():
    def f(m, y):
        return m.sproot(m.splrep(X, y))

    def of_object(m, y):
        return m.sproot(m.make_interp_spline(X, y))

    def both(m, y):
        t, c, k = m.splrep(X, y)
        return joined(m.sproot((t, [c, c - 0.1], k)))

    assert len(f(scipy.interpolate, Y)) == 2
    for g in (f, of_object, both):
        check(g, Y)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("place", [0.3, 1.5, 3.9, 0.0, 4.0])
def test_knots_that_are_inserted(m, place):
    def f(module, y, at, x):
        tck = module.insert(x, module.splrep(X, y), m)
        return joined([tck[0], tck[1][: len(tck[0]) - 4], module.splev(at, tck)])

    check(f, Y, AT, place, order=1) if place == 0.3 else check(
        lambda m, y, at: f(m, y, at, place), Y, AT, order=1
    )


def test_knots_that_are_inserted_into_curves_and_objects():
    def curve(m, x):
        t, c, k = m.insert(0.3, m.splprep([x[0], x[1]], s=0)[0])
        return joined([t, *(part[: len(t) - k - 1] for part in c)])

    def spline(m, y):
        s = m.insert(0.3, m.make_interp_spline(X, y))
        return joined([s(AT), s.t, s.c[: len(Y) + 1]])

    check(curve, CURVE, order=1)
    check(spline, Y)
    check(spline, np.stack([Y, Y**2], axis=1))


GRID_X, GRID_Y = (np.ravel(v) for v in np.mgrid[0:4:6j, 0:3:6j])
TX, TY = np.array([0.0] * 4 + [1.7] + [4.0] * 4), np.array([0.0] * 3 + [1.1, 2.2] + [3.0] * 3)
SURFACE = np.sin(GRID_X) * GRID_Y + np.cos(GRID_Y)


def surface(x, y, z, w):
    tck = interpolate.bisplrep(
        x, y, z, w, 0.0, 4.0, 0.0, 3.0, 3, 2, -1, tx=TX, ty=TY, nxest=20, nyest=20
    )
    return joined(tck[:3])


def of_class(x, y, z, w):
    """The same, which bisplrep of SciPy 1.18 does not give: it reads memory for the knots."""
    inner = TX[4:-4], TY[3:-3]
    made = scipy.interpolate.LSQBivariateSpline(x, y, z, *inner, w, (0, 4, 0, 3), 3, 2)
    return joined(made.tck)


def test_surfaces_nearest_to_points():
    rng = np.random.default_rng(1)
    w = rng.uniform(0.5, 1.5, SURFACE.shape)
    given = [np.clip(GRID_X, 0.1, 3.9), np.clip(GRID_Y, 0.1, 2.9), SURFACE, w]
    y, back = zyg.pullback(surface, *given)
    weights = rng.normal(size=np.shape(y))
    np.testing.assert_allclose(y, of_class(*given), rtol=1e-7, atol=1e-7)
    if not IN_C:
        np.testing.assert_allclose(surface(*given), y, rtol=1e-7, atol=1e-7)

    step = 1e-5
    for place, slope in enumerate(back(weights)):
        way = rng.normal(size=slope.shape)
        ends = [[*given], [*given]]
        ends[0][place], ends[1][place] = given[place] - step * way, given[place] + step * way
        low, high = (weights @ of_class(*end) for end in ends)
        np.testing.assert_allclose(np.sum(slope * way), (high - low) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize(("dx", "dy"), [(0, 0), (1, 0), (2, 1)])
def test_surfaces_on_grids(dx, dy):
    c = of_class(GRID_X, GRID_Y, SURFACE, None)[len(TX) + len(TY) :]

    def f(m, x, y, c):
        return joined([m.bisplev(x, y, (TX, TY, c, 3, 2), dx, dy)])

    check(f, AT, np.array([0.4, 2.5]), c)
    check(lambda m, x, y: f(m, x, y, c), 0.3, 0.4)
    check(lambda m, x: f(m, x, 2.5, c), np.array([-1.0, 0.3, 5.0]), order=1)


# Polynomials


def test_polynomials_through_points():
    def f(m, x, y):
        p = m.lagrange(x, y)
        return joined([p.coeffs, p(0.4), p.deriv()(0.3)])

    check(f, X[:4], Y[:4])


def test_a_first_coefficient_that_is_0_moves():
    x = np.array([0.0, 1.0, 2.0])
    found = zyg.jacobian(lambda y: interpolate.lagrange(x, y).coeffs, 2 * x)[0]
    np.testing.assert_allclose(found[0], [0.5, -1.0, 0.5])


@pytest.mark.parametrize(("m", "n"), [(2, None), (1, 2), (3, 1), (0, 3)])
def test_quotients_of_polynomials(m, n):
    def f(module, a):
        p, q = module.pade(a, m, n)
        return joined([p.coeffs, q.coeffs, p(0.3) / q(0.3)])

    check(f, Y)


@pytest.mark.parametrize(("degree", "order"), [(3, None), (3, 6), (4, 4), (3, 2)])
def test_taylors_polynomials(degree, order):
    def f(m, x, scale, c):
        p = m.approximate_taylor_polynomial(lambda t: np.sin(c * t) + t**2, x, degree, scale, order)
        return p.coeffs

    check(f, 0.4, 0.6, 1.3)


@pytest.mark.parametrize(
    "f",
    [
        lambda y: interpolate.lagrange(X, y).coeffs,
        lambda y: interpolate.pade(y, 2)[0].coeffs,
        lambda y: interpolate.approximate_taylor_polynomial(np.sin, y[0], 3, 0.6).coeffs,
    ],
)
def test_what_scipy_will_give_up_it_says_once(f):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        zyg.pullback(f, Y)
    assert [w.category for w in heard] == [DeprecationWarning] * IN_C


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda y: interpolate.splprep([X, y])[1], "s > 0"),
        (lambda y: interpolate.splprep([X, y], s=0, per=1)[1], "per"),
        (lambda y: interpolate.make_splrep(X, y, s=0.1)(1.0), "s > 0"),
        (lambda y: interpolate.make_splprep([X, y], s=0.1)[1], "s > 0"),
        (lambda y: next(interpolate.generate_knots(X, y, s=0.1)), "s > 0"),
        (lambda y: interpolate.insert(0.3, (*interpolate.splrep(X, y),), per=1)[1], "per"),
        (lambda y: interpolate.bisplrep(GRID_X, GRID_Y, SURFACE * y[0])[2], "task=-1"),
    ],
)
def test_what_has_no_rule_is_refused(f, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MissingRuleError, match=text):
            zyg.pullback(f, Y)


def test_what_only_touches_has_no_slope():
    t = np.array([-1.0] * 4 + [1.0] * 4)
    square = np.array([1.0, -1 / 3, -1 / 3, 1.0])  # x**2
    root, back = zyg.pullback(lambda c: interpolate.sproot((t, c, 3)), np.append(square, [0.0] * 4))
    if len(root):
        with pytest.raises(AdjointError, match="touches"):
            back(np.ones_like(root))


def test_errors_are_scipys():
    tck = scipy.interpolate.splrep(X, Y)
    with pytest.raises(TypeError, match="Invalid"):
        zyg.pullback(lambda x: interpolate.spalde(x, tck)[0], 9.0)
    with pytest.raises(ValueError, match="cubic"):
        zyg.pullback(lambda y: interpolate.sproot(interpolate.splrep(X, y, k=2)), Y)
    with pytest.raises(ValueError, match="Order of q"):
        zyg.pullback(lambda a: interpolate.pade(a, 9)[0].coeffs, Y)
