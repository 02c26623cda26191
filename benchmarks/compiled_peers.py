"""The programs of `loops` in other systems: adjoints by hand under numba, JAX, PyTorch.

Each gives the value, and then the gradient by every argument of floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np


@numba.njit
def _branches(xs):
    total, slopes = 0.0, np.empty_like(xs)
    for i in range(len(xs)):
        x = xs[i]
        if x > 0.0:
            total += x * x
            slopes[i] = 2 * x
        else:
            total -= math.sin(x)
            slopes[i] = -math.cos(x)
    return total, slopes


@numba.njit
def _log_sum_exp(xs):
    top = xs[0]
    for i in range(1, len(xs)):
        if xs[i] > top:
            top = xs[i]
    total, slopes = 0.0, np.empty_like(xs)
    for i in range(len(xs)):
        slopes[i] = math.exp(xs[i] - top)
        total += slopes[i]
    for i in range(len(xs)):
        slopes[i] /= total
    return top + math.log(total), slopes


@numba.njit
def _factorisation(u, v, ratings):
    total, u_bar, v_bar = 0.0, 0 * u, 0 * v
    for i in range(len(u)):
        for j in range(len(v)):
            error = ratings[i, j] - u[i] * v[j]
            total += error * error
            u_bar[i] -= 2 * error * v[j]
            v_bar[j] -= 2 * error * u[i]
    return total, u_bar, v_bar


@numba.njit
def _stencil(start, speed, steps):
    n = len(start)
    kept = np.empty((steps + 1, n))
    kept[0] = start
    for t in range(steps):
        u, v = kept[t], kept[t + 1]
        v[0], v[n - 1] = u[0], u[n - 1]
        for i in range(1, n - 1):
            v[i] = u[i] - speed * u[i] * (u[i + 1] - u[i - 1])
    total, bar, speed_bar = 0.0, 2 * kept[steps], 0.0
    for i in range(n):
        total += kept[steps, i] ** 2
    for t in range(steps - 1, -1, -1):
        u, before = kept[t], bar.copy()
        for i in range(1, n - 1):
            across = u[i + 1] - u[i - 1]
            speed_bar -= before[i] * u[i] * across
            bar[i] -= before[i] * speed * across
            bar[i + 1] -= before[i] * speed * u[i]
            bar[i - 1] += before[i] * speed * u[i]
    return total, bar, speed_bar


by_hand: dict[str, Callable[..., Any]] = {
    "branches": _branches, "log_sum_exp": _log_sum_exp, "factorisation": _factorisation,
    "stencil": _stencil,
}  # fmt: skip


def _jax(write: Callable[[Any, Any], Callable[..., Any]]) -> Callable[..., Callable[[], Any]]:
    """How a function of JAX's numbers, written for its modules, is called as a contestant."""

    def contestant(jax: Any, given: tuple[Any, ...], wrt: tuple[int, ...]) -> Callable[[], Any]:
        f = write(jax, jax.numpy)
        jitted = jax.jit(jax.value_and_grad(f, wrt))
        at = [jax.numpy.asarray(x) for x in given]

        def run() -> Any:
            value, slopes = jitted(*at)
            return [np.asarray(value), *map(np.asarray, slopes)]

        return run

    return contestant


def _scores(np: Any) -> dict[str, Callable[..., Any]]:
    """What is the same in JAX and PyTorch, for a module that has NumPy's names."""

    def log_sum_exp(xs: Any) -> Any:
        top = np.max(xs)
        return top + np.log(np.sum(np.exp(xs - top)))

    def logistic_regression(w: Any, x: Any, y: Any) -> Any:
        return np.sum(np.log1p(np.exp(-y * (x @ w)))) / len(y)

    def two_layers(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        errors = np.tanh(x @ w1 + b1) @ w2 + b2 - y
        return np.sum(errors * errors) / len(x)

    def factorisation(u: Any, v: Any, ratings: Any) -> Any:
        errors = ratings - u[:, None] * v[None, :]
        return np.sum(errors * errors)

    return {
        "sin_cos_of_elements": lambda xs: np.sum(np.sin(np.cos(xs))),
        "branches": lambda xs: np.sum(np.where(xs > 0, xs * xs, -np.sin(xs))),
        "log_sum_exp": log_sum_exp,
        "log_sum_exp_of_vectors": log_sum_exp,
        "logistic_regression": logistic_regression,
        "two_layers": two_layers,
        "dot": lambda xs, ys: np.sum(xs * ys),
        "largest": np.max,
        "factorisation": factorisation,
        "matrix_product": lambda a, b: np.sum(np.sin(a @ b)),
    }


def _hidden_markov(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(start: Any, moves: Any, sights: Any, seen: Any) -> Any:
        def step(a: Any, k: Any) -> Any:
            b = (a @ moves) * sights[:, k]
            return b / jnp.sum(b), jnp.log(jnp.sum(b))

        _, logs = jax.lax.scan(step, start * sights[:, seen[0]], seen[1:])
        return jnp.sum(logs)

    return f


def _recurrent(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(w: Any, u: Any, b: Any, xs: Any) -> Any:
        h, _ = jax.lax.scan(lambda h, x: (jnp.tanh(w @ h + u * x + b), None), 0 * b, xs)
        return jnp.sum(h * h)

    return f


def _option(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(price: Any, strike: Any, rate: Any, volatility: Any, years: Any, draws: Any) -> Any:
        dt = years / draws.shape[1]
        moves = (rate - 0.5 * volatility**2) * dt + volatility * jnp.sqrt(dt) * draws
        means = jnp.mean(price * jnp.exp(jnp.cumsum(moves, axis=1)), axis=1)
        return jnp.exp(-rate * years) * jnp.mean(jnp.maximum(means - strike, 0.0))

    return f


in_jax: dict[str, Callable[..., Callable[[], Any]]] = {
    name: _jax(lambda jax, jnp, name=name: _scores(jnp)[name])  # type: ignore[misc]
    for name in _scores(np)
} | {
    "hidden_markov": _jax(_hidden_markov),
    "recurrent": _jax(_recurrent),
    "option": _jax(_option),
}


def _torch(name: str) -> Callable[..., Callable[[], Any]]:
    def contestant(torch: Any, given: tuple[Any, ...], wrt: tuple[int, ...]) -> Callable[[], Any]:
        f = _scores(torch)[name]

        def run() -> Any:
            at = [torch.from_numpy(x) for x in given]
            for k in wrt:
                at[k] = at[k].detach().requires_grad_()
            value = f(*at)
            slopes = torch.autograd.grad(value, [at[k] for k in wrt])
            return [value.detach().numpy(), *(s.numpy() for s in slopes)]

        return run

    return contestant


in_torch: dict[str, Callable[..., Callable[[], Any]]] = {name: _torch(name) for name in _scores(np)}
