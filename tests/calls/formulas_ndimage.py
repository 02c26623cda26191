"""Calls of the rules for scipy.ndimage."""

import numpy as np

from zyg.scipy import ndimage

from .calls import V, W, array, call

IMAGE, SMALL = array(3, 4), array(2, 2)
CROSS = np.array([[False, True, False], [True, True, True]])
LABELS = np.array([[0, 1, 1, 2], [2, 2, 0, 1], [5, 5, 1, 0]])
PLACES = np.array([[0.41, 1.73, 1.23], [0.37, 2.61, 1.79]])
TURN = np.array([[0.8973, 0.2117], [-0.3071, 1.0937]])
REGIONS = [call(IMAGE), call(IMAGE, LABELS, 2), call(IMAGE, LABELS, [5, 1])]
WINDOWS = [call(IMAGE, 3), call(IMAGE, (2, 3), mode="wrap"), call(V, footprint=[True, False, True])]
GREY = [call(IMAGE, 3), call(IMAGE, None, None, SMALL, mode="nearest")]
SPECTRUM = IMAGE + 1j * array(3, 4, seed=1)


def distances(steps):
    far = ndimage.distance_transform_edt(IMAGE > 0, steps)
    return far + ndimage.distance_transform_bf(IMAGE > 0, sampling=steps)


def cubes(row, factor=1.0):
    return np.sum(row**3) * factor


def fill(line, out):
    out[...] = line[:-2] * line[1:-1] + line[2:]


def slope(x, axis, output, mode, cval, factor):
    return ndimage.correlate1d(x, [-factor, 0, 1], axis, output, mode, cval, 0)


def turned(place, factor):
    return place[0] * factor + 0.13, place[1] * 0.91 - 0.17 * place[0]


