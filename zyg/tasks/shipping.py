"""How a call is sent to another process: pickled, without what is watched in it.

What an engine of a cluster fills in there, the values of its references, is marked in what is sent.
"""

from __future__ import annotations

import functools
import inspect
import io
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from zyg.core.strand import is_watched, settle, watched_leaves
from zyg.errors import ShippingError
from zyg.tasks.recipes import Recipe
from zyg.verbs.effects import globals_of

Shipped = tuple[Recipe, list[Any], list[Any]]


def ship(
    f: Callable[..., Any], args: Any, kwargs: Any, constants: tuple[type, ...] = ()
) -> Shipped:
    """The recipe of a call, its operands, and its constants: the objects of the given types."""
    lifting = _lifting()(constants)
    try:
        part = lifting.part_of((f, kwargs, args))
    except Exception as error:
        raise _unsent(f, args, kwargs, constants, error) from error
    demand_globals(_name_of(f), f)
    return _shipped(f, (part,), lifting)


def ship_each(
    f: Callable[..., Any], calls: Sequence[Any], kwargs: Any, constants: tuple[type, ...] = ()
) -> Iterator[Shipped]:
    """What `ship` makes of several calls of a function, which is pickled once."""
    head = _lifting()(constants)
    try:
        part = head.part_of((f, kwargs))
        common = head.memo.copy()
    except Exception as error:
        raise _unsent(f, (), kwargs, constants, error) from error
    demand_globals(_name_of(f), f)
    for args in calls:
        own = _lifting()(constants, head)
        try:
            rest = own.part_of((args,))
        except Exception as error:
            raise _unsent(f, args, kwargs, constants, error) from error
        both = (x for k, (_, x) in own.memo.copy().items() if k in common)
        if own.globals_ref or not all(isinstance(x, _UNCHANGING) for x in both):
            yield ship(f, args, kwargs, constants)  # what both have is one object there, too
        else:
            yield _shipped(f, (part, rest), own)


# What may be one object here and two there: nobody writes to it.
_UNCHANGING = (
    str, bytes, tuple, type, np.dtype, np.ufunc, types.BuiltinFunctionType, types.FunctionType,
    types.ModuleType,
)  # fmt: skip


def _shipped(f: Callable[..., Any], parts: tuple[bytes, ...], lifting: Any) -> Shipped:
    recipe = Recipe(_name_of(f), parts, len(lifting.operands))
    return recipe, lifting.operands, lifting.constants


def _name_of(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _unsent(
    f: Any, args: Any, kwargs: Any, constants: tuple[type, ...], error: Exception
) -> ShippingError:
    where = _culprit(f, args, kwargs, constants)
    return ShippingError(
        f"{_name_of(f)} cannot be sent to a worker: {where} cannot be pickled ({error}).",
        "another process gets a copy of the function, its closure and its arguments.",
        "make locks, files, connections and generators inside the task.",
    )


def demand_globals(name: str, f: Any) -> None:
    """Refuse a function of a module that is imported there, where a global is watched here."""
    waiting, seen = [getattr(f, "func", f)], set[Any]()
    while waiting:
        g = waiting.pop()
        if type(g) is not types.FunctionType or g in seen:
            continue
        seen.add(g)
        for variable in globals_of(g.__code__):
            x = g.__globals__.get(variable)
            waiting.append(x)
            held = watched_leaves(x) if is_watched(x) or type(x) in (list, tuple, dict) else ()
            if any(is_watched(settle(y)) for y in held) and _is_imported(g):
                raise ShippingError(
                    f"{name} cannot be sent to a worker: it reads the global variable "
                    f"{variable!r} of {g.__module__}, which is watched.",
                    "the worker imports the module for itself, and has another value there.",
                    "pass the value as an argument.",
                )


def _is_imported(f: types.FunctionType) -> bool:
    """Whether a worker imports a function, and is not sent what it is made of."""
    import cloudpickle

    module = sys.modules.get(f.__module__)
    if f.__module__ in {"__main__", *cloudpickle.list_registry_pickle_by_value()}:
        return False
    try:
        return attrgetter(f.__qualname__)(module) is f
    except AttributeError:  # a function inside of another one
        return False


@functools.cache
def _lifting() -> Any:
    import cloudpickle

    class Lifting(cloudpickle.Pickler):  # type: ignore[misc]
        """Pickles everything but watched values and constants, whose places `after` may have."""

        def __init__(self, lifted: tuple[type, ...], after: Lifting | None = None) -> None:
            self.file = io.BytesIO()
            super().__init__(self.file)
            self.lifted = lifted
            self.operands: list[Any] = [*after.operands] if after else []
            self.constants: list[Any] = [*after.constants] if after else []
            self.places: dict[int, int] = {**after.places} if after else {}

        def part_of(self, x: Any) -> bytes:
            self.dump(x)
            return self.file.getvalue()

        def persistent_id(self, x: Any) -> Any:
            if is_watched(x) and is_watched(settle(x)):
                return 0, self._place(x, self.operands)
            return (1, self._place(x, self.constants)) if isinstance(x, self.lifted) else None

        def _place(self, x: Any, among: list[Any]) -> int:
            place = self.places.setdefault(id(x), len(among))
            if place == len(among):
                among.append(x)
            return place

    return Lifting


def _culprit(f: Any, args: Any, kwargs: Any, constants: tuple[type, ...]) -> str:
    """Which part of a call cannot be pickled."""
    parts = [(f"argument {k}", x) for k, x in enumerate(args)]
    parts += [(f"argument {k!r}", x) for k, x in kwargs.items()]
    if inspect.isfunction(f):
        free, _, names, _ = inspect.getclosurevars(f)
        parts += [(f"the variable {k!r}", x) for k, x in {**names, **free}.items()]
    for where, x in parts:
        try:
            _lifting()(constants).part_of(x)
        except Exception:
            return f"{where}, a {type(x).__name__},"
    return "the function"


class _Place:
    """Where an engine fills in a value."""

    def __init__(self, place: int) -> None:
        self.place = place


def marked(x: Any, refs: list[Any], types: tuple[type, ...]) -> Any:
    """Arguments as they are sent where an engine fills in values: those of the given types."""
    if isinstance(x, types):
        refs.append(x.ref)  # type: ignore[attr-defined]
        return _Place(len(refs) - 1)
    return type(x)([marked(y, refs, types) for y in x]) if type(x) in (list, tuple) else x


def version() -> str:
    """The version of zyg."""
    return str(sys.modules["zyg"].__version__)


# What is done there


def filled(x: Any, given: Sequence[Any]) -> Any:
    """Arguments again, with the values that an engine has filled in."""
    if type(x) is _Place:
        return given[x.place]
    return type(x)([filled(y, given) for y in x]) if type(x) in (list, tuple) else x


def demand_version(asked: str) -> None:
    """Refuse to run for a process that has another version."""
    if asked != version():
        raise ShippingError(
            f"a worker has zyg {version()}, and the program has zyg {asked}.",
            "what they send each other is of one version, and so are the derivatives.",
            "install the same version everywhere.",
            where="in a worker",
        )
