"""Rules: what they are given, and what they make."""

import math
from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import zyg

Back = Callable[[float], tuple[float]]


@zyg.adjoint
def cube(x: float) -> tuple[float, Back]:
    def cube_pullback(y_bar: float) -> tuple[float]:
        return (y_bar * 3 * x**2,)

    return x**3, cube_pullback


assert_type(cube(2.0), float)
assert_type(zyg.gradient(cube, 2.0), tuple[float | Any])
cube("2")  # wrong
cube(2.0, 3.0)  # wrong


@cube.pushforward
def cube_forward(x: float) -> tuple[float, Callable[[float], float]]:
    return x**3, lambda x_dot: 3 * x**2 * x_dot


@zyg.adjoint(np.sinc)
def sinc(x: float) -> tuple[float, Back]:
    return x, lambda y_bar: (y_bar,)


@zyg.adjoint(np.vecdot, linear=(0, 1))  # which is said to return anything
def vecdot(x: Any, y: Any, *, axis: int = -1) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    return np.vecdot(x, y), lambda y_bar: (y_bar * y, y_bar * x)


zyg.adjoint(np.sinc, linear="0")  # wrong


class Layer:
    weight = 2.0

    @zyg.adjoint
    def scaled(self, x: float) -> tuple[float, Callable[[float], tuple[None, float]]]:
        return self.weight * x, lambda y_bar: (None, self.weight * y_bar)


assert_type(Layer().scaled(1.0), float)
Layer().scaled("1")  # wrong


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


smooth = zyg.scalar_rule(logistic, lambda x, y: y * (1 - y))
assert_type(smooth(0.0), float)
smooth("0")  # wrong


@zyg.nondifferentiable
def level(x: float) -> int:
    return int(x // 2)


assert_type(level(2.0), int)
level([])  # wrong
zyg.nondifferentiable(np.argmax, np.argmin)

with zyg.config(strong_zero=False, fallback="error"):
    pass
zyg.config(strong_zer=True)  # wrong
zyg.config(fallback="loud")  # wrong
zyg.grdient(cube, 2.0)  # wrong
