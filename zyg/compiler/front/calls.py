"""NumPy's functions and the methods of arrays, as whole functions know them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.marks import plain_of
from zyg.compiler.front import arrays, contractions, picks, products, reductions, shaping
from zyg.compiler.front.complexes import ComplexNumber, is_complex, one_of
from zyg.compiler.front.complexes import attribute as complex_attribute
from zyg.compiler.front.conversions import (
    as_array,
    demand_castable,
    element_for,
    given,
    kind_of_elements,
    put,
    stacked,
)
from zyg.compiler.front.creation import CREATION, asarray
from zyg.compiler.front.elementwise import (
    array,
    assign,
    broadcast_shape,
    copied,
    elementwise,
    fresh_enough,
    mapped,
)
from zyg.compiler.front.indexing import items_of
from zyg.compiler.front.mixed import NarrowNumber, is_narrow, is_scalar, number_of
from zyg.compiler.front.scalars import WholeBuilder, promoted, whose
from zyg.compiler.front.views import Arrayed, ArrayView, cast, wide
from zyg.compiler.functions import meaning
from zyg.compiler.ir import type_of
from zyg.compiler.kinds import dtype_of
from zyg.compiler.layouts import in_c
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import OPERATIONS


class Method:
    """A method of an array."""

    def __init__(self, owner: Arrayed, name: str) -> None:
        self.owner, self.name = owner, name


def where(to: WholeBuilder, condition: Any, *sides: Any) -> Any:
    if not sides:
        mask = mapped(to, lambda v: to.to("bool", atom_of(v)), [condition], "bool")
        return tuple(picks.places_of(array(mask)))
    kind = promoted(*sides)
    return mapped(to, lambda *xs: one_of(to, kind, *xs), [condition, *sides], kind)


def clip(to: WholeBuilder, a: Any, a_min: Any = np._NoValue, a_max: Any = np._NoValue,
         out: Any = None, *, min: Any = np._NoValue, max: Any = np._NoValue) -> Any:  # fmt: skip
    ways = [[x for x in pair if x is not np._NoValue] for pair in ((a_min, a_max), (min, max))]
    if all(ways):
        raise ValueError("bounds in two ways")
    low, high = (next((x for x in pair if x is not np._NoValue), None)
                 for pair in ((a_min, min), (a_max, max)))  # fmt: skip
    # Of equals these take a, whose slope is 1 on the closed interval.
    x = elementwise(to, "maximum", low, a) if low is not None else (
        elementwise(to, "positive", a) if high is None else a)  # fmt: skip
    x = x if high is None else elementwise(to, "minimum", x, high)
    return given(x, out)


def astype(
    to: WholeBuilder, x: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe",
    subok: Any = True, copy: Any = True,
) -> Any:  # fmt: skip
    element = element_for(dtype, True)
    if isinstance(x, arrays.Single):
        return number_of(to, element, cast(to, element, x.at(())))
    view = array(x)
    if casting != "unsafe" or (copy is False and order != "K"):
        raise TypeError("astype with casting=, or with order= and without a copy, is not compiled")
    if copy is False and element == view.element:
        return view
    return copied(view, shaping.order_for(view, order), element)


def item(to: WholeBuilder, x: Any, *index: Any) -> Any:
    found = arrays.subscript(x, tuple(index)) if index else _only(to, x) if x.shape else x.at(())
    atom = atom_of(wide(found))
    return to.number(to.to("float", atom) if type_of(atom) == "float32" else atom, True)


def _only(to: WholeBuilder, x: Any) -> Any:
    row = shaping.flat(x)
    to.demand_at_least(1, row.shape[0], "an array of more than one element")
    return arrays.subscript(row, 0)


def rounded(to: WholeBuilder, a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """np.round: to even, of so many digits."""
    if kind_of_elements(a) in ("int", "bool"):
        raise TypeError("np.round of ints is not compiled")
    if type(decimals) is not int or decimals < 0:
        raise TypeError("np.round to a number of digits that is computed is not compiled")
    scale = 10.0**decimals
    scaled = elementwise(to, "rint", elementwise(to, "multiply", a, scale) if decimals else a)
    return given(array(elementwise(to, "divide", scaled, scale) if decimals else scaled), out)


def fill(to: WholeBuilder, x: ArrayView, value: Any) -> None:
    assign(x, value)


def copyto(to: WholeBuilder, dst: ArrayView, src: Any) -> None:
    src = as_array(to, src) if isinstance(src, (list, tuple)) else src
    demand_castable(dst, src)
    assign(dst, src)


def dot(to: WholeBuilder, a: Any, b: Any, out: Any = None) -> Any:
    made = _dot(to, a, b)
    if out is not None and (out.element != kind_of_elements(made) or not out.is_contiguous):
        raise TypeError("dot into an array of another type or order")  # in Python, which refuses it
    made = given(made, out)
    return made if out is None or made.shape else made.at(())


def _dot(to: WholeBuilder, a: Any, b: Any) -> Any:
    if not isinstance(a, Arrayed) or not isinstance(b, Arrayed) or not a.shape or not b.shape:
        if "float32" in map(kind_of_elements, (a, b)):  # Python's are strong beside it
            a, b = as_array(to, a), as_array(to, b)
        made = array(elementwise(to, "multiply", a, b))
        by_blas = made.ndim < 3 and made.element not in ("int", "bool")
        return asarray(to, made, order="C") if by_blas else made
    if b.ndim > 2 or (a.ndim > 2 and (b.ndim > 1 or a.order != in_c(a.ndim))):
        raise TypeError("dot of arrays of more than two axes")
    return products.matmul(to, a, b)


def matmul(to: WholeBuilder, a: Any, b: Any, out: Any = None) -> Any:
    return given(products.matmul(to, a, b), out)


def inner(to: WholeBuilder, a: Any, b: Any) -> Any:
    a, b = as_array(to, a), as_array(to, b)
    return dot(to, a, arrays.transposed(b) if a.ndim and b.ndim == 2 else b)


def vdot(to: WholeBuilder, a: Any, b: Any) -> Any:
    x, y = (shaping.flat(as_array(to, v)) for v in (a, b))
    return products.matmul(to, _conjugate(to, x), y)


def result_type(to: WholeBuilder, *args: Any) -> Any:
    return np.result_type(*(_typed(x) for x in args))


def _typed(x: Any) -> Any:
    """A type, or what has that of an argument."""
    if isinstance(x, (type, np.dtype)):
        return x
    made = np.zeros((), dtype_of(kind_of_elements(x)))[()]
    return made.item() if not isinstance(x, Arrayed) and whose(x) else made


def broadcast_shapes(to: WholeBuilder, *shapes: Any) -> Any:
    sizes = [[atom_of(n) for n in shape] for shape in shapes]
    return tuple(to.number(n, True) for n in broadcast_shape(to, sizes))


def _shape_of(x: Any) -> tuple[Any, ...]:
    if not (x is None or isinstance(x, (Arrayed, NarrowNumber)) or is_scalar(x)):
        raise TypeError("the shape of what is no array")
    return arrays.shape(x) if isinstance(x, Arrayed) else ()


def size(to: WholeBuilder, a: Any, axis: Any = None) -> Any:
    _shape_of(a)
    if axis is None:
        return arrays.ATTRIBUTES["size"](a) if isinstance(a, Arrayed) else 1
    return arrays.shape(a)[axis]


def _unary(name: str) -> Callable[..., Any]:
    return lambda to, x: elementwise(to, name, x)


def _conjugate(to: WholeBuilder, x: Any) -> Any:
    """What the method gives: of real numbers themselves."""
    return elementwise(to, "conjugate", x) if is_complex(x) else x


def conjugate(to: WholeBuilder, x: Any) -> Any:
    x = as_array(to, x) if isinstance(x, (list, tuple)) else x
    return elementwise(to, "conjugate" if is_complex(x) else "positive", x)


def _part(which: int) -> Callable[..., Any]:
    def part(to: WholeBuilder, x: Any) -> Any:
        if isinstance(x, Arrayed):
            return arrays.part(x, which)
        if isinstance(x, ComplexNumber):
            return complex_attribute(x, ("real", "imag")[which])
        return elementwise(to, ("real", "imag")[which], x)

    return part


METHODS: dict[str, Callable[..., Any]] = {
    "sum": reductions.sum_, "prod": reductions.prod, "mean": reductions.mean,
    "var": reductions.var, "std": reductions.std, "max": reductions.extremum("maximum"),
    "min": reductions.extremum("minimum"), "all": reductions.truth("logical_and", True),
    "any": reductions.truth("logical_or", False), "argmax": reductions.arg_extremum("greater"),
    "argmin": reductions.arg_extremum("less"),
    "reshape": shaping.reshaped, "ravel": shaping.raveled, "flatten": shaping.flattened,
    "transpose": shaping.transposed, "diagonal": shaping.diagonal,
    "swapaxes": shaping.swapped, "squeeze": shaping.squeezed,
    "copy": lambda to, x, order="C": copied(x, shaping.order_for(x, order)),
    "astype": astype, "item": item, "fill": fill, "dot": dot,
    "clip": clip, "round": rounded, "conj": _conjugate, "conjugate": _conjugate,
}  # fmt: skip

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **CREATION,
    np.sum: reductions.sum_, np.prod: reductions.prod, np.mean: reductions.mean,
    np.var: reductions.var, np.std: reductions.std, np.max: METHODS["max"],
    np.amax: METHODS["max"], np.min: METHODS["min"], np.amin: METHODS["min"],
    np.all: METHODS["all"], np.any: METHODS["any"], np.argmax: METHODS["argmax"],
    np.argmin: METHODS["argmin"],
    np.count_nonzero: reductions.count_nonzero, np.where: where, np.clip: clip,
    np.dot: dot, np.matmul: matmul, np.inner: inner, np.vdot: vdot,
    np.reshape: lambda to, a, shape, order="C": shaping.reshaped(to, a, shape, order=order),
    np.ravel: shaping.raveled,
    np.transpose: lambda to, a, axes=None: shaping.transposed(to, a, axes),
    np.swapaxes: shaping.swapped, np.moveaxis: shaping.moved,
    np.squeeze: shaping.squeezed, np.expand_dims: shaping.expanded, np.diagonal: shaping.diagonal,
    np.broadcast_to: shaping.broadcast_to, np.flip: shaping.flipped,
    np.concatenate: shaping.concatenated, np.stack: stacked, np.size: size,
    np.ndim: lambda to, x: len(_shape_of(x)), np.shape: lambda to, x: _shape_of(x),
    np.real: _part(0), np.imag: _part(1), np.angle: _unary("angle"), np.conjugate: conjugate,
    np.fix: _unary("trunc"), np.round: rounded, np.around: rounded, np.einsum: contractions.einsum,
    np.tensordot: contractions.tensordot, np.copyto: copyto, np.astype: astype,
    np.result_type: result_type, np.broadcast_shapes: broadcast_shapes,
    np.promote_types: lambda to, *types: np.promote_types(*types),
    np.can_cast: lambda to, *types: np.can_cast(*types),
    np.finfo: lambda to, dtype: np.finfo(dtype),
    len: lambda to, x: arrays.length(x),
    abs: lambda to, x: elementwise(to, "absolute", x),
    np.nonzero: lambda to, x: where(to, x),
}  # fmt: skip
# Those whose first argument may be a list.
_OF_ARRAYS = {
    np.sum, np.prod, np.mean, np.var, np.std, np.max, np.amax, np.min, np.amin, np.all, np.any,
    np.argmax, np.argmin, np.count_nonzero, np.clip, np.dot, np.round, np.around, np.size, np.ndim,
    np.shape,
}  # fmt: skip
# Those that Python has, too, and those that numbers have: for arrays only.
_PYTHONS = {len, abs}
_BY_METHOD = {np.reshape, np.transpose, np.squeeze}  # that call what their argument has
_FOR_ARRAYS = {*_PYTHONS, np.where, np.clip}


def is_known(f: Any, args: Sequence[Any] | None = None) -> bool:
    """Whether a function may be one of NumPy's, or of arrays."""
    try:
        if args is not None and f in _PYTHONS:
            return any(isinstance(x, Arrayed) for x in args)
        known = isinstance(f, (Method, np.ufunc)) or plain_of(f) in FUNCTIONS
    except TypeError:  # not hashable
        return False
    return known or isinstance(getattr(f, "__self__", None), np.ufunc)


