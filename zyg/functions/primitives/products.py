"""Products of arrays. For complex operands y = a b has a_bar = y_bar conj(b)."""

import functools
import math
from typing import Any

import numpy as np

from zyg.functions.kit import (
    adjoint,
    as_array,
    composed,
    conj,
    demand,
    inverse,
    like,
    lowering,
    slopes_hold,
    strip,
    unbroadcast,
)


def _rows(x):
    """Matrices below each other: a product by one matrix is one, not as many and their sum."""
    return np.reshape(x, (math.prod(np.shape(x)[:-1]), np.shape(x)[-1]))


def _matmul_pullback(a, b):
    """The pullback of a @ b, and of np.dot(a, b) for at most two dimensions each."""
    a, b = as_array(a), as_array(b)

    def a_bar_of(y_bar):
        if b.ndim == 1:
            return y_bar * conj(b) if a.ndim == 1 else y_bar[..., None] * conj(b)
        if a.ndim == 1:
            return unbroadcast(np.matmul(conj(b), y_bar[..., None])[..., 0], a.shape)
        if b.ndim == 2 and a.ndim > 2:
            return np.reshape(np.matmul(_rows(y_bar), conj(b).swapaxes(-1, -2)), a.shape)
        return unbroadcast(np.matmul(y_bar, conj(b).swapaxes(-1, -2)), a.shape)

    def b_bar_of(y_bar):
        if a.ndim == 1:
            if b.ndim == 1:
                return y_bar * conj(a)
            return unbroadcast(conj(a)[:, None] * y_bar[..., None, :], b.shape)
        if b.ndim == 1:
            return unbroadcast(np.matmul(y_bar[..., None, :], conj(a))[..., 0, :], b.shape)
        if b.ndim == 2 and a.ndim > 2:
            return np.matmul(_rows(conj(a)).swapaxes(0, 1), _rows(y_bar))
        return unbroadcast(np.matmul(conj(a).swapaxes(-1, -2), y_bar), b.shape)

    def matmul_pullback(y_bar):
        return lambda: a_bar_of(y_bar), lambda: b_bar_of(y_bar)

    return matmul_pullback


@adjoint(np.matmul, linear=(0, 1))
def matmul(a, b):
    return np.matmul(a, b), _matmul_pullback(a, b)


def _contraction(y, a, b, axes_a, axes_b):
    """y, which sums the products of a and b over these axes, and its pullback."""
    ndim_a, ndim_b = np.ndim(a), np.ndim(b)
    axes_a, axes_b = [k % ndim_a for k in axes_a], [k % ndim_b for k in axes_b]
    free_a = [k for k in range(ndim_a) if k not in axes_a]
    free_b = [k for k in range(ndim_b) if k not in axes_b]
    places = list(range(len(free_a) + len(free_b)))  # of the free axes in the result

    def contraction_pullback(y_bar):
        def a_bar():
            # What is left of b are its summed axes, in b's order.
            c = _summed(y_bar, conj(b), places[len(free_a) :], free_b)
            order = free_a + [axes_a[k] for k in inverse(axes_b)]
            return np.transpose(c, inverse(order))

        def b_bar():
            c = _summed(conj(a), y_bar, free_a, places[: len(free_a)])
            order = [axes_b[k] for k in inverse(axes_a)] + free_b
            return np.transpose(c, inverse(order))

        return a_bar, b_bar

    return y, contraction_pullback


def _summed(a, b, axes_a, axes_b):
    # CuPy takes no lists of no axes where an operand has none.
    return np.tensordot(a, b, (axes_a, axes_b) if axes_a else 0)


@adjoint(np.tensordot, linear=(0, 1))
def tensordot(a, b, axes=2):
    if np.ndim(axes) == 0:
        axes_a, axes_b = range(np.ndim(a) - axes, np.ndim(a)), range(axes)
    else:
        axes_a, axes_b = (np.atleast_1d(k).tolist() for k in axes)
    return _contraction(np.tensordot(a, b, axes), a, b, axes_a, axes_b)


