"""Adoptions that overlap, in time and in threads; gradients that run meanwhile."""

import math
import random
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zyg

EXP = "import math\nimport numpy as np\ndef f(x): return math.exp(2 * x)\n"
LIMIT = 60  # seconds, for threads


@pytest.fixture
def library(write):
    write({"lib/__init__.py": "from lib import a, b", "lib/a.py": EXP, "lib/b.py": EXP})
    import lib

    return lib


def is_adopted(module):
    seen = []

    def f(x):
        seen.append((module.math is not math, module.np is not np))
        return x

    zyg.gradient(f, 1.0)
    assert seen[0][0] == seen[0][1]
    return seen[0][0]


@pytest.mark.parametrize("first", [0, 1])
def test_a_module_is_released_when_nobody_asks_for_it(library, first):
    two = [zyg.adopt("lib"), zyg.adopt(library.a)]
    two.pop(first).release()
    assert is_adopted(library.a)
    assert is_adopted(library.b) == (first == 1)
    two.pop().release()
    assert not is_adopted(library.a)
    assert not is_adopted(library.b)


def test_releasing_twice_releases_once(library):
    first, second = zyg.adopt("lib"), zyg.adopt("lib")
    first.release()
    first.release()
    assert is_adopted(library.a)
    second.release()
    assert not is_adopted(library.a)


def test_all_is_given_back_at_once(library):
    with zyg.adopt("lib"), zyg.adopt("lib.a"):
        zyg.adopted().release()
        assert not is_adopted(library.a)
        with zyg.adopt("lib.b"):
            assert is_adopted(library.b)
    assert zyg.adopted().modules == {}


def test_a_block_that_raises_releases(library):
    with pytest.raises(ZeroDivisionError), zyg.adopt("lib"):
        1 / 0  # noqa: B018
    assert not is_adopted(library.a)


_steps = st.lists(st.tuples(st.sampled_from(["adopt", "release"]), st.integers(0, 5)), max_size=12)


@given(_steps)
def test_whatever_is_adopted_and_released_in_whatever_order(steps):
    from types import ModuleType

    modules = {name: ModuleType(name) for name in ("p", "p.a", "q")}
    for module in modules.values():
        exec(EXP, vars(module))
    targets = [modules["p"], modules["p.a"], modules["q"]]
    open_ = []
    for step, k in steps:
        if step == "adopt":
            open_.append((targets[k % 3], zyg.adopt(targets[k % 3])))
        elif open_:
            open_.pop(k % len(open_))[1].release()
        asked = {module.__name__ for module, _ in open_}
        for name, module in modules.items():
            wanted = name in asked or (name == "p.a" and "p" in asked and "p.a" in asked)
            if name != "p.a" or "p" not in asked:  # which is in it, once it is known
                assert is_adopted(module) == wanted
    for _, adoption in open_:
        adoption.release()
    assert not any(map(is_adopted, modules.values()))


def run_all(*works):
    """Run functions in threads; what one raises is raised here, a deadlock fails."""
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a deadlock"
    for error in errors:
        raise error


@pytest.mark.parametrize("seed", range(3))
def test_threads_that_adopt_and_release_at_random(library, seed):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(seed):
        chance = random.Random(seed)

        def adopting():
            for _ in range(15):
                module = chance.choice([library.a, library.b])
                with zyg.adopt(chance.choice(["lib", module])):
                    assert is_adopted(module)
                    assert zyg.gradient(module.f, 0.0) == (2.0,)

        return adopting

    try:
        run_all(*(work(10 * seed + k) for k in range(4)))
    finally:
        sys.setswitchinterval(before)
    assert not is_adopted(library.a)
    assert library.b.math is math
    assert zyg.adopted().modules == {}


def test_where_no_gradient_runs_an_adopted_module_is_as_it_was(library):
    names = dict(vars(library.a))

    def f(x):
        assert library.a.math is not math
        with pytest.raises(ZeroDivisionError):
            zyg.gradient(lambda y: y / 0, x)
        assert library.a.math is not math
        return zyg.gradient(library.a.f, x)[0]

    with zyg.adopt("lib"):
        assert dict(vars(library.a)) == names
        assert zyg.gradient(f, 0.0) == (4.0,)
        assert dict(vars(library.a)) == names


