"""What a gradient through actors raises."""

from __future__ import annotations

from zyg.errors import RecomputationError, ZygError
from zyg.ranks.failures import quoted


class ActorError(ZygError, RuntimeError):
    """A call of an actor whose derivative cannot be taken.

    Remedy: the message says what to call instead.
    """

    tag = "actor"


class ActorSharedError(ActorError):
    """A call of an actor whose state belongs to a gradient that the call is not part of.

    What such a call does to the state would be lost to the gradient, or be counted twice. Remedy:
    call the actor after the gradient, or another actor.
    """

    tag = "actor-shared"


def shared(name: str, who: str) -> ActorSharedError:
    """The error of a call that comes between those of a gradient."""
    return ActorSharedError(
        f"{name} was called by {who} while a gradient has the actor.",
        "the state of an actor is part of the gradient that calls it, from its first call with a "
        "watched value until its function returns; what others do to it meanwhile would be lost.",
        "call it before or afterwards, or make an actor for each gradient; a thread that belongs "
        "to the gradient is one of zyg.threads.",
    )


class ActorLostError(ActorError):
    """An actor whose process has ended, and that could not be made again.

    Remedy: the message says why. Take the gradient again, with a new actor.
    """

    tag = "actor-lost"


def lost(name: str) -> ActorLostError:
    """The error of an actor that lacks earlier calls of the gradient that it is called by."""
    return ActorLostError(
        f"{name} came to an actor that does not know the earlier calls of its gradient.",
        "it was started again since, and they are lost with its process; or it runs several calls "
        "at a time, which are not in the order in which they were made.",
        "take the gradient again; make the actor without max_concurrency.",
    )


def gone(name: str, error: BaseException) -> ActorLostError:
    """The error of an actor that is lost on the way back, as its engine said by an error."""
    notes = "".join(f" {note.removeprefix('zyg: ')}" for note in getattr(error, "__notes__", ()))
    made = ActorLostError(
        f"the actor is lost, in the adjoint of {name}: {quoted(error)}",
        f"what an actor keeps for its adjoint is in its process, and is gone with that.{notes}",
        "take the gradient again, with a new actor.",
    )
    made.__cause__ = error
    return made


def changed(name: str) -> RecomputationError:
    """The error of an actor that is made again, and is another one then."""
    return RecomputationError(
        f"{name} gave another value when a lost actor was made again, call by call.",
        "the program went on with the first value, and the state of the actor is that of the "
        "second. Unseeded random numbers do this, and files, clocks or globals that change.",
        "make what its methods do depend on its state and their arguments alone; give it a seed.",
    )


def refused(name: str, where: str, why: str, fix: str) -> ActorError:
    """The error of a call that has no adjoint where it is made."""
    return ActorError(f"{name} cannot be called {where}.", why, fix)
