"""Calls of Python from machine code that takes its arguments as they are."""

import gc
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import special

import zyg
from zyg.compiler.back import python_calls
from zyg.scipy import linalg

A = np.random.default_rng(0).standard_normal((4, 4))
X = np.linspace(0.2, 3.0, 7)


def of_a_tuple(a):
    w, v = linalg.eigh(a @ a.T)
    return np.sum(np.log(w)) + np.sum(v[0] ** 4)


def of_elements(x):
    return np.sum(special.gammaincc(2.0, x) * special.jv(1, x))


def of_elements_that_broadcast(x):
    return np.sum(special.jv(x[:3, None], x[None, :]) ** 2)


def of_numbers(x):
    total = 0.0
    for i in range(len(x)):
        total += special.jv(0, x[i]) * special.kv(1, x[i])
    return total


def in_complex(x):
    y = np.fft.fft(x * x)
    return np.sum(np.real(y) ** 2) + np.sum(np.abs(np.fft.ifft(y)))


def of_several_rules(a):
    q, r = linalg.qr(a)
    return np.sum(q[0]) + np.sum(r**2) + np.sum(linalg.svd(a, compute_uv=False))


FUNCTIONS = [(of_a_tuple, A), (of_elements, X), (of_numbers, X), (in_complex, X),
             (of_several_rules, A)]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), FUNCTIONS)
def test_values_and_derivatives_are_those_of_the_traced_function(f, x):
    compiled = zyg.compile(f)
    for _ in range(2):  # the second time the fast way
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
        (slope,) = zyg.gradient(compiled, x)
        np.testing.assert_allclose(slope, zyg.gradient(f, x)[0], rtol=1e-9, atol=1e-12)
        _, dot = zyg.pushforward(compiled, [x], [np.ones_like(x)])
        assert dot == pytest.approx(np.sum(slope), rel=1e-9)
    assert compiled.entries("value")
    assert compiled.entries("gradient")
    zyg.check_gradient(compiled, x)
    gc.collect()
    assert not len(python_calls._held)


def test_third_derivatives():
    compiled = zyg.compile(of_elements)
    zyg.check_gradient(lambda x: zyg.gradient(compiled, x)[0], X)


def test_a_derivative_that_a_rule_lacks_is_named():
    with pytest.raises(zyg.errors.MissingRuleError, match="jv"):
        zyg.gradient(zyg.compile(of_elements_that_broadcast), X)
    with pytest.raises(zyg.errors.MissingRuleError, match="jv"):
        zyg.gradient(of_elements_that_broadcast, X)


def test_zeros_stay_zero_where_a_slope_is_infinite():
    def f(x):
        return np.sum(special.ellipe(x) * np.array([0.0, 1.0]))

    slope = (special.ellipe(0.5) - special.ellipk(0.5)) / (2 * 0.5)
    for g in (f, zyg.compile(f)):
        found = zyg.gradient(g, np.array([1.0, 0.5]))[0]
        np.testing.assert_allclose(found, [0.0, slope])


def failing(verb, kind, once):
    """A verb of a compiled function that calls one which raises something from now on."""
    told = threading.Event()

    @zyg.adjoint
    def opaque(x):
        if told.is_set():
            if once:
                told.clear()
            raise kind("as told")
        return x * 2.0, lambda bar: (bar * 2.0,)

    f = zyg.compile(lambda x: opaque(x) * x)
    run = f if verb == "value" else (lambda x: zyg.gradient(f, x))
    run(1.5)
    run(1.5)
    f.inspect(1.5)  # which reads it once more, if rules have come since
    told.set()
    return run


@pytest.mark.parametrize("verb", ["value", "gradient"])
def test_what_is_raised_is_raised_and_nothing_is_kept(verb):
    run = failing(verb, ValueError, once=False)
    with pytest.raises(ValueError, match="as told"):
        run(1.5)
    gc.collect()
    assert not len(python_calls._held)
    assert zyg.compile(of_numbers)(X) == pytest.approx(of_numbers(X))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("verb", ["value", "gradient"])
def test_an_interrupt_is_raised_though_it_comes_once(verb, kind):
    run = failing(verb, kind, once=True)
    with pytest.raises(kind, match="as told"):
        run(1.5)
    assert run(1.5) is not None
    gc.collect()
    assert not len(python_calls._held)


def test_what_a_library_raises_is_raised():
    f = zyg.compile(of_a_tuple)
    f(A)
    assert f(A) == pytest.approx(of_a_tuple(A))
    for _ in range(3):
        with pytest.raises(ValueError, match="must not contain"):
            f(np.full((3, 3), np.nan))
    assert f(A) == pytest.approx(of_a_tuple(A))


