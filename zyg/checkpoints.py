"""Calls that are one entry on the tape, whatever happens inside.

The call is taken apart: the watched numbers and arrays in the function's closure and its arguments
become the operands of a rule, so that nothing it depends on is lost.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from zyg._registry import Adjoint
from zyg._strand import TRACED, is_traced
from zyg._structure import Structure
from zyg.gradients import pullback

__all__ = ["checkpoint", "one_entry", "take_apart"]


def take_apart(*parts: Any) -> Structure:
    """A call, with the watched numbers and arrays in it as leaves; an array met twice is one."""
    return Structure(parts, lambda x: type(x) in TRACED, shared=True)


def one_entry(
    name: str,
    run: Callable[..., Any],
    pull: Callable[[Any, Sequence[Any], Any], tuple[Any, ...]],
    leaves: Sequence[Any],
    push: Callable[[Any, Sequence[Any], Any], Any] | None = None,
) -> Any:
    """``run(*leaves)``, noted as one entry of each level that watches the leaves.

    ``pull(y, leaves, y_bar)`` gives their cotangents, with everything one level further out, and
    ``push(y, leaves, tangents)`` the tangent of y, if it is not to be the transpose of that.
    """

    def applied(inner: Sequence[Any]) -> Any:
        watched = any(map(is_traced, inner))
        return one_entry(name, run, pull, inner, push) if watched else run(*map(_read_only, inner))

    def rule(*inner: Any) -> Any:
        y = applied(inner)
        return y, lambda y_bar: pull(y, inner, y_bar)

    rule.__name__ = name
    made = Adjoint(rule, rule)
    if push is not None:

        @made.pushforward
        def forward(*inner: Any) -> Any:
            y = applied(inner)
            return y, lambda *tangents: push(y, inner, tangents)

    return made(*leaves)


def _read_only(x: Any) -> Any:
    """An array as `run` may use it: a write would not be followed, so NumPy refuses it."""
    if type(x) is not np.ndarray:
        return x
    x = x.view()
    x.flags.writeable = False
    return x


def checkpoint(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``f(*args, **kwargs)``, run again in the reverse pass, so that its steps need no memory.

    The result may have any structure. The second run sees the random state that the first one saw:
    of NumPy's and Python's global generators and of every generator in the closure, the arguments
    and the globals that f names. f runs once more for each reverse pass, and for each level of
    nested gradients; it must not write to its arguments, which are read-only under a gradient.

    >>> import numpy as np, zyg
    >>> def layer(x):
    ...     return np.tanh(np.sin(x) * np.exp(x))
    >>> zyg.gradient(lambda x: zyg.checkpoint(layer, zyg.checkpoint(layer, x)), 0.0)
    (1.0,)

    """
    call = take_apart(f, args, kwargs)
    if not call.leaves:
        return f(*args, **kwargs)
    generators = [random, np.random.mtrand._rand, *_generators(f, args, kwargs)]
    before = [_state(g) for g in generators]

    def run(*leaves: Any) -> Any:
        f, args, kwargs = call.rebuild(list(leaves))
        return f(*args, **kwargs)

    def pull(y: Any, leaves: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
        with _rewound(generators, before):
            _, back = pullback(run, *leaves)
        return back(y_bar)  # type: ignore[no-any-return]

    return one_entry("checkpoint", run, pull, call.leaves)


def _generators(f: Any, args: Any, kwargs: Any) -> list[Any]:
    """The random generators in a call, and those among the globals that the function names."""
    kinds = (np.random.Generator, np.random.RandomState, random.Random)
    code = getattr(f, "__code__", None)
    named = [f.__globals__.get(name) for name in code.co_names] if code else []
    parts = (f, args, kwargs, [g for g in named if isinstance(g, kinds)])
    held = Structure(parts, lambda x: type(x) in TRACED or isinstance(x, kinds), shared=True)
    return [x for x in held.leaves if isinstance(x, kinds)]


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state() if hasattr(generator, "get_state") else generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.setstate(state)


@contextmanager
def _rewound(generators: list[Any], states: list[Any]) -> Iterator[None]:
    """The generators in the given states, and afterwards again in those they were found in."""
    found = [_state(g) for g in generators]
    try:
        for g, state in zip(generators, states, strict=True):
            _set_state(g, state)
        yield
    finally:
        for g, state in zip(generators, found, strict=True):
            _set_state(g, state)
