"""The order of axes in memory, as NumPy chooses it for new arrays.

An *order* is the axes from the outermost, whose steps are the longest, to the innermost. The
*ranks* of an array say by which axis steps are longer: the greater; 0 where there is no step, as of
what is broadcast; None along an axis of one element, whose step nothing follows from.
"""

from __future__ import annotations

from collections.abc import Sequence

Order = tuple[int, ...]
Ranks = tuple[int | None, ...]


def in_c(ndim: int) -> Order:
    return tuple(range(ndim))


def of_order(order: Sequence[int]) -> tuple[int, ...]:
    """The ranks of an array whose elements are one after the other in an order."""
    ranks = [0] * len(order)
    for k, axis in enumerate(order):
        ranks[axis] = len(order) - k
    return tuple(ranks)


def sorted_by(ranks: Ranks) -> Order:
    """The order of a copy, as of np.copy and zeros_like."""
    return tuple(sorted(range(len(ranks)), key=lambda k: -(ranks[k] or 0)))


def iterated(ndim: int, operands: Sequence[Ranks]) -> Order:
    """The order of what np.nditer allocates, as for ufuncs: where operands differ it is C's."""
    found = [*range(ndim)][::-1]  # from the innermost
    for k in range(1, ndim):
        axis, place = found[k], k
        for j in reversed(range(k)):
            pairs = [(x[found[j]], x[axis]) for x in operands if x[found[j]] and x[axis]]
            if not all(inner > outer for inner, outer in pairs):
                break
            place = j if pairs else place
        found.insert(place, found.pop(k))
    return tuple(found[::-1])


def joined(ndim: int, parts: Sequence[Ranks]) -> Order:
    """The order of what np.concatenate makes."""
    found = [*range(ndim)]
    for k in range(1, ndim):
        axis, place = found[k], k
        for j in reversed(range(k)):
            pairs = [(x[axis], x[found[j]]) for x in parts if None not in (x[axis], x[found[j]])]
            if not all(inner > outer for inner, outer in pairs):
                break
            place = j if pairs else place
        found.insert(place, found.pop(k))
    return tuple(found)
