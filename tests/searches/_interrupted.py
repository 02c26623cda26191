"""The programs of the search `interrupts`: whatever changes something of the user's meanwhile."""

import asyncio
import contextlib
import sys
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import zyg
import zyg.numpy
from zyg import trio


class Stop(Exception):  # noqa: N818
    """What a user's own handler of a signal raises."""


@dataclass
class Program:
    """What is run, what it gives, and what of the user's it could leave changed."""

    run: Callable[[], Any]
    value: Any = None
    arrays: list[np.ndarray] = field(default_factory=list)
    modules: list[Any] = field(default_factory=list)
    random: bool = False  # whether the program itself draws numbers
    keeps: bool = False  # whether what it has in its variables keeps arrays read-only


def lib():
    """A module that holds NumPy's functions in all kinds of places."""
    made = types.ModuleType("lib")
    source = """
        import functools, math
        import numpy as np
        from math import exp
        TABLE = {"sin": np.sin, "inner": {"cos": np.cos}}
        LIST = [np.exp, np.tanh, len]
        PAIR = np.sqrt, 1
        part = functools.partial(np.add, 1.0)
        def outer():
            square = np.square
            return lambda x: square(x)
        inner = outer()
        class Model:
            act = np.tanh
            def __init__(self): self.f = np.sin
            def __call__(self, x): return self.f(x) * 2
        model = Model()
        def scalar(x, e=exp): return math.exp(x) * e(x)
        def total(x):
            y = np.zeros(len(x))
            for k in range(len(x)):
                y[k] = TABLE["sin"](x[k]) * LIST[1](x[k]) + part(x[k])
            return y.sum() + model(x).sum() + inner(x).sum() + scalar(x[0])
    """
    exec(textwrap.dedent(source), vars(made))
    return made


def large(n=1200):
    return np.linspace(0.1, 0.9, n)


def numbers():
    def f(x, y):
        for _ in range(3):
            x = x * y + 1.0
        return x

    return Program(lambda: zyg.gradient(f, 1.5, 0.5))


def arrays():
    x, a, m = large(), large() + 1.0, np.eye(40)
    small = np.ones(3)

    def f(x, s):
        return (a * x).sum() + (m @ x[:40]).sum() + (np.sin(x) ** 2).mean() + (s * 2).sum()

    return Program(lambda: zyg.gradient(f, x, small), arrays=[x, a, m, small])


def writes():
    x, out, log = large(), np.zeros(5), []

    def f(x):
        y = zyg.numpy.zeros(4)
        y[0] = x[1] * 2
        x[0] = y[0] * x[2]
        v = x[3:6]
        v *= 2.0
        y[1:] = v * y[0]
        out[0] += 0.0
        log[:] = [1]
        return (x * x).sum() + y.sum()

    return Program(lambda: zyg.gradient(f, x), arrays=[x, out])


def nested():
    x = large(700)

    def f(x):
        (g,) = zyg.gradient(lambda z: (z**3).sum(), x)
        with zyg.config(check_nan=False):
            (h,) = zyg.gradient(lambda z: (z * x).sum(), x)
        return (g * h).sum() * zyg.nestlevel()

    return Program(lambda: zyg.gradient(f, x), arrays=[x])


def adopted():
    made, x = lib(), np.array([0.3, 0.4])

    def run():
        with zyg.adopt(made):
            return zyg.gradient(made.total, x)

    return Program(run, arrays=[x], modules=[made])


def adopted_inside():
    made, x = lib(), np.array([0.3, 0.4])

    def f(x):
        with zyg.adopt(made):
            (g,) = zyg.gradient(made.scalar, 0.25)
            return made.total(x) * g

    return Program(lambda: zyg.gradient(f, x), arrays=[x], modules=[made])


def configured():
    def run():
        with zyg.config(strong_zero=False, check_nan=True):
            return zyg.gradient(lambda x: x * x, 3.0)

    return Program(run)


def pulled():
    x, a = large(), large() * 2

    def run():
        y, back = zyg.pullback(lambda x: a * np.sin(x), x)
        return back(y), back(2 * y)

    return Program(run, arrays=[x, a], keeps=True)


def written_back():
    x = np.arange(1.0, 5.0)

    def run():
        def f(x):
            y = zyg.numpy.ones(4)
            for k in range(4):
                y[k] = y[k - 1] * x[k]
                y *= y
            return y

        y, back = zyg.pullback(f, x)
        first = back(np.ones(4))
        return y, first, back(np.ones(4))

    return Program(run, arrays=[x])


