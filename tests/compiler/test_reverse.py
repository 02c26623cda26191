"""Reverse mode on programs built by hand: closed forms, differences, second order."""

import math

import numpy as np
import pytest

from zyg.compiler.autodiff import reverse
from zyg.compiler.ir import Alloc, For, Value, is_buffer, operations
from zyg.errors import KernelError

from .building import Build
from .interpreted import interpreted

X4 = np.array([0.5, -1.2, 2.0, 0.1])


def operands(args):
    """Arrays come with their sizes."""
    return [y for x in args for y in ((x.copy(), len(x)) if isinstance(x, np.ndarray) else (x,))]


def floats(program):
    return [k for k, x in enumerate(program.inputs) if x.type in ("float", "float[]")]


def gradients(program, *args, strong=False):
    """Those of the first output, by all inputs that are floats."""
    derived = reverse.gradient(program, floats(program), strong)
    given = operands(args)
    outs = interpreted(derived.program, *given)
    value = interpreted(program, *operands(args))
    for got, right in zip(outs, value, strict=False):
        np.testing.assert_array_equal(got, right)
    for before, after in zip(operands(args), given, strict=True):
        np.testing.assert_array_equal(before, after)  # arguments are as they were
    return dict(zip(derived.moving, outs[len(program.outputs) :], strict=True))


def differences(program, *args, eps=1e-6):
    """The same by differences."""
    given, found = operands(args), {}
    for k in floats(program):
        row = []
        for j in range(np.size(given[k])):
            ends = []
            for d in (eps, -eps):
                moved = [np.copy(x) if isinstance(x, np.ndarray) else x for x in given]
                if isinstance(moved[k], np.ndarray):
                    moved[k][j] += d
                else:
                    moved[k] += d
                ends.append(interpreted(program, *moved)[0])
            row.append((ends[0] - ends[1]) / (2 * eps))
        found[k] = np.array(row) if isinstance(given[k], np.ndarray) else row[0]
    return found


def check(program, *args, order=2):
    """Against differences; then the gradient's own gradient, along a direction."""
    got, right = gradients(program, *args), differences(program, *args)
    for k, row in right.items():
        np.testing.assert_allclose(got.get(k, 0.0), row, rtol=1e-5, atol=1e-6)
    if order > 1:
        check(along(program), *args, order=order - 1)
    return got


def along(program):
    """The sum of the entries of a gradient, weighted by cosines of their places, as a program."""
    derived = reverse.gradient(program, floats(program))
    made, n = derived.program, len(program.outputs)
    b = Build()
    b.inputs, b.sizes, b.builder.blocks = made.inputs, made.sizes, [made.body]
    total = 0.0
    for k, g in zip(derived.moving, made.outputs[n:], strict=True):
        if isinstance(g, Value) and is_buffer(g.type):
            with b.range(made.sizes[made.inputs[k]][0], s=total) as loop:
                c = b.cos(b.add(b.float(loop.index), 1.0))
                loop.s = b.add(loop.s, b.multiply(c, b.load(g, loop.index)))
            total = loop.s
        else:
            total = b.add(total, g)
    return b.program(total)


def test_power_by_a_while_loop():
    b = Build()
    x, n = b.input(), b.input("int")
    with b.loop_while(lambda c: b.greater(c.n, 0), n=n, r=1.0) as c:
        c.n, c.r = b.subtract(c.n, 1), b.multiply(c.r, x)
    f = b.program(c.r)

    assert check(f, 1.3, 7)[0] == pytest.approx(33.787663)
    assert check(f, 1.3, 0)[0] == 0
    assert check(f, 1.01, 50)[0] == pytest.approx(81.417416923)


def test_branches_in_a_loop():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, s=0.0) as c:
        v = b.load(xs, c.index)
        (c.s,) = b.choose(b.greater(v, 0.0), lambda: [b.add(c.s, b.multiply(v, v))],
                          lambda: [b.subtract(c.s, b.sin(v))])  # fmt: skip
    f = b.program(c.s)

    np.testing.assert_allclose(check(f, X4)[0], [1, -0.36235775, 4, 0.2], rtol=1e-7)
    assert check(f, X4[:0])[0].shape == (0,)


