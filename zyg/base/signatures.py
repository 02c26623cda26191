"""The types of public signatures; the signatures of users' functions.

The gradient of an X has the type ``X | Any``: it mostly is an X too, but None where nothing depends
on the argument, a float for an int, a `Tangent` for an object.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, TypeVarTuple, overload

P = ParamSpec("P")
Q = ParamSpec("Q")
Ts = TypeVarTuple("Ts")
R = TypeVar("R")
A = TypeVar("A")
# Bound, so that the parameters of a lambda are Any where nothing else says what they are.
X = TypeVar("X", bound=Any)
Y = TypeVar("Y", bound=Any)
Z = TypeVar("Z", bound=Any)
R_co = TypeVar("R_co", covariant=True)
Function = TypeVar("Function", bound=Callable[..., Any])


def users_signature(f: Any, **how: Any) -> inspect.Signature:
    """What inspect says of a function, whose annotations may name what there is not, or not yet."""
    if sys.version_info >= (3, 14):  # where they are evaluated when somebody asks
        from annotationlib import Format

        how["annotation_format"] = Format.FORWARDREF
    return inspect.signature(f, **how)


class Pullback(Protocol):
    """What takes a cotangent of a value back to those of the arguments."""

    def __call__(self, y_bar: Any, *, zeros: bool = False) -> tuple[Any, ...]: ...


class AsyncPullback(Protocol):
    """The same, to be awaited."""

    def __call__(
        self, y_bar: Any, *, zeros: bool = False
    ) -> Coroutine[Any, Any, tuple[Any, ...]]: ...


class Decorated(Protocol[P, R_co]):
    """A function that a decorator has made of one with the same parameters; also as a method."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type) -> Decorated[P, R_co]: ...
    @overload
    def __get__(
        self: Decorated[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None
    ) -> Callable[Q, R_co]: ...


class Ruled(Decorated[P, R_co], Protocol[P, R_co]):
    """A function with a rule; or what takes a rule, where nothing tells which was meant."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, *args: P.args, **kwargs: P.kwargs
    ) -> R_co: ...
    @overload
    def __call__(self, rule: Callable[Q, tuple[A, Callable[..., Any]]], /) -> Ruled[Q, A]: ...

    def pushforward(self, push: Function) -> Function:
        """Give the rule of forward mode, as a decorator: what returns ``y, pushforward``."""


class CompiledFunction(Decorated[P, R_co], Protocol[P, R_co]):
    """A function that runs as machine code, and its derivatives too."""

    def inspect(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """What a call with these arguments does: whether it is machine code and why not."""

    def source(self, *args: Any, of: str = "value", **kwargs: Any) -> str:
        """The text of a Python module that computes the function without zyg, or a derivative."""
