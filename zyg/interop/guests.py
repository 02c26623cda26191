"""Guests: arrays of other libraries, under NumPy's rules.

The rules are written in ``np.``, and NumPy hands its functions to their operands. So an array needs
no rules of its own but an interpreter: a guest holds it, answers NumPy's protocols, and says each
function in the words of the array API standard (`words`). A watched guest is a watched array as one
of a device is (`watched.duck`). What is common to a library's arrays is a `Library`: one row of the
table in `base.array_types` for each, made when the first of its arrays is met; what only it knows
is a class of its own, in `libraries`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from zyg.base import array_types
from zyg.base.array_types import ArraySpec, ArrayType
from zyg.base.extras import installing
from zyg.core.strand import WATCHED, Watched, watcher_of
from zyg.errors import MissingRuleError, MutationError, StructureError, ZygError
from zyg.interop import phrases as phrases
from zyg.interop import reductions as reductions
from zyg.interop.libraries import Library, libraries, package_of
from zyg.interop.packages import KNOWN
from zyg.interop.words import CREATORS, FUNCTIONS, REDUCTIONS, in_standard, say_ufunc
from zyg.watched.attributes import METHODS
from zyg.watched.duck import WatchedDuckArray


class Guest(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library's, which answers NumPy's functions.

    `raw` is the array. Subclasses are of one library each, their `row`.
    """

    __slots__ = ("dtype", "raw", "shape")
    __array_priority__ = 500.0
    __hash__ = None  # type: ignore[assignment]
    row: ClassVar[Library]

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.shape = self.row.shape_of(raw)
        self.dtype = self.row.dtype_of(raw)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    T = property(lambda self: np.transpose(self))
    mT = property(lambda self: np.matrix_transpose(self))  # noqa: N815
    real = property(lambda self: np.real(self))
    imag = property(lambda self: np.imag(self))

    def __repr__(self) -> str:
        return repr(self.raw)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return int(self.shape[0])

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __float__(self) -> float:
        return float(self.raw)

    def __int__(self) -> int:
        return int(self.raw)

    def __index__(self) -> int:
        return int(self.raw.__index__())

    def __complex__(self) -> complex:
        return complex(self.raw)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(f"NumPy asks for the elements of an array of {self.row.library}'s")

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return np

    def __getitem__(self, index: Any) -> Any:
        library = self.row
        return library.wrap(library.read(self.raw, library.index(index, self.raw)))

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *args, **kwargs: METHODS[name](self, *args, **kwargs)
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.raw, name)

    def reshape(self, *shape: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def copy(self) -> Any:
        return np.copy(self)

    def conj(self) -> Any:
        return np.conjugate(self)

    conjugate = conj

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return METHODS["astype"](self, dtype, copy=copy)

    def flatten(self) -> Any:
        return np.ravel(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not WATCHED.isdisjoint(map(type, inputs)):
            return NotImplemented
        if method == "reduce" and ufunc in REDUCTIONS:
            return REDUCTIONS[ufunc](*inputs, **{"axis": 0, **kwargs})
        if method == "__call__" and not kwargs:
            try:
                return say_ufunc(self.row, ufunc, inputs)
            except ZygError:
                raise
            except self.row.lacking as error:
                raise lacks(f"np.{ufunc.__name__}", self, error) from error
        raise lacks(f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method}", self)

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not WATCHED.isdisjoint(types):
            return NotImplemented
        try:
            if (own := self.row.functions.get(f) or FUNCTIONS.get(f)) is None:
                return in_standard(self.row, f, args, kwargs)
            like = {"like": self} if f in CREATORS else {}
            return own(self.row, f, *args, **like, **kwargs)
        except ZygError:
            raise
        except self.row.lacking as error:
            raise lacks(_title(f), self, error) from error


def _title(f: Any) -> str:
    """What messages call a function: by its module, but for NumPy's."""
    package = f.__module__.partition(".")[0]
    return f"{'np' if package == 'numpy' else f.__module__}.{f.__name__}"


def lacks(name: str, x: Any, error: BaseException | None = None) -> MissingRuleError:
    reason = f": {(str(error).splitlines() or [''])[0]}" if error else ""
    library = x.row.library
    return MissingRuleError(
        f"{name} of {x.row.title} has no rule for these arguments{reason}",
        f"{library} has no such function, nor can it be said in those that it has.",
        "write it in functions that are there, as np.where, np.sum, operators; or give it a rule "
        "with zyg.adjoint; or compute with NumPy's arrays.",
        tag="guest",
    )


class WatchedGuest(WatchedDuckArray):
    """A watched array of another library's, by the interpreter."""

    __slots__ = ()
    guest_row: ClassVar[Library]

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return np

    def __getattr__(self, name: str) -> Any:
        method = self.row.method(self, name)
        return super().__getattr__(name) if method is None else method

    def __setitem__(self, index: Any, value: Any) -> None:
        raise MutationError(
            f"a watched array of {self.row.library} cannot be written.",
            "other arrays may share its memory, and only their library knows which.",
            "make a new one: np.where(mask, value, x), np.concatenate, np.stack.",
            tag="write",
        )

    def item(self, *place: Any) -> Any:
        if not place:
            return np.reshape(self, ())
        if len(place) == 1 and type(place[0]) is not tuple:  # in the order of a flat array
            flat: Any = np.reshape(self, -1)
            return flat[range(len(flat))[place[0]]]
        index, shape = place[0] if len(place) == 1 else place, np.shape(self)
        if len(index) != len(shape):
            raise ValueError("incorrect number of indices for array")
        return self[tuple([range(n)[k] for k, n in zip(index, shape, strict=True)])]


def _meet(package: str, raw: Any) -> Library:
    """The row of a library, whose first array this is."""
    try:
        array_namespace = import_module("array_api_compat").array_namespace
    except ImportError:
        raise StructureError(
            f"zyg cannot watch arrays of {package} without the package array-api-compat.",
            "that package gives each library's functions the names of the array API standard.",
            f"{installing('arrays')}; or pass NumPy's arrays.",
            tag="array-kind",
        ) from None
    return joined_to(KNOWN.get(package, Library)(package, array_namespace(raw)))


def joined_to(library: Library) -> Library:
    """A library, with the classes of its guests."""
    package = library.library
    own = {"__slots__": (), "__module__": __name__, "row": library, **library.protocols}
    title = package.capitalize()
    library.guest = type(f"{title}Guest", (Guest,), dict(own))
    library.watched = type(f"Watched{title}Guest", (WatchedGuest,), dict(own))
    WATCHED.add(library.watched)
    watcher_of.update(dict.fromkeys((library.guest, library.watched), library.watched))
    return libraries.setdefault(package, library)


@array_types.row
class _Foreign(ArrayType):
    """A type of arrays as their library and the caller have them, which enter as guests."""

    @staticmethod
    def takes(t: type) -> bool:
        known = package_of(t) in KNOWN and hasattr(t, "__array__") and hasattr(t, "shape")
        arrays = known or hasattr(t, "__array_namespace__")
        return arrays and not issubclass(t, (np.ndarray, np.generic, Watched))

    def __init__(self, t: type) -> None:
        self.library = self.package = package_of(t)

    def of(self, x: Any) -> Library:
        return libraries.get(self.package) or _meet(self.package, x)

    def dtype(self, x: Any) -> np.dtype[Any]:
        return self.of(x).dtype_of(x)

    def spec(self, x: Any, dtype: np.dtype[Any]) -> ArraySpec:
        return self.of(x).spec_of_argument(x, dtype)

    def enter(self, x: Any) -> Any:
        library = self.of(x)
        return library.guest(library.entering(x))

    def copy(self, x: Any) -> Any:
        return self.of(x).copied(x)


class _Guests:
    """The rows of guests, plain and watched, which are their libraries."""

    @staticmethod
    def takes(t: type) -> bool:
        return issubclass(t, (Guest, WatchedGuest))

    def __new__(cls, t: Any) -> Any:
        return t.row


array_types.row(_Guests)  # type: ignore[type-var]