def test_log_sum_exp():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, m=-math.inf) as most:
        most.m = b.maximum(most.m, b.load(xs, most.index))
    with b.range(n, s=0.0) as c:
        c.s = b.add(c.s, b.exp(b.subtract(b.load(xs, c.index), most.m)))
    f = b.program(b.add(most.m, b.log(c.s)))

    right = [0.15786086, 0.02883858, 0.70748327, 0.1058173]
    np.testing.assert_allclose(check(f, X4)[0], right, rtol=1e-6)


def burgers(b, u, n, c, v, steps):
    with b.range(steps):
        with b.range(1, b.subtract(n, 1)) as at:
            i, x = at.index, b.load(u, at.index)
            slope = b.subtract(b.load(u, b.add(i, 1)), b.load(u, b.subtract(i, 1)))
            b.store(v, i, b.subtract(x, b.multiply(b.multiply(c, x), slope)))
        with b.range(1, b.subtract(n, 1)) as at:
            b.store(u, at.index, b.load(v, at.index))


def sum_of(b, u, n, f):
    with b.range(n, s=0.0) as c:
        c.s = b.add(c.s, f(b.load(u, c.index)))
    return c.s


def test_burgers_in_place():
    b = Build()
    (u, n), c = b.input("float[]"), b.input()
    burgers(b, u, n, c, b.alloc("float", n), 3)
    f = b.program(sum_of(b, u, n, b.square))

    got = check(f, X4, 0.1)
    right = [1.30137141, 0.0021053, 1.68102553, -1.04066111]
    np.testing.assert_allclose(got[0], right, rtol=1e-6, atol=1e-8)
    assert got[2] == pytest.approx(-17.674448856)


def test_a_product_in_place():
    b = Build()
    u, n = b.input("float[]")
    with b.range(2), b.range(1, b.subtract(n, 1)) as at:
        i = at.index
        around = b.add(b.load(u, b.subtract(i, 1)), b.load(u, b.add(i, 1)))
        b.store(u, i, b.multiply(b.multiply(0.5, around), b.load(u, i)))
    f = b.program(sum_of(b, u, n, lambda x: x))

    np.testing.assert_allclose(check(f, X4)[0], [0.7585, 0.034375, -0.13025, 0.4625], rtol=1e-7)


def test_a_loop_with_exits():
    """Breaks and returns are flags of a while loop."""
    b = Build()
    x, tol = b.input(), b.input()

    def going(c):
        return b.logical_and(b.less(c.i, 100), b.logical_not(c.over))

    with b.loop_while(going, i=0, y=x, over=False, out=0.0) as c:

        def step():
            y = b.add(b.multiply(1.3, c.y), 0.1)
            return b.less(y, tol), y

        def stay():
            skipped = b.equal(b.remainder(c.i, 3), 0)
            return b.choose(skipped, lambda: [False, c.y], step)

        done = b.greater(c.y, 5.0)
        over, c.y, c.out = b.choose(done, lambda: [True, c.y, b.multiply(c.y, c.y)],
                                    lambda: [*stay(), c.out])  # fmt: skip
        c.over, c.i = over, b.add(c.i, 1)
    ended = b.greater(c.y, 5.0)
    f = b.program(b.select(ended, c.out, b.multiply(c.y, x)))

    assert check(f, 0.5, -9.0)[0] == pytest.approx(105.464563391)
    assert check(f, 0.01, 0.3)[0] == pytest.approx(0.126)
    assert check(f, 7.0, 0.0)[0] == pytest.approx(14)


def test_newtons_method():
    b = Build()
    a = b.input()

    def off(c):
        return b.greater(b.absolute(b.subtract(b.multiply(c.x, c.x), a)), 1e-12)

    with b.loop_while(off, x=1.0) as c:
        c.x = b.multiply(0.5, b.add(c.x, b.divide(a, c.x)))
    f = b.program(c.x)

    assert check(f, 2.3, order=1)[0] == pytest.approx(0.329690236698, rel=1e-9)


