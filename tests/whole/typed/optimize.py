"""Solvers, optimizers and `fit`: parameters keep their type."""

from dataclasses import dataclass
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import zyg

Vector = NDArray[np.float64]


@dataclass
class Line:
    slope: float
    height: Vector


def loss(line: Line) -> float:
    return float(np.sum(line.height * line.slope))


def error(weights: Vector, x: Vector, y: Vector) -> float:
    return float(np.sum((x @ weights - y) ** 2))


start = Line(1.0, np.ones(3))
weights: Vector = np.zeros(3)
found = zyg.optimize.minimize(loss, start, method="BFGS")
assert_type(found.x, Line)
assert_type(found.success, bool)
assert_type(zyg.optimize.root(lambda p: p["a"] - 1.0, {"a": 0.0}).x, dict[str, float])
assert_type(zyg.optimize.least_squares(lambda line: line.height, start).x, Line)

opt = zyg.optimize.chain(
    zyg.optimize.clip(norm=1.0), zyg.optimize.adam(zyg.optimize.cosine(0.1, 100))
)
assert_type(opt, zyg.optimize.Optimizer)
state = opt.init(start)
params, state = opt.step(start, zyg.grad(loss)(start), state)
assert_type(params, Line)
updates, state = opt.update(zyg.grad(loss)(start), state, params)
assert_type(zyg.optimize.apply_updates(params, updates), Line)

fitted, history = zyg.optimize.fit(
    error, weights, (np.ones((9, 3)), np.ones(9)), optimizer=opt, batch_size=3, epochs=2
)
assert_type(fitted, Vector)
assert_type(history, zyg.optimize.History)

zyg.optimize.minimize(loss)  # wrong
zyg.optimize.minimize(loss, start, steps=3)  # wrong
zyg.optimize.adam("fast")  # wrong
zyg.optimize.clip(1.0)  # wrong
zyg.optimize.fit(error, weights, (weights,))  # wrong
opt.step(start)  # wrong
print(found.x.slopes)  # wrong
zyg.optimize.adamm(0.1)  # wrong
