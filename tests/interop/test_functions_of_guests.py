"""Every function that has a rule, over arrays of each library: as of NumPy's, or refused."""

import numpy as np
import pytest

import zyg
from tests.calls.tables import NUMPY as CALLS
from zyg.errors import ZygError

from .libraries import KINDS, host, maker

SLOW = {"jax": "it compiles", "dask": "it plans", "COO": "it compiles", "GCXS": "it compiles"}
# The library chooses the sign of vectors, and the order of what a partition leaves open.
ANY = {np.linalg.svd, np.linalg.eig, np.partition}


def leaves(x):
    parts = x.values() if isinstance(x, dict) else x
    return (
        [v for part in parts for v in leaves(part)] if isinstance(x, (list, tuple, dict)) else [x]
    )


def varies(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.ndim > 0


def filled(x, values):
    if isinstance(x, dict):
        return {key: filled(v, values) for key, v in x.items()}
    if type(x) in (list, tuple):
        return type(x)(filled(v, values) for v in x)
    return next(values) if varies(x) else x


def weighted(f, c):
    """A number that depends on all that the call gives, as a function of its arrays."""

    def loss(*xs):
        values, y = iter(xs), 0.0
        args, kwargs = filled(c.args, values), filled(c.kwargs, values)
        for k, part in enumerate(leaves(f(*args, **kwargs))):
            if hasattr(part, "dtype"):
                n = int(np.prod(np.shape(part)))
                y = y + np.sum(
                    np.real(part) * np.reshape(np.cos(np.arange(n) + k + 1.0), part.shape)
                )
        return y

    return loss


def is_wrong(loss, xs, make):
    """Whether value or gradient differ from NumPy's; not if either is refused."""
    try:
        y, gradient = zyg.value_and_gradient(loss, *xs, zeros=True)
        found, bars = zyg.value_and_gradient(loss, *map(make, xs), zeros=True)
        pairs = [(found, y), *zip(bars, gradient, strict=True)]
        return not all(
            np.allclose(host(a), b, rtol=1e-9, atol=1e-10, equal_nan=True) for a, b in pairs
        )
    except (ZygError, *OF_THE_LIBRARIES):
        return False


OF_THE_LIBRARIES = TypeError, ValueError, RuntimeError, NotImplementedError, IndexError


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.slow] * (k in SLOW)) for k in KINDS]
)
def test_no_function_is_wrong(kind):
    make, wrong, tried = maker(kind), [], 0
    for f in CALLS.keys() - ANY:
        for c in CALLS[f][:2]:
            xs = [x for x in (*leaves(c.args), *leaves(c.kwargs)) if varies(x)]
            tried += bool(xs)
            if xs and is_wrong(weighted(f, c), xs, make):
                wrong.append((f.__name__, c))
    assert not wrong
    assert tried > 250
