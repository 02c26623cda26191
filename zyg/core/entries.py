"""Entries: how one is noted, and what it adds to which slots on the way back.

`strand` has the forms of an entry. What is known of an entry as such, and not of one function, is
here; the loops of the reverse pass that read entries by place are in `reverse` and `adjoint_tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from zyg.base.array_types import is_device
from zyg.base.registry import ScalarRule, rules
from zyg.base.structure import Structure, is_number
from zyg.core.cotangents import Spec, spec_of, zeros_of
from zyg.core.strand import WATCHED, Strand, strip, watch, watcher_of
from zyg.errors import MissingRuleError, StructureError, ZygError


def contributions_of(entry: Sequence[Any], run: Any) -> Iterable[tuple[Any, Any]]:
    """What one entry adds to which slots, given what has come to its own."""
    out, i, a, j, b = entry
    if out is None:
        return a(run, *b)  # type: ignore[no-any-return]
    y_bar = [run.bars[k] for k in out] if type(out) is tuple else run.bars[out]
    if y_bar is None or (type(out) is tuple and all(c is None for c in y_bar)):
        return ()
    if i is not None:
        pairs = [(i, run.times(y_bar, a))]
        return pairs if j is None else [*pairs, (j, run.times(y_bar, b))]
    if type(out) is int:
        run.bars[out] = None
    if j is not None:
        return [(j, run.times(y_bar, a if b is None else a(*b)))]
    return a(run, y_bar, *b)  # type: ignore[no-any-return]


def name_of_entry(entry: Sequence[Any]) -> str:
    """The function that an entry is of, as well as it can be told."""
    _, i, a, j, b = entry
    if i is not None:
        return "an operator on numbers"
    if type(b) is tuple and len(b) == 4 and callable(b[2]):  # several results at once
        return name_of_entry((None, None, b[2], None, b[3]))
    if getattr(b[0] if b else None, "name", None):
        return str(b[0].name)
    active = [(None, a, None)] if j is not None else b[0] if b and type(b[0]) is list else []
    for _, partial, _ in active:
        for rule in rules.values():
            if isinstance(rule, ScalarRule) and partial in rule.partials:
                return str(rule.name)
    name = str(a.__name__)
    return {"undo_write": "write"}.get(name, name.removesuffix("_pullback"))


def note(strand: Strand, y: Any, pull: Callable[..., Any], *args: Any) -> Any:
    """`y`, its numbers and arrays watched, reversed by ``pull(run, y_bar, *args)``.

    `pull` is a function of the module and not a closure, because the tape may have a million of
    them and the cyclic collector would walk every cell.
    """
    cls = watcher_of.get(type(y))
    if cls is not None:
        watched = cls()
        watched.primal = y
        watched.strand = strand
        watched.slot = out = strand.new_slot()
        if strand.dual:
            out.spec = spec_of(y)
        strand.note((out, None, pull, None, args))
        return watched
    result = Structure(y, is_result)
    if not result.leaves:
        return y
    if result.repeated:
        raise StructureError(
            "a rule returned the same container in two places.",
            "each place has a cotangent of its own, and a shared container has room for one.",
            "return two containers: copy one of them.",
        )
    slots = tuple(strand.new_slot() for _ in result.leaves)
    specs = [spec_of(x) for x in result.leaves]
    if strand.dual:
        for slot, spec in zip(slots, specs, strict=True):
            slot.spec = spec
    strand.note((slots, None, gather, None, (result, specs, pull, args)))
    return result.rebuild([watch(strand, x, s) for x, s in zip(result.leaves, slots, strict=True)])


def gather(
    run: Any, bars: list[Any], result: Structure, specs: list[Spec], pull: Any, args: Any
) -> Any:
    """The pullback of several results at once: zeros stand in where nothing flows."""
    full = [zeros_of(s) if c is None else c for c, s in zip(bars, specs, strict=True)]
    return pull(run, result.rebuild(full), *args)


def is_result(x: Any) -> bool:
    """Whether a result is watched: a number or a numeric array, plain or of an outer level."""
    if type(x) in WATCHED:
        return True
    if isinstance(x, np.ndarray) or is_device(type(x)):
        return x.dtype.kind in "fciu"
    return is_number(x)


def lacking(error: TypeError, name: str, operands: Sequence[Any]) -> MissingRuleError | None:
    """What to say where the library of a device array, or a rule, does not do what NumPy does."""
    plain = map(strip, Structure(operands, _is_any_array).leaves)
    libraries = [type(x).__module__.partition(".")[0] for x in plain if is_device(type(x))]
    if not libraries or isinstance(error, ZygError):
        return None
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return MissingRuleError(
        f"np.{name} of arrays of {libraries[0]} has no rule for these arguments: {reason}",
        f"either {libraries[0]} has no such function, or the rule needs NumPy's own arrays.",
        "write it in functions that are there, or give it a rule with zyg.adjoint.",
    )


def _is_any_array(x: Any) -> bool:
    return type(x) in WATCHED or is_device(type(x))
