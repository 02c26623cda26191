"""What a function reaches has one digest: another one as soon as its program may be another one."""

import importlib.util
import itertools
import sys

import numpy as np
import pytest

import zyg
from zyg.compiling.fingerprint import Fingerprint, Unknown

numbers = itertools.count()


def module(tmp_path, text):
    """A module of this text; the line number of its code is another one each time."""
    name = f"reached_{next(numbers)}"
    file = tmp_path / f"{name}.py"
    file.write_text("\n" * next(numbers) + "import math, functools, collections, dataclasses"
                    ", enum\nimport numpy as np, zyg\n" + text)  # fmt: skip
    spec = importlib.util.spec_from_file_location("reached", file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def words(tmp_path, text):
    reached = Fingerprint(module(tmp_path, text).f)
    return reached.words, reached.but_for(())


PLAIN = "def f(x): return x * 2.0"
HELPER = "def h(x): return {}\ndef f(x): return h(x)"
INNER = "def f(x):\n  def g(y): return {}\n  return g(x)"
CLOSED = "def make(a):\n def f(x): return x * a\n return f\nf = make({})"
CLASS = (
    "class A:\n  k = 2\n  def __init__(self, x): self.x = x\n  def m(self): return {}\n"
    "def f(x): return A(x).m()"
)
DATA = "@dataclasses.dataclass\nclass A:\n  x: float\n  n: int = {}\ndef f(x): return A(x).n * x"
OBJECT = "class A: pass\na = A()\na.inner = A()\na.inner.n = {}\ndef f(x): return x * a.inner.n"
SLOTS = "class A: __slots__ = '__n'\na = A()\na._A__n = {}\ndef f(x): return x * a._A__n"
ENUM = "class E(enum.Enum):\n  A = {}\ndef f(x): return x * E.A.value"
MADE = "def g(x, y): return {}\nf = zyg.{}(g{})"
PAIRS = [
    (MADE.format("x * y", "grad", ""), MADE.format("x * y", "grad", ", 1")),
    (MADE.format("x * y", "grad", ""), MADE.format("x + y", "grad", "")),
    (MADE.format("x * y", "grad", ""), MADE.format("x * y", "value_and_grad", "")),
    (MADE.format("x * y", "vmap", ""), MADE.format("x * y", "vmap", ", (0, None)")),
    (PLAIN, "def f(x): return x * 3.0"),
    (PLAIN, "def f(x): return x + 2.0"),
    (PLAIN, "def f(x, n=1): return x * 2.0"),
    ("def f(x, n=1): return x * n", "def f(x, n=2): return x * n"),
    ("def f(x, *, n=1): return x * n", "def f(x, *, n=2): return x * n"),
    ("def f(x): return x * -0.0", "def f(x): return x * 0.0"),
    ("def f(x): return x * (1, 2)[0]", "def f(x): return x * (1.0, 2)[0]"),
    (INNER.format("y"), INNER.format("-y")),
    (HELPER.format("x + x"), HELPER.format("x - x")),
    (HELPER.format("x + x"), "def h(x, y=1): return x + x\ndef f(x): return h(x)"),
    (CLOSED.format("2"), CLOSED.format("3")),
    (CLOSED.format("2"), CLOSED.format("2.0")),
    (CLOSED.format("math.sin"), CLOSED.format("math.cos")),
    (CLOSED.format("(1, 2)"), CLOSED.format("(1, 3)")),
    (CLOSED.format("[1, 2]"), CLOSED.format("(1, 2)")),
    (CLOSED.format("{'a': 1}"), CLOSED.format("{'b': 1}")),
    (CLOSED.format("np.zeros(2)"), CLOSED.format("np.zeros((2, 2))")),
    (CLOSED.format("np.zeros(2)"), CLOSED.format("np.zeros(2, np.float32)")),
    (CLOSED.format("functools.partial(pow, 2)"), CLOSED.format("functools.partial(pow, 3)")),
    ("n = 1\ndef f(x): return x * n", "n = 2\ndef f(x): return x * n"),
    ("n = 1\ndef f(x): return x * n", "n = True\ndef f(x): return x * n"),
    ("def f(x): return abs(x)", "def abs(x): return x\ndef f(x): return abs(x)"),
    ("def f(x): return np.sin(x)", "import zyg.numpy as np\ndef f(x): return np.sin(x)"),
    ("def f(x): return math.sin(x)", "class math: sin = np.cos\ndef f(x): return math.sin(x)"),
    (CLASS.format("self.x"), CLASS.format("-self.x")),
    (CLASS.format("self.k"), CLASS.replace("k = 2", "k = 3").format("self.k")),
    (CLASS.format("self.x"), CLASS.replace("A:", "A(B):").format("self.x") + "\nclass B: pass"),
    (DATA.format("2"), DATA.format("3")),
    (OBJECT.format("2"), OBJECT.format("3")),
    (SLOTS.format("2"), SLOTS.format("3")),
    (ENUM.format("2"), ENUM.format("3")),
    ("def f(x): return x", "def g(f): return f\n@g\ndef f(x): return -x"),
    ("def f(x): return x\nf.n = 1", "def f(x): return x\nf.n = 2"),
    ("def h(x): return x\nh = zyg.compile(h)\ndef f(x): return h(x)",
     "def h(x): return -x\nh = zyg.compile(h)\ndef f(x): return h(x)"),
    ("A = collections.namedtuple('A', 'a b')\ndef f(x): return A(x, 1).a",
     "A = collections.namedtuple('A', 'b a')\ndef f(x): return A(x, 1).a"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_differs_has_another_digest_and_the_same_text_has_the_same(tmp_path, one, other):
    other = "class B: pass\n" + other if "(B)" in other else other

    assert words(tmp_path, one) == words(tmp_path, one)
    assert words(tmp_path, one) != words(tmp_path, other)


def test_floats_and_arrays_are_apart_as_they_may_be_operands(tmp_path):
    text = (
        "class A: k = {0}\nc = {0}\nxs = [{0}]\na = np.full(2, {0})\n"
        "def f(x): return x * c * xs[0] * a[0] * A.k"
    )
    one, other = (Fingerprint(module(tmp_path, text.format(x)).f) for x in (0.5, 0.25))

    assert one.words == other.words
    assert one.but_for(()) != other.but_for(())
    operands = {(("global", name),) for name in ("c", "a")} | {(("global", "xs"), ("item", 0))}
    assert one.but_for(operands) != other.but_for(operands)
    operands.add((("global", "A"), ("attr", "k")))
    assert one.but_for(operands) == other.but_for(operands)


def test_what_a_module_of_the_users_has_is_looked_at(tmp_path, monkeypatch):

    texts = [
        "def h(x): return x\nunused = 1",
        "def h(x): return -x\nunused = 1",
        "def h(x): return x\nunused = 2",
    ]
    found = []
    for text in texts:
        monkeypatch.setitem(sys.modules, "helpers_of_f", module(tmp_path, text))
        found.append(words(tmp_path, "import helpers_of_f\ndef f(x): return helpers_of_f.h(x)"))

    assert found[0] != found[1]
    assert found[0] == found[2]


@pytest.mark.parametrize("name", ["sin", "linalg"])
def test_what_is_put_in_the_place_of_a_function_of_numpys_is_seen(tmp_path, monkeypatch, name):
    text = "def f(x): return np.sin(x) + np.linalg.norm(x)"
    before = words(tmp_path, text)

    monkeypatch.setattr(*((np, "sin", np.cos) if name == "sin" else (np.linalg, "norm", np.sum)))
    assert words(tmp_path, text) != before


OTHERS = [
    CLOSED.format("np.random.default_rng(0)"), CLOSED.format("object()"),
    CLOSED.format("zyg.scalar_rule(lambda x: x, lambda x, y: 1.0)"),
    "h = zyg.adjoint(lambda x: (x, lambda b: (b,)))\ndef f(x): return h(x)",
    "@zyg.nondifferentiable\ndef h(x): return x\ndef f(x): return h(x)",
    CLOSED.format("[0.0] * 30_000"),
]  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_what_cannot_be_told_again_has_no_digest(tmp_path, text):
    with pytest.raises(Unknown):
        words(tmp_path, text)


def test_a_watched_number_has_no_digest(tmp_path):
    made = module(tmp_path, CLOSED.format("2"))

    def reached(a):
        with pytest.raises(Unknown):
            Fingerprint(made.make(a))
        return a * 1.0

    assert zyg.gradient(reached, 0.5) == (1.0,)
