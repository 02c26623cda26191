"""What an entry notes, and what the cotangents that reach it must look like.

What an operand must get back is fixed when it is used: where its cotangent cannot be used as it
comes (another shape, dtype or field of numbers than the result), the entry keeps a `spec`, and
`project` brings the cotangent to it. A real operand thus always gets a real cotangent.
"""

from __future__ import annotations

import math
from numbers import Complex, Real
from typing import Any

import numpy as np

from zyg.base.array_types import ArraySpec, array_type, is_complex
from zyg.core.strand import WATCHED, strip
from zyg.core.views import float_dtype
from zyg.errors import ConversionError

_FLOAT64 = np.dtype(np.float64)
_REALS: dict[Any, Any] = {float: _FLOAT64, np.float64: _FLOAT64, np.float32: np.dtype(np.float32)}
_sum_up: Any = np.add.reduce
_SMALL = 4096  # elements
Spec = Any  # (shape, dtype) of an array, the type of a number, or an ArraySpec


def spec_of(x: Any) -> Spec:
    """The shape and dtype of an array, the type of a number."""
    if type(x) is float:
        return float
    plain = x if type(x) is np.ndarray else strip(x)
    if type(plain) is float or type(plain) is np.float64:
        return type(plain)
    if type(plain) is np.ndarray and plain.dtype is _FLOAT64:
        return plain.shape, _FLOAT64
    if issubclass(type(plain), np.ndarray):
        return plain.shape, float_dtype(plain.dtype)
    kind = array_type(plain)
    return kind.spec(plain, float_dtype(kind.dtype(plain))) if kind.library else type(plain)


def fits(c: Any, spec: Spec) -> bool:
    """Whether a plain value is a cotangent, or a tangent, of what a spec describes, as it is."""
    if type(c) is np.ndarray:
        return bool((c.shape, c.dtype) == spec)
    if type(c) is spec:
        return spec is float or spec is np.float64
    like = isinstance(spec, ArraySpec) and array_type(c) is spec.array_type
    return like and bool(c.shape == spec.shape and c.dtype == spec.dtype)


def shape_of(spec: Spec) -> tuple[int, ...]:
    """The shape of what a spec describes."""
    if type(spec) is tuple:
        return spec[0]  # type: ignore[no-any-return]
    return () if isinstance(spec, type) else spec.shape


def project(c: Any, spec: Spec) -> Any:
    """The cotangent `c` as a cotangent of what `spec` describes: its shape, dtype, field."""
    if type(spec) is tuple:
        shape, dtype = spec
        plain = c if type(c) is np.ndarray else strip(c)
        if type(plain) is np.ndarray and plain.dtype is dtype:
            if plain.shape == shape:
                return c
            if shape and plain.shape[1:] == shape:  # as `unbroadcast`
                return _sum_up(c, 0) if plain is c else np.sum(c, 0)
        kind = array_type(c)
        if not kind.on_host:
            raise _transfer("an array of the device", "an array of the host")
        if np.shape(c) != shape:
            c = unbroadcast(c, shape)
        if kind.library:
            c = kind.to_host(c)
        if getattr(c, "dtype", None) is not dtype or isinstance(c, np.generic):
            c = _as_dtype(c, dtype)
        return c
    if spec is float or spec is np.float64:
        if type(c) is spec:
            return c
        if type(c) is np.ndarray and c.dtype is _FLOAT64 and c.ndim:
            return spec(_sum_up(c, None))
    if not isinstance(spec, type):
        return _of_library(c, spec)
    if isinstance(c, np.ndarray) and type(c) not in WATCHED:
        return _as_number(c.sum() if c.ndim else c[()], spec)
    if (kind := array_type(c)).library:
        if not kind.on_host:
            raise _transfer("an array of the device", "a number of the host")
        c = kind.to_host(unbroadcast(c, ()))
        if kind.lazy:
            return np.real(c) if has_complex(c) and not issubclass(spec, Complex) else c
        c = c[()]
    if type(c) in WATCHED:
        return _as_watched_number(np.sum(c) if np.ndim(c) else c, spec)
    return _as_number(c, spec)


def _of_library(c: Any, spec: ArraySpec) -> Any:
    """The cotangent `c` as one of another library's array."""
    if fits(c, spec):
        return c
    c = array_type(c).enter(c)
    if not array_type(c).library:
        if isinstance(c, np.ndarray) and not spec.array_type.on_host:
            raise _transfer("an array of the host", "an array of the device")
        c = spec.array_type.adopted(c, spec)
    if c.shape != spec.shape:
        c = unbroadcast(c, spec.shape)
    if has_complex(c) and spec.dtype.kind != "c":
        c = np.real(c)
    return c if c.dtype == spec.dtype else c.astype(spec.dtype)


