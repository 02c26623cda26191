"""What to install where a library is missing, and which are too old."""

from __future__ import annotations

import re


def installing(extra: str) -> str:
    """The commands that install an extra of zyg's: from a checkout, and once there is a release."""
    return f"pip install -e '.[{extra}]' in a checkout of zyg, or else pip install 'zyg[{extra}]'"


def demand_version(library: str, found: str, least: str) -> None:
    """Refuse a library that is older than those whose behaviour is known."""
    numbers = [[int(n) for n in re.findall(r"\d+", text)[:3]] for text in (found, least)]
    if numbers[0] < numbers[1]:
        raise ImportError(f"zyg needs {library} {least} or newer; {found} is installed.")
