"""Random programs that write into arrays, and what must hold of each.

    python -m tests.core.programs --most 100000

A program is the text of one function. It is run on plain NumPy and, with `zyg.numpy` for `np`, on
watched arrays; it grows statement by statement, each tried on plain NumPy first, so that every
program is one that NumPy accepts and whose numbers stay small. A program that fails is shrunk to
the statements that it takes, and printed.
"""

from __future__ import annotations

import random
import traceback
from collections import Counter
from dataclasses import dataclass, replace

import numpy

import zyg
import zyg.numpy
from tests.searches.search import Search, main

CONSTANTS = ("0.3", "-0.7", "1.5", "0.9", "-1.2")
SMOOTH = ("np.sin", "np.cos", "np.tanh", "np.arctan")
LARGEST = 30.0  # programs whose numbers grow beyond this have derivatives too wild to check


def loss(*arrays):
    """A number to which each element of each array contributes in its own way."""
    total = 0.0
    for k, a in enumerate(arrays):
        weights = numpy.linspace(1.0, 2.0, a.size).reshape(a.shape)
        total = total + numpy.sum(numpy.sin(a + k) * weights)
    return total


@dataclass(frozen=True)
class Program:
    x: numpy.ndarray
    statements: tuple[str, ...]
    names: tuple[str, ...]  # of the arrays that the result depends on
    kinds: tuple[str, ...] = ()

    @property
    def text(self):
        lines = [line for statement in self.statements for line in statement.split("\n")]
        ends = [f"log[:] = [{', '.join(self.names)}]", f"return loss({', '.join(self.names)})"]
        return "\n    ".join(["def program(x, np, log):", *lines, *ends])

    def function(self):
        scope = {"loss": loss}
        exec(self.text, scope)
        return scope["program"]

    def __str__(self):
        return f"x = np.array({self.x.tolist()})\n{self.text}"


# Growing a program


class RejectedError(Exception):
    """A statement that plain NumPy refuses, or whose numbers are of no use."""


