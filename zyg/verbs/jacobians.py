"""Matrices of derivatives: Jacobians, Hessians, and the two derivatives of complex functions.

Columns come from forward mode, many at once; rows from the reverse pass, one for each element of
the result. A Hessian is the Jacobian of a gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.borders import border
from zyg.base.marks import verb
from zyg.base.registry import own_verbs
from zyg.base.signatures import P, X
from zyg.base.structure import Structure
from zyg.base.trees import Tree, taken_apart
from zyg.core.cotangents import has_complex, project, spec_of
from zyg.core.strand import strip
from zyg.core.trace import Trace, watchable
from zyg.errors import AdjointError, HolomorphicError
from zyg.verbs.gradients import gradient
from zyg.verbs.matrices import (
    along_units,
    assembled,
    calls_along,
    is_of_large_arrays,
    joined,
    leaves_of,
    refuse_complex,
    refuse_labels,
    size_of,
    units_of,
)
from zyg.verbs.pushforward import DualCall

Function = Callable[..., Any]

_FEW = 8  # elements of the arguments for which one forward run costs no more than a reverse pass


@overload
def jacobian(
    f: Function, *args: Any, mode: Literal["auto", "forward", "reverse"], **kwargs: Any
) -> tuple[Any, ...]: ...
@overload
def jacobian(f: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> tuple[Any, ...]: ...
@verb  # type: ignore[misc]
@border
def jacobian(f: Function, *args: Any, mode: str = "auto", **kwargs: Any) -> tuple[Any, ...]:
    """The Jacobian of ``f(*args, **kwargs)`` by each positional argument, dense.

    Parameters
    ----------
    f : callable
        Returns a number, an array or a structure of them.
    *args
        Its arguments, by which it is differentiated: real numbers, arrays, structures of them.
    mode : {"auto", "forward", "reverse"}
        "forward" takes the Jacobian by columns, "reverse" by rows, "auto" by the fewer of the two;
        to find out, it may call f twice. For columns it calls f once for each 256 elements of the
        arguments, each time with the random state of the first.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    tuple
        For each positional argument its Jacobian. For an array x and a result y it has the shape
        ``y.shape + x.shape``; for structures, that of the result with that of the argument at each
        of its numbers and arrays.

    Raises
    ------
    HolomorphicError
        For complex arguments: see `holomorphic`, `wirtinger`.
    ValueError
        For an unknown mode.
    AdjointError
        Where f gives another value when it is called for more columns.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.jacobian(lambda x: np.array([3.0, 1.0]) * x[0] * x, np.array([1.0, 2.0]))
    (array([[6., 0.],
           [2., 1.]]),)
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"unknown mode {mode!r}; there are: 'auto', 'forward', 'reverse'")
    own = own_verbs.get(type(f))
    if own and (found := own["jacobian"](f, args, kwargs, mode)) is not NotImplemented:
        return found  # type: ignore[no-any-return]
    inputs = [taken_apart(x, watchable) for x in args]
    refuse_complex(inputs)
    refuse_labels(inputs)
    columns = sum(size_of(x) for s in inputs for x in s.leaves)
    if mode == "forward":
        return _by_columns(f, args, kwargs, inputs)
    if mode == "auto" and columns <= _FEW:
        try:
            return _by_columns(f, args, kwargs, inputs)
        except AdjointError as error:
            if error.tag != "transpose":
                raise
            mode = "reverse"
    trace = Trace(f, args, kwargs)
    trace.demand_places()
    result = taken_apart(trace.y, watchable, shared=False)
    refuse_labels([result])
    rows = sum(map(size_of, result.leaves))
    if mode == "auto" and rows >= columns:
        try:
            found = _by_columns(f, args, kwargs, inputs)
            trace.close()
            return found
        except AdjointError as error:
            if error.tag != "transpose":
                raise
    return _by_rows(trace, result, inputs)


def _by_columns(
    f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Structure | Tree]
) -> tuple[Any, ...]:
    result, (found,) = along_units(f, args, kwargs, inputs, [1])
    return assembled(result, inputs, found, -1)


