"""What an exception has ended, and kept from being undone: that is found on the next way in."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

# What is to be closed, noted by one call of C before anything else is done about it: no exception
# from outside comes in between. To close it again does what is left.
unfinished: list[Any] = []


def finish() -> None:
    """Close what exceptions have ended."""
    for one in [*unfinished]:
        one.close()
        with suppress(ValueError):  # another thread has
            unfinished.remove(one)
