"""SciPy's solvers, with zyg's derivatives, for unknowns of any structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np

from zyg.base.borders import border
from zyg.base.structure import is_number
from zyg.core.strand import strip
from zyg.errors import NonScalarOutputError
from zyg.optimize.forms import demand_finite
from zyg.optimize.progress import bar
from zyg.verbs.vectors import without_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zyg.scipy._solver_derivatives import Unknown

P = TypeVar("P")

# Methods of SciPy's minimize by what they take; all others, and a user's own, take gradients.
_OF_VALUES = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_OF_HESSIANS = {
    "newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr",
}  # fmt: skip
_ROOTS_OF_JACOBIANS = {"", "hybr", "lm"}


class Solution(Protocol[P]):
    """What a solver returns: SciPy's `OptimizeResult`, with `x` in the structure of the start."""

    x: P
    fun: Any
    success: bool
    status: int
    message: str
    nfev: int

    def __getattr__(self, name: str) -> Any: ...


@overload
def minimize(
    f: Callable[..., Any],
    x0: list[float],
    args: tuple[Any, ...] = ...,
    method: str | Callable[..., Any] | None = ...,
    bounds: Any = ...,
    constraints: Any = ...,
    callback: Callable[..., Any] | None = ...,
    tol: float | None = ...,
    options: dict[str, Any] | None = ...,
    progress: bool = ...,
) -> Solution[NDArray[np.float64]]: ...
@overload
def minimize(
    f: Callable[..., Any],
    x0: P,
    args: tuple[Any, ...] = ...,
    method: str | Callable[..., Any] | None = ...,
    bounds: Any = ...,
    constraints: Any = ...,
    callback: Callable[..., Any] | None = ...,
    tol: float | None = ...,
    options: dict[str, Any] | None = ...,
    progress: bool = ...,
) -> Solution[P]: ...
@border
def minimize(
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | Callable[..., Any] | None = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: bool = False,
) -> Solution[Any]:
    """Minimize a function of parameters in any structure, by SciPy, with zyg's derivatives.

    This is `scipy.optimize.minimize` without `jac` and `hess`: zyg differentiates f. A value and
    its gradient take one evaluation of f.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns one real number.
    x0 : any structure of numbers and arrays
        Where to start: a number, an array of any shape, a dict, a list, a dataclass, an object, a
        closure. f gets values of this structure. What is no number in it stays as it is. Ints
        count as reals. A list or a tuple of numbers stands for a vector, as in SciPy.
    args : tuple, optional
        Further arguments of f. They stay as they are.
    method : str or callable, optional
        A method of SciPy's. By default it is ``"BFGS"``, ``"L-BFGS-B"`` with bounds, ``"SLSQP"``
        with constraints. ``"CG"``, ``"TNC"`` take gradients too; ``"Newton-CG"``,
        ``"trust-ncg"``, ``"trust-krylov"``, ``"trust-constr"`` also products with the Hessian;
        ``"dogleg"``, ``"trust-exact"`` the Hessian itself; ``"Nelder-Mead"``, ``"Powell"``,
        ``"COBYLA"``, ``"COBYQA"`` no derivatives.
    bounds : optional
        In the structure of x0, with a pair ``(low, high)`` in place of each number or array, or an
        array of pairs for each of its elements. None is no bound. Or as SciPy takes them: a list of
        pairs, or `scipy.optimize.Bounds`, over all numbers of x0 in the order of `zyg.flatten`.
    constraints : optional
        As SciPy takes them: dicts ``{"type": "eq", "fun": g}`` (or ``"ineq"`` for g >= 0), or
        `scipy.optimize.NonlinearConstraint`. Their functions get the structure of x0 and are
        differentiated by zyg. A `LinearConstraint` is over the vector of all numbers.
    callback : callable, optional
        As SciPy takes it: called after each iteration with x, or with ``intermediate_result``.
        x has the structure of x0.
    tol, options : optional
        As SciPy takes them for this method.
    progress : bool
        Whether to draw a bar that counts evaluations. Needs rich.

    Returns
    -------
    Solution
        SciPy's `OptimizeResult`. ``result.x`` has the structure of x0; ``result.fun``,
        ``result.success``, ``result.message`` and the rest are SciPy's. Gradients and Hessians in
        it are over the vector of all numbers (see `zyg.flatten`).

    Raises
    ------
    NonScalarOutputError
        f returns anything but one real number.
    StructureError
        There is no number in x0, or the bounds do not fit it.
    OptimizationError
        The start is not finite.
    MissingRuleError
        The method takes derivatives that f does not have; among them second derivatives.
    Exception
        What f and the callback raise. If the callback raises, the parameters so far are in
        ``error.parameters``.

    Notes
    -----
    The minimum can itself be differentiated with respect to `args` and to what f holds, by the
    implicit function theorem, unless there are constraints. For derivatives of your own next to
    zyg's, use ``jac="zyg"`` of `zyg.scipy.optimize.minimize`.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> t = np.linspace(0.0, 2.0, 20)
    >>> seen = 3.0 * np.exp(-1.5 * t)
    >>> def loss(p):
    ...     return np.sum((p["a"] * np.exp(-p["k"] * t) - seen) ** 2)
    >>> found = zyg.optimize.minimize(loss, {"a": 1.0, "k": 1.0})
    >>> round(found.x["a"], 3), round(found.x["k"], 3)
    (3.0, 1.5)
    >>> found = zyg.optimize.minimize(loss, {"a": 1.0, "k": 1.0}, bounds={"a": (0, 2), "k": None})
    >>> round(found.x["a"], 3)
    2.0
    >>> equal = {"type": "eq", "fun": lambda p: p["a"] - p["k"]}
    >>> found = zyg.optimize.minimize(loss, {"a": 1.0, "k": 1.0}, constraints=equal)
    >>> round(found.x["a"] - found.x["k"], 6)
    0.0

    """
    x = _unknown("minimize", x0)
    name = "" if callable(method) else str(method or "").lower()
    if name in _OF_VALUES:
        derivatives, f = {}, _one_real_number(f)
    else:
        derivatives = {"jac": "zyg", "hess": "zyg"} if name in _OF_HESSIANS else {"jac": "zyg"}
    from zyg.scipy._solver_derivatives import differentiated

    return _solved(
        "minimize", progress, fun=f, x0=x, args=args, method=method, bounds=bounds, tol=tol,
        constraints=differentiated(constraints, name == "trust-constr"), callback=callback,
        options=options, **derivatives,
    )  # fmt: skip


