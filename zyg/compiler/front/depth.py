"""Room for the calls of a reader, which are some thirty deep for each call that it follows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENOUGH = 8_000
_lock = threading.Lock()
_readers = 0  # that are at work
_before = 0  # the limit, when there was none


@contextmanager
def room_for_calls() -> Iterator[None]:
    """While it lasts, Python's calls may be deep; the last one to leave restores the limit."""
    global _before, _readers
    with _lock:
        if not _readers:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_ENOUGH, _before))
        _readers += 1
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if not _readers:
                sys.setrecursionlimit(_before)
