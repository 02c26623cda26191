"""Checks for rules and gradients: against finite differences, along random directions.

Nothing here knows a derivative. A function J is compared through two numbers that need not be
computed in the same way: <v, J^T w> from the reverse pass and <J v, w> from differences of values,
for random v and w (from a fixed seed). Higher orders are the same check of the gradient function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from zyg._structure import Structure
from zyg.errors import AdjointError, GradientMismatchError, MissingRuleError
from zyg.gradients import Trace

__all__ = ["check_adjoint", "check_gradient"]


class _Precision(NamedTuple):
    step: float  # of the differences, relative to the largest element
    rtol: float  # relative to the sum of the magnitudes that the inner product adds up
    atol: float


# By the real dtype of the coarsest argument or result. Differences are always taken in at least
# float64, so the tolerance for the narrower ones is that of the gradient itself.
_PRECISION = {
    "float16": _Precision(1e-3, 2e-2, 1e-3),
    "float32": _Precision(1e-3, 2e-4, 1e-6),
    "float64": _Precision(2e-4, 1e-7, 1e-9),
}
_SEED = 20240229
_MODES = ("reverse",)

Function = Callable[..., Any]


def check_gradient(
    f: Function,
    *args: Any,
    order: int = 2,
    modes: Sequence[str] = _MODES,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare the derivatives of ``f(*args)``, up to this order, with central finite differences.

    Arguments and results may have any structure; what varies are the floating and complex numbers
    and arrays in the arguments. Each argument is moved alone, then all together. f must be
    deterministic and smooth at the point. Raises `GradientMismatchError` where the two differ, and
    ValueError for an unknown mode.

    >>> import numpy as np, zyg
    >>> zyg.check_gradient(lambda x, y: np.sin(x) * y, np.array([1.0, 2.0]), 3.0)

    """
    if unknown := [m for m in modes if m not in _MODES]:
        raise ValueError(f"unknown mode {unknown[0]!r}; there is: {', '.join(map(repr, _MODES))}")
    every = range(len(args))
    _compare(_Check(f, _name(f), every, every, order, rtol, atol), args)


def check_adjoint(f: Function, *args: Any, order: int = 2, **kwargs: Any) -> None:
    """Check all that the rule of a function promises, for one call ``f(*args, **kwargs)``.

    The value is that of plain f, bit for bit, dtype and type included; every derivative up to this
    order agrees with finite differences, for each argument alone and for all together; a cotangent
    has its argument's shape, dtype and field of numbers; arguments stay as they were; the pullback
    is linear and may be called again with the same result; no result shares memory with another or
    with an argument; strided and Fortran-ordered arguments give the same. All this again for
    float32 and, where f takes them, complex versions of float64 arguments.

    What it cannot see: a derivative wrong only at other points, in other branches, or in the choice
    at a kink or a tie; anything about arguments that are integers or numbers of other types, or
    passed by keyword; an f that asks for the dtype of its arguments (differences are taken in
    float64); what a rule does with values that are not finite; how fast it is, or how much memory
    it holds. A keyword of f's own called ``order`` has to be bound first (``functools.partial``).
    Raises `AdjointError` for a broken promise and `GradientMismatchError` for a wrong derivative.

    >>> import numpy as np, zyg
    >>> zyg.check_adjoint(np.sum, np.ones((2, 3)), axis=1)

    """
    places = [k for k, x in enumerate(args) if _leaves(x)]

    def call(*xs: Any) -> Any:
        full = list(args)
        for k, x in zip(places, xs, strict=True):
            full[k] = x
        return f(*full, **kwargs)

    own = [args[k] for k in places]
    everything = range(len(places))
    for xs in (own, *_other_types(call, own)):
        _check_promises(call, _name(f), xs)
        for watched in [everything, *([k] for k in everything if len(places) > 1)]:
            _compare(_Check(call, _name(f), places, watched, order), xs)


# Finite differences


class _Check(NamedTuple):
    """What is compared: the derivative of f by the `watched` arguments, the others constant."""

    f: Function
    name: str
    labels: Sequence[int]  # what the arguments are called in messages
    watched: Sequence[int]
    order: int
    rtol: float | None = None
    atol: float | None = None
    done: int = 0


