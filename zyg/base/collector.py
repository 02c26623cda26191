"""Python's cyclic collector off while programs are made: all that they are made of is in use."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_off: set[object] = set()  # a token for each call that has it off, and is to put it on


def uncollected(make: Callable[P, R]) -> Callable[P, R]:
    """A function during whose calls nothing is collected, if no other thread ends such a call."""

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled():
            return make(*args, **kwargs)
        token = object()
        try:
            _off.add(token)
            gc.disable()
            return make(*args, **kwargs)
        finally:
            _on(token)

    return made


def _on(*tokens: object) -> None:
    if tokens:
        _off.difference_update(tokens)
        gc.enable()


if hasattr(os, "register_at_fork"):  # other threads do not survive a fork
    os.register_at_fork(after_in_child=lambda: _on(*_off))
