"""Sparse Jacobians and Hessians: entries that cannot meet are computed in one direction.

Columns of a Jacobian that have no row in common get one colour, and one directional derivative
gives all columns of a colour (A. R. Curtis, M. J. D. Powell, J. K. Reid, J. Inst. Maths Applics 13,
1974; as a colouring of a graph: T. F. Coleman, J. J. More, SIAM J. Numer. Anal. 20, 1983). Rows
likewise, from one reverse pass for each colour. For a Hessian symmetry allows fewer colours: in a
star colouring (T. F. Coleman, J. J. More, Math. Programming 28, 1984) every path of four vertices
has three, and each entry can be read off at one of its two places. A. H. Gebremedhin, F. Manne,
A. Pothen, SIAM Review 47, 2005, compare them all.

A pattern that lacks an entry would add it to another. So one more direction, a random one, is taken
along, and the matrix times it is compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zyg.base.borders import border
from zyg.base.structure import is_number
from zyg.core.cotangents import has_complex, spec_of
from zyg.core.questions import is_traced
from zyg.core.strand import is_watched
from zyg.core.trace import Trace
from zyg.errors import HolomorphicError, MissingRuleError, PatternError, StructureError
from zyg.sparsity.patterns import PatternCall
from zyg.sparsity.tokens import Matrix, scipy_sparse
from zyg.verbs.jacobians import gradient_of
from zyg.verbs.pushforward import DualCall

Function = Callable[..., Any]
Array = np.ndarray[Any, Any]

_CHUNK = 64  # directions carried along at once


@border
def sparse_jacobian(f: Function, x: Any, pattern: Any = None, *, mode: str = "auto") -> Any:
    """The Jacobian of ``f(x)``, an array, by an array x, as a `scipy.sparse.csr_array`.

    Parameters
    ----------
    f : callable
        Returns an array.
    x : array
        Its argument, of real numbers.
    pattern : matrix, optional
        Where the Jacobian may have entries: a matrix of bools, or a sparse matrix, for instance an
        earlier result; every place that a sparse one stores counts. Without it one run of f detects
        which elements depend on which.
    mode : {"auto", "forward", "reverse"}
        "forward" takes one direction for each group of columns that have no row in common,
        "reverse" one pass for each such group of rows, "auto" the fewer of the two.

    Returns
    -------
    csr_array
        With a row for each element of the result and a column for each of x, in C order.

    Raises
    ------
    PatternError
        Where the pattern lacks an entry.
    ValueError
        For an unknown mode.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.sparse_jacobian(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"unknown mode {mode!r}; there are: 'auto', 'forward', 'reverse'")
    x = _argument(x, "jacobian")
    entries = _entries(f, x, pattern, "jacobian")
    lines = {"forward": entries.tocsc(), "reverse": entries}
    # One line has as many colours across it as it has entries.
    least = {"forward": _longest(lines["reverse"]), "reverse": _longest(lines["forward"])}
    found: list[tuple[int, str, Array]] = []
    for way in [mode] if mode != "auto" else sorted(lines, key=lambda way: least[way]):
        if not found or least[way] < found[0][0]:
            colours = _coloured(lines[way])
            found.append((int(colours.max(initial=-1)) + 1, way, colours))
    _, way, colours = min(found, key=lambda one: one[:2])
    return (_by_columns if way == "forward" else _by_rows)(f, x, entries, colours)


@border
def sparse_hessian(f: Function, x: Any, pattern: Any = None) -> Any:
    """The matrix of second derivatives of ``f(x)``, a real number, as a `scipy.sparse.csr_array`.

    Forward over reverse, one direction for each colour of a star colouring.

    Parameters
    ----------
    f : callable
        Returns a real number.
    x : array
        Its argument, of real numbers.
    pattern : matrix, optional
        As for `sparse_jacobian`; one triangle of it will do.

    Returns
    -------
    csr_array
        Symmetric, with a row and a column for each element of x, in C order.

    Raises
    ------
    PatternError
        Where the pattern lacks an entry.
    NonScalarOutputError
        As `gradient` does.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2), np.arange(3.0)).toarray()
    array([[2., 0., 0.],
           [0., 4., 2.],
           [0., 2., 0.]])
    """
    x = _argument(x, "hessian")

    slope = gradient_of(f)
    entries = _entries(slope, x, pattern, "hessian")
    _check_shape(entries, (x.size, x.size))
    entries = (entries + entries.T).tocsr()
    colours = _star_coloured(entries)
    _, along, v, last = _pushed(slope, x, colours, "hessian")
    rows, columns = _places(entries)
    # The entry (i, j) lies at i in the direction of j's colour, and is alone there unless i has
    # another neighbour of that colour; then it is alone at j, in the direction of i's.
    keys = rows * (int(colours.max(initial=0)) + 1) + colours[columns]
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.arange(entries.nnz)
    mirrored = _with_data(entries, order).T.tocsr().data
    upper = np.where(rows <= columns, order, mirrored)  # the same place for both, to be symmetric
    row, column = rows[upper], columns[upper]
    alone = counts[inverse[upper]] == 1
    row, column = np.where(alone, row, column), np.where(alone, column, row)
    made = _with_data(entries, along[colours[column], row])
    _compare(made, v, last, "row")
    return made


