"""Helper functions of other modules, with numbers of their own."""

import math

GAIN = 1.0


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def amplified(x):
    return GAIN * x
