"""Every exception of zyg: its cause, and the remedy, in one message template.

Whatever would silently drop a derivative raises one of these. A message says what happened, where
(the user's own line), why, and what to do instead.
"""

from __future__ import annotations

import dis
import linecache
import os
import sys
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from zyg.cells import spot

OWN_TEXT = "<zyg: the short path of watched numbers>"  # the file name of code made from text

_HERE = os.path.dirname(os.path.abspath(__file__))
_OURS = (OWN_TEXT, _HERE + os.sep, _HERE + "_cuda" + os.sep)
_NUMPY = (os.path.dirname(np.__file__) + os.sep, "<__array_function__")
_PYTHON = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
_INSTALLED = "-packages" + os.sep


def user_frame() -> FrameType | None:
    """The innermost frame that is neither zyg's nor NumPy's nor Python's own: the user's line."""
    return _users(sys._getframe(1))


def _users(frame: FrameType | None) -> FrameType | None:
    """The first of a frame and its callers that is the user's, and of no text without a module."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file) and (file != "<string>" or "__name__" in frame.f_globals):
            break
        frame = frame.f_back
    return frame


def is_users(file: str) -> bool:
    """Whether a file is neither zyg's nor NumPy's nor Python's own."""
    if file.startswith(_OURS + _NUMPY):
        return False
    return not file.startswith(_PYTHON) or _INSTALLED in file


def is_ours(file: str) -> bool:
    """Whether a file is zyg's."""
    return file.startswith(_OURS)


def user_place() -> str:
    """The user's own line, and below it that of the installed library that it called, if any."""
    inner = frame = user_frame()
    while frame is not None and is_installed(frame.f_code.co_filename):
        frame = _users(frame.f_back)
    if frame is None or frame is inner:
        return user_line(inner)
    return f"{user_line(frame)}\n  lib:   {user_line(inner)}"


def is_installed(file: str) -> bool:
    """Whether a file is that of an installed package; of its Cython a traceback has the source."""
    return _INSTALLED in file or file.endswith((".pyx", ".pxi"))


def user_line(frame: FrameType | None = None, line: int = 0) -> str:
    """Where the user's program is: file, line, function and the text of the line."""
    frame = frame or user_frame()
    if frame is None:
        return "unknown (no Python frame of yours is running)"
    code, line = frame.f_code, line or frame.f_lineno
    text = linecache.getline(code.co_filename, line, frame.f_globals).strip()
    return f"{spot(code.co_filename, line)}, in {code.co_name}" + (f": {text}" if text else "")


def raising_line(error: BaseException) -> str:
    """The innermost line of the user's, else of a library's, that an exception came through."""
    here, found = error.__traceback__, None
    while here is not None:
        file = here.tb_frame.f_code.co_filename
        if is_users(file) and not (found and is_installed(file)):
            found = here
        here = here.tb_next
    return user_line(found.tb_frame, found.tb_lineno) if found else user_line()


def note_error(error: ZygError) -> None:
    """Remember an error that f may catch; `zyg.core.running`, which knows who runs, replaces it."""


_NUMBERS = ("__float__", "__complex__", "__int__")
_DENYING = ("array_equal", "array_equiv")  # of NumPy's, which answer any exception with False


class ZygError(Exception):
    """The base of all zyg errors; the message says what, where, why and what to do.

    Its tag, in brackets after what happened, is an entry of docs/refusals.md.
    """

    tag = ""
    loses = False  # whether a derivative is lost if somebody catches it and goes on

    def __init__(self, what: str, why: str, fix: str, where: str = "", tag: str = "") -> None:
        if tag:
            self.tag = tag
        place = where or user_place()
        super().__init__(f"{what} [{self.tag}]\n  where: {place}\n  why:   {why}\n  fix:   {fix}")
        note_error(self)

    def catcher(self) -> TracebackType | None:
        """Where it was caught: the outermost frame that it came to, unless zyg, NumPy or C code
        caught it, which ask for what they can do without. Nobody can do without a number that
        is to be put into an array: NumPy has told f so by an exception of its own."""
        if (came := self.__traceback__) is None:
            return None
        frame = came.tb_frame
        if not frame.f_code.co_filename.startswith(_OURS + _NUMPY):
            return came
        if frame.f_code.co_name in _NUMBERS:
            f = frame.f_back
            return came if f is not None and is_users(f.f_code.co_filename) else None
        return came if frame.f_code.co_name in _DENYING else None

    def was_swallowed(self) -> None:
        """Say in the message where it was caught."""
        if (came := self.catcher()) is not None and "\n  caught: " not in str(self):
            head, _, rest = str(self).partition("\n  why:   ")
            frame = came.tb_frame
            told = is_ours(frame.f_code.co_filename)  # by NumPy
            line = user_line(frame.f_back) if told else user_line(frame, _handler(came))
            self.args = (
                f"{head}\n  caught: {line}\n  why:   {rest} The code that caught it went on "
                'without the derivative; to allow that, zyg.config(swallowed="allow").',
            )

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args, self.__dict__)


