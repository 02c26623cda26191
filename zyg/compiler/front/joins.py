"""Joining what there is on two sides of an `if`, or before a loop and after a round of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.front.captures import Outside
from zyg.compiler.front.growing import Growing, grown, promoted
from zyg.compiler.front.heap import Heap, refs_in
from zyg.compiler.front.mixed import Mixed, all_kinds, as_mixed, is_scalar, type_for
from zyg.compiler.front.structures import (
    NOTHING,
    Choice,
    Different,
    Items,
    Ref,
    Unknown,
    children,
    is_leaf,
    is_memory,
)
from zyg.compiler.ir import Value, element_of, is_number, same, type_of
from zyg.compiler.numbers import Number, atom_of

Make = Callable[[list[Any]], Any]
ABSENT: Any = object()  # what is never read
ONE_SIDE = Unknown("it has a value on one side of a condition only.", unset=True)
MAY_NOT_RUN = Unknown("it is set in a loop that may not run; set it before, too.", unset=True)
_MOST_OPTIONS = 8


@dataclass(eq=False, repr=False)
class Meeting:
    """Two heaps become one: what differs in numbers is paired, and made of what comes of the pairs.

    What has more than one name keeps its identity (`pinned`); a list with one name only is, after
    the meeting, one list, whichever of two it was. `at` are contexts in which operations of each
    side can be appended; `forced` are numbers that differ even where they seem not to; `pick`
    replaces what a side need not have. With `one_kind` numbers become one of the widest kind.
    """

    to: Builder
    sides: tuple[Heap, Heap]
    at: Sequence[Callable[[], AbstractContextManager[Any]]]
    facts: tuple[dict[Value, bool], dict[Value, bool]] = ({}, {})
    is_loop: bool = False
    forced: AbstractSet[Any] = frozenset()
    pick: Callable[[Ref, Any, Any, Any], tuple[Any, Any]] = lambda ref, key, a, b: (a, b)
    one_kind: bool = False
    varied: set[tuple[Ref, Any]] = field(default_factory=set)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    names: tuple[dict[Ref, Ref], dict[Ref, Ref]] = field(default_factory=lambda: ({}, {}))
    makes: dict[Ref, dict[Any, Make]] = field(default_factory=dict)
    trace: list[Any] = field(default_factory=list)

    # Heaps

    def meet(self, before: Heap, roots: list[Any], skip: Callable[[Ref, Any], bool]) -> None:
        """Join all contents that were there before; `skip` says what is not read again."""
        held = {ref for root in roots for ref in refs_in(root)}
        counts = before.counts(roots)
        alone = {ref for ref, n in counts.items() if n == 1 and ref not in held}
        pinned = [ref for ref in before if ref not in alone]
        for ref in pinned:
            self.names[0][ref] = self.names[1][ref] = ref
        for ref in pinned:
            self._contents(ref, ref, ref, skip)
        for ref in alone:
            if ref not in self.names[0] and ref not in self.names[1]:
                self.join(ref, ref)

    def heap(self, made: list[Any]) -> Heap:
        """The contents after the meeting, of what came of the pairs."""
        return Heap({
            ref: {key: make(made) for key, make in content.items()}
            for ref, content in self.makes.items()
        })  # fmt: skip

    def _contents(
        self, ref: Ref, a: Ref, b: Ref, skip: Callable[[Ref, Any], bool] | None = None
    ) -> None:
        one, other = ({} if r is ABSENT else side.get(r, {}) for r, side in
                      zip((a, b), self.sides, strict=True))  # fmt: skip
        keys = list(dict.fromkeys([*one, *other]))
        if ref.kind is dict and [k for k in other if k in one] != [k for k in one if k in other]:
            raise Different  # of another order
        content = self.makes[ref] = {}
        for key in keys:
            if skip and skip(ref, key):
                continue
            x, y = (
                ABSENT if r is ABSENT else side.get(key, self._default(key))
                for r, side in ((a, one), (b, other))
            )
            before = len(self.pairs)
            content[key] = self._slot(ref, key, *self.pick(ref, key, x, y))
            if len(self.pairs) > before:
                self.varied.add((ref, key))

    def _default(self, key: Any) -> Any:
        if isinstance(key, str) and key.startswith("%"):
            return False if key in FLAGS else ABSENT
        return MAY_NOT_RUN if self.is_loop else ONE_SIDE

    def _slot(self, ref: Ref, key: Any, a: Any, b: Any) -> Make:
        self.trace.append((ref, key))
        if (ref, key) in self.forced and is_leaf(a) and a is b:
            return self._pair(a, a)
        if self._is_kept(a, b):
            return self._constant(a)
        mark = self._mark()
        try:
            return self.join(a, b)
        except Different:
            self._back_to(mark)
            if self.is_loop and not self.to.whole and not isinstance(a, Unknown):
                raise Different(key) from None
            why = next((x.why for x in (a, b) if isinstance(x, Unknown)), _TWO_THINGS)
            self.trace.append("unknown")
            return _always(Unknown(why))

    # Values

    def join(self, a: Any, b: Any) -> Make:
        """How what two sides have in common is made of numbers; Different where it is nothing."""
        if self._is_kept(a, b):
            return self._constant(a)
        if isinstance(a, Choice) or isinstance(b, Choice):
            return self._union(a, b)
        mark = self._mark()
        try:
            return self._alike(a, b)
        except Different:
            self._back_to(mark)
            if not self.to.whole:
                raise
            return self._union(a, b)

    def _is_kept(self, a: Any, b: Any) -> bool:
        """Whether the two sides have one thing, in which nothing may differ."""
        if a is not b:
            return False
        if a is ABSENT or is_leaf(a):
            return True
        return not self.is_loop and not isinstance(a, (Ref, Choice)) and _is_flat(a)

    def _mark(self) -> Any:
        return (len(self.pairs), len(self.trace), [dict(n) for n in self.names], dict(self.makes))

    def _back_to(self, mark: Any) -> None:
        pairs, trace, names, makes = mark
        del self.pairs[pairs:], self.trace[trace:]
        for now, then in zip(self.names, names, strict=True):
            now.clear()
            now.update(then)
        self.makes.clear()
        self.makes.update(makes)

    def _alike(self, a: Any, b: Any) -> Make:
        one = b if a is ABSENT else a
        if self.to.whole and is_scalar(one):
            a, b = self._of_one_form(a, b)
            one = b if a is ABSENT else a
        if is_leaf(one):
            return self._numbers(a, b)
        if isinstance(one, Ref):
            return self._refs(a, b)
        if (
            isinstance(a, Growing)
            or isinstance(b, Growing)
            or (isinstance(a, Items) and isinstance(b, Items) and len(a) != len(b))
        ):
            a, b = self._as_growing(a, b)
            one = b if a is ABSENT else a
        inner = children(one)
        if inner is None:
            if a is ABSENT or b is ABSENT or _is_same(a, b):
                return self._constant(one)
            raise Different
        others = children(b if one is a else a)
        if a is ABSENT or b is ABSENT:
            lists = [(ABSENT, x) if a is ABSENT else (x, ABSENT) for x in inner[1]]
        elif others is None or inner[0] != others[0]:
            raise Different
        else:
            lists = list(zip(inner[1], others[1], strict=True))
        self.trace.append(inner[0])
        parts = [self.join(x, y) for x, y in lists]
        make = inner[2]
        return lambda made: make([part(made) for part in parts])

    def _of_one_form(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two numbers, each as one of all the kinds that the two are of."""
        if a is b and not isinstance(a, Mixed):
            return a, b
        found = [x for x in (a, b) if x is not ABSENT]
        if not all(map(is_scalar, found)):
            raise Different
        kinds, held = all_kinds(*found), type_for(*found)
        if len(kinds) == 1:
            return a, b
        made = []
        for x, at in zip((a, b), self.at, strict=True):
            with at():
                y = x if x is ABSENT else as_mixed(self.to, x, kinds, held)
                kind = [k for k in kinds if k[0] == held][-1:] or kinds
                made.append(y.of_kind(kind[-1]) if self.one_kind and y is not ABSENT else y)
        return made[0], made[1]

    def _constant(self, x: Any) -> Make:
        self.trace.append(_identity(x))
        return _always(x)

    def _numbers(self, a: Any, b: Any) -> Make:
        if a is ABSENT or b is ABSENT:
            one = b if a is ABSENT else a
            if is_number(one):
                return self._constant(one)
            if is_number(one.atom):
                return self._constant(one)
            nothing = self._nothing(one, 0 if a is ABSENT else 1)
            return self._pair(nothing, one) if a is ABSENT else self._pair(one, nothing)
        if not is_leaf(b) or not is_leaf(a):
            raise Different
        kinds = [type_of(atom_of(x)) for x in (a, b)]
        if (is_memory(a) or is_memory(b)) and kinds[0] != kinds[1]:
            raise Different
        if a is b or (is_number(a) and type(a) is type(b) and repr(a) == repr(b)):
            return self._constant(a)
        if isinstance(a, Number) and isinstance(b, Number) and _is_one(a, b):
            return self._constant(a)
        return self._pair(a, b)

    def _pair(self, a: Any, b: Any) -> Make:
        place = len(self.pairs)
        if not is_memory(a):
            with self.at[0]():
                a = self.to.widened(a, b)
        self.pairs.append((a, b))
        self.trace.append((type_of(atom_of(a)), getattr(a, "python", True)))
        return lambda made: made[place]

    def _nothing(self, like: Number, side: int) -> Any:
        """What stands for a number where there is none."""
        kind = type_of(like.atom)
        with self.at[side]():
            if is_memory(like):
                return self.to.like(self.to.alloc(element_of(kind), 0), like)
            if kind == "float32":
                return self.to.like(self.to.to(kind, 0.0), like)
        return NOTHING[kind]

    def _refs(self, a: Any, b: Any) -> Make:
        # What both sides know stays itself.
        if a is ABSENT and b in self.sides[0] and b not in self.names[0]:
            a = b
        elif b is ABSENT and a in self.sides[1] and a not in self.names[1]:
            b = a
        found = [None if x is ABSENT else names.get(x) for x, names in
                 zip((a, b), self.names, strict=True)]  # fmt: skip
        known = found[0] or found[1]
        if known is not None:
            if any(x is not ABSENT and r is not known for x, r in zip((a, b), found, strict=True)):
                raise Different
            return self._constant(known)
        one = b if a is ABSENT else a
        if a is not ABSENT and ((not isinstance(b, Ref) and b is not ABSENT) or (b is not ABSENT
                                and (a.kind is not b.kind or a.fixed != b.fixed))):  # fmt: skip
            raise Different
        ref = one if a is b or (self.is_loop and a is not ABSENT) else Ref(
            one.kind, one.path, one.fixed)  # fmt: skip
        for x, names in zip((a, b), self.names, strict=True):
            if x is not ABSENT:
                names[x] = ref
        self.trace.append(one.kind)
        self._contents(ref, a, b)
        return _always(ref)

    def _as_growing(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two lists of different lengths, in memory."""
        made = []
        for x, other, at in ((a, b, self.at[0]), (b, a, self.at[1])):
            if x is ABSENT:
                made.append(x)
                continue
            with at():
                made.append(promoted(self.to, x, other))
        for k in (0, 1):
            if made[k] is not ABSENT and made[1 - k] is not ABSENT:
                with self.at[k]():
                    made[k] = grown(self.to, made[k], made[1 - k])
        return made[0], made[1]

    def _options(self, x: Any, side: int) -> list[tuple[Any, Any]]:
        """What something may be at the end of a side, and the flag of each."""
        if not isinstance(x, Choice):
            return [] if x is ABSENT else [(True, x)]
        facts: dict[Any, bool] = self.facts[side]
        known = [facts.get(getattr(f, "atom", None), f) for f in x.flags]
        if True in [f is True for f in known]:
            known = [f is True for f in known]
        pairs = zip(known, x.options, strict=True)
        return [(flag, option) for flag, option in pairs if flag is not False]

    def _union(self, a: Any, b: Any) -> Make:
        rest = self._options(b, 1)
        entries: list[tuple[Any, Any, Make]] = []
        for flag, x in self._options(a, 0):
            for k, (other, y) in enumerate(rest):
                mark = self._mark()
                try:
                    entries.append((flag, other, self._alike(x, y)))
                    del rest[k]
                    break
                except Different:
                    self._back_to(mark)
            else:
                entries.append((flag, False, self._alike(x, ABSENT)))
        entries += [(False, flag, self._alike(ABSENT, y)) for flag, y in rest]
        if len(entries) > _MOST_OPTIONS:
            raise Different
        self.trace.append(len(entries))
        flags = [self._numbers(flag, other) for flag, other, _ in entries]
        makes = [make for _, _, make in entries]
        return lambda made: chosen([f(made) for f in flags], [m(made) for m in makes])


def chosen(flags: list[Any], options: list[Any]) -> Any:
    """A choice; the one thing that it can be, if there is but one."""
    if True in [flag is True for flag in flags]:
        return options[[flag is True for flag in flags].index(True)]
    left = [(flag, x) for flag, x in zip(flags, options, strict=True) if flag is not False]
    if len(left) == 1:
        return left[0][1]
    return Choice([flag for flag, _ in left], [x for _, x in left])


def _is_one(a: Number, b: Number) -> bool:
    """Whether two numbers are the same, and the same party's."""
    if getattr(a, "python", True) is not getattr(b, "python", True):
        return False
    return same(a.atom, b.atom)


def _always(x: Any) -> Make:
    return lambda made: x


def _is_flat(x: Any) -> bool:
    """Whether a value holds nothing that has a content."""
    inner = children(x)
    return inner is None or all(
        not isinstance(part, (Ref, Choice)) and _is_flat(part) for part in inner[1]
    )


def _is_same(a: Any, b: Any) -> bool:
    """Whether two things that are known are one."""
    a, b = (x.value if isinstance(x, Outside) else x for x in (a, b))
    if isinstance(a, Unknown) and isinstance(b, Unknown):
        return a.unset and b.unset
    return a is b or (type(a) is type(b) and isinstance(a, (str, bytes, range)) and a == b)


def _identity(x: Any) -> Any:
    if is_number(x):
        return type(x), repr(x)
    if isinstance(x, Number):
        return x.atom, getattr(x, "python", True)
    if isinstance(x, Unknown):
        return Unknown
    if isinstance(x, (str, bytes)):
        return x
    return id(x.value) if isinstance(x, Outside) else x if isinstance(x, Ref) else id(x)


FLAGS = ("%returned", "%broken", "%continued")
_TWO_THINGS = "it is two different things on the two sides of a condition."
