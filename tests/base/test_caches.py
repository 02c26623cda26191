"""Caches: bounded, first in first out, emptied by `zyg.kernels.clear`, and never wrong."""

import gc
import itertools
import math
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import zyg
from zyg.base import buffers, caches, threads, warned
from zyg.base.caches import Cache, remembered
from zyg.compiler.back import compiled, object_code, stored
from zyg.kernels import launch, scalar

X = np.linspace(0.1, 2.0, 7)


def test_the_first_that_came_in_is_the_first_to_go():
    cache = Cache(3)
    for k in range(5):
        assert cache.put(k, str(k)) == str(k)
        assert len(cache) == min(k + 1, 3)
    assert cache.values() == ["2", "3", "4"]
    assert [cache.get(k) for k in range(5)] == [None, None, "2", "3", "4"]


def test_a_later_entry_replaces_an_earlier_one():
    cache = Cache(2)
    for made in "abc":
        cache.put("key", made)
    assert cache.values() == ["c"]


def test_clear_empties_all_caches_and_nothing_holds_what_was_in_them():
    class Users:
        pass

    @remembered(4)
    def same(x):
        return [x]

    x, cache = Users(), Cache(2)
    cache.put(x, x)
    assert same(x) is same(x)
    gone = weakref.ref(x)
    del x
    caches.clear()
    gc.collect()
    assert not len(cache)
    assert gone() is None


def test_a_cache_that_nobody_has_is_gone():
    before = len(caches._all)
    cache = Cache(2)
    assert len(caches._all) == before + 1
    del cache
    assert len(caches._all) == before


def test_the_end_of_an_entry_may_fill_the_cache_itself():
    cache = Cache(2)

    class Last:
        def __del__(self):
            cache.put(("said", id(self)), "last words")

    for k in range(20):
        cache.put(k, Last())
        assert len(cache) <= 3
    cache.clear()
    assert len(cache) <= 2


def test_threads_that_fill_and_empty_a_cache():
    cache, wrong, over = Cache(8), [], threading.Event()

    def fill(start):
        for k in itertools.islice(itertools.count(start), 3000):
            key = k % 20
            found = cache.get(key)
            if found not in (None, key * key):
                wrong.append((key, found))
            if found is None and cache.put(key, key * key) != key * key:
                wrong.append(key)

    def empty():
        while not over.is_set():
            cache.clear()

    fillers = [threading.Thread(target=fill, args=(k,)) for k in range(4)]
    emptier = threading.Thread(target=empty)
    for thread in (*fillers, emptier):
        thread.start()
    for thread in fillers:
        thread.join(60)
    over.set()
    emptier.join(60)
    assert not wrong
    assert len(cache) <= 8


# What is remembered of kernels


def swish(x, y):
    return x / (1 + math.exp(-x)) * y if y > 0.5 else x * y


def all_of_it():
    """Values and derivatives of a kernel, by every way to one."""
    fused = zyg.fuse(lambda x: np.tanh(x) * x)
    value, gradient = zyg.value_and_gradient(lambda x: zyg.broadcast(swish, x, X[:, None]).sum(), X)
    _, slopes = zyg.partials(swish, X, 1.0)
    return [value, *gradient, *slopes, fused(X), zyg.gradient(lambda x: fused(x).sum(), X)[0]]


def bits(results):
    return [np.asarray(x).tobytes() for x in results]


@pytest.fixture
def no_compiler(tmp_path, monkeypatch):
    """An empty directory for kernels; then a function after which nothing compiles any more."""
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    zyg.kernels.clear()

    def forbid():
        def refuse(*_):
            pytest.fail("a kernel was compiled that is on disk")

        monkeypatch.setattr(object_code, "object_code", refuse)

    return forbid


def test_after_clear_a_kernel_has_the_same_bits_and_comes_from_disk(no_compiler):
    before = bits(all_of_it())
    on_disk = {*os.listdir(stored.cache_directory())}
    caches_of_kernels = scalar._known, scalar._recorded, launch._plans, compiled._kernels
    assert all(map(len, caches_of_kernels))
    no_compiler()

    zyg.kernels.clear()

    assert not any(map(len, caches_of_kernels))
    assert {*os.listdir(stored.cache_directory())} == on_disk
    assert bits(all_of_it()) == before
    assert {kernel.origin for kernel in compiled._kernels.values()} == {"disk"}


