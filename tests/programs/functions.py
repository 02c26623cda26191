"""Functions as users write them, one for each thing that `zyg.compile` compiles."""

import cmath
import functools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .program import program

FUNCTION = "a function is an argument"
X4 = np.array([0.5, -1.2, 2.0, 0.1])
MATRIX = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
SQUARE = np.array([[2.0, 0.5, 0.1], [0.3, 1.5, -0.2], [0.1, -0.4, 1.8]])

# Loops


@program(1.01, 50)
@program(1.3, 0)
@program(1.3, 7)
def power_by_while(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


@program(
    X4[:0], ir="another kind of float comes back", pullback="its value is of NumPy's, not Python's"
)
@program(X4)
def branch_in_loop(xs):
    s = 0.0
    for v in xs:
        if v > 0:
            s += v * v
        else:
            s -= math.sin(v)
    return s


@program(7.0, 0.0)
@program(0.01, 0.3)
@program(0.5, -9.0)
def exits(x, tol):
    y = x
    for i in range(100):
        if y > 5:
            return y * y
        if i % 3 == 0:
            continue
        y = 1.3 * y + 0.1
        if y < tol:
            break
    return y * x


@program(1.1)
def swaps(x):
    a, b = x, 1
    for _ in range(6):
        a, b = b, a * b
    return a + b


@program(X4, 0.7)
def horner(c, z):
    p = 0.0
    for k in range(len(c) - 1, -1, -1):
        p = p * z + c[k]
    return p


@program(np.array([0.5, -1.2, 1.9, 0.1]))
def ragged_while(v):
    s = 0.0
    for k in range(len(v)):
        y = abs(v[k])
        while y < 2:
            y = 0.3 * y * y + y + 0.1
        s += y * v[k]
    return s


@program(X4)
def recurrence(x):
    h = s = 0.0
    for i in range(len(x)):
        h = np.tanh(0.5 * h + x[i])
        s += (i + 1) * h
    return s


@program(X4, 1.5)
def loop_else(xs, top):
    for x in xs:
        if x > top:
            s = x * 3
            break
    else:
        s = xs[0]
    for x in xs:
        if x > 100:
            break
    else:
        s += xs[1] ** 2
    return s


@program(X4)
def return_from_a_nest(x):
    for i in range(len(x)):
        for j in range(len(x)):
            if x[i] + x[j] > 3:
                return x[i] * x[j] + x[0]
    return x[0]


@program(0.7, X4)
def sum_and_one_element(a, y):
    return np.sum(a * y) + a * y[2]


@program(X4, 2 * X4)
def zip_and_enumerate(xs, ys):
    s = 0.0
    for k, (x, y) in enumerate(zip(xs, ys)):  # noqa: B905
        s += k * x * y
    for x in reversed(xs):
        s = 0.5 * s + x
    return s


# Writes


@program(X4)
def in_place(u):
    u = u.copy()
    for _ in range(2):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) * u[i]
    return np.sum(u)


@program(X4)
def prefix_product(u):
    u = u.copy()
    for i in range(len(u) - 1):
        u[i + 1] *= u[i]
    return u[len(u) - 1]


@program(X4)
def slices(x):
    y = np.zeros(6)
    y[1:5] = x
    y[2:4] += x[1:3] * y[1:3]
    y[::2] *= 2.0
    return np.sum(y * y) + y[-2]


@program(MATRIX)
def rows_and_columns(a):
    b = np.zeros_like(a)
    b[0] = a[1] * a[0]
    b[:, 1] += a[:, 2]
    b[1, 1:] = a[0, :2]
    return np.sum(b**2) + b[0, 0]


@program(X4)
def masks(x):
    y = x.copy()
    y[x < 0] = 0.5
    y[x > 1] *= 3.0
    return np.sum(y[y > 0.3] ** 2)


@program(X4, np.array([3, 0, 0, 2]))
def index_arrays(x, idx):
    y = x[idx] ** 2
    z = np.zeros(4)
    np.add.at(z, idx, y)
    w = x.copy()
    w[idx[1:2]] = y[0]
    return np.sum(z * x) + np.sum(w)


@program(MATRIX)
def views_of_views(a):
    b = a.copy()
    t = b.T
    row = t[1:]
    row[0, :] = a[0, 0] * a[1, :2]
    v = row[1]
    v *= a[0, 1]
    return np.sum(b * b)


@program(X4, 0.3)
def arrays_by_branch(x, t):
    a = x * 2
    b = np.sin(x)
    c = a if t > 0 else b
    c[0] = t
    if t > 5:
        d = a
    else:
        d = b
    d[1] = a[0] * t
    return np.sum(a * b)


