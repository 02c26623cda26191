"""What reverse mode keeps, and what it does not; its derivatives are in tests/programs."""

import math

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff import reverse
from zyg.compiler.ir import Alloc, For, operations
from zyg.errors import KernelError

from .interpreted import interpreted
from .kit import Kit
from .wholes import read

X4 = np.array([0.5, -1.2, 2.0, 0.1])


def gradient_of(program):
    """The operations of the gradient."""
    active = [k for k, x in enumerate(program.inputs) if x.type in ("float", "float[]")]
    return [*operations(reverse.gradient(program, active).program.body)]


def tapes(program):
    """The buffers that a gradient makes besides shadows."""
    return [op for op in gradient_of(program) if isinstance(op, Alloc) and not op.zeroed]


def test_inputs_on_which_nothing_depends_have_no_cotangent():
    k = Kit()
    x, y = k.number(), k.number()
    assert reverse.vjp(k.program("f", [k.sin(x), k.floor(y)]), [0, 1]).moving == [0]


def test_a_strong_zero():
    k = Kit()
    x, c = k.number(), k.number()
    f = k.program("f", [k.add(k.multiply(k.sqrt(x), c), x)])
    weak, strong = (reverse.gradient(f, [0], s).program for s in (False, True))

    assert math.isnan(interpreted(weak, 0.0, 0.0)[1])
    assert interpreted(strong, 0.0, 0.0)[1] == 1


def test_cotangents_of_single_precision():
    def sines(x):
        return np.sum(np.sin(x) * x)

    x = X4.astype(np.float32)
    derived = reverse.gradient(read(sines, x).program, [0])
    _, bar = interpreted(derived.program, x, 4)

    assert derived.program.body.yields[1].type == "float32[]"
    assert {type(x) for x in bar} == {np.float32}


def squares_of_doubles(x):
    s = 0.0
    for v in x:
        u = v * 2.0
        s += math.sin(u * u)
    return s


def by_loops(k, w, h, n, fresh):
    def row(i):
        def add(j, s):
            return [k.add(s, k.multiply(k.load(w, k.add(k.multiply(i, n), j)), k.load(h, j)))]

        k.store(fresh, i, k.tanh(*k.loop(n, [0.0], add)))

    k.loop(n, [], row)


def by_product(k, w, h, n, fresh):
    z = k.alloc("float", n)
    k.routine("product", n, 1, n, w, 0, n, 1, h, 0, 1, 1, z, 0, 1, 1)
    k.loop(n, [], lambda i: k.store(fresh, i, k.tanh(k.load(z, i))))


def test_what_is_in_memory_at_the_end_is_not_kept():
    assert not tapes(read(squares_of_doubles, X4).program)


@pytest.mark.parametrize("step", [by_loops, by_product])
def test_a_buffer_of_a_round_is_complete_in_the_next(step):
    """Rows are kept of what tanh gave, and nothing is copied."""
    k = Kit()
    (w, _), (h, n) = k.array(), k.array()

    def once(_, h):
        fresh = k.alloc("float", n)
        step(k, w, h, n, fresh)
        return [fresh]

    (h,) = k.loop(3, [h], once)
    (s,) = k.loop(n, [0.0], lambda i, s: [k.add(s, k.square(k.load(h, i)))])
    assert sum(op.out.type == "float[]" for op in tapes(k.program("f", [s]))) == 1


def shares(x):
    y = np.exp(x)
    z = y / np.sum(y)
    return z @ z


def written_over(x):
    y = np.exp(x)
    for i in range(len(x)):
        y[i] = np.exp(y[0] * x[i])
    return y @ y


def written_twice(x):
    y = np.zeros(2)
    for i in range(len(x)):
        y[i % 2] = np.exp(x[i])
        y[0] += y[1]
    return y @ y


@pytest.mark.parametrize(("f", "count"), [(shares, 0), (written_over, 3), (written_twice, 1)])
def test_what_the_program_stores_has_no_tape_while_it_stays(f, count):
    assert sum(op.tape for op in tapes(read(f, X4).program)) == count


def filtered(x):
    u, v = x.copy(), np.zeros(len(x))
    for k in range(3):
        for i in range(len(x)):
            s = 0.0
            for j in range(len(x)):
                s += u[j] * x[j] * i
            v[i] = s
        for i in range(len(x)):
            u[i] = v[i] * x[k % len(x)]
    return u @ u


def filtered_in_part(x):
    u, v = np.concatenate((x, x)), np.zeros(len(x))
    for k in range(len(x)):
        for i in range(len(x)):
            for j in range(len(x) - 1, -1, -1):
                v[i] += 0.01 * u[j] * u[j + 1] * i
        for i in range(len(x)):
            u[i] = v[i] * x[k]
    return u @ u


@pytest.mark.parametrize(("f", "count"), [(filtered, 2), (filtered_in_part, 5)])
def test_a_buffer_that_loops_go_through_again_and_again_is_copied_once(f, count):
    assert sum(op.tape for op in tapes(read(f, X4).program)) == count


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 4, 9])
@pytest.mark.parametrize(
    "f", [shares, written_over, written_twice, filtered, filtered_in_part],
)  # fmt: skip
def test_gradients_by_what_is_in_memory(f, n):
    if n or f not in (filtered_in_part, written_over):
        zyg.check_gradient(zyg.compile(f), np.linspace(-0.3, 1.7, n))


def test_a_sum_has_its_adjoint_in_the_same_rounds():
    def f(x, y):
        s = 0.0
        for v in x:
            term = math.exp(math.sin(v) * y)
            if v > 0:
                for _ in range(3):
                    s = term + s
            else:
                s = s - term
        return s / y

    assert sum(isinstance(op, For) for op in gradient_of(read(f, X4, 0.7).program)) == 1


def test_a_condition_that_writes():
    k = Kit()
    x, _ = k.array()

    def test(_):
        k.store(x, 0, k.sin(k.load(x, 0)))
        return k.greater(k.load(x, 0), 0.5)

    k.while_([0], test, lambda n: [k.add(n, 1)])
    with pytest.raises(KernelError, match="a while loop writes memory in its condition"):
        reverse.gradient(k.program("f", [k.load(x, 0)]), [0])
