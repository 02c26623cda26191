"""Solutions, differentiated by the implicit function theorem."""

import functools
import inspect

import numpy as np

from zyg.functions.kit import (
    as_array,
    composed,
    dropins,
    holds_nothing_watched,
    is_complex,
    nondifferentiable,
    raised,
    strip,
    watched_leaves,
    with_value,
)
from zyg.scipy._closures import as_tuple, plain, refuse
from zyg.scipy._estimates import as_estimates
from zyg.scipy._namespace import dispatching
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import real_and_wide, valued
from zyg.verbs.gradients import pullback, stop_gradient
from zyg.verbs.held import Held
from zyg.verbs.implicit import implicit, solution
from zyg.verbs.jacobians import jacobian

_NEAR = 1e-2  # by how much of its size a Newton step may move a solution


def _solution(held, residual_of, x):
    """`x`, which the solver has found exact enough: where residual_of(f) is 0, f as it is held."""

    def begin():
        make = held.again()
        return lambda x, *values: residual_of(make(values))(x)

    return solution(begin, stop_gradient(x), held.leaves, _NEAR)


# What is 0 at the solution: of (f, the options of the solver), a function of x


def _value(f, given):
    """The values of f, as SciPy takes them: a number or a list for a vector of its length."""

    several = _gives_gradient(given)

    def value(x):
        y = f(x)[0] if several else f(x)
        vector = np.ravel(np.stack(y) if isinstance(y, (list, tuple)) else y)
        return np.reshape(vector, np.shape(x)) if np.size(vector) == np.size(x) else y

    return value


def _change(f, given):
    return lambda x: f(x) - x


def _slope(f, given):
    """The gradient of a function that is minimal; where a bound holds x, how far x moves."""
    if given.get("constraints"):
        why = "its rule covers only a minimum inside of the bounds."
        instead = "let zyg.optimize.root find where the gradient of the Lagrangian is 0"
        refuse("scipy.optimize.minimize", "constraints", why, instead)
    value = (lambda x: f(x)[0]) if given.get("jac") is True else f
    low, high, near = _limits(given)

    def slope(x):
        g, place = _gradient(value, x), strip(x)
        edge = np.where(place <= low + near, low, np.where(place >= high - near, high, place))[()]
        # A search may end beside a bound: it holds x if f falls towards it at the bound, too.
        down = strip(g if np.all(edge == place) else _gradient(value, edge))
        held = ((edge == low) & (down >= 0)) | ((edge == high) & (down <= 0))
        return np.where(held, x - place, g)[()]

    return slope


# What changes the minimum, or the result, in ways that the rules of the solvers below do not know.
_UNKNOWN = (
    "constraints", "eqcons", "f_eqcons", "ieqcons", "f_ieqcons", "integrality", "vectorized",
    "retall",
)  # fmt: skip


def _named_slope(name):
    """The same for the solver of this name, whose function returns its gradient too if told to."""

    def slope(f, given):
        for option in _UNKNOWN:
            if np.any(given.get(option, False)):
                refuse(name, option, "its rule covers only a minimum inside of the bounds.")
        bounds = given.get("bounds")
        bounds = None if bounds is None or np.size(bounds) == 0 else bounds
        known = ("x1", "x2", "xtol") if "x1" in given else ("len_tol", "vol_tol")
        found = {k: given[k] for k in known if k in given}
        return _slope(f, {"bounds": bounds, "jac": _gives_gradient(given), **found})

    return slope


def _gives_gradient(given):
    by_itself = "approx_grad" in given and given["fprime"] is None and not given["approx_grad"]
    return by_itself or any(given.get(name) is True for name in ("jac", "fprime", "fprime2"))


def _grid_slope(f, given):
    """That of what is found on a grid first."""
    name = "scipy.optimize.brute"
    if given["full_output"]:
        refuse(name, "full_output", "its rule covers only the minimum, and not the grid.")
    if not callable(given["finish"]):
        why = "its minimum is then one of the points of a grid, and jumps."
        refuse(name, "no function as finish", why)
    return _slope(f, {})


def _cobyla_slope(f, given):
    """That of a minimum which the constraints do not hold."""
    name = "scipy.optimize.fmin_cobyla"
    slope = _named_slope(name)(f, given)
    cons = [given["cons"]] if callable(given["cons"]) else given["cons"]
    further = given["args"] if given["consargs"] is None else as_tuple(given["consargs"])
    near = 4 * max(given["catol"], given["rhoend"])

    def inside(x):
        if any(np.any(np.asarray(c(strip(x), *further)) <= near) for c in cons):
            why = "its rule covers only a minimum inside of them."
            refuse(name, "constraints that hold the minimum", why)
        return slope(x)

    return inside


