"""Searches for wrong numbers of compiled loops: random nests over arrays that they read and write.

``python -m tests.searches.nests --minutes 20``. Loops go forwards and backwards, one inside of
another, with sums, products of matrices and whole arrays between them. The compiled value is that
of Python, and its gradient is the tracer's.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import zyg
import zyg.numpy
from tests.modules import imported
from tests.searches.search import Search, main

TERMS = [
    "u[i] * w[i, j]", "v[j] * w[i, j]", "w[i, j] * u[i] * v[j]", "z[i, j] * 0.3",
    "np.sin(u[i]) * v[j]", "v[j] * v[j] * w[i, j]", "w[i, j] / (2.0 + u[i] * u[i])",
    "z[i, j] * w[i, j]", "np.exp(0.1 * v[j])", "0.5 * z[i - 1, j] * u[i]", "v[j - 1] * w[i, j]",
    "0.4 * u[i - 1] * u[i]", "0.3 * z[i, j - 1] * v[j]",
]  # fmt: skip
UPDATES = [
    "u[i] += 0.1 * ({})", "v[j] += 0.1 * ({})", "z[i, j] = {}", "z[i, j] += {}", "t += {}",
    "u[i] -= {} * 0.05", "z[i, j] = 0.4 * z[i - 1, j] + {}", "u[i] = 0.4 * u[i - 1] + 0.1 * ({})",
    "z[i - 1, j] = 0.5 * z[i, j] + {}", "v[j - 1] = 0.3 * v[j] + 0.1 * ({})",
]  # fmt: skip
ENDS = {  # of a round of the outer loop, which has a sum s
    "i": ["u[i] = 0.5 * u[i] + 0.1 * np.tanh(s)", "t += s * s", "u[i] += 0.02 * s"],
    "j": ["v[j] = np.tanh(s)", "v[j] += 0.02 * s", "t += np.sin(s)"],
}
WHOLE = [
    "z = z / np.exp(0.1 * v)", "z = (z - np.sum(z, axis=0)) / np.sqrt(1.0 + v * v)",
    "u = np.tanh(u) + 0.1 * z @ v", "g = w.T @ w; v = v + 0.1 * np.sum(np.sin(g), axis=0)",
    "g = z @ z.T; u = u + 0.1 * np.sum(np.cos(g), axis=1)",
    "e = np.exp(z * 0.2); z = e / np.sum(e, axis=1, keepdims=True)",
    "z = z * np.sqrt(1.0 + np.sum(z * z, axis=1, keepdims=True))",
]  # fmt: skip
OVER_COLUMNS = [
    "u += 0.1 * v[k] * w[:, k]", "u[: n // 2] -= 0.1 * np.sin(v[k]) * w[: n // 2, k]",
    "u = u + 0.05 * w[:, k] * v[k]",
]  # fmt: skip
AGAIN = [
    "p = np.exp(0.1 * u); u = u + 0.1 * p * p[0]", "y = u * u; u = np.sqrt(1.0 + y) * 0.5",
    "v = v * 0.9 + 0.1 * np.sin(v)",
]  # fmt: skip
SHAPES = [(3, 20), (18, 4), (17, 19)]  # beside and below what is done in vectors


def _nest(choose: random.Random) -> list[str]:
    """Two loops, or three."""

    def rounds(name: str) -> str:
        n = {"i": "n", "j": "m"}[name]
        return choose.choice([f"range({n})", f"range({n})", f"range({n} - 1, -1, -1)"])

    def update() -> str:
        return choose.choice(UPDATES).format(choose.choice(TERMS))

    outer, inner = choose.sample("ij", 2)
    lines, indent = [], ""
    if choose.random() < 0.4:
        lines.append(f"for q in range({choose.choice(['2', '3', 'n'])}):")
        indent = "    "
    lines.append(f"{indent}for {outer} in {rounds(outer)}:")
    is_sum = choose.random() < 0.5
    if is_sum:
        lines.append(f"{indent}    s = 0.0")
    lines.append(f"{indent}    for {inner} in {rounds(inner)}:")
    if is_sum:
        lines.append(f"{indent}        s += {choose.choice(TERMS)}")
    if not is_sum or choose.random() < 0.4:
        lines.append(f"{indent}        {update()}")
    if is_sum:
        lines.append(f"{indent}    {choose.choice(ENDS[outer])}")
    return lines


def case(number: int) -> tuple[int, str]:
    """The text of a function of x and w."""
    choose = random.Random(number)
    lines = [
        "n, m = w.shape", "u = x[:n] * 1.0", "v = x[:m] * 0.5", "z = np.zeros((n, m))", "t = 0.0"
    ]  # fmt: skip
    for _ in range(choose.randint(2, 4)):
        kind = choose.choice(["nest", "nest", "nest", "whole", "columns", "again"])
        if kind == "nest":
            lines += _nest(choose)
        elif kind == "whole":
            lines.append(choose.choice(WHOLE))
        elif kind == "columns":
            lines += ["for k in range(m):", "    " + choose.choice(OVER_COLUMNS)]
        else:
            lines += ["for k in range(3):", "    " + choose.choice(AGAIN)]
    lines.append("return t + np.sum(u * u) + np.sum(np.sin(v)) + np.sum(z * z)")
    return number, "def f(x, w):\n" + "".join(f"    {line}\n" for line in lines)


@np.errstate(all="ignore")  # some grow without end
def check(made: tuple[int, str]) -> str | None:
    """The compiled value and gradient, at arrays of each shape."""
    number, text = made
    f: Any = imported(text, np=zyg.numpy).f
    compiled, found = zyg.compile(f), "not finite"
    for n, m in SHAPES:
        rng = np.random.default_rng([number, n])
        at = rng.uniform(-1, 1, 24), rng.uniform(-1, 1, (n, m))
        y, slopes = zyg.value_and_gradient(f, *at, zeros=True)
        if not abs(y) < 1e6:
            continue
        with zyg.config(fallback="error"):
            value, bars = zyg.value_and_gradient(compiled, *at, zeros=True)
        assert np.isclose(value, y, rtol=1e-10), f"{value} != {y} at {n} x {m}\n{text}"
        for name, bar, slope in zip("xw", bars, slopes, strict=True):
            apart = np.max(np.abs(bar - slope))
            near = apart <= 1e-9 * (1 + np.max(np.abs(slope)))
            assert near, f"the derivative by {name} is {apart} off at {n} x {m}\n{text}"
        found = "same"
    return found


SEARCH = Search(case, check, gate=24)

if __name__ == "__main__":
    main(SEARCH, __doc__)