def test_swapped_numbers():
    b = Build()
    x = b.input()
    with b.range(6, a=x, b=1.0) as c:
        c.a, c.b = c.b, b.multiply(c.a, c.b)
    f = b.program(b.add(c.a, c.b))

    assert check(f, 1.1)[0] == pytest.approx(22.9102368)


def test_a_product_of_what_came_before():
    b = Build()
    u, n = b.input("float[]")
    with b.range(0, b.subtract(n, 1)) as c:
        after = b.add(c.index, 1)
        b.store(u, after, b.multiply(b.load(u, after), b.load(u, c.index)))
    f = b.program(b.load(u, b.subtract(n, 1)))

    np.testing.assert_allclose(check(f, X4)[0], [-0.24, 0.1, -0.06, -1.2])


def test_backwards_over_a_range():
    b = Build()
    (cs, n), z = b.input("float[]"), b.input()
    with b.range(b.subtract(n, 1), -1, -1, y=0.0) as c:
        c.y = b.add(b.multiply(c.y, z), b.load(cs, c.index))
    f = b.program(c.y)

    got = check(f, X4, 0.7)
    np.testing.assert_allclose(got[0], [1, 0.7, 0.49, 0.343])
    assert got[2] == pytest.approx(1.747)


def test_steps_of_two_and_three():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(1, n, 2, p=1.0) as up:
        up.p = b.sin(b.multiply(up.p, b.load(xs, up.index)))
    with b.range(b.subtract(n, 1), 0, -3, p=up.p) as down:
        down.p = b.tanh(b.add(b.multiply(down.p, 1.1), b.load(xs, down.index)))
    f = b.program(down.p)

    for n in range(9):
        check(f, np.linspace(0.2, 1.4, n))


def test_a_triangle_of_loops():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, s=0.0) as c:
        with b.range(c.index, p=1.0) as d:
            d.p = b.multiply(d.p, b.cos(b.multiply(b.load(xs, d.index), b.load(xs, c.index))))
        c.s = b.add(c.s, d.p)
    f = b.program(c.s)

    right = [0.5585568, 1.0239478, -0.14739688, -0.55891875]
    np.testing.assert_allclose(check(f, X4)[0], right, rtol=1e-6)


def test_a_while_loop_in_a_loop():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, s=0.0) as c:
        v = b.load(xs, c.index)
        with b.loop_while(lambda w: b.less(w.y, 2.0), y=b.absolute(v)) as w:
            more = b.multiply(b.multiply(0.3, w.y), w.y)
            w.y = b.add(b.add(more, w.y), 0.1)
        c.s = b.add(c.s, b.multiply(w.y, v))
    f = b.program(c.s)

    right = [8.17052917, 6.940856, 7.149, 3.62185611]
    np.testing.assert_allclose(check(f, np.array([0.5, -1.2, 1.9, 0.1]))[0], right, rtol=1e-6)


def test_long_while_loops_make_their_tapes_anew():
    b = Build()
    x, m = b.input(), b.input("int")
    with b.range(3, s=0.0) as c:
        with b.loop_while(lambda w: b.less(w.k, m), k=0, y=x) as w:
            w.y, w.k = b.sin(b.multiply(1.1, w.y)), b.add(w.k, 1)
        c.s = b.add(b.multiply(c.s, x), w.y)
    f = b.program(c.s)

    for rounds in (0, 1, 15, 16, 17, 70):
        check(f, 0.8, rounds)


def test_gathered_elements():
    b = Build()
    (xs, _), (idx, n) = b.input("float[]"), b.input("int[]")
    with b.range(n, s=0.0) as c:
        x = b.load(xs, b.load(idx, c.index))
        c.s = b.add(c.s, b.multiply(b.float(b.add(c.index, 1)), b.multiply(x, x)))
    f = b.program(c.s)

    np.testing.assert_allclose(check(f, X4, np.array([3, 0, 0, 2]))[0], [5, 0, 16, 0.2])


