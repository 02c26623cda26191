"""What a whole function may hold: statements, functions, recursion, containers, objects."""

# ruff: noqa: RUF015, B007, B023, B905, C408, RET504, RUF007, C416, C417, E731, RET503
# - forms that must be known

import dataclasses
import functools
import math
import operator
from typing import NamedTuple

import numpy as np

import zyg

from .program import program

# Statements


@program(-1.5, 2.0)
@program(1.5, 2.0)
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


@program(2.0, 20)
@program(2.0, -4)
@program(0.0, 0)
@program(1.5, 3)
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


@program(0, 1, 1.0)
@program(-10, -3, 1.0)
@program(10, -3, 1.0)
@program(10, 3, 1.0)
def variable_steps(n, step, x):
    s = 0.0
    for i in range(0, n, step):
        s = s * 0.9 + i * x
    return s


@program(7)
@program(3)
def loop_variable_after_the_loop(n):
    for i in range(n):
        t = i * 2
    for j in range(50):
        pass
    return i + t + j


@program(0, 2.5)
@program(5, 2.5)
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


@program(2.0)
@program(0.01)
@program(7.0)
@program(0.5)
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


@program(9.0)
@program(2.3)
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


@program(-3.0, False)
@program(3.0, True)
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


@program(-2.0)
@program(0.5)
def none_or_number(x):
    y = None
    if x > 0:
        y = x * 2
    return 0.0 if y is None else y + 1


@program(-0.5)
@program(-2.0)
@program(0.5)
def returns_none_or_number(x):
    y = maybe(x)
    z = maybe(x + 1)
    if y is None and z is None:
        return -1.0
    return (y or 3.0) + (z if z is not None else 7.0)


@program(2.0)
def maybe(x):
    if x > 0:
        return x * x


@program(2.0)
def other_types(x):
    y = (x, 1)
    y = y[0] + y[1]
    y = [y, x]
    y = {"a": y[0]}
    y = "text"
    y = x
    return y


@program(-0.5)
@program(0.5)
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


@program(0, 2.0)
@program(3, 2.0)
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


@program(1.5, 2.0)
def inner_functions(x, y):
    def square(t, n=2, *, shift=0.0):
        return t**n + shift

    def outer(t):
        return square(t) + y

    cube = lambda t: t * square(t)
    return square(x) + outer(x) + cube(y) + square(x, 3, shift=y)


@program(1.5, 2.0)
def late_binding(x, y):
    def f():
        return x

    g = [lambda: k * y for k in range(3)]
    h = [lambda k=k: k * y for k in range(3)]
    before = f()
    x = x + 10
    return before, f(), g[0](), h[0](), h[2]()


@program(1.5, 4)
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


@program(1.5, 2.0)
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


@program(-1.5, 2.0)
@program(1.5, 2.0)
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


@program(0.3, 0)
@program(0.3, 4)
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


@program(2.0, 3)
@program(1.01, 0)
@program(1.01, 50)
def recursion_of_unknown_depth(x, n):
    def inner(k):
        return x if k < 2 else 0.9 * inner(k - 1) + math.sin(inner(k - 2))

    return power(x, n) + fibonacci(n % 8) + inner(n % 7), is_even(n)


@program(1.5, 7)
@program(1.5, 20)
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


@program(-0.7, 2, differences="slopes of their own")
@program(0.7, 4, differences="slopes of their own")
def functions_with_rules(x, n):
    s = 0.0
    for k in range(n):
        s += soft_plus(x * k) + zyg.stop_gradient(x) * x + stairs(x)
    return s


# Containers


@program(1.5, 2.0)
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


@program(1.5, 11)
@program(1.5, -1)
@program(1.5, 0)
@program(1.5, 3)
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


@program(0.7, 1.1)
@program(0.1, 1.1)
@program(0.7, 9.5)
def a_list_of_another_length_before_a_return(x, y):
    xs = [x, y, 0.8]
    out = 0.25 * x
    for v in (i - u for i in range(3) for u in xs[1:] if x > 0.2):
        if v < -9.0:
            return out
        out = 0.8 * out + v
        xs = [y]
    return out


@program(1.5, 0)
@program(1.5, 1)
@program(1.5, 3)
def truth_of_ranges(x, n):
    y = x if range(n) else 2.0 * x
    return y + (0.0 if not range(1, n) else x) + (1.0 if range(n, 2) and n else x)


@program(1.5, 6, text="a list of a length that is computed")
def lists_of_tuples(x, n):
    path = [(x, 0)]
    while len(path) < n:
        value, k = path[-1]
        path.append((value * 0.5 + k, k + 1))
    return sum(v for v, _ in path), path[2], [k for _, k in path]


@program(1.5, 0)
@program(1.5, 4)
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


