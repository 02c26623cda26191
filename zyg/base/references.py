"""By how many references an object is known to be nobody else's: it is measured, and not relied on
where threads run at the same time, as there a count is what it was a moment ago.
"""

from __future__ import annotations

import sys


def has_lock() -> bool:
    """Whether Python's lock lets one thread run at a time."""
    asked = getattr(sys, "_is_gil_enabled", None)  # new in Python 3.13
    return asked is None or bool(asked())


def alone(measured: int) -> int:
    """A count of what nobody else holds; without the lock one that nothing has: all is copied."""
    return measured if has_lock() else -1
