"""Random programs that mix object arrays, lists and watched arrays.

    python -m tests.core.objects --most 100000

What is a watched array, an object array of watched numbers or a list of them is drawn for each
value. The derivatives in both modes are compared with differences of the same program on floats.
"""

from __future__ import annotations

import random
import warnings

import numpy as np

import zyg
from tests.searches.search import Search, main


def objects(x):
    made = np.empty(getattr(x, "shape", len(x)), object)
    for k in np.ndindex(made.shape):
        made[k] = x[k if isinstance(x, np.ndarray) else k[0]]
    return made


def listed(x):
    return [x[0], *(v for v in x[1:])]


def mixed(x):
    made = objects(x)
    made[-1] = 0.75
    return made


# How a value is held; on floats each is the array itself.
HELD = {"{}": lambda x: x, "objects({})": objects, "np.array(listed({}))": np.array,
        "np.asarray({})": np.asarray, "listed({})": listed, "mixed({})": mixed}  # fmt: skip

MADE = [
    "{a} * {w}", "{w} + {a}", "{w} / (2.0 + {w} * {a})", "np.multiply({a}, {w})", "{w} - {a}",
    "np.arctan2({w}, {a})", "np.where({w} > 0.5, {w}, {a})", "np.concatenate([{a}, {w}])[1:4]",
    "np.stack([{w}, {a}])[0]", "np.stack([{a}, {w}])[1]", "np.maximum({w}, {a})",
    "np.hypot({a}, {w})", "np.dot({a}, {w}) * {w}", "np.outer({w}, {a})[1]", "{w}.copy()",
    "np.einsum('i,j->j', {a}, {w})", "np.full(3, {w}[0])", "np.cumsum({a})", "np.sin({w}) * {a}",
    "np.append({a}, {w})[2:5]", "np.convolve({w}, {a})[:3]", "np.vstack([{a}, {w}]).sum(0)",
    "np.clip({w}, {a}, 2.0)", "np.linalg.solve(np.eye(3) + np.outer({w}, {w}), {a} * {w})",
    "np.sort({a})", "np.r_[{a}, {w}[0]][1:]", "np.mean({a}) * {w}", "np.var({a}) + {w}",
    "np.sum({a}) * {w}", "np.array([{w}[0], {w}[1], 1.5])", "np.prod({a}) - {w}",
    "np.interp({w}, [0.0, 1.0, 2.0], {a})", "np.vectorize(lambda v: v * v)({w})",
]  # fmt: skip
WRITTEN = [
    "{w}[0] = {w}[1]", "{w}[:] = {a}", "{w} += {a}", "{w} *= {a}", "{w}[1:] = ({a})[:2]",
    "np.copyto({w}, {a})", "{w} -= objects({w})",
]  # fmt: skip


def total(arrays):
    return sum(
        np.sum(np.cos(np.stack([*a]) * (k + 1)) * np.linspace(1.0, 2.0, 3))
        for k, a in enumerate(arrays)
    )


def function(lines, plain):
    """The program; on floats, where nothing has to be held in another way."""
    held = dict.fromkeys(("objects", "listed"), np.copy) if plain else {}
    scope = {"np": np, "total": total, "objects": objects, "listed": listed, "mixed": mixed}
    scope |= held
    if plain:
        scope["mixed"] = lambda x: np.array([*x[:-1], 0.75])
    names = list(dict.fromkeys(line[0] for line in lines if line[1:4] == " = "))
    body = "\n    ".join([*lines, f"return total([x, {', '.join(names)}])"])
    exec(f"def program(x):\n    x = x * 1.0\n    {body}", scope)
    return scope["program"]


def grown(seed):
    """An argument, and the lines of a program that is smooth there."""
    rng = random.Random(seed)
    x = np.random.default_rng(seed).uniform(0.2, 1.3, 3)
    lines, names = [], ["x"]
    for _ in range(rng.randint(2, 6)):
        w, a = rng.choice(names), rng.choice([*HELD]).format(rng.choice(names))
        forms = MADE if rng.random() < 0.75 else WRITTEN
        line = rng.choice(forms).format(w=f"np.stack([*{w}])" if forms is MADE else w, a=a)
        more = [*lines, f"{chr(ord('a') + len(names))} = {line}" if forms is MADE else line]
        try:
            value = function(more, True)(x.copy())
            ok = abs(value) < 50 and all(
                abs(function(more, True)(x + h) - value) < 1e-4 for h in (1e-7, -1e-7)
            )
        except Exception:
            continue
        if ok:
            lines = more
            names += [more[-1][0]] if forms is MADE else []
    return x, lines


def fault(x, lines):
    """What is wrong with a program; None if nothing is, "refused: ..." if it is refused."""
    plain, f = function(lines, True), function(lines, False)
    direction = np.array([0.6, -0.3, 0.8])
    try:
        value, (bar,) = zyg.value_and_gradient(f, x, zeros=True)
        _, slope = zyg.pushforward(f, (x,), (direction,))
        turn = zyg.hvp(f, x, direction)
    except (zyg.errors.ZygError, ValueError) as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:
        return f"raises {error!r}"
    want = plain(x.copy())
    if abs(value - want) > 1e-11 * (1 + abs(want)):
        return f"the value is {value}, NumPy's {want}"
    for h in (1e-5, 1e-6, 1e-7):
        ends = [plain(x + k * h * direction) for k in (-1, 1)]
        turns = [zyg.gradient(f, x + k * h * direction, zeros=True)[0] for k in (-1, 1)]
        difference, bend = (ends[1] - ends[0]) / (2 * h), (turns[1] - turns[0]) / (2 * h)
        close = [abs(d - difference) <= 1e-5 * (1 + abs(d)) for d in (bar @ direction, slope)]
        if all(close) and np.all(np.abs(turn - bend) <= 1e-4 * (1 + np.max(np.abs(bend)))):
            return None
    return (
        f"reverse {bar @ direction}, forward {slope}, difference {difference}; hvp {turn}, {bend}"
    )


def check(seed):
    """Raise if a program is wrong; whether it was refused, and with what words."""
    x, lines = grown(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zyg.errors.PerformanceWarning)
        found = fault(x, lines) if lines else None
        if found is None or found.startswith("refused"):
            return found
        for k in reversed(range(len(lines))):  # shrink
            fewer = lines[:k] + lines[k + 1 :]
            try:
                less = fault(x, fewer)
            except Exception:
                continue
            if less and not less.startswith(("refused", "raises NameError")):
                lines, found = fewer, less
    text = "\n    ".join(lines)
    raise AssertionError(f"seed {seed}: {found}\nx = {x}\n    {text}")


SEARCH = Search(int, check)

if __name__ == "__main__":
    main(SEARCH, __doc__)
