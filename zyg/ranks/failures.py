"""What a gradient over ranks raises."""

from __future__ import annotations

from typing import Any

from zyg.errors import ZygError


class RankError(ZygError, RuntimeError):
    """Ranks that do not fit together: a message that nobody receives, a call that a rank lacks.

    Every rank of the gradient raises, this one or a `PeerError`. Remedy: the message names the
    ranks and the call.
    """

    tag = "ranks"


class PeerError(ZygError, RuntimeError):
    """Another rank raised, or has ended, so that this one would wait for ever.

    Its cause is the other rank's error, as far as that could be sent.
    """

    tag = "peer"


def of_peer(rank: int, said: str) -> PeerError:
    """The error of a rank that hears of another's."""
    return PeerError(
        f"rank {rank} raised {said}",
        "a gradient over ranks is taken by all of them together, so it ends on all.",
        f"look at the error of rank {rank}.",
    )


def of_gone(rank: int) -> PeerError:
    """The error of a rank that waits for one whose program has ended."""
    return PeerError(
        f"rank {rank} has ended its program without taking part in this gradient.",
        "zyg.mpi.value_and_gradient is a call of all ranks, as MPI's collective calls are.",
        "call it on every rank of the communicator.",
    )


def refused(name: str, why: str, fix: str) -> RankError:
    """The error of a call that cannot be made under a gradient over ranks."""
    return RankError(f"{name} cannot be called in a gradient over ranks.", why, fix)


def crossed() -> RankError:
    """The error of a request that is on both sides of a function which runs again."""
    return RankError(
        "a request was begun in a function of zyg.checkpoint and is not waited for there, or was "
        "begun outside of it and is waited for in it.",
        "the function runs again, and then takes what came from its first run.",
        "wait for a request in the function that begins it.",
    )


def quoted(error: BaseException) -> str:
    """What an error says, in one line with its type."""
    lines: list[Any] = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
