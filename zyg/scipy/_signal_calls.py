"""How the functions of scipy.signal are given texts: their values are SciPy's own."""

import inspect

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import composed, is_complex, strip, watched_leaves, with_value
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as


def unknown(name, option):
    """The error of an option that a text does not know."""
    return unknown_call(f"scipy.signal.{name}", f"its rule does not know {option}")


def _near(d, y, size):
    """Whether a text gives what SciPy does, but for rounding: of numbers of this size, too."""
    if np.shape(d) != np.shape(y) or is_complex(d) != is_complex(y):
        return False
    known = np.isfinite(y)
    if not np.array_equal(known, np.isfinite(d)):
        return False
    y, d = np.where(known, y, 0), np.where(known, d, 0)
    least = np.sqrt(max(np.finfo(v.dtype).eps if v.dtype.kind in "fc" else 0 for v in (y, d)))
    allowed = least * np.max(abs(y), initial=0.0) + 100 * least**2 * size
    return np.all(abs(y - d) <= allowed + np.finfo(float).tiny)


def _size(values):
    """The most that a finite number of these is."""
    numbers = [np.abs(np.asarray(strip(v))) for v in watched_leaves(values)]
    return max(np.max(v, where=np.isfinite(v), initial=0.0) for v in numbers)


def _with_value(function, d, y, size):
    if d is None or strip(d) is d:
        return y
    if not _near(strip(d), np.asarray(y), size):
        raise unknown(function.__name__, "these values: it does not give what SciPy does")
    return with_value(d, (y,))


def written(function, *watched, **only):
    """Register the text of a function, of all its arguments by their names.

    Refused are arguments that are watched and not among `watched`, and values of options other than
    those in `only`. Where the function has several values, the text gives a tuple, in which None
    stands for what carries no derivative.
    """
    signature = inspect.signature(function)

    def register(text):
        def rule(*args, **kwargs):
            call = signature.bind(*args, **kwargs)
            call.apply_defaults()
            for name, value in call.arguments.items():
                if name not in watched and watched_leaves(value):
                    raise unknown(function.__name__, f"the derivative by {name!r}")
            for name, value in only.items():
                if call.arguments[name] != value:
                    raise unknown(function.__name__, f"{name}={call.arguments[name]!r}")
            y = function(*plain(call.args), **plain(call.kwargs))
            d = text(**call.arguments)
            size = _size((call.args, call.kwargs))
            if not isinstance(y, tuple):
                return _with_value(function, d, y, size)
            return tuple(_with_value(function, *pair, size) for pair in zip(d, y, strict=True))

        composed(function)(called_as(function, rule))
        return text

    return register
