"""Text of one watched number: a str for everything but becoming a number again.

Text stays what it is where Python asks it: cut, added to, encoded, formatted. An f-string with
other characters, a `join`, a file, a `Decimal` do not ask, so a line that makes text of all digits
is told so, unless it prints them: `zyg.config(text=)`.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from zyg.base.config import setting
from zyg.base.sinks import is_displayed
from zyg.base.structure import is_number
from zyg.base.warned import warn
from zyg.core.questions import is_traced
from zyg.core.strand import cut
from zyg.errors import ConversionError, TextWarning

_FIX = (
    "use x itself, or np.round(x, 3) instead of float(f'{x:.3f}'); zyg.stop_gradient(x) gives the "
    "plain value if that is what you want."
)


class _Digits:
    """What text and its bytes have in common."""

    __slots__ = ()
    base: Any  # str or bytes
    numbers: tuple[Any, ...]  # of which the digits are

    def plain(self) -> Any:
        """The digits alone: refused as long as there are derivatives to lose."""
        if any(map(is_traced, self.numbers)):
            raise ConversionError(
                "text made of a watched number would become a number without its derivative.",
                "float(str(x)) reads the digits, and digits carry no derivative.",
                _FIX,
            )
        return self.unwatched()

    def unwatched(self) -> Any:
        return self.base.__getitem__(self, slice(None))

    def __float__(self) -> float:
        return float(self.plain())

    def __int__(self) -> int:
        return int(self.plain())

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, self.base):
            return NotImplemented
        return _of(other + self.unwatched(), self.numbers)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.base, (self.unwatched(),)


class Text(_Digits, str):
    """What str(x), repr(x) and format(x, spec) of a watched number give.

    Python asks a str for nothing where it reads it as source, nor do `complex`, `decimal` and
    `fractions`; NumPy asks one at a time, not those in an array of text.
    """

    base = str

    def __str__(self) -> str:
        return self


class Bytes(_Digits, bytes):
    """The bytes of such text."""

    base = bytes


_SAME = """
    __add__ __format__ __getitem__ __mod__ __mul__ __rmul__ center decode encode expandtabs ljust
    lower lstrip partition removeprefix removesuffix replace rjust rpartition rsplit rstrip split
    splitlines strip upper zfill
"""


def _define_same(cls: type[_Digits], name: str) -> None:
    function = getattr(cls.base, name)

    def same(self: _Digits, *args: Any, **kwargs: Any) -> Any:
        if sys._getframe(1).f_globals.get("__name__") == "ast":  # literal_eval begins so
            self.plain()
        others = [n for x in args if isinstance(x, _Digits) for n in x.numbers]
        return _of(function(self, *args, **kwargs), (*self.numbers, *others))

    setattr(cls, name, same)


for _cls in (Text, Bytes):
    for _name in _SAME.split():
        if _name in vars(_cls.base):
            _define_same(_cls, _name)


def _of(made: Any, numbers: tuple[Any, ...]) -> Any:
    """What was made of text, a str, bytes or a container of them, as text of the same numbers."""
    kind = type(made)
    if kind in (list, tuple):
        return kind([_of(part, numbers) for part in made])
    if kind not in (str, bytes):
        return made
    text: Any = Text(made) if kind is str else Bytes(made)
    text.numbers = numbers
    return text


# To fewer digits than tell floats apart. Patterns are compiled when first used: not at import.
_ROUNDED = r"\.(\d|1[0-4])\D?$|^[^.]*[%cdnoxX]$"


def text_of(x: Any, how: str, text: Any, spec: str = "") -> str:
    """The text that ``text(plain value)`` gives, of a watched number or an array."""
    plain = cut(x, how)
    if not is_number(plain) or not is_traced(x):
        return str(text(plain))
    asked = setting("text")
    if asked != "allow" and not isinstance(plain, int) and not re.search(_ROUNDED, spec):
        _tell(asked)
    made: str = _of(str(text(plain)), (x,))
    return made


def _tell(asked: str) -> None:
    """Warn of text of all digits, or refuse it, but where it is only looked at.

    That is what who handles a refusal does, as libraries that say what they could not send.
    """
    if is_displayed() or isinstance(sys.exception(), ConversionError):
        return
    what = "text with all digits of a watched number is made where nothing prints it."
    why = "a number that is read back from it carries no derivative, and nothing can tell."
    if asked == "refuse":
        raise ConversionError(what, why, _FIX)
    warn(f"{what} {why[0].upper()}{why[1:]} If none is read back: zyg.config(text=\"allow\").",
         TextWarning)  # fmt: skip