def test_another_thread_runs_on_while_drop_ins_come_and_go(library):
    stop = threading.Event()

    def computing():
        while not stop.is_set():
            assert library.a.f(0.25) == math.exp(0.5)
            assert type(library.a.np.zeros(2)) is np.ndarray

    def differentiating():
        try:
            for _ in range(200):
                assert zyg.gradient(library.a.f, 0.0) == (2.0,)
        finally:
            stop.set()

    with zyg.adopt("lib"):
        run_all(computing, differentiating, differentiating)
    assert library.a.math is math


@pytest.mark.parametrize("seed", range(3))
def test_threads_that_import_what_others_adopt(write, seed):
    names = [f"part{k}" for k in range(6)]
    write({"many/__init__.py": "", **{f"many/{n}.py": EXP for n in names}})
    adoption = zyg.adopt("many")

    def work(k):
        chance = random.Random(10 * seed + k)

        def importing():
            for name in chance.sample(names, len(names)):
                with zyg.adopt(f"many.{name}"):
                    exec(f"import many.{name}", {})
                    assert zyg.gradient(sys.modules[f"many.{name}"].f, 0.0) == (2.0,)

        return importing

    run_all(*map(work, range(3)))
    adoption.release()
    assert not any(is_adopted(sys.modules[f"many.{name}"]) for name in names)


def test_releasing_while_a_gradient_runs(library):
    adoption = zyg.adopt("lib")

    def f(x):
        y = library.a.f(x)
        z = library.a.np.zeros(2)
        adoption.release()
        z[0] = y * x
        return z.sum() + y * np.sin(x)

    def by_hand(x):
        y = np.exp(2 * x)
        return y * x + y * np.sin(x)

    assert zyg.gradient(f, 0.5)[0] == pytest.approx(zyg.gradient(by_hand, 0.5)[0], rel=1e-12)
    assert not is_adopted(library.a)


def test_adopting_while_a_gradient_runs(library):
    def f(x):
        with zyg.adopt("lib"):
            return library.a.f(x)

    assert zyg.gradient(f, 0.0) == (2.0,)


def test_the_first_adoption_is_inside_of_a_gradient_and_ends_there(library):
    assert zyg.adopted().modules == {}

    def f(x):
        with zyg.adopt("lib"):
            assert library.a.math is not math
            y = library.a.f(x)
        assert library.a.math is math
        return y

    assert zyg.gradient(f, 0.0) == (2.0,)
    with zyg.adopt("lib"):
        assert library.a.math is math
        assert zyg.gradient(library.a.f, 0.0) == (2.0,)
    assert library.a.math is math


SORTED = """
    import math
    import numpy as np
    ALL = [math.exp, math.sin, len]
    TABLE = {"one": {"exp": math.exp}}
    class Model:
        act = math.exp
    def reorder():
        global renamed, sin
        ALL.reverse()
        TABLE["two"] = TABLE.pop("one")
        TABLE["exp"] = TABLE["two"].pop("exp")
        renamed = np
        sin = math.sin
    def f(x):
        y = sum(g(x) for g in ALL if g is not len)
        reorder()
        return y + TABLE["exp"](x) + sum(g(x) for g in ALL if g is not len)
"""


def test_what_a_module_sorts_and_renames_while_a_gradient_runs_is_given_back(write):
    write({"sorting.py": SORTED})
    import sorting

    adoption = zyg.adopt("sorting")
    assert zyg.gradient(sorting.f, 0.0) == (5.0,)
    assert [*map(id, sorting.ALL)] == [*map(id, (len, math.sin, math.exp))]
    assert sorting.TABLE["exp"] is math.exp
    assert sorting.renamed is np
    assert sorting.sin is math.sin
    assert zyg.gradient(lambda x: sorting.ALL[2](x) + sorting.sin(x), 0.0) == (2.0,)
    assert sorting.ALL[2] is math.exp
    assert sorting.sin is math.sin
    adoption.release()
