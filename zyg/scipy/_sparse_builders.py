"""Sparse matrices put together of watched parts: SciPy says where each element goes.

It is asked with numbers for elements, 1, 2, 3, ...; where a number has gone, its element goes.
"""

import functools
import inspect
from typing import Any

import numpy as np

from zyg.functions.kit import as_array, cast, dropins, watched_leaves
from zyg.scipy._sparse_rules import Pattern, Sparse, numbered, renumbered, sparse
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import still


def _moves(parts):
    """Whether there is a watched element in a matrix, an array, or lists of such."""
    if isinstance(parts, (list, tuple)):
        return any(map(_moves, parts))
    return isinstance(parts, Sparse) or bool(watched_leaves(parts))


def _numbers(parts, data):
    """The parts with numbers for elements, which are appended to `data`, part by part."""
    if isinstance(parts, np.ndarray) and parts.dtype == object:
        parts = parts.tolist()
    if isinstance(parts, (list, tuple)):
        return [_numbers(part, data) for part in parts]
    if parts is None:
        return None
    first = 1 + sum(map(np.size, data))
    if isinstance(parts, Sparse) or scipy.sparse.issparse(parts):
        matrix = sparse(parts).added()
        data.append(matrix.data)
        return numbered(matrix, first)
    array = as_array(parts)
    data.append(np.ravel(array))
    return np.reshape(first + np.arange(np.size(array), dtype=float), np.shape(array))


def _of_parts(function):
    """What stands for a function of SciPy's whose first argument is moved about, and no more."""

    signature = inspect.signature(function)

    @functools.wraps(function)
    def build(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        name, parts = next(iter(given.items()))
        if not _moves(parts):
            return function(*args, **kwargs)
        del given[name]
        given = {option: still(function, option, value) for option, value in given.items()}
        data: list[Any] = []
        dtype = given.pop("dtype", None)
        made = renumbered(function(_numbers(parts, data), **given), np.concatenate(data))
        return made if dtype is None else Sparse(cast(made.data, np.dtype(dtype)), made.pattern)

    return build


def _like_numbers(x):
    """Ones where there are elements."""
    return x.sign() if scipy.sparse.issparse(x) else np.sign(x)


@functools.wraps(scipy.sparse.kron)
def kron(A, B, format=None):
    if not _moves([A, B]):
        return scipy.sparse.kron(A, B, format)
    a: list[Any] = []
    b: list[Any] = []
    first, second = _numbers(A, a), _numbers(B, b)
    left = scipy.sparse.kron(first, _like_numbers(second), "coo")
    right = scipy.sparse.kron(_like_numbers(first), second, "coo")
    data = a[0][left.data.astype(int) - 1] * b[0][right.data.astype(int) - 1]
    return Sparse(data, Pattern(left.row, left.col, left.shape))


@functools.wraps(scipy.sparse.kronsum)
def kronsum(A, B, format=None):
    if not _moves([A, B]):
        return scipy.sparse.kronsum(A, B, format)
    one, other = (scipy.sparse.eye_array(np.shape(x)[0]) for x in (A, B))
    return kron(other, A) + kron(B, one)


@functools.wraps(scipy.sparse.issparse)
def issparse(x):
    return isinstance(x, Sparse) or scipy.sparse.issparse(x)


_MOVED = (
    "block_array", "block_diag", "bmat", "diags", "diags_array", "hstack", "spdiags", "tril",
    "triu", "vstack",
)  # fmt: skip
_written = (*(_of_parts(getattr(scipy.sparse, name)) for name in _MOVED), issparse, kron, kronsum)
FUNCTIONS = {f.__name__: dropins.drop_in(getattr(scipy.sparse, f.__name__), f) for f in _written}
