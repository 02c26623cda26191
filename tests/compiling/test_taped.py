"""A call on a tape by machine code that takes objects is what it is as an operation."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zyg
from tests.calls.compare import difference, quietly
from tests.programs.engines import Case
from tests.programs.program import programs
from tests.programs.values import plain
from zyg.compiling import taped

X = np.array([0.5, -1.2, 2.0, 0.1])
X32 = X.astype(np.float32)
M = np.arange(6.0).reshape(2, 3) / 7
PROGRAMS = programs()
scale = 2.0
table = np.array([1.0, 2.0, 3.0, 4.0])


def wave(x, y):
    return np.sin(x) * np.cos(y)


def rates(y, a, b):
    return np.array([a * y[0] - b * y[0] * y[1], b * y[0] * y[1] - y[1]])


def two(x, y):
    return np.sum(x * y), x + y


def captured(x):
    return np.sum(scale * table * x * x)


def layer(parameters, x):
    w, b = parameters
    return np.tanh(w @ x + b)


def chosen(parameters):
    return np.sum(parameters["w"]) * parameters["b"]


def transposed(x):
    return np.asfortranarray(x * 2.0) if x.ndim == 2 else x * x


def root(x):
    return np.sqrt(np.abs(x)) * x


CALLS = [
    (wave, (0.3, 2.0)), (wave, (X, 2.0)), (wave, (X, X)), (wave, (np.float64(0.3), X)),
    (wave, (X32, X32)), (wave, (np.array(0.3), 1.0)),
    (wave, (X[::2], X[::-2])), (wave, (M, M[:1])), (wave, (M.T, 0.5)), (wave, (1 + 2j, 0.5)),
    (wave, (X + 1j, X)), (wave, (2, 0.5)), (rates, (X[:2], 0.4, 0.7)), (two, (X, X + 1)),
    (captured, (X,)), (layer, ((M, X[:2]), X[:3])), (layer, ([M, X[:2]], X[:3])),
    (chosen, ({"w": X, "b": 2.0},)), (transposed, (M,)), (root, (np.zeros(3),)), (root, (0.0,)),
    (wave, (np.empty(0), 1.0)),
]  # fmt: skip


def total(y):
    """A number of all that a result holds, in which each part has a cotangent of its own."""
    if isinstance(y, tuple):
        return sum(total(part) * (k + 1.0) for k, part in enumerate(y))
    y = np.real(y) + 2 * np.imag(y) if np.iscomplexobj(y) else y
    return np.sum(y * np.arange(1.0, 1.0 + np.size(y)).reshape(np.shape(y))) + np.sum(y) ** 2


def of_all(verb, f, args):
    return verb(lambda *args: total(f(*args)), *args)


def alone(f, args, places=(0, 1)):
    """Value and gradients, where some arguments are not watched."""

    def inner(*moving):
        full = [*args]
        for k, x in zip(places, moving, strict=False):
            full[k] = x
        return total(f(*full))

    return zyg.value_and_gradient(inner, *(args[k] for k in places if k < len(args)))


@pytest.fixture
def as_operations(monkeypatch):
    """Calls a function, of which nothing is known, with its calls as operations."""

    def run(f, *args):
        with monkeypatch.context() as m:
            m.setattr(taped, "learn", lambda f, call: False)
            return f(*args)

    return run


@pytest.fixture
def noted(monkeypatch):
    """How many calls were entries of machine code that takes objects."""
    counts = []

    def note(*args):
        counts.append(None)
        return original(*args)

    original = taped.note
    monkeypatch.setattr(taped, "note", note)
    return counts


@pytest.mark.parametrize("places", [(0, 1), (0,), (1,)])
@pytest.mark.parametrize(("f", "args"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_call_gives_the_bits_of_an_operation(f, args, places, as_operations):
    if places == (1,) and (len(args) < 2 or isinstance(args[1], int)):
        args, places = args, (0,)
    expected = as_operations(alone, zyg.compile(f), args, places)
    made = zyg.compile(f)
    for _ in range(2):
        assert difference(alone(made, args, places), expected, 0.0) == ""
    if f not in (rates, transposed):  # which want to be adopted
        near = 1e-6 if args[0] is X32 else 1e-13
        assert not difference(alone(f, args, places), expected, near)


@pytest.mark.parametrize(("f", "args"), [CALLS[k] for k in (0, 1, 2, 3, 12, 13, 14, 15, 16)])
def test_everyday_calls_are_such_entries(f, args, noted, machine_code_alone):
    made = zyg.compile(f)
    for _ in range(3):
        of_all(zyg.gradient, made, args)
    assert len(noted) == 3


@pytest.mark.parametrize("name", [*PROGRAMS][::8])
def test_programs_have_the_bits_of_operations(name, as_operations):
    case = Case(PROGRAMS[name])
    if not case.is_smooth:
        return

    def run(f):
        y, back = quietly(zyg.pullback, f, *case.args)
        return plain((y, quietly(back, case.y_bar)))

    expected = as_operations(run, zyg.compile(case.f))
    assert not difference(run(zyg.compile(case.f)), expected, 0.0)


def test_what_is_captured_is_what_it_was_at_the_call(noted):
    global scale
    held = np.array([1.0, 2.0])
    large = np.ones(4096)
    number = 3.0

    @zyg.compile
    def f(x):
        return x * held[0] * number * scale + large[7] * x

    def program(x):
        nonlocal number
        global scale
        y = f(x)
        held[0], number, scale = 5.0, 7.0, 11.0
        return y

    for _ in range(3):
        held[0], number, scale = 1.0, 3.0, 2.0
        assert zyg.value_and_gradient(program, 2.0) == (14.0, (7.0,))
        with pytest.raises(ValueError, match="read-only"):
            zyg.gradient(lambda x: (f(x), large.__setitem__(7, 2.0))[0], 2.0)
    scale = 2.0
    assert len(noted) > 3


class Model:
    def __init__(self, w, table):
        self.w, self.table = w, table


@dataclass
class Inner:
    model: Model
    b: float


def test_what_arguments_hold_is_what_it_was_at_the_call(noted):
    @zyg.compile
    def f(x, model, inner, row, pair):
        y = model.w * model.table[0] * row["a"] * row["t"][0] * pair[1] * inner.b
        return x * y * inner.model.w * inner.model.table[1]

    def program(x):
        model, nested = Model(2.0, np.ones(2)), Model(3.0, np.ones(2))
        inner, row, pair = Inner(nested, 5.0), {"a": 7.0, "t": np.ones(2)}, [1.0, 11.0]
        y = f(x, model, inner, row, pair)
        model.w, model.table[0], nested.table[1], nested.w = 0.5, 0.25, 0.5, 13.0
        inner.b, row["a"], row["t"][0], pair[1] = 0.1, 0.2, 0.3, 0.4
        return y

    for _ in range(3):
        assert zyg.value_and_gradient(program, 2.0) == (4620.0, (2310.0,))
    assert len(noted) == 3


def test_gradients_of_objects_and_dicts(noted):
    def f(model, inner, row):
        return (np.sum(model.w * model.table) * row["a"] + inner.model.w) * inner.b + row["t"][1]

    def args():
        inner = Inner(Model(3.0, "none"), 5.0)
        return Model(2.0, np.arange(3.0)), inner, {"a": 7.0, "t": [1, 2.0, X]}

    made, expected = zyg.compile(f), zyg.value_and_gradient(f, *args())
    for _ in range(3):
        found = zyg.value_and_gradient(made, *args())
        assert not difference(found, expected, 1e-15)
        found = zyg.value_and_gradient(lambda *xs: made(*xs) * 2.0, *args())
        assert found[1][0].w == 2 * expected[1][0].w
        assert found[1][1] == 2 * expected[1][1]
        assert not difference(found[1][2]["t"], [None, 2.0, None], 0.0)
    assert len(noted) == 3


def test_a_captured_value_that_is_watched_has_its_derivative():
    def program(x, y):
        @zyg.compile
        def f(x):
            return x * y

        return f(x) * f(x)

    for _ in range(3):
        assert zyg.gradient(program, 3.0, 2.0) == (24.0, 36.0)


def test_a_rebound_helper_is_another_function():
    def helper(x):
        return x * x

    @zyg.compile
    def f(x):
        return helper(x)

    for power, g in ((2, helper), (3, lambda x: x * x * x), (2, helper)):
        helper = g
        for _ in range(2):
            assert zyg.gradient(lambda x: f(x) * 1.0, 2.0) == (power * 2.0 ** (power - 1),)


def test_derivatives_of_derivatives_and_forward_mode_go_on():
    made = zyg.compile(wave)
    of_all(zyg.gradient, made, (X, X))
    zyg.check_gradient(lambda x: total(made(x, x)), X, order=2)
    zyg.check_gradient(lambda x: np.sum(made(x, 0.3) ** 2), 0.4, order=2)
    found = zyg.hessian(lambda x: total(made(x, X)), X)
    expected = zyg.hessian(lambda x: total(wave(x, X)), X)
    assert not difference(found, expected, 1e-12)


def test_an_outer_gradient_by_a_cotangent():
    made = zyg.compile(wave)

    def by_cotangent(y_bar):
        back = zyg.pullback(lambda x: made(x, 0.5), X)[1]
        return np.sum(back(y_bar)[0] ** 2)

    for _ in range(2):
        expected = (2 * X * (np.cos(X) * np.cos(0.5)) ** 2,)
        assert not difference(zyg.gradient(by_cotangent, X), expected, 1e-13)


def test_exact_zeros_stay_zero():
    @zyg.compile
    def root(x):
        return np.sqrt(x)

    for _ in range(3):
        (found,) = zyg.gradient(lambda x: np.sum(np.where(x > 0, root(x), 0.0)), np.zeros(3))
        assert not found.any()


def test_only_some_arguments_are_differentiated(noted):
    made = zyg.compile(wave, wrt="x")
    for _ in range(3):
        found = zyg.gradient(lambda x, y: made(x, y) * y, 0.3, 2.0)
        assert np.allclose(found, (2 * np.cos(0.3) * np.cos(2.0), np.sin(0.3) * np.cos(2.0)))
    assert len(noted) == 3
    assert zyg.gradient(lambda y: made(0.3, y), 2.0) == (None,)


def test_what_python_raises_it_raises_at_the_line_of_the_user():
    @zyg.compile
    def f(x, k):
        return x[k] * 2.0

    assert zyg.gradient(lambda x: f(x, 1) * 1.0, X)[0][1] == 2.0
    with pytest.raises(IndexError) as raised:
        zyg.gradient(lambda x: f(x, 9) * 1.0, X)
    assert raised.traceback[-1].path.name == "test_taped.py"


def test_long_tapes_are_made_in_parts():
    @zyg.compile
    def f(x, n):
        for _ in range(n):
            x = np.sin(x) * x
        return x

    expected = zyg.gradient(lambda x: f(x, 5000) * 1.0, 1.5)
    with zyg.config(tape_bytes=10_000):
        assert zyg.gradient(lambda x: f(x, 5000) * 1.0, 1.5) == expected


def test_in_tasks_and_threads():
    made = zyg.compile(wave)

    def program(x, y):
        with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
            return sum(pool.map(lambda k: made(x * k, y), [1.0, 2.0, 3.0]))

    expected = zyg.gradient(lambda x, y: sum(wave(x * k, y) for k in (1.0, 2.0, 3.0)), 0.3, 0.7)
    for _ in range(3):
        assert np.allclose(zyg.gradient(program, 0.3, 0.7), expected)


def test_first_calls_in_many_threads_at_once():
    made, found = zyg.compile(wave), []

    def run():
        found.append(zyg.gradient(lambda x: made(x, 0.5) * 2.0, 0.3))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({*found}) == 1


@given(st.lists(st.booleans(), min_size=3, max_size=3), st.integers(0, 4))
def test_any_arguments_watched(which, n):
    made = _third
    x = np.linspace(0.1, 1.0, n)
    args = [x, 0.5, (x, 2.0)]
    places = tuple(k for k in range(3) if which[k])

    def inner(f):
        def program(*moving):
            full = [*args]
            for k, value in zip(places, moving, strict=True):
                full[k] = value
            return f(*full) * 2.0

        return program

    moving = [args[k] for k in places]
    found = zyg.gradient(inner(made), *moving)
    assert not difference(found, zyg.gradient(inner(made.__wrapped__), *moving), 1e-13)


@zyg.compile
def _third(x, a, pair):
    y, b = pair
    return np.sum(x * y * a) * b


# By keyword


def by_keyword(x, k=2.0, /, n=3.0, *, m=1.0):
    return np.sum(np.tanh(x * k)) * n * m


def of_both(x, k=2.0, n=3.0):
    return np.sum(np.tanh(x * k)) * n


KEYWORDS = [
    (of_both, {"n": 2.0}), (of_both, {"k": 2.5}), (of_both, {"n": 2.0, "k": 0.5}),
    (by_keyword, {"n": 2.0}), (by_keyword, {"m": 2.0}), (by_keyword, {"n": 2.0, "m": 3.0}),
]  # fmt: skip


@pytest.mark.parametrize(("f", "keywords"), KEYWORDS)
def test_calls_by_keyword_are_calls(f, keywords, machine_code_alone):
    made = zyg.compile(f)
    for _ in range(3):
        assert made(X, **keywords) == made(X[:], **keywords)
        assert np.isclose(made(X, **keywords), f(X, **keywords), rtol=1e-14, atol=0)
        for verb in (zyg.gradient, zyg.value_and_gradient):
            found = verb(made, X, **keywords)
            assert not difference(found, verb(f, X, **keywords), 1e-13)
        found, expected = (
            zyg.gradient(lambda x, k, g=g: g(x, **{**keywords, next(iter(keywords)): k}), X, 1.5)
            for g in (made, f)
        )
        assert not difference(found, expected, 1e-13)


def test_a_default_is_the_object_that_python_has():
    @zyg.compile
    def f(x, table={"w": 2.0}, k=1.0):  # noqa: B006
        return x * table["w"] * k

    for w in (2.0, 3.0, 3.0):
        f.__wrapped__.__defaults__[0]["w"] = w
        assert f(2.0, k=5.0) == 10 * w
        assert zyg.gradient(f, 2.0, k=5.0) == (5 * w,)


@pytest.mark.parametrize(
    ("args", "keywords"),
    [((), {"n": 1.0}), ((1.0,), {"x": 1.0}), ((1.0,), {"a": 1.0}), ((1.0, 2.0, 3.0), {"n": 1.0}),
     ((1.0, 2.0, 3.0, 4.0), {"n": 1.0})],
)  # fmt: skip
def test_what_is_no_call_is_what_python_says(args, keywords):
    made = zyg.compile(of_both)
    with pytest.raises(TypeError) as expected:
        of_both(*args, **keywords)
    for call in (made, lambda *xs, **ks: zyg.gradient(lambda *xs: made(*xs, **ks), *xs)):
        with pytest.raises(TypeError) as raised:
            call(*args, **keywords)
        assert str(raised.value) == str(expected.value)
