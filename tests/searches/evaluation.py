"""Order of evaluation: programs whose result tells in what order, and how often, they did what.

``t(k, v)`` is v, and changes a state in a way that does not commute: so the state tells which calls
there were, in what order. Such calls are in the elements of iterators, in what goes through them,
in what changes what they read meanwhile, and in the operands of expressions. Every fourth program
is a kernel's. The oracle is Python, and for derivatives differences.
"""

import copy
import random
import warnings
from dataclasses import dataclass
from itertools import count

import numpy as np

import zyg
from tests.calls.compare import Wrong, drawn
from tests.calls.slopes import by_differences
from tests.compiler.test_language import in_python
from tests.modules import function
from tests.searches.search import Search, in_machine_code, main
from zyg.compiler.autodiff import forward
from zyg.compiling.functions import Compiled
from zyg.errors import CompileError, KernelError
from zyg.kernels.scalar import read_for

HEAD = """\
import functools

import numpy as np


class Cell:
    def __init__(self, s):
        self.s = s


class Thing:
    def __init__(self, t, v):
        self.t, self.v = t, v

    @property
    def p(self):
        return self.t(91, self.v)

    def m(self, u):
        return self.t(92, u) - self.v

    def __add__(self, u):
        return self.t(93, self.v) + u

    def __radd__(self, u):
        return self.t(94, self.v) - u

    def __getitem__(self, k):
        return self.t(95, self.v) * k

    def __bool__(self):
        return self.t(96, self.v) > 0.5

    def __lt__(self, u):
        return self.t(97, self.v) < u


"""
# How the state is kept: the lines that begin it, how it is read.
CELLS = {
    "list": ("s = [0.5]", "s[0]"),
    "object": ("s = Cell(0.5)", "s.s"),
    "variable": ("s = 0.5", "s"),
    "array": ("s = np.full(1, 0.5)", "s[0]"),
    "argument": ("s = log", "s[0]"),
}
KINDS = ("float", "float", "int")
ROWS = ((0.7, -0.4, 2), (-1.1, 1.3, 0), (1.6, 0.2, 3))


