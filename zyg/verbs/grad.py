"""`grad` and `value_and_grad`: functions that return gradients of some of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Literal, overload

from zyg.base.borders import border, shorten
from zyg.base.marks import made_by, name_of, verb
from zyg.base.registry import own_verbs
from zyg.base.signatures import A, P, R, X
from zyg.core.strand import strip
from zyg.errors import ArgumentError, NonScalarOutputError
from zyg.verbs.gradients import traced


@overload
def grad(
    f: Callable[Concatenate[X, P], Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[X, P], X | Any]: ...
@overload
def grad(
    f: Callable[Concatenate[X, P], tuple[Any, A]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[X, P], tuple[X | Any, A]]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: tuple[int, ...], has_aux: Literal[False] = False
) -> Callable[P, tuple[Any, ...]]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: int, has_aux: Literal[False] = False
) -> Callable[P, Any]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: int | tuple[int, ...], has_aux: bool
) -> Callable[P, Any]: ...
@verb
def grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function of f's arguments that returns the gradient of f with respect to one of them.

    Parameters
    ----------
    f : callable
        Returns one real number; with `has_aux`, a pair ``(number, anything else)``. May be a
        method, a partial, a compiled or an elementwise function. An async f is run under trio.
    argnums : int or tuple of ints
        Which positional arguments to differentiate, counted from 0; from the last if negative.
        All others, and keywords, are passed on as they are.
    has_aux : bool
        Whether f returns a pair, of which only the first part is differentiated.

    Returns
    -------
    callable
        Has the name, docstring and signature of f. It returns the gradient, in the structure of
        the argument (see `gradient`), zeros where nothing depends on it; a tuple of gradients if
        `argnums` is a tuple; ``(gradient, aux)`` with `has_aux`.

    Raises
    ------
    ArgumentError
        `argnums` is no int or tuple of different ints, is out of range in a call, or names an
        argument without numbers.
    NonScalarOutputError
        f returns anything else.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.grad(lambda x, y: x * y)(2.0, 3.0)
    3.0
    >>> zyg.grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    (3.0, 2.0)
    >>> zyg.grad(zyg.grad(lambda x: x**3))(1.0)
    6.0

    """
    if not has_aux:
        chosen, whole = _chosen(argnums, "zyg.grad")

        def gradient_of(*args: Any, **kwargs: Any) -> Any:
            try:
                if len(args) == whole and not kwargs:
                    some, found = args, _by_all("gradient", f, args)
                else:
                    some, (_, found) = _found("gradient", f, chosen, args, kwargs)
                return _bare(found, f, chosen, some, "zyg.grad")
            except BaseException as error:
                shorten(error)
                raise

        return _named(gradient_of, f, "grad", chosen, has_aux)
    both = value_and_grad(f, argnums, has_aux=True)

    @border
    def gradient_and_aux(*args: Any, **kwargs: Any) -> Any:
        (_, aux), found = both(*args, **kwargs)
        return found, aux

    return _named(gradient_and_aux, f, "grad", argnums, has_aux)


