"""Differential equations and integrals.

Derivatives go along the steps of an explicit Runge-Kutta method: see `_runge_kutta`. Where it would
take too many, as for stiff equations, the adjoint equation runs backwards, by the same solver with
the same tolerances, along the solution that the solver knows between its steps (A. Hindmarsh, R.
Serban, "User documentation for CVODES"): stiff equations are unstable backwards, their adjoint is
not. Forward mode solves the sensitivity equation.
"""

from functools import partial

import numpy as np
import scipy.integrate
import scipy.linalg

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import as_array, composed, is_watched, raised, strip, watched_leaves
from zyg.scipy._closures import as_tuple, plain, refuse
from zyg.scipy._namespace import dispatching
from zyg.scipy._runge_kutta import steps
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.gradients import pullback
from zyg.verbs.held import Held
from zyg.verbs.pushforward import pushforward


def _joined(parts):
    return np.concatenate([np.ravel(p) for p in parts])


def _parted(vector, like):
    """The parts that `_joined` made a vector of."""
    ends = np.cumsum([0, *map(np.size, like)])
    pairs = zip(ends, ends[1:], like, strict=False)
    return [np.reshape(vector[a:b], np.shape(v))[()] for a, b, v in pairs]


def _array(values):
    """Numbers, of which some may be watched, as an array."""
    if isinstance(values, (list, tuple)):
        return np.stack(values) if watched_leaves(values) else np.asarray(values)
    return np.atleast_1d(values)


def _in_turn(f, turn):
    """f(t, y), or f(y, t), as an array."""
    return lambda *x: _array(f(*x[::turn]))


# Initial value problems


_LSODA = 1.49012e-8  # both tolerances of odeint, by default
_OF_STEPS = "rtol", "atol", "max_step", "first_step"


def _dense(f, y0, times, **options):
    """The solution, a function of the time."""
    ends = times[0], times[-1]
    return scipy.integrate.solve_ivp(f, ends, np.ravel(y0), dense_output=True, **options).sol


def _most(slopes):
    """The most slopes that steps may take, where SciPy has taken so many."""
    return 10 * slopes + 100


_OF_STIFF = (
    "the second derivative of the solution of these differential equations is not known.",
    "they are stiff: the derivative is that of an adjoint equation, which runs along the solution.",
    "take a derivative of zyg.pushforward, or finite differences of zyg.gradient.",
)


def _adjoint_equation(solve, dense, make, y0, times, values, ys_bar):
    """The cotangents of y0, as the start of the others, and of the values."""
    if watched_leaves([y0, times, values, ys_bar]):
        raise MissingRuleError(*_OF_STIFF)
    n, before, known = np.size(y0), np.zeros(np.size(y0)), dense(make(values), y0, times)

    def backwards(t, state):
        _, back = pullback(lambda y, *values: make(values)(t, y), known(t), *values)
        return _joined(back(-state[:n], zeros=True))

    multiplier, total = ys_bar[-1], np.zeros(sum(map(np.size, values)))
    late = len(times) - 1
    for k in range(late, 0, -1):
        if k > 1 and not np.any(ys_bar[k - 1]):
            continue  # it goes on
        state = np.concatenate([multiplier, total])
        state = solve(backwards, state, times[late], times[k - 1])
        before, total, late = state[:n], state[n:], k - 1
        multiplier = before + ys_bar[k - 1]
    return before, _parted(total, values)


def _sensitivities(solve, make, ys, times, values, y_dot, values_dot):
    """The tangents of the states at the times."""
    n = np.size(y_dot)

    def along(t, state):
        def slope(y, *values):
            return make(values)(t, y)

        moving = (state[n:], *values_dot)
        return _joined(pushforward(slope, (state[:n], *values), moving))

    rows = [y_dot]
    for k in range(1, len(times)):
        state = solve(along, np.concatenate([ys[k - 1], rows[-1]]), times[k - 1], times[k])
        rows.append(state[n:])
    return rows


