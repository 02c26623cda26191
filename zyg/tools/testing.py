"""Checks for rules and gradients: against finite differences, along random directions.

Nothing here knows a derivative. A function J is compared through two numbers that need not be
computed in the same way: <v, J^T w> from the reverse pass, or <J v, w> from forward mode, and
<J v, w> from differences of values, for random v and w (from a fixed seed). Higher orders are the
same check of the derivative functions, in every mixture of modes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from zyg.base.borders import border
from zyg.base.marks import name_of
from zyg.base.structure import Structure
from zyg.core.trace import Trace
from zyg.errors import AdjointError, DegenerateError, GradientMismatchError, MissingRuleError
from zyg.tools import samples
from zyg.tools.samples import (
    close,
    flat,
    identical,
    inner,
    is_inexact,
    kind,
    leaves,
    leaves_apart,
    random_like,
    real_dtype,
)
from zyg.verbs.pushforward import DualCall


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
Mode = Literal["reverse", "forward"]
_MODES: tuple[Mode, ...] = ("reverse", "forward")

Function = Callable[..., Any]


@border
def check_gradient(
    f: Function,
    *args: Any,
    order: int = 2,
    modes: Sequence[Mode] = _MODES,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare the derivatives of ``f(*args)``, up to this order, with central finite differences.

    Parameters
    ----------
    f : callable
        Deterministic, and smooth at the point. Its result may have any structure.
    *args
        Its arguments, of any structure. What varies are the floating and complex numbers and arrays
        in them: each argument alone, then all together.
    order : int, default 2
        Up to which order derivatives are compared.
    modes : sequence of {"reverse", "forward"}
        In which modes, and mixtures of them.
    rtol, atol : float, optional
        Tolerances; by default those of the dtypes.

    Returns
    -------
    None
        If they agree.

    Raises
    ------
    GradientMismatchError
        Where the two differ.
    ValueError
        For an unknown mode.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.check_gradient(lambda x, y: np.sin(x) * y, np.array([1.0, 2.0]), 3.0)
    """
    if unknown := [m for m in modes if m not in _MODES]:
        raise ValueError(f"unknown mode {unknown[0]!r}; there is: {', '.join(map(repr, _MODES))}")
    every = range(len(args))
    _compare(_Check(f, name_of(f), every, every, order, {}, modes, rtol, atol), args)


@border
def check_adjoint(
    f: Function, *args: Any, order: int = 2, complex: bool = False, **kwargs: Any
) -> None:
    """Check all that the rule of a function promises, for one call ``f(*args, **kwargs)``.

    The value is that of plain f, bit for bit, dtype and type included; every derivative up to this
    order agrees with finite differences, for each argument alone and for all together; a cotangent
    has its argument's shape, dtype and field of numbers; arguments stay as they were; the pullback
    is linear and may be called again with the same result; no result shares memory with another or
    with an argument; strided and Fortran-ordered arguments give the same. All this again for
    float32 versions of float64 arguments and, with ``complex``, for complex ones (for each argument
    alone to first order): those need a rule that multiplies by the conjugate of the derivative.

    What it cannot see: a derivative wrong only at other points, in other branches, or in the choice
    at a kink or a tie; anything about arguments that are integers or numbers of other types, or
    passed by keyword; an f that asks for the dtype of its arguments (differences are taken in
    float64); what a rule does with values that are not finite; how much memory it holds.

    Parameters
    ----------
    f : callable
        The function that has the rule.
    *args
        Arguments of the call. Each that holds real or complex numbers is checked.
    order : int
        Up to which order derivatives are checked: 1 or 2.
    complex : bool
        Whether to check the rule for complex arguments, too.
    **kwargs
        Its keyword arguments; bind those called ``order`` or ``complex`` (`functools.partial`).

    Returns
    -------
    None

    Raises
    ------
    AdjointError
        A promise is broken.
    GradientMismatchError
        A derivative is wrong.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> zyg.check_adjoint(np.sum, np.ones((2, 3)), axis=1)
    """
    places = [k for k, x in enumerate(args) if leaves(x)]

    def call(*xs: Any) -> Any:
        full = list(args)
        for k, x in zip(places, xs, strict=True):
            full[k] = x
        return f(*full, **kwargs)

    own, everything = [args[k] for k in places], range(len(places))
    for n, xs in enumerate((own, *_other_types(call, own, complex))):
        _check_promises(call, name_of(f), xs)
        check = _Check(call, name_of(f), places, everything, order, {})
        _compare(check, xs)
        for k in everything if len(places) > 1 else ():
            _compare(check._replace(watched=[k], order=min(order, 1) if n else order), xs)


