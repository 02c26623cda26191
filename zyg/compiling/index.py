"""From a function to machine code on disk: the next process does not read its source.

A file is named after all that its content depends on: what the function reaches, the kinds of the
arguments, the verb, the processor, zyg, NumPy, Python. It says which object file that is, what this
has of Python's and NumPy's, what is captured, and what was looked at from outside, which is looked
at again. It is written and read with the checks of object files, and is plain data.
"""

from __future__ import annotations

import marshal
import sys
from contextlib import suppress
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zyg.base.caches import Cache
from zyg.base.config import setting
from zyg.base.registry import rules
from zyg.compiler import libraries
from zyg.compiler.back import stored, symbols
from zyg.compiler.front.captures import Members, Path, code_of, follow, outline
from zyg.compiler.kinds import Array, Kind, Scalar, Static, Struct, Unkind, kind_of
from zyg.compiling.fingerprint import Fingerprint, Unknown, digest, words_of
from zyg.compiling.guards import FastEntry
from zyg.compiling.operands import apart

if TYPE_CHECKING:
    from zyg.compiler.back.native_function import Direct
    from zyg.compiler.front.whole import WholeCaptures

_MOST = 8  # variants of a function that are asked for

# What this process has kept or found.
_known: Cache[Any, tuple[FastEntry, ...]] = Cache(1024)


def recall(f: Any, kinds: tuple[Kind, ...], verb: str, options: Any) -> FastEntry | None:
    """The machine code of a verb of a function from an earlier process; None if there is none."""
    known = _known.get(place := _place(f, kinds, verb, options)) or ()
    for found in known:
        if found.fits(f):
            return found
    if len(known) < _MOST:
        with suppress(Unknown, Unkind, LookupError, AttributeError, TypeError, ValueError):
            reached = Fingerprint(f)
            content = stored.read(_file(reached, kinds, verb, options))
            if content is not None:
                made = _made(f, reached, marshal.loads(content), options[1])
                _known.put(place, (*known, made))
                return made
    return None


def keep(
    f: Any, kinds: tuple[Kind, ...], verb: str, options: Any,
    captures: WholeCaptures, code: Direct, entry: FastEntry,
) -> None:  # fmt: skip
    """Have later processes find machine code, if all that it depends on can be told."""
    known = _known.get(place := _place(f, kinds, verb, options)) or ()
    _known.put(place, (*known, entry))
    if code.python:
        return  # which has no name
    with suppress(Unknown):
        if None in code.names.values():
            raise Unknown
        reached = Fingerprint(f)
        content = {
            "file": code.file,
            "names": code.names,
            "several": code.several,
            "operands": [[_as_data(p), _described(cast(Any, captures.kinds[p][0]))]
                         for p in captures.operands],
            "guards": [[_as_data(p), *_words(seen)] for p, seen in captures.guards.items()
                       if not _is_ours(p)],
            "numbers": reached.but_for(captures.operands),
        }  # fmt: skip
        stored.write(_file(reached, kinds, verb, options), marshal.dumps(content))


def _place(f: Any, kinds: tuple[Kind, ...], verb: str, options: Any) -> Any:
    return code_of(f), kinds, verb, options, rules.version, setting("compile")


def _file(reached: Fingerprint, kinds: tuple[Kind, ...], verb: str, options: Any) -> str:
    environment = stored.platform(), np.__file__, sorted(libraries.addresses()), sys.flags.optimize
    asked = [_described(kind) for kind in kinds], verb, options
    return f"zyg_index_{digest((environment, asked, reached.words))[:32]}.marshal"


def _made(f: Any, reached: Fingerprint, content: dict[str, Any], parallel: bool) -> FastEntry:
    """The machine code that a file says; an error where it does not fit."""
    operands = []
    for data, kind in content["operands"]:
        operands.append(path := _path(data))
        if _described(kind_of(follow(f, path))) != kind:
            raise Unknown
    if reached.but_for(operands) != content["numbers"]:
        raise Unknown
    guards = {}
    for data, how, words in content["guards"]:
        seen = _seen(follow(f, path := _path(data)), how)
        if _words(seen) != (how, words):
            raise Unknown
        guards[path] = seen
    entry = symbols.function_on_disk(content["file"], content["names"], _addresses(parallel))
    if entry is None:
        raise Unknown
    return FastEntry(f, apart(entry, content["several"]), guards, operands)


def _addresses(parallel: bool) -> dict[str, int]:
    if not parallel:
        return libraries.addresses()
    from zyg.compiler.back import threaded  # which much comes with

    return {**libraries.addresses(), **threaded.addresses()}


# Plain data


def _described(kind: Kind) -> Any:
    """A kind as data; Unknown where that is not the same in the next process."""
    if isinstance(kind, Scalar):
        return ["scalar", kind.type, kind.python]
    if isinstance(kind, Array):
        return ["array", kind.element, kind.ndim, [*kind.ranks], kind.gaps, *kind.ones]
    if isinstance(kind, Static) and (name := symbols.name_of(kind.value)) is not None:
        return ["static", name]
    if not isinstance(kind, Struct) or kind.type not in (tuple, list, dict):
        raise Unknown
    if any(type(key) is not str for key in kind.keys):
        raise Unknown
    return [kind.type.__name__, [*kind.keys], *map(_described, kind.parts)]


def _as_data(path: Path) -> list[list[Any]]:
    if any(type(key) not in (str, int) for _, key in path):
        raise Unknown
    return [[step, key] for step, key in path]


def _path(data: list[Any]) -> Path:
    return tuple((step, key) for step, key in data)


def _is_ours(path: Path) -> bool:
    """Whether a path begins at a function of zyg's own."""
    step, key = path[0] if path else ("", None)
    return step == "itself" and getattr(key, "__module__", "").partition(".")[0] == "zyg"


def _words(seen: Any) -> tuple[str, str]:
    """How a guard looks at something, and what it saw."""
    if type(seen) is CodeType:
        return "code", digest(words_of(seen))
    if type(seen) is tuple:
        return "outline", f"{seen[0].__module__}.{seen[0].__qualname__} {seen[1]}"
    if type(seen) is Members:
        return "members", seen.of.__qualname__
    if type(seen) in (int, float, bool, str, bytes, type(None)):
        return type(seen).__name__, repr(seen)
    return "object", f"{type(seen).__name__} {getattr(seen, '__qualname__', '')}"


def _seen(value: Any, how: str) -> Any:
    if how == "code" and isinstance(value, FunctionType):
        return value.__code__
    if how == "members" and isinstance(value, type):
        return Members(value)
    return outline(value) if how == "outline" else value
