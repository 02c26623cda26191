"""Code that is there at once, and final code for a program whose work has been worth the wait.

LLVM takes a tenth of the time where it does not look for faster code. Such code is the first: it
counts its work, and ends early, with the status `arena.SLOW`, when that has taken about as long as
LLVM would. Then it is left for the final code, of the same text without the counting, and the call
is made again; so it is where there is too little memory, as the final code may need less. Both
compute the same bits. A program has no first code that may not be left in the
middle: one that calls Python, or whose rounds run in threads; nor one that calls itself, as each
call would take more of the thread's stack.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from functools import partial

from zyg.base.config import setting
from zyg.compiler.back import arena, compiled, stored
from zyg.compiler.back.compiled import Code

CALL = 2_000  # the work of a call from outside
_ENOUGH = 10_000_000  # operations
FOR_SPEED = " ; for speed"  # where ways part that compute the same, and the first alone is faster
TEXT = f"""
@zyg_work = internal global i64 {_ENOUGH}
define internal i1 @zyg_goes_on(i64 %work) nounwind {{
  %left = load i64, ptr @zyg_work
  %rest = sub i64 %left, %work
  store i64 %rest, ptr @zyg_work
  %on = icmp sge i64 %rest, 0
  ret i1 %on
}}
define internal i1 @zyg_is_left(i32 %status) nounwind {{
  %slow = icmp eq i32 %status, {arena.SLOW}
  %full = icmp eq i32 %status, {arena.NO_MEMORY}
  %left = or i1 %slow, %full
  ret i1 %left
}}
"""


def counted(work: int) -> str:
    """Whether code goes on after so many operations more."""
    return f"call i1 @zyg_goes_on(i64 {work})"


def left(status: str) -> str:
    """Whether code that has ended with a status is left for the final one."""
    return f"call i1 @zyg_is_left(i32 {status})"


def final(text: str) -> str:
    """The same text without the counting."""
    text = text.replace(TEXT, "")
    for call, known in (("goes_on", "true"), ("is_left", "false")):
        text = re.sub(rf"call i1 @zyg_{call}\(.*\)", f"or i1 {known}, {known}", text)
    return text


def loaded(text: str, addresses: Mapping[str, int]) -> Code:
    """The code of a text whose functions count: the final one if it is on disk, or else the first.

    The addresses are of what it calls, but for the arena. Raises CompilationError.
    """
    whole = final(text)
    name = stored.name_of(whole)
    if (found := from_disk(name, addresses)) is not None:
        return found
    if setting("compile") == "whole":
        return whole_code(whole, addresses)
    known = {**addresses, **arena.addresses(first=True)}
    slower = re.sub(rf"br i1 .*, label (\S+){FOR_SPEED}", r"br label \1", text)
    linked, code = compiled.made(slower, name, known, first=True)
    stored.write(_text_file(name), zlib.compress(whole.encode(), 1))
    stored.keep(name, code, first=True)
    return Code(*linked, "compiled", partial(whole_code, whole, addresses))


def whole_code(text: str, addresses: Mapping[str, int]) -> Code:
    """The final code of a text without counting. Raises CompilationError."""
    return compiled.loaded(text, {**addresses, **arena.addresses()}, loops=True)


def from_disk(name: str, addresses: Mapping[str, int]) -> Code | None:
    """The final code with a name, or else the first; None if neither is there."""
    if (code := stored.read(stored.file_of(name))) is not None:
        found = stored.linked(name, code, {**addresses, **arena.addresses()})
        return found and Code(*found, "disk")
    text, code = stored.read(_text_file(name)), stored.read(stored.file_of(name, first=True))
    if text is None or code is None:
        return None
    if setting("compile") == "whole":
        return whole_code(zlib.decompress(text).decode(), addresses)
    found = stored.linked(name, code, {**addresses, **arena.addresses(first=True)})
    if found is None:
        return None
    return Code(*found, "disk", lambda: whole_code(zlib.decompress(text).decode(), addresses))


def _text_file(name: str) -> str:
    return f"{name}.ll.z"
