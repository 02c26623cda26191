"""What a whole function may hold: its program gives what Python gives."""

# ruff: noqa: PERF401, RUF015, B007, B023, B905, C408, RET504, RUF007, C416, C417, E731, RET503
# - forms that must be known

import copy
import dataclasses
import functools
import math
import operator
from typing import NamedTuple

import numpy as np
import pytest

import zyg
from zyg.compiler.front.whole import WholeCaptures, read_whole
from zyg.compiler.kinds import kind_of, made_of, operands_of
from zyg.errors import KernelError

from .interpreted import Stopped, interpreted

CASES = []


def run(f, *args):
    """The result of a function's program."""
    args = copy.deepcopy(args)
    captures = WholeCaptures(lambda x: x)
    kinds = [kind_of(x) for x in args]
    whole = read_whole(f, kinds, {}, captures)
    given = [x for kind, arg in zip(kinds, args, strict=True) for x in operands_of(kind, arg)]
    captured = [x for value in captures.values(f) for x in operands_of(kind_of(value), value)]
    outputs = iter(interpreted(whole.program, *given, *captured))
    made = made_of(whole.result, outputs)
    assert not [*outputs]
    return made


def flat(x):
    """The numbers of a result."""
    if isinstance(x, dict):
        return [y for key in x for y in [key, *flat(x[key])]]
    if isinstance(x, (tuple, list)):
        return [y for part in x for y in flat(part)]
    if dataclasses.is_dataclass(x):
        return flat(vars(x))
    if isinstance(x, np.ndarray):
        return [x.shape, x.dtype.str, *x.ravel().tolist()]
    return [x]


def case(*rows):
    """A decorator: a program, and arguments for it."""

    def note(f):
        CASES.extend((f, row if isinstance(row, tuple) else (row,)) for row in rows)
        return f

    return note


def name(x):
    return getattr(x, "__name__", None) or repr(x)


def same(got, right):
    assert type(got) is type(right) or (isinstance(got, float) and isinstance(right, (int, float)))
    for a, b in zip(flat(got), flat(right), strict=True):
        assert a == b or a is b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-14)


# Statements


@case((1.5, 2.0), (-1.5, 2.0))
def assignments(x, y):
    a = b = x * 2
    (c, d), e = (a, b), y
    f, *g = [c, d, e]
    *h, k = g
    m: float = k
    n: float
    n = m
    n += x
    n -= 1
    n *= y
    n /= 3
    n **= 2
    a, b = b, n
    first, *middle, last = x, y, a, b
    return a + b + c + d + e + f + len(g) + h[0] + k + (z := x + 1) + z + first + last + sum(middle)


