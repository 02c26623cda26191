"""While f runs: its strand is active; and what is to be said of an exception that leaves it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from types import CoroutineType
from typing import Any

from zyg import errors
from zyg.base.adoptable import running, turn, turns
from zyg.base.array_types import note_undone
from zyg.base.buffers import says_read_only
from zyg.base.config import setting
from zyg.base.quiet import SILENT, errors_now, set_errors
from zyg.base.remedies import BRIDGES, SENDERS, WRAP, WRITING, instead_of_objects
from zyg.base.scipys import instead_of_scipy, scipys_among
from zyg.core.objects import holds_watched_objects
from zyg.core.protection import release
from zyg.core.strand import WATCHED, Strand, active, note_refusal
from zyg.errors import (
    ConversionError,
    MutationError,
    RunningLoopError,
    ZygError,
    is_installed,
    raising_line,
)

# The way in and the way out. An exception may come from outside, as Ctrl-C does, wherever Python
# looks for signals: where a function begins, after each call of one in C, where a loop goes back.
# So all that is changed is noted before it is changed, `enter` is called within the `try` that
# leads to `leave`, and `leave` does what is left of it if it is called again. Where an exception
# leads to it, it is called twice, as another one may come meanwhile; and what it ends is first put
# among what is `unfinished`, where the next way in finds what any number of them have left.


def enter(strand: Strand, around: tuple[Strand, ...]) -> None:
    """Have a strand active beside those around it, until `leave` is told the same."""
    running[strand] = None
    if turns:
        turn()
    active.set((*around, strand))


def failed(strand: Strand, around: tuple[Strand, ...], errors: Any, error: BaseException) -> None:
    """The way out of a function that has raised an error; raises what is to be said of it.

    `errors` is what NumPy did at errors before.
    """
    try:
        leave(strand, around)
    finally:
        leave(strand, around)
    if errors_now() is SILENT:  # as an interrupted `quiet` may have left it
        set_errors(errors)
    judge(strand, error)


def leave(strand: Strand, around: tuple[Strand, ...]) -> None:
    """The function of a strand has ended: the strand takes entries no more."""
    strand.close()
    pause(strand, around)


def pause(strand: Strand, around: tuple[Strand, ...]) -> None:
    """A strand is not active any more; it may be entered again, unless it is closed."""
    if strand in active.get():  # else it ends elsewhere, as a coroutine that is garbage
        active.set(around)
    running.pop(strand, None)
    if turns:
        turn()


@contextmanager
def activated(strands: tuple[Strand, ...]) -> Iterator[None]:
    """While it lasts, these strands are active here."""
    around = active.get()
    try:
        active.set(strands)
        yield
    finally:
        if active.get() is strands:  # else it ends elsewhere, as a coroutine that is garbage
            active.set(around)


def judge(strand: Strand, error: BaseException | None = None) -> None:
    """The function of a strand has returned, or raised an error: what is to be said of it."""
    try:
        if strand.kin.refused or strand.kin.family:
            _judge(strand, error)
        if error is not None:
            _explain(strand, error)
    finally:
        for one in strand.level_strands():
            one.kin.refused = ()  # an exception refers to this frame
        for memory in strand.level_memories():
            memory.elements = None  # which refer to the strand


def release_all(strand: Strand) -> None:
    """Let go of what the strands of a level keep."""
    for one in strand.level_strands():
        release(one)


def _explain(strand: Strand, error: BaseException) -> None:
    """Say of an exception in f what it has to do with watched values, if it has."""
    _explain_read_only(strand, error)
    _locate(error)
    if not _name_scipys(error):
        _name_bridge(error)
    release_all(strand)
    if isinstance(error, SystemError | ValueError) and isinstance(error.__cause__, ZygError):
        # C code that went on after a refusal, or said that a number with an index is a sequence
        raise error.__cause__.with_traceback(error.__traceback__) from None
    if (refusal := _quoted(strand, error) or _unsent(strand, error)) is not None:
        raise refusal from None
    if _is_of_strands(error) or _is_of_c_code(strand, error):
        of_scipys = (e for e in _refusals(strand) if " instead of scipy." in str(e))
        raise next(of_scipys, None) or _of_c_code(error) from error
    if any(text in str(error) for text in _OF_GENERATORS) and isinstance(error, _UNTYPED):
        raise _of_generator(error) from error
    if _is_of_objects(strand, error):
        raise _of_objects(error) from error


def _refusals(strand: Strand) -> list[ZygError]:
    """What was refused while f ran, the first one first."""
    return [e for s in strand.level_strands() for e in s.kin.refused]


def _judge(strand: Strand, error: BaseException | None) -> None:
    """Raise the first refusal that f has swallowed; what f raises itself goes first."""
    refused = _refusals(strand)
    swallowed = [e for e in refused if e is not error and e.loses and e.catcher() is not None]
    if error is None:
        if swallowed and setting("swallowed") != "allow":
            release_all(strand)
            swallowed[0].was_swallowed()
            raise swallowed[0]
        return
    for outer in active.get()[-1:]:  # whose function may catch it
        outer.kin.refused = (*outer.kin.refused, *refused)
    if swallowed and error.__context__ is None and swallowed[0].__context__ is not error:
        error.__context__ = swallowed[0]


def _note_error(error: ZygError) -> None:
    note_undone(error)
    if error.loses:
        note_refusal(error)


errors.note_error = _note_error


def _explain_read_only(strand: Strand, error: BaseException) -> None:
    """Say of NumPy's refusal to write what zyg may have to do with it."""
    kept = strand.memory.kept
    if (kept or strand.memory.lent) and says_read_only(error):
        error.add_note(_OVERWRITTEN)
        if strand.trail is not None:
            error.add_note(f"zyg: written at {raising_line(error)}")
            used = dict.fromkeys(line for _, line, *_ in [*kept.values()])
            error.add_note("zyg: large plain operands are used at\n    " + "\n    ".join(used))