class Grower:
    """A program as it grows: its statements, and the arrays that they leave on plain NumPy.

    A name is `sure` if its array is watched whatever happens, `plain` if it never may be: new
    arrays are made of sure ones, and only numbers are written into plain ones. The rest are buffers
    and their views.
    """

    def __init__(self, seed):
        self.rng = random.Random(seed)
        shape = self.one_of([(3,), (4,), (5,), (6,), (2, 3), (3, 2), (3, 3), (3, 4), (4, 4)])
        values = numpy.random.default_rng(seed).uniform(-1.5, 1.5, shape)
        self.x = numpy.round(values, 3)
        self.statements, self.kinds = [], []
        self.sure, self.plain = {"x"}, set()
        self.env = {"np": numpy, "x": self.x.copy()}
        self.fresh = iter("abcdefghijklmnopqrstuvw")

    def grow(self, length):
        kinds, weights = zip(*KINDS.items(), strict=True)
        self.add("start", f"a = {self.one_of(['x * 1', 'np.sin(x)', 'x.copy()'])}")
        self.sure.add(next(self.fresh))
        tries = 0
        while len(self.statements) < length and tries < 10 * length:
            tries += 1
            (kind,) = self.rng.choices(kinds, weights)
            try:
                self.add(kind.__name__, kind(self))
            except RejectedError:
                continue
        names = [n for n in self.arrays() if n not in self.plain]
        return Program(self.x, tuple(self.statements), tuple(names), tuple(self.kinds))

    def add(self, kind, statement):
        before = set(self.env)
        try:
            with numpy.errstate(all="raise"):
                exec(statement, self.env)
            for name in self.arrays():
                if not numpy.all(numpy.abs(self.env[name]) < LARGEST):
                    raise RejectedError
        except Exception as error:
            self.env = {"np": numpy, "x": self.x.copy()}
            exec("\n".join(self.statements), self.env)
            new = set(self.env) - before
            self.sure -= new
            self.plain -= new
            if isinstance(
                error, (RejectedError, ValueError, IndexError, FloatingPointError, TypeError)
            ):
                raise RejectedError from None
            raise
        self.statements.append(statement)
        self.kinds.append(kind)

    # Choices

    def one_of(self, things):
        things = list(things)
        if not things:
            raise RejectedError
        return self.rng.choice(things)

    def chance(self, p):
        return self.rng.random() < p

    def arrays(self):
        """The names of all arrays of numbers."""
        arrays = [(n, v) for n, v in self.env.items() if isinstance(v, numpy.ndarray)]
        return [n for n, v in arrays if v.dtype == float]

    def array(self, *, ndim=None, least=1):
        """A name to read."""
        fits = [n for n in self.arrays() if self.env[n].size >= least]
        return self.one_of([n for n in fits if ndim is None or self.env[n].ndim == ndim])

    def target(self, *, ndim=None, plain=False):
        """A name to write to, mostly not the argument."""
        fits = [
            n
            for n in self.arrays()
            if self.env[n].flags.writeable
            and (n in self.plain) == plain
            and (ndim is None or self.env[n].ndim == ndim)
            and (n != "x" or self.chance(0.4))
        ]
        return self.one_of(fits)

    def shape(self, text):
        try:
            return numpy.shape(eval(text, self.env))
        except (IndexError, ValueError):
            raise RejectedError from None

    def new(self, *, sure=False, plain=False):
        name = next(self.fresh, None)
        if name is None:
            raise RejectedError
        if sure:
            self.sure.add(name)
        if plain:
            self.plain.add(name)
        return name

    # Pieces of text

    def constant(self):
        return self.rng.choice(CONSTANTS)

    def integer(self, n):
        return self.rng.randrange(-n, n)

    def slice(self, n):
        start = self.one_of(["", "", self.rng.randrange(n), self.integer(n)])
        stop = self.one_of(["", "", self.rng.randrange(1, n + 1), -1])
        step = self.one_of(["", "", "", ":2", ":-1", ":-2", ":1"])
        return f"{start}:{stop}{step}"

    def places(self, n, *, repeats=True):
        """A list of integers that index n elements."""
        k = self.rng.randrange(1, n + 2)
        some = (
            [self.integer(n) for _ in range(k)] if repeats else self.rng.sample(range(n), min(k, n))
        )
        return f"np.array({some})" if self.chance(0.3) else str(some)

    def mask(self, name):
        """A boolean array of the shape of an array."""
        shape = self.env[name].shape
        alike = [n for n in self.arrays() if self.env[n].shape == shape]
        if self.chance(0.7):
            return f"{self.one_of(alike)} {self.one_of(['>', '<'])} {self.constant()}"
        given = numpy.array([self.chance(0.5) for _ in range(int(numpy.prod(shape)))], bool)
        return f"np.array({given.reshape(shape).tolist()})"

    def index(self, name):
        """An index of any kind, as text."""
        shape = self.env[name].shape
        kind = self.rng.randrange(10)
        if kind == 0:
            return "..."
        if kind == 1 and shape:
            return self.mask(name)
        if kind == 2 and shape:
            return self.places(shape[0])
        if kind == 3 and len(shape) == 2:
            k = self.rng.randrange(1, 4)
            rows, columns = ([self.integer(n) for _ in range(k)] for n in shape)
            return f"{rows}, {columns}"
        axes = []
        fancy = False
        for n in shape[: self.rng.randrange(len(shape) + 1) or len(shape)]:
            what = self.rng.randrange(8)
            if what < 2:
                axes.append(str(self.integer(n)))
            elif what == 2 and not fancy:
                axes.append(self.places(n))
                fancy = True
            else:
                axes.append(self.slice(n))
        if self.chance(0.15):
            axes.insert(self.rng.randrange(len(axes) + 1), "None")
        if self.chance(0.1) and len(axes) < len(shape) and not fancy:
            axes.insert(0, "...")
        return ", ".join(axes) or "()"

    def basic(self, name):
        axes = [
            self.slice(n) if self.chance(0.85) else str(self.integer(n))
            for n in self.env[name].shape
        ]
        return ", ".join(axes) or "..."

    def operand(self, shape):
        """The text of something that broadcasts to a shape."""
        fits = ["n", "e"]
        for name in self.arrays():
            have = self.env[name].shape
            try:
                if numpy.broadcast_shapes(have, shape) == shape:
                    fits += [name, name, name]
            except ValueError:
                pass
            if len(have) == len(shape) == 1 and have[0] > shape[0]:
                k = self.rng.randrange(have[0] - shape[0] + 1)
                fits.append(f"{name}[{k}:{k + shape[0]}]")
            if len(have) == 2 and have[1:] == shape:
                fits.append(f"{name}[{self.integer(have[0])}]")
            if len(have) == 2 and have[::-1] == shape:
                fits.append(f"{name}.T")
            if have == shape == (len(have) and have) and self.chance(0.3):
                fits.append(f"{name}[{', '.join(['::-1'] * len(have))}]")
        chosen = self.one_of(fits)
        if chosen == "n":
            return self.constant()
        return self.element() if chosen == "e" else chosen

    def element(self, names=None):
        name = self.one_of(sorted(set(names or self.arrays()) & set(self.arrays())))
        shape = self.env[name].shape
        if not self.env[name].size:
            raise RejectedError
        return f"{name}[{', '.join(str(self.integer(n)) for n in shape) or '()'}]"

    def value(self, shape, *, bare=True):
        """An expression that broadcasts to a shape; a `bare` one may be an array as it is."""
        kind = self.rng.randrange(6)
        a = self.operand(shape)
        if kind == 0 and bare:
            return a
        if kind <= 2:
            return f"{self.rng.choice(SMOOTH)}({a})"
        if kind == 3:
            return f"{self.constant()} * {a}"
        b = self.operand(shape)
        return f"{a} {self.rng.choice('+-*')} {b}" if kind == 4 else f"{a} / (2.0 + np.sin({b}))"

    def sure_value(self, shape):
        """An expression that is watched."""
        own = [n for n in sorted(self.sure) if getattr(self.env.get(n), "shape", None) == shape]
        other = (
            self.one_of(own)
            if own and self.chance(0.7)
            else self.element(self.sure & set(self.env))
        )
        return f"{self.value(shape)} {self.rng.choice('+*')} np.sin({other})"