@program(X4)
def rebound_arrays(x):
    a = x * 1.0
    b = np.ones(4)
    for _ in range(3):
        a, b = b, a * b + x
    return np.sum(a + b * b)


@program(X4)
def buffer_reused(x):
    buffer = np.zeros(2)
    total = 0.0
    for i in range(len(x) - 1):
        buffer[0] = x[i]
        buffer[1] = x[i + 1] * buffer[0]
        total += buffer[1] ** 2 + buffer[0]
    return total


@program(X4)
def allocated_in_a_loop(x):
    total = 0.0
    for i in range(3):
        t = np.zeros(i + 1)
        for j in range(i + 1):
            t[j] = x[j] * x[i]
        total += np.sum(t) * t[0]
    return total


@program(X4)
def written_argument(x):
    x[0] = x[1] * x[2]
    x[2:] *= 2
    return np.sum(x * x)


@program(X4)
def writes_in_branches(x):
    y = np.zeros(4)
    for i in range(4):
        if x[i] > 0:
            y[i] = x[i] ** 2
        elif x[i] < -1:
            y[0] += x[i]
    return np.sum(y * x)


# Values and names


@program(0.4, 1.2)
def chained_and_logical(x, y):
    a = x if 0 < x < y else y
    b = (x > 3 and x) or y
    c = x and y
    if not x > y or x == 0:
        a += 1
    return a * b + c


@program(0.7)
def rebound_names(x):
    y = 3
    y = y * x
    x = x > 0.5
    if x:
        y = y * 2
    z = int(y)
    y = float(z) + y
    return y  # noqa: RET504


@program((0.5, 1.5), {"a": 2.0, "b": (0.3, X4)})
def structured_arguments(pair, settings):
    a, (b, c) = settings["a"], settings["b"]
    x, y = pair
    return a * x + b * y + np.sum(c * x)


@program(0.5, "cube", None, True)
def flags_and_strings(x, kind, nothing, flag):
    if kind == "cube" and nothing is None:
        y = x**3
    else:
        y = x
    return y if flag else -y


@program(1.7)
def python_functions(x):
    return (
        min(x, 2.0, x * x) + max([x, 1.0]) + abs(-x) + sum([x, x * x]) + pow(x, 2)
        + round(x) + divmod(x, 0.5)[1] + float(len("abc")) * x
    )  # fmt: skip


# Structures


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Model:
    weights: np.ndarray
    bias: float

    def __call__(self, x):
        return self.weights @ x + self.bias

    @property
    def size(self):
        return np.sum(self.weights**2)


@program(Point(0.5, 1.2))
def named_tuples(p):
    q = Point(p.y, p.x * p.y)
    q = q._replace(x=q.x + 1)
    return q.x * q.y


@program(Model(X4, 0.5), 2 * X4, ir="an object that can be called is an argument")
def dataclasses(model, x):
    return model(x) ** 2 + 0.1 * model.size


@program(0.3, X4)
def structured_result(x, a):
    return {"sum": x + np.sum(a), "parts": (x * x, [a * x, 3])}


# Functions


def helper(x, scale=2.0, *, shift=0.0):
    return scale * x * x + shift


@program(0.6)
def helpers_and_keywords(x):
    return helper(x) + helper(x, 3.0) + helper(x, shift=x)


@program(0.6, 1.1)
def closures(x, y):
    def inner(z):
        return z * y + k

    k = x * 2
    double = lambda f: lambda z: f(f(z))  # noqa: E731
    return double(inner)(x)


@program(functools.partial(helper, scale=1.5), 0.4, text=FUNCTION, text_of_derivatives=FUNCTION)
def function_argument(f, x):
    return f(x) * x


@program(1.01, 50)
def recursive_power(x, n):
    def power(k):
        return 1.0 if k == 0 else x * power(k - 1)

    return power(n)


def halved(x):
    if x < 0.1:
        return x * x
    return halved(x / 2) + x


@program(1.3)
def recursion_on_values(x):
    return halved(x)


def even(x, n):
    return x if n == 0 else odd(x * 1.1, n - 1)


def odd(x, n):
    return -x if n == 0 else even(x + 0.1, n - 1)


@program(0.4, 5)
def mutual_recursion(x, n):
    return even(x, n)


def sines(x, n):
    return 1.0 if n == 0 else math.sin(x) * sines(x * 1.1, n - 1)


@program(0.7, 5)
def recursion_that_is_only_compared(x, n):
    first = sines(2.1 * x, n - 3)
    y = sines(x, n)
    last = sines(2 * x, n - 2)
    return y if last > first else 2 * y