def test_a_recurrence():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, h=0.0, s=0.0) as c:
        c.h = b.tanh(b.add(b.multiply(0.5, c.h), b.load(xs, c.index)))
        c.s = b.add(c.s, b.multiply(b.float(b.add(c.index, 1)), c.h))
    f = b.program(c.s)

    right = [1.188224, 1.02174946, 0.64285114, 2.95958014]
    np.testing.assert_allclose(check(f, X4)[0], right, rtol=1e-6)


def test_a_symplectic_pendulum():
    b = Build()
    y, k = b.input(), b.input()
    with b.range(50, y=y, v=0.0) as c:
        c.v = b.subtract(c.v, b.multiply(0.1, b.multiply(k, b.sin(c.y))))
        c.y = b.add(c.y, b.multiply(0.1, c.v))
    f = b.program(c.y)

    assert check(f, 1.0, 1.5)[1] == pytest.approx(0.870730702760, rel=1e-9)


def test_cholesky_by_loops():
    b = Build()
    a, _ = b.input("float[]")  # two by two
    low = b.alloc("float", 4)
    with b.range(2) as i, b.range(b.add(i.index, 1)) as j:
        r, c = b.multiply(2, i.index), b.multiply(2, j.index)
        turned = b.load(a, b.add(c, i.index))
        s = b.multiply(0.5, b.add(b.load(a, b.add(r, j.index)), turned))
        with b.range(j.index, s=s) as k:
            product = b.multiply(b.load(low, b.add(r, k.index)), b.load(low, b.add(c, k.index)))
            k.s = b.subtract(k.s, product)

        def root(k=k):
            return [b.sqrt(k.s)]

        def quotient(k=k, c=c, j=j):
            return [b.divide(k.s, b.load(low, b.add(c, j.index)))]

        (x,) = b.choose(b.equal(i.index, j.index), root, quotient)
        b.store(low, b.add(r, j.index), x)
    f = b.program(b.add(b.log(b.load(low, 0)), b.log(b.load(low, 3))))

    right = [0.27173913, -0.10869565, -0.10869565, 0.54347826]
    np.testing.assert_allclose(check(f, np.array([2, 0.5, 0.3, 1]))[0], right, rtol=1e-7)


def matmul(b, x, y, z, n):
    with b.range(n) as i, b.range(n) as j, b.range(n) as k:
        row = b.multiply(i.index, n)
        left = b.load(x, b.add(row, k.index))
        right = b.load(y, b.add(b.multiply(k.index, n), j.index))
        b.add_to(z, b.add(row, j.index), b.multiply(left, right))


def test_products_of_matrices_by_loops():
    b = Build()
    (x, _), (y, _), n = b.input("float[]"), b.input("float[]"), b.input("int")
    size = b.multiply(n, n)
    z = b.alloc("float", size)
    matmul(b, x, y, z, n)
    f = b.program(sum_of(b, z, size, b.sin))
    p, q = np.random.default_rng(1).normal(size=(2, 3, 3))

    got = check(f, p.ravel(), q.ravel(), 3)
    np.testing.assert_allclose(got[0], (np.cos(p @ q) @ q.T).ravel())
    np.testing.assert_allclose(got[2], (p.T @ np.cos(p @ q)).ravel())


def test_buffers_that_are_swapped_and_chosen():
    """Double buffers; which one is written depends on a value."""
    b = Build()
    xs, n = b.input("float[]")
    p, q = b.alloc("float", n), b.alloc("float", n)
    with b.range(n) as c:
        b.store(p, c.index, b.load(xs, c.index))
    with b.range(3, p=p, q=q) as c:
        with b.range(n) as d:
            b.store(c.q, d.index, b.multiply(b.sin(b.load(c.p, d.index)), b.load(c.p, 1)))
        (t,) = b.choose(b.greater(b.load(c.q, 0), 0.1), lambda: [c.p], lambda: [c.q])
        b.store(t, 2, b.multiply(b.load(c.q, 2), b.load(c.p, 0)))
        c.p, c.q = c.q, c.p
    f = b.program(b.add(sum_of(b, c.p, n, b.square), sum_of(b, c.q, n, b.exp)))

    check(f, X4)
    check(f, -X4)


