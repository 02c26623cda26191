"""Batches, and what the words of the array API standard do to them.

A batch is an array that has an axis for the examples, before those that the function sees; that
axis has one element where all examples have the same.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from zyg.base.array_types import note_undone, undone

PACKAGE = "zyg"


class Apart(TypeError):  # noqa: N818
    """Each example would go a way of its own, or those where `truths` are another than the rest."""

    def __init__(self, why: str, truths: Any = None) -> None:
        super().__init__(why)
        self.truths = truths
        note_undone(self)


def demand_value(*_: Any) -> Any:
    raise Apart("the value of an element is asked for, which is another for each example")


def refuse_write(*_: Any) -> Any:
    raise Apart("an array is written to, which others may look at")


class Batch:
    """The array of all examples, whose first axis is theirs."""

    __slots__ = ("array", "run")
    __hash__ = None  # type: ignore[assignment]
    __float__ = __int__ = __index__ = __complex__ = __array__ = demand_value

    def __init__(self, array: Any) -> None:
        self.array, self.run = array, undone.get()

    def __bool__(self) -> bool:
        truths = self.array.astype(bool).ravel()
        if not 0 < truths.size == len(self.array):
            demand_value()
        if truths.all() or not truths.any():
            if self.run is not None:
                self.run.way.append(bool(truths[0]))
            return bool(truths[0])
        raise Apart("a value decides what is done next, and not for all alike", truths)

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape[1:])
    ndim = property(lambda self: self.array.ndim - 1)


def elements_of(x: Any) -> Any:
    """With an axis for the examples."""
    return x.array if type(x) is Batch else np.asarray(x)[None]


def aligned(operands: Sequence[Any]) -> list[Any]:
    """Operands as their axes meet: those of the examples, and from the last on the others."""
    arrays = [
        x.array
        if type(x) is Batch
        else x
        if isinstance(x, (int, float, complex))
        else elements_of(x)
        for x in operands
    ]
    axes = {x.ndim for x in arrays if type(x) is np.ndarray}
    if len(axes) == 1:
        return arrays
    most = max(axes)
    return [
        x.reshape(x.shape[0], *(1,) * (most - x.ndim), *x.shape[1:])
        if type(x) is np.ndarray and x.ndim < most
        else x
        for x in arrays
    ]


def together(arrays: Sequence[Any]) -> list[Any]:
    """Arrays of as many examples each."""
    count = max((x.shape[0] for x in arrays if x.shape[0] != 1), default=1)
    if any(x.shape[0] == 0 for x in arrays):
        count = 0
    return [x if x.shape[0] == count else np.broadcast_to(x, (count, *x.shape[1:])) for x in arrays]


def _inside(axis: Any, ndim: int) -> Any:
    """Axes that an example has, as those of the batch."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple):
        return tuple(1 + k for k in normalize_axis_tuple(axis, ndim))
    return 1 + normalize_axis_index(axis, ndim)


# The words