# Finite differences


class _Check(NamedTuple):
    """What is compared: the derivative of f by the `watched` arguments, the others constant."""

    f: Function
    name: str
    labels: Sequence[int]  # what the arguments are called in messages
    watched: Sequence[int]
    order: int
    slopes: dict[tuple[int, ...], _Slope]  # by what moves: those of f that were taken so far
    modes: Sequence[Mode] = _MODES
    rtol: float | None = None
    atol: float | None = None
    done: tuple[str, ...] = ()  # the modes of the derivatives taken so far
    dtypes: frozenset[str] = frozenset()  # those that were met on the way


def _compare(check: _Check, args: Sequence[Any]) -> None:
    """Compare the derivative of `check.f` at `args`; then, up to the order, of those.

    In each mode there is a derivative function: the gradient for a fixed cotangent, the tangent for
    a fixed direction. Both are compared in every mode again, which makes all mixtures of modes.
    """
    if check.order < 1:
        return
    rng = np.random.default_rng(_SEED)
    inputs = [Structure(x, is_inexact, shared=True) for x in args]
    y, back = _pullback(check, args)
    result = Structure(y, is_inexact)
    w = [random_like(x, rng) for x in result.leaves]
    w_all = result.tangent(w)
    directions = [[samples.direction(x, rng) for x in s.leaves] for s in inputs]
    dtypes = check.dtypes | {real_dtype(x) for s in (*inputs, result) for x in s.leaves}
    precision = _precision_of(dtypes, check)
    singles = [k for k in check.watched if directions[k]]
    bars = dict(zip(check.watched, back(w_all) if "reverse" in check.modes else (), strict=False))
    for moved in [(k,) for k in singles] + [(*singles,)] * (len(singles) > 1):
        v = [[e * (k in moved) for e in d] for k, d in enumerate(directions)]
        if (slope := check.slopes.get(moved)) is None:
            slope = _difference_quotient(check.f, inputs, v, w, precision.step)
            check.slopes[moved] = slope
        for mode in check.modes:
            if mode == "reverse":
                along = [*chain(*(directions[k] for k in moved))]
                across = [*chain(*(samples.matched(inputs[k], bars[k]) for k in moved))]
            else:
                along = samples.matched(result, _pushforward(check, args, inputs, v))
                across = w
            pairs = [*zip(along, across, strict=True)]
            got = sum(inner(d, c) for d, c in pairs)
            size = max(slope.size, sum(inner(np.abs(d), np.abs(c)) for d, c in pairs))
            tolerance = precision.atol + precision.rtol * size + slope.rounding
            if not abs(got - slope.value) <= tolerance:
                labels = [check.labels[k] for k in moved]
                raise _mismatch(check, mode, labels, args, got, slope.value)

    def gradient_of(*xs: Any) -> Any:
        return _pullback(check, xs)[1](w_all, zeros=True)

    def tangent_of(*xs: Any) -> Any:
        return _pushforward(check, xs, inputs, directions)

    derivatives = {"reverse": gradient_of, "forward": tangent_of}
    for mode in check.modes:
        of = check._replace(f=derivatives[mode], order=check.order - 1, slopes={})
        _compare(of._replace(done=(*check.done, mode), dtypes=dtypes), args)


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


