"""Gradients of compiled functions, where nothing is watched: their own programs, not the tracer's.

Each answers NotImplemented where more is to be done, and then the verb goes the general way: the
function is called with watched arguments, and is one entry. As in `functions`, what runs programs
is imported where it is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.base.config import setting
from zyg.base.registry import own_verbs
from zyg.compiling.functions import Compiled
from zyg.compiling.operands import GRADIENT, VALUE_AND_GRADIENT, Call, by_position
from zyg.core.cotangents import spec_of, zeros_of
from zyg.core.reverse import all_finite
from zyg.errors import MutationError


def gradient(f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool) -> Any:
    """What `gradient` returns."""
    found = _both(f, GRADIENT, args, kwargs, zeros)
    return found if found is NotImplemented else found[1]


def value_and_gradient(
    f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool
) -> Any:
    """What `value_and_gradient` returns."""
    return _both(f, VALUE_AND_GRADIENT, args, kwargs, zeros)


def _both(
    f: Compiled, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool
) -> Any:
    """Value and gradients."""
    if kwargs and (same := positional(f, args, kwargs)) is not None:
        found = _both(same[0], verb, same[1], {}, zeros)
        return found if found is NotImplemented else (found[0], found[1][: len(args)])
    if zeros and all(map(_has_zero, args)):
        found = _both(f, verb, args, kwargs, False)
        return found if found is NotImplemented else (found[0], _filled(found[1], args))
    found = NotImplemented if kwargs or zeros else f.asked(verb, args)
    if found is not NotImplemented and found is not Ellipsis:
        return found
    return _general(f, verb, args, kwargs, zeros)


def positional(
    f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Compiled, tuple[Any, ...]] | None:
    """The same call without keywords, of the function by what was given so; None if nothing is."""
    full, left = by_position(f.__wrapped__, args, kwargs)
    if left or not args:
        return None
    places = range(len(args)) if f.wrt is None else f.wrt
    return f.by(tuple(k for k in places if k < len(args))), full


def _general(
    f: Compiled, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool,
    assuming: bool = True,
) -> Any:  # fmt: skip
    """Value and gradients of a call that no machine code has taken that is known."""
    found, call = f.prepared(None if zeros else verb, args, kwargs, assuming=assuming)
    if call is None:
        return found
    if call.watched or call.repeats() or call.known.form(verb, f.wrt) is None:
        return NotImplemented
    if call.known.writes_outside or (f.reads_only and call.known.written):
        return NotImplemented
    found = _computed(f, call, zeros)
    if found is NotImplemented and call.known.assumes:
        return _general(f, verb, args, kwargs, zeros, False)
    return NotImplemented if found is Ellipsis else found


def _computed(f: Compiled, call: Call, zeros: bool) -> Any:
    """Value and gradients of a plain call; NotImplemented where they take the tracer, Ellipsis
    where a function that is called back has raised something.
    """
    from zyg.compiler.back.native_function import Stopped
    from zyg.compiling.operations import Unbuilt

    known, operands = call.known, call.operands
    form: Any = known.gradients(f.wrt, zeros)
    if known.written:
        demand_apart(f, call)
    try:
        outs = form.operation.run(operands)
        if not all_finite(outs[form.first :]) and setting("strong_zero"):
            form = known.gradients(f.wrt, zeros, strong=True)
            outs = form.operation.run(operands)
            if setting("check_nan") and not all_finite(outs[form.first :]):
                return NotImplemented
    except Unbuilt as error:
        known.refuse(error)
        return NotImplemented
    except Stopped as stopped:
        return Ellipsis if stopped.raised else NotImplemented
    return form.made(outs)


def _has_zero(x: Any) -> bool:
    """Whether the zero gradient of an argument is known by itself."""
    return type(x) in (float, int) or (type(x) is np.ndarray and x.dtype.kind in "fciu")


def _filled(found: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gradients, with zeros where there are none."""
    return tuple(zeros_of(spec_of(x)) if g is None else g for g, x in zip(found, args, strict=True))


def by_places(f: Compiled, verb: str, places: tuple[int, ...], args: tuple[Any, ...]) -> Any:
    """Value and gradients by the arguments at some places, the others being plain; zeros for none.

    NotImplemented also of a function that writes to arguments: those others are to be changed.
    """
    if f.wrt is not None or not all(map(_has_zero, args)):
        return NotImplemented
    part = f.by(tuple(sorted(places)))
    found = _both(part, verb, args, {}, False)
    return found if found is NotImplemented else (found[0], _filled(found[1], args))


def demand_apart(f: Compiled, call: Call) -> None:
    """Refuse arrays that share memory where one is written to."""
    if call.overlapping():
        raise MutationError(
            f"{f.__name__} writes to an array that shares memory with another of its arguments, or "
            "whose elements share memory.",
            "a write to one would change the other, and the derivative would not know.",
            "pass a copy.",
            tag="overlap",
        )


own_verbs[Compiled] = {
    "gradient": gradient,
    "value_and_gradient": value_and_gradient,
    "by places": by_places,
}