def test_with_room_for_one_entry_results_are_the_same(monkeypatch, no_compiler):
    before = bits(all_of_it())
    no_compiler()
    zyg.kernels.clear()
    for cache in (scalar._known, scalar._varying, scalar._recorded, launch._plans,
                  compiled._kernels):  # fmt: skip
        monkeypatch.setattr(cache, "most", 1)
    for _ in range(2):
        assert bits(all_of_it()) == before
        assert len(launch._plans) == len(compiled._kernels) == 1


def test_kernels_that_run_while_others_forget_them():
    before, found, over = bits(all_of_it()), [], threading.Event()

    def work():
        found.append(all(bits(all_of_it()) == before for _ in range(5)))

    def forget():
        while not over.wait(0.001):
            zyg.kernels.clear()

    workers = [threading.Thread(target=work) for _ in range(3)]
    forgetful = threading.Thread(target=forget)
    for thread in (*workers, forgetful):
        thread.start()
    for thread in workers:
        thread.join(100)
    over.set()
    forgetful.join(60)
    assert found == [True] * 3


def test_helping_threads_that_are_forgotten_finish_what_they_began():
    done = []

    def work(k):
        if k == 0:
            zyg.kernels.clear()
        done.append(k)
        return k != 7

    for _ in range(3):
        assert threads.in_parallel(work, 20, 4) is False
    assert sorted(done) == sorted([*range(20)] * 3)


def test_clear_ends_what_kernels_hold_of_a_function():
    def scaled(by):
        class Scaled:
            def __call__(self, x):
                return by * x

        return Scaled()

    f = scaled(2)
    assert zyg.broadcast(f, X)[0] == 2 * X[0]
    gone = weakref.ref(type(f))
    del f
    zyg.kernels.clear()
    gc.collect()
    assert gone() is None


def test_another_rule_takes_the_place_of_what_was_made_by_the_last_one():
    zyg.kernels.clear()

    def cube(x):
        return x**3

    def f(x):
        return zyg.broadcast(lambda x: cube(x), x).sum()

    for slope in (1.0, 2.0, 3.0):
        zyg.scalar_rule(cube, slope)
        assert (zyg.gradient(f, X)[0] == slope).all()
        assert len(scalar._known) == 1


def test_a_chain_of_ufuncs_goes_by_the_rule_of_now():
    f = zyg.fuse(lambda x: np.cbrt(x) * 1.0)
    rules = zyg.base.registry.rules
    before = rules[np.cbrt]
    usual = zyg.gradient(lambda x: f(x).sum(), X)[0]
    try:
        zyg.scalar_rule(np.cbrt, 7.0)
        assert (zyg.gradient(lambda x: f(x).sum(), X)[0] == 7.0).all()
    finally:
        rules[np.cbrt] = before
    assert (zyg.gradient(lambda x: f(x).sum(), X)[0] == usual).all()


def test_what_was_said_once_is_said_again_after_clear():
    def f(x):
        return float(f"{x:.3f}")

    zyg.kernels.clear()
    for _ in range(2):
        with pytest.warns(zyg.errors.PerformanceWarning):
            zyg.broadcast(f, X)
        zyg.broadcast(f, X)
        assert len(warned._warned) == 1
        zyg.kernels.clear()


def test_clear_gives_idle_memory_back():
    x = buffers.empty((1024, 1024), np.dtype(np.float64))
    del x
    assert buffers._idle
    zyg.kernels.clear()
    assert not buffers._idle


def test_clear_is_there_without_a_kernel():
    code = "import zyg, sys; zyg.kernels.clear(); assert 'zyg.kernels.launch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a process of several threads forks
def test_a_fork_finds_its_caches_usable():
    before = bits(all_of_it())
    child = os.fork()
    if child == 0:
        os._exit(0 if bits(all_of_it()) == before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