def _pushforward(
    check: _Check, args: Sequence[Any], inputs: list[Structure], v: list[list[Any]]
) -> Any:
    """The tangent of `check.f` for tangents `v` of the leaves of the watched arguments."""
    tangents = [
        s.tangent(d) if k in check.watched else None
        for k, (s, d) in enumerate(zip(inputs, v, strict=True))
    ]
    return DualCall(check.f, tuple(args), {}, [tangents]).y_dots[0]


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
            s.rebuild([samples.moved(x, h * e) for x, e in zip(s.leaves, d, strict=True)])
            for s, d in zip(inputs, v, strict=True)
        ]
        return leaves_apart(f(*moved))

    value = size = rounding = 0.0
    for c, a, b, a2, b2 in zip(w, at(step), at(-step), at(2 * step), at(-2 * step), strict=True):
        slope = (8 * (a - b) - (a2 - b2)) / (12 * step)
        value += inner(slope, c)
        size += inner(np.abs(slope), np.abs(c))
        rounding += 4 * samples.eps(a) / step * inner(np.abs(a), np.abs(c))
    return _Slope(value, size, rounding)


def _mismatch(
    check: _Check, mode: str, labels: list[int], args: Sequence[Any], got: float, expected: float
) -> Exception:
    places = f"argument {labels[0]}" if len(labels) == 1 else f"arguments {labels} together"
    kinds = ", ".join(kind(x) for x in args)
    return GradientMismatchError(
        f"the derivative of {check.name} of order {len(check.done) + 1} by {places} is wrong: "
        f"along a random direction it is {got:.12g}, finite differences give {expected:.12g} "
        f"({kinds}; taken in {' over '.join((mode, *reversed(check.done)))} mode).",
        "the derivative and the values of the function disagree, so a rule is wrong, a "
        "dependence is hidden from zyg, or the function is not smooth or not deterministic here.",
        "bisect the function with check_gradient; check_adjoint(g, ...) tests one rule. At a kink, "
        "choose another point; for a badly scaled function pass rtol and atol.",
    )


# The other promises


def _check_promises(f: Function, name: str, args: Sequence[Any]) -> None:
    """Everything but the derivative itself."""
    rng = np.random.default_rng(_SEED)
    inputs = [x for a in args for x in leaves(a)]
    before = [np.copy(x) for x in inputs]
    plain, (y, back) = f(*args), _pullback_in_place(f, *args)
    _demand(all(map(identical, before, inputs)), name, "it changed its arguments")
    _check_same_value(name, plain, y)
    result = Structure(y, is_inexact)
    w1, w2 = ([random_like(x, rng) for x in result.leaves] for _ in range(2))
    bars = [flat(args, back(result.tangent(w))) for w in (w1, w1, w2)]
    eps = max(map(samples.eps, (*inputs, *result.leaves)), default=0.0)
    mixed = flat(args, back(result.tangent([3 * a + b for a, b in zip(w1, w2, strict=True)])))
    _demand(all(map(identical, before, inputs)), name, "its pullback changed the arguments")
    for x, c in zip(inputs, bars[0], strict=True):
        _demand(kind(c) == kind(x), name, f"the cotangent of a {kind(x)} is a {kind(c)}")
    _demand(all(map(identical, *bars[:2])), name, "its pullback gave another result when reused")
    for a, b, c in zip(bars[0], bars[2], mixed, strict=True):
        _demand(close(3 * a + b, c, eps), name, "its pullback is not linear in the cotangent")
    _check_memory(
        name, [*inputs, *w1], [*Structure(y, samples.is_array).leaves, *bars[0], *bars[1]]
    )
    _check_tangents(f, name, args, plain, rng)
    for layout in (np.asfortranarray, samples.strided):
        laid = [Structure(a, is_inexact, shared=True) for a in args]
        laid_args = [s.rebuild([samples.laid_out(x, layout) for x in s.leaves]) for s in laid]
        other, other_back = _pullback_in_place(f, *laid_args)
        pairs = [*zip(leaves_apart(y), leaves_apart(other), strict=True)]
        pairs += zip(bars[0], flat(laid_args, other_back(result.tangent(w1))), strict=True)
        same = all(np.shape(a) == np.shape(b) and close(a, b, eps) for a, b in pairs)
        _demand(same, name, f"it gives another result for {layout.__name__.strip('_')} arguments")


