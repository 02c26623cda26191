"""Functions that cannot be watched, called with plain values: compiled code, other processes.

Their derivative is what the caller gives: a pullback, a Jacobian, or a way to difference them. An
argument is whatever holds numbers and arrays; the result is copied, as compiled code returns the
same buffer each time. A rule for each function, made once: `Adjoint` takes arguments apart.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from zyg.base.borders import border
from zyg.base.buffers import says_read_only
from zyg.base.containers import Engine
from zyg.base.marks import Named
from zyg.base.signatures import Decorated, P, R
from zyg.base.structure import Structure
from zyg.core.cotangents import has_complex
from zyg.core.entries import is_result
from zyg.core.questions import is_traced
from zyg.core.results import read_only
from zyg.core.strand import is_watched, settle, watched_leaves
from zyg.core.trace import copy_out
from zyg.errors import AdjointError, MissingRuleError, StructureError
from zyg.interop.differences import METHODS, Differences
from zyg.interop.labels import array_in
from zyg.verbs.checkpoints import OneEntry
from zyg.verbs.effects import as_now

Function = Callable[..., Any]


@overload
def foreign(
    f: Callable[P, R],
    /,
    *,
    pullback: Function | None = None,
    jacobian: Function | None = None,
    method: Literal["difference", "complex"] | None = None,
    step: float | None = None,
    calls: int = 1000,
) -> Decorated[P, R]: ...
@overload
def foreign(
    *,
    pullback: Function | None = None,
    jacobian: Function | None = None,
    method: Literal["difference", "complex"] | None = None,
    step: float | None = None,
    calls: int = 1000,
) -> Callable[[Callable[P, R]], Decorated[P, R]]: ...
def foreign(
    f: Function | None = None,
    /,
    *,
    pullback: Function | None = None,
    jacobian: Function | None = None,
    method: str | None = None,
    step: float | None = None,
    calls: int = 1000,
) -> Any:
    """`f`, which zyg cannot follow, with a derivative; with options alone, a decorator.

    Exactly one of `pullback`, `jacobian` and `method` says what the derivative is. The first two
    are differentiated in turn if they are written in ``np.``.

    Parameters
    ----------
    f : callable
        Called with plain arguments, whose arrays are read-only. Its result is copied: numbers and
        arrays, or any structure of them.
    pullback : callable, optional
        ``pullback(y_bar, y, *args)`` returns a tuple of one cotangent for each argument, or None.
    jacobian : callable, optional
        ``jacobian(*args)`` returns an array of the axes of y and then of x, or a tuple of them for
        several arguments.
    method : {"difference", "complex"}, optional
        Central differences, 2n calls for n watched elements; or the complex step, exact to
        rounding, n calls and two that tell whether the function is holomorphic.
    step : float, optional
        The size of a difference.
    calls : int, default 1000
        How many calls a derivative by differences may take.

    Returns
    -------
    callable
        The function with its derivative.

    Raises
    ------
    TypeError, ValueError
        For other options.
    AdjointError
        Where a cotangent or Jacobian does not fit.
    MissingRuleError
        Where more than `calls` calls would be needed, before the first one.
    NonFiniteError
        Where a difference is not finite.
    StructureError
        Where the result has no numbers.

    Examples
    --------
    >>> import math, zyg
    >>> sine = zyg.foreign(math.sin, jacobian=np.cos)
    >>> zyg.gradient(sine, 0.0)
    (1.0,)
    >>> @zyg.foreign(method="difference")
    ... def cube(x):
    ...     return math.pow(x, 3)
    >>> round(zyg.gradient(cube, 2.0)[0], 6)
    12.0
    """
    given: dict[str, Any] = {"pullback": pullback, "jacobian": jacobian, "method": method}
    names = [f"{name}=" for name, x in given.items() if x is not None]
    if len(names) != 1:
        raise TypeError(
            "zyg.foreign takes exactly one of pullback=, jacobian= and method=; it was given "
            f"{' and '.join(names) or 'none of them'}."
        )
    if method not in (None, *METHODS):
        raise ValueError(f"zyg.foreign has no method {method!r}; there are {' and '.join(METHODS)}")
    if step is not None and not step > 0:
        raise ValueError(f"the step of a difference is greater than 0; it was given {step!r}")
    if f is None:
        return functools.partial(foreign, **given, step=step, calls=calls)
    if method:
        return ByDifferences(f, method, step, calls)
    return ByRule(f, _pulled if pullback else _contracted, pullback or jacobian)


_COPY = (
    "zyg: zyg.foreign passes read-only arrays, for the rule needs what is in them. Give it a "
    "function that copies them: lambda x: f(x.copy())."
)


class Foreign(Named, Engine):
    """A function of others; in arguments it passes through whole."""

    made_by = "zyg.foreign"

    def __init__(self, f: Function, *how: Any) -> None:
        functools.update_wrapper(self, f)
        self.f, self.how = f, how
        self.name = getattr(f, "__name__", type(f).__name__)

    @border
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if any(map(is_traced, watched_leaves(kwargs))):
                raise MissingRuleError(
                    f"{self.name}, given to zyg.foreign, was called with a watched keyword.",
                    "zyg.foreign differentiates with respect to positional arguments; the "
                    "derivative with respect to a keyword would be lost.",
                    "pass it by position, or pass zyg.stop_gradient of it.",
                    tag="arguments",
                )
            return type(self)(functools.partial(self.f, **kwargs), *self._with(kwargs))(*args)
        args = tuple(map(array_in, args))
        inside = Structure(args, is_watched)
        if any(map(is_traced, inside.leaves)):
            now = [*map(as_now, parts := (self.f, *self.how))]
            same = all(map(operator.is_, now, parts))
            return (self if same else type(self)(*now)).watched(args, inside)
        return self.f(*inside.rebuild([settle(x) for x in inside.leaves]))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def watched(self, args: tuple[Any, ...], inside: Structure) -> Any:
        """Its result, where a gradient runs and leads to one of the arguments."""
        raise NotImplementedError

    def value(self, args: Sequence[Any]) -> Any:
        """The result for plain arguments, in memory of its own."""
        try:
            y = self.f(*map(_read_only_parts, args))
        except ValueError as error:
            if says_read_only(error):
                error.add_note(_COPY)
            raise
        if type(y) is float:
            return y
        parts = Structure(y, is_result)
        if not parts.leaves:
            raise StructureError(
                f"{self.name}, given to zyg.foreign, returned a {type(y).__name__} without "
                "numbers.",
                "only numbers and arrays of numbers have a derivative.",
                "return a number, an array, or a structure of them; use zyg.nondifferentiable "
                "for a function without derivative.",
            )
        return parts.rebuild([copy_out(x) for x in parts.leaves])

    def _with(self, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return self.how


class ByRule(Foreign):
    """With a pullback or a Jacobian: one rule, which is applied to the arguments as they are."""

    def __init__(self, f: Function, pull: Function, derivative: Any) -> None:
        super().__init__(f, pull, derivative)
        self.rule = OneEntry(self.name, _Rule(self), may_cut=True)

    def _with(self, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return self.how[0], functools.partial(self.how[1], **kwargs)

    def watched(self, args: tuple[Any, ...], inside: Structure) -> Any:
        return self.rule(*args)


class _Rule:
    """What `Adjoint` calls a rule; its place in the source is that of the derivative given."""

    def __init__(self, foreign: ByRule) -> None:
        self.foreign = foreign
        self.pull, self.derivative = foreign.how
        code = getattr(self.derivative, "__code__", None)
        if code is not None:
            self.__code__ = code

    def __call__(self, *args: Any) -> tuple[Any, Function]:
        watched = bool(watched_leaves(args))
        y = self.foreign(*args) if watched else self.foreign.value(args)
        return y, functools.partial(self.pull, self.foreign.name, self.derivative, y, args)


def _pulled(name: str, pullback: Function, y: Any, args: Any, y_bar: Any) -> Any:
    return pullback(y_bar, _read_only_parts(y), *map(_read_only_parts, args))


def _contracted(name: str, jacobian: Function, y: Any, args: Any, y_bar: Any) -> Any:
    """The cotangents of the arguments, by their Jacobians."""
    found = jacobian(*map(_read_only_parts, args))
    matrices = found if type(found) is tuple else (found,)
    if len(matrices) != len(args):
        raise _unfit(name, f"returned {len(matrices)} arrays for {len(args)} arguments")
    bars: list[Any] = []
    for k, (matrix, x) in enumerate(zip(matrices, args, strict=True)):
        if matrix is None:
            bars.append(None)
            continue
        if not (is_result(y) and is_result(x)):
            raise _unfit(name, f"is of argument {k}, and it or the result is no number or array")
        needed = np.shape(y) + np.shape(x)
        if np.shape(matrix) != needed:
            raise _unfit(name, f"has shape {np.shape(matrix)} for argument {k}, not {needed}")
        matrix = np.conj(matrix) if has_complex(matrix) else matrix
        axes = len(np.shape(y))
        bars.append(np.tensordot(y_bar, matrix, axes) if axes else y_bar * matrix)
    return (*bars,)


def _unfit(name: str, what: str) -> AdjointError:
    return AdjointError(
        f"the Jacobian given for {name} {what}.",
        "a Jacobian has the axes of the result and then those of the argument; there is one for "
        "each argument, or None for one that is constant.",
        "return a tuple of arrays of those shapes; for structures, give pullback=.",
    )


class ByDifferences(Foreign):
    """By differences of all watched elements: one vector, whatever holds them."""

    def watched(self, args: tuple[Any, ...], inside: Structure) -> Any:
        inside = Structure(args, is_watched, shared=True)

        def value(leaves: Sequence[Any]) -> Any:
            return self.value(inside.rebuild([*leaves]))

        return Differences(self.name, value, inside.paths(), self.how).of(inside.leaves)


def _read_only_parts(x: Any) -> Any:
    """An argument whose plain arrays cannot be written to."""
    if type(x) is float or type(x) is np.ndarray:
        return read_only(x)
    inside = Structure(x, _is_array_or_watched)
    return inside.rebuild([*map(read_only, inside.leaves)])


def _is_array_or_watched(x: Any) -> bool:
    return type(x) is np.ndarray or is_watched(x)
