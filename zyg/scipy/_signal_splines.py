"""Filters that are symmetric, for splines: by recursion both ways, and by short kernels."""

import math

import numpy as np
from scipy.signal import _spline

from zyg.functions.kit import as_array, composed, strip
from zyg.scipy._closures import plain
from zyg.scipy._signal_rules import convolve, lfilter
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import with_formula, written


def _states(state_of, x, *settings, at_end=False):
    """The first states, or the last ones: weighed sums of those samples that count."""
    n = np.shape(x)[-1]
    decay = max(abs(settings[0]), 1e-18)
    count = min(n, 3 + math.ceil(math.log(1e-18) / math.log(decay)))
    start = n - count if at_end else 0
    weights = state_of(np.eye(count, n, start, strip(x).dtype), *settings)
    return x[:, start : start + count] @ weights


def _rows(x):
    """The signals of a function, as rows, in the numbers that it computes with."""
    x = as_array(x)
    x = x if strip(x).dtype.kind in "fc" else np.astype(x, float)
    return np.reshape(x, (-1, np.shape(x)[-1]))


@written(scipy.signal.symiirorder1, "signal", "c0")
def symiirorder1(signal, c0, z1, precision):
    x = _rows(signal)
    one, below = np.ones(1), np.array([1, -z1])
    first = _states(_spline.symiirorder1_ic, x, z1, precision)
    forth, _ = lfilter(one, below, x[:, 1:], zi=first * z1)
    forth = np.concatenate([first, forth], axis=1)
    last = c0 / (1 - z1) * forth[:, -1:]
    back, _ = lfilter(np.reshape(c0, (1,)), below, forth[:, -2::-1], zi=last * z1)
    return np.reshape(np.concatenate([back[:, ::-1], last], axis=1), np.shape(signal))


@written(scipy.signal.symiirorder2, "input")
def symiirorder2(input, r, omega, precision):
    x, settings = _rows(input), (r, omega, precision)
    once, twice = 2 * r * math.cos(omega), -r * r
    above, below = np.array([1 - once - twice]), np.array([1, -once, -twice])
    carried = np.array([[twice, 0], [once, twice]])
    first = _states(_spline.symiirorder2_ic_fwd, x, *settings)
    forth, _ = lfilter(above, below, x[:, 2:], zi=first @ carried)
    forth = np.concatenate([first, forth], axis=1)
    last = _states(_spline.symiirorder2_ic_bwd, x, *settings, at_end=True)
    back, _ = lfilter(above, below, forth[:, -3::-1], zi=last @ carried)
    y = np.concatenate([back[:, ::-1], last[:, ::-1]], axis=1)
    return np.reshape(y, np.shape(input))


def _mirrored(x, kernel, axis):
    """The convolution with a kernel of odd length, of an image that is mirrored at its edges."""
    kernel, pads, shape = as_array(kernel), [(0, 0), (0, 0)], [1, 1]
    pads[axis], shape[axis] = (np.size(kernel) // 2,) * 2, np.size(kernel)
    return convolve(np.pad(x, pads, "symmetric"), np.reshape(kernel, shape), "valid", "direct")


@composed(scipy.signal.sepfir2d)
def sepfir2d(input, hrow, hcol):
    given = input, hrow, hcol
    y = scipy.signal.sepfir2d(*plain(given))

    def formula():
        return _mirrored(_mirrored(as_array(input), hrow, 1), hcol, 0)

    return with_formula(scipy.signal.sepfir2d, y, formula, given)