class Writer:
    """A program of random statements."""

    def __init__(self, number):
        self.rng = random.Random(number)
        self.kernel = number % 4 == 3
        cells = list(CELLS)[: 3 if self.kernel else None]
        self.begin, self.state = CELLS[self.rng.choice(cells)]
        self.events, self.names, self.lines = count(1), count(1), []

    def pick(self, *options):
        """One of some texts, or of what makes one."""
        found = self.rng.choice(options)
        return found() if callable(found) else found

    def maybe(self, p):
        return self.rng.random() < p

    def name(self):
        return f"v{next(self.names)}"

    def t(self, v):
        return f"t({next(self.events)}, {v})"

    def i(self, k):
        """A known int."""
        return f"i({next(self.events)}, {k})" if self.maybe(0.6) else str(k)

    def text(self):
        a = ["a = [x + 0.2, 1.2, y - 0.3]"] if self.kernel else []
        state = ["nonlocal s"] if self.state == "s" else []
        lines = [
            f"def f({'x, y, c' if self.kernel else 'x, y, c, a, log'}):", f"    {self.begin}",
            *(f"    {line}" for line in a),
            "    def t(k, v):", *(f"        {line}" for line in state),
            f"        {self.state} = 0.5 * {self.state} + k * v", "        return v",
            "    def i(k, n):", "        t(k, 0.5)" if not self.kernel else "        _ = t(k, 0.5)",
            "        return n",
            "    def h(u, v=0.3, *more, p=1.1):", "        return u - 2 * v + p * len(more)",
            "    w, xs, zs, d = 0.9, [x, y, 0.8, x + 1.3], [0.2], {0: x, 1: y * 2}",
            "    o = Thing(t, x)",
            "    out = 0.25 * x", *(f"    {line}" for line in self.lines),
            f"    return out + 0.37 * {self.state}",
        ]  # fmt: skip
        return HEAD + "\n".join(lines) + "\n"

    # What iterators go through

    def element(self, v):
        """A number made of a number."""
        return self.pick(
            lambda: self.t(v), lambda: self.t(f"{v} * w"), lambda: self.t(f"{v} + {self.state}"),
            f"{v} * a[0]", lambda: f"{self.t(v)} - xs[0]", f"{v} * 0.5", lambda: f"{v} + d[0]",
            f"{v} + 0.1 * {self.state}", f"{v} * zs[-1]",
            lambda: f"h({self.t(v)}, p={self.t('w')})",
            v if self.kernel or self.maybe(0.8) else f"math.sqrt(1.2 - {v})",
        )  # fmt: skip

    def condition(self, v):
        return self.pick(
            lambda: f"{self.t(v)} > 0.3", f"{v} > 0.2 * w", f"{v} < 3 - {self.state}",
            lambda: f"{self.t(v)} < 1.0", f"{v} > a[0]",
        )  # fmt: skip

    def numbers(self, depth):
        """Something of numbers to go through."""
        if depth == 0:
            return self.pick(
                "xs", "a", "(x, y, w)", "range(3)", "d.values()", "xs[1:]", "a[1:]",
                "range(c)", "[x, 0.4]", *(() if self.kernel else ("a * 2", "a[:c]", "xs[:c]")),
            )  # fmt: skip
        less = depth - 1
        return self.pick(
            lambda: self.generator(less), lambda: self.generator(less), lambda: self.mapped(less),
            lambda: self.filtered(less), lambda: self.zipped_by(less), lambda: self.nested(less),
            lambda: f"reversed({self.pick('xs', 'a', '(x, y)', 'range(3)')})",
            lambda: f"[{self.generator(less)[1:-1]}]", lambda: self.numbers(less),
        )  # fmt: skip

    def test(self, v, p=0.35):
        return f" if {self.condition(v)}" if self.maybe(p) else ""

    def generator(self, depth):
        if self.maybe(0.3):
            u, v = self.name(), self.name()
            of = f"{u} + 2 * {v}"
            pairs = self.pairs(depth)
            return f"({self.element(f'({of})')} for {u}, {v} in {pairs}{self.test(v)})"
        v = self.name()
        over = self.numbers(depth)
        return f"({self.element(v)} for {v} in {over}{self.test(v)})"

    def nested(self, depth):
        u, v = self.name(), self.name()
        over, inner = self.numbers(0), self.numbers(depth)
        return (
            f"({self.element(f'({u} - {v})')} for {u} in {over}{self.test(u)}"
            f" for {v} in {inner}{self.test(v, 0.2)})"
        )

    def mapped(self, depth):
        u, v = self.name(), self.name()
        if self.maybe(0.4):
            of = self.element(f"({u} + 2 * {v})")
            return f"map(lambda {u}, {v}: {of}, {self.numbers(depth)}, {self.numbers(0)})"
        return f"map(lambda {v}: {self.element(v)}, {self.numbers(depth)})"

    def filtered(self, depth):
        v = self.name()
        return f"filter(lambda {v}: {self.condition(v)}, {self.numbers(depth)})"

    def zipped_by(self, depth):
        u, v = self.name(), self.name()
        return f"({u} - {v} for {u}, {v} in {self.pairs(depth)})"

    def pairs(self, depth):
        return self.pick(
            lambda: f"zip({self.numbers(depth)}, {self.numbers(0)})",
            lambda: f"zip({self.numbers(0)}, {self.numbers(depth)})",
            lambda: f"zip({self.numbers(depth)}, {self.numbers(depth)})",
            lambda: f"enumerate({self.numbers(depth)})", "d.items()",
            lambda: f"enumerate({self.numbers(depth)}, {self.i(2)})",
        )  # fmt: skip

    # What goes through them

    def write(self):
        """A change of something that an iterator may read."""
        found = self.pick(
            "w = w + 0.5", "w = 0.3 * x", "a[0] = 0.3 * x", "a[1] = a[1] + 0.5", "xs[0] = y",
            "xs[2] = w", "if len(xs) < 7: xs.append(1.1)", "xs = [y, 0.2]", "xs.pop()",
            "d[0] = 1.5",
            "a = a[1:]", lambda: f"_ = {self.t('w')}", lambda: f"_ = {self.t('0.3')}",
        )  # fmt: skip
        if found.startswith("if") or self.maybe(0.75):
            return found
        return f"if {self.pick('x > 0.1', 'c > 1')}: {found}"

    def through(self, it):
        """Statements that go through an iterator of numbers."""
        v, lines = self.name(), self.lines
        seen = f"out = 0.8 * out + {v}"

        def loop():
            lines.append(f"for {v} in {it}:")
            body = [seen]
            if self.maybe(0.5):
                body.append(self.write())
            if self.maybe(0.5):
                test = self.pick(f"{v} > 0.9", "out > 1.5", f"{self.t(v)} > 1.0", "c > 1")
                leave = self.pick("break", "break", "continue", f"return out - {self.state}")
                body.insert(self.rng.randrange(len(body) + 1), f"if {test}: {leave}")
            lines.extend(f"    {line}" for line in body)
            if self.maybe(0.2):
                lines.extend(["else:", f"    out = out - {self.t('0.7')}"])

        def decided():
            f = self.pick("any", "all")
            test = self.condition(v)
            of = self.pick(f"({test} for {v} in {it})", f"map(lambda {v}: {test}, {it})",
                           f"[{test} for {v} in {it}]")  # fmt: skip
            lines.append(f"out = out + (0.7 if {f}({of}) else 0.2)")

        def best():
            f, key = (
                self.pick("min", "max"),
                self.pick("", lambda: f", key=lambda {v}: {self.t(v)}"),
            )
            lines.append(f"out = out + {f}({it}{key}{self.pick('', ', default=0.5')})")

        def unpacked():
            names = self.pick("p, q, r", "p, *q", "*p, q", "p, q, r, *z", "p, q")
            lines.append(f"{names} = {it}")
            lines.append(f"out = out + ({names.replace('*', '')})[0 if '*p' in {names!r} else 0]"
                         if "*p" not in names else "out = out + q")  # fmt: skip

        def listed():
            f = self.pick("list", "tuple", "sorted")
            lines.append(f"for {v} in {f}({it}):")
            lines.extend([f"    {seen}", f"    {self.write()}"])

        def simple():
            lines.append(self.pick(
                f"out = out + sum({it})", f"out = sum({it}, out)", f"zs.extend({it})",
                f"zs += {it}",
                f"out = out + h(*{it})", lambda: f"out = out + h(*{it}, p={self.t('w')})",
                lambda: f"out = out + h({self.t('x')}, *{it})",
                lambda: f"out = out + (0.3 if {self.t('0.8')} in {it} else 0.1)",
                lambda: f"out = functools.reduce(lambda p, q: {self.t('p - q')}, {it}, out)",
                lambda: f"out = functools.reduce(lambda p, q: {self.t('p - q')}, {it})",
                f"out = out + (1.0 if {it} else 2.0)", f"out = out + len([*{it}, x])",
                lambda: f"e = dict(enumerate({it})); out = out + e[0]",
                f"out = out + [*{it}][0]", f"out = out + len({{{v}: 1 for {v} in range(3)}})",
                *(() if self.kernel else (f"out = out + np.sum(np.array(list({it})))",)),
            ))  # fmt: skip

        self.pick(loop, loop, loop, decided, decided, best, unpacked, listed, simple, simple)

    def iterate(self):
        depth = self.rng.choice((0, 1, 1, 1, 2, 2, 3))
        it = self.numbers(depth)
        if self.maybe(0.2):
            u, v = self.name(), self.name()
            it = f"({u} * 3 - {v} for {u}, {v} in {self.pairs(max(depth - 1, 0))})"
        if self.maybe(0.45):
            self.lines.append(f"it = {it}")
            if self.maybe(0.7):
                self.lines.append(self.write())
            self.through("it")
            if self.maybe(0.2):
                self.through("it")
        else:
            self.through(it)
        if self.maybe(0.5):
            self.lines.append("out = out + sum(xs) - a[0] + w + 0.7 * zs[-1]")

    # Expressions

    def number(self, depth):
        """An expression of calls that change the state."""
        if depth == 0 or self.maybe(0.1):
            return self.t(self.pick("x", "y", "w", "0.5", "c", "a[1]", "xs[0]", self.state))
        e = lambda: self.number(depth - 1)  # noqa: E731
        return self.pick(
            lambda: f"({e()} {self.pick('+', '-', '*')} {e()})",
            lambda: f"h({e()}, {e()}, p={e()})",
            lambda: f"h(*[{e()}, {e()}], {e()}, p={e()})", lambda: f"h(p={e()}, u={e()}, v={e()})",
            lambda: f"h({e()}, **{{'p': {e()}, 'v': {e()}}})", lambda: f"max({e()}, {e()})",
            lambda: f"({e()} if {self.truth(depth - 1)} else {e()})",
            lambda: f"({e()} or {e()})", lambda: f"({e()} and {e()} and {e()})",
            lambda: f"xs[{self.i(1)}]", lambda: f"(a[{self.i(0)}] - {e()})",
            lambda: f"({e()}, {e()})[{self.i(1)}]", lambda: f"[{e()}, {e()}][{self.i(0)}]",
            lambda: f"{{{self.i(0)}: {e()}, {self.i(1)}: {e()}}}[{self.i(0)}]",
            lambda: f"(lambda q={e()}, *, r={e()}: q - r * {e()})()",
            lambda: f"((z := {e()}) + z * {e()})", lambda: f"sum(xs[{self.i(0)}:{self.i(2)}])",
            lambda: f"(lambda q, r: r - q)(r={e()}, q={e()})", "o.p", lambda: f"o.m({e()})",
            lambda: f"(o + {e()})", lambda: f"({e()} + o)", lambda: f"o[{self.i(2)}]",
            lambda: f"sum([{e()} + q for q in ({e()}, {e()}) if {self.truth(0)}])",
            lambda: f"sum([z := 0.1 + {e()} for _ in range({self.i(2)})], {e()}) * z",
            lambda: f"[q * {e()} for q in [r + {e()} for r in (w, x)]][{self.i(1)}]",
        )  # fmt: skip

    def truth(self, depth):
        e = lambda: self.number(depth)  # noqa: E731
        return self.pick(
            lambda: f"{e()} < {e()}", lambda: f"{e()} < {e()} < {e()}",
            lambda: f"not {e()} > {e()}",
            lambda: f"{e()} > {e()} >= {e()} > {e()}", lambda: f"({e()} > 0.2 or {e()} < 0.9)",
            lambda: f"{e()} in ({e()}, {e()})", lambda: f"o and {e()} > 0.3", "o",
            lambda: f"o < {e()}", lambda: f"(o or {e()} < 0.4)",
        )  # fmt: skip

    def statement(self):
        e, lines = lambda: self.number(self.rng.choice((0, 1, 1, 2))), self.lines
        found = self.pick(
            lambda: [f"out = out + {e()}"], lambda: [f"xs[{self.i(1)}] += {e()}"],
            lambda: [f"a[{self.i(1)}] = {e()}"], lambda: [f"a[{self.i(0)}] -= {e()}"],
            lambda: [f"xs[{self.i(0)}], a[{self.i(1)}] = {e()}, {e()}"], lambda: [f"out += {e()}"],
            lambda: [f"p = xs[{self.i(2)}] = q = {e()}", "out = out + p - 2 * q"],
            lambda: [f"p, (q, *r) = {e()}, ({e()}, {e()}, {e()})", "out = out + p - q + r[0]"],
            lambda: [f"o.v = {e()}"], lambda: [f"o.v += {e()}"],
            lambda: [f"d[{self.i(1)}] = {e()}"],
            lambda: [f"def g(q={e()}, *, r={e()}):", f"    return q - r * {e()}",
                     f"out = out + g() - g({e()}) + g(r={e()})"],
            lambda: ["def deco(k):", f"    _ = {self.t('k')}",
                     f"    return lambda g: lambda q: g(q) + {self.t('k')}",
                     f"@deco({e()})", f"@deco({e()})", f"def g(q, r={e()}):", "    return q - r",
                     f"out = out + g({e()})"],
            lambda: ["def g(q, r=[]):", "    r.append(q)", "    return sum(r)",
                     f"out = out + g({e()}) - 2 * g({e()})"],
            lambda: [f"if {self.truth(1)}:", f"    out = out + {e()}", "else:",
                     f"    out = out - {e()}"],
            lambda: ["n = 0", f"while {self.t('n')} < {e()} < 3 and n < 4:", "    n += 1",
                     *([f"    if {self.truth(0)}: break"] if self.maybe(0.5) else []),
                     f"    out = out + {e()}"],
            lambda: [f"for xs[{self.i(1)}] in ({e()}, {e()}):", f"    out = out - {e()}"],
            lambda: [f"if {self.truth(1)}: return {e()}"],
            *(() if self.kernel else (
                lambda: [f"xs[{self.i(1)}:{self.i(3)}] = [{e()}, {e()}]"],
                lambda: [f"del xs[{self.i(1)}]"], lambda: [f"assert {e()} > -99, {e()}"],
                lambda: [f"a[{self.i(0)}:{self.i(2)}] += {e()}"],
                lambda: [f"a[{self.i(0)}:{self.i(2)}] = a[{self.i(1)}:{self.i(3)}] * {e()}"],
                lambda: [f"q = a * {e()} - a[{self.i(1)}]", "a[0] = 0.3 * x", "out = out + q[0]"],
            )),
        )  # fmt: skip
        lines.extend(found)


