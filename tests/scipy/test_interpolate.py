"""Splines and tables: values by SciPy, derivatives by points, values and places, refusals."""

import copy
import pickle

import numpy as np
import pytest
import scipy.interpolate
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.errors import ConversionError, MissingRuleError
from zyg.scipy import interpolate

from ..calls.formulas_interpolation import IN_C

X = np.array([0.0, 0.7, 1.5, 2.1, 3.4, 4.0])
Y = np.array([0.3, 1.13, 0.4, -0.5, 0.4, 0.25])
AT = np.array([0.2, 0.93, 1.3, 2.6, 3.9])  # none is a point, or in the middle of two
BEYOND = np.concatenate([AT, [-0.3, 4.6]])
PLACES = np.concatenate([X, BEYOND, [np.nan], (X[1:] + X[:-1]) / 2])
KNOTS = np.array([-0.6, -0.4, -0.2, 0.0, 1.0, 2.5, 5.0, 5.3, 5.5, 6.0])
orders = pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.slow)])


def around(y):
    """Data with a period."""
    return np.concatenate([y[:-1], y[:1]])


def of_spline(s, at):
    """What the methods of a spline give."""
    y = np.sin(s(at)) + s.derivative()(at) * s(at[0], 1)
    return np.sum(y), s.integrate(at[1], at[-1]), s.antiderivative()(at[2])


def check(f, *args, order=2, close=1e-10):
    """f(module, *args) is SciPy's, where gradients run and where none does; so are derivatives."""

    def ours(*args):
        return f(interpolate, *args)

    expected = f(scipy.interpolate, *args)
    for y in (ours(*args), zyg.pullback(ours, *args)[0]):
        many = isinstance(y, tuple)
        for a, b in zip(y, expected, strict=True) if many else [(y, expected)]:
            np.testing.assert_allclose(a, b, rtol=close, atol=close)
    zyg.check_gradient(ours, *args, order=order)


CUBICS = {
    "not-a-knot": ("CubicSpline", {}),
    "natural": ("CubicSpline", {"bc_type": "natural"}),
    "clamped": ("CubicSpline", {"bc_type": "clamped"}),
    "mixed": ("CubicSpline", {"bc_type": ("not-a-knot", (2, 0.7))}),
    "pchip": ("PchipInterpolator", {}),
    "akima": ("Akima1DInterpolator", {"extrapolate": True}),
    "makima": ("Akima1DInterpolator", {"method": "makima", "extrapolate": True}),
}


@orders
@pytest.mark.parametrize("kind", CUBICS)
def test_cubic_pieces(kind, order):
    name, options = CUBICS[kind]

    def f(m, x, y, at):
        return of_spline(getattr(m, name)(x, y, **options), at)

    check(f, X, Y, BEYOND, order=order)


@orders
def test_periodic_splines(order):
    def f(m, x, y, at):
        s = m.CubicSpline(x, around(y), bc_type="periodic")
        return *of_spline(s, at), s.integrate(at[0], at[-1] + 9)

    check(f, X, Y, BEYOND, order=order)


def test_slopes_at_the_ends_are_differentiated():
    def f(m, start, end):
        ends = (1, start), (2, end)
        return m.CubicSpline(X, Y, bc_type=ends)(AT), m.CubicHermiteSpline(X, Y, start * X)(AT)

    check(f, 0.3, -0.7)


@orders
def test_polynomials_of_coefficients_and_breaks(order):
    c = np.sin(np.arange(15.0)).reshape(3, 5)

    def f(m, c, x, at):
        return of_spline(m.PPoly(c, x), at)

    check(f, c, X, BEYOND, order=order)
    check(f, c, X[::-1].copy(), BEYOND, order=order)


def test_objects_that_are_made_without_a_look_at_their_data():
    def f(m, c, x, knots):
        made = m.PPoly.construct_fast(c, x), m.BSpline.construct_fast(knots, x, 3, axis=0)
        return made[0](AT), made[1](AT), made[1].derivative()(AT)

    knots = np.concatenate([[0.0] * 4, X[2:-2], [9.0] * 4])
    check(f, np.sin(np.arange(15.0)).reshape(3, 5), X, knots)
    assert (
        type(interpolate.CubicSpline.construct_fast(np.ones((4, 5)), X)).__name__ == "CubicSpline"
    )


