"""What a program may ask: whether a value is watched, and how many gradients run."""

from __future__ import annotations

from typing import Any

from zyg.base.marks import verb
from zyg.core.strand import WATCHED, active, has_left


@verb
def is_traced(x: Any) -> bool:
    """Whether a running gradient watches `x`.

    Parameters
    ----------
    x
        Anything. Of a list or another structure it is False: ask of what is in it.

    Returns
    -------
    bool
        Never raises. A value of a gradient that has ended is a plain one.

    Examples
    --------
    >>> import zyg
    >>> zyg.is_traced(1.0), zyg.gradient(lambda x: x * zyg.is_traced(x), 3.0)
    (False, (1.0,))
    """
    if type(x) not in WATCHED:
        return False
    if x.strand.open or has_left(x):
        return True
    while type(x) in WATCHED and not x.strand.open:
        x = x.primal
    return type(x) in WATCHED


def nestlevel() -> int:
    """How many gradients are being taken around this line, in this task or thread.

    Returns
    -------
    int
        0 outside of any. Never raises.

    Examples
    --------
    >>> import zyg
    >>> zyg.nestlevel(), zyg.gradient(lambda x: x * zyg.nestlevel(), 3.0)
    (0, (1.0,))
    """
    return sum(strand.open for strand in active.get())  # a task may outlive a gradient
