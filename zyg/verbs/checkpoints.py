"""Calls that are one entry on the tape, whatever happens inside.

The call is taken apart: the watched numbers and arrays in the function's closure and its arguments
become the operands of a rule, so that nothing it depends on is lost.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, on_host
from zyg.base.borders import border
from zyg.base.marks import Named, verb
from zyg.base.registry import Adjoint
from zyg.base.signatures import P, R
from zyg.base.structure import Structure
from zyg.core.entries import is_result
from zyg.core.questions import is_traced
from zyg.core.results import of_its_own, read_only
from zyg.core.running import run_function
from zyg.core.strand import Confined, is_watched, strip
from zyg.core.trace import Trace, demand_complete
from zyg.errors import AdjointError, MissingRuleError, is_users
from zyg.verbs.effects import globals_of, named_by
from zyg.verbs.taken_apart import IdleCall, TakenApart


def one_entry(
    name: str,
    run: Callable[..., Any],
    pull: Callable[..., tuple[Any, ...]],
    leaves: Sequence[Any],
    push: Callable[[Any, Sequence[Any], Any], Any] | None = None,
    strong: bool = False,
) -> Any:
    """``run(*leaves)``, noted as one entry of each level that watches the leaves.

    ``pull(y, leaves, y_bar)`` gives their cotangents, with everything one level further out, and
    ``push(y, leaves, tangents)`` the tangent of y, if it is not to be the transpose of that. With
    `strong`, pull is told whether products keep exact zeros, as an argument more.
    """

    def applied(inner: Sequence[Any]) -> Any:
        watched = any(map(is_traced, inner))
        if watched:
            return one_entry(name, run, pull, inner, push, strong)
        return demand_complete(run(*map(read_only, inner)), f"zyg.{name}")

    def rule(*inner: Any) -> Any:
        y = applied(inner)
        return y, lambda *given: pull(y, inner, *given)

    made = OneEntry(name, rule)
    made.strong = strong
    if push is not None:

        @made.pushforward
        def forward(*inner: Any) -> Any:
            y = applied(inner)
            return y, lambda *tangents: push(y, inner, tangents)

    return made(*leaves)


class OneEntry(Adjoint):
    """A rule of one's own that is made for one call, by fewer steps than an Adjoint is."""

    linear, strong, standalone = (), False, True
    positional: list[Any] = []  # noqa: RUF012
    variadic = True
    may_cut = False

    def __init__(self, name: str, rule: Callable[..., Any], may_cut: bool = False) -> None:
        self.key = self.rule = self.function = rule
        self.name, self.may_cut = name, may_cut


def pullback_inside(
    confined: Confined, f: Callable[..., Any], *args: Any, strong: tuple[bool, ...] = ()
) -> tuple[Any, Callable[..., Any]]:
    """`pullback`, whose values do not outlive it where they are confined.

    It steps back once, if it is told whether products keep exact zeros.
    """
    trace = (OnePass if strong else Trace)(f, args, {}, arguments="copied")
    trace.strand.confined = confined
    if isinstance(trace, OnePass):
        trace.strong = strong
    return trace.y, functools.partial(trace.back, zeros=False)


class OnePass(Trace):
    """A call that is stepped back through once, in the way of the pass around it."""

    strong: tuple[bool, ...]

    def passes(self) -> tuple[bool, ...]:
        return self.strong

    def is_checked(self) -> bool:
        return False


