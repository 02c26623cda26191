"""Settings: for the whole process when set, for one block when used as a context manager."""

from __future__ import annotations

import dis
import os
import sys
from _thread import RLock  # threading is imported on first use
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, Literal, TypedDict, Unpack
from weakref import finalize


class Options(TypedDict, total=False):
    """The settings by name, for who is told of mistakes before the program runs."""

    strong_zero: bool
    check_nan: bool
    check_leaks: bool
    check_operands: bool
    workers: int | None
    object_elements: int
    swallowed: Literal["raise", "allow"]
    text: Literal["warn", "refuse", "allow"]
    fallback: Literal["warn", "error", "silent"]
    compile: Literal["first", "whole"]
    accuracy: Literal["fast", "libm"]
    pool_bytes: int
    tape_bytes: int
    full_tracebacks: bool


_defaults: dict[str, Any] = {
    "strong_zero": True, "check_nan": False, "check_leaks": False, "check_operands": False,
    "workers": None, "object_elements": 10_000, "swallowed": "raise", "text": "warn",
    "fallback": "warn", "accuracy": "fast", "compile": "first", "pool_bytes": 1 << 28,
    "tape_bytes": 1 << 30, "full_tracebacks": False,
}  # fmt: skip
# The smallest tape_bytes that is set anywhere, as machine code reads it; those of blocks.
least_tape = bytearray((1 << 30).to_bytes(8, sys.byteorder))
_of_blocks: Counter[int] = Counter()
_counting = RLock()  # a block may end where the collector of garbage runs
_CHOICES = {
    "fallback": ("warn", "error", "silent"), "accuracy": ("fast", "libm"),
    "compile": ("first", "whole"), "swallowed": ("raise", "allow"),
    "text": ("warn", "refuse", "allow"),
}  # fmt: skip
_here: ContextVar[dict[str, Any]] = ContextVar("zyg_config")


def setting(name: str) -> Any:
    """The value of a setting at this place of the program."""
    return _here.get({}).get(name, _defaults[name])


def settings() -> dict[str, Any]:
    """All settings at this place of the program."""
    return {**_defaults, **_here.get({})}


def cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Settings(dict[str, Any]):
    """Those of a block, which tasks that began in it may have for longer than the block takes."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        if "tape_bytes" in self:
            finalize(self, _count, self["tape_bytes"], -1).atexit = False
            _count(self["tape_bytes"], 1)


def _count(tape_bytes: int, more: int) -> None:
    """Count one more block, or one less, of this tape_bytes."""
    with _counting:
        _of_blocks[tape_bytes] += more
        _tell_machine_code()


def _tell_machine_code() -> None:
    with _counting:
        blocks = [x for x, n in [*_of_blocks.items()] if n]
        least_tape[:] = min([_defaults["tape_bytes"], *blocks]).to_bytes(8, sys.byteorder)


def _set(options: dict[str, Any]) -> None:
    """Set options for the whole process."""
    _defaults.update(options)
    _tell_machine_code()


def _block(options: dict[str, Any]) -> Generator[None, None, None]:
    """While it waits, these are the settings.

    It ends when it is closed. Python does that by itself if an exception from outside, as by
    Ctrl-C, keeps the end of a with statement from being called.
    """
    around, options = _here.get({}), _Settings(options)
    try:
        before = _here.set(options)
    except BaseException:
        _here.set(around)
        raise
    try:
        yield
    finally:
        _here.reset(before)


# All settings as they were at another place, perhaps of another process.
under = contextmanager(_block)


def is_entered(caller: FrameType) -> bool:
    """Whether a with statement enters what its caller is calling: the next instruction says so."""
    code, at = caller.f_code.co_code, caller.f_lasti + 2
    names = [dis.opname[op] for op in code[at : at + 64 : 2]]
    after = [name for name in names if name != "CACHE"]
    return after[:1] == ["BEFORE_WITH"] or after[:2] == ["COPY", "LOAD_SPECIAL"]  # from 3.14 on


class config:  # noqa: N801 - a verb to the user
    """Set options; in a ``with`` statement, for that block only, and not for other threads.

    Parameters
    ----------
    strong_zero : bool, default True
        A cotangent that is exactly zero stays zero through an infinite or NaN local derivative, so
        that the branch of ``np.where`` not taken never poisons a gradient. Free on finite arrays of
        the host; on device arrays, at which nobody looks, every product selects.
    check_nan : bool, default False
        A gradient that is not finite raises `NonFiniteError`, which names the line of f and the
        rule where the first infinite or NaN cotangent came from. Slower: for finding faults.
    check_leaks : bool, default False
        A watched value that was kept from a gradient that has ended, in a memo or a cached property
        perhaps, raises `LeakError` where it is used in a later gradient, in which it is a constant.
        The message names the line of the use, and that of the gradient it is from.
    check_operands : bool, default False
        Whether all of a large plain array that is an operand or an argument is compared before the
        reverse pass with what it was, and not a part. Takes two passes over it, and finds writes
        through views made earlier, or by ``ufunc.at``.
    object_elements : int, default 10_000
        Up to how many elements a watched array, or a list of watched numbers, may have that NumPy
        makes an array of objects of, as in ``np.asarray(x)``, with a `PerformanceWarning`. Beyond,
        `ConversionError` is raised, as it always is with 0.
    swallowed : {"raise", "allow"}
        What becomes of a refusal that f catches and goes on from, as in ``try: float(x)``: it is
        raised when f ends, or allowed.
    text : {"warn", "refuse", "allow"}
        What becomes of text with all digits of a watched number, as ``f"{x}\\n"``, from which a
        number could be read back without its derivative, where no ``print``, log or exception shows
        it: a `TextWarning`, a `ConversionError`, or nothing.
    workers : int or None, default None
        How many threads help the calling one to reverse a program of threads, and to run a kernel
        over large arrays; by default as many as there are other cores. The gradient does not depend
        on it, to the last bit.
    fallback : {"warn", "silent", "error"}
        What `broadcast` and `compile` do with a function that cannot be compiled, or whose machine
        code stops: warn and run it in Python, do that without a word, or raise an error.
    compile : {"first", "whole"}
        Whether compiled functions run at once, as machine code that LLVM makes without looking for
        faster one, and as fast as they can when they have run for some 50 ms; or wait for that.
    accuracy : {"fast", "libm"}
        Whether kernels use exponentials and their like that run in vector instructions, to a few
        units in the last place, or those of the C library.
    pool_bytes : int, default 2**28
        How much memory of arrays that are gone kernels keep for their next results.
    tape_bytes : int, default 2**30
        How much memory a derivative of a compiled function may take, in one call. Where its tapes
        would be longer, the state of its loops is kept only now and then, and the rounds between
        run again; where that does not do either, `TapeError` is raised.
    full_tracebacks : bool, default False
        Whether the traceback of an exception that leaves a verb has the frames of zyg, too. Without
        them it shows the lines of the user, and of other libraries.

    Raises
    ------
    TypeError
        For an unknown option.
    ValueError
        For an unknown choice.

    Examples
    --------
    >>> import numpy as np, zyg
    >>> f = lambda x: np.where(x > 0, np.sqrt(x), 0.0)
    >>> zyg.gradient(f, 0.0)
    (0.0,)
    >>> with zyg.config(strong_zero=False):
    ...     zyg.gradient(f, 0.0)
    (nan,)
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        if unknown := options.keys() - _defaults.keys():
            known = ", ".join(_defaults)
            raise TypeError(f"unknown zyg option {min(unknown)!r}; there are: {known}")
        for name, choices in _CHOICES.items():
            if (choice := options.get(name, choices[0])) not in choices:
                raise ValueError(f"{name} is one of {choices}, not {choice!r}")
        self._options = options
        self._before: dict[str, Any] = {}
        self._blocks: list[Generator[None, None, None]] = []
        if not is_entered(sys._getframe(1)):
            self._before = {name: _defaults[name] for name in options}
            _set({**options})

    def __enter__(self) -> None:
        # Made elsewhere than in the with statement: only now is it known that it was for a block.
        _set(self._before)
        self._before = {}
        self._blocks.append(_block({**_here.get({}), **self._options}))
        try:
            next(self._blocks[-1])
        except BaseException:
            self._blocks.pop().close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._blocks.pop().close()
