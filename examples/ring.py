"""
A ring of tasks
===============

A ring of tasks with feedback: its gradient and curvature are those of the loop it stands for.

::

    pip install -e '.[examples]' && python examples/ring.py  # takes seconds

Four stations pass a number round five times. Each mixes what it gets with a state of its own, which
it keeps from round to round, so every message depends on all messages before it. In the reverse
pass the cotangents travel round the ring the other way.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

import zyg
from zyg import trio

ROUNDS = 5


def mixed(weight, state, value):
    """What a station does: its new state, which is also what it passes on."""
    return np.tanh(weight * value + 0.5 * state) + 0.1 * value


async def station(weight, receive, send):
    state = 0.0
    for _ in range(ROUNDS):
        state = mixed(weight, state, await receive.receive())
        await send.send(state)


async def ring(weights, start):
    """The squared number that comes out after the last round."""
    links = [trio.open_memory_channel(1) for _ in weights]
    async with trio.open_nursery() as nursery:
        for k, weight in enumerate(weights):
            receive, send = links[k][1], links[(k + 1) % len(weights)][0]
            nursery.start_soon(station, weight, receive, send, name=f"station {k}")
        await links[0][0].send(start)
    return (await links[0][1].receive()) ** 2


def loop(weights, start):
    """The same without tasks."""
    states, value = [0.0] * len(weights), start
    for _ in range(ROUNDS):
        for k, weight in enumerate(weights):
            states[k] = value = mixed(weight, states[k], value)
    return value**2


def curvature(f, weights, start):
    """How the slope along `start` changes with everything: a gradient of a gradient."""
    return zyg.gradient(lambda weights, start: zyg.gradient(f, weights, start)[1], weights, start)


def numbers(f, weights, start):
    slopes, slope = zyg.gradient(f, weights, start)
    bends, bend = curvature(f, weights, start)
    return {
        **{f"slope, weight {k}": s for k, s in enumerate(slopes)},
        "slope, start": slope,
        **{f"bend, weight {k}": b for k, b in enumerate(bends)},
        "bend, start": bend,
    }


def main():
    weights, start = [0.9, -1.1, 0.7, 1.3], 0.7
    of_ring, of_loop = numbers(ring, weights, start), numbers(loop, weights, start)
    table = Table("", "ring of tasks", "loop", title="after five rounds")
    for name, value in of_ring.items():
        table.add_row(name, f"{value:.12f}", f"{of_loop[name]:.12f}")
    console = Console()
    console.print(table)
    console.print(str(zyg.explain(ring, weights, start)), markup=False, highlight=False)
    panels = plt.figure(figsize=(9, 3.5), layout="constrained").subplots(1, 2)
    for axes, kind in zip(panels, ("slope", "bend"), strict=True):
        names = [name for name in of_ring if name.startswith(kind)]
        axes.bar(names, [of_loop[name] for name in names], alpha=0.4, label="loop")
        axes.plot(names, [of_ring[name] for name in names], "ko", label="ring of tasks")
        axes.tick_params(axis="x", rotation=45)
        axes.set(title=f"each {kind}", ylabel=kind)
        axes.legend()
    return of_ring, of_loop


# %%
# The run
# -------

if __name__ == "__main__":
    of_ring, of_loop = main()
    np.testing.assert_allclose([*of_ring.values()], [*of_loop.values()], rtol=1e-12)
    plt.show()