@adjoint(np.dot, linear=(0, 1))
def dot(a, b):
    if 0 < np.ndim(a) <= 2 and 0 < np.ndim(b) <= 2:
        return np.dot(a, b), _matmul_pullback(a, b)
    scalar = not (np.ndim(a) and np.ndim(b))
    axes = ([], []) if scalar else ([-1], [-2 if np.ndim(b) > 1 else 0])
    return _contraction(np.dot(a, b), a, b, *axes)


@adjoint(np.inner, linear=(0, 1))
def inner(a, b, /):
    scalar = not (np.ndim(a) and np.ndim(b))
    return _contraction(np.inner(a, b), a, b, *(([], []) if scalar else ([-1], [-1])))


@composed(np.outer)
def outer(a, b, out=None):
    x, y = np.reshape(a, (-1, 1)), np.reshape(b, (1, -1))
    return x * y if out is None else np.multiply(x, y, out=out)


@adjoint(np.vdot, linear=(0, 1))
def vdot(a, b, /):
    def vdot_pullback(y_bar):
        return (
            lambda: np.reshape(conj(y_bar) * np.ravel(b), np.shape(a)),
            lambda: np.reshape(y_bar * np.ravel(a), np.shape(b)),
        )

    return np.vdot(a, b), vdot_pullback


@adjoint(np.vecdot, linear=(0, 1))
def vecdot(x1, x2, *, axis=-1):
    """The sum of conj(x1) x2 along an axis, which is counted in each operand by itself."""

    def vecdot_pullback(y_bar):
        u, v = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
        bar = y_bar[..., None]

        def back(c, x):
            return np.moveaxis(unbroadcast(c, np.shape(x)), -1, axis)

        return lambda: back(conj(bar) * v, u), lambda: back(bar * u, v)

    return np.vecdot(x1, x2, axis=axis), vecdot_pullback  # type: ignore[call-overload]


def matvec(x1, x2):
    def matvec_pullback(y_bar):
        return (
            lambda: unbroadcast(y_bar[..., :, None] * conj(x2)[..., None, :], np.shape(x1)),
            lambda: unbroadcast(conj(np.vecmat(y_bar, x1)), np.shape(x2)),
        )

    return np.matvec(x1, x2), matvec_pullback


def vecmat(x1, x2):
    def vecmat_pullback(y_bar):
        return (
            lambda: unbroadcast(np.matvec(x2, conj(y_bar)), np.shape(x1)),
            lambda: unbroadcast(as_array(x1)[..., :, None] * y_bar[..., None, :], np.shape(x2)),
        )

    return np.vecmat(x1, x2), vecmat_pullback


if hasattr(np, "matvec"):  # they came with NumPy 2.2
    adjoint(np.matvec, linear=(0, 1))(matvec)
    adjoint(np.vecmat, linear=(0, 1))(vecmat)


@composed(np.kron)
def kron(a, b):
    if not (np.ndim(a) and np.ndim(b)):  # numbers count as arrays here, of float64
        return np.reshape(a, np.shape(a)) * np.reshape(b, np.shape(b))
    n = max(np.ndim(a), np.ndim(b))
    of_a, of_b = ((1,) * (n - np.ndim(x)) + np.shape(x) for x in (a, b))
    product = np.reshape(a, [k for m in of_a for k in (m, 1)]) * np.reshape(
        b, [k for m in of_b for k in (1, m)]
    )
    return np.reshape(product, [m * n for m, n in zip(of_a, of_b, strict=True)])


