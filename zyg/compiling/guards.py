"""Machine code that takes a function's arguments as they are, while what it was made with stands.

What a function takes from outside is looked at in one step, as `Captures.fits` and `values` do:
those follow one path after another. Here the paths are written out as Python text, which is
compiled once and takes a tenth of the time; a test holds both together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType
from typing import Any

from zyg.base.registry import rules
from zyg.compiler.front.captures import Path, agree, follow
from zyg.compiler.ir import same

_STEPS = {
    "closure": "{0}.__closure__[{0}.__code__.co_freevars.index({1})].cell_contents",
    "global": "{}.__globals__[{}]", "default": "default({}, {})", "attr": "getattr({}, {})",
    "item": "{}[{}]", "globals": "{}.__globals__",
}  # fmt: skip


class FastEntry:
    """Machine code, with what a function had when it was made, and what it takes of it.

    ``ask(f, args)`` gives what the machine code does, which has the captured `operands` behind the
    arguments; NotImplemented, too, where a rule or anything else has changed.
    """

    def __init__(
        self, code: Callable[..., Any], guards: Mapping[Path, Any], operands: Iterable[Path]
    ) -> None:
        self._guards, self._version = guards, rules.version
        writer = _Writer(code, self._version)
        for path, seen in guards.items():
            writer.check(path, seen)
        captured = [writer.at(path) for path in operands]
        self.ask: Callable[[Any, tuple[Any, ...]], Any] = writer.written(captured)

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
