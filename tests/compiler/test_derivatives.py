"""Derivatives of programs: of random ones, against the rules of watched numbers."""

import math

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff import forward
from zyg.kernels.launch import run
from zyg.kernels.plans import Output
from zyg.kernels.scalar import read_for

from ..modules import imported
from .random_programs import HEAD, source

F64 = np.dtype(float)
COUNT = 120
POINTS = np.random.default_rng(3).uniform(-2, 2, (3, 3))


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    text = HEAD + "".join(f"\n\n{source(f'f{seed}', seed)}" for seed in range(COUNT))
    module = imported(text, tmp_path_factory.mktemp("random") / "programs.py")
    return [getattr(module, f"f{seed}") for seed in range(COUNT)]


def program_of(f):
    return read_for(f, ("float",) * 3, None, lambda x: x, lambda x: x).kernel.program


def run_at(program, operands, backend="python"):
    results = [Output(F64, None)] * len(program.outputs)
    with np.errstate(all="ignore"):
        return run(program, operands, results, dtype=F64, backend=backend)


def value(f, at):
    return f(*map(float, at))


def slopes(f, at):
    """The gradient by the rules of watched numbers."""
    return np.array(zyg.gradient(lambda *x: 1.0 * f(*x), *map(float, at), zeros=True))


def assert_near(got, right, what):
    """Within a few rounding errors of the largest of them: a sum's terms are not seen here."""
    scale = max(1.0, float(np.max(np.abs(right), initial=0.0)))
    np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-12 * scale, err_msg=what)


def scattered(made, mask, count=3):
    """The derivatives of a program's first output, in order, with those that are zero."""
    rows = np.zeros((count, POINTS.shape[1]))
    for k, d in zip(mask, made, strict=False):
        rows[k] = d
    return rows


@pytest.mark.parametrize("part", range(8))
def test_random_programs(functions, part):
    count = 0
    for seed in range(part, COUNT, 8):
        f = functions[seed]
        partials, (mask,) = forward.partials(program_of(f), (0, 1, 2))
        y, *made = run_at(partials, [*POINTS])
        right = np.transpose([slopes(f, at) for at in POINTS.T])
        tame = np.max(np.abs(right), axis=0) < 1e3  # else a rounding error more decides
        values = np.array([value(f, at) for at in POINTS.T])
        assert_near(y[tame], values[tame], f"f{seed}")
        assert_near(scattered(made, mask)[:, tame], right[:, tame], f"f{seed}")
        count += sum(tame)
    assert count > 0.9 * COUNT / 8 * POINTS.shape[1]


@pytest.mark.parametrize("part", range(4))
def test_forward_and_reverse_programs_of_random_programs(functions, part):
    dots, bar = np.array([[0.3], [-0.7], [1.1]]), 0.4
    for seed in range(part, COUNT // 4, 4):
        program = program_of(functions[seed])
        right = np.transpose([slopes(functions[seed], at) for at in POINTS.T])
        _, y_dot = run_at(forward.pushforward(program, (0, 1, 2)), [*dots, *POINTS])
        assert_near(y_dot, (dots * right).sum(0), f"f{seed}")
        back, moving = forward.pullback(program, (0, 1, 2), strong=True)
        made = scattered(run_at(back, [bar, *POINTS]), moving)
        assert_near(made, bar * right, f"f{seed}")


def hessian(f, at):
    def gradient(*x):
        return np.stack(zyg.gradient(lambda *x: 1.0 * f(*x), *x, zeros=True))

    return np.stack(zyg.jacobian(gradient, *map(float, at), mode="reverse"), axis=1)


@pytest.mark.parametrize("part", range(4))
def test_second_derivatives_of_random_programs(functions, part):
    for seed in range(part, COUNT // 4, 4):
        first, (mask,) = forward.partials(program_of(functions[seed]), (0, 1, 2))
        second, masks = forward.partials(first, (0, 1, 2))
        made = iter(run_at(second, [*POINTS])[len(masks) :])
        rows = [scattered([next(made) for _ in m], m) for m in masks]
        got = np.zeros((3, 3, POINTS.shape[1]))
        for k, row in zip(mask, rows[1:], strict=True):
            got[k] = row
        right = np.stack([hessian(functions[seed], at) for at in POINTS.T], axis=-1)
        assert_near(got, right, f"f{seed}")


@pytest.mark.slow
def test_compiled_random_programs(functions):
    for f in functions[3:40:4]:
        partials, _ = forward.partials(program_of(f), (0, 1, 2))
        compiled = run_at(partials, [*POINTS], "llvm")
        for got, right in zip(compiled, run_at(partials, [*POINTS]), strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-11, atol=1e-12)


# A tangent that is zero in structure meets no infinity; one that is zero by value does


def infinite_slope_of_a_constant(x, y):
    c = 1.0 if x > 0 else 2.0
    return math.sqrt(c * 0.0) + y if y > 0 else math.sqrt(c) * y


def root_of_square(x):
    return math.sqrt(x * x)


def partial_at(f, *at, strong=False):
    read = read_for(f, ("float",) * len(at), None, lambda x: x, lambda x: x)
    program, (mask,) = forward.partials(read.kernel.program, range(len(at)), strong)
    made = run_at(program, [np.array([x]) for x in at])
    rows = dict(zip(mask, (float(d[0]) for d in made[1:]), strict=True))
    return [rows.get(k, 0.0) for k in range(len(at))]


def test_what_does_not_depend_has_a_slope_of_exactly_zero():
    assert partial_at(infinite_slope_of_a_constant, 1.0, 2.0) == [0.0, 1.0]


def test_strong_zeros():
    assert math.isnan(partial_at(root_of_square, 0.0)[0])
    assert partial_at(root_of_square, 0.0, strong=True) == [0.0]


def test_programs_keep_only_what_is_asked_for(functions):
    program = program_of(functions[0])
    back, moving = forward.pullback(program, (0,))
    assert moving == [0]
    assert (len(back.outputs), len(back.inputs)) == (1, 4)