def test_buffers_made_in_a_loop_and_carried():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(3, h=xs) as c:
        fresh = b.alloc("float", n)
        with b.range(n) as d:
            ahead = b.remainder(b.add(d.index, 1), n)
            b.store(fresh, d.index, b.tanh(b.multiply(b.load(c.h, d.index), b.load(c.h, ahead))))
        c.h = fresh
    f = b.program(sum_of(b, c.h, n, b.sin))

    check(f, X4)


def test_buffers_in_a_while_loop():
    b = Build()
    xs, n = b.input("float[]")
    with b.loop_while(lambda w: b.less(b.load(w.h, 0), 20.0), h=xs, k=0) as w:
        fresh = b.alloc("float", n)
        with b.range(n) as d:
            h = b.load(w.h, d.index)
            b.store(fresh, d.index, b.add(b.multiply(h, 1.2), b.multiply(h, b.multiply(0.1, h))))
        w.h, w.k = fresh, b.add(w.k, 1)
    f = b.program(b.add(sum_of(b, w.h, n, b.square), b.float(w.k)))

    check(f, np.array([0.6, -1.2, 0.3]))


def test_a_bar_for_every_output_of_floats():
    b = Build()
    (xs, n), y = b.input("float[]"), b.input()
    out = b.alloc("float", n)
    with b.range(n) as c:
        b.store(out, c.index, b.multiply(y, b.sin(b.load(xs, c.index))))
    f = b.program(out, n, b.exp(y), b.load(xs, 0))
    derived = reverse.vjp(f, [0, 2])
    bar = np.array([1.0, 2, 3, 4])
    outs = interpreted(derived.program, X4, 4, 0.5, bar, 10.0, 100.0)

    assert derived.moving == [0, 2]
    np.testing.assert_allclose(outs[0], 0.5 * np.sin(X4))
    right = 0.5 * bar * np.cos(X4)
    right[0] += 100
    np.testing.assert_allclose(outs[4], right)
    assert outs[5] == pytest.approx(bar @ np.sin(X4) + 10 * math.exp(0.5))
    np.testing.assert_array_equal(bar, [1, 2, 3, 4])


def test_inputs_on_which_nothing_depends_have_no_cotangent():
    b = Build()
    x, y = b.input(), b.input()
    assert reverse.vjp(b.program(b.sin(x), b.floor(y)), [0, 1]).moving == [0]


def test_an_input_that_is_written_and_returned():
    b = Build()
    xs, n = b.input("float[]")
    b.store(xs, 0, b.multiply(b.load(xs, 0), b.load(xs, 1)))
    f = b.program(xs, n)
    derived = reverse.vjp(f, [0])
    given = X4.copy()
    out, n, bar = interpreted(derived.program, given, 4, np.ones(4))

    np.testing.assert_array_equal(given, X4)
    np.testing.assert_allclose(out, [-0.6, -1.2, 2.0, 0.1])
    np.testing.assert_allclose(bar, [-1.2, 1.5, 1, 1])


def test_a_strong_zero():
    b = Build()
    x, c = b.input(), b.input()
    f = b.program(b.add(b.multiply(b.sqrt(x), c), x))

    assert math.isnan(gradients(f, 0.0, 0.0)[0])
    assert gradients(f, 0.0, 0.0, strong=True)[0] == 1


def test_single_precision():
    b = Build()
    xs, n = b.input("float32[]")
    with b.range(n, s=b.float32(0.0)) as c:
        x = b.load(xs, c.index)
        c.s = b.add(c.s, b.multiply(b.sin(x), x))
    f = b.program(c.s)
    derived = reverse.gradient(f, [0])
    _, bar = interpreted(derived.program, X4.astype(np.float32), 4)

    assert derived.program.body.yields[1].type == "float32[]"
    np.testing.assert_allclose(bar, np.sin(X4) + X4 * np.cos(X4), rtol=1e-6)
    assert {type(x) for x in bar} == {np.float32}


def product(b, m, n, k, x, y, z, turned=False):
    """z += x y, or z += x times y turned."""
    rows = (1, k) if turned else (n, 1)
    b.routine("product", m, n, k, x, 0, k, 1, y, 0, *rows, z, 0, n, 1)


