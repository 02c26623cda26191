"""Calls of Python from machine code that takes its arguments as they are."""

import gc

import numpy as np
import pytest
from scipy import special

import zyg
from zyg.compiler.back import python_calls

A = np.random.default_rng(0).standard_normal((4, 4))
X = np.linspace(0.2, 3.0, 7)


def of_a_tuple(a):
    w, v = np.linalg.eigh(a @ a.T)
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
    q, r = np.linalg.qr(a)
    return np.sum(q[0]) + np.sum(r**2) + np.sum(np.linalg.svd(a, compute_uv=False))


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
    zyg.check_gradient(lambda x: zyg.gradient(compiled, x)[0], x)
    gc.collect()
    assert not len(python_calls._held)


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


def failing(kind, times):
    """A function that raises something so many calls after the first."""
    calls = []

    @zyg.adjoint
    def opaque(x):
        calls.append(x)
        if len(calls) in times:
            raise kind(f"call {len(calls)}")
        return x * 2.0, lambda bar: (bar * 2.0,)

    return opaque, calls


@pytest.mark.parametrize("verb", ["value", "gradient"])
def test_what_is_raised_is_raised_and_nothing_is_kept(verb):
    opaque, calls = failing(ValueError, range(99, 200))
    f = zyg.compile(lambda x: opaque(x) * x)
    run = f if verb == "value" else (lambda x: zyg.gradient(f, x))
    run(1.5)
    run(1.5)
    calls += [1.5] * 99
    with pytest.raises(ValueError, match="call"):
        run(1.5)
    gc.collect()
    assert not len(python_calls._held)
    assert zyg.compile(of_numbers)(X) == pytest.approx(of_numbers(X))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("verb", ["value", "gradient"])
def test_an_interrupt_is_raised_though_it_comes_once(verb, kind):
    opaque, calls = failing(kind, (99,))
    f = zyg.compile(lambda x: opaque(x) * x)
    run = f if verb == "value" else (lambda x: zyg.gradient(f, x))
    run(1.5)
    run(1.5)
    calls += [1.5] * (98 - len(calls))
    with pytest.raises(kind, match="call 99"):
        run(1.5)
    assert run(1.5) is not None
    gc.collect()
    assert not len(python_calls._held)


def test_other_processes_find_nothing_on_disk_that_calls_python(tmp_path, monkeypatch):
    import subprocess
    import sys

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
