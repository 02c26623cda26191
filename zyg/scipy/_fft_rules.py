"""The rules of scipy.fft and scipy.fftpack: those of numpy.fft; cosine and sine transforms.

What the options `overwrite_x`, `workers` and `plan` change is how a transform is computed.
"""

from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import (
    as_array,
    composed,
    conj,
    is_complex,
    is_watched,
    like,
    normal_axes,
    strip,
    with_value,
)
from zyg.scipy import special
from zyg.scipy._namespace import called_as, rule_for
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import arguments_of, valued


def _several(numbers):
    """Lengths or axes, of which one may come alone."""
    return (numbers,) if numbers is not None and np.ndim(numbers) == 0 else numbers


def _of_numpy(module, name):
    """The rule of a transform that numpy.fft has, too."""
    function, written = getattr(module, name), getattr(np.fft, name)
    lengths = _several if name[-1] in "2n" else lambda n: n

    @valued(function)
    def transform(*args, **kwargs):
        given = arguments_of(function, args, kwargs)  # scipy.fftpack knows no norm
        x, n, axes, *_ = given.values()
        return written(x, lengths(n), lengths(axes), given.get("norm"))


for _name in (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
    "fftn", "ifftn", "rfftn", "irfftn",
):  # fmt: skip
    _of_numpy(scipy.fft, _name)
for _name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"):  # its rfft packs otherwise
    _of_numpy(scipy.fftpack, _name)


_EXCHANGED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _of_hermitian(name):
    """The rule of a transform that is, but for conjugates, the inverse of another."""
    function = getattr(scipy.fft, name)
    back = name.startswith("i")
    written: Any = np.fft.rfftn if back else np.fft.irfftn

    @valued(function)
    def transform(*args, **kwargs):
        x, s, axes, norm, *_ = arguments_of(function, args, kwargs).values()
        x, s, axes = as_array(x), _several(s), _several(axes)
        if axes is None and s is not None:
            axes = tuple(range(-np.size(s), 0))
        return conj(written(x if back else conj(x), s, axes, _EXCHANGED[norm]))


for _name in ("hfft", "ihfft"):
    _of_hermitian(f"{_name}2")
    _of_hermitian(f"{_name}n")


for _name in ("fftshift", "ifftshift"):
    valued(getattr(scipy.fft, _name))(getattr(np.fft, _name))
valued(scipy.fft.fftfreq)(lambda n, d=1.0, **_: np.fft.fftfreq(n, d))
valued(scipy.fft.rfftfreq)(lambda n, d=1.0, **_: np.fft.rfftfreq(n, d))


_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}  # which type undoes which, but for a factor: its transpose
# Elements that a type and its transpose weigh otherwise by a factor of 2: before it, after it.
_ENDS = {
    "dct": {1: ([0, -1], [0, -1]), 2: ([0], []), 3: ([], [0])},
    "dst": {2: ([-1], []), 3: ([], [-1])},
}


def _scaled(x, places, axis, factor):
    """`x`, whose elements at these places of an axis are multiplied."""
    if not places:
        return x
    weights = np.ones(np.shape(x)[axis], strip(x).real.dtype, like=like(x))
    weights[places] = factor
    return x * np.reshape(weights, (-1,) + (1,) * (np.ndim(x) - 1 - axis))


def _of_length(x, n, axis):
    """`x` cut off, or filled up with zeros, to a length along an axis."""
    have = np.shape(x)[axis]
    if n is None or n == have:
        return x
    if n < have:
        return x[(*(slice(None),) * axis, slice(n))]
    shape = (*np.shape(x)[:axis], n - have, *np.shape(x)[axis + 1 :])
    return np.concatenate([x, np.zeros(shape, strip(x).dtype, like=like(x))], axis=axis)


