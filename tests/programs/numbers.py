"""Scalar functions (x: float, y: float, k: int) that use what a kernel may hold, one thing each."""

# ruff: noqa: B007, E731, RET505 - forms that kernels must know

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np

from .program import program as registered

program = registered(0.71, -1.31, 5)


def named(name, f):
    registered(0.71, -1.31, 5, name=name)(f)


# Returns


@program
def early_return(x, y, k):
    if x > 1:
        return x * y
    if y > 1:
        return x + y
    return x - y


@program
def nested_returns(x, y, k):
    if x > 0:
        if y > 0:
            return x * y
        elif k > 2:
            return math.exp(y)
    else:
        if k == 0:
            return x
        x = x * 2
    return x + y


@program
def return_in_else(x, y, k):
    if x > y:
        z = x * x
    else:
        return y
    z += k
    return z


@program
def return_in_unrolled_loop(x, y, k):
    for i in range(4):
        x = x + 0.5
        if x * i > 2:
            return x * y
    return x


@program
def return_in_loop(x, y, k):
    s = y
    for i in range(20):
        s = s + x * i
        if s > 30:
            return s * 2
        s += 0.1
    return s - 1


@program
def return_in_nested_loops(x, y, k):
    for i in range(12):
        for j in range(k + 1):
            if i * j > abs(x) * 8:
                return x * i + y * j
        if i > 9:
            return math.sin(x) * i
    return y


@program
def return_in_while(x, y, k):
    while True:
        x = abs(x) * 1.5 + 1
        if x > 10:
            return x * y
        y = y * 0.9


@program
def returns_of_two_types(x, y, k):
    if k > 2:
        return k
    if k > 1:
        return True
    return x


@program
def return_after_flag_and_many_lines(x, y, k):
    s = 0.0
    for i in range(k + 3):
        if i % 2 == 1:
            continue
        a = x * i
        b = a + y
        c = b * 0.5
        d = c - a
        e = d * d
        s += e
        if s > 50:
            break
        s = s + 0.01 * x
    return s


# Loops


@program
def unrolled(x, y, k):
    s = 0
    for i in range(1, 5):
        s += x**i / i
    return s


@program
def long_loop(x, y, k):
    s = 0
    for i in range(20):
        s += x * y / (i + 1)
    return s


@program
def backwards(x, y, k):
    s = 0
    for i in range(15, -4, -2):
        s = s * 0.5 + x * i
    return s


@program
def short_backwards(x, y, k):
    s = 0
    for i in range(5, 0, -2):
        s = s * y + x * i
    return s


@program
def computed_bounds(x, y, k):
    s = 0.0
    for i in range(k - 1, 2 * k, 2):
        s += math.cos(x + i)
    return s * y


@program
def backwards_to_a_computed_bound(x, y, k):
    s = y
    for i in range(6, k - 3, -1):
        if i < -1:
            break
        s = 0.7 * s + x * i
    return s


@program
def empty_ranges(x, y, k):
    for i in range(0):
        x = x + i
    for i in range(5, 30, -1):
        x = x + i
    for i in range(k, k):
        x = x + i
    return x * y


@program
def loop_of_floats(x, y, k):
    n = int(abs(y) * 3)
    for i in range(n):
        x = x * 0.9 + i
    return x


@program
def breaks(x, y, k):
    s = 0.0
    for i in range(20):
        if s > 4:
            break
        s += abs(x) + 0.1
    return s * y + i


@program
def breaks_in_an_unrolled_loop(x, y, k):
    s = 0.0
    for i in range(5):
        if s > 1:
            break
        s += abs(x)
    return s * y + i


@program
def continues(x, y, k):
    s = 0.0
    for i in range(12):
        if (i + k) % 3 == 0:
            continue
        if x < 0 and i > 8:
            continue
        s += x * i
    return s


@program
def continues_in_an_unrolled_loop(x, y, k):
    s = 0.0
    for i in range(6):
        if x * i > 2:
            continue
        s += x * i + y
    return s


