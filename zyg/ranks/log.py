"""`zyg.checkpoint` of a function that exchanges messages: what came of them, in a log.

The first run calls MPI. Its log has, in the order of the calls, what was received, the number of
each message that was sent, and whether what was asked for was there. A later run, on the way back,
takes the same from the log and calls nothing, so other ranks need not know of it. The messages that
it notes are those of the first run: their cotangents go over the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from copy import copy
from threading import get_ident
from typing import Any

from zyg.core.entries import Kind, kinds
from zyg.core.reverse import Run
from zyg.core.running import run_function
from zyg.core.strand import active
from zyg.core.trace import demand_complete
from zyg.ranks.failures import RankError, crossed, quoted
from zyg.verbs.checkpoints import one_entry


class Log:
    """What came of the calls of one function, which runs again."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.moves = session.moves  # whether it runs once: in forward mode
        self.events: list[list[Any]] = []  # of each call its name, what came of it, how often
        self.plays = False  # once it has run
        self.calls = True  # whether MPI is called now
        self.outer: Log | None = None  # that of a function which calls this one, and runs now

    def runs(self, f: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, float]:
        """What f returns, and a number that always has a cotangent, if there are messages."""
        session, strands = self.session, active.get()
        around = session.log, session.strand
        self.outer, self.at, self.turn, self.thread = around[0], 0, 0, get_ident()
        self.calls = not self.plays and (self.outer is None or self.outer.calls)
        # Without a strand of its own it is plain, and so calls nothing.
        own = strands[-1] if strands and strands[-1] is not around[1] else None
        try:
            session.stand(self, own)
            y = demand_complete(run_function(f, args, kwargs), "zyg.checkpoint")
            if self.plays:
                self.demand_same("nothing more", self._next()[0])
            channels = session.channels.values()
            if any(r.log is self for c in channels for r in (*c.begun.values(), *c.open)):
                raise crossed()
            return y, 0.0
        finally:
            session.stand(*around)
            self.plays = True

    def of(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, or gave in the first run."""
        if not self.plays:
            found = make() if self.outer is None else self.outer.of(name, make)
            if found is False and self.events and self.events[-1][:2] == [name, False]:
                self.events[-1][2] += 1
            else:
                self.events.append([name, found, 1])
            return found
        known, found, times = self._next()
        self.demand_same(name, known)
        self.turn += 1
        if self.turn == times:
            self.at, self.turn = self.at + 1, 0
        return found

    def _next(self) -> list[Any]:
        return self.events[self.at] if self.at < len(self.events) else ["nothing more", None, 0]

    def demand_same(self, name: str, known: str) -> None:
        """Refuse a second run that calls something else."""
        if name != known:
            raise RankError(
                f"in its second run a function calls {name} where it called {known} in its first.",
                "zyg.checkpoint runs it again on the way back, with what it has received.",
                "have it make the same calls: pass what they depend on as an argument.",
            )

    def noted(self, first: Callable[..., Any], pull: Any, leaves: Sequence[Any]) -> Any:
        """What the function has returned. It runs again though nobody uses that: others may wait.

        If it fails, what was sent has no way back.
        """

        def back(y: Any, leaves: Sequence[Any], y_bar: Any, strong: bool) -> tuple[Any, ...]:
            return pull(y, leaves, y_bar, *[strong] * bool(self.events))  # type: ignore[no-any-return]

        try:
            y, number = one_entry("checkpoint", first, back, leaves, strong=True)
            if self.events:
                number.strand.note((None, None, asked_for, None, (number.slot,)))
            return y
        except BaseException as error:
            if self.events:
                self.session.broken = RankError(
                    f"zyg.checkpoint of a function that exchanges messages has raised "
                    f"{quoted(error)}",
                    "the cotangents of these messages would be lost, as the function does not run "
                    "again; somebody has caught the error.",
                    "catch it within the function, or leave zyg.checkpoint out.",
                )
            raise


def asked_for(run: Run, slot: Any) -> Any:
    """The cotangent of a number that nobody uses."""
    return ((slot, 0.0),)


kinds[asked_for] = Kind(lambda slot: [slot])


class Logged:
    """A communicator whose calls leave what they receive in a list; later ones take it from there.

    Those are not made.
    """

    def __init__(self, channel: Any, got: list[Any]) -> None:
        self.channel, self.got, self.again = channel, got, iter(got)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.channel.data, name)
        if not name.startswith("I"):
            return call

        def logged(*args: Any, **kwargs: Any) -> Any:
            into = args[1]
            if name == "Ibcast":
                into = None if args[1] == self.channel.rank else args[0]
            memory = into[0] if type(into) is list else into
            if not self.channel.silent:
                self.got.append(memory)
                return call(*args, **kwargs)
            if (found := next(self.again)) is not None:
                memory[...] = found
            return self.channel.null

        return logged


def noted(steps: Generator[Any, Any, Any], got: list[Any]) -> Generator[Any, Any, Any]:
    """The steps of a call, which leave copies of what it received: others may be written to."""
    result = yield from steps
    got[:] = map(copy, got)
    return result