# The kinds of statements, each a function of the growing program that returns its text


def creates(p):
    like = p.array()
    shape = p.env[like].shape
    if p.chance(0.25):
        return f"{p.new()} = np.zeros({shape})"
    if p.chance(0.25):
        return f"{p.new()} = np.{p.one_of(['ones', 'zeros'])}({shape[::-1]})"
    if p.chance(0.2):
        return f"{p.new()} = np.full({shape}, {p.constant()})"
    like = p.one_of(sorted(p.sure & set(p.env)))
    shape = p.env[like].shape
    if p.chance(0.3):
        name = p.new()
        return f"{name} = np.empty_like({like})\n{name}[...] = {p.value(shape)}"
    if p.chance(0.5):
        return f"{p.new()} = np.{p.one_of(['zeros', 'ones'])}_like({like})"
    return f"{p.new(sure=True)} = {p.one_of([f'np.copy({like})', f'{like}.copy()', f'{like} * 1'])}"


def constant(p):
    shape = p.env[p.array()].shape
    if len(shape) != 1:
        return f"{p.new(plain=True)} = np.linspace(0.5, 1.5, {numpy.prod(shape)}).reshape({shape})"
    return f"{p.new(plain=True)} = np.linspace(0.5, 1.5, {shape[0]})"


def constant_is_written(p):
    name = p.target(plain=True)
    if p.chance(0.5):
        return f"{name} {p.rng.choice('+*')}= {p.constant()}"
    return f"{name}[{p.basic(name)}] = {p.constant()}"


def computes(p):
    return f"{p.new(sure=True)} = {p.sure_value(p.env[p.array()].shape)}"


def view(p):
    a = p.array()
    v = p.env[a]
    ways = [f"{a}[{p.basic(a)}]"] * 4
    ways += [
        f"{a}[None]",
        f"{a}.reshape(-1)",
        f"np.ravel({a})",
        f"{a}[...]",
        f"np.expand_dims({a}, -1)",
    ]
    ways += [f"{a}[::-1]", f"{a}[1:]", f"{a}[:-1]"] if v.ndim else []
    if v.ndim == 2:
        ways += [f"{a}.T", f"{a}.swapaxes(0, 1)", f"np.moveaxis({a}, 0, 1)", f"{a}[:, ::-1]"]
        ways += [f"{a}.reshape(-1)[::{v.shape[1] + 1}]", f"{a}[{p.integer(v.shape[0])}]"]
        ways += [f"{a}[:, {p.integer(v.shape[1])}]", f"{a}.reshape({v.shape[::-1]})"]
    if v.ndim == 1:
        ways += [f"{a}[:, None]", f"{a}.reshape(1, -1)", f"np.broadcast_to({a}, (2, {v.shape[0]}))"]
    if v.size == 6:
        ways += [f"{a}.reshape(2, 3)", f"np.reshape({a}, (3, 2))"]
    if 1 in v.shape:
        ways += [f"np.squeeze({a})", f"np.broadcast_to({a}, {tuple(max(n, 2) for n in v.shape)})"]
    way = p.one_of(ways)
    if numpy.ndim(made := eval(way, p.env)) > 3 or not numpy.ndim(made) or not numpy.size(made):
        raise RejectedError
    # Where NumPy must copy, what is made of a buffer that nothing was written to is a plain array.
    shares = numpy.shares_memory(made, v)
    if not shares and a not in p.sure and a not in p.plain:
        raise RejectedError
    return f"{p.new(sure=a in p.sure, plain=a in p.plain)} = {way}"


