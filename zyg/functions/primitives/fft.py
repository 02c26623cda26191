"""Fourier transforms: linear, so the pullback of each is its conjugate transpose.

That is the transform the other way, with the factors of its `norm` exchanged, brought back to the
length of the argument. The transforms of real arrays keep half of a spectrum whose other half is
its mirror image: forward, a kept bin stands for itself only, and the pullback halves those that
the inverse would count twice; backward, it stands for both. What `irfft` ignores, the imaginary
parts of the bins that are their own mirror image, has slope 0 by the same formula.
"""

from typing import Any

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import (
    adjoint,
    as_array,
    closed,
    composed,
    demand,
    demand_read,
    is_complex,
    lies_like,
    like,
    lowering,
    normal_axes,
    routine,
    strip,
)
from zyg.functions.primitives.places import stack_of

_EXCHANGED: Any = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _fitted(c, shape):
    """`c` cut off or filled up with zeros to this shape, as the transforms do to a length."""
    for axis, n in enumerate(shape):
        have = np.shape(c)
        if have[axis] > n:
            c = c[(*(slice(None),) * axis, slice(n))]
        elif have[axis] < n:
            missing = (*have[:axis], n - have[axis], *have[axis + 1 :])
            c = np.concatenate([c, np.zeros(missing, strip(c).dtype, like=like(c))], axis=axis)
    return c


def _weighted(c, axis, n, weight):
    """Half a spectrum of length n, with this weight for the bins whose mirror image is another."""
    m = np.shape(c)[axis]
    places = np.arange(m, like=like(c))
    zeros = np.zeros(m, strip(c).real.dtype, like=like(c))
    weights = np.where((places > 0) & (2 * places < n), zeros + weight, zeros + 1)
    return c * np.reshape(weights, (m,) + (1,) * (np.ndim(c) - 1 - axis))


def _all_axes(a, s, axes, name):
    """The transformed axes, counted from 0."""
    ndim = np.ndim(a)
    if axes is None:
        return tuple(range(ndim) if s is None else range(ndim - len(s), ndim))
    axes = normal_axes(axes, ndim)
    if s is not None and len(set(axes)) < len(axes):
        raise MissingRuleError(
            f"np.fft.{name} with s= and an axis that is named twice has no rule.",
            "the axis is cut or filled up between its two transforms.",
            "transform twice, with one call for each length.",
        )
    return axes


def _complex_pullback(inverse, a, axes, norm):
    def fft_pullback(y_bar):
        c = inverse(y_bar, axes=axes, norm=_EXCHANGED[norm])
        return (_fitted(c, np.shape(a)),)

    return fft_pullback


def _rfft_pullback(y, a, n, axes, norm):
    def rfft_pullback(y_bar):
        lengths = [np.shape(y)[k] for k in axes[:-1]]
        c = _weighted(y_bar, axes[-1], n, 0.5)
        c = np.fft.irfftn(c, [*lengths, n], axes, norm=_EXCHANGED[norm])
        return (_fitted(c, np.shape(a)),)

    return rfft_pullback


def _irfft_pullback(y, a, axes, norm):
    def irfft_pullback(y_bar):
        c = np.fft.rfftn(y_bar, axes=axes, norm=_EXCHANGED[norm])
        return (_fitted(_weighted(c, axes[-1], np.shape(y)[axes[-1]], 2), np.shape(a)),)

    return irfft_pullback


def _pullback(name, y, a, n, axes, norm):
    """The pullback of a transform of the last of the axes to length n."""
    if name.startswith("rfft"):
        k = axes[-1]
        return _rfft_pullback(y, a, np.shape(a)[k] if n in (None, -1) else n, axes, norm)
    if name.startswith("irfft"):
        return _irfft_pullback(y, a, axes, norm)
    return _complex_pullback(np.fft.fftn if name[0] == "i" else np.fft.ifftn, a, axes, norm)


def _one_axis(function):
    def transform(a, n=None, axis=-1, norm=None):
        y = function(a, n, axis, norm)
        axes = (axis % np.ndim(a),)
        return y, _pullback(function.__name__, y, a, n, axes, norm)

    adjoint(function, linear=(0,))(transform)


def _many_axes(function, default):
    def transform(a, s=None, axes=default, norm=None):
        y = function(a, s, axes, norm)
        places = _all_axes(a, s, axes, function.__name__)
        if not places:  # nothing is transformed
            return y, lambda y_bar: (y_bar,)
        n = None if s is None else s[-1]
        return y, _pullback(function.__name__, y, a, n, places, norm)

    adjoint(function, linear=(0,))(transform)


_function: Any
for _function in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft):
    _one_axis(_function)
for _function in (np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2):
    _many_axes(_function, (-2, -1))
for _function in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn):
    _many_axes(_function, None)


@composed(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None):
    if norm not in _EXCHANGED:
        return np.fft.hfft(strip(a), n, axis, norm)  # raises
    a = as_array(a)
    n = 2 * (np.shape(a)[axis] - 1) if n is None else n
    return np.fft.irfft(np.conjugate(a), n, axis, norm=_EXCHANGED[norm])