@overload
def least_squares(
    residuals: Callable[..., Any],
    x0: list[float],
    args: tuple[Any, ...] = ...,
    method: str = ...,
    bounds: Any = ...,
    loss: str | Callable[..., Any] = ...,
    progress: bool = ...,
    **options: Any,
) -> Solution[NDArray[np.float64]]: ...
@overload
def least_squares(
    residuals: Callable[..., Any],
    x0: P,
    args: tuple[Any, ...] = ...,
    method: str = ...,
    bounds: Any = ...,
    loss: str | Callable[..., Any] = ...,
    progress: bool = ...,
    **options: Any,
) -> Solution[P]: ...
@border
def least_squares(
    residuals: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "trf",
    bounds: Any = None,
    loss: str | Callable[..., Any] = "linear",
    progress: bool = False,
    **options: Any,
) -> Solution[Any]:
    """Minimize the sum of the squares of residuals, by SciPy, with the Jacobian by zyg.

    Parameters
    ----------
    residuals : callable
        ``residuals(x, *args)`` returns numbers in any structure: an array, a list, a dict.
    x0 : any structure of numbers and arrays
        Where to start, as for `minimize`.
    args : tuple, optional
        Further arguments of `residuals`.
    method : str
        ``"trf"``, ``"dogbox"``, or ``"lm"``, which takes no bounds.
    bounds : optional
        In the structure of x0, as for `minimize`; or as SciPy takes them: `scipy.optimize.Bounds`
        or ``(low, high)``, over all numbers of x0 in the order of `zyg.flatten`.
    loss : str or callable
        ``"linear"`` for plain squares; ``"soft_l1"``, ``"huber"``, ``"cauchy"``, ``"arctan"``
        give outliers less weight.
    progress : bool
        Whether to draw a bar that counts evaluations. Needs rich.
    **options
        All else that `scipy.optimize.least_squares` takes: ``f_scale``, ``x_scale``, ``ftol``,
        ``xtol``, ``gtol``, ``max_nfev``, ``verbose``.

    Returns
    -------
    Solution
        SciPy's `OptimizeResult`. ``result.x`` has the structure of x0; ``result.cost`` is half the
        sum of squares; ``result.fun`` and ``result.jac`` are residuals and Jacobian as vector and
        matrix.

    Raises
    ------
    StructureError
        There is no number in x0, or the bounds do not fit it.
    OptimizationError
        The start is not finite.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> t = np.linspace(0.0, 2.0, 20)
    >>> seen = 3.0 * np.exp(-1.5 * t)
    >>> def residuals(p):
    ...     return p["a"] * np.exp(-p["k"] * t) - seen
    >>> found = zyg.optimize.least_squares(residuals, {"a": 1.0, "k": 1.0})
    >>> round(found.x["a"], 3), round(found.x["k"], 3)
    (3.0, 1.5)

    """
    x = _unknown("least_squares", x0)
    if bounds is not None:
        options["bounds"] = bounds
    return _solved(
        "least_squares", progress, fun=residuals, x0=x, args=args, method=method, loss=loss,
        jac="zyg", **options,
    )  # fmt: skip


