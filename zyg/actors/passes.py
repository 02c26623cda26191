"""The way back through the strand of an actor: a thread, which waits for what callers send.

It waits where the result of a call was sent until its caller has sent the cotangent, or that there
is none. So it does not matter in which order these come.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context, ContextVar
from threading import Condition, Thread
from typing import Any

from zyg.base.containers import Engine
from zyg.base.quiet import SILENT, set_errors
from zyg.core.adjoint_tasks import reverse
from zyg.core.entries import Kind, kinds
from zyg.core.overwritten import demand_unwritten
from zyg.core.reverse import Later, Run
from zyg.ranks.cargo import taken
from zyg.ranks.messages import unmoved

_passing: ContextVar[Pass] = ContextVar("zyg_passing")


class Pass(Engine):
    """One pass back through the strand of an actor, by a thread."""

    def __init__(self, strand: Any, strong: bool) -> None:
        self.strand, self.strong = strand, strong
        self.changed = Condition()
        self.given: dict[int, Future[Any]] = {}  # cotangents of results, by the calls' numbers
        self.answers: dict[int, list[Any]] = {}
        self.waiting: int | None = None  # for the cotangents of which call
        self.thread: Thread | None = None
        self.ended = False
        self.error: BaseException | None = None

    def deliver(self, number: int, bars: list[Any]) -> dict[int, list[Any]]:
        """Go on with the cotangents of a result, as far as others do not lack."""
        self.asked(number).set_result(bars)
        with self.changed:
            if self.waiting == number:
                self.waiting = None
        if self.thread is None:
            self.thread = Thread(target=Context().run, args=(self._run,), daemon=True)
            self.thread.start()
        with self.changed:
            while self.waiting is None and not self.ended:
                self.changed.wait()
            answers, self.answers = self.answers, {}
        if self.error is not None:
            raise self.error
        return answers

    def asked(self, number: int) -> Future[Any]:
        """The future of the cotangents of a result."""
        with self.changed:
            return self.given.setdefault(number, Future())

    def await_(self, number: int) -> Future[Any]:
        """The same, where nothing goes on without it."""
        future = self.asked(number)
        with self.changed:
            if not future.done():
                self.waiting = number
                self.changed.notify_all()
        return future

    def abandon(self) -> None:
        """Nobody will send what is waited for."""
        for future in [*self.given.values()]:
            future.cancel()

    def _run(self) -> None:
        _passing.set(self)
        set_errors(SILENT)  # a warning would name a line that is not the user's
        try:
            demand_unwritten(self.strand.level_strands(), ())
            reverse(self.strand, (), self.strong)
        except BaseException as error:
            self.error = error
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify_all()


def operands_pullback(run: Run, name: str, number: int, slots: Sequence[Any]) -> Any:
    """The cotangents of the operands of a call are answered to its caller."""
    _passing.get().answers[number] = taken(run.bars, slots)
    return ()


def result_pullback(run: Run, name: str, number: int, slots: Sequence[Any]) -> Any:
    """The cotangents of what was sent come from the caller."""
    return Later(_passing.get().await_(number), functools.partial(_arrived, slots))


def _arrived(slots: Sequence[Any], bars: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(slot, c) for slot, c in zip(slots, bars, strict=False) if c is not None]


kinds[operands_pullback] = Kind(lambda *_: [], None, lambda name, *_: f"{name}, of its arguments")
kinds[result_pullback] = Kind(lambda _, __, slots: [*slots], unmoved, lambda name, *_: name)
