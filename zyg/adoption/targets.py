"""What may be adopted: a module written in Python, by itself or by its name."""

from __future__ import annotations

import difflib
import pkgutil
import sys
from contextlib import suppress
from importlib.machinery import BuiltinImporter, ModuleSpec
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Any

from zyg.adoption.spaces import Target, is_python, names_of
from zyg.base.adoptable import REFUSED
from zyg.errors import AdoptionError


def target_of(asked: Any, caller: FrameType) -> Target:
    """The target that is asked for; raises AdoptionError."""
    names, growing, asked = None, False, _name_of_stand_in(asked)
    if isinstance(asked, ModuleType):
        names = names_of(asked)
    elif not isinstance(asked, str):
        raise AdoptionError(
            f"zyg.adopt takes modules and names of modules, not {_shown(asked)}.",
            "zyg.adopt replaces names inside modules.",
            "pass a module or its name.",
        )
    elif asked == caller.f_globals.get("__name__"):  # which need not be a module that was imported
        names, growing = caller.f_globals, True
    elif isinstance(sys.modules.get(asked), ModuleType):
        names = names_of(sys.modules[asked])
    name = str(asked if names is None else names.get("__name__"))
    if why := REFUSED.get(name.partition(".")[0]):
        raise AdoptionError(
            f"{name} cannot be adopted.", why, "adopt the module that uses it, by its own name."
        )
    if not is_python(_found(name) if names is None else names):
        raise AdoptionError(
            f"{name} cannot be adopted: it is compiled, not written in Python.",
            "the functions that compiled code calls cannot be replaced.",
            "adopt the Python modules that call it, or give its functions rules with zyg.adjoint.",
        )
    return Target(name, names, growing=growing)


def _name_of_stand_in(asked: Any) -> Any:
    """Of an object that stands for a module where that is imported from, as `colour`, its name."""
    name = None if isinstance(asked, (str, ModuleType)) else getattr(asked, "__name__", None)
    return name if isinstance(name, str) and sys.modules.get(name) is asked else asked


def _shown(value: Any) -> str:
    kind = type(value).__name__
    return (
        f"{getattr(value, '__name__', '')} ({kind})" if callable(value) else f"{value!r} ({kind})"
    )


def _found(name: str) -> dict[str, Any]:
    """What is known of a module that is not imported yet."""
    spec: ModuleSpec | None = None
    with suppress(ImportError, ValueError):  # no such package; an empty or a relative name
        spec = find_spec(name)
    if spec is None:
        raise AdoptionError(
            f"there is no module {name!r}{_alike(name)}.",
            "it is not imported, and it is not on sys.path.",
            "check the name; use the one that you import, which may differ from pip's.",
        )
    file = spec.origin if spec.has_location else None
    loader = BuiltinImporter if spec.origin == "built-in" else spec.loader
    return {"__name__": name, "__loader__": loader, "__file__": file}


def _alike(name: str) -> str:
    """Names of modules that look like it."""
    parent, _, last = name.rpartition(".")
    path = getattr(sys.modules.get(parent), "__path__", ()) if parent else None
    there = {m.name for m in pkgutil.iter_modules(path)}
    if not parent:
        there |= {n for n in list(sys.modules) if "." not in n}
    close = difflib.get_close_matches(last, there, 3)
    found = " and ".join(f"{parent}.{n}" if parent else n for n in close)
    return f"; there is {found}" if found else ""
