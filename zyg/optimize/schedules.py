"""Rates that change with the number of steps done."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zyg.errors import OptimizationError

Rate = float | Callable[[int], Any]


def rate_at(rate: Rate, count: int) -> Any:
    """A rate after `count` steps."""
    return rate(count) if callable(rate) else rate


@dataclass(frozen=True)
class cosine:  # noqa: N801 - a function to the user
    """A rate that falls from `start` to `end` along half a period of the cosine.

    Parameters
    ----------
    start : float
        The rate of the first step.
    steps : int
        After how many steps it is `end`, and stays that.
    end : float
        The last rate.

    Notes
    -----
    Loshchilov and Hutter, SGDR: Stochastic gradient descent with warm restarts (2017).
    optax calls it `cosine_decay_schedule`.

    Examples
    --------
    >>> import zyg
    >>> rate = zyg.optimize.cosine(0.1, 100)
    >>> rate(0), round(rate(50), 6), rate(100), rate(1000)
    (0.1, 0.05, 0.0, 0.0)

    """

    start: Any
    steps: int
    end: Any = 0.0

    def __post_init__(self) -> None:
        _positive("cosine", steps=self.steps)

    def __call__(self, count: int) -> Any:
        if count >= self.steps:
            return self.end
        part = 0.5 * (1.0 + math.cos(math.pi * count / self.steps))
        return self.end + (self.start - self.end) * part


@dataclass(frozen=True)
class exponential:  # noqa: N801
    """A rate that is multiplied by `factor` every `steps` steps, little by little.

    Parameters
    ----------
    start : float
        The rate of the first step.
    steps : int
        After how many steps the rate is ``start * factor``.
    factor : float
        By what it is multiplied.
    stairs : bool
        Whether it changes only every `steps` steps, all at once.

    Notes
    -----
    optax calls it `exponential_decay`.

    Examples
    --------
    >>> import zyg
    >>> rate = zyg.optimize.exponential(0.1, 10, 0.25)
    >>> rate(0), rate(5), rate(10)
    (0.1, 0.05, 0.025)

    """

    start: Any
    steps: int
    factor: Any
    stairs: bool = False

    def __post_init__(self) -> None:
        _positive("exponential", steps=self.steps)

    def __call__(self, count: int) -> Any:
        times = count // self.steps if self.stairs else count / self.steps
        return self.start * self.factor**times


@dataclass(frozen=True)
class piecewise:  # noqa: N801
    """A rate that is multiplied by a factor at some steps, and constant between them.

    Parameters
    ----------
    start : float
        The rate of the first step.
    factors : dict
        From a number of steps to the factor that counts from there on. Factors multiply.

    Notes
    -----
    optax calls it `piecewise_constant_schedule`.

    Examples
    --------
    >>> import zyg
    >>> rate = zyg.optimize.piecewise(1.0, {10: 0.5, 20: 0.5})
    >>> rate(9), rate(10), rate(20)
    (1.0, 0.5, 0.25)

    """

    start: Any
    factors: Mapping[int, Any]

    def __call__(self, count: int) -> Any:
        rate = self.start
        for step, factor in self.factors.items():
            if count >= step:
                rate = rate * factor
        return rate


@dataclass(frozen=True)
class warmup:  # noqa: N801
    """A rate that rises in a straight line from `start` to another rate, and goes on as that.

    Parameters
    ----------
    steps : int
        After how many steps it is there.
    then : float or schedule
        The rate from there on; a schedule counts from there.
    start : float
        The rate of the first step.

    Notes
    -----
    In optax, `join_schedules` of a `linear_schedule` and another one.

    Examples
    --------
    >>> import zyg
    >>> rate = zyg.optimize.warmup(10, zyg.optimize.cosine(0.1, 100))
    >>> rate(0), rate(5), rate(10), round(rate(60), 6)
    (0.0, 0.05, 0.1, 0.05)

    """

    steps: int
    then: Rate
    start: Any = 0.0

    def __post_init__(self) -> None:
        _positive("warmup", steps=self.steps)

    def __call__(self, count: int) -> Any:
        if count >= self.steps:
            return rate_at(self.then, count - self.steps)
        return self.start + (rate_at(self.then, 0) - self.start) * count / self.steps


def _positive(schedule: str, steps: int) -> None:
    if not steps > 0:
        raise OptimizationError(
            f"zyg.optimize.{schedule} was given steps={steps}.",
            "a rate changes in one step or more.",
            "pass a positive number of steps.",
        )
