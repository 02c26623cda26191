"""NumPy's warnings off, around what would warn of a line that is not the user's: derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# The variable that np.errstate sets, whose making and entering take longer than a small product.
_core: Any = getattr(getattr(np, "_core", None), "umath", None)
_state: Any = getattr(_core, "_extobj_contextvar", None)  # a name of NumPy's own: it may go

# What NumPy does at errors now, how that is set, each by one call in C where that can be, and what
# it is where all is ignored.
errors_now: Callable[[], Any] = np.geterr if _state is None else _state.get
set_errors: Callable[[Any], Any] = (lambda e: np.seterr(**e)) if _state is None else _state.set
with np.errstate(all="ignore"):
    SILENT = errors_now()


class quiet:  # noqa: N801 - as np.errstate
    """``np.errstate(all="ignore")``, at a third of its price.

    An exception from outside, as by Ctrl-C, that comes when it is entered leaves all as it was. One
    that comes at the very beginning of the end of the block does not: there Python calls nothing.
    """

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = errors_now()
        try:
            set_errors(SILENT)
        except BaseException:
            set_errors(self.before)
            raise

    def __exit__(self, *_: object) -> None:
        set_errors(self.before)
