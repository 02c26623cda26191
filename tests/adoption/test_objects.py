"""Objects of SciPy's classes that have a drop-in: splines and others, in adopted modules."""

import pickle
import sys

import numpy as np
import pytest
import scipy.interpolate
import scipy.stats

import zyg
from zyg.errors import ConversionError

T = np.arange(6.0)
Y = np.sin(T)
SOURCE = """
    import numpy as np
    import scipy
    from scipy import interpolate
    from scipy.interpolate import CubicSpline, interp1d
    from scipy.stats import gaussian_kde

    T = np.arange(6.0)
    Y = np.sin(T)
    spline = CubicSpline(T, Y)
    tables = {"a": [interp1d(T, Y)]}
    through = interpolate.make_interp_spline(T, Y)

    class Model:
        def __init__(self):
            self.spline = interpolate.PchipInterpolator(T, Y)

    model = Model()

    def at(x):
        assert isinstance(spline, CubicSpline) and isinstance(spline, interpolate.PPoly)
        return spline(x) + tables["a"][0](x) + through(x) + model.spline(x) + Model().spline(x)

    def methods(x):
        return spline.derivative()(x) + spline.integrate(0, x) + spline.antiderivative()(x)

    def of_data(y):
        s = CubicSpline(T, y)
        assert isinstance(s, interpolate.CubicSpline)
        tck = scipy.interpolate.splrep(T, y)
        return s(1.3) + interp1d(T, y)(2.2) + interpolate.splev(0.7, tck)

    def on_a_grid():
        t = np.linspace(0.0, 5.0, 6)
        return CubicSpline(t, np.sin(t))(np.array([1.3]))[0]

    density = gaussian_kde(Y)

    def densities(y, x):
        assert isinstance(gaussian_kde(y), gaussian_kde)
        return density.logpdf(x) + gaussian_kde(y).evaluate(x) + density(x)

    def change():
        spline.extrapolate = False
"""


@pytest.fixture
def curves(write):
    write({"curves.py": SOURCE})
    import curves

    with zyg.adopt("curves"):
        yield curves


def test_splines_and_tables_are_differentiated(curves):
    zyg.check_gradient(curves.at, 1.3)
    zyg.check_gradient(curves.methods, 1.3)
    zyg.check_gradient(curves.of_data, Y)


def test_estimated_densities_are_differentiated(curves):
    zyg.check_gradient(curves.densities, Y, 0.3)
    assert type(vars(curves)["density"]) is scipy.stats.gaussian_kde


def test_classes_and_objects_are_scipys_where_no_gradient_runs(curves):
    plain = vars(curves)["spline"]
    zyg.gradient(curves.at, 1.3)

    assert curves.CubicSpline is scipy.interpolate.CubicSpline
    assert curves.spline is plain
    assert type(plain) is scipy.interpolate.CubicSpline


def test_arrays_made_in_a_gradient_are_plain_data(curves):
    expected = float(scipy.interpolate.CubicSpline(T, Y)(1.3))
    assert zyg.gradient(lambda x: x * curves.on_a_grid(), 2.0) == (pytest.approx(expected),)


def test_what_changes_in_a_gradient_changes_the_object(curves):
    def f(x):
        curves.change()
        return curves.spline(x)

    assert np.isnan(zyg.pullback(f, 9.0)[0])
    assert curves.spline.extrapolate is False
    curves.spline.c = curves.spline.c * 0 + 1.0
    assert zyg.gradient(lambda x: curves.spline(x), 1.5)[0] == pytest.approx(2.75)


def test_objects_are_pickled_as_they_are(curves):
    def f(x):
        again = pickle.loads(pickle.dumps(curves.spline))
        assert type(again) is scipy.interpolate.CubicSpline
        return x * curves.spline.c[0, 0]

    zyg.gradient(f, 1.0)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_an_object_from_outside_says_what_to_do(curves):
    s = scipy.interpolate.CubicSpline(T, Y)
    with pytest.raises(ConversionError, match=r"use zyg\.scipy\.interpolate\.CubicSpline"):
        zyg.pullback(lambda x: curves.at(x) + s(x), 1.3)
    assert "curves" in sys.modules
