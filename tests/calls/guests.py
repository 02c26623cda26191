"""The engines of guests: arrays of other libraries, given to NumPy's functions."""

import numpy as np
import pytest

import zyg
from zyg.errors import ZygError

from ..interop import libraries
from . import compare
from .case import given
from .compare import Wrong, difference, quietly
from .programs import moves

OF_LIBRARIES = (
    TypeError, ValueError, RuntimeError, NotImplementedError, IndexError, AttributeError,
)  # fmt: skip


SPARSE = {"COO", "GCXS"}  # they store what is not zero, and no NaN where the value is none


def _guest(kind):
    """What compares value and gradient of arrays of a kind with NumPy's; they may be refused."""

    def engine(case):
        try:
            make = libraries.maker(kind)
        except pytest.skip.Exception:
            return "not installed"
        if not case.differentiable or not any(map(_is_guest, case.at)):
            return "no derivative"
        if any(f"{name}(" in case.program.text for name in ("svd", "eig", "eigh", "partition")):
            return "the library chooses signs and orders"
        right, why = given(case.slope, kind)
        if right is None:
            return why
        if kind in SPARSE and not all(np.all(np.isfinite(c)) for c in right):
            return "not finite"
        at = [make(x) if _is_guest(x) else x for x in case.at]
        try:
            y, found = quietly(
                lambda: zyg.value_and_gradient(_weighed_guest(case), *at, zeros=True)
            )
        except (ZygError, *OF_LIBRARIES) as error:
            return f"refused: {type(error).__name__}"
        expected = quietly(lambda: compare.weighed(case.expected[1]))
        near = 1e-4 if compare.is_single([*case.at, *compare.leaves(case.expected[1])]) else 1e-9
        for a, b in zip([y, *found], [expected, *right], strict=True):
            a, b = np.asarray(libraries.host(a)), np.asarray(b)
            if why := difference(a.astype(b.dtype), b, near):
                raise Wrong(f"{kind}: {why}")
        return "the same"

    return engine


def _is_guest(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.ndim > 0


def _weighed_guest(case):
    """As `weighed`, of results that may be other libraries'."""
    g, plain = case.by_places(case.watched), compare.leaves(case.expected[1])
    w = iter(compare.weights(case.expected[1]))
    by = [next(w) if moves(x) else None for x in plain]

    def loss(*xs):
        y = 0.0
        for part, weight in zip(compare.leaves(g(*xs)), by, strict=True):
            if weight is not None:
                y = y + np.sum(np.real(part) * np.real(weight))
                if np.iscomplexobj(weight):
                    y = y + np.sum(np.imag(part) * np.imag(weight))
        return y

    return loss


GUESTS = {kind: _guest(kind) for kind in libraries.KINDS}
