"""What passes through whole, and the numbers in it: iterators, views of dicts, queues, C's records.

Nothing can be put in the place of a number there, so an argument that holds one is refused: what
f reads from it would be a constant. What is around a program and not part of its arguments is not
looked into: threads, files, loggers, random generators, futures, contexts, modules, classes.
"""

from __future__ import annotations

import gc
import re
import types
import weakref
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.caches import remembered
from zyg.base.containers import (
    ATOMS,
    ENGINES,
    SET,
    Engine,
    Unfollowed,
    is_of_c,
    is_of_standard_library,
    kind_of,
)
from zyg.errors import StructureError

# Modules of the standard library, written in Python, whose classes hold a user's values; and those
# written in C, and NumPy's, whose classes do not.
_HOLDERS = {
    "_collections_abc", "_weakrefset", "asyncio.queues", "collections", "contextlib", "csv",
    "ctypes", "dataclasses", "functools", "multiprocessing.sharedctypes", "operator", "queue",
    "shelve", "types", "weakref",
}  # fmt: skip
_MACHINES = {"_asyncio", "_contextvars", "_io", "_random", "_thread", "numpy.random", *ENGINES}
_AROUND = (
    types.ModuleType, type, types.FrameType, types.TracebackType, types.CodeType, Enum, Engine,
    Unfollowed,
)  # fmt: skip
_PLAIN = {*ATOMS, int, float, complex, np.float64}
_REAL = r"[efdgFDG]"  # in the format of a buffer, without its names


def demand_without_numbers(x: Any, leaf: Callable[[Any], bool]) -> None:
    """Refuse what passes through whole and holds a leaf that is no int, which may well count."""
    if type(x) not in _PLAIN and _holds(x, leaf):
        raise StructureError(
            f"zyg cannot watch the numbers in a {type(x).__name__}.",
            "they can be read out of it, but watched ones cannot be put in their places: the "
            "gradient would take them for constants.",
            "pass a list, tuple, dict or object of them, or make it inside the function; if they "
            "are constants, pass it by keyword.",
            tag="opaque",
        )


def _holds(x: Any, leaf: Callable[[Any], bool]) -> bool:
    waiting, seen = [x], {id(x): x}
    while waiting:
        for v in _contents(waiting.pop()):
            if type(v) not in ATOMS and type(v) is not int and id(v) not in seen:
                if leaf(v):
                    if not (isinstance(v, np.integer) or _is_of_ints(v)):
                        return True
                    continue
                seen[id(v)] = v
                waiting.append(v)
    return False


def _is_of_ints(x: Any) -> bool:
    kind = array_type(x)
    array = isinstance(x, np.ndarray) or bool(kind.library)
    return array and kind.dtype(x).kind in "iu"


def _contents(x: Any) -> list[Any]:
    """What a thing holds, one step down: its parts, or what there is of it in memory."""
    if isinstance(x, np.ndarray | np.void) and x.dtype.names is not None:
        return [x[name] for name in x.dtype.names]
    kind = kind_of(x)
    if kind is not None:
        return [*x] if kind is SET else [value for _, value in kind.parts(x)]
    if isinstance(x, _AROUND) or not _is_looked_into(type(x)):
        return []
    if hasattr(type(x), "cache_info"):  # a memo, whose results follow from its function
        return [x.__wrapped__]
    if isinstance(x, np.nditer):
        return [*x.operands]
    if isinstance(x, np.broadcast):
        return [i.base for i in x.iters]
    if isinstance(x, slice):
        return [x.start, x.stop, x.step]
    if isinstance(x, weakref.ref):
        return [x(), *gc.get_referents(x)]
    if type(x) in weakref.ProxyTypes:
        return [x.__repr__.__self__]
    return [*gc.get_referents(x), *_in_memory(x)]


def _in_memory(x: Any) -> list[Any]:
    """A number in place of those in the memory of a thing, if there are any."""
    try:
        form = memoryview(x).format
    except (TypeError, BufferError, ValueError):
        return []
    return [0.5] if re.search(_REAL, re.sub(":[^:]*:", "", form)) else []


@remembered(4096)
def _is_looked_into(cls: Any) -> bool:
    """Whether instances of a class that pass through whole may hold a user's values."""
    if issubclass(cls, BaseException):
        return True
    module = cls.__module__ or ""
    if any(module == one or module.startswith(f"{one}.") for one in _MACHINES):
        return False
    if is_of_standard_library(cls):
        return is_of_c(module) or module in _HOLDERS or module.split(".")[0] in _HOLDERS
    if module.partition(".")[0] == np.__name__ or not is_of_c(module):
        return True
    return any(hasattr(cls, name) for name in ("__iter__", "__next__", "__getitem__"))