def halving(x, n):
    if n < 2:
        return x * x
    if halving(0.9 * x, n - 3) > 0.1:
        return math.sin(halving(1.1 * x, n - 1)) + halving(0.8 * x, n - 2) * x
    return math.cos(halving(x + 0.3, n - 2))


@program(0.6, 6)
def recursion_that_asks_itself(x, n):
    return halving(x, n) * x


@program(SQUARE)
def minors(a):
    def minor(row, left):
        if row == len(a):
            return 1.0
        total, sign = 0.0, 1.0
        for k in range(len(a)):
            if left & (1 << k):
                total += sign * a[row, k] * minor(row + 1, left - (1 << k))
                sign = -sign
        return total

    return minor(0, 7)


def walk(x, n, w):
    total, y, i = 0.0 * w[0], x, 0
    while i < n:
        y = math.sin(y) * 1.3
        for k in range(2):
            if y > 0.2:
                total += w[i] * walk(y - 0.1 * k, n - 1 - i, w)
            elif y < -0.9:
                return total * y
        total += y * w[i]
        i += 1
    return total + x


@program(-1.2, 3, X4)
@program(0.9, 3, X4)
def recursion_in_loops(x, n, w):
    return walk(x, n, w) * x


def folded(a):
    if len(a) == 1:
        return a[0] * a[0]
    half = len(a) // 2
    b = np.sin(a[:half]) * a[-half:]
    a[0] += b[0]
    return folded(b) + folded(a[:half] * 2.0) * np.sum(a)


@program(X4)
def recursion_with_arrays(a):
    return folded(a * 0.5)


def tree_sum(tree, w):
    if isinstance(tree, tuple):
        return math.tanh(w * sum(tree_sum(t, w) for t in tree))
    return tree * w


@program(((0.3, 0.5), (0.1, (0.7, 0.2))), 0.8)
def trees(tree, w):
    return tree_sum(tree, w)


# NumPy


@program(X4)
def creation(x):
    a = np.ones(4) * x + np.arange(4) + np.linspace(0, 1, 4)
    b = np.full(3, x[0])
    c = np.eye(3) * x[1]
    d = np.array([x[0], x[2], 1.0])
    return np.sum(a * x) + np.sum(c @ b) + np.sum(d**2) + np.sum(np.zeros_like(a))


@program(MATRIX, np.array([0.5, -0.2, 0.3]))
def broadcasting(a, b):
    c = a * b + b[None, :] - a[:, :1]
    return np.sum(np.where(c > 0, np.sin(c), c**2)) + np.sum(np.maximum(a, 0.1))


@program(MATRIX)
def ufuncs(a):
    y = np.exp(-a) + np.log1p(np.abs(a)) + np.sqrt(a * a + 1) + np.arctan2(a, 2.0)
    out = np.empty_like(a)
    np.multiply(y, a, out=out)
    np.add(out, 1.0, out=out)
    return np.sum(out)


@program(MATRIX)
def reductions(a):
    m = np.mean(a, axis=0)
    v = np.var(a, axis=1, keepdims=True)
    return (
        np.sum(m * m) + np.sum(v) + np.max(a) * np.min(a) + np.prod(a[0]) + a.sum(axis=(0, 1))
        + np.std(a) + np.linalg.norm(a) + a.max(axis=1).sum()
    )  # fmt: skip


@program(X4)
def scans_and_orders(x):
    s = np.sort(x)
    c = np.cumsum(x * x)
    k = np.argmax(x)
    d = np.diff(x)
    return np.sum(s * c) + x[k] + np.sum(d**2) + np.sum(x[np.argsort(x)] * np.arange(4))


@program(MATRIX, SQUARE)
def products(a, b):
    c = a @ b
    d = np.dot(c, b[0])
    e = np.einsum("ij,kj->ik", c, a)
    f = np.outer(d, d)
    return np.sum(np.tanh(c)) + d @ d + np.sum(e * f) + np.trace(b) + np.vdot(a, a)


@program(SQUARE, np.array([0.5, -0.2, 0.3]))
def linear_algebra(a, b):
    x = np.linalg.solve(a, b)
    s = a @ a.T + np.eye(3)
    chol = np.linalg.cholesky(s)
    sign, logdet = np.linalg.slogdet(s)
    return np.sum(x * b) + np.sum(np.log(np.diag(chol))) + sign * logdet + np.linalg.det(a) + (
        np.sum(np.linalg.inv(a) ** 2)
    )  # fmt: skip


@program(MATRIX)
def shapes(a):
    b = a.reshape(3, 2).T
    c = np.concatenate([a, b], axis=0)
    d = np.stack([a[0], b[1]])
    e = np.ravel(c)[::2]
    f = np.repeat(a[0], 2) * np.tile(a[1], 2)
    g = np.roll(a[0], 1) * np.flip(a[1])
    return np.sum(c**2) + np.sum(d * d) + np.sum(e) + np.sum(f) + np.sum(g) + a.size * a[0, 0]


