"""What a rule takes: one import for all that it needs of zyg but its errors; what rules share."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from zyg.base import array_types
from zyg.base.array_types import add_at as add_at
from zyg.base.array_types import array_type as array_type
from zyg.base.borders import keep_parameters as keep_parameters
from zyg.base.caches import remembered as remembered
from zyg.base.config import config
from zyg.base.containers import Unfollowed as Unfollowed
from zyg.base.marks import computes as computes
from zyg.base.marks import for_any_number as for_any_number
from zyg.base.marks import name_of as name_of
from zyg.base.marks import stands_for as stands_for
from zyg.base.registry import CONSTANT as CONSTANT
from zyg.base.registry import Adjoint as Adjoint
from zyg.base.registry import ScalarRule as ScalarRule
from zyg.base.registry import adjoint as adjoint
from zyg.base.registry import composed as composed
from zyg.base.registry import nondifferentiable as nondifferentiable
from zyg.base.registry import own_verbs as own_verbs
from zyg.base.registry import rules as rules
from zyg.base.registry import scalar_rule as scalar_rule
from zyg.base.structure import Searched as Searched
from zyg.base.structure import Structure as Structure
from zyg.base.warned import warn as warn
from zyg.base.words import by_lapack as by_lapack
from zyg.base.words import closed as closed
from zyg.base.words import demand as demand
from zyg.base.words import demand_read as demand_read
from zyg.base.words import lies_like as lies_like
from zyg.base.words import lowering as lowering
from zyg.base.words import means as means
from zyg.base.words import routine as routine
from zyg.base.words import slopes_hold as slopes_hold
from zyg.core.bind import bind as bind
from zyg.core.cotangents import kept as kept
from zyg.core.cotangents import normal_axes as normal_axes
from zyg.core.cotangents import normal_axis as normal_axis
from zyg.core.cotangents import spread as spread
from zyg.core.cotangents import unbroadcast as unbroadcast
from zyg.core.handouts import holds_nothing_watched as holds_nothing_watched
from zyg.core.handouts import of_buffers as of_buffers
from zyg.core.handouts import plainly as plainly
from zyg.core.indexing import read as read
from zyg.core.indexing import windows as windows
from zyg.core.indexing import write as write
from zyg.core.inplace import refuse_store as refuse_store
from zyg.core.objects import as_objects as as_objects
from zyg.core.questions import nestlevel as nestlevel
from zyg.core.sequences import joined as joined
from zyg.core.strand import ARRAYS, active
from zyg.core.strand import cut as cut
from zyg.core.strand import is_watched as is_watched
from zyg.core.strand import strip as strip
from zyg.core.strand import watched_leaves as watched_leaves
from zyg.core.views import buffer as buffer
from zyg.core.views import copied, is_broadcast, lies_in, order_of
from zyg.errors import ConversionError, MutationError
from zyg.functions.operations import OPERATIONS as OPERATIONS
from zyg.functions.operations import table as table
from zyg.functions.slopes import is_nowhere as is_nowhere
from zyg.functions.slopes import power_p as power_p
from zyg.functions.slopes import power_x as power_x
from zyg.watched import dropins as dropins
from zyg.watched.conversions import is_coefficient as is_coefficient
from zyg.watched.value import as_array as as_array
from zyg.watched.value import ufunc_methods as ufunc_methods

NO = np._NoValue  # what NumPy takes for an argument that was not given


def at_once(f: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
    """`vmap` of f, which raises where it would run for each example."""

    def mapped(*args: Any) -> Any:
        with config(fallback="error"):
            return import_module("zyg.interop.vmap").vmap(f, in_axes, out_axes)(*args)

    return mapped


def given(*args: Any) -> tuple[Any, ...]:
    """The arguments up to the last that was given: other libraries know no placeholders."""
    end = len(args)
    while args[end - 1] is NO:
        end -= 1
    return args[:end]


def like(x: Any) -> Any:
    """What np.zeros, np.tri and np.arange take as like=, to make an array that `x` can meet.

    With it, np.ones, np.full and np.eye pass on arguments that CuPy does not take.
    """
    plain = strip(x)
    return plain if array_type(plain).library else None


def plain_array(x: Any) -> Any:
    """The array under all levels, as np.asarray makes it, or as its library made it."""
    plain = strip(x)
    return plain if array_type(plain).library else np.asarray(plain)


def listed(x: Any) -> Any:
    """A list as an array; a number stays one, for it has no dtype: float32 beside it stays that."""
    return as_array(x) if isinstance(x, (list, tuple)) else x


def is_complex(x: Any) -> bool:
    """Whether a number or an array is complex, watched or not."""
    return array_types.is_complex(strip(x))


def conj(x: Any) -> Any:
    """The complex conjugate; `x` itself where it is real."""
    if type(x) is np.ndarray and x.dtype.kind == "f":
        return x
    return np.conjugate(x) if is_complex(x) else x


def dagger(a: Any) -> Any:
    """The conjugate transpose of every matrix of a stack."""
    return conj(a.swapaxes(-1, -2) if type(a) is np.ndarray else np.swapaxes(a, -1, -2))


def triangle(a: Any, upper: bool = False) -> Any:
    """Weights: 1 in one triangle, 1/2 on the diagonal, in the precision of `a`."""
    n, dtype = np.shape(a)[-1], strip(a).real.dtype
    below, on = (np.tri(n, k=k, dtype=dtype, like=like(a)) for k in (-1, 0))
    weights = 0.5 * (below + on)
    return weights.T if upper else weights


def of_triangle(s: Any, upper: bool = False) -> Any:
    """The cotangent of a matrix of which one triangle is read, from that of the Hermitian whole."""
    return (s + dagger(s)) * triangle(s, upper)


def inverse(order: Any) -> list[int]:
    """The permutation that undoes another, as the numbers that any library takes for axes."""
    return sorted(range(len(order)), key=order.__getitem__)


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements a reduction over `axis` makes one of."""
    return math.prod(shape[k] for k in normal_axes(axis, len(shape)))