def _trajectory(solve, dense, again, states, y0, times, values, along):
    """`states` as the solution of dy/dt = make(values)(t, y) at these times, from y0 at the first.

    ``make = again()``; ``solve(f, y, t0, t1)`` takes y from one time to another, and
    ``dense(f, y0, times)`` gives it at any time; ``along(f, y0, times)`` gives the steps.
    """

    def along_steps(make, y0, times, values):
        f = make([strip(v) for v in values])
        return along(f, np.ravel(strip(y0)), np.asarray(strip(times), float))

    def pull(ys, leaves, ys_bar):
        y0, times, *values = leaves
        make = again()
        f = make(values)
        found = along_steps(make, y0, times, values)
        if found is None:
            before, totals = _adjoint_equation(solve, dense, make, y0, times, values, ys_bar)
        else:
            before, totals = found.pull(make, np.ravel(y0), values, ys_bar)

        def times_bar():
            late = [np.sum(c * f(t, y)) for c, t, y in zip(ys_bar, times, ys, strict=True)][1:]
            return np.stack([-np.sum(before * f(times[0], ys[0])), *late])

        return np.reshape(before + ys_bar[0], np.shape(y0)), times_bar, *totals

    def push(ys, leaves, tangents):
        y0, times, *values = leaves
        y0_dot, times_dot, *values_dot = tangents
        make = again()
        f = make(values)
        y_dot = start = np.zeros(np.size(y0)) if y0_dot is None else np.ravel(y0_dot)
        if times_dot is not None:
            y_dot = y_dot - f(times[0], ys[0]) * times_dot[0]
        found = along_steps(make, y0, times, values)
        if found is None:
            rows = _sensitivities(solve, make, ys, times, values, y_dot, values_dot)
        else:
            rows = found.push(make, np.ravel(y0), values, y_dot, values_dot)
        if times_dot is not None:
            late = zip(times[1:], ys[1:], times_dot[1:], rows[1:], strict=True)
            rows[1:] = [row + f(t, y) * moved for t, y, moved, row in late]
        return np.stack([start, *rows[1:]])

    return one_entry("trajectory", lambda *leaves: states, pull, (y0, times, *values), push)


def _check_real(name, *values):
    if any(np.iscomplexobj(strip(v)) for v in values):
        raise unknown_call(name, "its rule covers only real states and parameters")


def _steering(options, *names):
    """Tolerances and limits, for the adjoint equation as well, whose state is longer."""
    kept = {k: v for k, v in options.items() if k in names and v is not None}
    return {k: np.min(v) if k in ("rtol", "atol") else v for k, v in plain(kept).items()}


@composed(scipy.integrate.odeint)
def odeint(
    func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, *, tfirst=False, **options
):  # fmt: skip
    args, name = as_tuple(args), "scipy.integrate.odeint"
    options |= {"Dfun": Dfun, "col_deriv": col_deriv, "full_output": full_output}
    start, rest = plain(((y0, t), options))
    held, slopes = Held(func, args), 0

    def run(f, args):
        def counted(*x):
            nonlocal slopes
            slopes += 1
            return f(*x)

        return scipy.integrate.odeint(counted, *start, args, tfirst=tfirst, **rest)

    result = held.run(
        name,
        run,
        (y0, t),
        moving=slice(1, 2) if tfirst else slice(1),
    )
    states = result[0] if full_output else result
    steering = _steering(options, "rtol", "atol", "mxstep", "hmax", "hmin", "h0")

    def again():
        make = held.again()
        turn = 1 if tfirst else -1
        return lambda values: _in_turn(make(values), turn)

    def solve(f, y, t0, t1):
        run = dispatching(scipy.integrate.odeint)
        return run(f, y, _array([t0, t1]), tfirst=True, **steering)[-1]

    y0 = _array(y0)
    _check_real(name, y0, *held.leaves)
    sharp = {"rtol": _LSODA, "atol": _LSODA, "max_step": rest.get("hmax") or np.inf}
    sharp |= {k: rest[k] for k in ("rtol", "atol") if rest.get(k) is not None}
    along = partial(steps, method="LSODA", most=_most(slopes), **sharp)
    dense = partial(_dense, method="LSODA", **sharp)
    ys = _trajectory(solve, dense, again, states, y0, _array(t), held.leaves, along)
    return (ys, result[1]) if full_output else ys


