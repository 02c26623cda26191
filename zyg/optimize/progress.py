"""A bar that tells how far an optimization is, drawn by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from zyg.core.strand import strip


@contextmanager
def bar(shown: bool, what: str, total: int | None = None) -> Iterator[Callable[[Any], None] | None]:
    """What to call with each value, if a bar is to be shown."""
    if not shown:
        yield None
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed
    except ImportError:
        raise ImportError(
            "progress=True draws a bar with rich, which is not installed: pip install rich"
        ) from None
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[at]}")
    with Progress(*columns, Elapsed()) as drawn:
        task = drawn.add_task(what, total=total, at="")

        def tell(value: Any) -> None:
            drawn.update(task, advance=1, at=f"{_size(value):.6g}")

        yield tell


def _size(value: Any) -> float:
    """One number for what a solver is told: that number, or the norm of an array."""
    return float(np.linalg.norm(strip(value[0] if isinstance(value, tuple) else value)))
