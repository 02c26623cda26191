"""The verbs to be awaited: f is an async function, and the loop that runs stays responsive.

f runs in the task that awaits; the reverse pass runs there too, in slices, and can be cancelled
between any two entries. Tasks that have threads of their own are reversed on threads.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, overload

from zyg.base.borders import border
from zyg.base.quiet import SILENT, errors_now, set_errors
from zyg.base.signatures import AsyncPullback, P, R, Ts, X, Y, Z
from zyg.core.adjoint_tasks import reverse_async
from zyg.core.endings import finish, unfinished
from zyg.core.overwritten import demand_unwritten
from zyg.core.reverse import all_finite
from zyg.core.running import demand_its_loop, enter, failed, judge, leave
from zyg.core.strand import active
from zyg.core.trace import Trace
from zyg.verbs.gradients import seed_of_loss, seed_of_one

AsyncFunction = Callable[..., Any]  # one that is not async can be awaited too


async def _traced(f: AsyncFunction, args: Any, kwargs: Any, arguments: str = "protected") -> Trace:
    trace, errors = Trace(f, args, kwargs, arguments=arguments, run=False), errors_now()
    strand, trace.around = trace.strand, active.get()
    try:
        enter(strand, trace.around)
        value = f(*trace.watched, **kwargs)
        if inspect.isawaitable(value):
            try:
                value = await value
            except BaseException as error:
                demand_its_loop(f, error)
                raise
        value = trace.numbers_of(value)
        leave(strand, trace.around)
    except BaseException as error:
        unfinished.append(trace)
        try:
            failed(strand, trace.around, errors, error)
            raise
        finally:
            finish()
    judge(strand)
    trace.end(value)
    return trace


async def _back(trace: Trace, y_bar: Any, zeros: bool) -> tuple[Any, ...]:
    """`Trace.back`, awaited."""
    strand, seeds = trace.strand, trace.seeds(y_bar)
    demand_unwritten(strand.level_strands(), seeds)
    errors = errors_now()
    try:
        set_errors(SILENT)
        for strong in trace.passes():
            cotangents = trace.at_arguments(await reverse_async(strand, seeds, strong))
            if finite := all_finite([c for part in cotangents for c in part]):
                break
        if not finite and trace.is_checked():
            await reverse_async(strand, seeds, strong, check=True)
    finally:
        set_errors(errors)
    return trace.gradients(cotangents, zeros)


@overload
async def pullback_async(
    f: Callable[[*Ts], Awaitable[R]], /, *args: *Ts
) -> tuple[R, AsyncPullback]: ...
@overload
async def pullback_async(f: Callable[[*Ts], R], /, *args: *Ts) -> tuple[R, AsyncPullback]: ...
@overload
async def pullback_async(
    f: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> tuple[R, AsyncPullback]: ...
@border  # type: ignore[misc]
async def pullback_async(f: AsyncFunction, *args: Any, **kwargs: Any) -> tuple[Any, AsyncPullback]:
    """The value of ``await f(*args, **kwargs)`` and its pullback, to be awaited as well.

    Parameters
    ----------
    f : callable
        The function, async or not. It runs in the task that awaits.
    *args
        Its arguments, by which it is differentiated.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    y
        What f returned.
    back : callable
        ``await back(y_bar)`` gives the cotangents of the positional arguments, as `pullback` does.

    Raises
    ------
    StructureError
        From `back`, where y_bar does not fit y.

    Examples
    --------
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

    @border
    async def back(y_bar: Any, *, zeros: bool = False) -> tuple[Any, ...]:
        return await _back(trace, y_bar, zeros)

    return trace.y, back


@overload
async def value_and_gradient_async(
    f: Callable[[*Ts], Awaitable[R]], /, *args: *Ts, zeros: bool = False
) -> tuple[R, tuple[Any, ...]]: ...
@overload
async def value_and_gradient_async(
    f: Callable[..., Any], *args: Any, zeros: bool, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]: ...
@overload
async def value_and_gradient_async(
    f: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> tuple[R, tuple[Any, ...]]: ...
@border  # type: ignore[misc]
async def value_and_gradient_async(
    f: AsyncFunction, *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The value of ``await f(*args, **kwargs)`` and its gradient, inside a running loop.

    Parameters
    ----------
    f : callable
        The function, async or not. It returns a real number or a tuple (loss, aux...).
    *args
        Its arguments, by which it is differentiated.
    zeros : bool, default False
        Whether the gradient is zero instead of None where nothing depends on an argument.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    value
        What f returned.
    gradient : tuple
        For each positional argument its gradient, as `gradient` gives it.

    Raises
    ------
    NonScalarOutputError
        As `gradient` does.

    Examples
    --------
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
        try:
            trace.close()
        finally:
            trace.close()


@overload
async def gradient_async(
    f: Callable[[X], Any], x: X, /, *, zeros: bool = False
) -> tuple[X | Any]: ...
@overload
async def gradient_async(
    f: Callable[[X, Y], Any], x: X, y: Y, /, *, zeros: bool = False
) -> tuple[X | Any, Y | Any]: ...
@overload
async def gradient_async(
    f: Callable[[X, Y, Z], Any], x: X, y: Y, z: Z, /, *, zeros: bool = False
) -> tuple[X | Any, Y | Any, Z | Any]: ...
@overload
async def gradient_async(
    f: Callable[..., Any], *args: Any, zeros: bool, **kwargs: Any
) -> tuple[Any, ...]: ...
@overload
async def gradient_async(
    f: Callable[P, Any], *args: P.args, **kwargs: P.kwargs
) -> tuple[Any, ...]: ...
@border  # type: ignore[misc]
async def gradient_async(
    f: AsyncFunction, *args: Any, zeros: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The gradient of ``await f(*args, **kwargs)``, inside a running loop of trio or asyncio.

    Other tasks of the loop go on meanwhile.

    Parameters
    ----------
    f : callable
        The function, async or not. It returns a real number.
    *args
        Its arguments, by which it is differentiated.
    zeros : bool, default False
        Whether the gradient is zero instead of None where nothing depends on an argument.
    **kwargs
        Keyword arguments of f, by which it is not differentiated.

    Returns
    -------
    tuple
        For each positional argument its gradient, as `gradient` gives it.

    Raises
    ------
    NonScalarOutputError
        As `gradient` does.

    Examples
    --------
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
        try:
            trace.close()
        finally:
            trace.close()
