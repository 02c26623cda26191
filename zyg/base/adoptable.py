"""Which modules may be adopted, which are, and what to say to whoever could adopt one."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from zyg.errors import is_installed, is_users, user_frame

_DROPS_IN = "zyg.adopt replaces its functions in other modules, and leaves the module alone."
REFUSED = {
    "numpy": _DROPS_IN, "scipy": _DROPS_IN, "math": _DROPS_IN, "cmath": _DROPS_IN,
    "statistics": _DROPS_IN,
    "zyg": "it must compute with NumPy's own functions.",
    "zyg_cuda": "it must compute with NumPy's own functions.",
    "numba": "it recognizes NumPy's functions by their identity.",
    "llvmlite": "it compiles, and computes nothing.",
}  # fmt: skip

_adopted: set[int] = set()  # ids of namespaces
_rewritten: dict[CodeType, CodeType] = {}  # what runs in an adopted module: what its source says
running: dict[Any, None] = {}  # the strands of functions that are being differentiated, anywhere
turns: list[Callable[[], None]] = []  # what is to be done when one begins or ends


def turn() -> None:
    """What is to be done when a function begins, or ceases, to be differentiated."""
    for each in turns:
        each()


def note_adopted(names: dict[str, Any], adopted: bool) -> None:
    (_adopted.add if adopted else _adopted.discard)(id(names))


def is_adopted(names: dict[str, Any]) -> bool:
    """Whether this is the namespace of an adopted module."""
    return id(names) in _adopted


def note_rewritten(codes: dict[CodeType, CodeType]) -> None:
    """Note codes by those that run instead of them."""
    _rewritten.update({ours: code for code, ours in codes.items()})


def code_of_source(code: CodeType) -> CodeType:
    """The code that the source of a function says, where another one runs."""
    return _rewritten.get(code, code)


def adoptable(frame: FrameType | None = None) -> str:
    """The call that would adopt the module that runs, by default where the user's line is.

    Empty where there is none: the module is adopted, or may not be. What SciPy runs is its
    caller's to adopt.
    """
    frame = outside(frame or user_frame())
    if frame is None or is_adopted(frame.f_globals) or not is_users(frame.f_code.co_filename):
        return ""
    by_name = frame.f_globals.get("__package__") or is_installed(frame.f_code.co_filename)
    return f'zyg.adopt("{_top(frame)}")' if by_name else "zyg.adopt(__name__)"


def outside(frame: FrameType | None) -> FrameType | None:
    """The first of a frame and its callers that is not SciPy's, or of another that stays."""
    while frame is not None and _top(frame) in REFUSED:
        frame = frame.f_back
    return frame


def _top(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]
