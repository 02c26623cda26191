"""Keywords of ufuncs, in operations that have rules: where=, dtype=, casting=, order=, axes=."""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.core.strand import strip

KNOWN = {"where", "dtype", "casting", "order", "subok", "axes", "axis"}


def call(
    ufunc: Any, inputs: Any, *, where: Any = True, dtype: Any = None, casting: Any = "same_kind",
    order: Any = "K", subok: bool = True, axes: Any = None, axis: Any = None,
) -> Any:  # fmt: skip
    """``ufunc(*inputs, **keywords)``; where the mask is False, the value is any, as NumPy's is."""
    if dtype is not None or casting != "same_kind":
        inputs = _cast(ufunc, inputs, dtype, casting)
    if where is not True:
        inputs = masked(inputs, where)
    if axes is None and axis is None:
        y = ufunc(*inputs)
    else:
        y = _along(ufunc, inputs, axes, axis)
    made = y if type(y) is tuple else (y,)
    if np.ndim(where):
        made = tuple(v if np.ndim(v) else np.full_like(v, v, shape=np.shape(where)) for v in made)
    if order in ("C", "F"):
        made = tuple(np.copy(v, order=order) if np.ndim(v) > 1 else v for v in made)
    return made if type(y) is tuple else made[0]


def masked(inputs: Any, where: Any) -> list[Any]:
    """The operands with a 1 for each element that the mask leaves out: nothing warns of it."""
    return [np.where(strip(where), x, 1) if np.ndim(x) else x for x in inputs]


def _cast(ufunc: Any, inputs: Any, dtype: Any, casting: Any) -> list[Any]:
    """The operands in the dtype that the ufunc is told to compute in."""
    empty = [v if type(v) in (int, float, complex)
             else np.empty((0,) * max(1, np.ndim(v)), np.asarray(v).dtype)
             for v in map(strip, inputs)]  # fmt: skip
    ufunc(*empty, dtype=dtype, casting=casting)  # raises where NumPy does
    if dtype is None:
        return [*inputs]
    given = (type(v) if type(v) in (int, float, complex) else v.dtype for v in empty)
    signature = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
    found = ufunc.resolve_dtypes(
        (*given, *[None] * ufunc.nout), signature=signature, casting=casting
    )
    return [_as(x, kind) for x, kind in zip(inputs, found, strict=False)]


def _as(x: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(strip(x), np.ndarray):
        x = np.reshape(np.atleast_1d(x), ())
    return np.astype(x, dtype)


def _along(ufunc: Any, inputs: Any, axes: Any, axis: Any) -> Any:
    """A ufunc of vectors and matrices, whose axes are not the last."""
    texts = [t.strip("()") for side in ufunc.signature.split("->") for t in side.split("),")]
    terms = [[name for name in text.split(",") if name] for text in texts]
    vectors = [term for term, x in zip(terms, inputs, strict=False) if len(term) > np.ndim(x)]
    without = {name for term in vectors for name in term if name.endswith("?")}
    counts = [len([name for name in term if name not in without]) for term in terms]
    if axes is None:
        axes = [axis if n else () for n in counts]
    axes = [(k,) if np.ndim(k) == 0 else tuple(k) for k in axes]
    axes += [()] * (len(counts) - len(axes))
    if [*map(len, axes)] != counts or len(inputs) != ufunc.nin:
        ufunc(*map(strip, inputs), axes=axes)  # raises
    moved = [np.moveaxis(x, k, range(-len(k), 0)) for x, k in zip(inputs, axes[:-1], strict=True)]
    return np.moveaxis(ufunc(*moved), range(-counts[-1], 0), axes[-1])
