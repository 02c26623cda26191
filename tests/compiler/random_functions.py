"""Random functions as users write them, in plain Python and NumPy, and all who must agree on them.

Numbers, arrays of one and two axes, loops of every kind with exits, branches on values, writes to
elements, slices and through views, in-place operators, helpers, closures, tuples, lists, swaps.
``python -m tests.compiler.random_functions --seeds 1000`` says what disagrees, and what is not
compiled.
"""

import argparse
import collections
import functools
import random
import signal
import tempfile
import traceback
from pathlib import Path

import numpy as np

import zyg
from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.autodiff.forward import pushforward
from zyg.compiler.autodiff.reverse import vjp
from zyg.compiler.back.native_function import Native
from zyg.compiler.back.python_signature import Signature, wrapped_text
from zyg.compiler.front.whole import WholeCaptures, read_whole
from zyg.compiler.ir import type_of
from zyg.compiler.kinds import kind_of, made_of
from zyg.errors import KernelError

from ..modules import imported
from .interpreted import interpreted
from .kit import module_text, operands_of

PLAIN = "import math\n\nimport numpy as np\n"
DROP_INS = "import zyg.math as math\nimport zyg.numpy as np\n"
HELPERS = """

GAIN = 0.7
TABLE = np.array([0.3, -0.8, 0.5])


def bend(p, q):
    if p > q:
        return math.tanh(p) * q
    return p - 0.3 * math.sin(q)


def smooth(u):
    out = np.zeros(len(u))
    out[0] = u[0]
    for k in range(1, len(u)):
        out[k] = 0.5 * (u[k] + out[k - 1])
    return out


def damp(u, by=0.5):
    for k in range(len(u)):
        u[k] = math.sin(u[k]) * by


def halves(p):
    return 0.5 * p, math.cos(p)


def apply(g, p):
    return g(g(p))


def energy(n, p):
    if n == 0:
        return p
    return 0.8 * energy(n - 1, math.sin(p)) + GAIN * p
"""
PARAMETERS = ("a", "b", "x", "y", "A")
N, M = 4, 3  # the lengths of axes
_SCALAR = ("math.sin", "math.tanh", "math.cos", "math.atan", "abs", "np.sin", "np.tanh", "math.exp")
_ARRAY = ("np.sin", "np.tanh", "np.cos", "np.abs", "np.arctan")
_REDUCE = ("np.sum", "np.max", "np.mean", "np.min")


class Names:
    """What a statement may use: floats, ints below a bound, arrays with their shapes."""

    def __init__(self, floats, ints, arrays, own, pairs=()):
        self.floats, self.ints, self.arrays = list(floats), dict(ints), dict(arrays)
        self.own, self.pairs = set(own), list(pairs)

    def copy(self):
        return Names(self.floats, self.ints, self.arrays, self.own, self.pairs)


_STEPS = ("let", "let", "let_array", "let_array", "change", "write", "write", "write_slice",
          "change_array", "swap", "pair", "alias", "rebind")  # fmt: skip
_NESTS = ("branch", "over_range", "over_range", "over_array", "while_", "leave", "function",
          "lists")  # fmt: skip
# What some functions do without, so that others meet more often.
_OPTIONAL = ("lambda", "for t in", "cumsum", "energy(", "halves(", "np.dot", " @ ", "np.where",
             "np.max", "apply(", "bend(", "smooth(", "damp(", "[::-1]", ".T", "GAIN", "TABLE")  # fmt: skip  # noqa: E501


