"""Docstrings of public functions in NumPy's style: sections, and every parameter by its name."""

import inspect
import re

import pytest

import zyg
from zyg.base import config
from zyg.broadcasting.verbs import Elementwise
from zyg.compiling.functions import Compiled

FUNCTIONS = {
    f"{module.__name__}.{name}".removeprefix("zyg."): f
    for module in (zyg, zyg.optimize)
    for name, f in inspect.getmembers(module, callable)
    if not name.startswith("_") and not isinstance(f, type)
} | {name: getattr(zyg, name) for name in zyg.__all__ if callable(getattr(zyg, name))}
FUNCTIONS = {name: f for name, f in FUNCTIONS.items() if not isinstance(f, type)}


BRIDGES = {
    "torch": ["wrap", "function"], "jax": ["wrap", "function"], "numba": ["wrap"],
    "distributed": ["wrap_client"],
}  # fmt: skip


def sections(f):
    """The text under each heading."""
    parts = re.split(r"^(\w[\w ]*)\n-+\n", inspect.getdoc(f), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_docstring_has_sections_and_names_every_parameter(name):
    raises = demand_sections(FUNCTIONS[name]) or "ever raises" in FUNCTIONS[name].__doc__
    assert raises or name.startswith("optimize.")  # optimizers only note what they are given


@pytest.mark.parametrize("method", [Compiled.source, Elementwise.one_pass])
def test_docstrings_of_methods_too(method):
    assert demand_sections(method)


@pytest.mark.parametrize("library", BRIDGES)
def test_docstrings_of_bridges_too(library):
    pytest.importorskip(library, reason="in the extra interop")
    for name in BRIDGES[library]:
        assert demand_sections(getattr(getattr(zyg, library), name))


def demand_sections(f):
    """Demand the sections, with a row for each parameter; says whether there is one of errors."""
    found = sections(f)
    rows = re.findall(
        r"^(\*{0,2}\w+(?:, \w+)*)(?: :.*)?$", found.get("Parameters", ""), re.MULTILINE
    )

    named = [part.lstrip("*") for row in rows for part in row.split(", ")]

    assert named == [name for name in inspect.signature(f).parameters if name != "self"]
    assert "Examples" in found
    assert "Returns" in found
    return "Raises" in found


def test_every_setting_has_a_type_and_a_row():
    rows = re.findall(r"^(\w+) : ", sections(zyg.config)["Parameters"], re.MULTILINE)

    assert {*rows} == config.Options.__annotations__.keys()
    assert {*rows} == {*config.settings()}