@verb
@border
def checkpoint(f: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """``f(*args, **kwargs)``, run again in the reverse pass, so that its steps need no memory.

    f runs once more for each reverse pass, and for each level of nested gradients. The second run
    sees the random state that the first one saw: of the global generators of NumPy, Python and
    PyTorch, and of every generator in the closure, the arguments and the globals that f names, or a
    function of yours that it names.
    Variables of enclosing functions, and lists, dicts, sets and objects in them, are for the second
    run what they were for the first, and what it writes to them stays its own; what it writes to
    global variables, it writes again. Messages of zyg.mpi it does not exchange again: what the
    first run received is kept.

    Parameters
    ----------
    f : callable
        The function. It must not write to arrays among its arguments, which are read-only under a
        gradient.
    *args
        Its arguments.
    **kwargs
        Its keyword arguments.

    Returns
    -------
    what f returns
        The value, of any structure.

    Raises
    ------
    AdjointError
        On the way back, where the second run gives another value, where a number has changed among
        the globals that f and the functions that it calls name, or where a value is used that left
        f by a side effect.
    MissingRuleError
        For device arrays.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> def layer(x):
    ...     return np.tanh(np.sin(x) * np.exp(x))
    >>> zyg.gradient(lambda x: zyg.checkpoint(layer, zyg.checkpoint(layer, x)), 0.0)
    (1.0,)
    """
    call = TakenApart("zyg.checkpoint", f, args, kwargs)
    log = next((session.new_log() for session in exchanging if session.is_here()), None)
    if not call.leaves or (log is not None and log.moves):
        given = (*args, *kwargs.values())
        return of_its_own(run_function(f, args, kwargs), given)  # type: ignore[no-any-return]
    if not all(array_type(x).seen_whole for x in call.leaves):
        raise MissingRuleError(
            "zyg.checkpoint of device arrays has no rule.",
            "zyg cannot compare the two runs without copying arrays to the host, and does not "
            "know the library's random generators.",
            "call the function without zyg.checkpoint.",
            tag="device",
        )
    generators, before = states_in(f, args, kwargs)
    call_it = run_function if log is None else log.runs

    def run(*leaves: Any) -> Any:
        return call_it(*call.rebuild(leaves))

    def first(*leaves: Any) -> Any:
        rewind = functools.partial(_set_states, generators, before)
        y = call.first(call_it, leaves, rewind=rewind)
        then.update(globals_in(f, parts))
        return y

    parts = [*call.whole.containers().values()]
    before_it, then = globals_in(f, parts), dict[tuple[int, str], Any]()

    def pull(y: Any, leaves: Sequence[Any], y_bar: Any, *strong: bool) -> tuple[Any, ...]:
        call.note_changes()
        now = globals_in(f, parts)
        with rewound(generators, before):
            again, back = pullback_inside(call.confined, run, *leaves, strong=strong)
            # Watched, it may round in another way than it did.
            if not _alike(y, again):
                plain = [read_only(strip(x)) for x in leaves]
                again = (
                    run(*plain) if call.keeps_nothing else IdleCall(call.confined, run, (*plain,)).y
                )
        _demand_unchanged(f, before_it, then, now)
        demand_same(f, y, again, "zyg.checkpoint ran it again for the reverse pass")
        return back(y_bar)  # type: ignore[no-any-return]

    if log is None:
        return one_entry("checkpoint", first, pull, call.leaves)  # type: ignore[no-any-return]
    return log.noted(first, pull, call.leaves)  # type: ignore[no-any-return]


# The gradients whose functions exchange messages with other processes, while they run: what came of
# these messages is in a log, for when the function of a checkpoint runs again.
exchanging: list[Any] = []


def demand_same(f: Any, y: Any, again: Any, when: str) -> None:
    if not _alike(y, again, of_largest=True):
        raise AdjointError(
            f"{getattr(f, '__name__', type(f).__name__)} gave another value when {when}.",
            "something that it uses has changed since its first run: a generator of random "
            "numbers that is not found, or a variable.",
            "pass the generator, or the value of the variable, as an argument.",
            tag="second-run",
        )


def _alike(y: Any, again: Any, *, of_largest: bool = False) -> bool:
    """Whether two values are the same, each number up to its rounding or up to the largest's."""
    pairs = [[on_host(strip(v)) for v in Structure(x, is_result).leaves] for x in (y, again)]
    return len(pairs[0]) == len(pairs[1]) and all(
        np.shape(a) == np.shape(b) and _close(a, b, of_largest) for a, b in zip(*pairs, strict=True)
    )


def _close(a: Any, b: Any, of_largest: bool) -> bool:
    if not isinstance(a, (float, complex, np.ndarray, np.generic)):
        return bool(a == b)
    if np.all(a == b):
        return True
    dtype = np.asarray(a).dtype
    if dtype.kind not in "fc":
        return bool(np.all(a == b))
    bound = 256 * float(np.finfo(dtype).eps)
    finite = np.where(np.isfinite(a), np.abs(a), 0.0)
    largest = float(np.max(finite, initial=0.0)) if of_largest else 0.0
    return np.allclose(a, b, rtol=bound, atol=bound * largest, equal_nan=True)


def _demand_unchanged(f: Any, first: Noted, then: Noted, now: Noted) -> None:
    """Raise where a global variable is not what the first run saw.

    What f itself writes to, lists and variables of its helper functions, is not asked for: the
    value tells whether it depends on them.
    """
    name = getattr(f, "__name__", type(f).__name__)
    for key, (variable, is_own, before) in first.items():
        if now.get(key, _NOTHING)[-1] != before and (
            is_own or then.get(key, _NOTHING)[-1] == before
        ):
            raise AdjointError(
                f"the global variable {variable} has changed since zyg.checkpoint ran {name}: "
                f"{name} gave another value, or would have another derivative.",
                "it is run again for the reverse pass, and reads the variable as it is then.",
                "pass the value of the variable as an argument.",
                tag="second-run",
            )


# By the ids of the variables of a module, and a name: it, whether it is a number that the function
# itself names, and what is in it.
Noted = dict[tuple[int, str], tuple[str, bool, list[Any]]]


def globals_in(f: Any, parts: Iterable[Any]) -> Noted:
    """The numbers and texts among the globals of a call's functions, and of those they name."""
    found: Noted = {}
    waiting = [x for x in parts if type(x) is FunctionType]
    seen = {*map(id, waiting)}
    while waiting:
        g = waiting.pop()
        for name in globals_of(g.__code__):
            x = g.__globals__.get(name)
            if type(x) is FunctionType and id(x) not in seen:
                seen.add(id(x))
                waiting.append(x)
            elif type(x) in _CONSTANTS:
                found[id(g.__globals__), name] = name, g is f, [x]
            elif type(x) in (list, dict):
                found[id(g.__globals__), name] = name, False, contents_of(x)
    return found


def contents_of(x: Any) -> list[Any]:
    """The numbers and texts in a list or a dict, and which other things are in it."""
    found: list[Any] = []
    waiting = [x]
    while waiting and len(found) < _MOST:
        x = waiting.pop()
        if type(x) in (list, tuple, dict):
            found.append(len(x))
            waiting.extend([*(x.items() if type(x) is dict else x)][:_MOST])
        else:
            found.append(x if type(x) in _CONSTANTS else id(x))
    return found


_NOTHING = "", False, list[Any]()
_CONSTANTS = {int, float, complex, str, bool}
_MOST = 1000  # numbers of a list that are looked at, so that a large table costs no time


# How the state of a generator is read and set, by its class; and those that a library has for all.
# A bridge to a library with random numbers of its own adds them.
GENERATORS: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    np.random.Generator: (
        lambda g: g.bit_generator.state,
        lambda g, state: setattr(g.bit_generator, "state", state),
    ),
    np.random.RandomState: (np.random.RandomState.get_state, np.random.RandomState.set_state),
    random.Random: (random.Random.getstate, random.Random.setstate),
}
GLOBAL_GENERATORS: list[Any] = [random._inst, np.random.mtrand._rand]


