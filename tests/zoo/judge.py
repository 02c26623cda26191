"""What a case comes to: its gradient beside differences of its plain primal.

The loss of a case is a sum of all numbers that it returns, each with a weight of its own, so that
no two mistakes cancel and no normalisation makes it constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import zyg

from .case import Case

RIGHT, REFUSED, OTHER, WRONG = "right", "refused", "other exception", "silently wrong"
UNJUDGED = "unjudged"  # differences that vanish, or differ among themselves: no oracle


@dataclass(frozen=True)
class Verdict:
    """An outcome, and what was raised or how far the gradient is off."""

    outcome: str
    message: str = ""


def judge(case: Case) -> Verdict:
    """Take the gradient of a case and compare it."""
    try:
        gradient = zyg.gradient(loss_of(case), *case.args, zeros=True)
    except Exception as error:
        refusal = next((e for e in chain(error) if isinstance(e, zyg.errors.ZygError)), None)
        if refusal is not None:
            return Verdict(REFUSED, str(refusal))
        return Verdict(OTHER, f"{type(error).__name__}: {error}")
    verdicts = [compared(case, place, part) for place, part in enumerate(gradient)]
    return next((v for v in verdicts if v.outcome != RIGHT), verdicts[0])


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from, or while one was handled."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def compared(case: Case, place: int, part: Any) -> Verdict:
    """The gradient by one argument beside the differences."""
    slope, noise = differences(case, place)
    largest = np.abs(slope).max()
    bound = case.tolerance * largest + noise
    if not 2 * noise < largest < np.inf:
        return Verdict(UNJUDGED, f"argument {place}: differences of {largest:.3g}")
    off = np.abs(np.asarray(part) - slope).max()
    if off <= bound:
        return Verdict(RIGHT)
    nearer, _ = differences(replace(case, step=case.step / 2), place)
    if not np.abs(nearer - slope).max() <= bound:
        return Verdict(UNJUDGED, f"argument {place}: differences depend on their step")
    return Verdict(WRONG, f"argument {place}: off by {off:.3g} of {largest:.3g}")


def loss_of(case: Case) -> Callable[..., Any]:
    """The case as a function to a number."""
    return lambda *args: weighted(case.function(*args))


def weighted(result: Any, first: int = 0) -> Any:
    """The sum of the numbers of a result, and of the parts of complex ones, with weights."""
    if isinstance(result, Mapping):
        result = [*result.values()]
    if isinstance(result, (list, tuple)):
        return sum(weighted(part, first + 7 * k) for k, part in enumerate(result))
    weights = 1.5 + np.cos(first + np.arange(np.size(result)).reshape(np.shape(result)))
    total = (result * weights).sum() if np.ndim(result) else result * weights[()]
    return total.real + 0.5 * total.imag if np.iscomplexobj(total) else total


def differences(case: Case, place: int) -> tuple[Any, float]:
    """The five-point differences by one argument, and how much of them is rounding."""
    loss, args = loss_of(case), [*case.args]
    x = np.asarray(args[place])
    step = case.step * (np.abs(x).max() or 1.0)
    slope = np.zeros(x.shape, np.result_type(x.dtype, float))
    size = 0.0
    for index in np.ndindex(x.shape):
        for direction in (1, 1j) if np.iscomplexobj(x) else (1,):
            values = []
            for k in (-2, -1, 1, 2):
                moved = x.astype(slope.dtype)
                moved[index] += k * step * direction
                args[place] = moved if np.ndim(case.args[place]) else moved.item()
                values.append(float(loss(*args)))
            slope[index] += direction * np.dot(values, (1, -8, 8, -1)) / (12 * step)
            size = max(size, np.abs(values).max())
    return slope, 50 * np.finfo(float).eps * size / step
