"""autograd's box of arrays."""

from __future__ import annotations

from zyg.autograd._absent import names_from
from zyg.autograd.tracer import Box

__getattr__ = names_from()


class ArrayBox(Box):
    """The class that watched numbers and arrays count as instances of."""