@program
def loop_with_else(x, y, k):
    s = 0.0
    for i in range(12):
        s += abs(x)
        if s > 8:
            break
    else:
        s = s + y
    return s


@program
def unrolled_with_else(x, y, k):
    s = 0.0
    for i in range(3):
        s += abs(x)
        if s > 3:
            break
    else:
        s = s * y
    return s


@program
def while_with_else(x, y, k):
    n = 0
    while n < k:
        n += 1
        if n * x > 3:
            break
    else:
        return y * n
    return x * n


@program
def break_in_else_is_of_the_loop_outside(x, y, k):
    s = 0.0
    for i in range(12):
        for j in range(10):
            if x + i < j * y:
                break
        else:
            break
        s += x
    return s


@program
def continue_in_else_is_of_the_loop_outside(x, y, k):
    s = 0.0
    for i in range(4):
        for j in range(3):
            if x + i < j * y:
                break
        else:
            continue
        s += x + i
    return s


@program
def break_of_the_inner_loop_only(x, y, k):
    s = 0.0
    for i in range(10):
        for j in range(10):
            if j > k:
                break
            s += x * j
        s += i * 0.1
    return s


@program
def newton(x, y, k):
    a = abs(x) + 1
    r = abs(y) + 1
    n = 0
    while n < 30 and abs(r * r - a) > 1e-12:
        r = 0.5 * (r + a / r)
        n += 1
    return r


@program
def while_and(x, y, k):
    n = 0
    while n < 10 and x * n < 5:
        n += 1
        y = y * 0.5 + x
    return y + n


@program
def while_with_work_in_its_test(x, y, k):
    n = 0
    while softplus(x) + n < 6 or n < k:
        n = n + 1
    return x * n


@program
def twice_the_same_name(x, y, k):
    s = 0.0
    for i in range(10):
        t = x * i
        s += t
    for i in range(10):
        t = y * i
        s += t
    return s


@program
def first_set_in_a_loop(x, y, k):
    s = 0.0
    for i in range(3):
        t = x * i
    for j in range(10):
        u = j
        s += t * u
    return s


@program
def fibonacci(x, y, k):
    a, b = x, y
    for _ in range(k + 10):
        a, b = b, a + b * 0.5
    return a


@program
def rotation_of_three(x, y, k):
    a, b, c = x, y, 1.0
    while k > -9:
        a, b, c = b, c, a * 0.9
        k -= 1
    return a + 2 * b + 3 * c


@program
def int_that_stays_int(x, y, k):
    n = 0
    for i in range(10):
        if i % 2:
            n = n + i
    return n // 2 + x


@program
def int_that_becomes_float_in_a_loop(x, y, k):
    s = k
    for _ in range(12):
        s = s * 0.5 + x
    return s


@program
def int_that_becomes_float_in_one_branch(x, y, k):
    n = k
    if x > 0:
        n = n * 0.5
    return n + y


@program
def bool_that_becomes_int(x, y, k):
    n = x > 0
    if y > 0:
        n = n + 2
    return n * x


@program
def flag_in_a_loop(x, y, k):
    found = False
    s = 0.0
    for i in range(10):
        if not found and x * i > 2:
            found = True
        if found:
            s += y
        else:
            s += x
    return s


@program
def loop_variable_changed_inside(x, y, k):
    s = 0.0
    for i in range(10):
        i = i + k
        s += i * x
    return s


@program
def loop_variable_after_the_loop(x, y, k):
    for i in range(4):
        x = x + i
    return x * i


@program
def tuple_carried_by_a_loop(x, y, k):
    p = (x, 0)
    for i in range(10):
        p = (p[0] * 0.5 + i, p[1] + 1)
    return p[0] * p[1]


WEIGHTS = (0.5, -1.5, 2.0)
NAMES = [1, 2.5]


