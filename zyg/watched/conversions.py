"""Conversions of watched values to plain ones: who asks, who gets one, and what is refused."""

from __future__ import annotations

import builtins
import dis
import os
import sys
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from zyg.base.remedies import remedy
from zyg.base.sinks import call_at, looking
from zyg.core.inplace import refuse_store
from zyg.core.strand import WATCHED, Watched, cut, settle, strip
from zyg.errors import ConversionError, is_installed, is_ours, is_users


def looks_into_memory(frame: FrameType) -> bool:
    """Whether a function reads strides, or memory, of the array that it asks for.

    So does, for all that can be told before the array is made, one of the user's that names what
    reads memory, or calls one that asks: in an array of objects that is addresses.
    """
    code = frame.f_code
    if _names_memory(frame):
        return True
    if code.co_name == "squareform":  # whose C code copies objects without counting them
        return code.co_filename.replace(os.sep, "/").endswith("scipy/spatial/distance.py")
    return code is _AS_STRIDED


def _names_memory(frame: FrameType | None) -> bool:
    """Whether a function of the user's that runs, inside of the derivative, reads memory."""
    while frame is not None and not is_ours(frame.f_code.co_filename):
        code = frame.f_code
        keywords = [name for c in code.co_consts if type(c) is tuple for name in c]
        named = not _READERS.isdisjoint(code.co_names) or "buffer" in keywords
        if named and not is_installed(code.co_filename):
            return True
        frame = frame.f_back
    return False


_READERS = {
    "frombuffer", "memoryview", "from_buffer", "from_buffer_copy", "data_as", "ctypes",
    "bytearray", "unpack_from", "__array_interface__", "crc32", "adler32",
}  # fmt: skip
_POLY1D = frozenset(
    getattr(np.poly1d, name).__code__ for name in ("__init__", "__mul__", "__rmul__", "__pow__")
)
_LEAVE_OUT = "trimseq", "line", "mulx", "int"  # a zero; others refuse to divide by one
_BETWEEN = 20  # calls between one of those and the question for a zero
_AS_STRIDED = np.lib.stride_tricks.as_strided.__code__


def caller() -> str:
    """Which instruction called the caller of this function: "%", "[]", "[]=" or its name."""
    frame = sys._getframe(2)
    code, at = frame.f_code.co_code, frame.f_lasti
    name = dis.opname[code[at]]
    if name == "BINARY_OP":  # its argument says which one; x[i] is one of them from 3.14 on
        return {6: "%", 19: "%", 26: "[]"}.get(code[at + 1], name)
    return {"BINARY_SUBSCR": "[]", "STORE_SUBSCR": "[]=", "STORE_SLICE": "[]="}.get(name, name)


def is_cast() -> bool:
    """Whether C code that an installed library calls makes an int of the caller's own: `astype`.

    An object array of watched numbers has no type of its own, and goes through such a cast where
    an array of floats would not. ``int(x)``, and what else is built in, is meant.
    """
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    if not (is_installed(file) and is_users(file)):
        return False
    name = call_at(frame.f_code, frame.f_lasti)[0]
    return isinstance(name, str) and not hasattr(builtins, name)


def is_coefficient() -> bool:
    """Whether NumPy's poly1d asks which of its first coefficients are zeros, to leave those out."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_BETWEEN):
        if frame is None or frame.f_code in _POLY1D:
            break
        frame = frame.f_back
    return frame is not None and frame.f_code in _POLY1D


def is_left_out() -> bool:
    """Whether a function of np.polynomial asks if a coefficient is zero, to leave that out."""
    frame = sys._getframe(2)
    return frame.f_globals.get("__name__", "").startswith(
        "numpy.polynomial."
    ) and frame.f_code.co_name.endswith(_LEAVE_OUT)


def looked_at(x: Any, said: str, how: str) -> Any:
    """The plain value, in a call that only looks at it; refused elsewhere."""
    if looking() is not None:
        return cut(x, said)
    return refuse_conversion(x, said, how)


def refuse_conversion(x: Any, said: str, how: str) -> NoReturn:
    """Say what a conversion would lose, and what to write instead."""
    kind = type(strip(x)).__name__
    if how == "[]=":
        refuse_store()
    raise ConversionError(
        f"{said} of a watched {kind} would drop its derivative.",
        "a plain number or array carries no derivative; C code and the math module convert their "
        "arguments.",
        remedy(),
    )


def demand_ordered() -> None:
    """Refuse a comparison with NaN that NumPy asks the elements of an array of objects for.

    It takes the answer, which is no, for that of numbers of which one is the larger, and comes to
    another value than with floats. Python's own ``max`` and ``sorted`` do so with floats, too.
    """
    frame = sys._getframe(2)
    name, owner = _called(frame)
    if not name:
        return
    if _is_numpys(frame):
        asks = name not in ("max", "min", "sorted")
    elif name == "sort":  # or is it a list's?
        found = (x for x in frame.f_locals.values() if isinstance(x, np.ndarray))
        asks = any(x.dtype.hasobject for x in found)
    else:
        of_arrays = hasattr(np.ndarray, name) and not hasattr(builtins, name)
        asks = of_arrays or hasattr(np.ufunc, name) or isinstance(owner, (np.ufunc, np.ndarray))
    if asks:
        _refuse_objects(
            "compares a watched number with NaN",
            "it orders objects by Python's comparisons, of which none holds for NaN",
        )


def demand_truth() -> None:
    """Refuse what NumPy asks the elements of an array of objects for: to be true, or the other."""
    frame = sys._getframe(2)
    name, owner = _called(frame)
    asks = owner is np.logical_and or owner is np.logical_or
    asks = asks or name in ("reduce", "accumulate", "reduceat")
    if asks and not _is_numpys(frame):  # np.any, which makes a bool of it
        _refuse_objects(
            "asks whether a watched number is true", "its logical functions give objects back"
        )


def _is_numpys(frame: FrameType) -> bool:
    return bool(frame.f_globals.get("__name__", "").partition(".")[0] == "numpy")


def _called(frame: FrameType) -> tuple[str, Any]:
    """The name of what a frame calls, "" if it calls nothing; what that is, or whose method."""
    name = call_at(frame.f_code, frame.f_lasti)[0]
    if not isinstance(name, str):
        return "", None
    found = frame.f_locals.get(name, frame.f_globals.get(name, getattr(np, name, None)))
    return name, getattr(found, "__self__", found)


def _refuse_objects(does: str, why: str) -> NoReturn:
    raise ConversionError(
        f"NumPy {does} in an array of objects.",
        f"{why}; with floats it computes otherwise, and the value would be another.",
        "make the array of watched numbers with np.stack([x, y]), or with np.array([x, y]) after "
        "import zyg.numpy as np, or call zyg.adopt(__name__) once.",
        tag="objects",
    )


def refuse_numba(x: Watched, cls: type) -> None:
    """Refuse a function that numba compiled, which converts its arguments: ints without a word."""
    if type(settle(x)) not in WATCHED:
        return
    raise ConversionError(
        f"a function that numba compiled was given a watched {cls.__name__}.",
        "its machine code reads plain numbers and arrays, which carry no derivative.",
        "zyg.numba.wrap(f)(x) for f(x), which compiles it with its derivative; or zyg.adopt its "
        "module, which runs the Python function that was compiled; or write an @adjoint.",
        tag="c-code",
    )