def _transfer(given: str, needed: str) -> ConversionError:
    return ConversionError(
        f"{given} is the cotangent of {needed}.",
        "it would have to be copied from one to the other, and zyg does not copy unless you ask: "
        "a copy to the host waits until the device has done all its work.",
        "pass numbers that meet device arrays as arrays without axes, as cupy.asarray(x); use "
        "zyg.stop_gradient(x) if you want no gradient for x.",
        tag="host-copy",
    )


def has_complex(x: Any) -> bool:
    """Whether a value, watched or not, is complex."""
    return is_complex(strip(x))


def _as_number(c: Any, kind: type) -> Any:
    """A plain number as a cotangent of a number of this type; an int counts as a real."""
    if issubclass(kind, Complex) and not issubclass(kind, Real):
        return c if type(c) is kind else kind(c)  # type: ignore[call-arg]
    if is_complex(c):
        c = c.real
    if kind is int or issubclass(kind, np.integer):
        kind = float
    common = issubclass(kind, (float, complex, np.number))
    if type(c) is kind or not (common or isinstance(c, (int, float, complex, np.number))):
        return c
    try:
        return kind(c)  # type: ignore[call-arg]
    except TypeError:  # a number type that is not made from a plain number alone
        return c


def _as_watched_number(c: Any, kind: type) -> Any:
    if issubclass(kind, (complex, np.complexfloating)):
        return c if has_complex(c) else c + kind(0)
    c = np.real(c) if has_complex(c) else c
    plain, dtype = strip(c), _REALS.get(kind)
    is_other = dtype and isinstance(plain, (np.ndarray, np.generic)) and plain.dtype != dtype
    return np.astype(c, dtype) if is_other else c


def _as_dtype(c: Any, dtype: np.dtype[Any]) -> Any:
    if has_complex(c) and dtype.kind != "c":
        c = np.real(c)
    if type(c) in WATCHED:
        c = c if np.shape(c) else np.reshape(c, ())
        return c if c.dtype == dtype else np.astype(c, dtype)
    if array_type(c).lazy:
        return c if c.dtype == dtype else c.astype(dtype)
    return np.asarray(c, dtype=dtype)


def unbroadcast(c: Any, shape: tuple[int, ...]) -> Any:
    """The sum of `c` over the axes along which an operand of this shape was broadcast."""
    if type(c) is np.ndarray and c.shape == shape:
        return c
    have = np.shape(c)
    if have == shape:
        return c
    if len(have) < len(shape) or np.broadcast_shapes(have, shape) != have:
        return np.broadcast_to(c, shape)
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, n in enumerate(shape) if n == 1 and have[k + extra] != 1
    )
    c = np.sum(c, axis=axes) if axes else c
    return c if np.shape(c) == shape else np.reshape(c, shape)


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction as a tuple of numbers from 0; None means all. Raises AxisError."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple([normal_axis(k, ndim) for k in axes]) if ndim else ()


def normal_axis(axis: Any, ndim: int) -> int:
    """An axis as a number from 0; raises AxisError where there is none."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return int(axis) % ndim


def kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction over `axis` with keepdims."""
    if axis is None:
        return (1,) * len(shape)
    axes = normal_axes(axis, len(shape))
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def spread(c: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """The cotangent of a reduction over `axis`, broadcast back to the shape that was reduced.

    A large one is a view with strides of zero, made directly, as np.broadcast_to costs ten times
    it. What others compute with a small one costs less where it is filled in.
    """
    if type(c) in WATCHED or array_type(c).library:
        c = c if axis is None and not np.ndim(c) else np.reshape(c, kept(shape, axis))
        return np.broadcast_to(c, shape)
    if math.prod(shape) <= _SMALL:
        c = np.asarray(c)
        made = np.empty(shape, c.dtype)
        made[...] = c if axis is None else c.reshape(kept(shape, axis))
        return made
    c = np.ascontiguousarray(c).reshape(kept(shape, axis))
    steps = [0 if n == 1 else step for n, step in zip(c.shape, c.strides, strict=True)]
    return np.ndarray(shape, c.dtype, c, 0, steps) if c.size else np.zeros(shape, c.dtype)


def zeros_of(spec: Spec) -> Any:
    """The zero cotangent of what `spec` describes."""
    if type(spec) is tuple:
        return np.zeros(*spec)
    if not isinstance(spec, type):
        return spec.zeros()
    if spec is int or issubclass(spec, np.integer):
        return 0.0
    try:
        return spec(0)  # type: ignore[call-arg]
    except TypeError:  # a number type that is not made from a plain number alone
        return 0.0


def mended(c: Any, moves: Any, spec: Any) -> Any:
    """`c`, with 0 for what is no number where nothing moves: a number may move at another level."""
    plain = strip(c)
    if moves is False and plain is c:
        return zeros_of(spec)
    return np.where(np.logical_or(np.isfinite(plain), moves), c, 0.0)
