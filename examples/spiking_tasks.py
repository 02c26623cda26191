"""
Spiking neurons, as tasks that send each other spikes
=====================================================

Two layers of neurons, each a task of its own, get spikes from a channel and send spikes into the
next. They learn to tell in which order three groups of inputs fire. A spike is a step, whose
derivative is zero almost everywhere, so nothing could be learned: a rule of three lines gives it
the slope of a smooth step instead (Neftci, Mostafa and Zenke, Surrogate gradient learning in
spiking neural networks, 2019). In the reverse pass the cotangents go back through the channels.

::

    pip install -e '.[examples]' && python examples/spiking_tasks.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg
from zyg import trio

# %%
# A spike
# -------
# It happens where the potential is above 1. The rule says what it is, and how a cotangent of the
# spikes becomes one of the potential.


@zyg.adjoint
def spikes(potential):
    def spikes_pullback(y_bar):
        return (y_bar / (1 + 5 * np.abs(potential - 1)) ** 2,)

    return (potential > 1) * 1.0, spikes_pullback


# %%
# The layers
# ----------
# A neuron adds up what arrives, forgets a part of it in each step, and starts afresh after a spike.


async def hidden_layer(weights, receive, send):
    potential = fired = 0.0
    async with receive, send:
        async for arriving in receive:
            potential = 0.9 * potential * (1 - fired) + arriving @ weights
            fired = spikes(potential)
            await send.send(fired)


async def output_layer(weights, receive):
    """One score for each order: the potentials of neurons that never fire, added up."""
    potential = total = 0.0
    async with receive:
        async for arriving in receive:
            potential = 0.9 * potential + arriving @ weights
            total = total + potential
    return total


async def scores(model, trains):
    """Of trains of spikes: time, example, input."""
    to_hidden, into_hidden = trio.open_memory_channel(1)
    to_output, into_output = trio.open_memory_channel(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hidden_layer, model["hidden"], into_hidden, to_output)

        async def play():
            async with to_hidden:
                for arriving in trains:
                    await to_hidden.send(arriving)

        nursery.start_soon(play)
        return await output_layer(model["output"], into_output)


async def surprise(model, trains, orders):
    """The mean cross-entropy."""
    s = await scores(model, trains) / len(trains)
    s = s - np.max(s, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(s), axis=1)) - s[np.arange(len(s)), orders])


# %%
# The data
# --------
# Three groups of five inputs fire one after the other, in one of six orders, amid random spikes.

STEPS, GROUP, HIDDEN = 24, 5, 40
ORDERS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
rng = np.random.default_rng(0)


def examples(count):
    orders = rng.integers(len(ORDERS), size=count)
    rates = np.full((STEPS, count, 3), 0.03)
    when = np.repeat(np.arange(3), STEPS // 3)
    rates[np.arange(STEPS)[:, None], np.arange(count), ORDERS[orders].T[when]] = 0.35
    return (rng.random((STEPS, count, 3 * GROUP)) < np.repeat(rates, GROUP, axis=2)) * 1.0, orders


# %%
# Training
# --------

model = {
    "hidden": 0.35 * rng.normal(size=(3 * GROUP, HIDDEN)),
    "output": 0.3 * rng.normal(size=(HIDDEN, len(ORDERS))),
}
optimizer = zyg.optimize.adam(0.02)
state, losses = optimizer.init(model), []
for _ in range(80):
    loss, (gradient, *_) = zyg.value_and_gradient(surprise, model, *examples(64))
    model, state = optimizer.step(model, gradient, state)
    losses.append(loss)

trains, orders = examples(500)
right = np.mean(np.argmax(trio.run(scores, model, trains), axis=1) == orders)
print(f"cross-entropy {losses[0]:.2f} at first, {np.mean(losses[-10:]):.2f} at the end")
print(f"{right:.0%} of 500 new trains are told right; one in six would be by chance")

# %%
# The picture
# -----------

figure, (left, middle, far) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
left.semilogy(losses)
left.set(xlabel="step of training", ylabel="cross-entropy", title="training")
time, neuron = np.nonzero(trains[:, 0])
middle.scatter(time, neuron, c=neuron // GROUP, cmap="tab10", vmax=9, marker="|")
middle.set(xlabel="time", ylabel="input", title=f"what arrives: order {ORDERS[orders[0]]}")
potential, fired, raster = 0.0, 0.0, []
for arriving in trains[:, 0]:
    potential = 0.9 * potential * (1 - fired) + arriving @ model["hidden"]
    fired = spikes(potential)
    raster.append(fired)
far.scatter(*np.nonzero(raster), marker="|", color="k")
far.set(xlabel="time", ylabel="hidden neuron", title="what the hidden layer sends")
plt.show()

assert right > 0.9, f"{right:.0%} are right"