@pytest.mark.parametrize("turned", [False, True])
def test_products_of_matrices(turned):
    b = Build()
    (x, _), (y, _) = b.input("float[]"), b.input("float[]")
    m, n, k = (b.input("int") for _ in range(3))
    z = b.alloc("float", b.multiply(m, n))
    product(b, m, n, k, x, y, z, turned)
    f = b.program(sum_of(b, z, b.multiply(m, n), b.sin))
    p, q = np.random.default_rng(1).normal(size=(2, 6))

    check(f, p, q[:3], 2, 1, 3)
    check(f, p, q, 2, 2, 3)


def test_products_of_what_is_written_again():
    b = Build()
    (w, _), (h, n) = b.input("float[]"), b.input("float[]")
    with b.range(3):
        z = b.alloc("float", n)
        product(b, n, 1, n, w, h, z)
        with b.range(n) as c:
            b.store(h, c.index, b.tanh(b.load(z, c.index)))
    f = b.program(sum_of(b, h, n, b.square))
    p, q = np.random.default_rng(1).normal(size=9), np.array([0.3, -0.8, 1.1])

    check(f, p, q)


def tapes(program):
    """The buffers that a gradient makes besides shadows."""
    made = reverse.gradient(program, floats(program)).program
    return [op for op in operations(made.body) if isinstance(op, Alloc) and not op.zeroed]


def test_what_is_in_memory_at_the_end_is_not_kept():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, s=0.0) as c:
        x = b.multiply(b.load(xs, c.index), 2.0)
        c.s = b.add(c.s, b.sin(b.multiply(x, x)))

    assert not tapes(b.program(c.s))


def test_a_buffer_of_a_round_is_complete_in_the_next():
    b = Build()
    (w, _), (h, n) = b.input("float[]"), b.input("float[]")
    with b.range(3, h=h) as t:
        fresh = b.alloc("float", n)
        with b.range(n) as i:
            with b.range(n, s=0.0) as j:
                weight = b.load(w, b.add(b.multiply(i.index, n), j.index))
                j.s = b.add(j.s, b.multiply(weight, b.load(t.h, j.index)))
            b.store(fresh, i.index, b.tanh(j.s))
        t.h = fresh
    f = b.program(sum_of(b, t.h, n, b.square))
    p, q = np.random.default_rng(1).normal(size=9), np.array([0.3, -0.8, 1.1])

    check(f, p, q)
    assert sum(op.out.type == "float[]" for op in tapes(f)) == 1  # of what tanh gave


def test_a_buffer_that_is_written_after_a_load():
    """By its own name, by another, in a later round: the load is not repeated."""
    for late in ("own", "other", "round"):
        b = Build()
        xs, n = b.input("float[]")
        with b.range(n, s=0.0, held=xs) as c:
            fresh = b.alloc("float", n)
            with b.range(n) as d:
                b.store(fresh, d.index, b.multiply(b.load(xs, d.index), 1.5))
            y = b.sin(b.multiply(b.load(fresh, 0), b.load(c.held, 1)))
            if late == "own":
                b.store(fresh, 0, y)
            elif late == "round":
                b.store(c.held, 1, b.multiply(y, 0.3))
            else:
                (same,) = b.choose(b.greater(c.s, -9.0), lambda a=fresh: [a], lambda a=xs: [a])
                b.store(same, 0, y)
            c.s, c.held = b.add(c.s, b.multiply(y, b.load(fresh, 0))), fresh
        check(b.program(c.s), X4)


def test_a_sum_has_its_adjoint_in_the_same_rounds():
    b = Build()
    (xs, n), y = b.input("float[]"), b.input()
    with b.range(n, s=0.0) as c:
        x = b.load(xs, c.index)
        term = b.exp(b.multiply(b.sin(x), y))

        def more(term=term):
            with b.range(3, s=c.s) as d:
                d.s = b.add(term, d.s)
            return [d.s]

        (c.s,) = b.choose(b.greater(x, 0.0), more, lambda t=term: [b.subtract(c.s, t)])
    f = b.program(b.divide(c.s, y))
    made = reverse.gradient(f, floats(f)).program

    assert sum(isinstance(op, For) for op in made.body.ops) == 1
    check(f, X4, 0.7)


