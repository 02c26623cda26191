"""Operators that a text defines, of which there is one for several: compiled when first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.errors import OWN_TEXT


def define_by_text(cls: type, names: Sequence[str], text: str, scope: dict[str, Any]) -> None:
    """Give a class the operators that a text defines, which sees what is in `scope`.

    To compile the texts of all operators takes a tenth of ``import zyg``.
    """

    def define() -> None:
        exec(compile(text, OWN_TEXT, "exec"), scope)
        for name in names:
            setattr(cls, name, scope[name])

    for name in names:
        setattr(cls, name, _at_first(name, define, scope))


def _at_first(name: str, define: Callable[[], None], scope: dict[str, Any]) -> Callable[..., Any]:
    def operator(x: Any, other: Any) -> Any:
        if name not in scope:  # else who looked the operator up before has called it since
            define()
        return scope[name](x, other)

    return operator
