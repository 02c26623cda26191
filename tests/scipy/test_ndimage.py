"""scipy.ndimage: filters by SciPy's own values, derivatives by differences."""

import numpy as np
import pytest
import scipy.ndimage

import zyg
from zyg.errors import MissingRuleError, MutationError
from zyg.scipy import ndimage

from ..calls.calls import V, W, array

MODES = (
    "reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap",
)  # fmt: skip
IMAGE, SIGMA = array(3, 4), np.array([0.5, 0.8])
CASES = {
    "sobel": (ndimage.sobel, (IMAGE,), {"axis": 0, "mode": ["wrap", "mirror"]}),
    "prewitt": (ndimage.prewitt, (IMAGE,), {"cval": 2.0, "mode": "constant"}),
    "even": (ndimage.convolve1d, (V, array(2)), {"origin": -1}),
    "odd": (ndimage.convolve1d, (IMAGE, W), {"axis": 0, "origin": 1}),
    "complex": (ndimage.correlate1d, (V + 1j * V[::-1], W * (1 + 2j)), {}),
    "complex convolution": (ndimage.convolve1d, (V + 1j * V[::-1], W * (1 + 2j)), {}),
    "long weights": (ndimage.correlate1d, (V[:2], array(9)), {"mode": "mirror"}),
    "one element": (ndimage.correlate1d, (V[:1], W), {"mode": "mirror"}),
    "gaussian": (ndimage.gaussian_filter, (IMAGE, SIGMA), {"order": (1, 3), "mode": "wrap"}),
    "an axis": (ndimage.gaussian_filter, (IMAGE, 0.7), {"axes": (1,), "radius": 2}),
    "as float": (ndimage.gaussian_filter, (IMAGE, 0.9), {"output": np.float64, "truncate": 2.0}),
    "no width": (ndimage.gaussian_filter, (IMAGE,), {"sigma": 0.0}),
}


@pytest.mark.parametrize("name", CASES)
def test_filters_have_their_derivatives_and_the_values_of_scipy(name):
    f, args, options = CASES[name]
    y, _ = zyg.pullback(lambda *args: f(*args, **options), *args)

    assert np.array_equal(y, getattr(scipy.ndimage, f.__name__)(*args, **options))
    zyg.check_gradient(lambda *args: f(*args, **options), *args)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("origin", [-1, 0, 1])
def test_every_boundary(mode, origin):
    def f(x, w):
        return ndimage.correlate1d(x, w, mode=mode, cval=0.3, origin=origin)

    zyg.check_gradient(f, V, W)
    assert np.array_equal(zyg.pullback(f, V, W)[0], scipy.ndimage.correlate1d(
        V, W, mode=mode, cval=0.3, origin=origin
    ))  # fmt: skip


def test_float32_stays_so():
    y, back = zyg.pullback(lambda x: ndimage.gaussian_filter(x, 1.0), IMAGE.astype(np.float32))

    assert np.array_equal(y, scipy.ndimage.gaussian_filter(IMAGE.astype(np.float32), 1.0))
    assert back(np.ones_like(y))[0].dtype == np.float32


def test_what_cannot_be_right_is_refused():
    with pytest.raises(MutationError, match="out="):
        zyg.pullback(lambda x: ndimage.gaussian_filter(x, 1.0, output=np.zeros(4)), V)
    with pytest.raises(MissingRuleError, match="dtype int64"):
        zyg.pullback(lambda x: ndimage.correlate1d(x, W, output=int), V)
    with pytest.raises(MissingRuleError, match="'cval'"):
        zyg.gradient(lambda c: ndimage.sobel(V, mode="constant", cval=c)[0], 0.5)


def test_axes_that_do_not_exist():
    with pytest.raises(np.exceptions.AxisError):
        zyg.pullback(lambda x: ndimage.sobel(x, 2), IMAGE)
    with pytest.raises(ValueError, match="unique"):
        zyg.pullback(lambda x: ndimage.gaussian_filter(x, 1.0, axes=(0, 0)), IMAGE)
    with pytest.raises(RuntimeError, match="length"):
        zyg.pullback(lambda x: ndimage.sobel(x, mode=["wrap"] * 3), IMAGE)


def test_a_filter_of_no_width_is_a_copy():
    def f(x):
        y = ndimage.gaussian_filter(x, 0.0)
        y[0] = 0.0
        return x[0] * 2.0

    assert zyg.gradient(f, V)[0].tolist() == [2.0, 0.0, 0.0, 0.0]
