"""Small programs for the tests of the runtime, and what NumPy makes of them."""

import itertools

import numpy as np

from zyg.compiler.builder import Builder
from zyg.compiler.functions import meaning
from zyg.compiler.ir import Program, Value
from zyg.compiler.numbers import atom_of
from zyg.kernels.plans import Output

where = meaning(np.where)


def program(types, f):
    """The program of f, which is written in operators and ufuncs."""
    builder = Builder()
    inputs = [Value(kind) for kind in types]
    results = f(*[builder.wrap(x) for x in inputs])
    builder.block.yields = [atom_of(x) for x in results]
    return Program("f", inputs, builder.block)


def mixed(x, y, k, b):
    """Floats, an int and a bool, in an expression that float32 computes well."""
    s = x * y + 0.25 * k
    return where(b, s, x - 3 * y), s


def mixed_in_numpy(x, y, k, b):
    s = x * y + 0.25 * k
    return np.where(b, s, x - 3 * y), s


MIXED = program(("float", "float", "int", "bool"), mixed)


def summed_to(array, shape):
    """What is summed over the axes that `shape` broadcasts along, in float64."""
    padded = (1,) * (array.ndim - len(shape)) + tuple(shape)
    axes = tuple(k for k, n in enumerate(padded) if n == 1 and array.shape[k] != 1)
    return array.astype(np.float64).sum(axis=axes, keepdims=True).reshape(shape)


def outputs(*dtypes_and_shapes):
    return [Output(np.dtype(d), s) for d, s in dtypes_and_shapes]


def no_two_alike(shape, start=1):
    return (np.arange(start, start + int(np.prod(shape))) % 97.0).reshape(shape)


def layouts(array):
    """The same values, differently in memory."""
    yield array
    yield array.copy(order="F")  # asfortranarray would give a number an axis
    wide = np.zeros((*array.shape, 2), array.dtype)
    wide[..., 1] = array
    yield wide[..., 1]
    flip = (..., *(slice(None, None, -1) for _ in array.shape))
    yield array[flip].copy()[flip]
    for axes in itertools.islice(itertools.permutations(range(array.ndim)), 1, 4):
        back = np.argsort(axes)
        yield array.transpose(axes).copy().transpose(back)
