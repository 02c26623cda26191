"""The verbs of reverse mode: what a user calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, is_array
from zyg.base.labelled import labelled_kind
from zyg.base.marks import stops_gradient, verb
from zyg.base.registry import adjoint, own_verbs
from zyg.base.scalar_rules import is_complex
from zyg.base.structure import Structure, is_number
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
        what = f"an array of shape {plain.shape}" if array else f"a {type(plain).__name__}"
        raise NonScalarOutputError(
            f"{trace.name} returned {what}; gradient needs one real number.",
            "only a number has a gradient; an array has a Jacobian.",
            "reduce it (np.sum(y)), or use zyg.pullback(f, x) with a cotangent of y; "
            "value_and_gradient takes a tuple (loss, aux...).",
        )
    if isinstance(plain, (float, np.floating)):
        return type(plain)(1)
    return 1.0 if isinstance(plain, (int, np.integer)) else 1


def seed_of_loss(trace: Trace) -> Any:
    """The cotangent 1 of a loss, which is the value or the first of a tuple (loss, aux...)."""
    if type(trace.y) is tuple and trace.y:
        return (seed_of_one(trace, trace.y[0]), *[None] * (len(trace.y) - 1))
    return seed_of_one(trace, trace.y)


@verb
def pullback(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of ``f(*args, **kwargs)`` and its pullback.

    ``back(y_bar)`` takes a cotangent of the value (its structure and shapes) and returns a tuple
    with the cotangent of each positional argument; ``back(y_bar, zeros=True)`` gives zeros instead
    of None where nothing depends on an argument. `back` may be called again, and from several
    threads, and the arguments may be overwritten; large ones are read-only while f runs. Raises
    `StructureError` where y_bar does not fit the value.

    >>> import numpy as np, zyg
    >>> y, back = zyg.pullback(np.multiply, np.array([1.0, 2.0]), 3.0)
    >>> y, back(np.array([1.0, 10.0]))
    (array([3., 6.]), (array([ 3., 30.]), 21.0))

    """
    trace = Trace(f, args, kwargs, arguments="lent")

    def back(y_bar: Any, *, zeros: bool = False) -> tuple[Any, ...]:
        return trace.back(y_bar, zeros)

    return trace.hand_over(), back


@verb
def gradient(
    f: Callable[..., Any], *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The gradient of ``f(*args, **kwargs)``, a real number: one per positional argument.

    It has the structure, shapes and dtypes of its argument: containers stay what they are,
    other objects become `Tangent`. It is None where nothing depends on the argument, or zeros with
    ``zeros=True``. For complex arguments it is x_bar + i y_bar, the direction of steepest ascent.
    Raises `NonScalarOutputError` when f returns anything but one real number.

    >>> import numpy as np, zyg
    >>> zyg.gradient(lambda x, y: np.sum(x * y), np.array([1.0, 2.0]), 3.0)
    (array([3., 3.]), 3.0)

    """
    own = own_verbs.get(type(f))
    if own and (found := own["gradient"](f, args, kwargs, zeros)) is not NotImplemented:
        return found  # type: ignore[no-any-return]
    trace = Trace(f, args, kwargs, once=True)
    try:
        return trace.back(seed_of_one(trace, trace.y), zeros)
    finally:  # now, though an exception may keep this frame
        trace.close()


@verb
def value_and_gradient(
    f: Callable[..., Any], *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The value of ``f(*args, **kwargs)`` and its gradient, as `gradient` gives it.

    f may return a tuple (loss, aux...): the gradient is that of the loss, and the whole tuple is
    the value, with aux as f left it. Raises what `gradient` raises.

    >>> import zyg
    >>> zyg.value_and_gradient(lambda x: (x * x, "a note"), 3.0)
    ((9.0, 'a note'), (6.0,))

    """
    own = own_verbs.get(type(f))
    if own and (found := own["value_and_gradient"](f, args, kwargs, zeros)) is not NotImplemented:
        return found  # type: ignore[no-any-return]
    trace = Trace(f, args, kwargs, once=True)
    try:
        return trace.y, trace.back(seed_of_loss(trace), zeros)
    finally:
        trace.close()


@verb
@adjoint
def hook(g: Callable[[Any], Any], x: Any) -> Any:
    """`x`, whose cotangent passes through `g` on the way back.

    The outer level of a Hessian (`hvp`, `hessian`, forward over reverse) differentiates what g
    makes of the cotangent, as part of the gradient that it is. Forward mode by itself has no
    cotangents: there it raises MissingRuleError, since a tangent that passes unchanged would give
    another derivative than the reverse pass.

    >>> import zyg
    >>> zyg.gradient(lambda x: 2 * zyg.hook(lambda x_bar: -x_bar, x), 1.0)
    (-2.0,)

    """

    def hook_pullback(x_bar: Any) -> tuple[Any, ...]:
        return None, g(x_bar)

    return x, hook_pullback


@hook.pushforward  # type: ignore[untyped-decorator]
def hook_forward(g: Callable[[Any], Any], x: Any) -> Any:
    raise MissingRuleError(
        "zyg.hook has no meaning in forward mode.",
        "a hook acts on cotangents, and forward mode has tangents only.",
        'take the derivative in reverse: jacobian(..., mode="reverse"), or gradient; forward over '
        "that, as hvp and hessian are, works.",
        tag="hook",
    )


@stops_gradient
def stop_gradient(x: Any) -> Any:
    """`x` as a constant: the plain value of a number, an array or a structure of them.

    Never raises: what is not watched is `x` itself.

    >>> import zyg
    >>> zyg.gradient(lambda x: x * zyg.stop_gradient(x), 3.0)
    (3.0,)

    """
    inside = Structure(x, is_watched)
    return inside.rebuild([copy_out(cut(v, "stop_gradient")) for v in inside.leaves])


primal = stop_gradient
