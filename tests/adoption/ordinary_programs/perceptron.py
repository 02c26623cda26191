"""A neural network of lists, trained by back-propagation that is written out."""

import math
import random


def sigmoid(z):
    if z < 0:
        return math.exp(z) / (1 + math.exp(z))
    return 1 / (1 + math.exp(-z))


def forward(network, inputs):
    activations = [inputs]
    for layer in network:
        inputs = [
            sigmoid(sum(w * v for w, v in zip(neuron["w"], inputs, strict=True)) + neuron["b"])
            for neuron in layer
        ]
        activations.append(inputs)
    return activations


def train(network, data, rate, epochs):
    for _ in range(epochs):
        for inputs, target in data:
            hidden, output = forward(network, inputs)[1:]
            delta = (output[0] - target) * output[0] * (1 - output[0])
            out = network[1][0]
            deltas = [delta * w * h * (1 - h) for w, h in zip(out["w"], hidden, strict=True)]
            out["w"] = [w - rate * delta * h for w, h in zip(out["w"], hidden, strict=True)]
            out["b"] -= rate * delta
            for neuron, d in zip(network[0], deltas, strict=True):
                neuron["w"] = [w - rate * d * v for w, v in zip(neuron["w"], inputs, strict=True)]
                neuron["b"] -= rate * d


def loss_after_training(rate, spread):
    random.seed(1)
    xor = [([0, 0], 0), ([0, 1], 1), ([1, 0], 1), ([1, 1], 0)]
    hidden = [{"w": [spread * random.uniform(-1, 1) for _ in range(2)], "b": 0.1} for _ in range(3)]
    output = [{"w": [spread * random.uniform(-1, 1) for _ in range(3)], "b": 0.0}]
    network = [hidden, output]
    train(network, xor, rate, epochs=20)
    return math.fsum((forward(network, i)[-1][0] - t) ** 2 for i, t in xor)


if __name__ == "__main__":
    print(loss_after_training(2.0, 3.0))