@program(X4)
def selections(x):
    y = np.clip(x, -0.5, 0.6)
    z = np.interp(0.3, np.array([0.0, 0.5, 1.0]), x[:3])
    w = np.convolve(x, np.array([0.5, 0.25]))
    return np.sum(y * x) + z + np.sum(w**2) + np.count_nonzero(x > 0)


@program(X4.astype(np.float32), np.float32(0.5))
def single_precision(x, t):
    y = x * 2 + t
    return np.sum(y * y)


@program(0.3 + 0.4j)
def complex_numbers(z):
    w = cmath.exp(z) * (1 + 2j) + z.conjugate()
    return abs(w) ** 2 + w.real


@program(X4 + 0.5j * X4[::-1])
def complex_arrays(z):
    w = np.exp(1j * z) * z
    return np.sum(np.abs(w) ** 2) + np.sum(w.real) + np.sum((z * z.conj()).real)


@program(np.array(0.7), np.zeros((0, 3)))
def no_dimensions_and_no_elements(x, empty):
    return np.sum(empty) + x * x + np.sum(empty, axis=0)[0] * x


@program(np.array([1, 2, 3]), 4, 0.5, text_of_derivatives="by ints")
def ints(a, n, x):
    s = 0
    for v in a:
        s += v * n // 2 + v % 2
    return x * s + n / 8 + (n << 1) * x - (-7 // 2) + (-7 % 3)


@program(np.asfortranarray(MATRIX), X4[::-2])
def layouts(a, b):
    return np.sum(a[:, 1:] * b) + a[0, 0] * b[-1]


@program(0.6)
def several_results(x):
    return x * x, math.sin(x)


# Checks


@program(X4)
def asserted(x):
    assert len(x) == 4, f"not {len(x)}"
    if x[0] > 100:
        raise ValueError("too large")
    return np.sum(x)


# Ints with exponents that are computed, tests that assign


@program(0.3, 7, 3)
def int_powers(x, n, base):
    s = 0.0
    for k in range(n):
        s += x / 2**k + base ** (k % 3)
    return s * base ** (n - 4)


@program(3.3, X4)
def assignments_in_a_test(x, u):
    k = 0
    s = 0.0
    while (y := x / (k + 1.0)) > 0.4:
        s += y * y
        k += 1
    stack = [u[0], u[1], u[2]]
    while stack and (t := stack.pop()) > -1.0:
        s += t * k
        if s > 100.0:
            break
    else:
        s *= t
    return s + y


@program(X4)
def writes_in_a_test(u):
    v = u.copy()

    def halved():
        v[2] *= 0.5
        return v[2]

    s = 0.0
    while halved() > 0.1:
        s += v[2] * u[0]
    return s


# Of a length that is computed; match


@program(X4[:2], MATRIX)
def unpacked_arrays(pair, points):
    x, y = pair
    total = x * y
    for p in range(len(points)):
        a, b, c = points[p]
        total += a * b - c * x
    (u, v, _), w = points
    return total + u * v * w[0]


@program(X4, np.array([1, 3, 2, 1]), 4, 0.5)
def knapsack(values, weights, capacity, least):
    best = [values[0] * 0.0] * (capacity + 1)
    for k in range(len(values)):
        for c in range(capacity, weights[k] - 1, -1):
            best[c] = max(best[c], best[c - weights[k]] + values[k])
    pairs = [(1.0, least), (2.0, 0.0)] * capacity
    return best[capacity] * least + pairs[3][0] + pairs[2][1] + len([] * capacity)


@program(X4, "huber", 2)
def chosen_by_match(xs, kind, power):
    match kind:
        case "squares" | "l2":
            total = sum(x * x for x in xs)
        case "huber" if power > 1:
            total = sum(x * x if abs(x) < 1 else 2 * abs(x) - 1 for x in xs)
        case _:
            raise ValueError(kind)
    match power:
        case 1:
            return total
        case None | 2:
            return total * total
    return total**3


@program(X4, 2)
def reduced_without_a_start(xs, n):
    known = {1: xs[0], 2: xs[1] * xs[2]}
    return functools.reduce(operator.mul, xs) + known[n]


@program(X4[:3], np.linspace(-0.5, 1.5, 8), 3)
def tree_network(w, leaves, depth):
    def node(first, level):
        if level == 0:
            return leaves[first]
        half = 2 ** (level - 1)
        return w[0] * np.tanh(node(first, level - 1)) + w[1] * node(first + half, level - 1) + w[2]

    return node(0, depth)
