"""Kinds of arrays: what zyg has to know of a type of arrays, one row for each kind.

The rules are written in ``np.``, so an array of another library takes part where it answers NumPy's
functions (``__array_ufunc__``, ``__array_function__``) and has a shape, a NumPy dtype and a method
``copy``. Where its kind makes a difference, whoever comes across it asks ``array_type(x)``, and no
file but this one knows which kinds there are. A new library is a new row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from numbers import Complex, Real
from typing import Any, TypeVar

import numpy as np

from zyg.base import buffers
from zyg.base.caches import Cache


class ArrayType:
    """One type of arrays of another library; a row is a class of such types."""

    readable = True  # whether an element may be looked at on the way: nobody waits for it
    # Whether all elements may be: of what has a row for each example, that decides nothing of one.
    seen_whole: Any = property(lambda self: self.readable)
    on_host = True  # whether what is made in the memory of the host may meet it
    guest: Any = None  # the class that its arrays have inside of verbs, if that is another
    lazy = False  # whether its elements are computed when they are asked for
    writable = True  # whether an element can be written to
    library: str
    # What messages call such arrays.
    title: Any = property(lambda self: f"arrays of {self.library}")

    def __init__(self, t: type) -> None:
        # Whose functions make such arrays; "" for NumPy's, and for what is no array.
        self.library = t.__module__.partition(".")[0]
        self.sample: Any = None

    @staticmethod
    def takes(t: type) -> bool:
        """Whether this is the row of `t`."""
        raise NotImplementedError

    def dtype(self, x: Any) -> np.dtype[Any]:
        """The dtype of `x` as NumPy's."""
        return x.dtype  # type: ignore[no-any-return]

    def enter(self, x: Any) -> Any:
        """`x` as the rules compute with it, and as f sees it."""
        return x

    def leave(self, x: Any) -> Any:
        """A value of the rules as the caller gets it, in memory of its own."""
        return self.copy(x)

    def to_host(self, x: Any) -> Any:
        """`x` as an array of NumPy's, or what stands for one until it is computed."""
        return x

    def compute(self, arrays: list[Any]) -> list[Any]:
        """What stands for arrays of the host, computed: all at once."""
        return arrays

    def adopted(self, c: Any, spec: ArraySpec) -> Any:
        """The cotangent `c`, an array or a number of the host, as one of a library's array."""
        return self.zeros(spec) + c

    def finished(self, c: Any, spec: ArraySpec) -> Any:
        """A cotangent of an argument, as the caller gets it."""
        return c

    def seen(self, x: Any) -> Any:
        """A readable array, to be looked at: as one of NumPy's, if that shares its memory."""
        return x

    def elements(self, x: Any) -> Any:
        """All elements of a readable array, in whatever shape."""
        return self.seen(x)

    def strong_product(self, c: Any, d: Any) -> Any:
        """`unseen_product` of two plain operands."""
        return unseen_product(c, d)

    def later(self, f: Any, back: Any, x: Any, shape: tuple[int, ...]) -> Any:
        """What stands for f of the array of NumPy's that the lazy array `x` is when computed.

        f only moves elements, to an array of this shape, and `back` is its transpose.
        """
        raise NotImplementedError

    def placed(self, spec: ArraySpec, index: Any, unique: bool, c: Any) -> Any:
        """Zeros, with `c` added at an index; of elements that are named twice, twice."""
        y = self.zeros(spec)
        add_at(y, index, unique, c)
        return y

    def add_twice(self, target: Any, index: Any, c: Any) -> None:
        """Add `c` to the elements at an index; to those that are named twice, twice."""
        np.add.at(target, index, c)

    def spec(self, x: Any, dtype: np.dtype[Any]) -> ArraySpec:
        """What a cotangent of the plain array `x` looks like, whose elements are of `dtype`."""
        if self.sample is None:
            # Of no axes: where a zero is wanted, CuPy takes shape=() for "as the sample".
            self.sample = np.reshape(np.empty_like(x, shape=(1,)), ())
        return ArraySpec(self, x.shape, dtype)

    def zeros(self, spec: ArraySpec) -> Any:
        """The zero cotangent: np.zeros_like of a sample, for `x` would keep its memory."""
        return np.zeros_like(self.sample, dtype=spec.dtype, shape=spec.shape)

    def copy(self, x: Any) -> Any:
        """`x` in memory of its own."""
        return x.copy()