def alias(p):
    a = p.array()
    return f"{p.new(sure=a in p.sure, plain=a in p.plain)} = {a}"


def rebinds(p):
    a = p.one_of(sorted((p.sure & set(p.env)) - {"x"}))
    return f"{a} = {a} {p.one_of(['+', '*', '-'])} {p.operand(p.env[a].shape)}"


def sets(p):
    t = p.target()
    index = p.index(t)
    return f"{t}[{index}] = {_apart(p, p.value(p.shape(f'{t}[{index}]')), t)}"


def _apart(p, value, target):
    """The value, copied if it lies in the memory of the target.

    NumPy does not guard all overlapping assignments: of a[::2] = a[0:3] or a[mask] = a[::-1] the
    outcome depends on the order in which it copies. `overlaps` makes those that it does guard.
    """
    shared = numpy.shares_memory(eval(value, p.env), p.env[target])
    return f"({value}).copy()" if shared else value


def sets_masked(p):
    t = p.target()
    mask = p.mask(t)
    if p.chance(0.5):
        return f"{t}[{mask}] = {p.rng.choice(SMOOTH)}({t}[{mask}])"
    return f"m = {mask}\n{t}[m] {p.rng.choice('+-*')}= {p.element()}"


def _augmented(p, target, shape):
    kind = p.rng.randrange(6)
    if kind == 0:
        return f"{target} /= 2.0 + np.sin({p.operand(shape)})"
    if kind == 1:
        return f"{target} **= {p.one_of([2, 3])}"
    return f"{target} {p.rng.choice('+-*')}= {p.value(shape)}"


def augments(p):
    t = p.target()
    return _augmented(p, t, p.env[t].shape)


def augments_part(p):
    t = p.target()
    part = f"{t}[{p.index(t)}]"
    return _augmented(p, part, p.shape(part))


def swaps(p):
    t = p.target()
    if p.chance(0.3):
        same = [n for n in sorted(p.sure) if n in p.env and n != "x"]
        a, b = p.one_of(same), p.one_of(same)
        return f"{a}, {b} = {b}, {a}"
    a, b = p.element([t]), p.element([t, p.target()])
    if p.chance(0.4) and p.env[t].ndim == 1 and p.env[t].size > 2:
        k = p.env[t].size // 2
        a, b = f"{t}[:{k}]", f"{t}[-{k}:]"
    return f"{a}, {b} = {b}, {a}"


