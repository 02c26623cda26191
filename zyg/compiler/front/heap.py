"""What may change while a function runs: the contents of lists, dicts and objects, and variables.

A list is a `Ref` wherever it is held, so that two names of one list see each other's changes. Its
content is in the `Heap`, which is forked where ways part and joined where they meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zyg.compiler.front.structures import Choice, Ref, children


class Heap(dict[Ref, dict[Any, Any]]):
    """The content of each `Ref`: keys and values, attributes, names; of a list its items, at ""."""

    def new(self, kind: Any, content: dict[Any, Any], path: Any = (), fixed: str = "") -> Ref:
        ref = Ref(kind, path, fixed)
        self[ref] = content
        return ref

    def fork(self) -> Heap:
        """Another heap of the same contents, each of which changes on its own."""
        return Heap({ref: dict(content) for ref, content in self.items()})

    def same_as(self, other: Heap, but: Ref | None = None) -> bool:
        """Whether nothing that another had has changed, but for one of its contents."""
        return all(ref is but or _is_same(self.get(ref), content) for ref, content in other.items())

    def counts(self, roots: list[Any]) -> dict[Ref, int]:
        """How often each `Ref` is held, by what is reached from `roots`."""
        found: dict[Ref, int] = {}
        seen: set[Ref] = set()
        todo = [ref for root in roots for ref in refs_in(root)]
        while todo:
            ref = todo.pop()
            found[ref] = found.get(ref, 0) + 1
            if ref not in seen:
                seen.add(ref)
                inside = (r for x in self.get(ref, {}).values() for r in refs_in(x))
                todo += [r for r in inside if r is not ref]  # by itself it is not held
        return found


def refs_in(x: Any) -> Iterator[Ref]:
    """Each `Ref` that a value holds."""
    if isinstance(x, Ref):
        yield x
    elif isinstance(x, Choice):
        for option in x.options:
            yield from refs_in(option)
    elif (inside := children(x)) is not None:
        for part in inside[1]:
            yield from refs_in(part)


def _is_same(one: dict[Any, Any] | None, other: dict[Any, Any]) -> bool:
    return one is not None and len(one) == len(other) and all(
        key in one and one[key] is x for key, x in other.items()
    )  # fmt: skip
