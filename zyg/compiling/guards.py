"""What a function takes from outside, looked at in one step: as ``Captures.fits`` and ``values``.

Those follow one path after another. Here the paths are written out as Python text, which is
compiled once and takes a tenth of the time; a test holds both together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType
from typing import Any

from zyg.compiler.front.captures import Path, follow
from zyg.compiler.ir import same

Guard = Callable[[Any], "list[Any] | None"]
_STEPS = {
    "closure": "{0}.__closure__[{0}.__code__.co_freevars.index({1})].cell_contents",
    "global": "{}.__globals__[{}]", "default": "default({}, {})", "attr": "getattr({}, {})",
    "item": "{}[{}]", "globals": "{}.__globals__",
}  # fmt: skip


def guard_of(guards: Mapping[Path, Any], operands: Iterable[Path]) -> Guard:
    """Gives what a function has at the captured operands; None if anything else has changed."""
    writer = _Writer()
    for path, seen in guards.items():
        writer.check(path, seen)
    values = ", ".join([writer.at(path) for path in operands])
    text = "\n".join([
        "def guard(f):", "  try:", *(f"    {line}" for line in writer.lines),
        f"    return [{values}]",
        "  except (AttributeError, LookupError, ValueError, TypeError):", "    return None",
    ])  # fmt: skip
    exec(compile(text, "<zyg: what a function takes from outside>", "exec"), writer.names)
    return writer.names["guard"]  # type: ignore[no-any-return]


class _Writer:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {
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
        (kind, key), before = path[-1], path[:-1]
        if kind == "builtin":  # no one rebinds these, but a global may hide one
            names = self.at((*before, ("globals", None)))
            self.lines.append(f"if {self.constant(key)} in {names}: return None")
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
        self.lines.append(f"if not ({condition}): return None")
