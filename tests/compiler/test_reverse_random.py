"""Reverse mode on programs with memory and calls, against forward mode; then derived once more."""

import numpy as np
import pytest

from zyg.compiler.autodiff import reverse
from zyg.compiler.autodiff.forward import pushforward
from zyg.compiler.ir import Value, is_buffer, prune, type_of

from .interpreted import Stopped, interpreted
from .random_memory import SIZE, random_program


def sized(program, size=SIZE):
    """The program, where all buffers are of one size."""
    for x in (*program.inputs, *program.outputs):
        if isinstance(x, Value) and is_buffer(x.type):
            program.sizes[x] = (size,)
    return program


def run(program, *args):
    return interpreted(program, *(x.copy() if isinstance(x, np.ndarray) else x for x in args))


def like(random, values):
    """Random numbers and arrays like the floats among values."""
    return [
        random.normal(size=np.shape(y)).astype(y.dtype) if np.shape(y) else random.normal()
        for y in values
    ]


def check(program, active, args, random, rtol):
    """The same sum of products, of tangents and of cotangents; what a pullback gives."""
    values = run(program, *args)
    derived = reverse.vjp(program, active)
    real = [v for v, y in zip(values, program.outputs, strict=True) if "float" in type_of(y)]
    bars, dots = like(random, real), like(random, [args[k] for k in active])
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    outs = interpreted(derived.program, *given, *bars)
    pushed = run(pushforward(program, active), *dots, *args)[len(values) :]

    for got, right in zip((*given, *outs), (*args, *values), strict=False):
        np.testing.assert_array_equal(got, right)
    made = dict(zip(derived.moving, outs[len(values) :], strict=True))
    one = sum(np.dot(bar, dy) for bar, dy in zip(bars, pushed, strict=True))
    other = sum(np.dot(made[k], dx) for k, dx in zip(active, dots, strict=True) if k in made)
    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def slopes_of(program, active):
    """The gradient of the first float, and of what it is."""
    derived = reverse.gradient(program, active)
    made = derived.program
    del made.body.yields[: len(program.outputs)]
    prune(made.body)
    return made


@pytest.mark.parametrize("seed", range(60))
def test_of_random_programs(seed):
    program, random = sized(random_program(seed)), np.random.default_rng(seed)
    args = [random.normal(), seed % 7, random.normal(size=SIZE), random.integers(0, SIZE, SIZE)]
    try:
        run(program, *args)
    except Stopped:
        return
    check(program, [0, 2], args, random, 1e-9)
    if seed % 2:
        check(sized(slopes_of(program, [0, 2])), [0, 2], args, random, 1e-7)
