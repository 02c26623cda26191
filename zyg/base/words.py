"""What the compiler reads of the library of functions: lowerings, and words beyond NumPy's.

A *lowering* is a function's value in loops, in the language of whole functions, for machine code.
Its derivatives are those of the loops, which the table of calls compares with the rule's. Composed
functions are read, too; the words in both are known by `meaning_of`. Those that are defined here
are for the compiler: most stand in lowerings, which nothing else reads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from zyg.base.marks import Function

lowerings: dict[Any, Any] = {}
_meanings: dict[Any, Any] = {}


def lowering(*keys: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register the loops that compute functions in machine code, instead of a call of Python."""

    def register(text: Function) -> Function:
        lowerings.update(dict.fromkeys(keys, text))
        return text

    return register


def means(meaning: Any, *words: Any) -> None:
    """Let the compiler take functions for what it knows by a name, or for a text that it reads."""
    _meanings.update(dict.fromkeys(words, meaning))


def word(function: Function) -> Function:
    """A decorator: the compiler knows the function by its name."""
    means(function.__name__, function)
    return function


def meaning_of(f: Any) -> Any:
    try:
        return _meanings.get(f)
    except TypeError:  # not hashable
        return None


class Closed:
    """A text of machine code alone, of arrays, whose derivative is a text, too.

    `bars` takes the arguments, the result and its cotangent, and gives cotangents of the arguments.
    """

    def __init__(self, bars: Callable[..., Any], value: Callable[..., Any]) -> None:
        self.bars, self.value, self.__name__ = bars, value, value.__name__

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError


def closed(bars: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the derivative of a text of machine code is another text, not of its loops."""
    return functools.partial(Closed, bars)


@word
def routine(name: str, *operands: Any) -> Any:
    """What a routine gives of those that NumPy brings; see the compiler's routines."""
    raise NotImplementedError


@word
def by_lapack(n: Any) -> Any:
    """Whether matrices of n rows are large enough for it, and it is there."""
    raise NotImplementedError


@word
def demand(condition: Any) -> None:
    """Python runs the function where a condition is false, and raises what NumPy raises."""
    raise NotImplementedError


@word
def demand_read(condition: Any) -> None:
    """The function is called back, by its rule, where a condition on shapes or types is false."""


@word
def slopes_hold(condition: Any) -> None:
    """Where a condition is false, the derivatives are those of the function's rule, in Python."""


@word
def lies_like(x: Any, a: Any) -> Any:
    """An array, or a copy, whose axes are in the order that np.copy(a) has."""
    raise NotImplementedError
