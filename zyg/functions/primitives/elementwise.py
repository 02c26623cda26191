"""Functions of numbers: the table, and what is elementwise but not in a table of partials."""

import numpy as np

from zyg.functions.kit import (
    adjoint,
    as_array,
    composed,
    is_complex,
    is_watched,
    joined,
    no_out,
    rules,
    scalar_rule,
    strip,
    table,
    unbroadcast,
    write,
)

for _function, _partials in table.items():
    scalar_rule(_function, *_partials)


_angle = rules[np.angle]


@composed(np.angle)
def angle(z, deg=False):
    y = _angle(joined(z))
    return y * (180 / np.pi) if deg else y


@adjoint(np.conjugate)
def conjugate(x):
    def conjugate_pullback(y_bar):
        return (np.conjugate(y_bar),)

    return np.conjugate(x), conjugate_pullback


def _zero_slope(function):
    """np.round by both its names."""

    def rounded(a, decimals=0, out=None):
        no_out(out)

        def rounded_pullback(y_bar):
            return np.zeros_like(y_bar), None

        return function(a, decimals), rounded_pullback

    adjoint(function)(rounded)


_zero_slope(np.round)
_zero_slope(np.around)


@composed(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    y = _nan_to_num(x, nan, posinf, neginf)
    if copy or not is_watched(x):
        return y
    write(x, ..., y)
    return x


@adjoint
def _nan_to_num(x, nan, posinf, neginf):
    y = np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    def nan_to_num_pullback(y_bar):
        # A number that was replaced has slope 0; each part of a complex number on its own.
        def where(test):
            bar = np.where(test(np.real(x)), np.real(y_bar), 0.0)
            if not is_complex(x):
                return bar
            return bar, np.where(test(np.imag(x)), np.imag(y_bar), 0.0)

        def of(test, put):
            def put_bar():
                bar = where(test)
                return unbroadcast(sum(bar) if is_complex(x) else bar, np.shape(put))

            return put_bar

        bar = where(np.isfinite)
        return (
            bar[0] + 1j * bar[1] if is_complex(x) else bar,
            of(np.isnan, nan), of(np.isposinf, posinf), of(np.isneginf, neginf),
        )  # fmt: skip

    return y, nan_to_num_pullback


@adjoint(np.modf)
def modf(x):
    def modf_pullback(y_bar):
        return (y_bar[0],)

    return np.modf(x), modf_pullback


@adjoint(np.frexp)
def frexp(x):
    mantissa, exponent = np.frexp(x)

    def frexp_pullback(bars):
        return (np.ldexp(bars[0], -exponent),)

    return (mantissa, exponent), frexp_pullback


@composed(np.real_if_close)
def real_if_close(a, tol=100):
    a = as_array(a)
    return np.real(a) if np.isrealobj(np.real_if_close(strip(a), strip(tol))) else a


@composed(np.divmod)
def divmod(x1, x2):
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


@adjoint(np.real)
def real(val):
    def real_pullback(y_bar):
        return (y_bar,)

    return np.real(val), real_pullback


@adjoint(np.imag)
def imag(val):
    def imag_pullback(y_bar):
        return (y_bar * 1j if is_complex(val) else y_bar * 0,)

    return np.imag(val), imag_pullback
