"""scipy.ndimage: what chooses neighbours, splines, regions; values by SciPy's own bits."""

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.errors import MissingRuleError, MutationError
from zyg.scipy import ndimage

from ..calls.calls import V, W, array
from ..calls.formulas_ndimage import IMAGE, LABELS, PLACES, SMALL, TURN

MODES = (
    "reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap",
)  # fmt: skip
ROWS = np.concatenate([TURN, [[0.3119], [0.1013]]], axis=1)
FAR = np.array([[-7.41, 1.73, 11.23], [0.37, -9.61, 12.79]])


def check(name, args, moving=(0,), **options):
    """zyg's derivatives are those of differences, and its values SciPy's own."""
    f = getattr(ndimage, name)

    def of_moving(*xs):
        given = [*args]
        for k, x in zip(moving, xs, strict=True):
            given[k] = x
        return f(*given, **options)

    at = [args[k] for k in moving]
    y, expected = zyg.pullback(of_moving, *at)[0], getattr(scipy.ndimage, name)(*args, **options)
    assert np.array_equal(y, expected)
    assert y.dtype == expected.dtype
    zyg.check_gradient(of_moving, *at)


@pytest.mark.parametrize("mode", MODES)
def test_weights_meet_every_boundary(mode):
    check("correlate", (IMAGE, array(3, 2)), (0, 1), mode=mode, cval=0.3, origin=(1, -1))
    check("convolve", (IMAGE, SMALL), (0, 1), mode=mode, cval=0.3)
    check("uniform_filter", (IMAGE, (3, 2)), mode=mode, cval=0.3)


@pytest.mark.parametrize("name", ["correlate", "convolve"])
@pytest.mark.parametrize(("axes", "origin"), [((1, 0), (1, -1)), ((-1, 0), 0), ((1,), -1)])
def test_axes_come_in_any_order(name, axes, origin):
    weights = array(3, 2) if len(axes) == 2 else V[:3]
    check(name, (IMAGE, weights), (0, 1), axes=axes, origin=origin)
    cube, flat = array(3, 2, 4), array(2, 3)
    check(name, (cube, flat), (0, 1), axes=(2, 0), origin=(0, -1), mode="wrap")


@pytest.mark.parametrize("mode", ["constant", "grid-constant"])
@pytest.mark.parametrize("name", ["correlate1d", "convolve1d", "correlate", "convolve"])
def test_what_fills_has_no_derivative(name, mode):
    weights = SMALL if name in ("correlate", "convolve") else V[:3]

    def f(c):
        return np.sum(getattr(ndimage, name)(IMAGE, weights, mode=mode, cval=c))

    with pytest.raises(MissingRuleError, match="no derivative by 'cval'"):
        zyg.gradient(f, 0.3)
    with pytest.raises(MissingRuleError, match="no derivative by 'cval'"):
        zyg.pushforward(f, (0.3,), (1.0,))


def test_a_refusal_says_what_to_write():
    with pytest.raises(MissingRuleError, match=r"fix: +pass zyg.stop_gradient\(cval\), or have it"):
        zyg.gradient(lambda c: np.sum(ndimage.median_filter(IMAGE, 3, cval=c)), 0.3)
    with pytest.raises(MissingRuleError, match="or output=float"):
        zyg.gradient(lambda x: np.sum(ndimage.laplace(x)), np.ones((3, 3), int))

    def estimated(x):
        return zyg.foreign(lambda x: scipy.ndimage.median(x, LABELS, [1, 99]), method="difference")(
            x
        )

    with pytest.raises(MissingRuleError, match="at these values its formula does not give what"):
        zyg.gradient(lambda x: np.nansum(ndimage.median(x, LABELS, [1, 99])), IMAGE)
    assert np.sum(zyg.gradient(lambda x: np.nansum(estimated(x)), IMAGE)[0]) > 0.99


def test_functions_may_hold_what_moves():
    def f(a):
        return ndimage.labeled_comprehension(
            IMAGE, LABELS, [1, 2], lambda v: a * np.sum(v), float, 0
        )

    zyg.check_gradient(f, 0.7)
    assert np.sum(zyg.pushforward(f, (0.7,), (1.0,))[1]) != 0
    check("generic_gradient_magnitude", (IMAGE, scipy.ndimage.sobel))
    check("gaussian_laplace", (IMAGE, [1.0, 0.5]), axes=(1, 0))


def test_what_is_not_read_moves_nothing():
    def f(c):
        return np.sum(ndimage.correlate(IMAGE, SMALL, cval=c) + ndimage.sobel(IMAGE, cval=c))

    assert zyg.gradient(f, 0.3) == (None,)
    assert zyg.pushforward(f, (0.3,), (1.0,))[1] == 0


