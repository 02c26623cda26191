"""Calls like one before: found by one look into a dictionary, and noted without the general way.

What is known of a call depends on the code of the function, and on the dtype, shape and strides of
each operand. Whether what the function takes from outside is what it was then is seen at each call,
and no array is remembered, nor any value but those that its kernel has in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from zyg.base.caches import Cache
from zyg.base.registry import rules
from zyg.broadcasting.calls import (
    forward,
    kernel_pullback,
    launched,
    plan_of,
    settings_of_plans,
)
from zyg.compiler.ir import type_of
from zyg.core.entries import note
from zyg.core.kept import keep
from zyg.core.protection import memory_of_lent
from zyg.core.strand import ARRAYS, Strand
from zyg.kernels.scalar import Read
from zyg.watched.arrays import LentArray

_MOST = 8  # of the same key: functions that differ in what they take from outside
_NUMBERS = (float, int, bool, np.float64, np.float32)


class Site:
    """A function that was read, and what else calls on operands of these layouts share."""

    __slots__ = ("captured", "captures", "floating", "plan", "read", "version")

    def __init__(self, read: Read, captured: list[type]) -> None:
        self.read, self.captures, self.version = read, read.captures, rules.version
        self.captured = captured  # the types of those of which numbers are operands
        outputs = read.kernel.program.outputs
        self.floating = len(outputs) > 1 or type_of(outputs[0]) == "float"
        self.plan: Any = None  # of the value alone


_sites: Cache[Any, tuple[Site, ...]] = Cache(4096)


class Found(NamedTuple):
    """What of a call decides whether it is like one before, and what it is done with."""

    key: tuple[Any, ...]
    operands: list[Any]  # plain
    strand: Strand | None
    watched: dict[int, Any]  # by their places


def look(f: Callable[..., Any], arrays: Sequence[Any], mode: str) -> Found | None:
    """A call of the usual kind; None if an operand is anything but a number, a plain array, or one
    that a single strand watches which is the only one of its level.
    """
    if type(f) is not FunctionType:
        return None
    key: list[Any] = [f.__code__, mode, *settings_of_plans()]
    strand, watched, operands = None, {}, [*arrays]
    for k, x in enumerate(arrays):
        kind = type(x)
        if kind in ARRAYS:
            if x.strand is not (strand or x.strand) or not x.strand.alone or x.strand.dual:
                return None
            strand, watched[k] = x.strand, x
            operands[k] = x = memory_of_lent(x) if kind is LentArray else x.primal
            kind = type(x)
        if kind is ndarray:
            key += (x.dtype, x.shape, x.strides, x.flags.aligned)
        elif kind in _NUMBERS:
            key.append(kind)
        else:
            return None
    return Found(tuple(key), operands, strand, watched)


def call_again(f: Callable[..., Any], found: Found) -> Any:
    """The result of a call like one before; None, which no call returns, if there was none."""
    for site in _sites.get(found.key) or ():
        if site.version == rules.version and site.captures.fits(f):
            operands = found.operands
            if site.captured:
                captured = site.captures.values(f)
                if [*map(type, captured)] != site.captured:
                    continue
                operands = operands + captured
            if site.read.kernel.bounds is not None:
                site.read.kernel.bounds.demand(operands)
            if found.strand is None:
                if site.plan is None:
                    site.plan = plan_of(site.read.kernel, operands)
                return site.read.make(launched(site.plan, operands)[0])
            return _watched(site, operands, found) if site.floating else None
    return None


def remember(f: Callable[..., Any], found: Found, read: Read) -> None:
    """Let the next call like this one be found."""
    captured = [*map(type, read.captures.values(f))]
    if all(kind in _NUMBERS for kind in captured):
        others = (_sites.get(found.key) or ())[: _MOST - 1]
        _sites.put(found.key, (Site(read, captured), *others))


def _watched(site: Site, operands: list[Any], found: Found) -> Any:
    """The result, noted on the strand: what `kernel_adjoint` does by way of `bind`."""
    strand: Any = found.strand
    y, back, by_operands = forward(site.read.kernel, tuple(found.watched), operands, found.key[1])
    back.once = strand.memory.once
    if by_operands or back.once:
        back.operands = operands
        for k, x in enumerate(found.operands):
            if k in found.watched:
                found.watched[k].unread = False
                operands[k] = found.watched[k].primal
            elif type(x) is np.ndarray:
                operands[k] = keep(strand, x)
    slots = {k: x.slot for k, x in found.watched.items()}
    made = note(strand, tuple(y) if len(y) > 1 else y[0], kernel_pullback, back, slots)
    return site.read.make([*made] if len(y) > 1 else [made])