def _squares_slope(f, given):
    if given.get("loss", "linear") != "linear":
        refuse("scipy.optimize.least_squares", "loss", "its rule covers only the sum of squares.")
    given = {"bounds": np.transpose(_ends(given["bounds"])).tolist()}
    return _slope(lambda x: 0.5 * np.sum(np.square(f(x))), given)


def _gradient(f, x):
    y, back = pullback(f, x)
    return back(np.ones(np.shape(y))[()], zeros=True)[0]


def _ends(bounds):
    ends = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    return np.broadcast_arrays(*plain(ends))


_EPSILON = np.sqrt(np.finfo(float).eps)
_BESIDE = 1e-3  # how near to a bound a search in several variables comes, of 1 or of the width
_SEARCHED = 1e-5  # how near to an end a search in an interval comes, if nothing else is said


def _limits(given):
    """The lowest and the highest values of x, and how near to them a search ends that is there."""
    bounds = (given["x1"], given["x2"]) if "x1" in given else given.get("bounds")
    if bounds is None:
        return -np.inf, np.inf, 0.0
    if np.shape(bounds) == (2,) and not hasattr(bounds, "lb"):  # of a function of one number
        options = given.get("options") or {}
        return *plain(bounds), 4 * options.get("xatol", given.get("xtol", _SEARCHED))
    if hasattr(bounds, "lb"):
        low, high = _ends(bounds)
    else:
        rows = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in plain(bounds)]
        low, high = np.transpose(rows)
    width = np.where(np.isfinite(high - low), high - low, 1.0)
    near = _BESIDE * np.minimum(width, 1.0)
    if "len_tol" not in given:
        return low, high, near
    size = max(given["len_tol"], given["vol_tol"] ** (1 / np.size(low)))  # of the last boxes
    return low, high, np.maximum(near, 4 * size * (high - low))


def _still(name, rest):
    """Refuse bounds that are watched: a minimum on them moves with them."""
    for option in ("bounds", "x1", "x2"):
        if watched_leaves(rest.get(option)):
            refuse(name, f"watched {option}", "its rule covers only bounds that do not move.")


def _settings(signature, args, rest):
    """All that a solver is told but its function, plain; with what it tells the one inside it."""
    given = {k: p.default for k, p in signature.parameters.items()} | plain(rest)
    if "minimizer_kwargs" in given:
        given["jac"] = (given.get("options") or {}).get("jac")
        given |= given["minimizer_kwargs"] or {}
    return given | {"args": plain(args)}


def _with_derivatives(result, solved, value, value_place):
    """What a solver returns, whose solutions x are solved(x), with the values of f there."""
    if isinstance(result, tuple):  # with full_output
        x, *others = solved(result[0]), *result[1:]
        if value_place is not None:
            others[value_place - 1] = value(x)
        parts = x, *(_of_result(part, solved, value) for part in others)
        return type(result)(*parts) if hasattr(result, "_fields") else parts
    return _of_result(result, solved, value) if isinstance(result, dict) else solved(result)


def _of_result(result, solved, value):
    """The same of SciPy's OptimizeResult; of anything else, an estimate."""
    if not isinstance(result, dict):
        return result if watched_leaves(result) else _estimates(result)
    x, others = result.get("root", result.get("x")), result.get("xl", ())
    _estimates(result)
    if x is None:  # nothing was found
        return result
    result["root" if "root" in result else "x"] = x = solved(x)
    if "fun" in result:
        result["fun"] = value(x)
    if "cost" in result:
        result["cost"] = 0.5 * np.sum(np.square(result["fun"]))
    if len(others):  # further minima
        places = [solved(x) for x in others]
        result["xl"], result["funl"] = np.stack(places), np.stack([value(x) for x in places])
    best = result.get("lowest_optimization_result")
    if best is not None:
        best.x, best.fun = x, result["fun"]
    return result


_estimates = functools.partial(
    as_estimates,
    name="a solver of scipy.optimize",
    instead="compute with x, as in zyg.gradient(f, x) or zyg.jacobian(f, x)",
)


def _with_keywords(function, keywords):
    """A function that is given these keywords, which the solver has as plain values."""
    return (lambda *x, **_: function(*x, **keywords)) if keywords else function


