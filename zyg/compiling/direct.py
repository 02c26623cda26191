"""Verbs of compiled functions, where nothing is watched: their own programs, without the tracer.

Each answers NotImplemented where more is to be done, and then the verb goes the general way: the
function is called with watched arguments, and is one entry. As in `functions`, what runs programs
is imported where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.base.config import setting
from zyg.base.registry import own_verbs, rules
from zyg.compiling.functions import RECALLED, Call, Compiled
from zyg.compiling.operands import GRADIENT, VALUE_AND_GRADIENT
from zyg.core.reverse import all_finite
from zyg.errors import MutationError

if TYPE_CHECKING:
    from zyg.compiling.reads import Plan


def gradient(f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool) -> Any:
    """What `gradient` returns."""
    if not (kwargs or zeros):
        for guard, entry, version in f.entries(GRADIENT) or ():
            captured = guard(f.__wrapped__)
            if captured is not None and version == rules.version:
                found = entry(*args, *captured) if captured else entry(*args)
                if found is not NotImplemented and found is not Ellipsis:
                    return found[1]
    found = _general(f, args, kwargs, zeros, GRADIENT)
    return found if found is NotImplemented else found[1]


def value_and_gradient(
    f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool
) -> Any:
    """What `value_and_gradient` returns."""
    if not (kwargs or zeros):
        for guard, entry, version in f.entries(VALUE_AND_GRADIENT) or ():
            captured = guard(f.__wrapped__)
            if captured is not None and version == rules.version:
                found = entry(*args, *captured) if captured else entry(*args)
                if found is not NotImplemented and found is not Ellipsis:
                    return found
    return _general(f, args, kwargs, zeros, VALUE_AND_GRADIENT)


def _general(
    f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool, verb: str,
    assuming: bool = True,
) -> Any:  # fmt: skip
    """Value and gradients of a call that no entry has taken."""
    call = f.call(args, kwargs, None if zeros or not assuming else verb, assuming)
    if call is RECALLED:
        return _again(f, args, kwargs, verb)
    if call is None or not (call.read.loss == "alone" or (call.read.loss and verb is not GRADIENT)):
        return NotImplemented
    if call.usual and not (call.watched or zeros) and f.learn(call.read, verb):
        return _again(f, args, kwargs, verb)
    if (computed := _computed(f, call, zeros)) is None:
        again = call.read.assumes and not call.watched
        return _general(f, args, kwargs, zeros, verb, False) if again else NotImplemented
    outs, plan = computed
    return call.read.make(outs), tuple([make(outs, call.operands) for make in plan.makes])


def _again(f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], verb: str) -> Any:
    """The same of a verb that has learnt an entry."""
    if verb is VALUE_AND_GRADIENT:
        return value_and_gradient(f, args, kwargs, False)
    found = gradient(f, args, kwargs, False)
    return found if found is NotImplemented else (None, found)


def _computed(f: Compiled, call: Call, zeros: bool) -> tuple[list[Any], Plan] | None:
    """The value and the cotangents of a plain call; None where that takes the tracer."""
    from zyg.compiler.back.entry import Stopped
    from zyg.compiling.calls import run
    from zyg.compiling.operations import Unbuilt

    read, operands = call.read, call.operands
    plan = None if call.watched or has_repeats(operands) else read.plan(f.wrt, zeros)
    if plan is None:
        return None
    if read.written:
        demand_apart(f, call)
    try:
        outs = run(plan.operation, operands)
        if not all_finite(outs[plan.first :]) and setting("strong_zero"):
            strong, _ = read.operation.gradient(plan.active, True)
            outs = run(strong, operands)
            if setting("check_nan") and not all_finite(outs[plan.first :]):
                return None
    except Unbuilt as error:
        read.refuse(error)
        return None
    except Stopped:
        return None
    return outs, plan


def has_repeats(operands: list[Any]) -> bool:
    """Whether an array is met twice: then both places report what belongs to either."""
    arrays = [id(x) for x in operands if type(x) is np.ndarray]
    return len(arrays) > 1 and len({*arrays}) < len(arrays)


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


own_verbs[Compiled] = {"gradient": gradient, "value_and_gradient": value_and_gradient}