def test_complex_weights():
    check("correlate", (IMAGE + 1j * IMAGE[::-1], SMALL * (1 + 2j)), (0, 1))
    check("convolve", (IMAGE, SMALL * (1 + 2j)), (0, 1))
    check("convolve", (IMAGE + 1j * IMAGE[::-1], SMALL), (0, 1))


@pytest.mark.parametrize("mode", MODES[:5])
@pytest.mark.parametrize("name", ["maximum_filter", "minimum_filter", "median_filter"])
def test_neighbours_are_chosen(name, mode):
    check(name, (IMAGE, (3, 2)), mode=mode, cval=0.3)
    check(name, (IMAGE, None, [[1, 0, 1], [1, 1, 0]]), mode=mode, cval=0.3, origin=(0, 1))
    check(name, (IMAGE, 3), axes=(0,), mode=mode)


@pytest.mark.parametrize("name", ["grey_erosion", "grey_dilation", "grey_opening", "white_tophat"])
def test_structures_have_derivatives(name):
    check(name, (IMAGE, None, None, array(3, 2)), (0, 3), mode="mirror")
    check(name, (IMAGE, None, None, V[:3]), (0, 3), axes=(1,), cval=1.5, mode="constant")
    check(name, (IMAGE, (2, 2)))


def test_of_equal_neighbours_the_first_counts():
    def f(x):
        return ndimage.maximum_filter1d(x, 3)[1]

    assert zyg.gradient(f, np.ones(3))[0].tolist() == [1.0, 0.0, 0.0]


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["rank_filter", "percentile_filter"]), st.integers(1, 3), st.integers(1, 3),
    st.sampled_from(MODES[:5]), st.floats(0, 0.99),
)  # fmt: skip
def test_ranks_of_any_window(name, height, width, mode, share):
    count = height * width
    rank = int(share * count) if name == "rank_filter" else 100 * share
    check(name, (IMAGE, rank, (height, width)), mode=mode, cval=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", MODES)
def test_splines_by_the_image_and_by_the_places(mode, order):
    moving, how = (0, 1) if order else (0,), {"order": order, "mode": mode, "cval": 0.3}
    check("map_coordinates", (IMAGE, np.concatenate([PLACES, FAR], axis=1)), moving, **how)
    check("shift", (IMAGE, np.array([0.37, -1.29])), moving, **how)


MOVES = {
    "without a filter": ("map_coordinates", (IMAGE, FAR), (0, 1), {"prefilter": False}),
    "zoom": ("zoom", (IMAGE, 1.7), (0,), {}),
    "by coefficients": ("zoom", (IMAGE, (0.6, 2)), (0,), {"prefilter": False}),
    "matrix": ("affine_transform", (IMAGE, TURN, np.array([0.1531, 0.4129])), (0, 1, 2), {}),
    "rows": ("affine_transform", (IMAGE, ROWS), (0, 1), {"output_shape": (3, 7)}),
    "diagonal": ("affine_transform", (IMAGE, np.array([0.8813, 1.1937]), 0.31), (0, 1), {}),
    "angle": ("rotate", (IMAGE, 33.0), (0, 1), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("move", MOVES)
def test_images_are_moved(move, order):
    name, args, moving, options = MOVES[move]
    modes = [MODES[(order + k) % 8] for k in (0, 3)]
    for mode in modes:
        check(name, args, moving if order else (0,), order=order, mode=mode, cval=0.3, **options)


@pytest.mark.parametrize("mode", MODES)
def test_coefficients(mode):
    check("spline_filter1d", (IMAGE, 3, 0), mode=mode)
    check("spline_filter", (IMAGE, 4), mode=mode)


@pytest.mark.parametrize("angle", [0.0, 45.0, 90.0, 180.0, -270.0])
def test_turns_onto_the_pixels(angle):
    check("rotate", (IMAGE, angle), order=1)
    check("rotate", (array(3, 2, 4), angle), axes=(0, 2), reshape=False)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # SciPy's, of labels between
@pytest.mark.parametrize("index", [None, 2, [5, 1], np.array([[1, 2], [5, 2]])])
@pytest.mark.parametrize("name", [
    "sum", "sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "median",
])  # fmt: skip
def test_regions(name, index):
    check(name, (IMAGE, LABELS, index))
    check(name, (IMAGE, LABELS[0] - 1, index if index is None else 1))
    check(name, (IMAGE,))


def test_where_the_mass_is_and_what_is_extreme():
    for index in (None, 2, [5, 1]):
        y, _ = zyg.pullback(lambda x, k=index: ndimage.extrema(x, LABELS, k)[:2], IMAGE)
        expected = scipy.ndimage.extrema(IMAGE, LABELS, index)[:2]
        assert all(map(np.array_equal, y, expected))
        zyg.check_gradient(lambda x, k=index: ndimage.extrema(x, LABELS, k)[:2], IMAGE)
    zyg.check_gradient(lambda x: ndimage.center_of_mass(x, LABELS, 2), abs(IMAGE))
    rows = zyg.pullback(lambda x: ndimage.center_of_mass(x, LABELS, [1, 2])[1], abs(IMAGE))[0]
    assert rows == scipy.ndimage.center_of_mass(abs(IMAGE), LABELS, [1, 2])[1]


def test_functions_of_neighbours_hold_what_is_watched():
    def f(x, a):
        return ndimage.generic_filter(x, lambda row: np.sum(row**3) * a, 3, mode="wrap")

    zyg.check_gradient(f, V, 1.3)

    def g(x, a):
        def fill(line, out):
            out[...] = a * line[1:] - line[:-1]

        return ndimage.generic_filter1d(x, fill, 2)

    zyg.check_gradient(g, V, 1.3)
    zyg.check_gradient(lambda x: ndimage.vectorized_filter(x, np.prod, size=2), IMAGE)


def test_what_finds_places_is_constant():
    y, back = zyg.pullback(lambda x: x * ndimage.label(x > 0)[0], IMAGE)

    assert np.array_equal(back(np.ones_like(y))[0], scipy.ndimage.label(IMAGE > 0)[0])
    distance = scipy.ndimage.distance_transform_edt(IMAGE > 0)
    slope = zyg.gradient(lambda x: np.sum(x * ndimage.distance_transform_edt(x > 0)), IMAGE)[0]
    assert np.array_equal(slope, distance)


def test_distances_move_with_the_lengths_of_steps():
    zyg.check_gradient(lambda s: ndimage.distance_transform_edt(IMAGE > 0, s), np.array([1.3, 0.7]))
    for f in (ndimage.distance_transform_edt, ndimage.distance_transform_bf):
        zyg.check_gradient(lambda s, f=f: f(V > 0, sampling=s, return_indices=True)[0], 1.3)
    bars = zyg.gradient(lambda s: ndimage.distance_transform_bf(V > 0, "taxicab", s).sum(), 1.3)
    assert bars == (None,)


def test_no_length_has_a_slope_of_zero():
    y, back = zyg.pullback(lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0), np.ones(4))

    assert not y.any()
    assert not back(np.ones(4), zeros=True)[0].any()


@pytest.mark.parametrize(("f", "at", "said"), [
    (lambda z: ndimage.zoom(V, z), 1.5, "derivative by 'zoom'"),
    (lambda c: ndimage.median_filter(V, 3, mode="constant", cval=c), 1.5, "derivative by 'cval'"),
    (lambda s: ndimage.distance_transform_bf(V > 0, sampling=s, distances=+V), 1.5, "'sampling'"),
    (lambda s: ndimage.fourier_ellipsoid(V, s), 1.5, "derivative by 'size'"),
    (lambda x: ndimage.zoom(x, 2, output=int), V, "dtype int64"),
    (lambda c: ndimage.map_coordinates(np.arange(4), c), PLACES[:1], "dtype int64"),
    (lambda x: ndimage.generic_laplace(x, lambda x, axis, out, *_: None), V, "'output'"),
])  # fmt: skip
def test_what_cannot_be_right_is_refused(f, at, said):
    with pytest.raises((MissingRuleError, TypeError), match=said):
        zyg.pullback(f, at)


def test_nothing_watched_is_written_into_an_array():
    out = np.zeros(4)
    with pytest.raises(MutationError, match="out="):
        zyg.pullback(lambda x: ndimage.maximum_filter(x, 3, output=out), V)
    assert not out.any()


def test_float32_stays_so():
    x = IMAGE.astype(np.float32)
    for f in (ndimage.median_filter, ndimage.uniform_filter, ndimage.zoom):
        y, back = zyg.pullback(lambda x, f=f: f(x, 3), x)
        assert y.dtype == back(np.ones_like(y))[0].dtype == np.float32
    y, back = zyg.pullback(lambda x: ndimage.correlate(x, W[None].astype(np.float32)), x)
    assert y.dtype == back(np.ones_like(y))[0].dtype == np.float32


def test_more_arguments_may_be_watched():
    def slope(x, axis, output, mode, cval, factor):
        return ndimage.correlate1d(x, [-factor, 0, 1], axis, output, mode, cval, 0)

    def f(x, a):
        y = ndimage.generic_filter(x, lambda row, a: np.sum(row**3) * a, 3, extra_arguments=(a,))
        return y + ndimage.generic_laplace(x, slope, extra_keywords={"factor": a})

    def g(x, a):
        return ndimage.geometric_transform(x, lambda p, a: (p[0] * a + 0.1,), extra_arguments=(a,))

    zyg.check_gradient(f, V, 1.3)
    zyg.check_gradient(g, V, 0.77)
    zyg.check_gradient(lambda s, t: ndimage.gaussian_filter(IMAGE, [s, t]), 0.9, 0.7)
    zyg.check_gradient(lambda s, t: ndimage.shift(IMAGE, [s, t], mode="wrap"), 0.13, 0.31)
