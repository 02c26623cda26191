"""Batches as arrays of a library of its own, which functions are given by `vmap`.

A batch is a guest like any other library's array: the rules are said in the words of the array API
standard, and `batch_words` has what these do to batches. What looks at an element, whose value
would be one for each example, raises `Apart`.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np

from zyg.base.array_types import lifting, note_undone, undone
from zyg.base.registry import Composed, rules
from zyg.core.strand import WATCHED, strip
from zyg.errors import is_ours
from zyg.functions.operations import WITH_OPERATORS
from zyg.interop.batch_words import (
    FFT,
    LINALG,
    PACKAGE,
    WORDS,
    Apart,
    Batch,
    aligned,
    demand_value,
    elements_of,
    matmul,
    of_matrices,
    refuse_write,
)
from zyg.interop.guests import Guest, joined_to
from zyg.interop.libraries import Library


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


SPACE = Space(WORDS, np, linalg=Space(LINALG, np.linalg), fft=Space(FFT, np.fft))
Batch.__array_namespace__ = lambda self, api_version=None: SPACE  # type: ignore[attr-defined]


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
            return guest(matmul(*raws))  # type: ignore[no-untyped-call]
        y = ufunc(*aligned(raws))
        return tuple([guest(Batch(a)) for a in y]) if type(y) is tuple else guest(Batch(y))
    if "out" in kwargs:
        refuse_write()
    return Guest.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)


def _itself(library, f, a, /, *args, **options):
    """A function of NumPy's, of the last two axes."""
    y = of_matrices(lambda x, **options: f(x, *args, **options))(a.raw, **options)
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
    readable, seen_whole = False, True
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
            demand_value()
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
        c = elements_of(c)
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


def _elements_asked(*_: Any, **__: Any) -> Any:
    raise Apart("np.array, np.asarray or C code asks for plain elements, which np.stack does not")


def _augmented(name: str) -> Callable[..., Any]:
    """``x += y``: a number is another one then; an array may have others that look at it."""
    function = getattr(operator, f"__{name}__")

    def augmented(self: Any, other: Any) -> Any:
        return refuse_write(self) if np.ndim(self) else function(self, other)

    return augmented


BATCHES = joined_to(Batches(PACKAGE, SPACE))
BATCHES.guest.__init__, BATCHES.guest.__array_ufunc__ = _holding, _of_ufunc
BATCHES.guest.__array__ = _elements_asked
for _kind in (BATCHES.guest, BATCHES.watched):
    _kind.__setitem__ = refuse_write
    for _row in filter(lambda row: row.is_binary, WITH_OPERATORS):
        setattr(_kind, f"__i{_row.dunder}__", _augmented(_row.dunder))
    for _name in _ASKED:
        setattr(_kind, _name, _noted(getattr(_kind, _name, None) or demand_value))
