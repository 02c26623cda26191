"""Arrays rearranged, joined and split, by what the primitives do."""

import numpy as np

from zyg.functions.kit import composed, joined, like, no_out, strip


@composed(np.matrix_transpose)
def matrix_transpose(x, /):
    return np.swapaxes(x, -1, -2)


@composed(np.fliplr)
def fliplr(m):
    return np.flip(m, 1)


@composed(np.flipud)
def flipud(m):
    return np.flip(m, 0)


def _atleast(function, shape_of):
    """np.atleast_1d and its kin: one array or several, each reshaped, or itself if it has them."""

    def reshaped(x):
        shape = shape_of(np.shape(x))
        is_list = isinstance(x, (list, tuple))
        return np.reshape(x, shape) if is_list or np.shape(x) != shape else x

    def atleast(*arrays):
        made = [reshaped(joined(x)) for x in arrays]
        return made[0] if len(made) == 1 else tuple(made)

    composed(function)(atleast)


_atleast(np.atleast_1d, lambda s: s or (1,))
_atleast(np.atleast_2d, lambda s: (1,) * (2 - len(s)) + s)
_atleast(
    np.atleast_3d,
    lambda s: {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}.get(len(s), s),
)


@composed(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    arrays = [np.atleast_2d(joined(x)) for x in tup]
    return np.concatenate(arrays, axis=0, dtype=dtype, casting=casting)


@composed(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = [np.atleast_1d(joined(x)) for x in tup]
    axis = 0 if np.ndim(arrays[0]) == 1 else 1
    return np.concatenate(arrays, axis=axis, dtype=dtype, casting=casting)


@composed(np.dstack)
def dstack(tup):
    return np.concatenate([np.atleast_3d(joined(x)) for x in tup], axis=2)


@composed(np.column_stack)
def column_stack(tup):
    columns = [np.reshape(x, (-1, 1)) if np.ndim(x) < 2 else x for x in map(joined, tup)]
    return np.concatenate(columns, axis=1)


@composed(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    n, where = np.shape(ary)[axis], strip(indices_or_sections)  # a watched int says where
    if _are_listed(where):
        ends = [0, *(int(k) for k in where), n]
    else:
        sections = int(where)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        ends = [k * (n // sections) + min(k, n % sections) for k in range(sections + 1)]
    before = (slice(None),) * (axis % np.ndim(ary))
    return [ary[(*before, slice(ends[k], ends[k + 1]))] for k in range(len(ends) - 1)]


def _are_listed(indices_or_sections):
    return isinstance(indices_or_sections, (list, tuple)) or np.ndim(indices_or_sections) > 0


@composed(np.split)
def split(ary, indices_or_sections, axis=0):
    n = np.shape(ary)[axis]
    if not _are_listed(indices_or_sections) and n % int(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return np.array_split(ary, indices_or_sections, axis)


@composed(np.hsplit)
def hsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, axis=0 if np.ndim(ary) == 1 else 1)


@composed(np.vsplit)
def vsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, axis=0)


@composed(np.dsplit)
def dsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, axis=2)


@composed(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    no_out(out)
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@composed(np.tril)
def tril(m, k=0):
    return np.where(_below(m, k), m, _zero(m))


@composed(np.triu)
def triu(m, k=0):
    return np.where(_below(m, k - 1), _zero(m), m)


def _below(m, k):
    """Where the k-th diagonal is, and below it."""
    return np.tri(*np.shape(m)[-2:], k=k, dtype=bool, like=like(m))  # type: ignore[call-overload]


def _zero(m):
    return np.zeros(1, strip(m).dtype, like=like(m))