def states_in(f: Any, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
    """The random generators that a call may draw from, and their states."""
    found = [*GLOBAL_GENERATORS, *_generators(f, args, kwargs)]
    return found, [*map(_state, found)]


def _generators(f: Any, args: Any, kwargs: Any) -> list[Any]:
    """The random generators in a call, and those among the globals that its functions name."""
    kinds, parts = (*GENERATORS, Named), (f, args, kwargs)
    whole = Structure(parts, lambda x: is_watched(x) or isinstance(x, kinds), shared=True)
    waiting = [getattr(f, "__func__", f), *whole.containers().values(), *whole.leaves]
    found, seen = list[Any](), set[int]()
    while waiting:
        x = waiting.pop()
        if isinstance(x, (*GENERATORS,)):
            found.append(x)
        elif isinstance(x, Named):  # what a bridge or a compiled function calls
            waiting.append(getattr(x, "__wrapped__", None))
        elif type(x) is FunctionType and id(x) not in seen and is_users(x.__code__.co_filename):
            seen.add(id(x))
            waiting.extend(named_by(x))
    return found


def _access(generator: Any) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    return next(a for kind, a in GENERATORS.items() if isinstance(generator, kind))


def _state(generator: Any) -> Any:
    return _access(generator)[0](generator)


def _set_states(generators: list[Any], states: list[Any]) -> None:
    for g, state in zip(generators, states, strict=True):
        _access(g)[1](g, state)


@contextmanager
def rewound(generators: list[Any], states: list[Any]) -> Iterator[None]:
    """The generators in the given states, and afterwards again in those they were found in."""
    found = [_state(g) for g in generators]
    try:
        _set_states(generators, states)
        yield
    finally:
        try:
            _set_states(generators, found)
        finally:
            _set_states(generators, found)


@contextmanager
def rewinding(generator: Any) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A twin of a generator of NumPy's that nobody else draws from, and what puts it back, once.

    At the end the generator is where its twin was when it was put back. Draws of its own would wait
    for ever here: before NumPy 2.4 who has its lock cannot take it again.
    """
    legacy = isinstance(generator, np.random.RandomState)
    bits = generator._bit_generator if legacy else generator.bit_generator
    with bits.lock:
        begin, after = _state(generator), list[Any]()
        twin = (np.random.RandomState if legacy else np.random.Generator)(copy.copy(bits))
        _set_states([twin], [begin])  # a RandomState has more than its bits

        def rewind() -> None:
            after.append(_state(twin))
            _set_states([twin], [begin])

        try:
            yield twin, rewind
        finally:
            _set_states([generator] * len(after), after)
