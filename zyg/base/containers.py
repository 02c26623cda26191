"""Which kinds of containers there are, and what is a number or an array in them.

What holds no derivative has no kind.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from enum import Enum
from numbers import Number
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.caches import Cache, Entries, remembered
from zyg.base.kinds import CellOf, Key, Kind, attributes, bare, maker, set_attributes, slots
from zyg.base.labelled import labelled_kind
from zyg.errors import StructureError

ATOMS = {
    type(None), bool, str, bytes, bytearray, type, range, type(...), type(NotImplemented),
    types.ModuleType, types.CodeType, types.FrameType, np.dtype, np.ufunc, np.bool_, np.str_,
    np.bytes_, Cache, Entries,
}  # fmt: skip
_NUMBERS = {int, float, complex}


def is_number(x: Any) -> bool:
    """Whether `x` is a number that can be watched: of any type that counts as one, not a bool."""
    t = x.__class__
    return t in _NUMBERS or (t not in ATOMS and _counts_as_number(t))


@remembered(4096)
def _counts_as_number(t: type) -> bool:
    if issubclass(t, (bool, Enum, type)) or labelled_kind(t):
        return False
    if issubclass(t, np.generic):
        return issubclass(t, np.number) and not issubclass(t, np.timedelta64)
    if issubclass(t, Number):
        return True
    # Number types that register nowhere: arithmetic and a conversion to float, and no array.
    needs = ("__float__", "__add__", "__mul__", "__truediv__", "__neg__")
    return all(hasattr(t, name) for name in needs) and not hasattr(t, "__array__")


def is_leaf(x: Any) -> bool:
    """Whether `x` is a number or a numeric array."""
    t = type(x)
    if t is np.ndarray:
        return x.dtype.kind in "fciu"
    if isinstance(x, np.ndarray):
        if labelled_kind(t):
            return False
        raise _refused(t.__name__)
    if t is memoryview and x.format not in ("B", "b", "c"):  # which are bytes
        raise _refused(t.__name__)
    return array_type(x).dtype(x).kind in "fciu" if array_type(x).library else is_number(x)


def _refused(name: str) -> StructureError:
    return StructureError(
        f"zyg cannot watch a {name}.",
        "this kind of array behaves in ways that NumPy's rules do not know.",
        "pass a plain array: np.asarray(x).",
        tag="array-kind",
    )


class Unfollowed:
    """A plain `value` whose derivative nobody knows: it passes through whole."""

    value: Any

    def loses(self, c: Any) -> bool:
        """Whether a cotangent of it would be lost; zeros, and it itself, say nothing."""
        return not (c is None or isinstance(c, Unfollowed) or not np.any(c))

    def refusal(self) -> Exception:
        """The error of a use of its derivative."""
        raise NotImplementedError

    def left(self) -> Any:
        """What is left of it where a verb has ended."""
        raise NotImplementedError


class _Places(Kind):
    base: Any  # whose elements they are, whatever a class of the user's makes of them

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [*enumerate(self.base.__iter__(x)), *attributes(x)]

    def misfit(self, x: Any, c: Any) -> str | None:
        ordered = hasattr(c, "__len__") and hasattr(c, "__getitem__")
        if ordered and not isinstance(c, (str, bytes, dict)) and len(c) == len(x):
            return None
        return f"{len(x)} part{'s' * (len(x) != 1)}"


class _List(_Places):
    base = list

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        if type(copy) is list:
            copy.extend(values.values())
            return
        list.extend(copy, [v for k, v in values.items() if isinstance(k, int)])
        set_attributes(copy, values)


class _Deque(_Places):
    base = deque

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        copy = bare(type(x))
        deque.__init__(copy, (), x.maxlen)
        return copy

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        deque.extend(copy, [v for k, v in values.items() if isinstance(k, int)])
        set_attributes(copy, values)


class _Tuple(_Places):
    base, mutable = tuple, False

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        if type(x) is tuple:
            return tuple(values.values())
        parts = [v for k, v in values.items() if isinstance(k, int)]
        copy = maker(type(x))(type(x), parts)
        set_attributes(copy, values)
        return copy


class _Dict(Kind):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [*((Key(k), v) for k, v in _items(x)), *attributes(x)]

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        copy = bare(type(x))
        if isinstance(x, defaultdict):
            copy.default_factory = x.default_factory
        return copy

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        put = OrderedDict.__setitem__ if isinstance(copy, OrderedDict) else dict.__setitem__
        for k, v in values.items():
            if isinstance(k, Key):
                put(copy, k.key, v)
        set_attributes(copy, values)

    def misfit(self, x: Any, c: Any) -> str | None:
        if not isinstance(c, (dict, types.MappingProxyType)):
            return f"a {type(x).__name__}"
        known = {k for k, _ in _items(x)}
        return next((f"no key {k!r}" for k in c if k not in known), None)


def _items(x: Any) -> Any:
    if isinstance(x, OrderedDict):
        return OrderedDict.items(x)
    return dict.items(x) if isinstance(x, dict) else x.items()


class _ReadOnlyDict(_Dict):
    mutable = False

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return types.MappingProxyType({k.key: v for k, v in values.items()})


class _Set(Kind):
    """A set, which has no places for parts: refused if it holds numbers, or objects that do."""

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [(None, v) for v in _flat(x) if not isinstance(v, (int, np.integer))]

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        if isinstance(x, frozenset):
            return x
        copy = bare(type(x))
        set.update(copy, x)
        return copy

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        pass


def _flat(x: Any) -> Iterator[Any]:
    for v in x:
        if type(v) in (tuple, frozenset):
            yield from _flat(v)
        else:
            yield v


def no_places() -> StructureError:
    what = "zyg cannot watch the numbers in a set."
    why = "a set has no places, so a gradient could not say which element each part belongs to."
    return StructureError(what, why, "use a list, a tuple or a dict.", tag="set")


class _ObjectArray(_Places):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return list(enumerate(x.flat))

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        return np.empty(x.shape, dtype=object)

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        for k, v in values.items():
            copy[np.unravel_index(k, copy.shape)] = v

    def misfit(self, x: Any, c: Any) -> str | None:
        same = isinstance(c, np.ndarray) and c.shape == x.shape
        return None if same else f"an array of shape {x.shape}"


class _Cell(Kind):
    """A variable of a closure, which several functions may share. Its gradient is its content's."""

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [(None, x.cell_contents)] if _is_full(x) else []

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        return cell_of(x)

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        if values:
            copy.cell_contents = values[None]
        elif _is_full(copy):  # which f has deleted
            del copy.cell_contents


