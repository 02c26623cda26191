"""
A small transformer
===================

One layer of attention and one of neurons, in forty lines of NumPy, learn to sort digits from
examples alone: six digits in any order come in, and the same digits in order shall come out. What
each place of the answer looks at can be seen in the end.

::

    pip install -e '.[examples]' && python examples/transformer.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# The model
# ---------
# The parameters are a dict of arrays. Each place of the answer has a question of its own: it asks
# the digits, by attention with two heads, and a layer of neurons makes scores of what it gets.

DIGITS, LENGTH, WIDTH, HEADS = 10, 6, 32, 2


def new_model(rng):
    shapes = {
        "digit": (DIGITS, WIDTH), "place": (LENGTH, WIDTH), "ask": (WIDTH, WIDTH),
        "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH), "mix": (WIDTH, WIDTH),
        "hidden": (WIDTH, 2 * WIDTH), "scores": (2 * WIDTH, DIGITS),
    }  # fmt: skip
    return {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def normalized(x):
    x = x - np.mean(x, axis=-1, keepdims=True)
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5)


def heads(x):
    """The last axis split among the heads, which go before the places."""
    return np.swapaxes(x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS), -2, -3)


def attend(model, asking, asked):
    """What each place gets, and where it looks: one matrix for each example and head."""
    question, key = heads(asking @ model["ask"]), heads(asked @ model["key"])
    weights = softmax(question @ np.swapaxes(key, -1, -2) / np.sqrt(WIDTH / HEADS))
    got = np.swapaxes(weights @ heads(asked @ model["value"]), -2, -3)
    return got.reshape(*got.shape[:-2], WIDTH) @ model["mix"], weights


def scores(model, numbers):
    """For each place of the answer a score of each digit; and where each place looks."""
    digits = model["digit"][numbers]
    for _ in range(2):  # the same weights twice: first the digits look at each other
        got, weights = attend(model, digits, digits)
        digits = normalized(digits + got)
    got, weights = attend(model, model["place"] + 0 * digits, digits)
    x = normalized(model["place"] + got)
    return np.maximum(x @ model["hidden"], 0) @ model["scores"], weights


# %%
# Training
# --------


def surprise(model, numbers):
    answer = np.sort(numbers, axis=1)
    p = softmax(scores(model, numbers)[0])
    return -np.mean(np.log(np.take_along_axis(p, answer[..., None], axis=2) + 1e-9))


rng = np.random.default_rng(0)
model = new_model(rng)
optimizer = zyg.optimize.adam(0.005)
state, losses = optimizer.init(model), []
for _ in range(200):
    numbers = rng.integers(DIGITS, size=(64, LENGTH))
    loss, (gradient, _) = zyg.value_and_gradient(surprise, model, numbers)
    model, state = optimizer.step(model, gradient, state)
    losses.append(loss)

# %%
# What it has learned
# -------------------

numbers = rng.integers(DIGITS, size=(1000, LENGTH))
answers = np.argmax(scores(model, numbers)[0], axis=2)
right = np.mean(np.all(answers == np.sort(numbers, axis=1), axis=1))
digits_right = np.mean(answers == np.sort(numbers, axis=1))
for k in range(3):
    print(f"{numbers[k]} -> {answers[k]}")
print(f"surprise {losses[0]:.2f} at first, {np.mean(losses[-20:]):.3f} at the end")
print(f"{digits_right:.1%} of the digits are right, {right:.1%} of 1000 answers as a whole")

# %%
# The picture
# -----------
# Left, how training went. Right, where each place of one answer looks, by each of the two heads.

figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
panels[0].semilogy(losses)
panels[0].set(xlabel="step", ylabel="surprise for each digit", title="training")
weights = scores(model, numbers[:1])[1][0]
for head, axes in enumerate(panels[1:]):
    image = axes.imshow(weights[head], cmap="Blues", vmin=0)
    axes.set(title=f"head {head + 1}", xlabel="digits that come in", ylabel="digits that come out")
    axes.set_xticks(range(LENGTH), numbers[0])
    axes.set_yticks(range(LENGTH), answers[0])
    figure.colorbar(image, label="attention")
plt.show()

assert right > 0.95, f"{right:.0%} of the answers are right"