@adjoint(np.cross, linear=(0, 1))
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Of vectors of two and three numbers: a missing third is 0."""
    y = np.cross(a, b, axisa, axisb, axisc, axis)
    axes = (axisa, axisb, axisc) if axis is None else (axis,) * 3

    def cross_pullback(y_bar):
        u, v = np.moveaxis(a, axes[0], -1), np.moveaxis(b, axes[1], -1)
        shapes = np.shape(u), np.shape(v)
        u, v = (_padded(conj(x), 0, 3 - np.shape(x)[-1]) for x in (u, v))
        flat = shapes[0][-1] == shapes[1][-1] == 2
        bar = _padded(y_bar[..., None], 2, 0) if flat else np.moveaxis(y_bar, axes[2], -1)

        def back(product, k):
            own = unbroadcast(product[..., : shapes[k][-1]], shapes[k])
            return np.moveaxis(own, -1, axes[k])

        return lambda: back(np.cross(v, bar), 0), lambda: back(np.cross(bar, u), 1)

    return y, cross_pullback


def _padded(x, before, after):
    """`x` with zeros before and after, along its last axis."""
    zeros = np.zeros((*np.shape(x)[:-1], 1), strip(x).dtype, like=like(x))
    return np.concatenate([zeros] * before + [x] + [zeros] * after, axis=-1)


# Sliding products


@adjoint(np.correlate, linear=(0, 1))
def correlate(a, v, mode="valid"):
    """y[k] = sum over n of a[n + k] conj(v[n])."""
    y = np.correlate(a, v, mode)

    def correlate_pullback(y_bar):
        a1, v1 = np.atleast_1d(a), np.atleast_1d(v)
        reverse = conj(v1)[::-1]
        bar = _in_full(y_bar, np.size(a), np.size(v), correlation=True)
        return (
            lambda: np.reshape(np.correlate(bar, reverse), np.shape(a)),
            lambda: np.reshape(conj(np.correlate(bar, a1))[::-1], np.shape(v)),
        )

    return y, correlate_pullback


@adjoint(np.convolve, linear=(0, 1))
def convolve(a, v, mode="full"):
    y = np.convolve(a, v, mode)

    def convolve_pullback(y_bar):
        bar = _in_full(y_bar, np.size(a), np.size(v), correlation=False)
        return (
            lambda: np.reshape(np.correlate(bar, np.atleast_1d(v)), np.shape(a)),
            lambda: np.reshape(np.correlate(bar, np.atleast_1d(a)), np.shape(v)),
        )

    return y, convolve_pullback


def _in_full(y_bar, n, m, correlation):
    """The cotangent of the full result from that of any mode, which is a stretch of it."""
    small, large, length = min(n, m), max(n, m), np.size(y_bar)
    if length == n + m - 1:
        return y_bar
    before = small - 1 if length == large - small + 1 else (small - 1) // 2
    if correlation and n < m:  # made the other way round, and reversed
        before = n + m - 1 - length - before
    return _padded(y_bar, before, n + m - 1 - length - before)


@composed(np.linalg.multi_dot)
def multi_dot(arrays):
    """The products in the order that takes the fewest multiplications, as NumPy does them."""
    arrays = [*map(as_array, arrays)]
    ndims = [np.ndim(x) for x in arrays]
    if len(arrays) == 2:
        return np.dot(*arrays)
    if len(arrays) < 2 or any(n != 2 for n in ndims[1:-1]) or {ndims[0], ndims[-1]} - {1, 2}:
        np.linalg.multi_dot(list(map(strip, arrays)))  # raises
    factors = [np.atleast_2d(arrays[0]), *arrays[1:]]
    if ndims[-1] == 1:
        factors[-1] = np.reshape(factors[-1], (-1, 1))
    sizes = (*(np.shape(x)[0] for x in factors), np.shape(factors[-1])[-1])

    def product(i, j):
        if i == j:
            return factors[i]
        k = _best_split(sizes, i, j)[1]
        return np.dot(product(i, k), product(k + 1, j))

    y = product(0, len(factors) - 1)
    if ndims[0] == ndims[-1] == 1:
        return y[0, 0]
    return np.ravel(y) if 1 in ndims else y


@functools.lru_cache(maxsize=1024)
def _best_split(sizes, i, j):
    """The least cost of multiplying the matrices i to j, and the last one of the first factor."""
    if i == j:
        return 0, i
    return min(
        (
            _best_split(sizes, i, k)[0]
            + _best_split(sizes, k + 1, j)[0]
            + sizes[i] * sizes[k + 1] * sizes[j + 1],
            k,
        )
        for k in range(i, j)
    )


# einsum: the cotangent of one operand is an einsum of the result's cotangent and the others


_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@functools.lru_cache(maxsize=1024)
def _parsed(subscripts, ndims):
    """The letters of each operand and of the result, with `...` written out as capital letters."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(ndims)} operands")
    free = [c for c in _CAPITALS[::-1] if c not in subscripts]
    widths = [n - len(t) + 3 for t, n in zip(terms, ndims, strict=True) if "..." in t]
    common = "".join(free[: max(widths, default=0)])[::-1]

    def written_out(term, ndim):
        width = ndim - len(term) + 3
        return term.replace("...", common[len(common) - width :] if width else "")

    letters = tuple(written_out(t, n) for t, n in zip(terms, ndims, strict=True))
    if not arrow:
        once = sorted(c for c in set(inputs) - set(",.") if inputs.count(c) == 1)
        output = ("..." if common else "") + "".join(once)
    return letters, output.replace("...", common)


