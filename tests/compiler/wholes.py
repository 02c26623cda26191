"""Whole functions, read and carried out by the interpreter, beside Python itself."""

import copy

import numpy as np

from zyg.compiler.front.whole import WholeCaptures
from zyg.compiler.inside.reading import read_whole
from zyg.compiler.kinds import Array, Struct, kind_of, made_of

from .interpreted import interpreted
from .kit import operands_of


def read(f, *args, **kwargs):
    """The program of `f` for arguments like these."""
    kinds = [kind_of(x) for x in args]
    named = {k: kind_of(x) for k, x in kwargs.items()}
    return read_whole(f, kinds, named, WholeCaptures(lambda x: x))


def run(f, *args, **kwargs):
    """What the program of `f` gives; arrays among the arguments are written as it does it."""
    return carried_out(read(f, *args, **kwargs), f, [*args, *kwargs.values()])


def carried_out(whole, f, args):
    """The same of a program that was read before, for arguments like these."""
    given = [(kind_of(x), x) for x in args]
    given += [(kind_of(x), x) for x in whole.captures.values(f)]
    operands = [list(operands_of(kind, x)) for kind, x in given]
    outputs = interpreted(whole.program, *[x for row in operands for x in row])
    for (kind, x), row in zip(given, operands, strict=True):
        _write_back(kind, x, iter(row))
    return made_of(whole.result, iter(outputs))


def _write_back(kind, x, operands):
    if isinstance(kind, Array):
        flat = next(operands)
        [next(operands) for _ in range(kind.ndim)]
        if x.flags.writeable:
            x[...] = kind.shaped(flat.view(x.dtype), x.shape)
    elif isinstance(kind, Struct):
        named = x if isinstance(x, dict) else vars(x) if kind.keys else {}
        parts = named.values() if kind.keys else x
        for inner, part in zip(kind.parts, parts, strict=True):
            _write_back(inner, part, operands)
    else:
        for _ in operands_of(kind, x):
            next(operands)


def assert_same(got, right, rtol=1e-12, types=True):
    """Two results, to the type and shape."""
    if isinstance(right, (tuple, list)):
        assert type(got) is type(right)
        assert len(got) == len(right)
        for a, b in zip(got, right, strict=True):
            assert_same(a, b, rtol, types)
        return
    if isinstance(right, dict):
        assert list(got) == list(right)
        assert_same([*got.values()], [*right.values()], rtol, types)
        return
    if types:
        assert type(got) is type(right), (got, right)
    if isinstance(right, (np.ndarray, np.generic)):
        assert got.dtype == right.dtype, (got, right)
        assert got.shape == right.shape
    np.testing.assert_allclose(got, right, rtol=rtol, atol=1e-13)


def check(f, *args, types=True, rtol=1e-12, **kwargs):
    """Assert that the program of `f` does what Python does, to the arguments too."""
    ours, theirs = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
    with np.errstate(all="ignore"):
        right = f(*theirs[0], **theirs[1])
    got = run(f, *ours[0], **ours[1])
    assert_same(got, right, rtol, types)
    assert_same([*ours[0], *ours[1].values()], [*theirs[0], *theirs[1].values()], rtol)
    return got