# Arguments and results


def _argument(x: Any, verb: str) -> Array:
    if is_traced(x):
        raise _no_derivative(verb)
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fciu":
        raise StructureError(
            f"sparse_{verb} differentiates with respect to one array, and got a "
            f"{type(x).__name__}.",
            "the columns of the matrix are the elements of that array.",
            f"pass one array of numbers, or use zyg.{verb}, which takes any structure.",
        )
    if has_complex(x):
        raise _complex(verb)
    return x


def _no_derivative(verb: str) -> MissingRuleError:
    return MissingRuleError(
        f"sparse_{verb} cannot itself be differentiated.",
        "its result is a matrix of scipy.sparse, which can hold plain numbers only.",
        f"use zyg.{verb}, or zyg.stop_gradient where that derivative is not wanted.",
    )


def _complex(verb: str) -> HolomorphicError:
    return HolomorphicError(
        f"sparse_{verb} takes real functions of real numbers.",
        "a complex number moves in two directions, so there are two derivatives.",
        "take the real and the imaginary part as elements of their own, or use zyg.wirtinger.",
    )


def _flat(y: Any, verb: str) -> Array:
    """A result, or its derivative, as a vector."""
    if is_watched(y):
        raise _no_derivative(verb)
    if not isinstance(y, np.ndarray) and not is_number(y):
        raise StructureError(
            f"sparse_{verb} takes the derivative of one array; the function returned a "
            f"{type(y).__name__}.",
            "the rows of the matrix are the elements of that array.",
            f"return one array (np.concatenate), or use zyg.{verb}, which takes any structure.",
        )
    if has_complex(y):
        raise _complex(verb)
    return np.reshape(y, -1)


def _entries(f: Function, x: Array, pattern: Any, verb: str) -> Matrix:
    """Where a matrix has entries, as a Boolean sparse matrix in canonical form."""
    sparse = scipy_sparse()
    if pattern is None:
        call = PatternCall(f, x)
        _flat(call.y, verb)
        made = call.pattern
    elif sparse.issparse(pattern):
        made = sparse.csr_array(pattern, dtype=bool, copy=True)
    else:
        made = sparse.csr_array(np.atleast_2d(np.asarray(pattern, bool)))
    made.data[:] = True
    made.sum_duplicates()
    return made


def _with_data(entries: Matrix, data: Array) -> Matrix:
    return scipy_sparse().csr_array((data, entries.indices, entries.indptr), entries.shape)


def _places(entries: Matrix) -> tuple[Array, Array]:
    rows = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    return rows, entries.indices.astype(np.int64)


# Compressed columns and rows


def _pushed(f: Function, x: Array, colours: Array, verb: str) -> tuple[Array, ...]:
    """The value; the derivatives along each colour; that along a random direction, and it."""
    dtype = spec_of(x)[1]
    count, v = int(colours.max(initial=-1)) + 1, _random(x.size, dtype)
    found: list[Array] = []
    for start in range(0, count + 1, _CHUNK):
        chunk = range(start, min(start + _CHUNK, count + 1))
        seeds = ((colours == k).astype(dtype) if k < count else v for k in chunk)
        call = DualCall(f, (x,), {}, [[seed.reshape(x.shape)] for seed in seeds])
        y = _flat(call.y, verb)
        found += [_flat(y_dot, verb) for y_dot in call.y_dots]
    along = np.array(found[:-1], found[-1].dtype).reshape(count, y.size)
    return y, along, v, found[-1]


def _by_columns(f: Function, x: Array, entries: Matrix, colours: Array) -> Matrix:
    y, along, v, last = _pushed(f, x, colours, "jacobian")
    _check_shape(entries, (y.size, x.size))
    rows, columns = _places(entries)
    made = _with_data(entries, along[colours[columns], rows])
    _compare(made, v, last, "row")
    return made


