"""Solutions of equations, differentiated by the implicit-function theorem.

Where r(x, p) = 0, the derivative of x by p is -(dr/dx)^-1 dr/dp, however x was found: the solver's
own steps are neither kept nor differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.borders import border
from zyg.base.signatures import Ts, X
from zyg.core.cotangents import has_complex, spec_of, zeros_of
from zyg.core.objects import stacked
from zyg.core.questions import is_traced
from zyg.core.strand import strands_of, strip
from zyg.core.trace import copy_out, watchable
from zyg.errors import AdjointError, ConvergenceError, HolomorphicError, StructureError
from zyg.verbs.checkpoints import one_entry, pullback_inside
from zyg.verbs.gradients import pullback, stop_gradient
from zyg.verbs.jacobians import jacobian
from zyg.verbs.pushforward import DualCall
from zyg.verbs.taken_apart import IdleCall, TakenApart

Function = Callable[..., Any]


@border
def implicit(residual: Callable[[X, *Ts], Any], x: X, *args: *Ts, tolerance: float = 1e-3) -> X:
    """`x`, a number or an array found in any way, as the solution of ``residual(x, *args) == 0``.

    The derivative by `args` and by the closure of `residual` is that of the solution, by the
    implicit function theorem; x itself counts as a constant.

    Parameters
    ----------
    residual : callable
        ``residual(x, *args)`` has the shape of x and is zero at the solution. Its Jacobian by x is
        taken densely and solved.
    x
        The solution: a number or an array.
    *args
        What the equation depends on.
    tolerance : float, default 1e-3
        By how much of its size a Newton step may still move x.

    Returns
    -------
    same type as x
        x, with its derivative.

    Raises
    ------
    ConvergenceError
        In the reverse pass, where a Newton step would move x by more than that.
    LinAlgError
        In the reverse pass, where the Jacobian is singular.

    Examples
    --------
    >>> import zyg
    >>> def root(a):
    ...     x = zyg.primal(a) ** 0.5                    # by any solver
    ...     return zyg.implicit(lambda x, a: x * x - a, x, a)
    >>> zyg.gradient(root, 4.0)
    (0.25,)
    """
    x = stop_gradient(x)
    _check_value(x, "the solution")
    call = TakenApart("zyg.implicit", residual, args)

    def begin() -> Function:
        call.note_changes()

        def at(x: Any, *leaves: Any) -> Any:
            residual, args = call.rebuild(leaves)
            return residual(x, *args)

        return at

    return solution(begin, x, call.leaves, tolerance)  # type: ignore[no-any-return]


def solution(begin: Callable[[], Function], x: Any, leaves: Sequence[Any],
             tolerance: float = np.inf, solve: Function | None = None) -> Any:  # fmt: skip
    """`x`, plain, as the solution of ``begin()(x, *leaves) == 0``, an equation that is made anew,
    once, for each reverse pass.

    ``solve(turned, bar, levels)`` finds w with ``turned(w) == bar``, by the equation's transposed
    Jacobian, which so many levels watch; otherwise that is taken densely.
    """
    if not leaves:
        return x
    found = copy_out(x)

    def run(*leaves: Any) -> Any:
        return found

    def pull(y: Any, leaves: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
        residual = begin()

        def at(x: Any, *leaves: Any) -> Any:
            r = stacked(residual(x, *leaves))
            _check_value(r, "the residual", x)
            return r

        if solve is not None:
            _, both = pullback(at, copy_out(y), *leaves)
            levels = max(len([*strands_of(leaf)]) for leaf in leaves)
            weights = solve(lambda w: both(w, zeros=True)[0], y_bar, levels)
            return both(-weights)[1:]
        r = at(copy_out(y), *leaves)
        if has_complex(y) or has_complex(r):
            raise HolomorphicError(
                "zyg.implicit got a complex equation.",
                "it solves with a Jacobian with respect to real numbers.",
                "take real and imaginary parts apart: let x be np.stack([z.real, z.imag]).",
            )
        matrix = jacobian(lambda x: at(x, *leaves), y)[0]
        _check_solved(strip(r), strip(matrix), strip(y), tolerance)
        n = np.ndim(y)  # the axes of the columns come first
        weights = _solved(np.transpose(matrix, (*range(n, 2 * n), *range(n))), y_bar)
        _, back = pullback(lambda *leaves: at(copy_out(y), *leaves), *leaves)
        return back(-weights)

    return one_entry("implicit", run, pull, leaves)


def _solved(matrix: Any, r: Any) -> Any:
    """The solution of a linear equation for numbers of any type, or an array of any shape."""
    if np.ndim(matrix):
        n = np.size(r)
        return np.reshape(
            np.linalg.solve(np.reshape(matrix, (n, n)), np.reshape(r, (n,))), np.shape(r)
        )
    if matrix == 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return r / matrix


def _check_value(r: Any, what: str, x: Any = None) -> None:
    """Raise unless `r` is a number or an array, of the shape of x."""
    if not watchable(r) or (x is not None and np.shape(r) != np.shape(x)):
        got = f"has shape {np.shape(r)}" if watchable(r) else f"is a {type(r).__name__}"
        needed = "a number or an array" if x is None else f"one of the shape of x, {np.shape(x)}"
        raise StructureError(
            f"{what} {got}, where {needed} is needed.",
            "a derivative needs one equation for each unknown.",
            "put the unknowns into one array, and return an array of its shape.",
        )


def _check_solved(r: Any, matrix: Any, x: Any, tolerance: float) -> None:
    step, size = (_norm(v) for v in (_solved(matrix, r), x))
    if not step <= tolerance * max(size, tolerance):
        raise ConvergenceError(
            f"x does not solve the equation: a Newton step would move it by {step:.3g}, where its "
            f"size is {size:.3g}.",
            "the derivative of a solution is that of the equation at the solution.",
            "solve to a smaller residual, or pass a larger tolerance= to zyg.implicit.",
        )


def _norm(x: Any) -> float:
    return float(np.linalg.norm(np.reshape(x, -1)) if np.ndim(x) else abs(x))


@border
def fixed_point(
    f: Callable[[X, *Ts], X], x: X, *args: *Ts, tolerance: float = 1e-10, iterations: int = 10_000
) -> X:
    """The fixed point of ``x = f(x, *args)``, a number or an array, by iteration from `x`.

    The derivative, by `args` and by the closure of f, is that of the fixed point, from an iteration
    of the same kind: neither start nor steps are kept. Christianson, "Reverse accumulation and
    attractive fixed points" (1994).

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` has the shape of x.
    x
        The start: a number or an array.
    *args
        What f depends on besides.
    tolerance : float, default 1e-10
        The iteration ends where a step is at most this part of the size of x.
    iterations : int, default 10_000
        How many steps are taken at most.

    Returns
    -------
    same type as x
        The fixed point.

    Raises
    ------
    ConvergenceError
        Where `iterations` steps do not suffice.

    Examples
    --------
    >>> import zyg
    >>> root = lambda a: zyg.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a)
    >>> round(zyg.gradient(root, 4.0)[0], 6)
    0.25
    """
    start = stop_gradient(x)
    _check_value(start, "the start")
    call = TakenApart("zyg.fixed_point", f, args)

    def stepper(*leaves: Any) -> Function:
        return _step(*call.rebuild(leaves))

    if not call.leaves:
        return _iterated(_step(f, args), start, tolerance, iterations)  # type: ignore[no-any-return]
    limits = tolerance, iterations
    return _fixed(stepper, start, call, call.leaves, limits, first=True)  # type: ignore[no-any-return]


def _step(f: Function, args: tuple[Any, ...]) -> Function:
    return lambda x: f(x, *args)


def _fixed(
    stepper: Callable[..., Function],
    start: Any,
    call: TakenApart,
    leaves: Sequence[Any],
    limits: tuple[float, int],
    *,
    first: bool = False,
) -> Any:
    """The fixed point of ``x = stepper(*leaves)(x)``; `stepper` itself holds nothing watched.

    `call` is the user's function, taken apart: what is iterated in its `first` run, or what the map
    is made of. A value that it keeps raises where it is used later.

    Its derivatives are fixed points of linear maps, and are found in this way again: where an outer
    level watches them, the iteration may have ended before their own derivatives have converged.
    """

    def at(x: Any, *leaves: Any) -> Any:
        return stepper(*leaves)(x)

    def run(*leaves: Any) -> Any:
        if first:
            return _first(call, start, leaves, limits)
        if call.keeps_nothing:
            return _iterated(stepper(*leaves), start, *limits)
        return IdleCall(
            call.confined,
            lambda x, *leaves: _iterated(stepper(*leaves), x, *limits),
            (start, *leaves),
        ).y

    def pull(y: Any, leaves: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
        call.note_changes()

        def adjoint(y_bar: Any, y: Any, *leaves: Any) -> Function:
            _, back = pullback(lambda x: at(x, *leaves), y)
            return lambda w: y_bar + back(w, zeros=True)[0]

        w = _fixed(adjoint, zeros_of(spec_of(y)), call, (y_bar, y, *leaves), limits)
        z, back = pullback_inside(call.confined, lambda *leaves: at(copy_out(y), *leaves), *leaves)
        if first:
            _check_fixed(strip(z), strip(y), limits[0])
        return back(w)  # type: ignore[no-any-return]

    def push(y: Any, leaves: Sequence[Any], tangents: Sequence[Any]) -> Any:
        call.note_changes()
        moving = [k for k, u in enumerate(tangents) if u is not None]

        def tangent(y: Any, *rest: Any) -> Function:
            leaves, given = rest[: len(tangents)], rest[len(tangents) :]
            full: list[Any] = [None] * len(tangents)
            for k, u in zip(moving, given, strict=True):
                full[k] = u
            return lambda y_dot: DualCall(at, (y, *leaves), {}, [(y_dot, *full)]).y_dots[0]

        given = [tangents[k] for k in moving]
        return _fixed(tangent, zeros_of(spec_of(y)), call, (y, *leaves, *given), limits)

    if not any(map(is_traced, leaves)):
        return run(*leaves)
    return one_entry("fixed_point", run, pull, leaves, push)


def _first(call: TakenApart, start: Any, leaves: Sequence[Any], limits: tuple[float, int]) -> Any:
    def iterated(x: Any, *parts: Any) -> Any:
        return _iterated(_step(*parts), x, *limits)

    return call.first(iterated, leaves, [start])


def _iterated(step: Function, x: Any, tolerance: float, iterations: int) -> Any:
    x = copy_out(x)
    for _ in range(iterations):
        before, x = copy_out(x), step(x)  # which may write to what it is given
        _check_value(x, "a step of the iteration", before)
        with np.errstate(all="ignore"):
            size, moved = _largest(strip(x)), _largest(strip(x) - strip(before))
        if moved <= max(tolerance, 4 * _eps(x)) * size < np.inf:
            return copy_out(x)
    raise ConvergenceError(
        f"no fixed point was reached in {iterations} iterations; the last moved x by {moved:.3g}.",
        "the iteration converges only where the map contracts.",
        "start nearer, damp the map, or pass more iterations= or a larger tolerance=.",
    )


def _check_fixed(z: Any, y: Any, tolerance: float) -> None:
    with np.errstate(all="ignore"):
        size, moved = _largest(y), _largest(z - y)
    if not moved <= max(100 * tolerance, np.sqrt(_eps(y))) * size:
        raise AdjointError(
            "the function given to zyg.fixed_point gave another value when it ran again for the "
            f"reverse pass: its fixed point, of size {size:.3g}, moves by {moved:.3g}.",
            "its value depends on how often it was called, or something that it uses has changed.",
            "pass whatever changes as an argument, and return whatever you need later.",
        )


def _largest(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0) if np.ndim(x) else abs(x))


def _eps(x: Any) -> float:
    """The relative size of rounding in x: what two steps may differ by for ever."""
    dtype = getattr(x, "dtype", None)
    return float(np.finfo(dtype).eps) if dtype is not None and dtype.kind in "fc" else 0.0
