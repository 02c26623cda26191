"""Functions of which some arguments are constant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from zyg.autograd._absent import names_from

__getattr__ = names_from()


def const_graph(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`f` with its first arguments given. It runs whole at each call; autograd keeps parts."""
    return functools.partial(f, *args, **kwargs)