@program
def over_a_captured_tuple(x, y, k):
    s = 0.0
    for w in WEIGHTS:
        s = s * x + w
    return s


@program
def over_enumerate_and_zip(x, y, k):
    s = y
    for i, w in enumerate(WEIGHTS):
        s += w * x**i
    for a, b in zip(WEIGHTS, (x, y), strict=False):
        s += a * b
    for w in reversed(NAMES):
        s = s * w
    return s


@program
def of_a_captured_tuple(x, y, k):
    return sum(WEIGHTS) * x + max(WEIGHTS) * y + len(NAMES) + WEIGHTS[-1] + sum(WEIGHTS[:2])


@program
def loop_in_a_branch(x, y, k):
    if x > 0:
        s = 0.0
        for i in range(12):
            s += x / (i + 1)
    else:
        s = y
        while s < 3:
            s = s + 1.25
    return s


@program
def branch_in_a_loop_in_a_branch(x, y, k):
    s = x
    if k > 1:
        for i in range(k + 9):
            if s > y:
                s = s - 0.3 * y
            elif s > 0:
                s = s * 1.1
            else:
                s = s + 1
                if i > 5:
                    s = s * x
    return s


# Conditions


@program
def chained_comparisons(x, y, k):
    if -1 < x < y <= 2:
        return x
    return y if 0 <= k < 3 != x else x * y


@program
def and_or_not(x, y, k):
    if (x > 0 and y > 0) or not (k > 1 or x > 1):
        return x * y
    return x - y


@program
def and_of_mixed_types(x, y, k):
    a = x and y
    b = k or x
    c = (x > 0) and y
    d = (x > 0) or k
    return a + b + c + d


@program
def or_of_three(x, y, k):
    return (k and x and y) + (0 or k or y)


@program
def and_with_calls_that_branch(x, y, k):
    if softplus(x) > 1 and relu(y) > 0.5 and relu(x) > 0.1 and softplus(y) < 9 and relu(x) < 9:
        return x
    return y


@program
def and_guards(x, y, k):
    return x / k if k != 0 and 7 % k == 1 else y


@program
def conditional_expressions(x, y, k):
    a = x if x > y else y if y > k else float(k)
    return a * (1 if x > 0 else -1)


@program
def conditional_tuples(x, y, k):
    a, (b, c) = (x, (y, 1.0)) if x > y else (y, (x, 2.0))
    return a * 3 + b * c


@program
def membership(x, y, k):
    if k in (1, 3):
        return x
    return y if k not in [0, 2] else x * y


@program
def not_of_a_number(x, y, k):
    return x if not k else y


@program
def none_and_strings(x, y, k, mode="plain", extra=None):
    if extra is None and mode == "plain" and mode in ("plain", "other"):
        return x
    return y


@program
def a_variable_of_one_side(x, y, k):
    if x > 0:
        t = x * y
        z = t + 1
    else:
        z = y
    return z


# Assignments


@program
def swaps(x, y, k):
    x, y = y, x
    if x > y:
        x, y = y, x
    return x - 2 * y


@program
def nested_targets(x, y, k):
    (a, b), c = (x, y), k
    [d, e] = [a, b]
    f = g = d * e
    return f + g + c


@program
def augmented(x, y, k):
    z = x
    z += y
    z *= 2
    z -= k
    z /= 3
    z **= 2
    n = k
    n //= 2
    n %= 3
    return z + n


@program
def annotated(x, y, k):
    z: float
    z = x * y
    w: float = z + 1
    return w


@program
def starred(x, y, k):
    pair = (x, y)
    return middle(*pair, *[k])


# Numbers


@program
def whole_numbers(x, y, k):
    q, r = divmod(k, 3)
    return q * 10 + r + k // 2 + k % 4 + (-k) // 3 + (-k) % 5 + x


@program
def floats_by_division(x, y, k):
    q, r = divmod(x * 5, 1.5)
    return q * 10 + r + x // 0.4 + (y * 3) % 0.7 + (-x) % 1.3 + k / 4


