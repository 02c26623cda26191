"""Machine code that takes a function's arguments as they are, while what it was made with stands.

What a function takes from outside is looked at in one step, as `Captures.fits` and `values` do:
those follow one path after another. Here the paths are written out as Python text, which is
compiled once and takes a tenth of the time, and for one function what can be looked at without
Python is listed for machine code (`asking`); a test holds them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

from zyg.base.registry import own_verbs, rules
from zyg.compiler.atoms import same
from zyg.compiler.back.asking import Asking
from zyg.compiler.back.looks import Looks
from zyg.compiler.back.object_layout import HEAD, place_of
from zyg.compiler.front.captures import Members, Path, agree, follow

_STEPS = {
    "closure": "{0}.__closure__[{0}.__code__.co_freevars.index({1})].cell_contents",
    "global": "{}.__globals__[{}]", "default": "default({}, {})", "attr": "getattr({}, {})",
    "item": "{}[{}]", "globals": "{}.__globals__", "has": "hasattr({}, {})",
}  # fmt: skip


class FastEntry:
    """Machine code, with what `f` had when it was made, and what it takes of it.

    ``ask(f, args)`` gives what the machine code does, which has the captured `operands` behind the
    arguments; NotImplemented, too, where a rule or anything else has changed.
    """

    def __init__(
        self, f: Any, code: Callable[..., Any], guards: Mapping[Path, Any], operands: Iterable[Path]
    ) -> None:
        own: Mapping[Path, Any] = {(): f.__code__} if type(f) is FunctionType else {}
        self._guards, self._version = {**own, **guards}, rules.version
        self._code, self._operands = code, [*operands]
        writer = _Writer(code, self._version)
        for path, seen in self._guards.items():
            writer.check(path, seen)
        captured = [writer.at(path) for path in self._operands]
        self.ask: Callable[[Any, tuple[Any, ...]], Any] = writer.written(captured)

    def asked_by(self, f: Any, asking: Asking) -> Callable[[Any, tuple[Any, ...]], Any]:
        """What asks for one function, in machine code if that can."""
        if type(f) is FunctionType:
            with suppress(_Unseen, AttributeError, LookupError, ValueError, TypeError):
                return asking.ask(f, self._looks(f), self._code, self.ask)
        return self.ask

    def is_in(self, asks: Iterable[Any]) -> bool:
        """Whether it is asked by one of these."""
        return any(self.ask in (x, *getattr(x, "__self__", ())[:1]) for x in asks)

    def _looks(self, f: Any) -> Looks:
        """What machine code looks at."""
        if not self.fits(f):
            raise _Unseen
        lister = _Lister(f)
        for path, seen in self._guards.items():
            lister.check(path, seen)
        for path in self._operands:
            lister.looks.take(lister.place(path))
        return lister.looks

    def fits(self, f: Any) -> bool:
        """Whether nothing but captured operands has changed."""
        return self._version == rules.version and agree(f, self._guards)


class _Writer:
    """Writes a function that follows paths from another one."""

    def __init__(self, code: Callable[..., Any], version: int) -> None:
        self.names: dict[str, Any] = {
            "code": code,
            "rules": rules,
            "version": version,
            "FunctionType": FunctionType,
            "same": same,
            "default": lambda f, name: follow(f, (("default", name),)),
        }
        self.lines: list[str] = []
        self.known: dict[Path, str] = {(): "f"}

    def constant(self, value: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def at(self, path: Path) -> str:
        """The variable that holds what is at a path."""
        if path not in self.known:
            (kind, key), before = path[-1], path[:-1]
            if kind == "itself":
                return self.constant(key)
            text = _STEPS[kind].format(self.at(before), self.constant(key))
            name = self.known[path] = f"v{len(self.known)}"
            self.lines.append(f"{name} = {text}")
        return self.known[path]

    def check(self, path: Path, seen: Any) -> None:
        if path and path[-1][0] == "builtin":  # no one rebinds these, but a global may hide one
            names = self.at((*path[:-1], ("globals", None)))
            self._demand(f"{self.constant(path[-1][1])} not in {names}")
            return
        value, expected = self.at(path), self.constant(seen)
        condition = f"{value} is {expected}"
        if type(seen) is CodeType:
            condition = f"type({value}) is FunctionType and {value}.__code__ is {expected}"
        elif type(seen) is tuple:
            condition = f"type({value}) is {self.constant(seen[0])}"
            condition += "" if seen[1] is None else f" and len({value}) == {seen[1]}"
        elif type(seen) is Members:
            condition = f"{expected}.stand({value})"
        elif type(seen) in (float, int, bool, str, bytes):
            condition += f" or same({value}, {expected})"
        self._demand(condition)

    def _demand(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return NotImplemented")

    def written(self, captured: list[str]) -> Callable[..., Any]:
        lines = ["if rules.version != version: return NotImplemented"]
        if self.lines:
            lines += ["try:", *(f"  {line}" for line in self.lines)]
            lines += ["except (AttributeError, LookupError, ValueError, TypeError):",
                      "  return NotImplemented"]  # fmt: skip
        lines.append(f"return code({', '.join(['*args', *captured])})")
        text = "\n  ".join(["def ask(f, args):", *lines])
        exec(compile(text, "<zyg: what a function takes from outside>", "exec"), self.names)
        return self.names["ask"]  # type: ignore[no-any-return]


class _Unseen(Exception):  # noqa: N818
    """Only Python can look at something."""


class _Lister:
    """Lists for machine code what it looks at of a function: by what is there now, not by paths.

    So that what is on the way is what it was, it is demanded that it is the same object.
    """

    def __init__(self, f: FunctionType) -> None:
        self.looks = Looks()
        self.known: dict[Path, Any] = {(): f}
        version = self.looks.word(rules, place_of("version", type(rules)))
        self._demand(version, rules.version)

    def _demand(self, look: tuple[int, int, int], there: Any) -> None:
        self.looks.held.append(there)
        self.looks.demand(look, id(there))

    def check(self, path: Path, seen: Any) -> None:
        if path and path[-1][0] == "builtin":
            holder = self.pinned(path[:-1])
            self.looks.demand(self.name(holder.__globals__, path[-1][1]), 0)
            return
        value = self.pinned(path)
        if type(seen) is CodeType:
            self._demand(self.looks.at("code", value), seen)
        elif type(seen) is Members:
            self.looks.demand(*self.looks.version(value))
        elif type(seen) is tuple:
            if type(value) in (list, tuple, dict):
                self.looks.demand(self.looks.at("length", value), seen[1])
            elif type(value) not in own_verbs:
                raise _Unseen  # it may be of another class now

    def pinned(self, path: Path) -> Any:
        """The object at a path, which is to stay there."""
        if path not in self.known:
            value = path[-1][1] if path[-1][0] == "itself" else follow(self.known[()], path)
            if path[-1][0] != "itself":
                self._demand(self.place(path), value)
            self.known[path] = value
        return self.known[path]

    def place(self, path: Path) -> tuple[int, int, int]:
        """Where to look for what is at a path."""
        (kind, key), holder = path[-1], self.pinned(path[:-1])
        in_function = type(holder) is FunctionType
        if in_function and kind == "closure":
            cell = holder.__closure__[holder.__code__.co_freevars.index(key)]
            return self.looks.word(cell, HEAD)
        if in_function and kind == "global":
            return self.name(holder.__globals__, key)
        if in_function and kind == "default":
            code, given, named = holder.__code__, holder.__defaults__, holder.__kwdefaults__
            if named and key in named:
                self._demand(self.looks.at("keywords", holder), named)
                return self.name(named, key)
            self._demand(self.looks.at("defaults", holder), given)
            place = code.co_varnames.index(key) - code.co_argcount + len(given)
            return self.looks.item(given, place)
        if kind == "attr" and type(holder) is ModuleType and key in vars(holder):
            return self.name(vars(holder), key)
        if kind == "attr" and key == "py_func" and type(holder) in own_verbs:
            return self.looks.word(holder, place_of("__wrapped__", type(holder)))
        if kind == "item" and type(holder) is tuple:
            return self.looks.item(holder, key)
        raise _Unseen

    def name(self, names: Any, key: str) -> tuple[int, int, int]:
        if type(names) is not dict:
            raise _Unseen
        return self.looks.at("name", names, key)
