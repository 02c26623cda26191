"""Batches: what a function computes of every example at once, as arrays of a library of its own.

A batch is an array that has an axis for the examples, before those that the function sees; that
axis has one element where all examples have the same. It is a guest like any other library's array:
the rules are said in the words of the array API standard, and here is what these do to batches.
What looks at an element, whose value would be one for each example, raises `Apart`.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from string import ascii_letters
from typing import Any, ClassVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from zyg.base.array_types import lifting, note_undone, undone
from zyg.base.registry import Composed, rules
from zyg.core.strand import WATCHED, strip
from zyg.errors import is_ours
from zyg.interop.guests import Guest, joined_to
from zyg.interop.libraries import Library

PACKAGE = "zyg"


class Apart(TypeError):  # noqa: N818
    """Each example would go a way of its own, or those where `truths` are another than the rest."""

    def __init__(self, why: str, truths: Any = None) -> None:
        super().__init__(why)
        self.truths = truths
        note_undone(self)


def _apart(*_: Any) -> Any:
    raise Apart("the value of an element is asked for, which is another for each example")


class Batch:
    """The array of all examples, whose first axis is theirs."""

    __slots__ = ("array", "run")
    __hash__ = None  # type: ignore[assignment]
    __float__ = __int__ = __index__ = __complex__ = __array__ = _apart

    def __init__(self, array: Any) -> None:
        self.array, self.run = array, undone.get()

    def __bool__(self) -> bool:
        truths = self.array.astype(bool).ravel()
        if not 0 < truths.size == len(self.array):
            _apart()
        if truths.all() or not truths.any():
            return bool(truths[0])
        raise Apart("a value decides what is done next, and not for all alike", truths)

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape[1:])
    ndim = property(lambda self: self.array.ndim - 1)

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return SPACE


def _array(x: Any) -> Any:
    """With an axis for the examples."""
    return x.array if type(x) is Batch else np.asarray(x)[None]


def _aligned(operands: Sequence[Any]) -> list[Any]:
    """Operands as their axes meet: those of the examples, and from the last on the others."""
    arrays = [
        x.array if type(x) is Batch else x if isinstance(x, (int, float, complex)) else _array(x)
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


def _together(arrays: Sequence[Any]) -> list[Any]:
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
        arrays = _together([a, *map(_array, more)])
        return Batch(f(*arrays, axis=_inside(axis, a.ndim - 1), **options))

    return word


def _of_matrices(f: Callable[..., Any]) -> Callable[..., Any]:
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
    return Batch(np.linalg.solve(*_aligned((a, b))))


def _matmul(a, b, /):
    x, y = _array(a), _array(b)
    if len(x) == 1 and (x.ndim, y.ndim) == (3, 2):  # one product of matrices
        return Batch(y @ x[0].T)
    if len(y) == 1 and (x.ndim, y.ndim) == (2, 3):
        return Batch(x @ y[0])
    x = x[:, None, :] if x.ndim == 2 else x
    y = y[:, :, None] if y.ndim == 2 else y
    made = np.matmul(*_aligned((Batch(x), Batch(y))))
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
    return Batch(np.einsum(f"{given}->{z}{made}", *_together([x.array for x in operands])))


def _stack(arrays, /, *, axis=0):
    ndim = arrays[0].ndim + 1
    return Batch(np.stack(_together([x.array for x in arrays]), _inside(axis, ndim)))


def _concat(arrays, /, *, axis=0):
    return Batch(
        np.concatenate(_together([x.array for x in arrays]), _inside(axis, arrays[0].ndim))
    )


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


_WORDS: dict[str, Callable[..., Any]] = {
    **{name: _along(getattr(np, name))
       for name in ("sum", "prod", "mean", "max", "min", "any", "all", "flip", "count_nonzero")},
    **{name: _along_one(getattr(np, name), None) for name in ("argmax", "argmin")},
    **{name: _along_one(getattr(np, name)) for name in ("sort", "argsort", "take_along_axis")},
    "cumulative_sum": _along_one(np.cumsum), "cumulative_prod": _along_one(np.cumprod),
    **{name: _of_matrices(getattr(np, name)) for name in ("tril", "triu")},
    "where": lambda *xs: Batch(np.where(*_aligned(xs))),
    "permute_dims": lambda x, axes, /: Batch(x.array.transpose(0, *_inside(tuple(axes), x.ndim))),
    "concat": _concat, "stack": _stack, "einsum": _einsum, "tensordot": _tensordot,
    "matmul": _matmul,
    "real": lambda x: Batch(x.array.real), "imag": lambda x: Batch(x.array.imag),
    "round": lambda x: Batch(np.round(x.array)),
}  # fmt: skip
_LINALG: dict[str, Callable[..., Any]] = {
    **{name: _of_matrices(getattr(np.linalg, name))
       for name in ("inv", "det", "slogdet", "cholesky", "qr", "svd", "eigh", "eigvalsh", "eig",
                    "eigvals", "pinv", "matrix_rank", "svdvals")},
    "solve": _solve,
    "matrix_power": lambda x, n, /: _of_matrices(np.linalg.matrix_power)(x, n=n),
}  # fmt: skip
_FFT: dict[str, Callable[..., Any]] = {
    name: _fft(getattr(np.fft, name))
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2",
                 "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift")
}  # fmt: skip


class Space:
    """A namespace of words; what is not among them is a ufunc, or said in others by its rule."""

    def __init__(self, words: dict[str, Callable[..., Any]], of: Any, **parts: Space) -> None:
        self._words, self._of = words, of
        vars(self).update(parts)

    def __getattr__(self, name: str) -> Any:
        if name in self._words:
            return self._words[name]
        f = getattr(self._of, name)
        if isinstance(rule := rules.get(f), Composed):
            return _by_text(f, rule.function)
        raise AttributeError(f"{name} of batches")


_saying: ContextVar[tuple[Any, ...]] = ContextVar("zyg_saying", default=())


def _by_text(f: Callable[..., Any], text: Callable[..., Any]) -> Callable[..., Any]:
    """A function in others, by the text of its rule, where that does not come back to it."""

    def word(*args, **kwargs):
        if f in (outer := _saying.get()):
            raise Apart(f"{f.__name__} of batches")
        before = _saying.set((*outer, f))
        try:
            wrapped = [_wrapped(x) for x in args], {k: _wrapped(x) for k, x in kwargs.items()}
            return _raw(text(*wrapped[0], **wrapped[1]))
        finally:
            _saying.reset(before)

    return word


def _wrapped(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return getattr(x, "_make", type(x))(map(_wrapped, x))
    return BATCHES.guest(x) if type(x) is Batch else x


def _raw(y: Any) -> Any:
    return tuple(map(_raw, y)) if isinstance(y, (list, tuple)) else BATCHES.raw(y)


SPACE = Space(_WORDS, np, linalg=Space(_LINALG, np.linalg), fft=Space(_FFT, np.fft))


def _holding(self: Any, raw: Batch) -> None:
    """What makes a guest."""
    self.raw, a = raw, raw.array
    self.shape, self.dtype = a.shape[1:], a.dtype


def _of_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What a guest answers: NumPy's loop itself has its dtypes."""
    known = not ufunc.signature or ufunc is np.matmul
    if method == "__call__" and not kwargs and known:
        guest = type(self)
        raws = [x.raw if type(x) is guest else x for x in inputs]
        if len(raws) > 1 and not WATCHED.isdisjoint(map(type, raws)):
            return NotImplemented
        if ufunc is np.matmul:
            return guest(_matmul(*raws))  # type: ignore[no-untyped-call]
        y = ufunc(*_aligned(raws))
        return tuple([guest(Batch(a)) for a in y]) if type(y) is tuple else guest(Batch(y))
    return Guest.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)


