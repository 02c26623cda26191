"""Machine code that is there at once, and the final code that takes its place."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
from zyg.base import caches
from zyg.compiler.back import compiled, first_code
from zyg.compiling import functions

from .test_index import run

pytestmark = pytest.mark.usefixtures("machine_code_alone")
FEW, MANY = 5, 3_000_000


@pytest.fixture
def made(monkeypatch, tmp_path):
    """What LLVM makes, in order; nothing is on disk or known."""
    recurrence()  # which loads the verbs of compiled functions
    caches.clear()
    kinds, make = [], compiled.made

    def noted(text, name, addresses, loops=False, first=False):
        kinds.append("first" if first else "final")
        return make(text, name, addresses, loops, first)

    first_code.arena.addresses()
    first_code.arena.addresses(first=True)
    functions._asking()
    monkeypatch.setattr(compiled, "made", noted)
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    return kinds


def recurrence():
    def f(x, n):
        s = 0.0
        for k in range(n):
            s = s * 0.999 + np.sin(x * k)
        return s

    return zyg.compile(f)


def test_a_call_with_little_work_has_first_code_alone(made):
    f = recurrence()
    assert f(0.3, FEW) == f(0.3, FEW)
    zyg.gradient(f, 0.3, FEW)
    assert made == ["first", "first"]


def test_a_long_call_ends_in_final_code_with_the_same_bits(made):
    f, g = recurrence(), recurrence()
    with zyg.config(compile="whole"):
        y, gradient = g(0.3, MANY), zyg.gradient(g, 0.3, MANY)
    assert made == ["final", "final"]
    made.clear()
    f(0.3, FEW)
    zyg.gradient(f, 0.3, FEW)
    assert f(0.3, MANY) == y
    assert zyg.gradient(f, 0.3, MANY) == gradient
    assert f(0.3, FEW) == g(0.3, FEW)
    assert not made  # as final code of the same text was kept


def test_many_short_calls_end_in_final_code(made):
    f = recurrence()
    ys = {f(0.3, FEW) for _ in range(6_000)}
    assert len(ys) == 1
    assert made == ["first", "final"]


def test_what_a_call_wrote_before_it_was_left_is_written_once(made):
    @zyg.compile
    def f(a, n):
        for k in range(n):
            a[k % len(a)] += 1.0
        return a.sum()

    a = np.zeros(3)
    f(a, FEW)
    a[:] = 0.0
    assert f(a, MANY) == MANY
    assert a.tolist() == [MANY / 3] * 3
    assert made == ["first", "final"]


def test_the_general_way_is_left_too(made):
    f = recurrence()

    def slope(x):  # of a traced program, in which the call is one entry
        return zyg.numpy.square(f(x, MANY))

    assert zyg.gradient(slope, 0.3)[0] == pytest.approx(
        2 * f(0.3, MANY) * zyg.gradient(f, 0.3, MANY)[0]
    )
    assert "final" in made


@pytest.mark.slow
def test_eight_threads_leave_at_once(made):
    f = recurrence()
    y, gradient = recurrence()(0.3, MANY), zyg.gradient(recurrence(), 0.3, MANY)
    made.clear()
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: (f(0.3, MANY), zyg.gradient(f, 0.3, MANY)), range(16))]
    assert found == [(y, gradient)] * 16


def test_memory_that_only_first_code_lacks(made):
    @zyg.compile
    def f(x):
        y = np.sin(x) * np.ones(1000)  # LLVM sees that it is not used
        return np.sin(x) + 0.0 * len(y)

    right = zyg.gradient(f, 0.5)
    with zyg.config(tape_bytes=5_000):
        assert zyg.gradient(f, 0.5) == right
    assert made == ["first", "final"]


@pytest.mark.parametrize("kind", ["recursion", "callback", "threads"])
def test_a_program_that_may_not_be_left_has_final_code_at_once(made, kind):
    if kind == "recursion":

        def f(x, n):
            return x if n == 0 else np.sin(f(x, n - 1))

        g = zyg.compile(f)
        g(0.5, FEW)
    elif kind == "callback":
        g = zyg.compile(lambda x, n: np.sum(np.abs(np.linalg.eigvals(x))) * n)
        g(np.eye(2), FEW)
    else:

        def rounds(x, n):
            y = np.zeros(n)
            for k in zyg.prange(n):
                y[k] = x * k
            return y.sum()

        g = zyg.compile(rounds, parallel=True)
        g(0.5, FEW)
    assert "first" not in made
    assert "final" in made


PROGRAM = """
import numpy as np, zyg
from zyg.compiler.back import compiled
make = compiled.made

def noted(*args, first=False, **kwargs):
    print("first" if first else "final")
    return make(*args, first=first, **kwargs)

compiled.made = noted

@zyg.compile
def f(x, n):
    s = 0.0
    for k in range(n):
        s = s * 0.999 + np.sin(x * k)
    return s

for n in (5, {n}):
    print(f(0.3, n), zyg.gradient(f, 0.3, n))
"""


@pytest.mark.slow
def test_the_next_process_has_what_was_made(tmp_path):
    def said(n):
        return [line for line in run(tmp_path, PROGRAM.replace("{n}", str(n))).split("\n") if line]

    before = said(5)
    assert before[:3] == ["first"] * 3  # the memory of all calls, f, what asks it
    again = said(5)
    assert [line for line in again if "(" in line] == [line for line in before if "(" in line]
    assert not {"first", "final"} & {*again}
    left = said(MANY)
    assert left.count("final") == 3  # the memory of all calls, f, its gradient
    assert left.count("first") == 0
    assert "final" not in said(MANY)


def test_waiting_makes_final_code_of_what_is_on_disk(made):
    f = recurrence()
    y = f(0.3, FEW)
    with zyg.config(compile="whole"):
        assert recurrence()(0.3, FEW) == y
    assert made == ["first", "final"]


def test_an_unknown_choice():
    with pytest.raises(ValueError, match="compile is one of"):
        zyg.config(compile="later")


@pytest.mark.slow
def test_a_first_gradient_loads_neither_random_numbers_nor_drop_ins(tmp_path):
    loaded = "print({*sys.modules} & {'numpy.random', 'zyg.numpy', 'zyg.adoption.originals'})"
    program = PROGRAM.replace("{n}", "5").replace("import numpy", "import sys, numpy")
    assert run(tmp_path, f"{program}\n{loaded}").splitlines()[-1] == "set()"