def _handler(came: TracebackType) -> int:
    """The line of the innermost except clause around the place of a traceback, or its own."""
    code = came.tb_frame.f_code
    table: Any = dis.Bytecode(code)
    entries = [e for e in table.exception_entries if e.start <= came.tb_lasti < e.end]
    target = entries[-1].target if entries else -1
    after = [line for _, end, line in code.co_lines() if line and end > target >= 0]
    return after[0] if after else came.tb_lineno


def _restored(kind: type[ZygError], args: tuple[Any, ...], state: dict[str, Any]) -> ZygError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class NonScalarOutputError(ZygError, TypeError):
    """`gradient` of a function whose result is not one real number.

    Example: ``gradient(np.sin, np.ones(3))``. Remedy: reduce to a number, or use `pullback` with a
    cotangent.
    """

    tag = "not-a-number"


class ComplexOutputError(NonScalarOutputError):
    """`gradient` of a function whose result is complex.

    Example: ``gradient(lambda z: z * z, 1j)``. Remedy: differentiate the real part, the imaginary
    part or ``abs``.
    """

    tag = "complex-result"


class ConversionError(ZygError, TypeError):
    """A watched value was about to become a plain number or a plain array, which drops its
    derivative.

    Examples: ``float(x)``, ``math.sin(x)``, ``np.asarray(x)``, ``buffer[0] = x``. Remedy: the
    ``np.`` function of the same name, or `zyg.stop_gradient` where the derivative is not wanted.
    """

    tag = "conversion"
    loses = True


class MutationError(ZygError, TypeError):
    """A write that zyg cannot follow.

    ``x[0] = 1.0``, ``x += 1`` and ``np.sin(x, out=x)`` are followed and differentiated. Examples of
    what is not: a watched value written into a buffer of ints; a write into an array that shares
    memory with another argument, or that is on a GPU; ``x.setflags()``. Remedy: make a new array,
    or what the message says.
    """

    tag = "write"
    loses = True


class MissingRuleError(ZygError, NotImplementedError):
    """A function, or a keyword of a function, that has no rule.

    Example: a NumPy function zyg does not know. Remedy: write its rule with `zyg.adjoint`; the
    message shows how.
    """

    tag = "no-rule"
    loses = True


class AdjointError(ZygError, TypeError):
    """A rule (or a hook) returned the wrong number, type or shape of cotangents.

    Remedy: return one cotangent per positional argument, each of its argument's shape;
    `zyg.check_adjoint` finds it.
    """

    tag = "contract"


class StructureError(ZygError, TypeError):
    """A value that zyg cannot take apart, or a cotangent that does not fit its value.

    Examples: a masked array as an argument; ``back((1.0,))`` for a result that is a dict.
    """

    tag = "structure"


class ArgumentError(ZygError, TypeError):
    """`grad`, `value_and_grad` or `compile` by an argument that is not there or holds no number.

    Example: ``grad(f, argnums=1)(x)``. Remedy: the place of the argument in the call, from 0.
    """

    tag = "argnums"


class DegenerateError(ZygError, np.linalg.LinAlgError):
    """A derivative of a matrix decomposition that is undefined at this matrix, or is that of an
    arbitrary choice.

    Examples: eigenvectors of equal eigenvalues; the phase of a complex singular vector. Remedy: a
    function of what is determined: the values, moduli, projectors.
    """

    tag = "degenerate"


class NonFiniteError(ZygError, ArithmeticError):
    """A cotangent became infinite or NaN, and ``zyg.config(check_nan=True)`` asks to be told.

    Example: the derivative of ``np.sqrt(x)`` at 0. Remedy: the message names the line of f and the
    rule; keep its argument away from there.
    """

    tag = "not-finite"


class AdoptionError(ZygError, ImportError):
    """A module that cannot be adopted.

    Examples: ``zyg.adopt("colur")``, which does not exist; numpy itself; a compiled module. Remedy:
    the message has names that exist; adopt the module in Python that calls it.
    """

    tag = "adoption"


class AbsentError(ZygError, AttributeError):
    """A name of autograd's that `zyg.autograd` does not have; the message has what to use."""

    tag = "absent"


class LeakError(ZygError, RuntimeError):
    """A value kept from one gradient is used in another, and ``zyg.config(check_leaks=True)`` asks
    to be told.

    Example: a memo filled in one gradient and read in the next. Remedy: the message names both
    lines; make the value anew, or keep `zyg.stop_gradient` of it.
    """

    tag = "leak"