def test_a_signal_interrupts_a_function_whose_objects_machine_code_makes():
    @zyg.compile
    def f(x, n):
        total = 0.0
        for _ in range(n):
            total += look(x, (1, 2.0))
        return total

    def stop(*_):
        raise KeyboardInterrupt("by a signal")

    with zyg.config(fallback="silent"):
        value = f(X, 2)
        assert f(X, 2) == value
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt, match="by a signal"):
            f(X, 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert f(X, 2) == value


# Kinds of results: what machine code reads, and what Python converts


def in_fortran(n):
    try:
        return np.asfortranarray(np.arange(6.0 * n).reshape(3, 2 * n))
    finally:
        pass


def with_gaps(n):
    try:
        return np.arange(8.0 * n)[::2]
    finally:
        pass


def turned(n):
    try:
        return np.arange(6.0).reshape(2, 3)[:, : n + 1].T
    finally:
        pass


def of_one(n):
    try:
        return np.full((1, n), 2.5)
    finally:
        pass


def empty(n):
    try:
        return np.zeros((n - 2, 3))
    finally:
        pass


def single(n):
    try:
        return np.linspace(0, 1, n, dtype=np.float32)
    finally:
        pass


def ints(n):
    try:
        return np.arange(n) * 3
    finally:
        pass


def bools(n):
    try:
        return np.arange(n) > 0
    finally:
        pass


def in_the_complex(n):
    try:
        return np.exp(1j * np.arange(n))
    finally:
        pass


def several(n):
    try:
        return n * 2, [n / 3, np.arange(2.0 * n)], n > 1, np.float32(0.5), np.int64(n)
    finally:
        pass


def by_name(n, *, more):
    try:
        return np.arange(n) * more[0] + more[1]
    finally:
        pass


def of_another_kind(n):
    try:
        return [0.5] * n if n > 5 else np.full(n, 0.5)
    finally:
        pass


def look(x, row):
    try:
        return x.sum() + len(row) + x.flags.writeable
    finally:
        pass


RESULTS = [in_fortran, with_gaps, turned, of_one, empty, single, in_the_complex, ints, bools]


def total(y):
    return np.sum(np.abs(y)) if y.dtype != bool else np.sum(y)


@pytest.mark.parametrize("g", RESULTS, ids=lambda g: g.__name__)
def test_arrays_of_every_kind_are_what_was_given(g):
    def f(x, n):
        return x * total(g(n))

    f = zyg.compile(f, wrt=(0,))

    @zyg.compile
    def itself(n):
        return g(n)

    with zyg.config(fallback="silent"):
        for n in (2, 2, 1) if g is not empty else (2, 3, 2):
            assert f(1.5, n) == pytest.approx(1.5 * total(g(n)), rel=1e-6)
            given = itself(n)
            assert given.dtype == g(n).dtype
            np.testing.assert_array_equal(given, g(n))
            assert zyg.gradient(f, 1.5, n)[0] == pytest.approx(total(g(n)), rel=1e-6)
    assert itself.entries("value")
    assert f.entries("gradient")


def test_numbers_and_containers_are_what_was_given():
    @zyg.compile
    def f(x, n):
        double, (third, row), more, half, count = several(n)
        z = x * double + third * np.sum(row) + half + count
        return z + by_name(n, more=(x, 2.0))[1] if more else z

    def python(x, n):
        return f.py_func(x, n)

    with zyg.config(fallback="silent"):
        for n in (1, 2, 5):
            assert f(1.5, n) == pytest.approx(python(1.5, n), rel=1e-6)


def test_what_has_another_kind_at_last_is_run_by_python():
    @zyg.compile
    def f(x, n):
        return x * np.sum(of_another_kind(n))

    with zyg.config(fallback="silent"):
        assert f(2.0, 3) == f(2.0, 3) == 3.0
        assert f(2.0, 6) == 6.0


def test_arguments_are_copies_that_cannot_be_written_and_nothing_is_held():
    @zyg.compile
    def f(x, n):
        y, z = x * 2.0, 0.0
        for i in range(n):
            z += look(y, (i, 2.0))
        return z + y[0]

    x = np.ones(1000)
    with zyg.config(fallback="silent"):
        assert f(x, 3) == f(x, 3) == 3 * 2002.0 + 2.0
    assert f.entries("value")
    held = []
    for _ in range(2):
        assert f(x, 400) == pytest.approx(400 * 2002.0 + 2.0)
        gc.collect()
        held.append((sys.getallocatedblocks(), sys.getrefcount(x.dtype), sys.getrefcount(look)))
    assert all(b - a < 100 for a, b in zip(*held, strict=True))


def test_threads_call_python_at_once():
    f = zyg.compile(of_numbers)
    f(X)
    expected, slope = of_numbers(X), zyg.gradient(of_numbers, X)[0]
    with ThreadPoolExecutor(4) as pool:
        values = [*pool.map(lambda _: f(X), range(200))]
        slopes = [*pool.map(lambda _: zyg.gradient(f, X)[0], range(50))]
    assert values == [pytest.approx(expected)] * 200
    for found in slopes:
        np.testing.assert_allclose(found, slope, rtol=1e-9)
    assert not len(python_calls._held)


def test_other_processes_find_nothing_on_disk_that_calls_python(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, zyg\n"
        "from scipy import special\n"
        "@zyg.compile\n"
        "def f(x):\n"
        "    return np.sum(special.jv(0, x) * x)\n"
        "x = np.linspace(0.1, 1.0, 5)\n"
        "for _ in range(3):\n"
        "    print(repr(float(f(x))), zyg.gradient(f, x)[0].tolist())\n"
    )
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path / "cache"))
    runs = [subprocess.run([sys.executable, program], capture_output=True, text=True, check=True,
                           timeout=120).stdout for _ in range(2)]  # fmt: skip
    assert runs[0] == runs[1]
    assert len({*runs[0].splitlines()}) == 1
