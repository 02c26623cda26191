"""The reverse pass of a concurrent program: one adjoint task for each task, stepped side by side.

An `AdjointTask` steps back through one strand. Where the strand has a value that others imported,
an `AdjointChannel` collects the cotangents of those imports, and the adjoint task waits for the
last of them before it steps back through the entry that made the value.

Nothing here blocks. A task that has to wait is *parked* at its channel; the delivery that completes
the channel puts it back among the ready ones. That cannot deadlock, with any number of threads: of
all entries not yet stepped through take the one made last. All imports of what it made are younger,
so they have delivered, and it can be stepped through.

What comes back does not depend on the schedule: an adjoint task adds up its own contributions in
the order of its tape, and a channel those of the imports in the order of the tasks that made them
in the tree of tasks, the one forked last first, and backwards in each.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any

import numpy as np

from zyg.base.config import setting
from zyg.core.entries import contributions, name_of
from zyg.core.exchange import Import, deliver
from zyg.core.reverse import Later, Run, demand_finite
from zyg.core.reverse import reverse as reverse_alone
from zyg.core.strand import Strand, active, fork
from zyg.core.views import ViewSlot
from zyg.errors import AdjointInvariantError


class AdjointChannel:
    """The cotangents of one exported value, on their way back from those who imported it."""

    __slots__ = ("given", "left", "lock", "owned", "parked", "parts", "total", "upto")

    def __init__(self, imports: list[Import], ranks: dict[Strand, int]) -> None:
        if len(imports) > 1:  # added up in the order in which adjoint tasks are ready
            imports = sorted(imports, key=lambda made: (ranks[made.target], -made.number))
            for rank, made in enumerate(imports):
                made.rank = rank
        self.given: dict[int, tuple[Any, Any]] = {}  # what is not yet added up, by rank
        self.upto = 0  # ranks below have been added up
        self.left = len(imports)
        self.total: Any = None
        self.owned = False  # whether the total is an array made here
        self.parts: list[tuple[Any, Any]] = []  # what came from imports of views, by their places
        self.parked: AdjointTask | None = None
        self.lock = threading.Lock()

    def send(self, made: Import, c: Any, *, add: bool) -> AdjointTask | None:
        """Deliver one cotangent; returns the adjoint task that waited for it, if it was the last.

        With `add` it is added up at once, if those before it have come; otherwise by the receiver.
        """
        with self.lock:
            if add and made.rank == self.upto:
                self._add(made.slot, c)
                if self.given:
                    self._add_given()
            else:
                self.given[made.rank] = made.slot, c
            self.left -= 1
            return self.parked if not self.left else None

    def _add_given(self) -> None:
        while (found := self.given.pop(self.upto, None)) is not None:
            self._add(*found)

    def _add(self, slot: Any, c: Any) -> None:
        self.upto += 1
        if c is None:
            return
        if type(slot) is ViewSlot:
            self.parts.append((slot, c))
        elif self.total is None:
            self.total = c
        elif self.owned and type(c) is np.ndarray:
            np.add(self.total, c, out=self.total)
        else:
            self.total = self.total + c
            self.owned = type(self.total) is np.ndarray

    def receive(self, task: AdjointTask, slot: Any) -> bool:
        """Give `task` all that came for a slot; or have it wait for the last delivery: False."""
        with self.lock:
            if self.left:
                self.parked = task
                return False
        self._add_given()
        if self.total is not None:
            task.run.add(slot, self.total)
        for part, c in self.parts:
            task.run.add(part, c)
        return True


class AdjointTask:
    """One strand, stepped backwards."""

    __slots__ = (
        "at", "awaited", "channels", "context", "pass_", "rank", "run", "stepping", "strand",
        "woken",
    )  # fmt: skip

    def __init__(self, strand: Strand, pass_: ReversePass, ranks: dict[Strand, int]) -> None:
        self.strand, self.pass_, self.rank = strand, pass_, ranks[strand]
        self.run = Run(pass_.strong)
        self.at = len(strand.tape)  # before the slots are counted: a task may still be running
        self.run.bars = [None] * strand.new_slot()
        exports = strand.kin.exports.items()
        self.channels = {slot: AdjointChannel(made, ranks) for slot, made in exports}
        self.context: Context | None = None
        self.awaited: Later | None = None  # what is computed elsewhere, of the entry at `at`
        self.stepping = self.woken = False  # woken before the thread that stepped it has left it

    def step(self, until: float) -> bool | None:
        """Step back: True when done, False when it has to wait, None when the time is up."""
        tape, run, channels, pass_ = self.strand.tape, self.run, self.channels, self.pass_
        bars, times = run.bars, run.times
        try:
            while at := self.at:
                if pass_.stopped or time.monotonic() > until:
                    return None
                out, i, a, j, b = tape[at - 5 : at]
                if channels and out is not None:
                    for slot in out if type(out) is tuple else (out,):
                        if slot in channels and not self._receive(slot):
                            return False
                if i is not None and not pass_.check:  # numbers, as in `reverse._step_back`
                    y_bar = bars[out]
                    if y_bar is not None:
                        have, c = bars[i], times(y_bar, a)
                        bars[i] = c if have is None else have + c
                        if j is not None:
                            have, c = bars[j], times(y_bar, b)
                            bars[j] = c if have is None else have + c
                elif a is deliver:
                    c, bars[out] = bars[out], None
                    pass_.deliver(b[0], c)
                elif not self._through(tape[at - 5 : at], run):
                    return False
                self.at = at - 5
        except BaseException as error:
            kin = self.strand.kin
            error.add_note(
                f"zyg: while running the adjoint of {name_of(tape[at - 5 : at])} recorded by "
                f"task {kin.name!r} (path {'.'.join(map(str, kin.path)) or 'root'})"
            )
            raise
        return all(self._receive(slot) for slot in [*channels])

    def _through(self, entry: list[Any], run: Run) -> bool:
        """Step back through one entry; False if what it contributes is being computed elsewhere."""
        found: Any = self.awaited or contributions(entry, run)
        if type(found) is Later and self.awaited is None:
            self.awaited = found
            self.pass_.wake_after(found, self)
            return False
        self.awaited = None
        for slot, c in found:
            if self.pass_.check:
                demand_finite(c, entry, self.strand.line_of(self.at - 5))
            run.add(slot, c)
        return True

    def _receive(self, slot: Any) -> bool:
        """Add what the importers of a slot sent, if all have; or park."""
        if not self.channels[slot].receive(self, slot):
            return False
        del self.channels[slot]
        return True


class ReversePass:
    """One reverse pass over all strands of a level."""

    def __init__(
        self,
        root: Strand,
        seeds: Iterable[tuple[Any, Any]],
        strong: bool,
        check: bool,
    ) -> None:
        self.strong, self.check = strong, check
        self.stopped = False
        self.errors: list[tuple[tuple[int, ...], BaseException]] = []  # by the paths of tasks
        # A task before those that it forked, and of these the last one first.
        strands = sorted(root.level_strands(), key=lambda strand: [-k for k in strand.kin.path])
        ranks = {strand: rank for rank, strand in enumerate(strands)}
        self.tasks = [AdjointTask(strand, self, ranks) for strand in strands]
        self.root = self.tasks[0]
        for slot, c in seeds:
            self.root.run.add(slot, c)
        self.channels = {
            made: channel
            for task in self.tasks
            for slot, channel in task.channels.items()
            for made in task.strand.kin.exports[slot]
        }
        self.changed = threading.Condition()
        self.ready = [*range(len(self.tasks))]  # a heap of ranks
        self.running = 0
        self.elsewhere: set[Later] = set()  # what adjoint tasks wait for that others compute
        self.left = len(self.ready)
        self.parallel = sum(strand.kin.parallel for strand in strands)
        # What an outer level sees can be reversed in parallel too, and is noted where it does not
        # depend on the schedule: on the strand of the adjoint task that adds something up.
        self.nested = bool(self.parallel and active.get())
        if self.nested:
            for task in self.tasks:
                task.context = copy_context()
                task.context.run(
                    active.set, fork(f"adjoint of {task.strand.kin.name}", parallel=True)
                )

    def deliver(self, made: Import, c: Any) -> None:
        """Give the cotangent of an import to its channel."""
        woken = self.channels[made].send(made, c, add=not self.nested)
        if woken is not None:
            with self.changed:
                self._wake(woken)

    def _wake(self, task: AdjointTask) -> None:
        if task.stepping:
            task.woken = True
        else:
            heapq.heappush(self.ready, task.rank)
            self.changed.notify()

    def wake_after(self, later: Later, task: AdjointTask) -> None:
        """Have `task` wait until its contributions have been computed."""

        def arrived(future: Any) -> None:
            with self.changed:
                self.elsewhere.discard(later)
                self._wake(task)

        with self.changed:
            self.elsewhere.add(later)
        later.future.add_done_callback(arrived)

    def work(self, until: float = float("inf")) -> bool:
        """Step whatever is ready, until all is done (True) or the time is up (False)."""
        task: AdjointTask | None = None
        done: bool | None = False
        while True:
            with self.changed:
                if task is not None:
                    self._left(task, done)
                while not self.ready and self.left and not self.stopped:
                    if not self.running and not self.elsewhere:
                        self.fail(self._stuck())
                    elif until == float("inf"):
                        self.changed.wait()
                    elif not self.changed.wait(until - time.monotonic()):
                        return False
                if not self.left or self.stopped:
                    return True
                if time.monotonic() > until:
                    return False
                task = self.tasks[heapq.heappop(self.ready)]
                self.running += 1
                task.stepping = True
            try:
                done = task.context.run(task.step, until) if task.context else task.step(until)
            except BaseException as error:
                done = False
                self.fail(error, task.strand.kin.path)

    def _left(self, task: AdjointTask, done: bool | None) -> None:
        """A thread has stepped a task as far as it could."""
        self.running -= 1
        self.left -= done is True
        task.stepping = False
        if done is None or task.woken:
            task.woken = False
            heapq.heappush(self.ready, task.rank)
        if not self.left or self.stopped or not self.running:
            self.changed.notify_all()

    @contextmanager
    def helped(self) -> Iterator[None]:
        """While threads work along: as many as there are other cores, or tasks that have threads.

        Afterwards nothing runs any more, and what the reverse pass wrote to is as it was.
        """
        workers = setting("workers")
        cores = (os.cpu_count() or 1) - 1 if workers is None else workers
        threads = [
            threading.Thread(target=copy_context().run, args=(self.work,), daemon=True)
            for _ in range(min(cores, self.parallel - 1))
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:  # also if it was cancelled, or interrupted while waiting
            with self.changed:
                self.stopped = True
                self.changed.notify_all()
                unfinished = [*self.elsewhere]
            for later in unfinished:
                later.future.cancel()
            for thread in threads:
                thread.join()
            for task in self.tasks:
                task.run.finish()

    def fail(self, error: BaseException, path: tuple[int, ...] = ()) -> None:
        """Stop all tasks, because one raised."""
        with self.changed:
            self.errors.append((path, error))
            self.stopped = True
            self.changed.notify_all()

    def _stuck(self) -> AdjointInvariantError:
        names = [task.strand.kin.name for task in self.tasks if task.at or task.channels]
        return AdjointInvariantError(
            f"the reverse pass cannot advance; waiting: {', '.join(names)}.",
            "an import never delivered its cotangent. This is a bug in zyg.",
            "please report the program.",
        )

    def bars(self) -> list[Any]:
        """The cotangents of the first strand's slots; raises what a task raised."""
        if self.errors:
            _, error = min(self.errors, key=lambda found: found[0])
            if len(self.errors) > 1:
                error.add_note(f"zyg: {len(self.errors) - 1} more tasks raised")
            raise error
        return self.root.run.bars


