"""The verbs to be awaited: f is an async function, and the loop that runs stays responsive.

f runs in the task that awaits; the reverse pass runs there too, in slices, and can be cancelled
between any two entries. Tasks that have threads of their own are reversed on threads.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from zyg.core.adjoint_tasks import reverse_async
from zyg.core.overwritten import demand_unwritten
from zyg.core.reverse import all_finite
from zyg.core.running import Running
from zyg.core.trace import Trace
from zyg.verbs.gradients import seed_of_loss, seed_of_one

AsyncFunction = Callable[..., Any]  # one that is not async can be awaited too


async def _traced(f: AsyncFunction, args: Any, kwargs: Any, arguments: str = "protected") -> Trace:
    trace = Trace(f, args, kwargs, arguments=arguments, run=False)
    with Running(trace.strand):
        value = f(*trace.watched, **kwargs)
        if inspect.isawaitable(value):
            value = await value
        value = trace.numbers_of(value)
    trace.end(value)
    return trace


async def _back(trace: Trace, y_bar: Any, zeros: bool) -> tuple[Any, ...]:
    """`Trace.back`, awaited."""
    strand, seeds = trace.strand, trace.seeds(y_bar)
    demand_unwritten(strand.level_strands(), seeds)
    with np.errstate(all="ignore"):
        for strong in trace.passes():
            cotangents = trace.at_arguments(await reverse_async(strand, seeds, strong))
            if finite := all_finite([c for part in cotangents for c in part]):
                break
        if not finite and trace.is_checked():
            await reverse_async(strand, seeds, strong, check=True)
    return trace.gradients(cotangents, zeros)


async def pullback_async(
    f: AsyncFunction, *args: Any, **kwargs: Any
) -> tuple[Any, Callable[..., Awaitable[Any]]]:
    """The value of ``await f(*args, **kwargs)`` and its pullback, to be awaited as well.

    As `pullback` in everything else, and in what it raises.

    >>> import trio, zyg
    >>> async def square(x):
    ...     return x * x
    >>> async def main():
    ...     y, back = await zyg.pullback_async(square, 3.0)
    ...     return y, await back(1.0)
    >>> trio.run(main)
    (9.0, (6.0,))

    """
    trace = await _traced(f, args, kwargs, "copied")

    async def back(y_bar: Any, *, zeros: bool = False) -> tuple[Any, ...]:
        return await _back(trace, y_bar, zeros)

    return trace.y, back


async def value_and_gradient_async(
    f: AsyncFunction, *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The value of ``await f(*args, **kwargs)`` and its gradient, inside a running loop.

    As `value_and_gradient` in everything else, and in what it raises.

    >>> import trio, zyg
    >>> async def square(x):
    ...     return x * x
    >>> trio.run(zyg.value_and_gradient_async, square, 3.0)
    (9.0, (6.0,))

    """
    trace = await _traced(f, args, kwargs)
    try:
        return trace.y, await _back(trace, seed_of_loss(trace), zeros)
    finally:
        trace.close()


async def gradient_async(
    f: AsyncFunction, *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The gradient of ``await f(*args, **kwargs)``, inside a running loop of trio or asyncio.

    As `gradient` in everything else, also in what it raises. Other tasks of the loop go on.

    >>> import trio, zyg
    >>> async def square(x):
    ...     return x * x
    >>> trio.run(zyg.gradient_async, square, 3.0)
    (6.0,)

    """
    trace = await _traced(f, args, kwargs)
    try:
        return await _back(trace, seed_of_one(trace, trace.y), zeros)
    finally:
        trace.close()
