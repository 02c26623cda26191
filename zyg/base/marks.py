"""What modules and functions say of themselves, so that nobody has to know them by their names.

The compiler does not import what stands on the heart, and yet reads functions that call it; whoever
looks at a rule has to know how it is written. So those who are meant put a mark on themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from zyg.errors import is_users

Function = TypeVar("Function", bound=Callable[..., Any])

_computing: set[Any] = set()
_for_any_number: set[str] = set()
_formulas: dict[Any, bool] = {}
_plain: dict[Any, Any] = {}
_stopping: set[Any] = set()
_verbs: dict[Any, str] = {}
_made: WeakKeyDictionary[Any, tuple[str, tuple[Any, ...]]] = WeakKeyDictionary()


class Named:
    """What prints as what it is made by and the name of its function, the same in every process."""

    __slots__ = ()
    made_by: str

    def __repr__(self) -> str:
        f = getattr(self, "__wrapped__", self)
        return f"<{self.made_by} {getattr(f, '__qualname__', type(f).__name__)}>"


def name_of(f: Any) -> str:
    """What messages call a function: its name, or the type of what is called."""
    return str(getattr(f, "__name__", type(f).__name__))


def is_of_users(f: Any) -> bool:
    """Whether a function is the user's, written in Python."""
    return isinstance(f, FunctionType) and is_users(f.__code__.co_filename)


def for_any_number(module: str) -> None:
    """The functions of a module may be called with anything that computes as a number does."""
    _for_any_number.add(module)


def is_for_any_number(f: Any) -> bool:
    # Not by __module__, which functools.wraps gives to the wrapper.
    return getattr(f, "__globals__", {}).get("__name__") in _for_any_number


def formulas(package: str, read: bool = True) -> None:
    """The rules in a package are formulas in NumPy's functions, which compute with any elements.

    The compiler reads what they call, too, if they are in its language.
    """
    _formulas[package] = read


def is_formula(f: Any, read: bool = False) -> bool:
    """Whether a rule's function is one of those, or one that the compiler reads."""
    found = _formulas.get(getattr(f, "__globals__", {}).get("__package__"))
    return found is not None and (found or not read)


def stands_for(plain: Any) -> Callable[[Function], Function]:
    """A decorator: on plain numbers the function is this one of Python's."""

    def mark(function: Function) -> Function:
        _plain[function] = plain
        return function

    return mark


def plain_of(f: Any) -> Any:
    """What `f` stands for, or `f`; TypeError where it is not hashable."""
    return _plain.get(f, f)


def computes(function: Function) -> Function:
    """What does nothing but to compute its result: compiled functions may call it back."""
    _computing.add(function)
    return function


def is_computing(f: Any) -> bool:
    return f in _computing  # TypeError where it is not hashable


def stops_gradient(function: Function) -> Function:
    """A decorator: the result is the argument, as a constant."""
    _stopping.add(function)
    return function


def is_stopping(f: Any) -> bool:
    return isinstance(f, FunctionType) and f in _stopping


def verb(function: Function) -> Function:
    """A decorator: compiled functions that call it know it by its name."""
    _verbs[function] = function.__name__
    return function


def name_of_verb(f: Any) -> str | None:
    try:
        return _verbs.get(f)
    except TypeError:  # not hashable
        return None


def made_by(verb: str, function: Function, *options: Any) -> Function:
    """`function`, which a verb made of the one in its ``__wrapped__``, with these options."""
    _made[function] = verb, options
    return function


def maker_of(f: Any) -> tuple[str, tuple[Any, ...]] | None:
    """The verb, by its name, that made a function, and its options."""
    return _made.get(f) if isinstance(f, FunctionType) else None
