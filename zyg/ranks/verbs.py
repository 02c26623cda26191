"""The verbs of a gradient over ranks, and `wrap`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from zyg.base.borders import border
from zyg.core.endings import finish, unfinished
from zyg.core.trace import Call, Trace
from zyg.ranks.arrays import RankComm
from zyg.ranks.failures import RankError, refused
from zyg.ranks.link import Link
from zyg.ranks.session import Session
from zyg.verbs.gradients import seed_of_loss
from zyg.verbs.pushforward import DualCall, demand_tangents

C = TypeVar("C", bound=Call)


@border
def wrap(comm: Any, *, timeout: float | None = None, ordered: bool = True) -> RankComm:
    """`comm`, whose calls are differentiated: a communicator of mpi4py's.

    A call of all its ranks. Without a gradient over ranks, its calls are mpi4py's own.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The communicator.
    timeout : float, optional
        Seconds after which a rank that waits for another raises PeerError. What cannot come raises
        at once, without it.
    ordered : bool, default True
        Whether sums are made in the order of the ranks, so that their bits are always the same;
        else MPI chooses the order.

    Returns
    -------
    RankComm
        Used as the communicator is.

    Raises
    ------
    RankError
        For an intercommunicator.

    Examples
    --------
    >>> import zyg
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> comm = zyg.mpi.wrap(MPI.COMM_SELF)  # doctest: +SKIP
    >>> zyg.mpi.gradient(lambda x: comm.allreduce(x * x), 3.0, comm=comm)  # doctest: +SKIP
    (6.0,)
    """
    if comm.Is_inter():
        raise refused(
            "wrap of an intercommunicator", "zyg has no adjoints of its calls.", "merge it."
        )
    return RankComm(Link(comm, timeout, ordered), comm, (), None)


class RankTrace(Trace):
    """One call of f on this rank, in a session of all ranks."""

    def __init__(
        self, session: Session, f: Callable[..., Any], args: Any, kwargs: Any, once: bool
    ) -> None:
        self.session = session
        super().__init__(f, args, kwargs, once=once)

    def begin(self) -> None:
        self.session.begin_function(self.strand)

    def is_finite(self, cotangents: list[list[Any]], known: dict[Any, Any]) -> bool:
        """Whether the cotangents are finite on all ranks, which go back again together or not."""
        self.session.flush()
        return self.session.all_say(super().is_finite(cotangents, known))


class RankDual(DualCall):
    """One call of f on this rank with tangents along, in a session of all ranks."""

    def __init__(
        self, session: Session, f: Callable[..., Any], primals: Any, kwargs: Any, tangents: Any
    ) -> None:
        self.session = session
        super().__init__(f, primals, kwargs, [tangents])

    def begin(self) -> None:
        super().begin()
        self.session.begin_function(self.strand)


@border
def value_and_gradient(
    f: Callable[..., Any],
    *args: Any,
    comm: RankComm,
    root: int = 0,
    zeros: bool = False,
    **kwargs: Any,
) -> tuple[Any, tuple[Any, ...]]:
    """The value of ``f(*args, **kwargs)`` on this rank, and the gradient of the root's.

    A call of all ranks. What is differentiated is the number that f returns on the root, by the
    arguments of every rank: what other ranks return does not count.

    Parameters
    ----------
    f : callable
        Returns a real number on the root, or a tuple (loss, aux...).
    *args
        Its arguments on this rank, by which the root's number is differentiated.
    comm : RankComm
        What `wrap` made.
    root : int, default 0
        The rank whose number is differentiated.
    zeros : bool, default False
        Whether the gradient is zero instead of None where nothing depends on an argument.
    **kwargs
        Keyword arguments of f.

    Returns
    -------
    value
        What f returned on this rank.
    gradient : tuple
        For each positional argument of this rank its gradient.

    Raises
    ------
    RankError
        Where ranks do not fit together: a call that one lacks, a message that nobody receives.
    PeerError
        Where another rank raised.

    Examples
    --------
    >>> import zyg
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> comm = zyg.mpi.wrap(MPI.COMM_SELF)  # doctest: +SKIP
    >>> zyg.mpi.value_and_gradient(lambda x: comm.reduce(x * x), 3.0, comm=comm)  # doctest: +SKIP
    (9.0, (6.0,))
    """
    session = Session(_demand_wrapped(comm)._link)
    trace = _forward(session, root, lambda: RankTrace(session, f, args, kwargs, True))
    with _back(session, trace):
        seeds = trace.seeds(seed_of_loss(trace)) if comm._link.rank == root else []
        found = trace.y, trace.back_from(seeds, zeros)
    session.end()
    trace.close()
    return found


# In the place of a root, on which the ranks have to agree, too.
_ANY, _TANGENTS = -1, -2


def _forward(session: Session, root: int, made: Callable[[], C]) -> C:
    """f has run on all ranks, as it is `made` to, and they have agreed."""
    call: C | None = None
    try:
        session.connect()
        call = made()
        session.agree(root)
    except BaseException as error:
        _ended(session, call, error)
        raise
    return call


@contextmanager
def _back(session: Session, trace: Call) -> Iterator[None]:
    """While the ranks go back together."""
    link = session.link
    try:
        session.forward = False
        yield
        session.flush()
        session.all_say(True)
        link.completed = link.epoch
        link.end()
    except BaseException as error:
        _ended(session, trace, error)
        raise


def _ended(session: Session, trace: Call | None, error: BaseException) -> None:
    """Close what an error has ended, and tell the other ranks."""
    try:
        if trace is not None:
            unfinished.append(trace)
            finish()
    finally:
        session.link.fail(error)
        session.link.end()


def gradient(
    f: Callable[..., Any],
    *args: Any,
    comm: RankComm,
    root: int = 0,
    zeros: bool = False,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """The gradient of the number that ``f(*args, **kwargs)`` returns on the root.

    A call of all ranks, as `value_and_gradient` is, which says more.

    Parameters
    ----------
    f, *args, comm, root, zeros, **kwargs
        As there.

    Returns
    -------
    tuple
        For each positional argument of this rank its gradient.

    Raises
    ------
    RankError, PeerError
        As there.
    """
    return value_and_gradient(f, *args, comm=comm, root=root, zeros=zeros, **kwargs)[1]


@border
def pullback(
    f: Callable[..., Any], *args: Any, comm: RankComm, **kwargs: Any
) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """The value of ``f(*args, **kwargs)`` on this rank, and its pullback.

    A call of all ranks, and so is the pullback.

    Parameters
    ----------
    f : callable
        The function.
    *args
        Its arguments on this rank.
    comm : RankComm
        What `wrap` made.
    **kwargs
        Keyword arguments of f.

    Returns
    -------
    y
        What f returned on this rank.
    back : callable
        ``back(y_bar)`` takes a cotangent of each rank's value, None for none, and returns the
        cotangents of this rank's arguments.

    Raises
    ------
    RankError, PeerError
        As `value_and_gradient` does. From `back`, where a gradient has failed meanwhile.

    Examples
    --------
    >>> import zyg
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> comm = zyg.mpi.wrap(MPI.COMM_SELF)  # doctest: +SKIP
    >>> y, back = zyg.mpi.pullback(comm.allreduce, 3.0, comm=comm)  # doctest: +SKIP
    >>> back(2.0)  # doctest: +SKIP
    (2.0,)
    """
    session = Session(_demand_wrapped(comm)._link)
    trace = _forward(session, _ANY, lambda: RankTrace(session, f, args, kwargs, False))
    session.link.end()

    def back(y_bar: Any, *, zeros: bool = False) -> tuple[Any, ...]:
        session.resume()
        with _back(session, trace):
            found = trace.back(y_bar, zeros) if y_bar is not None else trace.back_from([], zeros)
        return found  # noqa: RET504 - once the ranks have ended it together

    return trace.y, back


@border
def pushforward(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    comm: RankComm,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """The value of ``f(*primals, **kwargs)`` on this rank, and its derivative along all tangents.

    A call of all ranks: forward mode. Tangents go with the values that ranks send to each other.

    Parameters
    ----------
    f : callable
        The function.
    primals : tuple
        Its positional arguments on this rank.
    tangents : tuple
        For each of them a tangent, of its structure and shapes, or None where it does not move.
    comm : RankComm
        What `wrap` made.
    **kwargs
        Keyword arguments of f.

    Returns
    -------
    y
        What f returned on this rank.
    y_dot
        Its derivative along the tangents of all ranks, with the structure, shapes and dtypes of y.

    Raises
    ------
    StructureError
        Where a tangent does not fit its argument.
    RankError, PeerError
        As `value_and_gradient` does.

    Examples
    --------
    >>> import zyg
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> comm = zyg.mpi.wrap(MPI.COMM_SELF)  # doctest: +SKIP
    >>> f = lambda x: comm.allreduce(x * x)
    >>> zyg.mpi.pushforward(f, (3.0,), (1.0,), comm=comm)  # doctest: +SKIP
    (9.0, 6.0)
    """
    demand_tangents(primals, tangents)
    session = Session(_demand_wrapped(comm)._link)
    run = partial(RankDual, session, f, tuple(primals), kwargs, tangents)
    call = _forward(session, _TANGENTS, run)
    with _back(session, call):
        pass
    session.end()
    return call.y, call.y_dots[0]


def _demand_wrapped(comm: Any) -> RankComm:
    """A communicator that was wrapped."""
    if not isinstance(comm, RankComm):
        raise RankError(
            f"comm is a {type(comm).__name__}.",
            "its messages carry no cotangents.",
            "pass comm=zyg.mpi.wrap(comm).",
        )
    return comm