def _solver(function, residual_of, value_place=None):
    """The rule of a solver, ``function(f, x0, ..., args=...)``.

    The value of f is at `value_place` of what it returns in a tuple.
    """
    signature = inspect.signature(function)
    takes_args = "args" in signature.parameters

    def solve(*arguments, **options):
        rest = signature.bind(*arguments, **options).arguments
        name, fun = next(iter(rest)), rest.pop(next(iter(rest)))
        inner = rest.get("minimizer_kwargs") or {}
        args = as_tuple(rest.pop("args", inner.get("args", ())))
        keywords = rest.get("kwargs") or {} if "kwargs" in signature.parameters else {}
        rest.update(rest.pop("kw", {}))
        with_keywords = _with_keywords(fun, keywords)
        given, label = _settings(signature, args, rest), f"scipy.optimize.{function.__name__}"
        held = Held(with_keywords, args)
        watched = [*held.leaves, *watched_leaves((rest, inner))]
        moves = not all(map(holds_nothing_watched, watched))
        if moves:
            residual_of(with_keywords, given)  # may be refused
            _still(label, {**rest, **inner})
        result = held.run(
            label,
            lambda f, args: function(
                **{name: f, **plain(rest)}, **({"args": args} if takes_args else {})
            ),
            moving=slice(1),
        )
        residual_of_f = functools.partial(residual_of, given=given)
        solved = functools.partial(_solution, held, residual_of_f)

        def value(x):
            y = with_keywords(x, *args)
            return y[0] if _gives_gradient(given) else y

        if not (moves and held.leaves):
            return result
        return _with_derivatives(result, solved, value, value_place)

    composed(function)(solve)


for _function in (
    scipy.optimize.root, scipy.optimize.root_scalar, scipy.optimize.brentq, scipy.optimize.brenth,
    scipy.optimize.bisect, scipy.optimize.ridder, scipy.optimize.toms748, scipy.optimize.newton,
    scipy.optimize.fsolve,
):  # fmt: skip
    _solver(_function, _value)
_solver(scipy.optimize.fixed_point, _change)
_solver(scipy.optimize.minimize, _slope)
_solver(scipy.optimize.minimize_scalar, _slope)
_solver(scipy.optimize.least_squares, _squares_slope)
for _function in (
    scipy.optimize.fmin, scipy.optimize.fmin_powell, scipy.optimize.fmin_bfgs,
    scipy.optimize.fmin_cg, scipy.optimize.fmin_ncg, scipy.optimize.fmin_l_bfgs_b,
    scipy.optimize.fmin_slsqp, scipy.optimize.brent, scipy.optimize.golden,
    scipy.optimize.fminbound, scipy.optimize.differential_evolution,
    scipy.optimize.dual_annealing, scipy.optimize.basinhopping, scipy.optimize.shgo,
):  # fmt: skip
    _solver(_function, _named_slope(f"scipy.optimize.{_function.__name__}"), 1)
_solver(scipy.optimize.fmin_tnc, _named_slope("scipy.optimize.fmin_tnc"))
_solver(scipy.optimize.direct, _named_slope("scipy.optimize.direct"))
_solver(scipy.optimize.brute, _grid_slope)
_solver(scipy.optimize.fmin_cobyla, _cobyla_slope)
for _function in (
    scipy.optimize.broyden1, scipy.optimize.broyden2, scipy.optimize.anderson,
    scipy.optimize.linearmixing, scipy.optimize.diagbroyden, scipy.optimize.excitingmixing,
    scipy.optimize.newton_krylov,
):  # fmt: skip
    _solver(_function, _value)


def _leastsq_slope(f, given):
    if given["full_output"]:
        why = "its rule covers only the parameters, and not their covariance."
        refuse("scipy.optimize.leastsq", "full_output", why)
    return _slope(lambda x: 0.5 * np.sum(np.square(as_array(f(x)))), {})


_solver(scipy.optimize.leastsq, _leastsq_slope)


@composed(scipy.optimize.nnls)
def nnls(A, b, **options):
    """By the normal equations of the columns that are not held at 0."""
    x, distance = scipy.optimize.nnls(strip(A), strip(b), **plain(options))
    a, b, free = real_and_wide(A), real_and_wide(b), x > 0
    part = np.linalg.lstsq(a[:, free], b)[0]
    places = np.eye(len(x))[:, free]
    solution = with_value(np.matmul(places, part), (x,))
    rest = np.linalg.norm(np.matmul(a, solution) - b)
    return solution, with_value(rest, (distance,))