_NAMED = r"\bWatched(?:Array|[A-Z]\w*)\b"


_SENT = "\n  where: in the background, "


def _locate(error: BaseException) -> None:
    """Say of a value that was refused in the background on which line f heard of it."""
    if isinstance(error, ConversionError) and _SENT in (said := str(error)):
        heard = f"\n  where: {raising_line(error)}\n  lib:   in the background, "
        error.args = (said.replace(_SENT, heard),)


def _name_scipys(error: BaseException) -> bool:
    """Say of an exception of SciPy's code that had watched values what to call instead."""
    theirs = scipys_among([frame for frame, _ in walk_tb(error.__traceback__)])
    if isinstance(error, ZygError | Warning):
        return False
    values = [v for frame in theirs for v in frame.f_locals.values()]
    if not any(type(v) in WATCHED or holds_watched_objects(v) for v in values):
        return False
    error.add_note(
        "zyg: SciPy's code was given watched values, which it does not know: "
        f"{instead_of_scipy(theirs)}."
    )
    return True


# What to write for an attribute that PyTorch's tensors have, or JAX's arrays.
_OF_TENSORS: dict[str | None, str] = {
    "at": "x[i] = v, where x is a copy",
    "backward": "zyg.gradient(f, x), where f returns what it is the backward of",
    "clone": "x.copy()",
    "detach": "zyg.stop_gradient(x)",
    "grad": "zyg.gradient(f, x), which returns it",
    "numpy": "x, which answers as NumPy's arrays do",
    "permute": "x.transpose(axes)",
    "register_hook": "x = zyg.hook(g, x)",
    "requires_grad": "zyg.is_traced(x)",
    "requires_grad_": "zyg.gradient(f, x), which watches x",
    "retain_grad": "x = zyg.hook(g, x), where g is given it",
    "unsqueeze": "np.expand_dims(x, axis)",
}


def note_call(f: Any, args: Sequence[Any], kwargs: dict[str, Any], error: BaseException) -> None:
    """Say of a call of f that Python refused how a verb is called."""
    came = error.__traceback__
    if not isinstance(error, TypeError) or (came is not None and came.tb_next is not None):
        return
    asked = [f"{name}=" for name in ("argnums", "has_aux") if name in kwargs]
    if not callable(f):
        error.add_note("zyg: the function itself comes first, as in zyg.gradient(f, x).")
    elif not args:
        error.add_note("zyg: zyg.gradient(f, x) is the gradient at x; zyg.grad(f)(x) is one, too.")
    elif asked:
        error.add_note(
            f"zyg: zyg.grad and zyg.value_and_grad take {' and '.join(asked)}; this verb gives all "
            "keywords to f."
        )


