"""Remote functions of Ray's whose calls are differentiated, and `put`."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import ray

from zyg.base.borders import border
from zyg.core.strand import active, watched_leaves
from zyg.errors import ShippingError
from zyg.ray.references import Reference
from zyg.ray.tasks import HELP, Nodes, outside, shipped, submitted
from zyg.ray.wrappers import Wrapper
from zyg.tasks import recipes
from zyg.tasks.executors import Task


def put(value: Any, **options: Any) -> Any:
    """Ray's `put`; of watched values, a reference by which tasks get them watched."""
    if not active.get() or not watched_leaves(value):
        return ray.put(value, **options)
    return Reference(submitted(recipes.same, HELP, (value,), {}))


class RemoteFunction(Wrapper):
    """A remote function of Ray's, whose calls are differentiated."""

    @border
    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """As Ray's."""
        if active.get():
            count = self._options.get("num_returns", 1)
            options = {k: v for k, v in self._options.items() if k not in _OF_ONE}
            f = self._of
            if count not in (0, 1):
                f = functools.update_wrapper(functools.partial(_several, f, count), f)
            if (task := submitted(f, options, args, kwargs)) is not None:
                self._demand_values(count)
                return _references(task, count)
        own, named = outside(args, kwargs)
        return self._raw.remote(*own, **named)

    def _demand_values(self, count: Any) -> None:
        if type(count) is not int or inspect.isgeneratorfunction(self._of):
            raise ShippingError(
                f"{self._of.__name__} cannot be a generator of Ray's under a gradient.",
                "what it yields would have to be watched one by one.",
                "return a list, or give num_returns as a number.",
            )


_OF_ONE = ("name", "num_returns", "max_calls")  # options that are not those of the adjoint


def _several(f: Callable[..., Any], count: int, /, *args: Any, **kwargs: Any) -> Any:
    values = f(*args, **kwargs)
    if len(values) != count:
        raise ValueError(f"the task returned {len(values)} values, where num_returns={count}")
    return values


def _references(task: Task, count: int) -> Any:
    if count == 1:
        return Reference(task)
    pick = functools.partial(Task, Nodes(HELP))
    made = [pick(*shipped(operator.getitem, (Reference(task), k), {}, Task)) for k in range(count)]
    return [Reference(x) for x in made] or None