def is_host_array(x: Any) -> bool:
    """Whether `x` is a watched array of NumPy's."""
    return type(x) in ARRAYS


def flat_indices(x: Any) -> Any:
    """The place of every element in the flattened array, in the order of the array."""
    return in_order(np.arange(np.size(x), like=like(x)).reshape(np.shape(x)), strip(x))


def in_order(y: Any, other: Any) -> Any:
    """`y`, in the order of another array, or in "C" order: a copy only where it does not lie so."""
    plain = strip(y)
    if not isinstance(plain, np.ndarray) or not isinstance(other, (np.ndarray, str)):
        return y
    order = other if isinstance(other, str) else order_of(other)
    return y if lies_in(plain, order) else copied(y, order)


def order_read(a: Any, order: Any) -> Any:
    """C or F: what order="A" comes to for this array."""
    if order in ("C", "F"):
        return order
    return "F" if _laid_as_by_numpy(a, order).flags.fnc else "C"


def axes_in_memory(a: Any) -> list[int]:
    """The axes by the lengths of their strides: what order="K" goes by."""
    plain = _laid_as_by_numpy(a, "K")
    if type(plain) is np.ndarray and is_broadcast(plain):
        plain = np.equal(plain, plain)  # NumPy goes through it in the order of what it makes of it
    steps = plain.strides
    return sorted(range(len(steps)), key=lambda k: -abs(steps[k]))


def _laid_as_by_numpy(a: Any, order: Any) -> Any:
    """The array under all levels, if it lies as NumPy's would."""
    plain = plain_array(a)
    if sum(n > 1 for n in plain.shape) > 1 and plain.size:
        memories = [memory for strand in active.get() for memory in strand.level_memories()]
        if any(memory.broadcast for memory in memories):
            raise ConversionError(
                f'order="{order}" of a watched array, beside an argument that is broadcast.',
                "it goes by where elements lie in memory, which broadcasting decides; a gradient "
                "watches a copy of its argument, in which no elements share memory.",
                'say order="C" or order="F"; or pass np.copy(x), of which NumPy makes the same.',
                tag="layout",
            )
    return plain


def at_places(x: Any, places: Any) -> Any:
    """The elements at these places of the flattened array, in the order of the places."""
    return in_order(np.reshape(np.ravel(x)[np.ravel(places)], np.shape(places)), places)


def cast(x: Any, dtype: np.dtype[Any]) -> Any:
    """`x` as what is written into an array of this dtype becomes."""
    if is_complex(x) and dtype.kind != "c":
        np.empty(np.shape(x), dtype)[...] = strip(x)  # warns as NumPy does
        x = np.real(x)
    return x if strip(x).dtype == dtype else np.astype(x, dtype)


def without_nan(a: Any, value: float) -> Any:
    """`a` with this value for every NaN; a NaN that was replaced has slope 0."""
    a = as_array(a)
    nan = np.isnan(strip(a))
    return a if array_type(nan).readable and not np.any(nan) else np.where(nan, value, a)


def no_out(out: Any, instead: str = "use the value that the function returns") -> None:
    """Refuse a positional out= of a function that has one."""
    if out is not None:
        raise MutationError(
            "a watched result cannot be written into out=.",
            "a plain array can hold plain numbers only, so the derivative would be lost.",
            f"{instead}.",
        )


@adjoint
def with_value(d: Any, y: tuple[Any]) -> Any:
    """`y`, as NumPy computed it; its derivative is that of `d`, the same value by a formula.

    `y` comes in a tuple, so that it is nobody's operand: the caller gets it as it is.
    """

    def with_value_pullback(y_bar: Any) -> Any:
        return y_bar, None

    return (y[0] if strip(d) is d else with_value(d, y)), with_value_pullback


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Where NumPy raises: let it."""
    function(*map(strip, args), **{name: strip(x) for name, x in kwargs.items()})
    raise AssertionError(f"{function.__name__} did not raise")


def raised_where(condition: Any, function: Callable[..., Any], *args: Any) -> None:
    """Let NumPy raise, where a condition on values holds that can be looked at."""
    if array_type(condition).seen_whole and np.any(condition):
        raised(function, *args)


def _demanded_not(condition: Any, function: Callable[..., Any], *args: Any) -> None:
    demand(np.logical_not(np.any(condition)))


def numpys(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy computes of plain values, or raises; to the compiler None: it has a formula."""
    return function(*map(strip, args), **{name: strip(x) for name, x in kwargs.items()})


def _spread(c: Any, shape: tuple[int, ...], axis: Any) -> Any:
    return np.broadcast_to(np.reshape(c, kept(shape, axis)), shape)


# What these say to the compiler, which reads composed functions: see `base.words`.
means("constant", strip)
means("array", as_array)
means("constant array", plain_array)
means("kind", array_type)
means("moves", is_watched)
means("no", is_host_array)
means("nothing", like, numpys)
means("is complex", is_complex)
means("conj", conj)
means("in order", in_order)
means("its derivative", with_value)
means("raises", raised)
means(_demanded_not, raised_where)
means(_spread, spread)
for _own in (normal_axes, normal_axis, kept, joined):
    means(_own, _own)
