"""Loops whose rounds run in lanes give what they give round by round."""

from __future__ import annotations

import math

import numpy as np
import pytest

import zyg
from zyg.compiler.autodiff import reverse
from zyg.compiler.autodiff.forward import pushforward
from zyg.compiler.back.llvm_functions import Module
from zyg.compiler.ir import Value

from .wholes import read

COUNTS = (0, 1, 3, 4, 7, 8, 9, 16, 1000)


def waves(x, w):
    total = 0.0
    for i in range(len(x)):
        t = 0.0
        for j in range(len(w)):
            t += x[i, j] * w[j]
        for j in range(len(w)):
            t = np.sin(t) + w[j] * np.exp(-t * t)
        total += np.log(1 + t * t)
    return total


def payments(x, w):
    total = 0.0
    for i in range(len(x)):
        s = w[0] ** 2
        for j in range(x.shape[1]):
            s *= np.exp(0.1 * x[i, j] + w[0])
        if s > 1.5:
            total += s - 1.5
        total -= np.tanh(s * w[1])
    return total


def guarded(x, w):
    total = 0.0
    for i in range(len(x)):
        s = 0.0
        for j in range(len(w)):
            if x[i, j] > 0:
                s += w[j] / x[i, j] + np.log(x[i, j])
            else:
                s -= np.sin(x[i, j]) * w[j]
        total += np.sqrt(1 + s * s)
    return total


def windows(x, w):
    n = len(x)
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(max(i - 2, 0), min(i + 3, n)):
            s += np.exp(-x[j, 0] * x[i, 1]) * w[1]
        for j in range(i + 1, min(n, 9)):
            s += np.sin(x[j, 0]) * x[i, 1]
        for j in range(min(i, 5)):
            s += np.cos(x[j, 1]) * w[j % 2]
        total += np.tanh(s)
    return total


def picked(x, w):
    n, m = x.shape
    total = 0.0
    for i in range(n):
        k = int(abs(x[i, 0]) * 10) % m
        s = 0.0
        for j in range(k):
            s = np.sin(s + x[i, j] * w[k]) + np.exp(-w[j] * w[j])
        total += s * s
    return total


def sorted_places(x, w):
    n, m = x.shape
    total = 0.0
    for i in range(n):
        q = np.zeros_like(w)
        for j in range(m):
            q[j] = x[i, j] * w[j] + np.sin(x[i, j])
        for j in range(1, m):
            q[j] += np.exp(-q[j - 1] * q[j - 1])
        best = 0
        for j in range(m):
            if q[j] > q[best]:
                best = j
        total += np.log(1 + q[best] ** 2)
    return total


def scratch(x, w):
    n, m = len(x), len(w)
    q = np.zeros_like(w)
    total = 0.0
    for i in range(n):
        for j in range(m):
            q[j] = x[i, j] - w[j]
        s = 0.0
        for j in range(m):
            for k in range(j):
                s += q[j] * q[k] * w[k]
        total += np.exp(-s * s)
    return total


def remembered(x, w):
    n, m = x.shape
    q, r, last = np.zeros_like(w), np.ones_like(w), np.zeros_like(w)
    total = 0.0
    for i in range(n):
        for j in range(m):
            q[j] = 0.5 * q[j] + np.sin(x[i, j])
        for j in range(m - 1):
            r[j] = np.exp(-(x[i, j] ** 2))
        for j in range(m):
            last[j] = q[j] * r[j] + w[j]
            total += np.cos(last[j])
    return total + last[0]


def pulled(x, w):
    n = min(len(x), 30)
    v = np.zeros_like(x)
    for i in range(n):
        for j in range(n):
            if i != j:
                a, b = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                square = a * a + b * b + 0.1
                v[i, 0] += a * w[0] / (square * np.sqrt(square))
                v[i, 1] -= b * np.exp(-square)
    return np.sum(v * v)