class ArraySpec:
    """What a cotangent of another library's array looks like: its type, shape and dtype."""

    __slots__ = ("array_type", "dtype", "shape")

    def __init__(self, array_type: ArrayType, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.array_type, self.shape, self.dtype = array_type, shape, dtype

    def zeros(self) -> Any:
        return self.array_type.zeros(self)


def unseen_product(c: Any, d: Any) -> Any:
    """c * d of a cotangent and a slope that nobody looks at: an exact zero stays zero."""
    product = c * d
    zero = (c == 0) | ((d == 0) & np.isinf(c))
    return np.where(zero & np.isnan(product), 0.0, product)  # as `core.reverse.strong_times`


def add_at(target: Any, index: Any, unique: bool, c: Any) -> None:
    """Add `c` to the elements at an index; to those that are named twice, twice."""
    if unique:
        target[index] += c
    else:
        array_type(target).add_twice(target, index, c)


# What each number and array that is watched becomes first, where one run has many examples.
lifting: ContextVar[Callable[[Any], Any] | None] = ContextVar("zyg_lifting", default=None)


class Run(list[Exception]):
    """What was raised in such a run, and may not be for each of them: a function that catches it
    would go on as no example does; and the way that all went: what they decided, one by one."""

    open = True

    def __init__(self) -> None:
        super().__init__()
        self.way: list[bool] = []


undone: ContextVar[Run | None] = ContextVar("zyg_undone", default=None)


def note_undone(error: Exception) -> None:
    found = undone.get()
    if found is not None:
        found.append(error)


# The table

Row = TypeVar("Row", bound=type[ArrayType])

_rows: list[type[ArrayType]] = []  # a registry: the row that came last is asked first
_found: Cache[type, ArrayType] = Cache(4096)  # a program may make classes as it runs


def row(kind: Row) -> Row:
    """Add a row to the table; it is asked before those that are there."""
    _rows.append(kind)
    _found.clear()
    return kind


def array_type(x: Any) -> ArrayType:
    """What is known of the type of `x`, an array or anything else."""
    return _found.get(type(x)) or _met(type(x))


def _met(t: type) -> ArrayType:
    package = t.__module__.partition(".")[0]
    guest = package in _BY_NAME or hasattr(t, "__array_namespace__")
    if guest and package not in _OF_RULES and not issubclass(t, np.ndarray):
        import_module(GUESTS)
    return _found.put(t, next(r for r in reversed(_rows) if r.takes(t))(t))


# Where the row of the arrays is that answer none of NumPy's protocols as NumPy does: imported when
# the first of them is met, by the standard's protocol or by who is known not to answer that either.
GUESTS = "zyg.interop.guests"
_BY_NAME = frozenset(("dask", "torch"))
_OF_RULES = frozenset(("numpy", "zyg", "zyg_cuda"))


def put(x: Any, place: tuple[int, ...], value: Any) -> Any:
    """Zeros, which nobody else has, with a number at a place."""
    kind = array_type(x)
    if kind.writable:
        x[place] = value
        return x
    spec = kind.spec(x, x.dtype)
    one = np.full_like(x, value, shape=())
    return kind.placed(spec, place, True, one)


def on_host(x: Any) -> Any:
    """An array as NumPy's, if it is in the memory of the host; anything else as it is."""
    x = array_type(x).enter(x)
    return array_type(x).to_host(x)


def is_array(x: Any) -> bool:
    """Whether `x` is an array, NumPy's or another library's, plain or watched."""
    return type(x) is np.ndarray or bool(array_type(x).library) or isinstance(x, np.ndarray)


def is_complex(x: Any) -> bool:
    """Whether a number or an array is complex."""
    if (kind := array_type(x)).library:
        return kind.dtype(x).kind == "c"
    if isinstance(x, (np.ndarray, np.generic)):
        return bool(x.dtype.kind == "c")
    return not isinstance(x, (float, int)) and isinstance(x, Complex) and not isinstance(x, Real)


@row
class _NoArrays(ArrayType):
    """Numbers, and whatever else is no array."""

    def __init__(self, t: type) -> None:
        self.library = ""

    @staticmethod
    def takes(t: type) -> bool:
        return True

    def copy(self, x: Any) -> Any:
        return x


@row
class _NumPyArrays(ArrayType):
    """NumPy's own, whose spec is (shape, dtype)."""

    def __init__(self, t: type) -> None:
        self.library = ""

    @staticmethod
    def takes(t: type) -> bool:
        return issubclass(t, np.ndarray)

    def copy(self, x: Any) -> Any:
        return buffers.copy(x)


@row
class _DeviceArrays(ArrayType):
    """Those of a GPU, as CuPy's: each look at an element is a copy to the host, for which all work
    in flight must be waited. They are known by the protocols that they answer, also watched."""

    readable = on_host = False

    @staticmethod
    def takes(t: type) -> bool:
        protocols = "__array_ufunc__", "__array_function__", "__cuda_array_interface__"
        return all(hasattr(t, name) for name in protocols) and not issubclass(t, np.ndarray)

    def add_twice(self, target: Any, index: Any, c: Any) -> None:
        # CuPy has `add.at` of its own, and does not answer NumPy's.
        own = getattr(import_module(self.library), "add", np.add)
        own.at(target, index, c)

    @functools.cached_property
    def _kernel(self) -> Any:
        """The strong product in one launch instead of seven, where the library takes C++."""
        make = getattr(import_module(self.library), "ElementwiseKernel", None)
        zero = "g == G(0) || (s == S(0) && isinf(g))"
        return make and make(
            "G g, S s", "C c", f"c = {zero} ? C(0) : C(C(g) * C(s))", "strong_product"
        )

    def strong_product(self, c: Any, d: Any) -> Any:
        if type(c) is not type(d) or c.dtype.kind not in "fc" or not self._kernel:
            return super().strong_product(c, d)
        shape, dtype = np.broadcast_shapes(c.shape, d.shape), np.result_type(c.dtype, d.dtype)
        return self._kernel(c, d, np.empty_like(c, dtype=dtype, shape=shape))


def on_gpu(x: Any) -> bool:
    """Whether an array's memory is a GPU's, or numba's simulator says so; of any library."""
    if hasattr(type(x), "__cuda_array_interface__"):
        return bool(getattr(x, "is_cuda", True))  # torch has one class for all its tensors
    return getattr(type(x), "__cuda_ndarray__", False) is True
