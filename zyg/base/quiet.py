"""NumPy's warnings off, around what would warn of a line that is not the user's: derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

# The variable that np.errstate sets, whose making and entering take longer than a small product.
_core: Any = getattr(getattr(np, "_core", None), "umath", None)
_state: Any = getattr(_core, "_extobj_contextvar", None)  # a name of NumPy's own: it may go
if _state is not None:
    with np.errstate(all="ignore"):
        _IGNORED = _state.get()


class _Quiet:
    """``np.errstate(all="ignore")``, at a third of its price."""

    __slots__ = ("token",)

    def __enter__(self) -> None:
        self.token = _state.set(_IGNORED)

    def __exit__(self, *_: object) -> None:
        _state.reset(self.token)


def _by_errstate() -> Any:
    return np.errstate(all="ignore")


quiet: Any = _by_errstate if _state is None else _Quiet
