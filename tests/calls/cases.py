"""All cases: every call of the tables, in every variant."""

import collections

from . import methods, points, scalars, tables
from .calls import array, call
from .case import Case
from .programs import plain_of, written
from .variants import VARIANTS, varied

X = array(3, 4)


def calls():
    """Functions, or names of methods, with a call."""
    for table in (
        tables.NUMPY, points.CALLS, points.CONSTANT, scalars.NUMPY, scalars.MATH, scalars.CMATH,
        scalars.OPERATORS, tables.DROP_INS,
    ):  # fmt: skip
        for f, some in table.items():
            for c in some:
                kwargs = c.kwargs
                if table is tables.DROP_INS and isinstance(kwargs.get("order"), int):
                    kwargs = {k: v for k, v in kwargs.items() if k != "order"}
                yield getattr(f, "inside", f) if table is tables.DROP_INS else f, c.args, kwargs
    for name, some in (*methods.METHODS.items(), *methods.VALUES.items()):
        for c in some:
            yield name, (X, *c.args), c.kwargs


def cases(only="", variants=VARIANTS, most=None):
    """Their numbers and how they are made: those whose text has a word in it.

    Some of the variants, and at most so many calls of a function.
    """
    number, seen = 0, collections.Counter()
    for f, args, kwargs in calls():
        seen[f] += 1
        program, leaves, by_keyword = written(f, call(*args, **kwargs))
        named = getattr(f, "__name__", str(f))
        for variant in VARIANTS:
            number += 1
            if only and only not in program.text and only != named:
                continue
            if variant not in variants or (most is not None and seen[f] > most):
                continue
            made = varied(leaves, variant)
            if made is None:
                continue
            title = f"{program.text} [{named}, {variant}]"
            yield number, title, lambda p=program, m=made, k=by_keyword, t=title: Case(t, p, m, k)


__all__ = ["cases", "plain_of"]