def overlaps(p):
    t = p.target()
    if not p.env[t].ndim:
        raise RejectedError
    sign = p.one_of(["=", "=", "+=", "*=", "-="])
    a, b = p.one_of([("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), (":", "::-1")])
    return f"{t}[{a}] {sign} {t}[{b}]"


def out(p):
    t = p.target()
    shape = p.env[t].shape
    where = p.one_of(["", "", f", where={p.mask(t)}"]) if shape else ""
    if p.chance(0.4):
        return f"{p.rng.choice(SMOOTH)}({p.operand(shape)}, out={t}{where})"
    f = p.one_of(["np.add", "np.multiply", "np.subtract"])
    return f"{f}({p.operand(shape)}, {p.operand(shape)}, out={t}{where})"


def out_of_part(p):
    t = p.target()
    part = f"{t}[{p.basic(t)}]"
    return f"np.multiply({p.value(p.shape(part))}, 0.9, out={part})"


def copyto(p):
    t = p.target()
    where = p.one_of(["", f", where={p.mask(t)}"]) if p.env[t].ndim else ""
    return f"np.copyto({t}, {_apart(p, p.value(p.env[t].shape), t)}{where})"


def put(p):
    t = p.target()
    flat = [p.integer(p.env[t].size) for _ in range(p.rng.randrange(1, 4))]
    call = p.one_of([f"np.put({t}, ", f"{t}.put("])
    return f"{call}{flat}, {p.value((len(flat),), bare=False)})"


def place(p):
    t = p.target()
    call = p.one_of(["place", "putmask"])
    values = p.one_of([f"np.sin({p.array()})", f"{p.constant()} * {p.array()}"])
    if call == "place":
        values = f"np.ravel({values})"
    return f"np.{call}({t}, {p.mask(t)}, {values})"


def put_along_axis(p):
    t = p.target(ndim=2)
    rows, columns = p.env[t].shape
    if p.chance(0.5):
        index = [[p.integer(columns)] for _ in range(rows)]
        return f"np.put_along_axis({t}, np.array({index}), {p.value((rows, 1), bare=False)}, 1)"
    index = [[p.integer(rows) for _ in range(columns)]]
    return f"np.put_along_axis({t}, np.array({index}), {p.value((1, columns), bare=False)}, axis=0)"


def fill_diagonal(p):
    t = p.target(ndim=2)
    n = min(p.env[t].shape)
    value = p.one_of([p.constant(), p.element(), p.value((n,), bare=False)])
    return f"np.fill_diagonal({t}, {value})"


def fill(p):
    return f"{p.target()}.fill({p.one_of([p.constant(), p.element(), f'np.sin({p.element()})'])})"


def sort(p):
    t = p.target()
    v = p.env[t]
    ordered = numpy.sort(v.reshape(-1))
    if not v.ndim or ordered.size < 2 or numpy.min(numpy.diff(ordered)) < 1e-3:
        raise RejectedError  # ties: no derivative to compare with
    if p.chance(0.6):
        return f"{t}.sort({p.one_of(['', 'axis=0', '0'])})"
    return f"{t}.partition({p.rng.randrange(v.shape[-1])})"


def at(p):
    t = p.target()
    if not p.env[t].ndim:
        raise RejectedError
    f = p.one_of(["add", "add", "subtract", "multiply"])
    index = p.places(p.env[t].shape[0]) if p.chance(0.7) else p.index(t)
    tuple_of = f"({index},)" if "," in index and not index.startswith(("[", "np.")) else index
    if ":" in tuple_of or "..." in tuple_of:
        index = tuple_of = p.places(p.env[t].shape[0])
    shape = p.shape(f"{t}[{index}]")
    return f"np.{f}.at({t}, {tuple_of}, {p.value(shape, bare=False)})"


def loop(p):
    t = p.target()
    n = (p.env[t].shape or (1,))[0]
    if n < 2:
        raise RejectedError
    element = p.element()
    if p.env[t].ndim == 2 and p.chance(0.5):
        return f"for row in {t}:\n    row *= {element}\n    row[0] = {p.constant()} * row[1:].sum()"
    return p.one_of(
        [
            f"for i in range(1, {n}):\n    {t}[i] = 0.5 * {t}[i - 1] + np.sin({t}[i])",
            f"for i in range({n - 1}):\n    {t}[i] += {element} * {t}[i + 1]",
            f"for i in range(3):\n    {t}[i % {n}] *= np.cos({t}[(i + 1) % {n}])",
            f"i = 0\nwhile i < {n}:\n    {t}[i] = {t}[i] * {element}\n    i += 2",
        ]
    )


def branch(p):
    first, second = (KINDS_IN_A_BRANCH[p.rng.randrange(len(KINDS_IN_A_BRANCH))](p) for _ in "12")
    test = f"{p.element()} {p.one_of(['>', '<'])} {p.constant()}"
    first, second = (s.replace("\n", "\n    ") for s in (first, second))
    return f"if {test}:\n    {first}\nelse:\n    {second}"


def function_with_effect(p):
    t, u = p.target(), p.target()
    part = f"v[{p.basic(t)}]"
    shape = p.shape(f"{t}{part[1:]}")
    effect = f"def effect(v, s):\n    {part} *= s\n    return v"
    use = f"effect({t}, {p.element()})"
    return f"{effect}\n{use}" if p.chance(0.5) or not shape else f"{effect}\n{u} += np.sum({use})"


def matmul(p):
    a = p.array(ndim=2)
    b = p.one_of([n for n in p.arrays() if p.env[n].shape[:1] == p.env[a].shape[1:]])
    if not {a, b} & p.sure:
        raise RejectedError
    return f"{p.new(sure=True)} = 0.3 * ({a} @ {b})"


KINDS = {
    creates: 4, constant: 3, constant_is_written: 5, computes: 4, view: 8, alias: 2, rebinds: 1,
    sets: 8, sets_masked: 2, augments: 6, augments_part: 6, swaps: 3, overlaps: 3, out: 4,
    out_of_part: 2, copyto: 2, put: 2, place: 2, put_along_axis: 2, fill_diagonal: 2, fill: 1,
    sort: 2, at: 3, loop: 3, branch: 3, function_with_effect: 1, matmul: 1,
}  # fmt: skip
KINDS_IN_A_BRANCH = (sets, augments, augments_part, out, overlaps, copyto, fill)


def program(seed, length=None):
    """The program of a seed."""
    return Grower(seed).grow(length or random.Random(seed).randrange(3, 13))


# What must hold


@dataclass
class Failure:
    what: str  # the property that does not hold
    details: str = ""

    def __str__(self):
        return f"{self.what}\n{self.details}".rstrip()


def check(program, *, second=False):
    """None if all holds, the Failure, or "unreliable" if differences tell no derivative here.

    At second order, in every mixture of modes.
    """
    f = program.function()
    x = program.x.copy()
    expected, arrays = _on_numpy(f, x)
    log = []

    def watched(x):
        return f(x, zyg.numpy, log)

    try:
        value, back = zyg.pullback(watched, x)
        if type(value) is not type(expected) or value.tobytes() != expected.tobytes():
            return Failure("the value is not NumPy's", f"{value!r}, NumPy: {expected!r}")
        if failure := _compare(log, arrays, "after the call"):
            return failure
        first = back(1.0, zeros=True)[0]
        if failure := _compare(log, arrays, "after the reverse pass"):
            return failure
        again = back(1.0, zeros=True)[0]
        if first.tobytes() != again.tobytes():
            return Failure("the pullback gives another gradient", f"{first}\n{again}")
        straight = zyg.gradient(watched, x, zeros=True)[0]
        if first.tobytes() != straight.tobytes():
            return Failure("gradient and pullback differ", f"{straight}\n{first}")
        if x.tobytes() != program.x.tobytes():
            return Failure("the argument was modified", f"{x}")
        if first.shape != x.shape or first.dtype != x.dtype:
            return Failure("the gradient has another shape or dtype", f"{first!r}")
    except Exception as error:
        return Failure(f"raises {type(error).__name__}", traceback.format_exc(limit=-6))

    rng = numpy.random.default_rng(x.size)
    u, v = rng.normal(size=(2, *x.shape))
    slope, reliable = _slope(lambda x: _on_numpy(f, x)[0], x, u)
    if not reliable:
        return "unreliable"
    if not _close(numpy.sum(first * u), slope):
        return Failure(
            "the gradient is wrong", f"along u: {numpy.sum(first * u)}, {slope}\n{first}"
        )
    if failure := _check_forward(watched, program.x, u, first, expected, log, arrays):
        return failure
    if not second:
        return None
    slope, reliable = _slope(lambda x: numpy.sum(_reverse(watched, v)(x)), x, u)
    if not reliable:
        return "unreliable"
    for outer in (_reverse, _forward):
        for inner in (_reverse, _forward):
            order = f"second order, {outer.__name__[1:]} over {inner.__name__[1:]},"
            try:
                found = outer(inner(watched, v), u)(x)
            except Exception as error:
                return Failure(
                    f"{order} raises {type(error).__name__}", traceback.format_exc(limit=-8)
                )
            if not _close(found, slope):
                return Failure(f"{order} is wrong", f"along u: {found}, {slope}")
    return None


def _reverse(f, direction):
    """The slope of f along a direction, from its gradient."""
    return lambda x: numpy.sum(zyg.gradient(f, x, zeros=True)[0] * direction)


def _forward(f, direction):
    return lambda x: zyg.pushforward(f, (x,), (direction,))[1]


def _check_forward(watched, x, u, first, expected, log, arrays):
    """What must hold in forward mode, along one direction and along all."""
    found, given = x.copy(), u.copy()
    try:
        value, slope = zyg.pushforward(watched, (found,), (given,))
        if failure := _compare(log, arrays, "in forward mode"):
            return failure
        columns = zyg.jacobian(watched, found, mode="forward")[0]
    except Exception as error:
        return Failure(
            f"forward mode raises {type(error).__name__}", traceback.format_exc(limit=-6)
        )
    if type(value) is not type(expected) or value.tobytes() != expected.tobytes():
        return Failure("the value in forward mode is not NumPy's", f"{value!r}, {expected!r}")
    if found.tobytes() != x.tobytes() or given.tobytes() != u.tobytes():
        return Failure("forward mode modified the argument or its tangent")
    size = numpy.sum(numpy.abs(first * u))
    if abs(slope - numpy.sum(first * u)) > 1e-10 * max(1.0, size):
        return Failure("forward mode is wrong", f"along u: {slope}, {numpy.sum(first * u)}")
    if not numpy.allclose(columns, first, rtol=1e-10, atol=1e-10 * max(1.0, size)):
        return Failure("forward mode along all directions is wrong", f"{columns}\n{first}")
    return None


def _on_numpy(f, x):
    log = []
    return f(x.copy(), numpy, log), log


def _compare(log, arrays, when):
    for k, (mine, theirs) in enumerate(zip(log, arrays, strict=True)):
        found = numpy.asarray(mine)
        if (
            found.shape != theirs.shape
            or found.dtype != theirs.dtype
            or found.tobytes() != theirs.tobytes()
        ):
            return Failure(f"an array is not NumPy's {when}", f"number {k}:\n{found}\n{theirs}")
    return None


def _slope(f, x, u):
    """The derivative of f along u by central differences, and whether it is to be trusted.

    Not so where two step sizes disagree, the slopes to both sides do not approach each other, or
    the program is none that NumPy accepts any more.
    """
    middle = f(x)
    slopes, kinks = [], []
    for h in (1e-5, 2.5e-6):
        try:
            right, left = f(x + h * u), f(x - h * u)
        except ValueError:  # a mask has another number of elements there
            return 0.0, False
        slopes.append((right - left) / (2 * h))
        kinks.append(abs(right - 2 * middle + left) / h)
    smooth = kinks[1] < 1e-4 or kinks[1] < 0.5 * kinks[0]
    return slopes[1], smooth and _close(*slopes, 0.2)


def _close(a, b, factor=1.0):
    return abs(a - b) <= factor * 1e-5 * max(1.0, abs(a), abs(b))


# Shrinking


def shrink(program, failure, *, second):
    """The smallest program that still fails in the same way, by leaving statements out."""

    def fails(candidate):
        try:
            found = check(candidate, second=second)
        except Exception:  # no longer a program that NumPy accepts
            return False
        return isinstance(found, Failure) and found.what == failure.what

    smaller = True
    while smaller:
        smaller = False
        for k in reversed(range(len(program.statements))):
            rest = program.statements[:k] + program.statements[k + 1 :]
            if fails(candidate := replace(program, statements=rest)):
                program, smaller = candidate, True
        for name in program.names:
            names = tuple(n for n in program.names if n != name)
            if names and fails(candidate := replace(program, names=names)):
                program, smaller = candidate, True
        for k, statement in enumerate(program.statements):
            for shorter in _unnested(statement):
                new = (*program.statements[:k], shorter, *program.statements[k + 1 :])
                if fails(candidate := replace(program, statements=new)):
                    program, smaller = candidate, True
                    break
    return program


def _unnested(statement):
    """The branches of an if statement."""
    if statement.startswith("if "):
        _, _, rest = statement.partition("\n")
        first, second = rest.split("\nelse:\n")
        for body in (first, second):
            yield "\n".join(line[4:] for line in body.split("\n"))


def checked(seed, grown=None, second_every=8):
    """Raise if the program of a seed is wrong, by the least that is; else what `check` says."""
    grown, second = grown or program(seed), seed % second_every == 0
    found = check(grown, second=second)
    if isinstance(found, Failure):
        small = shrink(grown, found, second=second)
        raise AssertionError(f"seed {seed}: {check(small, second=second)}\n\n{small}\n")
    return found


def check_chunk(number, size=125):
    """Check the programs of one of the chunks into which tests divide the seeds."""
    found = Counter(map(checked, range(number * size, (number + 1) * size)))
    assert found["unreliable"] <= 0.05 * size  # differences must not excuse many


SEARCH = Search(int, checked)

if __name__ == "__main__":
    main(SEARCH, __doc__)
