"""Text of one watched number: a str for everything but becoming a number again."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from zyg.base.structure import is_number
from zyg.core.questions import is_traced
from zyg.core.strand import cut
from zyg.errors import ConversionError


class Text(str):
    """What str(x), repr(x) and format(x, spec) of a watched number give.

    Python asks a str for nothing where it reads it as source, nor do `complex`, `decimal` and
    `fractions`; NumPy asks one at a time, not those in an array of text.
    """

    __slots__ = ("number",)
    number: Any

    def _refuse(self, *_: Any) -> NoReturn:
        raise ConversionError(
            "text made of a watched number would become a number without its derivative.",
            "float(str(x)) reads the digits, and digits carry no derivative.",
            "use x itself, or np.round(x, 3) instead of float(f'{x:.3f}'); zyg.stop_gradient(x) "
            "gives the "
            "plain value if that is what you want.",
        )

    def __float__(self) -> float:
        return float(self._plain())

    def __int__(self) -> int:
        return int(self._plain())

    def _plain(self) -> str:
        if is_traced(self.number):
            self._refuse()
        return str.__str__(self)

    def __str__(self) -> str:
        return self

    def __format__(self, spec: str) -> str:
        return _text(str.__format__(self, spec), self.number)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (str.__str__(self),)


def _define_same(name: str) -> None:
    function = getattr(str, name)

    def same(self: Text, *args: Any) -> str:
        if sys._getframe(1).f_globals.get("__name__") == "ast":  # literal_eval begins so
            self._plain()
        return _text(function(self, *args), self.number)

    setattr(Text, name, same)


for _name in ("strip", "lstrip", "rstrip", "ljust", "rjust", "center", "lower", "upper"):
    _define_same(_name)


def _text(text: str, number: Any) -> Text:
    made = Text(text)
    made.number = number
    return made


def text_of(x: Any, how: str, text: Any) -> str:
    """The text that ``text(plain value)`` gives, of a watched number or an array."""
    plain = cut(x, how)
    if not is_number(plain) or not is_traced(x):
        return str(text(plain))
    return _text(text(plain), x)
