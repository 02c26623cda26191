"""Functions whose values SciPy computes, and whose derivatives are those of formulas."""

import inspect

from zyg.functions.kit import composed, with_value
from zyg.scipy._closures import plain
from zyg.scipy._namespace import called_as


def valued(key):
    """Register the formula of a function, which takes the same arguments, for its derivative.

    SciPy's value is computed first, so that what SciPy raises, it raises.
    """

    def register(formula):
        def by_formula(*args, **kwargs):
            plain_args, plain_kwargs = plain((args, kwargs))
            y = key(*plain_args, **plain_kwargs)
            return with_formula(y, formula(*args, **kwargs))

        composed(key)(called_as(key, by_formula))
        return formula

    return register


def with_formula(y, made):
    """`y`, an array or a tuple of them, with the derivatives of what a formula `made`."""
    if not isinstance(y, tuple):
        return with_value(made, (y,))
    parts = [with_value(d, (part,)) for part, d in zip(y, made, strict=True)]
    return type(y)(*parts) if hasattr(y, "_fields") else tuple(parts)


def arguments_of(key, args, kwargs):
    """All arguments of a call, by their names; with the defaults."""
    call = inspect.signature(key).bind(*args, **kwargs)
    call.apply_defaults()
    return dict(call.arguments)