@composed(scipy.integrate.solve_ivp)
def solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, **options):
    name = "scipy.integrate.solve_ivp"
    for option in ("events", "dense_output", "vectorized"):
        if options.get(option):
            refuse(name, option, "its rule covers only the states at given times.")
    args = as_tuple(options.get("args") or ())
    given, rest = plain(((t_span, y0, method, t_eval), options))
    held = Held(fun, args)
    result = held.run(
        name,
        lambda f, args: scipy.integrate.solve_ivp(f, *given, **{**rest, "args": args or None}),
        (t_span, y0, t_eval),
        moving=slice(1, 2),
    )
    steering = _steering(options, "rtol", "atol", "max_step")

    def again():
        make = held.again()
        return lambda values: _in_turn(make(values), 1)

    def solve(f, y, t0, t1):
        return dispatching(scipy.integrate.solve_ivp)(f, (t0, t1), y, method, **steering).y[:, -1]

    y0 = _array(y0)
    _check_real(name, y0, *held.leaves)
    start, end = t_span
    if t_eval is None:
        first, times, states = 0, [start, *result.t[1:-1], end], result.y.T
    else:  # from the start, which need not be asked for
        first, times = 1, [start, *(t_eval[k] for k in range(len(t_eval)))]
        states = np.concatenate([np.reshape(given[1], (1, -1)), result.y.T])
    if result.success:
        kept = {k: v for k, v in rest.items() if k in _OF_STEPS}
        along = partial(steps, method=method, most=_most(result.nfev), **kept)
        dense = partial(_dense, method=method, **kept)
        ys = _trajectory(solve, dense, again, states, y0, _array(times), held.leaves, along)
        result.t, result.y = _array(times)[first:], np.transpose(ys[first:])
    return result


# Integrals

_GAUSS = [*map(np.polynomial.legendre.leggauss, (15, 10))]  # from -1 to 1; the latter is a check
_PLACES = np.concatenate([places for places, _ in _GAUSS])
_ROWS = scipy.linalg.block_diag(*(weights for _, weights in _GAUSS))


def _at_once(slopes, a, b, points=None, epsabs=1e-200, epsrel=1e-8, **options):
    """int_a^b of the slopes, from one tape of all places; None where it may not be exact enough."""
    if points is not None or not np.isfinite([a, b]).all():
        return None
    half = (b - a) / 2
    y, check = half * np.stack(slopes(a + half * (1 + _PLACES), _ROWS))
    norm = np.linalg.norm
    return y if norm(y - check) <= max(epsabs, epsrel * norm(y)) else None


def _slopes(make, values, y_bar):
    """Of make(values) times `y_bar`, by the values: a function of a place, or of many."""

    def slopes(t, rows=None):
        """At t; with rows of weights for many t, the sum of each row."""

        def at_all(*values):
            f = make(values)
            return f(t) if rows is None else np.stack([f(one) for one in t])

        _, back = pullback(at_all, *values)
        if rows is None:
            return _joined(back(y_bar, zeros=True))
        bars = (np.multiply.outer(row, y_bar) for row in rows)
        return [_joined(back(bar, zeros=True)) for bar in bars]

    return slopes


