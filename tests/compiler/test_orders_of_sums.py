"""Sums in eight lanes, and loops that add to neighbours: what may come in any order."""

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import zyg
from zyg.compiler.back.native_function import Native
from zyg.compiler.ir import Adjoint, Block, Call, For, Program, Value

from .interpreted import interpreted
from .test_whole_text import filled

SIZES = [0, 1, 7, 8, 15, 16, 17, 23, 24, 100, 1003]


def in_lanes(terms, start):
    """The sum as it is specified."""
    if len(terms) < 16:
        for x in terms:
            start = start + x
        return start
    lanes = np.zeros(8, terms.dtype)
    full = len(terms) // 8 * 8
    for row in terms[:full].reshape(-1, 8):
        lanes += row
    lanes[: len(terms) - full] += terms[full:]
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return start + lanes[0]


@pytest.fixture(params=["first", "whole"])
def code(request):
    with zyg.config(compile=request.param):
        yield request.param


@pytest.mark.parametrize("n", SIZES)
def test_a_sum_of_numpys_is_made_in_lanes(code, n):
    def fill(b, n, row):
        body, index, p, out = Block(), Value("int"), Value("float"), Value("float")
        with b.inside(body):
            body.yields = [b.op("add", p, b.op("multiply", b.load(row, index), 3.0))]
        b.block.ops.append(For(index, (0, n, 1), [0.1], [p], body, [out]))
        return [out]

    x = np.random.default_rng(1).normal(size=n)
    assert Native(filled(fill, "int", "float[]"))(n, x) == [in_lanes(x * 3.0, 0.1)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["add", "subtract"])
def test_sums_at_a_place_of_memory_too(code, n, name):
    def fill(b, n, row):
        made, more = b.alloc("float", 3), b.alloc("float", n)
        b.store(made, 1, 0.7)
        with b.each(n) as k:
            term = b.op("multiply", b.load(row, k), 3.0)
            b.store(made, 1, b.op(name, b.load(made, 1), term))
            b.store(more, k, term)
        return [b.load(made, 0), b.load(made, 1), more]

    x = np.random.default_rng(2).normal(size=n)
    zero, total, more = Native(filled(fill, "int", "float[]"))(n, x)
    terms = 3.0 * x if name == "add" else -3.0 * x
    assert (zero, total) == (0.0, in_lanes(terms, 0.7))
    assert more.tolist() == (3.0 * x).tolist()


def test_a_place_that_is_read_or_written_besides_is_no_sum(code):
    def fill(b, n, row):
        made, out = b.alloc("float", 3), b.alloc("float", n)
        with b.each(n) as k:
            b.add_to(made, 1, b.load(row, k))
            b.store(out, k, b.load(made, 1))
        return [out]

    x = np.random.default_rng(3).normal(size=40)
    (found,) = Native(filled(fill, "int", "float[]"))(40, x)
    assert found.tolist() == np.cumsum(x).tolist()


def stencil(offsets, clears, step, also):
    """Adds the number at each place to those at some offsets, in a mirror's order or forwards.

    Offsets are of rows, and in these.
    """

    def fill(b, n, width, row):
        size = b.op("add", n, b.op("add", b.op("multiply", width, 3), 8))
        to, of, other = (b.alloc("float", k) for k in (size, n, n))
        b.copy(of, row, n)
        body, index = Block(), Value("int")
        with b.inside(body):
            x = b.load(of, index)
            if clears:
                b.store(of, index, 0.0 if clears == "before" else b.op("multiply", x, 2.0))
            if clears == "between":
                x = b.load(of, index)
            for down, offset in offsets:
                weighed = b.op("multiply", x, float(down + offset + 1))
                at = b.op("add", b.op("multiply", down, width), offset)
                b.add_to(to, b.op("add", index, at), weighed)
            if also:
                b.add_to(other, index, b.op("multiply", x, x))
        last = b.op("subtract", n, 1)
        span = (last, -1, -1) if step < 0 else (0, n, 1)
        b.block.ops.append(For(index, span, [], [], body, []))
        return [to, of, other]

    return filled(fill, "int", "int", "float[]")


