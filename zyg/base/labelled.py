"""Arrays with knowledge around them: labels, units, masks, places; containers of other packages.

Whoever takes a value apart asks here for what is known of a class. The packages are loaded by the
programs that use them, and what is known of their classes with the first that is met.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from zyg.base.caches import remembered

# A package, module or class -> the module that registers the kinds of its classes.
LATE_KINDS = {
    "astropy.units": "zyg.interop.astropy",
    "numpy.ma": "zyg.interop.masked",
    "numpy.memmap": "zyg.interop.memmap",
    "pandas": "zyg.interop.pandas",
    "pint": "zyg.interop.pint",
    "scipy.sparse": "zyg.interop.sparse",
    "xarray": "zyg.interop.xarray",
}
# A class -> how its instances are taken apart: a registry, filled when those modules load.
labelled: dict[type, Any] = {}


@remembered(4096)
def labelled_kind(cls: type) -> Any:
    """How instances of a class are taken apart that labels arrays; None for other classes."""
    name = f"{cls.__module__}.{cls.__name__}"
    for package, module in LATE_KINDS.items():
        if name == package or name.startswith(f"{package}."):
            import_module(module)
    kinds = [kind for base, kind in labelled.items() if issubclass(cls, base)]
    return kinds[-1] if kinds else None  # a base is registered before what is made of it


def beside(function: Any, operands: tuple[Any, ...], other: Any) -> Any:
    """An operation with what is not ours: as its kind does it, if it has one, or left to it."""
    kind = labelled_kind(type(other))
    return NotImplemented if kind is None else kind.beside(other, function, operands)