def _compare(check: _Check, args: Sequence[Any]) -> None:
    """Compare the derivative of `check.f` at `args`; then, up to the order, its gradient's."""
    if check.order < 1:
        return
    rng = np.random.default_rng(_SEED)
    inputs = [Structure(x, _is_inexact, shared=True) for x in args]
    y, back = _pullback(check, args)
    result = Structure(y, _is_inexact)
    w = [_random_like(x, rng) for x in result.leaves]
    w_all = result.tangent(w)
    bars = dict(zip(check.watched, back(w_all), strict=True))
    directions = [[_direction(x, rng) for x in s.leaves] for s in inputs]
    precision = _precision_of([x for s in (*inputs, result) for x in s.leaves], check)
    singles = [k for k in check.watched if directions[k]]
    for moved in [[k] for k in singles] + [singles] * (len(singles) > 1):
        v = [[e * (k in moved) for e in d] for k, d in enumerate(directions)]
        slope = _difference_quotient(check.f, inputs, v, w, precision.step)
        pairs = [
            pair
            for k in moved
            for pair in zip(directions[k], _matched(inputs[k], bars[k]), strict=True)
        ]
        got = sum(_inner(d, c) for d, c in pairs)
        size = max(slope.size, sum(_inner(np.abs(d), np.abs(c)) for d, c in pairs))
        tolerance = precision.atol + precision.rtol * size + slope.rounding
        if not abs(got - slope.value) <= tolerance:
            raise _mismatch(check, [check.labels[k] for k in moved], args, got, slope.value)

    def gradient_of(*xs: Any) -> Any:
        return _pullback(check, xs)[1](w_all, zeros=True)

    _compare(check._replace(f=gradient_of, order=check.order - 1, done=check.done + 1), args)


def _pullback_in_place(
    f: Callable[..., Any], *args: Any
) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """The pullback on the arguments themselves, where `zyg.pullback` would copy them."""
    trace = Trace(f, args, {}, arguments="bare")

    def back(y_bar: Any, zeros: bool = False) -> tuple[Any, ...]:
        return trace.back(y_bar, zeros)

    return trace.y, back


def _pullback(check: _Check, args: Sequence[Any]) -> tuple[Any, Callable[..., Any]]:
    """The value of `check.f` and its pullback to the watched arguments."""

    def of_watched(*xs: Any) -> Any:
        full = list(args)
        for k, x in zip(check.watched, xs, strict=True):
            full[k] = x
        return check.f(*full)

    return _pullback_in_place(of_watched, *(args[k] for k in check.watched))


class _Slope(NamedTuple):
    value: float
    size: float  # the sum of the magnitudes of what `value` adds up
    rounding: float  # how far rounding of the function's values can take it


def _difference_quotient(
    f: Function, inputs: list[Structure], v: list[list[Any]], w: list[Any], step: float
) -> _Slope:
    """<J v, w> by a central difference of fourth order."""

    def at(h: float) -> list[Any]:
        moved = [
            s.rebuild([_moved(x, h * e) for x, e in zip(s.leaves, d, strict=True)])
            for s, d in zip(inputs, v, strict=True)
        ]
        return _leaves_apart(f(*moved))

    value = size = rounding = 0.0
    for c, a, b, a2, b2 in zip(w, at(step), at(-step), at(2 * step), at(-2 * step), strict=True):
        slope = (8 * (a - b) - (a2 - b2)) / (12 * step)
        value += _inner(slope, c)
        size += _inner(np.abs(slope), np.abs(c))
        rounding += 4 * _eps(a) / step * _inner(np.abs(a), np.abs(c))
    return _Slope(value, size, rounding)


def _mismatch(
    check: _Check, labels: list[int], args: Sequence[Any], got: float, expected: float
) -> Exception:
    places = f"argument {labels[0]}" if len(labels) == 1 else f"arguments {labels} together"
    kinds = ", ".join(_kind(x) for x in args)
    return GradientMismatchError(
        f"the derivative of {check.name} of order {check.done + 1} by {places} is wrong: along a "
        f"random direction it is {got:.12g}, finite differences give {expected:.12g} ({kinds}).",
        "the reverse pass and the values of the function disagree, so a rule is wrong, a "
        "dependence is hidden from zyg, or the function is not smooth or not deterministic here.",
        "bisect the function with check_gradient; check_adjoint(g, ...) tests one rule. At a kink, "
        "choose another point; for a badly scaled function pass rtol and atol.",
    )


# The other promises


