"""What users call: `compile`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any, overload

from zyg.base.borders import border
from zyg.base.marks import name_of
from zyg.base.registry import own_verbs
from zyg.base.signatures import CompiledFunction, P, R, users_signature
from zyg.compiling import fast_path as fast_path
from zyg.compiling.functions import Compiled
from zyg.errors import ArgumentError

Wrt = int | str | Sequence[int | str] | None


@overload
def compile(
    f: Callable[P, R], wrt: Wrt = None, parallel: bool = False
) -> CompiledFunction[P, R]: ...
@overload
def compile(
    f: None = None, wrt: Wrt = None, parallel: bool = False
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
@border
def compile(f: Callable[..., Any] | None = None, wrt: Wrt = None, parallel: bool = False) -> Any:
    """`f`, a whole function of numbers and arrays, as machine code, and so its derivatives.

    A decorator, or called. `f` is plain Python and NumPy: loops, branches, writes to arrays, helper
    functions, closures, recursion. A call does what Python would do, writes to arguments included;
    `gradient` and the other verbs differentiate the program that was read, not a trace of it.
    It is compiled at the first call with arguments of a kind: their types, dtypes and numbers of
    axes, the structure of containers.

    Other threads run during calls that may be long, but where lists are passed; an interrupt takes
    effect when machine code has returned.

    What is not in the language that is compiled runs in Python, and its derivatives are traced,
    after a `PerformanceWarning` that names the line. Functions that have a rule, and helpers that
    only compute their result, are called back instead.

    Parameters
    ----------
    f : callable, optional
        A function, lambda, method, callable object or partial. Without it, a decorator is returned.
    wrt : int, str, or sequence of those, optional
        The arguments that are ever differentiated, by their names or positions; all by default.
    parallel : bool
        Whether the rounds of `prange` loops run in threads where they are long enough. Else those
        are loops over ranges.

    Returns
    -------
    Compiled
        Has the name, docstring and signature of f. ``inspect(*args)`` says what was compiled,
        ``source(*args, of="gradient")`` returns the derivative as Python text.

    Raises
    ------
    ArgumentError
        `wrt` is neither a name nor a position of an argument of f.
    CompileError
        f is not in the language that is compiled, with ``zyg.config(fallback="error")``.

    Examples
    --------
    >>> import math, zyg
    >>> @zyg.compile
    ... def power(x, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y *= x
    ...     return y
    >>> power(2.0, 10), zyg.gradient(power, 2.0, 10)[0]
    (1024.0, 5120.0)

    """
    if f is None:
        return functools.partial(compile, wrt=wrt, parallel=parallel)
    if isinstance(f, Compiled):
        return f
    if isinstance(f, MethodType) and isinstance(f.__func__, Compiled):
        f = MethodType(f.__func__.__wrapped__, f.__self__)
    if not callable(f):
        raise TypeError(f"zyg.compile takes a function, not a {type(f).__name__}")
    return Compiled(f, None if wrt is None else _positions(f, wrt), parallel)


def _positions(f: Callable[..., Any], wrt: Any) -> tuple[int, ...]:
    """The positions of the arguments that names and positions mean."""
    names, more = [], False  # of the positional arguments; whether there are others
    try:
        for p in users_signature(f).parameters.values():
            names += [p.name] if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) else []
            more |= p.kind is p.VAR_POSITIONAL
    except (TypeError, ValueError):  # of what tells nothing about itself
        more = True
    found = set()
    for one in (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else wrt:
        place = names.index(one) if one in names else one
        if type(place) is not int or place < 0 or not (more or place < len(names)):
            raise ArgumentError(
                f"zyg.compile was given wrt={wrt!r}; {one!r} is no positional argument of "
                f"{name_of(f)}.",
                "wrt says which positional arguments are differentiated; keywords are constant.",
                "pass names or positions, from 0, of: " + (", ".join(names) or "*args") + ".",
            )
        found.add(place)
    return tuple(sorted(found))


def _later(verb: str) -> Callable[..., Any]:
    """What a verb asks whose programs `matrices` makes, which is imported with the first."""

    def ask(f: Compiled, *args: Any) -> Any:
        from zyg.compiling import matrices as matrices

        asked = own_verbs[Compiled][verb]
        return NotImplemented if asked is ask else asked(f, *args)

    return ask


def _vmap(f: Compiled, mapped: Callable[..., Any]) -> Compiled:
    """What maps f, compiled as f is."""
    return Compiled(mapped, f.wrt, f.parallel)


own_verbs[Compiled] |= {verb: _later(verb) for verb in ("jacobian", "hessian", "hvp")}
own_verbs[Compiled]["vmap"] = _vmap
