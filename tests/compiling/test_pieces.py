"""Long programs: in pieces, each of bounded length, and with loops where rounds would be too many.

They give what Python gives.
"""

import cmath

import numpy as np
import pytest

import zyg
from tests.compiler.wholes import read
from tests.modules import function
from zyg.base import caches
from zyg.compiler.back import pieces
from zyg.compiler.back.llvm_functions import Module

pytestmark = pytest.mark.usefixtures("machine_code_alone")

X = np.linspace(0.4, 1.3, 5)


def numbers(x):
    a, k, found = np.sin(x[0]), len(x), False
    b, k = a * x[1] + k, k // 2
    if b > 1.0:
        c, found = b * a, True
    else:
        c = b - a
    d, j = c * b + a, int(b) + k
    e = d * d if found else d - c
    z = complex(a, b) * cmath.exp(complex(d * 0.1, c))
    return (z * z).real + e * j + a + c


def arrays(x):
    a = np.sin(x) * len(x)
    b = a[1:] + a[:-1]
    c = np.zeros(len(x) + 3)
    c[: len(b)] = b * b
    c[1] += a[0]
    d = np.cumsum(c)
    e = np.where(d > 1.0, d, c)
    return np.sum(e * d) + np.max(a) + b[-1]


def loops(x):
    total, kept = 0.0, []
    for i in range(9):
        a = x * (i + 1)
        b, c, s = np.sin(a), np.zeros(len(x)), 0.0
        for j in range(len(x)):
            c[j] = b[j] * a[j] + s
            s += c[j] * 0.1
        x = x * 0.9 if s > 0.5 else x + c * 0.1
        kept.append(s * x[0])
        total += s
    while total > 1.0 and len(kept) < 40:
        total = total * 0.7
        kept.append(total * x[1])
    return total + sum(kept) + np.sum(x)


def narrow(x):
    y = x.astype(np.float32)
    a, b = y * np.float32(0.3), y + y[0]
    c = a * b
    d = c[0] * c[1] + a[2]
    return d * d + np.sum(c * a) * x[0] + x[1] * x[0]


def power(x, k):
    return x if k <= 0 else power(x * 0.8 + 0.1, k - 1) * x


def calls(x):
    a = power(x[0], len(x))
    b = power(a * x[1], len(x) + 1)
    c = x * a + b
    return np.sum(c * c) + power(c[2], len(x))


@pytest.mark.parametrize("f", [numbers, arrays, loops, narrow, calls])
def test_pieces_give_what_the_function_gives(f, monkeypatch, tmp_path):
    caches.clear()
    monkeypatch.setenv("ZYG_CACHE_DIR", str(tmp_path))
    for name, length in (("_LONG", 6), ("_PIECE", 4), ("_ROUND", 8)):
        monkeypatch.setattr(pieces, name, length)
    compiled, tolerance = zyg.compile(f), 1e-6 if f is narrow else 1e-13
    for how in ("first", "whole"):
        with zyg.config(compile=how):
            np.testing.assert_allclose(compiled(X), f(X), rtol=tolerance)
            value, (slope,) = zyg.value_and_gradient(compiled, X)
    np.testing.assert_allclose(value, f(X), rtol=tolerance)
    if f is narrow:  # too coarse for finite differences
        np.testing.assert_allclose(slope, zyg.gradient(f, X)[0], rtol=1e-4)
    else:
        zyg.check_gradient(compiled, X)
    assert len(pieces.in_pieces(read(f, X).program)[1]) > 1


def statements(count):
    """A function of so many statements of arrays, each with a loop of its own."""
    forms = ["np.sin({})", "0.5 * {} * {}", "0.4 * ({} + {})", "np.tanh({}) - 0.3 * {}"]
    lines = ["import numpy as np", "def f(x):", "    t0, t1, t2 = x, x * 0.5, x + 1.0"]
    lines += [
        f"    t{k} = {forms[k % 4].format(f't{k - 1}', f't{k - 3}')}" for k in range(3, count)
    ]
    return function("\n".join([*lines, f"    return np.sum(t{count - 1} * t{count - 2})"]))


def longest(f):
    """The lines of the longest function of the text for a program."""
    text = Module(read(f, X).program).whole()
    return max(len(part.splitlines()) for part in text.split("\ndefine "))


def test_functions_of_a_text_do_not_get_longer_with_the_program():
    assert longest(statements(800)) < 1.2 * longest(statements(400))


def test_a_long_program_gives_the_derivatives_of_the_tracer():
    f = statements(400)
    compiled = zyg.compile(f)

    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-13)
    np.testing.assert_allclose(zyg.gradient(compiled, X)[0], zyg.gradient(f, X)[0], rtol=1e-10)


def slopes(x):
    d = np.zeros((3, 3))
    for k in range(3):
        e = np.zeros(3)
        e[k] = 1e-3
        d[:, k] = (curve(x + e) - curve(x - e)) / 2e-3
    return d


def curve(x):
    y = np.zeros(3)
    for i in range(3):
        for j in range(3):
            y[i] += np.sin(x[j] * (i + 1)) * x[i] + x[i] * x[j] / (1.5 + i + j)
    return y


def newton(x):
    x = x[:3]
    for _ in range(6):
        for _ in range(4):
            x = x - 0.1 * np.linalg.solve(slopes(x) + 3.0 * np.eye(3), curve(x))
    return np.sum(x * x)


def test_short_ranges_in_short_ranges_are_loops_where_they_are_long():
    compiled = zyg.compile(newton)

    np.testing.assert_allclose(compiled(X), newton(X), rtol=1e-12)
    zyg.check_gradient(compiled, X)
    assert len(compiled.inspect(X)["value"].splitlines()) < 2000


def nested(x):
    """What it makes has another structure in each round."""
    found = ()
    for i in range(8):
        row = ()
        for j in range(8):
            y = x[i % 5] * (j + 1)
            for _ in range(8):
                y = np.sin(y) + y * 0.1
                y = y * np.cos(y) + 0.3 * j
            row = (*row, y)
        found = (*found, row)
    return sum(y for row in found for y in row)


def test_rounds_that_cannot_be_a_loop_are_read_one_by_one_however_many():
    compiled = zyg.compile(nested)

    np.testing.assert_allclose(compiled(X), nested(X), rtol=1e-12)