def _name_bridge(error: BaseException) -> None:
    """Say of an exception of other code that met a watched value which bridge there is."""
    said = str(error)
    if said == _OF_MPI:
        error.add_note(WRAP)
    if isinstance(error, ZygError) or not re.search(_NAMED, said):
        return
    came = [frame for frame, _ in walk_tb(error.__traceback__)]
    users = bool(came) and not is_installed(came[-1].f_code.co_filename)
    if isinstance(error, AttributeError) and type(error.obj) in WATCHED and users:
        if line := _OF_TENSORS.get(error.name):
            error.add_note(f"zyg: instead of x.{error.name}, write {line}.")
        return
    frames = [frame.f_globals.get("__name__", "").partition(".")[0] for frame in came]
    raising = next((name for name in reversed(frames) if name in (*BRIDGES, *WRITING)), "")
    named = [b for name, b in BRIDGES.items() if name in said.lower() and name in sys.modules]
    loaded = [b for name, b in BRIDGES.items() if name in sys.modules]
    bridges = dict.fromkeys([BRIDGES[raising]] if raising in BRIDGES else named or loaded)
    calls = ", ".join([*bridges, "zyg.foreign(f, ...)(x) for other code"])
    note = (
        "zyg: a watched value was given to code that does not know it. Instead of f(x), write "
        f"{calls}; where no derivative is wanted, f(zyg.stop_gradient(x))."
    )
    if raising in WRITING:
        note = f"zyg: {raising} was given a watched value: give it zyg.stop_gradient(x)."
    if note not in getattr(error, "__notes__", ()):  # of a gradient inside
        error.add_note(note)


_OF_MPI = "message: expecting buffer or list/tuple"  # mpi4py's, of memory


# What C code says of an operand that is no array or no float: of a watched one by its name; and of
# any, after it has dropped the refusal of the operand to be converted.
_BY_NAME = "a bytes-like object is required, not 'Watched"
_OF_SOLVERS = (
    "Result from function call is not a proper array of floats",  # MINPACK
    "f(a) and f(b) must have different signs",  # the root finders
)
_OF_ANY = (
    "required argument is not a float",
    "operand is flagged as writeable, but is an object which cannot be written back",
    "the NPY_ITER_REFS_OK flag was not enabled",
    *_OF_SOLVERS,
)
_OF_OBJECTS = (
    "dtype('O')", "dtype object", "type 'object'", "bject arrays", "non-numeric array",
    "not supported for the input types", "loop of ufunc does not support argument",
    "unsupported data types in input", "numpy.object_",
)  # fmt: skip


# What a random generator says of an array to shuffle that is no plain one.
_OF_GENERATORS = "out must be a numpy array", "Axis argument is only supported on ndarray objects"
_UNTYPED = TypeError, NotImplementedError


def _of_generator(error: BaseException) -> MutationError:
    return MutationError(
        f"a random generator cannot shuffle in the memory of a watched array: {error}.",
        "it moves numbers in plain memory, which carry no derivative.",
        "write y[:] = rng.permuted(x, axis=0) for rng.permuted(x, axis=0, out=y), and "
        "x[:] = rng.permutation(x, axis=1) for rng.shuffle(x, axis=1).",
        raising_line(error),
        tag="write",
    )


def _quoted(strand: Strand, error: BaseException) -> ZygError | None:
    """The refusal of which ctypes has left the text only, in an error of its own."""
    if type(error).__module__ != "ctypes":
        return None
    return next((e for e in _refusals(strand) if str(e) in str(error)), None)


def _unsent(strand: Strand, error: BaseException) -> ZygError | None:
    """The refusal of a value that was to be sent, for which a library raises an error of its own.

    Its message has the library's words for what it sends, and none for what helps.
    """
    came = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    asks = isinstance(error, ZygError) and error.tag == "attribute"  # of what it cannot send
    raising = came if asks else came[-1:]
    if not any(name.partition(".")[0] in SENDERS for name in raising):
        return None
    if isinstance(error, ZygError) and not asks:
        return None
    return next((e for e in _refusals(strand) if e.tag == "pickle"), None)


def _is_of_c_code(strand: Strand, error: BaseException) -> bool:
    """Whether it was a watched value that C code refused, and not a mistake of the user's."""
    if isinstance(error, ZygError):
        return False
    said = str(error)
    asked = has_shown_objects(strand) or _refusals(strand)
    return _BY_NAME in said or (bool(asked) and any(text in said for text in _OF_ANY))