def forward():
    x, a = large(), large()

    def run():
        y, dot = zyg.pushforward(lambda x: (a * np.exp(x)).sum(), (x,), (a,))
        return y, dot, zyg.jacobian(lambda z: np.sin(z) * z[0], a[:3])

    return Program(run, arrays=[x, a])


def second_order():
    x = np.array([0.3, 0.4, 0.5])
    return Program(lambda: zyg.hessian(lambda x: (np.sin(x) * x[0]).sum(), x), arrays=[x])


def checkpointed():
    x, a, held = large(), large(), {"list": [1.0], "n": 0}

    def layer(x):
        held["list"].append(len(held["list"]))
        held["list"].pop()
        return np.tanh(a * x) * np.random.rand()

    def run():
        np.random.seed(3)
        return zyg.gradient(lambda x: zyg.checkpoint(layer, zyg.checkpoint(layer, x)).sum(), x)

    return Program(run, arrays=[x, a], random=True)


def on_threads():
    x = large()

    def f(x):
        return sum(zyg.threads.map(lambda k: (np.sin(k * x) * x).sum(), [1.0, 2.0, 3.0]))

    return Program(lambda: zyg.gradient(f, x), arrays=[x])


def of_trio():
    x = large(600)

    async def f(x):
        send, receive = trio.open_memory_channel(0)

        async def produce():
            async with send:
                for k in range(1, 3):
                    await send.send((k * x).sum())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            return sum([y * y async for y in receive])

    return Program(lambda: zyg.gradient(f, x), arrays=[x])


def awaited():
    x = large(600)

    async def f(x):
        await trio.lowlevel.checkpoint()
        return (x * x).sum()

    def run():
        return trio.run(zyg.gradient_async, f, x)

    return Program(run, arrays=[x])


def of_asyncio():
    x, a = large(600), large(600)

    async def f(x):
        await asyncio.sleep(0)
        return (a * x * x).sum()

    async def both():
        y, back = await zyg.pullback_async(f, x)
        return y, await back(1.0), await zyg.gradient_async(f, x)

    return Program(lambda: asyncio.run(both()), arrays=[x, a], keeps=True)


def _compiled(x, a):
    y = 0.0
    for k in range(len(x)):
        y += np.sin(x[k]) * a[k]
    return y


def _in_python(x):
    kinds = {"a": np.sin}
    return sum(kinds["a"](v) for v in x) * eval("1.0")


def compiled():
    x, a, f = large(), large(), zyg.compile(_compiled)

    def run():
        return zyg.gradient(f, x, a), zyg.gradient(lambda x: f(x, a) * f(a, x), x)

    return Program(run, arrays=[x, a])


def not_compiled():
    x = np.array([0.5, 0.25])
    with zyg.config(fallback="silent"):
        f = zyg.compile(_in_python)

    def run():
        with zyg.config(fallback="silent"):
            return zyg.gradient(f, x)

    return Program(run, arrays=[x], modules=[sys.modules[__name__]])


def _kernel(x, y):
    return x * y if x > 0.5 else x + y * y


def kernels():
    x, y = large(), large()

    def run():
        return zyg.gradient(lambda x, y: zyg.broadcast(_kernel, x, y).sum(), x, y)

    return Program(run, arrays=[x, y])


def solved():
    a, held = large(600), {"n": 0.5}

    def run():
        import zyg.scipy.optimize as optimize

        def f(p):
            found = optimize.root(lambda x: x**3 + p * x - held["n"] - a[0], np.array([0.5]))
            return found.x[0] * p

        return zyg.gradient(f, 2.0)

    return Program(run, arrays=[a])


def caught():
    """An inner derivative that is interrupted, and f goes on."""
    x = large(600)

    def f(x):
        with contextlib.suppress(Stop, KeyboardInterrupt):
            zyg.gradient(lambda z: (z * x).sum(), x)
        return (x * x).sum()

    return Program(lambda: zyg.gradient(f, x), arrays=[x])


PROGRAMS = [
    numbers, arrays, writes, nested, adopted, adopted_inside, configured, pulled, written_back,
    forward, second_order, checkpointed, on_threads, of_trio, awaited, compiled, not_compiled,
    kernels, solved, caught, of_asyncio,
]  # fmt: skip
