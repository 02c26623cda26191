"""What has a rule and no native form runs in Python, called back from machine code."""

import gc
import operator
import os
import resource
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import special

import zyg
import zyg.scipy.sparse
import zyg.scipy.special
from tests.programs.interactions import opaque
from zyg.base.registry import rules
from zyg.compiler.back import python_calls
from zyg.errors import CompileError
from zyg.scipy import fft, linalg, ndimage, signal, spatial, stats

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3))
B = RNG.normal(size=(5, 3))
V = RNG.normal(size=6)


def svd(a):
    u, s, vt = linalg.svd(a, full_matrices=False)
    return np.sum(s * u[0] ** 2) + vt[0, 0] ** 2


def eigh_in_a_loop(a, n):
    total = 0.0
    for k in range(n):
        w, v = linalg.eigh(a @ a.T + k * np.eye(3))
        if k % 2 == 0:
            total += np.sum(np.log(w)) * k
        else:
            total += np.sum(v[0] ** 2 * w)
        a = a * 0.9 + 0.01 * w[0]
    return total


def qr(a, b):
    q, r = linalg.qr(a)
    return np.sum(np.linalg.solve(r, q.T @ b))


def least_squares(a, b):
    x = linalg.pinv(a) @ b
    return x @ x + x[0]


def eigenvectors(x):
    w, v = np.linalg.eig(np.outer(x, np.sin(x)) + np.diag(np.arange(6.0)))
    return np.sum(np.abs(v[0]) ** 3) + np.sum((w * w[::-1]).real)


def bessel(x):
    total = 0.0
    k = 1
    while total < 2.0:
        total += special.jv(1.0, x * k) ** 2 + special.gammaln(x + k)
        k += 1
    return total


def in_a_branch(x):
    total = 0.0
    for v in x:
        if v > 0:
            total += special.gammaln(v)
        else:
            total -= v * v
    return total


def carried(x, n):
    for _ in range(n):
        w, v = linalg.eigh(np.outer(x, x) + np.diag(np.arange(x.size) + 1.0))
        x = x * 0.9 + 0.1 * v[0] * w
        y = np.fft.fft(x)
        x = x + y.real * 1e-3
    return np.sum(x)


def unique(x):
    return np.sum(np.unique(x) ** 2)


def opaque_rule(x):
    total = 0.0
    for k in range(4):
        total = total + opaque(x * k) * total + opaque(x)
    return np.sum(total)


def in_a_routine(x, n):
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * special.jv(0.0, x)

    return power(x, n)


PROGRAMS = [
    (svd, B),
    (eigh_in_a_loop, A, 5),
    (qr, A, V[:3]),
    (least_squares, B, V[:5]),
    (eigenvectors, V),
    (bessel, 1.3),
    (in_a_branch, V),
    (carried, V[:4], 5),
    (unique, np.array([1.0, 2.0, 1.0])),
    (opaque_rule, V[:3]),
    (in_a_routine, 0.7, 4),
]


@pytest.fixture(autouse=True)
def errors():
    with zyg.config(fallback="error"):
        yield


@pytest.mark.parametrize(
    ("f", "a"), [(f, args) for f, *args in PROGRAMS], ids=[f.__name__ for f, *_ in PROGRAMS]
)
def test_value_and_derivatives_are_those_of_the_traced_engine(f, a):
    compiled = zyg.compile(f)
    x, *rest = a
    u = np.cos(np.arange(np.size(x))).reshape(np.shape(x)) if np.ndim(x) else 0.8

    def of(g):
        return lambda x: g(x, *rest)

    assert compiled(*a) == pytest.approx(f(*a), rel=1e-12)
    for c, d in zip(zyg.gradient(compiled, *a), zyg.gradient(f, *a), strict=True):
        assert (c is None) == (d is None)
        assert c is None or c == pytest.approx(d, rel=1e-10, abs=1e-12)
    (gradient,) = zyg.gradient(of(compiled), x)
    along = zyg.pushforward(of(compiled), (x,), (u,))[1]
    assert along == pytest.approx(np.sum(gradient * u), rel=1e-10)
    hvp = zyg.hvp(of(f), x, u)
    assert zyg.hvp(of(compiled), x, u) == pytest.approx(hvp, rel=1e-8, abs=1e-10)
    twice = zyg.gradient(lambda x: np.sum(zyg.gradient(of(compiled), x)[0] * u), x)[0]
    assert twice == pytest.approx(hvp, rel=1e-8, abs=1e-10)
    assert compiled.inspect(*a)["called back"]


