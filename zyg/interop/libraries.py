"""What is known of a library of arrays.

`Library` does for whatever answers the protocol of the array API standard; `packages` has what some
do otherwise. Its methods are of guests, where the engine asks, and of arrays as their library has
them: `raw`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from zyg.base.array_types import ArraySpec, ArrayType, array_type
from zyg.base.caches import remembered
from zyg.base.containers import Engine
from zyg.base.registry import adjoint
from zyg.core.strand import WATCHED
from zyg.errors import MissingRuleError

libraries: dict[str, Library] = {}  # a registry: by the package's name, those that were met
_PACKAGES = {"jaxlib": "jax"}


def package_of(t: type) -> str:
    package = t.__module__.partition(".")[0]
    return _PACKAGES.get(package, package)


class Library(ArrayType):
    """The arrays of one package, which `guests.Guest` holds: `raw`, here."""

    writable = False
    watched: Any
    protocols: ClassVar[dict[str, Any]] = {}  # what its guests answer besides NumPy's
    # What it says in words of its own, as `words.FUNCTIONS`.
    functions: ClassVar[dict[Any, Any]] = {}
    # Its functions that have the name of one of NumPy's and mean something else.
    different: ClassVar[frozenset[str]] = frozenset()
    # What it raises where it cannot do what it is asked for.
    lacking: tuple[type[Exception], ...] = AttributeError, NotImplementedError, TypeError

    def __init__(self, package: str, xp: Any) -> None:
        self.library, self.xp = package, xp

    # Of guests, as the engine asks

    def dtype(self, x: Any) -> np.dtype[Any]:
        return x.dtype  # type: ignore[no-any-return]

    def spec(self, x: Any, dtype: np.dtype[Any]) -> ArraySpec:
        return GuestSpec(self, x.shape, dtype, self.device(x.raw))

    def spec_of_argument(self, raw: Any, dtype: np.dtype[Any]) -> ArraySpec:
        return GuestSpec(self, self.shape_of(raw), dtype, self.device(raw))

    def zeros(self, spec: ArraySpec) -> Any:
        return self.guest(self.full(spec.shape, 0, spec.dtype, spec.device))  # type: ignore[attr-defined]

    def copy(self, x: Any) -> Any:
        return np.copy(x) if type(x) in WATCHED else self.guest(self.copied(x.raw))

    def leave(self, x: Any) -> Any:
        return np.copy(x) if type(x) in WATCHED else self.copied(x.raw)

    def placed(self, spec: ArraySpec, index: Any, unique: bool, c: Any) -> Any:
        zeros = self.zeros(spec).raw
        return self.guest(self.add_at(zeros, self.index(index, zeros), unique, self.raw(c)))

    def to_host(self, x: Any) -> Any:
        return brought(x) if type(x) in WATCHED else self.host(x.raw)

    # Of their arrays

    def method(self, x: Any, name: str) -> Any:
        """A method that only the library's arrays have, of a watched one."""
        return None

    def wrap(self, raw: Any) -> Any:
        return self.guest(raw)

    def is_own(self, x: Any) -> bool:
        """Whether `x` is an array as the library has it."""
        return package_of(type(x)) == self.library and bool(array_type(x).library)

    def lifted(self, x: Any) -> Any:
        """An operand of a ufunc: a guest, an array of NumPy's, or a number."""
        if type(x) is self.guest or isinstance(x, (np.ndarray, np.generic, int, float, complex)):
            return x
        return self.guest(self.entering(x)) if self.is_own(x) else np.asarray(x)

    def guest_of(self, x: Any, like: Any = None) -> Any:
        """Anything as a guest."""
        x = self.lifted(x)
        if type(x) is self.guest:
            return x
        x = np.asarray(x)
        return self.guest(self.as_own(x, None if like is None else like.raw))

    def as_own(self, x: np.ndarray[Any, Any], like: Any) -> Any:
        """An array of NumPy's as one of the library's."""
        return self.make(x, x.dtype, like)

    def raw(self, x: Any) -> Any:
        return x.raw if type(x) is self.guest else x

    def cast_to(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """The array of a guest, in this dtype."""
        return x.raw if x.dtype == dtype else self.cast(x.raw, dtype)

    def alike(self, arrays: Any) -> list[Any]:
        """Guests of one dtype, of guests, NumPy's arrays and numbers."""
        like = next((x for x in arrays if type(x) is self.guest), None)
        made = [self.guest_of(x, like) for x in arrays]
        dtype = np.result_type(*[x.dtype for x in made])
        return [self.wrap(self.cast_to(x, dtype)) for x in made]

    def reduced(self, name: str, a: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Any:
        a = a if dtype is None or a.dtype == dtype else self.guest(self.cast(a.raw, dtype))
        return self.wrap(getattr(self.xp, name)(a.raw, axis=axis, keepdims=keepdims))

    def cumulated(self, name: str, raw: Any, axis: int) -> Any:
        standard = {"cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}[name]
        return getattr(self.xp, standard)(raw, axis=axis)

    def cholesky(self, raw: Any) -> Any:
        return self.xp.linalg.cholesky(raw)

    def reshaped(self, raw: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.reshape(raw, tuple(shape))

    def spread(self, raw: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.broadcast_to(raw, tuple(shape))

    def chosen(self, condition: Any, x: Any, y: Any) -> Any:
        return self.xp.where(condition, x, y)

    def dtype_of(self, raw: Any) -> np.dtype[Any]:
        return raw.dtype if isinstance(raw.dtype, np.dtype) else np.dtype(_name(raw.dtype))

    def own_dtype(self, dtype: np.dtype[Any]) -> Any:
        return getattr(self.xp, dtype.name)

    def shape_of(self, raw: Any) -> tuple[int, ...]:
        return tuple(raw.shape)

    def device(self, raw: Any) -> Any:
        return None

    def make(self, x: Any, dtype: np.dtype[Any], like: Any) -> Any:
        """A number or an array of NumPy's as an array that `like` can meet."""
        return self.xp.asarray(x, dtype=self.own_dtype(dtype))

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], device: Any) -> Any:
        return self.xp.full(shape, value, dtype=self.own_dtype(dtype))

    def host(self, raw: Any) -> Any:
        return np.array(raw)

    def cast(self, raw: Any, dtype: np.dtype[Any]) -> Any:
        return self.xp.astype(raw, self.own_dtype(dtype))

    def copied(self, raw: Any) -> Any:
        return self.xp.asarray(raw, copy=True)

    def entering(self, raw: Any) -> Any:
        """An array of the user's, as a guest holds it."""
        return raw

    def index(self, index: Any, like: Any) -> Any:
        """An index of guests and of NumPy's arrays as one of their own."""
        if type(index) is tuple:
            return tuple([self.index(k, like) for k in index])
        if isinstance(index, list):
            index = np.asarray(index)
        if isinstance(index, np.ndarray):
            return self.make(index, index.dtype, like) if index.ndim else index[()]
        if isinstance(index, np.integer):
            return int(index)
        return index.raw if type(index) is self.guest else index

    def read(self, raw: Any, index: Any) -> Any:
        plain, axes = without_axes(index, raw.ndim)
        try:
            y = raw[plain]
        except IndexError:
            if type(plain) is tuple and all(type(k) in (int, slice) for k in plain):
                raise
            raise self.refused("an index by an array") from None
        if axes is None:
            return y
        sizes = iter(y.shape)
        return self.xp.reshape(y, tuple(1 if is_new else next(sizes) for is_new in axes))

    def add_at(self, zeros: Any, index: Any, unique: bool, c: Any) -> Any:
        """`zeros`, which are the caller's, with `c` added at an index."""
        if not unique:
            raise self.refused("the derivative of an index by an array")
        plain, axes = without_axes(index, zeros.ndim)
        if axes is not None:
            c = self.xp.reshape(c, zeros[plain].shape)
        zeros[plain] = c
        return zeros

    def operands(self, name: str, raws: list[Any]) -> list[Any]:
        """The operands of a ufunc, as the library can combine them."""
        return raws

    def whole(self, raw: Any) -> Any:
        """An operand of what needs all of it at once."""
        return raw

    def refused(self, what: str, why: str = "", fix: str = "") -> MissingRuleError:
        return MissingRuleError(
            f"{what} of arrays of {self.library} has no rule.",
            why or f"{self.library} has no function that adds to elements that an index names.",
            fix
            or "use slices, np.where with a mask, or a product with a matrix of zeros and ones.",
            tag="guest",
        )


def without_axes(index: Any, ndim: int) -> tuple[Any, list[bool] | None]:
    """An index of as many parts as there are axes; for each axis of the result, if it is new."""
    parts = list(index) if type(index) is tuple else [index]
    if not all(k is None or k is Ellipsis or type(k) in (int, slice) for k in parts):
        return index, None
    rest = [slice(None)] * (ndim - sum(k is not None and k is not Ellipsis for k in parts))
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    parts[at : at + 1] = rest
    new = [k is None for k in parts if type(k) is not int]
    return tuple(k for k in parts if k is not None), new if any(new) else None


class GuestSpec(ArraySpec, Engine):
    """Where it is, too."""

    __slots__ = ("device",)

    def __init__(self, row: ArrayType, shape: Any, dtype: np.dtype[Any], device: Any) -> None:
        super().__init__(row, shape, dtype)
        self.device = device


@remembered(256)
def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


@adjoint
def brought(x: Any) -> Any:
    """A guest as an array of the host."""

    def brought_pullback(y_bar: Any) -> Any:
        return (np.zeros_like(x) + y_bar,)

    return array_type(x).to_host(x), brought_pullback


brought.linear = (0,)


@adjoint
def moved(f: Any, back: Any, x: Any, shape: Any) -> Any:
    """``later`` of a watched lazy array: f only moves its elements."""

    def moved_pullback(y_bar: Any) -> Any:
        return None, None, moved(back, f, y_bar, tuple(np.shape(x))), None

    return array_type(x).later(f, back, x, shape), moved_pullback


moved.linear = (2,)
