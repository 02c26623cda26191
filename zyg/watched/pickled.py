"""Watched values that are pickled: refused, by an exception that somebody hears of.

A queue's thread or a loop's background task that pickles drops an exception, and the other side
waits for ever. What is pickled there is a `Refused` instead: it travels, and raises where it is
used.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NoReturn

from zyg.base.remedies import SENDERS
from zyg.core.strand import note_refusal
from zyg.errors import ConversionError, is_installed, is_users

# Whose calls no frame of Python's tells of.
_MPI = "zyg.mpi.wrap(comm) has calls of mpi4py's that are differentiated; "


def refuse_pickle() -> tuple[Any, ...]:
    """Refuse to pickle a watched value; where nobody would hear of it, what is pickled instead."""
    sender, heard = _who_pickles()
    error = ConversionError(
        "a watched value cannot be pickled.",
        "the bytes would hold a plain number, and the derivative would be lost.",
        SENDERS[sender] + "; or send zyg.stop_gradient(x)."
        if sender
        else _MPI
        * ("mpi4py.MPI" in sys.modules)
        + "zyg.wrap_executor(pool) has calls in other processes that are differentiated; "
        "to keep a value, pickle zyg.stop_gradient(x), or what `gradient` returns.",
        where="" if heard else f"in the background, where {sender or 'a library'} sends a value",
        tag="pickle",
    )
    if heard:
        raise error
    return Refused, (error,)


def _who_pickles() -> tuple[str, bool]:
    """The package that sends a value, and whether a line of the user's runs that it would fail."""
    frame: FrameType | None = sys._getframe(2)
    sender = ""
    while frame is not None:
        file, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "")
        if is_users(file) and not is_installed(file):
            return sender, True
        if module == "asyncio.events" and frame.f_code.co_name == "_run":
            return sender, False  # a task of a loop's, whoever runs the loop
        package = module if module in SENDERS else module.partition(".")[0]
        sender = package if package in SENDERS else sender
        frame = frame.f_back
    return sender, False


class Refused:
    """A watched value that was pickled where nobody would have heard the refusal: any use raises.

    It can be handed on, and pickled again.
    """

    __slots__ = ("_error",)

    def __init__(self, error: ConversionError) -> None:
        self._error = error

    def __reduce__(self) -> Any:
        return Refused, (self._error,)

    def __getattr__(self, name: str) -> NoReturn:
        if name[:2] == "__" == name[-2:]:  # a question, as of copy's and inspect's
            raise AttributeError(name)
        _raise(self)


def _raise(self: Refused, *_: Any, **__: Any) -> NoReturn:
    error = self._error.with_traceback(None)
    note_refusal(error)
    raise error


# What Python looks up in a class: all that reads a value.
_SPECIAL = """
    abs add and array array_function array_ufunc bool bytes call ceil complex contains delitem
    divmod enter eq float floor floordiv format ge getitem gt hash iadd iand ifloordiv ilshift
    imatmul imod imul index int invert ior ipow irshift isub iter itruediv ixor le len lshift lt
    matmul mod mul ne neg next or pos pow radd rand rdivmod rfloordiv rlshift rmatmul rmod rmul ror
    round rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv trunc xor
"""
for _name in _SPECIAL.split():
    setattr(Refused, f"__{_name}__", _raise)
