"""Solutions of equations, differentiated by the implicit-function theorem.

Where r(x, p) = 0, the derivative of x by p is -(dr/dx)^-1 dr/dp, however x was found: the solver's
own steps are neither kept nor differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg._entries import spec_of, zeros_of
from zyg._strand import strip
from zyg.checkpoints import one_entry, take_apart
from zyg.errors import ConvergenceError
from zyg.forward import DualCall
from zyg.gradients import pullback, stop_gradient
from zyg.jacobians import jacobian

__all__ = ["fixed_point", "implicit"]

Function = Callable[..., Any]


def implicit(residual: Function, x: Any, *args: Any, tolerance: float = 1e-3) -> Any:
    """`x`, a number or an array found in any way, as the solution of ``residual(x, *args) == 0``.

    The derivative by `args` and by the closure of `residual` is that of the solution; x itself
    counts as a constant. `residual` returns the shape of x; its Jacobian by x is taken densely and
    solved. Raises `ConvergenceError` in the reverse pass where a Newton step would still move x by
    more than `tolerance` of its size, and LinAlgError where the Jacobian is singular.

    >>> import zyg
    >>> def root(a):
    ...     x = zyg.primal(a) ** 0.5                    # by any solver
    ...     return zyg.implicit(lambda x, a: x * x - a, x, a)
    >>> zyg.gradient(root, 4.0)
    (0.25,)

    """
    x = stop_gradient(x)
    call = take_apart(residual, args)
    if not call.leaves:
        return x

    def run(*leaves: Any) -> Any:
        return x

    def at(x: Any, *leaves: Any) -> Any:
        residual, args = call.rebuild(list(leaves))
        return residual(x, *args)

    def pull(y: Any, leaves: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
        n = np.size(y)
        matrix = np.reshape(jacobian(lambda x: at(x, *leaves), y)[0], (n, n))
        _check(np.reshape(strip(at(y, *leaves)), -1), strip(matrix), strip(y), tolerance)
        weights = np.linalg.solve(np.transpose(matrix), np.reshape(y_bar, (n,)))
        _, back = pullback(lambda *leaves: at(y, *leaves), *leaves)
        return back(np.reshape(-weights, np.shape(y)) if np.shape(y) else -weights[0])  # type: ignore[no-any-return]

    return one_entry("implicit", run, pull, call.leaves)


def _check(r: Any, matrix: Any, x: Any, tolerance: float) -> None:
    step = np.linalg.norm(np.linalg.solve(matrix, r))
    size = float(np.linalg.norm(np.reshape(x, -1)))
    if not step <= tolerance * max(size, tolerance):
        raise ConvergenceError(
            f"x does not solve the equation: a Newton step would move it by {step:.3g}, where its "
            f"size is {size:.3g}.",
            "the derivative of a solution is that of the equation at the solution.",
            "solve to a smaller residual, or pass a larger tolerance= to zyg.implicit.",
        )


def fixed_point(
    f: Function, x: Any, *args: Any, tolerance: float = 1e-10, iterations: int = 10_000
) -> Any:
    """The fixed point of ``x = f(x, *args)``, a number or an array, by iteration from `x`.

    The iteration ends where a step is at most `tolerance` of the size of x. The derivative, by
    `args` and by the closure of f, is that of the fixed point, from an iteration of the same kind:
    neither start nor steps are kept. Raises `ConvergenceError` where `iterations` do not suffice.
    Christianson, "Reverse accumulation and attractive fixed points" (1994).

    >>> import zyg
    >>> root = lambda a: zyg.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a)
    >>> round(zyg.gradient(root, 4.0)[0], 6)
    0.25

    """
    start = stop_gradient(x)
    call = take_apart(f, args)

    def at(x: Any, *leaves: Any) -> Any:
        f, args = call.rebuild(list(leaves)) if leaves else (f_plain, args_plain)
        return f(x, *args)

    f_plain, args_plain = f, args

    def run(*leaves: Any) -> Any:
        return _iterated(lambda x: at(x, *leaves), start, tolerance, iterations)

    def pull(y: Any, leaves: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
        _, back = pullback(
            at,
            y,
            *leaves,
        )
        total = _iterated(lambda w: y_bar + back(w, zeros=True)[0], y_bar, tolerance, iterations)
        return back(total)[1:]  # type: ignore[no-any-return]

    def push(y: Any, leaves: Sequence[Any], tangents: Any) -> Any:
        def step(y_dot: Any) -> Any:
            return DualCall(at, (y, *leaves), {}, [(y_dot, *tangents)]).y_dots[0]

        return _iterated(step, zeros_of(spec_of(y)), tolerance, iterations)

    return one_entry("fixed_point", run, pull, call.leaves, push) if call.leaves else run()


def _iterated(step: Function, x: Any, tolerance: float, iterations: int) -> Any:
    for _ in range(iterations):
        before, x = x, step(x)
        moved = np.max(np.abs(strip(x) - strip(before)), initial=0.0)
        if moved <= tolerance * np.max(np.abs(strip(x)), initial=0.0):
            return x
    raise ConvergenceError(
        f"no fixed point was reached in {iterations} iterations; the last moved x by {moved:.3g}.",
        "the iteration converges only where the map contracts.",
        "start nearer, damp the map, or pass more iterations= or a larger tolerance=.",
    )