def test_sums_whose_adjoint_has_to_wait():
    """For their result; for stores that come after their loads."""
    b = Build()
    xs, n = b.input("float[]")
    squares = sum_of(b, xs, n, b.square)
    b.store(xs, 1, b.multiply(b.load(xs, 1), 3.0))
    f = b.program(b.add(b.sin(squares), sum_of(b, xs, n, b.square)))

    check(f, X4)


def test_what_is_carried_and_used_besides():
    b = Build()
    xs, n = b.input("float[]")
    with b.range(n, s=0.5) as c:
        c.s = b.add(c.s, b.multiply(c.s, b.load(xs, c.index)))
    with b.range(n, s=c.s, t=0.0) as d:
        d.s, d.t = b.add(d.s, b.load(xs, d.index)), b.add(d.t, d.s)
    f = b.program(b.add(d.s, d.t))

    check(f, X4)


def test_a_function_of_memory_that_is_written_later():
    """By who calls it, or by itself through another of its operands."""
    h = Build()
    (p, n), (q, _) = h.input("float[]"), h.input("float[]")
    x = h.load(p, 0)
    h.store(q, 0, h.multiply(x, h.load(p, 1)))
    inner = h.program(h.multiply(x, h.load(p, 0)))
    b = Build()
    xs, n = b.input("float[]")
    with b.range(3, s=0.0) as c:
        (y,) = b.call(inner, xs, n, xs, n)
        b.store(xs, 1, b.sin(y))
        c.s = b.add(c.s, y)
    f = b.program(c.s)

    check(f, X4)


def recursive(step):
    """A function of an int and a float that may call itself."""
    h = Build()
    n, x = h.input("int"), h.input()
    made = h.program(x)
    made.body.yields = h.choose(h.less(n, 2), lambda: [x], lambda: [step(h, made, n, x)])
    return made


def test_recursion():
    def step(h, made, n, x):
        (one,) = h.call(made, h.subtract(n, 1), x)
        (two,) = h.call(made, h.subtract(n, 2), x)
        return h.add(h.multiply(0.9, one), h.sin(two))

    b = Build()
    x = b.input()
    (y,) = b.call(recursive(step), 7, x)
    f = b.program(y)

    assert check(f, 0.5)[0] == pytest.approx(-1.611063341)


def test_recursion_that_is_deep():
    def step(h, made, n, x):
        (y,) = h.call(made, h.subtract(n, 1), x)
        return h.multiply(x, y)

    b = Build()
    x = b.input()
    (y,) = b.call(recursive(step), 50, x)
    f = b.program(y)

    assert check(f, 1.01)[0] == pytest.approx(81.417416923)


def test_a_condition_that_writes():
    b = Build()
    xs, _ = b.input("float[]")

    def test(c):
        b.store(xs, 0, b.sin(b.load(xs, 0)))
        return b.greater(b.load(xs, 0), 0.5)

    with b.loop_while(test, k=0) as c:
        c.k = b.add(c.k, 1)
    with pytest.raises(KernelError, match="a while loop writes memory in its condition"):
        reverse.gradient(b.program(b.load(xs, 0)), [0])


def test_products_of_what_is_complete_are_not_copied():
    b = Build()
    (w, _), (h, n) = b.input("float[]"), b.input("float[]")
    with b.range(3, h=h) as t:
        z, fresh = b.alloc("float", n), b.alloc("float", n)
        product(b, n, 1, n, w, t.h, z)
        with b.range(n) as c:
            b.store(fresh, c.index, b.tanh(b.load(z, c.index)))
        t.h = fresh
    f = b.program(sum_of(b, t.h, n, b.square))
    p, q = np.random.default_rng(1).normal(size=9), np.array([0.3, -0.8, 1.1])

    check(f, p, q)
    assert sum(op.out.type == "float[]" for op in tapes(f)) == 1  # of what tanh gave
