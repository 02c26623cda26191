"""Systems by their poles, and filters for splines: what is refused, and what carries nothing."""

import numpy as np
import pytest
import scipy.signal

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import signal

A, B = np.array([[-0.5, 0.2], [0.1, -0.8]]), np.array([[1.0], [0.4]])
C, LONG = np.array([[0.3, 0.9]]), np.array([1.3, 0.4, -0.2])
X = np.random.default_rng(2).normal(size=(14, 15))


@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda a: signal.residue(LONG, a * [1.0, 0.0, 0.0] + [0.0, 2.0, 1.0]), "poles are equal"),
        (lambda a: signal.residue([0.0, 1.0], a * [0.0, 1.0, 1.0]), "begin with 0"),
        (lambda a: signal.residuez(LONG, a * [1.0, 1.0, 0.0]), "end with 0"),
        (lambda a: signal.ss2zpk(A, B, C, a[0] * np.zeros((1, 1))), "begin with 0"),
        (lambda a: signal.place_poles(np.eye(3) * a, np.eye(3)[:, :2] + 1, [-1, -2, -3]), "inputs"),
        (lambda a: signal.place_poles(A * a[0], B, [-1, -2], rtol=a[1] / 9), "watched options"),
        (lambda a: signal.place_poles(A * a[0], B, [-1, -2]).X * 2, "compute with gain_matrix"),
        (lambda a: signal.symiirorder2(X, 0.1, a[0], 1e-3), "the derivative by 'omega'"),
        (lambda a: signal.remez(5, [0, 0.1, 0.2, 0.5], a[:2]), "firls has a rule"),
    ],
)
def test_what_is_not_known_is_refused(f, what):
    with pytest.raises(MissingRuleError, match=what):
        zyg.pullback(f, np.array([1.0, 1.5, 0.5]))


def test_orders_of_filters_are_whole_numbers():
    y, back = zyg.pullback(lambda a: signal.buttord(a, 0.4, 1.0, 30.0)[0], 0.2)
    assert (y, type(y)) == (scipy.signal.buttord(0.2, 0.4, 1.0, 30.0)[0], int)
    assert back(1.0) == (None,)


def test_a_filter_for_two_stop_bands_is_refused_by_what_searches_them():
    with pytest.raises(MissingRuleError, match="bounds that do not move"):
        zyg.pullback(lambda a: signal.buttord(a, [0.2, 0.5], 1, 30)[1], np.array([0.1, 0.6]))


@pytest.mark.parametrize("name", ["cspline2d", "qspline2d", "spline_filter", "sepfir2d"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_scipys_in_their_precision(name, dtype):
    image, kernels = np.tile(X, (3, 3)).astype(dtype), ()
    if name == "sepfir2d":
        kernels = LONG.astype(dtype), LONG.astype(dtype)
    found = zyg.pullback(lambda x: getattr(signal, name)(x, *kernels), image)[0]
    expected = getattr(scipy.signal, name)(image, *kernels)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_cut_of_poles_at_one_place_goes_with_the_numerator():
    """Residues at a pole of three are sums, in which each coefficient of b has a weight."""
    a = np.poly([0.5, 0.5, 0.5, -0.2])
    for f in (signal.residue, signal.residuez):
        zyg.check_gradient(lambda b, f=f: f(b, a), np.array([1.0, 2.0, 1.0, 4.0, 3.0, 1.0]))
