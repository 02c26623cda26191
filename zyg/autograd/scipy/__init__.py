"""SciPy as programs for autograd call it: the modules of `zyg.scipy`.

signal                      convolutions along some axes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zyg.scipy as _zyg_scipy
from zyg.autograd._absent import absent

if TYPE_CHECKING:
    from scipy import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name == "signal":
        from zyg.autograd.scipy import signal

        return signal
    try:
        return getattr(_zyg_scipy, name)
    except AttributeError:
        pass
    return absent(__name__, name)