@settings(max_examples=40, deadline=None)
@given(
    offsets=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2, 8])),
                     min_size=1, max_size=6),
    clears=st.sampled_from(["", "before", "between"]), step=st.sampled_from([-1, 1]),
    n=st.sampled_from([0, 1, 2, 3, 5, 40]), width=st.sampled_from([0, 3, 48]), also=st.booleans(),
)  # fmt: skip
@example([(0, 0), (0, 1), (0, 2), (1, 1), (2, 1)], "before", -1, 40, 48, True)
@example([(0, 0), (0, 1), (0, 2), (1, 1), (2, 1)], "", -1, 40, 3, False)
@example([(0, 1), (0, 2)], "", 1, 1, 0, True)
def test_additions_to_neighbours_are_all_made(offsets, clears, step, n, width, also):
    x = np.random.default_rng(4).normal(size=n)
    program = stencil(offsets, clears, step, also)
    right = interpreted(program, n, width, x.copy())
    found = {}
    for code in ("first", "whole"):
        with zyg.config(compile=code):
            found[code] = Native(program)(n, width, x.copy())
        for a, b in zip(found[code], right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    for a, b in zip(found["first"], found["whole"], strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("index", ["fixed", "loaded", "halved"])
def test_places_that_rounds_share_are_added_to_in_order(code, index):
    """What an addition reads must be what the round before has left."""

    def fill(b, n, row):
        to, last = b.alloc("float", 50), b.alloc("float", 50)
        with b.each(n) as k:
            at = {
                "fixed": lambda: 3,
                "loaded": lambda: b.op("int", b.load(row, k)),
                "halved": lambda: b.op("floor_divide", k, 2),
            }[index]()
            b.add_to(to, at, 1.0)
            b.add_to(to, b.op("add", at, 1), 2.0)
            b.store(last, at, b.op("float", k))
        return [to, last]

    x = np.array([3.0, 4.0, 3.0, 3.0, 5.0] * 8)
    program = filled(fill, "int", "float[]")
    for a, b in zip(Native(program)(40, x), interpreted(program, 40, x), strict=True):
        assert a.tolist() == b.tolist()


def first(x):
    total = 0.0
    for k, y in enumerate(x):
        total -= y * k
    return total


def second(x):
    return sum(y * 3.0 for y in x) + sum(x) + sum([y * y for y in x])


def third(x):
    h = np.zeros(len(x) + 2)
    for i in range(len(x)):
        h[i] += x[i] * 0.1
        h[i + 1] += x[i] * 0.7
        h[i + 2] += x[i]
    return h


def fourth(x):
    s = np.zeros(3)
    for y in x:
        s[1] += y
    return s


COMPENSATED = pytest.mark.skipif(sys.version_info >= (3, 12), reason="sum compensates since 3.12")


@pytest.mark.parametrize("f", [first, pytest.param(second, marks=COMPENSATED), third, fourth])
def test_pythons_own_loops_add_in_their_order(code, f):
    x = np.random.default_rng(5).normal(size=1003)
    assert np.array_equal(zyg.compile(f)(x), f(x))


def called_with_one_buffer(fill, known):
    """A program that calls another with the same buffer twice; `known` to the analysis or not."""
    callee = filled(fill, "int", "float[]", "float[]", name="inner")
    if not known:
        callee.adjoint = Adjoint(Program("none", [], Block()), [], 0, [])

    def main(b, n, row):
        x = b.copied(row, n)
        b.block.ops.append(Call(callee, (n, x, x), []))
        return [x]

    return filled(main, "int", "float[]")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("what", ["sum", "neighbours", "backwards"])
def test_two_names_of_one_buffer_are_seen_through_calls(code, what, known):
    def fill(b, n, to, of):
        if what == "sum":
            with b.each(n, independent=False) as k:
                b.add_to(to, 3, b.load(of, k))
            return []
        body, index = Block(), Value("int")
        with b.inside(body):
            x = b.load(of, index)
            for offset in (1, 2) if what == "neighbours" else (0,):
                b.add_to(to, b.op("remainder", b.op("add", index, offset), n), x)
        last = b.op("subtract", n, 1)
        b.block.ops.append(For(index, (last, -1, -1), [], [], body, []))
        return []

    x = np.random.default_rng(6).normal(size=40)
    program = called_with_one_buffer(fill, known)
    (found,), (right,) = Native(program)(40, x), interpreted(program, 40, x)
    np.testing.assert_allclose(found, right, rtol=1e-12)


def damped(u, w):
    u = u.copy()
    for i in range(len(u)):
        for j in range(len(w) - 1, -1, -1):
            u[i] += w[j] / (2.0 + u[i] * u[i])
    return u


def summed_backwards(u, w):
    u = u.copy()
    for j in range(len(w) - 1, -1, -1):
        u[1] -= w[j] * w[j]
    return u


def swapped(u, w):
    u = u.copy()
    for j in range(len(w) - 1, -1, -1):
        u[0] = w[j] - 0.5 * u[0]
    return u


@pytest.mark.parametrize("f", [damped, summed_backwards, swapped])
def test_rounds_that_hand_on_a_number_in_memory_stay_in_order(code, f):
    args = np.linspace(0.1, 1.0, 3), np.linspace(-1.0, 2.0, 40)
    np.testing.assert_array_equal(zyg.compile(f)(*args), f(*args))
    slopes = zyg.jacobian(zyg.compile(f), *args)
    for x, y in zip(slopes, zyg.jacobian(f, *args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
