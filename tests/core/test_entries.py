"""Entries: what is asked of one, and the loops that carry out many without asking."""

import inspect

import numpy as np
import pytest

import zyg
import zyg.numpy as znp
from zyg.core import adjoints, elementwise, exchange, indexing, shortcuts
from zyg.core.adjoint_tasks import ReversePass
from zyg.core.entries import gather, inputs_of, kinds, name_of, outputs_of
from zyg.core.reverse import reverse
from zyg.core.trace import Trace
from zyg.core.views import ViewSlot
from zyg.verbs.gradients import seed_of_one
from zyg.watched import device

from .programs import program

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])


def newton(x):
    y = x
    for _ in range(3):
        y = y - (y * y - x) / (2 * y + 1)
    return 3 * y - y / x


def several(x):
    q, r = np.linalg.qr(x.T @ x + np.eye(3))
    values, _ = np.linalg.eigh(r + r.T)
    return q[0] @ values


def written(x):
    y = znp.zeros((3, 3))
    y[:2] = np.sin(x)
    y[1:] *= y[:2]
    y[[0, 0, 2], [1, 1, 2]] = x[0]
    return (y.T @ y).sum() + x[0, 1] ** 3


PROGRAMS = [
    (newton, 1.7),
    (lambda x: np.sum(np.exp(x) * x[0] - x.T.reshape(2, 3) / 3), X),
    (lambda x: np.sqrt(np.abs(x[0, 0] * (1 + 2j) + x[1, 2])), X),
    (several, X),
    (written, X),
]


def passes(trace):
    """The cotangents of all slots: by the fast loop, by single entries, by an adjoint task."""
    seeds = trace.seeds(seed_of_one(trace, trace.y))
    for strong in (False, True):
        concurrent = ReversePass(trace.strand, seeds, strong, False)
        with concurrent.helped():
            concurrent.work()
        one_by_one = reverse(trace.strand, seeds, strong, check=True)
        yield reverse(trace.strand, seeds, strong), one_by_one, concurrent.bars()


def same(trace):
    for fast, *others in passes(trace):
        for bars in others:
            # What a slot is left with once its entry was stepped through is nobody's business.
            found = [[zyg.core.views.at_slot(b, s) for s in trace.slots[0]] for b in (fast, bars)]
            for one, other in zip(*found, strict=True):
                assert type(one) is type(other)
                np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize(("f", "x"), PROGRAMS)
def test_the_loops_do_what_single_entries_do(f, x):
    same(Trace(f, (x,), {}))


@pytest.mark.parametrize("seed", range(40))
def test_the_loops_do_what_single_entries_do_in_random_programs(seed):
    one = program(seed)
    f = one.function()
    same(Trace(lambda x: f(x, znp, []), (one.x,), {}))


def entries_of(f, *args):
    trace = Trace(f, args, {})  # which clears its tape when it goes
    tape = [*trace.strand.tape]
    return [tape[k : k + 5] for k in range(0, len(tape), 5)]


def test_of_numbers_and_of_one_array_the_slots_stand_in_the_entry():
    numbers, arrays = entries_of(lambda x, y: x * y, 2.0, 3.0), entries_of(np.sin, X)

    assert [(inputs_of(e), outputs_of(e), name_of(e)) for e in numbers + arrays] == [
        ([0, 1], (2,), "an operator on numbers"),
        ([0], (1,), "sin"),
    ]


def test_of_all_others_their_function_knows():
    def f(x, c):
        c[0] = x[0, 0] * x[1, 1]  # two reads, a product, a write
        return np.linalg.slogdet(x[:, :2])[1] + c @ x[0]

    names = ["read", "read", "an operator on numbers", "write", "slogdet", "matmul", "add"]
    found = entries_of(f, X, np.zeros(3))

    assert [name_of(e) for e in found[:6]] == names[:6]
    assert inputs_of(found[0]) == inputs_of(found[1]) == [0]
    assert outputs_of(found[3]) == (1,)
    assert inputs_of(found[3]) == list(outputs_of(found[2]))
    assert [type(s) for s in inputs_of(found[4])] == [ViewSlot]
    assert len(outputs_of(found[4])) == 2


def test_a_write_of_a_constant_contributes_nowhere():
    def f(x):
        y = 1 * x
        y[0] = 0.0
        return y.sum()

    (write,) = [e for e in entries_of(f, X) if name_of(e) == "write"]

    assert inputs_of(write) == []
    assert len(outputs_of(write)) == 1


@pytest.mark.parametrize("index", [np.s_[0:2], np.s_[1, ::-1], np.s_[...], 1])
def test_an_operator_in_place_of_a_part_is_one_write(index):
    """Python assigns to the part what the operator returned, which is the part itself."""

    def f(x):
        y = 1.0 * x
        y[index] += 2.0
        part = y[index]
        y[index] = part  # as Python does
        return y[0, 0] * y[1, 1]

    assert [name_of(e) for e in entries_of(f, X)].count("write") == 1
    assert zyg.gradient(f, X)[0].any()


def test_a_part_that_is_written_elsewhere_is_a_write():
    def f(x):
        y = 1.0 * x
        y[1] = y[0]
        return (y[1] ** 2).sum()

    assert [name_of(e) for e in entries_of(f, X)].count("write") == 1
    np.testing.assert_array_equal(zyg.gradient(f, X)[0], [2 * X[0], 0 * X[0]])


def test_every_function_that_entries_name_is_known():
    files = adjoints, elementwise, exchange, indexing, device, shortcuts
    named = {
        f
        for file in files
        for _, f in inspect.getmembers(file, inspect.isfunction)
        if [*inspect.signature(f).parameters][:1] == ["run"]
    }

    assert len(named) >= 15
    assert named - {gather} <= {*kinds}


def test_a_name_is_that_of_the_users_function():
    found = {name_of(e) for e in entries_of(lambda x: np.hypot(x, x[0]).sum() + np.exp(x[0, 0]), X)}

    assert {"hypot", "exp", "read", "sum"} <= found