def reverse(
    strand: Strand,
    seeds: Iterable[tuple[Any, Any]],
    strong: bool,
    *,
    check: bool = False,
) -> list[Any]:
    """The cotangents of a strand's slots; its level is reversed with the help of some threads."""
    if not strand.kin.family:
        return reverse_alone(strand, seeds, strong, check=check)
    with _turn(strand):
        pass_ = ReversePass(strand, seeds, strong, check)
        with pass_.helped():
            pass_.work()
        return pass_.bars()


_SLICE = 0.005  # seconds for which a loop is kept from its other tasks


async def reverse_async(
    strand: Strand,
    seeds: Iterable[tuple[Any, Any]],
    strong: bool,
    *,
    check: bool = False,
) -> list[Any]:
    """`reverse` in a running loop: in slices, between which it can be cancelled."""
    checkpoint = _checkpoint()
    turn = _turn(strand)
    # Another task of this loop may be between two of its slices, and a thread in the midst of it.
    while strand.memory.reversing or not turn.acquire(blocking=False):
        await checkpoint()
    strand.memory.reversing = True
    try:
        pass_ = ReversePass(strand, seeds, strong, check)
        with pass_.helped():
            while not pass_.work(time.monotonic() + _SLICE):
                await checkpoint()
        return pass_.bars()
    finally:
        strand.memory.reversing = False
        turn.release()


def _checkpoint() -> Callable[[], Awaitable[Any]]:
    """What lets the other tasks of the loop run."""
    import sniffio

    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.checkpoint
    import asyncio

    return lambda: asyncio.sleep(0)


def _turn(strand: Strand) -> Any:
    """What reverse passes over a level take turns by, if anything was written there."""
    turns = [m.turn for s in strand.level_strands() if (m := s.memory).turn is not None]
    return turns[0] if turns else threading.RLock()
