"""An exception from outside, as by Ctrl-C, leaves what is the user's as it was."""

import contextlib
import sys
import types

import numpy as np
import pytest

import zyg
import zyg.numpy
from zyg.base import adoptable
from zyg.core import running, trace
from zyg.core.strand import active
from zyg.core.trace import Trace

from ..searches import interrupts
from ..searches._interrupted import PROGRAMS, arrays, configured, numbers, writes
from ..searches.interrupts import CALLS, Case, Hit


@pytest.mark.parametrize("program", [configured, numbers, arrays, writes])
def test_an_interrupt_at_every_point_of_a_gradient(program):
    number = PROGRAMS.index(program)
    for at in range(interrupts.points(number, CALLS)):
        interrupts.check(Case(number, CALLS, at, KeyboardInterrupt))


def interrupted(run, at):
    hit = Hit(CALLS, at, KeyboardInterrupt())
    sys.unraisablehook, hook = lambda _: None, sys.unraisablehook  # of one in a finalizer
    try:
        with contextlib.suppress(KeyboardInterrupt):
            hit.run(run)
    finally:
        sys.unraisablehook = hook
    return bool(hit.where)


def test_an_interrupt_while_modules_are_adopted():
    library = types.ModuleType("library")
    exec("import math, numpy as np\ndef f(x): return math.exp(x) * np.sin(x)", vars(library))
    before = dict(vars(library))
    adoption, at = zyg.adopt(library), 0
    try:
        while interrupted(lambda: zyg.gradient(library.f, 0.5), at):
            assert dict(vars(library)) == before
            assert zyg.nestlevel() == 0
            assert type(zyg.numpy.zeros(1)) is np.ndarray
            at += 13
    finally:
        adoption.release()


def test_an_interrupt_while_what_a_checkpoint_holds_is_put_back():
    a, held = np.array([2.0]), [1.0]

    def layer(x):
        held.append(len(held))
        return (a * x).sum() * held[0]

    at = 0
    while interrupted(lambda: zyg.gradient(lambda x: zyg.checkpoint(layer, x), 3.0), at):
        assert layer(3.0) == 6.0  # and no variable of the function's is empty
        del held[1:]
        at += 17


# The second line of defence: what any number of interrupts have left is found on the next way in


def test_an_array_of_a_pullback_is_writable_though_its_finalizer_did_not_begin():
    a, x = np.ones(2000), np.ones(2000)
    _, back = zyg.pullback(lambda x: a * x, x)
    assert not a.flags.writeable

    def interrupt(frame, event, arg):
        if frame.f_code is Trace.__del__.__code__:
            raise KeyboardInterrupt

    hook, sys.unraisablehook = sys.unraisablehook, lambda lost: None
    sys.setprofile(interrupt)
    try:
        del back
    finally:
        sys.setprofile(None)
        sys.unraisablehook = hook
    zyg.gradient(lambda x: x * x, 3.0)
    assert a.flags.writeable


@pytest.mark.parametrize("ways", ["release_all", "leave"])
def test_a_way_out_that_was_interrupted_again_and_again_is_gone_on_the_next_way_in(
    monkeypatch, ways
):
    def interrupted(*_):
        raise KeyboardInterrupt

    a, x = np.ones(2000), np.ones(2000)
    with monkeypatch.context() as patch:
        for module in (trace, running):
            patch.setattr(module, ways, interrupted)
        with pytest.raises(KeyboardInterrupt) as kept:
            zyg.gradient(lambda x: (a * x).sum() / {}["none"], x)
    zyg.gradient(lambda x: x * x, 3.0)
    assert a.flags.writeable
    assert x.flags.writeable
    assert zyg.nestlevel() == 0
    assert not active.get()
    assert not adoptable.running
    del kept