def gap(y, expected):
    np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"]),
    st.integers(2, 6), st.sampled_from([(), (2,), (2, 3)]), st.integers(0, 4),
    st.sampled_from([True, False, "periodic"]), st.integers(0, 2), st.integers(0, 2**16),
)  # fmt: skip
def test_values_are_scipys(name, count, tail, nu, extrapolate, axis, seed):
    """At points, beyond them and between, of data of any shape along any axis."""
    chance = np.random.default_rng(seed)
    x, axis = np.cumsum(chance.uniform(0.3, 1, count)), min(axis, len(tail))
    y = np.moveaxis(chance.normal(size=(count, *tail)), 0, axis)
    at = np.concatenate([x, x[:1] - 0.4, x[-1:] + 0.3, [np.nan]])
    at = at if seed % 2 else at[:, None]
    s = getattr(scipy.interpolate, name)(x, y, axis=axis)

    gap(zyg.pullback(lambda y: getattr(interpolate, name)(x, y, axis=axis).c, y)[0], s.c)
    for f, v in (
        (lambda at: getattr(interpolate, name)(x, y, axis)(at, nu, extrapolate), at),
        (lambda y: getattr(interpolate, name)(x, y, axis)(at, nu, extrapolate), y),
    ):
        gap(zyg.pullback(f, v)[0], s(at, nu, extrapolate))


@orders
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_splines_through_points(k, order):
    def f(m, x, y, at):
        return of_spline(m.make_interp_spline(x, y, k), at)

    check(f, X, Y, BEYOND, order=order)


@pytest.mark.parametrize(
    "options",
    [
        {"bc_type": "natural"}, {"bc_type": "clamped"}, {"k": 1}, {"k": 0},
        {"bc_type": ([(1, 0.3)], [(2, 0.2)])}, {"bc_type": ("natural", None), "t": KNOTS[1:]},
    ],
)  # fmt: skip
def test_conditions_of_splines(options):
    t = {"t": np.concatenate([[0.0] * 4, X[1:-2], [4.0] * 4])} if "t" in options else {}

    def f(m, x, y, at):
        return np.sin(m.make_interp_spline(x, y, **options | t)(at))

    check(f, X, Y, AT, order=1) if not t else check(lambda m, y: f(m, X, y, AT), Y, order=1)


def test_periodic_splines_through_points():
    for k in (2, 3, 4):
        check(
            lambda m, x, y, at, k=k: of_spline(
                m.make_interp_spline(x, around(y), k, bc_type="periodic"), at
            ),
            X, Y, BEYOND, order=1,
        )  # fmt: skip


@orders
def test_splines_of_knots_and_coefficients(order):
    def f(m, t, c, at):
        return of_spline(m.BSpline(t, c, 3), at)

    check(f, KNOTS, Y, BEYOND, order=order)


def test_the_spline_that_is_nearest_to_points():
    t = np.concatenate([[-0.1] * 4, [1.0, 2.5], [5.0] * 4])

    def f(m, y, at):
        return of_spline(m.make_lsq_spline(X, y, t, w=X + 1), at)

    check(f, Y, AT, order=1)


def test_knots_that_coincide():
    t, c = np.array([0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 3.0]), np.arange(8.0)
    at = np.concatenate([t, np.linspace(-1, 4, 11)])
    for nu in range(5):
        y, _ = zyg.pullback(lambda c, nu=nu: interpolate.BSpline(t, c, 3)(at, nu), c)
        gap(y, scipy.interpolate.BSpline(t, c, 3)(at, nu))