@composed(scipy.optimize.isotonic_regression)
def isotonic_regression(y, *, weights=None, increasing=True):
    """The weighted mean of each block."""
    found = scipy.optimize.isotonic_regression(
        strip(y), weights=strip(weights), increasing=increasing
    )
    y = real_and_wide(y)
    weights = np.ones(np.shape(y)) if weights is None else real_and_wide(weights)
    block = np.repeat(np.arange(len(found.blocks) - 1), np.diff(found.blocks))
    member = np.equal.outer(np.arange(len(found.blocks) - 1), block) * 1.0
    sums = np.matmul(member, weights)
    means = np.matmul(member, weights * y) / sums
    found["x"] = with_value(means[block], (found.x,))
    found["weights"] = with_value(sums, (found.weights,))
    return found


# Places, of which nothing moves; it is written in C.
_places = scipy.optimize.linear_sum_assignment
nondifferentiable(_places)
linear_sum_assignment = dropins.drop_in(_places, dispatching(_places))

# A function of NumPy's operations


@composed(scipy.optimize.approx_fprime)
def approx_fprime(xk, f, epsilon=_EPSILON, *args):
    """The differences themselves, of f in steps along each axis."""
    x, start = as_array(xk), f(xk, *args)
    if is_complex(x) or np.ndim(start) > 1 or np.ndim(x) > 1:
        raised(scipy.optimize.approx_fprime, x, lambda *_: strip(start), epsilon)
    x, start = np.atleast_1d(real_and_wide(x)), np.reshape(as_array(start), -1)
    least = _EPSILON * np.where(strip(x) >= 0, 1.0, -1.0) * np.maximum(1.0, np.abs(strip(x)))
    moved = x + np.where(strip(x + epsilon) == strip(x), least, epsilon)
    units = np.eye(len(x), dtype=bool)
    ends = [f(np.where(unit, moved, x), *args) for unit in units]
    rows = [np.reshape(as_array(end), -1) - start for end in ends]
    quotients = np.stack(rows) / np.reshape(moved - x, (-1, 1))
    return np.ravel(quotients) if np.shape(quotients)[1] == 1 else np.transpose(quotients)


@valued(scipy.optimize.rosen)
def rosen(x):
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


@valued(scipy.optimize.rosen_der)
def rosen_der(x):
    x = as_array(x)
    low, high = x[:-1], x[1:]
    above, end = 200 * (high - low**2), np.zeros(np.shape(x[:1]))
    left = -2 * above * low - 2 * (1 - low)
    return np.concatenate([left, end]) + np.concatenate([end, above])


@valued(scipy.optimize.rosen_hess_prod)
def rosen_hess_prod(x, p):
    return rosen_hess(x) @ np.atleast_1d(as_array(p))


@valued(scipy.optimize.rosen_hess)
def rosen_hess(x):
    x = as_array(x)
    beside, low = -400 * x[:-1], x[:-1]
    ends = np.concatenate([1200 * low**2 - 400 * x[1:] + 2, np.zeros(1)])
    ends = ends + np.concatenate([np.zeros(1), np.full(len(low), 200.0)])
    return np.diag(beside, 1) - np.diag(-beside, -1) + np.diag(ends)


@composed(scipy.optimize.curve_fit)
def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, **options):
    """By the normal equations, and the covariance by the Jacobian of the residuals."""
    if np.ndim(0.0 if sigma is None else sigma) > 1 or options.get("full_output"):
        why = "its rule covers only the parameters and their covariance, for independent errors."
        refuse("scipy.optimize.curve_fit", "a matrix sigma, or full_output,", why)
    _still("scipy.optimize.curve_fit", options)
    xdata = as_array(xdata) if isinstance(xdata, (list, tuple)) else xdata  # as SciPy gives it to f
    given, rest = plain(((xdata, ydata, p0, sigma, absolute_sigma), options))
    ydata = as_array(ydata)
    held = Held(f)
    best, _ = held.run(
        "scipy.optimize.curve_fit",
        lambda f, _: scipy.optimize.curve_fit(f, *given, **rest),
        (xdata, ydata, sigma),
        moving=slice(None),
    )
    bounds = {"bounds": rest.get("bounds", (-np.inf, np.inf))}

    def errors_of(f):
        return lambda p: (f(xdata, *p) - ydata) / (1.0 if sigma is None else as_array(sigma))

    def slope(p, *values):
        return _squares_slope(errors_of(held.again()(values)), bounds)(p)

    p = implicit(slope, best, *held.leaves, tolerance=_NEAR)
    errors = errors_of(f)
    (slopes,) = jacobian(errors, p)
    covariance = np.linalg.inv(np.matmul(np.transpose(slopes), slopes))
    if not absolute_sigma:
        squares = np.square(errors(p))
        further = np.size(squares) - np.size(p)
        if further <= 0:
            return p, np.full(np.shape(covariance), np.inf)
        covariance = covariance * (np.sum(squares) / further)
    return p, covariance