def test_what_python_would_raise():
    def inverse(a, out):
        out[0] = 1.0
        return np.sum(np.linalg.pinv(a)) + np.sum(np.linalg.svd(a)[1]) + np.linalg.eigh(a)[0][0]

    f = zyg.compile(inverse)
    good, bad = np.diag([1.0, 2.0, 3.0]), np.full((3, 3), np.nan)
    for call in (f, lambda *a: zyg.gradient(f, *a)):
        call(good, np.zeros(1))
        for wrong in (np.ones((2, 3)), bad):
            out = np.zeros(1)
            with pytest.raises(np.linalg.LinAlgError) as expected:
                inverse(wrong, np.zeros(1))
            with pytest.raises(np.linalg.LinAlgError, match=str(expected.value)):
                call(wrong, out)
    assert f(good, np.zeros(1)) == pytest.approx(inverse(good, np.zeros(1)))


def test_an_error_of_a_pullback_is_raised_as_it_is():
    class UnluckyError(Exception):
        pass

    @zyg.adjoint
    def unlucky(x):
        def back(bar):
            try:
                raise UnluckyError("no slope")
            finally:
                pass

        return x * 2.0, back

    f = zyg.compile(lambda x: unlucky(x) * x)
    assert f(2.0) == 8.0
    with pytest.raises(UnluckyError, match="no slope"):
        zyg.gradient(f, 2.0)


def test_an_interrupt_is_not_swallowed():
    interrupted = []

    @zyg.adjoint
    def interrupts(x):
        try:
            if x > 5.0:
                interrupted.append(1)
                raise KeyboardInterrupt
        finally:
            pass
        return x * 2.0, lambda bar: (2.0 * bar,)

    f = zyg.compile(lambda x: interrupts(x) * x)
    assert f(2.0) == 8.0
    with pytest.raises(KeyboardInterrupt):
        f(6.0)
    assert len(interrupted) == 1
    assert zyg.gradient(f, 2.0) == (8.0,)


def test_a_result_of_another_type_than_the_first_is_pythons():
    @zyg.adjoint
    def fickle(x):
        try:
            y = x * 2.0 if x < 5.0 else np.array([x, x])
        finally:
            pass
        return y, lambda bar: (2.0 * np.sum(bar),)

    f = zyg.compile(lambda x: np.sum(fickle(x)) * x)
    assert f(2.0) == 8.0
    with zyg.config(fallback="silent"):
        assert f(6.0) == 72.0
        assert zyg.gradient(f, 6.0) == (36.0,)


def test_states_of_rules_belong_to_their_call():
    """The pullback that is called is the one of this value, in whatever order they come."""
    drawn = []

    @zyg.adjoint
    def noisy(x):
        state = {}
        try:
            state["slope"] = float(len(drawn) + 1)
            drawn.append(state["slope"])
        finally:
            pass
        return x * state["slope"], lambda bar: (bar * state["slope"],)

    def f(x, n):
        total = x * 0.0
        for k in range(n):
            if k != 2:
                total += noisy(x) * k
        return total

    compiled = zyg.compile(f)
    compiled(1.0, 4)
    drawn.clear()
    value, (slope, _) = zyg.value_and_gradient(compiled, 1.0, 4)
    assert len(drawn) == 3
    assert value == slope == 2.0 * 1 + 3.0 * 3


def test_only_what_moves_is_watched():
    @zyg.adjoint
    def product(x, order):
        if zyg.is_traced(order):
            raise TypeError("no derivative by the order")
        try:
            return x**order, lambda bar: (bar * order * x ** (order - 1.0), None)
        finally:
            pass

    f = zyg.compile(lambda x, order: product(x, order * 1.0) * x)
    assert zyg.gradient(lambda x: f(x, 2.0), 3.0) == (27.0,)


@pytest.mark.slow
def test_nothing_is_left_behind():
    f = zyg.compile(eigh_in_a_loop)
    held = []

    @zyg.adjoint
    def big(x):
        try:
            kept = np.ones(1000) * x
            held.append(weakref.ref(zyg.primal(kept)))
        finally:
            pass
        return x * 2.0, lambda bar: (bar * 2.0 * kept[0] / x,)

    g = zyg.compile(lambda x: big(x) * big(x * 2.0))
    for _ in range(3):
        zyg.gradient(f, A, 3)
        zyg.gradient(g, 2.0)
        zyg.hvp(g, 2.0, 1.0)
    with pytest.raises(ValueError, match="must not contain"):
        zyg.gradient(f, np.full((3, 3), np.nan), 3)
    gc.collect()
    assert not len(python_calls._held)
    assert not python_calls._held._by_call
    assert all(ref() is None for ref in held)


