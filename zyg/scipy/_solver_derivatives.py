"""``jac="zyg"`` and ``hess="zyg"``: solvers that take the derivatives of what they solve from zyg.

The unknown may be any structure: the solver sees the vector of its numbers, f and the result have
the structure. Without these options nothing here runs.
"""

import copy
import inspect
import math
import numbers
from typing import Any

import numpy as np

from zyg.errors import NonScalarOutputError, StructureError
from zyg.functions.kit import dropins, keep_parameters, name_of, strip
from zyg.scipy._closures import as_tuple, plain
from zyg.scipy._namespace import dispatching
from zyg.scipy._theirs import scipy
from zyg.verbs.gradients import value_and_gradient
from zyg.verbs.jacobians import hessian, holomorphic, hvp, jacobian
from zyg.verbs.vectors import Layout, flatten

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

    def solve(self, tell=None, **given):
        """Solve, with or without derivatives; `tell` is called with each value of the function."""
        finish = self.prepare(given)
        if tell is not None:
            given["fun"] = _telling(given["fun"], tell)
        return finish(super().__call__(**given))


def _telling(fun, tell):
    def told(v):
        value = fun(v)
        tell(value)
        return value

    return told


def taking_derivatives(function):
    """A decorator of what prepares a solver's arguments, a dict, and returns what finishes."""
    return lambda prepare: WithDerivatives(function, prepare)


class Unknown:
    """What is solved for: the vector that SciPy sees, and the structure that f sees.

    A number, a list of numbers or an array with one axis is a vector of float64, as SciPy has it;
    with `exact`, one number is a number, and float32 is float32.
    """

    def __init__(self, x0: Any, name: str = "the solver", exact: bool = False) -> None:
        x0 = plain(x0)
        self.is_vector = _is_vector(x0, exact)
        self.kind, self.layout = type(x0), Layout(x0, name)
        layout = self.layout
        if self.is_vector:
            self.start, self.of = np.atleast_1d(np.asarray(x0, float)), lambda v: v
            return
        self.start, self.of = self._split(layout.vector(layout.structure.leaves)), self._joined

    def _split(self, vector):
        """The real vector that SciPy sees."""
        if self.layout.dtype.kind == "c":
            return np.concatenate([np.real(vector), np.imag(vector)])
        return vector if vector.dtype == float else np.astype(vector, float)

    def _joined(self, v):
        layout = self.layout
        if layout.dtype.kind == "c":
            v = v[: layout.size] + 1j * v[layout.size :]
        return layout.structure.rebuild(layout.kept(layout.leaves(v), layout.structure.leaves))

    @classmethod
    def of_start(cls, x0):
        return x0 if isinstance(x0, cls) else cls(x0)

    def function(self, f, args=(), kwargs=None):
        """`f` as a function of the vector."""
        if self.is_vector and not args and not kwargs:
            return f
        kwargs = kwargs or {}

        def of_vector(v):
            return f(self.of(v), *args, **kwargs)

        of_vector.__name__ = name_of(f)
        return of_vector

    def slope(self, f, args=()):
        """`f`'s value and its gradient, as functions of the vector."""
        if self.is_vector:
            f = self.function(f, args)
            return lambda v: _first(f, *value_and_gradient(f, v, zeros=True))
        layout, match = self.layout, self.layout.structure.match

        def with_args(x):
            return f(x, *args)

        with_args.__name__ = name_of(f)
        inner = with_args if args else f

        def value_and_slope(v):
            value, grads = _first(f, *value_and_gradient(inner, self.of(v)))
            parts = match(grads, "the parameters", of="gradient")
            return value, self._split(layout.gathered(parts, "the gradient"))

        return value_and_slope

    def vectors(self, f, args=(), kwargs=None):
        """`f`, which returns numbers in any structure, as a function from vector to vector."""
        inner = self.function(f, args, kwargs)
        return lambda v: as_vector(inner(v))

    def seen_by(self, callback):
        """A callback that sees the structure; on what it raises, the parameters so far are."""
        if callback is None:
            return None

        def see(x, *rest, **named):
            try:
                return callback(*rest, **named) if named else callback(x, *rest)
            except StopIteration:  # by which SciPy's callbacks end the search
                raise
            except Exception as error:
                keep_parameters(error, x)
                raise

        if {*inspect.signature(callback).parameters} == {"intermediate_result"}:

            def told(intermediate_result):
                result = type(intermediate_result)(intermediate_result)
                result.x = self.of(result.x)
                return see(result.x, intermediate_result=result)

            return told
        return lambda x, *rest: see(self.of(x), *rest)

    def bounds(self, given):
        """SciPy's bounds of pairs in the structure of the start; SciPy's own as they are."""
        if given is None or self.is_vector or hasattr(given, "lb"):
            return given
        if isinstance(given, _ROWS) and not issubclass(self.kind, (*_ROWS, numbers.Number)):
            return given
        layout = self.layout
        if layout.dtype.kind == "c":
            raise StructureError(
                "bounds were given for a start with complex numbers.",
                "complex numbers have no order.",
                "make their real and imaginary parts two arrays of the start.",
            )
        ends = np.broadcast_to([-np.inf, np.inf], (layout.size, 2)).copy()
        for place, pairs in layout.structure.match(given, "the start", of="form of the bounds"):
            if pairs is not None:
                rows = slice(*layout.ends[place : place + 2])
                low, high = _pairs(pairs, layout, place).T  # of an array met twice, both count
                ends[rows, 0] = np.maximum(ends[rows, 0], low)
                ends[rows, 1] = np.minimum(ends[rows, 1], high)
        return scipy.optimize.Bounds(*ends.T)

    def finish(self, result):
        result.x = self.of(result.x)
        return result


