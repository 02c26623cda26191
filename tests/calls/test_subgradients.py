"""Slopes that are a convention are the same in every engine."""

import numpy as np
import pytest

import zyg

from .case import Case, gradient_of
from .compare import demand_same, quietly
from .engines import ENGINES
from .programs import of_text
from .subgradients import CURVED, ROWS


def case(row):
    text, leaves, _ = row
    return Case(text, of_text(text, len(leaves)), leaves)


def ids(rows):
    return [f"{text} at {leaves}".replace("\n", "") for text, leaves, _ in rows]


@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_slopes_are_those_of_the_table_in_every_engine(row):
    made = case(row)

    found = quietly(lambda: zyg.gradient(made.watched, *made.at, zeros=True))

    demand_same(found, row[2], "gradient")
    assert not {name: wrong for name in ENGINES if (wrong := tried(ENGINES[name], made))}


def tried(engine, made):
    """What is wrong, in an engine."""
    try:
        engine(made)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("row", CURVED, ids=ids(CURVED))
@pytest.mark.parametrize("is_compiled", [False, True])
def test_second_derivatives_are_those_of_the_table(row, is_compiled):
    made = case(row)
    f = zyg.compile(made.plain) if is_compiled else made.watched
    ones = tuple(np.ones_like(x) if isinstance(x, np.ndarray) else 1.0 for x in made.at)

    with zyg.config(fallback="silent"):
        found = quietly(zyg.pushforward, gradient_of(made, f), tuple(made.at), ones)[1]

    demand_same(found, [np.cos(1.0) * np.asarray(x) for x in row[2]], "second derivative")
