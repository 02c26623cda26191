"""Containers, objects and closures <-> leaves.

`Structure` takes a value apart into the leaves that a predicate selects and everything else, and
puts it together again: as a copy with other leaves, or as the gradient of the value. It walks
lists, tuples, dicts, deques, object arrays, functions (their closure cells and defaults), bound
methods, partials and the attributes of any Python object. An object met twice is one object;
cycles are fine. Whatever holds no leaf is kept as it is, identity included: only what must change
is copied, and nothing is ever modified. What cannot hold a derivative (strings, modules, files,
locks, the standard library's own objects) passes through.
"""

from __future__ import annotations

import functools
import sys
import types
from collections import defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

from zyg.errors import StructureError


class Tangent:
    """The gradient of an object: a bag of its attributes' gradients, named after its type.

    Equals and prints by its fields; ``vars(tangent)`` is the dict of them.

    >>> import zyg
    >>> class Model:
    ...     def __init__(self):
    ...         self.w, self.name = 2.0, "linear"
    >>> zyg.gradient(lambda m, x: m.w * x, Model(), 3.0)
    (Tangent(Model, w=3.0, name=None), 2.0)

    """

    def __init__(self, of: str, /, **fields: Any) -> None:
        self.__dict__.update(fields)
        object.__setattr__(self, "_of", of)

    __slots__ = ("__dict__", "_of")
    _of: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tangent):
            return NotImplemented
        return self._of == other._of and _same(vars(self), vars(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if _printing.get(id(self)):
            return f"Tangent({self._of}, ...)"
        _printing[id(self)] = True
        try:
            fields = "".join(f", {name}={value!r}" for name, value in vars(self).items())
        finally:
            del _printing[id(self)]
        return f"Tangent({self._of}{fields})"


_printing: dict[int, bool] = {}


def _same(a: Any, b: Any) -> bool:
    """Equality of gradients: containers by content, arrays by shape and elements."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


# Leaves

_ATOMS = {
    type(None), bool, str, bytes, bytearray, type, range, slice, type(...), type(NotImplemented),
    types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.GeneratorType,
    types.CoroutineType, types.FrameType, np.dtype, np.ufunc, np.bool_, np.str_, np.bytes_,
}  # fmt: skip
_NUMBERS = {int, float, complex, Fraction, Decimal}


def is_number(x: Any) -> bool:
    """Whether `x` is a number that can be watched: of any type that counts as one, not a bool."""
    t = type(x)
    if t in _NUMBERS:
        return True
    if t in _ATOMS or isinstance(x, (bool, Enum)):
        return False
    if isinstance(x, np.generic):
        return isinstance(x, np.number) and not isinstance(x, np.timedelta64)
    if isinstance(x, Number):
        return True
    # Number types that register nowhere: arithmetic and a conversion to float, and no array.
    needs = ("__float__", "__add__", "__mul__", "__truediv__", "__neg__")
    return all(hasattr(t, name) for name in needs) and not hasattr(t, "__array__")


def is_leaf(x: Any) -> bool:
    """Whether `x` is a number or a numeric array."""
    if type(x) is np.ndarray:
        return x.dtype.kind in "fciu"
    if isinstance(x, np.ndarray):
        return not _refuse_array(x)
    return is_number(x)


def _refuse_array(x: Any) -> bool:
    raise StructureError(
        f"zyg cannot watch a {type(x).__name__}.",
        "it is an array with semantics of its own, which NumPy's rules do not know.",
        "pass a plain array: np.asarray(x), x.to_numpy(), x.filled(...) or x.numpy().",
    )


# How each kind of container is taken apart and put together again. `parts` lists (key, value) pairs.
# A mutable kind makes an empty copy (`shell`) and puts values in (`fill`), so that cycles can close;
# an immutable one is made in one go (`make`). A `bag` has a Tangent for its gradient.


class _Kind:
    bag = False
    mutable = True

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return _attributes(x)

    def shell(self, x: Any) -> Any:
        return type(x).__new__(type(x))

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        _set_attributes(copy, values)

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        raise NotImplementedError


class _List(_Kind):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [*enumerate(x), *_attributes(x)]

    def shell(self, x: Any) -> Any:
        return deque(maxlen=x.maxlen) if type(x) is deque else super().shell(x)

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        copy.extend(v for k, v in values.items() if isinstance(k, int))
        _set_attributes(copy, values)


class _Dict(_Kind):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [*((_Key(k), v) for k, v in dict.items(x)), *_attributes(x)]

    def shell(self, x: Any) -> Any:
        copy = super().shell(x)
        if isinstance(x, defaultdict):
            copy.default_factory = x.default_factory
        return copy

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        copy.update((k.key, v) for k, v in values.items() if isinstance(k, _Key))
        _set_attributes(copy, values)


class _Tuple(_Kind):
    mutable = False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [*enumerate(x), *_attributes(x)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        copy = tuple.__new__(type(x), [v for k, v in values.items() if isinstance(k, int)])
        _set_attributes(copy, values)
        return copy


class _ObjectArray(_Kind):
    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return list(enumerate(x.ravel()))

    def shell(self, x: Any) -> Any:
        return np.empty(x.shape, dtype=object)

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        for k, v in values.items():
            copy[np.unravel_index(k, copy.shape)] = v


class _Function(_Kind):
    """A closure: its free variables, and its defaults as default_0, default_1, ..."""

    bag = True

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
        full = [(name, cell.cell_contents) for name, cell in cells if _is_full(cell)]
        return [*full, *((f"default_{k}", v) for k, v in enumerate(x.__defaults__ or ()))]

    def shell(self, x: Any) -> Any:
        cells = tuple(types.CellType() for _ in x.__code__.co_freevars)
        copy = types.FunctionType(x.__code__, x.__globals__, x.__name__, x.__defaults__, cells)
        copy.__kwdefaults__ = x.__kwdefaults__
        copy.__dict__.update(x.__dict__)
        return copy

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
            if name in values:
                cell.cell_contents = values[name]
        if copy.__defaults__:
            places = range(len(copy.__defaults__))
            copy.__defaults__ = tuple(values[f"default_{k}"] for k in places)


class _Method(_Kind):
    bag, mutable = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("__self__", x.__self__)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return types.MethodType(x.__func__, values["__self__"])


class _Partial(_Kind):
    bag, mutable = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("func", x.func), ("args", x.args), ("keywords", x.keywords)]

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        return functools.partial(values["func"], *values["args"], **values["keywords"])


class _Object(_Kind):
    bag = True


class _Key:
    """A key of a dict: kept apart from the attributes of a dict subclass."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __repr__(self) -> str:
        return repr(self.key)


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=4096)
def _slots(cls: type) -> tuple[str, ...]:
    """The names of the slots of a class, as they are stored (private names mangled)."""
    return tuple(
        name
        for base in cls.__mro__
        if "__slots__" in vars(base)
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    )


def _attributes(x: Any) -> list[tuple[Any, Any]]:
    if type(x) in (list, tuple, dict, deque):
        return []
    fields = getattr(x, "__dict__", None)
    pairs = list(fields.items()) if isinstance(fields, dict) else []
    return pairs + [(name, getattr(x, name)) for name in _slots(type(x)) if hasattr(x, name)]


def _set_attributes(copy: Any, values: dict[Any, Any]) -> None:
    fields = getattr(copy, "__dict__", None)
    for name, value in values.items():
        if isinstance(name, str):
            if fields is not None and name not in _slots(type(copy)):
                fields[name] = value
            else:
                object.__setattr__(copy, name, value)


_BY_TYPE: dict[type, _Kind] = {
    list: _List(), tuple: _Tuple(), dict: _Dict(), deque: _List(), types.FunctionType: _Function(),
    types.MethodType: _Method(), functools.partial: _Partial(),
}  # fmt: skip
_OBJECT_ARRAY, _OBJECT = _ObjectArray(), _Object()


@functools.lru_cache(maxsize=4096)
def _kind_of_class(cls: type) -> _Kind | None:
    for base, kind in _BY_TYPE.items():
        if issubclass(cls, base):
            return kind
    if issubclass(cls, (type, Enum, types.ModuleType)):
        return None
    package = (cls.__module__ or "").partition(".")[0]
    of_the_library = package in sys.stdlib_module_names and package != "__main__"
    if of_the_library and cls is not types.SimpleNamespace:
        return None
    try:
        object.__new__(cls)
    except TypeError:  # its layout is C's: nothing in it that Python could replace
        return None
    return _OBJECT


def _kind(x: Any) -> _Kind | None:
    """How to take `x` apart; None where it passes through whole."""
    t = type(x)
    if t in _ATOMS:
        return None
    if t in _BY_TYPE:
        return _BY_TYPE[t]
    if isinstance(x, np.ndarray):
        return _OBJECT_ARRAY if x.dtype.kind == "O" else None
    if isinstance(x, (set, frozenset)) and any(isinstance(v, (float, complex)) for v in x):
        raise StructureError(
            "zyg cannot watch the numbers in a set.",
            "a set has no places, so a gradient could not say which element each part belongs to.",
            "use a list, a tuple or a dict.",
        )
    if hasattr(t, "__array__") and not isinstance(x, np.generic):
        _refuse_array(x)
    return _kind_of_class(t)


class Structure:
    """`root` taken apart: `leaves`, the values that the predicate selects.

    With `shared`, an array met twice is one leaf; without, every place is a leaf of its own.
    `repeated` tells whether a container that holds leaves was met twice.
    """

    def __init__(self, root: Any, leaf: Callable[[Any], bool], *, shared: bool = False) -> None:
        self.root = root
        self.shared = shared
        self.leaves: list[Any] = []
        self._place_of: dict[int, int] = {}  # id of an array -> its place among the leaves
        # id -> (kind, the container, its parts: key, value, place among the leaves or None)
        self._seen: dict[int, tuple[_Kind, Any, list[tuple[Any, Any, int | None]]]] = {}
        self._live: dict[int, bool] = {}  # ids of the containers with a leaf somewhere below
        self.repeated = False
        self._top = self._place(root, leaf)
        if self._top is None:
            self._scan(leaf)

    def _place(self, x: Any, leaf: Callable[[Any], bool]) -> int | None:
        if type(x) in _ATOMS or type(x) in _BY_TYPE or not leaf(x):
            return None
        place = self._place_of.get(id(x))
        if place is None:
            place = len(self.leaves)
            self.leaves.append(x)
            if self.shared and not is_number(x):  # two equal numbers are two variables
                self._place_of[id(x)] = place
        return place

    def _scan(self, leaf: Callable[[Any], bool]) -> None:
        parents: dict[int, list[int]] = {}
        holders: list[int] = []
        waiting = [self.root]
        while waiting:
            x = waiting.pop()
            kind = None if id(x) in self._seen else _kind(x)
            if kind is None:
                continue
            parts = [(key, value, self._place(value, leaf)) for key, value in kind.parts(x)]
            self._seen[id(x)] = (kind, x, parts)
            for _, value, place in parts:
                if place is not None:
                    holders.append(id(x))
                elif type(value) not in _ATOMS:
                    parents.setdefault(id(value), []).append(id(x))
                    waiting.append(value)
        while holders:
            one = holders.pop()
            if one not in self._live:
                self._live[one] = True
                holders.extend(parents.get(one, ()))
        self.repeated = any(len(parents.get(one, ())) > 1 for one in self._live)

    def rebuild(self, leaves: list[Any]) -> Any:
        """A copy of the root with these leaves in place of its own."""
        if self._top is not None:
            return leaves[self._top]
        return self._assemble(leaves.__getitem__, lambda x: x, bags=False)

    def tangent(self, cotangents: list[Any]) -> Any:
        """The gradient of the root: a cotangent at each leaf, None for everything else."""
        if self._top is not None:
            return cotangents[self._top]
        if all(c is None for c in cotangents):
            return None
        given: set[int] = set()

        def at(place: int) -> Any:
            value = cotangents[place]
            if place in given and isinstance(value, np.ndarray):
                return value.copy()  # no two results share memory, though the arguments did
            given.add(place)
            return value

        return self._assemble(at, lambda x: None, bags=True)

    def match(self, other: Any, what: str) -> list[tuple[int, Any]]:
        """(place, part) for every part of `other`, which has this structure or None in place of
        parts.

        Raises StructureError where it does not fit; `what` names the thing in the message.
        """
        if self._top is not None:
            return [(self._top, other)]
        found: list[tuple[int, Any]] = []
        waiting = [(self.root, other, "")]
        seen: set[tuple[int, int]] = set()
        while waiting:
            x, c, path = waiting.pop()
            if c is None or id(x) not in self._live or (id(x), id(c)) in seen:
                continue
            seen.add((id(x), id(c)))
            kind, _, parts = self._seen[id(x)]
            names = [key for key, _, _ in parts if not isinstance(key, str)]
            if names and not (isinstance(c, dict) or len(c := _sequence(c)) == len(names)):
                raise _misfit(what, path, f"{len(names)} parts", f"{len(c)} of them")
            for key, value, place in parts:
                if place is None and id(value) not in self._live:
                    continue
                inner = f"{path}[{key!r}]" if not isinstance(key, str) else f"{path}.{key}"
                try:
                    part = _part(c, key)
                except (KeyError, AttributeError, IndexError, TypeError):
                    raise _misfit(
                        what, inner, "a part here", f"none in {type(c).__name__}"
                    ) from None
                if place is not None:
                    found.append((place, part))
                else:
                    waiting.append((value, part, inner))
        return found

    def _assemble(
        self, leaf_at: Callable[[int], Any], otherwise: Callable[[Any], Any], *, bags: bool
    ) -> Any:
        """The live containers, with new leaves: shells first, then what is immutable, then fill."""
        done: dict[int, Any] = {}
        late: list[int] = []
        for one in self._live:
            kind, x, _ = self._seen[one]
            if bags and kind.bag:
                done[one] = Tangent(name_of(x))
            elif kind.mutable:
                done[one] = kind.shell(x)
            else:
                late.append(one)

        def values(one: int) -> dict[Any, Any]:
            return {
                key: leaf_at(place)
                if place is not None
                else done[id(v)]
                if id(v) in self._live
                else otherwise(v)
                for key, v, place in self._seen[one][2]
            }

        while late:  # an immutable container waits for the immutable ones in it; they form no cycle
            one = late[-1]
            kind, x, parts = self._seen[one]
            inner = [id(v) for _, v, _ in parts if id(v) in self._live and id(v) not in done]
            if inner:
                late.extend(inner)
            else:
                late.pop()
                if one not in done:
                    done[one] = kind.make(x, values(one))
        for one in self._live:
            kind, _, _ = self._seen[one]
            if bags and kind.bag:
                vars(done[one]).update(values(one))
            elif kind.mutable:
                kind.fill(done[one], values(one))
        return done.get(id(self.root), otherwise(self.root))


def _sequence(c: Any) -> Any:
    """`c` if it has parts in order; a Tangent and the like count as having none."""
    return c if hasattr(c, "__len__") else ()


def _part(c: Any, key: Any) -> Any:
    if isinstance(key, _Key):
        return c.get(key.key)
    return getattr(c, key) if isinstance(key, str) else c[key]


def _misfit(what: str, path: str, needed: str, got: str) -> StructureError:
    return StructureError(
        f"the cotangent does not fit {what}: at {path or 'the top'} it needs {needed}, got {got}.",
        "a cotangent has the structure of the value it belongs to, with None where nothing flows.",
        "pass the same containers as the value, with one cotangent at each number or array.",
    )


def name_of(x: Any) -> str:
    """What the Tangent of `x` is called: its type, or its own name if it is a function."""
    return x.__name__ if isinstance(x, types.FunctionType) else type(x).__name__
