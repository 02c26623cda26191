"""Sums of cotangents on a cluster: in a tree whose shape depends on their number alone.

So the last bits of a sum do not depend on who was faster, nor on where its parts are. What goes
back in one place is one task there, which makes those sums of the tree whose parts all are in it,
each as soon as it can; other sums are tasks of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from zyg.base.containers import Engine

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Work(Engine):
    """A task there, which makes one value, or a list of several: each has a key here."""

    def __init__(self, made: Any, keys: Iterable[Any]) -> None:
        self.made = made  # its future, when it has departed
        self.results: dict[Any, None] = dict.fromkeys(keys)

    def paths(self, keys: Iterable[Any]) -> list[tuple[int, ...]]:
        """Where some of the values are in what it makes."""
        if len(self.results) == 1:
            return [() for _ in keys]
        places = {key: (k,) for k, key in enumerate(self.results)}
        return [places[key] for key in keys]


class Node(Engine):
    """A value that some work makes: a cotangent of one of these `rows`, or a sum of them.

    The sum `of` two that two works make has a work when it departs; `height` such are below it.
    """

    def __init__(
        self, work: Any, key: Any, rows: Sequence[int] = (), of: Sequence[Any] = (), height: int = 0
    ) -> None:
        self.work, self.key, self.rows, self.of, self.height = work, key, rows, of, height


class Back(Work):
    """What goes back in one task there: the cotangents of several, and sums of these."""

    def __init__(self, returns: Sequence[Any]) -> None:
        super().__init__(None, ())
        self.returns = returns
        self.sums: list[tuple[Any, Any, Any, Sequence[int]]] = []  # key, of which, of which rows
        for row, one in enumerate(returns):
            one.nodes = {place: Node(self, (row, place), [row]) for place in one.stay}
            one.begin(self, [(row, place) for place in one.places])
            self.results |= dict.fromkeys([*one.keys, *(node.key for node in one.nodes.values())])

    def add(self, *of: Node) -> Node:
        """The sum of two, of which nothing else is made."""
        node = Node(self, len(self.sums), [row for part in of for row in part.rows])
        one, two = (part.key for part in of)
        self.sums.append((node.key, one, two, node.rows))
        del self.results[one], self.results[two]
        self.results[node.key] = None
        return node

    def departed(self, made: Any) -> None:
        """It has a future; what it is of, which knows it, is no longer held."""
        self.made, self.returns = made, ()

    def program(self) -> list[tuple[int, list[Any]]]:
        """In turn: which row goes back, and which sums can be made then."""
        order = dict.fromkeys(row for *_, rows in reversed(self.sums) for row in rows)
        order |= dict.fromkeys(range(len(self.returns)))
        turns: dict[int, list[Any]] = {row: [] for row in order}
        place = {row: k for k, row in enumerate(order)}
        for *keys, rows in self.sums:
            turns[max(rows, key=place.__getitem__)].append(keys)
        return [*turns.items()]


def tree(given: Sequence[Node], join: Callable[[Node, Node], Node]) -> Node:
    """The sum of all: the first half with the second, and so on."""
    while len(given) > 1:
        half = (len(given) + 1) // 2
        given = [*map(join, given, given[half:]), *given[len(given) // 2 : half]]
    return given[0]


class Sums(Engine):
    """Sums that depart together."""

    def __init__(self) -> None:
        self.levels: defaultdict[int, list[Node]] = defaultdict(list)

    def plan(self, given: Sequence[Node], last: bool) -> Node:
        """The sum of some values; `last` if nobody is going to ask for any of them."""

        def join(one: Node, two: Node) -> Node:
            work = one.work
            if last and work is two.work and isinstance(work, Back) and work.made is None:
                return work.add(one, two)
            node = Node(None, None, of=(one, two), height=1 + max(one.height, two.height))
            self.levels[node.height].append(node)
            return node

        return tree(given, join)

    def depart(self, each: Callable[..., Sequence[Any]]) -> None:
        """Make those that are no part of other work: `each` has a function run on rows.

        One task makes all that are of the same two.
        """
        for _, level in sorted(self.levels.items()):
            works, rows = [], []
            for pair, nodes in grouped(level, lambda node: tuple(x.work for x in node.of)):
                paths = [
                    work.paths(node.of[k].key for node in nodes) for k, work in enumerate(pair)
                ]
                rows.append((*(work.made for work in pair), [*zip(*paths, strict=True)]))
                works.append(Work(None, range(len(nodes))))
                for key, node in enumerate(nodes):
                    node.work, node.key = works[-1], key
            for work, made in zip(works, each(added, *columns(rows)), strict=True):
                work.made = made


def grouped(values: Iterable[T], key: Callable[[T], K]) -> list[tuple[K, list[T]]]:
    """The values by their keys, in the order of the first of each."""
    groups: dict[K, list[T]] = {}
    for x in values:
        groups.setdefault(key(x), []).append(x)
    return [*groups.items()]


def columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Of rows of one length, at least one."""
    return [*map(list, zip(*rows, strict=True))]


# What workers do


def picked(found: Any, path: Sequence[int]) -> Any:
    """A part of a result, or all of it."""
    for place in path:
        found = found[place]
    return found


def picked_all(found: Any, paths: Sequence[Sequence[int]]) -> list[Any]:
    """Some parts of a result."""
    return [picked(found, path) for path in paths]


def added(one: Any, two: Any, paths: Sequence[Any]) -> Any:
    """Sums of parts of two results, each of which may be nothing."""
    return _alone([plus(picked(one, i), picked(two, j)) for i, j in paths])


def went_back(back: Callable[[int], Sequence[Any]], program: Sequence[Any], keys: Any) -> Any:
    """The values under some keys: what `back` makes of each row, and the sums of a program."""
    values: dict[Any, Any] = {}
    for row, sums in program:
        values |= {(row, k): c for k, c in enumerate(back(row))}
        for key, one, two in sums:
            values[key] = plus(values.pop(one), values.pop(two))
    return _alone([values[key] for key in keys])


def plus(a: Any, b: Any) -> Any:
    """A sum of two, each of which may be nothing."""
    return a if b is None else b if a is None else a + b


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values
