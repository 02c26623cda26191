"""Warnings: of the user's line, whatever of zyg is between."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from zyg.base.caches import Cache
from zyg.base.config import setting
from zyg.errors import PerformanceWarning, user_frame

_warned: Cache[Any, bool] = Cache(1024)


def warn(text: str, category: type[Warning] = PerformanceWarning) -> None:
    """Warn once for each line, as Python counts them."""
    frame = user_frame() or sys._getframe()
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        str(frame.f_globals.get("__name__", "")),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def warn_once(key: Any, text: Callable[[], str]) -> None:
    """Warn once for each `key`, a function or what stands in its way, that it runs in Python."""
    if setting("fallback") == "warn" and not _warned.get(key):
        _warned.put(key, True)
        warn(text())
