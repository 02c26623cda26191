"""Object code in memory, as LLVM makes it for x86-64 under Linux: placed there without LLVM.

Sections are copied behind each other, those that are written to on pages of their own, and then a
table of the addresses of symbols. The code reads addresses there, and names other places by their
distance from it; so there are few ways in which it depends on where it is. What says how to unwind
the stack is left out, as nothing throws. Whatever is not known here is left to LLVM's linker.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

_WRITTEN, _IN_MEMORY, _OF_THREADS = 0x1, 0x2, 0x400  # flags of sections
_CONTENT, _SYMBOLS, _PLACES, _ZEROS, _UNWINDING = 1, 2, 4, 8, 0x70000001  # types
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")
_PLACE, _WORD = struct.Struct("<QQq"), struct.Struct("<Q")
_TABLE = "_GLOBAL_OFFSET_TABLE_"


class Unplaced(Exception):  # noqa: N818 - an answer
    """LLVM is to do it."""


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Placed:
    """Object code in memory, and `known`, the addresses of symbols by name; Unplaced.

    What the code does not define has one of these addresses, or one in this process.
    """

    def __init__(self, code: bytes, addresses: Mapping[str, int]) -> None:
        if sys.platform != "linux" or os.uname().machine != "x86_64" or sys.maxsize < 2**32:
            raise Unplaced
        self._code, self.known = code, {**addresses}
        first, count = struct.unpack_from("<40xQ12xH", code)
        heads = code[first : first + count * _SECTION.size]
        self._sections = [_Section(*x) for x in _SECTION.iter_unpack(heads)]
        starts, fixed, end = _arranged(self._sections)
        (symbols,) = (x for x in self._sections if x.type == _SYMBOLS)
        named = [*_SYMBOL.iter_unpack(self._content(symbols))]
        own = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # not shared with a fork
        self._memory = mmap.mmap(-1, end + _WORD.size * len(named), own)
        self._held = ctypes.c_char.from_buffer(self._memory)
        self._base = ctypes.addressof(self._held)
        self.known[_TABLE] = self._table = self._base + end
        for k, start in starts.items():
            if self._sections[k].type == _CONTENT:
                content = self._content(self._sections[k])
                self._memory[start : start + len(content)] = content
        names = self._sections[symbols.link].offset
        values = [self._value(starts, names + name, *where) for name, _, _, *where, _ in named]
        table = struct.pack(f"<{len(values)}Q", *(value or 0 for value in values))
        self._memory[end : end + len(table)] = table
        for places in self._sections:
            if places.type == _PLACES and places.info in starts:
                self._fill(places, starts[places.info], values)
        protect = _process().mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if protect(self._base, fixed, mmap.PROT_READ | mmap.PROT_EXEC):
            raise Unplaced

    def _content(self, x: _Section) -> bytes:
        return self._code[x.offset : x.offset + x.size]

    def _value(self, starts: Mapping[int, int], name: int, section: int, value: int) -> int | None:
        """The address of a symbol; None of one that is nowhere."""
        text = self._code[name : self._code.index(b"\0", name)].decode()
        if section in starts:
            self.known[text] = self._base + starts[section] + value
        elif section or not text:
            return None
        elif text not in self.known:
            try:
                function = getattr(_process(), text)
            except AttributeError:
                raise Unplaced from None
            self.known[text] = ctypes.cast(function, ctypes.c_void_p).value or 0
        return self.known[text]

    def _fill(self, places: _Section, start: int, values: Sequence[int | None]) -> None:
        """Write what depends on where all is, at places of a section."""
        for offset, info, more in _PLACE.iter_unpack(self._content(places)):
            symbol, how = info >> 32, info & 0xFFFFFFFF
            if (value := values[symbol]) is None or how not in _WAYS:
                raise Unplaced
            at = start + offset
            word = _WAYS[how](value, self._base + at, self._table, _WORD.size * symbol)
            _WORD.pack_into(self._memory, at, (word + more) % 2**64)


@cache
def _process() -> ctypes.CDLL:
    """All that this process has loaded for all to see."""
    return ctypes.CDLL(None)


def _arranged(sections: Sequence[_Section]) -> tuple[dict[int, int], int, int]:
    """Where sections start that are in memory; where those end that are not written to, and all."""
    starts: dict[int, int] = {}
    end = fixed = 0
    for written in (0, _WRITTEN):
        for k, x in enumerate(sections):
            if x.flags & _IN_MEMORY and x.flags & _WRITTEN == written and x.type != _UNWINDING:
                known = x.type in (_CONTENT, _ZEROS) and not x.flags & _OF_THREADS
                if not known or x.alignment > mmap.PAGESIZE:
                    raise Unplaced
                starts[k] = _rounded(end, x.alignment or 1)
                end = starts[k] + x.size
        if not written:
            fixed = end = _rounded(end, mmap.PAGESIZE)
    return starts, fixed, _rounded(end, _WORD.size)


def _rounded(n: int, step: int) -> int:
    return -(-n // step) * step


# What is at a place: by the value, the place, the table, the place in the table.
_WAYS: dict[int, Callable[[int, int, int, int], int]] = {
    1: lambda value, at, table, entry: value,  # R_X86_64_64
    24: lambda value, at, table, entry: value - at,  # R_X86_64_PC64
    25: lambda value, at, table, entry: value - table,  # R_X86_64_GOTOFF64
    27: lambda value, at, table, entry: entry,  # R_X86_64_GOT64
    29: lambda value, at, table, entry: value - at,  # R_X86_64_GOTPC64
}
