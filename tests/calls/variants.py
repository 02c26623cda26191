"""What every call is tried with besides its own arrays: layouts, types, sizes, special values."""

import numpy as np


def _strided(x):
    made = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    made[..., ::2] = x
    return made[..., ::2]


def _backwards(x):
    return np.ascontiguousarray(np.flip(x))[(slice(None, None, -1),) * x.ndim]


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def _with(value):
    def put(x):
        x = x.copy()
        if x.size:
            x.flat[x.size // 2] = value
        return x

    return put


def _whole(x):
    return np.rint(3 * x).astype(int)


def _has_axes(x):
    return x.ndim > 0


# What an array of floats becomes, and of which arrays.
VARIANTS = {
    "as it is": (lambda x: x, None),
    "fortran": (np.asfortranarray, lambda x: x.ndim > 1),
    "strided": (_strided, _has_axes),
    "backwards": (_backwards, _has_axes),
    "read only": (_read_only, None),
    "float32": (lambda x: x.astype(np.float32), None),
    "complex": (lambda x: x * (1 + 0.5j), None),
    "ints": (_whole, None),
    "bools": (lambda x: x > 0, None),
    "empty": (lambda x: x[:0], _has_axes),
    "one row": (lambda x: x[:1], _has_axes),
    "no axes": (lambda x: np.array(x.flat[0]), lambda x: x.size > 0),
    "zeros": (lambda x: x * 0.0, None),
    "ties": (lambda x: np.ones_like(x), None),
    "nan": (_with(np.nan), None),
    "inf": (_with(np.inf), None),
}


def varied(leaves, variant):
    """The leaves of a variant; None where it changes nothing, or is none."""
    change, fits = VARIANTS[variant]
    arrays = [x for x in leaves if isinstance(x, np.ndarray) and x.dtype == np.float64]
    if (variant != "as it is" and not arrays) or (fits and not all(map(fits, arrays))):
        return None
    with np.errstate(all="ignore"):
        return [
            change(x) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for x in leaves
        ]
