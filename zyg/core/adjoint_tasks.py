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
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from itertools import chain, count, islice
from typing import Any

from zyg.base.config import cores, setting
from zyg.core.adjoint_channels import AdjointChannel
from zyg.core.entries import contributions, name_of
from zyg.core.exchange import Import, deliver
from zyg.core.reverse import Later, Run, demand_finite
from zyg.core.reverse import reverse as reverse_alone
from zyg.core.strand import Strand, active, fork
from zyg.errors import AdjointInvariantError

_numbers = count(1)  # of passes
_STRETCH = 256  # entries of numbers between two looks at the clock


class AdjointTask:
    """One strand, stepped backwards."""

    __slots__ = (
        "awaited", "channels", "entries", "held", "pass_", "places", "rank", "run", "stepping",
        "strand", "woken",
    )  # fmt: skip

    def __init__(self, strand: Strand, pass_: ReversePass, rank: int) -> None:
        self.strand, self.pass_, self.rank = strand, pass_, rank
        self.run = Run(pass_.strong, number=pass_.number)
        # Before the slots are counted: a task may still be running.
        self.places = places = reversed(strand.tape)
        self.entries = zip(places, places, places, places, places, strict=True)
        self.held: Any = None  # the entry that waits
        self.run.bars = [None] * strand.new_slot()
        exports, sent = strand.kin.exports, pass_.channels
        self.channels = {slot: sent[made] for slot, made in exports.items()} if exports else {}
        self.awaited: Later | None = None  # what is computed elsewhere, of the entry that waits
        self.stepping = self.woken = False  # woken before the thread that stepped it has left it

    def step(self, until: float) -> bool | None:
        """Step back: True when done, False when it has to wait, None when the time is up."""
        try:
            if not self._step(until):
                return None if self.held is None else False
        except BaseException as error:
            kin, at = self.strand.kin, self.at()
            if entry := self.strand.tape[at : at + 5]:
                error.add_note(
                    f"zyg: while running the adjoint of {name_of(entry)} recorded by "
                    f"task {kin.name!r} (path {'.'.join(map(str, kin.path)) or 'root'})"
                )
            raise
        return not self.channels or self._receive(tuple(self.channels))

    def at(self) -> int:
        """Where on the tape the entry is that is stepped through."""
        return int(self.places.__length_hint__())

    def _step(self, until: float) -> bool:
        """Step back through all entries: False if one is held, or if the time is up.

        The first stretch begins whatever the time, so that slices that are late get on, too.
        """
        run, channels, pass_ = self.run, self.channels, self.pass_
        bars, times, plain, check = run.bars, run.times, not run.strong, pass_.check
        entries = self.entries if self.held is None else chain((self.held,), self.entries)
        while not pass_.stopped:
            self.held = None
            for b, j, a, i, out in islice(entries, _STRETCH):
                if channels and (out in channels or type(out) is tuple) and not self._receive(out):
                    self.held = b, j, a, i, out
                    return False
                if i is not None and not check:  # numbers, as in `reverse._step_back`
                    y_bar = bars[out]
                    if y_bar is not None:
                        have = bars[i]
                        c = y_bar * a if plain else times(y_bar, a)
                        bars[i] = c if have is None else have + c
                        if j is not None:
                            have = bars[j]
                            c = y_bar * b if plain else times(y_bar, b)
                            bars[j] = c if have is None else have + c
                    continue
                if a is deliver:
                    c, bars[out] = bars[out], None
                    pass_.deliver(b[0], c)
                elif j is not None and not check:  # an array, as there
                    y_bar, bars[out] = bars[out], None
                    if y_bar is not None:
                        if plain:
                            c = y_bar * a(*b) if b is not None else y_bar if a == 1 else y_bar * a
                        else:
                            c = times(y_bar, a if b is None else a(*b))
                        run.add(j, c)
                elif not self._through((out, i, a, j, b), run):
                    self.held = b, j, a, i, out
                    return False
                if pass_.stopped or time.monotonic() > until:
                    return False
            if not self.at() or time.monotonic() > until:
                return not self.at()
        return False

    def _through(self, entry: tuple[Any, ...], run: Run) -> bool:
        """Step back through one entry; False if what it contributes is being computed elsewhere."""
        found: Any = self.awaited or contributions(entry, run)
        if type(found) is Later and self.awaited is None:
            self.awaited = found
            self.pass_.wake_after(found, self)
            return False
        self.awaited = None
        for slot, c in found:
            if self.pass_.check:
                demand_finite(c, entry, self.strand.line_of(self.at()))
            run.add(slot, c)
        return True

    def _receive(self, out: Any) -> bool:
        """Add what the importers of a slot, or of several, sent, if all have; or park."""
        for slot in out if type(out) is tuple else (out,):
            channel = self.channels.get(slot)
            if channel is not None:
                if not channel.receive(self, slot):
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
        self.number = next(_numbers)
        self.stopped = False
        self.errors: list[tuple[tuple[int, ...], BaseException]] = []  # by the paths of tasks
        # A task before those that it forked, and of these the last one first.
        self.strands = sorted(
            root.level_strands(), key=lambda strand: [-k for k in strand.kin.path]
        )
        ranks = {strand: rank for rank, strand in enumerate(self.strands)}
        self.channels: dict[Import, AdjointChannel] = {}
        self.ready: list[int] = []  # a heap of ranks
        for strand, rank in ranks.items():
            exports, last = strand.kin.exports, strand.tape[-5] if strand.tape else None
            for slot, made in exports.items():
                channel = self._channel(made, ranks)
                if slot == last:  # what it has to receive first
                    channel.parked = rank
            if last not in exports:
                self.ready.append(rank)
        # By rank. One is made when it is first stepped, and let go of when it is done.
        self.tasks: list[AdjointTask | None] = [None] * len(self.strands)
        root_task = self.tasks[0] = AdjointTask(self.strands[0], self, 0)
        self.run = root_task.run
        for slot, c in seeds:
            self.run.add(slot, c)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.waiting = 0  # threads
        self.running = 0
        self.elsewhere: set[Later] = set()  # what adjoint tasks wait for that others compute
        self.unsent: dict[Callable[[], None], None] = {}  # what makes that begin
        self.left = len(self.strands)
        self.parallel = sum(strand.kin.parallel for strand in self.strands)
        # What an outer level sees can be reversed in parallel too, and is noted where it does not
        # depend on the schedule: on the strand of the adjoint task that adds something up.
        self.nested = bool(self.parallel and active.get())
        names = [f"adjoint of {strand.kin.name}" for strand in self.strands if self.nested]
        self.contexts = [*map(_context, names)]

    def _channel(self, made: Import, ranks: dict[Strand, int]) -> AdjointChannel:
        """The channel of a slot, whose last import is given."""
        imports = [made]
        while made.before is not None:
            made = made.before
            imports.append(made)
        channel = AdjointChannel(imports, ranks)
        for made in imports:
            self.channels[made] = channel
        return channel

    def deliver(self, made: Import, c: Any) -> None:
        """Give the cotangent of an import to its channel."""
        woken = self.channels[made].send(made, c, add=not self.nested)
        if woken is not None:
            with self.lock:
                self._wake(woken)

    def _wake(self, rank: int) -> None:
        task = self.tasks[rank]
        if task is not None and task.stepping:
            task.woken = True
        else:
            heapq.heappush(self.ready, rank)
            if self.waiting:
                self.changed.notify()

    def wake_after(self, later: Later, task: AdjointTask) -> None:
        """Have `task` wait until its contributions have been computed."""

        def arrived(future: Any) -> None:
            with self.lock:
                self.elsewhere.discard(later)
                self._wake(task.rank)

        with self.lock:
            self.elsewhere.add(later)
            if later.send is not None:
                self.unsent[later.send] = None
                later.send = None
        later.future.add_done_callback(arrived)

    def work(self, until: float = float("inf")) -> bool:
        """Step whatever is ready, one task at least, until all is done (True) or time is up."""
        task: AdjointTask | None = None
        done: bool | None = False
        while True:
            with self.lock:
                if task is not None:
                    self._left(task, done)
                while not self.ready and self.left and not self.stopped:
                    if self.unsent:
                        self._depart()
                    elif not self.running and not self.elsewhere:
                        self.fail(self._stuck())
                    elif not self._wait(until):
                        return False
                if not self.left or self.stopped:
                    return True
                if task is not None and time.monotonic() > until:
                    return False
                rank = heapq.heappop(self.ready)
                task = self.tasks[rank]
                if task is None:
                    task = self.tasks[rank] = AdjointTask(self.strands[rank], self, rank)
                self.running += 1
                task.stepping = True
            try:
                step = task.step
                done = self.contexts[rank].run(step, until) if self.contexts else step(until)
            except BaseException as error:
                done = False
                self.fail(error, task.strand.kin.path)

    def _depart(self) -> None:
        """Begin what others compute, as there is nothing else to do; the lock is free meanwhile."""
        sends, self.unsent = self.unsent, {}
        self.lock.release()
        try:
            for send in sends:
                send()
        except BaseException as error:
            self.fail(error)
        finally:
            self.lock.acquire()

    def _wait(self, until: float) -> bool:
        """Wait for a task to be ready, or for the end: False if the time is up."""
        self.waiting += 1
        try:
            return self.changed.wait(None if until == float("inf") else until - time.monotonic())
        finally:
            self.waiting -= 1

    def _left(self, task: AdjointTask, done: bool | None) -> None:
        """A thread has stepped a task as far as it could."""
        self.running -= 1
        task.stepping = False
        if done:
            self.left -= 1
            if not task.run.redo:
                self.tasks[task.rank] = None
        elif done is None or task.woken:
            task.woken = False
            heapq.heappush(self.ready, task.rank)
        if self.waiting and not (self.left and self.running and not self.stopped):
            self.changed.notify_all()

    @contextmanager
    def helped(self) -> Iterator[None]:
        """While threads work along: as many as there are other cores, or tasks that have threads.

        Afterwards nothing runs any more, and what the reverse pass wrote to is as it was.
        """
        workers = setting("workers")
        others = cores() - 1 if workers is None else workers
        threads = [
            threading.Thread(target=copy_context().run, args=(self.work,), daemon=True)
            for _ in range(min(others, self.parallel - 1))
        ]
        try:
            for thread in threads:
                thread.start()
            yield
        finally:  # also if it was cancelled, or interrupted while waiting
            try:
                self._end(threads)
            finally:
                self._end(threads)

    def _end(self, threads: list[threading.Thread]) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
            unfinished = [*self.elsewhere]
        for later in unfinished:
            later.future.cancel()
        for thread in threads:
            if thread.is_alive():
                thread.join()
        for task in filter(None, self.tasks):
            task.run.finish()
        self.tasks.clear()  # which refer to the pass
        self.channels.clear()

    def fail(self, error: BaseException, path: tuple[int, ...] = ()) -> None:
        """Stop all tasks, because one raised."""
        with self.changed:
            self.errors.append((path, error))
            self.stopped = True
            self.changed.notify_all()

    def _stuck(self) -> AdjointInvariantError:
        tasks = filter(None, self.tasks)
        names = [t.strand.kin.name for t in tasks if t.held is not None or t.channels]
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
        return self.run.bars


def _context(name: str) -> Context:
    """That of a task, with strands of its own."""
    context = copy_context()
    context.run(active.set, fork(name, parallel=True))
    return context


def reverse(
    strand: Strand,
    seeds: Iterable[tuple[Any, Any]],
    strong: bool,
    *,
    check: bool = False,
    finite: dict[Any, Any] | None = None,
) -> list[Any]:
    """The cotangents of a strand's slots; its level is reversed with the help of some threads."""
    if not strand.kin.family:
        return reverse_alone(strand, seeds, strong, check=check, finite=finite)
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
    try:
        strand.memory.reversing = True
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
    turns = [memory.turn for memory in strand.level_memories() if memory.turn is not None]
    return turns[0] if turns else threading.RLock()
