"""A concurrent program as a picture: lanes for tasks, arrows for messages and their cotangents.

From left to right it is what the data demand, not what the clock said: an entry stands right of
the one before it on its strand, and a value that another strand imports stands left of its import.
The adjoint tasks step from right to left, so the arrow of a cotangent is that of its value, turned
round. Many tasks share a lane, and long stretches between messages become one box.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

Place = tuple[int, int]  # the number of a strand in its family, and a slot of it

_LANES = 12  # at most, and then tasks share them
_COLUMNS = 40  # with an entry each; beyond that, one for each stretch between messages
_BOXES = 400  # at most, in all
_WIDTH, _STEP, _HEIGHT = 100, 26, 70  # of a box with its gap, of a message, of a lane
_VALUE, _ADJOINT = "#4a6fa5", "#c0504d"


@dataclass(frozen=True)
class Task:
    """A strand, as it is told about."""

    name: str
    path: tuple[int, ...]

    @property
    def label(self) -> str:
        return self.name.rpartition("<locals>.")[2]

    @property
    def where(self) -> str:
        return f"path {'.'.join(map(str, self.path))}" if self.path else "root"


@dataclass(frozen=True)
class Entry:
    """An entry of a tape, or (without a line) what stands for the arguments and the value."""

    name: str
    line: str
    task: int
    outputs: tuple[Place, ...]
    inputs: tuple[Place, ...]
    saved: int = 0  # bytes that this entry is the first to keep
    is_write: bool = False
    is_import: bool = False


def in_order(tapes: list[list[Entry]]) -> list[Entry]:
    """The entries of all tapes, each after those whose results it uses."""
    if len(tapes) == 1:
        return tapes[0]
    made = {place: (k, n) for k, tape in enumerate(tapes) for n, entry in enumerate(tape)
            for place in entry.outputs if not entry.is_write}  # fmt: skip
    before: dict[Place, list[Place]] = {}
    for k, tape in enumerate(tapes):
        for n, entry in enumerate(tape):
            sources = [made[p] for p in entry.inputs if p in made] if entry.is_import else []
            before[k, n] = [*sources, *([(k, n - 1)] if n else [])]
    return [tapes[k][n] for column in columns(before) for k, n in column]


def columns(before: Mapping[Any, Iterable[Any]]) -> Iterator[list[Any]]:
    """Nodes, each right of those before it and as far to the left as that allows."""
    graph = TopologicalSorter(before)
    graph.prepare()
    while graph.is_active():
        column = sorted(graph.get_ready())
        yield column
        graph.done(*column)


# Lanes


def grouped(tasks: list[Task], most: int = _LANES) -> list[tuple[str, list[int]]]:
    """(label, numbers of tasks): one each, or those of one name and parent, or of one name."""
    keys: list[Callable[[Task], Hashable]] = [
        lambda task: task.path,
        lambda task: (task.path[:-1], _family(task.name)),
        lambda task: _family(task.name),
    ]
    for key in keys:
        groups: dict[Hashable, list[int]] = {}
        for k, task in enumerate(tasks):
            groups.setdefault(key(task), []).append(k)
        lanes = [(_label([tasks[k] for k in group]), group) for group in groups.values()]
        if len(lanes) <= most:
            return lanes
    rest = [k for _, group in lanes[most - 1 :] for k in group]
    return [*lanes[: most - 1], (f"{len(rest)} other tasks", rest)]


def _family(name: str) -> str:
    """The name of a task without its number."""
    return re.sub(r"-\d+$", "", name)


def _label(tasks: list[Task]) -> str:
    first = tasks[0]
    if len(tasks) == 1:
        return f"{first.label} ({first.where})"
    return f"{_family(first.label)}, {len(tasks)} tasks"


# Boxes


@dataclass(eq=False)
class _Unit:
    """Entries of one task that are drawn as one: a message, an operation or a stretch of them."""

    number: int
    task: int
    source: Any  # of messages: the stretch of the strand that they come from
    entries: list[Entry] = field(default_factory=list)
    before: dict[_Unit, int] = field(default_factory=dict)  # with the number of messages

    def __lt__(self, other: _Unit) -> bool:
        return self.number < other.number

    @property
    def is_import(self) -> bool:
        return self.entries[0].is_import

    @property
    def label(self) -> str:
        n = len(self.entries)
        if n == 1:
            return self.entries[0].name.removeprefix("an ").removesuffix(" on numbers")
        return f"{n} values" if self.is_import else f"{n} entries"

    def takes(self, entry: Entry, source: Any, fine: bool) -> bool:
        """Whether an entry is drawn with these.

        Messages are if nothing came between them, neither here nor where they come from; operations
        if none did here. So no unit waits for what waits for it.
        """
        if entry.is_import or self.is_import:
            return entry.is_import and self.is_import and source == self.source
        return not fine and bool(entry.line and self.entries[0].line)


def _units(entries: list[Entry], fine: bool) -> list[_Unit]:
    units: list[_Unit] = []
    last: dict[int, _Unit] = {}
    made_by: dict[Place, _Unit] = {}
    messages = Counter[int]()  # that a task has received
    stretch: dict[Place, tuple[int, int]] = {}  # the task that made a value, and after how many
    for entry in entries:
        task = entry.task
        messages[task] += entry.is_import
        source = stretch.get(entry.inputs[0]) if entry.is_import else None
        unit = previous = last.get(task)
        if unit is None or not unit.takes(entry, source, fine):
            unit = last[task] = _Unit(len(units), task, source)
            units.append(unit)
            if previous is not None:
                unit.before[previous] = 0
        unit.entries.append(entry)
        if entry.is_import and entry.inputs[0] in made_by:
            sender = made_by[entry.inputs[0]]
            unit.before[sender] = unit.before.get(sender, 0) + 1
        if not entry.is_write:
            made_by.update(dict.fromkeys(entry.outputs, unit))
            stretch.update(dict.fromkeys(entry.outputs, (task, messages[task])))
    return units


@dataclass(eq=False)
class _Box:
    """What stands at one place of the picture: units of one lane at one time."""

    lane: int
    column: int
    units: list[_Unit] = field(default_factory=list)
    x: float = 0.0

    @property
    def is_import(self) -> bool:
        return all(unit.is_import for unit in self.units)

    @property
    def width(self) -> int:
        return _STEP if self.is_import else _WIDTH

    @property
    def y(self) -> float:
        return 44 + _HEIGHT * self.lane

    @property
    def label(self) -> str:
        named, n = {unit.label for unit in self.units}, len(self.units)
        if len(named) > 1:
            return f"{sum(len(unit.entries) for unit in self.units)} entries"
        return f"{n} x {named.pop()}" if n > 1 else named.pop()

    @property
    def title(self) -> str:
        told = Counter(f"{e.name}  {e.line}".strip() for unit in self.units for e in unit.entries)
        lines = [f"{n} x {text}" if n > 1 else text for text, n in told.items()]
        return "\n".join([*lines[:12], *(["..."] if len(lines) > 12 else [])])

    def svg(self) -> str:
        title = f"<title>{html.escape(self.title)}</title>"
        if self.is_import:
            shape = f'<circle cx="{self.x:g}" cy="{self.y:g}" r="5" fill="{_VALUE}"/>'
            return f'<g class="message">{title}{shape}</g>'
        fill = "#dde8f7" if self.units[0].entries[0].line else "#f7ecd0"
        return (
            f'<g class="entry">{title}<rect x="{self.x - 44:g}" y="{self.y - 13:g}" width="88" '
            f'height="26" rx="4" fill="{fill}" stroke="#555"/><text x="{self.x:g}" '
            f'y="{self.y + 4:g}" text-anchor="middle">{html.escape(self.label[:14])}</text></g>'
        )


class Timeline:
    """The picture of the entries, which are in order; `svg` draws it."""

    def __init__(self, tasks: list[Task], entries: list[Entry]) -> None:
        self.lanes = grouped(tasks)
        self.boxes, self.arrows = self._arranged(_units(entries, fine=True))
        if max(box.column for box in self.boxes) >= _COLUMNS:
            self.boxes, self.arrows = self._arranged(_units(entries, fine=False))
        if len(self.boxes) > _BOXES:
            raise ValueError(
                f"{len(entries)} entries are too many for a picture ({len(self.boxes)} boxes, at "
                f"most {_BOXES}); print the explanation, or explain a smaller case"
            )

    def _arranged(self, units: list[_Unit]) -> tuple[list[_Box], Counter[tuple[_Box, _Box]]]:
        """The boxes, and how many messages there are from each to each."""
        lane_of = {k: lane for lane, (_, group) in enumerate(self.lanes) for k in group}
        boxes: dict[tuple[int, int], _Box] = {}
        box_of: dict[_Unit, _Box] = {}
        at = 190.0
        for c, column in enumerate(columns({unit: unit.before for unit in units})):
            for unit in column:
                lane = lane_of[unit.task]
                box = box_of[unit] = boxes.setdefault((lane, c), _Box(lane, c))
                box.units.append(unit)
            new = {box_of[unit] for unit in column}
            width = max(box.width for box in new)
            for box in new:
                box.x = at + width / 2
            at += width
        arrows = Counter[tuple[_Box, _Box]]()
        for unit in units:
            for sender, n in unit.before.items():
                arrows.update({(box_of[sender], box_of[unit]): n} if n else {})
        return list(boxes.values()), arrows

    def svg(self) -> str:
        width = max(box.x for box in self.boxes) + 60
        height = _HEIGHT * len(self.lanes) + 50
        tips = "".join(
            f'<marker id="{name}" orient="auto" markerWidth="8" markerHeight="8" refX="7" refY="3">'
            f'<path d="M0,0 L7,3 L0,6 z" fill="{colour}"/></marker>'
            for name, colour in (("value", _VALUE), ("adjoint", _ADJOINT))
        )
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" '
            f'viewBox="0 0 {width:g} {height}" font-family="sans-serif" font-size="11">',
            f"<defs>{tips}</defs>",
            '<rect width="100%" height="100%" fill="white"/>',
            *self._lanes(), *(self._arrow(*ends, n) for ends, n in self.arrows.items()),
            *(box.svg() for box in self.boxes), _legend(height - 14), "</svg>",
        ])  # fmt: skip

    def _lanes(self) -> Iterator[str]:
        """The name of each lane, its time and, below, that of its adjoint."""
        for lane, (label, _) in enumerate(self.lanes):
            y, lines = 44 + _HEIGHT * lane, ""
            if xs := [box.x for box in self.boxes if box.lane == lane]:
                first, end = min(xs) - 50, max(xs) + 50
                lines = _line(f"M{first:g},{y} L{end:g},{y}", "value")
                lines += _line(f"M{end:g},{y + 20} L{first:g},{y + 20}", "adjoint")
            name = f'<text x="12" y="{y + 4}" font-size="12">{html.escape(label)}</text>'
            yield f'<g class="lane">{name}{lines}</g>'

    def _arrow(self, sender: _Box, receiver: _Box, n: int) -> str:
        """A message, from a box to a point, and its cotangent on the way back.

        In a lane that tasks share, a message stays in the lane, and bends below it.
        """
        down = 1 if receiver.lane >= sender.lane else -1
        above = -down if receiver.lane != sender.lane else 1
        x, y = sender.x, sender.y + 13 * down
        to_x, to_y = receiver.x, receiver.y + 5 * above
        bend = y + 24 * down
        there = f"M{x:g},{y:g} C{x:g},{bend:g} {to_x:g},{bend:g} {to_x:g},{to_y:g}"
        x, to_x = x + 14, to_x + 5
        bend += 12 * down
        back = f"M{to_x:g},{to_y:g} C{to_x:g},{bend:g} {x:g},{bend:g} {x:g},{y:g}"
        title = f"<title>{n} {'value' if n == 1 else 'values'}, and the cotangents</title>"
        return f'<g class="arrow">{title}{_line(there, "value")}{_line(back, "adjoint")}</g>'


def _line(path: str, kind: str) -> str:
    dashes = ' stroke-dasharray="4 3"' if kind == "adjoint" else ""
    colour = {"value": _VALUE, "adjoint": _ADJOINT}[kind]
    return (
        f'<path class="{kind}" d="{path}" fill="none" stroke="{colour}"{dashes} '
        f'marker-end="url(#{kind})"/>'
    )


def _legend(y: float) -> str:
    return (
        f'<text x="12" y="{y:g}" fill="#555">from left to right: the program, and values on their '
        "way; dashed, from right to left: its adjoint, and their cotangents</text>"
    )