def branching(x, w):
    total = 0.0
    for i in range(len(x)):
        a, b = x[i, 0], x[i, 1]
        s = np.exp(-a * a) * w[0] + np.sin(b) * w[1]
        if s > 0.3:
            s = s * s + np.log(s) / s
        total += np.sqrt(1 + s * s)
    return total


def leaps(x, w):
    n, m = x.shape
    total = 0.0
    for i in range(n - 1, -1, -2):
        s = 0.0
        for j in range(i, min(n, 20), 2):
            s += np.sin(x[j, 0] * x[i, 1])
        for j in range(m - 1, -1, -1):
            s = np.cos(s) + w[j] * x[i, j]
        total -= np.exp(-s)
    return total


def nearest(x, w):
    total = 0.0
    for i in range(len(x)):
        best = np.inf
        for k in range(len(w)):
            d = 0.0
            for j in range(x.shape[1]):
                d += (x[i, j] - w[k]) ** 2
            if d < best:
                best = d
        total += best
    return total


def pairs(x, w):
    n = min(len(x), 40)
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            a, b = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
            square = 1 + a * a + b * b
            total += w[0] * np.exp(-square) / square + np.sin(square) * w[1] / w[2] ** 2
    return total


def beside(x, w):
    y, v = x[:, 0] + x[:, 1], np.zeros_like(x[:, 0])
    for i in range(len(x)):
        t = 0.1 * y[i]
        for j in range(len(w)):
            t = np.sin(t) + w[j] * y[i]
        if t > 0:
            t += np.exp(-y[len(x) - 1 - i]) * w[3]
        v[i] = t * np.exp(-t * t)
    return np.sum(v * v)


def walks(x, w):
    out = np.zeros_like(x)
    for i in range(len(x)):
        y = x[i, 0]
        for j in range(len(w)):
            z = x[i, 1]
            for k in range(j):
                z = np.cos(z * w[k]) + y
            y = np.sin(y) * w[j] + 0.1 * y * z
        out[i, 2] = y
    return np.sum(out * out)


def among(x, w):
    n = min(len(x), 40)
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += np.exp(-((x[i, 0] - x[j, 0]) ** 2)) * w[0]
        total = total * w[1] + w[2]
    return total