class _Function(Kind):
    """A closure: its variables by name, defaults as default_0 or default_key, its attributes."""

    bag, builtin = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
        return [
            *((name, cell) for name, cell in cells if _is_full(cell)),
            *((f"default_{k}", v) for k, v in enumerate(x.__defaults__ or ())),
            *((f"default_{k}", v) for k, v in (x.__kwdefaults__ or {}).items()),
            *((f"attribute_{k}", v) for k, v in x.__dict__.items()),
        ]

    def part(self, x: Any, c: Any, key: Any) -> Any:
        if type(c) is not types.FunctionType:
            return super().part(x, c, key)
        value = dict(self.parts(c))[key]
        return value.cell_contents if type(value) is types.CellType else value

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        cells = tuple(cell_of(cell) for cell in x.__closure__ or ())
        copy = types.FunctionType(x.__code__, x.__globals__, x.__name__, x.__defaults__, cells)
        copy.__kwdefaults__ = x.__kwdefaults__
        copy.__qualname__, copy.__module__, copy.__doc__ = x.__qualname__, x.__module__, x.__doc__
        return copy

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        if copy.__defaults__:
            places = range(len(copy.__defaults__))
            copy.__defaults__ = tuple(values[f"default_{k}"] for k in places)
        if copy.__kwdefaults__:
            copy.__kwdefaults__ = {k: values[f"default_{k}"] for k in copy.__kwdefaults__}
        copy.__dict__.update(
            {
                k.removeprefix("attribute_"): v
                for k, v in values.items()
                if k.startswith("attribute_")
            }
        )


class _Method(Kind):
    bag, mutable = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("__self__", x.__self__), ("__func__", x.__func__)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return types.MethodType(values["__func__"], values["__self__"])


class _WeakReference(Kind):
    """To the copy of what it is to; keeping that is left to this reference where nothing else is.

    Its subclasses know more, and pass through.
    """

    bag, mutable = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("referent", x())]

    def part(self, x: Any, c: Any, key: Any) -> Any:
        return c() if isinstance(c, weakref.ref) else super().part(x, c, key)

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        copy = values["referent"]
        return weakref.ref(copy, functools.partial(_let_go, copy))


def _let_go(copy: Any, _: Any) -> None:
    """What a weak reference calls when what it is to is gone; it keeps the copy until then."""


