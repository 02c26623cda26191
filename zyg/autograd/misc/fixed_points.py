"""Fixed points, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.autograd._absent import names_from
from zyg.autograd.misc import flatten as flatten
from zyg.verbs import implicit
from zyg.verbs.gradients import stop_gradient

__getattr__ = names_from()


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """The fixed point of ``f(a)``, a function, by iteration from `x0`; differentiable by a.

    Parameters
    ----------
    f : callable
        ``f(a)`` returns a function of x that contracts.
    a : number, array or structure
        What the fixed point depends on.
    x0 : number or array
        The start.
    distance : callable
        ``distance(x, x_before)``; the iteration ends where it is less than tol.
    tol : float
        And the tolerance of the derivative, relative to its size.

    Raises
    ------
    ConvergenceError
        Where the iteration of the derivative does not end.
    """
    step = f(stop_gradient(a))
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return implicit.fixed_point(lambda x, a: f(a)(x), x, a, tolerance=tol)
