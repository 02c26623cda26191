"""The border of zyg: an exception that crosses it leaves without zyg's frames in its traceback.

A public function either is decorated by `border`, or says, where a microsecond counts,

    except BaseException as error:
        shorten(error)
        raise

A bare ``raise`` goes on with the traceback that the exception has then, and does not enter the
frame of this function again. Nothing is done as long as nothing is raised.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from zyg.base.config import setting
from zyg.errors import ZygError, is_ours, is_users

Function = TypeVar("Function", bound=Callable[..., Any])


def border(function: Function) -> Function:
    """A decorator: what leaves the function by an exception has a short traceback."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            except BaseException as error:
                shorten(error)
                raise

        return awaited  # type: ignore[return-value]

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    return called  # type: ignore[return-value]


def shorten(error: BaseException) -> None:
    """Take zyg's frames out of the traceback of an exception, and of those that it came from.

    The traceback of a zyg error ends at the user's line. That of one which was caught on the way
    keeps its first frame: it says who caught it.
    """
    if setting("full_tracebacks"):
        return
    error.__traceback__ = _without_ours(error, [])
    seen, others = {id(error)}, _others(error)
    while others:
        one = others.pop()
        if id(one) not in seen:
            seen.add(id(one))
            first = isinstance(one, ZygError) and one.__traceback__
            one.__traceback__ = _without_ours(one, [first] if first else [])
            others += _others(one)


def keep_parameters(error: BaseException, parameters: Any) -> None:
    """Leave what was found so far on an exception that ends an optimization."""
    error.parameters = parameters  # type: ignore[attr-defined]
    error.add_note("The parameters found so far are in the exception's attribute `parameters`.")


def _others(error: BaseException) -> list[BaseException]:
    """The exceptions that an exception holds: its cause, its context, those of a group."""
    inside = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return [e for e in (error.__cause__, error.__context__, *inside) if e is not None]


def _without_ours(error: BaseException, kept: list[TracebackType]) -> TracebackType | None:
    """The traceback of an exception with the frames of others than zyg, and those of `kept`."""
    came, whole = error.__traceback__, []
    while came is not None:
        whole.append(came)
        came = came.tb_next
    left = [c for c in whole if c in kept or not is_ours(c.tb_frame.f_code.co_filename)]
    if isinstance(error, ZygError):
        while left and left[-1] not in kept and not is_users(left[-1].tb_frame.f_code.co_filename):
            left.pop()
    if len(left) == len(whole):
        return error.__traceback__
    short = None  # built anew: somebody may hold the traceback as it was
    for c in reversed(left):
        short = TracebackType(short, c.tb_frame, c.tb_lasti, c.tb_lineno)
    return short
