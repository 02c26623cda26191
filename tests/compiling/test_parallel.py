"""Loops over `prange` in threads: the same bits for any number of workers, in every derivative."""

import functools
import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import zyg
from tests.programs.program import programs
from tests.programs.threads import A, W, X, kept, shared, summed
from zyg.base import threads as threads_of_base
from zyg.compiler.autodiff import threads
from zyg.compiler.back import threaded
from zyg.compiler.ir import For, operations
from zyg.errors import CompileError


@pytest.fixture(autouse=True)
def _always_in_threads(monkeypatch):
    """However little work a loop is."""
    for module in (threaded, threads):
        monkeypatch.setattr(module, "WORTH_IT", 0.0)
    monkeypatch.setattr(threads, "_COST", 0.0)
    with zyg.config(fallback="error"):
        yield


LOOPS = [p for p in programs("threads").values() if p.name not in ("ints", "numpys")]
FOUND = {p.name: (p.f, p.args) for p in LOOPS}
NAMES = [name for name in FOUND if name != "known_bounds"]  # it reads the hundredth
PROGRAMS = [FOUND[name] for name in NAMES]
each = pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=NAMES)
in_threads = functools.cache(functools.partial(zyg.compile, parallel=True))


def by_workers(call):
    """What a call gives with one, two, three and eight threads, as bytes."""
    found = []
    for others in (0, 1, 2, 7):
        with zyg.config(workers=others):
            found.append([np.asarray(x).tobytes() for x in flat(call())])
    return found


def flat(x):
    if isinstance(x, (tuple, list)):
        return itertools.chain.from_iterable(map(flat, x))
    return [x]


@each
def test_values_and_derivatives_are_the_same_bits_for_any_number_of_workers(f, args):
    compiled = in_threads(f)
    along = tuple(map(np.cos, args))
    last = len(args) - 1

    def value():
        return compiled(*args)

    def gradient():
        return zyg.value_and_gradient(compiled, *args)

    def forward():
        return zyg.pushforward(compiled, args, along)

    def second():
        return zyg.gradient(lambda *xs: np.sum(zyg.gradient(compiled, *xs)[last] ** 2), *args)

    for call in (value, gradient, forward, second):
        found = by_workers(call)
        assert all(x == found[0] for x in found), call.__name__


def agree(f, g, args, **bounds):
    """Values and gradients of two functions are close."""
    np.testing.assert_allclose(f(*args), g(*args), **bounds)
    for x, y in zip(zyg.gradient(f, *args), zyg.gradient(g, *args), strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(x, y, **bounds)


MEETING = [p for p in programs("interactions").values() if "prange" in p.name]


@pytest.mark.parametrize("program", [*LOOPS, *MEETING], ids=lambda p: p.name)
def test_threads_give_what_the_traced_function_gives(program):
    compiled = in_threads(program.f)
    agree(compiled, program.traced.f, program.args, rtol=1e-9, atol=1e-12)


@each
def test_few_rounds(f, args):
    one, other = in_threads(f), zyg.compile(f)
    for n in (0, 1, 3, 64):
        agree(one, other, (args[0][:n], *args[1:]), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shared", "product", "kept", "until", "stencil", "rows",
                                  "own_memory", "twice", "backwards"])  # fmt: skip
def test_float32(name):
    f, args = FOUND[name]
    args = tuple(x.astype(np.float32) for x in args)
    compiled = in_threads(f)
    found = by_workers(lambda: zyg.value_and_gradient(compiled, *args))
    assert all(x == found[0] for x in found)
    agree(compiled, zyg.compile(f), args, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("f", "args"), PROGRAMS[:8], ids=NAMES[:8])
def test_mirrors_of_loops_in_threads_are_in_threads(f, args):
    compiled = in_threads(f)
    read = compiled.call(args, {}).known
    made = read.operation.gradient(read.active(None)).operation.program
    loops = [op for op in operations(made.body) if isinstance(op, For) and op.apart is not None]
    assert loops
    assert all(threaded.apart(loop) for loop in loops)