CALLS = {
    ndimage.correlate1d: [
        call(V, W), call(IMAGE, W, 0, mode="wrap", origin=1), call(V, array(2), mode="mirror"),
    ],
    ndimage.convolve1d: [call(V, W, mode="nearest"), call(IMAGE, array(2), 0)],
    ndimage.gaussian_filter1d: [call(V, 0.7), call(IMAGE, 0.7, 0, 2, mode="grid-wrap")],
    ndimage.gaussian_filter: [
        call(IMAGE, 0.7), call(IMAGE, 0.7, axes=(0,)), call(IMAGE, [0.7, 0.4], (0, 1), radius=2),
    ],
    ndimage.sobel: [call(IMAGE), call(IMAGE, 0, mode="constant")],
    ndimage.prewitt: [call(IMAGE), call(V, mode="mirror")],
    ndimage.correlate: [
        call(IMAGE, SMALL), call(IMAGE, W, axes=(1,), mode="wrap", origin=1),
        call(IMAGE, array(3, 2), mode="constant", cval=0.3, origin=(1, -1)),
    ],
    ndimage.convolve: [call(IMAGE, SMALL, mode="mirror"), call(V, W, mode="nearest", origin=1)],
    ndimage.uniform_filter1d: [call(V, 3), call(IMAGE, 2, 0, mode="constant", cval=1.5)],
    ndimage.uniform_filter: [call(IMAGE), call(IMAGE, (1, 2), mode=["wrap", "mirror"])],
    ndimage.laplace: [call(IMAGE), call(IMAGE, axes=(1,), mode="wrap")],
    ndimage.gaussian_laplace: [call(IMAGE, 0.7), call(IMAGE, 0.7, axes=(0,), truncate=2.0)],
    ndimage.gaussian_gradient_magnitude: [call(IMAGE, 0.7), call(V, 0.7, mode="wrap")],
    ndimage.generic_laplace: [call(IMAGE, slope, extra_arguments=(2.0,))],
    ndimage.generic_gradient_magnitude: [call(IMAGE, slope, extra_arguments=(2.0,))],
    ndimage.fourier_gaussian: [call(SPECTRUM, 0.7), call(IMAGE, [0.7, 0.4])],
    ndimage.fourier_shift: [call(SPECTRUM, 0.7), call(SPECTRUM, 0.7, 6, 1)],
    ndimage.fourier_uniform: [call(SPECTRUM, 2)],
    ndimage.fourier_ellipsoid: [call(SPECTRUM, 2)],
    ndimage.maximum_filter: WINDOWS,
    ndimage.minimum_filter: WINDOWS,
    ndimage.maximum_filter1d: [call(V, 3), call(IMAGE, 2, 0, mode="constant", cval=1.5)],
    ndimage.minimum_filter1d: [call(V, 3), call(IMAGE, 2, 0, mode="constant", cval=1.5)],
    ndimage.median_filter: [call(IMAGE, 3), call(V, 3), call(IMAGE, footprint=CROSS)],
    ndimage.rank_filter: [call(IMAGE, 2, 3), call(V, -2, 3, mode="mirror")],
    ndimage.percentile_filter: [call(IMAGE, 30, 3)],
    ndimage.grey_dilation: [*GREY, call(IMAGE, footprint=CROSS)],
    ndimage.grey_erosion: [*GREY, call(IMAGE, footprint=CROSS)],
    ndimage.grey_opening: GREY,
    ndimage.grey_closing: GREY,
    ndimage.morphological_gradient: GREY[1:],
    ndimage.morphological_laplace: GREY[:1],
    ndimage.white_tophat: GREY[:1],
    ndimage.black_tophat: GREY[:1],
    ndimage.generic_filter: [call(V, cubes, 3), call(V, cubes, 2, extra_arguments=(2.0,))],
    ndimage.generic_filter1d: [call(V, fill, 3)],
    ndimage.spline_filter1d: [call(V), call(IMAGE, 2, 0, mode="reflect")],
    ndimage.spline_filter: [call(IMAGE), call(IMAGE, 5, mode="grid-wrap")],
    ndimage.map_coordinates: [
        call(IMAGE, PLACES), call(IMAGE, PLACES, order=1), call(IMAGE, PLACES + 3, mode="wrap"),
        call(IMAGE, PLACES - 7, order=2, mode="reflect"), call(V, PLACES[:1], prefilter=False),
    ],
    ndimage.geometric_transform: [call(IMAGE, turned, extra_arguments=(0.9,), order=2)],
    ndimage.shift: [call(V, 0.37), call(IMAGE, [0.37, -1.29], order=2, mode="nearest")],
    ndimage.zoom: [call(V, 2), call(IMAGE, (1, 2), order=1, mode="reflect", grid_mode=True)],
    ndimage.affine_transform: [
        call(IMAGE, TURN, [0.1531, 0.4129], mode="mirror"), call(V, [0.8813], 0.31),
    ],
    ndimage.rotate: [call(IMAGE, 33.0, mode="mirror"), call(IMAGE, -71.0, (0, 1), False, order=2)],
    distances: [call(np.array([1.3, 0.7]))],
    ndimage.sum: REGIONS,
    ndimage.sum_labels: REGIONS,
    ndimage.mean: REGIONS,
    ndimage.variance: REGIONS,
    ndimage.standard_deviation: REGIONS,
    ndimage.minimum: REGIONS,
    ndimage.maximum: REGIONS,
    ndimage.median: REGIONS,
    ndimage.extrema: [call(IMAGE, LABELS, 2)],
    ndimage.center_of_mass: [call(abs(IMAGE)), call(abs(IMAGE), LABELS, 2)],
    ndimage.distance_transform_edt: [call(IMAGE > 0, [1.0, 1.3]), call(IMAGE > 0)],
    ndimage.distance_transform_bf: [call(IMAGE > 0)],
    ndimage.labeled_comprehension: [call(IMAGE, LABELS, [2, 5, 7], cubes, float, 1.5)],
}  # fmt: skip
if hasattr(ndimage, "vectorized_filter"):
    CALLS[ndimage.vectorized_filter] = [
        call(IMAGE, np.mean, size=3), call(IMAGE, np.max, size=(2, 3), mode="valid"),
    ]  # fmt: skip