class _Partial(Kind):
    bag, builtin = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        own = [(name, v) for name, v in attributes(x) if name != "__dict__"]
        return [("func", x.func), ("args", x.args), ("keywords", x.keywords), *own]

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        return functools.partial.__new__(type(x), len)

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        own = dict(values)
        state = own.pop("func"), own.pop("args"), own.pop("keywords"), None
        functools.partial.__setstate__(copy, state)  # type: ignore[attr-defined]
        set_attributes(copy, own)


class _Object(Kind):
    bag, builtin = True, False


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


CELL, SET, _OBJECT_ARRAY, _OBJECT = _Cell(), _Set(), _ObjectArray(), _Object()
BY_TYPE: dict[type, Kind] = {
    list: _List(), tuple: _Tuple(), dict: _Dict(), deque: _Deque(), set: SET, frozenset: SET,
    types.MappingProxyType: _ReadOnlyDict(), types.CellType: CELL, types.FunctionType: _Function(),
    types.MethodType: _Method(), functools.partial: _Partial(), weakref.ref: _WeakReference(),
}  # fmt: skip

# Of the standard library's classes, those that hold a user's numbers. All others pass through: a
# thread, a logger or a random generator must stay itself.
_HOLDERS = {
    "types.SimpleNamespace", "argparse.Namespace", "collections.UserDict", "collections.UserList",
    "collections.ChainMap", "inspect.BoundArguments", "optparse.Values", "statistics.NormalDist",
}  # fmt: skip
# What runs tasks passes through, too: a nursery or a future is what it is, as a lock or a queue is.
# Those of other packages, which zyg does without, are known by name.
ENGINES = {"distributed", "joblib", "loky", "mpi4py", "trio"}


class Engine:
    """The base of zyg's own classes that pass through: they run tasks, or tell a form."""

    __slots__ = ()


def is_of_c(module: str) -> bool:
    """Whether a module is part of Python's machine, or a library that is loaded."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module in sys.builtin_module_names or file.endswith((".so", ".pyd"))


def is_of_standard_library(cls: Any) -> bool:
    """Whether a class is; not so what a function of it makes for its caller (`make_dataclass`)."""
    module, name = cls.__module__ or "", cls.__qualname__
    if module.partition(".")[0] not in sys.stdlib_module_names or module == "__main__":
        return False
    if is_of_c(module) or "<locals>" in name:
        return True
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is cls


@remembered(4096)
def _kind_of_class(cls: Any) -> Kind | None:
    for base, kind in BY_TYPE.items():
        if issubclass(cls, base) and base is not weakref.ref:
            return kind
    if issubclass(cls, (type, Enum, types.ModuleType, Engine)):
        return None
    module = cls.__module__ or ""
    if f"{module}.{cls.__name__}" in _HOLDERS:
        return _OBJECT
    package = module.partition(".")[0]
    if is_of_standard_library(cls) or package in ENGINES:
        return None
    # If the layout is C's, there is nothing in it that Python could replace.
    return _OBJECT if maker(cls) is object.__new__ else None


def kind_of(x: Any, refuse: bool = True) -> Kind | None:
    """How to take `x` apart; None where it passes through whole.

    An array that cannot be watched is refused, but where a watched value is looked for: plain
    numbers are none.
    """
    t: Any = type(x)
    if t in ATOMS:
        return None
    if t in BY_TYPE:
        return BY_TYPE[t]
    if (labels := labelled_kind(t)) is not None:
        return labels if refuse or labels.watchable else None
    from array import array  # which few programs load

    if isinstance(x, np.ndarray):
        if x.dtype.names is not None and (refuse or x.dtype.hasobject):
            raise _refused("structured array")
        return _OBJECT_ARRAY if x.dtype.kind == "O" else None
    if refuse and isinstance(x, array) and x.typecode in "fd":
        raise _refused("array.array")
    if array_type(x).library or issubclass(t, Unfollowed):
        return None
    if refuse and hasattr(t, "__array__") and not isinstance(x, np.generic):
        raise _refused(t.__name__)
    return _kind_of_class(t)


def is_object(x: Any) -> bool:
    """Whether `x` is an object whose parts are its fields, all of them in its `__dict__`."""
    if not has_fields(type(x)) or kind_of(x) is not _OBJECT:
        return False
    return type(getattr(x, "__dict__", None)) is dict


def has_fields(cls: Any) -> bool:
    """Whether objects of a class are taken apart by their fields, none of which is a slot."""
    if cls in ATOMS or cls in BY_TYPE or labelled_kind(cls) is not None or slots(cls):
        return False
    return not hasattr(cls, "__array__") and _kind_of_class(cls) is _OBJECT
