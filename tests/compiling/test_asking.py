"""What asks machine code in machine code: as Python would, whatever has changed outside."""

import copy
import gc
import inspect
import pickle
import subprocess
import sys
import threading
import weakref
from types import FunctionType, ModuleType

import numpy as np
import pytest

import zyg
from zyg.base.registry import CONSTANT, rules
from zyg.compiling import specialize
from zyg.compiling.functions import Compiled

X = np.array([0.5, -1.0, 2.0])
SCALE, WEIGHTS, POWER, PAIR, MANY, NOTHING = (
    2.0,
    np.array([1.0, 2.0, 3.0]),
    2,
    (2.0, (3, 4.0)),
    [1.0, 2.0],
    None,
)


@zyg.compile
def square(x):
    """The square."""
    return x * x


def helper(x, m=2.0, *, n=3):
    return x * m + n


class Model:
    def __init__(self, rate):
        self.rate = rate

    @zyg.compile
    def value(self, x):
        return x * 2.0

    def scaled(self, x):
        return x * self.rate


MODEL = Model(2.0)


def by_closure():
    rate, n, f = 2.0, 3, np.sin

    def change():
        nonlocal rate, n, f
        rate, n, f = rate + 1, n + 1, np.cos

    return (lambda x: f(x) * rate + n * x), change


def with_names(f, **others):
    """The function with globals of its own."""
    names = {**globals(), **others}
    return FunctionType(f.__code__, names), names


def by_global(f, **others):
    f, names = with_names(f)
    return f, lambda: names.update(others)


def by_default():
    f = lambda x, n=3, c=2.0: x**n * c  # noqa: E731
    return f, lambda: setattr(f, "__defaults__", (2, 5.0))


def by_code():
    def other(x):
        return x * x * x

    f = lambda x: x * x  # noqa: E731
    return f, lambda: setattr(f, "__code__", other.__code__)


def by_helpers_default():
    def inner(x, m=2.0):
        return x * m

    return (lambda x: inner(x) * x), lambda: setattr(inner, "__defaults__", (3.0,))


def by_module():
    module = ModuleType("of_mine")
    module.c = 2.0
    module.f = np.exp
    return (lambda x: module.f(x) * module.c), lambda: vars(module).update(c=3.0, f=np.sin)


CHANGED = {
    "a closure": by_closure,
    "a float": lambda: by_global(lambda x: x * SCALE, SCALE=3.0),
    "an array": lambda: by_global(lambda x: x * np.sum(WEIGHTS), WEIGHTS=np.array([3.0, 4.0])),
    "of ints": lambda: by_global(lambda x: x * np.sum(WEIGHTS), WEIGHTS=np.array([3, 4])),
    "a list now": lambda: by_global(lambda x: x * np.sum(WEIGHTS), WEIGHTS=[3.0]),
    "an int": lambda: by_global(lambda x: x**POWER, POWER=3),
    "a tuple": lambda: by_global(lambda x: x * PAIR[0] + PAIR[1][1], PAIR=(5.0, (3, 6.0))),
    "a list": lambda: by_global(lambda x: x * MANY[1], MANY=[1.0, 7.0, 8.0]),
    "an object": lambda: by_global(lambda x: MODEL.scaled(x), MODEL=Model(7.0)),
    "a helper": lambda: by_global(lambda x: helper(x) * x, helper=lambda x: x * x),
    "a compiled function": lambda: by_global(
        lambda x: square(x) * x, square=zyg.compile(lambda x: x * 3)
    ),
    "None": lambda: by_global(lambda x: x if NOTHING is None else 2 * x, NOTHING=1),
    "a builtin": lambda: by_global(lambda x: abs(x) * x, abs=lambda x: x * 3.0),
    "a default": by_default,
    "its code": by_code,
    "a helper's default": by_helpers_default,
    "a module": by_module,
}
SEEN = {"a list", "an object"}  # by Python


def asks(f, verb="value"):
    return f.entries(verb) or ()