class Writer:
    """Writes one function."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.fresh, self.functions = [], 0, []
        self.without = {x for x in _OPTIONAL if self.random.random() < 0.4}
        self.steps = [step for step in _STEPS if self.random.random() < 0.75] or [*_STEPS]
        self.nests = [step for step in _NESTS if self.random.random() < 0.7] or [*_NESTS]
        self.result = self.pick("float", "float", "pair", "array")

    def pick(self, *forms):
        return self.random.choice(forms)

    def allowed(self, forms):
        """One of several texts."""
        return self.pick(
            *([x for x in forms if not any(part in x for part in self.without)] or forms)
        )

    def new(self, stem):
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    # Expressions

    def index(self, names, bound):
        forms = [str(self.random.randrange(bound)), f"-{self.random.randint(1, bound)}"]
        for name, most in names.ints.items():
            forms += [name, name] if most < bound else [f"{name} % {bound}"]
            forms += [f"({name} + 1) % {bound}", f"-1 - {name} % {bound}"]
        return self.pick(*forms)

    def element(self, names, own=False):
        """An element of an array; None if there is none."""
        found = [(x, s) for x, s in names.arrays.items() if not own or x in names.own]
        if not found:
            return None
        name, shape = self.pick(*found)
        where = [self.index(names, n) for n in shape]
        chained = len(shape) == 2 and self.random.random() < 0.3
        return f"{name}[{where[0]}][{where[1]}]" if chained else f"{name}[{', '.join(where)}]"

    def number(self, names, depth):
        if depth == 0 or self.random.random() < 0.2:
            leaf = [*names.floats, *names.floats, f"{self.random.uniform(-2, 2):.3f}"]
            leaf += [self.element(names)] if names.arrays else []
            leaf += [f"{p}[{self.random.randrange(2)}]" for p in names.pairs]
            return self.pick(*leaf)
        x, y = (self.number(names, depth - 1) for _ in range(2))
        forms = [
            f"({x} + {y})", f"({x} - {y})", f"{x} * {y}", f"{x} / (1.5 + abs({y}))",
            f"{self.pick(*_SCALAR[:-1])}({x})", f"math.exp(-abs({x}))", f"bend({x}, {y})",
            f"max({x}, {y})", f"min({x}, {y})",
            f"({x} if {self.condition(names, depth - 1)} else {y})",
            f"math.tanh({x}) ** 2", f"halves({x})[{self.random.randrange(2)}]", f"GAIN * {x}",
            f"math.sqrt(0.5 + abs({x}))", f"math.hypot({x}, {y})", f"-{x}",
            f"TABLE[{self.random.randrange(3)}] * {x}", f"energy({self.random.randrange(3)}, {x})",
            f"apply(math.sin, {x})", f"apply(lambda t: 0.5 * t + {y}, {x})",
        ]  # fmt: skip
        forms += [f"{name}({x})" for name in self.functions]
        forms += [f"{self.pick(*_REDUCE)}({self.array(names, 1, (N,))})",
                  f"sum([{self.pick('t', 'math.sin(t)')} for t in {self.array(names, 0, (N,))}])",
                  f"np.dot({self.array(names, 0, (N,))}, {self.array(names, 1, (N,))})",
                  f"np.sum({self.array(names, 0, (M, N))})"]  # fmt: skip
        return self.allowed(forms)

    def condition(self, names, depth):
        x, y, z = (self.number(names, max(depth - 1, 0)) for _ in range(3))
        forms = [f"{x} < {y}", f"{x} > {y}", f"{x} <= {y} < {z}", f"not {x} > {y}",
                 f"({x} < {y} and {y} > {z})", f"({x} > {y} or {z} > 0.5)"]  # fmt: skip
        forms += [f"{name} % 2 == {self.random.randrange(2)}" for name in names.ints]
        return self.pick(*forms)

    def known(self, names, shape):
        """Expressions that are arrays of a shape: names, and views."""
        for name, own in names.arrays.items():
            if own == shape:
                yield name
                yield f"{name}[::-1]"
            if len(own) == 2 and own[1:] == shape:
                yield f"{name}[{self.index(names, own[0])}]"
            if len(own) == 2 and own[:1] == shape:
                yield f"{name}[:, {self.index(names, own[1])}]"
            if len(shape) == 2 and own == shape[::-1]:
                yield f"{name}.T"

    def array(self, names, depth, shape):
        known = [*self.known(names, shape)]
        text = str(shape[0]) if len(shape) == 1 else str(shape)
        if depth == 0 or (known and self.random.random() < 0.2):
            return self.allowed(known) if known else f"np.ones({text})"
        x, y = (self.array(names, depth - 1, shape) for _ in range(2))
        v = self.number(names, depth - 1)
        forms = [
            f"({x} + {y})", f"({x} - {y})", f"{x} * {y}", f"{self.pick(*_ARRAY)}({x})",
            f"{v} * {x}", f"({x} + {v})", f"{x} / (1.5 + np.abs({y}))", f"np.maximum({x}, {y})",
            f"np.where({x} > {v}, {x}, {y})", f"np.exp(-np.abs({x}))", f"{x}.copy()",
        ]  # fmt: skip
        if len(shape) == 1:
            forms += [f"smooth({x})", f"np.cumsum({x})"] if shape == (N,) else [f"smooth({x})"]
            forms += [f"np.array([math.sin(t) for t in {x}])"]
            wide = [(m, own) for m, own in names.arrays.items() if len(own) == 2]
            forms += [
                f"{m} @ {self.array(names, 0, own[1:])}" for m, own in wide if own[:1] == shape
            ]
        else:
            forms += [f"({x} + {self.array(names, 0, shape[1:])})"]
        return self.allowed(forms)

    # Statements

    def block(self, indent, names, depth, loop, least=1):
        names, before = names.copy(), len(self.lines)
        for _ in range(self.random.randint(least, least + 2)):
            self.statement(indent, names, depth, loop)
        if len(self.lines) == before:
            self.line(indent, "pass")
        return names

    def statement(self, indent, names, depth, loop):
        forms = [*self.steps, *self.nests] if depth else self.steps
        getattr(self, self.pick(*forms))(indent, names, depth, loop)

    def let(self, indent, names, *_):
        name = self.new("v")
        self.line(indent, f"{name} = {self.number(names, 2)}")
        names.floats.append(name)

    def pair(self, indent, names, *_):
        if self.random.random() < 0.5:
            one, other = self.new("v"), self.new("v")
            self.line(indent, f"{one}, {other} = halves({self.number(names, 1)})")
            names.floats += [one, other]
        else:
            name = self.new("p")
            self.line(indent, f"{name} = {self.number(names, 1)}, {self.number(names, 1)}")
            names.pairs.append(name)

    def let_array(self, indent, names, *_):
        name, shape = self.new("u"), self.pick((N,), (N,), (M, N), (M,))
        size = "len(x)" if shape == (N,) else str(shape)
        made = self.pick(f"np.zeros({size})", f"np.full({size}, 0.25)", None, None, None)
        made = made or f"{self.array(names, 1, shape)} * {self.random.uniform(-1, 1):.3f}"
        self.line(indent, f"{name} = {made}")
        names.arrays[name] = shape
        names.own.add(name)

    def alias(self, indent, names, *_):
        """Another name, or a view, through which is written later."""
        own = [x for x in names.arrays if x in names.own]
        if not own:
            return
        name, of = self.new("w"), self.pick(*own)
        shape = names.arrays[of]
        forms = [("{}", shape), ("{}[::-1]", shape), ("{}[:]", shape)]
        if len(shape) == 2:
            forms += [
                ("{}[1]", shape[1:]), ("{}[:, 2]", shape[:1]), ("{}.T", shape[::-1]),
                ("{}.reshape(-1)", (M * N,)), ("{}[1:]", (shape[0] - 1, shape[1])),
            ]  # fmt: skip
        else:
            forms += [("{}[1:]", (shape[0] - 1,)), ("{}[::2]", (-(-shape[0] // 2),))]
        text, made = self.pick(*forms)
        if 0 in made:
            return
        if "reshape" in text and of.startswith("w"):
            return  # may be a copy
        self.line(indent, f"{name} = {text.format(of)}")
        names.arrays[name] = made
        names.own.add(name)

    def rebind(self, indent, names, *_):
        """A name that gets another array."""
        own = [x for x in names.arrays if x in names.own and x.startswith("u")]
        if own:
            name = self.pick(*own)
            made = self.array(names, 1, names.arrays[name])
            self.line(indent, f"{name} = {self.random.uniform(-1, 1):.3f} * {made}")

    def change(self, indent, names, *_):
        self.line(indent, f"{self.pick(*names.floats)} {self.pick(*'+-*')}= "
                          f"math.sin({self.number(names, 1)})")  # fmt: skip

    def write(self, indent, names, *_):
        target = self.element(names, own=True)
        if target:
            sign = self.pick("", "", "+", "-", "*")
            self.line(indent, f"{target} {sign}= math.sin({self.number(names, 2)})")

    def write_slice(self, indent, names, *_):
        own = [x for x in names.arrays if x in names.own]
        if not own:
            return
        name = self.pick(*own)
        shape = names.arrays[name]
        n, rest = shape[0], shape[1:]
        if n < 2:
            return
        inner = self.array(names, 1, rest) if rest else f"math.cos({self.number(names, 1)})"
        forms = [
            f"{name}[:] = np.sin({self.array(names, 1, shape)})",
            f"{name}[1:] = {name}[:-1] * 0.5", f"{name}[:-1] += 0.3 * {name}[1:]",
            f"{name}[{self.index(names, n)}] = {inner}",
            f"{name}[...] = math.tanh({self.number(names, 1)})",
            f"{name}[::2] *= 0.5", f"{name}[1:] = math.sin({self.number(names, 1)})",
        ]  # fmt: skip
        if rest:
            column = self.index(names, rest[0])
            forms += [
                f"{name}[:, {column}] = math.sin({self.number(names, 1)})",
                f"{name}[:, 1:] = {name}[:, :-1] * 0.5",
                f"{name}[0], {name}[1] = {name}[1].copy(), {name}[0].copy()",
            ]
        else:
            forms += [f"{name}[0], {name}[1] = {name}[1], {name}[0]", f"damp({name})",
                      f"damp({name}, by=0.3)"]  # fmt: skip
        self.line(indent, self.allowed(forms))

    def change_array(self, indent, names, *_):
        own = [x for x in names.arrays if x in names.own]
        if own:
            name = self.pick(*own)
            forms = [f"{name} += np.sin({self.array(names, 1, names.arrays[name])})",
                     f"{name} *= math.cos({self.number(names, 1)})",
                     f"{name} -= 0.1 * {name}[::-1]"]  # fmt: skip
            self.line(indent, self.pick(*forms))

    def swap(self, indent, names, *_):
        arrays = [x for x in names.arrays if x.startswith("u")]
        a, b = (self.pick(*names.floats) for _ in range(2))
        if arrays and self.random.random() < 0.4:
            a = self.pick(*arrays)
            b = self.pick(*(x for x in arrays if names.arrays[x] == names.arrays[a]))
            self.line(indent, f"{a}, {b} = {b}, {a}")
        else:
            self.line(indent, f"{a}, {b} = {b}, math.sin({self.number(names, 1)})")

    def function(self, indent, names, *_):
        """A function inside, which captures a number and an array as they are when it is called."""
        if indent > 1:
            return
        name = self.new("g")
        self.line(indent, f"def {name}(t, k={self.random.randrange(N)}):")
        inner = names.copy()
        inner.floats.append("t")
        if self.random.random() < 0.3:
            self.line(indent + 1, f"if t > {self.number(names, 0)}:")
            self.line(indent + 2, f"return {self.number(inner, 1)}")
        self.line(indent + 1, f"return {self.number(inner, 1)} + 0.1 * x[k]")
        self.functions.append(name)

    def lists(self, indent, names, *_):
        name, t = self.new("l"), self.new("v")
        self.line(indent, f"{name} = []")
        count = self.random.randint(2, 5)
        i = self.new("i")
        self.line(indent, f"for {i} in range({count}):")
        inner = names.copy()
        inner.ints[i] = count - 1
        self.line(indent + 1, f"{name}.append({self.number(inner, 1)})")
        self.line(indent, f"{t} = sum({name}) / {count} + {name}[{self.random.randrange(2)}]")
        names.floats.append(t)

    def branch(self, indent, names, depth, loop):
        self.line(indent, f"if {self.condition(names, 1)}:")
        self.block(indent + 1, names, depth - 1, loop)
        if self.random.random() < 0.3:
            self.line(indent, f"elif {self.condition(names, 1)}:")
            self.block(indent + 1, names, depth - 1, loop)
        if self.random.random() < 0.6:
            self.line(indent, "else:")
            self.block(indent + 1, names, depth - 1, loop)

    def body(self, indent, names, depth, more=None):
        name = self.pick(*names.floats)
        inside = self.block(indent, names, depth - 1, True)
        self.line(indent, f"{name} = 0.5 * {name} + math.tanh({self.number(inside, 1)})")

    def after(self, indent, names, depth):
        if self.random.random() < 0.2:
            self.line(indent, "else:")
            self.block(indent + 1, names, depth - 1, False)

    def over_range(self, indent, names, depth, loop):
        inner, name = names.copy(), self.new("i")
        rounds, most = self.pick(("3", 2), ("1, 4, 2", 3), (f"{N}", N - 1), ("3, 0, -1", 3),
                                 ("len(x)", N - 1), ("len(A)", M - 1), ("0", 0))  # fmt: skip
        if rounds == "3" and inner.ints and self.random.random() < 0.5:
            outer = self.pick(*inner.ints)
            rounds, most = f"{outer} + 1", inner.ints[outer]
        self.line(indent, f"for {name} in range({rounds}):")
        inner.ints[name] = most
        self.body(indent + 1, inner, depth)
        self.after(indent, names, depth)

    def over_array(self, indent, names, depth, loop):
        inner, t, k = names.copy(), self.new("t"), self.new("i")
        vector = self.array(names, 0, (N,))
        form = self.pick("elements", "enumerate", "zip", "rows")
        if form == "elements":
            self.line(indent, f"for {t} in {vector}:")
        elif form == "enumerate":
            self.line(indent, f"for {k}, {t} in enumerate({vector}):")
            inner.ints[k] = N - 1
        elif form == "zip":
            other = self.new("t")
            self.line(indent, f"for {t}, {other} in zip({vector}, {self.array(names, 0, (N,))}):")
            inner.floats.append(other)
        else:
            self.line(indent, f"for {t} in {self.array(names, 0, (M, N))}:")
        if form == "rows":
            inner.arrays[t] = (N,)
        else:
            inner.floats.append(t)
        self.body(indent + 1, inner, depth)
        self.after(indent, names, depth)

    def while_(self, indent, names, depth, loop):
        inner, n = names.copy(), self.new("n")
        self.line(indent, f"{n} = 0")
        self.line(indent, f"while {n} < 3 and {self.condition(names, 1)}:")
        self.line(indent + 1, f"{n} += 1")
        inner.ints[n] = 3
        self.body(indent + 1, inner, depth)
        self.after(indent, names, depth)

    def leave(self, indent, names, depth, loop):
        self.line(indent, f"if {self.condition(names, 1)}:")
        ways = ["break", "continue", "break", "continue"] if loop else []
        if not ways or self.random.random() < 0.25:
            ways = [f"return {self.returned(names)}"]
        self.line(indent + 1, self.pick(*ways))

    def returned(self, names):
        number = f"{self.number(names, 2)} + {self.number(names, 1)}"
        if self.result == "float":
            return number
        row = self.array(names, 1, (N,))
        return f"({number}, {row} + 0.0)" if self.result == "pair" else f"{row} + ({number})"


def source(name, seed):
    """The text of a function of two floats, two arrays of one axis and one of two."""
    writer = Writer(seed)
    arrays = {"x": (N,), "y": (N,), "A": (M, N)}
    writer.line(0, f"def {name}({', '.join(PARAMETERS)}):")
    names = Names(["a", "b"], {}, arrays, writer.pick((), (), ("x",)))
    names = writer.block(1, names, 3, False, least=3)
    names = writer.block(1, names, 2, False)
    writer.line(1, f"return {writer.returned(names)}")
    return "\n".join(writer.lines) + "\n"


def arguments(seed):
    draw = np.random.default_rng(seed).uniform
    return [
        float(draw(-1, 1)),
        float(draw(-1, 1)),
        draw(-1, 1, N),
        draw(-1, 1, N),
        draw(-1, 1, (M, N)),
    ]


# Who must agree


def fresh(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def total(np, result):
    """A number of a result, in which every part counts differently."""
    parts = [np.sum(np.cos(np.arange(N) + k) * y) if np.ndim(y) else (k + 1.0) * y
             for k, y in enumerate(leaves(result))]  # fmt: skip
    return functools.reduce(lambda a, b: a + b, parts)


def flat(values):
    return np.concatenate([np.ravel(np.asarray(v, float)) for v in values])


def direction(args):
    draw = np.random.default_rng(5).normal
    return [draw(size=x.shape) if isinstance(x, np.ndarray) else float(draw()) for x in args]


def difference(f, args, dots, eps):
    """The slope along a direction, by fourth-order differences."""

    def at(t):
        return total(np, f(*(x + t * d for x, d in zip(fresh(args), dots, strict=True))))

    return (8 * (at(eps) - at(-eps)) - at(2 * eps) + at(-2 * eps)) / (12 * eps)


class Disagreement(AssertionError):  # noqa: N818
    """Two ways to compute one thing do not."""


def agree(what, got, right, rtol=1e-9):
    got, right = flat(leaves(got)), flat(leaves(right))
    scale = max(1.0, float(np.max(np.abs(right), initial=0.0)))
    if got.shape != right.shape or not np.allclose(got, right, rtol=rtol, atol=rtol * scale):
        raise Disagreement(f"{what}: {got} instead of {right}")


class Case:
    """A function that was written, in plain NumPy and with the drop-ins, at its arguments."""

    def __init__(self, seed, folder):
        self.seed, self.text = seed, source("f", seed)
        self.f, self.traced = (
            imported(head + HELPERS + "\n\n" + self.text, Path(folder) / f"{stem}_{seed}.py").f
            for head, stem in ((PLAIN, "plain"), (DROP_INS, "traced"))
        )
        self.args = arguments(seed)

    @property
    def result(self):
        return type(self.value).__name__

    @functools.cached_property
    def value(self):
        """What Python gives; None if that is not finite, or large."""
        with np.errstate(all="ignore"):
            try:
                y = self.f(*fresh(self.args))
            except (OverflowError, ZeroDivisionError, ValueError):
                return None
        found = flat(leaves(y))
        return y if np.all(np.isfinite(found)) and np.max(np.abs(found)) < 1e3 else None

    @functools.cached_property
    def gradient(self):
        """By the traced engine."""

        def loss(*args):
            return total(zyg.numpy, self.traced(*args))

        return zyg.gradient(loss, *fresh(self.args), zeros=True)

    @functools.cached_property
    def slope(self):
        """Along the direction, by differences; None where there is a kink."""
        dots = direction(self.args)
        one, other = (difference(self.f, self.args, dots, eps) for eps in (1e-4, 3e-5))
        return one if abs(one - other) <= 1e-6 * max(1.0, abs(one)) else None

    def along(self):
        dots = direction(self.args)
        return sum(np.sum(g * d) for g, d in zip(self.gradient, dots, strict=True))

    def engine_agrees(self):
        """The traced engine with Python and with differences."""
        agree("the traced value", self.traced(*fresh(self.args)), self.value, 1e-12)
        if self.slope is not None:
            agree("the traced gradient and differences", self.along(), self.slope, 1e-5)

    def compiled_agrees(self):
        """Program, text, machine code and derivatives with Python; KernelError if not compiled."""
        kinds = [kind_of(x) for x in self.args]
        captures = WholeCaptures(lambda x: x)
        whole = read_whole(self.f, kinds, {}, captures)
        captured = [(f"c{k}", kind_of(x), x) for k, x in enumerate(captures.values(self.f))]
        given = [*zip(kinds, self.args, strict=True), *((kind, x) for _, kind, x in captured)]
        operands = [x for kind, value in given for x in operands_of(kind, value)]
        named = [*zip(PARAMETERS, kinds, strict=True)]
        self.values_agree(whole, operands, Signature("f", named, whole.result, captured))
        self.forward_agrees(whole, operands)
        self.reverse_agrees(whole, operands)
        if self.seed % 4 == 0:
            self.decorated_agrees()

    def decorated_agrees(self):
        """The function as users compile it."""
        f, args = zyg.compile(self.f), fresh(self.args)
        with zyg.config(fallback="error"):
            agree("the compiled function", f(*args), self.value, 1e-12)
            self.same_writes("the compiled function", args[2:])
            found = zyg.gradient(lambda *args: total(zyg.numpy, f(*args)), *fresh(self.args),
                                 zeros=True)  # fmt: skip
            agree("the gradient of the compiled function", found, self.gradient, 1e-7)
            if self.result in ("float", "float64"):
                found = zyg.gradient(f, *fresh(self.args), zeros=True)
                agree("its gradient, taken at once", found, self.gradient, 1e-7)

    def values_agree(self, whole, operands, signature):
        native = Native(whole.program)
        given = fresh(operands)
        y = made_of(whole.result, iter(native(*given)))
        agree("the value by machine code", y, self.value, 1e-12)
        self.same_writes("machine code", [x for x in given if isinstance(x, np.ndarray)])
        if self.seed % 10 == 0:
            y = made_of(whole.result, iter(interpreted(whole.program, *fresh(operands))))
            agree("the value by the interpreter", y, self.value, 1e-12)
        space, args = {}, fresh(self.args)
        exec(wrapped_text(signature, whole.program), space)
        agree("the value by the text", space["f"](*args), self.value, 1e-12)
        self.same_writes("the text", args[2:])

    def same_writes(self, name, given):
        """What is in the arguments after a call."""
        args = fresh(self.args)
        self.f(*args)
        for x, y in zip(args[2:], given, strict=False):
            agree(f"an argument, written by {name}", y, x, 1e-12)

    def active(self, program):
        reals = [k for k, x in enumerate(program.inputs) if x.type.startswith("float")]
        return reals[: len(self.args)]

    def forward_agrees(self, whole, operands, strong=False):
        program = whole.program
        dots = [np.ravel(d) if isinstance(d, np.ndarray) else d for d in direction(self.args)]
        outs = Native(pushforward(program, self.active(program), strong))(*dots, *fresh(operands))
        tangents = iter(outs[len(program.outputs) :])
        mixed = [next(tangents) if is_real(type_of(y)) else out
                 for y, out in zip(program.outputs, outs, strict=False)]  # fmt: skip
        y_dot = made_of(whole.result, iter(mixed))
        if not strong and not np.all(np.isfinite(flat([0.0, *leaves(y_dot)]))):
            self.forward_agrees(whole, operands, strong=True)
            return
        agree("the tangent by machine code", total(np, y_dot), self.along(), 1e-7)

    def reverse_agrees(self, whole, operands, strong=False):
        """With exact zeros kept, if the derivative is not finite otherwise: as `gradient` does."""
        program = whole.program
        bars = [np.cos(np.arange(N) + k) if np.ndim(y) else k + 1.0
                for k, y in enumerate(leaves(self.value))]  # fmt: skip
        derived = vjp(program, self.active(program), strong)
        ways = {"machine code": Native(derived.program)}
        if self.seed % 10 == 0:
            space = {}
            exec(module_text(derived.program, "f"), space)
            ways["the text"] = space["f"]
        right = dict(zip(self.active(program), self.gradient, strict=True))
        for name, run in ways.items():
            given = fresh(operands)
            outs = run(*given, *fresh(bars))
            outs = outs if isinstance(outs, (tuple, list)) else [outs]  # the text's only one
            cotangents = outs[len(program.outputs) :]
            if not strong and not np.all(np.isfinite(flat([0.0, *cotangents]))):
                self.reverse_agrees(whole, operands, strong=True)
                return
            found = dict(zip(derived.moving, cotangents, strict=True))
            for k, bar in right.items():
                agree(f"gradient {k} by {name}", found.get(k, 0.0 * bar), bar, 1e-7)
            for x, before in zip(given, operands, strict=True):
                agree(f"an argument, after the gradient by {name}", x, before, 0)
        if self.seed % 3 == 0 and derived.moving:
            self.second_agrees(derived, ways["machine code"], operands, bars)

    def second_agrees(self, derived, gradient, operands, bars):
        """Forward over reverse, against differences of the gradient."""
        count, active = len(derived.moving), self.active(derived.program)
        dots = [np.ravel(d) if isinstance(d, np.ndarray) else d for d in direction(self.args)]

        def at(t):
            moved = fresh(operands)
            for k, dot in zip(active, dots, strict=True):
                moved[k] = moved[k] + t * dot
            return flat(gradient(*moved, *fresh(bars))[-count:])

        one, other = ((at(eps) - at(-eps)) / (2 * eps) for eps in (1e-5, 3e-6))
        if np.allclose(one, other, rtol=1e-5, atol=1e-5 * max(1.0, np.max(np.abs(one)))):
            second = Native(pushforward(derived.program, active))
            outs = second(*dots, *fresh(operands), *fresh(bars))
            agree("second derivatives and differences", flat(outs[-count:]), one, 1e-4)


def checked(seed, folder):
    """What came of a seed: "native", or why it is not, or "wild" where values are not finite."""
    case = Case(seed, folder)
    if case.value is None:
        return "wild"
    case.engine_agrees()
    try:
        case.compiled_agrees()
    except KernelError as error:
        return str(error).splitlines()[0]
    return "native"


def too_long(*_):
    raise TimeoutError("it takes more than a minute")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print the text of what disagrees")
    options = parser.parse_args()
    counts = collections.Counter()
    signal.signal(signal.SIGALRM, too_long)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.seeds):
            signal.alarm(60)
            try:
                counts[checked(seed, folder)] += 1
            except Exception as error:
                counts["disagreement"] += 1
                print(f"{seed}: {type(error).__name__}: {str(error)[:400]}", flush=True)
                if options.show:
                    traceback.print_exc()
                    print(source("f", seed))
    for reason, count in counts.most_common():
        print(f"{count:6} {reason[:150]}")


if __name__ == "__main__":
    main()