@case((1.5, 3), (0.0, 0), (2.0, -4), (2.0, 20))
def ranges(x, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + x * i
    for i in range(2, n):
        s += i
    for i in range(n, -3, -2):
        s += x * i
    for i in range(0, n * n, 3):
        s -= i
    for i in range(40):
        s += i * x
    for i in range(3):
        s += i
    return s


@case((10, 3, 1.0), (10, -3, 1.0), (-10, -3, 1.0), (0, 1, 1.0))
def variable_steps(n, step, x):
    s = 0.0
    for i in range(0, n, step):
        s = s * 0.9 + i * x
    return s


@case((3,), (7,))
def loop_variable_after_the_loop(n):
    for i in range(n):
        t = i * 2
    for j in range(50):
        pass
    return i + t + j


@case((5, 2.5), (0, 2.5))
def exits(n, x):
    s = 0.0
    for i in range(n):
        for j in range(10):
            if i * j > 12:
                break
            if j % 2:
                continue
            s += x * j
        else:
            s += 0.5
        if s > 40:
            return s, i
    else:
        s = -s
    return s, n


@case(0.5, 7.0, 0.01, 2.0)
def returns_from_nests(x):
    y = x
    for i in range(100):
        if y > 5:
            return y * y
        if i % 3 == 0:
            continue
        y = 1.3 * y + 0.1
        while y < 0.2:
            y = y * 2
            if y > 0.15:
                return y * x + i
    return y * x


@case(2.3, 9.0)
def while_on_values(a):
    r, n = a, 0
    while abs(r * r - a) > 1e-12:
        r = 0.5 * (r + a / r)
        n += 1
        if n > 50:
            break
    else:
        n = n + 100
    return r, n


@case((3.0, True), (-3.0, False))
def flags(x, up):
    found = False
    best = None
    for k in range(12):
        value = math.sin(x * k)
        if best is None or value > best:
            best = value
            where = k
        if not found and value > 0.5:
            found = up
    return best, found, where


@case(0.5, -2.0)
def none_or_number(x):
    y = None
    if x > 0:
        y = x * 2
    return 0.0 if y is None else y + 1


@case(0.5, -2.0, -0.5)
def returns_none_or_number(x):
    y = maybe(x)
    z = maybe(x + 1)
    if y is None and z is None:
        return -1.0
    return (y or 3.0) + (z if z is not None else 7.0)


def maybe(x):
    if x > 0:
        return x * x


@case(2.0)
def other_types(x):
    y = (x, 1)
    y = y[0] + y[1]
    y = [y, x]
    y = {"a": y[0]}
    y = "text"
    y = x
    return y


@case(0.5, -0.5)
def asserts(x):
    assert x > -3, f"{x} is too small"
    if x > 3:
        raise ValueError(f"{x}")
    if x > 2 and x < 1:
        raise ValueError
    y = x * 2
    with np.errstate(all="ignore"):
        y += 1
    t = y
    del t
    return y


@case((3, 2.0), (0, 2.0))
def one_of_two_is_dead(n, x):
    if n < 0:
        raise ValueError("negative")
    if n == 0:
        return x
    for i in range(n):
        if x > 1e9:
            raise OverflowError
        x = x * 2
    return x


# Functions


@case((1.5, 2.0))
def inner_functions(x, y):
    def square(t, n=2, *, shift=0.0):
        return t**n + shift

    def outer(t):
        return square(t) + y

    cube = lambda t: t * square(t)
    return square(x) + outer(x) + cube(y) + square(x, 3, shift=y)


@case((1.5, 2.0))
def late_binding(x, y):
    def f():
        return x

    g = [lambda: k * y for k in range(3)]
    h = [lambda k=k: k * y for k in range(3)]
    before = f()
    x = x + 10
    return before, f(), g[0](), h[0](), h[2]()


@case((1.5, 4))
def counters(x, n):
    total = 0.0

    def add(t):
        nonlocal total
        total += t
        return total

    for k in range(n):
        add(x * k)
    if x > 1:
        add(100)
    return total


def scaled(factor):
    def by(x):
        return factor * x

    return by


def composed(*functions):
    def run(x):
        for f in functions:
            x = f(x)
        return x

    return run


def twice(f, x):
    return f(f(x))


def totals(*args, weight=1.0, **more):
    return sum(args) * weight + more.get("shift", 0.0) + len(more)


@case((1.5, 2.0))
def functions_as_values(x, y):
    f = scaled(x)
    g = composed(f, math.sin, scaled(y), lambda t: t + 1)
    table = {"a": f, "b": g}
    pair = (f, g)
    by = functools.partial(totals, x, weight=y)
    s = g(y) + table["a"](1.0) + pair[1](0.5) + twice(f, 2.0) + by(1.0, shift=x)
    s += functools.reduce(lambda a, b: a * b, [x, y, 3.0])
    s += functools.reduce(operator.add, (x, y), 10.0)
    s += sum(map(f, [1.0, 2.0])) + sum(filter(lambda t: t > 1.6, [x, y]))
    s += totals(*[x, y], weight=2.0, other=1.0)
    return s + operator.mul(x, y) + operator.itemgetter(1)((x, y)) + max([x, y], key=lambda t: -t)


@case((1.5, 2.0), (-1.5, 2.0))
def functions_chosen_at_run_time(x, y):
    f = math.sin if x > 0 else math.cos
    if y > x:
        g = scaled(y)
    else:
        g = scaled(x)
    if x > 0:
        h = lambda t: t * y
    else:
        h = lambda t: t - y
    return f(y) + g(x) + h(x)


@case((0.3, 4), (0.3, 0))
def functions_changed_in_a_loop(x, n):
    f = scaled(x)
    for k in range(n):
        f = scaled(f(k) + 1)
    return f(2.0)


# Recursion


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def quadrature(f, a, b, tolerance):
    m = (a + b) / 2
    one = (b - a) * f(m)
    two = (b - a) / 2 * (f((a + m) / 2) + f((m + b) / 2))
    if abs(one - two) < tolerance:
        return two
    return quadrature(f, a, m, tolerance / 2) + quadrature(f, m, b, tolerance / 2)


def leaves(tree):
    if tree is None:
        return 0.0
    value, left, right = tree
    return math.tanh(value + 0.5 * leaves(left) - leaves(right))


def collatz(n, steps=0):
    if n == 1:
        return steps, n
    if n % 2:
        return collatz(3 * n + 1, steps + 1)
    return collatz(n // 2, steps + 1)


def halving(x, lowest):
    if x < lowest:
        return None
    deeper = halving(x / 2, lowest)
    return x if deeper is None else deeper


def fill(out, n):
    if n > 0:
        out[0] += n
        fill(out, n - 1)
        out[1] = out[0] * 0.5


@case((1.01, 50), (1.01, 0), (2.0, 3))
def recursion_of_unknown_depth(x, n):
    def inner(k):
        return x if k < 2 else 0.9 * inner(k - 1) + math.sin(inner(k - 2))

    return power(x, n) + fibonacci(n % 8) + inner(n % 7), is_even(n)


@case((1.5, 20), (1.5, 7))
def recursion_of_all_kinds(x, n):
    out = [0.0, x]
    fill(out, n)
    tree = (x, (0.5, None, (x, None, None)), (-1.0, (x, None, None), None))
    return (
        power(x, 30), fibonacci(12), quadrature(lambda t: math.exp(-x * t * t), 0.0, 2.0, 1e-3),
        leaves(tree), collatz(n), collatz(27), halving(x, 0.1) or 7.0, out,
    )  # fmt: skip


def soft(x):
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


soft_plus = zyg.scalar_rule(soft, lambda x, y: 1 / (1 + np.exp(-x)))
stairs = zyg.nondifferentiable(lambda x: math.floor(x * 3))


@case((0.7, 4), (-0.7, 2))
def functions_with_rules(x, n):
    s = 0.0
    for k in range(n):
        s += soft_plus(x * k) + zyg.stop_gradient(x) * x + stairs(x)
    return s


# Containers


@case((1.5, 2.0))
def lists(x, y):
    a = [x, y]
    b = a
    b.append(x * y)
    a += [1.0]
    a[0] = 7.0
    c = a + [2.0] * 2
    c.insert(1, x)
    d = c.pop() + c.pop(0)
    c.extend((x, y))
    c.reverse()
    e = a[:]
    e[1] = 0.0
    del c[0]
    return b[0] + len(b) + a[-1] + d + sum(c) + len(c) + sum(e) + sum(a[1:3]) + sum(c[::-2])


@case((1.5, 3), (1.5, 0), (1.5, -1), (1.5, 11))
def lists_that_grow(x, n):
    out = []
    seen = [x]
    for k in range(n):
        out.append(x * k)
        if k % 2:
            seen.append(k)
    s = 0.0
    for v in out:
        s = s * 0.5 + v
    for k, v in enumerate(seen):
        s += k * v
    if len(out) > 2:
        out[-1] = 3.0
        out[1] += x
        s += out.pop() + out[len(out) - 1]
    return s, len(out), len(seen)


@case((1.5, 6))
def lists_of_tuples(x, n):
    path = [(x, 0)]
    while len(path) < n:
        value, k = path[-1]
        path.append((value * 0.5 + k, k + 1))
    return sum(v for v, _ in path), path[2], [k for _, k in path]


@case((1.5, 4), (1.5, 0))
def aliases(x, n):
    a = [0.0, 0.0]
    b = a
    rows = [a, b, [1.0, 2.0]]
    for k in range(n):
        rows[0][0] += x
        b[1] = a[0] + k
    if x > 1:
        rows[2] = a
    rows[2][0] += 1
    return a[0], b[1], rows[1][0]


@case((1.5, 3), (1.5, 2))
def computed_index(x, n):
    a = [x, 2.0, 3.0, 4.0]
    t = (1.0, x, 5.0, 6)
    s = 0.0
    for k in range(n):
        a[k] = a[k] * 2 + t[k]
        s += a[-1 - k] + t[-k]
    a[n] = s
    return sum(a), s


@case((1.5, 5))
def swapped_lists(x, n):
    old, new = [x, 1.0, 2.0], [0.0, 0.0, 0.0]
    for _ in range(n):
        for i in range(3):
            new[i] = 0.5 * old[i - 1] + old[i]
        old, new = new, old
    return old, new


@case((1.5, 2.0))
def dicts(x, y):
    d = {"a": x, "b": y}
    d["c"] = x * y
    d.update({"e": 1.0}, f=2.0)
    s = d.get("a") + d.get("z", 5.0) + d.setdefault("g", x)
    for key, value in d.items():
        if key != "b":
            s += value
    s += sum(d.values()) + len(d) + ("a" in d) + ("zz" in d) + d.pop("a")
    for key in d:
        d[key] = s
    e = {**d, "h": 1}
    return (
        s + len([*d.keys()]) + e["h"] + dict(p=1.0)["p"],
        d["b"],
        {f"w{k}": k * x for k in range(3)},
    )


@case((1.5,), (-1.5,))
def keys_of_one_side(x):
    d = {"a": 1.0}
    if x > 0:
        d["b"] = x
    return d["b"] if "b" in d else d["a"]


@case((1.5, 2, [1.0, 2.0, 3.0]))
def comprehensions(x, n, items):
    a = [x * k for k in range(4) if k != 1]
    b = [x * k + j for k in range(n) for j in range(k)]
    c = {k: v for k, v in zip("abc", items)}
    d = sum(v * v for v in items) + max(abs(v) for v in items) + min(v for v in items)
    e = any(v > 2 for v in items) + all(v > 0 for v in items)
    f = [[i * j * x for i in range(2)] for j in range(2)]
    g = tuple(v for v in items)
    h = list(map(lambda v: v + x, items))
    m = sorted(items, key=lambda v: -v) + sorted([x, 1.0, -x])
    p = {1, 2} | set() if False else {1, 2}
    return sum(a), sum(b), c["b"], d, e, f[1][1], g[2], h, m, 2 in p, [y := x + 1, y]


@case((1.5, 12), (1.5, 1))
def reductions_of_many(x, n):
    s = sum(math.sin(x * k) for k in range(n))
    t = max(math.sin(x * k) for k in range(n)) + min([math.cos(x * k) for k in range(n)])
    u = any(math.sin(x * k) > 0.9 for k in range(n)) + all(k * x < 5 for k in range(n))
    v = [k * x for k in range(n) if k % 2 == 0]
    w = sum(a * b for a, b in zip(v, v[1:]))
    return s, t, u, w, len(v), max((k * 0.7 % 1.0, k) for k in range(n))


@case((1.5, [1.0, 2.0, 3.0], 3))
def iterators(x, items, n):
    s = 0.0
    for k, v in enumerate(items, 1):
        s += k * v
    for a, b in zip(items, [x] * 3):
        s -= a * b
    for v in reversed(items):
        s = s * 0.5 + v
    for v in map(abs, items):
        s += v
    for i in reversed(range(n)):
        s = s * 0.9 + i
    for i, (j, v) in enumerate(zip(range(n), items)):
        s += i * j * v
    return s


# Objects


class Point(NamedTuple):
    x: float
    y: float

    @property
    def norm(self):
        return math.hypot(self.x, self.y)

    def moved(self, by):
        return Point(self.x + by, self.y)


@dataclasses.dataclass
class State:
    x: float
    v: float = 0.5
    log: list = dataclasses.field(default_factory=list)

    def step(self, h):
        self.v -= h * self.x
        self.x += h * self.v
        return self

    @property
    def energy(self):
        return self.x**2 + self.v**2

    def copy(self):
        return State(self.x, self.v)


class Body:
    count = 3

    def __init__(self, mass, place):
        self.mass = mass
        self.place = place
        self.forces = []

    def __add__(self, other):
        return Body(self.mass + other.mass, self.place)

    def __mul__(self, factor):
        return Body(self.mass * factor, self.place)

    __rmul__ = __mul__

    def __call__(self, x):
        return self.mass * x

    def __getitem__(self, k):
        return self.mass * k

    def __len__(self):
        return 4

    @staticmethod
    def half(x):
        return x / 2

    @classmethod
    def unit(cls):
        return cls(1.0, 0.0)


class Heavy(Body):
    def __init__(self, mass):
        super().__init__(mass * 10, 1.0)
        self.heavy = True

    def __call__(self, x):
        return super().__call__(x) + 1


@case((1.5, 7), (1.5, 0))
def objects(x, n):
    p = Point(x, 2.0).moved(1.0)
    s = State(p.norm)
    other = s
    for _ in range(n):
        s.step(0.1)
        s.log.append(s.energy)
    t = State(1.0, v=x) if x > 1 else State(2.0)
    a = Body(x, 2.0) + 2 * Body.unit()
    b = Heavy(x)
    return (other.energy, len(other.log), t.v, p, a(2.0), b(1.0), b.mass, a[3], len(a), Body.count,
            a.half(x), s.copy().x, t == State(1.0, v=x))  # fmt: skip


@case((Point(1.0, 2.0), State(1.0, 2.0), {"w": [1.0, 2.0], "b": 0.5}, [Point(3.0, 4.0)]))
def structures(p, s, d, rows):
    q = p._replace(x=3.0)
    t = d["w"][0] * p.x + d["w"][1] * p.y + d["b"]
    t += s.energy + rows[0].norm + q.norm
    for x, y in rows:
        t += x * y
    return t, {"t": [t, p]}


# Results


@case((1.5, 2.0))
def results(x, y):
    s = State(x, y)
    s.log = (1.0, x)
    return [x, (y, "text", None)], {"a": x}, Point(x, y), s, True, 3


# With arrays

A = np.array([[1.0, 2.0, -0.5], [0.3, 1.5, 0.2], [0.1, -0.7, 2.0]])
V = np.array([0.5, -1.2, 2.0])


def runge_kutta(f, t, y, h):
    a = f(t, y)
    b = f(t + h / 2, y + h / 2 * a)
    return y + h * b


@case((V, A, 6), (V, A, 0))
def states_of_arrays(v, a, n):
    def slope(t, y):
        return a @ y * 0.1 + t

    y, path = v, [v]
    for k in range(n):
        y = runge_kutta(slope, k * 0.1, y, 0.1)
        path.append(y)
    best = y if n > 3 else path[0]
    rows = np.array(path)
    return y, rows, len(path), best, np.stack(path), sum(p[0] for p in path), path[-1] * 2


@case((V, A))
def loops_over_arrays(v, a):
    s = 0.0
    for x in v:
        s += x * x
    for row in a:
        for x in row:
            s = s * 0.5 + x
    for i, (x, row) in enumerate(zip(v, a)):
        s += i * x * row[i]
    for x in reversed(v):
        s = s * 0.9 + x
    squares = [x * x for x in v]
    big = [x for x in v if x > 0]
    named = {"w": v * 2, "b": a[0]}
    for key, value in named.items():
        named[key] = value + len(key)
    return s, sum(squares), np.array(squares), len(big), max(x for x in v), named["w"], [*v][0]


@dataclasses.dataclass
class Filter:
    mean: np.ndarray
    spread: np.ndarray
    count: int = 0

    def predict(self, a):
        self.mean = a @ self.mean
        self.spread = a @ self.spread @ a.T
        self.count += 1

    @property
    def size(self):
        return np.sum(self.spread)


@case((V, A, 3), (V, A, 0))
def objects_of_arrays(v, a, n):
    f = Filter(v, a)
    for _ in range(n):
        f.predict(a)
        f.mean[0] += 1.0
    return f.mean, f.size, f.count, v


def total_of(x):
    if len(x) == 1:
        return x[0]
    m = len(x) // 2
    return total_of(x[:m]) + math.sin(total_of(x[m:]))


def halved(x, lo, hi):
    if hi - lo < 2:
        x[lo] = x[lo] * 2
        return
    m = (lo + hi) // 2
    halved(x, lo, m)
    halved(x, m, hi)


@case((np.arange(7.0),), (np.arange(1.0),))
def recursion_on_halves(x):
    y = x.copy()
    halved(y, 0, len(y))
    return total_of(x), y


GAINS = np.array([1.0, 2.0, 3.0])
RATES = [0.5, GAINS, (2, "name")]
TABLE = {"gain": GAINS, "on": True}


@case((V, 2))
def captured(v, n):
    s = 0.0
    for g in GAINS:
        s += g
    if TABLE["on"] and RATES[2][1] == "name":
        s += RATES[0] * n
    f = lambda t: t * GAINS
    return s, f(v), TABLE["gain"] + RATES[1], (GAINS * n)[n]


@pytest.mark.parametrize(("f", "args"), CASES, ids=name)
def test_a_program_gives_what_python_gives(f, args):
    right = f(*copy.deepcopy(args))
    same(run(f, *args), right)


# What Python raises for


def unset(x):
    if x > 1:
        y = x
    return y


def unset_in_a_loop(n):
    for k in range(n):
        y = k
    return y


def out_of_range(n):
    a = [1.0, 2.0]
    return a[n]


def popped(n):
    a = [1.0 for _ in range(n)]
    a.pop()
    return a.pop()


def missing_key(x):
    d = {}
    if x > 1:
        d["a"] = x
    return d["a"]


def none_in_arithmetic(x):
    y = None
    if x > 1:
        y = x
    return y + 1


def raising(x):
    if x < 1:
        raise ValueError(f"{x} is small")
    return x


def asserting(x):
    assert x > 1, "small"
    return x


def raising_in_a_loop(n):
    s = 0.0
    for k in range(n):
        if k == 2:
            raise ValueError(k)
        s += k
    return s


def of_nothing(n):
    return max([k * 1.0 for k in range(n)])


def not_deleted(x):
    y = x
    if x < 1:
        del y
    return y


def division_in_a_choice(x, y):
    return 1 / y if x < 1 else x


ERRORS = (AssertionError, LookupError, NameError, TypeError, ValueError, ZeroDivisionError)
RAISING = [
    (unset, (2.0,), (0.5,)), (unset_in_a_loop, (3,), (0,)), (out_of_range, (-2,), (2,)),
    (popped, (2,), (1,)), (missing_key, (2.0,), (0.5,)), (none_in_arithmetic, (2.0,), (0.5,)),
    (raising, (2.0,), (0.5,)), (asserting, (2.0,), (0.5,)), (raising_in_a_loop, (2,), (5,)),
    (of_nothing, (3,), (0,)), (not_deleted, (2.0,), (0.5,)),
    (maybe, (2.0,), (-2.0,)), (division_in_a_choice, (2.0, 0.0), (0.5, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "right", "wrong"), RAISING, ids=name)
def test_where_python_raises_the_program_stops(f, right, wrong):
    same(run(f, *right), f(*right))
    if f is not maybe:  # which gives None
        with pytest.raises(ERRORS):
            f(*wrong)
    with pytest.raises(Stopped):
        run(f, *wrong)


# What is refused


LOG = []


def appends_outside(x):
    LOG.append(x)
    return x


def changes_an_argument(xs):
    xs.append(1.0)
    return xs[0]


def prints(x):
    print(x)
    return x


def tries(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return 0.0


def yields(x):
    yield x


def makes_a_class(x):
    class Inner:
        y = x

    return Inner.y


def sets_a_global(x):
    global LOG
    LOG = x
    return x


def computed_keys(x, n):
    return {n: x}[n]


def mixed_list(x, n):
    return [x, "a", None][n]


def of_three_kinds(x):
    return x if x > 0 else (x, x) if x < -1 else None


def always_raising(x):
    raise ValueError(x)


def consumed_twice(x):
    z = zip([x], [x])
    return sum(a for a, _ in z) + sum(b for _, b in z)


def growing_of_two_kinds(x, n):
    out = []
    for k in range(n):
        out.append(x if k < 2 else (x, x))
    return len(out)


def endless(x):
    return endless(x) + 1


def changes_around(x, n):
    total = 0.0

    def go(k):
        nonlocal total
        total += x
        return k if k < 1 else go(k - 1)

    return go(n) + total


REFUSED = {
    appends_outside: ((1.0,), "append"), changes_an_argument: (([1.0],), "an argument"),
    prints: ((1.0,), "print"), tries: ((1.0,), "a try"), yields: ((1.0,), "yield"),
    makes_a_class: ((1.0,), "ClassDef"), sets_a_global: ((1.0,), "global"),
    computed_keys: ((1.0, 1), "a computed key"), mixed_list: ((1.0, 1), "several types"),
    of_three_kinds: ((1.0,), "a number or a tuple"), always_raising: ((1.0,), "always raises"),
    consumed_twice: ((1.0,), "exhausted"), growing_of_two_kinds: ((1.0, 2), "several types|two"),
    endless: ((1.0,), "without an end"), changes_around: ((1.0, 3), "outer variables"),
}  # fmt: skip


@pytest.mark.parametrize("f", REFUSED, ids=name)
def test_what_is_not_in_the_language_is_refused(f):
    args, what = REFUSED[f]
    with pytest.raises(KernelError, match=what):
        run(f, *args)
    assert not LOG
