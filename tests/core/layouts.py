"""Random programs whose value depends on where elements lie: on what is a view, and what a copy.

    python -m tests.core.layouts --most 100000

A program makes arrays of an array in any layout, writes through `reshape(-1)`, `ravel()` and their
kin, and reads all of them. Its value is compared with NumPy's, its derivative with a difference.
"""

from __future__ import annotations

import random
import warnings

import numpy as np

import zyg
from tests.searches.search import Search, main
from zyg.core import kept
from zyg.core.strand import strip
from zyg.numpy.lib.stride_tricks import as_strided

SHAPES = [(4,), (2, 3), (3, 2), (3, 3), (1, 3), (2, 1, 3), (2, 3, 2), (3, 2, 2), (2, 2, 3)]


def gapped(x):
    big = np.zeros([n + 1 for n in x.shape])
    view = big[tuple(slice(n) for n in x.shape)]
    view[...] = x
    return view


def spaced(x):
    return np.repeat(x, 2, axis=-1)[..., ::2]


def backwards(x):
    return x[::-1].copy()[::-1]


def mirrored(x):
    return x[..., ::-1].copy()[..., ::-1]


def turned(x):
    return np.swapaxes(np.swapaxes(x, 0, -1).copy(), 0, -1)


def permuted(x):
    return np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0)


LAYOUTS = {
    f.__name__: f for f in (np.copy, gapped, spaced, backwards, mirrored, turned, permuted)
}  # fmt: skip