@composed(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None):
    if norm not in _EXCHANGED:
        return np.fft.ihfft(strip(a), n, axis, norm)  # raises
    return np.conjugate(np.fft.rfft(as_array(a), n, axis, norm=_EXCHANGED[norm]))


def _shift(function, sign):
    def shift(x, axes=None):
        places = normal_axes(axes, np.ndim(x))
        return np.roll(x, [sign * (np.shape(x)[k] // 2) for k in places], places)

    composed(function)(shift)


_shift(np.fft.fftshift, 1)
_shift(np.fft.ifftshift, -1)


# For machine code: NumPy's own loops over rows, with the pullbacks of above


def _factor(n, norm, inverse):
    if norm == "ortho":
        return 1.0 / np.sqrt(n)
    return 1.0 / n if (norm == "forward") != inverse else 1.0


def complex_rows_bars(a, name, norm, y, y_bar):
    return (complex_rows(y_bar, "ifft" if name == "fft" else "fft", _EXCHANGED[norm]),)


@closed(complex_rows_bars)
def complex_rows(a, name, norm):
    rows, n = a.shape
    y = np.empty((rows, n), complex)
    routine(name, rows, n, n, a, _factor(n, norm, name == "ifft"), y)
    return y


def weighted_rows(c, n, weight):
    """See `_weighted`, which asks for the dtype of what may be watched."""
    y = c.copy()
    for i in range(len(y)):
        for k in range(1, (n + 1) // 2):
            y[i, k] = y[i, k] * weight
    return y


def half_rows_bars(a, norm, y, y_bar):
    n = a.shape[1]
    return (whole_rows(weighted_rows(y_bar, n, 0.5), n, _EXCHANGED[norm]),)


@closed(half_rows_bars)
def half_rows(a, norm):
    rows, n = a.shape
    m = n // 2 + 1
    y = np.empty((rows, m), complex)
    if n % 2 == 0:
        routine("rfft of even", rows, n, m, a, _factor(n, norm, False), y)
    else:
        routine("rfft of odd", rows, n, m, a, _factor(n, norm, False), y)
    return y


def whole_rows_bars(a, n, norm, y, y_bar):
    return (weighted_rows(half_rows(y_bar, _EXCHANGED[norm]), n, 2.0),)


@closed(whole_rows_bars)
def whole_rows(a, n, norm):
    rows, m = a.shape
    y = np.empty((rows, n))
    routine("irfft", rows, m, n, a, _factor(n, norm, True), y)
    return y


def _along(function, a, n, axis):
    """Transform along an axis of which n numbers are taken, or zeros behind what there is."""
    demand(n >= 1)
    b = np.moveaxis(a, axis, -1)
    have = b.shape[-1]
    if n < have:
        b = b[..., :n]
    elif n > have:
        wide = np.zeros((*b.shape[:-1], n), complex if is_complex(b) else float)
        wide[..., :have] = b
        b = wide
    y = function(stack_of(b, 1))
    return lies_like(np.moveaxis(y.reshape((*b.shape[:-1], y.shape[1])), -1, axis), a)


def _complex_loops(function):
    def transform(a, n=None, axis=-1, norm=None):
        demand_read(norm in _EXCHANGED)
        name = function.__name__
        whole = a if is_complex(a) else a + 0j
        n = a.shape[axis] if n is None else n
        return _along(lambda rows: complex_rows(rows, name, norm), whole, n, axis)

    lowering(function)(transform)


_complex_loops(np.fft.fft)
_complex_loops(np.fft.ifft)


@lowering(np.fft.rfft)
def rfft_loops(a, n=None, axis=-1, norm=None):
    demand_read(norm in _EXCHANGED and a.dtype in (float, np.int64))
    n = a.shape[axis] if n is None else n
    whole = a if a.dtype == float else a.astype(float)
    return _along(lambda rows: half_rows(rows, norm), whole, n, axis)


@lowering(np.fft.irfft)
def irfft_loops(a, n=None, axis=-1, norm=None):
    demand_read(norm in _EXCHANGED)
    n = 2 * (a.shape[axis] - 1) if n is None else n
    demand(n >= 1)
    whole = a if is_complex(a) else a + 0j
    return _along(lambda rows: whole_rows(rows, n, norm), whole, n // 2 + 1, axis)


def _loops_of_many(function, first, default):
    """The transform of the last of the axes, and of the others."""
    others = np.fft.ifft if first in (np.fft.ifft, np.fft.irfft) else np.fft.fft

    def transform(a, s=None, axes=default, norm=None):
        demand_read(s is None)
        places = range(a.ndim) if axes is None else axes
        if first is np.fft.irfft:
            for k in places[:-1]:
                a = others(a, None, k, norm)
            return first(a, None, places[-1], norm)
        a = first(a, None, places[-1], norm)
        for k in places[-2::-1]:
            a = others(a, None, k, norm)
        return a

    lowering(function)(transform)


for _name in ("fft", "ifft", "rfft", "irfft"):
    _first = getattr(np.fft, _name)
    _loops_of_many(getattr(np.fft, _name + "2"), _first, (-2, -1))
    _loops_of_many(getattr(np.fft, _name + "n"), _first, None)
