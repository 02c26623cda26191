"""Executors of `concurrent.futures`, and what has their interface, whose tasks are differentiated.

Tasks on threads share the memory of the program, so their strands are reversed like all others, on
threads. Tasks in other processes are entries: forward they are run as they are, and in the reverse
pass run again there, watched, and stepped back. All of these are out at the same time.

A submitted task has strands of its own here. They import its operands when it is submitted, so
that later writes do not reach it; its result is noted on them when it is first asked for, so that
it does not matter who asks. Where an outer level watches, the adjoint is itself a task whose result
is noted: that is all of higher orders.

>>> import zyg
>>> from concurrent.futures import ThreadPoolExecutor
>>> def total(x):
...     with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
...         return sum(pool.map(lambda k: k * x * x, [1.0, 2.0]))
>>> zyg.gradient(total, 3.0)
(18.0,)

"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np

from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.base.signatures import P, R
from zyg.core.cotangents import project, spec_of
from zyg.core.entries import Kind, kinds, note
from zyg.core.exchange import as_of_now, bring
from zyg.core.questions import is_traced
from zyg.core.reverse import Later, Run
from zyg.core.running import activated
from zyg.core.strand import ARRAYS, Strand, active, child, is_watched, local, settle, strip
from zyg.errors import RecomputationError, ShippingError
from zyg.tasks import recipes
from zyg.tasks.arrivals import Fetched, once, settle_cancelled
from zyg.tasks.recipes import Backwards, Forwards, all_integers, carriers, sketch
from zyg.tasks.shared import Parts, is_large
from zyg.tasks.shipping import ship
from zyg.threads import in_strand
from zyg.verbs.checkpoints import one_entry


def wrap_executor(executor: Executor, *, recompute: bool | None = None) -> TaskExecutor:
    """`executor`, whose tasks are differentiated: a `concurrent.futures.Executor`.

    Without a gradient around it, it is the executor itself that runs the task.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        A pool of threads or processes, of loky, of mpi4py.futures.
    recompute : bool, optional
        Whether the executor runs the plain function, and once more, watched, in the reverse pass;
        else tasks are noted as they run, which needs threads. The default for everything but a
        ThreadPoolExecutor. The executor has to be open until then, and a task has to be a function
        of its arguments and its closure: give it a seed, not a generator. Needs cloudpickle.

    Returns
    -------
    Executor
        The same, with tasks that are differentiated.

    Raises
    ------
    ShippingError
        For a pool of interpreters; from `submit`, for what cannot be sent.
    RecomputationError
        On the way back, where a task that is run again gives another value, or the executor is
        closed.

    Examples
    --------
    >>> import zyg
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
    ...     zyg.gradient(lambda x: pool.submit(pow, x, 2).result(), 3.0)
    (6.0,)
    """
    if any(cls.__name__ == "InterpreterPoolExecutor" for cls in type(executor).__mro__):
        raise ShippingError(
            "wrap_executor was given a pool of interpreters.",
            "NumPy, and zyg with it, is loaded by one interpreter of a process.",
            "take a ThreadPoolExecutor, or a ProcessPoolExecutor.",
        )
    if recompute is None:
        recompute = not isinstance(executor, ThreadPoolExecutor)
    return TaskExecutor(executor, recompute)


class TaskExecutor(Executor, Engine):
    """An executor whose tasks are differentiated."""

    remote = False  # whether a task is given the values of others where they are

    def __init__(self, executor: Executor, recompute: bool) -> None:
        self._executor, self._recompute = executor, recompute

    def __repr__(self) -> str:
        return f"<zyg.wrap_executor {type(self._executor).__name__}>"

    def submit(self, f: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As the executor's; a watched task in another process is a `Task`, which is a future."""
        if not active.get():
            return self._executor.submit(f, *args, **kwargs)
        if not self._recompute:
            name = getattr(f, "__name__", type(f).__name__)
            task = functools.partial(_noting, f, f"{name}, submitted by {submitter()}")
            return self._executor.submit(in_strand(task, name), *args, **kwargs)
        recipe, operands, _ = ship(f, args, kwargs)
        if not operands:
            plain: Future[R] = self._submitted(f, *args, **kwargs)
            return plain
        return Task(self, recipe, operands)

    def map(
        self,
        f: Callable[..., R],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[R]:
        """As the executor's; `chunksize` items to a task."""
        if not active.get():
            return self._executor.map(f, *iterables, timeout=timeout, chunksize=chunksize)
        items = [*zip(*iterables, strict=False)]
        chunks = [items[k : k + chunksize] for k in range(0, len(items), chunksize)]
        some = functools.partial(_map, f)
        functools.update_wrapper(some, f)
        return chain.from_iterable(super().map(some, chunks, timeout=timeout))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As the executor's."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)

    def start_all(self, tasks: Sequence[Task], own: dict[str, Any]) -> None:
        """Have tasks run, with settings of their own; nothing is kept in the workers."""
        for task in tasks:
            task.begin(self._submitted(recipes.run, own, recipes.call, *task.request), None)

    def _submitted(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        return self._executor.submit(f, *args, **kwargs)

    def arrival(self, raw: Any) -> Any:
        """The future of a value that comes here."""
        return raw

    def shared(self, operands: Sequence[Any]) -> dict[int, Any]:
        """The operands that are sent once: none, as a pool has no memory between tasks."""
        return {}


def _map(f: Callable[..., Any], items: list[Any]) -> list[Any]:
    return [f(*item) for item in items]


def _noting(f: Callable[..., Any], what: str, /, *args: Any, **kwargs: Any) -> Any:
    try:
        return f(*args, **kwargs)
    except BaseException as error:
        error.add_note(f"zyg: raised by {what}")
        raise


def submitter() -> str:
    """The task that runs this line, as a note names it."""
    strands = active.get()
    return f"task {strands[-1].kin.name!r}" if strands else "the reverse pass"


class Call(Engine):
    """What a task runs, and what is kept of it: all that a tape has of the task.

    A tape that had the task, which has the tape, would live until Python looks for cycles, and so
    would what workers keep.
    """

    kept: Any = None  # what is kept for the adjoint

    def __init__(self, backend: Any, recipe: Any, constants: Sequence[Any]) -> None:
        self.backend, self.recipe, self.constants = backend, recipe, constants
        self.what = f"{recipe.name}, submitted by {submitter()}"

    def again(
        self, inner: Sequence[Any], bars: Sequence[Any], expected: list[Any], make: Any
    ) -> Later:
        """What is made of the cotangents; the adjoint is a task, which runs this one again."""
        adjoint = Backwards(self.recipe, len(inner), expected)
        task = self.follow(adjoint, [*inner, *bars], begin=not self.backend.remote)
        if not self.backend.remote:
            return Later(task, make)
        return Later(task, make, self.backend.depart(task))

    def follow(self, recipe: Any, operands: Sequence[Any], begin: bool = True) -> Task:
        """A task of another recipe, of the same constants."""
        try:
            return Task(self.backend, recipe, operands, self.constants, begin)
        except RuntimeError as error:
            if isinstance(error, BrokenExecutor):
                _add_note(error, _DIED)
                raise
            raise RecomputationError(
                f"the executor refused the adjoint of {self.what}: {error}.",
                "the reverse pass submits the adjoints of the tasks, and the executor is closed.",
                "keep it open until then: take the gradient inside the executor's with-block, and "
                "do not open the executor inside the function.",
            ) from error


class Task(Fetched):
    """A recipe that runs elsewhere: the future of its value, watched where its operands are."""

    _raw: Any  # the engine's own future
    _whole: bool  # whether integers of the value are watched
    request: Any  # what the backend is to start, until it is: a recipe, operands and constants

    def __init__(
        self,
        backend: Any,
        recipe: Any,
        operands: Sequence[Any],
        constants: Sequence[Any] = (),
        begin: bool = True,
    ) -> None:
        super().__init__()
        self._links = [x for x in constants if isinstance(x, Task)]
        self._whole = all_integers(operands) and all(x._whole for x in self._links)
        if self._links:
            links = enumerate(constants)
            recipe.links = [(k, x._whole) for k, x in links if isinstance(x, Task)]
        constants = [x._raw.future if isinstance(x, Task) else x for x in constants]
        self._call = Call(backend, recipe, constants)
        self._strands = _strands(operands, self._links, recipe.name)
        single = len(self._strands) == 1 and not self._strands[0].dual
        self._shared = backend.shared(operands) if single else {}
        self._operands = [
            self._import(self._shared[k].value if k in self._shared else x)
            for k, x in enumerate(operands)
        ]
        self._lock = RLock()
        self._arrived = self._noted = False
        self._linked: list[Any] = []  # what other tasks have of the value
        self._value: Any = None
        sent = [
            self._shared[k].future if k in self._shared else strip(x)
            for k, x in enumerate(self._operands)
        ]
        self.request, self.keeps = (recipe, sent, constants), single
        if begin:
            backend.start_all([self], settings())

    def begin(self, raw: Any, kept: Any) -> None:
        """The task runs: as the future of its value, and that of what is kept for its adjoint."""
        self._raw, self._call.kept, self.request = raw, kept, None
        self._call.backend.arrival(raw).add_done_callback(once(self._arrive))

    def _import(self, x: Any) -> Any:
        """An operand as of now: what is written to it later does not reach it."""
        x = settle(x)
        if not is_watched(x):
            return x
        strand = next(s for s in self._strands if s.level == x.strand.level)
        return np.copy(x) if strand.dual and type(x) in ARRAYS else bring(strand, x)

    def _arrive(self, raw: Any) -> None:
        with self._lock:
            if self._arrived:
                return
            self._arrived = True
        if raw.cancelled():
            settle_cancelled(self, getattr(raw, "lost", False))
            return
        error = raw.exception()
        if error is None:
            self.set_result(raw.result)
            return
        _add_note(error, f"zyg: raised by {self._call.what}")
        if isinstance(error, BrokenExecutor):
            _add_note(error, _DIED)
        self.set_exception(error)

    def cancel(self) -> bool:
        """As a future's: a task that has begun goes on."""
        if self.request is not None:
            return super().cancel()
        if self._raw.cancel() is False:
            return False
        self._arrive(self._raw)
        return self.cancelled()

    def running(self) -> bool:
        """As a future's."""
        return not self.done() and bool(self._raw.running())

    def result(self, timeout: float | None = None) -> Any:
        """As a future's; the value is watched."""
        value = super().result(timeout)
        if not self._strands:
            return value
        with self._lock:
            if not self._noted:
                with activated(self._strands):
                    self._value = self._note(value)
                    if self._call.backend.remote:
                        found = carriers(self._value, self._whole)[0]
                        self._linked = [as_of_now(x) for x in found]
                self._noted = True
        return self._value

    def _note(self, value: Any) -> Any:
        leaves, rebuild = carriers(value, self._whole)
        leaves = [_apart(x) for x in leaves]
        expected = sketch(leaves)
        linked = [task._as_linked() for task in self._links]
        operands = [*self._operands, *chain.from_iterable(linked)]

        call, name = self._call, self._call.recipe.name
        if call.kept is not None:
            (strand,) = self._strands
            taken = [bring(strand, settle(x)) for x in operands]
            slots = [x.slot if is_watched(x) else None for x in taken]
            stays = {*self._shared, *self._large_links()}
            given = call, slots, [*map(strip, taken)], stays, expected
            return rebuild(note(strand, leaves, kept_pullback, *given))

        def pull(y: Any, inner: Sequence[Any], bars: Any) -> Any:
            return call.again(inner, bars, expected, tuple)

        def push(y: Any, inner: Sequence[Any], tangents: Any) -> Any:
            moving = [x_dot is not None for x_dot in tangents]
            dots = [x_dot for x_dot in tangents if x_dot is not None]
            return call.follow(Forwards(call.recipe, moving), [*inner, *dots]).result()

        return rebuild(one_entry(name, lambda *_: leaves, pull, operands, push))

    def _large_links(self) -> Iterator[int]:
        """Which operands are large parts of other tasks' values that are kept."""
        owners = [(task, x) for task in self._links for x in task._as_linked()]
        for k, (task, x) in enumerate(owners, len(self._operands)):
            if task._call.kept is not None and is_watched(x) and is_large(strip(x)):
                yield k

    def _as_linked(self) -> list[Any]:
        """The numbers and arrays of the value, as they are on the cluster."""
        value = self.result()
        return self._linked if self._strands else carriers(value, self._whole)[0]

    def __reduce__(self) -> Any:
        """As an argument of another task: its value, which is waited for."""
        return recipes.same, (self.result(),)

    def __getattr__(self, name: str) -> Any:
        """What else a future of the engine's has."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._raw, name)


def kept_pullback(
    run: Run,
    bars: Sequence[Any],
    call: Call,
    slots: Sequence[Any],
    inner: Sequence[Any],
    stays: set[int],
    expected: list[Any],
) -> Any:
    """The adjoint of a task that is kept: it goes on where the task was run.

    Some of the cotangents stay there: of what is shared, and of what other tasks have made.
    """

    def at(places: Sequence[int], found: Any) -> list[tuple[Any, Any]]:
        return fitting([slots[k] for k in places], [inner[k] for k in places], found)

    watched = [k for k, slot in enumerate(slots) if slot is not None]
    if any(map(is_traced, bars)):
        bars = [c.here() if isinstance(c, Parts) else c for c in bars]
        return call.again(
            inner, bars, expected, lambda found: at(watched, [found[k] for k in watched])
        )
    connection = call.backend.connection
    bars = [connection.added_there(c.given) if isinstance(c, Parts) else c for c in bars]
    places = [k for k in watched if k not in stays]
    back, send = connection.back(call.kept, bars, expected, places, sorted(stays))
    stay = [(slots[k], Parts(connection, [(back, k)])) for k in back.stay]
    if not places:
        return stay
    return Later(back, lambda found: stay + at(places, found), send)


def fitting(slots: Sequence[Any], values: Sequence[Any], found: Any) -> list[tuple[Any, Any]]:
    """The slots of values, with their cotangents."""
    rows = zip(slots, values, found, strict=True)
    return [(slot, project(c, spec_of(x))) for slot, x, c in rows if c is not None]


def _slots_of(call: Call, slots: Sequence[Any], *_: Any) -> list[Any]:
    return [slot for slot in slots if slot is not None]


kinds[kept_pullback] = Kind(_slots_of, None, lambda call, *_: str(call.recipe.name))


_DIED = (
    "zyg: a worker process died, and the executor is of no use any more. Open a new one and take "
    "the gradient again; if the worker ran out of memory, with smaller tasks."
)


def _add_note(error: BaseException, note: str) -> None:
    """Add a note, once: an error may be that of several tasks."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _strands(operands: Sequence[Any], links: Sequence[Task], name: str) -> tuple[Strand, ...]:
    """Strands for a task, one for each level that watches an operand."""
    parents = {strand.level: local(strand) for task in links for strand in task._strands}
    for x in map(settle, operands):
        while is_watched(x):
            parents[x.strand.level] = local(x.strand)
            x = x.primal
    return tuple(child(parents[level], name, False) for level in sorted(parents))


def _apart(x: Any) -> Any:
    """An array of a result, in memory of its own."""
    return np.copy(x) if isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray) else x
