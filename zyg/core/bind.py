"""The one interception point: every call on watched values meets in `bind`.

`bind` asks for the rule of a function and hands the call over: a rule with a pullback to
`adjoints`, one of the table to `elementwise`. There the newest level among the arguments is found,
that level's values only are unwrapped, and an entry is noted. The rule runs one level further out:
if the unwrapped values are watched there, its own operations are noted there. That is all of
nesting.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from zyg.base import registry
from zyg.base.registry import CONSTANT, Adjoint, Composed, ScalarRule, late_rule, rules
from zyg.base.sinks import looking
from zyg.base.structure import Searched
from zyg.core.adjoints import _positional, call_adjoint
from zyg.core.elementwise import elementwise
from zyg.core.entries import lacking
from zyg.core.handouts import hand_out
from zyg.core.objects import is_shown
from zyg.core.sequences import as_arrays, joined_lists
from zyg.core.strand import ARRAYS, WATCHED, cut, innermost, is_watched, settle
from zyg.errors import MissingRuleError, unknown_call

_ABOUT_MEMORY = frozenset((np.may_share_memory, np.shares_memory))
_WRITERS = frozenset((np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal))


def bind(f: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """`f(*args, **kwargs)` by the rule of `f`; a function without rule raises MissingRuleError."""
    try:
        rule = f if isinstance(f, (Adjoint, ScalarRule)) else rules.get(f) or late_rule(f)
        kwargs = kwargs or {}
        if rule is CONSTANT:
            if f in _ABOUT_MEMORY and any(is_shown(x, y) for x, y in permutations(args[:2])):
                return True
            plain = functools.partial(_plain, lambda x: cut(x, f"{f.__name__}, which is constant"))
            return f(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        if isinstance(rule, Adjoint):
            return call_adjoint(rule, args, kwargs)
        if isinstance(rule, ScalarRule):
            if kwargs:
                raise unknown_call(
                    rule.name, f"its rule does not know the keyword {next(iter(kwargs))!r}"
                )
            return elementwise(rule, *map(joined_lists, args))
        if isinstance(rule, Composed):
            if kwargs:
                args, kwargs = _positional(rule, args, kwargs)
            arrays = as_arrays(rule, args)
            if arrays is not args and f in _WRITERS:  # what is written to must be the array itself
                arrays = [args[0], *arrays[1:]]
            return rule.function(*arrays, **kwargs)
        values = Searched((args, kwargs), is_watched)
        if innermost([settle(x) for x in values.leaves]) is None:
            rest = [hand_out(x) if type(x) in ARRAYS else settle(x) for x in values.leaves]
        elif looking() is not None:
            rest = [cut(x, f.__name__) for x in values.leaves]
        else:
            raise _missing(f)
        args, kwargs = values.rebuild(rest)
        return f(*args, **kwargs)
    except TypeError as error:
        own = isinstance(f, (Adjoint, ScalarRule))  # a scalar rule has asked `lacking` itself
        if own or not (made := lacking(error, f.__name__, [*args, *(kwargs or {}).values()])):
            raise
        raise made from error


def _plain(unwrap: Callable[[Any], Any], x: Any) -> Any:
    if type(x) in WATCHED:
        return unwrap(x)
    if type(x) in (list, tuple, dict):
        inside = Searched(x, is_watched)
        return inside.rebuild([unwrap(v) for v in inside.leaves]) if inside.leaves else x
    return x


def _missing(f: Any) -> MissingRuleError:
    name = getattr(f, "__name__", repr(f))
    if name.endswith(" (vectorized)"):
        return MissingRuleError(
            f"{name.removesuffix(' (vectorized)')}, made by np.frompyfunc, has no rule.",
            "it calls the function with plain elements, so the derivative would be lost.",
            "use zyg.broadcast(f, *arrays), which compiles the function and its derivative, or "
            "np.stack([f(a) for a in x]).",
        )
    full = ".".join(filter(None, (_module_of(f, name), name)))
    return MissingRuleError(
        f"{full} has no rule, so zyg cannot differentiate it.",
        "only functions with a rule can be called on watched values; the derivative of any other "
        "would be lost.",
        "write its rule, or declare it constant with zyg.nondifferentiable(f):\n"
        f"    @zyg.adjoint({full})\n"
        f"    def {name}(x):\n"
        f"        y = {full}(x)\n"
        f"        def {name}_pullback(y_bar):\n"
        f"            return (...,)          # one cotangent per argument\n"
        f"        return y, {name}_pullback",
    )


def _module_of(f: Any, name: str) -> str:
    """Where a function is found, as one writes it; ufuncs of NumPy and of SciPy do not say."""
    if not isinstance(f, np.ufunc):
        module: str = getattr(f, "__module__", None) or "np"
        return module.partition("._")[0].replace("numpy", "np")  # where users find it
    if getattr(np, name, None) is f:
        return "np"
    found = getattr(sys.modules.get("scipy.special"), name, None) is f
    return "scipy.special" if found else ""


registry.intercept = bind  # type: ignore[assignment]
