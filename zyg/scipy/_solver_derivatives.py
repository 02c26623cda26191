"""``jac="zyg"`` and ``hess="zyg"``: solvers that take the derivatives of what they solve from zyg.

The unknown may be any structure: the solver sees the vector of its numbers, f and the result have
the structure. Without these options nothing here runs.
"""

import copy
import inspect

import numpy as np
import scipy.integrate
import scipy.optimize

from zyg.rules.kit import Structure, dropins, is_watched, strip
from zyg.scipy._closures import as_tuple
from zyg.scipy._namespace import dispatching
from zyg.verbs.gradients import value_and_gradient
from zyg.verbs.jacobians import hessian, holomorphic, hvp, jacobian
from zyg.verbs.vectors import flatten

_BY_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}  # take Hessian products


class WithDerivatives(dropins.MethodDropIn):
    """A solver of SciPy's, of whose options one may be "zyg"."""

    __slots__ = ("prepare",)

    def __init__(self, original, prepare):
        super().__init__(original, dispatching(original))
        self.prepare = prepare

    def __call__(self, *args, **kwargs):
        if not any(type(x) is str and x == "zyg" for x in (*args, *kwargs.values())):
            return super().__call__(*args, **kwargs)
        given = inspect.signature(self.original).bind(*args, **kwargs)
        finish = self.prepare(given.arguments)
        return finish(super().__call__(*given.args, **given.kwargs))


def taking_derivatives(function):
    """A decorator of what prepares a solver's arguments, a dict, and returns what finishes."""
    return lambda prepare: WithDerivatives(function, prepare)


class Unknown:
    """What is solved for: the vector that SciPy sees, and the structure that f sees."""

    def __init__(self, x0):
        x0 = _plain(x0)
        self.is_vector = _is_vector(x0)
        if self.is_vector:  # as SciPy has it
            self.start, self.of = np.atleast_1d(np.asarray(x0, float)), lambda v: v
            return
        vector, unflatten = flatten(x0)
        self.start, self.of = vector, unflatten
        if vector.dtype.kind == "c":
            n = len(vector)
            self.start = np.concatenate([vector.real, vector.imag])
            self.of = lambda v: unflatten(v[:n] + 1j * v[n:])
        self.start = np.asarray(self.start, float)

    def function(self, f, args=(), kwargs=None):
        """`f` as a function of the vector."""
        if self.is_vector and not args and not kwargs:
            return f
        kwargs = kwargs or {}
        return lambda v: f(self.of(v), *args, **kwargs)

    def vectors(self, f, args=(), kwargs=None):
        """`f`, which returns numbers in any structure, as a function from vector to vector."""
        inner = self.function(f, args, kwargs)
        return lambda v: as_vector(inner(v))

    def seen_by(self, callback):
        """A callback that sees the structure."""
        if callback is None or self.is_vector:
            return callback
        if {*inspect.signature(callback).parameters} == {"intermediate_result"}:

            def told(intermediate_result):
                result = type(intermediate_result)(intermediate_result)
                result.x = self.of(result.x)
                return callback(intermediate_result=result)

            return told
        return lambda x, *rest: callback(self.of(x), *rest)

    def finish(self, result):
        result.x = self.of(result.x)
        return result


def as_vector(y):
    """A result as SciPy takes it: a number or a vector as it is, all else flattened."""
    plain = strip(y)
    if isinstance(plain, (np.ndarray, np.number, float)) and np.ndim(plain) <= 1:
        return y
    return flatten(y)[0]


def _is_vector(x):
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return bool(x) and all(isinstance(v, (int, float, np.number)) for v in x)
    return isinstance(x, (np.ndarray, np.number, float, int)) and np.ndim(x) <= 1


def _plain(x):
    parts = Structure(x, is_watched)
    return parts.rebuild([strip(v) for v in parts.leaves])


def _with_jacobian(f):
    """`f`, a function from vector to vector, and its Jacobian, by what there are fewer of."""
    rows = 0

    def value(v):
        nonlocal rows
        y = f(v)
        rows = np.size(y)
        return y

    def slopes(v):
        mode = "forward" if np.size(v) <= rows else "auto"
        return jacobian(lambda v: np.reshape(f(v), -1), v, mode=mode)[0]

    return value, slopes


