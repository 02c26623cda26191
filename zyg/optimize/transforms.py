"""What optimizers are made of: each makes of a gradient, in vectors, what is added in the end.

``start(weights)`` gives the state of one for the vectors of parameters, ``update(grads, state,
weights)`` new vectors and the new state; weights may be None for those that do not look at them.
None modifies or returns a vector that it was given. Formulas and defaults are those of optax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from zyg.errors import OptimizationError
from zyg.optimize.schedules import Rate, rate_at

Vectors = list[Any]


class Transform(Protocol):
    """One part of an optimizer."""

    def start(self, weights: Vectors) -> Any: ...

    def update(self, grads: Vectors, state: Any, weights: Any) -> tuple[Vectors, Any]: ...


def _zeros(weights: Vectors) -> Vectors:
    return [np.zeros(v.shape, v.dtype) for v in weights]


def _real_zeros(weights: Vectors) -> Vectors:
    return [np.zeros(v.shape, np.empty(0, v.dtype).real.dtype) for v in weights]


def _squared(g: Any) -> Any:
    return g.real * g.real + g.imag * g.imag if g.dtype.kind == "c" else g * g


def _mean(decay: Any, means: Vectors, news: Vectors) -> Vectors:
    """A running mean, and what is new."""
    return [decay * m + (1 - decay) * x for m, x in zip(means, news, strict=True)]


@dataclass(frozen=True)
class Scaled:
    """The way downhill: against the vectors, by a rate that may change from step to step."""

    rate: Rate

    def start(self, weights: Vectors) -> int:
        return 0

    def update(self, grads: Vectors, count: int, weights: Any) -> tuple[Vectors, int]:
        rate = -rate_at(self.rate, count)
        return [rate * g for g in grads], count + 1


@dataclass(frozen=True)
class Momentum:
    """The sum of all vectors so far, of which old ones count less."""

    decay: float
    nesterov: bool

    def start(self, weights: Vectors) -> Vectors:
        return _zeros(weights)

    def update(self, grads: Vectors, traces: Vectors, weights: Any) -> tuple[Vectors, Vectors]:
        traces = self._summed(grads, traces)
        return self._summed(grads, traces) if self.nesterov else traces, traces

    def _summed(self, grads: Vectors, traces: Vectors) -> Vectors:
        return [g + self.decay * t for g, t in zip(grads, traces, strict=True)]


class Moments(NamedTuple):
    """Running means of the gradient and of its squares, after so many steps."""

    steps: int
    means: Vectors
    squares: Vectors


@dataclass(frozen=True)
class ByMoments:
    """The mean of gradients over the root of the mean of their squares (Adam)."""

    b1: float
    b2: float
    eps: float

    def start(self, weights: Vectors) -> Moments:
        return Moments(0, _zeros(weights), _real_zeros(weights))

    def update(self, grads: Vectors, state: Moments, weights: Any) -> tuple[Vectors, Moments]:
        steps, b1, b2 = state.steps + 1, self.b1, self.b2
        of_mean, of_square = 1 - b1**steps, 1 - b2**steps
        changes, means, squares = [], [], []
        for g, m, s in zip(grads, state.means, state.squares, strict=True):
            means.append(mean := b1 * m + (1 - b1) * g)
            squares.append(square := b2 * s + (1 - b2) * _squared(g))
            changes.append(mean / of_mean / (np.sqrt(square / of_square) + self.eps))
        return changes, Moments(steps, means, squares)


@dataclass(frozen=True)
class ByRootMeanSquare:
    """The gradient over the root of the running mean of its squares (RMSProp)."""

    decay: float
    eps: float

    def start(self, weights: Vectors) -> Vectors:
        return _real_zeros(weights)

    def update(self, grads: Vectors, squares: Vectors, weights: Any) -> tuple[Vectors, Vectors]:
        squares = _mean(self.decay, squares, [_squared(g) for g in grads])
        return [g / np.sqrt(s + self.eps) for g, s in zip(grads, squares, strict=True)], squares


@dataclass(frozen=True)
class BySign:
    """The signs of a mean of gradients (Lion)."""

    b1: float
    b2: float

    def start(self, weights: Vectors) -> Vectors:
        return _zeros(weights)

    def update(self, grads: Vectors, means: Vectors, weights: Any) -> tuple[Vectors, Vectors]:
        signs = [np.sign(m) for m in _mean(self.b1, means, grads)]
        return signs, _mean(self.b2, means, grads)


@dataclass(frozen=True)
class Decayed:
    """The vectors and a part of the parameters themselves, which so become smaller."""

    weight: float

    def start(self, weights: Vectors) -> None:
        return None

    def update(self, grads: Vectors, state: None, weights: Any) -> tuple[Vectors, None]:
        if weights is None:
            raise OptimizationError(
                "an optimizer with weight_decay was not given the parameters.",
                "it makes them smaller by a part of themselves.",
                "updates, state = opt.update(grads, state, params), or opt.step.",
            )
        return [g + self.weight * v for g, v in zip(grads, weights, strict=True)], None


@dataclass(frozen=True)
class NormClipped:
    """The vectors, shortened if they are longer than this, all together."""

    norm: float

    def start(self, weights: Vectors) -> None:
        return None

    def update(self, grads: Vectors, state: None, weights: Any) -> tuple[Vectors, None]:
        norm = np.sqrt(sum(np.sum(_squared(g)) for g in grads))
        shorter = 1.0 if norm < self.norm else self.norm / norm
        return [g * shorter for g in grads], None


@dataclass(frozen=True)
class ValueClipped:
    """The vectors, no element of which is larger than this."""

    value: float

    def start(self, weights: Vectors) -> None:
        if any(v.dtype.kind == "c" for v in weights):
            raise OptimizationError(
                "clip(value=) was given complex parameters.",
                "complex numbers have no order.",
                "clip(norm=) shortens the whole gradient.",
            )

    def update(self, grads: Vectors, state: None, weights: Any) -> tuple[Vectors, None]:
        return [np.clip(g, -self.value, self.value) for g in grads], None
