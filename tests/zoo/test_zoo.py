"""The zoo itself: that it is large, pinned and on its page, and that its judge can judge."""

import tomllib

import numpy as np
import pytest

import zyg

from .case import Case, libraries
from .judge import OTHER, REFUSED, RIGHT, UNJUDGED, WRONG, judge
from .page import PAGE, cause, rights

LIBRARIES = libraries()
SETTINGS = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())
EXTRAS = SETTINGS["project"]["optional-dependencies"]


def pinned(extra):
    return {pin.partition("==")[0] for pin in EXTRAS[extra] if "==" in pin}


def test_the_zoo_is_large():
    assert len(LIBRARIES) >= 40
    assert len({library.field for library in LIBRARIES.values()}) >= 12
    assert sum(len(library.cases) for library in LIBRARIES.values()) >= 100


def test_every_library_is_pinned_in_the_extras():
    assert pinned("zoo") | pinned("zoo-gate") == LIBRARIES.keys()
    assert pinned("zoo-gate") == {name for name, lib in LIBRARIES.items() if lib.gate}


def test_every_library_has_cases_and_no_two_of_them_have_one_name():
    for name, library in LIBRARIES.items():
        names = [case.name for case in library.cases]
        assert names, name
        assert len(names) == len({*names}), name


def swallowed(x):
    raise ValueError("no") from zyg.errors.ConversionError("what", "why", "fix")


OUTCOMES = {
    RIGHT: lambda x: np.sin(x) * x,
    REFUSED: lambda x: np.arange(3.0)[: int(x)].sum() + complex(x).real,
    OTHER: lambda x: {}["x"] if zyg.is_traced(x) else x,
    WRONG: lambda x: zyg.stop_gradient(x) * x,
    UNJUDGED: lambda x: x // 5,
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_judge_knows(outcome):
    assert judge(Case("f", OUTCOMES[outcome], (1.3,), 1e-3, 1e-6)).outcome == outcome


def test_an_exception_that_was_raised_from_a_refusal_is_one():
    def f(x):
        if zyg.is_traced(x):
            swallowed(x)
        return x

    assert judge(Case("f", f, (1.3,), 1e-3, 1e-6)).outcome == REFUSED


def test_the_judge_sees_each_argument_and_complex_ones():
    def f(x, z):
        return np.abs(z) ** 2 * x

    args = (np.array([0.3, 0.4]), np.array([1 + 2j, 0.5j]))
    assert judge(Case("f", f, args, 1e-3, 1e-6)).outcome == RIGHT
    lost = judge(Case("f", lambda x, z: f(x, zyg.stop_gradient(z) + 0 * z), args, 1e-3, 1e-6))
    assert lost.outcome == WRONG
    assert lost.message.startswith("argument 1: ")


def test_differences_that_depend_on_their_step_judge_nothing():
    def kinked(x):
        return np.abs(x - 1.3004)

    assert judge(Case("f", kinked, (1.3,), 1e-3, 1e-6)).outcome == UNJUDGED


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "float(x) of a watched float would drop its derivative. [conversion]\n"
            "  where: /home/me/orbit.py:3, in f: g(x)\n"
            "  lib:   /usr/lib/site-packages/geo/point.py:57, in g: float(x)\n",
            "`float(x)` in geo/point.py",
        ),
        ("a view of a watched array as Sub has no rule.", "an array of class `Sub`"),
        ("math.ulp has no rule, so zyg cannot.", "no rule for `math.ulp`"),
        ("TypeError: bad argument", "TypeError: bad argument"),
    ],
)  # fmt: skip
def test_the_page_says_what_stops_a_case(message, said):
    assert cause(message) == said


def test_the_page_tells_how_many_cases_of_a_library_are_right():
    rows = "| robots | ikpy 4.2 | ikpy | 3 | 1 | 2 | |\n| robots | iki 1 | a, b | 2 | 2 | 2 | |\n"
    assert rights(rows, "ikpy") == (1, 2)
    assert rights(rows, "other") == (0, 0)
