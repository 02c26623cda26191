"""Programs of one example, by `vmap` and by a loop: branches, caught errors, writes, verbs inside.

Most programs catch what one of their lines raises, for some examples or for none; a run of all
examples may not go on where no example does. Values, and gradients inside and around, are those of
the loop.
"""

import random
import warnings

import numpy as np

import zyg
from tests.modules import imported
from tests.searches.search import Search, main
from zyg.errors import ZygError

HEAD = """\
import math

import numpy as np

import zyg
import zyg.numpy


@zyg.adjoint
def rule(v):
    return np.sin(v), lambda c: (c * np.cos(v),)


def must(t):
    if t > 0.5:
        raise KeyError(t)
    return t * 2.0


def f(x, b):
    u, v, a, kept, table = zyg.numpy.zeros(3), x * 1.0, b * 0.5, [], {}
"""
NUMBERS = [
    "a", "b", "(a - b)", "(b * {n})", "np.tanh({n})", "{v}[{k}]", "np.sum({v})", "np.max({v})",
    "np.median({v})", "np.linalg.norm({v})", "np.dot({v}, v)", "({n} if {q} else b)", "max({n}, a)",
    "np.where({q}, {n}, b)",
]  # fmt: skip
ARRAYS = [
    "v", "x", "u", "({v} * {n})", "(v + {v})", "np.sort({v})", "np.cumsum({v})", "rule({v})",
    "np.asarray({v})", "np.stack([a, {n}, b])", "np.where(v > {n}, {v}, x)", "np.roll({v}, {k})",
    "np.maximum({v}, a)", "{v}[np.argsort(v)]", "np.linalg.solve(3 * np.eye(3) + np.diag(v), {v})",
    "zyg.gradient(lambda q: np.sum(np.sin(q) * v), {v}, zeros=True)[0]",
    "zyg.checkpoint(lambda q: q * q + a, {v})", "zyg.vmap(lambda q: q * a + np.sin(q))({v})",
    "zyg.pushforward(lambda q: np.cos(q) * b, (v,), ({v},))[1]",
]  # fmt: skip
TRUTHS = [
    "{n} > 0.1", "{n} < b", "np.any({v} > 0.3)", "np.argmax(v) == 1", "not a < 0.2",
    "{n} in (0.25, 1.0)", "isinstance({n}, float)",
]  # fmt: skip
PLACES = ["0", "2", "int(np.argmax(v))", "int(abs(a) * 3) % 3", "np.argmin(v)", "int(v[0] > 0)"]
LINES = [
    "a = {n}", "v = {v}", "u[{k}] = {n}", "u[:2] += {n}", "u += {v}", "u[v > 0.1] = a",
    "kept.append({n})", "a = a + sum(kept)", "table[int(a > 0)] = {n}", "a += {n}", "a *= {v}[{k}]",
    "v = v * (2.0 if type({v}) is np.ndarray else 3.0)",
]  # fmt: skip
RAISING = [
    "v = v * must({n})", "a = table[1]", "a = math.sqrt(a)", "a = kept[int(a > 0)]", "assert {q}",
    "v = v + np.ones(2 if {q} else 3)", "a = [a, b][int(a * 4)]", "a = float(a)", "a = a.item()",
    "u[int(a * 5)] = b", "a = b / (0.0 if a > 0.3 else 2.0)", "v = v.reshape(2 if {q} else 3)",
    "v = np.linalg.inv(np.diag(v * (b > 0)))[0]", "a = next(t for t in v if t > 0.3)",
    "a = complex(a).real", "a = [*v].index(v[1]) * a", "a = round(a) * b", "a = hash(a) % 5 * b",
    "a = v.tolist()[0]", "a = table.setdefault(a, b)", "v = np.vectorize(must)(v)",
]  # fmt: skip
WEIGHTS = np.array([1.0, -2.0, 0.5])
KINDS = "plain", "gradient", "pushforward", "around", "around forwards", "nested"


