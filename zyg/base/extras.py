"""What to install where a library is missing."""

from __future__ import annotations


def installing(extra: str) -> str:
    """The commands that install an extra of zyg's: from a checkout, and once there is a release."""
    return f"pip install -e '.[{extra}]' in a checkout of zyg, or else pip install 'zyg[{extra}]'"
