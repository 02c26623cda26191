"""Functions whose values SciPy computes, and whose derivatives are those of formulas.

SciPy's value is computed first, so that what SciPy raises, it raises. A formula that does not give
it, but for rounding, is refused, and so is one that raises: then its derivative is none of the
function's. Of arrays without elements there is none, and no formula is asked.
"""

import functools
import inspect

import numpy as np

from zyg.errors import ZygError, unknown_call
from zyg.functions.kit import (
    as_array,
    cast,
    composed,
    holds_nothing_watched,
    is_complex,
    strip,
    watched_leaves,
    with_value,
)
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as


def unknown(function, option, instead="leave it out"):
    """The error of an option that the formula of a function does not know."""
    return unknown_call(_name(function), f"its rule does not know {option}", instead)


def _name(function):
    return f"{function.__module__.partition('._')[0]}.{function.__name__}"


def still(function, name, value):
    """The plain value of an argument that may not be watched, or the error of one that is."""
    leaves = watched_leaves(value)
    if not all(map(holds_nothing_watched, leaves)):
        option = f"the derivative by {name!r}"
        raise unknown(function, option, f"pass zyg.stop_gradient({name})")
    return plain(value) if leaves else value


def valued(function):
    """Register the formula of a function, which takes the same arguments, for its derivative."""

    def register(formula):
        def by_formula(*args, **kwargs):
            y = _value_of(function, args, kwargs)
            return with_formula(function, y, lambda: formula(*args, **kwargs), (args, kwargs))

        composed(function)(called_as(function, by_formula))
        return formula

    return register


def written(function, *watched, **only):
    """The same of a formula that takes all arguments by their names.

    Refused are arguments that are watched and not among `watched`, and values of options other than
    those in `only`.
    """

    def register(formula):
        def by_formula(*args, **kwargs):
            given = arguments_of(function, args, kwargs)
            for name, value in [*given.items()]:
                if name not in watched:
                    given[name] = still(function, name, value)
            for name, value in only.items():
                if given[name] != value:
                    raise unknown(function, f"{name}={given[name]!r}")
            y = _value_of(function, args, kwargs)
            return with_formula(function, y, lambda: formula(**given), (args, kwargs))

        composed(function)(called_as(function, by_formula))
        return formula

    return register


def by_names(function):
    """A decorator: the rule of a function, which takes all arguments by their names."""

    def register(rule):
        def call(*args, **kwargs):
            return rule(**arguments_of(function, args, kwargs))

        composed(function)(called_as(function, call))
        return rule

    return register


def _value_of(function, args, kwargs):
    """What SciPy computes; no operand is overwritten, since formulas and pullbacks read it."""
    names = () if isinstance(function, np.ufunc) else _signature(function).parameters
    if asked := [name for name in names if name.startswith("overwrite_")]:
        call = _signature(function).bind(*args, **kwargs)
        call.arguments.update(dict.fromkeys(call.arguments.keys() & asked, False))
        args, kwargs = call.args, call.kwargs
    return function(*plain(args), **plain(kwargs))


def with_formula(function, y, formula, given):
    """`y`, or what is in it, with the derivatives of what a formula makes of what was `given`.

    None stands for what carries no derivative.
    """
    numbers = [np.asarray(strip(v)) for v in watched_leaves(given)]
    empty = not any(map(np.size, y if isinstance(y, (tuple, list)) else (y,)))
    if empty or (numbers and not any(map(np.size, numbers))):  # a function may hold what is watched
        return y
    try:
        made = formula()
    except (ZygError, MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        why = f"at these values its formula raises {type(error).__name__}: {error}"
        raise unknown_call(_name(function), why, "") from error

    def one(part, d):
        if d is None or strip(d) is d:
            return part
        if strip(d) is part:  # the argument as it is
            return d
        if not _near(strip(d), np.asarray(part), numbers):
            why = "at these values its formula does not give what SciPy does"
            raise unknown_call(_name(function), why, "")
        return with_value(d, (part,))

    if not isinstance(made, tuple):
        return one(y, made)
    parts = [one(part, d) for part, d in zip(y, made, strict=True)]
    return type(y)(*parts) if hasattr(y, "_fields") else type(y)(parts)


def _near(d, y, numbers):
    """Whether a formula gives what SciPy does, but for rounding, of the numbers given, too."""
    if np.shape(d) != np.shape(y) or is_complex(d) != is_complex(y):
        return False
    known = np.isfinite(y)
    if not np.array_equal(known, np.isfinite(d)):
        return False
    y, d = np.where(known, y, 0), np.where(known, d, 0)
    dtypes = [v.dtype for v in (y, d, *numbers) if v.dtype.kind in "fc"]
    least = np.sqrt(max((np.finfo(dtype).eps for dtype in dtypes), default=0.0))
    sizes = (np.max(abs(v), where=np.isfinite(v), initial=0.0) for v in numbers)
    size = max(sizes, default=0.0)
    allowed = least * np.max(abs(y), initial=0.0) + 100 * least**2 * size
    return np.all(abs(y - d) <= allowed + np.finfo(float).tiny)


def real_and_wide(x):
    """In 64 bits, of real parts, as SciPy computes with it."""
    return cast(as_array(x), np.dtype(float))


def length_of(square):
    """The length of this square; where it is 0, so is the slope, as that of a norm."""
    moves = np.logical_not(strip(square) <= 0)  # of NaN it is NaN
    return np.where(moves, np.sqrt(np.where(moves, square, 1.0)), 0.0)


def arguments_of(function, args, kwargs):
    """All arguments of a call, by their names; with the defaults."""
    call = _signature(function).bind(*args, **kwargs)
    call.apply_defaults()
    return call.arguments


_signature = functools.cache(inspect.signature)
