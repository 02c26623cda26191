"""Random chains of bridges against NumPy's: ``python -m tests.interop.random_bridges``.

A chain is a few steps, each a function of three numbers done by NumPy, PyTorch, JAX, a foreign
function, under a checkpoint, in a PyTorch graph or a callback of JAX's. The numbers may come in a
Series, a frame or a DataArray, with which the first steps compute, in threads, tasks, a pool of
threads or a checkpoint. Gradient, Hessian-vector product and forward mode of a scalar of its result
are compared. ``--seeds N`` runs N chains.
"""

import argparse
import asyncio
import functools
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

import zyg
from zyg.errors import ZygError

STEPS = {
    "sine": (
        lambda xp, x: xp.sin(x) * x,
        lambda x: np.diag(np.cos(x) * x + np.sin(x)),
    ),
    "product": (
        lambda xp, x: x * x.sum(),
        lambda x: np.eye(3) * np.sum(x) + x[:, None] * np.ones(3),
    ),
    "squash": (lambda xp, x: xp.tanh(x), lambda x: np.diag(1 - np.tanh(x) ** 2)),
    "square": (lambda xp, x: 0.5 * x * x + 1, lambda x: np.diag(x)),
    "turn": (
        lambda xp, x: x @ xp.asarray(TURN),
        lambda x: TURN.T,
    ),
}
TURN = np.array([[0.0, 1.0, 0.5], [-1.0, 0.0, 0.0], [0.2, 0.0, 1.0]])


def libraries():
    """The ways to do a step: by name, what makes a function of arrays of it."""
    ways = {
        "numpy": lambda f, slope: functools.partial(f, np),
        "foreign": lambda f, slope: zyg.foreign(functools.partial(f, np), jacobian=slope),
        "checkpoint": lambda f, slope: functools.partial(zyg.checkpoint, functools.partial(f, np)),
    }
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.set_num_threads(1)
        ways["torch"] = lambda f, slope: zyg.torch.wrap(functools.partial(f, torch))
        ways["zyg in torch"] = lambda f, slope: zyg.torch.wrap(
            zyg.torch.function(functools.partial(f, np))
        )
    try:
        import jax
    except ImportError:
        pass
    else:
        jax.config.update("jax_enable_x64", True)
        jnp = jax.numpy
        ways["jax"] = lambda f, slope: zyg.jax.wrap(functools.partial(f, jnp))
        ways["jit"] = functools.cache(
            lambda f, slope: zyg.jax.wrap(jax.jit(functools.partial(f, jnp)))
        )
        ways["zyg in jax"] = functools.cache(
            lambda f, slope: zyg.jax.wrap(
                jax.jit(
                    zyg.jax.function(
                        functools.partial(f, np), result=jax.ShapeDtypeStruct((3,), float)
                    )
                )
            )
        )
    return ways


class Frame(NamedTuple):
    """Numbers with labels: how they are made, what steps compute with, and its array."""

    make: object
    column: object
    array: object


def frames():
    found = {}
    try:
        import pandas
    except ImportError:
        pass
    else:
        found["Series"] = Frame(
            lambda x: pandas.Series(x, index=["a", "b", "c"]),
            lambda s: s,
            lambda s: s.to_numpy(),
        )
        found["DataFrame"] = Frame(
            lambda x: pandas.DataFrame({"u": x, "name": ["p", "q", "r"]}),
            lambda frame: frame["u"],
            lambda s: s.to_numpy(),
        )
    try:
        import xarray
    except ImportError:
        pass
    else:
        found["DataArray"] = Frame(
            lambda x: xarray.DataArray(x, dims="t", coords={"t": [1, 2, 3]}),
            lambda a: a,
            lambda a: a.data,
        )
        found["Dataset"] = Frame(
            lambda x: xarray.Dataset({"u": ("t", x), "name": ("t", ["p", "q", "r"])}),
            lambda a: a["u"],
            lambda a: a.data,
        )
    return found