class HolomorphicError(ZygError, TypeError):
    """A complex derivative was asked for where there is none: ``zyg.holomorphic(np.abs, 1j)``.

    Remedy: `zyg.wirtinger`, which gives both derivatives, by z and by its conjugate.
    """

    tag = "holomorphic"


class ConvergenceError(ZygError, ArithmeticError):
    """An iteration did not reach its tolerance, so that its result has no derivative.

    Remedy: another start, more iterations, a larger tolerance; a map that contracts.
    """

    tag = "convergence"


class PatternError(ZygError, ValueError):
    """A sparsity pattern without all entries of the matrix, or not of its shape.

    Remedy: add what is missing; without a pattern, it is detected.
    """

    tag = "pattern"


class RunningLoopError(ZygError, TypeError):
    """An async function cannot run in the loop that is running.

    Examples: ``zyg.gradient(f, x)`` with ``async def f`` in a trio task; a function of trio's that
    is awaited in asyncio. Remedy: ``await zyg.gradient_async(f, x)``; without await for the second.
    """

    tag = "running-loop"


class ShippingError(ZygError, TypeError):
    """A call that cannot be sent to another process: a closure that holds a lock or an open file.

    Remedy: make such things in the task.
    """

    tag = "shipping"


class RecomputationError(ZygError, RuntimeError):
    """A task that was run again for its derivative gave another value than the first time, or could
    not be run again.

    Examples: it draws unseeded random numbers, or reads a file that has changed; its executor is
    closed. Remedy: pass a seed as an argument, and make the generator in the task; take the
    gradient while the executor is open.
    """

    tag = "second-run"


class KernelError(ZygError, TypeError):
    """A scalar function that cannot be made into a kernel.

    Examples: a list comprehension or a print in it; no source text. Remedy: the message names the
    expression, and what to write instead.
    """

    tag = "kernel"

    source_line = ""
    effect = False  # the function does something besides computing its value


class CaptureError(KernelError):
    """A scalar function uses an array of an enclosing scope; pass it as an operand.

    Example: ``zyg.broadcast(lambda x: x * w, x)`` with an array w.
    """

    tag = "capture"


class CompileError(KernelError):
    """A function given to `zyg.compile` that is not compiled, or that cannot be.

    Examples: a generator, under ``zyg.config(fallback="error")``; ``f.source(x)`` of a function
    that runs as it stands. Remedy: the message names the line, and what to write instead.
    """

    tag = "compile"


class TapeError(ZygError, MemoryError):
    """The derivative of a compiled function takes more memory than ``zyg.config(tape_bytes=)``.

    Examples: a long loop that fills a list, which is kept in full; arrays that are larger than
    that. Remedy: a larger ``tape_bytes``, or a loop without lists, which is run again in parts.
    """

    tag = "tape"


class IntegerOverflowError(ZygError, OverflowError):
    """A number in a kernel that does not fit the integer type of its operand; a wider one does."""

    tag = "int-overflow"


class ShapeError(ZygError, ValueError):
    """Operands of a kernel whose shapes do not broadcast; insert axes, as ``x[:, None]``."""

    tag = "shape"


class OptimizationError(ZygError, ValueError):
    """What an optimization cannot begin with: a start that is NaN, data of different lengths."""

    tag = "optimization"


class PerformanceWarning(UserWarning):
    """Something runs step by step in Python: right, and slow.

    Examples: `zyg.broadcast` or `zyg.compile` of a function that could not be compiled;
    ``np.asarray(x)``, which makes an array of objects of a watched array.
    """


class TextWarning(UserWarning):
    """Text with all digits of a watched number was made, and not to be printed.

    A number that is read back from it, here or by another program, carries no derivative.
    """


class AdjointInvariantError(ZygError, RuntimeError):
    """The reverse pass of a concurrent program cannot advance: a bug in zyg, not in the program."""

    tag = "bug-in-zyg"


class GradientMismatchError(ZygError, AssertionError):
    """`check_gradient` or `check_adjoint` found a derivative that differs from its check."""

    tag = "mismatch"


def unknown_call(name: str, why: str, instead: str = "leave it out") -> MissingRuleError:
    """The error of a function that has a rule, but not for these arguments, and what to do."""
    estimated = f'have it estimated: zyg.foreign(f, method="difference"), where f calls {name}'
    ways = ", or ".join(filter(None, [instead, estimated]))
    return MissingRuleError(
        f"{name} cannot be differentiated with these arguments: {why}.",
        "a rule computes the derivative for the arguments it knows; the others would be ignored.",
        f"{ways}; or write a rule for your case with zyg.adjoint.",
        tag="arguments",
    )
