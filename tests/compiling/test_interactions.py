"""Features of compiled functions beside each other: threads, layouts, memory, closures."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
from tests.programs.interactions import opaque
from tests.programs.program import programs
from zyg.base.structure import Structure
from zyg.errors import MutationError

RNG = np.random.default_rng(3)


def helper_alone(x, k):
    """It stays in Python: it catches."""
    try:
        return np.sum(x * x) * k
    except ValueError:
        return 0.0


def helper_in_prange(x, w):
    total = 0.0
    for i in zyg.prange(len(x)):
        total += helper_alone(x * x[i], w)
    return total


def test_a_helper_in_python_in_rounds_of_prange():
    with zyg.config(fallback="silent"):
        compiled, x = zyg.compile(helper_in_prange, parallel=True), RNG.normal(size=6)
        np.testing.assert_allclose(compiled(x, 1.3), helper_in_prange(x, 1.3), rtol=1e-12)
        grads = [zyg.gradient(f, x, 1.3) for f in (compiled, helper_in_prange)]
        for found, right in zip(*grads, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-9)


@pytest.mark.slow
def test_threads_call_the_same_functions_that_call_back(machine_code_alone):
    names = ["opaque_in_prange", "callback_under_a_gradient", "callback_in_recursion", "halves"]
    found_as = programs("interactions")
    calls = {name: found_as[f"interactions: {name}"] for name in names}
    compiled = {name: zyg.compile(calls[name].f) for name in names}

    def work(first):
        found = {}
        for k in range(12):
            name = names[(k + first) % len(names)]
            args = calls[name].args
            with zyg.config(fallback="error"):
                found[name] = compiled[name](*args), zyg.gradient(compiled[name], *args)[0]
        return found

    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(work, range(8)))

    for row in rows:
        for name, (value, gradient) in row.items():
            assert value == rows[0][name][0]
            np.testing.assert_array_equal(gradient, rows[0][name][1])


# Arguments of every kind


def rebound(x):
    for _ in range(3):
        x = np.sin(x) * 0.5 + x
    return np.sum(x)


def called_back(x):
    return np.sum(opaque(x) * x)


def derived_inside(x):
    return np.sum(zyg.gradient(lambda t: np.sum(np.sin(t) * t), x)[0] ** 2)


BASE = RNG.normal(size=(4, 3))
FIXED = BASE.copy()
FIXED.flags.writeable = False
LAYOUTS = {
    "transposed": BASE.T, "backwards": BASE[::-1, ::2], "one_column": BASE[:, 1],
    "no_rows": np.zeros((0, 3)), "no_columns": np.zeros((3, 0)), "read_only": FIXED,
    "stretched": np.broadcast_to(BASE[0], (4, 3)), "single": BASE.astype(np.float32),
    "three_axes": RNG.normal(size=(2, 3, 2)).transpose(2, 0, 1),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", [rebound, called_back, derived_inside], ids=lambda f: f.__name__)
def test_arguments_of_every_layout(f, layout):
    x, compiled = LAYOUTS[layout], zyg.compile(f)
    near = {"rtol": 2e-5, "atol": 2e-5} if layout == "single" else {"rtol": 1e-9, "atol": 1e-9}
    v = np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype.newbyteorder("="))

    np.testing.assert_allclose(compiled(x), f(x), **near)
    (gradient,), (right,) = zyg.gradient(compiled, x), zyg.gradient(f, x)
    assert gradient.dtype == right.dtype
    np.testing.assert_allclose(gradient, right, **near)
    y_dot = zyg.pushforward(f, (x,), (v,))[1]
    np.testing.assert_allclose(zyg.pushforward(compiled, (x,), (v,))[1], y_dot, **near)


# Memory


def writes(a, b):
    a[0] = opaque(b[1])
    b[2] = a[0] + b[0]
    return np.sum(a * b)


@pytest.mark.parametrize("parts", [(slice(3), slice(2, 5)), (slice(3), slice(3)),
                                   (slice(3), slice(3, 6))])  # fmt: skip
def test_callbacks_and_arguments_that_overlap(parts):
    u, v = np.arange(1.0, 7.0), np.arange(1.0, 7.0)
    compiled = zyg.compile(writes)

    assert compiled(*(v[p] for p in parts)) == pytest.approx(writes(*(u[p] for p in parts)))
    np.testing.assert_array_equal(u, v)
    if parts[1].start != 3:
        with pytest.raises(MutationError):
            zyg.gradient(compiled, *(v[p] for p in parts))


@zyg.adjoint
def refusing(x):
    try:
        if x > 2:
            raise RuntimeError("in the middle")
    finally:
        pass
    return x * 2.0, lambda bar: (bar * 2.0,)


def writes_until(a):
    total = 0.0
    for k in range(len(a)):
        a[k] = refusing(a[k])
        total += a[k]
    return total


def test_what_a_callback_raises_leaves_the_writes_that_python_leaves():
    u, v, w = (np.arange(7.0) for _ in range(3))
    compiled = zyg.compile(writes_until)
    for f, x in ((writes_until, u), (compiled, v)):
        with pytest.raises(RuntimeError, match="in the middle"):
            f(x)
    np.testing.assert_array_equal(u, v)
    with pytest.raises(RuntimeError, match="in the middle"):
        zyg.gradient(compiled, w)
    np.testing.assert_array_equal(w, np.arange(7.0))


def writes_and_returns_views(x):
    for k in range(2):
        x[k] = opaque(x[k])
    return x[1:], x.T


def test_views_of_what_callbacks_wrote_are_views_of_the_argument():
    u, v = BASE.copy(), BASE.copy()
    for mine, one in zip(zyg.compile(writes_and_returns_views)(v), writes_and_returns_views(u),
                         strict=True):  # fmt: skip
        np.testing.assert_array_equal(mine, one)
        assert np.shares_memory(mine, v)


# Closures over what is watched


def around(compile_, x, w):
    @compile_
    def in_a_loop(t):
        total = 0.0
        for i in range(len(t)):
            total += opaque(t[i]) * w + np.sum(x) * t[i]
        return total

    @compile_
    def derived(t):
        return zyg.gradient(lambda u: np.sum(np.sin(u * w)) * u[0], t)[0] @ x

    @compile_
    def in_rounds(t):
        total = 0.0
        for i in zyg.prange(len(t)):
            total += np.sin(t[i] * w) * x[0]
        return total

    return in_a_loop(x * 2.0) + derived(x) * in_rounds(x)


@pytest.mark.slow
def test_closures_over_watched_values():
    x = BASE[0].copy()

    def mine(x, w):
        return around(zyg.compile, x, w)

    def right(x, w):
        return around(lambda f: f, x, w)

    with zyg.config(fallback="error"):
        for a, b in zip(zyg.gradient(mine, x, 0.7), zyg.gradient(right, x, 0.7), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)
        dots = [zyg.pushforward(f, (x, 0.7), (x, 1.0))[1] for f in (mine, right)]
        np.testing.assert_allclose(*dots, rtol=1e-9)
        kept = zyg.gradient(lambda x: zyg.checkpoint(mine, x, 0.7), x)[0]
        np.testing.assert_allclose(kept, zyg.gradient(right, x, 0.7)[0], rtol=1e-9)


def test_a_compiled_function_is_taken_apart_without_its_machine_code():
    """And a copy of it, with another number in its closure, is asked by the same."""
    looked_at = []

    def scaled(w):
        return zyg.compile(lambda x: np.sum(np.sin(w * x)))

    f = scaled(2.0)
    zyg.gradient(f, RNG.normal(size=3)), f(1.5), zyg.hessian(f, 1.5)
    Structure(f, lambda x: looked_at.append(x), shared=True)
    assert len(looked_at) < 50

    def loss(w, x):
        g = scaled(w)
        return zyg.checkpoint(g, x) * zyg.checkpoint(f, x)

    zyg.check_gradient(loss, 0.7, RNG.normal(size=3))
    assert zyg.gradient(lambda g: g(1.5), f)[0].__wrapped__.w == pytest.approx(1.5 * np.cos(3.0))

    f.scale = 3.0
    with zyg.config(fallback="silent"):
        f.other = zyg.compile(lambda x: f.scale * x)
        zyg.check_gradient(set_and_kept, f, 0.3)


def set_and_kept(f, s):
    f.scale = s
    return zyg.checkpoint(f.other, 2.0)


class Truth:
    def __init__(self, v):
        self.v = v

    def __bool__(self):
        return self.v > 0.5


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_the_truth_of_an_object_is_a_bool_of_python():
    f = zyg.compile(lambda x: x if Truth(x) else 2.0 * x)
    assert (f(0.7), f(0.2)) == (0.7, 0.4)
    with pytest.raises(TypeError, match="__bool__ should return bool"):
        f(np.float64(0.7))


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_what_is_zipped_behind_a_filter_is_evaluated_when_it_is_its_turn():
    def f(x, a):
        seen = [0.5]

        def noted(v):
            seen[0] = 0.5 * seen[0] + v
            return v

        total = 0.0
        some = (u for u in a if u < 3 - seen[0])
        for u, v in zip(some, (noted(v) for v in (x, 1.0, 2.0))):  # noqa: B905
            total += u - v
        return total + 0.37 * seen[0]

    a = np.linspace(0.4, 1.6, 4)
    assert zyg.compile(f)(0.7, a) == f(0.7, a)


class Kept:
    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def thrice(self):
        return 3.0 * self.v


def computed_once(a, b):
    one, other, total = Kept(a), Kept(b), 0.0
    for k in range(9):
        total += one.thrice * k
        one.v = b
    if a > 1.0:
        total += other.thrice
    other.v = a
    return total + other.thrice


@pytest.mark.parametrize(("a", "slopes"), [(0.5, (111.0, 0.0)), (1.5, (108.0, 6.0))])
def test_a_cached_property_is_computed_once(a, slopes, machine_code_alone):
    f = zyg.compile(computed_once)
    assert f(a, 2.0) == computed_once(a, 2.0)
    np.testing.assert_allclose(zyg.gradient(f, a, 2.0), slopes)


def test_what_a_cached_property_leaves_in_an_argument_is_pythons():
    f, kept = zyg.compile(lambda kept: kept.thrice), Kept(2.0)
    with zyg.config(fallback="silent"):
        assert (f(kept), vars(kept)) == (6.0, {"v": 2.0, "thrice": 6.0})
    kept.v = 5.0
    with zyg.config(fallback="error"):
        assert f(kept) == 6.0


class Tenfold(list):
    def __getitem__(self, k):
        return 10.0 * super().__getitem__(k)


class Twice(tuple):
    def __iter__(self):
        return iter([2.0 * x for x in super().__iter__()])


class Tonne(np.float64):
    def __mul__(self, other):
        return 1000.0 * float(self) * other


class Pound(float):
    def __mul__(self, other):
        return 0.5 * float(self) * other


@pytest.mark.parametrize(
    ("f", "held", "right"),
    [
        (lambda held, x: held[1] * x, Tenfold([1.0, 2.0]), 20.0),
        (lambda held, x: sum(held) * x, Twice([1.0, 2.0]), 6.0),
        (lambda held, x: held * x, Tonne(3.0), 3000.0),
        (lambda held, x: held * x, Pound(3.0), 1.5),
    ],
)
def test_classes_of_the_users_that_are_lists_or_numbers_do_what_they_do(f, held, right):
    with zyg.config(fallback="silent"):
        compiled = zyg.compile(f)
        assert compiled(held, 1.0) == right
        assert zyg.value_and_gradient(compiled, held, 1.0)[0] == right
        assert zyg.compile(lambda x: f(held, x))(1.0) == right
        assert zyg.value_and_gradient(lambda x: compiled(held, x), 1.0) == (right, (right,))