def _integral(held, a, b, options, like, value=None, of_slopes=False):
    """int_a^b of what is held, a number or arrays of the shape of `like`; `value` if known."""

    def run(a, b, *values):
        if value is not None:
            return value
        f = held.again()(values)
        if of_slopes and (y := _at_once(f, a, b, **options)) is not None:
            return y
        if np.shape(like) == ():
            return scipy.integrate.quad(f, a, b, **options)[0]
        known = {k: v for k, v in options.items() if k in ("epsabs", "epsrel", "limit", "points")}
        return scipy.integrate.quad_vec(f, a, b, **known)[0]

    def pull(y, leaves, y_bar):
        a, b, *values = leaves
        make = held.again()

        def at(end):
            return np.sum(y_bar * make(values)(end))

        bars = []
        if values:
            slopes, like = Held(_slopes(make, values, y_bar)), _joined(values)
            bars = _parted(_integral(slopes, a, b, options, like, of_slopes=True), values)
        return lambda: -at(a), lambda: at(b), *bars

    def push(y, leaves, tangents):
        a, b, *values = leaves
        a_dot, b_dot, *values_dot = tangents
        make = held.again()
        parts = [make(values)(b) * b_dot] if b_dot is not None else []
        if a_dot is not None:
            parts.append(-make(values)(a) * a_dot)
        if any(v is not None for v in values_dot):

            def slope(t):
                return pushforward(lambda *values: make(values)(t), values, values_dot)[1]

            parts.append(_integral(Held(slope), a, b, options, y))
        return sum(parts[1:], parts[0])

    return one_entry("integral", run, pull, (a, b, *held.leaves), push)


@composed(scipy.integrate.quad)
def quad(func, a, b, args=(), full_output=0, **options):
    for option in ("weight", "complex_func"):
        if options.get(option):
            refuse("scipy.integrate.quad", option, "its rule covers only the plain integral.")
    held = Held(func, as_tuple(args))
    ends, rest = plain(((a, b), options))
    result = held.run(
        "scipy.integrate.quad",
        lambda f, args: scipy.integrate.quad(f, *ends, args, full_output, **rest),
        (a, b),
        moving=slice(int(is_watched(a) or is_watched(b))),
    )
    return _integral(held, a, b, rest, 0.0, result[0]), *result[1:]


# Sums over samples


@composed(scipy.integrate.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return np.trapezoid(y, x, dx, axis)


@composed(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    if np.shape(y)[axis] == 0:
        raised(scipy.integrate.cumulative_trapezoid, y, x, dx, axis, initial)
    y = np.moveaxis(as_array(y), axis, -1)
    if x is not None:
        dx = np.diff(as_array(x) if np.ndim(x) == 1 else np.moveaxis(x, axis, -1), axis=-1)
    sums = np.cumsum(dx * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        sums = np.concatenate([np.full_like(strip(y[..., :1]), initial), sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


def _quotient(a, b):
    """a / b, and 0 where b is, as SciPy has it of samples at one place."""
    apart = b != 0
    return np.where(apart, a / np.where(apart, b, 1.0), 0.0)


@composed(scipy.integrate.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    if np.shape(y)[axis] == 2:
        return trapezoid(y, x, dx, axis)
    y = np.moveaxis(as_array(y), axis, -1)
    n = y.shape[-1]
    end = n - 2 - (n % 2 == 0)  # of the parabolas; of an even number, the last interval is left
    left, middle, right = y[..., :end:2], y[..., 1 : end + 1 : 2], y[..., 2 : end + 2 : 2]
    if x is None:
        total = np.sum(left + 4.0 * middle + right, axis=-1) * (dx / 3.0)
        last = [dx, dx]
    else:
        x = as_array(x) if np.ndim(x) == 1 else np.moveaxis(x, axis, -1)
        h = np.astype(np.diff(x, axis=-1), float)
        a, b = h[..., :end:2], h[..., 1 : end + 1 : 2]
        both, ratio = a + b, _quotient(a, b)
        weighted = left * (2.0 - _quotient(1.0, ratio))
        weighted = weighted + middle * (both * _quotient(both, a * b)) + right * (2.0 - ratio)
        total = np.sum(both / 6.0 * weighted, axis=-1)
        last = [h[..., -2], h[..., -1]] if n % 2 == 0 else []
    return total if n % 2 else total + _last_interval(y, *last)


def _last_interval(y, a, b):
    """The area above it, below the parabola through the last three samples (Cartwright, 2016)."""
    alpha = _quotient(2 * b**2 + 3 * a * b, 6 * (b + a))
    beta = _quotient(b**2 + 3.0 * a * b, 6 * a)
    eta = _quotient(1 * b**3, 6 * a * (a + b))
    return alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]
