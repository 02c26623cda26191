"""SciPy's modules, as tables of rules name what is in them.

A function of another version, not yet there or no longer, is there too, so that a table is read to
its end. Nobody can call it; and as nobody has it, its rule is as if it were not there.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Theirs(ModuleType):
    """A module of SciPy's with all that it has, and functions by whatever other name."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        inside = {k: v for k, v in vars(module).items() if not isinstance(v, ModuleType)}
        inside.pop("__getattr__", None)
        self.__dict__.update(inside, _own=module)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        value = getattr(self._own, name, None)
        if value is None and hasattr(self, "__path__") and find_spec(full):
            value = import_module(full)
        if isinstance(value, ModuleType):
            value = _Theirs(value)
        elif value is None:
            value = _missing(self.__name__, name)
        setattr(self, name, value)
        return value


def _missing(module: str, name: str) -> Any:
    def missing(*args: Any, **kwargs: Any) -> Any:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    missing.__module__, missing.__name__ = module, name
    return missing


scipy: Any = _Theirs(import_module("scipy"))


def __getattr__(name: str) -> Any:
    if name not in scipy.__all__:
        raise AttributeError(name)
    return getattr(scipy, name)
