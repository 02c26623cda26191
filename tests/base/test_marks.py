"""Marks: what a thing is known by, where it could be known by its name."""

import functools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
import zyg.math
import zyg.scipy.special  # whose rules are ours too
import zyg.trio
from zyg.base import marks
from zyg.base.containers import kind_of
from zyg.base.registry import Adjoint, Composed, ScalarRule, rules
from zyg.compiler.functions import meaning
from zyg.functions.operations import table
from zyg.tasks.executors import Task, TaskExecutor

X = np.array([0.3, 0.7])
OF_MATH = [
    name for name in vars(math)
    if callable(function := getattr(math, name)) and meaning(function) is not None
]  # fmt: skip


@pytest.mark.parametrize("name", OF_MATH)
def test_in_a_kernel_a_function_of_zyg_math_is_that_of_math(name, monkeypatch):
    of_zyg, of_math = getattr(zyg.math, name), getattr(math, name)
    if of_math in table:  # another test may have given it a rule of its own
        monkeypatch.setitem(rules, of_math, ScalarRule(of_math, table[of_math]))
    two = name in ("atan2", "copysign", "fmod", "hypot", "pow", "nextafter", "ldexp")
    texts = []
    for f in (of_zyg, of_math):
        kernel = zyg.elementwise((lambda x, y: f(x, y)) if two else (lambda x: f(x)))  # noqa: B023
        try:
            texts.append(kernel.source(order=1))
        except zyg.errors.KernelError as error:
            texts.append(str(error).splitlines()[0])
    assert texts[0] == texts[1]
    assert of_zyg is getattr(zyg.math, name)


@pytest.mark.parametrize("f", [zyg.math.log, zyg.math.floor, zyg.stop_gradient, zyg.math.hypot])
def test_a_wrapper_of_the_users_is_not_taken_for_what_it_wraps(f):
    @functools.wraps(f)
    def twice(*args):
        return 2 * args[0]

    assert (zyg.broadcast(lambda x: twice(x), X) == 2 * X).all()
    assert zyg.gradient(lambda x: zyg.broadcast(lambda x: twice(x), x).sum(), X)[0].tolist() == [
        2,
        2,
    ]


def test_a_kernel_knows_stop_gradient_under_any_name():
    still = zyg.primal
    for f in (lambda x: x * still(x), lambda x: x * zyg.stop_gradient(x)):
        assert (zyg.gradient(lambda x: zyg.broadcast(f, x).sum(), X)[0] == X).all()  # noqa: B023


def test_ours_are_the_rules_that_are_formulas():
    made = [rule for rule in rules.values() if isinstance(rule, (Adjoint, Composed))]
    packages = ("zyg.functions.", "zyg.scipy.")
    for rule in (*made, zyg.hook, zyg.checkpoint):
        assert getattr(rule, "ours", False) == (
            isinstance(rule, (Adjoint, Composed)) and rule.function.__module__.startswith(packages)
        )
    assert sum(rule.ours for rule in made) > 200


def test_a_rule_of_the_users_is_not_ours():
    @zyg.adjoint
    @functools.wraps(np.sin)
    def mine(x):
        return np.sin(x), lambda y_bar: (y_bar * np.cos(x),)

    assert not mine.ours


def test_what_runs_tasks_passes_through_whole():
    class Own(TaskExecutor):
        pass

    with ThreadPoolExecutor(1) as pool:
        for engine in (
            zyg.wrap_executor(pool),
            Own(pool, False),
            zyg.threads.Thread(target=print),
            zyg.trio.StrandNursery(None),
        ):
            assert kind_of(engine) is None
    assert kind_of(Task.__new__(Task)) is None


def test_a_thread_that_is_an_argument_stays_itself():
    def f(thread, x):
        thread.start()
        thread.join()
        return x * 2

    ran = []
    thread = zyg.threads.Thread(target=lambda: ran.append(1))
    assert zyg.gradient(f, thread, 1.0) == (None, 2.0)
    assert ran == [1]
    assert not thread.is_alive()


def test_the_modules_that_are_marked_are_there():
    import importlib

    for name in (*marks._for_any_number, *marks._formulas):
        assert importlib.import_module(name).__name__ == name
