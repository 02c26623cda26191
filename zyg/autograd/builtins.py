"""Python's containers and questions, as they are: zyg needs none of its own.

In a gradient, a list that holds watched numbers is a list, and a watched array counts as an array.
"""

from __future__ import annotations

from builtins import dict as dict
from builtins import isinstance as isinstance
from builtins import list as list
from builtins import tuple as tuple
from typing import Any

from zyg.autograd._absent import names_from
from zyg.autograd.tracer import Box

__getattr__ = names_from()


class SequenceBox(Box):
    """autograd's box of lists and tuples, for annotations: here they are what they are."""


class DictBox(Box):
    """autograd's box of dicts, for annotations: here they are what they are."""


def type(x: Any) -> Any:
    """The type of the plain value of `x`."""
    return x.__class__
