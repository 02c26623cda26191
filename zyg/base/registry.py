"""Which rule belongs to which function. Knows no tape.

A rule is one of four things:

* `ScalarRule`: partial derivatives, for a function of numbers that broadcasts elementwise;
* `Adjoint`: a function that returns ``y, pullback``;
* `Composed`: the function again, written in functions that have rules;
* `CONSTANT`: the function runs on the plain values and carries nothing.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any, overload

from zyg.base.marks import Named, is_formula
from zyg.base.signatures import A, Function, P, Q, R, Ruled, users_signature
from zyg.base.sinks import declared
from zyg.errors import AdjointError, is_users

CONSTANT = "constant"


class _Rules(dict[Any, Any]):
    """Rules by function; `version` counts the changes."""

    __slots__ = ("version",)

    def __init__(self) -> None:
        super().__init__()
        self.version = 0

    def __setitem__(self, function: Any, rule: Any) -> None:
        if function in self:  # somebody's own from now on
            short_ways.pop(function, None)
        super().__setitem__(function, rule)
        self.version += 1


rules = _Rules()

# A function -> what computes it in the commonest cases without its rule, or else returns None.
short_ways: dict[Any, Callable[..., Any]] = {}

# A type of functions that know their own derivatives -> by the name of a verb, what it asks first;
# which answers NotImplemented where the verb is to go its general way.
own_verbs: dict[type, dict[str, Callable[..., Any]]] = {}

# A package that zyg does without -> the module that registers the rules of its functions.
LATE = {"scipy.special": "zyg.scipy.special", "scipy.sparse": "zyg.scipy.sparse"}

# A class of functions that others make -> the module whose `rule_of` makes their rules.
MADE = {("numba.np.ufunc.dufunc", "DUFunc"): "zyg.broadcasting.vectorized"}


def late_rule(f: Any) -> Any:
    """The rule of a function that has none yet, once the packages in use have registered theirs.

    A function that has a rule by then, somebody's own, keeps it.
    """
    kind = type(f)
    if (module := MADE.get((kind.__module__, kind.__name__))) is not None:
        return import_module(module).rule_of(f)
    for package, module in LATE.items():
        if package in sys.modules:
            own = {} if module in sys.modules else dict(rules)
            import_module(module)
            rules.update(own)
    return rules.get(f)


class ScalarRule(Named):
    """`function` broadcasts; `partials[k]` is a number or a function of (*arguments, result).

    `saves[k]` says which of (*arguments, result) the k-th partial reads, so that nothing else is
    kept alive until the reverse pass; it is None until `find_saves` is asked, at the first use.
    """

    __slots__ = ("function", "name", "partials", "saves")
    made_by = "zyg.scalar_rule"

    def __init__(self, function: Callable[..., Any], partials: tuple[Any, ...]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", repr(function))
        self.partials = partials
        for k, partial in enumerate(partials):
            if callable(partial) and not _accepts(partial, len(partials) + 1):
                raise AdjointError(
                    f"the partial derivative {k} of {self.name} cannot be called with "
                    f"{len(partials)} arguments and the result.",
                    "a partial is a number or a function of the arguments and the result.",
                    "write lambda x, y: ... for one argument, lambda x1, x2, y: ... for two.",
                )
        self.saves: tuple[tuple[bool, ...], ...] | None = None

    def find_saves(self) -> tuple[tuple[bool, ...], ...]:
        """`saves`, read off the bytecode of the partials."""
        self.saves = tuple(_reads(p, len(self.partials) + 1) for p in self.partials)
        return self.saves

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return intercept(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<{self.made_by} {self.name}>"


# The names of arguments that are lists, whatever they hold.
_LISTS = {
    "arrays", "tup", "choices", "choicelist", "condlist", "funclist", "sample", "bins", "range",
    "shape", "new_shape", "window_shape", "reps", "repeats", "shift", "pad_width", "s",
    "axis", "axes", "source", "destination", "indices_or_sections", "ind", "obj", "kth",
    "args", "arguments", "extra_arguments", "parameters", "pattern",
    "bounds", "ranges", "t_span", "l_and_u", "lu_and_piv", "c_and_lower", "cb_and_lower", "c_or_cr",
}  # fmt: skip


class _Signed:
    """What has a signature, which is read when it is first asked for: there are hundreds."""

    def __init__(self, key: Callable[..., Any], function: Callable[..., Any]) -> None:
        self.key, self.function = key, function
        self.name = getattr(key, "__name__", repr(key))

    @functools.cached_property
    def ours(self) -> bool:
        """Whether zyg wrote it, in NumPy's functions; a user's may do anything."""
        return is_formula(self.function)

    @property
    def may_cut(self) -> bool:
        """Whether its pullback may compute with the plain value of a cotangent."""
        return not self.ours

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return users_signature(self.function)

    @functools.cached_property
    def positional(self) -> list[inspect.Parameter]:
        """The parameters that can be given by position."""
        of_a_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [p for p in self.signature.parameters.values() if p.kind in of_a_place]

    @functools.cached_property
    def variadic(self) -> bool:
        return any(p.kind is p.VAR_POSITIONAL for p in self.signature.parameters.values())

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of `positional`."""
        return {p.name: p.default for p in self.positional if p.default is not p.empty}

    @functools.cached_property
    def keywords(self) -> frozenset[str]:
        """The parameters that can be given by keyword only."""
        return frozenset(
            p.name for p in self.signature.parameters.values() if p.kind is p.KEYWORD_ONLY
        )

    def takes_array(self, k: int) -> bool:
        """Whether a list in place k of the arguments stands for an array, as NumPy reads it."""
        if k < len(self.positional):
            return self.positional[k].name not in _LISTS
        rest = (p for p in self.signature.parameters.values() if p.kind is p.VAR_POSITIONAL)
        return all(p.name not in _LISTS for p in rest)

    def without_keywords(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The same call with as few keywords as possible; TypeError where it is none."""
        full, left = [*args], dict(kwargs)
        for p in self.positional[len(args) :]:
            if p.name in left and p.kind is p.POSITIONAL_OR_KEYWORD:
                full.append(left.pop(p.name))
            elif p.name in self.defaults:
                full.append(self.defaults[p.name])
        beyond = len(full) - len(self.positional)
        fits = beyond == 0 or (beyond > 0 and self.variadic)
        if fits and left.keys() <= self.keywords:
            return full, left
        call = self.signature.bind(*args, **kwargs)
        call.apply_defaults()
        return call.args, call.kwargs


class Adjoint(Named, _Signed):
    """`rule(*args, **kwargs)` returns ``y, pullback``; calling the Adjoint applies it.

    With `strong`, its pullback is called as ``pullback(y_bar, strong)``, and keeps exact zeros zero
    where the second is true. `push(*args, **kwargs)` returns ``y, pushforward``. Without one,
    forward mode uses `linear`, the places of the arguments in each of which the function is linear,
    or else transposes the pullback.
    """

    made_by = "zyg.adjoint"
    push: Callable[..., Any] | None = None

    def __init__(
        self,
        key: Callable[..., Any],
        rule: Callable[..., Any],
        linear: tuple[int, ...] = (),
        strong: bool = False,
    ) -> None:
        functools.update_wrapper(self, rule)
        super().__init__(key, rule)
        self.rule, self.linear, self.strong = rule, linear, strong
        self.standalone = key is rule

    @functools.cached_property
    def is_users(self) -> bool:
        """Whether a user wrote the rule."""
        code = getattr(getattr(self.rule, "func", self.rule), "__code__", None)
        return code is not None and is_users(code.co_filename)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is FunctionType and self.standalone and not kwargs:
            return self._of_a_function(args[0])
        return intercept(self, args, kwargs)

    def _of_a_function(self, g: FunctionType) -> Any:
        """`adjoint(f)(g)`, where g may be meant as the rule of one's own function f."""
        try:
            return intercept(self, (g,), {})
        except (TypeError, AttributeError) as error:
            if len(users_signature(g).parameters) != len(self.signature.parameters):
                raise
            raise AdjointError(
                f"zyg.adjoint({self.name}) took {self.name} itself for a rule, and called it with "
                f"the function {g.__name__}: {error}",
                "zyg.adjoint(f) is for functions of NumPy and other libraries. Your own functions "
                "are called directly: there, zyg.adjoint turns a rule into a new function.",
                f"write @zyg.adjoint above {g.__name__}, have it return {self.name}'s value and "
                f"the pullback, and call that instead of {self.name}.",
            ) from error

    def pushforward(self, push: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule of forward mode, as a decorator: what returns ``y, pushforward``.

        ``pushforward(*tangents)`` takes a tangent for each positional argument, or None where it
        does not move, and returns the tangent of y. Where none is given, forward mode transposes
        the pullback, which is right for every rule and costs about what a reverse pass does.
        """
        self.push = push
        return push

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class Composed(_Signed):
    """`function` does what `key` does, in operations that have rules of their own."""


def intercept(rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a rule to arguments that may be watched; `_bind`, which knows the tape, replaces it."""
    raise NotImplementedError


def _reads(partial: Any, places: int) -> tuple[bool, ...]:
    """Which of its positional arguments a partial reads, from its bytecode; all, if it has none."""
    if not callable(partial):
        return (False,) * places
    if not isinstance(partial, FunctionType) or partial.__code__.co_flags & inspect.CO_VARARGS:
        return (True,) * places
    code = partial.__code__
    names: set[Any] = set()
    for instruction in dis.get_instructions(code):
        value = instruction.argval
        names.update(value if isinstance(value, tuple) else (value,))
    return tuple(name in names for name in code.co_varnames[:places])


def _accepts(partial: Callable[..., Any], places: int) -> bool:
    """Whether a partial can be called with this many arguments; a third one of a ufunc is out=."""
    if isinstance(partial, FunctionType):
        code = partial.__code__
        if code.co_argcount == places and not code.co_kwonlyargcount:
            return True
    if hasattr(partial, "nin"):
        return bool(partial.nin == places)
    try:
        users_signature(partial).bind(*[None] * places)
    except TypeError:
        return False
    except ValueError:  # a function in C that tells nothing about itself
        return True
    return True


@overload
def adjoint(
    key: Callable[P, tuple[R, Callable[..., Any]]], *, linear: tuple[int, ...] = ()
) -> Ruled[P, R]: ...
@overload
def adjoint(
    key: Callable[..., Any], *, linear: tuple[int, ...] = ()
) -> Callable[[Callable[Q, tuple[A, Callable[..., Any]]]], Ruled[Q, A]]: ...
def adjoint(key: Callable[..., Any], *, linear: tuple[int, ...] = ()) -> Any:
    """Register the rule of a function: what returns its value and its pullback.

    ``@adjoint(f)`` gives a rule to a function of NumPy's, or to another that dispatches on its
    arguments as NumPy does. A bare ``@adjoint`` makes a function with a rule out of one's own. A
    rule written in ``np.`` operations can itself be differentiated.

    Parameters
    ----------
    key : callable
        The function that gets a rule; for a bare ``@adjoint`` the rule itself. A rule receives the
        arguments as the caller wrote them, plain, arrays read-only, and returns ``(y, pullback)``.
        The pullback takes the cotangent of y and returns a tuple with one cotangent per positional
        argument: a value of that argument's shape, None, or a callable without arguments, which is
        called only where that argument is watched.
    linear : tuple of int, default ()
        The places of arguments in each of which, the others held, the function is linear. Its
        forward rule is then the function itself; ``@cube.pushforward`` gives one of another form.

    Returns
    -------
    callable
        The function with its rule; with a `key` that is not the rule, a decorator for the rule.

    Raises
    ------
    AdjointError
        On the way back, where a pullback returns the wrong number or shape of cotangents.

    Examples
    --------
    >>> import zyg
    >>> @zyg.adjoint
    ... def cube(x):
    ...     def cube_pullback(y_bar):
    ...         return (y_bar * 3 * x**2,)
    ...     return x**3, cube_pullback
    >>> zyg.gradient(cube, 2.0)
    (12.0,)
    """
    if isinstance(key, (FunctionType, MethodType, functools.partial)):
        return Adjoint(key, key)

    def register(rule: Callable[..., Any]) -> Adjoint:
        rules[key] = made = Adjoint(key, rule, linear)
        return made

    return register


def composed(key: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register how a function is written in others that have rules; nothing else is needed."""

    def register(function: Function) -> Function:
        rules[key] = Composed(key, function)
        return function

    return register


def scalar_rule(function: Callable[P, R], *partials: Any) -> Callable[P, R]:
    """Register the partial derivatives of an elementwise function, one per argument.

    Parameters
    ----------
    function : callable
        A function of numbers, which broadcasts where arrays are given.
    *partials
        For each argument a number, or a callable of the arguments and the result: ``partial(x,
        y)``, ``partial(x1, x2, y)``.

    Returns
    -------
    callable
        A function that applies the rule, for functions that do not dispatch on their arguments, as
        those of math do not.

    Raises
    ------
    AdjointError
        Where a partial cannot be called like that.

    Examples
    --------
    >>> import math, zyg
    >>> def logistic(x):
    ...     return 1 / (1 + math.exp(-x))
    >>> smooth_step = zyg.scalar_rule(logistic, lambda x, y: y * (1 - y))
    >>> zyg.gradient(smooth_step, 0.0)
    (0.25,)
    """
    rules[function] = rule = ScalarRule(function, partials)
    return rule


@overload
def nondifferentiable(function: Function, /) -> Function: ...  # type: ignore[overload-overlap]
@overload
def nondifferentiable(*functions: Callable[..., Any] | str) -> None: ...
def nondifferentiable(*functions: Callable[..., Any] | str) -> Any:
    """Declare functions that carry no derivative: they run on the plain values.

    A function that dispatches on its arguments as NumPy's do is known from then on. Any other runs
    on plain values where it is called through what this returns, so that it is a decorator, too.
    A dotted name is that of a function, a class, a module or a package that only looks at values,
    to draw, print or log them: where it, or an installed library that it calls, converts a watched
    value, it gets the plain one. It is not imported, nor need it be loaded yet. Never raises.

    Parameters
    ----------
    *functions
        The functions, or dotted names.

    Returns
    -------
    callable or None
        The function to call; None for several, and for a name.

    Examples
    --------
    >>> import zyg
    >>> @zyg.nondifferentiable
    ... def level(x):
    ...     return float(x) // 2
    >>> zyg.gradient(lambda x: x * level(x), 7.0)
    (3.0,)
    """
    for function in functions:
        if isinstance(function, str):
            declared[function] = None
        else:
            rules[function] = CONSTANT
    if len(functions) != 1:
        return None
    function = functions[0]
    if not isinstance(function, FunctionType):
        return None if isinstance(function, str) else function

    @functools.wraps(function)
    def on_plain_values(*args: Any, **kwargs: Any) -> Any:
        return intercept(function, args, kwargs)

    return on_plain_values