@pytest.mark.parametrize("ext", [0, 1, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_functions_of_fitpack(k, ext):
    def f(m, x, y, at):
        tck = m.splrep(x, y, k=k)
        slopes = m.splev(at, tck, der=1, ext=ext) + m.splev(at, m.splantider(tck))
        return np.sin(m.splev(at, tck, ext=ext)), m.splint(at[0], at[-1], tck), slopes

    check(f, X, Y, BEYOND, order=1)


def test_knots_and_ends_given_to_splrep():
    def f(m, y, at):
        tck = m.splrep(X, y, t=[1.8], k=2)
        return m.splev(at, tck), m.splev(at, m.splder(m.splrep(X, y, xb=-0.5)))

    check(f, Y, AT)


@pytest.mark.parametrize("ext", [0, 1, "const"])
@pytest.mark.parametrize("name", ["InterpolatedUnivariateSpline", "UnivariateSpline"])
def test_splines_as_objects_of_fitpack(name, ext):
    options = {"s": 0} if name == "UnivariateSpline" else {}

    def f(m, x, y, at):
        s = getattr(m, name)(x, y, ext=ext, **options)
        return (
            s(at),
            s(at[:3], 1),
            s.derivative()(at),
            s.integral(at[0], 9.0),
            s.antiderivative()(1),
        )

    check(f, X, Y, BEYOND, order=1)


def test_points_of_smoothing_splines():
    def f(m, at):
        return m.UnivariateSpline(X, Y, s=0.1)(at), m.make_smoothing_spline(X, Y)(at)

    check(f, AT)


STEPS = ("nearest", "nearest-up", "previous", "next", "zero")
KINDS = ("linear", "slinear", "quadratic", "cubic", 2, *STEPS)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_a_line(kind):
    rows = np.stack([Y, Y**2 + 1, np.sin(Y)])

    def f(m, x, y, at):
        return np.sin(m.interp1d(x, y, kind)(at)) * at

    check(f, X, rows, AT, order=1)
    check(lambda m, at: m.interp1d(X, Y, kind, fill_value="extrapolate")(at)[:-2], BEYOND, order=1)
    check(lambda m, x: m.interp1d(x, rows.T, kind, axis=0)(AT), X[::-1].copy(), order=1)


@pytest.mark.parametrize("kind", KINDS)
def test_values_outside_of_a_table(kind):
    def f(m, y, below):
        table = m.interp1d(X, y, kind, bounds_error=False, fill_value=(below, 2.0))
        return table(BEYOND)

    check(f, Y, 0.3, order=1)
    for extra in ({"bounds_error": False}, {"fill_value": "extrapolate"}):
        expected = scipy.interpolate.interp1d(X, Y, kind, **extra)(PLACES)
        for f, v in (
            (lambda at: interpolate.interp1d(X, Y, kind, **extra)(at), PLACES),  # noqa: B023
            (lambda y: interpolate.interp1d(X, y, kind, **extra)(PLACES), Y),  # noqa: B023
        ):
            gap(zyg.pullback(f, v)[0], expected)


ACROSS = np.array([0.0, 0.6, 1.5, 2.0, 2.9, 3.5]), np.array([0.0, 0.5, 1.1, 2.0, 2.5, 3.2, 4.0])
HEIGHTS = np.sin(ACROSS[0])[:, None] * np.cos(ACROSS[1]) + 0.1 * ACROSS[1] ** 2
SPOTS = np.array([[0.2, 0.3], [1.0, 1.7], [2.6, 3.9], [3.1, 0.2], [-0.2, 1.0], [1.2, 4.3]])


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic_legacy"])
def test_tables_of_a_grid(method):
    def f(m, a, b, heights, at):
        table = m.RegularGridInterpolator(
            (a, b), heights, method, bounds_error=False, fill_value=None
        )
        return np.sin(table(at))

    close = 1e-5 if method == "slinear" else 1e-10  # SciPy solves for the coefficients by steps
    order = 1 if method == "cubic_legacy" else 2
    check(f, *ACROSS, HEIGHTS, SPOTS, order=order, close=close)
    check(f, ACROSS[0][::-1].copy(), ACROSS[1], HEIGHTS, SPOTS, order=1, close=close)
    check(lambda m, z: m.interpn(ACROSS, z, SPOTS[:4], method), HEIGHTS, order=1, close=close)
    check(
        lambda m, u, v: m.interpn(ACROSS, HEIGHTS, (u, v), method), *SPOTS[:4].T, order=1,
        close=close,
    )  # fmt: skip


def test_splines_on_a_grid_are_solved_for():
    table = interpolate.RegularGridInterpolator(ACROSS, HEIGHTS, "cubic")
    exact = scipy.interpolate.RegularGridInterpolator(ACROSS, HEIGHTS, "cubic_legacy")
    made = zyg.pullback(
        lambda z: interpolate.RegularGridInterpolator(ACROSS, z, "cubic")(SPOTS[:4]), HEIGHTS
    )[0]

    np.testing.assert_allclose(made, exact(SPOTS[:4]), rtol=1e-10)
    zyg.check_gradient(lambda at: table(at), SPOTS[:4], order=1)
    gap(zyg.pullback(lambda at: table(at, nu=(1, 0)), SPOTS[:4])[0], table(SPOTS[:4], nu=(1, 0)))


def test_values_outside_of_a_grid():
    def f(m, z, beyond):
        values = np.stack([z, z * z], axis=-1)
        table = m.RegularGridInterpolator(ACROSS, values, bounds_error=False, fill_value=beyond)
        return table(SPOTS)

    check(f, HEIGHTS, 0.7)
    with pytest.raises(ValueError, match="out of bounds in dimension 0"):
        zyg.pullback(lambda z: interpolate.RegularGridInterpolator(ACROSS, z)(SPOTS), HEIGHTS)


def test_complex_data_and_lists():
    def f(m, y, x):
        return np.abs(m.CubicSpline([0, x, 2.0, 3.5], y * (1 + 2j))([0.4, x, 3.0])), m.PPoly(
            [[x], [x * x]], [0, 2]
        )(x)

    check(f, Y[:4], 0.8)


@pytest.mark.parametrize("made", ["CubicSpline", "make_interp_spline"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda s: s.derivative(0)])
def test_a_copy_has_the_derivatives(made, again):
    def f(m, y, at):
        s = getattr(m, made)(X, y)
        other = again(s)
        slopes = other.derivative()
        return other(at) * slopes(at) + s(at)

    check(f, Y, AT, order=1)


def test_objects_are_scipys():
    for make in (lambda m: m.CubicSpline(X, Y), lambda m: m.make_interp_spline(X, Y)):
        ours, theirs = make(interpolate), make(scipy.interpolate)
        cls = getattr(interpolate, type(theirs).__name__)

        assert isinstance(ours, type(theirs))
        assert isinstance(theirs, cls)
        assert issubclass(type(theirs), cls)
        assert np.array_equal(ours(PLACES), theirs(PLACES), equal_nan=True)
        for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            assert zyg.gradient(again, 1.3)[0] == pytest.approx(theirs(1.3, 1), rel=1e-12)
    assert not isinstance(scipy.interpolate.CubicSpline(X, Y), interpolate.BSpline)


def test_a_subclass_is_not_what_scipy_makes():
    class Own(interpolate.CubicSpline):
        pass

    assert not isinstance(scipy.interpolate.CubicSpline(X, Y), Own)
    assert isinstance(Own(X, Y), scipy.interpolate.CubicSpline)
    assert zyg.gradient(lambda y: Own(X, y)(X[1]), Y)[0] == pytest.approx(np.eye(6)[1])


def test_an_object_is_a_parameter():
    s = interpolate.CubicSpline(X, Y)
    slopes = zyg.gradient(lambda s: s(0.2), s)[0]

    names = vars(getattr(slopes, "_delegate_to", slopes))  # where SciPy keeps them
    c = names["c" if "c" in names else "_c"]
    assert c[:, 0] == pytest.approx(0.2 ** np.arange(3, -1, -1))


def test_the_points_of_data_are_where_their_values_move_the_spline():
    jacobian = zyg.jacobian(lambda y: interpolate.make_interp_spline(X, y, 5)(X), Y)
    assert np.allclose(jacobian[0] if isinstance(jacobian, tuple) else jacobian, np.eye(6))


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda y: interpolate.CubicSpline(X, y).roots(), "CubicSpline.roots"),
        (lambda y: interpolate.make_interp_spline(X, y).insert_knot(0.3), "insert_knot"),
        (lambda y: interpolate.UnivariateSpline(X, y), "by a search"),
        (lambda y: interpolate.splrep(X, y, s=0.1), "by a search"),
        (lambda y: interpolate.splrep(X, y, per=1), "'per'"),
        (lambda y: interpolate.make_smoothing_spline(X, y), "make_smoothing_spline"),
        (lambda y: interpolate.InterpolatedUnivariateSpline(X, y).roots(), "roots"),
        (lambda y: interpolate.splprep([y, y]), "splprep has no rule"),
        (lambda y: interpolate.KroghInterpolator(X, Y)(y), "KroghInterpolator.__call__"),
        (lambda y: interpolate.BPoly(y[:, None], [0, 1]), "BPoly"),
        (lambda y: interpolate.BPoly.construct_fast(y[:, None], X[:2])(0.5), "BPoly"),
        (lambda y: interpolate.RegularGridInterpolator((X,), y, "pchip")([[1.0]]), "pchip"),
        (lambda y: interpolate.interpn((X, X), np.outer(y, y), AT[:2], "splinef2d"), "splinef2d"),
    ],
)
def test_what_has_no_rule_is_refused(f, what):
    with pytest.raises(MissingRuleError, match=what):
        zyg.pullback(f, np.append(Y[:5], Y[0]))


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda y: interpolate.CubicSpline(X[:-1], y), "doesn't match"),
        (lambda y: interpolate.CubicSpline(X[::-1], y), "increasing"),
        (lambda y: interpolate.interp1d(X, y)(9.0), "above"),
        (lambda y: interpolate.interp1d(X, Y)(y - 9.0), "below"),
        (lambda y: interpolate.splev(y + 9, interpolate.splrep(X, y), ext=2), "domain"),
        (lambda y: interpolate.splev(y, interpolate.splrep(X, y), der=4), "der=4"),
        (lambda y: interpolate.InterpolatedUnivariateSpline(X, y, ext=2)(9.0), "domain"),
        (lambda y: interpolate.InterpolatedUnivariateSpline(X, y)(1.0, ext=7), "mode 7"),
        (lambda y: interpolate.RegularGridInterpolator((X,), y)(np.ones((1, 2))), "dimension"),
    ],
)
def test_what_scipy_refuses_is_refused_as_by_scipy(f, what):
    with pytest.raises(ValueError, match=what):
        zyg.pullback(f, Y)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_scipys_own_class_says_what_to_use():
    s = scipy.interpolate.CubicSpline(X, Y)
    with pytest.raises(ConversionError, match=r"use zyg\.scipy\.interpolate\.CubicSpline instead"):
        zyg.pullback(lambda x: s(x), 1.3)
    with pytest.raises(ConversionError, match=r"use zyg\.scipy\.interpolate\.CubicSpline instead"):
        zyg.pullback(lambda y: scipy.interpolate.CubicSpline(X, y), Y)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.CubicSpline(X, Y)(x), lambda m, x: m.make_interp_spline(X, Y)(x),
        pytest.param(
            lambda m, x: m.splev(x, m.splrep(X, Y)),
            marks=pytest.mark.skipif(IN_C, reason="it refuses them"),
        ),
        lambda m, x: m.interpn((X,), Y, x),
        lambda m, x: m.griddata(np.outer(X, [1, 2]) + Y[:, None] * [1, 0], Y, (x, x)),
    ],
)  # fmt: skip
def test_of_complex_points_there_are_the_real_parts(f):
    y, back = zyg.pullback(lambda x: f(interpolate, x), AT * (1 + 1j))

    np.testing.assert_allclose(y, f(scipy.interpolate, AT * (1 + 1j)), 1e-12)
    real = zyg.pullback(lambda x: f(interpolate, x), AT)[1](np.ones_like(y))[0]
    np.testing.assert_allclose(back(np.ones_like(y))[0], real + 0j, 1e-12)


def test_a_spline_that_cannot_be_solved_for_is_refused():
    with pytest.raises(MissingRuleError, match="its formula raises LinAlgError: singular matrix"):
        zyg.pullback(lambda y: interpolate.splrep(np.zeros(6), y)[1], Y)