@program
def rounding(x, y, k):
    a = round(x * 2.3)
    b = int(y * 2) + math.floor(x) + math.ceil(y) + math.trunc(x * 3)
    return a + b + np.floor(x) * 0.5 + np.rint(y) + np.trunc(y) + round(k) + int(k)


@program
def powers(x, y, k):
    a = x**2 + x**3 - x**5 + (1 + abs(x)) ** 0.5 + (1 + abs(x)) ** y
    return a + (2 + abs(y)) ** -2 + 2**k + k**2 + x**0 + 2.0**x + (1 + abs(x)) ** k + pow(y, 2)


@program
def bits(x, y, k):
    return ((k & 1) | 6) + (k ^ 5) + x * ((x > 0) & (y > 0)) + ~k


@program
def int_and_float_together(x, y, k):
    return k * k * x + k / 2 + (k > 1) * y + True * x


@program
def known_numbers(x, y, k):
    n = abs(-2) + min(3, 4) + divmod(7, 2)[0] + round(2.5) + int("3") + len("ab")
    if x > 0:
        n = 3
    return n * x + math.pi + np.pi + math.sqrt(2.0) + float("0.5")


@program
def extrema(x, y, k):
    return max(x, y, 0.5) * min(x, k) + max((x, y)) + min(1.0, 2) + abs(k)


@program
def types_are_known(x, y, k):
    if isinstance(x, float) and not isinstance(k, float) and isinstance(k, (int, float)):
        return x
    return y


@program
def selections(x, y, k):
    return np.where(x > 0, x, y) + np.clip(y, -0.5, 0.5) + np.maximum(x, k) + np.minimum(x, 0)


@program
def elementary(x, y, k):
    a = math.exp(x) + math.log(2 + abs(y)) + math.sin(x) * math.cos(y) + math.tanh(x)
    b = math.atan2(y, 3.0) + math.hypot(x, y) + math.erf(x) + math.log1p(abs(x)) + math.expm1(y)
    c = math.fabs(x) + math.copysign(x, y) + math.fmod(x, 0.7) + math.pow(2.0 + abs(x), y)
    d = math.log(2 + abs(x), 3) + math.log2(2 + abs(y)) + math.degrees(x) + math.isnan(x)
    return a + b + c + d


@program
def in_ufuncs(x, y, k):
    a = np.exp(x) + np.logaddexp(x, y) + np.arctan(x) + np.square(y) + np.sign(x) + np.cbrt(y)
    return a + np.sinc(x) + np.heaviside(y, 0.5) + np.deg2rad(x) + np.hypot(x, y) + np.exp2(y)


# Helper functions


def softplus(x):
    if x > 10:
        return x
    return math.log1p(math.exp(x))


def relu(x):
    return x if x > 0 else 0.0


def middle(a, b, c):
    return max(min(a, b), min(max(a, b), c))


def scaled(x, factor=2.0, *, shift=0.25, how=relu):
    return how(x) * factor + shift


def total(first, *rest, weight=1):
    s = first
    for x in rest:
        s += weight * x
    return s


def both(x, y):
    return x * y, x + y


def deep(x, n=3):
    return x if n == 0 else math.sin(deep(x, n - 1)) + x


@program
def helpers(x, y, k):
    return scaled(x) + scaled(y, 3.0, shift=x) + scaled(x, how=softplus) + softplus(relu(y))


@program
def helpers_of_many(x, y, k):
    return total(x) + total(x, y, k) + total(x, *both(x, y), weight=2)


@program
def helpers_that_return_several(x, y, k):
    p, s = both(x, y)
    q = both(p, s)
    return q[0] - q[1]


@program
def recursion_that_ends(x, y, k):
    return deep(x) + deep(y, 2)


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args):
        return 2 * f(*args)

    return wrapper


@program
@doubled
def decorated(x, y, k):
    return x * y + k


