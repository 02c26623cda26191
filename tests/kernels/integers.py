"""Random expressions of ints: a kernel gives what NumPy gives, overflow included, for every type.

    python -m tests.kernels.integers --most 20000

An expression of two operands of ints and of numbers of Python's, literals and the operand n, is
evaluated on arrays by NumPy, and as a kernel. Left out is what kernels do in another way: bools are
Python's, 0 and 1; uint64 together with signed types, which is float64 to NumPy, is refused, and so
is a number in np.where that NumPy casts, and one computed of n alone beyond int64.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from tests.searches.search import Search, main
from zyg.compiler.back.compiled import CompilationError
from zyg.compiler.front.captures import type_for
from zyg.errors import IntegerOverflowError, KernelError
from zyg.kernels.launch import run
from zyg.kernels.plans import Output
from zyg.kernels.scalar import recorded

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
LITERALS = (0, 1, 2, 3, 5, 100, -1, -3, 127, 128, 255, 256, -128, -129, 1000, 65535, 2**31, 2**33,
            2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip


def expression(rng, depth):
    """The text of an expression of the names a and b, and of numbers of Python's."""

    def part():
        return expression(rng, depth - 1)

    if depth == 0 or rng.random() < 0.1:
        return rng.choice("ab")
    number = str(rng.choice(LITERALS[:7] if rng.random() < 0.9 else LITERALS))
    if rng.random() < 0.3:
        number = rng.choice(("n", "n", f"n {rng.choice('+-*')} {rng.choice(LITERALS[:7])}"))
    return rng.choice(
        [
            lambda: f"({part()} {rng.choice('+-*+-*&|^')} {part()})",
            lambda: f"({part()} {rng.choice('+-*&|^')} ({number}))",
            lambda: f"(({number}) {rng.choice('+-*')} {part()})",
            lambda: f"({part()} {rng.choice(('//', '%'))} {part()})",
            lambda: f"({part()} {rng.choice(('//', '%'))} ({number}))",
            lambda: f"{rng.choice(('-', '~', 'abs', '+'))}({part()})",
            lambda: f"{rng.choice('ab')} ** {rng.choice('23579')}",
            lambda: f"np.where({part()} {rng.choice(('<', '=='))} ({number}), {part()}, {part()})",
            lambda: f"np.where({part()} > {part()}, {part()}, ({number}))",
            lambda: f"np.{rng.choice(('maximum', 'minimum', 'fmod', 'fmin'))}({part()}, {part()})",
            lambda: f"np.{rng.choice(('square', 'sign', 'absolute'))}({part()})",
            lambda: (
                f"np.where({part()} {rng.choice(('<', '==', '>='))} {part()}, {part()}, {part()})"
            ),
        ]
    )()


class Case:
    """One expression, and the operands for it."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        end = rng.choice(["", " * x", " > 3", " // 2"])
        self.text = f"lambda a, b, x, n: ({expression(rng, rng.choice((1, 2, 3)))}){end}"
        values = np.random.default_rng(seed)
        self.operands = [self._ints(np.dtype(rng.choice(TYPES)), values) for _ in "ab"]
        number = rng.choice(LITERALS[:9] if rng.random() < 0.8 else LITERALS[:-2])
        self.operands += [np.linspace(0.5, 2.0, 12), number]

    @staticmethod
    def _ints(dtype, values):
        span = np.iinfo(dtype)
        ends = [span.min, span.min + 1, span.max, span.max - 1, 0, 1]
        small = values.integers(max(span.min, -9), 10, 6)
        return values.permutation(np.array([*ends, *small], dtype))

    def __str__(self):
        kinds = ", ".join(str(getattr(x, "dtype", x)) for x in self.operands)
        return f"seed {self.seed}: {self.text} of {kinds}"


def by_numpy(case):
    """The value; raises OverflowError."""
    with np.errstate(all="ignore"):
        return eval(case.text, {"np": np})(*case.operands)


def by_kernel(case, backend):
    a, b, *_ = case.operands
    f = eval(case.text, {"np": np})
    kinds = [type_for(np.asarray(x).dtype) for x in case.operands]
    kernel, _ = recorded(f, tuple(kinds), (a.dtype, b.dtype, None, None))
    if kernel.bounds is not None:
        kernel.bounds.demand(case.operands)
    (kind,) = [getattr(x, "type", type(x).__name__) for x in kernel.program.outputs]
    dtype = np.dtype({"int": np.int64, "uint": np.uint64, "bool": bool, "float": float}[kind])
    with np.errstate(all="ignore"):
        options = {"dtype": np.dtype(float), "backend": backend}
        return run(kernel.program, case.operands, [Output(dtype)], **options)[0]


def check(case, backend="python"):
    """Raise if a kernel does not give what NumPy does."""
    try:
        expected = by_numpy(case)
    except TypeError:  # an operation on ints, of uint64 with a signed type
        return
    except OverflowError:
        with pytest.raises((OverflowError, KernelError, CompilationError)):
            by_kernel(case, backend)
        return
    if expected.dtype == object or expected.dtype.kind not in "iufb":
        return
    try:
        found = by_kernel(case, backend)
    except (KernelError, OverflowError, CompilationError) as error:
        if not _is_refused(case, error):
            raise AssertionError(str(case)) from error
        return
    near = 1e-6 if "f" in (found.dtype.kind, expected.dtype.kind) else 0
    np.testing.assert_allclose(found, expected, rtol=near, err_msg=f"{case}:\n{case.operands}")


def _is_refused(case, error):
    """Whether it is what kernels refuse, and NumPy does not."""
    if isinstance(error, IntegerOverflowError):  # np.where casts a number that has no place
        cast = re.search(r"np.where.*, \([-\dn +*]+\)\)", case.text)
        return cast or (re.search(r"n [-+*]", case.text) and "for int64" in str(error))
    return "no integer type in common" in str(error)


SEARCH = Search(Case, check)

if __name__ == "__main__":
    main(SEARCH, __doc__)