class Writer:
    def __init__(self, number):
        self.choose = random.Random(number)

    def text(self, kinds, depth=2):
        text = self.choose.choice(kinds if depth else kinds[:2])
        for mark, others in (("{n}", NUMBERS), ("{v}", ARRAYS), ("{q}", TRUTHS), ("{k}", PLACES)):
            while mark in text:
                text = text.replace(mark, self.text(others, max(depth - 1, 0)), 1)
        return text

    def block(self, depth):
        lines = []
        for _ in range(self.choose.randint(1, 2)):
            kind = self.choose.random() if depth else 0.0
            if kind < 0.5:
                lines.append(self.text(LINES))
            elif kind < 0.65:
                lines += [f"if {self.text(TRUTHS)}:", *self.inside(depth)]
                lines += ["else:", *self.inside(depth)] if self.choose.random() < 0.5 else []
            elif kind < 0.75:
                lines += [f"for _ in range({self.text(PLACES)}):", *self.inside(depth)]
            else:
                lines += ["try:", *self.inside(depth), f"    {self.text(RAISING)}"]
                lines += ["except Exception:", *self.inside(depth)]
        if depth < 2 and self.choose.random() < 0.2:
            lines.append(f"return {self.text(NUMBERS)} * v + u")
        return lines

    def inside(self, depth):
        return [f"    {line}" for line in self.block(depth - 1)]

    def program(self):
        lines = [line for _ in range(3) for line in self.block(2)]
        return HEAD + "".join(f"    {line}\n" for line in (*lines, "return a * v + u"))


def case(number):
    writer = Writer(number)
    return number, writer.program(), writer.choose.choice(KINDS), writer.choose.choice([3, 16, 40])


def each(f, kind):
    """What is mapped, and what is asked of the result."""

    def total(x, b):
        return np.sum(f(x, b) * WEIGHTS)

    def slope(x, b):
        return zyg.gradient(total, x, b, zeros=True)

    def along(x, b):
        return zyg.pushforward(total, (x, b), (np.ones(3), 0.5))[1]

    return {"gradient": slope, "around": slope, "pushforward": along}.get(
        kind, along if kind == "around forwards" else f
    )


def mapped(f, kind, xs, bs):
    def total(xs, bs):
        return np.sum(zyg.vmap(f)(xs, bs) * WEIGHTS)

    if kind == "around":
        return zyg.gradient(total, xs, bs, zeros=True)
    if kind == "around forwards":
        _, y_dot = zyg.pushforward(zyg.vmap(f), (xs, bs), (np.ones_like(xs), np.full_like(bs, 0.5)))
        return y_dot @ WEIGHTS
    if kind == "nested":
        return zyg.vmap(lambda b: zyg.vmap(lambda x: f(x, b))(xs))(bs[:2])[0]
    return zyg.vmap(each(f, kind))(xs, bs)


@np.errstate(all="ignore")
def check(made):
    number, text, kind, count = made
    rng = np.random.default_rng(number)
    xs, bs = rng.uniform(-1, 1, (count, 3)), rng.uniform(-1, 1, count)
    f = imported(text).f
    with warnings.catch_warnings(), zyg.config(fallback="silent"):
        warnings.simplefilter("ignore")
        try:
            g = each(f, kind)
            rows = [g(x, bs[0] if kind == "nested" else b) for x, b in zip(xs, bs, strict=True)]
        except ZygError:
            return "refused, one by one"
        except Exception as error:
            return f"raised {type(error).__name__}"
        found = mapped(f, kind, xs, bs)
    expected = zip(*rows, strict=True) if isinstance(rows[0], tuple) else [rows]
    for y, column in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
        apart = f"{kind} of {count}, case {number}\n{text}"
        np.testing.assert_allclose(y, np.stack(column), rtol=1e-9, atol=1e-9, err_msg=apart)
    return f"same, {kind}"


SEARCH = Search(case, check, gate=200)

if __name__ == "__main__":
    main(SEARCH, __doc__)