def _is_of_strands(error: BaseException) -> bool:
    """Whether it was C code that called f again after a refusal, of which Python then forgets both.

    While an exception is set that C code has not looked at, an attribute of a base class is not
    found, and what was set is cleared.
    """
    return isinstance(error, AttributeError) and isinstance(error.obj, Strand)


def _is_of_objects(strand: Strand, error: BaseException) -> bool:
    """Whether it was an object array of watched numbers that NumPy has no loop for."""
    if isinstance(error, ZygError):
        return False
    return has_shown_objects(strand) and any(text in str(error) for text in _OF_OBJECTS)


def has_shown_objects(strand: Strand) -> bool:
    """Whether NumPy has asked for the elements of watched values."""
    return any(memory.asked[1] for memory in strand.level_memories())


def _of_objects(error: BaseException) -> ConversionError:
    """The refusal of an object array by what computes with numbers only."""
    return ConversionError(
        "an object array of watched numbers was given to a function that takes numbers only: "
        f"{' '.join(str(error).split()).rstrip('.')}.",
        "np.asarray and np.array make an array of objects of watched values, and not every "
        "function of NumPy's or SciPy's has a loop for objects.",
        f"{instead_of_objects(error)}.",
        raising_line(error),
    )


def _instead_of_c(said: str) -> str:
    """What to write instead of C code that said this."""
    if said == "required argument is not a float":  # of struct.pack
        return "keep the number itself, in a list or a dict, not what is packed of it"
    if any(text in said for text in _OF_SOLVERS):
        return "use zyg.scipy.optimize instead of scipy.optimize"
    return "loop over x itself, or over np.ndindex(x.shape)"


def _of_c_code(error: BaseException) -> ConversionError:
    """The refusal of a watched value by C code, which knows nothing of it."""
    return ConversionError(
        f"C code cannot take a watched value: {error}.",
        "memoryview, np.frombuffer, np.nditer, struct.pack and MINPACK read the memory of a plain "
        "number or array, which carries no derivative.",
        f"{_instead_of_c(str(error))}; zyg.stop_gradient(x) gives the plain value if that is what "
        "you want.",
        raising_line(error),
        tag="c-code",
    )


_OVERWRITTEN = (
    "zyg: if this array is an operand of an earlier operation, its contents are needed for the "
    "derivative, and it is read-only until then. Make the buffer with zyg.numpy, or write into "
    "a copy; zyg.explain names the lines that use it."
)


def run_function(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``f(*args, **kwargs)``; an async f is run under trio."""
    return completed(f, f(*args, **kwargs))


def completed(f: Callable[..., Any], coroutine: Any) -> Any:
    """What f has returned; of an async f, what comes of it under trio."""
    if type(coroutine) is not CoroutineType:
        return coroutine
    import sniffio  # with trio
    import trio

    try:
        library = sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        library = ""
    if library == "trio":
        coroutine.close()
        raise RunningLoopError(
            f"{getattr(f, '__name__', f)} is async, and a loop of trio is running.",
            "a derivative that is not awaited would have to run the loop inside itself.",
            "write await zyg.gradient_async(f, x), value_and_gradient_async or pullback_async.",
        )

    async def main() -> Any:
        return await coroutine

    try:
        return trio.run(main)  # also inside a loop of asyncio, as in a notebook: it waits
    except TypeError as error:
        if library and "some other framework like asyncio" in str(error):
            error.add_note("zyg: for a function of asyncio, write await zyg.gradient_async(f, x).")
        raise


def demand_its_loop(f: Callable[..., Any], error: BaseException) -> None:
    """Say of an exception of f, which is awaited, whether it needs the loop of trio."""
    if isinstance(error, (RuntimeError, AttributeError)) and str(error).startswith(_WITHOUT_TRIO):
        raise RunningLoopError(
            f"{getattr(f, '__name__', f)} uses trio, and the loop that runs is not trio's.",
            "trio's functions work in its own loop only.",
            "write zyg.gradient(f, x) without await, which runs trio inside a notebook, too.",
            raising_line(error),
        ) from error


_WITHOUT_TRIO = (
    "must be called from async context",
    "'RunContext' object has no attribute 'runner'",
    "Task got bad yield: <class 'trio.",
)