def _check_promises(f: Function, name: str, args: Sequence[Any]) -> None:
    """Everything but the derivative itself."""
    rng = np.random.default_rng(_SEED)
    inputs = [x for a in args for x in _leaves(a)]
    before = [np.copy(x) for x in inputs]
    plain, (y, back) = f(*args), _pullback_in_place(f, *args)
    unchanged = all(map(_identical, before, inputs))
    _demand(unchanged, name, "it changed its arguments")
    _check_same_value(name, plain, y)
    result = Structure(y, _is_inexact)
    w1, w2 = ([_random_like(x, rng) for x in result.leaves] for _ in range(2))
    bars = [_flat(args, back(result.tangent(w))) for w in (w1, w1, w2)]
    eps = max(map(_eps, (*inputs, *result.leaves)), default=0.0)
    mixed = _flat(args, back(result.tangent([3 * a + b for a, b in zip(w1, w2, strict=True)])))
    unchanged = all(map(_identical, before, inputs))
    _demand(unchanged, name, "its pullback changed the arguments")
    for x, c in zip(inputs, bars[0], strict=True):
        _demand(_kind(c) == _kind(x), name, f"the cotangent of a {_kind(x)} is a {_kind(c)}")
    _demand(all(map(_identical, *bars[:2])), name, "its pullback gave another result when reused")
    for a, b, c in zip(bars[0], bars[2], mixed, strict=True):
        _demand(_close(3 * a + b, c, eps), name, "its pullback is not linear in the cotangent")
    _check_memory(name, [*inputs, *w1], [*Structure(y, _is_array).leaves, *bars[0], *bars[1]])
    for layout in (np.asfortranarray, _strided):
        laid = [Structure(a, _is_inexact, shared=True) for a in args]
        laid_args = [s.rebuild([_laid_out(x, layout) for x in s.leaves]) for s in laid]
        other, other_back = _pullback_in_place(f, *laid_args)
        pairs = [*zip(_leaves_apart(y), _leaves_apart(other), strict=True)]
        pairs += zip(bars[0], _flat(laid_args, other_back(result.tangent(w1))), strict=True)
        same = all(np.shape(a) == np.shape(b) and _close(a, b, eps) for a, b in pairs)
        _demand(same, name, f"it gives another result for {layout.__name__.strip('_')} arguments")


def _check_same_value(name: str, plain: Any, y: Any) -> None:
    a, b = (Structure(x, _is_any).leaves for x in (plain, y))
    same = type(plain) is type(y) and len(a) == len(b)
    same = same and all(
        _kind(p) == _kind(q) and _identical(p, q) for p, q in zip(a, b, strict=True)
    )
    _demand(same, name, f"under a gradient its value is {y!r}, but plainly {plain!r}")


def _check_memory(name: str, given: list[Any], made: list[Any]) -> None:
    made = [x for x in made if isinstance(x, np.ndarray)]
    given = [x for x in given if isinstance(x, np.ndarray)]
    for k, x in enumerate(made):
        _demand(x.flags.writeable, name, "a result is read-only, a view of something shared")
        shared = any(np.shares_memory(x, other) for other in (*given, *made[:k]))
        _demand(not shared, name, "a result shares memory with an argument or another result")


def _demand(kept: bool, name: str, what: str) -> None:
    if not kept:
        raise AdjointError(
            f"the rule of {name} broke its promise: {what}.",
            "callers rely on what zyg.check_adjoint tests, whatever the function.",
            "mend the rule; check_adjoint's docstring lists what it promises.",
        )


def _other_types(call: Function, args: list[Any]) -> Iterator[list[Any]]:
    """The arguments in single precision, and one or all of them complex, where f takes them."""
    if not all(_kind_of_numbers(x) == "float64" for a in args for x in _leaves(a)):
        return
    rng = np.random.default_rng(_SEED)
    narrow = [_converted(a, _as_float32) for a in args]
    complicated = [_converted(a, lambda x: _as_complex(x, rng)) for a in args]
    mixed = [[*complicated[:1], *args[1:]], [*args[:-1], *complicated[-1:]]]
    for xs in (narrow, complicated, *(mixed if len(args) > 1 else ())):
        if _takes(call, xs):
            yield xs