MADE = [
    "{a} * 1.5", "np.sin({a})", "{a} + {b}.sum()", "{a}.copy()", "np.copy({a})", "{a}.copy('K')",
    "{a}.copy('F')", "{a}.flatten()", "{a}.flatten('K')", "{a}.flatten('F')", "{a}.astype(float)",
    "{a}.T", "{a}[::-1]", "{a}[..., ::-1]", "{a}[1:]", "{a}[..., :2]", "{a}[..., ::2]",
    "np.broadcast_to({a}, (2, *{a}.shape)).copy()",
    "np.copy(np.broadcast_to({a}, (2, *{a}.shape)))",
    "np.broadcast_to({a}, (2, *{a}.shape)) * 1.1", "np.sort({a}, axis=0)", "np.sort({a})",
    "np.where({a} > 0, {a}, 0.5)", "np.concatenate([{a}, {a}])", "np.stack([{a}, {a}], -1)",
    "np.cumsum({a}, axis=0)", "np.take({a}, [0, 0], axis=-1)", "np.repeat({a}, 2, axis=-1)",
    "np.repeat({a}, 2, axis=0)", "np.flip({a})", "np.roll({a}, 1, axis=0)", "np.clip({a}, -1, 1)",
    "np.tile({a}, 2)", "np.expand_dims({a}, 1)", "np.squeeze({a})", "np.atleast_2d({a})",
    "{a}.reshape(-1)", "{a}.reshape(-1, order='F')", "{a}.reshape(-1, 1)", "{a}.swapaxes(0, -1)",
    "np.maximum({a}, {a}[::-1])", "np.abs({a})", "{a}[[0, 0]]", "{a}[..., [0, 0]]",
    "np.delete({a}, 0, 0)", "np.insert({a}, 0, 0.5, -1)", "np.pad({a}, 1)", "np.zeros_like({a})",
    "np.diff({a}, axis=0)", "np.moveaxis({a}, 0, -1)", "np.meshgrid({a}, {b})[0]",
    "np.partition({a}, 0, axis=0)", "np.apply_along_axis(lambda v: v * 2, 0, {a})",
    "np.append({a}, {a}, 0)", "np.add.accumulate({a})", "np.positive({a})",
    "np.full_like({a}, 0.5)", "np.lib.stride_tricks.sliding_window_view({a}, 2, 0)",
    "np.resize({a}, (2, 2))", "np.rot90({a})", "np.add({a}, 1.0)", "np.round({a}, 2)",
    "np.tril({a})", "np.gradient({a}, axis=0)", "np.einsum('...->...', {a})",
    "np.nan_to_num({a})", "np.outer({a}, {b})", "np.matmul({a}, {a}.T)",
    "np.select([{a} > 0], [{a}], 0.3)", "np.choose(0, [{a}, {a}])", "np.unique({a}, axis=0)",
    "np.array_split({a}, 2)[0]", "{a}.take([0, 1], 0)", "{a}.real", "{a}.conj()", "{a}.max(0)",
    "{a}.mean(-1, keepdims=True)", "np.hstack([{a}, {a}])", "np.block([{a}])",
    "strided({a}, (2, 2), {a}.strides[-1:] * 2, False)",
    "strided({a}, {a}.shape[::-1], {a}.strides[::-1], True)",
    "strided({a}, ({a}.size // 2,), (16,), True)", "elsewhere(lambda: {a} * 1.5)",
    "elsewhere(lambda: {a}[::-1])", "elsewhere(lambda: {a}.T)", "elsewhere(lambda: {a}.copy('K'))",
    "{a} * np.asfortranarray(np.ones({a}.shape))", "{a} + np.ones({a}.shape)[..., ::-1]",
    "{a} * np.broadcast_to(np.linspace(0, 1, {a}.shape[-1]), {a}.shape)",
    "{a}.T + np.broadcast_to(np.linspace(0, 1, {a}.shape[0]), {a}.T.shape)",
    "np.broadcast_to(np.array([1.5]), {a}.shape) - {a}", "np.broadcast_to({a}[:1], {a}.shape) * 1",
]  # fmt: skip
VIEWED = [
    "{a}.reshape(-1)", "{a}.ravel()", "{a}.ravel('F')", "{a}.T.reshape(-1)", "{a}.T.ravel()",
    "{a}.reshape(-1, order='F')", "{a}[::-1].reshape(-1)", "{a}.ravel('A')", "{a}.reshape(-1, 1)",
    "np.reshape({a}, (1, -1))", "{a}[1:].reshape(-1)", "{a}[..., :2].reshape(-1)", "{a}[...]",
    "{a}.reshape(-1, {a}.shape[-1])", "{a}.reshape(-1, {a}.shape[-1], order='F')", "{a}.squeeze()",
]  # fmt: skip
WRITTEN = [
    "{a}[::3] += 1.0", "{a}[:2] *= 1.5", "{a}[-1] = {b}.sum()", "{a} *= 0.5",
    "{a}[0] -= {b}.mean()", "elsewhere(lambda: {a}.__imul__({b}.mean()))", "{a}.shape = (-1, 1)",
    "elsewhere(lambda: {a}.reshape(-1).__setitem__(0, {b}.sum()))",
]  # fmt: skip


def strided(a, shape, strides, writeable):
    """np.lib.stride_tricks.as_strided, where that stays within the elements of an array."""
    inside = as_strided(strip(a), shape, strides)
    low, high = np.lib.array_utils.byte_bounds(strip(a))
    start, end = np.lib.array_utils.byte_bounds(inside)
    if 1 in a.shape or high - low != a.nbytes or start < low or end > high:
        raise IndexError("this is not about the memory of others")
    return as_strided(a, shape, strides, writeable=writeable)


def elsewhere(f):
    """What a function gives in a thread of its own."""
    return zyg.threads.map(lambda _: f(), [0])[0]


def total(arrays):
    if not all(np.ndim(a) and isinstance(a, np.ndarray) for a in arrays):
        raise TypeError("numbers are not what this is about")
    return sum(
        np.sum(np.sin(a + k) * np.linspace(1.0, 2.0, a.size).reshape(a.shape))
        for k, a in enumerate(arrays)
    )


