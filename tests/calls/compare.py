"""What the engines are compared by: values, types, memory, cotangents."""

import warnings

import numpy as np

import zyg

from .programs import is_complex, is_real, moves


class Wrong(AssertionError):  # noqa: N818 - an answer
    """An engine differs."""


def quietly(f, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


def leaves(x):
    if isinstance(x, dict):
        return [v for part in x.values() for v in leaves(part)]
    if isinstance(x, (list, tuple)):
        return [v for part in x for v in leaves(part)]
    return [x]


def is_single(xs):
    kinds = [getattr(v, "dtype", None) for x in xs for v in leaves(x)]
    return any(k in (np.float32, np.complex64, np.float16) for k in kinds)


def is_loss(y):
    """Whether a result has a gradient."""
    return is_real(y) and np.ndim(y) == 0


def difference(found, expected, near):
    """How a result differs; "" if it does not."""
    if type(found) is not type(expected):
        return f"a {type(found).__name__} for a {type(expected).__name__}"
    if isinstance(expected, (tuple, list)):
        if len(found) != len(expected):
            return f"{len(found)} results for {len(expected)}"
        pairs = zip(found, expected, strict=True)
        return next(filter(None, (difference(x, y, near) for x, y in pairs)), "")
    if isinstance(expected, dict):
        return difference([*found.items()], [*expected.items()], near)
    if isinstance(expected, (np.ndarray, np.generic)):
        if (found.dtype, found.shape) != (expected.dtype, expected.shape):
            return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
        if expected.dtype.kind not in "fc":
            return "" if np.array_equal(found, expected) else f"{found!r} for {expected!r}"
    if not isinstance(expected, (np.ndarray, np.generic, float, complex)):
        return "" if found is expected or found == expected else f"{found!r} for {expected!r}"
    # Rounding is relative to the largest operands: what they leave of each other may be smaller.
    near = {2: 1e-2, 4: 2e-6}.get(getattr(np.real(expected), "itemsize", 8), near)
    with np.errstate(all="ignore"):
        finite = np.abs(expected)[np.isfinite(expected)] if np.ndim(expected) else abs(expected)
        scale = np.max(finite, initial=0.0) if np.ndim(expected) else 0.0
        same = np.allclose(found, expected, rtol=near, atol=near * (1e-3 + scale), equal_nan=True)
    return "" if same else f"{found!r} for {expected!r}"


def order(x):
    """The order in memory of an array, as a program can ask for it."""
    return "C" * x.flags.c_contiguous + "F" * x.flags.f_contiguous


def without_gaps(y, made):
    """The facts, where new arrays with gaps in memory are copied, and empty ones are writable."""
    parts = leaves(y)

    def of(fact):
        if fact[0] == "changed" or fact[2]:
            return fact
        part = parts[fact[0]]
        return *fact[:6], order(part.copy("K")), fact[7] or not part.size

    return [*map(of, made)]


def facts(y, args, before):
    """What a call did to memory: with what results share it, their order, what has changed."""
    made = []
    for k, part in enumerate(leaves(y)):
        if not isinstance(part, np.ndarray):
            continue
        shared = tuple(
            n
            for n, x in enumerate(args)
            if isinstance(x, np.ndarray) and part.size and np.shares_memory(part, x)
        )
        same = tuple(n for n, x in enumerate(args) if part is x)
        made.append((k, "shares", shared, "is", same, "order", order(part), part.flags.writeable))
    for n, (x, old) in enumerate(zip(args, before, strict=True)):
        if isinstance(x, np.ndarray) and not np.array_equal(x, old, equal_nan=x.dtype.kind in "fc"):
            made.append(("changed", n))
    return made


# Cotangents and tangents


def drawn(x, rng):
    z = rng.standard_normal(np.shape(x))
    if is_complex(x):
        z = z + 1j * rng.standard_normal(np.shape(x))
    return like(z, x)


def like(z, x):
    """A number or array like x."""
    if isinstance(x, np.ndarray):
        return np.asarray(z, x.dtype)
    return type(x)(z[()] if isinstance(z, np.ndarray) else z)


def weights(y):
    """Cotangents for the floating-point parts of a result: distinct numbers."""
    return [_numbers(np.shape(x), is_complex(zyg.primal(x))) for x in moving(y)]


def moving(y):
    """The floating-point parts of a result."""
    return [x for x in leaves(y) if moves(zyg.primal(x))]


def _numbers(shape, complex_ones):
    n = np.arange(int(np.prod(shape)))
    z = np.cos(n * 1.3 + 1.0) + (1j * np.sin(n + 0.3) if complex_ones else 0.0)
    return z.reshape(shape)


def weighed(y, by=None):
    """A number that depends on all of a result, but for what is weighed by 0."""
    total = 0.0
    parts = moving(y)
    for part, w in zip(parts, weights(y) if by is None else by, strict=True):
        total = total + np.sum(np.real(np.conj(w) * part if is_complex(w) else w * part))
    return total


def inner(a, b):
    """The inner product of cotangents with tangents; what has the tangent 0 does not count."""
    with np.errstate(all="ignore"):
        return float(
            sum(
                np.sum(np.where(y == 0, 0.0, np.real(np.conj(x) * y)))
                for x, y in zip(a, b, strict=True)
                if x is not None
            )
        )


def size(a):
    return float(np.sqrt(sum(np.sum(np.abs(x) ** 2.0) for x in a if x is not None)))


def demand_same(found, expected, what, near=1e-8):
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        if a is None or b is None:
            if np.any(a if b is None else b):
                raise Wrong(f"{what}: {a!r} for {b!r}")
            continue
        x, y = np.asarray(a), np.asarray(b)
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            raise Wrong(f"{what}: {x.dtype}{x.shape} for {y.dtype}{y.shape} of argument {k}")
        if why := difference(x, y, near):
            raise Wrong(f"{what} of {k}: {why}")
