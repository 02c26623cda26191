"""What the tests of kernels on the GPU have in common: functions, kernels, arrays that are not."""

import math

import numpy as np

from zyg.kernels.scalar import read_for
from zyg_cuda.plans import Array, Output, Planner

FLUSH, COPY, UPDATE = (1.0, 1.0), (0.0, 0.0), (0.0, 1.0)
CELL = (0.3, 0.1, 0.2, -0.4)
VALUES = {UPDATE: -0.05141510044783612, COPY: 0.3, FLUSH: -0.20890885669151812}
PARTIALS = {
    UPDATE: (0.52497918747894, 0.07481281205786759, -0.09404366494284111, 0.4704592940066102),
    COPY: (1, 0, 0, 0),
    FLUSH: (0, 0, -0.09404366494284111, 0.4704592940066102),
}


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def update(c, f, i, g, z1, z2):
    if z1 == 1:
        return sigmoid(i) * math.tanh(g)
    if z2 == 0:
        return c
    return sigmoid(f) * c + sigmoid(i) * math.tanh(g)


def root(a, x):
    """Newton's method for the cube root."""
    while abs(x**3 - a) > 1e-13 * abs(a):
        x -= (x**3 - a) / (3 * x * x)
    return x


def kernel_of(f, *kinds):
    """The kernel of a scalar function for operands of these types."""
    return read_for(f, kinds, None, lambda numbers: numbers, lambda x: x).kernel


def cell(z="float"):
    return kernel_of(update, *["float"] * 4, z, z)


def product_of(arity):
    """tanh(g(x_1)) tanh(g(x_2)) ..., the function of the paper's table of arities."""

    def f(*xs):
        y = 1.0
        for x in xs:
            y = y * math.tanh(sigmoid(x))
        return y

    return kernel_of(f, *["float"] * arity)


def array(shape, dtype=np.float32, address=256, strides=None):
    """An array that is nowhere, for plans."""
    dtype = np.dtype(dtype)
    strides = strides or np.empty(shape, dtype).strides
    return Array(address, shape, strides, dtype)


def launches(kernel, operands, shapes=(), dtype=np.float32, stored=None):
    """What would be launched, to compute in `dtype`; results are stored as that or as `stored`."""
    count = len(kernel.program.outputs)
    shapes = [*shapes, *[None] * (count - len(shapes))]
    outputs = [Output(np.dtype(stored or dtype), s) for s in shapes]
    return Planner(kernel.program, operands, outputs, np.dtype(dtype)).plan().launches
