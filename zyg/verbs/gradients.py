"""The verbs of reverse mode: what a user calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, overload

import numpy as np

from zyg.base.array_types import array_type, is_array, is_complex
from zyg.base.borders import shorten
from zyg.base.containers import Unfollowed
from zyg.base.labelled import labelled_kind
from zyg.base.marks import stops_gradient, verb
from zyg.base.registry import adjoint, own_verbs
from zyg.base.signatures import P, Pullback, R, Ts, X, Y, Z
from zyg.base.structure import Structure, is_number
from zyg.core.endings import finish, unfinished
from zyg.core.strand import cut, is_watched, strip
from zyg.core.trace import Trace, copy_out
from zyg.core.views import float_dtype
from zyg.errors import (
    ComplexOutputError,
    MissingRuleError,
    NonScalarOutputError,
)


def seed_of_one(trace: Trace, value: Any) -> Any:
    """The cotangent 1 of a real number; raises where `value` is anything else."""
    if type(value) is np.float64 or type(value) is float:
        return type(value)(1)
    plain = strip(value)
    if (kind := labelled_kind(type(plain))) is not None and len(parts := kind.parts(plain)) == 1:
        return seed_of_one(trace, parts[0][1])
    if is_complex(plain):
        raise ComplexOutputError(
            f"{trace.name} returned a complex value; gradient needs one real number.",
            "a complex result has two derivatives, one of its real and one of its imaginary part.",
            "return y.real, y.imag or abs(y), or use zyg.pullback(f, z) with a cotangent of y; "
            "zyg.holomorphic(f, z) is the complex derivative df/dz, zyg.wirtinger has both.",
        )
    plain = array_type(plain).enter(plain)
    array = is_array(plain)
    if array and plain.shape == () and plain.dtype.kind in "fiu":
        return np.ones_like(plain, dtype=float_dtype(plain.dtype))
    if array and plain.shape == () and plain.dtype.hasobject:
        seed = np.empty((), object)
        seed[()] = seed_of_one(trace, value[()])
        return seed
    if not is_number(plain):
        raise _no_number(trace.name, plain)
    if isinstance(plain, (float, np.floating)):
        return type(plain)(1)
    return 1.0 if isinstance(plain, (int, np.integer)) else 1


def _no_number(name: str, y: Any) -> NonScalarOutputError:
    if y is None:
        return NonScalarOutputError(
            f"{name} returned None; gradient needs one real number.",
            "so does a function that has no return statement.",
            "return the number.",
        )
    what = f"an array of shape {y.shape}" if is_array(y) else f"a {type(y).__name__}"
    return NonScalarOutputError(
        f"{name} returned {what}; gradient needs one real number.",
        "only a number has a gradient; an array has a Jacobian.",
        "reduce it (np.sum(y)), or use zyg.pullback(f, x) with a cotangent of y; "
        "value_and_gradient takes a tuple (loss, aux...).",
    )


def seed_of_loss(trace: Trace) -> Any:
    """The cotangent 1 of a loss, which is the value or the first of a tuple (loss, aux...)."""
    if type(trace.y) is tuple and trace.y:
        return (seed_of_one(trace, trace.y[0]), *[None] * (len(trace.y) - 1))
    return seed_of_one(trace, trace.y)


def traced(
    verb: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], zeros: bool
) -> Any:
    """What a verb gives by the tracer: "gradient", or "value_and_gradient"."""
    trace = None
    try:
        trace = Trace(f, args, kwargs, once=True)
        if verb == "gradient":
            found: Any = trace.back(seed_of_one(trace, trace.y), zeros)
        else:
            found = trace.y, trace.back(seed_of_loss(trace), zeros)
        trace.close()
        return found
    except BaseException:
        if trace is not None:  # now, though the exception may keep this frame
            unfinished.append(trace)
            finish()
        raise


@overload
def pullback(f: Callable[[*Ts], Awaitable[R]], /, *args: *Ts) -> tuple[R, Pullback]: ...
@overload
def pullback(f: Callable[[*Ts], R], /, *args: *Ts) -> tuple[R, Pullback]: ...
@overload
def pullback(f: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[R, Pullback]: ...
@verb  # type: ignore[misc]
def pullback(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
    """The value of ``f(*args, **kwargs)`` and its pullback.

    Parameters
    ----------
    f : callable
        The function. It may be async.
    *args
        Its arguments, by which it is differentiated: numbers, arrays, any structure of them. Large
        arrays are read-only while f runs; afterwards they may be overwritten.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    y
        What f returned.
    back : callable
        ``back(y_bar)`` takes a cotangent of y, of its structure and shapes, and returns a tuple
        with the cotangent of each positional argument; ``back(y_bar, zeros=True)`` has zeros
        instead of None where nothing depends on an argument. It may be called again, and from
        several threads.

    Raises
    ------
    StructureError
        From `back`, where y_bar does not fit y.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> y, back = zyg.pullback(np.multiply, np.array([1.0, 2.0]), 3.0)
    >>> y, back(np.array([1.0, 10.0]))
    (array([3., 6.]), (array([ 3., 30.]), 21.0))
    """
    trace = None
    try:
        trace = Trace(f, args, kwargs, arguments="lent")
        y = trace.hand_over()
    except BaseException as error:
        if trace is not None:
            unfinished.append(trace)
            finish()
        shorten(error)
        raise

    def back(y_bar: Any, *, zeros: bool = False) -> tuple[Any, ...]:
        try:
            return trace.back(y_bar, zeros)
        except BaseException as error:
            shorten(error)
            raise

    return y, back


@overload
def gradient(f: Callable[[X], Any], x: X, /, *, zeros: bool = False) -> tuple[X | Any]: ...
@overload
def gradient(
    f: Callable[[X, Y], Any], x: X, y: Y, /, *, zeros: bool = False
) -> tuple[X | Any, Y | Any]: ...
@overload
def gradient(
    f: Callable[[X, Y, Z], Any], x: X, y: Y, z: Z, /, *, zeros: bool = False
) -> tuple[X | Any, Y | Any, Z | Any]: ...
@overload
def gradient(f: Callable[..., Any], *args: Any, zeros: bool, **kwargs: Any) -> tuple[Any, ...]: ...
@overload
def gradient(f: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> tuple[Any, ...]: ...
@verb  # type: ignore[misc]  # the types cannot say that f has no parameter `zeros`
def gradient(
    f: Callable[..., Any], *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The gradient of ``f(*args, **kwargs)``, a real number: one per positional argument.

    Parameters
    ----------
    f : callable
        Returns a real number; an array of no axes is one. It may be async.
    *args
        Its arguments, by which it is differentiated: numbers, arrays, any structure of them.
    zeros : bool, default False
        Whether the gradient is zero instead of None where nothing depends on an argument.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    tuple
        For each positional argument its gradient, with the structure, shapes and dtypes of the
        argument: containers stay what they are, other objects become `Tangent`. None where nothing
        depends on the argument. For complex arguments it is x_bar + i y_bar, the direction of
        steepest ascent.

    Raises
    ------
    NonScalarOutputError
        Where f returns anything but one real number.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.gradient(lambda x, y: np.sum(x * y), np.array([1.0, 2.0]), 3.0)
    (array([3., 3.]), 3.0)
    """
    try:
        if (own := type(f)) in own_verbs:
            found = own_verbs[own]["gradient"](f, args, kwargs, zeros)
            if found is not NotImplemented:
                return found  # type: ignore[no-any-return]
        return traced("gradient", f, args, kwargs, zeros)  # type: ignore[no-any-return]
    except BaseException as error:
        shorten(error)
        raise


