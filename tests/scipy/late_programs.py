"""Random programs whose functions integrators and optimisers call again in the reverse pass.

Between two calls, and after the last one, what the functions hold is changed: loop variables,
elements of lists and dicts, attributes, globals, defaults, arrays. Some count, log or memoise.
The gradient must be that of central differences, in reverse and in forward mode, and so must that
of a derivative in forward mode.

    python -m tests.scipy.late_programs --most 1000
"""

import functools
import random

import numpy as np

import zyg
from tests.searches.search import Search, main
from zyg.scipy import integrate, optimize

# A number that a function holds: how it is set up, how it is read, how it is set to another value.
HOLDERS = {
    "variable": ("k = 1.0", "k", "k = {}"),
    "list": ("k = [0.0, 1.0]", "k[1]", "k[1] = {}"),
    "longer list": ("k = [1.0]", "k[-1]", "k.append({})"),
    "dict": ("k = {'w': {'v': 1.0}}", "k['w']['v']", "k['w']['v'] = {}"),
    "attribute": ("k = Box(1.0)", "k.value", "k.value = {}"),
    "method": ("k = Box(1.0)", "k.get()", "k.value = {}"),
    "global": ("global K; K = 1.0", "K", "K = {}"),
    "global list": ("LIST[0] = 1.0", "LIST[0]", "LIST[0] = {}"),
    "function of a global": ("LIST[0] = 1.0", "of_global()", "LIST[0] = {}"),
    "function": ("k = 1.0\nget = lambda: k", "get()", "k = {}"),
    "partial": ("k = [1.0]\nget = functools.partial(first, k)", "get()", "k[0] = {}"),
    "small array": ("k = np.ones(3)", "k[1]", "k[1] = {}"),
    "array of objects": ("k = np.array([None, 1.0], object)", "k[1]", "k[1] = {}"),
    "view": ("k = np.ones((3, 2))[1]", "k[1]", "k[1] = {}"),
    "view of a large array": ("k = np.ones((3, 400))[1:]", "k[1, 7]", "k[1, 7] = {}"),
    "watched list": ("k = [a[0], 1.0]", "k[1]", "k[1] = {}"),
    "watched attribute": ("k = Box(a[1] * 1.0)", "k.value", "k.value = {} * a[0]"),
}
# What a call does besides, with t or x, whichever it is given first, and a watched number.
EFFECTS = {
    "none": ("", "", ""),
    "counts": ("calls = [0]", "calls[0] += 1", " + 0.1 * min(calls[0], 1)"),
    "counts in a variable": ("n = 0", "nonlocal n; n += 1", ""),
    "logs": ("log = []", "log.append(t * 1.0)", ""),
    "memoises": (
        "memo = {}",
        "memo.setdefault(zyg.primal(t), a[0] * a[1])",
        " + min(memo.values())",
    ),
    "lets out": ("log = []", "log.append(a[0] * a[1])", " + log[0] + log[-1]"),
    "adds up": ("total, n = 0.0, 0", "nonlocal total, n; total += a[0]; n += 1", " + total / n"),
}
# The function of t (or x), y; and the call.
SOLVERS = {
    "quad": ("def f(t):", "np.cos({w} * t + {b})", "integrate.quad(f, 0, 1)[0]"),
    "quad to a[1]": ("def f(t):", "np.cos({w} * t + {b})", "integrate.quad(f, 0, a[1])[0]"),
    "quad args": (
        "def f(t, c):", "np.exp(-{w} * t) * c + {b}", "integrate.quad(f, 0, 1, (a[1],))[0]",
    ),
    "solve_ivp": (
        "def f(t, y):", "-{w} * y * {b}",
        "integrate.solve_ivp(f, (0, 0.5), [1.0], rtol=1e-9, atol=1e-9).y[0, -1]",
    ),
    "odeint": (
        "def f(t, y):", "-{w} * y * {b}",
        "integrate.odeint(f, 1.0, [0, 0.5], tfirst=True, rtol=1e-9, atol=1e-9)[-1, 0]",
    ),
    "brentq": ("def f(t):", "t**3 + {w} * t - {b} - 2", "optimize.brentq(f, 0, 9, xtol=1e-13)"),
    "newton": ("def f(t):", "t**3 + {w} * t - {b} - 2", "optimize.newton(f, 1.0, tol=1e-13)"),
    "root": (
        "def f(x):\n    t = x[0]", "x**3 + {w} * x - {b} - 2",
        "optimize.root(f, [1.0], tol=1e-13).x[0]",
    ),
    "minimize": (
        "def f(x):\n    t = x[0]", "np.sum((x - {w} * {b}) ** 2)",
        "optimize.minimize(f, [1.0], tol=1e-12).x[0]",
    ),
    "curve_fit": (
        "def f(t, p):\n    t = t[1]", "p * {w} * POINTS + {b}",
        "optimize.curve_fit(f, POINTS, POINTS + 0.5 * a[1], [1.0], **SHARP)[0][0]",
    ),
}  # fmt: skip