def test_counts_of_references_stay():
    f = zyg.compile(eigh_in_a_loop)
    zyg.gradient(f, A, 3)
    gc.collect()  # what other tests have left in cycles may hold A
    before = sys.getrefcount(A), sys.getrefcount(None)
    for _ in range(50):
        zyg.gradient(f, A, 3)
    gc.collect()
    assert sys.getrefcount(A) == before[0]
    assert abs(sys.getrefcount(None) - before[1]) < 40


def test_eight_threads():
    f = zyg.compile(eigh_in_a_loop)
    expected = [zyg.gradient(eigh_in_a_loop, A + k, 4)[0] for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda k: zyg.gradient(f, A + k % 8, 4)[0], range(64))]
    for k, g in enumerate(found):
        assert g == pytest.approx(expected[k % 8])


@pytest.mark.slow
def test_a_derivative_taken_inside():
    def loss(w, x):
        s = linalg.svd(w)[1]
        return np.sum(s**3) + x @ w @ x

    def learned(w, x):
        return loss(w - 0.1 * zyg.gradient(loss, w, x)[0], x)

    f, x = zyg.compile(learned), V[:3]
    assert f(A, x) == pytest.approx(learned(A, x))
    assert zyg.gradient(f, A, x)[0] == pytest.approx(zyg.gradient(learned, A, x)[0])


def test_a_rule_is_taken_once():
    """A straight-through rule: its slope is the rule's, the slope of its value further out not."""

    @zyg.adjoint
    def through(x):
        try:
            y = x * x * x
        finally:
            pass
        return y, lambda bar: (bar * 5.0,)

    def f(x):
        return through(x) * x

    compiled = zyg.compile(f)
    for g in (compiled, f):
        assert zyg.gradient(g, 2.0) == (8.0 + 10.0,)
    once = zyg.gradient(lambda x: zyg.gradient(f, x)[0], 2.0)
    assert zyg.gradient(lambda x: zyg.gradient(compiled, x)[0], 2.0) == once


def test_no_text_without_zyg():
    with pytest.raises(CompileError, match="calls svd back"):
        zyg.compile(svd).source(B)


def test_float32_and_complex():
    def f(z):
        return np.sum(np.abs(np.fft.ifft(z)) ** 2) + np.fft.fft(z)[1].imag

    z = V[:3] + 1j * V[3:]
    assert zyg.gradient(zyg.compile(f), z)[0] == pytest.approx(zyg.gradient(f, z)[0])
    b = B.astype(np.float32)
    (slope,) = zyg.gradient(zyg.compile(svd), b)
    assert slope.dtype == np.float32
    assert slope == pytest.approx(zyg.gradient(svd, b)[0], rel=1e-4, abs=1e-5)


def test_jacobians():
    def f(a):
        return linalg.svd(a)[1]

    for mode in ("forward", "reverse"):
        found = zyg.jacobian(zyg.compile(f), A, mode=mode)
        assert found[0] == pytest.approx(zyg.jacobian(f, A)[0])


@pytest.mark.slow
def test_long_loops_run_again_in_parts():
    def numbers(x, n):
        t = x
        for _ in range(n):
            t = special.jv(0.0, t) * x + t * 0.5
        return t

    compiled = zyg.compile(numbers)
    expected, _ = zyg.gradient(compiled, 1.1, 3000)
    with zyg.config(tape_bytes=50_000):
        assert zyg.gradient(compiled, 1.1, 3000)[0] == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(zyg.gradient(numbers, 1.1, 3000)[0], rel=1e-8)
    assert not len(python_calls._held)


@zyg.adjoint
def of_containers(t, d, k):
    a, b = t
    try:
        y = {"product": a * b, "k": k}, np.sum(d["x"]) * a
    finally:
        pass

    def back(bar):
        p, s = (0.0 if c is None else c for c in (bar[0]["product"], bar[1]))
        return (p * b + s * np.sum(d["x"]), p * a), {"x": s * a * np.ones_like(d["x"])}, None

    return y, back


def test_containers_come_and_go():
    def f(x, v):
        y, z = of_containers((x, x * 2.0), {"x": v * x}, 3)
        return y["product"] * y["k"] + z

    compiled = zyg.compile(f)
    assert compiled(1.5, V) == f(1.5, V)
    for c, d in zip(zyg.gradient(compiled, 1.5, V), zyg.gradient(f, 1.5, V), strict=True):
        assert c == pytest.approx(d)
    hvp = zyg.hvp(lambda x: f(x, V), 1.5, 1.0)
    assert zyg.hvp(lambda x: compiled(x, V), 1.5, 1.0) == pytest.approx(hvp)


