"""What a map's tasks are cut into: large batches first, and single tasks last.

So all workers end at about the same time. A task with large operands, or with values that lie on
the cluster, where it is to go, is no part of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zyg.core.strand import strip

MOST = 32  # tasks of a batch
FEW = 8  # tasks that are not cut
_BYTES = 1 << 20  # of the operands of a batch


def cut(tasks: Sequence[Any], threads: int, most: int = MOST) -> Iterator[list[Any]]:
    """The tasks in batches, for workers that have so many threads in all; each alone for none."""
    at, end = 0, len(tasks)
    while at < end:
        share = min(most, (end - at) // (2 * threads)) if threads else 1
        batch, room = [tasks[at]], _BYTES - _weight(tasks[at])
        while len(batch) < share and (room := room - _weight(tasks[at + len(batch)])) >= 0:
            batch.append(tasks[at + len(batch)])
        yield batch
        at += len(batch)


def _weight(task: Any) -> int:
    """Bytes of the operands; of one that goes to where a value is, more than any batch has."""
    if task.request[-1]:
        return _BYTES + 1
    return sum(getattr(strip(x), "nbytes", 8) for x in task._operands)
