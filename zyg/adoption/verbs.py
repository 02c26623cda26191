"""`adopt` and `adopted`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from types import ModuleType
from typing import Any

from zyg.adoption import spaces
from zyg.adoption.imports import listen
from zyg.adoption.originals import learn
from zyg.adoption.spaces import Target
from zyg.adoption.targets import target_of
from zyg.base.borders import border
from zyg.base.config import is_entered
from zyg.errors import AdoptionError


class Adoption:
    """What `adopt` returns: some modules, adopted until `release`, or for a ``with`` block."""

    def __init__(self, targets: list[Target]) -> None:
        self._targets = targets
        self._asks = False  # for them when its block begins
        self._blocks: list[Generator[None, None, None]] = []

    def release(self) -> None:
        """Give back what these modules had, but for modules that another adoption asks for too.

        What a module has bound anew since stays so. Releasing twice does nothing. Gradients that
        are running keep what they have: values that were made stay watched.
        """
        with spaces.lock:
            spaces.drop(self._targets)
            listen(bool(spaces.asked()))

    @property
    def modules(self) -> dict[str, list[str]]:
        """The adopted modules, and the names in each that are or hold drop-ins."""
        with spaces.lock:
            wanted = [target for target in self._targets if target in spaces.asked()]
            return {space.name: space.adopted() for space in spaces.spaces_of(wanted)}

    def ask(self) -> None:
        """Have the modules adopted."""
        learn()
        try:
            with spaces.lock:
                listen(True)
                spaces.ask(self._targets)
        except BaseException:
            try:
                self.release()
            finally:
                self.release()
            raise

    def __enter__(self) -> Adoption:
        inside = Adoption(self._targets)  # for its block must not hold what holds it
        self._blocks.append(inside._released_at_end(self._asks))
        try:
            next(self._blocks[-1])
            return inside
        except BaseException:
            self._blocks.pop().close()
            raise

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().close()

    def _released_at_end(self, asks: bool) -> Generator[None, None, None]:
        """It ends when it is closed, or when an exception from outside keeps it from that."""
        try:
            if asks:
                self.ask()
            yield
        finally:
            try:
                self.release()
            finally:
                self.release()

    def __repr__(self) -> str:
        rows = [f"  {name}: {', '.join(names) or '-'}" for name, names in self.modules.items()]
        return "\n".join(["adopted:", *(rows or ["  nothing"])])


@border
def adopt(*modules: ModuleType | str) -> Adoption:
    """Have modules compute with zyg's numpy, math and SciPy, as if they had been written for it.

    While a gradient runs, in the namespace of each module, and of the modules in it if it is a
    package, also of those that are imported later, whatever *is* numpy, math, a module of SciPy, or
    a function of theirs, is replaced by its drop-in; so it is in class bodies, defaults, closures,
    containers and partial calls; and ``float(x)`` keeps the derivative. While none runs, the module
    is as it was. NumPy, classes and compiled code stay. ``adopt(__name__)`` is for one's own
    script.

    Parameters
    ----------
    *modules : module or str
        Modules and packages, or their names.

    Returns
    -------
    Adoption
        Its ``release()`` gives everything back, and so does the end of a ``with`` statement. A
        module that is adopted twice is released twice.

    Raises
    ------
    AdoptionError
        A module does not exist, is compiled, or is NumPy, SciPy or zyg itself. Then nothing is
        adopted.

    Examples
    --------
    >>> import types, zyg
    >>> library = types.ModuleType("library")  # or `import library`
    >>> exec("from math import exp\\ndef growth(t): return exp(2 * t)", vars(library))
    >>> with zyg.adopt(library):
    ...     zyg.gradient(library.growth, 0.0)
    (2.0,)

    """
    caller = sys._getframe(2)  # beyond the border
    if not modules:
        raise AdoptionError(
            "zyg.adopt was given nothing to adopt.",
            "it takes modules, or their names.",
            'write zyg.adopt("package"), or zyg.adopt(__name__) for this module.',
        )
    adoption = Adoption([target_of(module, caller) for module in modules])
    if is_entered(caller):  # by a with statement, which ends what it has begun
        adoption._asks = True
    else:
        adoption.ask()
    return adoption


def adopted() -> Adoption:
    """All that is adopted now: printed, it tells which modules, and which names in each.

    Never raises.

    Returns
    -------
    Adoption
        Its ``release()`` gives everything back, whoever adopted it.

    Examples
    --------
    >>> import types, zyg
    >>> library = types.ModuleType("library")
    >>> exec("import math, numpy as np", vars(library))
    >>> zyg.adopt(library)
    adopted:
      library: math, np
    >>> zyg.adopted().release()
    >>> zyg.adopted()
    adopted:
      nothing

    """
    return Adoption(spaces.asked())