def test_zeros_stay_exact():
    def f(x):
        return special.gammaln(x) * 0.0 + np.sqrt(np.fft.fft(np.array([x, x]))[0].real)

    assert zyg.gradient(zyg.compile(lambda x: f(x) * 0.0), 0.0) == (0.0,)


def test_what_python_gives_in_a_loop_takes_its_place_again():
    def f(x, n):
        total = 0.0
        for _ in range(n):
            total += np.sum(np.fft.rfft(x).real)
        return total

    compiled, x = zyg.compile(f), np.ones(2000)
    compiled(x, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert compiled(x, 3000) == pytest.approx(6e6)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # not 48 MB


@pytest.mark.slow
def test_a_second_process_takes_the_code_from_disk(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(_MODEL)
    environment = {
        **os.environ,
        "ZYG_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    said = [
        subprocess.run([sys.executable, "-W", "error", str(file)], env=environment, check=True,
                       capture_output=True, text=True).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert [words[0] for words in said] == ["compiled", "disk"]
    assert said[0][1:] == said[1][1:]


_MODEL = """
import numpy as np
import zyg
import zyg.scipy.sparse
import zyg.scipy.special
from zyg.scipy import linalg

@zyg.compile
def f(x):
    total = 0.0
    for k in range(3):
        total += np.sum(linalg.svd(x + k * np.eye(2))[1]) * np.fft.fft(x[0])[0].real
    return total

x = np.array([[1.0, 2.0], [0.5, -1.0]])
(slope,) = zyg.gradient(f, x)
print(f.inspect(x)["origin"], f(x), *slope.reshape(-1))
"""


@zyg.adjoint
def length(a):
    y = np.sqrt(np.sum(a * a))
    return y, lambda bar: (bar * a / y,)


def test_a_rule_of_a_matrix_that_gives_a_number_is_pushed_forward():
    f = zyg.compile(lambda a: length(a) * 2)
    with zyg.config(fallback="error"):
        y, y_dot = zyg.pushforward(f, (A,), (A + 1,))

    assert y == pytest.approx(2 * np.linalg.norm(A))
    assert y_dot == pytest.approx(2 * np.sum(A * (A + 1)) / np.linalg.norm(A))


def test_operators_are_pythons_though_sparse_matrices_have_rules_for_them():
    assert operator.mul in rules  # by zyg.scipy.sparse

    found = zyg.compile(lambda a, b: operator.mul(a, b))(A, 2.0)

    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, A * 2.0)


SEEN = []


@zyg.adjoint
def picked(x, places):
    SEEN.append((len(x), [*places]))

    def picked_pullback(bar):
        return bar * np.bincount(places, minlength=len(x)), None

    return np.sum(x[places]), picked_pullback


def test_indices_that_a_function_is_first_called_with_are_some_of_the_array():
    SEEN.clear()
    f = zyg.compile(lambda x, places: picked(x, places) * 2)

    assert f(V, np.array([5, 1])) == 2 * (V[5] + V[1])
    assert len(SEEN) > 1  # LAPACK's row exchanges write wherever the pivots say
    assert all(max(places) < count for count, places in SEEN)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(signal.detrend(x)) * 2),
        lambda x: np.sum(np.sin(ndimage.convolve1d(x, x[:3], mode="nearest"))),
        lambda x: np.sin(stats.skew(x)) + spatial.distance.cosine(x, x[::-1]),
        lambda x: np.sum(np.sin(fft.dct(x, 2))),
    ],
)
def test_functions_of_scipys_are_called_back_by_their_rules(f):
    compiled = zyg.compile(f)

    assert compiled(V) == pytest.approx(f(V), rel=1e-14)
    assert compiled.inspect(V)["called back"]
    expected = zyg.gradient(f, V)[0]
    with zyg.config(fallback="error"):
        np.testing.assert_allclose(zyg.gradient(compiled, V)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["polygamma", "spherical_jn"])
def test_second_derivatives_of_what_does_not_dispatch(name):
    x, g = (np.abs(V) + 1).astype(np.float32), getattr(zyg.scipy.special, name)

    def f(x):
        return np.sum(g(2, x))

    expected = zyg.hvp(f, x.astype(float), np.ones(6))
    np.testing.assert_allclose(zyg.hvp(zyg.compile(f), x, np.ones_like(x)), expected, 1e-4)
