"""What machine code has of Python's and NumPy's: objects and functions, by names.

A name means the same in the next process, so that object code stays valid on disk, and the function
that is made of it needs nothing but a list of the names it uses.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zyg.base.config import least_tape
from zyg.compiler import libraries
from zyg.compiler.back.compiled import Code
from zyg.compiler.back.first_code import from_disk
from zyg.compiler.kinds import ELEMENTS

FASTCALL, KEYWORDS = 0x80, 0x2  # METH_FASTCALL, METH_KEYWORDS
_TABLE = {"scalar": 60, "new_array": 93, "zeros": 183}  # PyArray_Scalar, _New, _Zeros in NumPy's
_TEXT = "text "
_OBJECTS: dict[str, Any] = {
    **{f"{t.__module__}.{t.__name__}": t for t in (
        float, int, bool, complex, str, tuple, list, dict, np.ndarray,
        *(d.type for d in ELEMENTS))},
    **{f"dtype {d}": d for d in ELEMENTS},
    **{f"Python's {x}": x for x in (None, True, False, Ellipsis, NotImplemented)},
    **{f"NumPy's {x}": x for x in (np.True_, np.False_)},
}  # fmt: skip
_names = {id(x): name for name, x in _OBJECTS.items()}


def name_of(x: Any) -> str | None:
    """The name of an object; None if it has none that the next process knows."""
    if type(x) is str:
        return _TEXT + x
    return _names.get(id(x))


class Later:
    """Runs the final code in place of the first, which has called it, and from then on."""

    def __init__(self) -> None:
        self.make: Callable[[], Code] | None = None
        self.method: Method | None = None
        self._made: Code | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        assert self.make
        assert self.method
        with self._lock:
            if self._made is None:
                self._made = self.make()
                self.method.function = self._made.address
        return function_of(self._made)(*args)


def found(name: str) -> tuple[int, Any]:
    """The address of what has a name, and what keeps it there; KeyError if nothing has it."""
    if name in _TABLE:
        return libraries.of_numpy(_TABLE[name]), None
    if name == "later":
        later = Later()
        return id(later), later
    if name == "least_tape":
        least = ctypes.c_int64.from_buffer(least_tape)
        return ctypes.addressof(least), least
    x = sys.intern(name[len(_TEXT) :]) if name.startswith(_TEXT) else _OBJECTS[name]
    return id(x), x


class Method(ctypes.Structure):
    """What Python knows of a function of C."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )  # fmt: skip


def builtin(method: Method, own: Any) -> Callable[..., Any]:
    """A function of C as one of Python's, which holds what is its `own`; not the method."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    made: Callable[..., Any] = make(ctypes.byref(method), own, None)
    return made


def function_of(code: Code, held: Sequence[Any] = ()) -> Callable[..., Any]:
    """The machine code of ``object kernel(self, arguments, count)`` as a function of Python's.

    What it needs lives as long as its self, which is `held`. If `code` is the first, what is there
    of `Later` changes it.
    """
    method = Method(b"compiled", code.address, FASTCALL, None)
    for x in held:
        if isinstance(x, Later):
            x.make, x.method = code.later, method
    return builtin(method, (method, code.owner, *held))


def function_on_disk(
    file: str, names: Mapping[str, str], addresses: Mapping[str, int]
) -> Callable[..., Any] | None:
    """The function in a file, which has these names for what has those; None if it is not there."""
    known = {symbol: found(name) for symbol, name in names.items()}
    code = from_disk(file, {**addresses, **{x: at for x, (at, _) in known.items()}})
    return code and function_of(code, [x for _, x in known.values()])
