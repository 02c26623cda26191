"""Calls of the rules for scipy.ndimage."""

from zyg.scipy import ndimage

from .calls import V, W, array, call

IMAGE = array(3, 4)

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
}  # fmt: skip