def called(to: WholeBuilder, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function gives where arrays are concerned; NotImplemented for others."""
    for x in [getattr(f, "owner", None), *args, *kwargs.values()]:
        fresh_enough(x)  # what came after it may have written
    if isinstance(f, Method):
        if f.name not in METHODS:
            return NotImplemented
        if isinstance(f.owner, arrays.Single) and f.name in ("conj", "conjugate"):
            return f.owner.number
        made = METHODS[f.name](to, f.owner, *args, **keywords(METHODS[f.name], f, kwargs))
        return number_in(made) if isinstance(f.owner, arrays.Single) else made
    try:
        f = plain_of(f)
        written = FUNCTIONS.get(f)
    except TypeError:  # not hashable
        return NotImplemented
    arrayed = any(
        isinstance(x, Arrayed) or is_complex(x) or is_narrow(x) for x in [*args, *kwargs.values()]
    )
    if written is not None:
        if f in _FOR_ARRAYS and not arrayed and not any(isinstance(x, Number) for x in args):
            return NotImplemented
        if args and isinstance(args[0], (list, tuple)) and f in _OF_ARRAYS:
            args = [as_array(to, args[0]), *args[1:]]
        made = written(to, *args, **keywords(written, f, kwargs))
        alone = f in _BY_METHOD and args and isinstance(args[0], (Number, ComplexNumber))
        return number_in(made) if alone and not whose(args[0]) else made
    owner = getattr(f, "__self__", None)
    if isinstance(owner, np.ufunc):
        return _of_ufunc(to, owner, f.__name__, args, kwargs)
    if isinstance(f, np.ufunc) and (arrayed or kwargs):
        return _ufunc(to, f, args, kwargs)
    return NotImplemented


def keywords(written: Callable[..., Any], f: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call that are known; the others are left out if they say nothing.

    KernelError for one that does.
    """
    known = inspect.signature(written).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return given
    for name, x in given.items():
        if name not in known and not _is_usual(f, name, x):
            raise KernelError(
                f"np.{f.name if isinstance(f, Method) else f.__name__} with {name}= is not "
                "compiled.",
                "zyg.compile does not support it.", "leave it out, or use other NumPy functions.",
            )  # fmt: skip
    return {name: x for name, x in given.items() if name in known}


def _is_usual(f: Any, name: str, x: Any) -> bool:
    """Whether a keyword of NumPy's is what it is by default."""
    try:
        usual = inspect.signature(getattr(np, f.name) if isinstance(f, Method) else f).parameters
    except (AttributeError, TypeError, ValueError):  # it tells nothing
        return False
    return name in usual and usual[name].default is x


def number_in(x: Any, f: Any = None) -> Any:
    """What has no axes and is made of a number of NumPy's is one; `round` takes no array."""
    if not isinstance(x, Arrayed) or x.shape:
        return x
    if f in (round, math.trunc):
        raise TypeError(f"an array has no __{f.__name__}__")
    return x.at(())


def _ufunc(to: WholeBuilder, f: np.ufunc, args: Any, kwargs: dict[str, Any]) -> Any:
    name = meaning(f) or ("conjugate" if f is np.conjugate else None)
    out, where_ = kwargs.pop("out", None), kwargs.pop("where", True)
    if not isinstance(name, str) or kwargs:
        raise KernelError(
            f"np.{f.__name__}{f' with {next(iter(kwargs))}=' if kwargs else ''} is not compiled.",
            "zyg.compile does not support it.", "use other NumPy functions.",
        )  # fmt: skip
    if len(args) > f.nin:
        args, out = args[: f.nin], args[f.nin]
    out = out[0] if isinstance(out, tuple) else out
    args = [as_array(to, x) if isinstance(x, (list, tuple)) else x for x in args]
    made = elementwise(to, name, *args)
    if out is None:
        if where_ is not True:
            raise TypeError("where= of a ufunc without out=")
        return made
    if where_ is not True:
        kind = out.element
        made = mapped(to, lambda *xs: one_of(to, kind, *xs), [where_, made, out], kind)
    return put(out, made)


def _of_ufunc(to: WholeBuilder, f: np.ufunc, method: str, args: Any, kwargs: Any) -> Any:
    """np.add.at, np.add.reduce, np.multiply.outer and their like."""
    name = meaning(f)
    if method == "at" and isinstance(name, str) and not kwargs:
        x, index, *value = args
        picks.ufunc_at(name, x, items_of(to, index, x.ndim), *value)
        return None
    if method == "outer" and isinstance(name, str) and not kwargs:
        a, b = (as_array(to, x) for x in args)
        column = a.of_axes([*range(a.ndim), *[None] * b.ndim])
        return array(elementwise(to, name, column, b))
    if method == "reduce" and isinstance(name, str) and (reduce := OPERATIONS[name].reduce):
        kwargs.setdefault("axis", 0)
        return METHODS[reduce](to, *args, **kwargs)
    return NotImplemented