def in_python(f, verb):
    """The asks of Python for a verb."""
    return [getattr(ask, "__self__", (ask,))[0] for ask in asks(f, verb)]


@pytest.mark.parametrize("of", CHANGED)
def test_what_is_outside_may_change(of):
    f, change = CHANGED[of]()
    compiled = zyg.compile(f)
    for _ in range(3):
        for x in (1.5, np.float64(-0.5), 2):
            expected = f(x)
            for _ in range(2):
                y = compiled(x)
                assert y == expected
                assert type(y) is type(expected)
                by_hand = zyg.gradient(f, x)
                assert zyg.gradient(compiled, x) == pytest.approx(by_hand, rel=1e-14)
                value, by_both = zyg.value_and_gradient(compiled, x)
                assert (value, by_both) == (expected, pytest.approx(by_hand, rel=1e-14))
        change()


@pytest.mark.parametrize("of", CHANGED)
def test_an_ask_does_what_it_stands_for_does(of):
    f, change = CHANGED[of]()
    compiled = zyg.compile(f)
    verbs = {"value": compiled, "gradient": lambda x: zyg.gradient(compiled, x)}
    for x in (1.5, np.float64(-0.5), 2):
        for call in verbs.values():
            call(x)
            call(x)
    for _ in range(2):
        for verb in verbs:
            assert any(hasattr(ask, "__self__") for ask in asks(compiled, verb)) == (of not in SEEN)
            for ask, python in zip(asks(compiled, verb), in_python(compiled, verb), strict=True):
                for args in ((1.5,), (np.float64(-0.5),), (2,), (X,), (), (1.0, 2), ("1",)):
                    assert repr(ask(f, args)) == repr(python(f, args))
        change()


def test_one_function_is_not_taken_for_another():
    def make(c):
        return zyg.compile(lambda x: x * c)

    f, g = make(2.0), make(3.0)
    for _ in range(3):
        assert (f(1.0), g(1.0)) == (2.0, 3.0)
        assert (zyg.gradient(f, 1.0), zyg.gradient(g, 1.0)) == ((2.0,), (3.0,))
    f.__wrapped__, g.__wrapped__ = g.__wrapped__, f.__wrapped__
    assert (f(1.0), g(1.0)) == (3.0, 2.0)
    assert zyg.gradient(f, 1.0) == (3.0,)


def test_new_rules_are_asked_for():
    f = zyg.compile(lambda x: x * x)
    assert zyg.gradient(f, 3.0) == zyg.gradient(f, 3.0) == (6.0,)
    (ask,) = asks(f, "gradient")
    args = (3.0,)
    assert ask(f.__wrapped__, args) == (9.0, (6.0,))
    rules[object()] = CONSTANT
    assert ask(f.__wrapped__, args) is NotImplemented
    assert zyg.gradient(f, 3.0) == (6.0,)
    assert len(asks(f, "gradient")) == 2


def test_keywords_defaults_and_more_arguments_are_as_in_python():
    f = zyg.compile(helper)
    for _ in range(2):
        assert f(2.0) == helper(2.0)
        assert f(2.0, 5.0) == helper(2.0, 5.0)
        assert f(2.0, m=5.0) == f(x=2.0, m=5.0) == helper(2.0, 5.0)
        assert f(2.0, n=1) == helper(2.0, n=1)
        assert zyg.gradient(f, 2.0, n=1) == (2.0,)
        assert zyg.gradient(f, 2.0, 5.0) == (5.0, 2.0)
        assert zyg.gradient(f, 2.0, zeros=True) == (2.0,)
        for wrong in ((), (1.0, 2.0, 3.0), (1.0,) * 5_000):
            for call in (f, lambda *args: f(*args, n=1), lambda *args: zyg.gradient(f, *args)):
                with pytest.raises(TypeError, match="positional argument"):
                    call(*wrong)
        with pytest.raises(TypeError, match="unexpected keyword"):
            f(2.0, k=1)