@dataclass
class Case:
    number: int
    kernel: bool
    text: str

    def __str__(self) -> str:
        return self.text.removeprefix(HEAD)


def case(number):
    made = Writer(number)
    if number % 3:
        made.iterate()
    else:
        for _ in range(made.rng.choice((1, 1, 2))):
            made.statement()
    return Case(number, made.kernel, made.text())


def outcome(f, args):
    """What a call gives or raises, and the arguments after it."""
    args = copy.deepcopy(args)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = float(f(*args))
    except CompileError:
        raise
    except Exception as error:
        value = type(error)
    return value, args


def same(a, b, tolerance=1e-9):
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def reason(error):
    """Why something is refused, in short."""
    text = [
        s
        for s in str(error).splitlines()
        if s.split()[0] not in ("[compile]", "[kernel]", "in:", "where:")
    ]
    return " ".join(" ".join(text).split())[:110]


def check(made):
    try:
        f = function(made.text)
    except SyntaxError:  # := where Python has none
        return "no program of Python's"
    return kernel(made, f) if made.kernel else compiled(made, f)


def compiled(made, f):
    args = 0.7, -0.4, 2, np.array([0.3, 1.2, -0.8]), np.array([0.5])
    right, after = outcome(f, args)
    machine = zyg.compile(f)
    asked = []  # calls that machine code has left to Python
    in_python = Compiled.in_python

    def noted(*of):
        asked.append(True)
        return in_python(*of)

    Compiled.in_python = noted
    try:
        got, written = in_machine_code(lambda: outcome(machine, args))
    except CompileError as error:
        return f"refused: {reason(error)}"
    finally:
        Compiled.in_python = in_python
    assert same(got, right), f"{got} for {right}:\n{made}"
    for x, y in zip(written[3:], after[3:], strict=True):
        assert same(x, y), f"wrote {x} for {y}:\n{made}"
    if asked or isinstance(right, type):
        return "machine code, which left it to Python"
    return "machine code" + (slope_of(made, f, machine, args) if made.number % 5 == 0 else "")


