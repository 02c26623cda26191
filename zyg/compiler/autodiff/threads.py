"""Loops whose rounds run in threads: their mirrors do, too.

What a round reads alone, it adds cotangents of to the one shadow. Of what others read as well, it
has a shadow of its own, which is added to the one that all share when the rounds are done, in their
order. Where those shadows would take too much memory, the rounds run in one thread, and share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zyg.compiler.aliases import writes_of
from zyg.compiler.autodiff.dependence import makes_reals
from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    For,
    If,
    Load,
    Routine,
    Value,
    While,
    element_of,
    is_buffer,
    operations,
)
from zyg.compiler.loops import WORTH_IT

_MOST = 2**22  # elements of shadows of rounds
_COST = 4.0  # operations for each, to make it and to add it up


class Threads:
    """How the mirror of a loop of the program runs; in threads if the loop does, and it can.

    `builder` is where to put what is computed before the mirror, if that is not where the reverse
    pass is.
    """

    def __init__(self, reverse: Any, op: Any, count: Atom, builder: Builder | None = None) -> None:
        self.reverse, self.sweep, self.op = reverse, reverse.sweep, op
        self.region = self.sweep.frames[op.body].region
        shares = self._shared()
        self.shares, self.apart = shares or [], None if shares is None else list[Value]()
        if shares is None:
            return
        to = builder or reverse.builder
        fetch = reverse.residuals.fetch if builder is None else lambda x: x
        self.apart = [fetch(self.sweep.shadow[x]) for x in op.apart if x in self.sweep.shadow]
        self.sizes = [fetch(self.sweep.size[x]) for x in self.shares]
        self.ones = [fetch(self.sweep.shadow[x]) for x in self.shares]
        self.work = fetch(self.region.work)
        if self.shares:
            total: Atom = 0
            for size in self.sizes:
                total = to.op("add", total, size)
            total = to.op("multiply", total, count)
            costs = to.op("multiply", to.op("float", total), _COST)
            worth = to.op("greater_equal", self.work, to.op("maximum", costs, WORTH_IT))
            self.threads = to.op("logical_and", worth, to.op("less_equal", total, _MOST))
            self.work = to.op("select", self.threads, self.work, -1.0)
            self.sizes = [to.op("select", self.threads, size, 0) for size in self.sizes]

    def _shared(self) -> list[Value] | None:
        """The buffers that rounds share and whose elements get cotangents; None: no threads."""
        op, activity = self.op, self.sweep.activity
        if not isinstance(op, For) or op.apart is None or self.region.apart is None:
            return None
        if self.reverse.residuals.pair is not None:
            return None  # a function that is called keeps what it keeps in an order
        inside = [*operations(op.body)]
        made = {x.out for x in inside if isinstance(x, Alloc)}
        own = made | {*op.apart}
        own |= {x.out for x in inside if isinstance(x, Load) and is_buffer(x.out.type)
                and x.buffer in own}  # fmt: skip
        shared: dict[Value, None] = {}
        for x in inside:
            if isinstance(x, (If, For, While)):
                if any(is_buffer(y.type) and activity.is_active(y) for y in x.outs):
                    return None
                continue
            if isinstance(x, Call) and activity.has_part(x):
                return None
            if any(activity.is_active(y) and y not in own for y in writes_of(x)):
                return None
            for y in _summed(x, activity.is_active):
                if y not in own:
                    shared[y] = None
        outer = [y for y in (*shared, *op.apart) if activity.is_active(y)]
        classes = {activity.of(y) for y in outer}
        known = all(y in self.sweep.size and self._is_before(y) for y in shared)
        return [*shared] if known and len(classes) == len({*outer}) else None

    def _is_before(self, x: Value) -> bool:
        """Whether a buffer is there before the loop, and its shadow."""
        home = self.sweep.home
        frame = self.sweep.frames[self.op.body].parent
        above = {None}
        while frame is not None:
            above.add(frame)
            frame = frame.parent
        return home.get(self.sweep.shadow[x]) in above

    @contextmanager
    def inside(self, body: Block) -> Iterator[None]:
        """While it lasts, the mirror of a round is made in a block."""
        if not self.shares:
            yield
            return
        first, last = Builder(), Builder()
        before = self.reverse.shared
        shared = dict(before)
        for x, one, size in zip(self.shares, self.ones, self.sizes, strict=True):
            own, to = first.alloc(element_of(x.type), size), Value(x.type)
            first.block.ops.append(If(self.threads, Block([], [own]), Block([], [one]), [to]))
            shared[x] = to
            last.add_all(one, own, size)
            last.block.ops[-1].in_order = True
        self.reverse.shared = shared
        try:
            yield
        finally:
            self.reverse.shared = before
        body.ops[:0] = first.block.ops  # as loops inside may have their mirrors in themselves
        body.ops += last.block.ops

    def given(self, loop: For) -> For:
        """The loop of the mirror, which knows how it runs."""
        if self.apart is None:
            loop.apart, loop.work = None, 0.0
        else:
            loop.apart, loop.work = [*self.region.apart, *self.apart], self.work
        return loop


def _summed(op: Any, is_active: Any) -> list[Value]:
    """The buffers whose shadows the mirror of an operation adds to."""
    if isinstance(op, Load):
        return [op.buffer] if is_active(op.out) and not is_buffer(op.out.type) else []
    if isinstance(op, Routine) and makes_reals(op):
        return [op.args[k] for k in (3, 7) if is_active(op.args[k])]  # type: ignore[misc]
    return []