@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[X, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[X, P], tuple[R, X | Any]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[X, P], tuple[R, A]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[X, P], tuple[tuple[R, A], X | Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, R], argnums: tuple[int, ...], has_aux: Literal[False] = False
) -> Callable[P, tuple[R, tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    f: Callable[P, Any], argnums: int, has_aux: Literal[False] = False
) -> Callable[P, tuple[Any, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, Any], argnums: int | tuple[int, ...], has_aux: bool
) -> Callable[P, tuple[Any, Any]]: ...
@verb
def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function of f's arguments that returns the value of f and its gradient, as `grad` does.

    Parameters
    ----------
    f : callable
        As for `grad`.
    argnums : int or tuple of ints
        As for `grad`.
    has_aux : bool
        As for `grad`.

    Returns
    -------
    callable
        Returns ``(value, gradient)``, or ``((value, aux), gradient)`` with `has_aux`.

    Raises
    ------
    ArgumentError, NonScalarOutputError
        As for `grad`.

    Examples
    --------
    >>> import numpy as np, scipy.optimize, zyg
    >>> def loss(x):
    ...     return np.sum((x - 1.0) ** 2)
    >>> zyg.value_and_grad(loss)(np.array([0.0, 1.0]))
    (np.float64(1.0), array([-2.,  0.]))
    >>> scipy.optimize.minimize(zyg.value_and_grad(loss), np.zeros(2), jac=True).x.round(6)
    array([1., 1.])

    """
    chosen, whole = _chosen(argnums, "zyg.value_and_grad")

    def value_and_gradient_of(*args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) == whole and not kwargs:
                some, (value, found) = args, _by_all("value_and_gradient", f, args)
            else:
                some, (value, found) = _found("value_and_gradient", f, chosen, args, kwargs)
            if has_aux != (type(value) is tuple) or (has_aux and len(value) != 2):
                raise _unexpected(f, value, has_aux)
            return value, _bare(found, f, chosen, some, "zyg.value_and_grad")
        except BaseException as error:
            shorten(error)
            raise

    return _named(value_and_gradient_of, f, "value_and_grad", chosen, has_aux)


def _named(
    function: Callable[..., Any], f: Callable[..., Any], made: str, *options: Any
) -> Callable[..., Any]:
    """`function`, made by a verb with these options; the name, docstring and signature are f's."""
    named = functools.wraps(f, updated=())(function)
    if not hasattr(f, "__name__"):  # a partial, an object
        named.__name__ = getattr(getattr(f, "func", f), "__name__", type(f).__name__)
    return made_by(made, named, *options)


def _chosen(argnums: Any, verb: str) -> tuple[int | tuple[int, ...], int | None]:
    """`argnums`, checked; how many arguments there are if those are all, in order."""
    some = argnums if isinstance(argnums, tuple) else (argnums,)
    if some and all(type(k) is int for k in some) and len({*some}) == len(some):
        return argnums, len(some) if some == (*range(len(some)),) else None
    raise ArgumentError(
        f"{verb} was given argnums={argnums!r}.",
        "it says which positional arguments to differentiate.",
        "pass an int, or a tuple of different ints: argnums=(0, 1).",
    )


def _found(
    verb: str, f: Callable[..., Any], chosen: int | tuple[int, ...], args: Any, kwargs: Any
) -> tuple[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]:
    """The chosen arguments; the value, None for "gradient", and the gradients by them."""
    n = len(args)
    some = chosen if isinstance(chosen, tuple) else (chosen,)
    if not all(-n <= k < n for k in some) or len({k % n for k in some}) < len(some):
        given = f"{n} positional argument{'s' * (n != 1)}"
        raise ArgumentError(
            f"zyg.{verb.replace('gradient', 'grad')} was to differentiate {name_of(f)} by "
            f"argnums={chosen!r}; it was called with {given}.",
            "argnums counts the positional arguments of the call, from 0; keywords are constant.",
            "pass the argument by its place, or change argnums.",
        )
    places = tuple(k % n for k in some)
    picked = tuple(args[k] for k in places)
    is_all = places == (*range(n),) and not kwargs
    own = {} if kwargs or is_all else own_verbs.get(type(f), {})
    if own and (found := own["by places"](f, verb, places, args)) is not NotImplemented:
        return picked, (found[0], tuple(found[1][k] for k in places))

    def inner(*some: Any) -> Any:
        whole = [*args]
        for k, x in zip(places, some, strict=True):
            whole[k] = x
        return f(*whole, **kwargs)

    inner.__name__ = name_of(f)
    by_all = _by_all(verb, f if is_all else inner, picked)
    return picked, (None, by_all) if verb == "gradient" else by_all


def _by_all(verb: str, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a verb gives by all arguments, with zeros."""
    found = NotImplemented
    if (own := type(f)) in own_verbs:
        found = own_verbs[own][verb](f, args, {}, True)
    if found is NotImplemented:
        found = traced(verb, f, args, {}, True)
    return found


def _bare(
    found: tuple[Any, ...], f: Any, chosen: int | tuple[int, ...], some: tuple[Any, ...], verb: str
) -> Any:
    """The gradient alone, or the tuple of those that were asked for."""
    if isinstance(chosen, int):
        if found[0] is None:
            _refuse(f, some[0], chosen, verb)
        return found[0]
    for k, x, g in zip(chosen, some, found):  # noqa: B905 - as many
        if g is None:
            _refuse(f, x, k, verb)
    return found


def _refuse(f: Any, x: Any, k: int, verb: str) -> None:
    kind = type(strip(x)).__name__
    raise ArgumentError(
        f"{verb} was to differentiate {name_of(f)} by its argument {k}, a {kind}.",
        "there is no number in it that could be varied.",
        "choose another argument with argnums=, or pass floats.",
    )


def _unexpected(f: Any, value: Any, has_aux: bool) -> NonScalarOutputError:
    what = f"a tuple of {len(value)}" if type(value) is tuple else f"a {type(value).__name__}"
    return NonScalarOutputError(
        f"{name_of(f)} returned {what}; zyg.value_and_grad needs "
        f"{'a pair (number, anything else)' if has_aux else 'one real number'}.",
        f"has_aux={has_aux} was given.",
        "return (loss, aux)." if has_aux else "say has_aux=True if f returns (loss, aux).",
    )
