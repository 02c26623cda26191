"""From the source of a whole function, which may call zyg's verbs, to its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zyg.compiler.front import whole
from zyg.compiler.front.captures import Captures
from zyg.compiler.front.kinds import Kind
from zyg.compiler.front.whole import Whole, WholeReader
from zyg.compiler.inside import verbs


def read_whole(
    f: Callable[..., Any],
    kinds: Sequence[Kind],
    keywords: Mapping[str, Kind],
    captures: Captures,
) -> Whole:
    """The program of `f` for arguments of these kinds: see `front.whole`."""
    return whole.read_whole(f, kinds, keywords, captures, Reader)


class Reader(WholeReader):
    """What the functions that make up one program have in common, zyg's verbs among them."""

    def call(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        found = verbs.called(self, f, args, kwargs)
        return super().call(f, args, kwargs) if found is NotImplemented else found

    def of_rule(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return verbs.of_rule(self, f, args, kwargs)
