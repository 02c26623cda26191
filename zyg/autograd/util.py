"""autograd's older helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    fun: Callable[..., Any], arg0: Any, extra_args: Iterable[Any] = (), **options: Any
) -> None:
    """Check the gradient of ``fun(arg0, *extra_args)`` by arg0: `test_util.check_grads`."""
    check_grads(fun, 0, modes=["rev"], order=1)(arg0, *extra_args)