def _by_rows(f: Function, x: Array, entries: Matrix, colours: Array) -> Matrix:
    trace = Trace(f, (x,), {})
    try:
        y = _flat(trace.y, "jacobian")
        _check_shape(entries, (y.size, x.size))
        shape, dtype = np.shape(trace.y), spec_of(y)[1]

        def pulled(seed: Array) -> Array:
            (x_bar,) = trace.back(seed.reshape(shape) if shape else seed[0], zeros=True)
            return _flat(x_bar, "jacobian")

        count, w = int(colours.max(initial=-1)) + 1, _random(y.size, dtype)
        found = [pulled((colours == k).astype(dtype)) for k in range(count)]
        last = pulled(w)
    finally:
        try:
            trace.close()
        finally:
            trace.close()
    rows, columns = _places(entries)
    back = np.array(found, last.dtype).reshape(count, x.size)
    made = _with_data(entries, back[colours[rows], columns])
    _compare(made.T, w, last, "column")
    return made


def _random(n: int, dtype: Any) -> Array:
    draw = np.random.default_rng(1974)
    return np.asarray(draw.uniform(0.5, 1.5, n) * draw.choice([-1, 1], n), dtype)


# Checks


def _check_shape(entries: Matrix, shape: tuple[int, int]) -> None:
    if entries.shape != shape:
        raise PatternError(
            f"the pattern is {entries.shape[0]} x {entries.shape[1]}; the matrix is "
            f"{shape[0]} x {shape[1]}.",
            "a pattern has a row for each element of the result, a column for each of x.",
            "pass a pattern of that shape; without one it is detected.",
        )


def _compare(made: Matrix, v: Array, expected: Array, axis: str) -> None:
    """Raise PatternError where the matrix times `v` is not what it should be."""
    eps = float(np.finfo(expected.dtype).eps)
    with np.errstate(all="ignore"):
        got, scale = made @ v, abs(made) @ abs(v) + abs(expected)
        largest = np.max(scale, initial=0.0, where=np.isfinite(scale))
        # Up to the rounding errors of a row, and of the largest one.
        wrong = ~(abs(got - expected) <= np.sqrt(eps) * scale + 16 * eps * largest)
    both = ~np.isfinite(got) & ~np.isfinite(expected)
    (places,) = np.nonzero(wrong & ~both)
    if places.size:
        some = ", ".join(map(str, places[:5])) + (", ..." if places.size > 5 else "")
        raise PatternError(
            f"the pattern does not have all entries of the matrix: {places.size} of {wrong.size} "
            f"{axis}s are wrong (counted from 0: {some}).",
            "what a pattern lacks would be missing from the result, or added to another entry.",
            f"add the missing entries of these {axis}s, or pass no pattern to have it detected; "
            "f must do the same at each call.",
        )


# Colourings. Sets of colours are bits of an int.


def _longest(entries: Matrix) -> int:
    return int(np.diff(entries.indptr).max(initial=0))


def _lines(entries: Matrix) -> Iterator[list[int]]:
    """The places of the entries of each row, or of each column of a matrix by columns."""
    indices = entries.indices.tolist()
    return (indices[a:b] for a, b in itertools.pairwise(entries.indptr.tolist()))


def _coloured(entries: Matrix) -> Array:
    """A colour for each line, other than those of the lines that cross where it does; -1 if empty.

    Greedy, in the order in which they come, which is best for banded matrices.
    """
    taken = [0] * (max(entries.shape))
    colours = []
    for line in _lines(entries):
        used = 0
        for k in line:
            used |= taken[k]
        free = ~used & (used + 1)
        for k in line:
            taken[k] |= free
        colours.append(free.bit_length() - 1 if line else -1)
    return np.array(colours, np.int64)


def _star_coloured(entries: Matrix) -> Array:
    """Colours of vertices: neighbours differ, and a path of four has at least three; -1 if alone.

    Greedy. For each vertex, the colours around it, those that are there more than once, and, of the
    neighbours around which its own colour is there more than once, the colours.
    """
    lines = list(_lines(entries))
    bits = [0] * len(lines)
    around, repeated, hubs = bits[:], bits[:], bits[:]
    first: dict[tuple[int, int], int] = {}
    for v, line in enumerate(lines):
        used = around[v]
        for w in line:
            if bits[w]:
                # Paths with v inside, u - v - w - x, and with v at an end, v - w - x - y.
                used |= around[w] if bits[w] & repeated[v] else hubs[w]
        bits[v] = free = ~used & (used + 1) if line else 0
        for x in line:
            if x == v:
                continue
            if around[x] & free:
                hubs[v] |= bits[x]
                hubs[first[x, free]] |= bits[x]
                repeated[x] |= free
            else:
                around[x] |= free
                first[x, free] = v
            if bits[x] & repeated[v]:
                hubs[x] |= free
    return np.array([b.bit_length() - 1 for b in bits], np.int64)
