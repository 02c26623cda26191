"""Structures of numbers and arrays: taken apart, drawn, moved, compared, their inner products."""

import copy
import dataclasses

import numpy as np


def is_real(x):
    return isinstance(x, (float, np.floating)) or (
        isinstance(x, np.ndarray) and x.dtype.kind == "f"
    )


def is_complex(x):
    return isinstance(x, (complex, np.complexfloating)) or (
        isinstance(x, np.ndarray) and x.dtype.kind == "c"
    )


def parts(x):
    """The parts of a structure, and how it is made of others; None of what has none."""
    if isinstance(x, (tuple, list)):
        make = type(x)._make if hasattr(x, "_make") else type(x)
        return list(x), make
    if isinstance(x, dict):
        return list(x.values()), lambda made: dict(zip(x, made, strict=True))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = [f.name for f in dataclasses.fields(x)]
        return [getattr(x, n) for n in names], lambda made: type(x)(*made)
    return None


def mapped(function, x, *others, rest=lambda x: x):
    """A structure with its differentiable leaves replaced; those of `others` go along."""
    inner = parts(x)
    if inner is not None:
        rows = [parts_like(x, other) for other in others]
        return inner[1]([
            mapped(function, part, *(row[k] for row in rows), rest=rest)
            for k, part in enumerate(inner[0])
        ])  # fmt: skip
    return function(x, *others) if is_real(x) or is_complex(x) else rest(x)


def parts_like(x, other):
    if other is None:
        return [None] * len(parts(x)[0])
    if dataclasses.is_dataclass(x):
        return [getattr(other, f.name, None) for f in dataclasses.fields(x)]
    return list(other.values()) if isinstance(x, dict) else list(other)


def inner_product(x, a, b):
    """The real inner product of two structures like x; None in one of them is zero."""
    total = [0.0]

    def add(_, u, v):
        if u is not None and v is not None:
            total[0] += float(np.sum(np.real(np.conj(u) * v)))

    mapped(add, x, a, b)
    return total[0]


def direction_for(x, seed):
    """Numbers like the differentiable ones of a structure, at random; None for what else it has."""
    rng = np.random.default_rng(seed)

    def drawn(leaf):
        z = rng.standard_normal(np.shape(leaf))
        if is_complex(leaf):
            z = z + 1j * rng.standard_normal(np.shape(leaf))
        if isinstance(leaf, np.ndarray):
            return np.asarray(z, leaf.dtype)
        return type(leaf)(z)

    return mapped(drawn, x, rest=lambda _: None)


def moved(x, along, by):
    def move(leaf, d):
        y = leaf + by * d
        return np.asarray(y, leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(y)

    return mapped(move, x, along)


def slope_by_differences(f, args, along, weigh, step=1e-4):
    """The derivative along a direction of what `weigh` makes of the result."""

    def at(by):
        return weigh(f(*copy.deepcopy(moved(args, along, by))))

    near = (at(step) - at(-step)) / (2 * step)
    far = (at(2 * step) - at(-2 * step)) / (4 * step)
    return (4 * near - far) / 3


def plain(x):
    """A structure as tuples, with the names of its types and its keys, which can be compared."""
    inner = parts(x)
    if callable(x):
        return None
    keys = tuple(x) if isinstance(x, dict) else ()
    return x if inner is None else (type(x).__name__, keys, *map(plain, inner[0]))


def leaves(x):
    inner = parts(x)
    return [x] if inner is None else [y for part in inner[0] for y in leaves(part)]