named("partial", functools.partial(lambda a, x, y, k, b=1: a * x + b * y, 1.5, b=2))


class Line:
    """A callable object with attributes."""

    def __init__(self, slope, intercept):
        self.slope, self.intercept, self.on = slope, intercept, True

    def __call__(self, x, y, k):
        return self.at(x) + y if self.on else k

    def at(self, x):
        return self.slope * x + self.intercept

    @property
    def root(self):
        return -self.intercept / self.slope

    @staticmethod
    def cubed(x):
        return x**3

    def method(self, x, y, k):
        return self.root * x + self.cubed(y) + Line.cubed(x)


named("object", Line(2.0, 0.5))
named("method", Line(2.0, 0.5).method)
LINE = Line(-1.0, 2)


@program
def captured_object(x, y, k):
    return LINE.at(x) + LINE(y, x, k) + LINE.root


class Point(NamedTuple):
    x: float
    y: float

    def norm(self):
        return math.sqrt(self.x**2 + self.y**2)


@dataclasses.dataclass
class Pair:
    x: float
    y: float = 0.5

    @property
    def product(self):
        return self.x * self.y


@program
def structures(x, y, k):
    p = Point(x, y + 2)
    q = Pair(p.norm())
    if x > 0:
        p = p._replace(x=2.0) if False else Point(p.y, p.x)
        q = Pair(x, y)
    return p.norm() * q.product + q.x - p[0]


OPTIONS = {"slope": 1.5, "on": True}


@program
def captured_dict(x, y, k):
    return OPTIONS["slope"] * x if OPTIONS["on"] else y


# Inside


@program
def comprehensions(x, y, k):
    a = [x * i for i in range(4) if i != 2]
    b = {name: w * y for name, w in zip("ab", WEIGHTS, strict=False)}
    return sum(a) + b["a"] * b["b"] + max(abs(v) for v in a) + len({1, 2})


@program
def defined_inside(x, y, k):
    def scaled(t, by=2.0):
        return t * by + y

    half = lambda t: scaled(t, 0.5)
    y = y + 1
    return scaled(x) + half(x)


@program
def counted_inside(x, y, k):
    total = x

    def add(t):
        nonlocal total
        total += t

    z = add(y) or add(x * y)
    return total if z is None else 0.0


@program
def assigned_in_an_expression(x, y, k):
    if (z := x * y) > 0:
        return z
    return [w := z + 1, w * y][1]


@program
def the_rest_of_a_tuple(x, y, k):
    a, *b = (x, y, 3.0)
    *c, d = b
    return a * len(b) + sum(b) + c[0] * d


@program
def lists_and_dicts(x, y, k):
    a = [x]
    b = a
    b.append(y)
    a[0] = x * y
    d = {"a": a[0], "b": b[1]}
    d["c"] = d.get("z", 2.0)
    for i in range(12):
        a[1] += x * i
    return d["a"] + d["b"] * d["c"] + a[1] + ("b" in d)


class Walker:
    def __init__(self, x):
        self.x, self.steps = x, 0

    def step(self, by):
        self.x += by
        self.steps += 1
        return self


@program
def objects_made_inside(x, y, k):
    w = Walker(x).step(y)
    p = Pair(x)
    p.y = p.product
    if x > 0:
        w.step(p.y)
    return w.x * w.steps + p.y


# Lambdas

FIRST, SECOND = lambda x, y, k: x * y, lambda x, y, k: x + y  # two on one line
named("first", FIRST)
named("second", SECOND)
named(
    "several lines",
    lambda x, y, k: x * y
    if x > 0
    else y
    - k
)  # fmt: skip
named("identity", lambda x, y, k: x)
named("constant", lambda x, y, k: 2.5)
named("compare", lambda x, y, k: (0 < x < y) + k)
named("either", lambda x, y, k: (x > 0 and y) or k)
named("default", lambda x, y, k, w=3.0: w * x if k else y)
named("call", lambda x, y, k: softplus(x) + relu(y))
