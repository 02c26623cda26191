"""All cases: every call of the tables, in every variant."""

import collections
import re

from . import expressions, methods, points, scalars, subgradients, tables
from .calls import array, call
from .case import Case
from .programs import of_text, written
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
                yield f, c.args, kwargs
    for name, some in (*methods.METHODS.items(), *methods.VALUES.items()):
        for c in some:
            yield name, (X, *c.args), c.kwargs


def programs():
    """The programs, their leaves and which of those are fixed, and of what function they are."""
    for f, c in points.APART:
        yield *written(f, c), getattr(f, "__name__", str(f))
    for f, args, kwargs in calls():
        yield *written(f, call(*args, **kwargs)), getattr(f, "__name__", str(f))
    for text, leaves in (*expressions.ROWS, *((row[0], row[1]) for row in subgradients.ROWS)):
        yield of_text(text, len(leaves)), leaves, (), "expression"


def cases(only="", variants=VARIANTS, most=None):
    """Their numbers and how they are made: those whose text has a word in it.

    Some of the variants, and at most so many calls of a function.
    """
    number, seen = 0, collections.Counter()
    for program, leaves, fixed, named in programs():
        seen[named] += 1
        for variant in VARIANTS:
            number += 1
            if only and only not in program.text and only != named:
                continue
            if variant not in variants or (most is not None and seen[named] > most):
                continue
            if variant == "inf" and re.search(r"\b(svd|pinv|lstsq)\(", program.text):
                continue  # LAPACK's singular vectors of infinities may not come back
            made = varied(leaves, variant)
            if made is None:
                continue
            title = f"{program.text} [{named}, {variant}]"
            yield number, title, lambda p=program, m=made, k=fixed, t=title: Case(t, p, m, k)
