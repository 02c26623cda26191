"""What `testing` is made of: the numbers and arrays in a value, and others like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.structure import Structure


def is_inexact(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return type(x) in (float, complex) or isinstance(x, np.inexact)


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind != "O"


def is_any(x: Any) -> bool:
    return is_array(x) or isinstance(x, (int, float, complex, np.generic))


def leaves(x: Any) -> list[Any]:
    return Structure(x, is_inexact, shared=True).leaves


def leaves_apart(x: Any) -> list[Any]:
    return Structure(x, is_inexact).leaves


def matched(structure: Structure, c: Any) -> list[Any]:
    """A cotangent for every leaf of an argument; zero where nothing flows."""
    bars = [np.zeros_like(x) if is_array(x) else type(x)(0) for x in structure.leaves]
    for place, part in structure.match(c, "the arguments", "gradient"):
        if part is not None:
            bars[place] = part
    return bars


def flat(args: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    structures = [Structure(x, is_inexact, shared=True) for x in args]
    return [c for s, part in zip(structures, cotangents, strict=True) for c in matched(s, part)]


def kind(x: Any) -> str:
    """What a value is, as far as a cotangent must be the same: array or number, shape, dtype."""
    if isinstance(x, np.ndarray):
        return f"{x.dtype} array of shape {x.shape}"
    return type(x).__name__


def kind_of_numbers(x: Any) -> str:
    return str(np.asarray(x).dtype)


def real_dtype(x: Any) -> str:
    """The dtype of the real numbers in a number or an array."""
    return str(np.finfo(np.asarray(x).dtype).dtype)


def random_like(x: Any, rng: np.random.Generator) -> Any:
    """Random numbers of the type, shape and dtype of `x`, of magnitude 1."""
    c: Any = rng.standard_normal(np.shape(x))
    if np.iscomplexobj(x):
        c = c + 1j * rng.standard_normal(np.shape(x))
    if isinstance(x, np.ndarray):
        return np.asarray(c, x.dtype)
    return type(x)(c)


def direction(x: Any, rng: np.random.Generator) -> Any:
    """A random direction at `x`, of the magnitude of its largest element."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return random_like(x, rng) * (largest if 0 < largest < np.inf else 1.0)


def moved(x: Any, by: Any) -> Any:
    """x + by in at least double precision, a number or an array as `x` is, in its order."""
    if not isinstance(x, (np.ndarray, np.generic)):
        return type(x)(x + by)
    wide = np.promote_types(x.dtype, np.float64)
    y = np.add(x, by, out=np.empty_like(x, wide), dtype=wide)
    return y if isinstance(x, np.ndarray) else y[()]


def inner(a: Any, b: Any) -> float:
    """The real inner product, for complex numbers that of their real and imaginary parts."""
    return float(np.sum(np.real(np.conjugate(a) * b), dtype=np.float64))


def identical(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc")


def close(a: Any, b: Any, eps: float) -> bool:
    """Equal up to rounding, of the largest of their finite values."""
    largest = float(np.max(np.abs(a), initial=1.0, where=np.isfinite(a)))
    return np.allclose(a, b, rtol=1e3 * eps, atol=1e3 * eps * largest, equal_nan=True)


def eps(x: Any) -> float:
    """The relative size of rounding in a number or an array."""
    return float(np.finfo(np.asarray(x).dtype).eps)


def converted(x: Any, convert: Callable[[Any], Any]) -> Any:
    inside = Structure(x, is_inexact, shared=True)
    return inside.rebuild([convert(v) for v in inside.leaves])


def as_float32(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.astype(np.float32)
    return x if type(x) is float else np.float32(x)


def as_complex(x: Any, rng: np.random.Generator) -> Any:
    if isinstance(x, np.ndarray):
        return x + 1j * rng.uniform(0.3, 0.6, x.shape)
    return (complex if type(x) is float else np.complex128)(x + 0.4j)


def laid_out(x: Any, layout: Callable[[Any], Any]) -> Any:
    return layout(x) if isinstance(x, np.ndarray) and x.ndim else x


def strided(x: Any) -> Any:
    """`x` as every other element of a larger array, backwards along its first axis."""
    room = np.zeros((2 * x.shape[0], *x.shape[1:], 2), x.dtype)
    view = room[::-2, ..., 1]
    view[...] = x
    return view