@overload
def root(
    f: Callable[..., Any],
    x0: list[float],
    args: tuple[Any, ...] = ...,
    method: str = ...,
    tol: float | None = ...,
    callback: Callable[..., Any] | None = ...,
    options: dict[str, Any] | None = ...,
    progress: bool = ...,
) -> Solution[NDArray[np.float64]]: ...
@overload
def root(
    f: Callable[..., Any],
    x0: P,
    args: tuple[Any, ...] = ...,
    method: str = ...,
    tol: float | None = ...,
    callback: Callable[..., Any] | None = ...,
    options: dict[str, Any] | None = ...,
    progress: bool = ...,
) -> Solution[P]: ...
@border
def root(
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "hybr",
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    progress: bool = False,
) -> Solution[Any]:
    """Find where a function is zero, by SciPy, with the Jacobian by zyg.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns as many numbers as there are in x0, in any structure.
    x0 : any structure of numbers and arrays
        Where to start, as for `minimize`.
    args : tuple, optional
        Further arguments of f.
    method : str
        A method of SciPy's. ``"hybr"`` and ``"lm"`` take the Jacobian; ``"krylov"``,
        ``"broyden1"``, ``"anderson"``, ``"df-sane"`` and the others take none.
    tol, callback, options : optional
        As SciPy takes them. The callback gets the structure of x0.
    progress : bool
        Whether to draw a bar that counts evaluations. Needs rich.

    Returns
    -------
    Solution
        SciPy's `OptimizeResult`. ``result.x`` has the structure of x0; ``result.fun`` is the
        vector of what f returned there.

    Raises
    ------
    StructureError
        There is no number in x0.
    OptimizationError
        The start is not finite.

    Examples
    --------
    >>> import zyg
    >>> def equations(p):
    ...     return [p["x"] + p["y"] - 3.0, p["x"] * p["y"] - 2.0]
    >>> found = zyg.optimize.root(equations, {"x": 0.5, "y": 3.0})
    >>> round(found.x["x"], 6), round(found.x["y"], 6)
    (1.0, 2.0)

    """
    x = _unknown("root", x0)
    jac = "zyg" if str(method).lower() in _ROOTS_OF_JACOBIANS else None
    return _solved(
        "root", progress, fun=f, x0=x, args=args, method=method, jac=jac, tol=tol,
        callback=callback, options=options,
    )  # fmt: skip


def _solved(name: str, progress: bool, **given: Any) -> Solution[Any]:
    from zyg.scipy import optimize

    with bar(progress, name) as tell:
        found: Solution[Any] = getattr(optimize, name).solve(tell, **given)
        return found


def _unknown(solver: str, x0: Any) -> Unknown:
    from zyg.scipy._solver_derivatives import Unknown

    x = Unknown(x0, f"zyg.optimize.{solver}", exact=True)
    if not x.start.size:
        raise without_numbers(x0, f"zyg.optimize.{solver}")
    demand_finite(x.layout, x0, f"zyg.optimize.{solver}")
    return x


def _one_real_number(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` for a method that takes no gradient, which would have found what else it returns."""
    name = getattr(f, "__name__", type(f).__name__)

    def checked(*args: Any) -> Any:
        y = f(*args)
        plain = strip(y)
        number = is_number(plain) or (isinstance(plain, np.ndarray) and plain.ndim == 0)
        if not number or np.iscomplexobj(plain):
            array = isinstance(plain, np.ndarray) and plain.ndim
            got = f"an array of shape {plain.shape}" if array else f"a {type(plain).__name__}"
            raise NonScalarOutputError(
                f"{name} returned {got}; a function that is minimized returns one real number.",
                "only real numbers have an order.",
                "reduce it: np.sum(y), abs(y).",
            )
        return y

    return checked