@overload
def value_and_gradient(
    f: Callable[[*Ts], Awaitable[R]], /, *args: *Ts, zeros: bool = False
) -> tuple[R, tuple[Any, ...]]: ...
@overload
def value_and_gradient(
    f: Callable[[X], R], x: X, /, *, zeros: bool = False
) -> tuple[R, tuple[X | Any]]: ...
@overload
def value_and_gradient(
    f: Callable[[X, Y], R], x: X, y: Y, /, *, zeros: bool = False
) -> tuple[R, tuple[X | Any, Y | Any]]: ...
@overload
def value_and_gradient(
    f: Callable[[X, Y, Z], R], x: X, y: Y, z: Z, /, *, zeros: bool = False
) -> tuple[R, tuple[X | Any, Y | Any, Z | Any]]: ...
@overload
def value_and_gradient(
    f: Callable[..., Any], *args: Any, zeros: bool, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]: ...
@overload
def value_and_gradient(
    f: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> tuple[R, tuple[Any, ...]]: ...
@verb  # type: ignore[misc]
def value_and_gradient(
    f: Callable[..., Any], *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The value of ``f(*args, **kwargs)`` and its gradient, as `gradient` gives it.

    Parameters
    ----------
    f : callable
        Returns a real number, or a tuple (loss, aux...), of which the first is differentiated.
    *args
        Its arguments, by which it is differentiated.
    zeros : bool, default False
        Whether the gradient is zero instead of None where nothing depends on an argument.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    value
        What f returned, with aux as f left it.
    gradient : tuple
        For each positional argument its gradient.

    Raises
    ------
    NonScalarOutputError
        As `gradient` does.

    Examples
    --------
    >>> import zyg
    >>> zyg.value_and_gradient(lambda x: (x * x, "a note"), 3.0)
    ((9.0, 'a note'), (6.0,))
    """
    try:
        if (own := type(f)) in own_verbs:
            found = own_verbs[own]["value_and_gradient"](f, args, kwargs, zeros)
            if found is not NotImplemented:
                return found  # type: ignore[no-any-return]
        return traced("value_and_gradient", f, args, kwargs, zeros)  # type: ignore[no-any-return]
    except BaseException as error:
        shorten(error)
        raise


@verb
@adjoint
def hook(g: Callable[[X], X], x: X) -> tuple[X, Callable[[X], tuple[None, X]]]:
    """`x`, whose cotangent passes through `g` on the way back.

    The outer level of a Hessian (`hvp`, `hessian`, forward over reverse) differentiates what g
    makes of the cotangent, as part of the gradient that it is.

    Parameters
    ----------
    g : callable
        Takes the cotangent of x and returns the one to go on with, of the same structure and
        shapes.
    x
        A number, an array or a structure of them.

    Returns
    -------
    same type as x
        x itself, as a new value.

    Raises
    ------
    MissingRuleError
        In forward mode by itself: it has no cotangents, and a tangent that passes unchanged would
        give another derivative than the reverse pass.

    Examples
    --------
    >>> import zyg
    >>> zyg.gradient(lambda x: 2 * zyg.hook(lambda x_bar: -x_bar, x), 1.0)
    (-2.0,)
    """

    def hook_pullback(x_bar: X) -> tuple[None, X]:
        return None, g(x_bar)

    return x, hook_pullback


@hook.pushforward  # type: ignore[untyped-decorator]
def hook_forward(g: Callable[[Any], Any], x: Any) -> Any:
    raise MissingRuleError(
        "zyg.hook works in reverse mode only.",
        "a hook acts on cotangents, and forward mode has tangents only.",
        'take the derivative in reverse mode: gradient, or jacobian(..., mode="reverse"); hvp and '
        "hessian work too.",
        tag="hook",
    )


@stops_gradient
def stop_gradient(x: X) -> X:
    """`x` as a constant: the plain value of a number, an array or a structure of them.

    `primal` is another name for it. Never raises.

    Parameters
    ----------
    x
        Anything. What is not watched is returned as it is.

    Returns
    -------
    same type as x
        The plain value.

    Examples
    --------
    >>> import zyg
    >>> zyg.gradient(lambda x: x * zyg.stop_gradient(x), 3.0)
    (3.0,)
    """
    inside = Structure(x, lambda x: is_watched(x) or isinstance(x, Unfollowed))
    plain = [
        copy_out(v.value if isinstance(v, Unfollowed) else cut(v, "stop_gradient"))
        for v in inside.leaves
    ]
    return inside.rebuild(plain)  # type: ignore[no-any-return]


primal = stop_gradient