def test_rounds_run_in_several_threads(monkeypatch):
    seen, real = set(), threaded._ROUND

    def spied(address):
        one = real(address)

        def run(row, k):
            seen.add(threading.get_ident())
            one(row, k)

        return run

    monkeypatch.setattr(threaded, "_ROUND", spied)
    x = np.linspace(0, 1, 3_000_000)
    compiled = zyg.compile(summed, parallel=True)
    end = time.monotonic() + 60
    with zyg.config(workers=3):
        while len(seen) < 2 and time.monotonic() < end:
            compiled(x)
    assert len(seen) > 1
    seen.clear()
    with zyg.config(workers=0):
        compiled(x)
    zyg.compile(summed)(x)
    assert not seen


def test_a_round_that_stops_has_python_run_the_function():
    def divided(x, out):
        for i in zyg.prange(len(x)):
            out[i] = 1.0
            if x[i] < 0:
                raise ValueError(f"negative: {x[i]}")
            out[i] = np.sqrt(x[i])

    compiled = zyg.compile(divided, parallel=True)
    x, out = np.linspace(0, 1, 200), np.zeros(200)
    compiled(x, out)
    np.testing.assert_array_equal(out, np.sqrt(x))
    x[150], right = -1.0, np.zeros(200)
    with pytest.raises(ValueError, match="negative"):
        compiled(x, out)
    with pytest.raises(ValueError, match="negative"):
        divided(x, right)
    np.testing.assert_array_equal(out[:151], right[:151])
    np.testing.assert_array_equal(out[151:], np.sqrt(x[151:]))


def grown(x, n):
    k = 5
    for i in zyg.prange(len(x)):
        k += n * (i % 3 - 1)
    return k


def shrunk(x, n):
    k, s = n, 0.0
    for i in zyg.prange(len(x)):
        s += x[i]
        k -= n // (i + 1)
    return k, s > 0


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("f", [grown, shrunk])
def test_int_sums_that_leave_64_bits_in_a_round_or_in_all_are_python_s(f, workers, monkeypatch):
    compiled, ran = zyg.compile(f, parallel=True), []
    in_python = compiled.in_python
    monkeypatch.setattr(compiled, "in_python", lambda *given: ran.append(1) or in_python(*given))
    with zyg.config(workers=workers, fallback="silent"):
        for n in (2**61, -(2**61), 2**62 + 1, 3 * 2**58, 2**57):
            for count in (0, 1, 2, 3, 64, 131):
                found, right = compiled(X[:count], n), f(X[:count], n)
                assert (found, type(found)) == (right, type(right))
        assert len(ran) < 30
        ran.clear()
        assert zyg.compile(f)(X, 3) == f(X, 3)
        assert compiled(X, 3) == f(X, 3)
        assert not ran


def overwritten(x):
    last = np.zeros(2)
    for i in zyg.prange(len(x)):
        last[1] = x[i]
    return last[1]


def columns(a):
    total = np.zeros(a.shape[1])
    for i in zyg.prange(a.shape[0]):
        for j in range(a.shape[1]):
            total[j] += a[i, j]
    return np.sum(total)


@pytest.mark.parametrize(("f", "x", "name"), [(overwritten, X, "last"), (columns, A, "total")])
@pytest.mark.parametrize("parallel", [True, False])
def test_rounds_that_write_to_the_same_place_are_refused(f, x, name, parallel):
    with pytest.raises(CompileError, match=f"write to the same place in {name}"):
        zyg.compile(f, parallel=parallel)(x)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_what_rounds_read_at_the_same_place_is_no_place_of_their_own(step):
    def strided(x, step, n):
        s = 0.0
        for i in zyg.prange(n):
            s += np.sin(x[i * step] * i)
        return s

    compiled = zyg.compile(strided, wrt=0, parallel=True)
    found = by_workers(lambda: zyg.gradient(compiled, X, step, 60)[0])
    assert all(x == found[0] for x in found)
    right = zyg.gradient(zyg.compile(strided, wrt=0), X, step, 60)[0]
    np.testing.assert_allclose(zyg.gradient(compiled, X, step, 60)[0], right, rtol=1e-12)


