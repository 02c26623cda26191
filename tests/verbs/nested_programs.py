"""Random nests of verbs whose functions close over outer levels and leave values behind.

    python -m tests.verbs.nested_programs --most 100000

A program is a tree: numbers, functions of numbers, and verbs whose function is a tree of its own
argument and of all variables around it. It is run plainly, each verb as what it means, its
derivative by central differences; and with zyg, in each mode. A derivative that differs is a
failure; an AdjointError that names a side effect is one only where no value was left behind.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np

import zyg
from tests.searches.search import Search, main
from zyg.errors import AdjointError

STEP = 1e-3


def differences(f, x):
    """The derivative by central differences, of fourth order."""
    h = STEP
    far, near = f(x + 2 * h) - f(x - 2 * h), f(x + h) - f(x - h)
    f(x)  # what it leaves behind last is of this point
    return (8 * near - far) / (12 * h)


def fixed_point(f, x, zyg_too):
    def step(s, q):
        return 0.3 * np.sin(s) + 0.3 * f(q)

    if zyg_too:
        return zyg.fixed_point(step, 0.0, x, tolerance=1e-14)
    s = 0.0
    for _ in range(60):
        s = step(s, x)
    return s


PLAIN = {
    "gradient": differences,
    "pushforward": differences,
    "jacobian": differences,
    "checkpoint": lambda f, x: f(x),
    "forwarddiff": lambda f, x: f(x),
    "fixed_point": lambda f, x: fixed_point(f, x, False),
    "implicit": lambda f, x: f(x),
}
WATCHED = {
    "gradient": lambda f, x: zyg.gradient(f, x, zeros=True)[0],
    "pushforward": lambda f, x: zyg.pushforward(f, (x,), (1.0,))[1],
    "jacobian": lambda f, x: zyg.jacobian(f, x, mode="reverse")[0],
    "checkpoint": zyg.checkpoint,
    "forwarddiff": zyg.forwarddiff,
    "fixed_point": lambda f, x: fixed_point(f, x, True),
    "implicit": lambda f, x: zyg.implicit(lambda y, q: y - f(q), zyg.primal(f(x)), x),
}
DERIVATIVES = ("gradient", "pushforward", "jacobian")

# How a value is left behind in what holds a watched one already, and how it is read.
KEEPS = {
    "in_list": "log[-1]",
    "in_place": "log[0]",
    "in_box": "box.kept",
    "in_table": "table['it']",
    "in_variable": "last",
}
PROGRAM = """
def program(x):
    log, box, table, last = [x * 1.0], SimpleNamespace(kept=x * 2.0), {"it": x * x}, x * 0.5
    def in_list(value, y):
        log.append(value)
        return y
    def in_place(value, y):
        log.reverse()
        log.reverse()
        log[0] = value
        return y
    def in_box(value, y):
        box.kept = value
        return y
    def in_table(value, y):
        table["it"] = value
        return y
    def in_variable(value, y):
        nonlocal last
        last = value
        return y
    return """


def grown(rng, depth, names, derivatives):
    """The text of an expression in these variables, with `depth` verbs inside each other."""
    if depth == 0:
        a, b = rng.choice(names), rng.choice(names)
        return rng.choice(
            [f"np.sin({a} * {b})", f"{a} * {b}", f"({a} + 0.5 * {b})", f"np.cos({a}) * {b}", a]
        )
    verb = rng.choice([v for v in PLAIN if derivatives or v not in DERIVATIVES])
    left = derivatives - (verb in DERIVATIVES)
    new = f"v{len(names)}"
    body = grown(rng, depth - 1, [*names, new, new], left)
    if rng.random() < 0.4:
        body = f"({body}) * {rng.choice([*names, new])}"
    kind = rng.random()
    keep = rng.choice([*KEEPS])
    if kind < 0.25:
        value = f"{new} * {rng.choice(names)}" if rng.random() < 0.8 else rng.choice(names)
        body = f"{keep}({value}, {body})"
    at = rng.choice(names)
    text = f"verbs[{verb!r}](lambda {new}: {body}, {at})"
    if kind < 0.1:
        return f"({text} + {KEEPS[keep]})"
    if kind > 0.9:
        return f"sum([verbs[{verb!r}](lambda {new}: k * ({body}), {at}) for k in (0.5, 1.0)])"
    return f"({text} + 0.3 * {rng.choice(names)})" if rng.random() < 0.5 else text


def function(text, verbs):
    scope = {"np": np, "verbs": verbs, "SimpleNamespace": SimpleNamespace}
    exec(PROGRAM + text, scope)
    return scope["program"]


def check(seed):
    """Raise if a program is wrong."""
    rng = random.Random(seed)
    text = grown(rng, rng.randint(1, 3), ["x"], 1)
    x = round(rng.uniform(0.4, 0.9), 3)
    expected = differences(function(text, PLAIN), x)
    for mode in DERIVATIVES:
        try:
            found = WATCHED[mode](function(text, WATCHED), x)
        except AdjointError as error:
            if "by a side effect" in str(error) and any(read in text for read in KEEPS.values()):
                continue
            raise AssertionError(f"seed {seed}: {text}\n  at {x}, {mode}") from error
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text}\n  at {x}, {mode}") from error
        assert np.isclose(found, expected, rtol=1e-5, atol=1e-5), (
            f"seed {seed}: {text}\n  at {x}, {mode}: {found}, by differences {expected}"
        )


SEARCH = Search(int, check)

if __name__ == "__main__":
    main(SEARCH, __doc__)
