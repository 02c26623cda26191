"""Why is this gradient None, and what does this program keep? `explain` reads it off the tape."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zyg.base.array_types import array_type, is_array
from zyg.base.borders import border
from zyg.base.signatures import P
from zyg.base.tables import preformatted, table
from zyg.core.entries import inputs_of, name_of, outputs_of
from zyg.core.exchange import deliver
from zyg.core.strand import Strand, strip
from zyg.core.trace import Trace
from zyg.core.views import ViewSlot, root_of
from zyg.tools.timeline import Entry, Place, Task, Timeline, grouped, in_order

_MOST = 300  # entries in a picture


class Explanation:
    """What `explain` found; prints as text, and draws itself."""

    def __init__(self, trace: Trace, gradients: tuple[Any, ...]) -> None:
        strands = trace.strand.level_strands()
        self._tasks = [Task(strand.kin.name, strand.kin.path) for strand in strands]
        number, kept = {strand: k for k, strand in enumerate(strands)}, set[int]()
        self._entries = in_order([[*_entries(strand, number, kept)] for strand in strands])
        self._arguments = list(_arguments(trace, gradients))
        self._cuts = [
            ((k, _slot(slot)), how, line)
            for k, strand in enumerate(strands) if strand.trail
            for slot, how, line in strand.trail.cuts
        ]  # fmt: skip
        self._results = {(0, _slot(target[0])): None for target in trace.out if target is not None}
        self._y = trace.y

    def __str__(self) -> str:
        tasks = ["", *self._text_of_tasks()] if len(self._tasks) > 1 else []
        return "\n".join([*self._text_of_lines(), *tasks, "", *self._text_of_arguments()])

    __repr__ = __str__

    # Text

    def saved(self) -> dict[str, int]:
        """The bytes that each line of f keeps for the reverse pass."""
        total: dict[str, int] = {}
        for entry in self._entries:
            total[entry.line] = total.get(entry.line, 0) + entry.saved
        return total

    def _text_of_lines(self) -> Iterator[str]:
        yield f"value: {self._y!r}"
        yield f"{'entries':>8}  {'saved':>10}  line"
        for count, size, line in self._rows():
            yield f"{count:8d}  {size:>10}  {line}"

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        """Of each line of f, and of all: how many entries it noted, what they keep, and where."""
        count: dict[str, int] = {}
        for entry in self._entries:
            count[entry.line] = count.get(entry.line, 0) + 1
        for line, size in self.saved().items():
            yield count[line], _size(size), line
        yield len(self._entries), _size(sum(e.saved for e in self._entries)), "in all"

    def _repr_html_(self) -> str:
        tasks = [*self._text_of_tasks()] if len(self._tasks) > 1 else []
        return (
            table(f"value: {self._y!r}", ("entries", "saved", "line"), self._rows())
            + (preformatted("\n".join(tasks)) if tasks else "")
            + preformatted("\n".join(self._text_of_arguments()))
        )

    def _text_of_tasks(self) -> Iterator[str]:
        """What each task noted: its entries, the values of others among them, what others used."""
        tasks = range(len(self._tasks))
        entries, imports, exports = ([0] * len(tasks) for _ in range(3))
        for entry in self._entries:
            entries[entry.task] += 1
            if entry.is_import:
                imports[entry.task] += 1
                exports[entry.inputs[0][0]] += 1
        yield f"{'entries':>8}  {'imports':>8}  {'exports':>8}  task"
        for label, group in grouped(self._tasks):
            sums = (sum(counts[k] for k in group) for counts in (entries, imports, exports))
            yield "  ".join([*(f"{n:8d}" for n in sums), label])

    def _text_of_arguments(self) -> Iterator[str]:
        for name, slot, gradient in self._arguments:
            plain = strip(gradient)
            seen = array_type(plain).readable
            if gradient is not None and (not seen or np.any(plain != 0)):
                yield f"{name}: the value depends on it"
                continue
            what = "None" if gradient is None else "zero"
            reached = self._reached_from(slot)
            cuts = [f"{how} at {line}" for at, how, line in self._cuts if at in reached]
            cuts += [
                f"overwritten at {e.line}" for e in self._entries
                if e.is_write and reached.intersection(e.outputs)
            ]  # fmt: skip
            if cuts:
                yield f"{name}: its gradient is {what}; the dependence ends here:"
                yield from (f"    {cut}" for cut in dict.fromkeys(cuts))
            elif reached == {slot}:
                yield f"{name}: its gradient is {what}; no operation uses it"
            else:
                yield f"{name}: its gradient is {what}; what depends on it does not reach the value"

    def _reached_from(self, slot: Place) -> set[Place]:
        reached = {slot}
        for entry in self._entries:
            if reached.intersection(entry.inputs):
                reached.update(entry.outputs)
        return reached

    # Pictures

    def _graph(self) -> tuple[list[tuple[str, str]], list[tuple[int, int]]]:
        """Nodes (label, line) and edges between them; the arguments come first."""
        if len(self._entries) > _MOST:
            raise ValueError(
                f"{len(self._entries)} entries are too many for a picture (at most {_MOST}); "
                "print the explanation, or explain a smaller case"
            )
        nodes = [(name, "") for name, _, _ in self._arguments]
        made_by = {slot: k for k, (_, slot, _) in enumerate(self._arguments)}
        edges = []
        for entry in self._entries:
            here = len(nodes)
            nodes.append((entry.name, entry.line))
            sources = (*entry.inputs, *(entry.outputs if entry.is_write else ()))
            edges += [(made_by[s], here) for s in dict.fromkeys(sources) if s in made_by]
            made_by.update(dict.fromkeys(entry.outputs, here))
        here = len(nodes)
        nodes.append(("value", ""))
        edges += [(made_by[s], here) for s in self._results if s in made_by]
        return nodes, edges

    def dot(self) -> str:
        """The entries as a graph in the DOT language. Raises ValueError for a large program."""
        nodes, edges = self._graph()
        lines = [f"  n{k} [label={_quoted(name)}, tooltip={_quoted(line)}];"
                 for k, (name, line) in enumerate(nodes)]  # fmt: skip
        lines += [f"  n{a} -> n{b};" for a, b in edges]
        return "\n".join(["digraph explanation {", "  rankdir=LR; node [shape=box];", *lines, "}"])

    def svg(self) -> str:
        """The entries as a picture, from left to right. Raises ValueError for a large program.

        Tasks are drawn one below the other, with the messages between them and their cotangents.
        """
        if len(self._tasks) > 1:
            return self._timeline()
        nodes, edges = self._graph()
        column = [0] * len(nodes)
        for a, b in edges:  # edges point to later nodes, so one pass in order is enough
            column[b] = max(column[b], column[a] + 1)
        height: dict[int, int] = {}
        place = []
        for c in column:
            place.append((20 + 150 * c, 20 + 50 * height.get(c, 0)))
            height[c] = height.get(c, 0) + 1
        size = 170 + 150 * max(column), 30 + 50 * max(height.values())
        body = [
            f'<line x1="{place[a][0] + 120}" y1="{place[a][1] + 15}" x2="{place[b][0]}" '
            f'y2="{place[b][1] + 15}" stroke="#888" marker-end="url(#tip)"/>'
            for a, b in edges
        ]
        for (x, y), (name, line) in zip(place, nodes, strict=True):
            fill = "#dde8f7" if line else "#f7ecd0"
            body.append(
                f'<g><title>{html.escape(line)}</title><rect x="{x}" y="{y}" width="120" '
                f'height="30" rx="4" fill="{fill}" stroke="#555"/><text x="{x + 60}" y="{y + 20}" '
                f'text-anchor="middle">{html.escape(name[:17])}</text></g>'
            )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
            'font-family="sans-serif" font-size="12"><defs><marker id="tip" orient="auto" '
            'markerWidth="8" markerHeight="8" refX="7" refY="3"><path d="M0,0 L7,3 L0,6 z" '
            f'fill="#888"/></marker></defs>{"".join(body)}</svg>'
        )

    def _timeline(self) -> str:
        n = len(self._arguments)
        names = self._arguments[0][0] if n == 1 else f"{n} arguments"
        first = Entry(names, "", 0, tuple(slot for _, slot, _ in self._arguments), ())
        last = Entry("value", "", 0, (), tuple(self._results))
        return Timeline(self._tasks, [first, *self._entries, last]).svg()

    def html(self) -> str:
        """The text, and the picture where there is one, as a page for a browser."""
        try:
            picture = self.svg()
        except ValueError:  # too large
            picture = ""
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>zyg.explain</title>'
            f'<body style="font-family: sans-serif"><pre>{html.escape(str(self))}</pre>{picture}'
            "</body></html>"
        )


@border
def explain(f: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Explanation:
    """What ``f(*args, **kwargs)`` keeps line by line, and why a gradient is None or zero.

    Parameters
    ----------
    f : callable
        The function.
    *args
        Its arguments.
    **kwargs
        Its keyword arguments.

    Returns
    -------
    Explanation
        Prints as text; `dot`, `svg` and `html` draw the entries of a small program.

    Raises
    ------
    MutationError
        For a write that cannot be followed, as in `gradient`, with a note that names the lines that
        rely on the arrays in question.

    Examples
    --------
    >>> import zyg
    >>> print(zyg.explain(lambda x, y: x * x if y > 0 else x, 3.0, 1.0))  # doctest: +ELLIPSIS
    value: 9.0
     entries       saved  line
           1         0 B  ...
           1         0 B  in all
    <BLANKLINE>
    argument 0: the value depends on it
    argument 1: its gradient is None; the dependence ends here:
        > at ...
    """
    trace = Trace(f, args, kwargs, lines=True)
    try:
        ones = [(target[0], _one_of(target[1])) for target in trace.out if target is not None]
        return Explanation(trace, trace.back_from(ones, zeros=False))
    finally:
        try:
            trace.close()
        finally:
            trace.close()


def _one_of(spec: Any) -> Any:
    if isinstance(spec, type):
        return 1.0
    return np.ones(*spec) if type(spec) is tuple else spec.zeros() + 1.0


def _slot(slot: Any) -> int:
    return int(slot.slot if type(slot) is ViewSlot else slot)


def _arguments(trace: Trace, gradients: tuple[Any, ...]) -> Iterator[tuple[str, Place, Any]]:
    """(name, place, gradient) of every number and array in the arguments."""
    for k, (structure, slots, gradient) in enumerate(
        zip(trace.inputs, trace.slots, gradients, strict=True)
    ):
        found = dict(structure.match(gradient, "the gradient")) if gradient is not None else {}
        for place, (slot, path) in enumerate(zip(slots, structure.paths(), strict=True)):
            yield f"argument {k}{path}", (0, _slot(slot)), found.get(place)


def _entries(strand: Strand, number: dict[Strand, int], kept: set[int]) -> Iterator[Entry]:
    tape, task = strand.tape, number[strand]
    for k in range(0, len(tape), 5):
        entry = tape[k : k + 5]
        out, pull = entry[0], entry[2]
        saved = 0
        for a in _arrays_in(entry[4], pull):
            if id(root_of(a)) not in kept:
                kept.add(id(root_of(a)))
                saved += a.nbytes
        is_import = pull is deliver
        made = entry[4][0] if is_import else None
        source = number[made.source] if made else task
        yield Entry(
            "import" if made else name_of(entry),
            strand.line_of(k),
            task,
            tuple((task, _slot(slot)) for slot in outputs_of(entry)),
            tuple((source, _slot(slot)) for slot in inputs_of(entry)),
            saved,
            is_write=out is None,
            is_import=is_import,
        )


def _arrays_in(*values: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that an entry keeps, also those in the closures of its pullback."""
    waiting, seen = list(values), set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        x = strip(x)
        if is_array(x):
            yield x
        elif isinstance(x, (tuple, list)):
            waiting.extend(x)
        elif getattr(x, "__closure__", None):
            waiting.extend(_contents(x.__closure__))


def _contents(cells: Any) -> Iterator[Any]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _size(n: int) -> str:
    return f"{n} B" if n < 1000 else f"{n / 1e3:.1f} kB" if n < 1e6 else f"{n / 1e6:.1f} MB"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