def _check_tangents(
    f: Function, name: str, args: Sequence[Any], plain: Any, rng: np.random.Generator
) -> None:
    """What the pushforward promises: the value, tangents of its kind, nothing shared or changed."""
    structures = [Structure(a, is_inexact, shared=True) for a in args]
    inputs = [x for s in structures for x in s.leaves]
    directions = [[random_like(x, rng) for x in s.leaves] for s in structures]
    given = [*inputs, *(e for d in directions for e in d)]
    before = [np.copy(x) for x in given]
    tangents = [s.tangent(d) for s, d in zip(structures, directions, strict=True)]
    call = DualCall(lambda *xs: (f(*xs), xs), tuple(args), {}, [tangents, tangents])
    y = call.y[0]
    _check_same_value(name, plain, y)
    result = Structure(y, is_inexact)
    y_dots = [samples.matched(result, y_dot[0]) for y_dot in call.y_dots]
    for x, y_dot in zip(result.leaves, y_dots[0], strict=True):
        _demand(kind(y_dot) == kind(x), name, f"the tangent of a {kind(x)} is a {kind(y_dot)}")
    _demand(all(map(identical, *y_dots)), name, "two equal tangents gave different results")
    left = flat(args, call.y_dots[1][1] or ())  # None if there are no arguments
    kept = [*map(identical, before, [*inputs, *left])]
    _demand(all(kept), name, "its pushforward changed the tangents or the values of its operands")
    arrays = Structure(y, samples.is_array).leaves
    _check_memory(name, given, [*arrays, *y_dots[0], *y_dots[1]])


def _check_same_value(name: str, plain: Any, y: Any) -> None:
    a, b = (Structure(x, samples.is_any).leaves for x in (plain, y))
    same = type(plain) is type(y) and len(a) == len(b)
    same = same and all(kind(p) == kind(q) and identical(p, q) for p, q in zip(a, b, strict=True))
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
            f"the rule of {name} is wrong: {what}.",
            "every verb relies on what zyg.check_adjoint tests.",
            "correct the rule; the docstring of check_adjoint lists what it must do.",
        )


def _other_types(call: Function, args: list[Any], complicate: bool) -> Iterator[list[Any]]:
    """The arguments in single precision, and one or all of them complex, where f takes them."""
    if not all(samples.kind_of_numbers(x) == "float64" for a in args for x in leaves(a)):
        return
    rng = np.random.default_rng(_SEED)
    narrow = [samples.converted(a, samples.as_float32) for a in args]
    complicated = [samples.converted(a, lambda x: samples.as_complex(x, rng)) for a in args]
    mixed = [[*complicated[:1], *args[1:]], [*args[:-1], *complicated[-1:]]]
    others = (complicated, *(mixed if len(args) > 1 else ())) if complicate else ()
    for xs in (narrow, *others):
        if _takes(call, xs):
            yield xs


def _takes(call: Function, args: list[Any]) -> bool:
    """Whether a function can be called with these arguments, and its rule does not refuse them."""
    try:
        with warnings.catch_warnings(record=True) as met:  # errors would end code in C badly
            warnings.simplefilter("always", np.exceptions.ComplexWarning)
            call(*args)
    except TypeError:
        return False
    if any(w.category is np.exceptions.ComplexWarning for w in met):
        return False
    try:
        y, back = _pullback_in_place(call, *args)
        rng = np.random.default_rng(_SEED)
        back(Structure(y, is_inexact).tangent([random_like(x, rng) for x in leaves_apart(y)]))
    except (MissingRuleError, DegenerateError):
        return False
    return True


def _precision_of(dtypes: frozenset[str], check: _Check) -> _Precision:
    """The precision of the coarsest of these dtypes."""
    known = [_PRECISION[n] for n in _PRECISION if n in dtypes]
    step, rtol, atol = known[0] if known else _PRECISION["float64"]
    return _Precision(
        step,
        rtol if check.rtol is None else check.rtol,
        atol if check.atol is None else check.atol,
    )