def _takes(call: Function, args: list[Any]) -> bool:
    """Whether a function can be called with these arguments, and its rule does not refuse them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            call(*args)
        except (TypeError, np.exceptions.ComplexWarning):
            return False
    try:
        y, back = _pullback_in_place(call, *args)
        back(Structure(y, _is_inexact).tangent(_leaves_apart(y)))
    except MissingRuleError:
        return False
    return True


# Leaves: numbers and arrays


def _name(f: Function) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _is_inexact(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return type(x) in (float, complex) or isinstance(x, np.inexact)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind != "O"


def _is_any(x: Any) -> bool:
    return _is_array(x) or isinstance(x, (int, float, complex, np.generic))


def _leaves(x: Any) -> list[Any]:
    return Structure(x, _is_inexact, shared=True).leaves


def _leaves_apart(x: Any) -> list[Any]:
    return Structure(x, _is_inexact).leaves


def _matched(structure: Structure, c: Any) -> list[Any]:
    """A cotangent for every leaf of an argument; zero where nothing flows."""
    bars = [np.zeros_like(x) if _is_array(x) else type(x)(0) for x in structure.leaves]
    for place, part in structure.match(c, "the arguments"):
        if part is not None:
            bars[place] = part
    return bars


def _flat(args: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    structures = [Structure(x, _is_inexact, shared=True) for x in args]
    return [c for s, part in zip(structures, cotangents, strict=True) for c in _matched(s, part)]


def _kind(x: Any) -> str:
    """What a value is, as far as a cotangent must be the same: array or number, shape, dtype."""
    if isinstance(x, np.ndarray):
        return f"{x.dtype} array of shape {x.shape}"
    return type(x).__name__


def _kind_of_numbers(x: Any) -> str:
    return str(np.asarray(x).dtype)


def _precision_of(leaves: list[Any], check: _Check) -> _Precision:
    """The precision of the coarsest of these numbers and arrays."""
    names = {str(np.finfo(np.asarray(x).dtype).dtype) for x in leaves}
    known = [_PRECISION[n] for n in _PRECISION if n in names]
    step, rtol, atol = known[0] if known else _PRECISION["float64"]
    return _Precision(
        step,
        rtol if check.rtol is None else check.rtol,
        atol if check.atol is None else check.atol,
    )


def _random_like(x: Any, rng: np.random.Generator) -> Any:
    """Random numbers of the type, shape and dtype of `x`, of magnitude 1."""
    c: Any = rng.standard_normal(np.shape(x))
    if np.iscomplexobj(x):
        c = c + 1j * rng.standard_normal(np.shape(x))
    if isinstance(x, np.ndarray):
        return np.asarray(c, x.dtype)
    return type(x)(c)


def _direction(x: Any, rng: np.random.Generator) -> Any:
    """A random direction at `x`, of the magnitude of its largest element."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return _random_like(x, rng) * (largest if 0 < largest < np.inf else 1.0)


def _moved(x: Any, by: Any) -> Any:
    """x + by in at least double precision, a number or an array as `x` is."""
    if not isinstance(x, (np.ndarray, np.generic)):
        return type(x)(x + by)
    wide = np.promote_types(x.dtype, np.float64)
    y = np.asarray(x, wide) + np.asarray(by, wide)
    return np.asarray(y) if isinstance(x, np.ndarray) else y[()]


def _inner(a: Any, b: Any) -> float:
    """The real inner product, for complex numbers that of their real and imaginary parts."""
    return float(np.sum(np.real(np.conjugate(a) * b), dtype=np.float64))


def _identical(a: Any, b: Any) -> bool:
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc")


def _close(a: Any, b: Any, eps: float) -> bool:
    """Equal up to rounding."""
    largest = float(np.max(np.abs(a), initial=1.0))
    return np.allclose(a, b, rtol=1e3 * eps, atol=1e3 * eps * largest, equal_nan=True)


def _eps(x: Any) -> float:
    """The relative size of rounding in a number or an array."""
    return float(np.finfo(np.asarray(x).dtype).eps)


def _converted(x: Any, convert: Callable[[Any], Any]) -> Any:
    inside = Structure(x, _is_inexact, shared=True)
    return inside.rebuild([convert(v) for v in inside.leaves])


def _as_float32(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.astype(np.float32)
    return x if type(x) is float else np.float32(x)


def _as_complex(x: Any, rng: np.random.Generator) -> Any:
    if isinstance(x, np.ndarray):
        return x + 1j * rng.uniform(0.3, 0.6, x.shape)
    return (complex if type(x) is float else np.complex128)(x + 0.4j)


def _laid_out(x: Any, layout: Callable[[Any], Any]) -> Any:
    return layout(x) if isinstance(x, np.ndarray) and x.ndim else x


def _strided(x: Any) -> Any:
    """`x` as every other element of a larger array, backwards along its first axis."""
    room = np.zeros((2 * x.shape[0], *x.shape[1:], 2), x.dtype)
    view = room[::-2, ..., 1]
    view[...] = x
    return view