_ROWS = (list, tuple, np.ndarray)


def _pairs(given, layout, place):
    """The bounds of a number or an array: a pair of them, or a pair for each element."""
    ends, shape = [-np.inf, np.inf], layout.shapes[place]
    try:
        if _is_pair(given):
            pair = [free if end is None else end for end, free in zip(given, ends, strict=True)]
            rows = np.stack([np.broadcast_to(end, shape) for end in pair], -1).astype(float)
        else:
            rows = np.array(given, float)  # None becomes NaN
            if rows.shape not in ((*shape, 2), (math.prod(shape), 2)):
                raise ValueError(rows.shape)
        rows = np.where(np.isnan(rows), ends, rows)
        return rows.reshape(math.prod(shape), 2)
    except (TypeError, ValueError):
        raise StructureError(
            f"the bounds at {layout.path(place)} do not fit an array of shape {shape}.",
            "a number or an array has one pair (low, high), of numbers, arrays or None, or one "
            "pair for each element.",
            f"pass (low, high), or an array of shape {(*shape, 2)}.",
        ) from None


def as_vector(y):
    """A result as SciPy takes it: a number or a vector as it is, all else flattened."""
    plain = strip(y)
    if isinstance(plain, (np.ndarray, np.number, float)) and np.ndim(plain) <= 1:
        return y
    return flatten(y)[0]


def _is_pair(given):
    if isinstance(given, np.ndarray):
        return given.shape == (2,)
    return len(given) == 2 and not any(isinstance(end, (list, tuple)) for end in given)


def _is_vector(x, exact):
    """Whether it is a vector to SciPy and loses nothing there, if `exact` not its type either."""
    if type(x) in (list, tuple):
        return bool(x) and all(isinstance(v, (int, float, np.number)) for v in x)
    if exact:
        return (
            isinstance(x, np.ndarray) and x.ndim == 1 and (x.dtype == float or x.dtype.kind in "iu")
        )
    plain = isinstance(x, (np.ndarray, np.number, float, int))
    return plain and np.ndim(x) <= 1 and not np.iscomplexobj(x)


def _with_jacobian(f):
    """`f`, a function from vector to vector, and its Jacobian, by what there are fewer of."""
    rows = 0

    def value(v):
        nonlocal rows
        y = f(v)
        rows = np.size(y)
        return y

    def slopes(v):
        flat, few = (lambda v: np.reshape(f(v), -1)), np.size(v) <= rows
        return jacobian(flat, v, mode="forward" if few else "auto")[0]

    return value, slopes


@taking_derivatives(scipy.optimize.minimize)
def minimize(given):
    x, args = Unknown.of_start(given["x0"]), as_tuple(given.get("args", ()))
    jac, hess, method = given.get("jac"), given.get("hess"), str(given.get("method") or "").lower()
    f = x.function(given["fun"], args)
    value = (lambda v: f(v)[0]) if jac is True else f
    if jac == "zyg":
        given |= {"fun": x.slope(given["fun"], args), "jac": True}
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
    given["constraints"] = [_constraint(c, x) for c in _as_list(given.get("constraints", ()))]
    given["bounds"] = x.bounds(given.get("bounds"))
    return x.finish


def _first(f, value, gradients):
    if type(value) is tuple:
        raise NonScalarOutputError(
            f"{name_of(f)} returned a tuple; a function that is minimized returns one real number.",
            "a solver has no use for what comes with it.",
            "return the number alone.",
        )
    return value, gradients[0]


def differentiated(constraints: Any, twice: bool) -> list[Any]:
    """Constraints, with zyg's derivatives where they were given none."""
    found = []
    for c in _as_list(constraints):
        if isinstance(c, dict):
            c = {**c, "jac": "zyg"} if c.get("jac") is None else c
        elif isinstance(c, scipy.optimize.NonlinearConstraint):
            c = copy.copy(c)
            c.jac = "zyg" if c.jac == "2-point" else c.jac
            c.hess = "zyg" if twice and isinstance(c.hess, scipy.optimize.BFGS) else c.hess
        found.append(c)
    return found


def _as_list(constraints: Any) -> list[Any]:
    single = isinstance(constraints, dict) or hasattr(constraints, "keep_feasible")
    return [constraints] if single else [*constraints]


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
    x = Unknown.of_start(given["x0"])
    f = x.vectors(given["fun"], as_tuple(given.get("args", ())), given.get("kwargs"))
    f, jac = _with_jacobian(f)
    given |= {"fun": f, "jac": jac, "x0": x.start, "args": (), "kwargs": None}
    for name, seen in (("callback", x.seen_by), ("bounds", x.bounds)):
        if name in given:
            given[name] = seen(given[name])
    return x.finish


@taking_derivatives(scipy.optimize.root)
def root(given):
    x = Unknown.of_start(given["x0"])
    f, jac = _with_jacobian(x.vectors(given["fun"], as_tuple(given.get("args", ()))))
    given |= {"fun": f, "jac": jac if given.get("jac") == "zyg" else None, "x0": x.start}
    given |= {"args": (), "callback": x.seen_by(given.get("callback"))}
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