def _along(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array along an axis, or all of them."""

    def word(x, /, *, axis=None, **options):
        return Batch(f(x.array, axis=_inside(axis, x.ndim), **options))

    return word


def _along_one(f: Callable[..., Any], default: Any = -1) -> Callable[..., Any]:
    """A function along one axis; without one, of all elements in a row."""

    def word(x, /, *more, axis=default, **options):
        a, axis = (x.array.reshape(len(x.array), -1), 0) if axis is None else (x.array, axis)
        arrays = together([a, *map(elements_of, more)])
        return Batch(f(*arrays, axis=_inside(axis, a.ndim - 1), **options))

    return word


def of_matrices(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the last two axes."""

    def word(x, /, **options):
        if x.ndim < 2:
            raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given")
        y = f(x.array, **options)
        if not isinstance(y, tuple):
            return Batch(y)
        return getattr(y, "_make", tuple)(map(Batch, y))

    return word


def _solve(a, b, /):
    if b.ndim == 1:
        return Batch(np.linalg.solve(a.array, b.array[..., None])[..., 0])
    return Batch(np.linalg.solve(*aligned((a, b))))


def matmul(a, b, /):
    x, y = elements_of(a), elements_of(b)
    if len(x) == 1 and (x.ndim, y.ndim) == (3, 2):  # one product of matrices
        return Batch(y @ x[0].T)
    if len(y) == 1 and (x.ndim, y.ndim) == (2, 3):
        return Batch(x @ y[0])
    x = x[:, None, :] if x.ndim == 2 else x
    y = y[:, :, None] if y.ndim == 2 else y
    made = np.matmul(*aligned((Batch(x), Batch(y))))
    made = made[..., 0] if np.ndim(b) == 1 else made
    if np.ndim(a) == 1:
        made = made[..., 0] if np.ndim(b) == 1 else made[..., 0, :]
    return Batch(made)


def _tensordot(a, b, /, *, axes):
    (i, j), n, m = axes, a.ndim, b.ndim
    free_a, free_b = ([k for k in range(d) if k not in own] for d, own in ((n, i), (m, j)))
    x = a.array.transpose(0, *(1 + k for k in (*free_a, *i)))
    y = b.array.transpose(0, *(1 + k for k in (*j, *free_b)))
    count = math.prod(a.shape[k] for k in i)
    rows, columns = [a.shape[k] for k in free_a], [b.shape[k] for k in free_b]
    made = np.matmul(
        x.reshape(len(x), math.prod(rows), count), y.reshape(len(y), count, math.prod(columns))
    )
    return Batch(made.reshape(len(made), *rows, *columns))


def _einsum(text, /, *operands):
    given, _, made = text.replace(" ", "").partition("->")
    if "." in text:
        raise Apart("einsum with an ellipsis")
    if "->" not in text:
        names = given.replace(",", "")
        made = "".join(sorted(k for k in {*names} if names.count(k) == 1))
    z = next(k for k in ascii_letters if k not in text)
    given = ",".join(z + part for part in given.split(","))
    return Batch(np.einsum(f"{given}->{z}{made}", *together([x.array for x in operands])))


def _stack(arrays, /, *, axis=0):
    ndim = arrays[0].ndim + 1
    return Batch(np.stack(together([x.array for x in arrays]), _inside(axis, ndim)))


def _concat(arrays, /, *, axis=0):
    return Batch(np.concatenate(together([x.array for x in arrays]), _inside(axis, arrays[0].ndim)))


def _fft(f: Callable[..., Any]) -> Callable[..., Any]:
    """Along the axes that are given, or the last ones."""
    several, two = f.__name__.endswith("n"), f.__name__.endswith("2")

    def word(x, /, *, axis=-1, axes=None, **options):
        if axes == ():
            raise Apart("a transform of no axis")
        if several or two:
            axes = (-2, -1) if two and axes is None else axes
            if axes is None and options.get("s") is not None:
                axes = tuple(range(-len(options["s"]), 0))
            where = {"axes": _inside(None if axes is None else tuple(axes), x.ndim)}
        else:
            where = {"axis": _inside(axis, x.ndim)}
        return Batch(f(x.array, **where, **options))

    return word


WORDS: dict[str, Callable[..., Any]] = {
    **{name: _along(getattr(np, name))
       for name in ("sum", "prod", "mean", "max", "min", "any", "all", "flip", "count_nonzero")},
    **{name: _along_one(getattr(np, name), None) for name in ("argmax", "argmin")},
    **{name: _along_one(getattr(np, name)) for name in ("sort", "argsort", "take_along_axis")},
    "cumulative_sum": _along_one(np.cumsum), "cumulative_prod": _along_one(np.cumprod),
    **{name: of_matrices(getattr(np, name)) for name in ("tril", "triu")},
    "where": lambda *xs: Batch(np.where(*aligned(xs))),
    "permute_dims": lambda x, axes, /: Batch(x.array.transpose(0, *_inside(tuple(axes), x.ndim))),
    "concat": _concat, "stack": _stack, "einsum": _einsum, "tensordot": _tensordot,
    "matmul": matmul,
    "real": lambda x: Batch(x.array.real), "imag": lambda x: Batch(x.array.imag),
    "round": lambda x: Batch(np.round(x.array)),
}  # fmt: skip
LINALG: dict[str, Callable[..., Any]] = {
    **{name: of_matrices(getattr(np.linalg, name))
       for name in ("inv", "det", "slogdet", "cholesky", "qr", "svd", "eigh", "eigvalsh", "eig",
                    "eigvals", "pinv", "matrix_rank", "svdvals")},
    "solve": _solve,
    "matrix_power": lambda x, n, /: of_matrices(np.linalg.matrix_power)(x, n=n),
}  # fmt: skip
FFT: dict[str, Callable[..., Any]] = {
    name: _fft(getattr(np.fft, name))
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2",
                 "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift")
}  # fmt: skip
