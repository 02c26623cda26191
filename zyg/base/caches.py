"""What was worked out and may be needed again: bounded, and forgotten when `clear` says so.

A dictionary at the top of a module is a registry, filled when modules are imported, or a `Cache`.

There are no locks. An entry that goes may end an object of the user's, whose last words may be any
program, with kernels of its own; and a fork leaves a lock that another thread holds locked forever.
The steps that matter are single operations of a dictionary, which are atomic. Two threads that make
the same entry at the same time both have theirs, and the later one stays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import ref

Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")

_all: list[ref[Any]] = []  # weakly: a cache may belong to something that goes


class Entries(dict[Key, Made]):
    """What is in a cache: it follows from others, so that nobody looks for a user's values here."""


class Cache(Generic[Key, Made]):
    """The latest entries, `most` of them: the first that came in is the first to go.

    Not the one that was used longest ago, because then each use would have to be noted: `get` is
    that of a dictionary. Whoever has got an entry keeps it, whatever becomes of the cache.
    """

    __slots__ = ("__weakref__", "_entries", "get", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries = Entries[Key, Made]()
        self.get: Callable[[Key], Made | None] = self._entries.get
        _all.append(ref(self, _all.remove))

    def put(self, key: Key, made: Made) -> Made:
        """`made`, which is the entry of `key` from now on."""
        self._entries[key] = made
        if len(self._entries) > self.most:
            for oldest in list(self._entries)[: -self.most]:
                self._entries.pop(oldest, None)  # another thread may have been faster
        return made

    def clear(self) -> None:
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> list[Made]:
        """The entries, first in first."""
        return list(self._entries.values())


def remembered(most: int) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """As functools.lru_cache; a decorator, for functions of what a user owns: classes, code."""

    def decorate(function: Callable[..., Made]) -> Callable[..., Made]:
        known = functools.lru_cache(most)(function)
        _all.append(ref(known, _all.remove))
        return known

    return decorate


def clear() -> None:
    """Empty all caches."""
    for cache in [alive() for alive in list(_all)]:
        if isinstance(cache, Cache):
            cache.clear()
        elif cache is not None:
            cache.cache_clear()
