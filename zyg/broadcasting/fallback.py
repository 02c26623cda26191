"""A scalar function over arrays without a kernel: called for each element, in Python.

That is what is left where there is no source, or where it has something in it that no kernel can
have. Derivatives are those of the calls, by the tracer; slow, and right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType
from typing import Any

import numpy as np

import zyg.math
from zyg.base.array_types import on_gpu
from zyg.base.warned import warn_once
from zyg.compiler.front.structures import children
from zyg.core.strand import strip
from zyg.errors import KernelError, ShapeError, is_users


def warn(key: Any, reason: str) -> None:
    """Say once for each `key`, a function or what stands in its way, that it is slow."""
    warn_once(key, lambda: f"zyg.broadcast runs element by element, in Python. {reason}")


def broadcast_shape(operands: Sequence[Any]) -> tuple[int, ...]:
    """The shape that operands broadcast to; raises ShapeError."""
    shapes = [np.shape(strip(x)) for x in operands]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        several = " and ".join(dict.fromkeys(str(s) for s in shapes if s))
        raise ShapeError(
            f"operands of shapes {several} do not broadcast.",
            "axes are matched from the last one; they must be equal, or one of them 1.",
            "insert axes where they are missing, as x[:, None].",
        ) from None


def by_element(
    f: Callable[..., Any],
    operands: list[Any],
    arguments: Callable[[list[Any]], Sequence[Any]],
    why: KernelError,
    out: np.ndarray | None,
) -> Any:
    """`f` of each element of the operands, which `arguments` arranges; `why` there is no kernel."""
    shape = broadcast_shape(operands)
    if 0 in shape or any(on_gpu(strip(x)) for x in operands):
        raise why  # nothing says what it would return; each element would be copied to the host
    call = _on_watched_numbers(f, {}) if isinstance(f, FunctionType) else f
    flat = [np.ravel(np.broadcast_to(x, shape)) for x in operands]
    rows = [call(*arguments([x[k] for x in flat])) for k in range(math.prod(shape))]
    columns = zip(*(_parts(row) for row in rows), strict=True)
    arrays = [_in_precision_of(operands, np.reshape(np.stack(c), shape)) for c in columns]
    if out is not None:
        if type(out) is not np.ndarray or len(arrays) > 1:
            raise TypeError("out= is a plain array, for a function of one result")
        out[...] = arrays[0]
        return out
    return _like(rows[0], iter(y if shape else y[()] for y in arrays))


def _in_precision_of(operands: Sequence[Any], y: Any) -> Any:
    """A result whose floats are of the operands' precision, as a kernel's are."""
    dtypes = [getattr(strip(x), "dtype", None) for x in operands]
    floats = [d for d in dtypes if d is not None and d.kind == "f"]
    return y.astype(np.result_type(*floats)) if floats and y.dtype.kind == "f" else y


def _parts(y: Any) -> list[Any]:
    inside = children(y)
    return [y] if inside is None else [leaf for part in inside[1] for leaf in _parts(part)]


def _like(y: Any, arrays: Any) -> Any:
    inside = children(y)
    return next(arrays) if inside is None else inside[2]([_like(p, arrays) for p in inside[1]])


def _names(code: CodeType) -> Iterator[str]:
    """The names of its surroundings that a function uses, those inside it too."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _on_watched_numbers(f: FunctionType, done: dict[Any, Any]) -> Any:
    """`f` whose functions of math, and those of its helpers, take watched numbers."""
    if f in done:
        return done[f]
    names = dict(f.__globals__)
    cells = tuple(CellType() for _ in f.__closure__ or ())
    made = FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    done[f] = made

    def other(value: Any) -> Any:
        if value is math:
            return zyg.math
        if isinstance(value, FunctionType) and is_users(value.__code__.co_filename):
            return _on_watched_numbers(value, done)
        name = getattr(value, "__name__", None)
        if isinstance(value, BuiltinFunctionType) and value is getattr(math, str(name), None):
            return getattr(zyg.math, str(name))
        return value

    for name in _names(f.__code__):
        if name in names:
            names[name] = other(names[name])
    for new, old in zip(cells, f.__closure__ or (), strict=True):
        new.cell_contents = other(old.cell_contents)
    return made