PROGRAMS = [
    nearest, pairs, beside, walks, among,
    waves, payments, guarded, windows, picked, sorted_places, scratch,
    remembered, pulled, branching, leaps,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", COUNTS)
def test_lanes_give_what_rounds_give(program, n):
    r = np.random.default_rng(n)
    x, w = r.standard_normal((n, 4)), r.standard_normal(4)
    compiled = zyg.compile(program)
    with zyg.config(compile="whole", fallback="error"):
        value = compiled(x, w)
        assert np.isclose(value, program(x, w), rtol=1e-12)
        found, gradients = zyg.value_and_gradient(compiled, x, w, zeros=True)
    assert np.isclose(found, value, rtol=1e-12)
    if n < 100:
        expected = zyg.gradient(program, x, w, zeros=True)
        for one, other in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_lanes_of_float32(program):
    r = np.random.default_rng(3)
    x, w = (r.standard_normal(shape).astype(np.float32) for shape in ((21, 4), 4))
    with zyg.config(compile="whole", fallback="error"):
        found = zyg.compile(program)(x, w)
    assert np.isclose(found, program(x, w), rtol=1e-4)


def test_an_exception_in_a_lane_is_python_s_and_leaves_memory_as_it_would():
    def f(x, seen):
        total = 0.0
        seen[0] = 1.0
        for i in range(len(x)):
            s = 0.0
            for j in range(3):
                s += math.sin(x[i] + j) * math.exp(-x[i] * x[i])
            total += math.log(x[i]) + s
        return total

    x, seen = np.linspace(1.0, 2.0, 20), np.zeros(1)
    compiled = zyg.compile(f)
    with zyg.config(compile="whole", fallback="error"):
        assert np.isclose(compiled(x, seen), f(x, seen), rtol=1e-13)
        x[13], seen[0] = -1.0, 0.0
        with pytest.raises(ValueError, match=r"positive|domain") as error:
            compiled(x, seen)
    assert error.traceback[-1].lineno == f.__code__.co_firstlineno + 7 - 1
    assert seen[0] == 1.0


def test_memory_that_each_round_fills_is_made_in_the_round():
    x, w = np.ones((9, 4)), np.ones(4)
    text = zyg.compile(scratch).inspect(x, w)["value"]
    assert text.index("for ") < text.index("empty(")
    kept = zyg.compile(remembered).inspect(x, w)["value"]
    assert max(kept.rindex("zeros("), kept.rindex("empty(")) < kept.index("sin(")


def test_rounds_write_blocks_of_their_own():
    def f(x, w):
        n = len(x)
        out = np.zeros((n, 2, 3))
        for i in range(n):
            s = np.exp(-x[i, 0] * x[i, 0])
            for r in range(2):
                for c in range(3):
                    out[i, r, c] = w[c] * np.sin(s + x[i, r]) - out[i, 0, 0]
        return np.sum(out * out)

    compiled, r = zyg.compile(f), np.random.default_rng(8)
    x, w = r.standard_normal((19, 2)), r.standard_normal(3)
    with zyg.config(compile="whole", fallback="error"):
        assert np.isclose(compiled(x, w), f(x, w), rtol=1e-13)
        zyg.check_gradient(compiled, x, w, order=1)


def mixture(x, w):
    total, q, terms = 0.0, np.zeros(x.shape[1]), np.zeros(len(w))
    for i in range(len(x)):
        for k in range(len(w)):
            d = 0.0
            for j in range(x.shape[1]):
                q[j] = (x[i, j] - w[k]) * np.exp(w[j])
                for m in range(j):
                    q[j] += x[i, m] * w[m]
                d += q[j] * q[j]
            terms[k] = np.tanh(d) - 0.5 * d
        for k in range(len(w)):
            total += np.exp(terms[k]) * x[i, k]
    return total


@pytest.mark.parametrize("f", [*PROGRAMS, mixture], ids=lambda f: f.__name__)
def test_the_text_does_not_depend_on_where_values_are_in_memory(f):
    texts, kept = set(), []
    for k in range(6):
        kept += [Value("int") for _ in range(997 * k)][::3]  # so that others are in the gaps
        program = read(f, np.ones((5, 4)), np.ones(4)).program
        moving = [j for j, x in enumerate(program.inputs) if x.type.startswith("float")]
        texts.add(Module(reverse.gradient(program, moving).program).whole())
    assert len(texts) == 1


def test_tangents_beside_each_other_are_not_gathered_one_by_one():
    def blended(p, bones, weights, places):
        out = np.zeros(len(bones))
        for v in range(len(bones)):
            place = 0.0
            for k in range(bones.shape[1]):
                at = bones[v, k]
                place += weights[v, k] * (p[at, 0] * places[v, k, 0] + p[at, 1] * places[v, k, 1]
                                          + p[at, 2] * places[v, k, 2])  # fmt: skip
            out[v] = place
        return out

    r = np.random.default_rng(5)
    p, bones = r.standard_normal((9, 3)), r.integers(-9, 9, (40, 4))
    weights, places = r.standard_normal((40, 4)), r.standard_normal((40, 4, 3))
    with zyg.config(compile="whole", fallback="error"):
        f = zyg.compile(lambda p: blended(p, bones, weights, places))
        found = zyg.jacobian(f, p, mode="forward")[0]
    expected = np.zeros((40, 9, 3))
    for v in range(40):
        for k in range(4):
            expected[v, bones[v, k]] += weights[v, k] * places[v, k]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)

    program = read(blended, p, bones, weights, places).program
    along = pushforward(program, [0], directions=8, interleaved=True)
    assert "masked.gather" not in Module(along).whole()
