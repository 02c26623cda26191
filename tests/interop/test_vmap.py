"""`vmap`: what a loop over the examples gives, at once where that can be."""

import copy
import dataclasses
import json
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import zyg
import zyg.math as math
import zyg.numpy
from zyg.errors import ArgumentError, PerformanceWarning, StructureError
from zyg.scipy import integrate

XS = np.linspace(-1.0, 2.0, 15).reshape(5, 3)
M = np.arange(12.0).reshape(4, 3) / 7 - 0.8


@pytest.fixture
def at_once():
    """What is not done at once raises why."""
    with zyg.config(fallback="error"):
        yield


def loop(f, *columns):
    rows = [f(*xs) for xs in zip(*columns, strict=True)]
    return np.stack(rows)


def net(p, x, y):
    h = np.tanh(p["w"] @ x + p["b"])
    return np.sum((h - y) ** 2)


P = {"w": M, "b": np.linspace(0.1, 0.4, 4)}
YS = np.cos(np.arange(20.0)).reshape(5, 4)

FUNCTIONS = [
    lambda x: x,
    lambda x: np.sin(x) * 2.0,
    lambda x: x @ M.T,
    lambda x: M @ x,
    lambda x: np.sum(x),
    lambda x: x[0] * x[1:] + x[::-1][0],
    lambda x: x[[2, 0]] * x[..., None],
    lambda x: np.outer(x, x) / (1 + np.dot(x, x)),
    lambda x: np.linalg.solve(np.eye(3) * 3 + np.outer(x, x), x),
    lambda x: np.where(x > 0, x, np.exp(x) - 1),
    lambda x: np.concatenate([x, x[:1] ** 2]).reshape(2, 2),
    lambda x: np.stack([x, x * 2]).T,
    lambda x: np.mean(x, keepdims=True) + np.max(x),
    lambda x: np.fft.fft(x).real,
    lambda x: np.einsum("ij,j->i", M, x),
    lambda x: np.cumsum(x)[-1] + np.argmax(x),
    lambda x: np.var(x) + np.linalg.norm(x),
    lambda x: np.broadcast_to(x, (2, 3)).sum(axis=0),
    lambda x: 2.0,
    lambda x: M,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_are_those_of_a_loop(f, at_once):
    np.testing.assert_allclose(zyg.vmap(f)(XS), loop(f, XS), rtol=1e-14, atol=1e-15)
    moved = zyg.vmap(f, in_axes=-1, out_axes=-1)(XS.T)
    np.testing.assert_allclose(np.moveaxis(moved, -1, 0), loop(f, XS), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("f", FUNCTIONS[:-2])
def test_gradients_of_each_example_are_those_of_a_loop(f, at_once):
    def g(x):
        return zyg.gradient(lambda x: np.sum(np.cos(f(x))), x)[0]

    np.testing.assert_allclose(zyg.vmap(g)(XS), loop(g, XS), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", FUNCTIONS[:-2])
def test_gradients_of_and_by_what_is_mapped(f, at_once):
    def total(xs):
        return np.sum(np.cos(zyg.vmap(f)(xs)))

    zyg.check_gradient(total, XS, order=1)
    (found,) = zyg.gradient(total, XS)
    (expected,) = zyg.gradient(lambda xs: sum(np.sum(np.cos(f(x))) for x in xs), XS)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_a_gradient_for_each_example(at_once):
    found = zyg.vmap(zyg.grad(net), (None, 0, 0))(P, XS, YS)
    rows = [zyg.gradient(net, P, x, y)[0] for x, y in zip(XS, YS, strict=True)]
    for name, g in found.items():
        np.testing.assert_allclose(g, [row[name] for row in rows], rtol=1e-12)


def test_what_is_held_and_what_all_share_has_the_sum(at_once):
    def by(p):
        return np.sum(np.sin(zyg.vmap(lambda x, y: net(p, x, y))(XS, YS)))

    def handed(p):
        return np.sum(np.sin(zyg.vmap(net, (None, 0, 0))(p, XS, YS)))

    def looped(p):
        return sum(np.sin(net(p, x, y)) for x, y in zip(XS, YS, strict=True))

    (expected,) = zyg.gradient(looped, P)
    for f in (by, handed):
        (found,) = zyg.gradient(f, P)
        for name in P:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


def test_derivatives_of_gradients_of_each_example(at_once):
    def of_norms(p):
        g = zyg.vmap(zyg.grad(net), (None, 0, 0))(p, XS, YS)
        return np.sum(g["w"] ** 2) + np.sum(np.sin(g["b"]))

    def looped(p):
        total = 0.0
        for x, y in zip(XS, YS, strict=True):
            (g,) = zyg.gradient(lambda p, x=x, y=y: net(p, x, y), p)
            total = total + np.sum(g["w"] ** 2) + np.sum(np.sin(g["b"]))
        return total

    (found,), (expected,) = zyg.gradient(of_norms, P), zyg.gradient(looped, P)
    for name in P:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-11)


def test_a_gradient_by_a_number_that_all_share_is_each_examples_own(at_once):
    def slope(x):
        return zyg.gradient(lambda s: np.sum(np.sin(x * s)), 0.7)[0]

    np.testing.assert_allclose(zyg.vmap(slope)(XS), loop(slope, XS), rtol=1e-13)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("verb", [zyg.hessian, lambda f, x: zyg.jacobian(f, x)[0],
                                  lambda f, x: zyg.hvp(f, x, x), zyg.diaghessian,
                                  lambda f, x: zyg.pushforward(f, (x,), (np.cos(x),))])  # fmt: skip
def test_other_verbs_inside(verb):
    def f(x):
        return np.sum(np.sin(x) * x[::-1])

    found, rows = zyg.vmap(lambda x: verb(f, x))(XS), [verb(f, x) for x in XS]
    if isinstance(found, tuple):
        for k, part in enumerate(found):
            np.testing.assert_allclose(part, [row[k] for row in rows], rtol=1e-12)
    else:
        np.testing.assert_allclose(found, rows, rtol=1e-12)


def branching(x):
    return np.sum(x) if x[0] > 0 else np.prod(x)


def writing(x):
    y = np.zeros(3)
    y[0] = x[1]
    return y


def of_the_library(x):
    return float(x[0]) * 2


LOOKING = [
    branching, writing, of_the_library, lambda x: np.array([x[0], 1.0]),
    lambda x: M[int(abs(x[0]))], lambda x: [*map(float, x)][1],
]  # fmt: skip


@pytest.mark.parametrize("f", LOOKING)
def test_what_looks_at_a_value_runs_for_each_example_and_says_so(f):
    said = r"once for each of 5 examples: .*, at\n *.*test_vmap\.py:\d+, in"
    with pytest.warns(PerformanceWarning, match=said):
        found = zyg.vmap(f)(XS)
    np.testing.assert_array_equal(found, loop(f, XS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zyg.vmap(f)(XS)  # once is enough


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_gradients_of_what_branches():
    def g(x):
        return zyg.gradient(branching, x)[0]

    np.testing.assert_allclose(zyg.vmap(g)(XS), loop(g, XS))
    (found,) = zyg.gradient(lambda xs: np.sum(zyg.vmap(branching)(xs) ** 2), XS)
    (expected,) = zyg.gradient(lambda xs: sum(branching(x) ** 2 for x in xs), XS)
    np.testing.assert_allclose(found, expected)


def test_compiled_functions_are_called_for_each_example(at_once):
    made = zyg.compile(branching)
    np.testing.assert_array_equal(zyg.vmap(made)(XS), loop(branching, XS))
    inner = zyg.compile(lambda x: np.sum(np.sin(x)))
    for f in (lambda x: inner(x) * 2, zyg.grad(inner)):  # it is Python's for batches
        np.testing.assert_allclose(zyg.vmap(f)(XS), loop(f, XS), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_one_inside_another():
    def f(x, y):
        return np.dot(x, y) ** 2

    for size in (4, 5):
        others = np.cos(np.arange(3.0 * size)).reshape(size, 3)
        expected = (XS @ others.T) ** 2
        held = zyg.vmap(lambda x, ys=others: zyg.vmap(lambda y: f(x, y))(ys))(XS)
        passed = zyg.vmap(zyg.vmap(f, (None, 0)), (0, None))(XS, others)
        np.testing.assert_allclose(held, expected, rtol=1e-14)
        np.testing.assert_allclose(passed, expected, rtol=1e-14)


def test_containers_and_what_is_no_array(at_once):
    def f(p, mode, k):
        y = p["w"] * k if mode == "times" else p["w"]
        return {"y": y, "pair": (np.sum(p["w"]), None), "name": mode}

    found = zyg.vmap(f, ({"w": 0}, None, None))({"w": XS}, "times", 2)
    np.testing.assert_array_equal(found["y"], XS * 2)
    np.testing.assert_allclose(found["pair"][0], XS.sum(axis=1))
    assert found["pair"][1] is None
    assert found["name"] == "times"
    scaled = zyg.vmap(lambda p: p["w"] * p["k"], ({"w": 0, "k": None},))({"w": XS, "k": 2})
    np.testing.assert_array_equal(scaled, XS * 2)
    assert not np.shares_memory(zyg.vmap(lambda x: x)(XS), XS)


@pytest.mark.parametrize(
    ("args", "axes", "text"),
    [
        ((XS, YS[:3]), 0, "argument 0 with 5 examples and argument 1 with 3"),
        ((XS, 2.0), 0, r"argument 1 has no axis 0, but the shape \(\)"),
        ((XS, {"a": XS, "b": [1.0]}), 0, r"argument 1\['b'\]\[0\] has no axis 0"),
        ((XS, XS), (0, 2), "argument 1 has no axis 2"),
        ((XS,), (0, 0), r"in_axes=\(0, 0\) for 1 arguments"),
        ((XS,), None, "no argument along an axis"),
        ((XS, YS), [0, None], r"\[0, None\] as the axis of argument 0"),
    ],
)
def test_arguments_without_examples(args, axes, text):
    with pytest.raises(ArgumentError, match=text):
        zyg.vmap(lambda *xs: xs[0], axes)(*args)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_results_that_differ():
    with pytest.raises(StructureError, match="something else for example 2 than for example 0"):
        zyg.vmap(lambda x: x[: 1 + int(x[0] > 0)])(XS)


@dataclasses.dataclass
class Named:
    name: str
    value: float


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: "large" if x[0] > 0 else "small",
        lambda x: {"x": x, "large": bool(x[0] > 0)},
        lambda x: Named("large" if x[0] > 0 else "small", x[0]),
        lambda x: x if x[0] > 0 else None,
    ],
)
def test_what_is_no_number_is_the_same_for_all(f):
    with pytest.raises(StructureError, match="something else for example"):
        zyg.vmap(f)(XS)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_truths_are_numbers_and_objects_stay_what_they_are():
    found = zyg.vmap(lambda x: bool(x[0] > 0))(XS)
    np.testing.assert_array_equal(found, XS[:, 0] > 0)
    for way in (float, lambda x: x):
        made = zyg.vmap(lambda x, way=way: Named("it", way(x[0])))(XS)
        assert made.name == "it"
        np.testing.assert_array_equal(made.value, XS[:, 0])


def test_no_examples(at_once):
    assert zyg.vmap(lambda x: np.sin(x) * 2)(XS[:0]).shape == (0, 3)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_what_f_raises_it_raises():
    with pytest.raises(ValueError, match="of the user"):
        zyg.vmap(lambda x: (_ for _ in ()).throw(ValueError("of the user")))(XS)


def test_nothing_is_left_behind_by_an_error():
    with pytest.raises(ZeroDivisionError), zyg.config(fallback="silent"):
        zyg.vmap(lambda x: 1 // 0)(XS)
    assert zyg.gradient(lambda s: np.sum(XS * s), 2.0) == (XS.sum(),)


@given(
    arrays.arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)),
                  elements=st.floats(-2, 2)),
    st.integers(-1, 1), st.booleans(),
)  # fmt: skip
def test_reductions_and_products_of_any_shape(xs, axis, keepdims):
    def f(x):
        return np.sum(x, axis, keepdims=keepdims) * np.max(x) + np.sum(x @ x.T)

    with zyg.config(fallback="error"):
        np.testing.assert_allclose(zyg.vmap(f)(xs), loop(f, xs), rtol=1e-13, atol=1e-13)
        g = lambda x: zyg.gradient(lambda x: np.sum(f(x) ** 2), x)[0]  # noqa: E731
        np.testing.assert_allclose(zyg.vmap(g)(xs), loop(g, xs), rtol=1e-11, atol=1e-11)


def of_some_ways(x):
    """Another way for each sign, and one more for a long one."""
    y = {"value": np.sin(x[0]) * x[1] if x[0] > 0 else np.sum(x**2), "name": "y"}
    if abs(y["value"]) > 1.5:
        y["value"] = y["value"] * x[2]
    return y


def test_examples_that_go_the_same_way_run_at_once(at_once):
    xs, runs = np.random.default_rng(3).normal(size=(80, 3)), []

    def f(x):
        runs.append(type(x))
        return of_some_ways(x)

    found = zyg.vmap(f, out_axes=-1)(xs)
    alone = runs.count(np.ndarray)  # once for each way, to see that it gives the same
    assert alone == 4
    assert len(runs) - alone < 10
    zyg.vmap(f)(xs)
    assert runs.count(np.ndarray) == alone
    expected = loop(lambda x: of_some_ways(x)["value"], xs)
    np.testing.assert_allclose(found["value"], expected, rtol=1e-13)
    assert found["name"] == "y"

    def slope(x):
        return zyg.gradient(lambda x: of_some_ways(x)["value"], x)[0]

    def total(xs):
        return np.sum(zyg.vmap(lambda x: of_some_ways(x)["value"])(xs))

    np.testing.assert_allclose(zyg.vmap(slope)(xs), loop(slope, xs), rtol=1e-13)
    np.testing.assert_allclose(zyg.gradient(total, xs)[0], loop(slope, xs), rtol=1e-13)


def test_other_results_on_other_ways_are_refused():
    xs = np.linspace(-1.0, 1.0, 40)
    with pytest.warns(PerformanceWarning), pytest.raises(StructureError, match="something else"):
        zyg.vmap(lambda x: (x, x) if x > 0 else (x,))(xs)


def test_many_ways_are_a_loop():
    def f(x):
        while x < 50.0:
            x = x * 1.1 + 0.01
        return x

    xs = np.geomspace(1e-3, 40.0, 40)
    with pytest.warns(PerformanceWarning, match="once for each of 40 examples: a value decides"):
        found = zyg.vmap(f)(xs)
    np.testing.assert_array_equal(found, loop(f, xs))


@pytest.mark.parametrize("f", [
    lambda x: math.exp(x) * math.sin(2 * x) + math.atan2(x, 2.0),
    lambda x: math.sqrt(x) * math.pow(x, 1.5) + math.log(x) - math.hypot(x, 1.0),
    lambda x: math.tanh(x) + math.fabs(x) * math.pi,
])  # fmt: skip
def test_functions_of_zygs_math_in_a_gradient(f, at_once):
    def slope(x):
        return zyg.gradient(f, x)[0]

    xs = np.linspace(0.1, 2.0, 9)
    np.testing.assert_allclose(zyg.vmap(slope)(xs), loop(slope, xs), rtol=1e-13)


def test_what_has_no_rule_for_batches_is_named():
    def f(x):
        return integrate.quad(np.cos, 0.0, x)[0]

    with pytest.warns(PerformanceWarning, match=r"quad of vmap's examples has no rule"):
        zyg.vmap(lambda x: zyg.gradient(f, x)[0])(np.linspace(0.5, 1.0, 3))


CAUGHT = [
    "x[0] if x[0] > 0 else x[1] * 2.0", "float(x[0]) * x", "complex(x[0]).real", "x.item(0)",
    "np.sum(np.linalg.svd(x[0] * np.eye(2), compute_uv=False))", "np.asarray(x)[0]",
    "np.array([x[0], 2.0])", "[*map(float, x)][1]", "x.tolist()[1]", "x[0].is_integer() * x[1]",
    "round(x[0]) * x[1]", "float(f'{x[0]:.3f}')", "{0.25: 3.0}.get(x[0], 1.0)", "hash(x[0]) % 7",
    "len({*x})", "written(x)", "np.vectorize(lambda t: 2 * t)(x)", "statistics.mean(x)",
    "struct.pack('d', x[0])[6]", "np.linalg.inv(np.diag(np.maximum(x[:2], 0.0)))[1]",
    "checked(np.sqrt, x[0])", "zyg.checkpoint(lambda q: q * x[0], np.ones(2))",
    "x[1] if isinstance(x[0], float) else x[0]", "x[1] if isinstance(x, np.ndarray) else x[0]",
    "x[1] if isinstance(x[0], numbers.Real) else x[0]", "x[1] if np.isscalar(x[0]) else x[0]",
    "x[1] if hasattr(x[0], 'is_integer') else x[0]", "getattr(x, 'strides', 1.0) * x[1]",
]  # fmt: skip


def written(x):
    x = x * 1.0
    x[0] = 5.0
    return x


def checked(f, x):
    with np.errstate(invalid="raise"):
        return f(x)


@pytest.mark.parametrize("text", CAUGHT)
def test_a_function_that_catches_what_a_run_of_all_cannot_do_gives_what_each_example_does(text):
    names = {}
    exec(compile(f"""def f(x):
    try:
        return 1.0 * ({text})
    except Exception:
        return x * 100.0
""", "caught.py", "exec"), {**globals()}, names)  # fmt: skip
    f, xs = names["f"], np.linspace(-1.0, 1.0, 96).reshape(32, 3)

    def total(x):
        return np.sum(f(x))

    with zyg.config(fallback="silent", swallowed="allow"):
        for g in (total, zyg.grad(total)):
            np.testing.assert_allclose(zyg.vmap(g)(xs), [g(x) for x in xs], rtol=1e-12)


def test_errors_that_are_raised_from_what_a_run_of_all_cannot_do_are_each_examples():
    def f(x):
        try:
            return x * 2.0 if x > 0 else x * 3.0
        except TypeError as error:
            raise ValueError("not here") from error

    xs = np.linspace(-1.0, 1.0, 32)
    with zyg.config(fallback="silent"):
        np.testing.assert_allclose(zyg.vmap(f)(xs), [f(x) for x in xs])


def test_what_is_caught_in_a_run_of_all_is_not_held_against_the_examples():
    def f(x):
        y = zyg.numpy.zeros(3)
        try:
            y += np.where(y > x[0], x, 2.0 * x)
        except Exception:
            return x * 100.0
        return y

    xs = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    with zyg.config(fallback="silent"):
        (slope,) = zyg.gradient(lambda xs: np.sum(zyg.vmap(f)(xs)), xs)
    np.testing.assert_array_equal(slope, np.where(xs[:, :1] < 0, 1.0, 2.0) * np.ones(3))


def test_a_watched_cotangent_of_what_all_examples_have_is_summed():
    def f(x):
        return zyg.vmap(lambda a, b: np.sin(a)[0] * b, (None, 0))(x, np.cos(x))

    def transposed(c):
        return zyg.pullback(f, M[0])[1](c)[0]

    (dense,), (found,) = zyg.jacobian(f, M[0]), zyg.jacobian(transposed, M[1])
    np.testing.assert_allclose(found, dense.T, rtol=1e-14)


def in_thread(f, x):
    found = []
    thread = threading.Thread(target=lambda: found.append(f(x)))
    thread.start()
    thread.join()
    return found[0]


def in_pool(f, x):
    with zyg.wrap_executor(ThreadPoolExecutor(1)) as pool:
        return pool.submit(f, x).result()


def caught_in_it(x):
    try:
        return x[0] if x[0] > 0 else x[1] * 2.0
    except Exception:
        return x[0] * 100.0


@pytest.mark.parametrize("run", [in_thread, in_pool])
@pytest.mark.parametrize("f", [
    caught_in_it, lambda x: zyg.gradient(lambda c: np.sum(c * x), np.ones(3))[0],
    lambda x: zyg.hessian(lambda c: np.sum(c**3 * x), np.ones(3)), copy.deepcopy,
])  # fmt: skip
def test_threads_compute_with_each_example(run, f):
    with zyg.config(fallback="silent"):
        found = zyg.vmap(lambda x: run(f, x))(XS)
    np.testing.assert_allclose(found, [f(x) for x in XS])


LONG = np.linspace(-1.0, 2.0, 96).reshape(32, 3)
ALONE = [
    lambda x: x * 2.0 if type(x) is np.ndarray else x * 3.0,
    lambda x: np.sum(x) * {np.ndarray: 2.0}.get(type(x), 5.0),
    lambda x: {"a": x} if type(x).__name__ == "ndarray" else {"b": x},
    lambda x: x * 2.0 if type(x[0]) is np.float64 else x[:2],
    lambda x: len(json.dumps(x.tolist())) * x,
    lambda x: x if is_pickled(x) else 0.0 * x,
    lambda x: 3 if type(x) is np.ndarray else 2,
    lambda x: x * (1.0 if x[0] < 0 else 2.0 if type(x) is np.ndarray else 3.0),
]  # fmt: skip


def is_pickled(x):
    try:
        return bool(pickle.dumps(x))
    except Exception:
        return False


@pytest.mark.parametrize("f", ALONE)
def test_a_function_that_gives_something_else_for_one_example_alone_runs_for_each(f):
    with zyg.config(fallback="silent"):
        for _ in range(2):
            found = zyg.vmap(f)(LONG)
            rows = [f(x) for x in LONG]
            if isinstance(found, dict):
                found, rows = found["a"], [row["a"] for row in rows]
            np.testing.assert_allclose(found, rows, rtol=1e-14)


def test_what_one_example_alone_gives_is_looked_at_once_for_a_kind_of_arguments(at_once):
    runs = []

    def f(x):
        runs.append(type(x))
        return np.sum(np.sin(x))

    for _ in range(3):
        zyg.vmap(f)(XS)
    assert runs.count(np.ndarray) == 1
    assert len(runs) == 4
    zyg.vmap(f)(XS.astype(np.float32))
    zyg.gradient(lambda xs: np.sum(zyg.vmap(f)(xs)), XS)
    assert runs.count(np.ndarray) == 2


def test_the_warning_says_that_one_example_alone_differs():
    with pytest.warns(PerformanceWarning, match="one example alone gives something else"):
        zyg.vmap(lambda x: x if type(x) is np.ndarray else -x)(XS)


def test_the_example_that_runs_alone_is_a_copy_of_what_is_watched():
    def f(p, x):
        if type(x) is np.ndarray:
            x[0] = 100.0
        return np.sum(p * x)

    def total(p, xs):
        return np.sum(zyg.vmap(f, (None, 0))(p, xs))

    def looped(p, xs):
        return sum(np.sum(p * x) for x in xs)

    xs = XS.copy()
    with zyg.config(fallback="silent"):
        found, right = zyg.gradient(total, XS[0], xs), zyg.gradient(looped, XS[0], XS)
    np.testing.assert_array_equal(xs, XS)
    for a, b in zip(found, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_results_that_are_one_array_in_f_are_apart():
    def two(x):
        y = np.exp(x)
        return y, y

    def total(xs):
        a, b = zyg.vmap(two)(xs)
        a *= 0.0
        return np.sum(b)

    np.testing.assert_allclose(zyg.gradient(total, XS)[0], np.exp(XS), rtol=1e-14)
    assert not np.shares_memory(*zyg.vmap(two)(XS))
    both = zyg.vmap(zyg.grad(lambda a, b: np.sum(np.exp(a + b)), (0, 1)))(XS, XS)
    assert not np.shares_memory(*both)
    with zyg.config(fallback="silent"):
        looped = zyg.vmap(lambda x: (lambda y: (y, y))(x * float(x[0])))(XS)
    assert not np.shares_memory(*looped)


def added_up(x):
    total = 0.0
    for k in range(3):
        total += x[k] * (k + 1)
        total *= 0.5
    total -= np.sum(x)
    return total


@pytest.mark.parametrize("f", [
    added_up, lambda x: zyg.gradient(added_up, x)[0],
    lambda x: zyg.gradient(lambda x: np.sum(zyg.numpy.array([x[0], x[1] * 2, 1.0]) ** 3), x)[0],
    lambda x: zyg.gradient(lambda x: np.sum(zyg.numpy.array([x, x * x]) ** 3), x)[0],
])  # fmt: skip
def test_numbers_that_are_added_up_and_arrays_of_numbers(f, at_once):
    np.testing.assert_allclose(zyg.vmap(f)(XS), loop(f, XS), rtol=1e-13)


@pytest.mark.parametrize("f", [
    lambda x: added_in_place(x), lambda x: written(x),
    zyg.grad(lambda x: np.sum(added_in_place(x))), zyg.grad(lambda x: np.sum(written(x))),
])  # fmt: skip
def test_what_writes_to_arrays_says_so(f):
    with pytest.warns(PerformanceWarning, match="an array is written to"):
        found = zyg.vmap(f)(XS)
    np.testing.assert_allclose(found, loop(f, XS), rtol=1e-14)


def added_in_place(x):
    y = x * 2.0
    y += x
    return y


def test_the_warning_says_what_takes_the_place_of_arrays_of_numbers():
    with pytest.warns(PerformanceWarning, match=r"np.array, .* which np.stack does not, at"):
        zyg.vmap(lambda x: np.array([x[0], 2.0]))(XS)
    with zyg.config(fallback="error"):
        found = zyg.vmap(lambda x: np.stack([x[0], 2.0 * x[1]]))(XS)
    np.testing.assert_array_equal(found, np.stack([XS[:, 0], 2.0 * XS[:, 1]], 1))


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.sqrt(x) * np.where(x > 0, 1.0, 0.0)), lambda x: np.sqrt(x[0]) * 0.0 + x[1],
    lambda x: np.prod(x) + np.linalg.norm(x - x), lambda x: np.sum(np.sqrt(np.abs(x - x[0])) * x),
    lambda x: 1.0 / x[0] * 0.0 + x[1], lambda x: np.nansum(x / x[0]), lambda x: zyg.gradient(
        lambda x: np.sum(np.sqrt(x) * 0.0), x)[0][1] + x[0],
])  # fmt: skip
@np.errstate(all="ignore")
def test_slopes_that_are_not_finite_for_some_examples_are_those_of_each(f):
    """The reverse pass around vmap looks at no element to decide for all."""
    xs = np.array([[0.0, 1.0, 0.5], [0.5, 0.0, 2.0], [1.0, 2.0, 3.0]])
    with zyg.config(fallback="silent"):
        right = zyg.gradient(lambda xs: sum(f(x) for x in xs), xs)[0]
        found = zyg.gradient(lambda xs: np.sum(zyg.vmap(f)(xs)), xs)[0]
        np.testing.assert_allclose(found, right, rtol=1e-14)
        np.testing.assert_allclose(zyg.vmap(zyg.grad(f))(xs), right, rtol=1e-14)
        ones = np.ones_like(xs)
        along = zyg.pushforward(zyg.vmap(f), (xs,), (ones,))[1]
        np.testing.assert_allclose(along, np.sum(right, axis=1), rtol=1e-13)
