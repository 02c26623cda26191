"""What optimizers are made of: each makes of a gradient, as a vector, what is added in the end.

``start(v)`` gives the state of one for the vector of parameters, ``update(g, state, v)`` the new
vector and the new state; v may be None for those that do not look at it. Formulas and defaults are
those of optax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from zyg.errors import OptimizationError
from zyg.optimize.schedules import Rate, rate_at


class Transform(Protocol):
    """One part of an optimizer."""

    def start(self, v: Any) -> Any: ...

    def update(self, g: Any, state: Any, v: Any) -> tuple[Any, Any]: ...


def _zeros(v: Any, real: bool = False) -> Any:
    dtype = np.empty(0, v.dtype).real.dtype if real else v.dtype
    return np.zeros(np.shape(v), dtype)


def _squared(g: Any) -> Any:
    return g.real * g.real + g.imag * g.imag if g.dtype.kind == "c" else g * g


@dataclass(frozen=True)
class Scaled:
    """The way downhill: against the vector, by a rate that may change from step to step."""

    rate: Rate

    def start(self, v: Any) -> Any:
        return 0

    def update(self, g: Any, count: int, v: Any) -> tuple[Any, int]:
        return -rate_at(self.rate, count) * g, count + 1


@dataclass(frozen=True)
class Momentum:
    """The sum of all vectors so far, of which old ones count less."""

    decay: float
    nesterov: bool

    def start(self, v: Any) -> Any:
        return _zeros(v)

    def update(self, g: Any, trace: Any, v: Any) -> tuple[Any, Any]:
        trace = g + self.decay * trace
        return g + self.decay * trace if self.nesterov else trace, trace


class Moments(NamedTuple):
    """Running means of the gradient and of its squares, after so many steps."""

    steps: int
    mean: Any
    square: Any


@dataclass(frozen=True)
class ByMoments:
    """The mean of gradients over the root of the mean of their squares (Adam)."""

    b1: float
    b2: float
    eps: float

    def start(self, v: Any) -> Moments:
        return Moments(0, _zeros(v), _zeros(v, real=True))

    def update(self, g: Any, state: Moments, v: Any) -> tuple[Any, Moments]:
        count, b1, b2 = state.steps + 1, self.b1, self.b2
        mean = b1 * state.mean + (1 - b1) * g
        square = b2 * state.square + (1 - b2) * _squared(g)
        deviation = np.sqrt(square / (1 - b2**count)) + self.eps
        return mean / (1 - b1**count) / deviation, Moments(count, mean, square)


@dataclass(frozen=True)
class ByRootMeanSquare:
    """The gradient over the root of the running mean of its squares (RMSProp)."""

    decay: float
    eps: float

    def start(self, v: Any) -> Any:
        return _zeros(v, real=True)

    def update(self, g: Any, square: Any, v: Any) -> tuple[Any, Any]:
        square = self.decay * square + (1 - self.decay) * _squared(g)
        return g / np.sqrt(square + self.eps), square


@dataclass(frozen=True)
class BySign:
    """The signs of a mean of gradients (Lion)."""

    b1: float
    b2: float

    def start(self, v: Any) -> Any:
        return _zeros(v)

    def update(self, g: Any, mean: Any, v: Any) -> tuple[Any, Any]:
        sign = np.sign(self.b1 * mean + (1 - self.b1) * g)
        return sign, self.b2 * mean + (1 - self.b2) * g


@dataclass(frozen=True)
class Decayed:
    """The vector and a part of the parameters themselves, which so become smaller."""

    weight: float

    def start(self, v: Any) -> Any:
        return None

    def update(self, g: Any, state: Any, v: Any) -> tuple[Any, Any]:
        if v is None:
            raise OptimizationError(
                "an optimizer with weight_decay was not given the parameters.",
                "it makes them smaller by a part of themselves.",
                "updates, state = opt.update(grads, state, params), or opt.step.",
            )
        return g + self.weight * v, state


@dataclass(frozen=True)
class NormClipped:
    """The vector, shortened if it is longer than this."""

    norm: float

    def start(self, v: Any) -> Any:
        return None

    def update(self, g: Any, state: Any, v: Any) -> tuple[Any, Any]:
        norm = np.sqrt(np.sum(_squared(g)))
        return g if norm < self.norm else g / norm * self.norm, state


@dataclass(frozen=True)
class ValueClipped:
    """The vector, no element of which is larger than this."""

    value: float

    def start(self, v: Any) -> Any:
        if v.dtype.kind == "c":
            raise OptimizationError(
                "clip(value=) was given complex parameters.",
                "complex numbers have no order.",
                "clip(norm=) shortens the whole gradient.",
            )

    def update(self, g: Any, state: Any, v: Any) -> tuple[Any, Any]:
        return np.clip(g, -self.value, self.value), state
