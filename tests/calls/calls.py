"""The calls that every rule is tested on, and what they are made of."""

from typing import Any, NamedTuple

import numpy as np
import pytest


class Call(NamedTuple):
    """One call of a function: only what is floating-point in `args` is differentiated."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args, **kwargs):
    return Call(args, kwargs)


def array(*shape, seed=0):
    """Distinct numbers of magnitude 1/2 to 2 and both signs, the same in every run."""
    rng = np.random.default_rng((seed, *shape))
    n = int(np.prod(shape))
    magnitudes = rng.permutation(np.linspace(0.53, 2.07, max(n, 2)))[:n]
    return np.asarray(magnitudes * rng.choice([-1.0, 1.0], n)).reshape(shape)


def matrix(*shape, seed=0):
    """A stack of well-conditioned square matrices."""
    return array(*shape, seed=seed) + 4 * np.eye(shape[-1])


def with_zeros(*shape, zeros):
    x = array(*shape)
    x.flat[list(zeros)] = 0.0
    return x


A, B, V, W = array(3, 4), array(3, 4, seed=1), array(4), array(3)
CUBE, EMPTY, POINT = array(2, 3, 4), np.zeros((0, 3)), np.array(1.3)
AXES = [None, 0, -1, (0, 2), (-1,), (0, 1, 2)]

REDUCTIONS = [
    *(call(CUBE, axis=axis) for axis in AXES),
    *(call(CUBE, axis=axis, keepdims=True) for axis in AXES),
    call(POINT), call(1.5), call(np.float64(1.5)), call(V, 0),
]  # fmt: skip
NO_ELEMENTS = [call(EMPTY, axis=1), call(EMPTY, axis=0), call(EMPTY)]
NO_ROWS = [call(EMPTY, axis=1)]  # reductions that need at least one element
SCANS = [
    call(CUBE),
    call(CUBE, axis=0),
    call(CUBE, axis=-1),
    call(V),
    call(POINT),
    call(EMPTY, axis=0),
    call(EMPTY),
]
ZEROS = [
    call(with_zeros(4, zeros=[1])), call(with_zeros(4, zeros=[0, 3])),
    call(with_zeros(5, zeros=[0, 2, 4])), call(with_zeros(3, 4, zeros=[0, 5, 6]), axis=0),
    call(with_zeros(3, 4, zeros=[0, 5, 6]), axis=1), call(np.zeros(3)),
]  # fmt: skip

# Three along each axis, or the standard deviation is |a - b| / 2: curved nowhere but by rounding.
SPREADS = [
    *(call(array(3, 4, 3), axis=axis, keepdims=keep) for axis in AXES for keep in (False, True)),
    *NO_ROWS, call(CUBE, ddof=1), call(CUBE, axis=(0, 2), ddof=1, keepdims=True),
    call(A, axis=1, ddof=2), call(V, 0),
]  # fmt: skip

VECTOR_ORDERS = [None, 1, 2, 3, 2.5, -1, -2, np.inf, -np.inf, 0]
MATRIX_ORDERS = [None, "fro", 1, -1, np.inf, -np.inf]

PRODUCTS = [
    call(V, array(4, seed=1)), call(A, V), call(W, A), call(A, array(4, 2)),
    call(array(1, 1), array(1, 1)), call(array(3, 0), array(0, 2)), call(array(0, 3), W),
]  # fmt: skip
BATCHES = [
    call(CUBE, V), call(W, CUBE), call(CUBE, array(4, 2)), call(A, array(2, 4, 3)),
    call(CUBE, array(2, 4, 3)), call(CUBE, array(1, 4, 2)), call(array(1, 3, 4), array(2, 4, 2)),
    call(array(2, 1, 3, 4), array(5, 4, 2)), call(array(0, 3, 4), V),
    call(array(0, 3, 4), array(4, 2)), call(V, array(0, 4, 2)),
]  # fmt: skip

STACKS = [call([A, B]), call((A, B, A)), call([A, A]), call([A]), call([A, np.ones((3, 4), int)])]
INDEX_LISTS = np.array([[0, 2], [2, 2]])


def name_of(f):
    return f.__name__


# NumPy says so of complex points, of which it takes the real parts; nobody else may.
WARNED = {
    np.interp: pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
}


def each(calls):
    """The calls of a table as parameters."""
    every = [
        pytest.param(f, c, id=label(f, c), marks=WARNED.get(f, ()))
        for f, cs in calls.items() for c in cs
    ]  # fmt: skip
    return pytest.mark.parametrize(("f", "c"), every)


def order_of(c, calls):
    """To which order the derivatives of one of a function's calls are checked.

    Each third is checked to the second order; `python -m tests.calls` checks all of them so.
    """
    return 2 if any(c is one for one in calls[::3]) else 1


def label(f, c):
    parts = [*map(describe, c.args), *(f"{k}={describe(v)}" for k, v in c.kwargs.items())]
    return f"{f.__name__}({', '.join(parts)})"


def describe(x):
    if isinstance(x, np.ndarray):
        return "x".join(map(str, x.shape)) or "0-d"
    if isinstance(x, (list, tuple)):
        return f"[{' '.join(map(describe, x))}]"
    return getattr(x, "__name__", None) or str(x)