def test_one_round_may_write_where_no_other_does():
    def first(x):
        out = np.zeros(2)
        for i in zyg.prange(len(x)):
            if i == 3:
                out[0] = x[i] ** 2
        return out[0]

    compiled = zyg.compile(first, parallel=True)
    assert compiled(X) == first(X)
    np.testing.assert_array_equal(np.flatnonzero(zyg.gradient(compiled, X)[0]), [3])


def test_an_interrupt_while_rounds_run_is_raised(monkeypatch):
    def interrupted(work, count, workers):
        raise KeyboardInterrupt

    compiled = zyg.compile(summed, parallel=True)
    right = compiled(X)
    with monkeypatch.context() as patch, zyg.config(workers=1):  # also where there is one core
        patch.setattr(threaded.threads, "in_parallel", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                compiled(X)
            with pytest.raises(KeyboardInterrupt):
                zyg.gradient(compiled, X)
    assert compiled(X) == right


def test_what_one_thread_raises_is_raised_when_the_others_are_done():
    begun, done = [], []

    def work(k):
        begun.append(k)
        if k == 3:
            raise ZeroDivisionError
        done.append(k)
        return True

    with pytest.raises(ZeroDivisionError):
        threads_of_base.in_parallel(work, 50, 4)
    assert len(done) == len(begun) - 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
def test_threads_neither_begin_at_import_nor_are_missed_after_a_fork(tmp_path):
    file = tmp_path / "forked.py"
    file.write_text(_FORKED)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, file], env=env, capture_output=True, timeout=120)
    assert run.returncode == 0, run.stderr


_FORKED = """
import os, threading, warnings
import numpy as np
import zyg

assert threading.active_count() == 1
warnings.simplefilter("ignore")

def loss(a, w):
    s = 0.0
    for i in zyg.prange(a.shape[0]):
        s += np.sum(np.sin(a[i] * w))
    return s

a, w = np.random.default_rng(0).normal(size=(3000, 300)), np.ones(300)
compiled = zyg.compile(loss, parallel=True)
with zyg.config(workers=2, fallback="error"):
    by_w = zyg.gradient(compiled, a, w)[1]
    assert threading.active_count() > 1
    child = os.fork()
    same = (zyg.gradient(compiled, a, w)[1] == by_w).all()
    if not child:
        os._exit(0 if same else 1)
    assert same and os.waitpid(child, 0)[1] == 0
"""


def test_calls_from_several_threads():
    compiled = zyg.compile(shared, parallel=True)
    right, found = zyg.gradient(compiled, A, W)[1], []

    def work():
        found.extend(zyg.gradient(compiled, A, W)[1] for _ in range(20))

    others = [threading.Thread(target=work) for _ in range(4)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join(100)
    assert len(found) == 80
    assert all((x == right).all() for x in found)


@pytest.mark.slow
def test_tapes_of_rounds_count():
    def long(x, n):
        out = np.zeros_like(x)
        for i in zyg.prange(len(x)):
            y = x[i]
            for _ in range(n):
                y = np.sin(y)
            out[i] = y
        return np.sum(out)

    compiled = zyg.compile(long, parallel=True)
    right = zyg.gradient(compiled, X, 1000)[0]
    with zyg.config(tape_bytes=200_000):
        np.testing.assert_allclose(zyg.gradient(compiled, X, 1000)[0], right, rtol=1e-12)


def test_no_memory_is_lost():
    resource = pytest.importorskip("resource", reason="Windows has no resource")
    compiled = zyg.compile(kept, parallel=True)

    def peak():
        for _ in range(200):
            zyg.gradient(compiled, X, W)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak()
    assert peak() - before < 20_000  # of KiB


def test_mirrors_add_to_rows_of_their_own_without_a_shadow_of_all_for_each_round():
    def perceptron(a, w):
        s = 0.0
        for i in zyg.prange(a.shape[0]):
            t = 0.0
            for j in range(len(w)):
                t += a[i, j] * np.sin(w[j])
            s += np.tanh(t)
        return s

    a, w = np.ones((5, 3)), np.ones(3)
    text = in_threads(perceptron).inspect(a, w)["gradient"]
    assert text[text.index("parallel for") :].count("zeros(") == 1  # that of w
    zyg.check_gradient(in_threads(perceptron), 0.1 * a, w)