def _itself(library, f, a, /, *args, **options):
    """A function of NumPy's, of the last two axes."""
    y = _of_matrices(lambda x, **options: f(x, *args, **options))(a.raw, **options)
    return _wrapped(y)


def _class_of(self: Any) -> Any:
    """To isinstance, but for zyg's own, what an example is."""
    frame: Any = sys._getframe(1)
    frame = frame.f_back if frame.f_globals.get("__name__") == "abc" else frame  # numbers.Real
    if is_ours(frame.f_code.co_filename):
        return type(self)
    return np.ndarray if self.shape else self.dtype.type


class Batches(Library):
    """The row of batches."""

    title = "vmap's examples"
    protocols: ClassVar[dict[str, Any]] = {"__class__": property(_class_of)}
    functions: ClassVar[dict[Any, Any]] = dict.fromkeys(
        (np.linalg.eigh, np.linalg.eigvalsh, np.linalg.cholesky), _itself
    )

    def leave(self, x: Any) -> Any:
        return np.copy(x) if type(x) in WATCHED else x  # which nobody can write to

    def elements(self, x: Any) -> Any:
        return x.raw.array

    def dtype_of(self, raw: Any) -> Any:
        return raw.array.dtype

    def own_dtype(self, dtype: Any) -> Any:
        return dtype

    def shape_of(self, raw: Any) -> Any:
        return raw.array.shape[1:]

    def make(self, x: Any, dtype: Any, like: Any) -> Any:
        return x if type(x) is Batch else Batch(np.asarray(x, dtype)[None])

    def full(self, shape: Any, value: Any, dtype: Any, device: Any) -> Any:
        return Batch(np.full((1, *shape), value, dtype))

    def host(self, raw: Any) -> Any:
        """The cotangent of what all examples share: their sum."""
        if lifting.get() is not None:  # a derivative of each example's own
            _apart()
        return np.asarray(raw.array.sum(axis=0))

    def cast(self, raw: Any, dtype: Any) -> Any:
        return Batch(raw.array.astype(dtype))

    def copied(self, raw: Any) -> Any:
        return Batch(raw.array.copy())

    def reshaped(self, raw: Any, shape: Any) -> Any:
        return Batch(raw.array.reshape(len(raw.array), *shape))

    def spread(self, raw: Any, shape: Any) -> Any:
        missing = (1,) * (len(shape) - raw.ndim)
        a = raw.array.reshape(len(raw.array), *missing, *raw.shape)
        return Batch(np.broadcast_to(a, (len(a), *shape)))

    def reduced(self, name: str, a: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Any:
        options = {} if dtype is None else {"dtype": dtype}
        return self.wrap(getattr(self.xp, name)(a.raw, axis=axis, keepdims=keepdims, **options))

    def index(self, index: Any, like: Any) -> Any:
        if type(index) is self.guest:
            raise Apart("an index that is another for each example")
        if type(index) is tuple:
            return tuple([self.index(k, like) for k in index])
        return np.asarray(index) if isinstance(index, list) else index

    def read(self, raw: Any, index: Any) -> Any:
        return Batch(raw.array[_behind(index)])

    def add_at(self, zeros: Any, index: Any, unique: bool, c: Any) -> Any:
        c = _array(c)
        made = np.zeros((len(c), *zeros.shape), zeros.dtype)
        np.add.at(made, _behind(index), c)
        return Batch(made)


def _behind(index: Any) -> Any:
    """An index of an example, as one of the batch."""
    parts = index if type(index) is tuple else (index,)
    arrays = [k for k, part in enumerate(parts) if not (part is None or part is Ellipsis
              or isinstance(part, (slice, int)))]  # fmt: skip
    numbers = [k for k, part in enumerate(parts) if type(part) is int] if arrays else []
    places = sorted((*arrays, *numbers))
    if places and places != [*range(places[0], places[-1] + 1)]:
        raise Apart("an index by arrays that are apart")
    return (slice(None), *parts)


def _noted(f: Callable[..., Any]) -> Callable[..., Any]:
    """What raises for all may not do so for each; threads do not know what is to be lifted."""
    of_name = f.__name__ == "__getattr__"

    @functools.wraps(f)
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = None if of_name else strip(self).raw.run
        if run is not None and run.open and run is not undone.get():
            run.append(Apart("a thread computes with the examples"))
        try:
            return f(self, *args, **kwargs)
        except Exception as error:
            if not (of_name and is_ours(sys._getframe(1).f_code.co_filename)):
                note_undone(error)
            raise

    return asked


_ASKED = (
    "__array__", "__array_function__", "__array_ufunc__", "__bool__", "__complex__", "__float__",
    "__format__", "__getattr__", "__getitem__", "__hash__", "__index__", "__int__", "__round__",
    "__setitem__",
)  # fmt: skip

BATCHES = joined_to(Batches(PACKAGE, SPACE))
BATCHES.guest.__init__, BATCHES.guest.__array_ufunc__ = _holding, _of_ufunc
for _kind in (BATCHES.guest, BATCHES.watched):
    for _name in _ASKED:
        setattr(_kind, _name, _noted(getattr(_kind, _name, None) or _apart))