@program(1.5, 2)
@program(1.5, 3)
def computed_index(x, n):
    a = [x, 2.0, 3.0, 4.0]
    t = (1.0, x, 5.0, 6)
    s = 0.0
    for k in range(n):
        a[k] = a[k] * 2 + t[k]
        s += a[-1 - k] + t[-k]
    a[n] = s
    return sum(a), s


@program(1.5, 5)
def swapped_lists(x, n):
    old, new = [x, 1.0, 2.0], [0.0, 0.0, 0.0]
    for _ in range(n):
        for i in range(3):
            new[i] = 0.5 * old[i - 1] + old[i]
        old, new = new, old
    return old, new


@program(1.5, 2.0)
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


@program(-1.5)
@program(1.5)
def keys_of_one_side(x):
    d = {"a": 1.0}
    if x > 0:
        d["b"] = x
    return d["b"] if "b" in d else d["a"]


@program(1.5, 2, [1.0, 2.0, 3.0])
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


@program(1.5, 1, ir="an int comes back in the place of a float")
@program(1.5, 12)
def reductions_of_many(x, n):
    s = sum(math.sin(x * k) for k in range(n))
    t = max(math.sin(x * k) for k in range(n)) + min([math.cos(x * k) for k in range(n)])
    u = any(math.sin(x * k) > 0.9 for k in range(n)) + all(k * x < 5 for k in range(n))
    v = [k * x for k in range(n) if k % 2 == 0]
    w = sum(a * b for a, b in zip(v, v[1:]))
    return s, t, u, w, len(v), max((k * 0.7 % 1.0, k) for k in range(n))


@program(1.5, [1.0, 2.0, 3.0], 3)
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


@program(1.5, 0, text="a class")
@program(1.5, 7, text="a class")
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


@program(
    Point(1.0, 2.0), State(1.0, 2.0), {"w": [1.0, 2.0], "b": 0.5}, [Point(3.0, 4.0)],
    text="a class",
)  # fmt: skip
def structures(p, s, d, rows):
    q = p._replace(x=3.0)
    t = d["w"][0] * p.x + d["w"][1] * p.y + d["b"]
    t += s.energy + rows[0].norm + q.norm
    for x, y in rows:
        t += x * y
    return t, {"t": [t, p]}


# Results


@program(1.5, 2.0, text="a class")
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


@program(V, A, 0)
@program(V, A, 6)
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


@program(V, A)
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


@program(V, A, 0)
@program(V, A, 3)
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


@program(np.arange(1.0))
@program(np.arange(7.0))
def recursion_on_halves(x):
    y = x.copy()
    halved(y, 0, len(y))
    return total_of(x), y


GAINS = np.array([1.0, 2.0, 3.0])
RATES = [0.5, GAINS, (2, "name")]
TABLE = {"gain": GAINS, "on": True}


@program(V, 2)
def captured(v, n):
    s = 0.0
    for g in GAINS:
        s += g
    if TABLE["on"] and RATES[2][1] == "name":
        s += RATES[0] * n
    f = lambda t: t * GAINS
    return s, f(v), TABLE["gain"] + RATES[1], (GAINS * n)[n]


# What Python raises for


@program(0.5, raises=UnboundLocalError)
@program(2.0)
def unset(x):
    if x > 1:
        y = x
    return y


@program(0, raises=UnboundLocalError)
@program(3)
def unset_in_a_loop(n):
    for k in range(n):
        y = k
    return y


@program(2, raises=IndexError)
@program(-2)
def out_of_range(n):
    a = [1.0, 2.0]
    return a[n]


@program(1, raises=IndexError)
@program(2)
def popped(n):
    a = [1.0 for _ in range(n)]
    a.pop()
    return a.pop()


@program(0.5, raises=KeyError)
@program(2.0)
def missing_key(x):
    d = {}
    if x > 1:
        d["a"] = x
    return d["a"]


@program(0.5, raises=TypeError)
@program(2.0)
def none_in_arithmetic(x):
    y = None
    if x > 1:
        y = x
    return y + 1


@program(0.5, raises=ValueError)
@program(2.0)
def raising(x):
    if x < 1:
        raise ValueError(f"{x} is small")
    return x


@program(0.5, raises=AssertionError)
@program(2.0)
def asserting(x):
    assert x > 1, "small"
    return x


@program(5, raises=ValueError)
@program(2)
def raising_in_a_loop(n):
    s = 0.0
    for k in range(n):
        if k == 2:
            raise ValueError(k)
        s += k
    return s


@program(0, raises=ValueError)
@program(3)
def of_nothing(n):
    return max([k * 1.0 for k in range(n)])


@program(0.5, raises=UnboundLocalError)
@program(2.0)
def not_deleted(x):
    y = x
    if x < 1:
        del y
    return y


@program(0.5, 0.0, raises=ZeroDivisionError)
@program(2.0, 0.0)
def division_in_a_choice(x, y):
    return 1 / y if x < 1 else x
