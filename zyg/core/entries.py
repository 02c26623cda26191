"""Entries: how one is noted, and what it adds to which slots on the way back.

`strand` has the forms of an entry. Whoever asks something of a single entry asks here. What carries
out every entry of a tape reads its five places by itself, for speed: the loops of the reverse pass
in `reverse` and `adjoint_tasks`, and the strands that keep no tape, in `duals` and `patterns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from zyg.base.array_types import array_type, is_array
from zyg.base.registry import ScalarRule, rules
from zyg.base.structure import Structure, is_number
from zyg.base.trees import Row
from zyg.core.cotangents import Spec, spec_of, zeros_of
from zyg.core.strand import ARRAYS, Strand, is_watched, strip, watch, watched_leaves, watcher_of
from zyg.errors import AdjointError, MissingRuleError, StructureError, ZygError


class Kind(NamedTuple):
    """What is known of every entry that names a certain function, by the entry's arguments.

    `inputs(*args)` are the slots that it contributes to. `push(*args)` gives the tangents of what
    it made, or else its pullback is transposed. `name(*args)` is the user's function.
    """

    inputs: Callable[..., list[Any]]
    push: Callable[..., Any] | None = None
    name: Callable[..., str] | None = None


_NUMBERS = {float, np.float64, np.float32, int, complex, type(None)}

# A registry: filled by the files whose functions entries name, as they are imported.
kinds: dict[Callable[..., Any], Kind] = {}


def parts_of(entry: Sequence[Any]) -> tuple[tuple[Any, ...], Structure | None, Any, Any]:
    """The slots that an entry made, the structure of several, its function and its arguments."""
    out, _, a, _, b = entry
    if type(out) is not tuple:
        return () if out is None else (out,), None, a, b
    result, _, pull, args = b
    return out, result, pull, args


def outputs_of(entry: Sequence[Any]) -> tuple[Any, ...]:
    """The slots whose values an entry made or changed; none, if it sends values elsewhere."""
    made = parts_of(entry)[0]
    return made or ((entry[4].slot,) if hasattr(entry[4], "slot") else ())


def inputs_of(entry: Sequence[Any]) -> list[Any]:
    """The slots that an entry contributes to."""
    _, i, _, j, _ = entry
    if i is None and j is None:
        _, _, pull, args = parts_of(entry)
        return kinds[pull].inputs(*args)
    return [slot for slot in (i, j) if slot is not None]


def name_of(entry: Sequence[Any]) -> str:
    """The function that an entry is of, as well as it can be told."""
    _, i, a, j, _ = entry
    if i is not None:
        return "an operator on numbers"
    if j is not None:
        return name_of_partial(a) or str(a.__name__)
    _, _, pull, args = parts_of(entry)
    name = kinds[pull].name
    return name(*args) if name else str(pull.__name__).removesuffix("_pullback")


def name_of_partial(partial: Any) -> str:
    """The function that a partial derivative is of; empty if it is nobody's."""
    names = (str(r.name) for r in rules.values() if type(r) is ScalarRule and partial in r.partials)
    return next(names, "")


def contributions(entry: Sequence[Any], run: Any) -> Iterable[tuple[Any, Any]]:
    """What one entry adds to which slots, given what has come to its own.

    The loops of `reverse` and `adjoint_tasks` have copies of this, for speed; a test holds them
    together.
    """
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


def note(strand: Strand, y: Any, pull: Callable[..., Any], *args: Any) -> Any:
    """`y`, its numbers and arrays watched, reversed by ``pull(run, y_bar, *args)``.

    `pull` is a function of the module and not a closure, because the tape may have a million of
    them and the cyclic collector would walk every cell.
    """
    cls = watcher_of.get(type(y))
    if cls is not None:
        watched: Any = cls()
        watched.primal = y
        watched.strand = strand
        watched.slot = out = strand.new_slot()
        if cls in ARRAYS:
            watched.unread = watched.viewed = watched.versioned = watched.locked = False
        if strand.dual:
            out.spec = spec_of(y)
        strand.note((out, None, pull, None, args))
        return watched
    if (own := array_type(y).enter(y)) is not y:  # what a library made of its own array and ours
        return note(strand, own, pull, *args)
    bare = isinstance(y, tuple) and not getattr(y, "__dict__", None)
    row = bare and all(map(is_result, y))
    result: Any = Row(y) if row else Structure(y, is_result)
    if not result.leaves:
        return y
    if result.repeated:
        raise StructureError(
            "a rule returned the same container in two places.",
            "each place has its own cotangent, and a shared container can hold only one.",
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
    if is_watched(x):
        return True
    if is_array(x):
        return array_type(x).dtype(x).kind in "fciu"
    return is_number(x)


def _is_plain(x: Any) -> bool:
    """Whether a value holds nothing that is watched, told by its type."""
    return type(x) in _NUMBERS or (type(x) is np.ndarray and not x.dtype.hasobject)


def demand_closed(name: str, strand: Strand, y: Any) -> None:
    """Refuse the value of a rule of one's own that depends on more than its arguments."""
    if all(map(_is_plain, y if type(y) is tuple else (y,))):
        return
    if any(x.strand.open and x.strand.level >= strand.level for x in watched_leaves(y)):
        raise AdjointError(
            f"{name} depends on a watched value that is not among its arguments.",
            "a rule returns cotangents of its arguments only, not of a global variable or one of "
            "an enclosing function.",
            "pass the value as an argument; you can also pass a closure that holds it.",
            tag="closure",
        )


def lacking(error: TypeError, name: str, operands: Sequence[Any]) -> MissingRuleError | None:
    """What to say where the library of an array, or a rule, does not do what NumPy does."""
    plain = map(strip, Structure(operands, _is_any_array).leaves)
    libraries = [found for x in plain if (found := array_type(x)).library]
    if not libraries or isinstance(error, ZygError):
        return None
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    found, called = libraries[0], f"{'np.' * hasattr(np, name.partition('.')[0])}{name}"
    return MissingRuleError(
        f"{called} of {found.title} has no rule for these arguments: {reason}",
        f"either {found.library} has no such function, or the rule needs NumPy's own arrays.",
        "write it in functions that are there, or give it a rule with zyg.adjoint.",
        tag="device",
    )


def _is_any_array(x: Any) -> bool:
    return is_watched(x) or bool(array_type(x).library)
