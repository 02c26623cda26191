"""Verbs of zyg in whole functions: values, gradients and second derivatives, as the tracer's."""

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff import forward, reverse
from zyg.compiler.back.native_function import Native
from zyg.compiler.kinds import kind_of, operands_of

from .interpreted import interpreted
from .wholes import check, read


def cube(x):
    return x * x * x


def wave(w):
    return np.sum(np.sin(w) * w)


def first_slope(x):
    return zyg.gradient(cube, x)[0]


def bowl(w):
    return np.sum((w - 1.0) ** 4) + w[0] * w[1]


def learned_rate(w, rate):
    after = w - rate * zyg.gradient(bowl, w)[0]
    return bowl(after)


def several_steps(w, rate):
    for _ in range(3):
        value, (g,) = zyg.value_and_gradient(bowl, w)
        w = w - rate * g
    return bowl(w) + value


def by_hvp(w, v):
    return np.sum(zyg.hvp(bowl, w, v) ** 2)


def by_hessian(w):
    return np.sum(zyg.hessian(bowl, w) * np.eye(3))


def stopped(w):
    return np.sum(w * zyg.stop_gradient(w * w))


def checkpointed(w):
    return zyg.checkpoint(bowl, zyg.checkpoint(np.sin, w))


def of_the_diagonal(w):
    return np.sum(zyg.diaghessian(bowl, w) * w)


@zyg.elementwise
def bumpy(a):
    return a if a > 0 else a * a


def elementwise_call(w):
    return np.sum(bumpy(w) * w)


cubed = zyg.scalar_rule(lambda x: x * x * x, lambda x, y: 3 * x * x + 1)


def with_scalar_rule(w):
    return np.sum(cubed(w) * w) + cubed(w[0])


@zyg.nondifferentiable
def half(x):
    return x * 0.5


def with_constants(w):
    return np.sum(half(w) * w) + half(w[0]) * w[1] + zyg.primal(w[0]) * w[2]


X, Y, Z = np.array([0.5, -1.2, 2.0]), np.array([0.3, 0.7, -0.4]), np.array([[1.0, 0.2, -0.5]] * 2)
PROGRAMS = [
    (first_slope, 1.3),
    (learned_rate, X, 0.05),
    (several_steps, X, 0.02),
    (by_hvp, X, Y),
    (by_hessian, X),
    (stopped, X),
    (checkpointed, X),
    (of_the_diagonal, X),
    (elementwise_call, X),
    (with_scalar_rule, X),
    (with_constants, X),
]


def operands(args):
    return [x for arg in args for x in operands_of(kind_of(arg), arg)]


def derived(f, args):
    """The program of all gradients of f, the places of those, and what it is called with."""
    program = read(f, *args).program
    active = [k for k, x in enumerate(program.inputs) if x.type in ("float", "float[]")]
    return reverse.gradient(program, active), active, operands(args)


def demand_agreement(f, args):
    """Value, gradient and second derivatives are those of the traced engine."""
    check(f, *args)
    found, active, given = derived(f, args)
    right = zyg.gradient(f, *args, zeros=True)
    moving = [active.index(k) for k in found.moving]
    for way in (interpreted, lambda p, *xs: Native(p)(*xs)):
        outs = way(found.program, *given)
        for k, row in zip(moving, outs[1:], strict=True):
            np.testing.assert_allclose(np.reshape(row, np.shape(args[k])), right[k], rtol=1e-9,
                                       atol=1e-12)  # fmt: skip
    rng = np.random.default_rng(7)
    along = [
        rng.standard_normal(np.shape(x)) if np.ndim(x) else rng.standard_normal() for x in args
    ]
    pushed = forward.pushforward(found.program, active)
    outs = interpreted(pushed, *[np.ravel(d) if np.ndim(d) else d for d in along], *given)
    second = outs[len(found.program.outputs) + 1 :]
    exact = zyg.hvp(lambda p: f(*p), tuple(args), tuple(along))
    for k, row in zip(moving, second, strict=True):
        want = 0.0 if exact[k] is None else exact[k]
        np.testing.assert_allclose(np.reshape(row, np.shape(args[k])), want, rtol=1e-7, atol=1e-9)


def of_each(programs):
    """A test for each program."""
    cases = [(f, args) for f, *args in programs]
    return pytest.mark.parametrize(("f", "args"), cases, ids=[f.__name__ for f, _ in cases])


@of_each(PROGRAMS)
def test_values_gradients_and_second_order(f, args):
    demand_agreement(f, args)