def statement(rng, names):
    kind = rng.random()
    forms = MADE if kind < 0.4 else VIEWED if kind < 0.7 else WRITTEN
    text = rng.choice(forms).format(a=rng.choice(names[-3:]), b=rng.choice(names))
    return text if forms is WRITTEN else f"{chr(ord('a') + len(names))} = {text}"


def function(lines):
    scope = {"np": np, "total": total, "strided": strided, "elsewhere": elsewhere}
    names = [line[0] for line in lines if " = " in line[:4]]
    body = "\n    ".join(["x, *_ = (x,)", *lines, f"return total([x, {', '.join(names)}])"])
    exec(f"def program(x):\n    {body}", scope)
    return scope["program"]


def grown(seed):
    """An argument, and the lines of a program that NumPy accepts and that is smooth there."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    layout = rng.choice([*LAYOUTS])
    plain = np.random.default_rng(seed).uniform(-1.5, 1.5, shape)
    x, lines, names = LAYOUTS[layout](plain), [], ["x"]
    for _ in range(rng.randint(3, 7)):
        more = [*lines, statement(rng, names)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                value = function(more)(alike(x))
        except Exception:
            continue
        if np.ndim(value) == 0 and np.isfinite(value):
            lines = more
            if " = " in more[-1][:4]:
                names.append(more[-1][0])
    return layout, x, lines


def alike(x, values=None):
    """A copy in the same layout, or other values in it."""
    block = x.base if x.base is not None else x
    low, _ = np.lib.array_utils.byte_bounds(block)
    start = x.__array_interface__["data"][0] - low
    memory = np.frombuffer(bytearray(np.ravel(block, "K").tobytes()), float)
    y = np.ndarray(x.shape, float, memory, start, x.strides)
    if values is not None:
        y[...] = values
    y.flags.writeable = x.flags.writeable
    return y


def moved(x, h, direction):
    return alike(x, x + h * direction)


def direction_of(x):
    """A random direction: elements in the same memory move together."""
    return alike(x, np.random.default_rng(1).normal(size=x.shape)) + 0.0


def fault(layout, x, lines):
    """What is wrong with a program; None if nothing is, a word if it is refused."""
    f = function(lines)
    want = f(alike(x))
    direction = direction_of(x)
    try:
        value, (bar,) = zyg.value_and_gradient(f, x, zeros=True)
        _, slope = zyg.pushforward(f, (x,), (direction,))
    except (zyg.errors.ZygError, ValueError) as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:
        return f"raises {error!r}"
    if abs(value - want) > 1e-12 * (1 + abs(want)):
        return f"the value is {value}, NumPy's {want}"
    got = np.sum(bar * direction)
    for h in (1e-5, 1e-6, 1e-7):
        ends = [f(moved(x, k * h, direction)) for k in (-1, 1)]
        difference = (ends[1] - ends[0]) / (2 * h)
        close = [abs(d - difference) <= 1e-5 * (1 + abs(difference)) for d in (got, slope)]
        if all(close):
            return None
    return f"the gradient gives {got}, forward mode {slope}, the difference {difference}"


def check(seed):
    """Raise if a program is wrong; whether it was refused, and with what words.

    With every other seed what is plain is held as if it were large.
    """
    before = kept.SMALL
    kept.SMALL = -1 if seed % 2 else before
    try:
        return _checked(seed)
    finally:
        kept.SMALL = before


def _checked(seed):
    layout, x, lines = grown(seed)
    found = fault(layout, x, lines) if lines else None
    if found is None or found.startswith("refused"):
        return found
    k = 0
    while k < len(lines):  # shrink
        fewer = lines[:k] + lines[k + 1 :]
        try:
            less = fault(layout, x, fewer)
        except Exception:
            less = None
        if less and not less.startswith("refused"):
            lines, found = fewer, less
        else:
            k += 1
    text = "\n    ".join(lines)
    raise AssertionError(f"seed {seed}: {found}\nx of shape {x.shape}, {layout}\n    {text}")


SEARCH = Search(int, check)

if __name__ == "__main__":
    main(SEARCH, __doc__)
