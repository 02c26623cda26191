"""Tables for notebooks, in plain HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable


def table(caption: str, head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A table with a caption; whatever is in it is escaped."""
    titles = "".join(f"<th>{html.escape(str(x))}</th>" for x in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(str(x))}</td>' for x in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )


def preformatted(text: str) -> str:
    """Text as it stands."""
    return f"<pre>{html.escape(text)}</pre>"
