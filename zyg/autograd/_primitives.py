"""Functions with derivatives in autograd's form, as rules of zyg's.

A maker of cotangents, ``maker(k, ans, args, kwargs)``, returns the function of the cotangent of the
result that gives that of argument k, or None where nothing flows. A maker of tangents,
``maker(argnums, tangents, ans, args, kwargs)``, returns the tangent of the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np

from zyg.autograd._conventions import conjugate
from zyg.base.registry import CONSTANT, Composed, late_rule
from zyg.core.trace import watchable
from zyg.errors import AbsentError, MissingRuleError
from zyg.functions.kit import Adjoint, rules, watched_leaves
from zyg.verbs.gradients import pullback
from zyg.verbs.structures import map as mapped

Maker = Callable[..., Any]
_DEPRECATED = ("defgrad", "defgrads", "defvjp", "defvjp_all", "defvjps", "defvjp_is_zero")

# The makers of cotangents and of tangents that users gave, by function.
primitive_vjps: dict[Any, Maker] = {}
primitive_jvps: dict[Any, Maker] = {}


class Primitive(Adjoint):
    """A function whose derivatives are those that were given for it, in autograd's form.

    One of NumPy's or SciPy's keeps the rule that it had before for what was not given.
    """

    made_by = "zyg.autograd.primitive"

    def __init__(self, fun: Callable[..., Any], key: Any = None, before: Any = None) -> None:
        rule: Any = functools.partial(self._ruled)
        functools.update_wrapper(rule, fun, updated=())
        del rule.__wrapped__  # whose signature would turn keywords into positions
        rule.__code__ = getattr(fun, "__code__", None)  # where messages say that it is written
        super().__init__(key or rule, rule)
        functools.update_wrapper(self, fun, updated=())
        self.fun, self.name = fun, getattr(fun, "__name__", repr(fun))
        self.before = before.function if isinstance(before, Composed) else before

    def __getattr__(self, name: str) -> Any:
        if name in _DEPRECATED:
            raise AbsentError(
                f"a primitive has no {name}.",
                "autograd deprecates it, and will remove it.",
                f"write defvjp({self.__name__}, ...), of zyg.autograd.extend.",
            )
        raise AttributeError(f"a primitive has no attribute {name!r}", name=name)

    def _value(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        outer = watched_leaves((args, kwargs))
        return self(*args, **kwargs) if outer else self.fun(*args, **kwargs)

    def _ruled(self, *args: Any, **kwargs: Any) -> Any:
        if self.before is not None and self.fun not in primitive_vjps:
            return pullback(functools.partial(self.before, **kwargs), *args)
        y = self._value(args, kwargs)

        def primitive_pullback(y_bar: Any) -> Any:
            g = conjugate(y_bar if watchable(y) else mapped(lambda _, bar: bar, y, y_bar))

            def bar(k: int) -> Any:
                vjp = _known(primitive_vjps, self, "vjp", (k,))(k, y, args, kwargs)
                return None if vjp is None else conjugate(vjp(g))

            return tuple([functools.partial(bar, k) for k in range(len(args))])

        return y, primitive_pullback

    def _pushed(self, *args: Any, **kwargs: Any) -> Any:
        y = self._value(args, kwargs)

        def primitive_pushforward(*tangents: Any) -> Any:
            argnums = tuple([k for k, t in enumerate(tangents) if t is not None])
            jvp = _known(primitive_jvps, self, "jvp", argnums)
            return jvp(argnums, [tangents[k] for k in argnums], y, args, kwargs)

        return y, primitive_pushforward


def _known(makers: dict[Any, Maker], f: Primitive, kind: str, argnums: tuple[int, ...]) -> Maker:
    for key in (f, f.fun):
        if key in makers:
            return makers[key]
    raise _lacking(f, kind, argnums)


def _lacking(f: Any, kind: str, argnums: tuple[int, ...]) -> MissingRuleError:
    name = getattr(f, "__name__", repr(f))
    places = f"argument{'s' * (len(argnums) != 1)} {', '.join(map(str, argnums))}"
    return MissingRuleError(
        f"{name} is a primitive without a {kind} for {places}.",
        "its derivative would be lost.",
        f"give it one by def{kind} of zyg.autograd.extend, or None where nothing flows.",
    )


def primitive(f: Callable[..., Any]) -> Primitive:
    """`f` as one step of a tape, whose derivatives `defvjp` and `defjvp` give.

    Parameters
    ----------
    f : callable
        Gets plain values.

    Returns
    -------
    callable
        Does what f does. Raises MissingRuleError where a derivative is asked for that it lacks.

    Examples
    --------
    >>> import numpy as np, zyg.autograd as autograd
    >>> from zyg.autograd.extend import defvjp, primitive
    >>> cube = primitive(lambda x: x**3)
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
    >>> autograd.grad(cube)(2.0)
    np.float64(12.0)
    """
    return Primitive(f)


def _rule_of(fun: Any) -> tuple[Any, Primitive]:
    """The function that a derivative is given for, and its rule: a new one for one of NumPy's."""
    if isinstance(fun, Primitive):
        return fun, fun
    fun = getattr(fun, "original", fun)  # of a drop-in
    before = rules.get(fun) or late_rule(fun)
    if isinstance(before, Primitive):
        return fun, before
    rule = Primitive(fun, fun, None if before is CONSTANT else before)
    if before is not None or not isinstance(fun, FunctionType):  # which is followed inside
        rules[fun] = rule
    return fun, rule


