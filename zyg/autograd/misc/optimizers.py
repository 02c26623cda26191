"""autograd's optimizers, by Kingma and Ba, "Adam" (2015), and by Hinton's RMSProp.

Each takes ``grad(x, i)``, the gradient at the i-th step, a start of any structure, and
``callback(x, i, g)``, and returns the last x. Raises StructureError where a gradient has more or
fewer numbers than the start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from zyg.autograd._absent import names_from
from zyg.autograd.misc.flatten import flatten

__getattr__ = names_from()

Steps = Generator[Any, Any, None]


def _optimizer(steps: Callable[..., Steps]) -> Callable[..., Any]:
    """An optimizer of structures, of a generator that is sent gradients and yields vectors."""

    @functools.wraps(steps)
    def optimize(
        grad: Callable[[Any, int], Any],
        x0: Any,
        callback: Callable[[Any, int, Any], Any] | None = None,
        num_iters: int | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        x, unflatten = flatten(x0)
        walk: Any = steps(x, *args, **kwargs)
        next(walk)
        for i in range(_ITERATIONS[steps.__name__] if num_iters is None else num_iters):
            g = flatten(grad(unflatten(x), i))[0]
            slopes = unflatten(g)  # which raises where it has another length
            if callback is not None:
                callback(unflatten(x), i, slopes)
            x = walk.send(g)
        return unflatten(x)

    return optimize


_ITERATIONS = {"sgd": 200, "rmsprop": 100, "adam": 100}


@_optimizer
def sgd(x: Any, step_size: float = 0.1, mass: float = 0.9) -> Steps:
    """Gradient descent with momentum: the velocity is a mean of gradients with weights mass^k."""
    velocity = np.zeros(len(x))
    g = yield x
    while True:
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
        g = yield x


@_optimizer
def rmsprop(x: Any, step_size: float = 0.1, gamma: float = 0.9, eps: float = 1e-8) -> Steps:
    """Steps along gradients over the root of a mean of their squares, with weights gamma^k."""
    squares = np.ones(len(x))
    g = yield x
    while True:
        squares = gamma * squares + (1.0 - gamma) * g**2
        x = x - step_size * g / (np.sqrt(squares) + eps)
        g = yield x


@_optimizer
def adam(
    x: Any, step_size: float = 0.001, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Steps:
    """Adam, with the means of gradients and of their squares corrected for their start at 0."""
    mean, squares, k = np.zeros(len(x)), np.zeros(len(x)), 0
    g = yield x
    while True:
        k += 1
        mean = b1 * mean + (1.0 - b1) * g
        squares = b2 * squares + (1.0 - b2) * g**2
        x = x - step_size * (mean / (1.0 - b1**k)) / (np.sqrt(squares / (1.0 - b2**k)) + eps)
        g = yield x
