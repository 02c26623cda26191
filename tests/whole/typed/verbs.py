"""Verbs: the types of values and gradients are those of the function and of its arguments."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import zyg

Vector = NDArray[np.float64]


def square(x: float) -> float:
    return x * x


def line(w: Vector, b: float, x: Vector) -> float:
    return float(np.sum(w * x) + b)


def power(x: float, n: int = 2) -> float:
    return x**n


def with_aux(x: float, n: int) -> tuple[float, str]:
    return x * n, "a note"


async def later(x: float, y: float) -> float:
    return x * y


vector: Vector = np.ones(3)

# One gradient for each argument; None where nothing depends on it, so it may be anything else.
assert_type(zyg.gradient(square, 1.0), tuple[float | Any])
assert_type(zyg.gradient(line, vector, 1.0, vector), tuple[Vector | Any, float | Any, Vector | Any])
assert_type(zyg.gradient(lambda x: x * x, 1.0), tuple[float | Any])
assert_type(zyg.gradient(power, 1.0), tuple[float | Any])
assert_type(zyg.gradient(power, 1.0, n=3), tuple[Any, ...])
assert_type(zyg.gradient(power, 1.0, n=3, zeros=True), tuple[Any, ...])
assert_type(zyg.gradient(square, 1.0, zeros=True), tuple[float | Any])
zyg.gradient(square)  # wrong
zyg.gradient(square, 1.0, 2.0)  # wrong
zyg.gradient(square, "1")  # wrong
zyg.gradient(line, 1.0, vector, vector)  # wrong
zyg.gradient(power, 1.0, m=3)  # wrong
zyg.gradient(1.0, square)  # wrong
x_bar, y_bar = zyg.gradient(square, 1.0)  # wrong

assert_type(zyg.value_and_gradient(square, 1.0), tuple[float, tuple[float | Any]])
assert_type(zyg.value_and_gradient(with_aux, 1.0, 2)[0], tuple[float, str])
assert_type(zyg.value_and_gradient(later, 1.0, 2.0)[0], float)
assert_type(zyg.value_and_gradient(power, 1.0, n=3), tuple[float, tuple[Any, ...]])
zyg.value_and_gradient(square, 1.0, 2.0)  # wrong

y, back = zyg.pullback(line, vector, 1.0, vector)
assert_type(y, float)
assert_type(back(1.0), tuple[Any, ...])
back(1.0, zeros=True)
back()  # wrong
zyg.pullback(line, vector)  # wrong
assert_type(zyg.pullback(later, 1.0, 2.0)[0], float)
assert_type(zyg.pullback(lambda x: 2 * x, 1.0)[0], float)

# Functions of the same arguments.
assert_type(zyg.grad(square), Callable[[float], float | Any])
assert_type(zyg.grad(square)(1.0), float | Any)
assert_type(zyg.grad(power)(1.0, n=3), float | Any)
assert_type(zyg.grad(power, argnums=(0, 1))(1.0, 3), tuple[Any, ...])
assert_type(zyg.grad(with_aux, has_aux=True)(1.0, 2), tuple[float | Any, str])
zyg.grad(zyg.grad(square))(1.0)
zyg.grad(lambda x: x * x)(1.0)
zyg.grad(square)(1.0, 2.0)  # wrong
zyg.grad(square)("1")  # wrong
zyg.grad(power, argnums=1)(1.0, 3)
zyg.grad(with_aux, 0, has_aux=True)(1.0, 2)
zyg.grad(1.0)  # wrong
zyg.grad(square, argnums="x")  # wrong
assert_type(zyg.value_and_grad(square)(1.0), tuple[float, float | Any])
assert_type(zyg.value_and_grad(with_aux, has_aux=True)(1.0, 2)[0], tuple[float, str])
zyg.value_and_grad(square)(1.0, n=2)  # wrong


async def main() -> None:
    assert_type(await zyg.gradient_async(square, 1.0), tuple[float | Any])
    assert_type((await zyg.value_and_gradient_async(later, 1.0, 2.0))[0], float)
    y, back = await zyg.pullback_async(later, 1.0, 2.0)
    assert_type(y, float)
    assert_type(await back(1.0), tuple[Any, ...])
    await zyg.gradient_async(later, 1.0)  # wrong


assert_type(zyg.pushforward(square, (1.0,), (1.0,))[0], float)
zyg.pushforward(square, 1.0, 1.0)  # wrong
assert_type(zyg.jacobian(line, vector, 1.0, vector), tuple[Any, ...])
zyg.jacobian(square, 1.0, mode="forward")
zyg.jacobian(square, 1.0, mode="sideways")  # wrong
zyg.jacobian(square, 1.0, 2.0)  # wrong
zyg.hessian(square, 1.0)
zyg.hessian(square, "1")  # wrong
zyg.hvp(square, 1.0, 2.0)
zyg.hvp(square, 1.0)  # wrong
zyg.wirtinger(lambda z: z * z, 1j)

# What comes back as it was, and calls of a function.
assert_type(zyg.checkpoint(line, vector, 1.0, vector), float)
zyg.checkpoint(line, vector, 1.0)  # wrong
assert_type(zyg.forwarddiff(square, 1.0), float)
assert_type(zyg.stop_gradient(vector), Vector)
assert_type(zyg.primal({"a": 1.0}), dict[str, float])
assert_type(zyg.implicit(lambda x, a: x * x - a, 2.0, 4.0), float)
assert_type(zyg.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, 4.0), float)
zyg.fixed_point(square, 1.0, tolerence=1e-3)  # wrong
print(zyg.explain(square, 1.0))
zyg.explain(square, 1.0, 2.0)  # wrong
zyg.check_gradient(square, 1.0, order=1)
zyg.check_gradient(square, 1.0, ordre=1)  # wrong
zyg.check_gradient(square, 1.0, modes=["back"])  # wrong

# Structures.
params = [vector, vector]
flat, unflatten = zyg.flatten(params)
assert_type(unflatten(2 * flat), list[Vector])
assert_type(zyg.map(lambda p, g: p - 0.1 * g, params, params), list[Vector])
zyg.map(params, lambda p: p)  # wrong
zyg.dot(params)  # wrong
