"""autograd's older helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from zyg.autograd._absent import names_from
from zyg.autograd.test_util import check_grads

__getattr__ = names_from()


def subvals(values: Iterable[Any], changes: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple of these values with others at some places."""
    full = [*values]
    for place, value in changes:
        full[place] = value
    return tuple(full)


def func(f: Any) -> Any:
    """The function of a method of a class."""
    return f


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Iterable[Any] = (),
    kwargs: Mapping[str, Any] = MappingProxyType({}),
    *options: Any,
    **named: Any,
) -> None:
    """Check the gradient of ``fun(arg0, *extra_args, **kwargs)`` by arg0 by `check_grads`.

    Other options do nothing, as in autograd.
    """
    check_grads(fun, 0, modes=["rev"], order=1)(arg0, *extra_args, **kwargs)