def _operand_cotangent(k, letters, output, operands, y_bar, optimize):
    """The cotangent of operand k: its letters summed back from the result and the others."""
    axes, shape = letters[k], np.shape(operands[k])
    terms = [output, *(t for j, t in enumerate(letters) if j != k)]
    values = [y_bar, *(conj(x) for j, x in enumerate(operands) if j != k)]
    size = dict(zip(axes, shape, strict=True))
    present = set("".join(terms))
    for letter in dict.fromkeys(axes):
        if letter not in present:  # summed away within the operand itself
            terms.append(letter)
            values.append(np.zeros(size[letter], like=like(y_bar)) + 1)
    target = "".join(dict.fromkeys(axes))
    c = np.einsum(",".join(terms) + "->" + target, *values, optimize=optimize)
    for place, letter in enumerate(axes):
        first = axes.index(letter)
        if first < place:  # a diagonal: zero off it
            i = np.arange(size[letter], like=like(y_bar))
            on = np.expand_dims(np.equal(i[:, None], i), (*range(first), *range(first + 1, place)))
            on = np.reshape(
                on, np.shape(on) + (1,) * len(set(axes[place + 1 :]) - set(axes[:place]))
            )
            c = np.where(on, np.expand_dims(c, place), 0.0)
    return unbroadcast(c, shape)


def _letters(numbers):
    """Numbers as letters in the same order, by which a result without subscripts is sorted."""
    letters = _CAPITALS + _CAPITALS.lower()
    return "".join("..." if n is Ellipsis else letters[n] for n in numbers)


@adjoint(np.einsum, linear=tuple(range(64)))
def einsum(*operands, optimize=False):
    """``einsum("ij,jk", a, b)``, or ``einsum(a, [0, 1], b, [1, 2])`` with numbers for letters."""
    y = np.einsum(*operands, optimize=optimize)
    if isinstance(operands[0], str):
        subscripts, places = operands[0], range(1, len(operands))
    else:
        places = range(0, len(operands) - 1, 2)
        subscripts = ",".join(_letters(operands[k + 1]) for k in places)
        if len(operands) % 2:
            subscripts += "->" + _letters(operands[-1])
    values = [operands[k] for k in places]
    letters, output = _parsed(subscripts, tuple(map(np.ndim, values)))

    def einsum_pullback(y_bar):
        bars: list[Any] = [None] * len(operands)
        fast = optimize is not False
        for k, place in enumerate(places):
            bars[place] = functools.partial(
                _operand_cotangent, k, letters, output, values, y_bar, fast
            )
        return tuple(bars)

    return y, einsum_pullback


# In loops, for machine code


@lowering(np.cross)
def cross_loops(a, b, axis=-1):
    x = np.moveaxis(a, axis, 0)
    y = np.moveaxis(b, axis, 0)
    demand(x.shape[0] == 3)
    demand(y.shape[0] == 3)
    parts = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    return np.moveaxis(np.stack(parts, -1), -1, axis)


@lowering(np.convolve)
def convolve_loops(a, v, mode="full"):
    x = a if len(a) >= len(v) else v
    w = v if len(a) >= len(v) else a
    n = len(x)
    m = len(w)
    demand(m > 0)
    slopes_hold(np.all(np.isfinite(x)) and np.all(np.isfinite(w)))
    made = np.zeros(n + m - 1, (x[:1] * w[:1]).dtype)
    for i in range(n):
        for j in range(m):
            made[i + j] += x[i] * w[j]
    if mode == "full":
        return made
    if mode == "same":
        return made[(m - 1) // 2 : (m - 1) // 2 + n].copy()
    return made[m - 1 : n].copy()


@lowering(np.correlate)
def correlate_loops(a, v, mode="valid"):
    if len(a) >= len(v):
        return np.convolve(a, v[::-1], mode)
    return np.convolve(v, a[::-1], mode)[::-1].copy()