def test_what_is_given_a_function_is_read_once(monkeypatch):
    read, reads = specialize.read_calling_back, []
    monkeypatch.setattr(specialize, "read_calling_back", lambda *a: reads.append(1) or read(*a))
    f = zyg.compile(lambda g, x: g(x) * 2.0)
    for _ in range(3):
        assert (f(abs, -3.0), f(helper, 0.5)) == (6.0, 8.0)
        assert zyg.gradient(lambda x: f(helper, x), 3.0) == (4.0,)
    assert len(reads) <= 3


def test_methods_are_bound():
    model = Model(3.0)
    for _ in range(3):
        assert model.value(4.0) == 8.0
        assert Model.value(model, 4.0) == 8.0
        assert zyg.gradient(model.value, 4.0) == (2.0,)
        assert zyg.compile(model.scaled)(4.0) == 12.0
    scaled = zyg.compile(model.scaled)
    assert scaled(4.0) == scaled(4.0) == 12.0
    model.rate = 5.0
    assert (scaled(4.0), zyg.gradient(scaled, 4.0)) == (20.0, (5.0,))


def test_watched_arguments_are_watched():
    assert square(2.0) == 4.0
    assert zyg.gradient(lambda x: square(x) * x, 2.0) == (12.0,)
    assert zyg.gradient(lambda x: zyg.gradient(square, x)[0] * x, 2.0) == (8.0,)
    assert zyg.pushforward(square, (2.0,), (1.0,)) == (4.0, 4.0)
    assert zyg.gradient(lambda c: zyg.compile(lambda x: x * c)(3.0), 2.0) == (3.0,)


def test_zeros_stand_where_nothing_depends():
    f = zyg.compile(lambda x, y, pair: x * x + pair[0] * 0.0)
    for _ in range(3):
        assert zyg.gradient(f, 2.0, 1.0, (1.0, 2.0)) == (4.0, None, (0.0, None))
        zeros = zyg.gradient(f, 2.0, 1.0, (1.0, 2.0), zeros=True)
        assert zeros == (4.0, 0.0, (0.0, 0.0))
        assert zyg.grad(f)(2.0, 1.0, (1.0, 2.0)) == 4.0
        assert zyg.grad(f, (1, 0))(2.0, 1.0, (1.0, 2.0)) == (0.0, 4.0)
        assert zyg.grad(square)(3.0) == 6.0
        assert zyg.value_and_grad(square)(3.0) == (9.0, 6.0)
        assert zyg.value_and_grad(square, (0,))(3.0) == (9.0, (6.0,))
        assert zyg.gradient(square, 3.0, zeros=1) == (6.0,)


def test_exceptions_are_pythons_from_the_line_of_the_user():
    def f(x, n):
        return x * WEIGHTS[n]

    compiled = zyg.compile(f)
    for _ in range(3):
        assert compiled(2.0, 1) == 4.0
        for call in (compiled, lambda *args: zyg.gradient(compiled, *args)):
            with pytest.raises(IndexError) as caught:
                call(2.0, 7)
            assert caught.traceback[-1].name == "f"
            assert "zyg" not in {str(e.path.parent.name) for e in caught.traceback[1:]}


def test_a_compiled_function_is_what_it_was():
    assert square(2.0) == 4.0
    assert square.__name__ == "square"
    assert square.__doc__ == "The square."
    assert inspect.signature(square) == inspect.signature(square.__wrapped__)
    assert str(inspect.signature(square.__call__)) == "(*args, **kwargs)"
    assert inspect.unwrap(square) is square.py_func
    assert callable(square)
    assert square.__module__ == __name__
    assert pickle.loads(pickle.dumps(square)) is square
    assert copy.copy(square) is copy.deepcopy(square) is square
    assert weakref.ref(square)() is square
    square.note = 1
    assert vars(square)["note"] == 1


