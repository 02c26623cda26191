"""What the zoo is made of: libraries, and calls of them as their users write them.

A case is a function in plain NumPy that calls an unchanged library, with the arguments at which it
is differentiated. It imports the library itself, as not every library is installed everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """One call of a library.

    step: of the differences, relative to an argument's largest element.
    tolerance: how far the gradient may be from them, relative to its largest element; cases whose
        primal iterates until a bound of its own, or goes by a table, say how rough they are.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    step: float
    tolerance: float


@dataclass(frozen=True)
class Library:
    """A library by its name in the package index, and the packages that are adopted for it.

    gate: whether it is among the few that every change is tried on.
    """

    name: str
    field: str
    packages: tuple[str, ...]
    gate: bool
    cases: list[Case] = field(default_factory=list)

    def __call__(
        self, *args: Any, step: float = 1e-3, tolerance: float = 1e-6
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator: the function, with these arguments, is a case of this library."""

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            self.cases.append(Case(function.__name__, function, args, step, tolerance))
            return function

        return added


_LIBRARIES: dict[str, Library] = {}


def library(name: str, field: str, *packages: str, gate: bool = False) -> Library:
    """A library of the zoo, to which its file adds cases."""
    _LIBRARIES[name] = Library(name, field, packages, gate)
    return _LIBRARIES[name]


def libraries() -> dict[str, Library]:
    """All libraries of the zoo, with the cases that the files beside this one add."""
    for path in sorted(Path(__file__).parent.glob("cases_*.py")):
        import_module(f".{path.stem}", __package__)
    return dict(sorted(_LIBRARIES.items(), key=lambda item: (item[1].field, item[0].lower())))
