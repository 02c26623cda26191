"""Solutions, differentiated by the implicit function theorem."""

import functools
import inspect

import numpy as np
import scipy.optimize

from zyg.functions.kit import as_array, composed, strip
from zyg.scipy._closures import as_tuple, plain, refuse
from zyg.verbs.gradients import pullback, stop_gradient
from zyg.verbs.held import Held
from zyg.verbs.implicit import implicit, solution
from zyg.verbs.jacobians import jacobian


def _solution(held, residual_of, x):
    """`x`, which the solver has found exact enough: where residual_of(f) is 0, f as it is held."""

    def begin():
        make = held.again()
        return lambda x, *values: residual_of(make(values))(x)

    return solution(begin, stop_gradient(x), held.leaves, np.inf)


# What is 0 at the solution: of (f, the options of the solver), a function of x


def _value(f, given):
    """The values of f, as SciPy takes them: a number or a list for a vector of its length."""

    def value(x):
        y = f(x)
        vector = np.ravel(np.stack(y) if isinstance(y, (list, tuple)) else y)
        return np.reshape(vector, np.shape(x)) if np.size(vector) == np.size(x) else y

    return value


def _change(f, given):
    return lambda x: f(x) - x


def _slope(f, given):
    """The gradient of a function that is minimal; where a bound holds x, x itself."""
    if given.get("constraints"):
        why = "its rule covers only a minimum inside of the bounds."
        refuse("scipy.optimize.minimize", "constraints", why)
    value = (lambda x: f(x)[0]) if given.get("jac") is True else f
    low, high = _limits(given.get("bounds"))

    def slope(x):
        held = (strip(x) <= low) | (strip(x) >= high)
        return np.where(held, x, _gradient(value, x))[()]

    return slope


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


def _limits(bounds):
    """The lowest and the highest values of x."""
    if bounds is None or np.shape(bounds) == (2,):  # a scalar function is bounded to be searched
        return -np.inf, np.inf
    if hasattr(bounds, "lb"):
        return _ends(bounds)
    rows = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in plain(bounds)]
    return np.transpose(rows)


def _solver(function, residual_of):
    """The rule of a solver, ``function(f, x0, ..., args=...)``."""
    signature = inspect.signature(function)

    def solve(*arguments, **options):
        rest = signature.bind(*arguments, **options).arguments
        name, fun = next(iter(rest)), rest.pop(next(iter(rest)))
        args, keywords = as_tuple(rest.pop("args", ())), rest.get("kwargs") or {}
        if "kwargs" not in signature.parameters or not keywords:
            with_keywords = fun
        else:

            def with_keywords(*x, **_):  # which the solver gives as plain values
                return fun(*x, **keywords)

        given = {k: p.default for k, p in signature.parameters.items()} | plain(rest)
        residual_of(with_keywords, given)  # may be refused
        held = Held(with_keywords, args)
        result = held.run(
            f"scipy.optimize.{function.__name__}",
            lambda f, args: function(**{name: f, **plain(rest), "args": args}),
            moving=slice(1),
        )
        residual_of_f = functools.partial(residual_of, given=given)

        def value(x):
            y = with_keywords(x, *args)
            return y[0] if given.get("jac") is True else y

        if isinstance(result, dict):  # SciPy's OptimizeResult
            name = "root" if "root" in result else "x"
            result[name] = x = _solution(held, residual_of_f, result[name])
            if "fun" in result:
                result["fun"] = value(x)
            return result
        if isinstance(result, tuple):  # with full_output
            return _solution(held, residual_of_f, result[0]), *result[1:]
        return _solution(held, residual_of_f, result)

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


@composed(scipy.optimize.curve_fit)
def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, **options):
    """By the normal equations, and the covariance by the Jacobian of the residuals."""
    if np.ndim(0.0 if sigma is None else sigma) > 1 or options.get("full_output"):
        why = "its rule covers only the parameters and their covariance, for independent errors."
        refuse("scipy.optimize.curve_fit", "a matrix sigma, or full_output,", why)
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

    p = implicit(slope, best, *held.leaves, tolerance=np.inf)
    errors = errors_of(f)
    (slopes,) = jacobian(errors, p)
    covariance = np.linalg.inv(np.matmul(np.transpose(slopes), slopes))
    if not absolute_sigma:
        squares = np.square(errors(p))
        covariance = covariance * (np.sum(squares) / (np.size(squares) - np.size(p)))
    return p, covariance
