"""What was raised where it could not go on, inside machine code: raised again outside, once."""

from __future__ import annotations

from _thread import _local


class _Late(_local):
    """Of this thread: an interrupt, for one."""

    error: BaseException | None = None


_late = _Late()


def keep_for_later(error: BaseException) -> None:
    """Keep what cannot be raised here."""
    _late.error = error


def raise_late() -> None:
    """Raise what was kept, if anything."""
    error, _late.error = _late.error, None
    if error is not None:
        raise error