def defvjp_argnum(fun: Any, vjpmaker: Maker) -> None:
    """Give cotangents: ``vjpmaker(argnum, ans, args, kwargs)`` is a function of that of ans."""
    primitive_vjps[_rule_of(fun)[0]] = vjpmaker


def defvjp_argnums(fun: Any, vjpmaker: Maker) -> None:
    """Give cotangents of several: ``vjpmaker(argnums, ans, args, kwargs)``, in a sequence."""

    def maker(k: int, ans: Any, args: Any, kwargs: Any) -> Any:
        return lambda g: next(iter(vjpmaker((k,), ans, args, kwargs)(g)))

    defvjp_argnum(fun, maker)


def defvjp(fun: Any, *vjpmakers: Maker | None, argnums: Iterable[int] | None = None) -> None:
    """Give a function cotangents, one maker for each argument, or for those of `argnums`.

    Parameters
    ----------
    fun : callable
        Made by `primitive`; or a function of NumPy's, whose rule in zyg this replaces. Any other
        is followed into its own operations, as autograd does.
    *vjpmakers : callable or None
        ``vjpmaker(ans, *args, **kwargs)`` returns a function of the cotangent of ans, which returns
        that of the argument. None: nothing flows to it. Complex cotangents are the conjugates of
        zyg's.
    argnums : iterable of int, optional
        Which arguments these are.
    """
    by_place = dict(zip(count() if argnums is None else argnums, vjpmakers, strict=False))

    def maker(k: int, ans: Any, args: Any, kwargs: Any) -> Any:
        if k not in by_place:
            raise _lacking(fun, "vjp", (k,))
        made = by_place[k]
        return None if made is None else made(ans, *args, **kwargs)

    defvjp_argnum(fun, maker)


def defjvp_argnums(fun: Any, jvpmaker: Maker) -> None:
    """Give tangents: ``jvpmaker(argnums, tangents, ans, args, kwargs)`` is that of ans."""
    fun, rule = _rule_of(fun)
    primitive_jvps[fun] = jvpmaker
    rule.push = rule._pushed


def defjvp_argnum(fun: Any, jvpmaker: Maker) -> None:
    """Give parts of tangents: ``jvpmaker(argnum, tangent, ans, args, kwargs)``, which are added."""

    def maker(argnums: Any, tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [jvpmaker(k, g, ans, args, kwargs) for k, g in zip(argnums, tangents, strict=True)]
        parts = [part for part in parts if part is not None] or [mapped(_zero, ans)]
        return functools.reduce(lambda a, b: mapped(lambda x, y: x + y, a, b), parts)

    defjvp_argnums(fun, maker)


def _zero(y: Any) -> Any:
    return np.zeros_like(y)[()]


def defjvp(fun: Any, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """Give a function tangents, one function for each argument, or for those of `argnums`.

    Parameters
    ----------
    fun : callable
        As for `defvjp`.
    *jvpfuns : callable, "same" or None
        ``jvp(g, ans, *args, **kwargs)`` returns the tangent of ans for that of the argument.
        "same": the function itself, of the tangent in its place. None: nothing moves.
    argnums : iterable of int, optional
        Which arguments these are.
    """
    by_place = dict(zip(count() if argnums is None else argnums, jvpfuns, strict=False))

    def maker(k: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if k not in by_place:
            raise _lacking(fun, "jvp", (k,))
        jvp = by_place[k]
        if jvp == "same":
            return fun(*args[:k], g, *args[k + 1 :], **kwargs)
        return None if jvp is None else jvp(g, ans, *args, **kwargs)

    defjvp_argnum(fun, maker)


def def_linear(fun: Any) -> None:
    """Say that a function is linear in each of its arguments, for forward mode."""
    defjvp_argnum(fun, lambda k, g, ans, args, kwargs: fun(*args[:k], g, *args[k + 1 :], **kwargs))