@taking_derivatives(scipy.optimize.minimize)
def minimize(given):
    x, args = Unknown(given["x0"]), as_tuple(given.get("args", ()))
    jac, hess, method = given.get("jac"), given.get("hess"), str(given.get("method") or "").lower()
    f = x.function(given["fun"], args)
    value = (lambda v: f(v)[0]) if jac is True else f
    if jac == "zyg":
        given |= {"fun": lambda v: _first(value_and_gradient(f, v, zeros=True)), "jac": True}
    else:
        given |= {"fun": f, "jac": x.vectors(jac, args) if callable(jac) else jac}
    if hess == "zyg" and method in _BY_PRODUCTS:
        given |= {"hess": None, "hessp": lambda v, p: hvp(value, v, p)}
    elif hess == "zyg":
        given["hess"] = lambda v: hessian(value, v)
    elif callable(hess):
        given["hess"] = x.function(hess, args)
    if callable(given.get("hessp")) and hess != "zyg":
        product = given["hessp"]
        given["hessp"] = lambda v, p: as_vector(product(x.of(v), x.of(p), *args))
    given |= {"x0": x.start, "args": (), "callback": x.seen_by(given.get("callback"))}
    given["constraints"] = _constraints(given.get("constraints", ()), x)
    return x.finish


def _first(value_and_gradients):
    value, (gradient,) = value_and_gradients
    return value, gradient


def _constraints(constraints, x):
    single = isinstance(constraints, dict) or hasattr(constraints, "keep_feasible")
    return [_constraint(c, x) for c in ([constraints] if single else constraints)]


def _constraint(c, x):
    """A constraint whose functions see the structure, with derivatives if it asks for them."""
    if isinstance(c, scipy.optimize.NonlinearConstraint):
        made = copy.copy(c)
        made.fun = f = x.vectors(c.fun)
        made.jac = _jacobian(c.jac, f, x)
        if c.hess == "zyg":
            made.hess = lambda v, w: hessian(lambda v: np.sum(w * f(v)), v)
        return made
    if not isinstance(c, dict):
        return c
    args = as_tuple(c.get("args", ()))
    f = x.vectors(c["fun"], args)
    return {"type": c["type"], "fun": f, "jac": _jacobian(c.get("jac"), f, x, args)}


def _jacobian(jac, f, x, args=()):
    if jac == "zyg":
        return _with_jacobian(f)[1]
    return x.function(jac, args) if callable(jac) else jac


@taking_derivatives(scipy.optimize.least_squares)
def least_squares(given):
    x = Unknown(given["x0"])
    f = x.vectors(given["fun"], as_tuple(given.get("args", ())), given.get("kwargs"))
    f, jac = _with_jacobian(f)
    given |= {"fun": f, "jac": jac, "x0": x.start, "args": (), "kwargs": None}
    given["callback"] = x.seen_by(given.get("callback"))
    return x.finish


@taking_derivatives(scipy.optimize.root)
def root(given):
    x = Unknown(given["x0"])
    f, jac = _with_jacobian(x.vectors(given["fun"], as_tuple(given.get("args", ()))))
    given |= {"fun": f, "jac": jac, "x0": x.start, "args": ()}
    return x.finish


@taking_derivatives(scipy.optimize.curve_fit)
def curve_fit(given):
    f = given["f"]

    def slopes(xdata, *p):
        return jacobian(lambda p: np.reshape(f(xdata, *p), -1), np.array(p, float))[0]

    given["jac"] = slopes
    return lambda result: result


@taking_derivatives(scipy.integrate.solve_ivp)
def solve_ivp(given):
    f, columns = given["fun"], given.get("vectorized", False)

    def slopes(t, y, *args):
        verb = holomorphic if np.iscomplexobj(y) else lambda f, y: jacobian(f, y)[0]
        return verb(lambda y: _flat(f(t, y[:, None] if columns else y, *args)), y)

    given["options"] = {**given.get("options", {}), "jac": slopes}
    return lambda result: result


def _flat(y):
    return np.reshape(as_vector(y), -1)
