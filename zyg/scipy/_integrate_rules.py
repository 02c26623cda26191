"""Differential equations.

Derivatives go along the steps of an explicit Runge-Kutta method: see `_runge_kutta`. Where it would
take too many, as for stiff equations, the adjoint equation runs backwards, by the same solver with
the same tolerances, along the solution that the solver knows between its steps (A. Hindmarsh, R.
Serban, "User documentation for CVODES"): stiff equations are unstable backwards, their adjoint is
not. Forward mode solves the sensitivity equation.
"""

from functools import partial

import numpy as np
import scipy.integrate

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import composed, strip, watched_leaves
from zyg.scipy._closures import as_tuple, joined, parted, plain, refuse
from zyg.scipy._namespace import dispatching
from zyg.scipy._runge_kutta import steps
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.gradients import pullback
from zyg.verbs.held import Held
from zyg.verbs.pushforward import pushforward


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
        return joined(back(-state[:n], zeros=True))

    multiplier, total = ys_bar[-1], np.zeros(sum(map(np.size, values)))
    late = len(times) - 1
    for k in range(late, 0, -1):
        if k > 1 and not np.any(ys_bar[k - 1]):
            continue  # it goes on
        state = np.concatenate([multiplier, total])
        state = solve(backwards, state, times[late], times[k - 1])
        before, total, late = state[:n], state[n:], k - 1
        multiplier = before + ys_bar[k - 1]
    return before, parted(total, values)


def _sensitivities(solve, make, ys, times, values, y_dot, values_dot):
    """The tangents of the states at the times."""
    n = np.size(y_dot)

    def along(t, state):
        def slope(y, *values):
            return make(values)(t, y)

        moving = (state[n:], *values_dot)
        return joined(pushforward(slope, (state[:n], *values), moving))

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