def compare_slopes(made, f, at, found):
    """Compare derivatives by floats and arrays with differences of Python's values."""

    def value(*xs):
        y = outcome(f, xs)[0]
        if isinstance(y, type):
            raise y("as at the point itself")
        return y

    rng = np.random.default_rng(made.number)
    slopes = [np.zeros_like(x) if g is None else g for x, g in zip(at, found, strict=True)]
    try:
        return by_differences(
            value, at, lambda w: [g * w[0] for g in slopes], [drawn(x, rng) for x in at]
        )
    except Wrong as error:
        raise AssertionError(f"slope {error} at {at}:\n{made}") from None


def slope_of(made, f, machine, args):
    x, y, c, *arrays = args
    try:
        with zyg.config(fallback="silent"):
            dx, dy, _, *others = zyg.gradient(machine, *args)
    except (zyg.errors.ZygError, TypeError) as error:
        return f", its gradient refused: {type(error).__name__}"

    def at_c(x, y, *arrays):
        return f(x, y, c, *arrays)

    return f", its gradient: {compare_slopes(made, at_c, [x, y, *arrays], [dx, dy, *others])}"


def kernel(made, f):
    try:
        found = read_for(f, KINDS, None, lambda numbers: numbers, lambda x: x)
    except KernelError as error:
        return f"kernel refused: {reason(error)}"
    program = found.kernel.program
    right = [outcome(f, row)[0] for row in ROWS]
    operands = [np.array(column) for column in zip(*ROWS, strict=True)]
    with np.errstate(all="ignore"):
        (got,) = in_python(program, operands)
        partials, masks = forward.partials(program, (0, 1))
        slopes = in_python(partials, operands)[1:]
    for k, row in enumerate(ROWS):
        if isinstance(right[k], type):
            continue  # arithmetic in kernels is NumPy's
        assert same(got[k], right[k]), f"{got[k]} for {right[k]} at {row}:\n{made}"
        found = [
            sum(d[k] for d, place in zip(slopes, masks[0], strict=True) if place == part)
            for part in (0, 1)
        ]
        compare_slopes(made, lambda x, y, c=row[2]: f(x, y, c), [*row[:2]], found)
    return "kernel"


SEARCH = Search(case, check, gate=160)

if __name__ == "__main__":
    main(SEARCH, __doc__)