def in_threads(f, x):
    a, b = zyg.threads.map(f, [x, x])
    return 0.25 * a + 0.75 * b


def in_a_pool(f, x):
    with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
        a, b = [task.result() for task in [pool.submit(f, x), pool.submit(f, x)]]
    return 0.25 * a + 0.75 * b


def in_tasks(f, x):
    async def one():
        await asyncio.sleep(0)
        return f(x)

    async def both():  # whose result Python makes text of, which pandas makes of objects
        a, b = await asyncio.gather(one(), one())
        found.append(0.25 * a + 0.75 * b)

    found = []
    asyncio.run(both())
    return found[0]


PLACES = {
    "here": lambda f, x: f(x),
    "in threads": in_threads,
    "in a pool": in_a_pool,
    "in tasks": in_tasks,
    "in a checkpoint": lambda f, x: zyg.checkpoint(f, x),
}


def chain(steps, x):
    for f in steps:
        x = f(x)
    return np.sum(np.cos(x) * x)


def with_labels(frame, first, places, loss, x):
    """The first steps on what has labels, each in its place; the loss of the array then."""
    x = frame.column(x)
    for f, place in zip(first, places, strict=True):
        x = place(f, x)
    return loss(frame.array(x))


def inside_a_checkpoint(f):
    return lambda x: zyg.checkpoint(f, x)


def inside_torch(f):
    """A wrapped function of a graph whose node is f: zyg in torch in zyg."""
    return zyg.torch.wrap(zyg.torch.function(f))


def derivatives(loss, x, v, frame=None):
    made = (lambda x: x) if frame is None else frame.make
    numbers = np.asarray if frame is None else lambda g: np.asarray(frame.array(frame.column(g)))
    yield numbers(zyg.gradient(loss, made(x))[0])
    yield numbers(zyg.hvp(loss, made(x), made(v)))
    yield zyg.pushforward(loss, (made(x),), (made(v),))[1]


def differences(seed, ways):
    """What differs in the chain of a seed; nothing if all is well."""
    rng = np.random.default_rng(seed)
    names = rng.choice([*STEPS], size=rng.integers(1, 5))
    hows = [str(rng.choice([*ways])) for _ in names]
    x, v = rng.uniform(-1, 1, (2, 3))
    steps = [ways[how](*STEPS[name]) for name, how in zip(names, hows, strict=True)]
    plain = [functools.partial(STEPS[name][0], np) for name in names]
    loss = functools.partial(chain, steps)
    outer = [inside_a_checkpoint] + [inside_torch] * ("torch" in ways)
    if (around := int(rng.integers(0, 6))) < len(outer):
        loss = outer[around](loss)
        hows.append(outer[around].__name__)
    same, frame = functools.partial(chain, plain), None
    kinds = [None, None, *frames().items()]
    if (kind := kinds[int(rng.integers(0, len(kinds)))]) is not None:
        name, frame = kind
        begun = [str(n) for n in rng.choice([*STEPS][:4], size=rng.integers(1, 4))]
        places = [str(rng.choice([*PLACES])) for _ in begun]
        hows = [name, *zip(begun, places, strict=True), *hows]
        first = [functools.partial(STEPS[n][0], np) for n in begun]
        loss = functools.partial(with_labels, frame, first, [PLACES[p] for p in places], loss)
        same = functools.partial(chain, [*first, *plain])
    try:
        pairs = [*zip(derivatives(loss, x, v, frame), derivatives(same, x, v), strict=True)]
    except ZygError as error:
        return f"seed {seed}: {[*names]} {hows}: refused: {error}"
    bad = [k for k, (a, b) in enumerate(pairs) if not np.allclose(a, b, 1e-9, 1e-9)]
    return f"seed {seed}: {[*names]} {hows}: derivatives {bad} differ" if bad else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    ways, found = libraries(), 0
    for seed in range(options.first, options.first + options.seeds):
        if text := differences(seed, ways):
            found += 1
            print(text, flush=True)
    print(f"{options.seeds} chains of {', '.join(ways)}: {found} differ or are refused")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