def _trigonometric(name):
    """The rules of a transform that is its own transpose, or that of another type of it."""
    function, ends = getattr(scipy.fft, name), _ENDS[name]

    def plain(x, *, type, axis, norm, orthogonalize):
        return function(x, type=type, axis=axis, norm=norm, orthogonalize=orthogonalize)

    @rule_for(plain, linear=(0,))
    def whole(x, *, type, axis, norm, orthogonalize):
        options = {"type": type, "axis": axis, "norm": norm, "orthogonalize": orthogonalize}
        y = whole(x, **options)

        def whole_pullback(y_bar):
            before, after = ([], []) if orthogonalize else ends.get(type, ([], []))
            c = whole(_scaled(y_bar, before, axis, 2.0), **{**options, "type": _INVERSE[type]})
            return (_scaled(c, after, axis, 0.5),)

        return y, whole_pullback

    def transform(
        x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None
    ):
        x = as_array(x)
        (axis,) = normal_axes(axis, np.ndim(x))
        if (n is not None and n < 1) or type not in _INVERSE or norm not in _EXCHANGED:
            return function(strip(x), type, n, axis, norm)  # raises
        if orthogonalize is None or is_complex(x):  # SciPy does not ask it for complex numbers
            orthogonalize = norm == "ortho"
        x = _of_length(x, n, axis)
        return whole(x, type=type, axis=axis, norm=norm, orthogonalize=orthogonalize)

    def inverse(exchanged):
        def transform_back(
            x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None,
            orthogonalize=None,
        ):  # fmt: skip
            options = _INVERSE.get(type, type), n, axis, exchanged.get(norm, norm), False, None
            return transform(x, *options, orthogonalize)

        return transform_back

    unscaled = inverse({})  # scipy.fftpack's inverse is one but for a factor
    for module, back in ((scipy.fft, inverse(_EXCHANGED)), (scipy.fftpack, unscaled)):
        for key, rule in ((name, transform), (f"i{name}", back)):
            one, several = getattr(module, key), getattr(module, f"{key}n")
            composed(one)(called_as(one, rule))
            composed(several)(called_as(several, _along_axes(several, rule)))


def _along_axes(function, one):
    """The rule of a transform along some axes: one after the other; the value is SciPy's."""

    def transform(
        x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None,
        orthogonalize=None,
    ):  # fmt: skip
        named = {} if orthogonalize is None else {"orthogonalize": orthogonalize}
        s, axes = _several(s), _several(axes)
        y = function(strip(x), type, s, axes, norm, **named)
        if axes is None:
            axes = range(np.ndim(x)) if s is None else range(-len(s), 0)
        d = as_array(x)
        for axis, n in zip(axes, [None] * len(axes) if s is None else s, strict=True):
            d = one(d, type, None if n == -1 else n, axis, norm, **named)
        return with_value(d, (y,))

    return transform


_trigonometric("dct")
_trigonometric("dst")


# Hankel transforms


def _coefficients(n, dln, mu, offset, bias, inverse):
    """Of the transform of n points at equal steps of the logarithm.

    A. Hamilton, "Uncorrelated modes of the nonlinear power spectrum" (2000), appendix B.
    """
    y = np.pi * np.arange(n // 2 + 1) / (n * dln)
    above, below = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    turns = special.loggamma(above + 1j * y) - special.loggamma(below - 1j * y)
    u = np.exp(turns + np.log(2.0) * bias + 2j * y * (np.log(2.0) - offset))
    parts = [u[:1], u[1:-1], np.real(u[-1:]) + 0j] if n > 1 and n % 2 == 0 else [u]
    if np.isfinite(strip(u)[0]):
        return np.concatenate(parts)
    if is_watched(u):
        name = "scipy.fft.ifht" if inverse else "scipy.fft.fht"
        raise unknown_call(name, "at a pole its rule does not know watched parameters")
    parts = [u[:1], *parts[1:]] if len(parts) > 1 else [u[:1], u[1:]]
    first: Any = 2.0**bias * special.poch(below, bias)
    first = (0.0 if np.isinf(first) else first) if not inverse else (first or np.inf)
    return np.concatenate([[first], *parts[1:]])


def _hankel(inverse):
    """The formula of the transform, or of its inverse: the same with 1 / conj(u)."""

    def transform(a, dln, mu, offset=0.0, bias=0.0):
        a = as_array(a)
        n = np.shape(a)[-1]
        u = _coefficients(n, dln, mu, offset, bias, inverse)
        before = bias * (np.arange(n) - (n - 1) / 2) * dln
        after = before + bias * offset
        before, after = (after, before) if inverse else (-before, -after)
        c = np.fft.rfft(a * np.exp(before))
        moved = np.fft.irfft(c / conj(u) if inverse else c * u, n)
        return np.flip(moved, -1) * np.exp(after)

    return transform


valued(scipy.fft.fht)(_hankel(False))
valued(scipy.fft.ifht)(_hankel(True))


@valued(scipy.fft.fhtoffset)
def _fhtoffset(dln, mu, initial=0.0, bias=0.0):
    y = np.pi / (2 * dln)
    zs = (special.loggamma((mu + 1 + q) / 2 + 1j * y) for q in (bias, -bias))
    turns = (np.log(2.0) - initial) / dln + sum(np.imag(z) for z in zs) / np.pi
    return initial + (turns - np.round(strip(turns))) * dln
