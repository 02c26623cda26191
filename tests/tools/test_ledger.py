"""The ledger of NumPy's functions: every public one is in exactly one class, and the table says so.

`python -m zyg.tools.ledger > docs/coverage.md` brings the table up to date.
"""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import zyg
from zyg.base.registry import rules
from zyg.core.bind import bind
from zyg.errors import ConversionError, MissingRuleError
from zyg.scipy import _without_rules, special, stats
from zyg.tools.ledger import (
    CALLS,
    CLASS_OF,
    NAMED,
    OUTSIDE,
    REASONS,
    REFUSED,
    class_of,
    counts,
    document,
    ledger,
    public,
)
from zyg.watched.dropins import DropIn

V = np.array([0.3, 1.2, 2.5])
TABLE = Path(__file__).parents[2] / "docs" / "coverage.md"
FUNCTIONS = {
    f"{module.__name__}.{name}": (name, f)
    for module in (np, np.linalg, np.fft)
    for name, f in public(module).items()
}
REFUSALS = [f for name, f in FUNCTIONS.values() if class_of(name, f) is REFUSED]


def test_every_public_function_is_in_a_class():
    for name, f in FUNCTIONS.values():
        assert class_of(name, f), name


def test_what_is_named_has_no_rule_and_does_not_ask_its_arguments():
    named = [f for name, f in FUNCTIONS.values() if CLASS_OF.get(name, OUTSIDE) is not OUTSIDE]

    assert not [f.__name__ for f in named if f in rules or hasattr(f, "_implementation")]


def test_no_function_is_named_twice():
    names = " ".join([*NAMED.values(), *REASONS.values()]).split()

    assert len(names) == len(set(names))


def test_at_least_260_names_are_differentiated():
    names, functions = counts(ledger())

    assert names >= 260
    assert functions >= 250


@pytest.mark.parametrize(
    "f", [f for f in REFUSALS if hasattr(f, "_implementation")], ids=lambda f: f.__name__
)
def test_a_function_that_asks_and_has_no_rule_is_refused_by_name(f):
    with pytest.raises(MissingRuleError, match=rf"np\.(\w+\.)*{f.__name__} has no rule"):
        zyg.gradient(lambda x: bind(f, (x,)), V)


CONVERSIONS = {
    "arange": lambda x: np.arange(0.0, x[0], 0.1),
    "asmatrix": np.asmatrix,
    "bmat": lambda x: np.bmat([[x, x]]),
    "from_dlpack": np.from_dlpack,
    "frombuffer": np.frombuffer,
    "fromiter": lambda x: np.fromiter((v for v in x), float),
    "frompyfunc": lambda x: np.frompyfunc(lambda v: v * v, 1, 1)(x),
    "nested_iters": lambda x: np.nested_iters([x, x], [[0], []]),
}


def test_every_conversion_that_is_named_is_tested():
    assert CONVERSIONS.keys() == set(NAMED[REFUSED].split())


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_function_that_converts_its_arguments_is_refused(name):
    with pytest.raises((ConversionError, MissingRuleError, TypeError, AttributeError)):
        zyg.pullback(CONVERSIONS[name], V)


@pytest.mark.parametrize("module", _without_rules.REFUSED)
def test_a_function_of_scipys_that_is_refused_says_why(module):
    drop_in = import_module(f"zyg.{module}")
    for why, names in _without_rules.REFUSED[module].items():
        for name in names.split():
            f = getattr(drop_in, name, None)
            if isinstance(f, DropIn):
                with pytest.raises(MissingRuleError, match=f"{module}.{name} cannot be") as caught:
                    zyg.gradient(lambda x, f=f: f(x), 1.5)
                assert why in str(caught.value)


def test_functions_of_scipys_that_take_integers_are_constant():
    assert zyg.gradient(lambda x: x * special.roots_legendre(3)[0][2], 2.0)[0] > 0.7
    assert zyg.gradient(lambda x: np.sum(stats.rankdata([x, 1.0, 3.0]) * x), 2.0) == (6.0,)


def test_no_function_of_scipys_is_in_two_tables():
    for module in {*_without_rules.CONSTANT, *_without_rules.REFUSED}:
        tables = [_without_rules.CONSTANT.get(module, "")]
        tables += _without_rules.REFUSED.get(module, {}).values()
        names = " ".join(tables).split()
        assert len(names) == len(set(names)), module


THROUGH = {
    "array": lambda x: np.sum(np.array([x, 1.0, x * x])),
    "asanyarray": lambda x: np.sum(np.asanyarray([x, 1.0])),
    "asarray": lambda x: np.sum(np.asarray(x * np.ones(2)) ** 2),
    "asarray_chkfinite": lambda x: np.sum(np.asarray_chkfinite([x])),
    "ascontiguousarray": lambda x: np.sum(np.ascontiguousarray(x * np.ones((2, 2)).T)),
    "asfortranarray": lambda x: np.sum(np.asfortranarray([[x, 1.0], [2.0, x]])),
    "full": lambda x: np.sum(np.full((2, 2), x)),
    "kaiser": lambda x: np.kaiser(5, x),
    "require": lambda x: np.sum(np.require([x, x * x], None, "C")),
    "fftfreq": lambda x: np.fft.fftfreq(5, x),
    "fromfunction": lambda x: np.fromfunction(lambda i, j: i * x + j * x * x, (2, 3)),
    "rfftfreq": lambda x: np.fft.rfftfreq(5, x),
}


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
@pytest.mark.parametrize("name", NAMED[CALLS].split())
def test_a_function_written_in_operators_is_differentiated_through_them(name):
    zyg.check_gradient(THROUGH[name], 0.7)


def rows(text):
    """The tables of the document: heading -> names."""
    sections = [s.partition("\n") for s in text.split("\n## ")[1:]]
    return {head.rpartition(" (")[0]: set(body.split()) for head, _, body in sections}


def test_the_table_in_the_documentation_is_up_to_date():
    """Every function of the installed NumPy, and SciPy if there is one, stands where it belongs."""
    written, made = TABLE.read_text(), document()
    for head, names in rows(made).items():
        if "differentiated" in head:
            assert names <= rows(written)[head], "python -m zyg.tools.ledger > docs/coverage.md"
    if made.splitlines()[2] == written.splitlines()[2]:  # the same version of NumPy
        ours, theirs = (text.partition("## `scipy")[0] for text in (made, written))
        assert ours == theirs, "python -m zyg.tools.ledger > docs/coverage.md"
