"""Operators on functions of one argument, made ones on functions of several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from zyg.autograd._absent import names_from
from zyg.base.borders import border
from zyg.errors import ArgumentError

__getattr__ = names_from()


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """``operator(f, x, ...)`` as ``op(f, argnum=0, ...)(*args, **kwargs)``.

    Parameters
    ----------
    operator : callable
        Takes a function of one argument and that argument.

    Returns
    -------
    callable
        Takes f, and the place of the argument: an int, or a tuple or a list of ints, which makes
        one argument of several. What it returns takes the arguments of f, and raises ArgumentError
        where there is none at that place, or one argument is named twice.
    """

    @functools.wraps(operator)
    def nary_operator(
        fun: Callable[..., Any], argnum: Any = 0, *options: Any, **named: Any
    ) -> Callable[..., Any]:
        places = argnum if isinstance(argnum, (tuple, list)) else (argnum,)
        if not places or not all(type(k) is int for k in places):
            raise ArgumentError(
                f"{operator.__name__} was given argnum={argnum!r}.",
                "it says which positional arguments to differentiate.",
                "pass an int, or a tuple or list of ints.",
            )

        @border
        def nary(*args: Any, **kwargs: Any) -> Any:
            _demand_places(places, len(args), name)

            @functools.wraps(fun, updated=())
            def unary(x: Any) -> Any:
                full = [*args]
                for k, part in zip(places, (x,) if argnum is places[0] else x, strict=True):
                    full[k] = part
                return fun(*full, **kwargs)

            chosen = tuple(args[k] for k in places)
            x = chosen[0] if argnum is places[0] else chosen
            return operator(unary, x, *options, **named)

        of = getattr(fun, "__name__", type(fun).__name__)
        name = nary.__name__ = f"{operator.__name__}_of_{of}_wrt_argnum_{argnum}"
        nary.__doc__ = (
            f"    {operator.__name__} of function {of} with respect to argument number {argnum}.\n"
        )
        return nary

    return nary_operator


def _demand_places(places: Sequence[int], n: int, name: str) -> None:
    """Raise ArgumentError unless these are places, each another, of n arguments."""
    if not all(-n <= k < n for k in places):
        raise ArgumentError(
            f"{name} was called with {n} positional argument{'s' * (n != 1)}.",
            "argnum counts the positional arguments of the call, from 0.",
            "pass the argument by its place, or change argnum.",
        )
    if len({k % n for k in places}) < len(places):
        raise ArgumentError(
            f"{name} was to differentiate by one argument twice.",
            "its gradient would be all in one place, with zeros in the other.",
            "name each argument once in argnum.",
        )