def _by_rows(
    trace: Trace, result: Structure | Tree, inputs: Sequence[Structure | Tree]
) -> tuple[Any, ...]:
    """Jacobians from reverse passes; of a complex result, from those of its two parts."""
    try:
        found = []
        for real, imag in zip(units_of(result.leaves), units_of(result.leaves, 1j), strict=True):
            bars = _bars(trace, result, inputs, real)
            if any(c is not None and has_complex(c) for c in imag):
                imaginary = _bars(trace, result, inputs, imag)
                bars = [a + 1j * b for a, b in zip(bars, imaginary, strict=True)]
            found.append(bars)
    finally:
        try:
            trace.close()
        finally:
            trace.close()
    return assembled(result, inputs, found, 0)


def _bars(
    trace: Trace, result: Structure | Tree, inputs: Sequence[Structure | Tree], seed: list[Any]
) -> list[Any]:
    bars = trace.back(result.tangent(seed), zeros=True)
    return [c for s, bar in zip(inputs, bars, strict=True) for c in leaves_of(s, bar)]


@verb
@border
def hessian(f: Callable[[X], Any], x: X) -> Any:
    """The matrix of second derivatives of ``f(x)``, a real number.

    It is the Jacobian of the gradient, by columns, or by rows where f computes with large arrays;
    to find out, f is called twice if x has more than eight elements.

    Parameters
    ----------
    f : callable
        Returns a real number.
    x
        Its argument: a real number, an array or a structure of them.

    Returns
    -------
    number, array or structure
        Of the shape of x twice: n x n numbers for n elements. For a structure, that structure with
        it again at each of its numbers and arrays.

    Raises
    ------
    NonScalarOutputError
        As `gradient` does.
    HolomorphicError
        As `jacobian` does.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.hessian(lambda x: x[0] ** 2 * x[1], np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    own = own_verbs.get(type(f))
    if own and (found := own["hessian"](f, x)) is not NotImplemented:
        return found
    inputs = [taken_apart(x, watchable)]
    refuse_complex(inputs)
    refuse_labels(inputs)
    many = sum(map(size_of, inputs[0].leaves)) > _FEW
    mode = "reverse" if many and is_of_large_arrays(f, x) else "forward"
    return jacobian(gradient_of(f), x, mode=mode)[0]


@verb
@border
def diaghessian(f: Callable[[X], Any], x: X) -> Any:
    """The second derivative of ``f(x)`` by each number in x alone: the diagonal of `hessian`.

    It takes the time of the whole Hessian, and the memory of x.

    Parameters
    ----------
    f : callable
        Returns a real number.
    x
        Its argument: a real number, an array or a structure of them.

    Returns
    -------
    same structure as x
        The diagonal, of the shapes of x.

    Raises
    ------
    NonScalarOutputError, HolomorphicError
        As `hessian` does.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.diaghessian(lambda x: x[0] ** 2 * x[1], np.array([1.0, 3.0]))
    array([6., 0.])
    """
    own = own_verbs.get(type(f))
    if own and (found := own["diaghessian"](f, x)) is not NotImplemented:
        return found
    inputs = taken_apart(x, watchable)
    refuse_complex([inputs])
    refuse_labels([inputs])
    places = [
        (k, place) for k, leaf in enumerate(inputs.leaves) for place in np.ndindex(np.shape(leaf))
    ]
    made: list[list[Any]] = [[] for _ in inputs.leaves]
    units = [[inputs.tangent(u)] for u in units_of(inputs.leaves)]
    calls = calls_along(gradient_of(f), (x,), {}, units)
    columns = (leaves_of(inputs, y_dot) for call in calls for y_dot in call.y_dots)
    for (k, place), column in zip(places, columns, strict=True):
        made[k].append(column[k][place] if place else column[k])
    return inputs.tangent(
        [joined(parts, 0.0, leaf, -1) for parts, leaf in zip(made, inputs.leaves, strict=True)]
    )


@verb
@border
def hvp(f: Callable[[X], Any], x: X, v: Any) -> Any:
    """The Hessian of ``f(x)``, a real number, times `v`, without the Hessian; forward over reverse.

    Parameters
    ----------
    f : callable
        Returns a real number.
    x
        Its argument: a number, an array or a structure of them.
    v
        What the Hessian is multiplied by, of the structure and shapes of x.

    Returns
    -------
    same structure as x
        The product.

    Raises
    ------
    StructureError
        Where v does not have the structure and shapes of x.
    NonScalarOutputError
        As `gradient` does.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.hvp(lambda x: x[0] ** 2 * x[1], np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    array([2., 0.])
    """
    own = own_verbs.get(type(f))
    if own and (found := own["hvp"](f, x, v)) is not NotImplemented:
        return found
    call = DualCall(gradient_of(f), (x,), {}, [[v]])
    inputs = taken_apart(x, watchable)
    if inputs.labels:  # as the gradient is, units included
        return call.y_dots[0]
    moved = zip(leaves_of(inputs, call.y_dots[0]), inputs.leaves, strict=True)
    return inputs.tangent([_as_argument(c, spec_of(leaf)) for c, leaf in moved])


def _as_argument(c: Any, spec: Any) -> Any:
    """A cotangent of an argument, as the caller gets it."""
    c = project(c, spec)
    kind = array_type(c)
    return kind.leave(kind.finished(c, spec)) if kind.guest else c


def gradient_of(f: Function) -> Function:
    @functools.wraps(f)
    def of_gradient(x: Any) -> Any:
        return gradient(f, x, zeros=True)[0]

    return of_gradient


@border
def wirtinger(f: Callable[[X], Any], z: X) -> tuple[Any, Any]:
    """The derivatives of ``f(z)`` by complex z and by its conjugate: (df/dz, df/dz*).

    They say how f moves: df = df/dz dz + df/dz* conj(dz). A function is holomorphic where the
    second is 0.

    Parameters
    ----------
    f : callable
        Returns a number, an array or a structure of them.
    z
        Its argument: a complex number, an array or a structure of them.

    Returns
    -------
    by_z, by_conjugate
        The two derivatives, of shapes as a Jacobian has them: ``y.shape + z.shape``.

    Raises
    ------
    HolomorphicError
        Where z is not complex.

    Examples
    --------
    >>> import zyg
    >>> by_z, by_conjugate = zyg.wirtinger(lambda z: z * z.conjugate(), 3 + 4j)
    >>> complex(by_z), complex(by_conjugate)
    ((3-4j), (3+4j))
    """
    inputs = [taken_apart(z, watchable)]
    if not all(map(has_complex, inputs[0].leaves)):
        raise HolomorphicError(
            "the argument of a complex derivative is not complex.",
            "a real number does not move in the imaginary direction.",
            "pass complex(z) or z + 0j; for real arguments use zyg.jacobian.",
        )
    result, (along_real, along_imag) = along_units(f, (z,), {}, inputs, [1, 1j])
    halves = [
        [
            [(a + sign * 1j * b) / 2 for a, b in zip(*pair, strict=True)]
            for pair in zip(along_real, along_imag, strict=True)
        ]
        for sign in (-1, 1)
    ]
    by_z, by_conjugate = (assembled(result, inputs, half, -1)[0] for half in halves)
    return by_z, by_conjugate


@border
def holomorphic(f: Callable[[X], Any], z: X) -> Any:
    """The complex derivative df/dz of a holomorphic function; of shape ``y.shape + z.shape``.

    Parameters
    ----------
    f : callable
        Returns a number, an array or a structure of them.
    z
        Its argument: a complex number, an array or a structure of them.

    Returns
    -------
    number, array or structure
        The derivative.

    Raises
    ------
    HolomorphicError
        Where z is not complex, or f does not satisfy the Cauchy-Riemann equations at z.

    Examples
    --------
    >>> import zyg
    >>> zyg.holomorphic(lambda z: z**3, 1 + 1j)
    6j
    """
    by_z, by_conjugate = wirtinger(f, z)
    pairs = zip(*(Structure(d, watchable).leaves for d in (by_z, by_conjugate)), strict=True)
    for d, other in ((strip(d), strip(other)) for d, other in pairs):
        largest, wrong = (float(np.max(np.abs(x), initial=0.0)) for x in (d, other))
        eps = np.finfo(d.dtype if isinstance(d, (np.ndarray, np.generic)) else float).eps
        if not wrong <= np.sqrt(eps) * largest:
            raise HolomorphicError(
                f"{getattr(f, '__name__', 'the function')} is not holomorphic at this point: "
                f"its derivative with respect to z is {largest:.3g}, with respect to the "
                f"conjugate of z {wrong:.3g}.",
                "one complex number describes the derivative only if the second of these is 0.",
                "use zyg.wirtinger(f, z), which returns both derivatives.",
            )
    return by_z
