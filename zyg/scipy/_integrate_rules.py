"""Differential equations.

Derivatives go along the steps of a Runge-Kutta method, an implicit one for stiff equations: see
`_runge_kutta`.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from zyg.errors import AdjointError, MissingRuleError, unknown_call
from zyg.functions.kit import composed, is_watched, strip, watched_leaves
from zyg.scipy._closures import as_tuple, plain, refuse
from zyg.scipy._estimates import as_estimates
from zyg.scipy._jumps import along_solution, demand_still_on_path
from zyg.scipy._runge_kutta import steps
from zyg.scipy._theirs import scipy
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.held import Held
from zyg.verbs.implicit import solution

_PLAIN = {int, float, np.float64}


def _array(values):
    """Numbers, of which some may be watched, as an array."""
    if isinstance(values, (list, tuple)):
        plain = _PLAIN.issuperset(map(type, values)) or not watched_leaves(values)
        return np.asarray(values) if plain else np.stack(values)
    return np.atleast_1d(values)


def _in_turn(f, turn):
    """f(t, y), or f(y, t), as an array."""
    return lambda *x: _array(f(*x[::turn]))


# Initial value problems


_LSODA = 1.49012e-8  # both tolerances of odeint, by default
_OF_STEPS = "rtol", "atol", "max_step", "first_step"


def _most(slopes):
    """The most slopes that steps may take, where SciPy has taken so many."""
    return 10 * slopes + 100


class _Problem(NamedTuple):
    """dy/dt = again()(values)(t, y), from a state at a time on; `along` gives the steps."""

    again: Any
    along: Any
    y0: Any
    start: Any
    values: Any

    def states(self, times, rows):
        """At times, in any order: these `rows`, with their derivatives."""
        order = sorted(range(len(times)), key=lambda k: abs(strip(times[k]) - strip(self.start)))
        rows = np.stack([np.ravel(strip(self.y0)), *(rows[k] for k in order)])
        ends = _array([self.start, *(times[k] for k in order)])
        return _trajectory(self.again, self.along, rows, self.y0, ends, self.values)[
            1 + np.argsort(order)
        ]


def _trajectory(again, along, rows, y0, times, values):
    """`rows` as the states at these times, from y0 at the first."""
    moving = is_watched(times)

    def begin(y0, times, values):
        make = again()
        f = make([strip(v) for v in values])
        found = along(f, np.ravel(strip(y0)), np.asarray(strip(times), float))
        return found, (make, np.ravel(y0), times, values)

    def pull(_, leaves, ys_bar):
        y0, times, *values = leaves
        found, given = begin(y0, times, values)
        before, times_bar, totals = found.pull(*given, ys_bar, moving)
        return np.reshape(before + ys_bar[0], np.shape(y0)), np.stack(times_bar), *totals

    def push(_, leaves, tangents):
        y0, times, *values = leaves
        y0_dot, times_dot, *values_dot = tangents
        found, given = begin(y0, times, values)
        start = np.zeros(np.size(y0)) if y0_dot is None else np.ravel(y0_dot)
        return np.stack(found.push(*given, start, times_dot, values_dot))

    return one_entry("trajectory", lambda *_: rows, pull, (y0, times, *values), push)


def _check_real(name, *values):
    if any(np.iscomplexobj(strip(v)) for v in values):
        raise unknown_call(name, "its rule covers only real states and parameters")


@composed(scipy.integrate.odeint)
def odeint(
    func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, *, tfirst=False, **options
):  # fmt: skip
    args, name = as_tuple(args), "scipy.integrate.odeint"
    options |= {"Dfun": Dfun, "col_deriv": col_deriv, "full_output": full_output}
    start, rest = plain(((y0, t), options))
    held, called = Held(func, args), []

    def run(f, args):
        def noted(*x):
            called.append(x[0] if tfirst else x[1])
            return f(*x)

        return scipy.integrate.odeint(noted, *start, args, tfirst=tfirst, **rest)

    result = held.run(
        name,
        run,
        (y0, t),
        moving=slice(1, 2) if tfirst else slice(1),
    )
    states = result[0] if full_output else result

    def again():
        make = held.again()
        turn = 1 if tfirst else -1
        return lambda values: _in_turn(make(values), turn)

    y0 = _array(y0)
    _check_real(name, y0, *held.leaves)
    sharp = {"rtol": _LSODA, "atol": _LSODA, "max_step": rest.get("hmax") or np.inf}
    sharp |= {k: rest[k] for k in ("rtol", "atol") if rest.get(k) is not None}
    beyond = is_watched(t), False

    def check(path):
        demand_still_on_path(name, again(), held.leaves, path, beyond)

    most = _most(len(called))
    along = partial(steps, method="LSODA", most=most, nodes=called, check=check, **sharp)
    ys = _trajectory(again, along, states, y0, _array(t), held.leaves)
    return (ys, as_estimates(result[1], name, "compute with the states")) if full_output else ys


@composed(scipy.integrate.solve_ivp)
def solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None,
              vectorized=False, args=None, **options):  # fmt: skip
    name = "scipy.integrate.solve_ivp"
    if vectorized:
        refuse(name, "vectorized", "its rule gives the function one state.")
    args, events = as_tuple(args or ()), [events] if callable(events) else [*(events or ())]
    named = getattr(method, "__name__", method)
    given, rest = plain(((t_span, y0, method, t_eval, True, events or None), options))
    held, crossed = Held(fun, args), [Held(x, args) for x in events]
    run = [*map(Held, given[-1] or ())]
    result = held.run(
        name,
        lambda f, args: scipy.integrate.solve_ivp(f, *given, args=args or None, **rest),
        (t_span, y0, t_eval),
        moving=slice(1, 2),
    )
    if any(map(_leaves_something, run, events)):
        refuse(name, "events", "what one of them keeps is not followed.")

    def again():
        make = held.again()
        return lambda values: _in_turn(make(values), 1)

    y0 = _array(y0)
    _check_real(name, y0, *held.leaves)
    kept = {k: v for k, v in rest.items() if k in _OF_STEPS}
    nodes, follows = result.sol.ts, held.leaves or is_watched(y0) or is_watched(t_span[0])
    if follows and len(nodes) > 1 and nodes[0] != nodes[-1]:
        beyond = is_watched(t_span[0]), result.status == 1
        demand_still_on_path(name, again(), held.leaves, along_solution(result.sol), beyond)
    states, result.sol = np.transpose(result.sol(nodes)), result.sol if dense_output else None
    given = {"nodes": nodes, "states": states, **kept}
    along = partial(steps, method=named, most=_most(result.nfev), **given)
    _watch(result, _Problem(again, along, y0, t_span[0], held.leaves), crossed, t_span, t_eval)
    return result


def _leaves_something(run, own):
    """Whether an event that has run keeps numbers, or was a copy, and keeps anything."""
    changed = run.changed()
    return bool(changed) and (run.root[0] is not own or run.lets_numbers_out(changed))


def _watch(result, problem, crossed, t_span, t_eval):
    """Give what a solver has found its derivatives."""
    ends = np.cumsum([len(result.t), *map(len, result.t_events or ())])
    rows, crossings = [*np.transpose(result.y)], []
    if ends[-1] > ends[0]:
        rows += [y for ys in result.y_events for y in ys]
        crossings = _crossings(problem, crossed, result.t_events, rows[ends[0] :])
    if t_eval is not None:
        times = [t_eval[k] for k in range(ends[0])]
    else:
        times = [t_span[0], *result.t[1:]]
        if result.status == 0:
            times[-1] = t_span[1]
        elif result.status == 1:
            times[-1] = max(crossings, key=lambda t: abs(strip(t) - result.t[0]))
    states = problem.states([*times, *crossings], rows)
    if times:
        result.t, result.y = _array(times), np.transpose(states[: ends[0]])
    for k, (first, last) in enumerate(pairwise(ends)):
        if last > first:
            result.t_events[k] = crossings[first - ends[0] : last - ends[0]]
            result.y_events[k] = states[first:last]
    if result.sol is not None:
        result.sol = _Dense(result.sol, problem)


def _crossings(problem, crossed, found, states):
    """The times of events, at which functions of time and state are 0, with these `states`."""
    owners = [k for k, times in enumerate(found) for _ in times]
    ends = np.cumsum([0, len(problem.values), *(len(x.leaves) for x in crossed)])

    def begin():
        makes = [x.again() for x in crossed]

        def values(times, y0, start, *leaves):
            own, *others = (leaves[a:b] for a, b in pairwise(ends))
            ys = problem._replace(y0=y0, start=start, values=own).states(times, states)
            events = [make(x) for make, x in zip(makes, others, strict=True)]
            return np.stack([events[k](t, y) for k, t, y in zip(owners, times, ys, strict=True)])

        return values

    def solve(turned, bar, levels):
        """A time is in no equation but its own."""
        slopes = turned(np.ones(len(owners)))
        if not np.all(strip(slopes)):
            raise AdjointError(
                "the time of an event has no derivative.",
                "its function has the slope 0 there: it is a step, or only touches 0.",
                "ask for the state at a time, or use zyg.stop_gradient of the event's time.",
            )
        return bar / slopes

    leaves = problem.y0, problem.start, *problem.values, *(v for x in crossed for v in x.leaves)
    return solution(begin, np.concatenate(found), leaves, solve=solve)


class _Dense:
    """A solution as a function of the time: SciPy's, with its derivatives."""

    def __init__(self, sol, problem):
        self._sol, self._problem = sol, problem

    def __call__(self, t):
        rows, times = np.transpose(self._sol(strip(t))), np.atleast_1d(t)
        outside = (strip(times) < self._sol.t_min) | (strip(times) > self._sol.t_max)
        if np.any(outside):
            raise MissingRuleError(
                f"the solution was asked for at {strip(times)[outside][0]}, where the solver was "
                f"not: it went from {self._sol.t_min} to {self._sol.t_max}.",
                "what SciPy gives there has no derivative.",
                "solve over a longer span.",
            )
        states = self._problem.states([*times], [*np.atleast_2d(rows)])
        return np.transpose(states) if np.ndim(t) else states[0]

    def __getattr__(self, name):
        if name.startswith("_"):  # asked for by copies of it, while they have nothing
            raise AttributeError(name)
        return getattr(self._sol, name)