@pytest.mark.parametrize("verb", [zyg.gradient, zyg.value_and_gradient])
def test_a_verb_is_the_function_that_it_was(verb):
    found = verb(square, 3.0)
    assert verb(square, 3.0) == verb(square.py_func, 3.0) == found
    assert verb(square, 3.0, zeros=False) == found
    assert isinstance(verb, FunctionType)
    assert pickle.loads(pickle.dumps(verb)) is verb
    for wrong in ((), (square,), (None, 3.0)):
        with pytest.raises(TypeError):
            verb(*wrong)


def test_a_class_may_have_a_call_of_its_own():
    class Counted(Compiled):
        calls = 0

        def __call__(self, *args):
            self.calls += 1
            return super().__call__(*args)

    f = Counted(lambda x: x * 3.0)
    assert [f(2.0), f(2.0), f(2.0)] == [6.0] * 3
    assert f.calls == 3

    class Plain(Compiled):
        pass

    g = Plain(lambda x: x * 3.0)
    assert [g(2.0), g(2.0)] == [6.0] * 2
    assert zyg.gradient(g, 2.0) == (3.0,)


def test_what_is_not_made_is_not_called():
    with pytest.raises(AttributeError):
        Compiled.__new__(Compiled)(1.0)
    with pytest.raises(TypeError):
        Compiled.__call__(1.0)


def test_what_is_forgotten_is_found_again():
    f = zyg.compile(lambda x: x * SCALE)
    for _ in range(2):
        assert f(2.0) == 4.0
        assert zyg.gradient(f, 2.0) == (2.0,)
        f._entries.clear()
        f._recalled.clear()


def test_a_compiled_function_goes_with_what_it_holds():
    class Held(float):
        pass

    def make():
        rate, held = 2.0, Held(3.0)
        f = zyg.compile(lambda x: x * rate)
        f.held = held
        assert f(1.0) == f(1.0) == 2.0
        assert zyg.gradient(f, 1.0) == (2.0,)
        return weakref.ref(f), weakref.ref(held)

    refs = make()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_no_reference_is_lost():
    f, names = with_names(lambda x, y: np.sum(WEIGHTS * x) * y)
    f = zyg.compile(f)
    calls = [lambda: f(X, 2.0), lambda: zyg.gradient(f, X, 2.0), lambda: zyg.grad(f)(X, 2)]
    held = (X, names["WEIGHTS"], f, NotImplemented, Ellipsis)
    for call in calls:
        call()
        call()
    before = [sys.getrefcount(x) for x in held]
    for _ in range(1000):
        for call in calls:
            call()
    after = [sys.getrefcount(x) for x in held]
    assert all(abs(a - b) < 100 for a, b in zip(before, after, strict=True))


@pytest.mark.slow
def test_a_call_when_modules_are_gone_is_right(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, zyg\n@zyg.compile\ndef f(x):\n    return x * x\n"
        "print(f(2.0), zyg.gradient(f, 2.0))\n"
        "class Last:\n    def __init__(self): self.f, self.say = f, print\n"
        "    def __del__(self): self.say(self.f(3.0))\n"
        "sys.modules['zyg.compiling.functions'].last = Last()\n"
        "sys.modules['zyg.base.registry'].last = Last()\n"
    )
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["4.0", "(4.0,)", "9.0", "9.0"]


def test_threads_may_change_what_is_outside():
    f, names = with_names(lambda x: np.sum(WEIGHTS * x), WEIGHTS=np.full(20_000, 1.0))
    f, x = zyg.compile(f), np.ones(20_000)
    zyg.gradient(f, x), f(x)
    over, wrong = threading.Event(), []

    def change():
        k = 0
        while not over.is_set():
            k += 1
            names["WEIGHTS"] = np.full(20_000, float(k % 3))

    def ask():
        for _ in range(200):
            y, (g,) = zyg.value_and_gradient(f, x)
            if f(x) not in (0.0, 20_000.0, 40_000.0) or np.ptp(g) or y != g[0] * 20_000:
                wrong.append((y, g))

    changing = threading.Thread(target=change, daemon=True)
    asking = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in (changing, *asking):
        thread.start()
    for thread in asking:
        thread.join(120)
    over.set()
    changing.join(120)
    assert not wrong
