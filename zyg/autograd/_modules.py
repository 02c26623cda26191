"""Imports: modules of autograd's that have no file here, and the name ``autograd`` itself."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import Any

from zyg.autograd._absent import no_module
from zyg.errors import AdoptionError

_OURS = "zyg.autograd"
_LIBRARIES = (f"{_OURS}.numpy.", f"{_OURS}.scipy.")


class _Finder:
    """Finds what is imported as a module of `zyg.autograd` and has no file there.

    Of its NumPy and SciPy it is the module of `zyg.numpy` or `zyg.scipy`, or what these have by
    that name: a distribution.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if not name.startswith(f"{_OURS}.") or parent not in sys.modules:
            return None
        if PathFinder.find_spec(name, sys.modules[parent].__path__):  # asked where it is not
            return None
        if not name.startswith(_LIBRARIES) or not hasattr(sys.modules[parent], last):
            raise no_module(name)
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """None: a new one, which nobody will see."""

    def exec_module(self, module: Any) -> None:
        parent, _, last = module.__name__.rpartition(".")
        sys.modules[module.__name__] = getattr(sys.modules[parent], last)


class _Alias(_Finder):
    """Finds the modules of ``autograd``, once that is `zyg.autograd`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        ours = sys.modules.get("autograd") is sys.modules[_OURS]
        if not (ours and name.startswith("autograd.")):
            return None
        find_spec(f"zyg.{name}")  # which raises where there is none
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def exec_module(self, module: Any) -> None:
        sys.modules[module.__name__] = import_module(f"zyg.{module.__name__}")


def install() -> None:
    """Let ``import autograd``, by any library, import `zyg.autograd`, in this process.

    Raises
    ------
    AdoptionError
        autograd itself has been imported: libraries hold its functions.

    Examples
    --------
    >>> import zyg.autograd
    >>> zyg.autograd.install()
    >>> from autograd import grad
    >>> import autograd.numpy as np
    >>> grad(np.sin)(0.0)
    np.float64(1.0)
    """
    if sys.modules.get("autograd", sys.modules[_OURS]) is not sys.modules[_OURS]:
        raise AdoptionError(
            "zyg.autograd.install() came after the import of autograd.",
            "what has imported autograd's functions keeps them.",
            "call it before the first import of autograd, and of libraries that import it.",
        )
    sys.modules["autograd"] = sys.modules[_OURS]
    if _ALIAS not in sys.meta_path:
        sys.meta_path.insert(0, _ALIAS)  # before what would load copies of our files


_ALIAS = _Alias()
sys.meta_path.append(_Finder())  # after what finds files