class Box:
    def __init__(self, value):
        self.value = value

    def get(self):
        return self.value


def program(seed):
    """The text of the program of a seed, and what it is made of."""
    rng = random.Random(seed)
    kinds = [rng.choice(list(kinds)) for kinds in (HOLDERS, EFFECTS, SOLVERS)]
    (setup, read, change), (before, effect, after), (head, value, call) = (
        kinds_of[kind] for kinds_of, kind in zip((HOLDERS, EFFECTS, SOLVERS), kinds, strict=True)
    )
    watched = rng.choice(["a[i]", "a[0]", "a[i] * a[1]"])
    if rng.random() < 0.3:
        head = head.replace("):", ", *, own=[1.0]):")
        value, change = f"({value}) + 0 * own[0]", f"{change}; f.__kwdefaults__['own'][0] = 5.0"
    lines = ["s = 0.0", *setup.split("\n"), *filter(None, [before]), "for i in range(2):"]
    globals_first = "global K\n    " if "global K" in setup else ""
    lines[1] = lines[1].replace("global K; ", "")
    inside = [*head.split("\n"), f"    {effect}" if effect else "    pass"]
    inside += [f"    return {value.format(w=read, b=watched)}", f"s = s + {call} * (i + 1)"]
    inside += [change.format(f"{rng.uniform(0.5, 2):.2f} + i")]
    lines += [f"    {line}" for line in inside]
    lines += [f"i = {rng.randrange(2)}", change.format("7.0")]
    lines += [f"return s{after}"]
    return f"def g(a):\n    {globals_first}" + "\n    ".join(lines), kinds


def compiled(text):
    given = {
        "np": np, "integrate": integrate, "optimize": optimize, "Box": Box, "LIST": [1.0],
        "functools": functools, "zyg": zyg, "SHARP": dict.fromkeys(("xtol", "ftol", "gtol"), 1e-14),
         "POINTS": np.linspace(0.2, 1.0, 6), "first": lambda k: k[0],
    }  # fmt: skip
    exec(compile(f"def of_global():\n    return LIST[0]\n{text}", "<program>", "exec"), given)
    return given["g"]


def check(seed):
    """Raise if the derivatives of a program are wrong."""
    text, kinds = program(seed)
    g = compiled(text)
    a, h = np.array([0.7, 0.4]), 1e-3 if "curve_fit" in kinds else 1e-5  # which is less exact

    def slope(a):
        return zyg.pushforward(g, (a,), (np.array([0.6, -0.8]),))[1]

    def differences(f):
        return [(f(a + e) - f(a - e)) / (2 * h) for e in h * np.eye(2)]

    expected = [differences(g)] * 2 + [differences(slope)]
    try:
        found = [zyg.gradient(g, a, zeros=True)[0], zyg.jacobian(g, a, mode="forward")[0],
                 zyg.gradient(slope, a, zeros=True)[0]]  # fmt: skip
    except Exception as error:
        raise AssertionError(f"seed {seed}, {kinds}\n{text}") from error
    for v, of_differences, atol in zip(found, expected, (1e-5, 1e-5, 2e-5), strict=True):
        assert np.allclose(v, of_differences, rtol=1e-4, atol=atol), (
            f"seed {seed}, {kinds}: {found}, differences: {expected}\n{text}"
        )


SEARCH = Search(int, check)

if __name__ == "__main__":
    main(SEARCH, __doc__)
